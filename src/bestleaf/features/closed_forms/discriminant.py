"""Linear discriminant analysis, from the covariance within classes and the class means of each fold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bestleaf.features.closed_forms.folds import Fold, Listed
from bestleaf.features.closed_forms.linear import MOST_DOUBT
from bestleaf.features.kernels import fits


class Discriminants:
    """Linear discriminants of each class.

    Parameters
    ----------
    folds : list of Fold
        Training and test rows.
    classes : int
        Number of classes; every one is among the training rows of every fold.
    scaled : bool
        Whether the features are standardised on the training rows before the fit.
    least : float
        Smallest share of the smallest eigenvalue of the covariance in the largest at which scikit-learn keeps it.
    distinct : float
        The same for the directions between class means.
    """

    same_rows = False

    def __init__(self, folds: Sequence[Fold], classes: int, *, scaled: bool, least: float, distinct: float) -> None:
        self.least, self.distinct, self.classes = least, distinct, classes
        self.columns = [fold.columns for fold in folds]
        self.fits = []
        for fold in folds:
            share = np.bincount(fold.target, minlength=classes) / len(fold.target)
            means = np.stack([fold.train[fold.target == one].mean(axis=0) for one in range(classes)])
            rows = fold.train - means[fold.target]
            spread = fold.plain_spread if scaled else np.ones(fold.train.shape[1])
            self.fits.append((rows.T @ rows / len(rows), means, share @ means, spread, np.log(share)))

    def outputs(self, subsets: Listed, fold: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the discriminants [subset, class, row] for the test rows of a fold, and the doubt about each subset."""
        columns, size, many = self.columns[fold], subsets.largest, self.classes
        out, doubt = np.empty((len(subsets), many, columns.shape[1])), np.empty(len(subsets))
        work = np.empty((size, size)), np.empty((size, size)), np.empty((4, size))
        between = np.empty((3, max(many, size), max(many, size)))
        limits = MOST_DOUBT, self.least, self.distinct
        fits.discriminants(*subsets, *self.fits[fold], columns, *limits, work, between, out, doubt)
        return out, doubt

    def ranks(self, values: np.ndarray) -> np.ndarray:
        """Return what ranks the test rows for the second of two classes: [subset, row]."""
        return values[:, 1] - values[:, 0]
