"""The decision by left-out scores, on scores made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from bestleaf.new_data.choice import ALL, decide
from bestleaf.new_data.left_out import Scores
from bestleaf.new_data.part import Choosable

UNITS = 20
SIDES = (90, 10)  # rows trained on, and rows left out
FOLDS = 20


def choosable(limit=UNITS):
    sizes = tuple(range(1, min(limit, UNITS - 1) + 1))
    return Choosable([[unit] for unit in range(UNITS)], (), tuple(range(UNITS)), limit, sizes)


def decided(curves, *, noise=0.0, shared=0.0, parsimony=0.0, limit=UNITS, seed=0, everything=0.8):
    """Return the choice by differences to all features: one a size for each family, with noise in each fold."""
    rng, some = np.random.default_rng(seed), choosable(limit)
    scores = []
    for _ in range(FOLDS):
        of_all = everything + shared * rng.normal()  # what makes a fold easy or hard is the same for all subsets
        by_family = {
            name: of_all + np.array(curve[: len(some.sizes)]) + noise * rng.normal(size=len(some.sizes))
            for name, curve in curves.items()
        }
        scores.append(Scores(by_family, of_all, SIDES, 0))
    candidates = {name: some.cut(range(UNITS)) for name in curves}
    return decide(scores, candidates, some, parsimony)


def bump(middle, height, width=0.5, floor=-0.05):
    """Return a curve over the sizes with its highest point at one of them."""
    sizes = np.arange(1, UNITS)
    return floor + (height - floor) * np.exp(-0.5 * (np.log(sizes / middle) / width) ** 2)


def test_a_size_that_is_clearly_better_is_chosen():
    found = decided({"search": bump(6, 0.06), "F-test": bump(12, 0.02)}, noise=0.01, shared=0.1)
    assert found.chosen.family == "search"
    assert 5 <= found.chosen.size <= 8
    assert found.chosen in found.path
    assert found.families["search"] > found.families["F-test"]
    assert found.folds == FOLDS
    mixed = decided({"search": [0.02] * 9 + [-0.2] * 10, "F-test": [-0.2] * 9 + [0.01] * 10}).path
    assert [{row.family for row in rows} for rows in (mixed[:5], mixed[14:-1])] == [{"search"}, {"F-test"}]


def test_all_features_are_chosen_if_nothing_is_better():
    found = decided({"search": bump(6, -0.01), "F-test": bump(12, -0.01)}, noise=0.01)
    assert (found.chosen.family, found.chosen.size) == (ALL, UNITS)
    assert found.chosen is found.path[-1]
    assert (found.chosen.scores.difference, found.chosen.scores.difference_error) == (0.0, 0.0)


def test_of_equal_sizes_the_smallest_is_chosen():
    assert decided({"search": [0.0] * 19}).chosen.size == 1
    assert decided({"search": [-0.1, -0.1, *[0.01] * 17], "F-test": [-0.2] * 19}).chosen.size > 2


def test_parsimony_makes_the_answer_smaller_and_never_larger():
    rising = -0.03 + 0.035 * (1 - np.exp(-np.arange(1, UNITS) / 4))
    sizes = [decided({"search": rising}, noise=0.02, parsimony=one).chosen.size for one in (0.0, 0.5, 1.0, 2.0, 1e6)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[2] > sizes[-1] == 1
    assert decided({"search": rising - 0.01}, noise=0.02).chosen.family == ALL
    cheap = decided({"search": rising - 0.01}, noise=0.02, parsimony=4.0)
    assert cheap.chosen.size < UNITS  # a subset may cost something if all features are the best, too
    assert cheap.parsimony == 4.0


def test_one_size_that_is_good_by_chance_is_not_chosen():
    spike = np.full(UNITS - 1, -0.02)
    spike[9] = 0.04
    found = decided({"search": spike}, noise=0.005)
    assert found.path[9].scores.difference > 0.03  # the path shows what was measured
    assert found.chosen.family == ALL


def test_a_difference_that_folds_do_not_agree_about_is_not_trusted():
    flat = np.full(UNITS - 1, 0.001)
    assert decided({"search": flat}, noise=0.0).chosen.family == "search"
    # the mean over folds and about three neighbouring sizes has a standard deviation of 0.02 / sqrt(60) = 0.0026
    chosen_by_noise = [decided({"search": flat - 0.009}, noise=0.02, seed=seed).chosen.family for seed in range(50)]
    assert chosen_by_noise.count(ALL) >= 45


def test_rows_of_the_path_are_what_was_measured():
    rng, some = np.random.default_rng(1), choosable()
    scores = [Scores({"search": rng.uniform(0.6, 0.9, 19)}, rng.uniform(0.7, 0.8), SIDES, 0) for _ in range(FOLDS)]
    found = decide(scores, {"search": some.cut(range(UNITS))}, some, 0.0)
    assert [row.size for row in found.path] == list(range(1, UNITS + 1))
    fourth, everything = np.array([one.by_family["search"][3] for one in scores]), [one.everything for one in scores]
    widening = np.sqrt(1 / FOLDS + 10 / 90)  # of Nadeau and Bengio, for folds that share rows
    assert found.path[3].units == (0, 1, 2, 3)
    row = found.path[3].scores
    assert row.left_out == pytest.approx(fourth.mean())
    assert row.standard_error == pytest.approx(widening * fourth.std(ddof=1))
    assert row.difference == pytest.approx((fourth - everything).mean())
    assert row.difference_error == pytest.approx(widening * (fourth - everything).std(ddof=1))
    assert found.path[-1].scores.left_out == pytest.approx(np.mean(everything))


def test_sizes_without_a_subset_and_families_without_a_fold_are_not_chosen():
    some, short = choosable(), [0.1, 0.1, *[np.nan] * 17]
    by_family = {"search": 0.8 + np.array(short), "F-test": np.full(19, 0.7)}
    scores = [Scores(by_family, 0.8, SIDES, 0) for _ in range(FOLDS)]
    scores[3] = scores[3]._replace(by_family={"search": scores[3].by_family["search"]})
    candidates = {"search": {1: (4,), 2: (4, 5)}, "F-test": some.cut(range(UNITS))}
    found = decide(scores, candidates, some, 0.0)
    assert [row.size for row in found.path] == [1, 2, UNITS]
    assert found.chosen.units == (4,)
    assert set(found.families) == {"search"}
