"""All subsets: the same values as one by one, within the budget."""

from __future__ import annotations

import os
import signal
from itertools import combinations

import numpy as np
import pytest
from msgspec import structs
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge

from bestleaf import EstimatorOracle, verify
from bestleaf.features import FeatureLattice
from bestleaf.features.all_subsets import LISTED, Exhaustion, Numbering, count_subsets
from bestleaf.features.neighbours import KNNOracle
from bestleaf.paper import make_linear
from bestleaf.search.budget import Budget, run_in_slices
from selecting import made_selector

pytestmark = pytest.mark.slow
X, Y = make_linear(40, 13, seed=7, return_X_y=True)  # the best subset is the only one of its value
COARSE = np.round(X)  # with many ties
ALONE = [[feature] for feature in range(13)]


# ---- numbers


@pytest.mark.parametrize(("units", "most"), [(1, 1), (6, 2), (9, 8)])
def test_numbers_are_the_order_of_sorted_tuples(units, most):
    numbering = Numbering(range(units), (), most)
    subsets = sorted(subset for size in range(1, most + 1) for subset in combinations(range(units), size))
    assert numbering.total == len(subsets) == count_subsets(range(units), (), most, 10**6)
    found = [tuple(np.flatnonzero(row)) for row in numbering.members(np.arange(numbering.total))]
    assert found == subsets == numbering.units(np.arange(numbering.total))
    seen = {()}
    for subset in subsets:  # it shares all but the end with one before it
        assert subset[:-1] in seen
        seen.add(subset)


# ---- values


def oracle_cases():
    rng = np.random.default_rng(0)
    classes, weights, groups = rng.integers(0, 3, 40), rng.uniform(0.1, 2.0, 40), np.repeat(np.arange(20), 2)
    yield "two classes", X, Y, {}
    yield "two threads", X, Y, {"n_jobs": 2}
    yield "ties", COARSE, Y, {"ties": "strict"}
    yield "row order", COARSE, Y, {"ties": "row_order"}
    yield "few rows", X[:9], Y[:9], {}
    yield "without rows at distance 0", COARSE, Y, {"drop_zero": True}
    yield "more neighbours", X, Y, {"n_neighbors": 9, "n_jobs": 2}
    yield "three classes", COARSE, classes, {}
    yield "real targets", X, X[:, 0] + rng.normal(size=40), {"task": "regression"}
    yield "weights", X, Y, {"sample_weight": weights}
    yield "groups", COARSE, Y, {"groups": groups}


@pytest.mark.parametrize(("data", "y", "settings"), [case[1:] for case in oracle_cases()])
def test_values_are_those_of_single_subsets_to_the_last_digit(data, y, settings):
    oracle, numbering = KNNOracle(data, y, **settings), Numbering(range(13), (), 13)
    numbers = np.concatenate([np.arange(3000, 3200), np.random.default_rng(1).integers(0, numbering.total, 100)])
    columns = numbering.columns(numbering.members(numbers), ALONE)
    assert oracle.table_values(columns).tolist() == [oracle.value(np.flatnonzero(row)) for row in columns]


@pytest.fixture(scope="module")
def every():
    """The value of every subset, computed one by one."""
    oracle = KNNOracle(X, Y)
    return {one: oracle.value(one) for size in range(1, 14) for one in combinations(range(13), size)}


@pytest.mark.parametrize(
    "limits",
    [
        {},
        {"max_features": 2, "include": [3], "exclude": [7]},
        {"groups": [[0, 5], [1], [2, 7, 3], [4], [6], [8, 9, 10, 11, 12]]},
    ],
)
def test_the_best_are_those_of_all_subsets(limits, every):
    lattice = FeatureLattice(KNNOracle(X, Y), **limits)
    found = Exhaustion(lattice, Budget())
    run_in_slices(found)
    right = {
        one: every[tuple(lattice.features_of(one))]
        for size in range(1, 14)
        for one in combinations(range(len(lattice.groups)), size)
        if lattice.root() == tuple(unit for unit in one if unit in lattice.forced)
        and {*one} <= {*lattice.forced, *lattice.allowed}
        and len(one) <= lattice.limit
    }
    assert (found.reason, found.evaluated) == ("settled", len(right))
    assert found.best_values.tolist() == sorted(right.values(), reverse=True)[:LISTED]
    assert all(right[units] == value for units, value in found.values().items())
    by_size = {size: max(value for one, value in right.items() if len(one) == size) for size in set(map(len, right))}
    assert {size: value for size, value in enumerate(found.size_values) if value >= 0} == by_size


