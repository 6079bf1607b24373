"""How well scores rank rows by their targets, and how much that depends on single rows."""

from __future__ import annotations

import numpy as np

from bestleaf.features.kernels import ranking as kernels
from bestleaf.features.kernels.records import HALF, ROW_ORDER


def counted_pairs(
    truth: np.ndarray, score: np.ndarray, ties: int, weights: np.ndarray | None = None
) -> tuple[float, float]:
    """Return the pairs of rows with different targets that the scores put in the right order, and all such pairs.

    It is what the kernel `pairs_in_order` returns, but takes far less time with many rows. With weights a pair counts
    their product.
    """
    order, many = np.argsort(truth, kind="stable"), len(truth)
    if ties == ROW_ORDER:  # of equal scores the one of the later row is higher
        ranks = np.argsort(np.argsort(score, kind="stable"), kind="stable")
    else:
        ranks = np.unique(score, return_inverse=True)[1]
    ranks = np.where(np.isnan(score), -1, ranks)[order]
    heavy, tie = np.ones(many) if weights is None else weights[order], 0.5 if ties == HALF else 0.0
    return kernels.pairs_of_sorted(truth[order], ranks, heavy, tie, np.zeros(many + 1))


def concordance(truth: np.ndarray, score: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Return the fraction of pairs with different targets that the scores put in the right order; ties count 1/2.

    Scores are compared in single precision.
    """
    ranks, score = np.unique(truth, return_inverse=True)[1].astype(np.float32), np.asarray(score, np.float32)
    good, pairs = counted_pairs(ranks, score, HALF, None if weights is None else np.asarray(weights, np.float64))
    if not pairs:
        raise ValueError(f"concordance needs two different targets, got {len(ranks)} that are the same")
    return float(good / pairs)


def auc(truth: np.ndarray, score: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Return the fraction of pairs of a positive row and another that the scores put in the right order; ties: 1/2."""
    heavy, high = np.ones(len(truth)) if weights is None else weights, truth > 0
    good, pairs = _in_order(high, score, heavy, real=False)
    return float((heavy * good)[high].sum() / (heavy * pairs)[high].sum())


def pulls(truth: np.ndarray, score: np.ndarray, weights: np.ndarray | None = None, *, real: bool) -> np.ndarray:
    """Return by how much each row pulls the fraction of pairs in the right order up or down; the sum is 0.

    The sum of squares estimates the variance of the fraction (Hoeffding's projection of a U-statistic).
    """
    heavy = np.ones(len(truth)) if weights is None else weights
    good, pairs = _in_order(truth, score, heavy, real=real)
    total = float(heavy @ pairs)
    return 2 * heavy * (good - float(heavy @ good) / total * pairs) / total


def _in_order(
    truth: np.ndarray, score: np.ndarray, weights: np.ndarray, *, real: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return for each row the weight of the others in the right order with it, and of all with another target."""
    if real:
        differ = np.sign(truth[:, None] - truth)
        right = (differ * np.sign(score[:, None] - score) + differ**2) / 2  # 0 for pairs with equal targets
        return right @ weights, differ**2 @ weights
    high, good = truth > 0, np.empty(len(truth))
    for side, sign in ((high, 1.0), (~high, -1.0)):  # the signs turn "higher than" into "lower than"
        order = np.argsort(sign * score[~side], kind="stable")
        others, sums = (sign * score[~side])[order], np.concatenate([[0.0], np.cumsum(weights[~side][order])])
        ours = sign * score[side]
        good[side] = (sums[np.searchsorted(others, ours)] + sums[np.searchsorted(others, ours, "right")]) / 2
    return good, np.where(high, weights[~high].sum(), weights[high].sum())
