"""What the UCT family knows: statistics on the edges of the graph, in records for the kernels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bestleaf._kernels.descent import SAMPLED, UNKNOWN_VALUE, edge_count, edge_mean, judged_mean, refresh_above
from bestleaf._records import CROSSING, DESCENT, EDGE, EXACT, Workplace, enlarged
from bestleaf.graph import GrowingGraph

NEW_CROSSING = np.zeros(1, CROSSING)
for _name in ("first_out", "last_out", "first_in"):
    NEW_CROSSING[_name] = -1


class Statistics:
    """Edges that descents may take, and what came of them.

    The graph links a node to all its parents; an edge is taken only once it is connected here.
    """

    def __init__(self, graph: GrowingGraph, settings: dict[str, Any]) -> None:
        self.graph = graph
        self.place = Workplace(DESCENT)
        self.place.set(edge_mean=edge_mean.address, edge_count=edge_count.address, **settings)
        self.crossings = np.zeros(64, CROSSING)
        self.edges = np.zeros(256, EDGE)
        self.used = 0  # edges
        self.known = 0  # nodes
        self.survey()
        if self.world["deep"]:
            refresh_above(0, self.world)  # compiles before any clock runs

    @property
    def world(self) -> Any:
        """What the kernels see."""
        return self.place.record

    def survey(self) -> None:
        """Take in new nodes of the graph and write down where the arrays lie."""
        graph, size = self.graph, len(self.graph)
        self.crossings = enlarged(self.crossings, size)
        nodes = graph.nodes[self.known : size]
        self.crossings[self.known : size] = NEW_CROSSING
        self.crossings["value"][self.known : size] = np.where(nodes["kind"] == EXACT, UNKNOWN_VALUE, SAMPLED)
        self.crossings["children"][self.known : size] = nodes["missing"] + nodes["child_count"]
        self.known = size
        arrays = self.place.arrays
        self.place.point(
            graph=graph.nodes,
            crossings=self.crossings,
            edges=self.edges,
            path=enlarged(arrays.get("path", np.zeros(16, np.int64)), graph.depth + 2),
            trail=enlarged(arrays.get("trail", np.zeros(16, np.int64)), graph.depth + 2),
            bucket=enlarged(arrays.get("bucket", np.full(16, -1, np.int64)), graph.depth + 2, -1),
            stack=enlarged(arrays.get("stack", np.zeros(64, np.int64)), size),
        )

    def connect(self, tail: int, head: int, child: int = -1, prior: float = 0.0) -> int:
        """Let descents go from one node to another (-1: to a child that is not in the graph yet); return the edge."""
        edge = self.used
        self.used += 1
        if self.used > len(self.edges):
            self.edges = enlarged(self.edges, self.used)
            self.place.point(edges=self.edges)
        self.edges[edge] = np.zeros(1, EDGE)[0]
        record, crossing = self.edges[edge], self.crossings[tail]
        record["tail"], record["head"], record["child"], record["prior"] = tail, -1, child, prior
        record["next_out"] = record["next_in"] = -1
        if crossing["last_out"] >= 0:
            self.edges["next_out"][crossing["last_out"]] = edge
        else:
            crossing["first_out"] = edge
        crossing["last_out"] = edge
        crossing["arms"] += 1
        if head >= 0:
            self.lead(edge, head)
        return edge

    def lead(self, edge: int, head: int) -> None:
        """Give an edge the node it leads to."""
        self.edges["head"][edge] = head
        self.edges["next_in"][edge] = self.crossings["first_in"][head]
        self.crossings["first_in"][head] = edge
        if self.world["deep"]:
            refresh_above(int(self.edges["tail"][edge]), self.world)

    def leaving(self, node: int) -> Iterator[int]:
        """Yield the edges that leave a node, in the order they were made."""
        edge = int(self.crossings["first_out"][node])
        while edge >= 0:
            yield edge
            edge = int(self.edges["next_out"][edge])

    def below(self, node: int) -> np.ndarray:
        """Return a node and all that descents can reach from it."""
        found, waiting = {node}, [node]
        while waiting:
            heads = {int(self.edges["head"][edge]) for edge in self.leaving(waiting.pop())} - {-1}
            waiting += heads - found
            found |= heads
        return np.fromiter(found, np.int64)

    def mean(self, edge: int) -> float:
        """Return the mean by which an edge is judged."""
        return float(judged_mean(edge, self.world))

    def best(self, node: int, by: str) -> int:
        """Return the edge of a node that is recommended, by "visits" or "mean" (ties: the first); -1 for none."""
        edges = [edge for edge in self.leaving(node) if self.edges["count"][edge] > 0]
        sign = -1.0 if self.graph.nodes["minimizes"][node] else 1.0
        if by == "visits":
            return max(edges, key=lambda edge: self.edges["count"][edge], default=-1)
        return max(edges, key=lambda edge: sign * self.mean(edge), default=-1)

    def recommended(self, by: str) -> list[int]:
        """Return the nodes of the recommended way from the root down."""
        way = [0]
        while (edge := self.best(way[-1], by)) >= 0:
            way.append(int(self.edges["head"][edge]))
        return way
