"""Estimators that can be given by name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import NamedTuple

from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bestleaf.checks import one_of
from bestleaf.encoding import takes_missing
from bestleaf.encoding.transformer import KEEP
from bestleaf.features.neighbours import NeighbourVotes


class Named(NamedTuple):
    """Where the classifier and the regressor of a name are, with settings that suit most tables."""

    module: str
    classifier: str | None
    regressor: str | None
    settings: Mapping[str, object] = MappingProxyType({})
    scaled: bool = False


ESTIMATORS = {
    "linear": Named("sklearn.linear_model", "LogisticRegression", "Ridge", scaled=True),
    "logistic": Named("sklearn.linear_model", "LogisticRegression", None, scaled=True),
    "ridge": Named("sklearn.linear_model", "RidgeClassifier", "Ridge", scaled=True),
    "svm": Named("sklearn.svm", "SVC", "SVR", scaled=True),
    "forest": Named("sklearn.ensemble", "RandomForestClassifier", "RandomForestRegressor", {"n_estimators": 50}),
    "boosting": Named(
        "sklearn.ensemble", "HistGradientBoostingClassifier", "HistGradientBoostingRegressor", {"max_iter": 50}
    ),
    "lightgbm": Named("lightgbm", "LGBMClassifier", "LGBMRegressor", {"n_estimators": 50, "verbose": -1, "n_jobs": 1}),
    "xgboost": Named("xgboost", "XGBClassifier", "XGBRegressor", {"n_estimators": 50, "verbosity": 0, "n_jobs": 1}),
    "catboost": Named(
        "catboost",
        "CatBoostClassifier",
        "CatBoostRegressor",
        {"iterations": 50, "verbose": False, "allow_writing_files": False, "thread_count": 1},
    ),
}
NEIGHBOURS = "neighbours"  # the votes of nearest neighbours, which have kernels of their own
NAMED = (NEIGHBOURS, *ESTIMATORS)


def named_estimator(name: str, task: str) -> BaseEstimator | NeighbourVotes:
    """Return the estimator of a name."""
    one_of("estimator", name, NAMED)
    if name == NEIGHBOURS:
        return NeighbourVotes(task=task)
    named = ESTIMATORS[name]
    kind = named.classifier if task == "classification" else named.regressor
    if kind is None:
        raise ValueError("estimator must predict numbers, got 'logistic', which predicts classes; use 'ridge'")
    try:
        module = import_module(named.module)
    except ModuleNotFoundError:
        raise ImportError(f"estimator {name!r} needs {named.module} (pip install {named.module})") from None
    settings = {**named.settings, **({"max_iter": 1000} if kind == "LogisticRegression" else {})}
    model = getattr(module, kind)(**settings)
    return make_pipeline(StandardScaler(), model) if named.scaled else model


def default_impute(estimator: str | None) -> str | None:
    """Return what becomes of missing values: kept for an estimator that takes them, else filled with medians."""
    keeps = estimator in ESTIMATORS and takes_missing(named_estimator(str(estimator), "classification"))
    return KEEP if keeps else "median"
