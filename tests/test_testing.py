"""`bestleaf.testing`: our own parts pass its checks, broken ones get a sentence; a typical change."""

from math import log, sqrt

import numpy as np
import pytest

from bestleaf import Bound, best_arm, problems, testing, verify
from bestleaf.engine.bounds import BOUNDS, RIGOROUS
from bestleaf.engine.rules import RULES
from toys import Dice

pytestmark = pytest.mark.slow


class Nim:
    """Take one or two of seven matches; whoever takes the last one wins."""

    def root(self):
        return (7, True)

    def children(self, state):
        return [(state[0] - take, not state[1]) for take in (1, 2) if take <= state[0]]

    def is_terminal(self, state):
        return state[0] == 0

    def maximizes(self, state):
        return state[1]

    def sample(self, state, rng):
        while not self.is_terminal(state):
            moves = self.children(state)
            state = moves[int(rng.integers(len(moves)))]
        return 0.0 if state[1] else 1.0

    def exact(self, state):
        return 0.0 if state[1] else 1.0


class Broken(Nim):
    def __init__(self, **methods):
        for name, method in methods.items():
            setattr(self, name, method)


@pytest.mark.parametrize(
    "problem",
    [Nim(), problems.paper_lattice(), problems.Unrolled(problems.paper_lattice())],
    ids=lambda one: type(one).__name__,
)
def test_our_problems_pass(problem):
    testing.check_problem(problem, walks=10)


@pytest.mark.parametrize(
    ("methods", "sentence"),
    [
        ({"children": lambda state: []}, "a state that is not terminal must have children"),
        ({"children": lambda state: [[1, 2]]}, r"states must be hashable \(tuples, not lists\)"),
        ({"children": lambda state: [(6, False), (6, False)]}, "must list every child once"),
        ({"children": lambda state: [(state[0] + 1, True)]}, "every walk must end in a terminal state"),
        ({"exact": lambda state: 2.0}, r"must be a number in \[0, 1\] or None, got 2.0"),
        ({"exact": lambda state: 0.5}, "must be the mean of its samples, got 0.5"),
        ({"sample": lambda state, rng: 1.5}, r"must lie in \[0, 1\], got 1.5"),
        ({"sample": lambda state, rng: np.random.default_rng().random()}, "must take everything random from rng"),
        ({"count_children": lambda state: 5}, "must be the number of children, 2, got 5"),
        ({"parents": lambda state: []}, "must hold"),
        ({"maximizes": lambda state: 1}, "must return True or False, got 1"),
    ],
)
def test_a_broken_problem_gets_a_sentence(methods, sentence, monkeypatch):
    monkeypatch.setattr(testing, "LONGEST", 100)
    with pytest.raises(AssertionError, match=sentence):
        testing.check_problem(Broken(**methods), walks=10)


def test_a_problem_may_sample_terminal_states_only():
    problem = problems.TableProblem({0: ["a", "b"]}, {"a": 0.2, "b": 0.7})
    problem.sample = lambda state, rng: {"a": 0.2, "b": 0.7}[state]
    testing.check_problem(problem, walks=5)


@pytest.mark.parametrize("name", RULES)
def test_our_rules_pass(name):
    testing.check_ingredients(rule=name)


@pytest.mark.parametrize("name", sorted(name for name, bound in BOUNDS.items() if bound in RIGOROUS))
def test_our_bounds_hold(name):
    testing.check_bound(name, runs=60, samples=60)


def test_a_bound_that_is_too_narrow_is_told():
    @Bound
    def bold(mean, count, delta, row):
        return mean - 0.1 / sqrt(count), mean + 0.1 / sqrt(count)

    with pytest.raises(AssertionError, match=r"bound bold must hold with probability 0.9: at mean 0.3 it failed in"):
        testing.check_bound(bold, runs=50, means=(0.3,))


def test_a_bound_for_a_fixed_number_of_samples_is_told():
    @Bound
    def fixed(mean, count, delta, row):
        half = sqrt(log(2.0 / delta) / (2.0 * count))
        return mean - half, mean + half

    with pytest.raises(
        AssertionError, match=r"bound fixed must hold with probability 0.9: at mean 0.[35] it failed in"
    ):
        testing.check_bound(fixed)


def last_first(children, node, state):
    """The last child that is not in the graph enters."""
    return children[-1]


def moody(children, node, state):
    return children[int(np.random.default_rng().integers(len(children)))]


@pytest.mark.parametrize("proposal", ["random", last_first])
def test_proposals_pass(proposal):
    testing.check_ingredients(proposal=proposal)


def test_a_proposal_with_a_stream_of_its_own_is_told():
    with pytest.raises(AssertionError, match=r"proposal moody must take everything random from its seed"):
        testing.check_ingredients(proposal=moody)


# A typical change in this one file: a bound with the check of its evidence.


def check_union(side, value, delta, evidence):
    count, total = evidence[:2]
    half = sqrt(log(2.0 * count * (count + 1) / delta) / (2.0 * count))
    return value <= total / count - half + 1e-9 if side == "lower" else value >= total / count + half - 1e-9


def test_a_bound_is_added_in_one_file():
    def union(mean, count, delta, row):
        half = sqrt(log(2.0 * count * (count + 1) / delta) / (2.0 * count))
        return mean - half, mean + half

    bound = Bound(union, check=check_union)
    testing.check_bound(bound, runs=60, samples=60)
    result = best_arm(problems.paper_lattice(), epsilon=0.2, delta=0.1, bound=bound, seed=0)
    assert result.settled
    assert result.search.proof == "conditional"
    assert verify(result.certificate, bound=bound)
    narrower = Bound(union, check=lambda side, value, delta, evidence: False)
    assert not verify(result.certificate, bound=narrower)


def test_check_problem_looks_at_chance():
    testing.check_problem(Dice([0.5, 0.5]))
    given = iter([[0.5, 0.5], [0.4, 0.6]] * 100)
    for chance, words in (
        (lambda: [0.5], r"chance\('roll'\) must return a probability for each of 2 children, got 1"),
        (lambda: [-0.5, 1.5], r"chance\('roll'\) must return probabilities of at least 0, got -0.5"),
        (lambda: [0.5, 0.6], r"chance\('roll'\) must return probabilities that sum to 1, got the sum 1.1"),
        (lambda: next(given), r"chance\('roll'\) must return the same probabilities every time"),
    ):
        die = Dice(None)
        die.chance = lambda state, chance=chance: chance() if state == "roll" else None
        with pytest.raises(AssertionError, match=words):
            testing.check_problem(die)
    testing.check_problem(problems.TableProblem({0: [1, 2]}, {1: 0.4, 2: 0.6}, chance={0: [0.5, 0.5]}))


def test_a_graph_that_never_grows_is_told():
    with pytest.raises(AssertionError, match=r"must grow in a search with growth never, got .* and no growth"):
        testing.check_ingredients(growth=never)


def never(step, node, state):
    return None
