"""Rollouts on the lattice of feature subsets in kernels: subsets as bit sets, remembered votes, RAVE sums."""

from __future__ import annotations

from ctypes import c_void_p, cast
from typing import Any

import numpy as np

from bestleaf._kernels.rollout import draw_neighbours, warm_up
from bestleaf._records import enlarged
from bestleaf.features.plain import KEPT, STOP, checked_sums
from bestleaf.features.sums import SparseSums
from bestleaf.oracles import TIES
from bestleaf.storage import Saved

ROWS_OF_VOTES = 2**20  # at most

Subset = tuple[int, ...]


class NeighbourRollouts:
    """The subsets of the nodes of one search as bit sets, what rollouts need to value them, and their RAVE sums."""

    def __init__(self, lattice: Any, rng: np.random.Generator, *, noisy_stop: bool = False) -> None:
        oracle, units = lattice.oracle, len(lattice.groups)
        outputs, examples = oracle.targets.shape
        small = oracle.classes is not None and oracle.n_neighbors <= np.iinfo(np.int8).max
        kind = np.dtype(np.int8 if small else np.float32)  # numbers of votes fit into a byte
        rows = int(np.clip(oracle.memory // (kind.itemsize * outputs * examples), 1, ROWS_OF_VOTES))
        words, order = -(-units // 64), np.arange(examples)
        keys = np.frombuffer(np.random.default_rng(2019).bytes(8 * units), np.uint64)
        stream = rng.bit_generator.ctypes
        self.lattice = lattice
        self.rng = rng
        self.noisy_stop = noisy_stop  # terminal leaves are sampled too, without adding any unit
        self.nodes = 0
        self.place = oracle.workplace()
        self.place.set(
            draw=draw_neighbours.address,
            next_double=cast(stream.next_double, c_void_p).value,
            stream=stream.state_address,
            subsample=oracle.subsample,
            ties=TIES[oracle.ties],
            limit=lattice.limit,
            forced=len(lattice.forced),
            units=units,
            words=words,
            choices=len(lattice.allowed),
            memory=rows,
            small=small,
            kept=KEPT,
        )
        self.place.point(
            subsets=np.zeros((64, words), np.uint64),
            sizes=np.zeros(64, np.int64),
            heads=np.zeros(64, np.int64),
            rave=np.zeros((units, 2)),
            keys=keys,
            starts=np.cumsum([0, *map(len, lattice.groups)]),
            members=np.concatenate([np.array(group, np.int64) for group in lattice.groups]),
            allowed=np.array(lattice.allowed, np.int64),
            chances=lattice.chances,
            owners=np.zeros(rows, np.uint64),
            votes=np.empty((rows, outputs * examples), kind),  # a row is emptied when a subset takes it
            order=order,
            picks=np.zeros(oracle.subsample, np.int64),
            score=np.zeros(oracle.subsample, np.float32),
            truth=np.zeros(oracle.subsample, np.float32),
            by_size=np.zeros((units + 1, 2)),
            kept_values=np.zeros(KEPT),
            kept_subsets=np.zeros((KEPT, words), np.uint64),
            current=np.zeros(words, np.uint64),
            below=np.zeros(oracle.n_neighbors + 1, np.int64),
            level=np.zeros(oracle.n_neighbors + 1, np.int64),
        )
        self.sums = SparseSums(self.place)
        warm_up(0, 0, self.place.record)  # compiles, before any clock runs

    @property
    def record(self) -> Any:
        """What the kernel draws from."""
        return self.place.record

    def add(self, node: int, state: Subset) -> None:
        """Note the subset of a new node."""
        arrays = self.place.arrays
        longer = {name: enlarged(arrays[name], node + 1) for name in ("subsets", "sizes", "heads")}
        self.place.point(**longer)
        self.nodes = max(self.nodes, node + 1)
        terminal = self.lattice.is_terminal(state)
        if terminal and not self.noisy_stop:
            return
        longer["sizes"][node] = 1 - len(state) if terminal else len(state)  # below 0: nothing is added
        for unit in state[:-1] if terminal else state:
            longer["subsets"][node, unit >> 6] |= np.uint64(1) << np.uint64(unit & 63)

    def warm_up(self, node: int, rollouts: int) -> int:
        """Draw rollouts from a node for their RAVE sums; return how many."""
        warm_up(node, rollouts, self.record)
        return rollouts

    def rave_sums(self, nodes: np.ndarray) -> np.ndarray:
        """Return [units, 2], sum and number of the rollouts drawn at these nodes, by unit."""
        return self.sums.of(nodes)

    def best_subsets(self) -> list[Subset]:
        """Return the subsets of the rollouts of highest value."""
        arrays = self.place.arrays
        found = []
        for value, words in zip(arrays["kept_values"], arrays["kept_subsets"], strict=True):
            if value > 0:
                bits = np.unpackbits(words.view(np.uint8), bitorder="little")
                found.append(tuple(np.flatnonzero(bits).tolist()))
        return sorted(set(found))

    @property
    def global_rave_sums(self) -> np.ndarray:
        """The same of all rollouts."""
        return self.place.arrays["rave"]

    @property
    def memory(self) -> int:
        """Bytes of the sums by node."""
        return self.sums.memory

    def snapshot(self) -> dict[str, Any]:
        """Return the sums of the rollouts and the best of them."""
        arrays = self.place.arrays
        kept = {name: arrays[name].copy() for name in ("by_size", "kept_values", "kept_subsets", "rave")}
        cells, sums = self.sums.listed()
        return {**kept, "cells": cells, "sums": sums, "lowest": int(self.record["lowest"])}

    def restore(self, saved: Saved) -> None:
        """Take in a snapshot, after the nodes of then were added."""
        arrays, units = self.place.arrays, len(self.lattice.groups)
        keys = saved.array("cells", (None,), 0, self.nodes * units - 1, np.int64)
        if (np.diff(keys) <= 0).any():
            raise ValueError("the sums of rollouts must stand once for each node and unit, in order")
        self.sums.add(keys, checked_sums(saved.array("sums", (len(keys), 2), 0.0, 2.0**53)))
        arrays["rave"][:] = checked_sums(saved.array("rave", (units, 2), 0.0, 2.0**53))
        arrays["by_size"][:] = checked_sums(saved.array("by_size", (units + 1, 2), 0.0, 2.0**53))
        values = saved.array("kept_values", (KEPT,), 0.0, 1.0)
        subsets = saved.array("kept_subsets", arrays["kept_subsets"].shape, 0, 2**64 - 1, np.uint64)
        lowest = saved.whole("lowest", 0, KEPT - 1)
        if values[lowest] > values.min():
            raise ValueError("the lowest of the rollouts kept must be the lowest")
        arrays["kept_values"][:], arrays["kept_subsets"][:] = values, subsets
        self.place.set(lowest=lowest)
        if strange := [subset for subset in self.best_subsets() if not self.lattice.holds((*subset, STOP))]:
            raise ValueError(f"a rollout must end in a subset of the lattice, got {strange[0]}")
