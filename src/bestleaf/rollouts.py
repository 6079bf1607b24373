"""What rollouts on the lattice of feature subsets leave behind when Python, not a kernel, draws them."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappush, heapreplace
from typing import Any

import numpy as np

from bestleaf._records import enlarged

KEPT = 16  # rollouts of highest value


class PlainRollouts:
    """RAVE sums of the nodes of one search and its best rollouts, as `NeighbourRollouts` keeps them in kernels."""

    draw: Callable[[int, int], None]  # (node, how many); who uses this object gives it

    def __init__(self, lattice: Any) -> None:
        self.lattice = lattice
        self.rave = np.zeros((16, len(lattice.groups), 2))  # row 0 for all nodes
        self.slots: dict[int, int] = {}  # row of a node that may be sampled
        self.kept: list[tuple[float, tuple[int, ...]]] = []

    def add(self, node: int, state: tuple[int, ...]) -> None:
        """Give a new node that may be sampled a row of RAVE sums."""
        if self.lattice.is_terminal(state) and not self.lattice.noisy:
            return
        self.slots[node] = len(self.slots) + 1
        self.rave = enlarged(self.rave, len(self.slots) + 1)

    def credit(self, node: int, reached: tuple[int, ...], value: float) -> None:
        """Count the value of a rollout from `node` for all units of the terminal leaf it reached."""
        units = list(reached[:-1])
        for row in (0, self.slots[node]):
            self.rave[row, units, 0] += value
            self.rave[row, units, 1] += 1.0
        if len(self.kept) < KEPT:
            heappush(self.kept, (value, reached[:-1]))
        elif value > self.kept[0][0]:
            heapreplace(self.kept, (value, reached[:-1]))

    def warm_up(self, node: int, rollouts: int) -> None:
        """Draw rollouts from a node for their RAVE sums."""
        self.draw(node, rollouts)

    def rave_sums(self, nodes: np.ndarray) -> np.ndarray:
        """Return [units, 2], sum and number of the rollouts drawn at these nodes, by unit."""
        rows = [self.slots[node] for node in nodes.tolist() if node in self.slots]
        return self.rave[rows].sum(axis=0)

    def best_subsets(self) -> list[tuple[int, ...]]:
        """Return the subsets of the rollouts of highest value."""
        return sorted({subset for _, subset in self.kept})

    @property
    def global_rave_sums(self) -> np.ndarray:
        """The same of all rollouts."""
        return self.rave[0]
