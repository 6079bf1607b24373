"""What a search keeps about the feature subsets of its graph: RAVE sums of rollouts, and which children are there.

A rollout adds random units to the subset of a node and samples the subset it ends in. This sample counts for every unit
of that subset. The RAVE score of a unit is the mean of the samples that count for it.
"""

from __future__ import annotations

from ctypes import c_void_p, cast
from heapq import heappush, heapreplace
from typing import TYPE_CHECKING

import numpy as np

from bestleaf.engine.records import Workplace, enlarged
from bestleaf.features.kernels.records import NEIGHBOURS, TIES
from bestleaf.features.kernels.rollout import ROWS, add_to_rows, draw_neighbours, sum_rows, warm_up
from bestleaf.features.neighbours import KNNOracle

if TYPE_CHECKING:
    from bestleaf.features.lattice import FeatureLattice

KEPT = 16  # best rollouts that are kept
MOST_SUMS = 3 * 2**27  # bytes for sums by node

Subset = tuple[int, ...]


class Rollouts:
    """The RAVE sums of one search: the sum and the number of the values of each unit, in total and by node.

    Most nodes are never sampled. A node gets a row of sums when it is first sampled, as long as all rows take less than
    a fixed memory.
    """

    BY_NODE: tuple[str, ...] = ("heads",)  # arrays that grow with the graph

    def __init__(self, lattice: FeatureLattice, place: Workplace) -> None:
        self.lattice, self.place, self.nodes = lattice, place, 0
        self.units = len(lattice.groups)
        self._chunks: list[np.ndarray] = []  # rows of sums; pages of memory are taken when a row is first written
        place.set(units=self.units)
        place.point(heads=np.zeros(64, np.int64), rave=np.zeros((self.units, 2)))

    def add(self, node: int, state: Subset) -> None:
        """Make room for a new node."""
        arrays = self.place.arrays
        if node >= len(arrays["heads"]):
            self.place.point(**{name: enlarged(arrays[name], node + 1) for name in self.BY_NODE})
        self.nodes = max(self.nodes, node + 1)
        while self.nodes > len(self._chunks) * ROWS and (len(self._chunks) + 1) * ROWS * self._width <= MOST_SUMS:
            self._chunks.append(np.zeros((ROWS, 1 + 3 * self.units)))
            self.place.point(chunks=np.array([chunk.ctypes.data for chunk in self._chunks]))
            self.place.set(room=len(self._chunks) * ROWS)

    @property
    def _width(self) -> int:
        """Bytes of a row."""
        return 8 * (1 + 3 * self.units)

    def rave_sums(self, nodes: np.ndarray) -> np.ndarray:
        """Return [units, 2]: sum and number of the values of rollouts from these nodes."""
        found = np.zeros((self.units, 2))
        sum_rows(np.ascontiguousarray(nodes, np.int64), found, self.place.record)
        return found

    @property
    def global_rave_sums(self) -> np.ndarray:
        """Sum and number of the values of all rollouts, as [units, 2]."""
        return self.place.arrays["rave"]

    @property
    def memory(self) -> int:
        """Bytes of the sums by node."""
        return self._width * int(self.place.record["used"])


class PlainRollouts(Rollouts):
    """The sums of rollouts that are drawn outside of kernels, with any oracle."""

    def __init__(self, lattice: FeatureLattice) -> None:
        super().__init__(lattice, Workplace(NEIGHBOURS))
        self.kept: list[tuple[float, Subset]] = []  # a heap of the best rollouts

    def credit(self, node: int, reached: Subset, value: float) -> None:
        """Count the value of a rollout from a node for all units of the terminal leaf it ended in."""
        subset = self.lattice.subset_of(reached)
        units, sums = np.array(subset, np.int64), np.tile((value, 1.0), (len(subset), 1))
        self.global_rave_sums[units] += sums
        add_to_rows(node * self.units + units, sums, self.place.record)
        if len(self.kept) < KEPT:
            heappush(self.kept, (value, subset))
        elif value > self.kept[0][0]:
            heapreplace(self.kept, (value, subset))

    def best_subsets(self) -> list[Subset]:
        """Return the subsets of the best rollouts."""
        return sorted({subset for _, subset in self.kept})


