"""What is sampled next, what is answered, and that neither depends on the order in which children are listed."""

from __future__ import annotations

from inspect import signature
from math import sqrt

import numpy as np
import pytest

from bestleaf import Rule, best_arm, best_leaf, uct_search, verify
from bestleaf.engine.rules import RULES, children, highest_lower_bound
from bestleaf.problems import PAPER_SCORES, ScoreLattice, TableProblem, Unrolled, paper_lattice, random_dag
from conftest import binomial_margin
from toys import worth

pytestmark = pytest.mark.slow


def listed(order) -> ScoreLattice:
    """Return the paper's lattice with its features listed in another order."""
    return ScoreLattice([PAPER_SCORES[place] for place in order], 3)


def samples_of(problems, **keywords) -> tuple[float, float]:
    """Return the mean number of samples over problems, each with a seed of its own, and its standard error."""
    found = [best_arm(one, epsilon=0, delta=0.1, seed=seed, **keywords).samples for seed, one in enumerate(problems)]
    return float(np.mean(found)), float(np.std(found) / sqrt(len(found)))


@pytest.mark.parametrize("rule", ["smallest_gap", "lucb", "lucb_mcts"])
def test_the_order_of_listing_does_not_decide_how_many_samples_are_needed(rule):
    rng, runs = np.random.default_rng(0), 120
    shuffled, error = samples_of((listed(rng.permutation(6)) for _ in range(runs)), rule=rule)
    for order in (range(6), range(5, -1, -1)):
        mean, other = samples_of((listed(order) for _ in range(runs)), rule=rule)
        assert abs(mean - shuffled) <= 4 * sqrt(error**2 + other**2)
        assert 0.8 < mean / shuffled < 1.25


def test_the_answer_is_not_simply_what_was_sampled_most():
    """Exact values come first; of noisy leaves a mean of few samples counts less."""
    problem = TableProblem({0: ["a", "b"], "a": [1, 2], "b": [3]}, {1: 0.4, 2: 0.3, 3: 0.9}, exact_states=[3])
    found = best_arm(problem, epsilon=0, delta=0.01, max_samples=5, seed=0)
    assert found.answer == "b"
    assert best_leaf(problem, epsilon=0, delta=0.01, max_samples=5, seed=0).answer == 3


@Rule
def weakest_rival(root, graph, known):
    """Name the child of smallest upper bound as the rival."""
    best = highest_lower_bound(root, graph, known)
    rival = -1
    for child in children(graph, root):
        if child != best and (rival < 0 or known[child].upper < known[rival].upper):
            rival = child
    return best, rival


def test_a_rule_decides_what_is_sampled():
    keywords = {"epsilon": 0.05, "delta": 0.1, "bound": "hoeffding", "seed": 3}
    problem = TableProblem({0: list(range(1, 6))}, {place: 0.3 + 0.1 * place for place in range(1, 6)})
    rules = [*RULES, weakest_rival]
    counts = {}
    for rule in rules:
        found = best_arm(problem, rule=rule, **keywords)
        assert (found.settled, found.answer) == (True, 5)
        counts[found.search.rule] = tuple(leaf.count for leaf in found.leaves)
    on_arms = {"smallest_gap", "ugape"}  # without shared leaves these are the same
    assert len({counts[name] for name in counts if name not in on_arms}) == len(counts) - 2
    assert counts["weakest_rival"][0] > 3 * counts["lucb"][0]
    lattice = {rule: best_arm(paper_lattice(), rule=rule, **keywords).samples for rule in ("smallest_gap", "ugape")}
    assert lattice["smallest_gap"] != lattice["ugape"]


def test_no_rule_is_wrong_more_often_than_delta_on_shared_leaves():
    runs = 60
    for rule in (weakest_rival,):
        wrong = 0
        for seed in range(runs):
            problem = random_dag(seed, layers=3, width=4, grid=0.1)
            found = best_arm(problem, epsilon=0.1, delta=0.2, rule=rule, seed=seed)
            assert found.settled
            wrong += worth(problem, problem.root()) - worth(problem, found.answer) > 0.1 + 1e-9
        assert wrong <= binomial_margin(runs, 0.2)


