"""Bad input of every kind gets one clear sentence, raised where the user can act on it."""

from __future__ import annotations

import pytest

from bestleaf import best_arm, best_leaf
from bestleaf.problems import TableProblem, random_game_tree
from test_search import Walk


@pytest.mark.parametrize(
    ("keywords", "sentence"),
    [
        ({"epsilon": -0.1}, "epsilon must be between 0 and 1, got -0.1"),
        ({"epsilon": float("nan")}, "epsilon must be between 0 and 1, got nan"),
        ({"epsilon": "small"}, "epsilon must be a number between 0 and 1, got 'small'"),
        ({"delta": 0}, "delta must be strictly between 0 and 1, got 0"),
        ({"delta": 1.5}, "delta must be strictly between 0 and 1, got 1.5"),
        ({"expansion": 1.5}, "expansion must be between 0 and 1, or None for the whole graph, got 1.5"),
        ({"rule": "best"}, "rule must be one of smallest_gap, lucb, ugape, lucb_mcts or a function, got 'best'"),
        ({"bound": "tight"}, "bound must be one of theory, beta1, .*got 'tight'"),
        ({"stopping": "soon"}, "stopping must be one of sound, paper or a function of two children, got 'soon'"),
        ({"max_samples": 0}, "max_samples must be a whole number of at least 1 or None, got 0"),
        ({"max_time": 0}, "max_time must be a positive number of seconds or None, got 0"),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
        ({"callback": 3}, "callback must be a function or None, got 3"),
        ({"bound": "theory", "delta": 0.5}, "bound theory needs delta of at most 0.1 times the 4 leaves, got 0.5"),
    ],
)
def test_bad_keywords_get_one_clear_sentence(keywords, sentence):
    for search in (best_arm, best_leaf):
        with pytest.raises((ValueError, TypeError), match=sentence):
            search(Walk(), **{"epsilon": 0.1, "delta": 0.1, **keywords})


@pytest.mark.parametrize("value", [1.5, -0.1, float("nan"), float("inf"), "high", None])
def test_values_outside_the_unit_interval_are_refused(value):
    class Loud(Walk):
        def sample(self, state, rng):
            return value

    with pytest.raises((ValueError, TypeError), match=r"sample\(\(3, \d\)\) must return a number in \[0, 1\], got"):
        best_arm(Loud(), epsilon=0.1, delta=0.1)


@pytest.mark.parametrize("expansion", [None, 0.9])
def test_cycles_are_refused_by_the_published_test(expansion):
    class Loop(Walk):
        def children(self, state):
            return [*super().children(state), (0, 0)] if state == (2, 1) else super().children(state)

    with pytest.raises(ValueError, match="stopping 'paper' needs a graph without cycles"):
        best_leaf(Loop(), epsilon=0, delta=0.1, stopping="paper", expansion=expansion, seed=0, max_samples=10_000)


@pytest.mark.parametrize("expansion", [None, 0.5])
def test_roots_without_a_choice_are_refused(expansion):
    class Barren(Walk):
        def children(self, state):
            return []

    with pytest.raises(ValueError, match=r"the root \(0, 0\) has no children"):
        best_arm(Barren(), epsilon=0.1, delta=0.1, expansion=expansion)
    with pytest.raises(ValueError, match=r"the root \(0, 0\) is terminal"):
        best_arm(Walk(0), epsilon=0.1, delta=0.1, expansion=expansion)


class Loud(Walk):
    def exact(self, state):
        return 7


class Dead(Walk):
    def children(self, state):
        return [] if state == (1, 1) else super().children(state)


class Lists(Walk):
    def children(self, state):
        return [list(child) for child in super().children(state)]


class ListRoot(Walk):
    def root(self):
        return [0, 0]


class Labelled(Walk):
    label = "mine"


@pytest.mark.parametrize(
    ("problem", "sentence"),
    [
        (Loud(), r"exact\(\(3, \d\)\) must return a number in \[0, 1\], got 7"),
        (Dead(), r"children\(\(1, 1\)\) is empty but is_terminal\(\(1, 1\)\) is False"),
        (Lists(), "hashable"),
        (ListRoot(), "hashable"),
        (object(), "object lacks root, children, is_terminal, sample"),
        (Walk, "got the class Walk; call it first"),
        (Labelled(), "label of a problem must be a method, got 'mine'"),
    ],
)
def test_problems_that_cannot_be_searched_are_refused(problem, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence):
        best_arm(problem, epsilon=0.1, delta=0.1)


def test_two_player_twins_need_a_positive_epsilon():
    twins = TableProblem({0: ["a", "b"], "a": [1, 2], "b": [2, 1]}, {1: 0.5, 2: 0.6}, opponent=["a", "b"])
    with pytest.raises(ValueError, match="epsilon must be positive in a two-player graph"):
        best_arm(twins, epsilon=0, delta=0.1)
    with pytest.raises(ValueError, match="epsilon must be positive in a two-player graph"):
        best_arm(random_game_tree(0), epsilon=0, delta=0.1, expansion=0.3)
    assert best_arm(twins, epsilon=0.1, delta=0.1, seed=0).reason == "settled"


def test_errors_of_the_user_come_through():
    class Broken(Walk):
        def sample(self, state, rng):
            raise RuntimeError("the simulator crashed")

    with pytest.raises(RuntimeError, match="the simulator crashed"):
        best_arm(Broken(), epsilon=0.1, delta=0.1)
