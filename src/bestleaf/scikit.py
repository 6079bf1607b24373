"""What scikit-learn keeps private, imported here and nowhere else, each with a fallback; and what its tags say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

try:
    from sklearn.base import _fit_context as fit_context
    from sklearn.utils._param_validation import HasMethods, Interval, InvalidParameterError, StrOptions
except ImportError:  # parameters are checked where they are used, in other words

    class InvalidParameterError(ValueError, TypeError):  # type: ignore[no-redef]
        """A parameter that cannot be used."""

    class Interval(NamedTuple):  # type: ignore[no-redef]
        """Numbers from `left` to `right`."""

        type: type
        left: float | None
        right: float | None
        closed: str

    HasMethods = StrOptions = frozenset

    def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[..., Any]:
        """Return a decorator of `fit` that does nothing."""
        return lambda fit: fit


__all__ = ["HasMethods", "Interval", "InvalidParameterError", "StrOptions", "fit_context"]


def check_feature_names_in(estimator: BaseEstimator, names: Any) -> None:
    """Refuse names of columns that are not those that `fit` has seen."""
    try:
        from sklearn.utils.validation import _check_feature_names_in
    except ImportError:
        known = getattr(estimator, "feature_names_in_", names)
        if names is not None and not (np.array_equal(known, names) and len(names) == estimator.n_features_in_):
            raise ValueError("input_features is not equal to feature_names_in_") from None
    else:
        _check_feature_names_in(estimator, names)


def output_of(estimator: BaseEstimator) -> str:
    """Return what `transform` returns by `set_output`: "default", "pandas" or "polars"."""
    try:
        from sklearn.utils._set_output import _get_output_config
    except ImportError:
        own = getattr(estimator, "_sklearn_output_config", {})
        return own.get("transform", get_config()["transform_output"])
    return _get_output_config("transform", estimator)["dense"]


def arff() -> Any:
    """Return the module liac-arff, which scikit-learn brings along."""
    try:
        from sklearn.externals import _arff

        return _arff
    except ImportError:
        import arff

        return arff


def takes_missing(estimator: object) -> bool:
    """Whether an estimator takes missing values (NaN), by its tags.

    A pipeline does if all of its steps do, up to one that fills them: a step of `sklearn.impute`; a list if all do.
    """
    if isinstance(estimator, list | tuple):
        return bool(estimator) and all(map(takes_missing, estimator))
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
