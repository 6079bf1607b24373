"""The value of a subset by nearest neighbours, in plain loops: votes of rows of other groups, pairs with weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def naive_sums(
    X: np.ndarray, target: Sequence[float], subset: Sequence[int], k: int, groups: Sequence[object] | None = None
) -> list[float]:
    """Return for each row the sum of the targets of its k nearest rows of other groups."""
    groups = list(range(len(X))) if groups is None else groups  # every row is a group of its own
    found = []
    for row in range(len(X)):
        others = [other for other in range(len(X)) if groups[other] != groups[row]]
        distance = {other: sum((X[row, one] - X[other, one]) ** 2 for one in subset) for other in others}
        nearest = sorted(others, key=distance.__getitem__)[:k]
        found.append(float(sum(target[other] for other in nearest)))
    return found


def naive_value(
    X: np.ndarray,
    y: Sequence[float],
    subset: Sequence[int],
    *,
    k: int = 5,
    real: bool = False,
    groups: Sequence[object] | None = None,
    weights: Sequence[float] | None = None,
) -> float:
    """Return the fraction of pairs in the right order; a pair counts the product of its weights, a tie one half."""
    weights = [1.0] * len(X) if weights is None else weights
    classes = sorted(set(y))
    outputs = [list(y)] if real else [[float(one == label) for one in y] for label in classes[len(classes) == 2 :]]
    fractions = []
    for target in outputs:
        sums, good, pairs = naive_sums(X, target, subset, k, groups), 0.0, 0.0
        for low in range(len(X)):
            for high in range(len(X)):
                if target[low] < target[high]:
                    weight = weights[low] * weights[high]
                    pairs += weight
                    good += weight * (1.0 if sums[low] < sums[high] else 0.5 * (sums[low] == sums[high]))
        if pairs:
            fractions.append(good / pairs)
    return sum(fractions) / len(fractions)
