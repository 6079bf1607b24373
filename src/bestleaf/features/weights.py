"""Weights of rows: whether they can be used, and random rows in proportion to them."""

from __future__ import annotations

import numpy as np

LIGHTEST = 1e-6  # share of the weight that the rows beside the heaviest target must have


def lightest_share(labels: np.ndarray, weights: np.ndarray) -> float:
    """Return the share of the weight that rows have whose targets differ from the heaviest one.

    A subsample tells something only if it has two different targets, so this share must not be tiny.
    """
    by_label = np.bincount(np.unique(labels, return_inverse=True)[1].ravel(), weights)
    total = float(by_label.sum())
    return 1.0 - float(by_label.max()) / total if total > 0 else 0.0


def cumulative_shares(weights: np.ndarray) -> np.ndarray:
    """Return for each row the share of the weight that it and the rows before it have; the last one is 1."""
    sums = np.cumsum(weights)
    return sums / sums[-1]


def drawn_by_weight(cumulative: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return random rows in proportion to their weights; a row may be drawn several times.

    Compiled rollouts draw the same rows from the same random stream.
    """
    return np.searchsorted(cumulative, rng.random(size), side="right")
