"""Cross-validation folds, and what is prepared from the training rows of one."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property
from numbers import Integral
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold

from bestleaf.features.data import splits_by
from bestleaf.features.estimator import fixed_splitter, groups_for
from bestleaf.selection.data import Data
from bestleaf.selection.space import Space

FOLDS = 5
MOST_ROWS = 10_000  # of more rows, a random part chooses
BINS = 64  # of the codes of a column
SHARE = 0.05  # of the rows that may equal others
PRIOR = 2.0  # rows with the mean target that every level of a category has in addition


class Fold(NamedTuple):
    """Numbers of rows to train on, and of rows to score on."""

    train: np.ndarray
    test: np.ndarray


def numbered(y: np.ndarray, classes: np.ndarray | None) -> np.ndarray:
    """Return the class of each row by number; for real targets (None) in which fifth of the range of ranks it is."""
    if classes is None:
        _, same, many = np.unique(y, return_inverse=True, return_counts=True)
        if many.max() * 5 > len(y):  # equal targets, such as many zeros, are in one part
            return (np.cumsum(many) - many)[same] * 5 // len(y)
        # Parts of the range of real targets that folds have in equal shares.
        return np.argsort(np.argsort(y, kind="stable"), kind="stable") * 5 // len(y)
    ranks = np.argsort(classes)
    return ranks[np.searchsorted(classes, y, sorter=ranks)]


def kept_together(data: Data) -> Data:
    """Return the data with equal rows as groups, if there are more than chance makes and no groups were given.

    Where columns are mixed among the rows, tables of a few categories have equal rows, too; measurements have not.
    """
    X, rows = data.X, len(data.y)
    if data.groups is not None or rows < 2:
        return data
    kinds = [len(np.unique(column)) for column in X[:1000].T]
    most = len(np.unique(X[:, int(np.argmax(kinds))]))
    if rows - most <= SHARE * rows:
        return data
    X, targets = X + 0.0, np.unique(data.y, return_inverse=True)[1].ravel()
    equal = row_numbers(X, targets)
    copies, rng = rows - equal.max() - 1, np.random.default_rng(0)
    if copies <= SHARE * rows or most <= min(30, (rows - copies) / 2):
        return data
    mixed = row_numbers(np.column_stack([rng.permutation(column) for column in X.T]), targets)
    if rows - mixed.max() - 1 > copies / 10:
        return data
    return data._replace(groups=equal)


def row_numbers(X: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return a number for each row, the same for equal rows with equal targets."""
    known = dict[tuple[bytes, int], int]()
    rows = zip(np.ascontiguousarray(X), targets.tolist(), strict=True)
    return np.array([known.setdefault((row.tobytes(), target), len(known)) for row, target in rows])


