"""`validate` with held-out rows: the claims about new rows, what is refused, and certificates that were changed."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from bestleaf import Certificate, NeighbourVotes, validate, verify
from bestleaf.new_data import votes_score
from forging import changed, reworded
from forging import judged as verdict_on
from selecting import made_selector

DELTA = 0.2


def table(rows, seed=0, columns=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    return X, (X[:, 0] + X[:, 1] + rng.normal(size=rows) > 0).astype(int)


def quick(estimator=None, **settings):
    return made_selector(estimator, **{"choose": "training", "epsilon": 0.1, "random_state": 0, **settings})


@pytest.fixture(scope="module")
def proved():
    return validate(quick(), *table(160), holdout=0.4)


@pytest.mark.slow
def test_intervals_of_whole_validations_hold():
    missed, tables, (many_X, many_y) = np.zeros(2), 40, table(4000, seed=1)
    for seed in range(tables):
        X, y = table(70, seed=100 + seed)
        found = validate(quick(random_state=seed, max_features=2), X, y, holdout=0.5, delta=DELTA)
        support, kept = found.selector.support_, found.rows
        sets = support, np.ones(4, bool)
        truth = [votes_score(NeighbourVotes(), X[kept][:, s], y[kept], many_X[:, s], many_y) for s in sets]
        intervals = found.interval, found.difference_interval
        truths = truth[0], truth[0] - truth[1]
        missed += [not low <= true <= high for (low, high), true in zip(intervals, truths, strict=True)]
    assert (missed <= tables * DELTA + 3 * sqrt(tables * DELTA * (1 - DELTA))).all()


def test_the_claims_keep_rows_of_the_search_and_new_rows_apart(proved):
    low, high = proved.interval
    found = proved.selector.certificate_
    assert low <= proved.score <= high
    assert proved.difference == pytest.approx(proved.score - proved.all_features_score)
    about = [claim for claim in found.content["claims"] if claim["kind"].startswith("new rows")]
    assert [claim["delta"] for claim in about] == [0.05, 0.05]
    assert "on new rows drawn like the 64 held-out rows is between " in about[0]["text"]
    assert "Nothing was chosen by the held-out rows" in about[0]["text"]
    assert "minus the score of all features" in about[1]["text"]
    assert "anything more about new data" in found.not_claimed[-1]
    for text in (claim["text"] for claim in about):
        assert text in str(proved)
        assert text in str(verify(found))
    together = found.content["claims"][-1]
    assert together["kind"] == "joint"
    assert together["text"].startswith("Each of these 2 claims may fail with probability 0.05")


def test_delta_is_that_of_the_selector_unless_it_is_given(proved):
    strict = validate(quick(), *table(160), holdout=0.4, delta=0.001)
    assert strict.interval[0] < proved.interval[0]
    assert strict.difference_interval[0] < proved.difference_interval[0]
    assert "at least 1 - 0.001 the score" in str(strict)
    other = validate(quick(guarantee="grown"), *table(160), holdout=0.4, delta=0.001).selector.certificate_
    assert verify(other)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "settings", "measure"),
    [
        (GaussianNB(), {}, "accuracy"),
        (GaussianNB(), {"scoring": "roc_auc"}, "auc"),
        (LogisticRegression(), {"scoring": "roc_auc"}, "auc"),
        (GaussianNB(), {"scoring": "roc_auc_ovr", "classes": 3}, "auc"),
        (GaussianNB(), {"classes": 3}, "accuracy"),
        (None, {"classes": 3}, "auc"),
        (RandomForestRegressor(5), {"classes": 0}, "concordance"),
        (None, {"classes": 0}, "concordance"),
    ],
)
def test_every_measure_with_a_proof(estimator, settings, measure):
    settings, (X, y) = dict(settings), table(120)
    classes = settings.pop("classes", 2)
    if classes != 2:
        target = X[:, 0] + np.random.default_rng(0).normal(size=120)
        y = np.digitize(target, [-0.5, 0.5]) if classes else target
    found = validate(quick(estimator, max_samples=200, **settings), X, y, holdout=0.4)
    unseen = found.selector.certificate_.content["unseen"]
    assert unseen["proof"]["measure"] == measure
    assert sum(line[-1] for line in unseen["proof"]["table"]) == 48
    assert 0 <= found.interval[0] <= found.score <= found.interval[1] <= 1
    assert ("share of every class" in str(found)) == (measure == "accuracy" or classes == 3)
    assert verify(Certificate.from_json(found.selector.certificate_.to_json()))


@pytest.mark.parametrize(
    ("estimator", "settings", "keywords", "why"),
    [
        (GaussianNB(), {"scoring": "f1"}, {}, "there is no proof for this score"),
        (GaussianNB(), {}, {"sample_weight": np.ones(90)}, "the rows are weighted"),
        (None, {}, {"groups": np.arange(90) // 3}, "rows of the same group are not independent"),
    ],
)
def test_without_a_proof_the_score_is_called_an_estimate(estimator, settings, keywords, why):
    found = validate(quick(estimator, max_samples=100, **settings), *table(90, seed=3), **{"holdout": 0.4, **keywords})
    certificate = found.selector.certificate_
    assert found.interval is None
    assert found.difference_interval is None
    assert np.isfinite(found.difference)
    assert f"This is an estimate without proof, because {why}." in str(certificate)
    assert "is an estimate without proof" in certificate.not_claimed[-1]
    assert verify(certificate)


def test_all_features_differ_from_themselves_by_nothing_and_do_not_have_what_is_excluded():
    X, y = table(80)
    found = validate(quick(include=[0, 1, 2], exclude=[3]), np.column_stack([X[:, :3], y]), y, holdout=0.4)
    assert found.all_features_score < 1  # without the column that gives the target away
    assert found.difference == 0
    assert found.difference_interval == (0, 0)
    assert "minus" not in str(found)
    assert verify(found.selector.certificate_)


FORGERIES = [
    (("score",), 0.99, "'score' of held-out rows is"),
    (("parts", 0, "score"), 0.99, "'score' of held-out rows is"),
    (("parts", 0, "all_features"), 0.1, "'all_features' of the held-out rows is"),
    (("rows",), 6400, "held-out rows"),
    (("splits",), 2, "'splits' of the held-out rows must be 1"),
    (("times",), [1, 2], "'times' of the held-out rows must be"),
    (("parts",), [], "one part of held-out rows, got 0"),
    (("proof", "interval", 0), 0.9, "'interval' of new rows follows from the table as"),
    (("proof", "interval"), [0.9], "'interval' of new rows follows from the table as"),
    (("proof", "difference_interval"), [0.0, 0.0], "'difference_interval' of new rows follows from the table as"),
    (("proof", "delta"), 0.0001, "of new rows follows from the table as"),
    (("proof", "measure"), "accuracy", "must be scored as the search was, got accuracy"),
    (("proof", "table", 0, 1), 5, "by their table"),
    (("proof", "table", 0), [0, 0, 1], "is not one of auc"),
    (("proof", "table", 0, 3), 10**14, "held-out rows, not 64"),
    (("proof", "table", 0, 0), -1, "'table' of the held-out proof must be"),
    (("proof", "table"), [], "is not one of auc"),
    (("proof", "table"), [[0, 1, 1, 1, 1, 32], [1, 2, 2, 2, 2, 32]], "must be about 2 classes"),
    (("unproved",), "size", "with a proof, or with the reason"),
    (("proof", "remark"), 1, "unknown part"),
    (("given",), None, "'given' of the held-out rows must be"),
]


@pytest.mark.parametrize(("path", "value", "words"), FORGERIES, ids=lambda one: str(one)[:40])
def test_a_changed_number_about_new_rows_is_found(proved, path, value, words):
    verdict = verdict_on(reworded(changed(proved.selector.certificate_.content, ("unseen", *path), value)))
    assert not verdict
    assert words in str(verdict)


def test_rows_can_be_handed_in():
    X, y = table(150)
    frame = pd.DataFrame(X, columns=list("abcd"))
    found = validate(quick(), frame[:90], y[:90], test_set=(frame[90:], y[90:]))
    certificate = found.selector.certificate_
    assert found.rows.tolist() == list(range(90))
    assert certificate.content["unseen"]["given"]
    assert "On 60 rows handed in for a test: " in str(certificate)
    assert verify(certificate, frame[:90], y[:90])
    plain = validate(quick(), X[:90], y[:90], test_set=(X[90:].astype(str).tolist(), y[90:].tolist()))
    assert plain.score == pytest.approx(found.score)
    assert plain.interval == found.interval


X, Y = table(60)
FRAME = pd.DataFrame(X, columns=list("abcd"))


@pytest.mark.parametrize(
    ("test_set", "told"),
    [
        (X, r"test_set must be a pair \(X_new, y_new\), got array"),
        ((X[:, :3], Y), r"test_set must have 4 columns in X_new, as X has, got shape \(60, 3\)"),
        ((X, Y[:9]), r"test_set must have one target for each of its 60 rows, got shape \(9,\)"),
        ((X, Y + 1), "test_set must have the classes of y only, got 2"),
        ((X, np.where(Y, "a", "b")), "test_set must have the classes of y only, got 'a'"),
        ((X, np.ones(60, int)), "test_set must have two different targets at least, got 1"),
        ((np.where(X > 2, np.nan, X), Y), r"test_set must not have missing values \(NaN\) or infinity"),
        ((np.full((60, 4), "a"), Y), "test_set must hold numbers only in X_new"),
        ((FRAME[list("abdc")], Y), "test_set must have the columns of X in their order, got 'd' instead of 'c'"),
        ((X[:0], Y[:0]), "test_set must have two different targets at least, got 0"),
    ],
)
def test_rows_that_do_not_go_with_the_search_are_refused_before_it(test_set, told, monkeypatch):
    monkeypatch.setattr(
        "bestleaf.selection.selector.Search", lambda *given, **settings: pytest.fail("the search began")
    )
    with pytest.raises(ValueError, match=told):
        validate(quick(), FRAME, Y, test_set=test_set)


def test_what_cannot_go_with_rows_handed_in_is_refused():
    target = X[:, 0] * 1.5
    for y, y_new, keywords, told in (
        (Y, Y, {"holdout": 0.5}, r"test_set must be given without holdout, got holdout=0\.5, too"),
        (Y, Y, {"sample_weight": np.ones(60)}, "test_set must be given without sample_weight"),
        (target, np.full(60, np.nan), {}, "test_set must have finite numbers as targets, because y has"),
    ):
        with pytest.raises(ValueError, match=told):
            validate(quick(), X, y, test_set=(X, y_new), **keywords)


def test_ctrl_c_while_held_out_rows_are_scored_keeps_the_answer(monkeypatch):
    def interrupted(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr("bestleaf.new_data.held_out._scored", interrupted)
    with pytest.warns(UserWarning, match="Ctrl-C ended the validation before the held-out rows were scored"):
        found = validate(quick(), X, Y, holdout=0.3)
    assert found.reason == "interrupted"
    assert np.isnan(found.difference)
    assert verify(found.selector.certificate_)


def test_few_rows_are_said_to_be_few():
    coarse = quick(epsilon=0.2).fit(X, Y).certificate_
    fine = quick(epsilon=0.001).fit(X, Y).certificate_
    error = fine.content["data"]["standard_error"]
    assert 0.001 < error < 0.2
    told = "The proof is finer than the data: on other rows of the same kind the value would differ by about "
    assert f"{told}{error:.4f} (standard error), more than epsilon 0.001." in str(fine)
    assert "finer than the data" not in str(coarse)
    assert verify(fine, X, Y)
    fine.content["data"]["standard_error"] = 0.0001
    assert "the standard error of the value is" in str(verify(fine, X, Y))
