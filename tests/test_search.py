"""Best arm and best leaf as a user calls them: results, budgets, ask and tell, bad input."""

from __future__ import annotations

import dataclasses
import os
import signal

import numpy as np
import pytest

import bestleaf
from bestleaf import Search, best_arm, best_leaf
from bestleaf.problems import (
    Problem,
    ScoreLattice,
    TableProblem,
    Unrolled,
    paper_lattice,
    random_game_tree,
    transposition_trap,
)
from bestleaf.search.budget import SLICE


class Walk:
    """Steps left or right; the further right, the better. A user's own problem in a few lines."""

    def __init__(self, depth=3):
        self.depth = depth

    def root(self):
        return (0, 0)

    def children(self, state):
        step, place = state
        return [(step + 1, place), (step + 1, place + 1)]

    def is_terminal(self, state):
        return state[0] == self.depth

    def sample(self, state, rng):
        return float(rng.random() < 0.1 + 0.8 * state[1] / self.depth)


class TieProblem:
    """All leaves are equal, so that epsilon = 0 is never reached; `meanwhile` is called for every sample."""

    def __init__(self, problem, meanwhile=lambda: None):
        self.root, self.children, self.is_terminal = problem.root, problem.children, problem.is_terminal
        self.meanwhile = meanwhile

    def sample(self, state, rng):
        self.meanwhile()
        return float(rng.random() < 0.5)


ASK = {"epsilon": 0.2, "delta": 0.1, "seed": 0}


def test_a_problem_of_a_few_lines_is_searched():
    assert isinstance(Walk(), Problem)
    arm = best_arm(Walk(), **ASK)
    leaf = best_leaf(Walk(), **ASK)
    assert arm.answer == (1, 1)
    assert leaf.answer == (3, 3)
    assert arm.reason == leaf.reason == "settled"
    assert {one.state for one in leaf.leaves} == {(3, place) for place in range(4)}


def test_the_result_is_frozen_and_says_what_it_cost(clock):
    class SlowWalk(Walk):
        def sample(self, state, rng):
            clock.advance(0.5)
            return super().sample(state, rng)

    result = best_arm(SlowWalk(), **ASK)
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.answer = None
    assert result.samples == sum(leaf.count for leaf in result.leaves)
    assert result.gap <= 0.2
    assert 0 <= result.lower <= result.upper <= 1
    assert result.node_updates >= result.node_refreshes >= result.samples
    assert result.seconds == pytest.approx(0.5 * result.samples)
    assert result.growths == 0
    assert "is better by more than 0.2" in result.summary()


def test_without_a_seed_the_result_names_one_that_repeats_it():
    first = best_arm(Walk(), epsilon=0.3, delta=0.2)
    again = best_arm(Walk(), epsilon=0.3, delta=0.2, seed=first.search.seed)
    assert again.leaves == first.leaves


@pytest.mark.parametrize("problem", [Walk(), paper_lattice()])
def test_max_samples_stops_with_honest_bounds(problem):
    result = best_leaf(problem, epsilon=0, delta=0.1, max_samples=37, seed=0)
    assert (result.reason, result.samples) == ("max_samples", 37)
    assert 0 < result.gap <= 1
    assert "Not settled" in result.summary()
    others = [leaf.upper for leaf in result.leaves if leaf.state != result.answer]
    assert result.gap == pytest.approx(min(1, max(others) - result.lower))


@pytest.mark.parametrize("compiled", [False, True])
def test_max_time_stops_in_time(compiled, clock):
    problem = TieProblem(random_game_tree(0, depth=4), meanwhile=lambda: clock.advance(0.01))
    if compiled:  # its samples cannot move the clock, so every look at it does
        problem, clock.tick = ScoreLattice([0.0] * 8, 4), 0.01
    begun = clock.now
    result = best_arm(problem, epsilon=0, delta=0.1, max_time=0.3, expansion=0.3, seed=0)
    assert result.reason == "max_time"
    assert result.samples > 0
    assert 0.3 <= result.seconds <= 0.3 + SLICE
    assert clock.now - begun <= 0.3 + 2 * SLICE


@pytest.mark.parametrize("problem", [Walk(), paper_lattice()])
def test_ctrl_c_gives_a_valid_result(problem, clock):
    drawn = []

    def press_after_a_hundred():
        drawn.append(clock.advance(0.01))
        if len(drawn) == 100:
            os.kill(os.getpid(), signal.SIGINT)

    result = best_arm(TieProblem(problem, press_after_a_hundred), epsilon=0, delta=0.1, seed=0)
    assert result.reason == "interrupted"
    assert 100 <= result.samples <= 100 + SLICE / 0.01
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("method", ["sample", "children", "callback"])
def test_whatever_is_interrupted_there_is_a_valid_result(method):
    calls, walk = [], Walk(9)

    def impatient(*given):
        calls.append(given)
        if len(calls) > (0 if method == "callback" else 8):
            raise KeyboardInterrupt
        return getattr(Walk, method)(walk, *given)

    if method != "callback":
        setattr(walk, method, impatient)
    callback = impatient if method == "callback" else None
    result = best_leaf(walk, epsilon=0, delta=0.1, expansion=0.9, seed=0, callback=callback, max_samples=10**6)
    assert result.reason == "interrupted"
    assert method != "sample" or result.samples == 8


