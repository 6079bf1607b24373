"""Examples as the neighbour kernels want them: checked, scaled, feature by feature in single precision."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Lock
from typing import Any

import numpy as np

VALUE_COST = 10**9  # distances computed for one exact value, at most (about a second a feature)
FEWEST_QUERIES = 1000  # examples an exact value is computed on, at least
ROUGH_QUERIES = (500, 2000)  # examples a value is computed on that only guides growth, at least and at most
ROUGH_COST = 3 * 10**8  # distances it may take between these
FEWEST_OF_A_CLASS = 20
FAR_OFF = 1000  # means this many standard deviations from 0 are taken off before single precision
LARGEST = 1e15  # of numbers whose squared differences can be added in single precision
LARGE = 10**7  # numbers that are not copied all at once
BLOCK = 2048  # rows that are copied at a time
VECTOR = 16  # single-precision numbers in the widest vector


def checked_data(X: Any) -> np.ndarray:
    """Return X as numbers, or say in one sentence why not."""
    try:
        data = np.asarray(X)
        data = data if data.dtype in (np.float32, np.float64) else data.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"X must hold numbers only: {error}") from None
    if data.ndim != 2 or data.shape[1] == 0:
        raise ValueError(f"X must be a table of rows and columns, got shape {data.shape}")
    if len(data) < 2:
        raise ValueError(f"X must have at least 2 rows, got {len(data)}")
    if broken := columns_not_finite(data):
        raise ValueError(f"X must not have missing or infinite values, found in columns {broken[:10]}")
    return data


def columns_not_finite(data: np.ndarray) -> list[int]:
    """Return the columns with missing or infinite values."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(data.sum()):  # one walk through the rows; through every column it takes ten times as long
            return []
    return [number for number, column in enumerate(data.T) if not np.isfinite(column).all()]


def checked_targets(y: Any, examples: int, task: str) -> tuple[np.ndarray | None, np.ndarray]:
    """Return (classes or None, targets [outputs, examples]); one output for two classes and for real targets."""
    labels = np.asarray(y)
    if labels.shape != (examples,):
        raise ValueError(f"y must have one value for each of the {examples} rows, got shape {labels.shape}")
    if task == "regression":
        targets = labels.astype(np.float64)
        if not np.isfinite(targets).all():
            raise ValueError("y must not have missing or infinite values")
        if targets.min() == targets.max():
            raise ValueError(f"y must have at least two different values, got only {targets[0]}")
        single = unit_range(targets).astype(np.float32)  # neither origin nor unit matters
        if len(np.unique(single)) < 0.99 * len(np.unique(targets)):
            raise ValueError(
                f"y must be told apart in single precision, got values from {targets.min():g} to {targets.max():g}; "
                "take their logarithms or ranks"
            )
        return None, single[None, :]
    if task != "classification":
        raise ValueError(f"task must be 'classification' or 'regression', got {task!r}")
    classes = np.unique(labels)
    if len(classes) < 2:
        raise ValueError(f"y must have at least two classes, got only {classes.tolist()}")
    shown = classes[1:] if len(classes) == 2 else classes
    return classes, np.stack([(labels == one).astype(np.float32) for one in shown])


def unit_range(values: np.ndarray) -> np.ndarray:
    """Return finite numbers, not all the same, moved and scaled to [0, 1], however large they are."""
    half = values / 2  # the difference of the largest numbers there are has no number
    return (half - half.min()) / (half.max() - half.min())


def scaled(column: np.ndarray, scale: bool) -> np.ndarray:
    """Return a feature in double precision, standardised or so that single precision tells its values apart."""
    size = np.abs(column).max()
    if size > 0:
        column = column / size  # no square of it overflows
    middle, spread = column.mean(), column.std()
    if scale:
        return (column - middle) / (spread if spread > 0 else 1.0)
    far_off = abs(middle) > FAR_OFF * spread  # then single precision would eat the differences
    return (column - middle if far_off else column) * size


class Columns:
    """The features as rows in single precision, the examples in the order `rows`, padded to whole lanes.

    Those of very large data are copied one by one, when they are first asked for: a search may have less time than it
    takes to copy all of them.
    """

    def __init__(self, data: np.ndarray, scale: bool, lanes: int, rows: np.ndarray) -> None:
        self.array = np.zeros((data.shape[1], -(-len(data) // lanes) * lanes), np.float32)
        self._data: np.ndarray | None = data
        self._scale, self._rows = scale, rows
        self._missing = np.ones(data.shape[1], bool)
        self._lock = Lock()
        if data.size < LARGE or not scale:
            self.complete()
            if not np.abs(self.array).max() < LARGEST:
                raise ValueError(
                    f"X must hold numbers less than {LARGEST:g} in size, got {np.abs(data).max():g}; use scale=True"
                )

    def __getstate__(self) -> dict[str, Any]:
        self.complete()
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock = Lock()

    def need(self, features: np.ndarray) -> None:
        """Copy the features that are not there yet."""
        if not self._missing[features].any():
            return
        with self._lock:
            for feature in features[self._missing[features]].tolist():
                if (data := self._data) is not None:
                    self._take(feature, data[:, feature][self._rows].astype(np.float64))
                self._missing[feature] = False

    def complete(self) -> np.ndarray:
        """Copy all features; return them."""
        with self._lock:
            if self._data is not None:
                for feature, column in enumerate(_shuffled_columns(self._data, self._rows)):
                    self._take(feature, column)
                self._data = None
                self._missing[:] = False
        return self.array

    def _take(self, feature: int, column: np.ndarray) -> None:
        with np.errstate(over="ignore"):
            self.array[feature, : len(column)] = scaled(column, self._scale)


def _shuffled_columns(data: np.ndarray, rows: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the columns with their examples in the order `rows`.

    Half of the columns at a time, a block of rows after the other: where rows lie together in memory, a walk through
    millions of them column by column takes twenty times as long.
    """
    many = -(-data.shape[1] // 2)
    for start in range(0, data.shape[1], many):
        found = np.empty((min(many, data.shape[1] - start), len(rows)))
        for block in range(0, len(rows), BLOCK):
            taken = np.take(data, rows[block : block + BLOCK], axis=0)
            found[:, block : block + BLOCK] = taken[:, start : start + many].T
        yield from found


def drawn(examples: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return a uniform subsample, using the stream as the compiled rollouts do (Fisher and Yates, from the front)."""
    moved: dict[int, int] = {}
    drawn = np.empty(size, np.int64)
    for place in range(size):
        other = place + int(rng.random() * (examples - place))
        drawn[place] = moved.get(other, other)
        moved[other] = moved.get(place, place)
    return drawn


def fixed_queries(targets: np.ndarray, many: int) -> np.ndarray:
    """Return the examples on which the values of huge data are computed: a fixed subsample that has every class."""
    examples = targets.shape[1]
    order = np.random.default_rng(2019).permutation(examples)
    queries = set(order[:many].tolist())
    for target in targets:
        for value in (target.min(), target.max()):
            queries.update(order[target[order] == value][:FEWEST_OF_A_CLASS].tolist())
    return np.array(sorted(queries), np.int64)


def lanes(examples: int, n_neighbors: int) -> int:
    """Return the number of lanes: a multiple of the vector width near 0.6 times the square root of k n.

    Finding the bound costs a few steps a lane, looking into k lanes n / lanes steps each, and looking closer because
    two of the nearest share a lane is the rarer the more lanes there are; measured, the sum is least about there.
    """
    return max(2 * VECTOR, VECTOR * round(0.6 * (n_neighbors * examples) ** 0.5 / VECTOR))
