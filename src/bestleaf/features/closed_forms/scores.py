"""Scores of many subsets at once, equal to those of scikit-learn; not a number where rounding could change a score.

A *measure* takes what a closed form computes for the test rows of a fold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from sklearn.metrics import get_scorer

from bestleaf.features.closed_forms.bayes import NaiveBayes
from bestleaf.features.closed_forms.discriminant import Discriminants
from bestleaf.features.closed_forms.folds import Fold, Listed
from bestleaf.features.kernels import fit_scores as kernels
from bestleaf.features.kernels.fits import ROUNDING
from bestleaf.features.scoring import concordance_score

SAFETY = 100.0  # how much larger than the doubt a difference must be that decides about a label or an order


class Form(Protocol):
    """A closed form: what an estimator computes for the test rows of a fold, for many subsets at once."""

    columns: list[np.ndarray]  # of each fold, [features, rows] of the test rows
    same_rows: bool  # whether in scikit-learn, too, equal test rows have equal outputs, to the last digit

    def outputs(self, subsets: Listed, fold: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the outputs [subset, output, row], and how large rounding errors may be beside the largest output."""


class Errors:
    """Scores by squared or absolute errors: r2 and the negated errors."""

    def __init__(self, name: str, folds: list[Fold]) -> None:
        self.name = name
        self.truth, self.weights = [fold.truth for fold in folds], [fold.test_weights for fold in folds]
        both = list(zip(self.truth, self.weights, strict=True))
        self.totals = [float(heavy @ (truth - np.average(truth, weights=heavy)) ** 2) for truth, heavy in both]

    def usable(self) -> bool:
        """Return whether scores are defined in every fold."""
        return self.name != "r2" or all(np.ptp(truth) > 0 for truth in self.truth)

    def scores(self, form: Form, subsets: Listed, fold: int) -> np.ndarray:
        """Return the score of each subset."""
        values, doubt = form.outputs(subsets, fold)
        found, absolute = np.empty(len(subsets)), self.name == "neg_mean_absolute_error"
        kernels.errors(values[:, 0], self.truth[fold], self.weights[fold], absolute, found)
        found[~np.isfinite(doubt)] = np.nan
        if self.name == "r2":
            return 1.0 - found / self.totals[fold]
        found /= self.weights[fold].sum()
        return -np.sqrt(found) if self.name == "neg_root_mean_squared_error" else -found


class Concordance:
    """The concordance index, which compares predictions in single precision."""

    def __init__(self, name: str, folds: list[Fold]) -> None:
        self.order = [np.argsort(fold.truth) for fold in folds]
        by_target = [fold.truth[order] for fold, order in zip(folds, self.order, strict=True)]
        self.ends = [np.searchsorted(targets, targets, side="right") for targets in by_target]
        self.pairs = [int((len(ends) - ends).sum()) for ends in self.ends]

    def usable(self) -> bool:
        """Return whether scores are defined in every fold."""
        return all(pairs > 0 for pairs in self.pairs)

    def scores(self, form: Form, subsets: Listed, fold: int) -> np.ndarray:
        """Return the score of each subset."""
        values, doubt = form.outputs(subsets, fold)
        predicted, found = values[:, 0, self.order[fold]], np.empty(len(subsets))
        with np.errstate(invalid="ignore", over="ignore"):  # outputs of subsets in doubt are not written
            margin = (SAFETY * doubt * np.abs(predicted).max(axis=1))[:, None]
            low, high = (predicted - margin).astype(np.float32), (predicted + margin).astype(np.float32)
        kernels.in_order(low, self.ends[fold], found)
        return np.where((low == high).all(axis=1) & np.isfinite(doubt), found / self.pairs[fold], np.nan)


class Labels:
    """The accuracy and the balanced accuracy."""

    def __init__(self, name: str, folds: list[Fold]) -> None:
        self.balanced = name == "balanced_accuracy"
        self.truth, self.weights = [fold.truth for fold in folds], [fold.test_weights for fold in folds]
        self.classes = 1 + max(int(fold.target.max()) for fold in folds)
        self.heavy = [np.bincount(fold.truth, fold.test_weights, minlength=self.classes) for fold in folds]

    def usable(self) -> bool:
        """Return whether scores are defined in every fold."""
        return not self.balanced or all((heavy > 0).all() for heavy in self.heavy)

    def scores(self, form: Form, subsets: Listed, fold: int) -> np.ndarray:
        """Return the score of each subset."""
        values, doubt = form.outputs(subsets, fold)
        right, tolerance, heavy = np.empty((len(subsets), self.classes)), _tolerance(values, doubt), self.heavy[fold]
        kernels.labelled(values, self.truth[fold], self.weights[fold], tolerance, right)
        found = (right / heavy).mean(axis=1) if self.balanced else right.sum(axis=1) / heavy.sum()
        found[~np.isfinite(tolerance)] = np.nan
        return found


class Ranks:
    """The area under the ROC curve of two classes."""

    def __init__(self, name: str, folds: list[Fold]) -> None:
        self.truth, self.weights = [fold.truth for fold in folds], [fold.test_weights for fold in folds]
        self.classes = 1 + max(int(fold.target.max()) for fold in folds)

    def usable(self) -> bool:
        """Return whether scores are defined in every fold."""
        return self.classes == 2 and all(np.ptp(truth) == 1 for truth in self.truth)

    def scores(self, form: Form, subsets: Listed, fold: int) -> np.ndarray:
        """Return the score of each subset."""
        assert isinstance(form, Discriminants | NaiveBayes)
        values, doubt = form.outputs(subsets, fold)
        fine = np.isfinite(doubt)
        values[~fine] = 0.0
        ranks, found = form.ranks(values), np.empty(len(subsets))
        tolerance, none = np.where(fine, _tolerance(values, doubt), 0.0), np.zeros(len(subsets))
        limits = (none + ROUNDING, tolerance) if form.same_rows else (tolerance, none)
        rows = np.argsort(ranks, axis=1), ranks, *limits, self.truth[fold], self.weights[fold]
        kernels.ranked(*subsets, form.columns[fold], *rows, form.same_rows, found)
        found[~fine] = np.nan
        return found


def _tolerance(values: np.ndarray, doubt: np.ndarray) -> np.ndarray:
    """Return by how much two outputs must differ at least, so that the difference is none of rounding."""
    with np.errstate(invalid="ignore", over="ignore"):
        return SAFETY * doubt * (1.0 + np.abs(values).max(axis=(1, 2)))


LABELLED = ("accuracy", "balanced_accuracy", "roc_auc")  # scores of classifiers
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
