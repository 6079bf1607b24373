"""When the graph grows, at which node, by which child."""

from __future__ import annotations

from typing import Any

import numpy as np

from bestleaf._kernels.grow import ripest
from bestleaf._records import UNLIMITED
from bestleaf.graph import GrowingGraph
from bestleaf.intervals import Knowledge

FAR = 2**45  # rounds no search gets to, and still far from where t and t + 1 have the same power in floating point


def is_due(step: int, exponent: float) -> bool:
    """Whether the graph grows at `step`: floor((t + 1)^b) - floor(t^b) = 1 (`BAIExpand`)."""
    return int((step + 1) ** exponent) - int(step**exponent) == 1


def next_due(step: int, exponent: float) -> int:
    """Return the first step from `step` on at which the graph grows; never for an exponent of 0."""
    if exponent == 0:
        return UNLIMITED
    target = int(step**exponent) + 1
    low, high = step, step + 1
    while int((high + 1) ** exponent) < target:
        low, high = high, 2 * high
        if high > FAR:
            return UNLIMITED
    while low < high:  # the first t with floor((t + 1)^b) >= target
        middle = (low + high) // 2
        if int((middle + 1) ** exponent) < target:
            low = middle + 1
        else:
            high = middle
    return low


class Growth:
    """Grows the graph of one search with the exponent b; new children are drawn at random."""

    def __init__(self, graph: GrowingGraph, known: Knowledge, exponent: float, rng: np.random.Generator) -> None:
        self.graph = graph
        self.known = known
        self.exponent = exponent
        self.rng = rng
        self.growths = 0
        self._complete: set[int] = set()  # roots with nothing missing below

    def pick(self, node: int) -> Any:
        """Return a child of `node` that is not in the graph."""
        absent = list(self.graph.absent[node])
        return absent[int(self.rng.integers(len(absent)))]

    def grow(self, root: int) -> list[int]:
        """Add one node below `root` where it pays (`BAIAdd`); return the nodes added."""
        track = self.known.track
        track["grow_at"][root] = next_due(int(track["rounds"][root]) + 1, self.exponent)
        return self._grow_once(root)

    def deepen(self, root: int) -> list[int]:
        """Add one node below `root` out of turn, because all leaves hang below its best child; return the nodes added.

        It happens at most once for each child of the root, so that twins do not drag the whole graph in.
        """
        self.known.track["deepened"][root] += 1
        return self._grow_once(root)

    def _grow_once(self, root: int) -> list[int]:
        track = self.known.track
        node = int(ripest(root, self.known.world))
        if node < 0:
            track["grow_at"][root] = UNLIMITED
            self._complete.add(root)
            return []
        self.growths += 1
        return self._add([self.pick(node)])

    def open(self, node: int) -> list[int]:
        """Prepare the first choice at `node`: all its children enter the graph; return the nodes added."""
        self.known.track["opened"][node] = 1
        return self._add(list(self.graph.absent[node]))

    def _add(self, states: list[Any]) -> list[int]:
        added: list[tuple[int, list[int]]] = []
        try:
            for state in states:
                added.append(self.graph.add(state))
        finally:  # what is in the graph is known, even when the problem's rules raise halfway
            self.known.take_in(added)
            for root in self._complete:  # there may be something to add below them again
                self.known.track["grow_at"][root] = next_due(int(self.known.track["rounds"][root]), self.exponent)
            self._complete.clear()
        return [node for node, _ in added]
