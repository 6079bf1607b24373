"""Which estimators have a closed form here, and with which parameters."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from bestleaf.features.closed_forms.bayes import NaiveBayes
from bestleaf.features.closed_forms.discriminant import Discriminants
from bestleaf.features.closed_forms.linear import LeastSquares

EXACT_SOLVERS = ("auto", "cholesky", "svd")  # of ridge regression; the others stop when they are close enough
NO_CUT = 1e-7  # singular values below this share are not worth the doubt, even where scikit-learn keeps them


Build = Callable[..., LeastSquares | Discriminants | NaiveBayes]  # of folds and, of a classifier, number of classes


class Recognised(NamedTuple):
    """An estimator with a closed form."""

    builds: tuple[Build, ...]  # the first that agrees with the estimator is used
    classifier: bool
    shifted: bool  # whether columns may be shifted: the fit has an intercept, or means are subtracted anyway
    penalised: bool = False  # whether a column that is constant on the training rows gets no weight, by a penalty


def recognised(estimator: BaseEstimator) -> Recognised | None:
    """Return the closed form of an estimator; None if there is none for it or for one of its parameters."""
    last, scaled = estimator, False
    if type(estimator) is Pipeline:
        if (
            len(estimator.steps) != 2
            or estimator.memory is not None
            or type(estimator.steps[0][1]) is not StandardScaler
        ):
            return None
        scaler, last = (step for _, step in estimator.steps)
        if not (scaler.with_mean is True and scaler.with_std is True):
            return None
        scaled = True
    reader = READERS.get(type(last))  # not for classes derived from these, which may do anything
    builds = () if reader is None else reader(last, scaled)
    if not builds:
        return None
    classifier = is_classifier(last)
    shifted = classifier or scaled or last.fit_intercept
    return Recognised(builds, classifier, shifted, isinstance(last, Ridge) and last.alpha > 0 and shifted)


def _is_number(value: object, low: float, high: float) -> bool:
    """Return whether a parameter is a plain number from `low` to below `high`."""
    return not isinstance(value, bool) and isinstance(value, Real) and low <= float(value) < high


def _ridge(ridge: Ridge, scaled: bool) -> tuple[Build, ...]:
    if not _is_number(ridge.alpha, 0.0, np.inf) or ridge.positive or ridge.solver not in EXACT_SOLVERS:
        return ()
    if not isinstance(ridge.fit_intercept, bool):
        return ()
    penalty = float(ridge.alpha)
    return (partial(LeastSquares, penalty=penalty, intercept=ridge.fit_intercept, scaled=scaled, cut=NO_CUT),)


def _least_squares(plain: LinearRegression, scaled: bool) -> tuple[Build, ...]:
    cut = getattr(plain, "tol", 0.0)
    if plain.positive or not isinstance(plain.fit_intercept, bool) or not _is_number(cut, 0.0, 1.0):
        return ()
    cut = max(NO_CUT, float(cut))
    return (partial(LeastSquares, penalty=0.0, intercept=plain.fit_intercept, scaled=scaled, cut=cut),)


def _discriminant(analysis: LinearDiscriminantAnalysis, scaled: bool) -> tuple[Build, ...]:
    unused = (analysis.shrinkage, analysis.priors, analysis.n_components, analysis.covariance_estimator)
    if any(one is not None for one in unused) or analysis.solver not in ("svd", "lsqr"):
        return ()
    if not _is_number(analysis.tol, 0.0, 0.1):
        return ()
    if analysis.solver == "lsqr":
        return (partial(Discriminants, scaled=scaled, least=NO_CUT**2, kept=0.0, distinct=0.0),)
    kept = (2 * float(analysis.tol)) ** 2  # of features that this solver standardises within classes
    both = (partial(Discriminants, lost=lost, scaled=scaled, least=0.0, kept=kept, distinct=kept) for lost in (0, 1))
    return tuple(both)


def _bayes(bayes: GaussianNB, scaled: bool) -> tuple[Build, ...]:
    if bayes.priors is not None or not _is_number(bayes.var_smoothing, 0.0, 1.0):
        return ()
    return (partial(NaiveBayes, scaled=scaled, smoothing=float(bayes.var_smoothing)),)


READERS: dict[type, Callable[[Any, bool], tuple[Build, ...]]] = {
    Ridge: _ridge,
    LinearRegression: _least_squares,
    LinearDiscriminantAnalysis: _discriminant,
    GaussianNB: _bayes,
}
