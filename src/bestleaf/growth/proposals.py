"""By which child the graph grows: at random, or by RAVE."""

from __future__ import annotations

from itertools import combinations
from typing import Any, Protocol

import numpy as np

from bestleaf._kernels.grow import list_below
from bestleaf._records import EXACT
from bestleaf.features import STOP
from bestleaf.graph import GrowingGraph
from bestleaf.intervals import Knowledge
from bestleaf.storage import Saved


class Values(Protocol):
    """Values of terminal states, on demand."""

    def look_up(self, state: Any) -> float | None:
        """Return the value of a state; None when the budget is spent."""

    def prefetch(self, states: list[Any]) -> None:
        """Evaluate at once what will be looked up soon, if that is of use."""

    def glimpse(self, states: list[Any], parts: int) -> dict[Any, float]:
        """Return the mean of the first parts of values, if they have parts; none that the budget does not allow."""

    def best_value(self) -> float:
        """Return the best value in the graph."""


def best_value(graph: GrowingGraph, known: Knowledge) -> float:
    """Return the best exact value in the graph, 0 if there is none."""
    rows = known.known[: len(graph)]
    return float(rows["lower"][(graph.kinds == EXACT) & (rows["count"] > 0)].max(initial=0.0))


class Proposals(Protocol):
    """Which nodes enter the graph: when a choice opens, and one at a time later."""

    whole_opening: bool  # every child of a node enters when its choice opens

    def warm_up(self, node: int, rounds: int) -> int:
        """Draw up to `rounds` rollouts that `opening` needs; return how many, 0 when it needs no more."""

    def opening(self, node: int) -> list[Any]:
        """Return the states that enter the graph when the choice at `node` opens, parents first."""

    def next(self, node: int) -> list[Any]:
        """Return a child of `node` that is not in the graph, and what enters with it, parents first."""

    def snapshot(self) -> dict[str, Any]:
        """Return what a checkpoint keeps."""

    def restore(self, saved: Saved, values: dict[Any, float]) -> None:
        """Take in a snapshot; `values` are the exact values known then."""


class _Grounded:
    """What proposals know: the graph, its intervals, what rollouts leave behind, the stream, and values on demand."""

    def __init__(
        self,
        graph: GrowingGraph,
        known: Knowledge,
        oracle: Any,
        rng: np.random.Generator,
        values: Values,
    ) -> None:
        self.graph = graph
        self.known = known
        self.oracle = oracle
        self.rng = rng
        self.values = values

    def snapshot(self) -> dict[str, Any]:
        """Return what a checkpoint keeps: nothing."""
        return {}

    def restore(self, saved: Saved, values: dict[Any, float]) -> None:
        """Take in a snapshot."""


class RandomProposals(_Grounded):
    """Proposals for any problem: a choice opens with all its children, later ones are drawn at random."""

    whole_opening = True

    def warm_up(self, node: int, rounds: int) -> int:
        """Draw nothing."""
        return 0

    def opening(self, node: int) -> list[Any]:
        """Return all children that are not in the graph."""
        return list(self.graph.relatives.absent(node))

    def next(self, node: int) -> list[Any]:
        """Return one of them."""
        absent = self.opening(node)
        return [absent[int(self.rng.integers(len(absent)))]]


def rave_scores(here: np.ndarray, everywhere: np.ndarray, locality: float) -> np.ndarray:
    """Return RAVE by unit from [units, 2] sums and numbers of rollouts, at and below a node and of all nodes."""
    total, count = here.T
    all_total, all_count = everywhere.T
    seen = all_count.sum()
    middle = all_total.sum() / seen if seen else 0.5  # a unit never met is neither good nor bad
    general = np.where(all_count > 0, all_total / np.maximum(all_count, 1.0), middle)
    local = np.where(count > 0, total / np.maximum(count, 1.0), 0.0)
    beta = locality / (locality + count)
    return (1.0 - beta) * local + beta * general


