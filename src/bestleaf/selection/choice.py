"""The choice of columns for new rows: orders found inside cross-validation folds, judged on the rows left for that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bestleaf.memory import Answers
from bestleaf.search.budget import Budget
from bestleaf.search.executors import Serial
from bestleaf.selection.data import Data
from bestleaf.selection.judges import Panel
from bestleaf.selection.space import Space

Tell = Callable[[int, int, str], object]  # is told what is done, of how much, and in words how the curve stands
Reason = Literal["settled", "max_time", "interrupted"]


@dataclass(frozen=True)
class Nested:
    """An honest score: every fold is judged by a choice that never saw its rows.

    Attributes
    ----------
    score, all_columns : float
        Of the columns chosen, and of all columns: means over folds and judges.
    standard_error, difference_error : float
        Of the score, and of score - all_columns.
    judges : tuple of float
        The score by each judge.
    rows, trained : int
        Rows that were scored, and rows that the models of a fold were fitted to.
    """

    score: float
    all_columns: float
    standard_error: float
    difference_error: float
    judges: tuple[float, ...]
    rows: int
    trained: int


@dataclass(frozen=True)
class Chosen:
    """The answer, and what it follows from.

    Attributes
    ----------
    units : tuple of int
        The answer.
    size : int
        How many they are.
    order : tuple of int
        All units that may be chosen, best first; forced ones first.
    method : str
        How the order was found: "elimination", "forward", or "all columns" if no fold was finished.
    sizes : tuple of int
        The sizes that were scored; the last one is that of all units, even if there is a lower limit.
    sets : tuple of tuples
        The units of each size.
    curve : array [judges, sizes]
        Difference to all columns: mean over the folds, smoothed over neighbouring sizes.
    score : array [judges, sizes]
        Mean score over the folds.
    error : array [sizes]
        Corrected standard error of the mean over judges of the difference to all columns.
    judges : tuple of str
        Their names.
    folds, folds_planned : int
        Folds that were finished, and folds that were planned.
    tolerance : float
        How much score a smaller set may cost.
    asked : bool
        Whether the size was asked for.
    chosen_in_folds : array [units]
        In which share of the folds their own order and curve would choose the unit.
    nested : Nested or None
        The honest score; None if it was not asked for or time was over.
    reason : str
        "settled", "max_time" or "interrupted".
    """

    units: tuple[int, ...]
    size: int
    order: tuple[int, ...]
    method: str
    sizes: tuple[int, ...]
    sets: tuple[tuple[int, ...], ...]
    curve: np.ndarray
    score: np.ndarray
    error: np.ndarray
    judges: tuple[str, ...]
    folds: int
    folds_planned: int
    tolerance: float
    asked: bool
    chosen_in_folds: np.ndarray
    nested: Nested | None
    reason: Reason


def choose(
    data: Data,
    space: Space,
    panel: Panel,
    *,
    parsimony: float | None = None,
    n_features: int | None = None,
    folds: object = None,
    seed: int = 0,
    budget: Budget | None = None,
    memory: Answers | None = None,
    workers: Serial | None = None,
    tell: Tell | None = None,
    nested: bool = True,
) -> Chosen:
    """Return the columns for new rows.

    Parameters
    ----------
    data : Data
        The rows to choose by; test rows are not among them.
    space : Space
        What may be chosen.
    panel : Panel
        Who judges.
    parsimony : float, default=None
        How much score a smaller set may cost; None is 0.003.
    n_features : int, default=None
        The size that is asked for; None chooses it.
    folds : int, splitter or list, default=None
        The user's `cv`; None is five folds, drawn up to three times.
    seed : int, default=0
        Everything random follows from it.
    budget : Budget, default=None
        `budget.spent()` is asked again and again: once it gives a reason, what is known by then decides.
    memory : Answers, default=None
        Where orders and scores of folds are kept. Its `about` must tell the data, the panel and the space from others.
    workers : executor, default=None
        Where folds are done, one or several at a time; the answer does not depend on it.
    tell : callable, default=None
        Is called with (done, of, text) after each fold.
    nested : bool, default=True
        Whether to compute the honest score, too.
    """
    raise NotImplementedError


def all_columns(space: Space, panel: Panel, *, folds_planned: int = 0, reason: Reason = "settled") -> Chosen:
    """Return all columns as the answer, or the first of them up to the limit; nothing is scored."""
    raise NotImplementedError
