"""All subsets: the same values as one by one, within the budget; what is forged about them is caught."""

from __future__ import annotations

import os
import signal
from copy import deepcopy
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge

from bestleaf import Certificate, EstimatorOracle, verify
from bestleaf.certificate.all_subsets import LISTED, Numbering, count_subsets
from bestleaf.certificate.claims import words_of
from bestleaf.certificate.verify_graph import answer_of
from bestleaf.features import FeatureLattice
from bestleaf.features.all_subsets import Exhaustion
from bestleaf.features.neighbours import KNNOracle
from bestleaf.paper import make_linear
from bestleaf.search.budget import Budget, run_in_slices
from selecting import bestleaf, configured, made_selector

pytestmark = pytest.mark.slow
X, Y = make_linear(40, 13, seed=7, return_X_y=True)  # the best subset is the only one of its value
COARSE = np.round(X)  # with many ties
ALONE = [[feature] for feature in range(13)]


# ---- numbers


@pytest.mark.parametrize(("units", "most"), [(1, 1), (6, 2), (9, 8)])
def test_numbers_are_the_order_of_sorted_tuples(units, most):
    numbering = Numbering(range(units), (), most)
    subsets = sorted(subset for size in range(1, most + 1) for subset in combinations(range(units), size))
    assert numbering.total == len(subsets) == count_subsets(range(units), (), most)
    found = [tuple(np.flatnonzero(row)) for row in numbering.members(np.arange(numbering.total))]
    assert found == subsets == [numbering.units(number) for number in range(numbering.total)]
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
        if lattice.holds((*one, -1))
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
    monkeypatch.setattr("bestleaf.selection.selector.MOST_IN_GRAPH", 100)
    at_once = made_selector(Ridge(), **settings).fit(rows, real)
    content = at_once.certificate_.content
    assert content["all_subsets"]["evaluated"] == len(in_graph.evaluated_) == 127
    assert (at_once.subset_.tolist(), at_once.score_) == (in_graph.subset_.tolist(), in_graph.score_)
    oracle = EstimatorOracle(rows, real, estimator=Ridge(), scoring="r2", cv=3, random_state=0)
    assert "computed again" in str(verify(at_once.certificate_, rows, real, oracle=oracle, audit=1.0))


# ---- selections


def fitted(**settings):
    keywords = {"choose": "training", "guarantee": "exhaustive", "random_state": 0, **settings}
    return made_selector(**keywords).fit(X, Y)


def without_times(selector):
    content = {**selector.certificate_.content, "cost": None, "bestleaf": None}
    content["report"] = {**content["report"], "history": None, "repeat": None}
    return content


@pytest.fixture(scope="module")
def unbroken():
    return fitted()


def test_all_subsets_are_evaluated_and_the_certificate_says_so(unbroken, every):
    found = unbroken.certificate_
    assert (found.exact_evaluations, found.reason, found.settled) == (8191, "settled", True)
    assert "All 8,191 subsets that may be chosen were evaluated" in str(found)
    assert "no other of the 8,191 subsets that may be chosen (13 features) is better by more than 0.01" in str(found)
    assert len(unbroken.evaluated_) >= LISTED
    best = max(every.values())
    assert unbroken.evaluated_[0].score == best
    top = fitted(parsimony=0)
    assert top.score_ == best
    assert "no other has a higher value" in str(top.certificate_)
    assert unbroken.score_ >= best - 0.01
    assert len(unbroken.subset_) == min(len(one) for one, value in every.items() if value >= best - 0.01)


def test_threads_change_nothing_and_auto_evaluates_all_subsets_where_that_takes_seconds(unbroken):
    assert without_times(fitted(n_jobs=2)) == without_times(unbroken)
    assert without_times(fitted(guarantee="auto")) == without_times(unbroken)
    assert "all_subsets" not in fitted(guarantee="grown", max_samples=500).certificate_.content


def test_left_out_rows_choose_among_all_subsets():
    found = fitted(choose="new_data", cv=3).certificate_
    assert found.exact_evaluations == 8191
    assert found.content["new_data"]["best"]["value"] >= max(leaf["lower"] for leaf in found.leaves) - 0.01
    assert verify(found, X, Y)


def test_a_budget_ends_it_in_between():
    with pytest.warns(ConvergenceWarning, match="max_samples ended the search before it was settled"):
        found = fitted(max_samples=700).certificate_
    assert (found.exact_evaluations, found.reason, found.settled) == (700, "max_samples", False)
    assert "(13 features), 700 were evaluated. It is certain that none of these is better" in str(found)
    assert found.gap == pytest.approx(1 - found.score)
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
    assert (broken.reason, broken.exact_evaluations) == ("interrupted", sum(slices))
    assert 0 < broken.exact_evaluations < 8191
    assert verify(broken, X, Y, audit=1.0)


# ---- forgeries


@pytest.fixture(scope="module")
def genuine():
    return fitted(parsimony=0).certificate_.content


@pytest.fixture
def forged(genuine):
    """A copy that may be changed."""
    return deepcopy(genuine)


def said_again(content):
    """Let the answer be the best leaf that is left, and all words follow from the numbers, as a forger would."""
    best = max(content["leaves"], key=lambda leaf: leaf["lower"])
    names = [content["data"]["names"][unit] for unit in best["label"][:-1]]
    content |= {"answer": best["node"], "features": names}
    content["data"]["standard_error"] = None
    content["report"] = None
    content |= answer_of(content)
    content |= words_of(content)
    return content


