"""Data in the form that the kernels of nearest neighbours need: checked, scaled, by column, in single precision."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils.multiclass import type_of_target

from bestleaf.checks import sentence, shown

VALUE_COST = 10**9  # largest number of distances for one exact value if every row votes (a second for each feature)
REFERENCE_ROWS = 20_000  # rows that vote, if there are so many rows that an exact value would take more distances
QUERY_ROWS = 10_000  # other rows that are then ranked
LARGEST = 1e15  # larger numbers have squared differences that single precision cannot add
LIGHTEST = 1e-6  # share of the weight that the rows beside the heaviest target must have


def in_order(subset: Iterable[int]) -> np.ndarray:
    """Return the features of a subset in order, each once; `numpy.unique` takes several times as long for a few."""
    return np.array(sorted(set(subset)), np.int64)


def splits_by(
    name: str, splitter: BaseCrossValidator, X: ArrayLike, y: np.ndarray, groups: np.ndarray | None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the rows on both sides of each split of a splitter, by their numbers; `name` is the user's argument."""
    try:
        found = list(splitter.split(X, y, groups))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} cannot split these {len(y):,} rows: {sentence(str(error), 150)}") from None
    return [_rows_of(name, split, len(y)) for split in found]


def _rows_of(name: str, split: Iterable[ArrayLike], rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the two sides of a split, given as numbers of rows or as truth values, as numbers of rows."""
    try:
        kept, aside = (np.arange(rows)[np.asarray(side)] for side in split)
        if kept.ndim != 1 or aside.ndim != 1:
            raise IndexError
    except (IndexError, TypeError, ValueError):
        raise ValueError(f"{name} must give pairs of row numbers from 0 to {rows - 1}, got {shown(split)}") from None
    return kept, aside


def checked_data(X: ArrayLike, *, missing: bool = False) -> np.ndarray:
    """Return X as a table of finite numbers; refuse anything else, but not missing values if they are taken."""
    try:
        data = np.asarray(X)
        data = data if data.dtype in (np.float32, np.float64) else data.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"X must hold numbers only: {error}") from None
    if data.ndim != 2 or data.shape[1] == 0:
        raise ValueError(f"X must be a table of rows and columns, got shape {data.shape}")
    if len(data) < 2:
        raise ValueError(f"X must have at least 2 rows, got {len(data)}")
    if broken := columns_not_finite(data, missing=missing):
        raise ValueError(f"X must not have missing or infinite values, found in columns {broken[:10]}")
    return data


def columns_not_finite(data: np.ndarray, *, missing: bool = False) -> list[int]:
    """Return the columns with missing or infinite values; only those with infinite ones if missing ones are taken."""
    if missing:
        return np.flatnonzero(np.isinf(data).any(axis=0)).tolist()
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(data.sum()):  # ten times as fast as checking every column
            return []
    return [number for number, column in enumerate(data.T) if not np.isfinite(column).all()]


def task_of(y: ArrayLike, task: str) -> str:
    """Return "classification" or "regression": the task given or, for "auto", what the targets look like."""
    if task != "auto":
        return task
    with np.errstate(over="ignore", invalid="ignore"):  # y may hold the largest numbers there are
        kind = type_of_target(y, input_name="y", raise_unknown=True)
    targets = np.asarray(y)
    # More different whole numbers than this are taken for real targets.
    many = kind == "multiclass" and targets.dtype.kind in "iuf" and len(np.unique(targets)) > 20
    return "regression" if many or kind.startswith("continuous") else "classification"


def checked_targets(y: ArrayLike, rows: int, task: str) -> tuple[np.ndarray | None, np.ndarray]:
    """Return the classes (None for real targets) and the targets [outputs, rows].

    Two classes and real targets have one output; more classes have one output each.
    """
    labels = np.asarray(y)
    if labels.shape != (rows,):
        raise ValueError(f"y must have one value for each of the {rows} rows, got shape {labels.shape}")
    if task == "regression":
        targets = labels.astype(np.float64)
        if not np.isfinite(targets).all():
            raise ValueError("y must not have missing or infinite values")
        if targets.min() == targets.max():
            raise ValueError(f"y must have at least two different values, got only {targets[0]}")
        single = unit_range(targets).astype(np.float32)  # only their order and their distances matter
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
    outputs = classes[1:] if len(classes) == 2 else classes
    return classes, np.stack([(labels == one).astype(np.float32) for one in outputs])


def unit_range(values: np.ndarray) -> np.ndarray:
    """Return finite numbers, not all equal, shifted and scaled to [0, 1]."""
    half = values / 2  # the difference of very large numbers would overflow
    return (half - half.min()) / (half.max() - half.min())


def scaled(column: np.ndarray, scale: bool) -> np.ndarray:
    """Return a column standardised; without `scale` it is only shifted, if single precision needs that."""
    size = np.abs(column).max()
    if size > 0:
        column = column / size  # so that no square overflows
    middle, spread = column.mean(), column.std()
    if scale:
        return (column - middle) / (spread if spread > 0 else 1.0)
    # A mean that is so many standard deviations from 0 is subtracted, to keep single precision.
    return (column - middle if abs(middle) > 1000 * spread else column) * size


def copied_columns(data: np.ndarray, scale: bool, width: int, rows: np.ndarray) -> np.ndarray:
    """Return a copy of the data, [features, width] in single precision; rows in the order `rows`, then zeros."""
    found = np.zeros((data.shape[1], width), np.float32)
    many = max(1, 10**7 // len(rows))  # numbers that are copied at once
    with np.errstate(over="ignore"):
        for start in range(0, len(found), many):
            columns = data[rows, start : start + many].T.astype(np.float64, order="C")
            for place, column in enumerate(columns, start):
                found[place, : len(column)] = scaled(column, scale)
    if not (scale or np.abs(found).max() < LARGEST):
        raise ValueError(
            f"X must hold numbers less than {LARGEST:g} in size, got {np.abs(data).max():g}; use scale=True"
        )
    return found


def drawn(rows: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return a uniform subsample of rows; compiled rollouts draw the same rows from the same random stream."""
    moved: dict[int, int] = {}
    found = np.empty(size, np.int64)
    for place in range(size):
        other = place + int(rng.random() * (rows - place))
        found[place] = moved.get(other, other)
        moved[other] = moved.get(place, place)
    return found


@dataclass(frozen=True)
class RowRoles:
    """Which rows vote and which rows are ranked.

    With few rows every row does both: its neighbours are searched among all other rows. With very many rows a fixed
    random part of them, the *reference*, votes. A fixed random part of the other rows is ranked: by values and by
    samples alike.
    """

    order: np.ndarray  # numbers of the rows that an oracle keeps, in its order; a *place* is an index of it
    references: int  # rows at the first places: they vote; of equally near ones those at earlier places
    first_query: int  # rows at this place and after it are ranked: 0, or `references` if these are kept apart

    @property
    def apart(self) -> bool:
        """Whether no row both votes and is ranked."""
        return self.first_query > 0

    @property
    def queries(self) -> int:
        """Number of rows that are ranked."""
        return len(self.order) - self.first_query


def reference_size(rows: int, reference_rows: int | None) -> int:
    """Return how many rows vote; None is all of them up to about 31,000 rows, and 20,000 of more rows."""
    if reference_rows is None:
        return rows if rows**2 <= VALUE_COST else REFERENCE_ROWS
    return min(rows, reference_rows)


def row_roles(
    labels: np.ndarray,  # classes of the rows by number, which are all the same for real targets
    reference_rows: int | None,
    query_rows: int | None,
    *,
    weights: np.ndarray | None = None,  # of the rows; those of weight 0 are ranked only if there are no others left
    shuffle: bool = True,  # whether an oracle keeps the rows in a random order; reference rows come first anyway
) -> RowRoles:
    """Return which rows vote, with the same share of every class, and which are ranked; always the same ones."""
    rows = len(labels)
    many, drawn_order = reference_size(rows, reference_rows), np.random.default_rng(2019).permutation(rows)
    order = drawn_order if shuffle else np.arange(rows)
    if many == rows:
        return RowRoles(order, rows, 0)
    votes, ranked, role = 1, 2, np.zeros(rows, np.int8)
    by_class = drawn_order[np.argsort(labels[drawn_order], kind="stable")]
    ends = np.cumsum(np.bincount(labels))  # the quotas of the classes add up to `many`, because their sums are rounded
    quotas = np.diff(np.rint(ends * many / rows).astype(np.int64), prepend=0)
    starts = ends - np.diff(ends, prepend=0)
    for start, quota in zip(starts, quotas, strict=True):
        role[by_class[start : start + quota]] = votes
    others = drawn_order[role[drawn_order] == 0]
    if weights is not None:
        others = others[np.argsort(weights[others] == 0, kind="stable")]
    left = QUERY_ROWS if query_rows is None else query_rows
    # Rows of each class among them.
    for some in [*(others[labels[others] == label][:20] for label in range(len(ends))), others]:
        some = some[role[some] == 0][:left]
        role[some] = ranked
        left -= len(some)
    return RowRoles(np.concatenate([order[role[order] == one] for one in (votes, ranked)]), many, many)


def lanes(rows: int, n_neighbors: int) -> int:
    """Return the number of lanes of the kernels: a multiple of the vector width near 0.6 sqrt(k n).

    With more lanes it takes longer to find the bound, with fewer lanes it takes longer to search them. Measurements
    gave the shortest time for this number.
    """
    vector = 16  # single-precision numbers in the widest vector
    return max(2 * vector, vector * round(0.6 * (n_neighbors * rows) ** 0.5 / vector))


def lightest_share(labels: np.ndarray, weights: np.ndarray) -> float:
    """Return the share of the weight that rows have whose targets differ from the heaviest one.

    A subsample tells something only if it has two different targets, so this share must not be tiny.
    """
    by_label = np.bincount(np.unique(labels, return_inverse=True)[1].ravel(), weights)
    total = float(by_label.sum())
    return 1.0 - float(by_label.max()) / total if total > 0 else 0.0
