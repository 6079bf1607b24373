"""The rows that candidates are found on: the training part of a fold, or all rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from sklearn.base import BaseEstimator

from bestleaf.features import FeatureLattice
from bestleaf.features.data import scaled
from bestleaf.features.estimator import ONE_THREAD, EstimatorOracle
from bestleaf.features.neighbours import KNNOracle

Subset = tuple[int, ...]  # units in order
Candidates = Mapping[int, Subset]  # a subset of each size

FINE = 40  # with at most so many units, every size is tried
SMALL_SIZES, LARGE_SIZES = 15, 26  # otherwise all sizes up to the first number, and so many beyond, ever further apart
SIZES_FOR_FITS = 12  # sizes that are tried at most if each takes fits of an estimator
DISTANCES = 1_200_000  # of one value on which candidates are compared, and
DISTANCES_AT_A_LOOK = 400_000  # of one value that only says which of many are compared
FEWEST_QUERIES = 100  # rows of such values


@dataclass(frozen=True)
class Choosable:
    """The units that may be chosen, and the sizes of subsets that are tried."""

    groups: list[list[int]]  # the columns of each unit
    forced: Subset
    free: Subset  # units that may be chosen and are not forced
    limit: int  # largest size
    sizes: tuple[int, ...]  # without that of all units

    @classmethod
    def of(cls, lattice: FeatureLattice, *, by_fits: bool) -> Choosable:
        """Return what may be chosen from a lattice."""
        forced, free = tuple(lattice.forced), tuple(lattice.allowed)
        sizes = _sizes(len(forced), len(free), lattice.limit, by_fits)
        return cls(lattice.groups, forced, free, lattice.limit, sizes)

    @property
    def everything(self) -> Subset:
        """All units that may be chosen."""
        return tuple(sorted((*self.forced, *self.free)))

    def columns(self, units: Iterable[int]) -> list[int]:
        """Return the columns of some units."""
        return [column for unit in units for column in self.groups[unit]]

    def cut(self, order: Iterable[int]) -> dict[int, Subset]:
        """Return the first units of an order with the forced ones, for each size."""
        units = list(order)
        found = {size: (*self.forced, *units[: size - len(self.forced)]) for size in self.sizes}
        return {size: tuple(sorted(some)) for size, some in found.items() if len(some) == size}


def _sizes(forced: int, free: int, limit: int, by_fits: bool) -> tuple[int, ...]:
    """Return the sizes that are tried, ascending; at least 1, and less than that of all units."""
    least, most = max(1, forced), min(limit, forced + free - 1)
    if most < least:
        return ()
    if by_fits:
        sizes = np.unique(np.round(np.geomspace(least, most, SIZES_FOR_FITS)).astype(int))
    elif most <= FINE:
        sizes = np.arange(least, most + 1)
    else:
        fine = np.arange(least, max(least, SMALL_SIZES) + 1)
        sizes = np.unique([*fine, *np.round(np.geomspace(fine[-1], most, LARGE_SIZES)).astype(int)])
    return tuple(int(size) for size in sizes if least <= size <= most)


def _standardised(column: np.ndarray) -> np.ndarray:
    """Return a column standardised by its known values, with 0 for missing ones."""
    known = column[~np.isnan(column)]
    return np.nan_to_num(scaled(column, True, known)) if len(known) else np.zeros(len(column))


@dataclass(frozen=True)
class Part:
    """Rows with the oracle that gives subsets of units their values on them."""

    X: np.ndarray
    y: np.ndarray
    oracle: KNNOracle | EstimatorOracle
    choosable: Choosable
    task: str  # "classification" or "regression"
    seed: int
    check: Callable[[], None] = field(repr=False)  # raises an error if the time is over
    threads: int = 1  # that may work on these rows
    models: dict[Subset, BaseEstimator] = field(default_factory=dict, repr=False)  # estimators fitted so far

    def standardised_free(self) -> np.ndarray:
        """Return the columns of the free units, standardised: numbers as large as 1e200 would overflow elsewhere.

        Missing values, which some estimators take, are 0 here: the mean of the column.
        """
        columns = self.choosable.columns(self.choosable.free)
        return np.column_stack([_standardised(np.asarray(self.X[:, column], np.float64)) for column in columns])

    @property
    def outputs(self) -> int:
        """Number of one-against-rest rankings of a value."""
        return len(self.oracle.targets) if isinstance(self.oracle, KNNOracle) else 1

    def queries(self, distances: int = DISTANCES) -> np.ndarray:
        """Return the rows that values are computed on: about as many as these distances allow, always the same."""
        assert isinstance(self.oracle, KNNOracle)
        rows, every = self.oracle.n_samples, self.oracle.with_weight(self.oracle.queries)
        many = max(FEWEST_QUERIES, distances // (rows * max(1, self.outputs // 2)))
        if many >= len(every):
            return every
        return np.sort(np.random.default_rng(2019).permutation(every)[:many])

    def model(self, units: Subset) -> BaseEstimator:
        """Return the estimator fitted on these rows and the columns of a subset."""
        assert isinstance(self.oracle, EstimatorOracle)
        if units not in self.models:
            self.check()
            with ONE_THREAD:
                self.models[units] = self.oracle.fitted(self.choosable.columns(units), np.arange(len(self.y)))
        return self.models[units]

    def values(self, subsets: Sequence[Iterable[int]], queries: np.ndarray) -> list[float]:
        """Return the values of some subsets on some rows."""
        assert isinstance(self.oracle, KNNOracle)
        at_once, found = self.oracle.at_once, list[float]()
        for begin in range(0, len(subsets), at_once):
            self.check()
            some = [self.choosable.columns(units) for units in subsets[begin : begin + at_once]]
            found += self.oracle.values(some, queries)
        return found
