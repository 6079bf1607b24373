"""Estimators that can be given by name, with settings that suit most tables."""

from __future__ import annotations

from importlib import import_module

from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bestleaf.checks import one_of
from bestleaf.columns.encoder import KEEP
from bestleaf.features.neighbours import NeighbourVotes
from bestleaf.scikit import takes_missing

NEIGHBOURS = "neighbours"  # the votes of nearest neighbours, which have kernels of their own
SCALED = ("sklearn.linear_model", "sklearn.svm")
CATBOOST: dict[str, object] = {"iterations": 50, "verbose": False, "allow_writing_files": False, "thread_count": 1}
ESTIMATORS: dict[str, tuple[str, str, str, dict[str, object]]] = {  # module, classifier, regressor, settings of both
    "linear": ("sklearn.linear_model", "LogisticRegression", "Ridge", {}),
    "logistic": ("sklearn.linear_model", "LogisticRegression", "", {}),
    "ridge": ("sklearn.linear_model", "RidgeClassifier", "Ridge", {}),
    "svm": ("sklearn.svm", "SVC", "SVR", {}),
    "forest": ("sklearn.ensemble", "RandomForestClassifier", "RandomForestRegressor", {"n_estimators": 50}),
    "boosting": (
        *("sklearn.ensemble", "HistGradientBoostingClassifier", "HistGradientBoostingRegressor"),
        {"max_iter": 50},
    ),
    "lightgbm": ("lightgbm", "LGBMClassifier", "LGBMRegressor", {"n_estimators": 50, "verbose": -1, "n_jobs": 1}),
    "xgboost": ("xgboost", "XGBClassifier", "XGBRegressor", {"n_estimators": 50, "verbosity": 0, "n_jobs": 1}),
    "catboost": ("catboost", "CatBoostClassifier", "CatBoostRegressor", CATBOOST),
}
NAMED = (NEIGHBOURS, *ESTIMATORS)


def named_estimator(name: str, task: str) -> BaseEstimator | NeighbourVotes:
    """Return the estimator of a name."""
    if one_of("estimator", name, NAMED) == NEIGHBOURS:
        return NeighbourVotes(task=task)
    module, classifier, regressor, settings = ESTIMATORS[name]
    kind = classifier if task == "classification" else regressor
    if not kind:
        raise ValueError("estimator must predict numbers, got 'logistic', which predicts classes; use 'ridge'")
    try:
        there = import_module(module)
    except ModuleNotFoundError:
        raise ImportError(f"estimator {name!r} needs {module} (pip install {module})") from None
    model = getattr(there, kind)(**settings, **({"max_iter": 1000} if kind == "LogisticRegression" else {}))
    return make_pipeline(StandardScaler(), model) if module in SCALED else model


def default_impute(estimator: str | None) -> str | None:
    """Return what becomes of missing values: kept for an estimator that takes them, else filled with medians."""
    keeps = estimator in ESTIMATORS and takes_missing(named_estimator(str(estimator), "classification"))
    return KEEP if keeps else "median"
