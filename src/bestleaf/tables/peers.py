"""Other methods of feature selection, to compare with: the same estimator, the same measure, five folds.

Every method chooses the number of features itself. All of them use one core.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
import pandas as pd
import sklearn
from sklearn import ensemble
from sklearn import feature_selection as selection
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LassoCV, LogisticRegressionCV
from sklearn.metrics import check_scoring, roc_auc_score
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from bestleaf.new_data.fitted_families import importance_of

NEIGHBOURS = 5  # neighbours that vote
FOLDS = 5
SMALLEST_GAIN = 1e-3  # forward selection adds a feature only for a larger gain
TREES = 50  # of a forest: with more of them, RFECV takes most of the time of a comparison
ONE_BY_ONE = 100  # RFECV drops features one at a time up to this many, else a share of all features
SHARE = 0.05
SIZES = 15  # numbers of features that are tried with an order of the features, in geometric steps
MRMR_MOST = 100  # mRMR orders at most this many features
FLOATING_MOST = 10  # floating selection takes at most this many features
BORUTA_ROUNDS = 50  # forests that Boruta grows, at most


def mean_auc(fitted: BaseEstimator, X: np.ndarray, y: np.ndarray) -> float:
    """Score a fitted classifier: the AUC of two classes, the mean one-against-rest AUC of more classes.

    A class that is missing in `y`, as may happen in a fold, is left out of the mean. Without two classes it is 0.5.
    """
    classes = fitted.classes_
    likely = fitted.predict_proba(X) if hasattr(fitted, "predict_proba") else fitted.decision_function(X)
    likely = np.column_stack([-likely, likely]) if likely.ndim == 1 else likely
    first = int(len(classes) == 2)  # the second class is enough for two
    each = [(y == one, likely[:, number]) for number, one in enumerate(classes) if number >= first]
    scores = [roc_auc_score(truth, found) for truth, found in each if 0 < truth.sum() < len(truth)]
    return float(np.mean(scores)) if scores else 0.5


@dataclass(frozen=True)
class Setting:
    """What all methods are given.

    Attributes
    ----------
    task : {"classification", "regression"}
        What the targets are.
    estimator : estimator, default=None
        What predicts with the selected features; None is 5 nearest neighbours on standardised features.
    seed : int, default=0
        Everything random follows from it.
    groups : array, default=None
        The groups of the rows; rows of one group are in the same fold.
    """

    task: str
    estimator: BaseEstimator | None = None
    seed: int = 0
    groups: np.ndarray | None = None

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

    @property
    def scoring(self) -> str | Callable[[BaseEstimator, np.ndarray, np.ndarray], float]:
        """How predictions are scored."""
        return mean_auc if self.classes else "r2"

    def folds(self, y: np.ndarray) -> KFold | StratifiedKFold | Folds:
        """Return the folds of cross-validation; fewer than five if every class has fewer rows, or with fewer groups."""
        most = int(np.unique(y, return_counts=True)[1].max()) if self.classes else len(y)
        if self.groups is not None:
            most = min(most, len(np.unique(self.groups)))
            by_groups = StratifiedGroupKFold if self.classes else GroupKFold
            return list(by_groups(max(2, min(FOLDS, most))).split(np.zeros(len(y)), y, self.groups))
        kind = StratifiedKFold if self.classes else KFold
        return kind(max(2, min(FOLDS, most)), shuffle=True, random_state=self.seed)


Folds = list[tuple[np.ndarray, np.ndarray]]  # rows of both sides of each fold
Select = Callable[[np.ndarray, np.ndarray, Setting], np.ndarray]  # from X and y to which features are selected


class Peer(NamedTuple):
    """A method of feature selection that is not ours."""

    title: str
    select: Select
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


def forward_selection(X: np.ndarray, y: np.ndarray, setting: Setting) -> np.ndarray:
    """Add the feature that improves the cross-validated score most, until no feature improves it by 0.001."""
    rule = {"n_features_to_select": "auto", "tol": SMALLEST_GAIN}
    found = selection.SequentialFeatureSelector(setting.model, **rule, scoring=setting.scoring, cv=setting.folds(y))
    return found.fit(X, y).get_support()


def recursive_elimination(X: np.ndarray, y: np.ndarray, setting: Setting) -> np.ndarray:
    """Drop the least important features again and again; cross-validation chooses how many are kept.

    Importances are those of the estimator. Nearest neighbours have none: then a forest drops, and is scored.
    """
    step = 1 if X.shape[1] <= ONE_BY_ONE else SHARE
    model = setting.forest if setting.estimator is None else setting.model
    found = selection.RFECV(
        model, step=step, cv=setting.folds(y), scoring=setting.scoring, importance_getter=_importances
    )
    return found.fit(X, y).get_support()


def _importances(fitted: BaseEstimator) -> np.ndarray:
    """Return how important features are in a fitted estimator: by its own figures, or by the gains of its trees."""
    found = importance_of(fitted, fitted.n_features_in_)
    if found is not None:
        return found
    last = fitted[-1] if isinstance(fitted, Pipeline) else fitted
    if not hasattr(last, "_predictors"):  # histogram boosting keeps the gains in its trees only
        raise ValueError(f"{type(last).__name__} does not say how important features are")
    gains = np.zeros(last.n_features_in_)
    for tree in (tree for trees in last._predictors for tree in trees):
        inner = tree.nodes[tree.nodes["is_leaf"] == 0]
        np.add.at(gains, inner["feature_idx"], inner["gain"])
    return gains


Order = Callable[[np.ndarray, np.ndarray, Setting], np.ndarray]  # from X and y to all features, best first


def best_of_order(order: Order, X: np.ndarray, y: np.ndarray, setting: Setting) -> np.ndarray:
    """Order the features, best first; cross-validation chooses how many are kept.

    The order is found anew on the training part of each fold.
    """
    scores: dict[int, float] = {}
    folds = setting.folds(y)
    for train, test in folds if isinstance(folds, list) else folds.split(X, y):
        ranked = order(X[train], y[train], setting)
        for size in np.unique(np.geomspace(1, len(ranked), SIZES).round().astype(int)).tolist():
            columns, model = ranked[:size], setting.model
            model.fit(X[np.ix_(train, columns)], y[train])
            score = check_scoring(model, setting.scoring)(model, X[np.ix_(test, columns)], y[test])
            scores[size] = scores.get(size, 0.0) + score
    size = max(scores, key=lambda one: (scores[one], -one))
    return np.isin(np.arange(X.shape[1]), order(X, y, setting)[:size])


def _by(score: Callable[..., np.ndarray | tuple[np.ndarray, ...]], X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the order of the features by a score of each; features without a score, such as constant ones, last."""
    found = score(X, y)
    found = found[0] if isinstance(found, tuple) else found
    return np.argsort(-np.nan_to_num(found, nan=-np.inf), kind="stable")


