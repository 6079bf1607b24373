"""The paper's complexity terms and bounds."""

from __future__ import annotations

import pytest

from bestleaf.paper import theory
from bestleaf.problems import Unrolled, paper_lattice, random_game_tree
from test_search import Walk


def test_the_bound_of_the_fixed_dag_is_the_published_one():
    assert int(theory.tau_ub(paper_lattice(), delta=0.1)) == 96_520


def test_the_bound_of_the_tree_is_what_its_formula_gives():
    assert round(theory.tau_ub(Unrolled(paper_lattice()), delta=0.1)) == 987_827  # the paper prints 498,521


def test_the_gap_of_the_best_arm_is_the_published_one():
    assert theory.arm_gap(paper_lattice()) == pytest.approx(0.05, abs=0.002)


@pytest.mark.parametrize("b", [0.1, 0.25, 0.3, 0.4, 0.7])
def test_lambert_and_root_agree_and_the_elementary_forms_enclose_them(b):
    by_lambert = theory.tau_max(b, 0.1, 0.05)
    assert by_lambert == pytest.approx(theory.tau_max_root(b, 0.1, 0.05), rel=1e-6)
    assert theory.tau_max_printed(b, 0.1, 0.05) <= by_lambert <= theory.tau_max_elementary(b, 0.1, 0.05)
    assert theory.tau_max_root(b, 0.1, 0.05, leaves=15) > by_lambert


def test_epsilon_caps_the_complexity():
    assert theory.complexity(paper_lattice(), epsilon=0.5) == pytest.approx(20 / 0.25)


def test_games_have_a_complexity_too():
    assert theory.complexity(random_game_tree(0)) > 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((0, 0.1, 0.05), "b must be between 0 and 1, got 0"),
        ((0.3, 2, 0.05), "delta must be between 0 and 1, got 2"),
        ((0.3, 0.1, 0), "gap must be positive, got 0"),
        ((0.9, 0.9, 30.0), "no solution"),
    ],
)
def test_bad_arguments_get_one_clear_sentence(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        theory.tau_max(*arguments)


def test_unknown_means_are_refused():
    with pytest.raises(TypeError, match=r"problem must know mean\(state\) of its leaves, Walk does not"):
        theory.complexity(Walk())


class Chain:
    """States 0, 1, 2, ... up to the last one, whose mean is known; with a last state of None, a circle of five."""

    def __init__(self, last):
        self.last = last

    def root(self):
        return 0

    def is_terminal(self, state):
        return state == self.last

    def children(self, state):
        return [state + 1 if self.last else (state + 1) % 5]

    def mean(self, state):
        return 0.25


def test_values_of_a_very_deep_graph():
    assert theory.values(Chain(20_000))[0] == 0.25


def test_a_cycle_gets_one_clear_sentence():
    with pytest.raises(ValueError, match="problem must have no cycle, got one through the state 0"):
        theory.values(Chain(None))
