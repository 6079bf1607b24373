"""Closed forms give the scores of scikit-learn's cross-validation, and leave to it what rounding makes doubtful."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier
from sklearn.metrics import make_scorer, r2_score
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, RepeatedKFold, ShuffleSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from bestleaf import BestLeafSelector, EstimatorOracle, SearchOptions, verify
from bestleaf.features.ranking import concordance

RNG = np.random.default_rng(7)
ROWS, FEATURES = 90, 12
X = RNG.normal(size=(ROWS, FEATURES)) * RNG.uniform(0.2, 5, FEATURES) + RNG.normal(size=FEATURES)
SIGNAL = X[:, 0] / X[:, 0].std() - X[:, 3] / X[:, 3].std()
REAL = SIGNAL + RNG.normal(size=ROWS)
TWO = (SIGNAL + RNG.normal(size=ROWS) > 0).astype(int)
THREE = np.array(["a", "b", "c"])[np.digitize(SIGNAL + RNG.normal(size=ROWS), [-0.8, 0.8])]
SUBSETS = [np.sort(RNG.permutation(FEATURES)[:size]) for size in (1, 2, 3, 7, FEATURES)]
FOLDS = 3

CASES = [
    (Ridge(), "r2", REAL),
    (Ridge(alpha=30.0, solver="svd"), "r2", REAL),
    (Ridge(), None, REAL),
    (LinearRegression(), "r2", REAL),
    *((RidgeClassifier(), name, TWO) for name in ("accuracy", "roc_auc")),
    (RidgeClassifier(alpha=3.0), "accuracy", THREE),
]


def oracle_of(estimator, scoring, y, data=X, cv=FOLDS, **keywords):
    return EstimatorOracle(data, y, estimator=estimator, scoring=scoring, cv=cv, **keywords)


def by_scikit_learn(estimator, scoring, y, data=X, cv=FOLDS, groups=None):
    """Return the scores [subset, fold] of scikit-learn itself."""
    scorer = make_scorer(concordance) if scoring is None else scoring
    return np.array([cross_val_score(estimator, data[:, s], y, scoring=scorer, cv=cv, groups=groups) for s in SUBSETS])


def closed_scores(oracle, subsets=SUBSETS):
    return oracle.closed_form.scores(subsets, range(oracle.parts))


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize(("estimator", "scoring", "y"), CASES)
def test_scores_are_those_of_cross_validation(estimator, scoring, y, scaled):
    estimator = make_pipeline(StandardScaler(), estimator) if scaled else estimator
    found = closed_scores(oracle_of(estimator, scoring, y))
    assert np.isnan(found).mean() < 0.05
    expected = np.where(np.isnan(found), np.nan, by_scikit_learn(estimator, scoring, y))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("cv", "groups"),
    [
        (KFold(4, shuffle=True, random_state=1), None),
        (RepeatedKFold(n_splits=3, n_repeats=2, random_state=0), None),
        (ShuffleSplit(3, test_size=0.3, random_state=0), None),
        pytest.param(LeaveOneOut(), None, marks=pytest.mark.slow),
        (GroupKFold(3), np.arange(ROWS) % 7),
        ([(np.arange(60), np.arange(60, 90)), (np.arange(20, 90), np.arange(25))], None),
    ],
)
def test_any_splits(cv, groups):
    real = [] if isinstance(cv, LeaveOneOut) else [(Ridge(), "r2", REAL)]  # one row has no r2
    for estimator, scoring, y in (*real, (RidgeClassifier(), "accuracy", TWO)):
        found = closed_scores(oracle_of(estimator, scoring, y, cv=cv, groups=groups))
        np.testing.assert_allclose(found, by_scikit_learn(estimator, scoring, y, cv=cv, groups=groups), atol=1e-9)


def test_a_score_does_not_depend_on_what_else_is_asked_for():
    for estimator, scoring, y in CASES:
        oracle = oracle_of(estimator, scoring, y)
        together = oracle.values(SUBSETS)
        assert together == [oracle.value(subset) for subset in SUBSETS]
        parts = [[oracle.part(subset, number) for number in range(FOLDS)] for subset in SUBSETS]
        assert together == [float(np.mean(row)) for row in parts]
        asked = [(subset, number) for number in (2, 0) for subset in SUBSETS]
        assert oracle.part_scores(asked) == [oracle.part(*one) for one in asked]
        twin = pickle.loads(pickle.dumps(oracle))
        assert twin.values(SUBSETS) == together


DOUBTFUL = {
    "a column twice": np.column_stack([X, X[:, 0]]),
    "a column that is almost a sum": np.column_stack([X, X[:, 0] + X[:, 1] + 1e-7 * X[:, 5]]),
    "a column that is constant in a fold": np.column_stack([X, np.r_[np.zeros(80), np.ones(10)]]),
    "a constant column": np.column_stack([X, np.full(ROWS, 3.0)]),
    "columns of very different sizes": X * np.logspace(-9, 9, FEATURES),
    "means far from 0": X + 1e9,
    "single precision": X.astype(np.float32),
    "values that many rows share": RNG.integers(0, 3, size=(ROWS, FEATURES)).astype(float),
    "more columns than rows": RNG.normal(size=(ROWS, 100)),
}


@pytest.mark.filterwarnings("ignore::scipy.linalg.LinAlgWarning")
@pytest.mark.slow
@pytest.mark.parametrize("name", DOUBTFUL)
def test_what_is_doubtful_is_left_to_scikit_learn(name):
    data = DOUBTFUL[name]
    every = np.arange(data.shape[1])
    subsets = [every, every[[0, 1, -1]], every[-2:], every[:2]]
    for estimator, scoring, y in [
        (Ridge(1e-6), "r2", REAL),
        (LinearRegression(), "r2", REAL),
        (RidgeClassifier(1e-6), "accuracy", TWO),
        (RidgeClassifier(1e-6), "roc_auc", TWO),
    ]:
        oracle = oracle_of(estimator, scoring, y, data)
        found = oracle.values(subsets)
        oracle.closed_form = None
        np.testing.assert_allclose(found, oracle.values(subsets), rtol=0, atol=1e-9)


class Own(Ridge):
    pass


@pytest.mark.parametrize(
    ("estimator", "scoring", "y"),
    [
        (Own(), "r2", REAL),
        *((RidgeClassifier(), name, TWO) for name in ("f1", "balanced_accuracy")),
        (RidgeClassifier(class_weight="balanced"), "accuracy", TWO),
        (Ridge(solver="lsqr"), "r2", REAL),
        (Ridge(positive=True), "r2", REAL),
        (LinearRegression(positive=True), "r2", REAL),
        (LinearRegression(fit_intercept=False), "r2", REAL),
        (make_pipeline(MinMaxScaler(), Ridge()), "r2", REAL),
        (make_pipeline(StandardScaler(with_std=False), Ridge()), "r2", REAL),
        (Ridge(), make_scorer(r2_score, force_finite=False), REAL),
        (Ridge(), lambda model, data, y: 0.5, REAL),
    ],
)
def test_other_estimators_parameters_and_scorers_are_fitted(estimator, scoring, y):
    assert oracle_of(estimator, scoring, y).closed_form is None


def test_rows_with_weights_are_fitted():
    assert oracle_of(Ridge(), "r2", REAL, sample_weight=np.arange(1.0, ROWS + 1)).closed_form is None


def test_a_search_by_closed_forms_is_verified_by_fits_and_by_closed_forms():
    keywords = {"scoring": "r2", "cv": 3, "random_state": 0}
    search = SearchOptions(max_samples=200)
    selector = BestLeafSelector(choose="training", estimator=Ridge(), search=search, max_features=3, **keywords)
    selector.fit(X[:, :5], REAL)
    oracle = EstimatorOracle(X[:, :5], REAL, estimator=Ridge(), **keywords)
    assert oracle.closed_form is not None
    assert verify(selector.certificate_, X[:, :5], REAL, oracle=oracle)
    oracle.closed_form = None
    assert verify(selector.certificate_, X[:, :5], REAL, oracle=oracle)
