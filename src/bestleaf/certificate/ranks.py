"""AUC and concordance index from ranks, in a time that grows little faster than the number of rows."""

from __future__ import annotations

import numpy as np


def auc(positive: np.ndarray, ranks: np.ndarray) -> float:
    """Return the fraction of pairs of a positive and another row that the ranks put in the right order; ties: 1/2."""
    others, ours = np.sort(ranks[~positive]), ranks[positive]
    twice = np.searchsorted(others, ours, "left") + np.searchsorted(others, ours, "right")
    return float(twice.sum() / (2 * len(others) * len(ours)))


def concordance(target: np.ndarray, ranks: np.ndarray) -> float:
    """Return the fraction of pairs with different targets that the ranks put in the right order; ties count 1/2."""
    sizes = np.unique(target, return_counts=True)[1]
    pairs = (len(target) ** 2 - int((sizes**2).sum())) // 2
    right = _inversions(-ranks[np.lexsort((-ranks, target))])
    wrong = _inversions(ranks[np.lexsort((ranks, target))])
    return (pairs + right - wrong) / (2 * pairs)


def _inversions(values: np.ndarray) -> int:
    """Return how many pairs stand in the wrong order: an earlier value that is larger than a later one."""
    ranks, found = np.unique(values, return_inverse=True)[1].ravel(), 0
    for bit in range(int(ranks.max()).bit_length()):
        # Pairs that differ in this bit first: the larger one has the bit, both have the same higher bits.
        order = np.argsort(ranks >> (bit + 1), kind="stable")
        group, ones = ranks[order] >> (bit + 1), (ranks[order] >> bit) & 1
        before = np.cumsum(ones) - ones
        starts = np.searchsorted(group, group)
        found += int((before - before[starts])[ones == 0].sum())
    return found
