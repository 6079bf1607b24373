"""Linear discriminant analysis, from the covariance within classes and the class means of each fold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bestleaf.features.closed_forms.folds import Fold, Listed
from bestleaf.features.closed_forms.linear import MOST_DOUBT, normed
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
    kept : float
        Smallest eigenvalue of the correlations within classes that scikit-learn keeps.
    distinct : float
        As `least`, for the directions between class means.
    lost : int, default=0
        The covariance is divided by the number of rows less so many for each class: 1 in older versions.
    """

    same_rows = False

    def __init__(
        self,
        folds: Sequence[Fold],
        classes: int,
        *,
        scaled: bool,
        least: float,
        kept: float,
        distinct: float,
        lost: int = 0,
    ) -> None:
        self.limits = min(MOST_DOUBT, fits.ROUNDING / kept if kept else np.inf), least, distinct
        self.classes = classes
        self.columns = [fold.columns for fold in folds]
        self.fits = []
        for fold in folds:
            train, share = fold.train, np.bincount(fold.target, minlength=classes) / len(fold.target)
            means = np.stack([train[fold.target == one].mean(axis=0) for one in range(classes)])
            spread = train.std(axis=0) if scaled else np.ones(len(fold.columns))
            train -= means[fold.target]
            within = train.T @ train / np.outer(spread, spread) / (len(train) - lost * classes)
            centre = share @ means
            self.fits.append((*normed(within, (means - centre) / spread, spread, fold.blur), centre, np.log(share)))

    def outputs(self, subsets: Listed, fold: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the discriminants [subset, class, row] for the test rows, and the doubt about each subset."""
        columns, size, many = self.columns[fold], subsets.largest, self.classes
        out, doubt = np.empty((len(subsets), many, columns.shape[1])), np.empty(len(subsets))
        work = np.empty((size, size)), np.empty((size, size)), np.empty((3, size))
        between = np.empty((3, max(many, size), max(many, size)))
        fits.discriminants(*subsets, *self.fits[fold], columns, *self.limits, work, between, out, doubt)
        return out, doubt

    def ranks(self, values: np.ndarray) -> np.ndarray:
        """Return what ranks the test rows for the second of two classes: [subset, row]."""
        return values[:, 1] - values[:, 0]
