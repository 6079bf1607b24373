"""The growing single-rooted DAG: add a node, link it to every parent and child already there."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from bestleaf._records import EXACT, INNER, NODE, NOISY, TEMPORARY, Graph, enlarged
from bestleaf.checks import shown

MAX_NODES = 5_000_000  # about 3 GB of records and states

AT_ONCE = 1000  # nodes that are built between two looks at the limits
A_BUILT_NODE = 1000  # bytes of a node of a whole graph: the state, its records, what is known of it
AN_EDGE = 60  # bytes of an edge while a whole graph is built: twice in lists, twice in the pool


class Limits(Protocol):
    """The part of a budget that the building of a whole graph asks."""

    max_time: float | None
    max_memory: int | None

    @property
    def half_over(self) -> bool:
        """Whether more than half of the time is over."""


def check_limits(budget: Limits, nodes: int, edges: int) -> None:
    """Raise one sentence if a graph takes more time or memory than a search may.

    A graph that was walked has still to be linked, given intervals and listed in the result, which takes as long again.
    """
    needed, limit = A_BUILT_NODE * nodes + AN_EDGE * edges, budget.max_memory
    if budget.half_over:
        exceeded = f"max_time={budget.max_time:g}"
    elif limit is not None and needed > limit:
        exceeded = f"max_memory={limit}"
    else:
        return
    raise ValueError(
        f"{exceeded} is not enough to build and search the whole graph, of which {nodes:,} nodes were met; give "
        "expansion=b to grow it instead"
    )


class Description(NamedTuple):
    """What the problem says of a state."""

    state: Any
    label: Any
    terminal: bool
    minimizes: bool
    children: dict[Any, None]  # in the problem's order, each once; empty when the problem knows parents


class ListedRelatives:
    """Who is next to whom, for a problem that lists children: every node keeps the children that are not there yet."""

    def __init__(self, graph: GrowingGraph) -> None:
        self.graph = graph
        self._absent: list[dict[Any, None]] = []  # children in D but not in D_t, in the problem's order
        self._wanted: dict[Any, list[int]] = {}  # state not in D_t -> nodes that have it as a child
        self.remembered = 0  # children not in D_t, each as often as it is listed

    def meet(self, node: int, given: Description) -> tuple[list[int], list[int], int]:
        """Return (parents in D_t, children in D_t, number of children missing) of a node that enters."""
        node_of = self.graph.node_of
        present = [node_of[child] for child in given.children if child in node_of]
        self._absent.append({child: None for child in given.children if child not in node_of})
        for child in self._absent[node]:
            self._wanted.setdefault(child, []).append(node)
        parents = self._wanted.pop(given.state, [])
        for parent in parents:
            del self._absent[parent][given.state]
        self.remembered += len(self._absent[node]) - len(parents)
        return parents, present, len(self._absent[node])

    def absent(self, node: int) -> Iterable[Any]:
        """Return the children of a node that are not in D_t."""
        return self._absent[node]


class AbsentParents:
    """Which nodes have a state that is not in D_t as a parent: a table, for a problem that has nothing better."""

    def __init__(self, problem: Any, node_of: dict[Any, int]) -> None:
        self.problem = problem
        self.node_of = node_of
        self._waiting: dict[Any, list[int]] = {}
        self.remembered = 0

    def enter(self, node: int, state: Any) -> None:
        """Note the parents of a new node."""
        for parent in self.problem.parents(state):
            if parent not in self.node_of:
                self._waiting.setdefault(parent, []).append(node)
                self.remembered += 1

    def children_of(self, state: Any) -> list[int]:
        """Return the nodes that are children of a state that enters now."""
        found = self._waiting.pop(state, [])
        self.remembered -= len(found)
        return found


class KnownParents:
    """The same for a problem that knows the parents of a state: the children of a wide node are never listed."""

    def __init__(self, graph: GrowingGraph) -> None:
        self.graph = graph
        kind = getattr(graph.problem, "family", None) or partial(AbsentParents, graph.problem)
        self._family = kind(graph.node_of)

    def meet(self, node: int, given: Description) -> tuple[list[int], list[int], int]:
        """Return (parents in D_t, children in D_t, number of children missing) of a node that enters."""
        problem, node_of = self.graph.problem, self.graph.node_of
        parents = [node_of[parent] for parent in problem.parents(given.state) if parent in node_of]
        present = self._family.children_of(given.state)
        self._family.enter(node, given.state)
        many = 0 if given.terminal else problem.count_children(given.state)
        return parents, present, many - len(present)

    @property
    def remembered(self) -> int:
        """How many parents that are not in D_t are remembered, each as often as a node has it."""
        return self._family.remembered

    def absent(self, node: int) -> Iterable[Any]:
        """Return the children of a node that are not in D_t."""
        graph = self.graph
        children = dict.fromkeys(graph.problem.children(graph.states[node]))
        linked = set(graph.linked("child", node).tolist())
        for child in children:
            if child in graph.node_of and graph.node_of[child] not in linked:
                raise contradiction(child)
        return [child for child in children if child not in graph.node_of]


def contradiction(child: Any) -> ValueError:
    """Return the complaint about a state whose parents are not those that have it as a child."""
    return ValueError(f"parents({shown(child)}) must name every state whose children() lists it, but lacks one")


class GrowingGraph:
    """D_t as flat records for the kernels, and the states behind the nodes for the problem."""

    def __init__(self, problem: Any) -> None:
        self.problem = problem
        self.two_player = hasattr(problem, "maximizes")
        self.states: list[Any] = []
        self.node_of: dict[Any, int] = {}
        self.labels: dict[Any, int] = {}
        self._first_of: dict[int, int] = {}  # the first node with each label
        self.knows_parents = all(callable(getattr(problem, name, None)) for name in ("parents", "count_children"))
        self.relatives = KnownParents(self) if self.knows_parents else ListedRelatives(self)
        self.nodes = np.zeros(64, NODE)
        self.nodes["adversarial"][0] = self.two_player
        self.edges = np.zeros(256, np.int64)
        self._used = 0
        self._room: dict[tuple[str, int], int] = {}

    def __len__(self) -> int:
        return len(self.states)

    @property
    def record(self) -> Graph:
        """What the kernels see."""
        return Graph(self.nodes, self.edges)

    @property
    def adversarial(self) -> bool:
        """Whether an opponent moves somewhere."""
        return bool(self.nodes["adversarial"][0])

    @property
    def depth(self) -> int:
        """The largest level."""
        return int(self.nodes["level"][: len(self)].max(initial=0))

    @property
    def kinds(self) -> np.ndarray:
        """The kind of every node."""
        return self.nodes["kind"][: len(self)]

    def linked(self, side: str, node: int) -> np.ndarray:
        """Return the nodes on one `side` ("child" or "parent") of a node."""
        start = self.nodes[f"{side}_start"][node]
        return self.edges[start : start + self.nodes[f"{side}_count"][node]]

    def arrows(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (parents, children), the two ends of every edge."""
        size = len(self)
        starts, counts = self.nodes["child_start"][:size], self.nodes["child_count"][:size]
        first = np.cumsum(counts) - counts
        places = np.arange(counts.sum()) + np.repeat(starts - first, counts)
        return np.repeat(np.arange(size), counts), self.edges[places]

    def _append(self, side: str, node: int, other: int) -> None:
        """Add to a list of links; a full list moves to the end of the pool with twice the room."""
        old = self.linked(side, node)
        room = self._room.get((side, node), 0)
        if len(old) == room:
            room = max(4, 2 * room)
            self.edges = enlarged(self.edges, self._used + room)
            self.edges[self._used : self._used + len(old)] = old
            self.nodes[f"{side}_start"][node] = self._used
            self._room[side, node] = room
            self._used += room
        self.edges[self.nodes[f"{side}_start"][node] + len(old)] = other
        self.nodes[f"{side}_count"][node] += 1

    def describe(self, state: Any, *, listed: bool = True) -> Description:
        """Ask the problem everything about a state (its children only if `listed`), changing nothing."""
        problem = self.problem
        label = problem.label(state) if hasattr(problem, "label") else state
        try:
            hash(state), hash(label)
        except TypeError as error:
            raise TypeError(f"states and labels must be hashable, got {shown(state)}: {error}") from None
        if problem.is_terminal(state):
            return Description(state, label, True, False, {})
        children = self._children(state) if listed else {}
        return Description(state, label, False, self.two_player and not problem.maximizes(state), children)

    def _children(self, state: Any) -> dict[Any, None]:
        children = self.problem.children(state)
        try:
            children = dict.fromkeys(children)
        except TypeError as error:
            raise TypeError(f"children({shown(state)}) must list hashable states: {error}") from None
        if not children and self.states:
            raise ValueError(
                f"children({shown(state)}) is empty but is_terminal({shown(state)}) is False; one must be right"
            )
        return children

    def _enter(self, given: Description) -> int:
        """Give a described state its number."""
        node = len(self.states)
        self.node_of[given.state] = node
        self.states.append(given.state)
        self.nodes = enlarged(self.nodes, node + 1)
        label = self.labels.setdefault(given.label, len(self.labels))
        first = self._first_of.setdefault(label, node)
        twins = self.nodes["twin"]
        twins[node] = node if first == node else twins[first]
        twins[first] = node
        self.nodes["label"][node] = label
        self.nodes["minimizes"][node] = given.minimizes
        return node

    def _leaf_kind(self, terminal: bool) -> int:
        if not terminal:
            return TEMPORARY
        return EXACT if hasattr(self.problem, "exact") else NOISY

    def add(self, state: Any) -> tuple[int, list[int]]:
        """Add a state with all its links; return its node and the nodes that stop being leaves."""
        given = self.describe(state, listed=not self.knows_parents)
        node = self._enter(given)
        parents, present, many = self.relatives.meet(node, given)
        if node > 0 and not parents:
            raise contradiction(state)
        kind, missing = self.nodes["kind"], self.nodes["missing"]
        missing[node] = many
        kind[node] = INNER if present else self._leaf_kind(given.terminal)
        relieved = [parent for parent in parents if kind[parent] != INNER]
        for parent in parents:
            self._link(parent, node)
            missing[parent] -= 1
            kind[parent] = INNER
        for child in present:
            self._link(node, child)
        return node, relieved

    def _link(self, parent: int, child: int) -> None:
        self._append("child", parent, child)
        self._append("parent", child, parent)
        self._sink(parent, child)

    def _sink(self, parent: int, child: int) -> None:
        """Lower `child` and what hangs below it until every edge goes to a larger level."""
        level = self.nodes["level"]
        pending = [(parent, child)]
        while pending:
            above, below = pending.pop()
            if level[below] > level[above]:
                continue
            if below in (parent, 0):
                raise self._cycle(below)
            level[below] = level[above] + 1
            pending += [(below, int(lower)) for lower in self.linked("child", below)]

    def _cycle(self, node: int) -> ValueError:
        state = self.states[node]
        return ValueError(f"the graph must have no cycles, but children() leads from {shown(state)} back to itself")

    @classmethod
    def opening(cls, problem: Any, *, with_children: bool = True) -> GrowingGraph:
        """Return the first graph of a growing search: the root and its children, or the root alone."""
        graph = cls(problem)
        graph.add(problem.root())
        if with_children:
            for child in list(graph.relatives.absent(0)):
                graph.add(child)
        return graph

    @classmethod
    def whole(cls, problem: Any, budget: Limits | None = None) -> GrowingGraph:
        """Return the complete graph D, walked breadth first; a budget that does not allow it is an error."""
        graph = cls(problem)
        queue, met = [problem.root()], graph.node_of
        lists: list[list[int]] = []
        edges = 0
        for state in queue:  # grows while it is walked; a state is in it at the place that is its number
            given = graph.describe(state)
            node = graph._enter(given)
            graph.nodes["kind"][node] = INNER if given.children else graph._leaf_kind(given.terminal)
            below = []
            for child in given.children:
                if (number := met.setdefault(child, len(queue))) == len(queue):
                    queue.append(child)
                below.append(number)
            lists.append(below)
            edges += len(below)
            if len(queue) > MAX_NODES:
                raise ValueError(f"the graph has more than {MAX_NODES:,} nodes; give expansion=b to grow it instead")
            if node % AT_ONCE == AT_ONCE - 1 and budget is not None:
                check_limits(budget, len(queue), edges)
        graph._adopt(lists)
        return graph

    def _adopt(self, children: list[list[int]]) -> None:
        """Take all edges of a complete graph at once."""
        parents: list[list[int]] = [[] for _ in children]
        for node, below in enumerate(children):
            for child in below:
                parents[child].append(node)
        blocks = [*children, *parents]
        counts = np.array([len(block) for block in blocks], np.int64)
        starts = np.cumsum(counts) - counts
        self.edges = np.array([node for block in blocks for node in block] or [0], np.int64)
        size = len(children)
        for side, part in (("child", slice(0, size)), ("parent", slice(size, None))):
            self.nodes[f"{side}_start"][:size] = starts[part]
            self.nodes[f"{side}_count"][:size] = counts[part]
        self.nodes["adversarial"][0] = self.nodes["minimizes"].any()
        self._level_all(children, parents)

    def _level_all(self, children: list[list[int]], parents: list[list[int]]) -> None:
        """Set the level of every node to its longest path from the root, in topological order."""
        level = [0] * len(children)
        waiting = [len(above) for above in parents]
        ready = [node for node, count in enumerate(waiting) if count == 0]
        for node in ready:  # grows while it is walked
            for child in children[node]:
                level[child] = max(level[child], level[node] + 1)
                waiting[child] -= 1
                if waiting[child] == 0:
                    ready.append(child)
        if len(ready) < len(children):
            node, met = next(n for n, count in enumerate(waiting) if count > 0), set()
            while node not in met:
                met.add(node)
                node = next(above for above in parents[node] if waiting[above] > 0)
            raise self._cycle(node)
        self.nodes["level"][: len(level)] = level

    def frozen_copy(self) -> GrowingGraph:
        """Return a graph with records of its own on the same states and edges; it must not grow."""
        other = copy(self)
        other.nodes = self.nodes.copy()
        return other

    def has_twin_arms(self) -> bool:
        """Whether two children of the root reach exactly the same leaves."""
        below: list[frozenset[int]] = []
        for arm in self.linked("child", 0).tolist():
            seen, stack = {arm}, [arm]
            while stack:
                fresh = set(self.linked("child", stack.pop()).tolist()) - seen
                seen |= fresh
                stack += fresh
            labels = self.nodes["label"][list(seen)][self.kinds[list(seen)] != INNER]
            below.append(frozenset(labels.tolist()))
        return len(set(below)) < len(below)