def _f_test(X: np.ndarray, y: np.ndarray, setting: Setting) -> np.ndarray:
    return _by(selection.f_classif if setting.classes else selection.f_regression, X, y)


def _mutual_information(X: np.ndarray, y: np.ndarray, setting: Setting) -> np.ndarray:
    score = selection.mutual_info_classif if setting.classes else selection.mutual_info_regression
    return _by(partial(score, random_state=setting.seed), X, y)


def _mrmr(X: np.ndarray, y: np.ndarray, setting: Setting) -> np.ndarray:
    import mrmr

    ordered = mrmr.mrmr_classif if setting.classes else mrmr.mrmr_regression
    most = min(X.shape[1], MRMR_MOST)
    return np.array(ordered(pd.DataFrame(X), pd.Series(y), K=most, n_jobs=1, show_progress=False))


def l1_penalty(X: np.ndarray, y: np.ndarray, setting: Setting) -> np.ndarray:
    """Keep the features with a coefficient in a linear model whose L1 penalty was chosen by cross-validation."""
    folds = setting.folds(y)
    if not setting.classes:
        model = LassoCV(cv=folds, random_state=setting.seed)
    else:
        solver = "liblinear" if len(np.unique(y)) == 2 else "saga"
        recent = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 8)
        only_l1 = {"l1_ratios": (1.0,), "use_legacy_attributes": False} if recent else {"penalty": "l1"}
        model = LogisticRegressionCV(cv=folds, scoring=mean_auc, solver=solver, random_state=setting.seed, **only_l1)
    fitted = make_pipeline(StandardScaler(), selection.SelectFromModel(model)).fit(X, y)
    return fitted[-1].get_support()


def boruta(X: np.ndarray, y: np.ndarray, setting: Setting) -> np.ndarray:
    """Keep the features that are more important in a forest than shuffled copies of features."""
    from boruta import BorutaPy

    forest = setting.forest.set_params(max_depth=5)  # as its authors recommend
    found = BorutaPy(forest, n_estimators="auto", max_iter=BORUTA_ROUNDS, random_state=setting.seed)
    return found.fit(X, y).support_


def best_subset(X: np.ndarray, y: np.ndarray, setting: Setting) -> np.ndarray:
    """Keep the features of the best-subset regression of abess; cross-validation chooses how many."""
    import abess

    folds, chosen = setting.folds(y), {}
    many = len(folds) if isinstance(folds, list) else FOLDS
    if isinstance(folds, list):  # by groups of rows
        chosen["cv_fold_id"] = np.zeros(len(y), int)
        for number, (_, rows) in enumerate(folds):
            chosen["cv_fold_id"][rows] = number
    if not setting.classes:
        model = abess.LinearRegression(cv=many, thread=1)
    elif len(np.unique(y)) == 2:
        model = abess.LogisticRegression(cv=many, thread=1)
    else:
        model = abess.MultinomialRegression(cv=many, thread=1)
        y = np.eye(y.max() + 1)[y]
    coefficients = model.fit(StandardScaler().fit_transform(X), y, **chosen).coef_
    return np.abs(coefficients.reshape(X.shape[1], -1)).sum(axis=1) > 0


def floating_selection(X: np.ndarray, y: np.ndarray, setting: Setting) -> np.ndarray:
    """Add and drop features by the cross-validated score (mlxtend); the best size up to 10 features is kept."""
    from mlxtend.feature_selection import SequentialFeatureSelector

    found = SequentialFeatureSelector(
        setting.model,
        k_features=(1, min(X.shape[1], FLOATING_MOST)),
        floating=True,
        scoring=setting.scoring,
        cv=setting.folds(y),
    ).fit(X, y)
    return np.isin(np.arange(X.shape[1]), found.k_feature_idx_)


PEERS: dict[str, Peer] = {  # the quick ones first
    "f-test": Peer("F-test", partial(best_of_order, _f_test)),
    "mutual-information": Peer("mutual information", partial(best_of_order, _mutual_information)),
    "l1": Peer("L1 penalty", l1_penalty),
    "forward": Peer("forward selection", forward_selection),
    "rfecv": Peer("RFECV", recursive_elimination),
    "abess": Peer("abess", best_subset, "abess"),
    "mrmr": Peer("mRMR", partial(best_of_order, _mrmr), "mrmr"),
    "boruta": Peer("Boruta", boruta, "boruta"),
    "mlxtend": Peer("floating selection (mlxtend)", floating_selection, "mlxtend"),
}


def installed_peers() -> dict[str, Peer]:
    """Return the methods that can be used here."""
    return {key: peer for key, peer in PEERS.items() if peer.installed}
