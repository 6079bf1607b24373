"""The leaves of a checkpoint, checked before anything is built on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bestleaf.certificate.bound_checks import CHECKS
from bestleaf.checkpoint.codec import Saved
from bestleaf.checks import shown
from bestleaf.engine.bounds import BOUNDS, GRID, HEAD, Bound, Rate
from bestleaf.engine.graph import GrowingGraph
from bestleaf.engine.records import EXACT, INNER, UNLIMITED
from bestleaf.problems import State

CLOSE = 1e-9


@dataclass(frozen=True)
class SavedLeaves:
    """Numbers of the leaves of a graph, one entry per leaf; `rows` and `evidence` only of leaves that were sampled."""

    nodes: np.ndarray
    sampled: np.ndarray  # the nodes that were sampled
    places: np.ndarray  # their places among the leaves
    count: np.ndarray
    total: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    order: np.ndarray
    rows: np.ndarray
    evidence: np.ndarray

    @classmethod
    def read(cls, saved: Saved, graph: GrowingGraph, bound: Rate | Bound, *, intersects: bool) -> SavedLeaves:
        """Return the saved leaves; refuse them if they cannot be the leaves of the graph."""
        nodes = np.flatnonzero(graph.kinds != INNER)
        exact, shape = graph.kinds[nodes] == EXACT, (len(nodes),)
        count = saved.array("count", shape, 0, UNLIMITED, np.int64)
        places = np.flatnonzero((count > 0) & ~exact)
        low, high = (0.0, 1.0) if intersects else (-np.inf, np.inf)
        width = bound.width if isinstance(bound, Bound) else 0
        found = cls(
            nodes,
            nodes[places],
            places,
            count,
            saved.array("total", shape, 0.0, 2.0**62),
            saved.array("lower", shape, low, high),
            saved.array("upper", shape, low, high),
            saved.array("order", shape, 0, 2**31, np.int64),
            saved.array("rows", (len(places), width)),
            saved.array("evidence", (len(places), 2, 2 + width)),
        )
        found._check(exact, low, high)
        return found

    def _check(self, exact: np.ndarray, low: float, high: float) -> None:
        """Refuse numbers that no samples in [0, 1] could have given."""
        if (self.total > self.count).any():
            raise ValueError("the samples of a leaf must lie in [0, 1], and their sum exceeds their number")
        if (self.lower > self.upper).any():
            raise ValueError("the lower bound of a leaf must not be above its upper bound")
        idle = self.count == 0
        if not ((self.lower[idle] == low) & (self.upper[idle] == high) & (self.total[idle] == 0)).all():
            raise ValueError("a leaf without samples must have the widest interval and no sum of samples")
        if (self.count[exact] > 1).any() or (self.order[exact] > 0).any():
            raise ValueError("an exact leaf must have one value and no share of delta")
        given = self.order[~exact]
        root_only = len(self.nodes) == 1 and self.nodes[0] == 0
        if len(np.unique(given)) < len(given) or (not root_only and (given < 1).any()):
            raise ValueError("every noisy leaf must have its own place in the order of creation")

    def check_exact(self, graph: GrowingGraph, values: dict[State, float]) -> None:
        """Refuse exact leaves whose numbers are not the saved exact values."""
        for place in np.flatnonzero(graph.kinds[self.nodes] == EXACT).tolist():
            value = values.get(graph.states[self.nodes[place]])
            mine = (self.lower[place], self.upper[place], self.total[place])
            if (self.count[place] > 0) != (value is not None) or (value is not None and mine != (value,) * 3):
                state = graph.states[self.nodes[place]]
                raise ValueError(f"the exact leaf {shown(state)} must have the value that was computed")

    def check_intervals(self, bound: Rate | Bound, shares: np.ndarray, samples: int, created: int) -> None:
        """Refuse intervals that do not follow from their evidence; refuse more samples than were drawn."""
        count, total = self.count[self.places], self.total[self.places]
        if count.max(initial=0) > samples or sum(count.tolist()) > samples:
            raise ValueError(f"leaves must not have more samples than the {samples:,} that were drawn")
        if self.order.max(initial=0) > created:
            raise ValueError(f"a leaf must be one of the {created:,} that were created")
        seen, sums = self.evidence[:, :, 0], self.evidence[:, :, 1]
        later, added = count[:, None] - seen, total[:, None] - sums  # samples since then, and their sum
        near = CLOSE * np.maximum(1.0, count[:, None])
        if not ((seen >= 0) & (sums >= 0) & (sums <= seen) & (added >= -near) & (added <= later + near)).all():
            raise ValueError("the evidence of a leaf must follow from its samples")
        if bound not in BOUNDS.values():
            return
        if not (np.isfinite(self.rows).all() and np.isfinite(self.evidence).all()):
            raise ValueError("the numbers of a bound must be finite")
        if not _rows_fit(bound.name, self.rows, count, total):
            raise ValueError(f"the numbers of bound {bound.name} do not belong to the samples of their leaf")
        if isinstance(bound, Bound):
            self._check_proofs(bound.name, shares.tolist())

    def _check_proofs(self, bound: str, shares: list[float]) -> None:
        """Refuse a bound that its evidence does not prove."""
        prove = CHECKS[bound]
        for row, (place, share) in enumerate(zip(self.places.tolist(), shares, strict=True)):
            bounds = {"lower": (self.lower[place], 0.0), "upper": (self.upper[place], 1.0)}
            for (side, (value, free)), numbers in zip(bounds.items(), self.evidence[row].tolist(), strict=True):
                if not (prove(side, float(value), share, numbers) if numbers[0] else value == free):
                    raise ValueError(f"the {side} bound of a leaf does not follow from its samples")


def _rows_fit(bound: str, rows: np.ndarray, count: np.ndarray, total: np.ndarray) -> bool:
    """Whether a bound's own numbers agree with the count and the sum of the samples."""
    near = CLOSE * np.maximum(1.0, count)
    if bound == "betting":
        weights = rows[:, HEAD : HEAD + len(GRID)]
        fits = (np.abs(weights.sum(axis=1) - count) <= near) & (np.abs(weights @ GRID - total) <= near)
        return bool(fits.all() and (weights >= 0).all())
    return True
