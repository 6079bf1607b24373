"""How well scores rank rows by their targets, and how much that depends on single rows."""

from __future__ import annotations

import numpy as np

from bestleaf.features.kernels import neighbours as kernels
from bestleaf.features.kernels.records import HALF


def concordance(score: np.ndarray, truth: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Return the fraction of pairs with different targets that the scores put in the right order; ties count 1/2."""
    ranks, score = np.unique(truth, return_inverse=True)[1].astype(np.float32), np.asarray(score, np.float32)
    if weights is None:
        good, pairs = kernels.counted_pairs(score, ranks, HALF, kernels.pairs_in_order.address)
    else:
        good, pairs = kernels.weighted_pairs(score, ranks, np.asarray(weights, np.float64), HALF)
    if not pairs:
        raise ValueError(f"concordance needs two different targets, got {len(ranks)} that are the same")
    return float(good / pairs)


def pulls(score: np.ndarray, truth: np.ndarray, weights: np.ndarray | None = None, *, real: bool) -> np.ndarray:
    """Return by how much each row pulls the fraction of pairs in the right order up or down; the sum is 0.

    The sum of squares estimates the variance of the fraction (Hoeffding's projection of a U-statistic).
    """
    if weights is not None:
        return weighted_pulls(score, truth, weights, real=real)
    if real:
        differ = np.sign(truth[:, None] - truth)
        right = (differ * np.sign(score[:, None] - score) + differ**2) / 2  # 0 for pairs with equal targets
        good, pairs = right.sum(axis=1, dtype=np.float64), (differ**2).sum(axis=1, dtype=np.float64)
    else:
        high, good = truth > 0, np.empty(len(truth))
        for side, sign in ((high, 1.0), (~high, -1.0)):  # the signs turn "higher than" into "lower than"
            others, ours = np.sort(sign * score[~side]), sign * score[side]
            good[side] = (np.searchsorted(others, ours, "left") + np.searchsorted(others, ours, "right")) / 2
        pairs = np.where(high, (~high).sum(), high.sum()).astype(np.float64)
    return 2 * (good - good.sum() / pairs.sum() * pairs) / pairs.sum()


def weighted_pulls(score: np.ndarray, truth: np.ndarray, weights: np.ndarray, *, real: bool) -> np.ndarray:
    """Return by how much each row pulls the weighted fraction of pairs in the right order up or down; see `pulls`."""
    if real:
        differ = np.sign(truth[:, None] - truth)
        right = (differ * np.sign(score[:, None] - score) + differ**2) / 2  # 0 for pairs with equal targets
        good, pairs = right @ weights, differ**2 @ weights
    else:
        high, good = truth > 0, np.empty(len(truth))
        for side, sign in ((high, 1.0), (~high, -1.0)):  # the signs turn "higher than" into "lower than"
            order = np.argsort(sign * score[~side], kind="stable")
            others, sums = (sign * score[~side])[order], np.concatenate([[0.0], np.cumsum(weights[~side][order])])
            ours = sign * score[side]
            good[side] = (sums[np.searchsorted(others, ours)] + sums[np.searchsorted(others, ours, "right")]) / 2
        pairs = np.where(high, weights[~high].sum(), weights[high].sum())
    total = float(weights @ pairs)
    return 2 * weights * (good - float(weights @ good) / total * pairs) / total
