"""Claims that rest on the highest score there can be: only where that is known, and only as far as the file fits."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from bestleaf import BestLeafSelector, Certificate, SearchOptions, verify
from bestleaf.certificate.units import Units, highest_score
from bestleaf.features.estimator import EstimatorOracle
from bestleaf.tables.select import named_estimator
from forging import judged, rewritten

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 14))
Y = X[:, 0] + 0.5 * X[:, 1] + RNG.normal(size=60)


@pytest.fixture(scope="module")
def by_r2():
    return BestLeafSelector(
        Ridge(),
        scoring="r2",
        choose="training",
        epsilon=0.02,
        random_state=0,
        cv=3,
        search=SearchOptions(max_samples=400),
    ).fit(X, Y)


def test_highest_scores():
    assert highest_score("roc_auc") == highest_score("r2") == 1.0
    assert highest_score("neg_mean_squared_error") == 0.0
    assert highest_score("my_own") == np.inf


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_no_race_with_a_score_that_may_be_any_number():
    def my_own(estimator, rows, targets):
        return -float(np.mean(np.abs(estimator.predict(rows) - targets)))

    found = BestLeafSelector(
        Ridge(),
        scoring=my_own,
        choose="training",
        epsilon=0.02,
        random_state=0,
        cv=3,
        search=SearchOptions(max_samples=200),
    ).fit(X, Y)
    assert "pruned" not in found.certificate_.content["challenges"].get("local", {})


def test_a_range_below_the_highest_score_proves_less(by_r2):
    content = copy.deepcopy(by_r2.certificate_.content)
    assert content["challenges"]["local"]["pruned"]
    assert any(claim["kind"] == "local" for claim in content["claims"])
    assert verify(Certificate(content))
    content["data"]["objective"]["score_range"][1] = 0.9
    assert not judged(copy.deepcopy(content))
    assert not Units.of(content["data"]).is_bounded
    forged = rewritten(content)
    assert all(claim["kind"] != "local" for claim in forged["claims"])


def test_a_bound_of_a_race_is_not_below_a_value_of_the_file(by_r2):
    content = copy.deepcopy(by_r2.certificate_.content)
    challenge = content["challenges"]["local"]
    value = {tuple(label): one for label, one in challenge["subsets"]}
    label = max(value, key=value.get)
    challenge["subsets"] = [[one, number] for one, number in challenge["subsets"] if tuple(one) != label]
    challenge["pruned"].append([list(label), 1 / 3 + 1e-9, 2])
    verdict = judged(rewritten(content))
    assert not verdict


def test_what_no_oracle_computed_again_is_taken_as_written(by_r2):
    told = str(verify(by_r2.certificate_, X, Y))
    assert "exact values (give the oracle of the estimator to compute them again)" in told
    assert "bounds of the subsets that were ruled out" in told
    oracle = EstimatorOracle(X, Y, estimator=Ridge(), scoring="r2", cv=3, random_state=0)
    told = str(verify(by_r2.certificate_, X, Y, oracle=oracle))
    assert "give the oracle" not in told
    assert "bounds of the subsets that were ruled out" not in told


def test_margins_are_rounded_up():
    assert Units(-1234.9, 0.0, "neg_mean_squared_error").margin(0.01).startswith("12.4 ")
    assert Units(0.0, 1e-6, "my_own").text(0.5) == "0.0000005000"


def test_an_unknown_name_of_an_estimator_is_refused():
    with pytest.raises(ValueError, match="estimator must be one of neighbours, linear, boosting, forest, svm"):
        named_estimator("logistic", "classification")
