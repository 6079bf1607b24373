"""Gaussian naive Bayes, from means and variances of each feature in each class and fold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bestleaf.features.closed_forms.folds import Fold, Listed
from bestleaf.features.kernels import fits


class NaiveBayes:
    """Logarithms of prior times likelihood of each class.

    Parameters
    ----------
    folds : list of Fold
        Training and test rows.
    classes : int
        Number of classes; every one is among the training rows of every fold.
    scaled : bool
        Whether the features are standardised on the training rows before the fit.
    smoothing : float
        What scikit-learn calls var_smoothing: the share of the largest variance that is added to every variance.
    """

    same_rows = True  # scikit-learn adds up each row by itself, so equal rows have equal probabilities

    def __init__(self, folds: Sequence[Fold], classes: int, *, scaled: bool, smoothing: float) -> None:
        self.smoothing, self.classes = smoothing, classes
        self.columns = [fold.columns for fold in folds]
        self.fits = []
        for fold in folds:
            train, means, variances = fold.train, [], []
            for one in range(classes):
                rows, heavy = train[fold.target == one], fold.weights[fold.target == one]
                means.append(np.average(rows, axis=0, weights=heavy))
                variances.append(np.average((rows - means[-1]) ** 2, axis=0, weights=heavy))
            share = np.bincount(fold.target, fold.weights, minlength=classes)
            plain = train.std(axis=0)
            spread = plain if scaled else np.ones(len(plain))
            self.fits.append(
                (
                    np.stack(means),
                    np.stack(variances),
                    (plain / spread) ** 2,
                    spread,
                    np.log(share / share.sum()),
                    fold.blur,
                )
            )

    def outputs(self, subsets: Listed, fold: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the logarithms [subset, class, row] for the test rows of a fold, and the doubt about each subset."""
        columns = self.columns[fold]
        means, variances, largest, spread, prior, blur = self.fits[fold]
        out, doubt = np.empty((len(subsets), self.classes, columns.shape[1])), np.empty(len(subsets))
        work = np.empty(subsets.largest)
        fits.naive_bayes(
            *subsets, means, variances, largest, self.smoothing, spread, prior, blur, columns, work, out, doubt
        )
        return out, doubt

    def ranks(self, values: np.ndarray) -> np.ndarray:
        """Return the probability of the second of two classes: [subset, row].

        It is computed as in scikit-learn, because probabilities close to 1 are rounded to equal numbers.
        """
        return np.exp(values[:, 1] - np.logaddexp(values[:, 0], values[:, 1]))
