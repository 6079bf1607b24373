"""All features as a baseline of every result."""

from __future__ import annotations

import json
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB

from bestleaf import BestLeafSelector, Certificate, KNNOracle, SearchOptions, best_leaf, problems, verify
from bestleaf.report import report_html
from bestleaf.tables import prepared
from bestleaf.tables.select import TableSelection
from genuine import table
from paths import certificate

X, Y = table(0)


@pytest.fixture(scope="module")
def limited():
    """A search that may not answer with all features."""
    return BestLeafSelector(choose="training", random_state=0, max_features=2, exclude=[1]).fit(X, Y)


def test_the_value_of_all_features_is_that_of_all_that_may_be_chosen(limited):
    found = limited.certificate_
    value = KNNOracle(X, Y).value([0, 2, 3, 4, 5])
    assert found.all_features == {"value": value, "left_out": None}
    difference = found.score - value
    better = f"better by {difference:.4f}" if difference > 0 else f"worse by {-difference:.4f}"
    sentence = f"With all 5 features the value is {value:.4f}: the answer is {better}."
    assert found.all_features_in_words() == sentence
    assert sentence in str(found)
    assert sentence in report_html(found)
    assert verify(found, X, Y)


def test_a_changed_value_is_refused(limited):
    content = deepcopy(limited.certificate_.content)
    content["data"]["all_features"] += 0.01
    assert verify(Certificate(content))  # without the data nothing can be said of it
    assert "the value of {x0, x2, x3, x4, x5} is" in str(verify(Certificate(content), X, Y))
    content["data"]["all_features"] = 1.5
    assert "'all_features' of the data must be a number from 0 to 1" in str(verify(Certificate(content)))


def test_a_value_that_contradicts_the_leaves_is_refused():
    found = (
        BestLeafSelector(choose="training", random_state=0, search=SearchOptions(guarantee="exhaustive"))
        .fit(X, Y)
        .certificate_
    )
    content = deepcopy(found.content)
    content["data"]["all_features"] -= 0.01
    assert "has two values" in str(verify(Certificate(content)))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_estimators_have_it_as_well():
    fitted = BestLeafSelector(
        GaussianNB(),
        cv=3,
        choose="training",
        random_state=0,
        max_features=2,
        epsilon=0.3,
        search=SearchOptions(max_samples=60),
    ).fit(X, Y)
    assert 0 < fitted.certificate_.all_features["value"] < 1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_estimator_that_cannot_take_all_features_loses_no_result():
    class Few(GaussianNB):
        def fit(self, X, y):
            if X.shape[1] > 4:
                raise ValueError("too many")
            return super().fit(X, y)

    fitted = BestLeafSelector(
        Few(),
        cv=3,
        choose="training",
        random_state=0,
        max_features=2,
        epsilon=0.3,
        search=SearchOptions(max_samples=60),
    ).fit(X, Y)
    assert fitted.certificate_.all_features["value"] is None


def test_the_path_has_the_left_out_score():
    found = certificate()[0]
    assert found.all_features["left_out"] == found.path[-1]["left_out"]
    assert found.all_features["value"] == found.path[-1]["training"]
    assert found.all_features_in_words() is None  # the path in words has it


def test_the_result_file_has_it(limited):
    frame = pd.DataFrame(X, columns=[f"c{n}" for n in range(6)]).assign(target=Y)
    result = json.loads(TableSelection(prepared(frame, "target"), limited, ["c0"]).to_json())
    assert result["all_features"] == limited.certificate_.all_features


def test_other_searches_have_none():
    other = best_leaf(problems.paper_lattice(), epsilon=0.2, delta=0.1, seed=0).certificate
    assert other.all_features is None
    assert other.all_features_in_words() is None


def test_an_answer_with_all_features_is_its_own_baseline():
    rng = np.random.default_rng(0)
    one = rng.normal(size=(60, 1))
    found = BestLeafSelector(choose="training", random_state=0).fit(one, one[:, 0] > 0).certificate_
    assert found.all_features_in_words() is None
    assert found.all_features["value"] == found.score