class NeighbourRollouts(Rollouts):
    """Rollouts that kernels draw and value by nearest neighbours; subsets are bit sets of units."""

    BY_NODE = ("heads", "subsets", "sizes")

    def __init__(self, lattice: FeatureLattice, rng: np.random.Generator) -> None:
        oracle, units = lattice.oracle, len(lattice.groups)
        assert isinstance(oracle, KNNOracle)
        super().__init__(lattice, oracle.votes.workplace())
        self.rng = rng
        outputs, queries, first = len(oracle.targets), oracle.roles.queries, oracle.roles.first_query
        small = oracle.classes is not None and oracle.n_neighbors <= np.iinfo(np.int8).max
        kind = np.dtype(np.int8 if small else np.float32)  # small numbers of votes fit into a byte
        memory = int(np.clip(oracle.memory // (kind.itemsize * outputs * queries), 1, 2**20))
        words, stream = -(-units // 64), rng.bit_generator.ctypes
        self.place.set(
            draw=draw_neighbours.address,
            next_double=cast(stream.next_double, c_void_p).value,
            stream=stream.state_address,
            subsample=oracle.subsample,
            first_query=first,
            queries=queries,
            by_weight=oracle.row_weights is not None,
            ties=TIES[oracle.ties],
            limit=lattice.limit,
            forced=len(lattice.forced),
            words=words,
            choices=len(lattice.allowed),
            memory=memory,
            small=small,
            kept=KEPT,
        )
        self.place.point(
            subsets=np.zeros((64, words), np.uint64),
            sizes=np.zeros(64, np.int64),
            keys=np.frombuffer(np.random.default_rng(2019).bytes(8 * units), np.uint64),
            starts=np.cumsum([0, *map(len, lattice.groups)]),
            members=np.concatenate([np.array(group, np.int64) for group in lattice.groups]),
            allowed=np.array(lattice.allowed, np.int64),
            chances=lattice.chances,
            owners=np.zeros(memory, np.uint64),
            votes=np.empty((memory, outputs * queries), kind),  # the kernel empties a row when a subset takes it
            order=np.arange(first, first + queries),
            cumulative=oracle.cumulative,
            picks=np.zeros(oracle.subsample, np.int64),
            score=np.zeros(oracle.subsample, np.float32),
            truth=np.zeros(oracle.subsample, np.float32),
            kept_values=np.zeros(KEPT),
            kept_subsets=np.zeros((KEPT, words), np.uint64),
            current=np.zeros(words, np.uint64),
            ones=np.ones(oracle.subsample),
            below=np.zeros(oracle.n_neighbors + 1),
            level=np.zeros(oracle.n_neighbors + 1),
        )
        # Where a vote takes long, those of exact values are used again. Both must add distances in the same order.
        self._shares_votes = oracle.roles.apart and bool((np.diff(self.place.arrays["members"]) > 0).all())
        self.oracle = oracle
        warm_up(0, 0, self.record)  # compiles before any clock runs

    @property
    def record(self) -> np.void:
        """The record that the kernels read and write."""
        return self.place.record

    def add(self, node: int, state: Subset) -> None:
        """Store the subset of a new node for the kernels."""
        super().add(node, state)
        arrays = self.place.arrays
        if self.lattice.is_terminal(state):
            return
        arrays["sizes"][node] = len(state)
        for unit in state:
            arrays["subsets"][node, unit >> 6] |= np.uint64(1) << np.uint64(unit & 63)
        if state and self._shares_votes:
            self._take_votes(state)

    def _take_votes(self, subset: Subset) -> None:
        """Take over the votes of a subset that was evaluated: many rollouts from its node add nothing to it."""
        votes, arrays = self.oracle.votes.kept(np.array(self.lattice.features_of(subset))), self.place.arrays
        if votes is not None:
            key = np.bitwise_xor.reduce(arrays["keys"][list(subset)])  # as in the kernel `spell_out`
            row = int(key % np.uint64(len(arrays["owners"])))
            arrays["owners"][row], arrays["votes"][row] = key, votes.T.ravel()

    def warm_up(self, node: int, rollouts: int) -> int:
        """Draw rollouts from a node for their RAVE sums; return how many."""
        warm_up(node, rollouts, self.record)
        return rollouts

    def best_subsets(self) -> list[Subset]:
        """Return the subsets of the best rollouts."""
        arrays = self.place.arrays
        bits = np.unpackbits(arrays["kept_subsets"].view(np.uint8), axis=1, bitorder="little")
        return sorted({tuple(np.flatnonzero(row).tolist()) for row in bits[arrays["kept_values"] > 0]})


class SubsetFamily:
    """The subsets that are in a graph, by size and unit. It quickly finds those that are children of a new subset.

    Children are looked up one by one or, if there may be very many, among the subsets that have its rarest unit.
    """

    remembered = 0  # subsets that are not in the graph

    def __init__(self, lattice: FeatureLattice, node_of: dict[Subset, int]) -> None:
        self.lattice, self.node_of = lattice, node_of
        self._states: list[Subset] = []  # by node
        self._having: dict[tuple[int, int], list[int]] = {}  # (size, unit) -> nodes, in order

    def enter(self, node: int, state: Subset) -> None:
        """Add the state of a new node."""
        self._states.append(state)
        if not self.lattice.is_terminal(state):
            for unit in state:
                self._having.setdefault((len(state), unit), []).append(node)

    def children_of(self, state: Subset) -> list[int]:
        """Return the nodes that are children of a state, in order."""
        lattice, node_of = self.lattice, self.node_of
        if lattice.is_terminal(state):
            return []
        if not state:
            return sorted(node for (size, _), nodes in self._having.items() if size == 1 for node in nodes)
        having = min((self._having.get((len(state) + 1, unit), []) for unit in state), key=len)
        if len(having) > lattice.count_children(state):
            return sorted(node_of[child] for child in lattice.children(state) if child in node_of)
        wanted, stop = set(state), lattice.terminal(state)
        found = [node for node in having if wanted.issubset(self._states[node])]
        return sorted([*found, node_of[stop]]) if stop in node_of else found
