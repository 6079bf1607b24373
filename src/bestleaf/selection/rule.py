"""How curves of scores by size decide: which order, and how many columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

SLACK = 0.003  # a smaller set may cost so much score
ORDERS = ("elimination", "forward")  # where both are equally good, the first one is taken


def sizes_of(least: int, limit: int, every: int, asked: int | None = None) -> tuple[int, ...]:
    """Return the sizes that are scored: from `least` to `limit`, then that of every unit.

    Sizes up to 6 are all scored; then each is a quarter larger, beyond a hundred by half.
    """
    sizes = list(range(1, 7))
    while sizes[-1] < every:
        sizes.append(max(sizes[-1] + 1, round(sizes[-1] * (1.25 if sizes[-1] < 100 else 1.5))))
    some = {size for size in (*sizes, limit, asked or limit) if least <= size <= limit and size < every}
    return (*sorted(some), every)


class Rule(NamedTuple):
    """How curves decide about a size."""

    sizes: tuple[int, ...]  # that were scored; the last one is that of all units
    limit: int  # the largest size that may be chosen
    parsimony: float | None = None  # how much score a smaller set may cost; None is 0.003 units
    asked: int | None = None  # the size that is asked for
    unit: float = 1.0  # what a score of 1 is: 1, or the size of the score of all columns if scores have no bounds

    @property
    def tolerance(self) -> float:
        """How much score a smaller set may cost."""
        return SLACK * self.unit if self.parsimony is None else self.parsimony

    def smoothed(self, differences: np.ndarray) -> np.ndarray:
        """Return differences to all columns [judges, sizes] smoothed over sizes; that of all columns stays 0.

        Weights fall with the distance of the logarithms of sizes, and with that of mean differences: a size that is far
        worse than another says nothing about it.
        """
        scale, mean = np.log(self.sizes), differences.mean(axis=0) / self.unit
        far = (scale[:, None] - scale) / 0.4  # of the smoothing over the logarithm of the size
        unlike = (mean[:, None] - mean) / 0.02  # and over the difference to all columns
        weights = np.exp(-0.5 * (far**2 + unlike**2))
        found = differences @ (weights / weights.sum(axis=0))
        found[:, -1] = 0.0
        return found

    def decide(self, differences: np.ndarray) -> tuple[int, int]:
        """Return which order and the place of which size to choose, by mean differences [orders, judges, sizes]."""
        which = self.order(differences)
        return which, self.size(self.smoothed(differences[which]))

    def size(self, curve: np.ndarray) -> int:
        """Return the place of the size to choose: the smallest that costs no more than is tolerated.

        All judges must put up with it; where none of the sizes within the limit is such, their mean decides alone.
        """
        if self.asked is not None:
            return self.sizes.index(self.asked)
        mean, within = curve.mean(axis=0), np.array(self.sizes) <= self.limit
        guard = max(0.005 * self.unit, self.tolerance)  # no judge may lose more than this plus half of the mean gain
        allowed = within & (curve.min(axis=0) + np.maximum(mean, 0.0) / 2 >= -guard)
        mean = np.where(allowed if allowed.any() else within, mean, -np.inf)
        return int(np.argmax(mean >= mean.max() - self.tolerance))

    def order(self, differences: np.ndarray) -> int:
        """Return which of several orders is best: the larger area over the logarithm of the size."""
        if self.asked is not None:
            at = self.sizes.index(self.asked)
            return int(np.argmax([self.smoothed(one)[:, at].mean() for one in differences]))
        width = np.gradient(np.log(self.sizes)) if len(self.sizes) > 1 else np.ones(1)
        return int(np.argmax((differences.mean(axis=1) * width).sum(axis=1)))
