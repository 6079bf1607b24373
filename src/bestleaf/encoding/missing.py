"""Which estimators take missing values."""

from __future__ import annotations

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags


def takes_missing(estimator: object) -> bool:
    """Whether an estimator takes missing values (NaN), by its tags.

    A pipeline does if all of its steps do, up to one that fills them: a step of `sklearn.impute`.
    """
    if isinstance(estimator, Pipeline):
        for _, step in estimator.steps:
            if step is None or step == "passthrough":
                continue
            if not takes_missing(step):
                return False
            if type(step).__module__.startswith("sklearn.impute"):
                return True
        return True
    return isinstance(estimator, BaseEstimator) and bool(get_tags(estimator).input_tags.allow_nan)
