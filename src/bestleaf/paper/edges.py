"""The graph of a UCT search: the edges that descents may take, and the samples of each edge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from bestleaf.checks import shown
from bestleaf.engine.graph import GrowingGraph
from bestleaf.engine.records import EXACT, Workplace, enlarged
from bestleaf.paper.kernels import CROSSING, DESCENT, EDGE, SAMPLED, UNKNOWN_VALUE, judged_mean, moment, refresh_above
from bestleaf.problems import Problem, State


class Arm(NamedTuple):
    """A child of the root: its state, how often it was visited, and the mean of its samples."""

    state: State
    visits: float
    mean: float


class EdgeStatistics:
    """Nodes, edges and their samples, in arrays for the kernels.

    The graph knows all parents of a node from the start. Descents take an edge only after `connect` has made it.
    """

    def __init__(self, problem: Problem, fields: dict[str, float]) -> None:
        self.graph = GrowingGraph.opening(problem, with_children=False)
        self._place = Workplace(DESCENT)
        self._place.set(moment=moment.address, **fields)
        self.world = self._place.record  # what the kernels read and write
        self.crossings = np.zeros(64, CROSSING)  # by node
        self.edges = np.zeros(256, EDGE)
        self.used = 0  # edges
        self._known = 0  # nodes
        self._take_in_nodes()

    def node_of(self, state: State) -> tuple[int, bool]:
        """Return the node of a state, and whether it is new in the graph."""
        if (node := self.graph.node_of.get(state)) is not None:
            return node, False
        node, _ = self.graph.add(state)
        self._take_in_nodes()
        return node, True

    def _take_in_nodes(self) -> None:
        """Make room for the new nodes of the graph and tell the kernels where the arrays are."""
        graph, new, arrays = self.graph, slice(self._known, len(self.graph)), self._place.arrays
        if graph.cyclic:  # descents would go in circles
            raise ValueError(f"UCT needs a graph without cycles, but {shown(graph.states[-1])} leads back to itself")
        self._known = len(graph)
        self.crossings = enlarged(self.crossings, self._known)
        self.crossings[new] = 0
        for name in ("first_out", "last_out", "first_in"):
            self.crossings[name][new] = -1
        self.crossings["value"][new] = np.where(graph.nodes["kind"][new] == EXACT, UNKNOWN_VALUE, SAMPLED)
        self.crossings["children"][new] = graph.nodes["missing"][new] + graph.nodes["child_count"][new]
        nothing, room = np.zeros(0, np.int64), graph.depth + 2
        self._place.point(
            graph=graph.nodes,
            crossings=self.crossings,
            edges=self.edges,
            path=enlarged(arrays.get("path", nothing), room),
            trail=enlarged(arrays.get("trail", nothing), room),
            bucket=enlarged(arrays.get("bucket", nothing), room, -1),
            stack=enlarged(arrays.get("stack", nothing), self._known),
        )

    def connect(self, tail: int, head: int) -> None:
        """Make an edge from the node `tail` to the node `head`."""
        edge, crossing = self.used, self.crossings[tail]
        self.used += 1
        if self.used > len(self.edges):
            self.edges = enlarged(self.edges, self.used)
            self._place.point(edges=self.edges)
        entering = self.crossings["first_in"][head]
        for name, value in (("tail", tail), ("head", head), ("next_out", -1), ("next_in", entering)):
            self.edges[name][edge] = value
        if crossing["last_out"] >= 0:
            self.edges["next_out"][crossing["last_out"]] = edge
        else:
            crossing["first_out"] = edge
        crossing["last_out"] = edge
        crossing["arms"] += 1
        self.crossings["first_in"][head] = edge
        if self.world["deep"]:
            refresh_above(tail, self.world)

    def leaving(self, node: int) -> Iterator[int]:
        """Yield the edges that leave a node, in the order they were made."""
        edge = int(self.crossings["first_out"][node])
        while edge >= 0:
            yield edge
            edge = int(self.edges["next_out"][edge])

    def below(self, node: int) -> np.ndarray:
        """Return a node and all nodes that descents can reach from it."""
        found, waiting = {node}, [node]
        while waiting:
            heads = {int(self.edges["head"][edge]) for edge in self.leaving(waiting.pop())}
            waiting += heads - found
            found |= heads
        return np.fromiter(found, np.int64)

    def mean(self, edge: int) -> float:
        """Return the mean of an edge at the depth of the variant."""
        return float(judged_mean(edge, self.world))

    def arms(self) -> tuple[Arm, ...]:
        """Return the children of the root that are in the graph."""
        states, heads, counts = self.graph.states, self.edges["head"], self.edges["count"]
        return tuple(Arm(states[heads[edge]], float(counts[edge]), self.mean(edge)) for edge in self.leaving(0))

    def recommended(self, by: str) -> list[int]:
        """Return the path from the root that takes the edge of most "visits" or best "mean" at every node."""
        path = [0]
        while edges := [edge for edge in self.leaving(path[-1]) if self.edges["count"][edge] > 0]:
            sign = -1.0 if self.graph.nodes["minimizes"][path[-1]] else 1.0
            counts = self.edges["count"]
            best = max(edges, key=lambda edge: counts[edge] if by == "visits" else sign * self.mean(edge))
            path.append(int(self.edges["head"][best]))
        return path
