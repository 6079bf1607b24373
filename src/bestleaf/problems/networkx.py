"""Graphs of networkx as problems: ``NetworkxGraph(graph)``.

The library is an extra: ``pip install 'bestleaf[networkx]'``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from hashlib import sha256
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np

from bestleaf.checks import function_or_none, library, number, one_of, shown
from bestleaf.problems.protocols import State

if TYPE_CHECKING:
    import networkx

LONGEST = 10_000  # moves of a random walk that looks for a leaf


class NetworkxGraph:
    """A directed graph of networkx, also with cycles. Its leaves are the nodes that no edge leaves.

    Parameters
    ----------
    graph : networkx.DiGraph
        What is searched; its nodes are the states.
    root : node, default=None
        Where the search starts; None is the only node that no edge enters.
    value : str, default="value"
        Name of the node attribute that holds the value of a leaf, a number in [0, 1].
    kind : {"exact", "mean"}, default="exact"
        Whether the attribute is the exact value of a leaf, or the probability that a sample of it is 1 (otherwise 0).
    sample : callable, default=None
        ``sample(node, rng)`` returns one sample of a leaf in [0, 1]; then leaves need no attribute.
    opponent, probability : str, default=None
        Names of a node attribute that is true where an opponent moves, and of an edge attribute: the probability of an
        edge that leaves a node where chance moves. Such a node has it on all its edges, any other node on none.
    endless : float, default=None
        What play that never ends is worth, if an opponent moves and the graph has cycles; see `Endless`.

    Examples
    --------
    >>> import networkx  # doctest: +SKIP
    >>> graph = networkx.DiGraph([("start", "left"), ("start", "right")])  # doctest: +SKIP
    >>> graph.add_nodes_from([("left", {"value": 0.2}), ("right", {"value": 0.7})])  # doctest: +SKIP
    >>> best_leaf(NetworkxGraph(graph), epsilon=0, delta=0.1, seed=0).answer  # doctest: +SKIP
    'right'
    """

    def __init__(
        self,
        graph: networkx.DiGraph,
        root: Hashable | None = None,
        *,
        value: str = "value",
        kind: str = "exact",
        sample: Callable[[Hashable, np.random.Generator], float] | None = None,
        opponent: str | None = None,
        probability: str | None = None,
        endless: float | None = None,
    ) -> None:
        self.graph, self._root = _checked_graph(graph, root)
        self._kind, self._sample = one_of("kind", kind, ("exact", "mean")), function_or_none("sample", sample)
        self._value, self._opponent, self._probability, self._endless = value, opponent, probability, endless
        if sample is None:
            self._check_values()
            if kind == "exact":
                self.exact = self._exact
        if opponent is not None:
            self.maximizes = self._maximizes
        if probability is not None:
            self.chance = self._chance
        if endless is not None:
            number("endless", endless, "between 0 and 1, or None", 0, 1)
            if opponent is None:
                raise ValueError(f"endless needs an opponent, because one player can leave a cycle, got {endless:g}")
            self.endless = self._worth_of_endless_play

    def _check_values(self) -> None:
        for node, attributes in self.graph.nodes(data=True):
            found = attributes.get(self._value)
            if self.is_terminal(node) and not (isinstance(found, Real) and 0.0 <= float(found) <= 1.0):
                what = f"every leaf must have a number in [0, 1] as its attribute {self._value}"
                raise ValueError(f"{what}, got {shown(found)} at {shown(node)}")

    def root(self) -> State:
        """Return the node where the search starts."""
        return self._root

    def children(self, state: State) -> list[State]:
        """Return the nodes that edges lead to."""
        return list(self.graph.successors(state))

    def is_terminal(self, state: State) -> bool:
        """Return whether no edge leaves the node."""
        return not self.graph.out_degree(state)

    def sample(self, state: State, rng: np.random.Generator) -> float:
        """Return a sample of a leaf; for another node, of the leaf where a random walk ends."""
        moves = 0
        while below := self.children(state):
            if moves == LONGEST:
                raise ValueError(f"a random walk must reach a leaf, got {LONGEST:,} moves, the last to {shown(state)}")
            shares = None if self._probability is None else self._chance(state)
            drawn = int(rng.random() * len(below)) if shares is None else int(rng.choice(len(below), p=shares))
            state, moves = below[drawn], moves + 1
        if self._sample is not None:
            return float(self._sample(state, rng))
        value = self._exact(state)
        return value if self._kind == "exact" else float(rng.random() < value)

    def fingerprint(self) -> dict[str, object]:
        """Return what distinguishes this problem from others: its settings, and a hash of the graph."""
        settings = [self._kind, self._value, self._opponent, self._probability, self._endless]
        content = (self._root, list(self.graph.nodes(data=True)), list(self.graph.edges(data=True)))
        return {"settings": settings, "graph": sha256(repr(content).encode()).hexdigest()}

    def _exact(self, state: State) -> float:
        return float(self.graph.nodes[state][self._value])

    def _worth_of_endless_play(self, state: State) -> float | None:
        return self._endless

    def _maximizes(self, state: State) -> bool:
        return not self.graph.nodes[state].get(self._opponent, False)

    def _chance(self, state: State) -> list[float] | None:
        """Return the probabilities of the edges that leave a node; None where a player moves."""
        found = [edge.get(self._probability) for edge in self.graph.adj[state].values()]
        if all(one is None for one in found):
            return None
        if any(one is None for one in found):
            what = f"{self._probability} must be on all edges that leave a node, or on none"
            raise ValueError(f"{what}, got some at {shown(state)}")
        return [float(one) for one in found]


def _checked_graph(graph: networkx.DiGraph, root: Hashable | None) -> tuple[networkx.DiGraph, Hashable]:
    """Return the graph and its root; refuse a graph that is not directed, and a root that is not one."""
    networkx = library("networkx", "networkx", "NetworkxGraph")
    if not isinstance(graph, networkx.DiGraph) or graph.is_multigraph():
        what = "a directed graph of networkx without parallel edges (networkx.DiGraph)"
        raise TypeError(f"graph must be {what}, got {type(graph).__name__}")
    if root is None:
        possible = [node for node, edges in graph.in_degree() if not edges]
        if len(possible) != 1:
            raise ValueError(f"root must be given, because {len(possible)} nodes have no edge that enters, got None")
        root = possible[0]
    if root not in graph:
        raise ValueError(f"root must be a node of the graph, got {shown(root)}")
    return graph, root
