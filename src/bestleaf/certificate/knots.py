"""Cycles in the graph of a certificate: nodes that reach each other, and the bounds that follow for them.

Nodes that all reach each other are a knot. Its bounds are computed again here without the code of the search, and in
another way: by approaching them from the value of play that never ends.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter

from bestleaf.certificate.schema import Content, need


def groups_of(children: list[list[int]]) -> list[list[int]]:
    """Return the nodes in groups that reach each other, each group before those that it leads to."""
    try:
        return [[node] for node in TopologicalSorter(dict(enumerate(children))).static_order()][::-1]
    except CycleError:
        return _strong_components(children)[::-1]


def _strong_components(children: list[list[int]]) -> list[list[int]]:
    """Return the strong components, each after those that it leads to (Tarjan's algorithm without recursion)."""
    number: dict[int, int] = {}  # node -> when it was met
    oldest: dict[int, int] = {}  # node -> the earliest number that is known to be reached from it
    done: set[int] = set()
    found: list[list[int]] = []
    for root in range(len(children)):
        if root in number:
            continue
        path, waiting = [root], [(root, iter(children[root]))]
        number[root] = oldest[root] = len(number)
        while waiting:
            node, rest = waiting[-1]
            for child in rest:
                if child not in number:
                    number[child] = oldest[child] = len(number)
                    path.append(child)
                    waiting.append((child, iter(children[child])))
                    break
                if child not in done:
                    oldest[node] = min(oldest[node], number[child])
            else:
                waiting.pop()
                if waiting:
                    above = waiting[-1][0]
                    oldest[above] = min(oldest[above], oldest[node])
                if oldest[node] == number[node]:
                    group = [path.pop()]
                    while group[-1] != node:
                        group.append(path.pop())
                    found.append(sorted(group))
                    done.update(group)
    return found


def is_knot(group: list[int], children: list[list[int]]) -> bool:
    """Whether there is a cycle in a group of nodes that reach each other."""
    return len(group) > 1 or group[0] in children[group[0]]


class Knot:
    """A group of nodes with a cycle, and what play that never leaves it is worth."""

    def __init__(self, group: list[int], graph: Content) -> None:
        children, minimizes = graph["children"], set(graph["minimizes"])
        self.children = {node: children[node] for node in group}
        self.minimizes = minimizes.intersection(group)
        self.parents: dict[int, list[int]] = {node: [] for node in group}
        for node in group:
            for child in children[node]:
                if child in self.parents:
                    self.parents[child].append(node)
        self.ends = self._ends(graph)

    def _ends(self, graph: Content) -> tuple[float, float]:
        """Return the interval of play that never ends; where the values of states differ, it holds all of them.

        One player gets 0. If nothing is written, the one who could leave is to blame. If both could, or none, nothing
        is known.
        """
        if not graph["two_player"]:
            return 0.0, 0.0
        written = [one for one in graph.get("endless", ()) if one["node"] in self.children]
        if written:
            return min(one["lower"] for one in written), max(one["upper"] for one in written)
        leaving = {node for node, below in self.children.items() if set(below) - self.parents.keys()}
        opponent_can, player_can = bool(leaving & self.minimizes), bool(leaving - self.minimizes)
        if opponent_can == player_can:
            return 0.0, 1.0
        return (1.0, 1.0) if opponent_can else (0.0, 0.0)

    def bounds(self, outside: list[float], end: float) -> dict[int, float]:
        """Return the bounds of all nodes of the knot from those outside; play that never ends is worth `end`."""
        gained, lost = self._approached(outside, end, rising=True), self._approached(outside, end, rising=False)
        return {node: gained[node] if gained[node] > end else lost[node] for node in self.children}

    def _approached(self, outside: list[float], end: float, *, rising: bool) -> dict[int, float]:
        """Return what is worth more than `end` (less, if not `rising`); everything else is worth `end` here."""
        value, waiting = dict.fromkeys(self.children, end), deque(self.children)
        beyond = max if rising else min
        while waiting:
            node = waiting.popleft()
            best = min if node in self.minimizes else max
            now = beyond(end, best(value[one] if one in value else outside[one] for one in self.children[node]))
            if now != value[node]:
                value[node] = now
                waiting.extend(self.parents[node])
        return value


def check_endless(graph: Content, groups: Iterable[list[int]]) -> None:
    """Check that the values of play without end belong to exactly the nodes on cycles of a two-player graph."""
    written = graph.get("endless")
    if written is None:
        return
    need(graph["two_player"], "play without end has a value of its own only in a game of two players")
    on_cycles = sorted(node for group in groups if is_knot(group, graph["children"]) for node in group)
    listed = sorted(one["node"] for one in written)
    need(listed == on_cycles != [], "play without end must have a value for each node on a cycle, and for no other")
    need(all(one["lower"] <= one["upper"] for one in written), "a value of play without end must have lower <= upper")
