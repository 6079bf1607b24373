"""Other methods of feature selection, to compare with: the same estimator, the same measure, five folds, one core.

Every method chooses the number of features itself.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
from sklearn import ensemble
from sklearn import feature_selection as selection
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

NEIGHBOURS = 5  # that vote, without an estimator
FOLDS = 5
TREES = 50  # of a forest: with more of them, RFECV takes most of the time of a comparison


def importance_of(fitted: BaseEstimator) -> np.ndarray | None:
    """Return the importances or the sizes of the coefficients of a fitted estimator; None if it has neither."""
    last = fitted[-1] if isinstance(fitted, Pipeline) else fitted
    found = getattr(last, "feature_importances_", None)
    if found is None and hasattr(last, "coef_"):
        found = np.abs(np.atleast_2d(last.coef_)).sum(axis=0)
    return None if found is None or len(found) != fitted.n_features_in_ else np.asarray(found)


def mean_auc(fitted: BaseEstimator, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Return the AUC of two classes, or the mean one-against-rest AUC of those in `y`; 0.5 without two classes."""
    likely = fitted.predict_proba(X) if hasattr(fitted, "predict_proba") else fitted.decision_function(X)
    likely = np.column_stack([-likely, likely]) if likely.ndim == 1 else likely
    each = [(y == one, likely[:, number]) for number, one in enumerate(fitted.classes_)]
    each = each[1:] if len(each) == 2 else each  # the second class is enough for two
    scores = [roc_auc_score(truth, by, sample_weight=weights) for truth, by in each if 0 < truth.sum() < len(truth)]
    return float(np.mean(scores)) if scores else 0.5


class Setting(NamedTuple):
    """What all methods are given."""

    task: str
    estimator: BaseEstimator | None = None  # what predicts; None is 5 nearest neighbours on standardised features
    seed: int = 0
    groups: np.ndarray | None = None  # rows of one group are in the same fold

    @property
    def classes(self) -> bool:
        """Whether classes are predicted."""
        return self.task == "classification"

    @property
    def model(self) -> BaseEstimator:
        """A new estimator that predicts."""
        if self.estimator is not None:
            return clone(self.estimator)
        voters = KNeighborsClassifier if self.classes else KNeighborsRegressor
        return make_pipeline(StandardScaler(), voters(NEIGHBOURS))

    @property
    def forest(self) -> BaseEstimator:
        """A new forest, for methods that go by its importances."""
        kind = ensemble.RandomForestClassifier if self.classes else ensemble.RandomForestRegressor
        return kind(TREES, random_state=self.seed)

    def scored(self, y: np.ndarray) -> dict[str, object]:
        """Return how scikit-learn's selectors score: by which measure, on which folds."""
        return {"scoring": mean_auc if self.classes else "r2", "cv": self.folds(y)}

    def folds(self, y: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the folds of cross-validation; fewer than five if every class has fewer rows, or with fewer groups."""
        most = int(np.unique(y, return_counts=True)[1].max()) if self.classes else len(y)
        if self.groups is not None:
            many = max(2, min(FOLDS, most, len(np.unique(self.groups))))
            by = StratifiedGroupKFold(many) if self.classes else GroupKFold(many)
        else:
            many = max(2, min(FOLDS, most))
            by = (StratifiedKFold if self.classes else KFold)(many, shuffle=True, random_state=self.seed)
        return list(by.split(np.zeros(len(y)), y, self.groups))


class Peer(NamedTuple):
    """A method of feature selection that is not ours."""

    title: str
    select: Callable[[np.ndarray, np.ndarray, Setting], np.ndarray]  # from X and y to which features are selected
    module: str = "sklearn"  # what it needs

    @property
    def installed(self) -> bool:
        """Whether it can be used."""
        return find_spec(self.module) is not None

    def support(self, X: np.ndarray, y: np.ndarray, setting: Setting) -> np.ndarray:
        """Return which features it selects, by one core; with one feature there is nothing to choose."""
        if X.shape[1] == 1:
            return np.ones(1, bool)
        with threadpool_limits(1):
            return np.asarray(self.select(X, y, setting), bool)


def f_test(X: np.ndarray, y: np.ndarray, setting: Setting) -> np.ndarray:
    """Order the features by the F-test, on the training part of each fold; cross-validation chooses how many."""
    order = selection.SelectKBest(selection.f_classif if setting.classes else selection.f_regression)
    sizes = {"order__k": np.unique(np.geomspace(1, X.shape[1], 15).round().astype(int)).tolist()}
    steps = Pipeline([("order", order), ("model", setting.model)])
    return GridSearchCV(steps, sizes, **setting.scored(y)).fit(X, y).best_estimator_["order"].get_support()


def forward_selection(X: np.ndarray, y: np.ndarray, setting: Setting) -> np.ndarray:
    """Add the feature that improves the cross-validated score most, until no feature improves it by 0.001."""
    rule = {"n_features_to_select": "auto", "tol": 1e-3}
    return selection.SequentialFeatureSelector(setting.model, **rule, **setting.scored(y)).fit(X, y).get_support()


def recursive_elimination(X: np.ndarray, y: np.ndarray, setting: Setting) -> np.ndarray:
    """Drop the least important features again and again; cross-validation chooses how many are kept.

    Importances are those of the estimator. If it has none, as nearest neighbours, a forest drops, and is scored.
    """
    model = setting.model
    if importance_of(clone(model).fit(X, y)) is None:
        model = setting.forest
    step = 1 if X.shape[1] <= 100 else 0.05
    found = selection.RFECV(model, step=step, importance_getter=importance_of, **setting.scored(y))
    return found.fit(X, y).get_support()


def boruta(X: np.ndarray, y: np.ndarray, setting: Setting) -> np.ndarray:
    """Keep the features that are more important in a forest than shuffled copies of features."""
    from boruta import BorutaPy

    forest = setting.forest.set_params(max_depth=5)  # as its authors recommend
    return BorutaPy(forest, n_estimators="auto", max_iter=50, random_state=setting.seed).fit(X, y).support_


PEERS: dict[str, Peer] = {  # the quick ones first
    "f-test": Peer("F-test", f_test),
    "forward": Peer("forward selection", forward_selection),
    "rfecv": Peer("RFECV", recursive_elimination),
    "boruta": Peer("Boruta", boruta, "boruta"),
}


def installed_peers() -> dict[str, Peer]:
    """Return the methods that can be used here."""
    return {key: peer for key, peer in PEERS.items() if peer.installed}
