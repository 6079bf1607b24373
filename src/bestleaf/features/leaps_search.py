"""The search by leaps and bounds: how it begins, goes on in slices, and what it knows if it ends early."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bestleaf.certificate.linear import Moments, criterion_value, growth
from bestleaf.features.kernels import leaps
from bestleaf.search.budget import Budget

GAIN = 1e-9  # smallest reduction of an error for which features are exchanged at first
MOST_EXCHANGES = 50  # for each size
SLICE = 300_000  # subsets that are looked at between two looks at the clock


class LeapProgress(NamedTuple):
    """How far a search has come: seconds, subsets looked at, and the best value of the criterion so far."""

    seconds: float
    looked_at: int
    value: float


class Leaps:
    """The state of a search by leaps and bounds; features are numbered from 0 among those that may be chosen."""

    def __init__(self, known: Moments, forced: list[int], most: int, criterion: str, *, every_size: bool) -> None:
        many = len(known.side)
        self.side = np.zeros(-(-many // 4) * 4)  # padded, as the vectors are
        self.side[:many] = known.side
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
        size, error = len(subset), self.known.error(subset)
        if error < self.best[size]:
            settings = self.together, self.known.margins, self.growth, self.best, self.reach
            leaps.note(size, error, *settings)
            self.found[size] = sum(1 << place for place in subset)
            self.counters[leaps.CHOSEN] = size

    def _planted(self, forced: list[int]) -> tuple[np.ndarray, ...]:
        """Return the stack with its first node: all features, of which all but the forced ones may be dropped."""
        many = len(self.known.side)
        free = [place for place in range(many) if place not in forced]
        depth, left = len(free) + 1, len(free)
        nodes, masks, errors = np.zeros((depth, 3), np.int64), np.zeros(depth, np.uint64), np.zeros(depth)
        order, names = np.zeros((depth, left), np.int64), np.zeros((depth, left), np.int64)
        steps, lengths = np.zeros((depth, left)), np.zeros((depth, left))
        vectors = np.zeros((depth, left, len(self.side)))
        nodes[0], masks[0], errors[0], names[0] = (len(forced), left, left - 1), (1 << many) - 1, self.known.rest, free
        vectors[0, :, :many] = self.known.inverse[free]
        lengths[0] = (vectors[0] ** 2).sum(axis=1)
        steps[0] = (vectors[0] @ self.side) ** 2 / lengths[0]
        order[0] = np.argsort(-steps[0], kind="stable")
        return nodes, masks, errors, order, steps, names, lengths, vectors

    def run(self, budget: Budget, callback: Callable[[LeapProgress], object] | None) -> str:
        """Search until it is proved that no subset is better, or until the budget is spent; return why it ended."""
        known = self.best, self.reach, self.found, self.counters
        while not leaps.leap(SLICE, self.together, self.side, self.known.margins, self.growth, *known, self.stack):
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
        places = range(len(self.known.side))
        return [[place for place in places if int(self.found[size]) >> place & 1] for size in sizes]

    def _product(self) -> float:
        """Return the smallest product of error and growth so far."""
        return float((self.best * self.growth)[self.sizes].min())

    def _value(self, product: float) -> float:
        """Return the value of the criterion that a product of error and growth stands for."""
        return criterion_value(self.criterion, product / self.growth[0], 0, self.known.rows, self.known.total)

    def bound(self) -> float:
        """Return a value of the criterion that no subset can be better than, also none that was not looked at."""
        nodes, _, errors, order, steps = self.stack[:5]
        least = self._product()
        for depth in range(int(self.counters[leaps.DEPTH]) + 1):
            fixed, _, child = nodes[depth]
            for place in range(child + 1):
                size = max(fixed + place, self.sizes[0])
                least = min(least, (errors[depth] + steps[depth, order[depth, place]]) * self.growth[size])
        share, rounding = self.known.margins
        return self._value(max(least * (1.0 - share) - rounding * float(self.growth[-1]), np.finfo(float).tiny))


def first_subsets(known: Moments, forced: list[int]) -> list[list[int]]:
    """Return a good subset of each size: all features, then dropping one after the other and exchanging features.

    The better they are, the less has to be looked at; the result does not depend on them.
    """
    current, found = list(range(len(known.side))), list[list[int]]()
    between, target = known.factor.T @ known.factor, known.factor.T @ known.side
    while True:
        current = _exchanged(between, target, current, forced)
        found.append(sorted(current))
        if len(current) == len(forced):
            return found
        inverse = np.linalg.inv(between[np.ix_(current, current)])
        steps = (inverse @ target[current]) ** 2 / np.diag(inverse)
        steps[[place for place, one in enumerate(current) if one in forced]] = np.inf
        del current[int(steps.argmin())]


def _exchanged(between: np.ndarray, target: np.ndarray, subset: list[int], forced: list[int]) -> list[int]:
    """Exchange one feature for another as long as that reduces the error; a few times only, because of rounding."""
    current = list(subset)
    for _ in range(MOST_EXCHANGES):
        others = [one for one in range(len(target)) if one not in current]
        leaving = [place for place, one in enumerate(current) if one not in forced]
        if not others or not leaving:
            return current
        inverse = np.linalg.inv(between[np.ix_(current, current)])
        across = between[np.ix_(current, others)]
        weights, slopes = inverse @ across, inverse @ target[current]
        room = 1.0 - np.einsum("ij,ij->j", across, weights)
        cross = target[others] - target[current] @ weights
        pivots = np.diag(inverse)[:, None]
        losses = slopes[:, None] ** 2 / pivots  # by dropping each feature
        with np.errstate(divide="ignore", invalid="ignore"):
            gains = (cross + slopes[:, None] / pivots * weights) ** 2 / (
                room + weights**2 / pivots
            )  # by adding another
        change = (losses - gains)[leaving]
        if not change.min() < -GAIN:
            return current
        gone, came = np.unravel_index(change.argmin(), change.shape)
        current[leaving[int(gone)]] = others[int(came)]
    return current
