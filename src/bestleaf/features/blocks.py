"""Values of many subsets at once by the votes of nearest neighbours, for small tables.

Subsets of a `Block` stand in the order of a tree, so most of them add one feature to the one before. Subsets that can
no longer reach their floor are given up after some of the rows: the votes of the other rows can at most be perfect.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from bestleaf.engine.vectors import EIGHT, SMALLEST
from bestleaf.features.kernels import blocks as kernels

if TYPE_CHECKING:
    from bestleaf.features.neighbours import KNNOracle

MOST_ROWS = 4096  # with more rows, distances of all prefixes of a subset do not fit into the cache of a processor
MOST_SUBSETS = 2**22  # whose values are all computed on a processor
BELOW = -1.0  # stands for a value that is below its floor
VOTES_A_PART = 2 * 10**6  # votes that one call of the kernels writes
PARTS_A_THREAD = 4  # some parts are done sooner than others
FEWEST_A_PART = 16  # subsets; the first one of a part shares no distances with the one before
FIRST_LOOK, LAST_LOOK = 0.2, 0.85  # shares of the rows: subsets are given up after the first and before the last
FARTHEST = 2.0  # the next look comes after at most so many times the rows seen


def values_of(oracle: KNNOracle, columns: np.ndarray, floors: np.ndarray | None = None) -> np.ndarray:
    """Return the value of every subset, exactly as ``oracle.value`` gives it; in threads if there are any.

    `columns` [subsets, features] says which features each subset has. Any order will do; fewest distances are computed
    if subsets that begin with the same features stand together. Where a subset cannot reach its floor, it may be
    `BELOW` instead of the value.
    """
    many = len(columns)
    floors = np.full(many, -np.inf) if floors is None else np.asarray(floors, np.float64)
    largest = max(1, VOTES_A_PART // (oracle.n_samples * len(oracle.targets)))
    threads = min(oracle.n_jobs, -(-many // FEWEST_A_PART))
    shared_out = min(PARTS_A_THREAD * threads, many // FEWEST_A_PART) if threads > 1 else 1
    parts = max(-(-many // largest), shared_out, 1)
    edges = np.linspace(0, many, parts + 1).astype(int)
    slices = [slice(start, stop) for start, stop in pairwise(edges.tolist()) if start < stop]
    if threads < 2:
        return _joined([_part(oracle, columns[one], floors[one]) for one in slices])
    with ThreadPoolExecutor(threads) as pool:
        return _joined(list(pool.map(lambda one: _part(oracle, columns[one], floors[one]), slices)))


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.empty(0), *parts])


def _part(oracle: KNNOracle, columns: np.ndarray, floors: np.ndarray) -> np.ndarray:
    """Return the values of some subsets, given by their columns, in this thread."""
    place, many, rows, outputs = oracle.workplace(), len(columns), oracle.n_samples, len(oracle.targets)
    sizes = columns.sum(axis=1)
    starts, features = np.concatenate([[0], np.cumsum(sizes)]), np.nonzero(columns)[1]
    eight = oracle.counts_votes and oracle.n_neighbors <= SMALLEST and not oracle.drop_zero
    eight = eight and rows >= EIGHT and int(sizes.min()) > 0
    width = EIGHT * rows if eight else place.arrays["distance"].size
    stack, scratch = np.empty((int(sizes.max()) + 2, width), np.float32), np.empty((7 + outputs, EIGHT), np.int32)
    path, alive = np.empty(int(sizes.max()) + 1, np.int64), np.arange(many)
    votes, values = np.empty((many, outputs, rows), np.float32), np.empty(many)
    counted, ties = oracle.counts_votes, oracle.tie_code
    histograms = np.zeros((2, oracle.n_neighbors + 1), np.int64)
    addresses = votes.ctypes.data, rows, outputs, oracle.targets.ctypes.data, ties
    given_up = counted and bool((floors > 0).any())
    seen, until = 0, EIGHT * ceil(FIRST_LOOK * rows / EIGHT) if given_up else rows
    while True:
        given = seen, until, alive, many, features, starts, stack.ctypes.data, path, place.record, votes.ctypes.data
        if eight:
            kernels.votes_of_eight(*given, scratch.ctypes.data)
        else:
            kernels.block_votes(*given)
        if until >= rows:
            break
        kernels.block_ranked(until, alive, many, *addresses, *histograms, values)
        many = kernels.keep_alive(alive, many, values, floors)
        if not many:
            return values
        seen, until = until, _next_look(until, rows, values[alive[:many]], floors[alive[:many]])
    if counted:
        kernels.block_ranked(rows, alive, many, *addresses, *histograms, values)
        return values
    weights, targets = oracle.row_weights, oracle.targets  # concordance indices, and rows with weights
    return np.array([oracle.fraction_in_order(targets, one.T, weights) for one in votes])


def _next_look(seen: int, rows: int, highest: np.ndarray, floors: np.ndarray) -> int:
    """Return after how many rows half of some subsets can probably be given up; all rows if that is hardly sooner.

    What a subset can still reach falls from 1 with the square of the rows seen, because pairs of rows count.
    """
    far = np.sqrt((1.0 - floors) / np.maximum(1.0 - highest, 1e-9))
    until = EIGHT * ceil(max(seen + EIGHT, seen * min(FARTHEST, float(np.median(far)))) / EIGHT)
    return until if until <= LAST_LOOK * rows else rows