def without_leaf(content, leaf):
    """Leave out a leaf of the star, and number the others again."""
    node, graph = leaf["node"], content["graph"]
    content["leaves"].remove(leaf)
    for one in content["leaves"]:
        one["node"] -= one["node"] > node
    graph["labels"].pop(node)
    graph["children"] = [list(range(1, len(graph["labels"]))), *([] for _ in content["leaves"])]
    graph["inner_orders"].pop()
    content["cost"]["values_outside"] += 1
    return content


def refused(content, *data, audit=None):
    verdict = verify(Certificate(content), *data, audit=audit)
    assert not verdict
    return str(verdict)


def test_a_genuine_one_holds(genuine):
    found = Certificate(genuine)
    assert verify(found)
    assert "8,191 subsets that may be chosen were evaluated" in str(verify(found))
    drawn = "{} of 8,191 subsets that were evaluated, drawn at random, were computed again."
    assert drawn.format(82) in str(verify(found, X, Y))
    assert drawn.format("1,639") in str(verify(found, X, Y, audit=0.2))
    assert "All 8,191 subsets that were evaluated were computed again." in str(verify(found, X, Y, audit=1.0))
    assert "drawn at random" not in str(verify(found, X, Y, audit=0))
    assert verify(Certificate.from_json(found.to_json()), X, Y)
    for share, error in ((1.5, ValueError), (-0.1, ValueError), ("all", TypeError), (True, TypeError)):
        with pytest.raises(error, match="audit must be"):
            verify(found, X, Y, audit=share)
    with pytest.raises(ValueError, match="audit must be given with X and y"):
        verify(found, audit=0.5)


def test_one_of_the_best_left_out_is_noticed(forged):
    best = max(forged["leaves"], key=lambda leaf: leaf["lower"])
    said_again(without_leaf(forged, best))
    assert "the best 1,000 subsets must be leaves, got 999 of at least" in refused(forged)
    left = sorted((leaf["lower"] for leaf in forged["leaves"]), reverse=True)
    forged["all_subsets"]["least"] = left[LISTED - 1]  # the next leaf, one of the best of a size
    said_again(forged)
    assert verify(Certificate(forged))  # numbers alone cannot show it
    assert "so it must be a leaf of the certificate" in refused(forged, X, Y, audit=1.0)


def test_a_forged_value_is_noticed(forged):
    worst = min(forged["leaves"], key=lambda leaf: leaf["lower"])
    worst |= {"lower": 0.999, "upper": 0.999, "mean": 0.999}
    said_again(forged)
    assert verify(Certificate(forged))
    assert "on these data, not 0.999" in refused(forged, X, Y)  # all leaves are computed again


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda part: part.update(evaluated=8000), "needs all 8,191 subsets, got 8,000"),
        (lambda part: part.update(evaluated=9000), "there are 8,191 subsets, got 9,000 that were evaluated"),
        (lambda part: part.update(least=1.0), "the best 1,000 subsets must be leaves"),
        (lambda part: part.pop("least"), "'least' is missing"),
        (lambda part: part.update(block=1024), "'block'"),
    ],
)
def test_forged_numbers_are_noticed(forged, change, words):
    change(forged["all_subsets"])
    if "least" in forged["all_subsets"]:
        forged |= answer_of(forged)
        forged |= words_of(forged)
    assert words in refused(forged)


def test_a_forged_best_of_a_size_is_noticed_with_the_data(forged):
    oracle = KNNOracle(X, Y)
    size, value, names = forged["report"]["by_size"][-2]
    numbers = [forged["data"]["names"].index(name) for name in names]
    spare = next(unit for unit in range(13) if unit not in numbers)
    other = sorted([*numbers[1:], spare])  # another subset of 12 of 13 features, which is worse
    assert (size, len(other)) == (12, 12)
    assert oracle.value(other) < value
    gone = next(leaf for leaf in forged["leaves"] if leaf["label"] == [*numbers, -1])
    assert gone["lower"] < forged["all_subsets"]["least"]  # no claim rests on it
    forged["report"]["by_size"][-2] = [size, oracle.value(other), [forged["data"]["names"][unit] for unit in other]]
    without_leaf(forged, gone)
    forged |= answer_of(forged)
    assert verify(Certificate(forged))
    assert "a subset of size 12 is better than the best one written" in refused(forged, X, Y, audit=1.0)


def test_claims_need_the_count_they_are_about(forged):
    del forged["all_subsets"]
    said_again(forged)
    assert "cannot be reached from [] in one step" in refused(forged)


def test_the_command_line_computes_subsets_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = [f"x{feature}" for feature in range(13)]
    pd.DataFrame(X, columns=names).assign(y=Y).to_csv("data.csv", index=False)
    more = ["--certificate", "c.json", *configured(choose="training")]
    assert "All 8,191 subsets" in bestleaf("select", "data.csv", "--target", "y", *more).out
    told = bestleaf("verify", "c.json", "--data", "data.csv", "--audit", "0.5")
    assert (told.code, "4,096 of 8,191 subsets" in told.out) == (0, True)
    told = bestleaf("verify", "c.json", "--audit", "0.5")
    assert (told.code, "--data must be given with --audit" in told.err) == (2, True)