def test_an_estimator_values_more_subsets_than_a_graph_holds(monkeypatch):
    settings = {"choose": "training", "scoring": "r2", "guarantee": "exhaustive", "cv": 3, "random_state": 0}
    rows, real = X[:, :7], X[:, 0] + X[:, 3] ** 2
    in_graph = made_selector(Ridge(), **settings).fit(rows, real)
    monkeypatch.setattr("bestleaf.selection.searched.MOST_IN_GRAPH", 100)
    at_once = made_selector(Ridge(), **settings).fit(rows, real)
    assert at_once.certificate_.all_subsets.evaluated == len(in_graph.evaluated_) == 127
    assert (at_once.subset_.tolist(), at_once.score_) == (in_graph.subset_.tolist(), in_graph.score_)
    oracle = EstimatorOracle(rows, real, estimator=Ridge(), scoring="r2", cv=3, random_state=0)
    assert "computed again" in str(verify(at_once.certificate_, rows, real, oracle=oracle, audit=1.0))


# ---- selections


def fitted(**settings):
    keywords = {"choose": "training", "guarantee": "exhaustive", "random_state": 0, **settings}
    return made_selector(**keywords).fit(X, Y)


def without_times(selector):
    found = selector.certificate_
    return structs.replace(found, cost=None, told=structs.replace(found.told, history=(), repeat=None))


@pytest.fixture(scope="module")
def unbroken():
    return fitted()


def test_all_subsets_are_evaluated_and_the_certificate_says_so(unbroken, every):
    found = unbroken.certificate_
    assert (found.cost.exact_evaluations, found.reason, found.settled) == (8191, "settled", True)
    assert "All 8,191 subsets that may be chosen were evaluated" in str(found)
    assert verify(found)
    assert "All 8,191 subsets that were evaluated were computed again." in str(verify(found, X, Y, audit=1.0))
    assert len(unbroken.evaluated_) >= LISTED
    best = max(every.values())
    assert unbroken.evaluated_[0].score == best
    top = fitted(parsimony=0)
    assert top.score_ == best
    assert unbroken.score_ >= best - 0.01
    assert len(unbroken.subset_) == min(len(one) for one, value in every.items() if value >= best - 0.01)


def test_threads_change_nothing_and_auto_evaluates_all_subsets_where_that_takes_seconds(unbroken):
    assert without_times(fitted(n_jobs=2)) == without_times(unbroken)
    assert without_times(fitted(guarantee="auto")) == without_times(unbroken)
    assert fitted(guarantee="grown", max_samples=500).certificate_.all_subsets is None


def test_a_budget_ends_it_in_between():
    with pytest.warns(ConvergenceWarning, match="max_samples ended the search before it was settled"):
        selector = fitted(max_samples=700)
    found = selector.certificate_
    assert (found.cost.exact_evaluations, found.reason, found.settled) == (700, "max_samples", False)
    assert found.search.gap == pytest.approx(1 - selector.score_)
    assert verify(found, X, Y, audit=1.0)


def test_ctrl_c_ends_it(monkeypatch):
    slices, original = [], KNNOracle.table_values

    def pressed(self, columns):
        slices.append(len(columns))
        if len(slices) == 4:
            os.kill(os.getpid(), signal.SIGINT)
        return original(self, columns)

    monkeypatch.setattr(KNNOracle, "table_values", pressed)
    with pytest.warns(ConvergenceWarning, match="Ctrl-C or a callback ended the search"):
        broken = fitted().certificate_
    assert (broken.reason, broken.cost.exact_evaluations) == ("interrupted", sum(slices))
    assert 0 < broken.cost.exact_evaluations < 8191
    assert verify(broken, X, Y, audit=1.0)
