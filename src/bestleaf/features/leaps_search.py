"""The search by leaps and bounds: how it begins, goes on in slices, and what it knows if it ends early."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bestleaf.certificate.linear import Moments, criterion_value, growth
from bestleaf.features.kernels import leaps
from bestleaf.search.budget import Budget

SLICE = 300_000  # subsets that are looked at between two looks at the clock


class LeapProgress(NamedTuple):
    """How far a search has come: seconds, subsets looked at, and the best value of the criterion so far."""

    seconds: float
    looked_at: int
    value: float


class Leaps:
    """The state of a search by leaps and bounds; features are numbered from 0 among those that may be chosen."""

    def __init__(self, known: Moments, forced: list[int], most: int, criterion: str, *, every_size: bool) -> None:
        many = len(known.target)
        self.known, self.criterion, self.together = known, criterion, not every_size
        self.growth = growth(criterion, known.rows, np.arange(many + 1))
        self.found = np.zeros(many + 1, np.uint64)
        self.best = np.full(many + 1, -np.inf)
        self.best[len(forced) : most + 1] = np.inf
        self.reach = np.full(many + 2, -np.inf)
        self.counters = np.zeros(4, np.int64)
        self.sizes = range(len(forced), most + 1)
        for subset in first_subsets(known, forced):
            self._take(subset)
        self.stack = self._planted(forced)

    def _take(self, subset: list[int]) -> None:
        """Note a subset, if it is better than those known."""
        size, error = len(subset), _error(self.known, subset)
        if error < self.best[size]:
            settings = self.together, self.known.margins, self.growth, self.best, self.reach
            leaps.note(size, error, *settings)
            self.found[size] = sum(1 << place for place in subset)
            self.counters[leaps.CHOSEN] = size

    def _planted(self, forced: list[int]) -> tuple[np.ndarray, ...]:
        """Return the stack with its first node: all features, of which all but the forced ones may be dropped."""
        many = len(self.known.target)
        inverse = np.linalg.inv(self.known.between)
        slopes = inverse @ self.known.target
        steps = slopes**2 / np.diag(inverse)
        free = [place for place in np.argsort(-steps, kind="stable").tolist() if place not in forced]
        depth, left = len(free) + 1, len(free)
        nodes, masks, errors = np.zeros((depth, 3), np.int64), np.zeros(depth, np.uint64), np.zeros(depth)
        by_feature = np.zeros((depth, left)), np.zeros((depth, left), np.int64), np.zeros((depth, left))
        blocks = np.zeros((depth, left, left))
        nodes[0], masks[0] = (len(forced), left, left - 1), (1 << many) - 1
        errors[0] = 1.0 - self.known.target @ slopes
        for array, value in zip(by_feature, (steps[free], free, slopes[free]), strict=True):
            array[0] = value
        blocks[0] = inverse[np.ix_(free, free)]
        return nodes, masks, errors, *by_feature, blocks

    def run(self, budget: Budget, callback: Callable[[LeapProgress], object] | None) -> str:
        """Search until it is proved that no subset is better, or until the budget is spent; return why it ended."""
        left = self.stack[-1].shape[1]
        scratch = np.zeros(left, np.int64), np.zeros(left)
        settings = self.together, self.known.margins, self.growth, self.best, self.reach, self.found, self.counters
        while not leaps.leap(SLICE, *settings, self.stack, scratch):
            if callback is not None:
                budget.look()
                callback(LeapProgress(budget.seconds, self.looked_at, self._value(self._product())))
            if (reason := budget.spent()) is not None:
                return reason
        return "proved"

    @property
    def looked_at(self) -> int:
        """Subsets that were looked at."""
        return int(self.counters[leaps.VISITED])

    def subsets(self) -> list[list[int]]:
        """Return the best subset of each size; if all sizes compete, the best one only."""
        known = [size for size in self.sizes if np.isfinite(self.best[size])]
        sizes = [int(self.counters[leaps.CHOSEN])] if self.together else known
        places = range(len(self.known.target))
        return [[place for place in places if int(self.found[size]) >> place & 1] for size in sizes]

    def _product(self) -> float:
        """Return the smallest product of error and growth so far."""
        return float((self.best * self.growth)[self.sizes].min())

    def _value(self, product: float) -> float:
        """Return the value of the criterion that a product of error and growth stands for."""
        return criterion_value(self.criterion, product / self.growth[0], 0, self.known.rows, self.known.total)

    def bound(self) -> float:
        """Return a value of the criterion that no subset can be better than, also none that was not looked at."""
        nodes, _, errors, steps = self.stack[:4]
        least = self._product()
        for depth in range(int(self.counters[leaps.DEPTH]) + 1):
            fixed, _, child = nodes[depth]
            for place in range(child + 1):
                size = max(fixed + place, self.sizes[0])
                least = min(least, (errors[depth] + steps[depth, place]) * self.growth[size])
        share, rounding = self.known.margins
        return self._value(max(least * (1.0 - share) - rounding * float(self.growth[-1]), np.finfo(float).tiny))


def first_subsets(known: Moments, forced: list[int]) -> list[list[int]]:
    """Return a good subset of each size: all features, then dropping one after the other and exchanging features.

    The better they are, the less has to be looked at; the result does not depend on them.
    """
    current, found = list(range(len(known.target))), list[list[int]]()
    while True:
        current = _exchanged(known, current, forced)
        found.append(sorted(current))
        if len(current) == len(forced):
            return found
        inverse = np.linalg.inv(known.between[np.ix_(current, current)])
        steps = (inverse @ known.target[current]) ** 2 / np.diag(inverse)
        steps[[place for place, one in enumerate(current) if one in forced]] = np.inf
        del current[int(steps.argmin())]


def _error(known: Moments, subset: list[int]) -> float:
    """Return the error of a subset."""
    target = known.target[subset]
    return 1.0 - float(target @ np.linalg.solve(known.between[np.ix_(subset, subset)], target)) if subset else 1.0


def _exchanged(known: Moments, subset: list[int], forced: list[int]) -> list[int]:
    """Exchange one feature for another as long as that reduces the error."""
    current = list(subset)
    while True:
        others = [one for one in range(len(known.target)) if one not in current]
        leaving = [place for place, one in enumerate(current) if one not in forced]
        if not others or not leaving:
            return current
        inverse = np.linalg.inv(known.between[np.ix_(current, current)])
        across = known.between[np.ix_(current, others)]
        weights, slopes = inverse @ across, inverse @ known.target[current]
        room = 1.0 - np.einsum("ij,ij->j", across, weights)
        cross = known.target[others] - known.target[current] @ weights
        pivots = np.diag(inverse)[:, None]
        losses = slopes[:, None] ** 2 / pivots  # by dropping each feature
        gains = (cross + slopes[:, None] / pivots * weights) ** 2 / (room + weights**2 / pivots)  # by adding each other
        change = (losses - gains)[leaving]
        if not change.min() < -1e-9 * _error(known, current):
            return current
        gone, came = np.unravel_index(change.argmin(), change.shape)
        current[leaving[int(gone)]] = others[int(came)]
