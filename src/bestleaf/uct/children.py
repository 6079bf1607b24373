"""Which child of a node descents may take next."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from bestleaf.features import STOP
from bestleaf.growth.proposals import rave_scores
from bestleaf.uct.statistics import Statistics

REFRESH_RATIO = 1.1  # priors are computed anew when a node has been visited this many times as often


class Children(Protocol):
    """Offers children for edges."""

    def next(self, node: int) -> Any:
        """Return the state of the child that gets the next edge; None if all got one at once."""

    def state(self, node: int, child: int) -> Any:
        """Return the state of a child by its number."""

    def refresh(self, node: int) -> None:
        """Compute the priors of the edges of a node."""


class AnyChildren:
    """Children of any problem, in random order."""

    def __init__(self, statistics: Statistics, rng: np.random.Generator) -> None:
        self.statistics = statistics
        self.rng = rng
        self._left: dict[int, list[Any]] = {}

    def next(self, node: int) -> Any:
        """Return one of those left."""
        graph = self.statistics.graph
        if node not in self._left:
            self._left[node] = list(dict.fromkeys(graph.problem.children(graph.states[node])))
        left = self._left[node]
        place = int(self.rng.integers(len(left)))
        left[place], left[-1] = left[-1], left[place]
        return left.pop()

    def state(self, node: int, child: int) -> Any:
        """Never asked: edges are made with their heads."""
        raise NotImplementedError

    def refresh(self, node: int) -> None:
        """Do nothing: there are no priors."""


class RaveChildren:
    """Children of a subset of features: the terminal leaf first, then by RAVE (FUSE's discrete heuristic)."""

    def __init__(self, statistics: Statistics, rollouts: Any, locality: float) -> None:
        self.statistics = statistics
        self.rollouts = rollouts
        self.locality = locality
        self.lattice = statistics.graph.problem
        self._given: dict[int, set[int]] = {}  # units with an edge, by node

    def scores(self, node: int) -> np.ndarray:
        """Return the RAVE score of every unit at a node."""
        here = self.rollouts.rave_sums(self.statistics.below(node))
        return rave_scores(here, self.rollouts.global_rave_sums, self.locality)

    def next(self, node: int) -> Any:
        """Return the terminal leaf, then the child of highest RAVE (ties: the first)."""
        subset = self.statistics.graph.states[node]
        given = self._given.setdefault(node, set())
        if subset and STOP not in given:
            given.add(STOP)
            return (*subset, STOP)
        units = np.array([unit for unit in self.lattice.missing(subset) if unit not in given], np.int64)
        unit = int(units[np.argmax(self.scores(node)[units])])
        given.add(unit)
        return self.lattice.grown(subset, unit)

    def state(self, node: int, child: int) -> Any:
        """Return the subset with a unit more, or its terminal leaf."""
        subset = self.statistics.graph.states[node]
        return (*subset, STOP) if child == STOP else self.lattice.grown(subset, child)

    def refresh(self, node: int) -> None:
        """Do nothing: RAVE only orders the children."""


class CompetingChildren(RaveChildren):
    """All children compete from the start, with RAVE as the prior of their edges (FUSE's continuous heuristic).

    The prior of a terminal leaf is the mean value of the rollouts that ended with as many units.
    """

    def next(self, node: int) -> None:
        """Give every child its edge."""
        subset = self.statistics.graph.states[node]
        for child in [*([STOP] if subset else []), *self.lattice.missing(subset)]:
            self.statistics.connect(node, -1, child)
        self.refresh(node)

    def refresh(self, node: int) -> None:
        """Compute the priors of the edges of a node."""
        statistics, edges = self.statistics, self.statistics.edges
        scores = self.scores(node)
        total, count = self.rollouts.place.arrays["by_size"][len(statistics.graph.states[node])]
        for edge in statistics.leaving(node):
            child = edges["child"][edge]
            edges["prior"][edge] = scores[child] if child != STOP else (total / count if count else 0.5)
        visits = int(statistics.crossings["visits"][node])
        statistics.crossings["refresh_at"][node] = int(REFRESH_RATIO * visits) + 1
