"""Ridge regression and least squares, from sums of products over the training rows of each fold."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from bestleaf.features.closed_forms.folds import Fold, Listed
from bestleaf.features.kernels import fits

MOST_INFLATED = 1e8  # largest sum of variance inflation factors that is computed with some digits left
SLACK = 1e-3  # what they may be wrong by
MOST_DOUBT = 1e-10  # beyond it the ordinary fit is asked: scores must agree to nine digits


class LeastSquares:
    """Predictions of ridge regression; least squares are ridge regression without a penalty.

    Parameters
    ----------
    folds : list of Fold
        Training and test rows.
    penalty : float
        What scikit-learn calls alpha; 0 for least squares.
    intercept : bool
        Whether the fit has an intercept.
    scaled : bool
        Whether the features are standardised on the training rows before the fit.
    cut : float
        Singular values below this share of the largest may be taken for 0 by scikit-learn.
    """

    same_rows = False

    def __init__(self, folds: Sequence[Fold], *, penalty: float, intercept: bool, scaled: bool, cut: float) -> None:
        self.least = (2 * cut) ** 2
        self.columns = [fold.columns for fold in folds]
        self.fits = []
        for fold in folds:
            train, features = fold.train, len(fold.columns)
            centred = intercept or scaled
            centre = np.average(train, axis=0, weights=fold.weights) if centred else np.zeros(features)
            offset = float(np.average(fold.target, weights=fold.weights)) if intercept else 0.0
            constant = np.ptp(train, axis=0) == 0
            spread = np.where(constant, 1.0, train.std(axis=0)) if scaled else np.ones(features)
            train -= centre
            if centred:
                train[:, constant] = 0.0  # without rounding; such a column gets no weight if there is a penalty
            heavy = train * fold.weights[:, None]
            gram, right = heavy.T @ train / np.outer(spread, spread), heavy.T @ (fold.target - offset) / spread
            gram[np.diag_indices(features)] += penalty
            self.fits.append((*normed(gram, right, spread, fold.blur), centre, offset))

    def outputs(self, subsets: Listed, fold: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the predictions [subset, 1, row] for the test rows of a fold, and the doubt about each subset."""
        columns, size = self.columns[fold], subsets.largest
        out, doubt = np.empty((len(subsets), columns.shape[1])), np.empty(len(subsets))
        work = np.empty((size, size)), np.empty((size, size)), np.empty((3, size))
        fits.least_squares(*subsets, *self.fits[fold], columns, MOST_DOUBT, self.least, work, out, doubt)
        return out[:, None], doubt


def normed(gram: np.ndarray, right: np.ndarray, spread: np.ndarray, blur: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return normal equations as kernels take them.

    These are the matrix with its diagonal scaled to ones, what the diagonal was, the variance inflation factors, the
    blur, the right side, and what a solution is multiplied by. A feature that does not vary is never asked for.
    """
    diagonal = np.where(np.diag(gram) > 0, np.diag(gram), 1.0)
    root = np.sqrt(diagonal)
    correlation = gram / np.outer(root, root)
    correlation[np.diag_indices(len(gram))] = 1.0
    inflation = np.full(len(gram), np.inf)
    with suppress(np.linalg.LinAlgError):
        found = np.diag(np.linalg.inv(correlation))
        if (found >= 1.0 - SLACK).all() and found.sum() <= MOST_INFLATED:  # otherwise rounding has spoilt them
            inflation = np.maximum(found * (1.0 + SLACK), 1.0)
    return correlation, diagonal, inflation, blur, right / root, 1.0 / (root * spread)
