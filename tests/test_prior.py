"""Growth by a prior: which child enters, what is refused, and what a poor prior cannot do."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest

from bestleaf import Search, best_arm, best_leaf, verify
from bestleaf.problems import Prior, ScoreLattice, TableProblem, paper_lattice, random_game_tree
from bestleaf.search.growth import PriorProposals, RandomProposals, priors_of, proposals_for
from bestleaf.search.settings import Settings
from bestleaf.testing import check_problem
from conftest import binomial_margin
from toys import worth

SCORES = (-0.8, -0.4, 0.0, 0.1, 0.3, 0.6, 0.9)


class Guided(ScoreLattice):
    """A lattice whose prior grows with the score of the feature that is added; `sign` -1 turns it round."""

    def __init__(self, sign=1.0, depth=3):
        super().__init__(SCORES, depth)
        self.sign = sign

    def prior(self, state):
        return [exp(self.sign * self.scores[one]) for one in range(len(self.scores)) if one not in state]


def searched(problem, **more):
    settings = {"task": "leaf", "epsilon": 0.1, "delta": 0.1, "expansion": 0.6, "seed": 0, "max_samples": 3000}
    return Search(problem, **{**settings, **more})


def test_a_problem_with_a_prior_grows_by_it_unless_told_otherwise():
    assert isinstance(Guided(), Prior)
    assert not isinstance(paper_lattice(), Prior)
    settings = Settings(epsilon=0.1, delta=0.1, expansion=0.5)
    assert proposals_for(settings, Guided(), rollouts=False) is PriorProposals
    assert proposals_for(settings, paper_lattice(), rollouts=False) is RandomProposals
    assert searched(Guided()).run().search.proposal == "prior"
    assert searched(Guided(), proposal="random").run().search.proposal == "random"
    check_problem(Guided())


@pytest.mark.parametrize(("sign", "first"), [(1.0, 6), (-1.0, 1)])
def test_the_child_of_highest_prior_enters_first(sign, first):
    search = searched(Guided(sign))
    node = search.state.graph.node_of[(0,)]
    assert search.growth.proposals.next(node) == [(0, first)]
    search.state.add([(0, first)], search.budget)
    assert search.growth.proposals.next(node) != [(0, first)]


def test_a_child_without_a_prior_enters_last():
    class Zero(Guided):
        def prior(self, state):
            return [0.0] * (len(self.scores) - len(state) - 1) + [2.0]

    search = searched(Zero())
    node, graph = search.state.graph.node_of[(0,)], search.state.graph
    assert search.growth.proposals.next(node) == [(0, 6)]
    while absent := list(graph.relatives.absent(node)):
        entering = search.growth.proposals.next(node)
        assert entering[0] in absent
        search.state.add(entering, search.budget)


BAD = [
    ([1.0], r"prior\(\(\)\) must return one number for each of the 7 children, got \[1\.0\]"),
    (0.5, r"prior\(\(\)\) must return one number for each of the 7 children, got 0\.5"),
    ([1.0] * 6 + [-1.0], r"prior\(\(\)\) must return finite numbers of at least 0, got -1\.0"),
    ([1.0] * 6 + [float("nan")], r"prior\(\(\)\) must return finite numbers of at least 0, got nan"),
    ([1.0] * 6 + ["a"], r"prior\(\(\)\) must return finite numbers of at least 0, got 'a'"),
]


@pytest.mark.parametrize(("given", "words"), BAD)
def test_a_prior_that_is_none_is_one_sentence(given, words):
    problem = Guided()
    problem.prior = lambda state: given
    with pytest.raises(ValueError, match=words):
        priors_of(problem, ())
    with pytest.raises(AssertionError, match=words):
        check_problem(problem)


def test_the_settings_are_checked():
    with pytest.raises(ValueError, match=r"proposal 'prior' needs a problem with prior\(state\); use 'random' or None"):
        best_leaf(paper_lattice(), epsilon=0.1, delta=0.1, expansion=0.5, proposal="prior")
    problem = Guided()
    problem.prior = [1.0]
    with pytest.raises(TypeError, match=r"prior of a problem must be a method, got \[1\.0\]"):
        best_leaf(problem, epsilon=0.1, delta=0.1, expansion=0.5)


@pytest.mark.slow
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_what_is_claimed_of_the_graph_as_grown_holds_with_a_good_and_with_a_bad_prior(sign):
    runs, wrong = 20, 0
    for seed in range(runs):
        problem = Guided(sign, depth=2)
        result = best_leaf(problem, epsilon=0.1, delta=0.1, expansion=0.5, seed=seed, max_samples=100_000)
        assert result.settled
        best = max(problem.mean(leaf.state) for leaf in result.leaves)
        wrong += best > problem.mean(result.answer) + 0.1
        assert seed > 1 or verify(result.certificate)
    assert wrong <= binomial_margin(runs, 0.1)


class Opinion(TableProblem):
    """A two-player tree; the prior is made from its true values, and turned round with `sign` -1."""

    def __init__(self, seed, sign):
        tree = random_game_tree(seed, depth=3, branching=5)
        means = dict(tree.means)
        for state in sorted(tree.children_of, key=len, reverse=True):
            means[state] = float(np.mean([means[child] for child in tree.children(state)]))  # of random play
        opponent = [state for state in tree.children_of if not tree.maximizes(state)]
        super().__init__(tree.children_of, means, root=(), opponent=opponent)
        self.sign = sign
        self.true = {state: worth(self, state) for state in means}

    def prior(self, state):
        side = self.sign if self.maximizes(state) else -self.sign
        return [exp(4.0 * side * self.true[child]) for child in self.children(state)]


@pytest.mark.slow
def test_a_good_prior_is_right_more_often_with_the_same_samples_than_a_bad_one():
    """Which move is best is known, because the whole tree is; see benchmarks/priors.py for larger ones."""
    right = {1.0: 0, -1.0: 0}
    for sign in right:
        for seed in range(20):
            game = Opinion(seed, sign)
            found = best_arm(game, epsilon=0.05, delta=0.1, expansion=0.7, seed=seed, max_samples=300)
            right[sign] += game.true[found.answer] >= game.true[()] - 0.05
    assert right[1.0] >= right[-1.0] + 4, right  # of 20; about two standard errors if both were equally good


def test_equal_priors_are_decided_at_random():
    class Even(Guided):
        def prior(self, state):
            return [1.0] * (len(self.scores) - len(state))

    first = set()
    for seed in range(40):
        search = searched(Even(), seed=seed)
        first.update(search.growth.proposals.next(search.state.graph.node_of[(0,)]))
    assert len(first) == 6  # each of six children is missing with probability below 0.1 %


def test_priors_of_a_child_that_is_listed_twice_add_up():
    problem = TableProblem({0: ["a", "b", "a"]}, {"a": 0.5, "b": 0.5})
    problem.prior = lambda state: [0.2, 0.3, 0.4]
    assert priors_of(problem, 0) == {"a": pytest.approx(0.6), "b": 0.3}


def test_a_problem_may_have_no_opinion_of_some_states():
    problem = Guided()
    problem.prior = lambda state: None if len(state) == 2 else Guided().prior(state)
    assert set(priors_of(problem, (0, 1)).values()) == {1.0}
    assert searched(problem).run().growths > 0
