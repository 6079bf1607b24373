"""Scores of a proof lie in [0, 1]; rows left out take any scorer."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.model_selection import cross_val_score

from bestleaf import BestLeafSelector, EstimatorOracle, validate, verify
from bestleaf.report import report_html
from bestleaf.tables.select import named_estimator
from selecting import made_selector

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 14))
Y = X[:, 0] + 0.5 * X[:, 1] + RNG.normal(size=60)
ERROR = "neg_mean_squared_error"
SETTINGS = {"estimator": Ridge(), "cv": 3, "random_state": 0, "max_samples": 200}
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # budgets are part of it


def own_error(estimator, rows, targets):
    return -float(np.mean(np.abs(estimator.predict(rows) - targets)))


@pytest.fixture(scope="module")
def by_error():
    return made_selector(**SETTINGS, scoring=ERROR).fit(X, Y)


def test_a_negative_r2_counts_as_0():
    oracle = EstimatorOracle(X, Y, estimator=Ridge(), scoring="r2", cv=3)
    scores = cross_val_score(Ridge(), X[:, [5]], Y, scoring="r2", cv=3)
    assert scores.min() < 0
    assert oracle.value([5]) == pytest.approx(np.maximum(scores, 0).mean())


def test_a_score_above_1_or_an_own_one_below_0_values_no_subset():
    above = EstimatorOracle(X, 10 * Y, estimator=Ridge(), scoring=make_scorer(mean_absolute_error), cv=3)
    with pytest.raises(ValueError, match=r"must give scores from 0 to 1 to value subsets, got \S+ for the features"):
        above.value([0])
    with pytest.raises(ValueError, match=r"scoring own_error must give scores from 0 to 1 to value subsets, got -"):
        EstimatorOracle(X, Y, estimator=Ridge(), scoring=own_error, cv=3).value([0])


@pytest.mark.parametrize("scoring", [ERROR, make_scorer(mean_absolute_error, greater_is_better=False)])
def test_an_error_is_refused_where_the_rows_given_decide(scoring):
    with pytest.raises(ValueError, match=r"scoring must have scores from 0 to 1, .* with choose='training', got the"):
        made_selector(**SETTINGS, scoring=scoring, choose="training").fit(X, Y)


def test_an_error_is_refused_where_too_few_rows_can_be_left_out():
    with pytest.raises(ValueError, match="because no choice could be made by left-out rows, got neg_mean_squared_err"):
        made_selector(**SETTINGS, scoring=ERROR).fit(X[:18], Y[:18])


@pytest.mark.parametrize("made", [BestLeafSelector, lambda **given: EstimatorOracle(X, Y, **given)])
def test_a_range_of_scores_is_refused_with_what_to_use_instead(made):
    with pytest.raises(TypeError, match=r"does not have, 'score_range'; use a scoring (from 0 to 1|that has bounds)"):
        made(score_range=(0.0, 1.0))


def test_left_out_rows_choose_by_an_error_and_subsets_are_valued_by_the_default_score(by_error):
    content = by_error.certificate_.content
    assert content["data"]["objective"]["scoring"] == "concordance"
    assert content["new_data"]["scoring"] == ERROR
    assert all(row.left_out < 0 for row in by_error.path_)
    assert by_error.optimism_ is None
    assert "Left-out score by neg_mean_squared_error -" in str(by_error.certificate_)
    oracle = EstimatorOracle(X, Y, estimator=Ridge(), cv=3, random_state=0)
    assert verify(by_error.certificate_, X, Y, oracle=oracle)
    assert f"{by_error.path_[0].left_out:.4f}" in report_html(by_error.certificate_)


def test_left_out_rows_choose_by_a_function_of_ones_own():
    found = made_selector(**SETTINGS, scoring=own_error).fit(X, Y)
    assert found.certificate_.content["new_data"]["scoring"] == "own_error"


def test_held_out_rows_are_scored_as_the_scorer_does():
    for scoring, choose in (("r2", "training"), (ERROR, "new_data")):
        found = validate(made_selector(**SETTINGS, scoring=scoring, choose=choose), X, Y, holdout=0.25)
        aside = np.setdiff1d(np.arange(len(Y)), found.rows)
        support = found.selector.support_
        model = Ridge().fit(X[np.ix_(found.rows, support)], Y[found.rows])
        loss = np.mean((model.predict(X[np.ix_(aside, support)]) - Y[aside]) ** 2)
        expected = -loss if scoring == ERROR else 1 - loss / Y[aside].var()
        assert found.score == pytest.approx(expected)
        assert f"{expected:.4f}" in found.selector.certificate_.unseen_in_words()
        assert verify(found.selector.certificate_)


def test_an_unknown_name_of_an_estimator_is_refused():
    with pytest.raises(ValueError, match="estimator must be one of neighbours, linear, boosting, forest, svm"):
        named_estimator("logistic", "classification")
