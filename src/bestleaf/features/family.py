"""Which subsets of a graph hold another one with one unit more: found without a table of subsets that are not there."""

from __future__ import annotations

from typing import Any

from bestleaf.features.plain import STOP

Subset = tuple[int, ...]


class SubsetFamily:
    """The subsets of a graph by size and unit.

    The children of a subset that enters are in the graph already if they came on another way. They are looked up one
    by one or, where there may be very many, among the subsets that have the rarest of its units.
    """

    remembered = 0  # subsets that are not in the graph

    def __init__(self, lattice: Any, node_of: dict[Any, int]) -> None:
        self.lattice = lattice
        self.node_of = node_of
        self._met: list[Subset] = []  # by node
        self._having: dict[tuple[int, int], list[int]] = {}  # (size, unit) -> nodes, in order

    def enter(self, node: int, state: Subset) -> None:
        """Note the state of a new node."""
        self._met.append(state)
        if not self.lattice.is_terminal(state):
            for unit in state:
                self._having.setdefault((len(state), unit), []).append(node)

    def children_of(self, state: Subset) -> list[int]:
        """Return the nodes that are children of a state, in order."""
        node_of = self.node_of
        if self.lattice.is_terminal(state):
            return []
        if not state:
            return sorted(node for (size, _), nodes in self._having.items() if size == 1 for node in nodes)
        lists = (self._having.get((len(state) + 1, unit), []) for unit in state)
        having, wanted = min(lists, key=len), set(state)
        if len(having) > self.lattice.count_children(state):
            return sorted(node_of[child] for child in self.lattice.children(state) if child in node_of)
        found = [node for node in having if wanted.issubset(self._met[node])]
        return sorted([*found, node_of[*state, STOP]]) if (*state, STOP) in node_of else found
