"""Proposals on the lattice of feature subsets by RAVE: the mean value of rollouts that hold a feature."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from bestleaf.engine.kernels.reach import list_below
from bestleaf.problems import State
from bestleaf.search.evaluator import Evaluator
from bestleaf.search.growth import RandomProposals
from bestleaf.search.state import SearchState

if TYPE_CHECKING:
    from bestleaf.features.lattice import FeatureLattice


def rave_scores(here: np.ndarray, everywhere: np.ndarray, locality: float) -> np.ndarray:
    """Return the RAVE score of every unit from [units, 2] arrays: sum and number of rollouts, here and everywhere."""
    total, count = here.T
    all_total, all_count = everywhere.T
    seen = all_count.sum()
    middle = all_total.sum() / seen if seen else 0.5  # a unit without rollouts is neither good nor bad
    general = np.where(all_count > 0, all_total / np.maximum(all_count, 1.0), middle)
    local = np.where(count > 0, total / np.maximum(count, 1.0), 0.0)
    beta = locality / (locality + count)
    return (1.0 - beta) * local + beta * general


class RaveProposals(RandomProposals):
    """Proposals by RAVE.

    RAVE of feature f at subset F is (1 - beta) l + beta g with beta = c_l / (c_l + t). Here l is the mean over the t
    rollouts with f at F or below it, and g the mean over all rollouts with f. To open a choice, rollouts from its node
    are drawn. Then the best features enter, their terminal states, and all pairs of these features. Later the terminal
    state of F enters before any further feature.
    """

    name = "rave"
    whole_opening = False
    LOCALITY = 200.0  # c_l, as in the published program
    BREADTH = 7  # features that a choice opens with, as in the paper

    def __init__(self, state: SearchState, evaluator: Evaluator) -> None:
        super().__init__(state, evaluator)
        self.lattice: FeatureLattice = state.problem
        self._left: dict[int, int] = {}  # warm-up rollouts still to draw at a node

    def warm_up(self, node: int, rounds: int) -> int:
        """Draw rollouts from the node, 20 for each feature that may be added (fewer where they take long)."""
        subset = self.graph.states[node]
        left = self._left.setdefault(node, self.rollouts(node) * (self.lattice.count_children(subset) - bool(subset)))
        drawn = min(rounds, left)
        if drawn:
            drawn = self.evaluator.warm_up(node, drawn)
        self._left[node] -= drawn
        return drawn

    def opening_cost(self, node: int) -> int:
        """Return how many rollouts are drawn from the node before its choice opens."""
        return self.rollouts(node) * self.lattice.count_children(self.graph.states[node])

    def rollouts(self, node: int) -> int:
        """Return how many rollouts for each feature are needed to open the choice at a node."""
        return self.lattice.oracle.rollouts_a_unit

    def scores(self, node: int) -> np.ndarray:
        """Return the RAVE score of every unit at a node."""
        rollouts = self.state.rollouts
        below = self.state.known.stack[: list_below(node, self.state.known.world)]
        return rave_scores(rollouts.rave_sums(below), rollouts.global_rave_sums, self.LOCALITY)

    def best_units(self, node: int, most: int) -> list[int]:
        """Return the units of highest score that may be added at a node; ties go to the first."""
        scores = self.scores(node)
        units = np.fromiter(self.lattice.missing(self.graph.states[node]), np.int64)
        return units[np.argsort(-scores[units], kind="stable")][:most].tolist()

    def opening_units(self, node: int) -> list[int]:
        """Return the units that a choice opens with."""
        return self.best_units(node, self.BREADTH)

    def opening(self, node: int) -> list[State]:
        """Return the terminal state, the best units with their terminal states, and all pairs of these units."""
        subset, lattice = self.graph.states[node], self.lattice
        units = self.opening_units(node)
        states = [lattice.terminal(subset)] if subset else []
        for unit in units:
            one = lattice.grown(subset, unit)
            states += [one, lattice.terminal(one)]
        if len(subset) + 2 <= lattice.limit:
            pairs = (lattice.grown(lattice.grown(subset, one), two) for one, two in combinations(units, 2))
            states += pairs
        return [state for state in states if state not in self.graph.node_of]

    def next(self, node: int) -> list[State]:
        """Return the terminal state if it is not in the graph, otherwise the best child that is not."""
        subset = self.graph.states[node]
        stop = self.lattice.terminal(subset)
        return [stop] if subset and stop not in self.graph.node_of else self.next_child(node)

    def next_child(self, node: int) -> list[State]:
        """Return the child of highest RAVE that is not in the graph."""
        return [self.lattice.grown(self.graph.states[node], self.absent_units(node, 1)[0])]

    def absent_units(self, node: int, most: int) -> list[int]:
        """Return the units of highest score whose child is not in the graph; ties go to the first."""
        there = {unit for child in self.graph.linked("child", node) for unit in self.graph.states[child]}
        missing = self.lattice.missing(self.graph.states[node])
        units = np.array([unit for unit in missing if unit not in there], np.int64)
        return units[np.argsort(-self.scores(node)[units], kind="stable")][:most].tolist()
