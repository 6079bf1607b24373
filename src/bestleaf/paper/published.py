"""How the graph of feature subsets grows in the program that was published with the paper.

The paper says: "the DAG below the optimal arm was instantly initialized at depth 2 with 7 features". Its program goes one
step further, and `RaveProposals` does not. That step decides what the search finds; see "The row of beta1" in
`docs/figures.md`.
"""

from __future__ import annotations

from itertools import combinations

from bestleaf.problems import State
from bestleaf.search.growth.rave import RaveProposals, Subset


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
        states = super().opening(node)
        for pair in combinations(units, 2):
            both = lattice.grown(lattice.grown(subset, pair[0]), pair[1])
            if lattice.fits(both):
                third = next((lattice.grown(both, unit) for unit in units if unit not in pair), None)
                states += [lattice.terminal(both), *([third] if third and lattice.fits(third) else [])]
        return [state for state in dict.fromkeys(states) if state not in self.graph.node_of]

    def next(self, node: int) -> list[State]:
        """Return the best child that is missing, and the terminal states that its parents in the graph lack."""
        if not self.lattice.missing(self.graph.states[node]) or not self.absent_units(node, 1):
            return super().next(node)
        [child] = self.next_child(node)
        stops = [self.lattice.terminal(parent) for parent in self._parents_in_graph(child)]
        return [*(stop for stop in stops if stop not in self.graph.node_of), child]

    def _parents_in_graph(self, child: Subset) -> list[Subset]:
        """Return the subsets in the graph that have one unit less, without the empty one, which is no answer."""
        less = [tuple(unit for unit in child if unit != left_out) for left_out in child]
        return [parent for parent in less if parent and parent in self.graph.node_of]
