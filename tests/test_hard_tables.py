"""Tables and estimators that are not as they should be: copies of rows, many zeros, models that fail."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import LeaveOneOut
from sklearn.svm import SVC

from bestleaf import BestLeafSelector, NeighbourVotes, verify
from bestleaf.selection.data import Data
from bestleaf.selection.folds import kept_together, numbered
from bestleaf.selection.nested import hanley_mcneil
from bestleaf.selection.new_rows import rows_aside

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(90, 4)), np.arange(90) % 3


def data_of(X, y, **more):
    return Data(X, np.asarray(y), np.arange(X.shape[1]), **more)


def fitted(estimator=None, X=X, y=Y, weights=None, groups=None, **settings):
    return BestLeafSelector(estimator, random_state=0, **settings).fit(X, y, sample_weight=weights, groups=groups)


def test_copies_of_rows_are_kept_together_and_categories_are_not():
    noise, y = np.tile(RNG.normal(size=(300, 4)), (2, 1)), np.tile(RNG.integers(0, 2, 300), 2)
    together = kept_together(data_of(noise, y)).groups
    assert (together[:300] == together[300:]).all()
    with pytest.warns(UserWarning, match="300 rows are copies of other rows"):
        found = fitted(NeighbourVotes(), noise, y, holdout=0.3)
    assert found.certificate_.new_rows.why_no_proof == "groups"
    assert verify(found.certificate_, noise, y)
    assert any("300 rows" in note for note in found.certificate_.told.notes)
    for plain in (RNG.integers(0, 4, (600, 3)) * 1.0, RNG.integers(0, 90, (600, 1)) * 1.0, RNG.normal(size=(600, 3))):
        assert kept_together(data_of(plain, y)).groups is None


def test_many_zeros_are_one_part_and_nothing_is_nan():
    y = np.where(RNG.random(200) < 0.9, 0.0, RNG.random(200))
    labels = numbered(y, None)
    assert len(set(labels[y == 0])) == 1
    found = fitted(X=RNG.normal(size=(200, 4)), y=y)
    assert np.isfinite([found.score_, found.difference_]).all()


def test_no_error_is_nothing():
    assert hanley_mcneil(1.0, 15, 15) > 0.0003
    y = np.arange(30) % 2
    low, high = fitted(X=np.column_stack([y * 9.0, X[:30]]), y=y).score_interval_
    assert high - low > 0.01


def test_a_giant_group_stays_to_choose_by():
    groups = np.r_[np.zeros(2700, int), 1 + np.arange(300) // 3]
    for seed in range(5):
        split = rows_aside(
            data_of(np.zeros((3000, 1)), np.arange(3000) % 2, groups=groups), None, "classification", seed
        )
        assert len(split.kept) >= 1800


class Broken(LogisticRegression):
    def __init__(self, how="fit"):
        super().__init__()
        self.how = how

    def fit(self, X, y, sample_weight=None):
        if self.how == "fit":
            raise RuntimeError("no convergence")
        return super().fit(X, y)

    def decision_function(self, X):
        if self.how == "predict":
            raise KeyError("lost")
        return super().decision_function(X) * np.nan


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"estimator": Broken("fit")}, "estimator Broken cannot be fitted to . columns: RuntimeError: no convergence"),
        ({"estimator": Broken("predict")}, "estimator Broken cannot predict by . columns: KeyError: 'lost'"),
        ({"estimator": Broken("nan")}, "estimator Broken must predict finite numbers"),
        ({"estimator": SVC(decision_function_shape="ovo")}, "SVC must decide for classes, not for pairs"),
        ({"cv": LeaveOneOut()}, "cv must leave two different targets in both parts of a fold"),
        ({"cv": 90}, "cv must leave two different targets in both parts of a fold"),
    ],
)
def test_one_sentence_ends_what_cannot_be_done(settings, told):
    with pytest.raises(ValueError, match=told):
        fitted(**settings)


@pytest.mark.filterwarnings("ignore:no fold has")
@pytest.mark.parametrize(
    ("groups", "told"),
    [
        (Y * 10 + np.arange(90) // 45, "no score on new rows is known: without two folds at a time"),
        (np.where(Y, 9, np.arange(90) % 4), "no fold has two different targets on both sides"),
    ],
)
def test_groups_of_one_class_each_are_told_of(groups, told):
    y = Y if groups.max() > 9 else Y > 0
    found = fitted(y=y, groups=groups).certificate_
    assert found.reason == "settled"
    assert found.told.notes[-1].startswith(told)
    assert verify(found, X, y, groups=groups)


def test_rows_without_weight_are_no_rows():
    weights = (np.arange(90) < 60) * 1.0
    assert fitted(weights=weights).certificate_.new_rows.rows == 60
