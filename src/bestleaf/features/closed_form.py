"""Scores of linear models on many subsets without fitting them one by one.

The training rows of a fold enter the fit of ridge regression only by sums of products of two columns. These are
computed once. Then a subset takes a small system of equations. Least squares are ridge regression without a penalty.
A `RidgeClassifier` of scikit-learn is ridge regression on -1 and 1 for each class. Where rounding could change a score,
it is not a number: there the estimator itself is fitted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Real
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from bestleaf.features.kernels import fits
from bestleaf.features.ranking import auc, concordance
from bestleaf.features.scoring import Score

Split = tuple[np.ndarray, np.ndarray]  # rows to fit on, test rows


class Equations(NamedTuple):
    """The normal equations of all columns on the training rows of a fold, their diagonal scaled to ones."""

    correlation: np.ndarray
    diagonal: np.ndarray  # what it was
    blur: np.ndarray  # how many times the rounding of a standardised column each column has: means cost digits
    right: np.ndarray  # [targets, columns]
    unit: np.ndarray  # a solution times this is in the units of the columns
    centre: np.ndarray
    offset: np.ndarray  # of each target


class Fold(NamedTuple):
    """What is known of one fold."""

    equations: Equations
    columns: np.ndarray  # [columns, rows] of the test rows
    truth: np.ndarray  # of the test rows; of a classifier, numbers of classes


class ClosedForm:
    """Scores of a linear model on the fixed splits, for many subsets at once."""

    def __init__(self, folds: list[Fold], measure: str, usable: np.ndarray) -> None:
        self.folds, self.measure = folds, measure
        self.usable = usable  # the columns that the closed form can be trusted with

    def scores(self, subsets: Sequence[np.ndarray], numbers: Sequence[int]) -> np.ndarray:
        """Return the scores [subset, fold] of sorted subsets; not a number where the estimator has to be fitted."""
        found = np.full((len(subsets), len(numbers)), np.nan)
        able = [place for place, one in enumerate(subsets) if len(one) and self._can(one)]
        # Outputs that are computed at a time.
        many = max(1, 1_000_000 // max(fold.columns.shape[1] for fold in self.folds))
        for some in (able[start : start + many] for start in range(0, len(able), many)):
            for column, number in enumerate(numbers):
                fold = self.folds[number]
                outputs, doubt = outputs_of([subsets[place] for place in some], fold)
                fine = np.isfinite(doubt)
                # How much larger than the doubt a difference must be that decides about a label or an order.
                margin = 100.0 * np.where(fine, doubt, 0.0) * (1.0 + np.abs(outputs).max(axis=(1, 2)))
                scores = MEASURES[self.measure](outputs, margin, fold.truth)
                found[some, column] = np.where(fine, scores, np.nan)
        return found

    def _can(self, subset: np.ndarray) -> bool:
        """Return whether all columns of a sorted subset are there and can be trusted."""
        return bool(subset[0] >= 0 and subset[-1] < len(self.usable) and self.usable[subset].all())


def outputs_of(subsets: Sequence[np.ndarray], fold: Fold) -> tuple[np.ndarray, np.ndarray]:
    """Return the outputs [subset, target, row] for the test rows of a fold, and the doubt about each subset."""
    starts = np.cumsum([0, *(len(one) for one in subsets)])
    out = np.empty((len(subsets), len(fold.equations.right), fold.columns.shape[1]))
    doubt, size = np.empty(len(subsets)), max(len(one) for one in subsets)
    scratch = np.empty((size, size)), np.empty((size, size)), np.empty(size)
    fits.ridge(starts, np.concatenate(subsets), fold.equations, fold.columns, *scratch, out, doubt)
    return out, doubt


# ---- scores of the outputs [subset, target, row] by the truth of the rows; nan if a margin could change them


def _r2(outputs: np.ndarray, margin: np.ndarray, truth: np.ndarray) -> np.ndarray:
    return 1.0 - ((outputs[:, 0] - truth) ** 2).sum(axis=1) / float(((truth - truth.mean()) ** 2).sum())


def _concordance(outputs: np.ndarray, margin: np.ndarray, truth: np.ndarray) -> np.ndarray:
    low, high = ((outputs[:, 0] + sign * margin[:, None]).astype(np.float32) for sign in (-1, 1))
    sure = (low == high).all(axis=1)
    return np.array([concordance(truth, one) if fine else np.nan for one, fine in zip(low, sure, strict=True)])


def _accuracy(outputs: np.ndarray, margin: np.ndarray, truth: np.ndarray) -> np.ndarray:
    both = outputs if outputs.shape[1] > 1 else np.concatenate([-outputs, outputs], axis=1)
    second, best = np.moveaxis(np.partition(both, -2, axis=1)[:, -2:], 1, 0)
    return np.where(best - second > margin[:, None], both.argmax(axis=1) == truth, np.nan).mean(axis=1)


def _auc(outputs: np.ndarray, margin: np.ndarray, truth: np.ndarray) -> np.ndarray:
    ranked = outputs[:, 0]
    order = np.argsort(ranked, axis=1)
    close = np.diff(np.take_along_axis(ranked, order, axis=1)) <= 2 * margin[:, None]
    sure = ~(close & (np.diff(truth[order]) != 0)).any(axis=1)
    return np.array([auc(truth, one) if fine else np.nan for one, fine in zip(ranked, sure, strict=True)])


LABELLED = ("accuracy", "roc_auc")  # scores of classifiers
MEASURES: dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]] = {
    "r2": _r2,
    "concordance": _concordance,
    "accuracy": _accuracy,
    "roc_auc": _auc,
}


def model_of(estimator: BaseEstimator) -> tuple[float, bool] | None:
    """Return the penalty of a linear model, and whether its columns are standardised on the training rows.

    None if the estimator is none with an intercept, or has a parameter that is not known here.
    """
    last = estimator
    scaled = type(estimator) is Pipeline
    if scaled:
        known = len(estimator.steps) == 2 and estimator.memory is None
        if not known or type(estimator.steps[0][1]) is not StandardScaler:
            return None
        scaler, last = (step for _, step in estimator.steps)
        if not (scaler.with_mean is True and scaler.with_std is True):
            return None
    if type(last) not in (Ridge, RidgeClassifier, LinearRegression):  # derived classes may do anything
        return None
    if last.positive or last.fit_intercept is not True:
        return None
    if type(last) is LinearRegression:
        return 0.0, scaled
    if isinstance(last.alpha, bool) or not isinstance(last.alpha, Real) or not 0.0 <= float(last.alpha) < np.inf:
        return None  # an array has a penalty for each target
    # The others stop when they are close enough.
    if last.solver not in ("auto", "cholesky", "svd") or getattr(last, "class_weight", None) is not None:
        return None
    return float(last.alpha), scaled


def closed_form(
    estimator: BaseEstimator,
    score: Score,
    X: np.ndarray,
    y: np.ndarray,
    splits: Sequence[Split],
) -> ClosedForm | None:
    """Return the closed form of an estimator with a scorer on some data; None if there is none."""
    model, measure, classifier = model_of(estimator), score.name, hasattr(estimator, "decision_function")
    if model is None or not score.by_name or measure not in MEASURES or classifier != (measure in LABELLED):
        return None
    if not _can_take(X, y, splits, classifier=classifier):
        return None
    truth = np.unique(y, return_inverse=True)[1] if classifier else y.astype(np.float64)
    usable = _trusted(X, splits, constant=model[0] > 0)
    if not _has_scores(measure, truth, splits) or not usable.any():
        return None
    folds = [_fold(*model, X, truth, split, classifier=classifier) for split in splits]
    return ClosedForm(folds, measure, usable)


def _can_take(X: np.ndarray, y: np.ndarray, splits: Sequence[Split], *, classifier: bool) -> bool:
    """Return whether data are finite numbers in double precision, and not too many."""
    if X.dtype != np.float64 or y.shape != (len(X),) or not _plain(y, classifier) or not np.isfinite(X).all():
        return False
    features, tested, trained = X.shape[1], sum(len(test) for _, test in splits), sum(len(rows) for rows, _ in splits)
    kept = features * (tested + features * len(splits))
    # That may be kept: products of two columns, and test rows, of all folds.
    # Multiplications for the products of two columns: some seconds.
    small = kept <= 30_000_000 and trained * features**2 <= 3 * 10**10
    return small and all(len(rows) and len(test) for rows, test in splits)


def _plain(y: np.ndarray, classifier: bool) -> bool:
    """Return whether targets are what the estimator takes as they are: finite numbers, or labels."""
    if y.dtype.kind in "iu" or (y.dtype.kind == "f" and bool(np.isfinite(y).all())):
        return not classifier or y.dtype.kind != "f" or bool((y == np.round(y)).all())
    return classifier and (y.dtype.kind in "bU" or (y.dtype.kind == "O" and all(type(one) is str for one in y)))


def _has_scores(measure: str, truth: np.ndarray, splits: Sequence[Split]) -> bool:
    """Return whether scores are defined in every fold; every class must be among its training rows."""
    tested = min(len(np.unique(truth[test])) for _, test in splits)
    if measure not in LABELLED:
        return tested > 1
    classes = 1 + int(truth.max())
    trained = min(len(np.unique(truth[rows])) for rows, _ in splits)
    return trained == classes >= 2 and (measure == "accuracy" or tested == classes == 2)


def _trusted(X: np.ndarray, splits: Sequence[Split], *, constant: bool) -> np.ndarray:
    """Return which columns can be used: those that vary in the training rows of every fold, not too far from 0.

    With `constant` they may also be exactly constant there.
    """
    spread = X.std(axis=0)
    # A mean that is so many standard deviations from 0 costs too many digits.
    fine = (np.abs(X.mean(axis=0)) <= 1e4 * spread) & (spread > 0)
    fine |= constant & (np.ptp(X, axis=0) == 0)
    for train, _ in splits:
        rows = X[train]
        # Smallest share of its spread on all rows that a column must have on the training rows of a fold.
        fine &= (rows.std(axis=0) > 0.05 * spread) | (constant & (np.ptp(rows, axis=0) == 0))
    return fine


def _fold(penalty: float, scaled: bool, X: np.ndarray, truth: np.ndarray, split: Split, *, classifier: bool) -> Fold:
    """Return the normal equations on the training rows of a split, and its test rows."""
    (rows, test), mean, spread = split, X.mean(axis=0), X.std(axis=0)
    train, targets = X[rows] - mean, truth[rows][None].astype(np.float64)
    if classifier:
        classes = np.arange(1 + int(truth.max()))
        targets = np.where(truth[rows] == classes[len(classes) == 2 :, None], 1.0, -1.0)
    centre, offset = train.mean(axis=0), targets.mean(axis=1)
    constant = np.ptp(train, axis=0) == 0
    unit = np.where(constant, 1.0, train.std(axis=0)) if scaled else np.ones(len(mean))
    train -= centre
    train[:, constant] = 0.0  # without rounding; such a column gets no weight if there is a penalty
    gram = train.T @ train / np.outer(unit, unit)
    right = (targets - offset[:, None]) @ train / unit
    gram[np.diag_indices(len(mean))] += penalty
    diagonal = np.where(np.diag(gram) > 0, np.diag(gram), 1.0)  # a column that does not vary is never asked for
    root = np.sqrt(diagonal)
    correlation = gram / np.outer(root, root)
    correlation[np.diag_indices(len(mean))] = 1.0
    blur = 1.0 + np.abs(mean) / np.where(spread > 0, spread, 1.0)
    equations = Equations(correlation, diagonal, blur, right / root, 1.0 / (root * unit), centre, offset)
    return Fold(equations, np.ascontiguousarray((X[test] - mean).T), truth[test])
