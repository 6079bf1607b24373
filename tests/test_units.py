"""Scores in the units of the scorer, and ranges of scores that are found by a first look at the data."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_regression
from sklearn.linear_model import Ridge
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.model_selection import cross_val_score

from bestleaf import BestLeafSelector, EstimatorOracle, SearchOptions, validate, verify
from bestleaf.certificate.units import Units
from bestleaf.features.scoring import ScoreOutsideError, range_around
from bestleaf.report import report_html

X, Y = make_regression(90, 6, n_informative=2, noise=10, shuffle=False, random_state=0)
SETTINGS = {"estimator": Ridge(), "cv": 3, "random_state": 0}
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # budgets are part of it


def expected(selector, scoring):
    return cross_val_score(Ridge(), X[:, selector.support_], Y, scoring=scoring, cv=3).mean()


@pytest.fixture(scope="module")
def by_r2():
    return BestLeafSelector(**SETTINGS, scoring="r2").fit(X, Y)


@pytest.fixture(scope="module")
def by_error():
    return BestLeafSelector(
        **SETTINGS, scoring="neg_mean_squared_error", choose="training", search=SearchOptions(max_samples=200)
    ).fit(X, Y)


def test_r2_needs_no_range_and_is_shown_as_r2(by_r2):
    right = expected(by_r2, "r2")
    assert by_r2.score_ == pytest.approx(right)
    assert by_r2.score_interval_ == pytest.approx((right, right))
    assert f"Value {right:.4f}: mean r2 of Ridge" in str(by_r2.certificate_)
    assert max(row.training for row in by_r2.path_ if row.training == row.training) <= 1.0
    chosen = next(row for row in by_r2.path_ if row.size == len(by_r2.subset_))
    assert chosen.training == pytest.approx(right)
    assert by_r2.evaluated_[0].score == pytest.approx(max(one.score for one in by_r2.evaluated_))
    assert f"{chosen.left_out:.4f}" in str(by_r2.certificate_)


def test_epsilon_is_told_in_both_units(by_r2):
    units = Units.of(by_r2.certificate_.content["data"])
    assert units.high == 1.0
    told = f"by more than {0.01 * (units.high - units.low):.3g} (0.01 of the range of r2)"
    assert told in str(by_r2.certificate_)


def test_a_negative_error_is_shown_as_an_error(by_error):
    right = expected(by_error, "neg_mean_squared_error")
    assert by_error.score_ == pytest.approx(right)
    assert right < 0
    text = str(by_error.certificate_)
    assert f"Value {-right:.4g}: mean mean_squared_error of Ridge" in text
    assert "neg_" not in text.split("Not claimed")[0]


@pytest.mark.parametrize("kind", ["by_r2", "by_error"])
def test_verify_takes_the_range_of_the_certificate(kind, request):
    selector = request.getfixturevalue(kind)
    oracle = EstimatorOracle(X, Y, estimator=Ridge(), scoring=selector.scoring, cv=3, random_state=0)
    assert verify(selector.certificate_, X, Y, oracle=oracle.with_range(-1e6, 1.0))


def test_a_score_outside_of_the_range_begins_the_search_again(monkeypatch):
    monkeypatch.setattr("bestleaf.features.estimator.range_around", lambda scores, low, high: (0.9, 1.0))
    with pytest.warns(UserWarning, match=r"a r2 of .* lies outside of \[0.9, 1\], .* begins again with \["):
        found = BestLeafSelector(
            **SETTINGS, scoring="r2", choose="training", search=SearchOptions(max_samples=200)
        ).fit(X, Y)
    assert found.score_ == pytest.approx(expected(found, "r2"))
    assert found.certificate_.content["data"]["objective"]["score_range"][0] < 0.9
    assert verify(found.certificate_)


def test_with_a_checkpoint_a_range_that_is_too_narrow_is_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setattr("bestleaf.features.estimator.range_around", lambda scores, low, high: (0.9, 1.0))
    with pytest.raises(ValueError, match="give a wider one; with a checkpoint it must be given"):
        BestLeafSelector(**SETTINGS, scoring="r2", choose="training", checkpoint=tmp_path / "x.blf").fit(X, Y)


def test_a_scorer_without_any_bound_gets_a_range_with_a_margin_on_both_sides():
    own = make_scorer(mean_absolute_error)
    oracle = EstimatorOracle(X, Y, estimator=Ridge(), scoring=own, cv=3)
    seen = cross_val_score(Ridge(), X, Y, scoring=own, cv=3)
    assert oracle.score.low < seen.min()
    assert seen.max() < oracle.score.high
    assert 0 < oracle.value([0]) < 1


def test_a_range_given_by_the_user_is_not_widened():
    with pytest.raises(ValueError, match="score_range must hold every score of r2") as raised:
        EstimatorOracle(X, Y, estimator=Ridge(), scoring="r2", score_range=(0.999, 1)).value([5])
    assert not isinstance(raised.value, ScoreOutsideError)


@pytest.mark.parametrize(
    ("scores", "bounds", "found"),
    [
        ([-0.2, 0.8], (-np.inf, 1.0), (-0.5, 1.0)),
        ([-30.0, -10.0], (-np.inf, 0.0), (-38.0, 0.0)),
        ([2.0, 6.0], (-np.inf, np.inf), (1.0, 7.0)),
        ([0.0], (-np.inf, 0.0), (-1.0, 0.0)),
    ],
)
def test_a_range_holds_the_scores_with_a_margin_in_round_numbers(scores, bounds, found):
    assert range_around(scores, *bounds) == pytest.approx(found)


def test_units_of_values_in_the_unit_interval_change_nothing():
    assert (Units().score(0.25), Units().text(0.25), Units().margin(0.01), Units().signed(0.1)) == (
        0.25,
        "0.2500",
        "0.01",
        "+0.1000",
    )


def test_larger_numbers_have_fewer_digits():
    units = Units(-5000.0, 0.0, "neg_mean_squared_error")
    assert (units.text(0.5), units.gain(0.01), units.signed(0.01)) == ("2,500", "50.00", "-50.00")


def test_held_out_scores_are_in_the_units_of_the_scorer():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        selector = BestLeafSelector(**SETTINGS, scoring="r2", choose="training", search=SearchOptions(max_samples=60))
        found = validate(selector, X, Y, holdout=0.25)
    fitted = found.selector
    aside = np.setdiff1d(np.arange(len(Y)), found.rows)
    model = Ridge().fit(X[np.ix_(found.rows, fitted.support_)], Y[found.rows])
    assert found.score == pytest.approx(model.score(X[np.ix_(aside, fitted.support_)], Y[aside]))
    assert f"{found.score:.4f}" in fitted.certificate_.unseen_in_words()


def test_the_page_shows_scores_of_the_scorer(by_r2):
    page = report_html(by_r2.certificate_)
    low, high = by_r2.certificate_.content["data"]["objective"]["score_range"]
    best = by_r2.evaluated_.by_size()[1].score
    assert f">{best:.4f}<" in page
    assert f">{(best - low) / (high - low):.4f}<" not in page
