"""Ridge regression and least squares, from sums of products over the training rows of each fold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bestleaf.features.closed_forms.folds import Fold, Listed
from bestleaf.features.kernels import fits

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
        self.penalty, self.least = penalty, (2 * cut) ** 2
        self.columns = [fold.columns for fold in folds]
        self.fits = []
        for fold in folds:
            train, features = fold.train, len(fold.columns)
            centred = intercept or scaled
            centre = np.average(train, axis=0, weights=fold.weights) if centred else np.zeros(features)
            offset = float(np.average(fold.target, weights=fold.weights)) if intercept else 0.0
            spread = train.std(axis=0) if scaled else np.ones(features)
            train -= centre
            heavy = train * fold.weights[:, None]
            self.fits.append((heavy.T @ train, heavy.T @ (fold.target - offset), centre, spread, offset))

    def outputs(self, subsets: Listed, fold: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the predictions [subset, 1, row] for the test rows of a fold, and the doubt about each subset."""
        columns, size = self.columns[fold], subsets.largest
        gram, cross, centre, spread, offset = self.fits[fold]
        out, doubt = np.empty((len(subsets), columns.shape[1])), np.empty(len(subsets))
        work = np.empty((size, size)), np.empty((size, size)), np.empty((4, size))
        settings = self.penalty, offset, columns, MOST_DOUBT, self.least
        fits.least_squares(*subsets, gram, cross, centre, spread, *settings, work, out, doubt)
        return out[:, None], doubt