def test_ask_and_tell_is_the_same_search():
    rng = np.random.default_rng(0)
    search = Search(Walk(), task="leaf", epsilon=0.2, delta=0.1, seed=rng)
    while (state := search.ask()) is not None:
        assert search.ask() == state
        search.tell(Walk().sample(state, rng))
    assert search.result().leaves == best_leaf(Walk(), **ASK).leaves


def test_the_opponent_may_move_first():
    arms = {"a": [1, 2], "b": [3]}
    game = TableProblem({0: ["a", "b"], **arms}, {1: 0.9, 2: 0.2, 3: 0.5}, opponent=[0])
    for stopping in ("sound", "paper"):
        assert best_arm(game, epsilon=0.1, delta=0.1, stopping=stopping, seed=0).answer == "b"


def test_one_child_is_the_answer_without_a_sample():
    problem = TableProblem({0: ["only"], "only": [1, 2]}, {1: 0.1, 2: 0.9})
    result = best_arm(problem, epsilon=0, delta=0.1)
    assert (result.answer, result.samples, result.gap) == ("only", 0, 0.0)
    assert best_leaf(problem, epsilon=0.1, delta=0.1, seed=0).answer == 2


def test_exact_values_are_asked_once_and_are_exact():
    class Exact(Walk):
        asked = 0

        def exact(self, state):
            self.asked += 1
            return state[1] / 4

    problem = Exact()
    result = best_leaf(problem, epsilon=0, delta=0.1, seed=0)
    assert (result.answer, result.lower, result.upper) == ((3, 3), 0.75, 0.75)
    assert result.samples == 0
    assert result.exact_evaluations == problem.asked == 4
    limited = best_leaf(Exact(), epsilon=0, delta=0.1, seed=0, max_samples=2)
    assert (limited.reason, limited.exact_evaluations) == ("max_samples", 2)


def test_an_exact_value_of_none_means_noisy():
    class Mixed(Walk):
        def exact(self, state):
            return 0.3 if state[1] < 2 else None

    result = best_leaf(Mixed(), epsilon=0.3, delta=0.1, seed=0)
    assert result.answer[1] >= 2
    assert result.samples > 0
    assert all(leaf.share > 0 for leaf in result.leaves if leaf.count > 1)


def test_shares_of_delta_never_exceed_delta():
    fixed = best_arm(Walk(), **ASK)
    grown = best_leaf(Walk(5), epsilon=0.3, delta=0.1, expansion=0.5, seed=0)
    assert sum(leaf.share for leaf in fixed.leaves) == pytest.approx(0.1)
    assert sum(leaf.share for leaf in grown.leaves) <= 0.1
    assert len({leaf.order for leaf in grown.leaves}) == len(grown.leaves)


def test_the_package_lists_its_names():
    assert set(bestleaf.__all__) <= set(dir(bestleaf))
    for name in bestleaf.__all__:
        assert getattr(bestleaf, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = bestleaf.nothing


def test_arms_that_share_all_they_have_grow_apart_before_anything_is_claimed():
    """A growing graph in which the first new node hangs below both arms leaves nothing to compare: it grows on."""

    class Rollouts(Walk):
        def sample(self, state, rng):
            step, place = state
            while step < self.depth:
                step, place = step + 1, place + int(rng.integers(2))
            return float(rng.random() < 0.8 - 0.1 * place)

    for seed in range(20):
        result = best_arm(Rollouts(6), epsilon=0.05, delta=0.05, expansion=0.3, seed=seed)
        assert result.samples > 0
        assert len(result.leaves) > 1


@pytest.mark.parametrize("expansion", [None, 0.5])
def test_a_best_leaf_against_an_opponent_is_refused_before_the_search(expansion):
    with pytest.raises(ValueError, match=r"^best_leaf needs a problem of one player, but here an opponent may move"):
        best_leaf(random_game_tree(0), epsilon=0.1, delta=0.1, expansion=expansion)


def test_the_promise_names_what_it_rests_on():
    ask = {"epsilon": 0.3, "delta": 0.1, "seed": 0}
    assert "With probability at least 1 - 0.1" in best_arm(Walk(), **ask).summary()
    for keywords in ({"stopping": "paper"}, {"bound": "beta2"}, {"bound": "theory", "expansion": 0.2}):
        assert "has no proof" in best_arm(Walk(), **ask, **keywords).summary()


def test_long_chains_are_walked_at_once():
    chain = TableProblem({state: [state + 1] for state in range(3000)}, {3000: 0.5})
    assert best_leaf(chain, epsilon=0.1, delta=0.1, seed=0).answer == 3000


@pytest.mark.parametrize("rule", ["lucb", "lucb_mcts", "ugape"])
def test_no_rule_starves_a_leaf_that_another_move_reaches_too(rule):
    """In the tree a bad leaf of the better move counts as reached by the other: best must not hang on it."""
    tree = Unrolled(transposition_trap(8))
    for seed in range(5):
        found = best_arm(tree, epsilon=0.05, delta=0.1, rule=rule, max_samples=50_000, seed=seed)
        assert (found.settled, found.answer) == (True, ("root", "left"))


def test_ask_and_tell_within_a_budget():
    rng = np.random.default_rng(0)
    search = Search(Walk(), epsilon=0.2, delta=0.1, seed=rng, max_samples=101)
    while (state := search.ask()) is not None:
        search.tell(Walk().sample(state, rng))
    assert search.result().samples <= 101
    with pytest.raises(RuntimeError, match="tell"):
        search.tell(0.5)