def best_below(result, problem) -> dict:
    """Return the highest mean of the leaves below each child of the root, in the graph as it was grown."""
    below, states = result.search.graph.children, result.states

    def best(node):
        return max(map(best, below[node])) if below[node] else problem.mean(states[node])

    return {states[child]: best(child) for child in below[0]}


def test_copies_of_a_state_that_have_grown_different_leaves_are_told_apart():
    """Trees whose states carry labels: what one copy of a state has grown says nothing about another copy."""
    runs, wrong = 80, 0
    for seed in range(runs):
        tree = Unrolled(random_dag(seed, layers=3, width=3, max_children=3, grid=0.1))
        found = best_arm(tree, epsilon=0.1, delta=0.1, expansion=0.7, bound="hoeffding", seed=seed)
        assert verify(found.certificate), str(verify(found.certificate))
        values = best_below(found, tree)
        wrong += max(values.values()) - values[found.answer] > 0.1 + 1e-9
    assert wrong <= binomial_margin(runs, 0.1)


@pytest.mark.parametrize("expansion", [None, 0.6])
def test_a_copy_that_nobody_sampled_does_not_keep_a_search_waiting(expansion):
    """The best move may reach a copy of a leaf that is known well, while another copy still looks better than all."""
    for seed in range(15):
        tree = Unrolled(random_dag(seed, layers=3, width=3, max_children=3, exact_share=0.3, grid=0.1))
        for search in (best_arm, best_leaf):
            found = search(tree, epsilon=0.15, delta=0.1, expansion=expansion, seed=seed, max_samples=20_000)
            assert found.settled
            assert all(leaf.lower == leaf.upper for leaf in found.leaves if leaf.exact)


def test_betting_is_the_default_bound_everywhere():
    for function in (best_arm, best_leaf):
        assert signature(function).parameters["bound"].default == "betting"


class Contradicting(TableProblem):
    """A problem whose `parents` lack some of those that its `children` imply."""

    def __init__(self, *arguments, lost, **keywords):
        super().__init__(*arguments, **keywords)
        self.lost = lost

    def parents(self, state):
        return [
            above for above, below in self.children_of.items() if state in below and (above, state) not in self.lost
        ]

    def count_children(self, state):
        return len(set(self.children_of[state]))


@pytest.mark.parametrize("lost", [[("a", 1)], [("b", 1)], [(0, "a")]])
def test_parents_that_contradict_children_are_refused(lost):
    graph = {0: ["a", "b"], "a": [1, 2], "b": [1, 3]}
    means = {1: 0.9, 2: 0.1, 3: 0.2}
    problem = Contradicting(graph, means, lost=lost)
    with pytest.raises(ValueError, match=r"parents\(.*\) must name every state whose children\(\) lists it"):
        [best_leaf(problem, epsilon=0.01, delta=0.1, expansion=1.0, seed=seed) for seed in range(10)]
    sound = Contradicting(graph, means, lost=[])
    assert best_leaf(sound, epsilon=0.01, delta=0.1, expansion=1.0, seed=0).answer == 1


def wrong_moves(play, samples: int, runs: int) -> int:
    """Return how often the first move after so many samples is worse than the best by more than 0.05."""
    wrong = 0
    for run in range(runs):
        lattice = listed(np.random.default_rng(run).permutation(6))
        found = play(lattice, max_samples=samples, seed=run).answer
        wrong += lattice.scores[found[0]] < 0.3
    return wrong


def test_a_search_that_runs_out_of_samples_answers_as_well_as_uct():
    runs = 60
    for samples in (300, 1000):
        ours = wrong_moves(lambda *a, **k: best_arm(*a, epsilon=0.05, delta=0.1, **k), samples, runs)
        rivals = [
            wrong_moves(lambda *a, v=variant, **k: uct_search(*a, variant=v, recommend="mean", **k), samples, runs)
            for variant in ("uct1", "uct2", "uct3", "ucd")
        ]
        assert ours <= binomial_margin(runs, max(min(rivals), 1) / runs, 0.05)
