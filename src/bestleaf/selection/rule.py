"""How curves of scores by size decide: which order, and how many columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

SLACK = 0.003  # a smaller set may cost so much score
GUARD = 0.005  # no judge may lose more than this plus half of the mean gain
BANDWIDTH = 0.4  # of the smoothing over the logarithm of the size
FEW = 6  # sizes up to this are all scored; then each is a quarter larger, beyond a hundred by half
ORDERS = ("elimination", "forward")  # where both are equally good, the first one is taken


def sizes_of(least: int, limit: int, every: int, asked: int | None = None) -> tuple[int, ...]:
    """Return the sizes that are scored: from `least` to `limit`, then that of every unit."""
    sizes = list(range(1, FEW + 1))
    while sizes[-1] < every:
        sizes.append(max(sizes[-1] + 1, round(sizes[-1] * (1.25 if sizes[-1] < 100 else 1.5))))
    some = {size for size in (*sizes, limit, asked or limit) if least <= size <= limit and size < every}
    return (*sorted(some), every)


def smoothed(difference: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """Return differences [..., sizes] smoothed over the logarithm of the size; that of all columns stays 0."""
    scale = np.log(sizes)
    weights = np.exp(-0.5 * ((scale[:, None] - scale) / BANDWIDTH) ** 2)
    found = difference @ (weights / weights.sum(axis=0))
    found[..., -1] = 0.0
    return found


class Rule(NamedTuple):
    """How curves decide about a size.

    Attributes
    ----------
    sizes : tuple of int
        The sizes that were scored; the last one is that of all units.
    limit : int
        The largest size that may be chosen.
    tolerance, guard : float
        How much score a smaller set may cost, and how much any judge may lose.
    asked : int or None
        The size that is asked for.
    """

    sizes: tuple[int, ...]
    limit: int
    tolerance: float
    guard: float
    asked: int | None = None

    def in_units_of(self, score: float) -> Rule:
        """Return the rule for scores without bounds: a thousandth of the score of all columns is one of the rule."""
        return self._replace(tolerance=SLACK * abs(score), guard=GUARD * abs(score))

    def decide(self, differences: np.ndarray) -> tuple[int, int]:
        """Return which order and the place of which size to choose, by mean differences [orders, judges, sizes]."""
        which = self.order(differences)
        return which, self.size(smoothed(differences[which], self.sizes))

    def size(self, curve: np.ndarray) -> int:
        """Return the place of the size to choose: the smallest that costs no more than is tolerated.

        All judges must put up with it; where none of the sizes within the limit is such, their mean decides alone.
        """
        if self.asked is not None:
            return self.sizes.index(self.asked)
        mean, within = curve.mean(axis=0), np.array(self.sizes) <= self.limit
        allowed = within & (curve.min(axis=0) + np.maximum(mean, 0.0) / 2 >= -self.guard)
        mean = np.where(allowed if allowed.any() else within, mean, -np.inf)
        return int(np.argmax(mean >= mean.max() - self.tolerance))

    def order(self, differences: np.ndarray) -> int:
        """Return which of several orders is best, by mean differences [orders, judges, sizes]: the larger area."""
        mean = differences.mean(axis=1)
        if self.asked is not None:
            return int(np.argmax(smoothed(mean, self.sizes)[:, self.sizes.index(self.asked)]))
        width = np.gradient(np.log(self.sizes)) if len(self.sizes) > 1 else np.ones(1)
        return int(np.argmax((mean * width).sum(axis=1)))
