"""All features as a baseline of every result."""

from __future__ import annotations

import pytest
from sklearn.naive_bayes import GaussianNB

from bestleaf import BestLeafSelector, Certificate, KNNOracle, best_leaf, problems, verify
from bestleaf.report import report_html
from forging import changed
from genuine import table
from paths import certificate
from selecting import made_selector

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
    content, place = limited.certificate_.content, ("data", "all_features")
    other = Certificate(changed(content, place, lambda value: value + 0.01))
    assert verify(other)  # without the data nothing can be said of it
    assert "the value of {x0, x2, x3, x4, x5} is" in str(verify(other, X, Y))
    verdict = verify(Certificate(changed(content, place, 1.5)))
    assert "'all_features' of the data must be a number from 0 to 1" in str(verdict)
    found = made_selector(choose="training", random_state=0, guarantee="exhaustive").fit(X, Y).certificate_
    content = changed(found.content, ("data", "all_features"), lambda value: value - 0.01)
    assert "has two values" in str(verify(Certificate(content)))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_estimators_have_it_as_well_unless_they_cannot_take_all_features():
    class Few(GaussianNB):
        def fit(self, X, y):
            if X.shape[1] > 4:
                raise ValueError("too many")
            return super().fit(X, y)

    settings = {"cv": 3, "choose": "training", "random_state": 0, "max_features": 2, "epsilon": 0.3, "max_samples": 60}
    able, unable = (made_selector(one, **settings).fit(X, Y).certificate_ for one in (GaussianNB(), Few()))
    assert 0 < able.all_features["value"] < 1
    assert unable.all_features["value"] is None


def test_the_path_has_the_left_out_score():
    found = certificate()[0]
    assert found.all_features["left_out"] == found.path[-1]["left_out"]
    assert found.all_features["value"] == found.path[-1]["training"]
    assert found.all_features_in_words() is None  # the path in words has it


def test_other_searches_have_none_and_an_answer_with_all_features_is_its_own_baseline():
    other = best_leaf(problems.paper_lattice(), epsilon=0.2, delta=0.1, seed=0).certificate
    assert other.all_features is None
    assert other.all_features_in_words() is None
    found = BestLeafSelector(choose="training", random_state=0).fit(X[:, :1], X[:, 0] > 0).certificate_
    assert found.all_features_in_words() is None
    assert found.all_features["value"] == found.score
