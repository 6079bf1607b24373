"""How the graph of feature subsets grows in the program that was published with the paper.

The paper says that a choice is "initialized at depth 2 with 7 features". Its program also lets the pairs at depth 2 end
there, or go on with a third feature. `RaveProposals` follows the paper; see "The row of beta1" in `docs/figures.md` for
what this changes.
"""

from __future__ import annotations

from itertools import combinations
from typing import cast

from bestleaf.features.rave import RaveProposals
from bestleaf.features.rollouts import Subset
from bestleaf.problems import State


class PublishedProposals(RaveProposals):
    """Proposals by RAVE, where a subset never enters as a dead end.

    A choice opens with the 7 best features and all pairs of them, as with `RaveProposals`. But every pair also gets its
    terminal state and a third feature, the best of the 7 that it does not have. Later a feature enters together with
    the terminal states of all subsets that it is added to. So a subset that gets its first child gets two: the one
    where it ends and one where it goes on.
    """

    name = "published"

    def opening(self, node: int) -> list[State]:
        """Return the states of `RaveProposals`, and for each pair its terminal state and a third feature."""
        subset, lattice, units = self.graph.states[node], self.lattice, self.opening_units(node)
        states = cast("list[Subset]", super().opening(node))
        if len(subset) + 3 <= lattice.limit:
            for one, two in combinations(units, 2):
                both = lattice.grown(lattice.grown(subset, one), two)
                third = next((lattice.grown(both, unit) for unit in units if unit not in (one, two)), None)
                if third is not None and third not in self.graph.node_of:
                    states.append(third)
        return self._with_stops(states)

    def next(self, node: int) -> list[State]:
        """Return the best child that is missing, and the terminal states that its parents in the graph lack."""
        if not self.absent_units(node, 1):
            return super().next(node)
        return self._with_stops(cast("list[Subset]", self.next_child(node)))

    def _with_stops(self, states: list[Subset]) -> list[State]:
        """Return subsets that enter, and the terminal states of all subsets that get a child by that."""
        lattice, there = self.lattice, self.graph.node_of
        entering = dict[State, None].fromkeys(states)
        for subset in [state for state in states if not self.graph.problem.is_terminal(state)]:
            parents = [parent for parent in self.graph.problem.parents(subset) if parent in there or parent in entering]
            has_children = any(lattice.grown(subset, unit) in there for unit in lattice.missing(subset))
            stops = [lattice.terminal(parent) for parent in (*parents, *([subset] if has_children else [])) if parent]
            entering.update(dict.fromkeys(stop for stop in stops if stop not in there))
        return list(entering)
