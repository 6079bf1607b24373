"""Estimators that have a name on the command line, with settings that do on most tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

Make = Callable[[], Any]

NAMED: dict[str, tuple[Make, Make]] = {  # for classes, for real targets
    "linear": (lambda: _scaled(LogisticRegression(max_iter=1000)), lambda: _scaled(Ridge())),
    "boosting": (
        lambda: HistGradientBoostingClassifier(max_iter=50),
        lambda: HistGradientBoostingRegressor(max_iter=50),
    ),
    "forest": (lambda: RandomForestClassifier(50), lambda: RandomForestRegressor(50)),
    "svm": (lambda: _scaled(SVC()), lambda: _scaled(SVR())),
}


def named_estimator(name: str, task: str) -> Any:
    """Return an estimator by its name; None for "neighbours", whose votes are valued by kernels."""
    if name == "neighbours":
        return None
    return NAMED[name][task == "regression"]()


def _scaled(estimator: Any) -> Any:
    return make_pipeline(StandardScaler(), estimator)
