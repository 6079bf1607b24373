"""Scores of many subsets at once, equal to those of scikit-learn; not a number where rounding could change a score.

A *measure* takes what a closed form computes for the test rows of a fold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from sklearn.metrics import get_scorer

from bestleaf.features.closed_forms.folds import Fold, Listed
from bestleaf.features.kernels import fits
from bestleaf.features.kernels import neighbours as kernels
from bestleaf.features.kernels.records import HALF
from bestleaf.features.scoring import concordance_score

SAFETY = 100.0  # how much larger than the doubt a difference must be that decides about a label or an order


class Form(Protocol):
    """A closed form: what an estimator computes for the test rows of a fold, for many subsets at once."""

    columns: list[np.ndarray]  # of each fold, [features, rows] of the test rows
    same_rows: bool  # whether in scikit-learn, too, equal test rows have equal outputs, to the last digit

    def outputs(self, subsets: Listed, fold: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the outputs [subset, output, row], and how large rounding errors may be beside the largest output."""


class Ranking(Form, Protocol):
    """A closed form of a classifier."""

    def ranks(self, values: np.ndarray) -> np.ndarray:
        """Return what ranks the test rows for the second of two classes: [subset, row]."""


class Errors:
    """Scores by squared or absolute errors: r2 and the negated errors."""

    def __init__(self, name: str, folds: list[Fold]) -> None:
        self.name, self.folds = name, folds
        self.sizes = [float(fold.test_weights.sum()) for fold in folds]
        self.totals = [
            float(fold.test_weights @ (fold.truth - np.average(fold.truth, weights=fold.test_weights)) ** 2)
            for fold in folds
        ]

    def usable(self) -> bool:
        """Return whether scores are defined in every fold."""
        return self.name != "r2" or all(len(fold.truth) > 1 and np.ptp(fold.truth) > 0 for fold in self.folds)

    def scores(self, form: Form, subsets: Listed, fold: int) -> np.ndarray:
        """Return the score of each subset."""
        values, doubt = form.outputs(subsets, fold)
        rows, found = self.folds[fold], np.empty(len(subsets))
        absolute = self.name == "neg_mean_absolute_error"
        fits.errors(values[:, 0], rows.truth, rows.test_weights, absolute, found)
        found[~np.isfinite(doubt)] = np.nan
        if self.name == "r2":
            return 1.0 - found / self.totals[fold]
        found /= self.sizes[fold]
        return -np.sqrt(found) if self.name == "neg_root_mean_squared_error" else -found


class Concordance:
    """The concordance index, which compares predictions in single precision."""

    def __init__(self, name: str, folds: list[Fold]) -> None:
        self.ranks = [np.unique(fold.truth, return_inverse=True)[1].astype(np.float32) for fold in folds]
        self.address = kernels.pairs_in_order.address

    def usable(self) -> bool:
        """Return whether scores are defined in every fold."""
        return all(ranks.max(initial=0) > 0 for ranks in self.ranks)

    def scores(self, form: Form, subsets: Listed, fold: int) -> np.ndarray:
        """Return the score of each subset."""
        values, doubt = form.outputs(subsets, fold)
        predicted = values[:, 0]
        with np.errstate(invalid="ignore"):  # outputs of subsets in doubt are not written
            margin = (SAFETY * doubt * np.abs(predicted).max(axis=1))[:, None]
            low, high = (predicted - margin).astype(np.float32), (predicted + margin).astype(np.float32)
        found = np.full(len(subsets), np.nan)
        for subset in np.flatnonzero((low == high).all(axis=1)):
            good, pairs = kernels.counted_pairs(low[subset], self.ranks[fold], HALF, self.address)
            found[subset] = good / pairs
        return found


class Labels:
    """The accuracy and the balanced accuracy."""

    def __init__(self, name: str, folds: list[Fold]) -> None:
        self.balanced, self.folds = name == "balanced_accuracy", folds
        self.classes = 1 + max(int(fold.target.max()) for fold in folds)
        self.heavy = [np.bincount(fold.truth, fold.test_weights, minlength=self.classes) for fold in folds]

    def usable(self) -> bool:
        """Return whether scores are defined in every fold."""
        return not self.balanced or all((heavy > 0).all() for heavy in self.heavy)

    def scores(self, form: Form, subsets: Listed, fold: int) -> np.ndarray:
        """Return the score of each subset."""
        values, doubt = form.outputs(subsets, fold)
        rows, right = self.folds[fold], np.empty((len(subsets), self.classes))
        tolerance = _tolerance(values, doubt)
        fits.labelled(values, rows.truth, rows.test_weights, tolerance, right)
        heavy = self.heavy[fold]
        found = (right / heavy).mean(axis=1) if self.balanced else right.sum(axis=1) / heavy.sum()
        found[~np.isfinite(tolerance)] = np.nan
        return found


class Ranks:
    """The area under the ROC curve of two classes."""

    def __init__(self, name: str, folds: list[Fold]) -> None:
        self.folds = folds

    def usable(self) -> bool:
        """Return whether scores are defined in every fold."""
        return all(set(fold.truth.tolist()) == {0, 1} and fold.target.max() == 1 for fold in self.folds)

    def scores(self, form: Ranking, subsets: Listed, fold: int) -> np.ndarray:
        """Return the score of each subset."""
        values, doubt = form.outputs(subsets, fold)
        fine = np.isfinite(doubt)
        values[~fine] = 0.0
        rows, ranks, found = self.folds[fold], form.ranks(values), np.empty(len(subsets))
        tolerance = _tolerance(values, doubt)
        tolerance[~fine] = 0.0
        absolute, share = (tolerance * 0.0 + fits.ROUNDING, tolerance) if form.same_rows else (tolerance, 0 * tolerance)
        order = np.argsort(ranks, axis=1)
        where = form.columns[fold], order, ranks, absolute, share
        fits.ranked(*subsets, *where, rows.truth, rows.test_weights, form.same_rows, found)
        found[~fine] = np.nan
        return found


def _tolerance(values: np.ndarray, doubt: np.ndarray) -> np.ndarray:
    """Return by how much two outputs must differ at least, so that the difference is none of rounding."""
    with np.errstate(invalid="ignore", over="ignore"):
        return SAFETY * doubt * (1.0 + np.abs(values).max(axis=(1, 2)))


ERRORS = ("r2", "neg_mean_squared_error", "neg_root_mean_squared_error", "neg_mean_absolute_error")
MEASURES: dict[str, type[Errors] | type[Concordance] | type[Labels] | type[Ranks]] = {
    **dict.fromkeys(ERRORS, Errors),
    "concordance": Concordance,
    "accuracy": Labels,
    "balanced_accuracy": Labels,
    "roc_auc": Ranks,
}
Measure = Errors | Concordance | Labels | Ranks


def measure_name(scorer: Callable[..., float]) -> str | None:
    """Return the name of the measure that a scorer computes; None if it is none of those known here."""
    if getattr(scorer, "_score_func", None) is concordance_score:
        return "concordance"
    parts = ("_score_func", "_sign", "_kwargs", "_response_method")
    if not all(hasattr(scorer, part) for part in parts):
        return None
    known = (name for name in MEASURES if name != "concordance")
    return next((n for n in known if all(getattr(get_scorer(n), p) == getattr(scorer, p) for p in parts)), None)
