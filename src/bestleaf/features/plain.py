"""What rollouts on the lattice of feature subsets leave behind when Python, not a kernel, draws them."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappush, heapreplace
from typing import Any

import numpy as np

from bestleaf.storage import Saved
from bestleaf.storage.saved import checked_number

KEPT = 16  # rollouts of highest value
A_PAIR = 200  # bytes of sum and number of a unit at a node, as Python keeps them
STOP = -1  # stands at the end of a terminal leaf


class PlainRollouts:
    """RAVE sums of the nodes of one search and its best rollouts, as `NeighbourRollouts` keeps them in kernels."""

    draw: Callable[[int, int], int]  # (node, how many) -> how many were drawn; who uses this object gives it

    def __init__(self, lattice: Any) -> None:
        self.lattice = lattice
        self.rave = np.zeros((len(lattice.groups), 2))  # of all nodes
        self.sums: dict[int, dict[int, tuple[float, float]]] = {}  # node -> unit -> sum and number, where there are any
        self.nodes = 0
        self.kept: list[tuple[float, tuple[int, ...]]] = []

    def add(self, node: int, state: tuple[int, ...]) -> None:
        """Note that there is another node; nothing is kept of it before it is sampled."""
        self.nodes = max(self.nodes, node + 1)

    def credit(self, node: int, reached: tuple[int, ...], value: float) -> None:
        """Count the value of a rollout from `node` for all units of the terminal leaf it reached."""
        here = self.sums.setdefault(node, {})
        for unit in reached[:-1]:
            total, number = here.get(unit, (0.0, 0.0))
            here[unit] = (total + value, number + 1.0)
            self.rave[unit] += (value, 1.0)
        if len(self.kept) < KEPT:
            heappush(self.kept, (value, reached[:-1]))
        elif value > self.kept[0][0]:
            heapreplace(self.kept, (value, reached[:-1]))

    def warm_up(self, node: int, rollouts: int) -> int:
        """Draw rollouts from a node for their RAVE sums; return how many, fewer when time is over."""
        return self.draw(node, rollouts)

    def rave_sums(self, nodes: np.ndarray) -> np.ndarray:
        """Return [units, 2], sum and number of the rollouts drawn at these nodes, by unit."""
        found = np.zeros_like(self.rave)
        for node in nodes.tolist():
            if here := self.sums.get(node):
                found[list(here)] += list(here.values())
        return found

    def best_subsets(self) -> list[tuple[int, ...]]:
        """Return the subsets of the rollouts of highest value."""
        return sorted({subset for _, subset in self.kept})

    def snapshot(self) -> dict[str, Any]:
        """Return the sums of the rollouts and the best of them."""
        cells = [(node, unit, *pair) for node, here in sorted(self.sums.items()) for unit, pair in sorted(here.items())]
        return {
            "rave": self.rave.copy(),
            "cells": np.array([cell[:2] for cell in cells], np.int64).reshape(-1, 2),
            "sums": np.array([cell[2:] for cell in cells]).reshape(-1, 2),
            "kept": [[value, list(subset)] for value, subset in self.kept],
        }

    def restore(self, saved: Saved) -> None:
        """Take in a snapshot, after the nodes of then were added."""
        units = len(self.rave)
        cells = saved.array("cells", (None, 2), 0, 2.0**53, np.int64)
        sums = checked_sums(saved.array("sums", (len(cells), 2), 0.0, 2.0**53))
        if (np.diff(cells[:, 0] * units + cells[:, 1]) <= 0).any() or (cells >= (self.nodes, units)).any():
            raise ValueError("the sums of rollouts must stand once for each node and unit, in order")
        self.sums = {}
        for (node, unit), pair in zip(cells.tolist(), sums.tolist(), strict=True):
            self.sums.setdefault(node, {})[unit] = tuple(pair)
        self.rave[:] = checked_sums(saved.array("rave", (units, 2), 0.0, 2.0**53))
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
        return self.rave

    @property
    def memory(self) -> int:
        """Bytes of the sums, about."""
        return A_PAIR * sum(map(len, self.sums.values()))


def checked_sums(sums: np.ndarray) -> np.ndarray:
    """Return sums and numbers of values in [0, 1] that were saved, if they can be such."""
    if (sums[..., 0] > sums[..., 1]).any():
        raise ValueError("sums of values in [0, 1] must not exceed their numbers")
    return sums
