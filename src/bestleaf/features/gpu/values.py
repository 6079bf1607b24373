"""Values of subsets from what a GPU counts: how many pairs of rows their votes put in the right order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bestleaf.features.gpu.votes import CudaVotes, PaddedSubsets

if TYPE_CHECKING:
    from bestleaf.features.neighbours import KNNOracle


def values_on_gpu(oracle: KNNOracle, votes: CudaVotes, subsets: PaddedSubsets, queries: np.ndarray) -> np.ndarray:
    """Return the values of subsets on some rows, to the last digit as the processor computes them."""
    targets = oracle.targets[:, queries]
    if oracle.row_weights is not None or oracle.ties == "row_order":  # the processor ranks the rows by their votes
        weights = None if oracle.row_weights is None else oracle.row_weights[queries]
        return np.array([oracle.fraction_in_order(targets, sums, weights) for sums in votes.sums(subsets, queries)])
    truth = np.stack([np.unique(target, return_inverse=True)[1] for target in targets])
    twice = votes.pairs_in_order(subsets, queries, truth, half=oracle.ties == "half")
    total, outputs = np.zeros(len(twice)), 0
    for ranks, column in zip(truth, twice.T, strict=True):
        if pairs := (len(queries) ** 2 - int((np.bincount(ranks) ** 2).sum())) // 2:
            total += column / 2 / pairs
            outputs += 1
    return total / outputs
