"""Values of many subsets at once by the votes of nearest neighbours, in threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from bestleaf.features.kernels import all_subsets as kernels
from bestleaf.features.kernels.records import TIES

if TYPE_CHECKING:
    from bestleaf.features.neighbours import KNNOracle

VOTES_A_PART = 2 * 10**6  # votes that one call of the kernel writes
FEWEST_A_PART = 16  # subsets; the first one of a part shares no distances with the one before


def values_of(oracle: KNNOracle, columns: np.ndarray) -> np.ndarray:
    """Return the value of every subset, exactly as ``oracle.value`` gives it; in threads if there are any.

    `columns` [subsets, features] says which features each subset has. Any order will do; fewest distances are computed
    if subsets that begin with the same features stand together.
    """
    if oracle.n_neighbors > kernels.NEAREST or oracle.drop_zero or oracle.roles.apart:
        return np.array(oracle.values([np.flatnonzero(row) for row in columns]))
    many, largest = len(columns), max(1, VOTES_A_PART // oracle.targets.size)
    threads = max(1, min(oracle.n_jobs, many // FEWEST_A_PART))
    edges = np.linspace(0, many, max(-(-many // largest), threads) + 1).astype(int)
    parts = [columns[start:stop] for start, stop in pairwise(edges.tolist()) if start < stop]
    if threads < 2:
        return np.concatenate([_part(oracle, one) for one in parts])
    with ThreadPoolExecutor(threads) as pool:
        return np.concatenate(list(pool.map(lambda one: _part(oracle, one), parts)))


def _part(oracle: KNNOracle, columns: np.ndarray) -> np.ndarray:
    """Return the values of some subsets in this thread."""
    sizes, targets = columns.sum(axis=1), oracle.targets
    (outputs, rows), widest = targets.shape, int(sizes.max())
    groups = np.empty(0, np.int64) if oracle.groups is None else np.asarray(oracle.groups, np.int64)
    voters = kernels.Voters(oracle.columns, targets, groups, oracle.n_neighbors, oracle.classes is None)
    examples = -(-rows // kernels.LANES) * kernels.LANES
    votes = np.empty((len(columns), outputs, rows), np.float32)
    kernels.count_votes(
        np.nonzero(columns)[1],
        np.concatenate([[0], np.cumsum(sizes)]),
        voters,
        np.empty((widest + 1, examples * kernels.LANES), np.float32),
        np.empty(widest, np.int64),
        np.empty(kernels.SCRATCH, np.float32),
        votes,
    )
    if oracle.classes is None or oracle.row_weights is not None:
        return np.array([oracle.fraction_in_order(targets, one.T, oracle.row_weights) for one in votes])
    values, histograms = np.empty(len(columns)), np.zeros((2, oracle.n_neighbors + 1), np.int64)
    kernels.rank_votes(votes, targets, TIES[oracle.ties], *histograms, values)
    return values
