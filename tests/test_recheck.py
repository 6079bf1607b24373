"""Certificates are checked with their data, by code that shares no kernel with what made them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from msgspec.structs import replace
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from bestleaf import BestLeafSelector, EstimatorOracle, NeighbourVotes, SearchOptions, verify
from bestleaf.proof.verify import OtherDataError, RefusedError
from bestleaf.selection import recheck as module
from bestleaf.selection.recheck import PlainVotes, recheck

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 6))
NOISY = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * RNG.normal(size=150)
Y = (NOISY > 0).astype(int)
ROUND = np.round(X, 1)  # with many rows at the same distance


def searched(estimator=None, data=X, y=Y, **changes):
    """Return the record of the paper's search among at most three columns."""
    metadata = {name: changes.pop(name) for name in ("groups", "sample_weight") if name in changes}
    settings = {"choose": "training", "epsilon": 0.05, "random_state": 0, "max_features": 3, **changes}
    return BestLeafSelector(estimator, **settings).fit(data, y, **metadata).certificate_


CASES = {
    "two classes": {},
    "three classes": {"y": np.digitize(NOISY, [-0.5, 0.5])},
    "real targets": {"y": NOISY},
    "groups": {"groups": np.arange(150) // 3},
    "weights": {"sample_weight": RNG.random(150)},
    "weights of real targets": {"y": NOISY, "sample_weight": RNG.random(150)},
    "equal distances": {"data": ROUND},
    "as published": {"data": ROUND, "estimator": NeighbourVotes(drop_zero=True, ties="row_order", scale=False)},
    "a reference": {"data": ROUND, "estimator": NeighbourVotes(7, ties="strict", reference_rows=100)},
    "samples": {"search": SearchOptions(guarantee="grown"), "max_features": None},
}


@pytest.mark.parametrize("case", CASES)
def test_votes_counted_in_plain_numpy_are_those_of_the_kernels(case):
    given = CASES[case]
    record = searched(**given)
    metadata = {name: given[name] for name in ("groups", "sample_weight") if name in given}
    lines = recheck(record, given.get("data", X), given.get("y", Y), **metadata, audit=0.01)
    assert lines[0] == "The data are the ones it is about."
    assert "exact values were computed again." in lines[1]
    assert "drawn" not in lines[1]


def test_values_are_those_that_scikit_learn_counts():
    record = searched()
    votes = PlainVotes.of(record.data, module.Rows(X, Y, np.array(record.data.names, object)))
    standard = (X - X.mean(0)) / X.std(0)
    ranks = np.empty(150)
    for row in range(150):
        others = np.arange(150) != row
        ranks[row] = (
            KNeighborsClassifier()
            .fit(standard[others][:, [0, 2]], Y[others])
            .predict_proba(standard[[row]][:, [0, 2]])[0, 1]
        )
    positive, negative = ranks[Y == 1][:, None], ranks[Y == 0]
    assert votes.value([0, 2]) == pytest.approx(((positive > negative) + 0.5 * (positive == negative)).mean())


def test_a_value_that_does_not_follow_is_refused():
    record = searched()
    told = record.told
    (size, value, names), *others = told.by_size
    for changed, words in (
        (replace(told, all_features=told.all_features + 0.001), "the value of {.*} is .* on these data, not"),
        (replace(told, by_size=((size, value + 0.001, names), *others)), "has two values"),
    ):
        with pytest.raises(RefusedError, match=words):
            recheck(replace(record, told=changed), X, Y)
    leaves = tuple(
        replace(leaf, lower=leaf.lower - 0.01, upper=leaf.upper - 0.01, mean=leaf.mean - 0.01)
        for leaf in record.search.leaves
    )
    forged = replace(record, told=None, search=replace(record.search, leaves=leaves))
    with pytest.raises(RefusedError, match="on these data, not"):
        recheck(forged, X, Y)


def test_what_takes_long_is_checked_in_part(monkeypatch):
    record = searched()
    monkeypatch.setattr(module, "WORK", 10 * 150**2 * 20.0)
    assert "10 of 42 exact values, drawn at random, were computed again." in recheck(record, X, Y)


def test_all_subsets_are_recounted_if_they_are_few(monkeypatch):
    many = np.hstack([X, RNG.normal(size=(150, 7))])
    record = searched(data=many, max_features=None, search=SearchOptions(guarantee="exhaustive"))
    assert record.all_subsets.evaluated == 2**13 - 1
    monkeypatch.setattr(module, "WORK", 50 * 150**2 * 20.0)
    lines = recheck(record, many, Y, audit=0.004)
    assert lines[-1] == "33 of 8,191 subsets, drawn at random, that were evaluated were computed again."
    least = replace(record, all_subsets=replace(record.all_subsets, least=0.2))
    with pytest.raises(RefusedError, match="so it must be a leaf of the certificate"):
        recheck(least, many, Y, audit=0.004)


def test_an_estimator_is_fitted_again_and_must_be_the_same():
    record = searched(LogisticRegression(), scoring="roc_auc")
    assert "give verify an oracle" in recheck(record, X, Y)[-1]
    oracle = EstimatorOracle(X, Y, estimator=LogisticRegression(), scoring="roc_auc")
    assert "exact values were computed again." in recheck(record, X, Y, oracle=oracle)[-1]
    other = EstimatorOracle(X, Y, estimator=LogisticRegression(C=2.0), scoring="roc_auc")
    with pytest.raises(RefusedError, match="the oracle has the estimator"):
        recheck(record, X, Y, oracle=other)


# ---- the same data?


def test_other_data_are_refused():
    frame = pd.DataFrame(X, columns=list("abcdef"))
    record = searched(data=frame)
    for data, words in (
        (frame + 1, "their fingerprints differ"),
        (frame[:100], "is about 150 rows, got 100"),
        (frame.rename(columns={"a": "z"}), "the feature called 'a' has another name"),
        (frame[list("bacdef")], "the columns are in another order"),
        (frame.drop(columns="a"), "the column 'a' is not among them"),
        (frame.assign(z=1.0), "the column 'z' is new"),
    ):
        with pytest.raises(OtherDataError, match=words):
            recheck(record, data, Y)
    assert recheck(record, X, Y)[0].endswith("The names of the columns were not checked, because an array has none.")
    assert "not checked" not in recheck(record, frame, Y)[0]


def test_groups_and_weights_must_be_those_of_the_rows():
    groups = np.arange(150) // 3
    record = searched(groups=groups)
    with pytest.raises(RefusedError, match="have groups: give verify the groups, too"):
        recheck(record, X, Y)
    with pytest.raises(OtherDataError, match="these are not the groups of rows"):
        recheck(record, X, Y, groups=np.arange(150) // 2)
    with pytest.raises(RefusedError, match="the rows of the certificate have no weights"):
        recheck(record, X, Y, groups=groups, sample_weight=np.ones(150))


def test_a_graph_without_data_has_nothing_to_compare():
    with pytest.raises(RefusedError, match="is not about data"):
        recheck(replace(searched(), data=None), X, Y)


# ---- test rows


@pytest.fixture(scope="module")
def judged():
    """Return a table with a category and gaps, its targets, and the record of a default selection with test rows."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(400, 5)), columns=list("abcde"))
    frame["kind"] = np.where(frame.e > 0, "u", "v")
    y = np.where(frame.a + frame.b + rng.normal(size=400) > 0, "yes", "no")
    frame.loc[:40, "d"] = np.nan
    selector = BestLeafSelector(holdout=0.3, random_state=0, encode="auto").fit(frame, y)
    return frame, y, selector.certificate_


def test_test_rows_are_drawn_again_and_judged_again(judged):
    frame, y, record = judged
    verdict = verify(record, frame, y)
    assert verdict
    assert "The 120 test rows are those that the seed draws;" in str(verdict)
    assert "found the same: 2 scores (5 nearest neighbours, ridge regression); not computed again: extra trees." in str(
        verdict
    )


def with_score(claim, change):
    """Return a claim in which the counts of the levels of each matching are others."""
    return replace(claim, table=replace(claim.table, score=tuple(map(change, claim.table.score))))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda claim: replace(claim, rows=119, trained=281), "on the test rows, not"),
        (lambda claim: replace(claim, trained=279), "the seed draws 120 of 400 rows, not 120 beside 279"),
        (lambda claim: with_score(claim, lambda counts: (*counts[:-1], counts[-1] + 1)), "trials of test rows, not"),
        (lambda claim: with_score(claim, lambda counts: counts[::-1]), "mean level of"),
        (lambda claim: replace(claim, judges=dict.fromkeys(claim.judges, claim.score)), " scores 0"),
    ],
)
def test_a_table_of_test_rows_that_does_not_follow_is_refused(judged, change, words):
    frame, y, record = judged
    if (claim := change(record.new_rows)).rows == 119:
        record = replace(record, data=replace(record.data, rows=281))
    with pytest.raises(RefusedError, match=words):
        recheck(replace(record, new_rows=claim), frame, y)


def test_test_rows_of_another_seed_are_refused(judged):
    frame, y, record = judged
    with pytest.raises(RefusedError, match=r"trials of test rows|on the test rows, not"):
        recheck(replace(record, path=replace(record.path, seed=5)), frame, y)
