"""What rollouts on the lattice of feature subsets leave behind when Python, not a kernel, draws them."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappush, heapreplace
from typing import Any

import numpy as np

from bestleaf._records import enlarged
from bestleaf.storage import Saved
from bestleaf.storage.saved import checked_number

KEPT = 16  # rollouts of highest value
STOP = -1  # stands at the end of a terminal leaf


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

    def snapshot(self) -> dict[str, Any]:
        """Return the sums of the rollouts and the best of them."""
        used = len(self.slots) + 1
        return {"rave": self.rave[:used].copy(), "kept": [[value, list(subset)] for value, subset in self.kept]}

    def restore(self, saved: Saved) -> None:
        """Take in a snapshot, after the nodes of then were added."""
        used = len(self.slots) + 1
        self.rave[:used] = checked_sums(saved.array("rave", (used, self.rave.shape[1], 2), 0.0, 2.0**53))
        kept = []
        for pair in saved.listed("kept"):
            if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[1], list):
                raise ValueError("rollouts kept must be pairs of value and subset")
            if not self.lattice.holds((*pair[1], STOP)):
                raise ValueError(f"a rollout must end in a subset of the lattice, got {pair[1]}")
            kept.append((checked_number("kept", pair[0], 0.0, 1.0), tuple(pair[1])))
        if len(kept) > KEPT or any(kept[(place - 1) // 2] > kept[place] for place in range(1, len(kept))):
            raise ValueError(f"rollouts kept must be a heap of at most {KEPT}")
        self.kept = kept

    @property
    def global_rave_sums(self) -> np.ndarray:
        """The same of all rollouts."""
        return self.rave[0]


def checked_sums(sums: np.ndarray) -> np.ndarray:
    """Return sums and numbers of values in [0, 1] that were saved, if they can be such."""
    if (sums[..., 0] > sums[..., 1]).any():
        raise ValueError("sums of values in [0, 1] must not exceed their numbers")
    return sums
