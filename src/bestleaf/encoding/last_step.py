"""The last step of an encoding: missing values are filled, levels become columns of zeros and ones."""

from __future__ import annotations

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

FILLED = ("median", "mean", "most_frequent")


class LastStep:
    """Fills missing values and turns levels into columns; what it does follows from the rows of `fit` alone.

    Parameters
    ----------
    levels : array of int
        For each plain column, the number of its levels; 0 for numbers.
    impute : str or None
        How missing numbers are filled; they stay as they are if it is none of FILLED.
    """

    def __init__(self, levels: np.ndarray, impute: str | None) -> None:
        self.levels, self.impute = levels, impute

    def fit(self, plain: np.ndarray) -> LastStep:
        """Learn from the rows of a plain table, [rows, plain columns]."""
        categories = self.levels > 0
        fill = self.impute in FILLED
        imputer = SimpleImputer(strategy=self.impute, keep_empty_features=True) if fill else "passthrough"
        known = [np.arange(float(many)) for many in self.levels[categories]]
        encoder = OneHotEncoder(categories=known, handle_unknown="ignore", sparse_output=False)
        self.steps = ColumnTransformer([("numbers", imputer, ~categories), ("categories", encoder, categories)]).fit(
            plain
        )
        self.order, self.unseen = self._order(), self._unseen(plain)
        return self

    @property
    def filled_with(self) -> dict[int, float]:
        """What missing values of each plain column of numbers are filled with."""
        if self.impute not in FILLED or not (self.levels == 0).any():
            return {}
        statistics = self.steps.named_transformers_["numbers"].statistics_
        return dict(zip(np.flatnonzero(self.levels == 0).tolist(), statistics.tolist(), strict=True))

    def transform(self, plain: np.ndarray) -> np.ndarray:
        """Return the columns of a plain table as numbers, in its order."""
        found = self.steps.transform(plain)[:, self.order]
        found[:, self.unseen] = 0.0
        return found

    def _order(self) -> np.ndarray:
        """Return where the steps, which put numbers first, put the columns that each plain column becomes."""
        widths = np.maximum(self.levels, 1)
        as_put = np.argsort(self.levels > 0, kind="stable")
        starts = np.empty_like(widths)
        starts[as_put] = np.cumsum(widths[as_put]) - widths[as_put]
        within = np.arange(widths.sum()) - np.repeat(np.cumsum(widths) - widths, widths)
        return np.repeat(starts, widths) + within

    def _unseen(self, plain: np.ndarray) -> np.ndarray:
        """Return the columns of levels that the rows do not have: they are ignored in other rows, too."""
        ends = np.cumsum(np.maximum(self.levels, 1))
        there = np.ones(ends[-1], bool)
        for place in np.flatnonzero(self.levels):
            many = self.levels[place]
            there[ends[place] - many : ends[place]] = np.isin(np.arange(many), plain[:, place])
        return np.flatnonzero(~there)
