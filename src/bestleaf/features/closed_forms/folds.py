"""What closed forms need of the data: rows by fold, columns shifted, and which columns can be trusted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

FAR_OFF = 1e4  # a mean that is so many standard deviations from 0 costs too many digits
UNEVEN = 0.05  # smallest share of its spread on all rows that a column must have on the training rows of a fold

Split = tuple[np.ndarray, np.ndarray]  # rows to fit on, test rows


class Listed(NamedTuple):
    """Subsets one after the other: those of subset s stand from ``starts[s]`` to ``starts[s + 1]`` in `features`."""

    starts: np.ndarray
    features: np.ndarray

    @classmethod
    def of(cls, subsets: Sequence[np.ndarray]) -> Listed:
        """Return sorted subsets as one list."""
        starts = np.zeros(len(subsets) + 1, np.int64)
        np.cumsum([len(one) for one in subsets], out=starts[1:])
        return cls(starts, np.concatenate(subsets))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def largest(self) -> int:
        """The number of features of the largest subset."""
        return int(np.diff(self.starts).max())


class Fold(NamedTuple):
    """The rows of one fold."""

    data: np.ndarray  # all rows; columns are shifted to mean 0 on them, unless the fit has no intercept
    rows: np.ndarray  # training rows
    target: np.ndarray  # of the training rows; of a classifier, numbers of classes
    weights: np.ndarray  # of the training rows; ones if rows have no weights
    columns: np.ndarray  # [features, rows] of the test rows
    truth: np.ndarray  # target of the test rows
    test_weights: np.ndarray
    blur: np.ndarray  # how many times the rounding of a standardised column each column has: means cost digits

    @property
    def train(self) -> np.ndarray:
        """The training rows, copied: not all folds need to be in memory at the same time."""
        return self.data[self.rows]


def folds_of(
    X: np.ndarray, target: np.ndarray, weights: np.ndarray | None, splits: Iterable[Split], *, shifted: bool
) -> list[Fold]:
    """Return the rows of each fold."""
    heavy = np.ones(len(X)) if weights is None else weights
    data = X - X.mean(axis=0) if shifted else X
    spread = X.std(axis=0)
    blur = 1.0 + np.abs(X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return [
        Fold(data, rows, target[rows], heavy[rows], np.ascontiguousarray(data[test].T), target[test], heavy[test], blur)
        for rows, test in splits
    ]


def trusted(X: np.ndarray, splits: Iterable[Split], *, constant: bool) -> np.ndarray:
    """Return which columns can be used: those that vary in the training rows of every fold, not too far from 0.

    With `constant` they may also be exactly constant there.
    """
    spread = X.std(axis=0)
    fine = (np.abs(X.mean(axis=0)) <= FAR_OFF * spread) & (spread > 0)
    fine |= constant & (np.ptp(X, axis=0) == 0)
    for train, _ in splits:
        rows = X[train]
        fine &= (rows.std(axis=0) > UNEVEN * spread) | (constant & (np.ptp(rows, axis=0) == 0))
    return fine
