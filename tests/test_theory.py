"""The paper's complexity terms and bounds."""

from __future__ import annotations

from math import inf, log

import numpy as np
import pytest
from scipy.special import rel_entr

from bestleaf.paper import theory
from bestleaf.paper.theory import lower_bound
from bestleaf.problems import TableProblem, Unrolled, paper_lattice, random_game_tree
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


@pytest.fixture
def three_leaves():
    """Arms a = max(x, y) = 0.9 and b = max(y, z) = 0.6; the leaf y is below both."""
    return TableProblem({0: "ab", "a": "xy", "b": "yz"}, {"x": 0.9, "y": 0.6, "z": 0.1})


def test_gaps_are_those_computed_by_hand(three_leaves):
    """Delta_* = 0.9 - 0.6. On the way to x no step is larger; to y: |0.6 - 0.9|; to z: |0.6 - 0.9| and |0.1 - 0.6|."""
    assert theory.arm_gap(three_leaves) == pytest.approx(0.3)
    assert theory.leaf_gaps(three_leaves) == pytest.approx({"x": 0.3, "y": 0.3, "z": 0.5})
    assert theory.leaf_gaps(three_leaves, epsilon=0.4) == pytest.approx({"x": 0.4, "y": 0.4, "z": 0.5})


def test_both_terms_of_theorem_1_are_those_computed_by_hand(three_leaves):
    """H = 1/0.09 + 1/0.09 + 1/0.25 = 26.2222; ln(3/0.3) = 2.302585; ln ln(1/0.09) = 0.878774; ln ln 4 = 0.326634."""
    assert theory.complexity(three_leaves) == pytest.approx(26.2222, abs=1e-4)
    assert theory.tau_ub(three_leaves, delta=0.3) == pytest.approx(8 * 26.2222 * 2.302585, rel=1e-5)
    second = 2 * 16 / 0.09 * 0.878774 + 16 / 0.25 * 0.326634
    assert theory.iterated_logarithms(three_leaves) == pytest.approx(second, rel=1e-5)
    both = theory.theorem_1(three_leaves, delta=0.3)
    assert both == pytest.approx(8 * 26.2222 * 2.302585 + second, rel=1e-5)


def test_a_wide_gap_does_not_lower_theorem_1():
    """With gaps of 0.8 the iterated logarithm is negative: ln ln(1/0.64) = -0.81."""
    wide = TableProblem({0: "ab"}, {"a": 0.9, "b": 0.1})
    assert theory.iterated_logarithms(wide) == 0
    assert theory.theorem_1(wide, delta=0.1) == pytest.approx(8 * 2 / 0.64 * log(20))


def test_equal_arms_have_no_bound():
    equal = TableProblem({0: "ab"}, {"a": 0.5, "b": 0.5})
    assert theory.theorem_1(equal, delta=0.1) == inf
    assert theory.theorem_1(equal, delta=0.1, epsilon=0.1) < inf


def test_theorem_1_of_the_paper_with_both_terms():
    """The paper prints the first, 96,520, and calls the second negligible."""
    assert int(theory.theorem_1(paper_lattice(), delta=0.1)) == 96_520 + 59_051


def test_a_delta_that_theorem_1_does_not_allow_is_refused(three_leaves):
    with pytest.raises(ValueError, match=r"delta must be above 0 and at most 0\.3 with 3 leaves, got 0\.4"):
        theory.theorem_1(three_leaves, delta=0.4)


def test_theorem_2_includes_b_of_one_where_it_bounds_nothing():
    """Its bound grows beyond every number as b rises to 1."""
    bounds = (theory.tau_max, theory.tau_max_elementary, theory.tau_max_printed, theory.tau_max_root)
    for bound in bounds:
        rising = [bound(b, 0.1, 0.05) for b in (0.5, 0.7, 0.9, 0.95)]
        assert rising == sorted(rising)
        assert rising[-1] > 1e100
        assert bound(1, 0.1, 0.05) == inf
        assert bound(0.999, 0.1, 0.05) == inf  # too large for a number
    assert theory.tau_max_root(1, 0.1, 0.05, leaves=15) == inf


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((0, 0.1, 0.05), "b must be above 0 and at most 1, got 0"),
        ((1.5, 0.1, 0.05), "b must be above 0 and at most 1, got 1.5"),
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


def test_values_of_a_very_deep_graph_and_a_cycle():
    chain = {state: [state + 1] for state in range(20_000)}
    assert theory.values(TableProblem(chain, {20_000: 0.25}))[0] == 0.25
    with pytest.raises(ValueError, match="problem must have no cycle, got one through the state 0"):
        theory.values(TableProblem({state: [(state + 1) % 5] for state in range(5)}, {}))


def test_the_lower_bound_is_the_largest_smallest_divergence():
    """Against a direct search over shares: two arms of two leaves each, where the better one has leaves 0.3 and 0.6."""
    means = {"a": 0.3, "b": 0.5, "c": 0.6, "d": 0.55}
    problem = TableProblem({0: ["A", "B"], "A": ["a", "c"], "B": ["b", "d"]}, means)
    levels, rng = np.linspace(0.3, 0.6, 1001), np.random.default_rng(0)

    def divergence(p, q):
        return rel_entr(p, q) + rel_entr(1 - p, 1 - q)

    def smallest(shares):
        w = dict(zip(means, shares, strict=True))
        fall = sum(w[one] * np.where(means[one] > levels, divergence(means[one], levels), 0) for one in "ac")
        rise = [w[one] * np.where(means[one] < levels, divergence(means[one], levels), 0) for one in "bd"]
        return min((fall + one).min() for one in rise)

    tried = rng.dirichlet([1, 2, 8, 8], 20_000)
    best = max(map(smallest, tried))
    found = lower_bound(problem, 0.1)
    assert found <= divergence(0.1, 0.9) / best <= 1.02 * found


def test_the_lower_bound_of_ties_games_and_large_graphs():
    tie = TableProblem({0: ["a", "b"]}, {"a": 0.5, "b": 0.5})
    assert lower_bound(tie, 0.1) == np.inf
    assert lower_bound(tie, 0.1, 0.1) == pytest.approx(divergence_of_two(0.1), rel=0.01)
    assert lower_bound(paper_lattice(), 0.1) == lower_bound(Unrolled(paper_lattice()), 0.1)
    assert lower_bound(paper_lattice(), 0.1, task="leaf") > lower_bound(paper_lattice(), 0.1)
    with pytest.raises(ValueError, match="takes at most 5 leaves, got 20"):
        lower_bound(paper_lattice(), 0.1, most=5)
    with pytest.raises(ValueError, match="one player"):
        lower_bound(random_game_tree(0), 0.1)
    with pytest.raises(ValueError, match=r"delta must be above 0 and below 0\.5, got 0\.5"):
        lower_bound(paper_lattice(), 0.5)


def divergence_of_two(epsilon, delta=0.1):
    """Return kl(delta, 1 - delta) over the cost of moving two leaves of mean 0.5 apart by epsilon, half each."""
    low, high = 0.5 - epsilon / 2, 0.5 + epsilon / 2
    each = [0.5 * (rel_entr(0.5, q) + rel_entr(0.5, 1 - q)) for q in (low, high)]
    return (rel_entr(delta, 1 - delta) + rel_entr(1 - delta, delta)) / sum(each)