def rows_to_choose_by(labels: np.ndarray, cv: object, seed: int) -> np.ndarray:
    """Return the rows that choose: all of them, or a random part of very many with the same share of each class."""
    many = len(labels)
    if many <= MOST_ROWS or not (cv is None or isinstance(cv, Integral)):  # `cv` may name rows by number
        return np.arange(many)
    drawn = np.random.default_rng(seed).permutation(many)
    by_class = drawn[np.argsort(labels[drawn], kind="stable")]
    return np.sort(by_class[np.arange(MOST_ROWS) * many // MOST_ROWS])


def rounds_of(data: Data, labels: np.ndarray, cv: object, seed: int, *, real: bool) -> list[list[Fold]]:
    """Return the folds of each round: several rounds for a small table, one with `cv`. Rows of a group stay together.

    A fold whose rows to score all have the same label is left out.
    """
    groups, weights = data.groups, data.weights
    rng = np.random.default_rng(seed)
    if cv is not None and not isinstance(cv, Integral):
        splitter = fixed_splitter(cv, data.y, seed, classifier=not real)
        groups = groups_for(splitter, groups, len(data.y))
        drawn = [Fold(*split) for split in splits_by("cv", splitter, data.X, data.y, groups)]
        return [_usable(drawn, (labels, data.y), weights)]
    folds = min(FOLDS if cv is None else int(cv), len(labels) if groups is None else len(np.unique(groups)))
    if folds < 2:
        return []
    # The folds are drawn again, at most twice, until about so many rows were scored.
    times = int(np.clip(round(1000 / len(labels)), 1, 3)) if cv is None else 1
    return [_usable(_drawn(labels, groups, folds, rng), (labels, data.y), weights) for _ in range(times)]


def _drawn(labels: np.ndarray, groups: np.ndarray | None, folds: int, rng: np.random.Generator) -> list[Fold]:
    """Return random folds with the same share of each label."""
    if groups is None:
        number = dealt_out(labels, folds, rng)
        return [Fold(np.flatnonzero(number != one), np.flatnonzero(number == one)) for one in range(folds)]
    splitter = StratifiedGroupKFold(folds, shuffle=True, random_state=int(rng.integers(2**32)))
    with np.errstate(all="ignore"):
        return [Fold(*split) for split in splitter.split(labels[:, None], labels, groups)]


def dealt_out(labels: np.ndarray, folds: int, rng: np.random.Generator) -> np.ndarray:
    """Return a fold for each row: the rows of each label are dealt out in turn."""
    number, start = np.empty(len(labels), np.int64), 0
    for label in np.unique(labels):
        rows = rng.permutation(np.flatnonzero(labels == label))
        number[rows] = (np.arange(len(rows)) + start) % folds
        start += len(rows)
    return number


def _usable(folds: Sequence[Fold], targets: tuple[np.ndarray, np.ndarray], weights: np.ndarray | None) -> list[Fold]:
    """Return the folds with at least two labels and two targets on both sides, among rows that have weight."""
    there = np.ones(len(targets[0]), bool) if weights is None else np.asarray(weights) > 0
    sides = [[one[rows[there[rows]]] for rows in fold for one in targets] for fold in folds]
    return [fold for fold, some in zip(folds, sides, strict=True) if min(len(np.unique(one)) for one in some) > 1]


class Part:
    """Rows to train on and rows to score, in the forms that orders and judges need; all is learned from the former.

    A unit is given by its place in `space`. Columns stand in the order of the units.
    """

    def __init__(self, data: Data, space: Space, fold: Fold, classes: np.ndarray | None, seed: int) -> None:
        self.data, self.space, self.fold, self.seed = data.learned_from(fold.train), space, fold, seed
        self.classes = classes
        self._columns = np.array([column for unit in space.units for column in unit])
        ends = np.cumsum([len(unit) for unit in space.units])
        # The columns of `known` and `new` of each unit: standardised, gaps filled by medians.
        self.columns = [np.arange(end - len(unit), end) for end, unit in zip(ends, space.units, strict=True)]
        weights = data.weights
        self.weights = None if weights is None else weights[fold.test].astype(np.float64)  # of the rows to score
        if classes is None:
            train, test = data.y[fold.train].astype(np.float64), data.y[fold.test].astype(np.float64)
            middle, spread = _location(train[:, None])
            self._middle, self._spread = float(middle[0]), float(spread[0])
            self.y, self.new_y = self.standard(train), self.standard(test)
            self.targets = self.y[:, None]
        else:
            self.y, self.new_y = (numbered(data.y[rows], classes) for rows in fold)
            one_by_one = np.arange(len(classes))[len(classes) == 2 :]
            # [rows, outputs]: 0 and 1 for two classes, an indicator of each of more classes.
            self.targets = (self.y[:, None] == one_by_one).astype(np.float64)
        self.known, self.new = self._standardised()

    @property
    def real(self) -> bool:
        """Whether targets are real."""
        return self.classes is None

    def standard(self, y: np.ndarray) -> np.ndarray:
        """Return real targets standardised as those of the training rows."""
        return (y - self._middle) / self._spread

    def in_units_of_y(self, standard: np.ndarray) -> np.ndarray:
        """Return standardised targets as they were given."""
        return standard * self._spread + self._middle

    def scoring(self, rows: np.ndarray) -> Part:
        """Return what a score needs to know of some of the rows to score."""
        found = copy(self)
        found.new_y, found.weights = self.new_y[rows], None if self.weights is None else self.weights[rows]
        return found

    def raw(self, units: Sequence[int] | np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return some rows of some units as they were given, in the order of the columns."""
        columns = [column for unit in sorted(units) for column in self.space.units[unit]]
        return self.data.X[np.ix_(rows, np.array(columns))]

    def _standardised(self) -> tuple[np.ndarray, np.ndarray]:
        known, new = (self.data.X[np.ix_(rows, self._columns)].astype(np.float64) for rows in self.fold)
        if np.isnan(known).any() or np.isnan(new).any():
            with np.errstate(all="ignore"):
                fill = np.nan_to_num(np.array([_median(column) for column in known.T]))
            known, new = (np.where(np.isnan(side), fill, side) for side in (known, new))
        middle, spread = _location(known)
        self.scale = spread
        for side in (known, new):
            with np.errstate(over="ignore"):
                side -= middle
                side /= spread
            np.clip(side, -1e6, 1e6, out=side)  # so that no square overflows
        return known, new

    @cached_property
    def _numbers(self) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
        """The columns with each category as one number, for known and new rows, and those of each unit."""
        place = {column: number for number, column in enumerate(self._columns.tolist())}
        levels = [[place[column] for column in some if column in place] for some in self.space.categories]
        levels = [some for some in levels if some]
        if not levels:
            return self.known, self.new, self.columns
        first = {some[0]: some for some in levels}
        gone = {column for some in levels for column in some[1:]}
        kept = [column for column in range(len(self._columns)) if column not in gone]
        known, new = self.known[:, kept], self.new[:, kept]
        for number, column in enumerate(kept):
            if column in first:
                known[:, number], new[:, number] = self._as_number(first[column])
        where = {column: number for number, column in enumerate(kept)}
        return known, new, [np.array([where[one] for one in some if one in where]) for some in self.columns]

    @property
    def numbers(self) -> np.ndarray:
        """The training rows with each category as one number, standardised."""
        return self._numbers[0]

    @property
    def numbers_of(self) -> list[np.ndarray]:
        """The columns of `numbers` of each unit."""
        return self._numbers[2]

    def _as_number(self, columns: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """Return a category as the mean target of its levels, for training rows that of rows in other fifths."""
        known, new = (_levels(side[:, columns]) for side in (self.known, self.new))
        score, many = self._score(known, len(columns)), len(columns) + 1
        means = _level_means(known, score, many)
        found, part = np.empty(len(known)), np.random.default_rng(self.seed).permutation(len(known)) % FOLDS
        for one in range(FOLDS):
            found[part == one] = _level_means(known[part != one], score[part != one], many)[known[part == one]]
        middle, spread = _location(found[:, None])
        return (found - middle[0]) / spread[0], (means[new] - middle[0]) / spread[0]

    def _score(self, level: np.ndarray, many: int) -> np.ndarray:
        """Return the target as one number: more than two classes along the first axis of correspondence analysis."""
        if self.targets.shape[1] == 1:
            return self.targets[:, 0]
        counts = np.zeros((many + 1, self.targets.shape[1]))
        np.add.at(counts, (level, self.y), 1.0)
        expected = np.outer(counts.sum(1), counts.sum(0)) / counts.sum()
        axis = np.linalg.svd((counts - expected) / np.sqrt(np.maximum(expected, 1e-12)))[2][0]
        return (axis * np.sign(axis[np.argmax(np.abs(axis))]) / np.sqrt(np.maximum(counts.sum(0), 1.0)))[self.y]

    @cached_property
    def codes(self) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of quantiles of the columns of `numbers`, uint8 [columns, rows], for training rows and new rows."""
        known, new, _ = self._numbers
        found = np.empty((known.shape[1], len(known)), np.uint8), np.empty((known.shape[1], len(new)), np.uint8)
        at = np.unique(np.arange(1, BINS) * len(known) // BINS)
        for number in range(known.shape[1]):
            column = np.ascontiguousarray(known[:, number])
            in_order = np.sort(column)
            steps = np.flatnonzero(in_order[1:] > in_order[:-1]) + 1
            if len(steps) >= BINS:  # those at quantiles, or next after them
                steps = np.unique(steps[np.minimum(np.searchsorted(steps, at), len(steps) - 1)])
            cuts = (in_order[steps] + in_order[steps - 1]) / 2
            for side, values in zip(found, (column, new[:, number]), strict=True):
                side[number] = np.searchsorted(cuts, values)
        return found


def _location(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the means and the standard deviations of columns, 1 for a constant column; no square overflows."""
    size = np.maximum(np.abs(table).max(axis=0), 1e-300)
    unit = table / size
    spread = unit.std(axis=0)
    return unit.mean(axis=0) * size, np.where(spread > 1e-12, spread, 1.0) * size


def _median(column: np.ndarray) -> float:
    there = column[~np.isnan(column)]
    return float(np.median(there)) if len(there) else 0.0


def _levels(indicators: np.ndarray) -> np.ndarray:
    """Return the level of each row, from indicators that may be standardised; the last number is for no level."""
    there = indicators > 1e-9  # a zero became a negative number
    return np.where(there.any(axis=1), there.argmax(axis=1), indicators.shape[1])


def _level_means(level: np.ndarray, score: np.ndarray, many: int) -> np.ndarray:
    """Return the mean score of each level, drawn towards the mean of all."""
    counts, sums = np.bincount(level, minlength=many), np.bincount(level, score, minlength=many)
    return (sums + PRIOR * score.mean()) / (counts + PRIOR)
