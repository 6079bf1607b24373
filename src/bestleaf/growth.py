"""When the graph grows, at which node, by which child."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, combinations
from typing import Any, Protocol

import numpy as np

from bestleaf._kernels.grow import list_below, ripest
from bestleaf._records import EXACT, UNLIMITED
from bestleaf.features import STOP
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


LookUp = Callable[[Any], float | None]


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


class _Grounded:
    """What proposals know: the graph, its intervals, the compiled oracle, the stream, and exact values on demand."""

    def __init__(
        self, graph: GrowingGraph, known: Knowledge, oracle: Any, rng: np.random.Generator, look_up: LookUp
    ) -> None:
        self.graph = graph
        self.known = known
        self.oracle = oracle
        self.rng = rng
        self.look_up = look_up


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


class RaveProposals(_Grounded):
    """Proposals on the lattice of feature subsets by the mean value of rollouts that had a feature (RAVE).

    RAVE of feature f at subset F is (1 - beta) l + beta g with beta = c_l / (c_l + t): l is the mean over the t
    rollouts with f at F or below it, g the mean over all rollouts with f. A choice opens with rollouts from its node,
    then the best features to depth two, those of depth one with their terminal leaves. A terminal leaf goes before any
    feature.
    """

    whole_opening = False
    LOCALITY = 200.0  # c_l, as in the published program
    ROLLOUTS = 20  # a feature, when a choice opens; as in the published program
    BREADTH = 7  # features a choice opens with; as in the paper

    def __init__(self, graph: GrowingGraph, *ground: Any) -> None:
        super().__init__(graph, *ground)
        self.lattice = graph.problem
        self._left: dict[int, int] = {}  # warm-up rollouts still to draw at a node

    def warm_up(self, node: int, rounds: int) -> int:
        """Draw rollouts from the node, 20 for each feature that may be added."""
        subset = self.graph.states[node]
        left = self._left.setdefault(node, self.rollouts(node) * (self.lattice.count_children(subset) - bool(subset)))
        drawn = min(rounds, left)
        if drawn:
            self.oracle.warm_up(node, drawn)
        self._left[node] -= drawn
        return drawn

    def rollouts(self, node: int) -> int:
        """Return how many rollouts a feature the choice at a node opens with."""
        return self.ROLLOUTS

    def scores(self, node: int) -> np.ndarray:
        """Return the RAVE score of every unit at a node."""
        world = self.known.world
        below = self.known.stack[: list_below(node, world)]
        total, count = self.oracle.rave_sums(below).T
        all_total, all_count = self.oracle.global_rave_sums.T
        seen = all_count.sum()
        middle = all_total.sum() / seen if seen else 0.5  # a unit never met is neither good nor bad
        everywhere = np.where(all_count > 0, all_total / np.maximum(all_count, 1.0), middle)
        here = np.where(count > 0, total / np.maximum(count, 1.0), 0.0)
        beta = self.LOCALITY / (self.LOCALITY + count)
        return (1.0 - beta) * here + beta * everywhere

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


class LookaheadProposals(RaveProposals):
    """RAVE, then the exact values of what it likes best.

    A choice opens with 7 units, in turn one of highest exact value and one of highest RAVE; all are evaluated, or as
    many of highest RAVE as can be in seconds. Later, of the 7 children of highest RAVE the best one enters; when it
    beats every subset evaluated so far, its terminal leaf enters with it. As exact values lead, choices below the root
    open with a tenth of the rollouts.
    """

    LESS = 10
    DISTANCES = 4e9  # computed for the values of one opening, at most: some seconds

    def rollouts(self, node: int) -> int:
        """Return the full number at the root, a tenth below it: by then the rollouts of the whole search tell."""
        return self.ROLLOUTS if node == 0 else self.ROLLOUTS // self.LESS

    def opening_units(self, node: int) -> list[int]:
        """Return units of highest exact value and of highest RAVE, in turn.

        Exact values see what a unit adds by itself, RAVE what it may add in company.
        """
        subset, oracle = self.graph.states[node], self.lattice.oracle
        affordable = max(self.BREADTH, int(self.DISTANCES / (len(oracle.queries) * oracle.n_samples)))
        units = self.best_units(node, affordable)
        values = [self.look_up((*self.lattice.grown(subset, unit), STOP)) for unit in units]
        ranked = sorted(zip(units, values, strict=True), key=lambda pair: -1.0 if pair[1] is None else -pair[1])
        turns = chain.from_iterable(zip((unit for unit, _ in ranked), units, strict=True))
        return list(dict.fromkeys(turns))[: self.BREADTH]

    def next(self, node: int) -> list[Any]:
        """Return the terminal leaf if it is not in the graph, otherwise the best of a few children."""
        subset, lattice = self.graph.states[node], self.lattice
        if subset and (*subset, STOP) not in self.graph.node_of:
            return [(*subset, STOP)]
        children = [lattice.grown(subset, unit) for unit in self.absent_units(node, self.BREADTH)]
        values = [self.look_up((*child, STOP)) for child in children]
        ranked = [-1.0 if value is None else value for value in values]  # the budget may be spent
        best = int(np.argmax(ranked))
        record = ranked[best] > best_value(self.graph, self.known)
        return [children[best], (*children[best], STOP)] if record else [children[best]]


PROPOSALS: dict[str, Any] = {"random": RandomProposals, "rave": RaveProposals, "lookahead": LookaheadProposals}


class Growth:
    """Grows the graph of one search with the exponent b, by what the proposals say."""

    def __init__(self, graph: GrowingGraph, known: Knowledge, exponent: float, proposals: Proposals) -> None:
        self.graph = graph
        self.known = known
        self.exponent = exponent
        self.proposals = proposals
        self.growths = 0
        self._complete: set[int] = set()  # roots with nothing missing below

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
        return self.add(self.proposals.next(node))

    def open(self, node: int) -> list[int]:
        """Prepare the first choice at `node`; return the nodes added."""
        self.known.track["opened"][node] = 1
        return self.add(self.proposals.opening(node))

    def best_value(self) -> float:
        """Return the best exact value in the graph."""
        return best_value(self.graph, self.known)

    def add(self, states: list[Any]) -> list[int]:
        """Add states, parents first, and bring the intervals up to date; return the nodes."""
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
