"""Which estimators have a closed form here, and with which parameters."""

from __future__ import annotations

from collections.abc import Callable
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
from bestleaf.features.closed_forms.folds import Fold
from bestleaf.features.closed_forms.linear import LeastSquares

EXACT_SOLVERS = ("auto", "cholesky", "svd")  # of ridge regression; the others stop when they are close enough
NO_CUT = 1e-7  # singular values below this share are not worth the doubt, even where scikit-learn keeps them


class Recognised(NamedTuple):
    """An estimator with a closed form."""

    build: Callable[[list[Fold], int], LeastSquares | Discriminants | NaiveBayes]  # from folds and number of classes
    classifier: bool
    shifted: bool  # whether columns may be shifted: the fit has an intercept, or means are subtracted anyway


def recognised(estimator: BaseEstimator) -> Recognised | None:
    """Return the closed form of an estimator; None if there is none for it or for one of its parameters."""
    last, scaled = estimator, False
    if type(estimator) is Pipeline:
        if len(estimator.steps) != 2 or estimator.memory is not None or type(estimator.steps[0][1]) is not StandardScaler:
            return None
        scaler, last = (step for _, step in estimator.steps)
        if not (scaler.with_mean is True and scaler.with_std is True):
            return None
        scaled = True
    reader = READERS.get(type(last))  # not for classes derived from these, which may do anything
    build = None if reader is None else reader(last, scaled)
    if build is None:
        return None
    classifier = is_classifier(last)
    return Recognised(build, classifier, classifier or scaled or last.fit_intercept)


def _ridge(ridge: Any, scaled: bool) -> Callable[..., LeastSquares] | None:
    alpha = ridge.alpha
    fine = isinstance(alpha, Real) and not isinstance(alpha, bool) and 0 <= alpha < np.inf
    if not fine or ridge.positive or ridge.solver not in EXACT_SOLVERS or not isinstance(ridge.fit_intercept, bool):
        return None
    settings = {"penalty": float(alpha), "intercept": ridge.fit_intercept, "scaled": scaled, "cut": NO_CUT}
    return lambda folds, classes: LeastSquares(folds, **settings)


def _least_squares(plain: Any, scaled: bool) -> Callable[..., LeastSquares] | None:
    cut = getattr(plain, "tol", 0.0)
    if plain.positive or not isinstance(plain.fit_intercept, bool) or not isinstance(cut, Real):
        return None
    settings = {"penalty": 0.0, "intercept": plain.fit_intercept, "scaled": scaled, "cut": max(NO_CUT, float(cut))}
    return lambda folds, classes: LeastSquares(folds, **settings)


def _discriminant(analysis: Any, scaled: bool) -> Callable[..., Discriminants] | None:
    unused = (analysis.shrinkage, analysis.priors, analysis.n_components, analysis.covariance_estimator)
    if any(one is not None for one in unused) or analysis.solver not in ("svd", "lsqr"):
        return None
    if not isinstance(analysis.tol, Real) or not 0 <= analysis.tol < 0.1:
        return None
    by_svd = analysis.solver == "svd"  # it standardises the features itself
    distinct = (2 * float(analysis.tol)) ** 2 if by_svd else 0.0
    settings = {"scaled": scaled, "least": 0.0 if by_svd else NO_CUT**2, "distinct": distinct}
    return lambda folds, classes: Discriminants(folds, classes, **settings)


def _bayes(bayes: Any, scaled: bool) -> Callable[..., NaiveBayes] | None:
    if bayes.priors is not None or not isinstance(bayes.var_smoothing, Real) or not 0 <= bayes.var_smoothing < 1:
        return None
    settings = {"scaled": scaled, "smoothing": float(bayes.var_smoothing)}
    return lambda folds, classes: NaiveBayes(folds, classes, **settings)


READERS: dict[type, Callable[[Any, bool], Callable[..., Any] | None]] = {
    Ridge: _ridge,
    LinearRegression: _least_squares,
    LinearDiscriminantAnalysis: _discriminant,
    GaussianNB: _bayes,
}