class RaveProposals(_Grounded):
    """Proposals on the lattice of feature subsets by the mean value of rollouts that had a feature (RAVE).

    RAVE of feature f at subset F is (1 - beta) l + beta g with beta = c_l / (c_l + t): l is the mean over the t
    rollouts with f at F or below it, g the mean over all rollouts with f. A choice opens with rollouts from its node,
    then the best features to depth two, those of depth one with their terminal leaves. A terminal leaf goes before any
    feature.
    """

    whole_opening = False
    LOCALITY = 200.0  # c_l, as in the published program
    BREADTH = 7  # features a choice opens with; as in the paper

    def __init__(self, graph: GrowingGraph, *ground: Any) -> None:
        super().__init__(graph, *ground)
        self.lattice = graph.problem
        self._left: dict[int, int] = {}  # warm-up rollouts still to draw at a node

    def warm_up(self, node: int, rounds: int) -> int:
        """Draw rollouts from the node, 20 for each feature that may be added (fewer where they are dear)."""
        subset = self.graph.states[node]
        left = self._left.setdefault(node, self.rollouts(node) * (self.lattice.count_children(subset) - bool(subset)))
        drawn = min(rounds, left)
        if drawn:
            drawn = self.oracle.warm_up(node, drawn)
        self._left[node] -= drawn
        return drawn

    def rollouts(self, node: int) -> int:
        """Return how many rollouts a feature the choice at a node opens with."""
        return self.lattice.oracle.rollouts_a_unit

    def scores(self, node: int) -> np.ndarray:
        """Return the RAVE score of every unit at a node."""
        world = self.known.world
        below = self.known.stack[: list_below(node, world)]
        return rave_scores(self.oracle.rave_sums(below), self.oracle.global_rave_sums, self.LOCALITY)

    def best_units(self, node: int, most: int) -> list[int]:
        """Return the units of highest score that may be added to the subset of a node; ties go to the first."""
        scores = self.scores(node)
        units = np.fromiter(self.lattice.missing(self.graph.states[node]), np.int64)
        return units[np.argsort(-scores[units], kind="stable")][:most].tolist()

    def opening_units(self, node: int) -> list[int]:
        """Return the units that a choice opens with."""
        return self.best_units(node, self.BREADTH)

    def opening(self, node: int) -> list[Any]:
        """Return the terminal leaf, the best units each with its terminal leaf, and all pairs of them."""
        subset, lattice = self.graph.states[node], self.lattice
        units = self.opening_units(node)
        states = [(*subset, STOP)] if subset else []
        for unit in units:
            one = lattice.grown(subset, unit)
            states += [one, (*one, STOP)]
        if len(subset) + 2 <= lattice.limit:
            states += [lattice.grown(lattice.grown(subset, one), two) for one, two in combinations(units, 2)]
        return [state for state in states if state not in self.graph.node_of]

    def next(self, node: int) -> list[Any]:
        """Return the terminal leaf if it is not in the graph, otherwise the child of highest RAVE."""
        subset = self.graph.states[node]
        if subset and (*subset, STOP) not in self.graph.node_of:
            return [(*subset, STOP)]
        return [self.lattice.grown(subset, self.absent_units(node, 1)[0])]

    def absent_units(self, node: int, most: int) -> list[int]:
        """Return the units of highest score whose child is not in the graph; ties go to the first."""
        there = {unit for child in self.graph.linked("child", node) for unit in self.graph.states[child]}
        missing = self.lattice.missing(self.graph.states[node])
        units = np.array([unit for unit in missing if unit not in there], np.int64)
        return units[np.argsort(-self.scores(node)[units], kind="stable")][:most].tolist()

    def snapshot(self) -> dict[str, Any]:
        """Return the warm-ups under way."""
        return {"left": [[node, left] for node, left in self._left.items()]}

    def restore(self, saved: Saved, values: dict[Any, float]) -> None:
        """Take in a snapshot, with no more rollouts left than a warm-up has."""
        self._left = {}
        for pair in saved.listed("left"):
            node, left = pair
            if not (type(node) is int and 0 <= node < len(self.graph) and type(left) is int):
                raise ValueError(f"warm-ups must be pairs of node and rollouts, got {str(pair)[:80]}")
            most = self.rollouts(node) * self.lattice.count_children(self.graph.states[node])
            if not 0 <= left <= most:
                raise ValueError(f"a warm-up must have from 0 to {most} rollouts left, got {left}")
            self._left[node] = left
