"""The graph of the search, a directed graph with one root that grows node by node.

D is the complete graph of the problem, D_t the current graph. A node that enters is linked to all its parents and
children in D_t. There is one exception: if all its children in D_t lead back to it and others are missing, it stays a
temporary leaf, and the links to these children wait until another child enters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from bestleaf.checks import shown
from bestleaf.engine.components import (
    Chances,
    chances_of,
    checked_endless,
    closing_children,
    component_around,
    longest_paths,
    ordered,
    reaches_leaf,
    short_of_leaves,
)
from bestleaf.engine.records import EXACT, INNER, NODE, NOISY, TEMPORARY, enlarged
from bestleaf.problems import Problem, State

MAX_NODES = 5_000_000  # about 3 GB of records and states


class Description(NamedTuple):
    """What the problem says about a state."""

    state: State
    label: State
    terminal: bool
    minimizes: bool
    children: dict[State, None]  # in the problem's order, each once; empty when the problem knows parents
    chances: Chances | None = None  # where chance decides: the probability of each child


class ListedRelatives:
    """Finds parents and children of new nodes if the problem only lists children: it remembers all absent children."""

    def __init__(self, graph: GrowingGraph) -> None:
        self.graph = graph
        self._absent: list[dict[State, None]] = []  # by node: its children not in D_t, in the problem's order
        self._wanted: dict[State, list[int]] = {}  # state not in D_t -> nodes that have it as a child
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

    def absent(self, node: int) -> Iterable[State]:
        """Return the children of a node that are not in D_t."""
        return self._absent[node]


class AbsentParents:
    """A table of states that are not in D_t: for each, the nodes in D_t that are its children.

    A problem may bring a faster table with the same methods: ``family(node_of)`` returns it.
    """

    def __init__(self, problem: Any, node_of: dict[State, int]) -> None:
        self.problem = problem
        self.node_of = node_of
        self.waiting: dict[State, list[int]] = {}
        self.remembered = 0

    def enter(self, node: int, state: State) -> None:
        """Note the parents of a new node."""
        for parent in self.problem.parents(state):
            if parent not in self.node_of:
                self.waiting.setdefault(parent, []).append(node)
                self.remembered += 1

    def children_of(self, state: State) -> list[int]:
        """Return the nodes that are children of a state that enters now."""
        found = self.waiting.pop(state, [])
        self.remembered -= len(found)
        return found


class KnownParents:
    """Finds parents and children of new nodes if the problem knows parents; it need not list the children of a node."""

    def __init__(self, graph: GrowingGraph) -> None:
        self.graph = graph
        family = getattr(graph.problem, "family", None) or partial(AbsentParents, graph.problem)
        self._family = family(graph.node_of)

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
        """How many parents not in D_t are remembered, each once for every node below it."""
        return self._family.remembered

    def absent(self, node: int) -> Iterable[State]:
        """Return the children of a node that are not in D_t."""
        graph = self.graph
        children = dict.fromkeys(graph.problem.children(graph.states[node]))
        linked = {*graph.linked("child", node).tolist(), *graph.waiting.get(node, ())}
        for child in children:
            if child in graph.node_of and graph.node_of[child] not in linked:
                raise contradiction(child)
        return [child for child in children if child not in graph.node_of]


def contradiction(child: State) -> ValueError:
    """Return the error for a problem whose `parents` and `children` do not agree about a state."""
    return ValueError(f"parents({shown(child)}) must name every state whose children() lists it, but lacks one")


class GrowingGraph:
    """The current graph D_t: records of nodes and edges for the kernels, and the state of each node."""

    def __init__(self, problem: Problem) -> None:
        self.problem: Any = problem  # with the methods that only some problems have
        self.two_player = hasattr(problem, "maximizes")
        self.has_chance = hasattr(problem, "chance")
        self.states: list[Any] = []
        self.node_of: dict[State, int] = {}
        self.labels: dict[State, int] = {} if hasattr(problem, "label") else self.node_of
        self._first_of: list[int] = []  # the first node with each label, unless every state is its own label
        self.knows_parents = all(callable(getattr(problem, name, None)) for name in ("parents", "count_children"))
        self.knows_parents &= not self.has_chance  # the children of a chance node have to be listed
        self.relatives = KnownParents(self) if self.knows_parents else ListedRelatives(self)
        self.nodes = np.zeros(64, NODE)
        self.nodes["adversarial"][0] = self.two_player or self.has_chance
        self.edges = np.zeros(256, np.int64)
        self.weights = np.zeros(256 if self.has_chance else 1)  # by edge: the probability of a child of a chance node
        self._chances: dict[int, Chances] = {}  # by chance node
        self._used = 0
        self._room: dict[tuple[str, int], int] = {}
        self.cyclic = False  # some child leads back to its parent
        self.has_components = False  # there are components: not all links that close a cycle wait
        self.waiting: dict[int, list[int]] = {}  # temporary leaf -> its children in D_t, which all lead back to it
        self.endless: dict[int, tuple[float, float]] = {}  # what play without end is worth, by node of a component
        self.ends = np.full((64, 2), np.nan)  # of a component, at its oldest node; NaN where the problem is silent

    def __len__(self) -> int:
        return len(self.states)

    @property
    def adversarial(self) -> bool:
        """Whether an opponent moves or chance decides somewhere."""
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
        """Return (parents, children): the two nodes of every edge."""
        size = len(self)
        starts, counts = self.nodes["child_start"][:size], self.nodes["child_count"][:size]
        first = np.cumsum(counts) - counts
        places = np.arange(counts.sum()) + np.repeat(starts - first, counts)
        return np.repeat(np.arange(size), counts), self.edges[places]

    def _append(self, side: str, node: int, other: int) -> None:
        """Add a link to one side of a node; a full list of links moves to the end of the edges, with twice the room."""
        old = self.linked(side, node)
        room = self._room.get((side, node), 0)
        if len(old) == room:
            room = max(4, 2 * room)
            self.edges = enlarged(self.edges, self._used + room)
            self.edges[self._used : self._used + len(old)] = old
            if self.has_chance:
                start = self.nodes[f"{side}_start"][node]
                self.weights = enlarged(self.weights, len(self.edges))
                self.weights[self._used : self._used + len(old)] = self.weights[start : start + len(old)]
            self.nodes[f"{side}_start"][node] = self._used
            self._room[side, node] = room
            self._used += room
        self.edges[self.nodes[f"{side}_start"][node] + len(old)] = other
        self.nodes[f"{side}_count"][node] += 1

    def describe(self, state: State, *, listed: bool = True) -> Description:
        """Ask the problem about a state (about its children only if `listed`); the graph does not change."""
        problem = self.problem
        label = problem.label(state) if hasattr(problem, "label") else state
        try:
            hash(state), hash(label)
        except TypeError as error:
            raise TypeError(f"states and labels must be hashable, got {shown(state)}: {error}") from None
        if problem.is_terminal(state):
            return Description(state, label, True, False, {})
        children = self._children(state) if listed else {}
        if self.has_chance and (chances := chances_of(problem, state)) is not None:
            return Description(state, label, False, False, dict.fromkeys(chances), chances)
        return Description(state, label, False, self.two_player and not problem.maximizes(state), children)

    def _children(self, state: State) -> dict[State, None]:
        children = self.problem.children(state)
        try:
            children = dict.fromkeys(children)
        except TypeError as error:
            raise TypeError(f"children({shown(state)}) must list hashable states: {error}") from None
        if not children and self.states:
            raise ValueError(
                f"children({shown(state)}) is empty but is_terminal({shown(state)}) is False; one of them is wrong"
            )
        return children

    def _enter(self, given: Description) -> int:
        """Make a state a node; return the number of the node."""
        node = len(self.states)
        self.node_of[given.state] = node
        self.states.append(given.state)
        self.nodes = enlarged(self.nodes, node + 1)
        twins, label = self.nodes["twin"], node
        twins[node] = node
        if self.labels is not self.node_of:
            label = self.labels.setdefault(given.label, len(self.labels))
            if label == len(self._first_of):
                self._first_of.append(node)
            first = self._first_of[label]
            twins[node], twins[first] = twins[first], node
        self.nodes["label"][node] = label
        self.nodes["minimizes"][node] = given.minimizes
        if given.chances is not None:
            self.nodes["chance"][node] = 1
            self._chances[node] = given.chances
        return node

    def _leaf_kind(self, terminal: bool) -> int:
        if not terminal:
            return TEMPORARY
        return EXACT if hasattr(self.problem, "exact") else NOISY

    def add(self, state: State) -> tuple[int, list[int]]:
        """Add a state with all its links; return its node and the nodes that are no longer leaves."""
        given = self.describe(state, listed=not self.knows_parents)
        node = self._enter(given)
        parents, present, many = self.relatives.meet(node, given)
        if node in parents:  # the state is its own child
            parents.remove(node)
            present, many = [*present, node], many - 1
        if node > 0 and not parents:
            if self.knows_parents:
                raise contradiction(state)
            raise ValueError(f"a state that enters the graph must be a child of one in it, got {shown(state)}")
        kind, missing = self.nodes["kind"], self.nodes["missing"]
        missing[node] = many
        relieved = [parent for parent in parents if kind[parent] != INNER]
        links = [(parent, node) for parent in parents]
        waited = [(parent, child) for parent in relieved for child in self.waiting.pop(parent, ())]
        for parent, child in links + waited:
            self._link(parent, child)
        for parent in parents:
            missing[parent] -= 1
            kind[parent] = INNER
        closing = closing_children(self, node, parents, present)
        self.cyclic |= bool(closing)
        if closing and many > 0 and len(closing) == len(present):
            self.waiting[node] = present
            present = []
        kind[node] = INNER if present else self._leaf_kind(given.terminal)
        for child in present:
            self._link(node, child)
            links.append((node, child))
        turned = dict.fromkeys(parent for parent, _ in waited)  # they are on cycles now
        joined = {parent: component_around(self, parent) for parent in turned} if not present else {}
        if (present and (closing or self.has_components)) or not all(joined.get(parent) for parent in turned):
            self._find_order()
        else:
            for parent, component in joined.items():
                self._join(parent, component)
            self._sink(links)
        return node, relieved

    def _link(self, parent: int, child: int) -> None:
        self._append("child", parent, child)
        if parent in self._chances:
            last = self.nodes["child_start"][parent] + self.nodes["child_count"][parent] - 1
            self.weights[last] = self._chances[parent][self.states[child]]
        self._append("parent", child, parent)

    def _sink(self, links: list[tuple[int, int]]) -> None:
        """Increase levels after new links, which close no cycle, until every edge goes to a larger level."""
        level = self.nodes["level"]
        pending = links[::-1]
        while pending:
            above, below = pending.pop()
            if level[below] <= level[above]:
                level[below] = level[above] + 1
                pending += [(below, int(lower)) for lower in self.linked("child", below)]

    def _find_order(self) -> None:
        """Find components and levels of the whole graph, and what the problem says about play that stays in one."""
        size = len(self)
        order = ordered(*self.arrows(), size)
        for name, numbers in order._asdict().items():
            self.nodes[name][:size] = numbers
        self.has_components = bool(order.component.any())
        self.ends = np.full((len(self.nodes), 2), np.nan)
        for node in np.flatnonzero(order.component).tolist():
            self._ask_endless(node)

    def _ask_endless(self, node: int) -> None:
        """Note what the problem says about play that stays in the component of a node."""
        if not (self.adversarial and callable(getattr(self.problem, "endless", None))):
            return
        if node not in self.endless:
            state = self.states[node]
            self.endless[node] = checked_endless(self.problem.endless(state), state)
        head, (lower, upper) = self.nodes["component"][node] - 1, self.endless[node]
        self.ends[head] = np.fmin(self.ends[head, 0], lower), np.fmax(self.ends[head, 1], upper)

    def _join(self, node: int, component: int) -> None:
        """Let a node that was a leaf enter the component of all its parents; no other level changes."""
        nodes = self.nodes[: len(self)]
        nodes["component"][node], nodes["level"][node] = component, nodes["level"][component - 1]
        members = np.flatnonzero(nodes["component"] == component)
        nodes["ring"][members] = np.roll(members, -1)
        self._ask_endless(node)

    def add_owed(self, added: list[tuple[int, list[int]]]) -> None:
        """Let the states enter that have to enter with those just added, and append them to `added`.

        All children of a chance node enter together. If some node lost its last leaf to a cycle, but children are
        missing there, all missing children of the oldest such node enter: without a leaf nothing could be sampled.
        """
        while states := self.owed():
            for state in states:
                added.append(self.add(state))
        place = 0
        while self.cyclic and place < len(added):
            if not reaches_leaf(self, added[place][0]) and (short := short_of_leaves(self)):
                for state in list(self.relatives.absent(short[0])):
                    added.append(self.add(state))
            else:
                place += 1

    @classmethod
    def opening(cls, problem: Problem, *, with_children: bool = True) -> GrowingGraph:
        """Return the first graph of a growing search: the root and its children, or the root alone."""
        graph = cls(problem)
        graph.add(problem.root())
        if with_children:
            graph.add_owed([graph.add(child) for child in list(graph.relatives.absent(0))])
        return graph

    def owed(self) -> list[State]:
        """Return the states that have to enter next: the children of a chance node enter together."""
        if not self.has_chance:
            return []
        nodes = self.nodes[: len(self)]
        partial = np.flatnonzero((nodes["chance"] == 1) & (nodes["child_count"] > 0) & (nodes["missing"] > 0))
        return list(dict.fromkeys(chain.from_iterable(map(self.relatives.absent, partial.tolist()))))

    def chances(self, node: int) -> list[float] | None:
        """Return the probability of each child of a node in D_t, in the order of the links; None if somebody moves."""
        if not self.nodes["chance"][node]:
            return None
        start = self.nodes["child_start"][node]
        return self.weights[start : start + self.nodes["child_count"][node]].tolist()

    @classmethod
    def whole(
        cls, problem: Problem, check: Callable[[int, int], None] | None = None, *, to_leaf: bool = False
    ) -> GrowingGraph:
        """Return the complete graph D, built breadth first.

        `check` gets the numbers of nodes and edges now and then; it raises an error if they are too many. With
        `to_leaf` a leaf is searched, so play without end is worth nothing to a single player.
        """
        graph = cls(problem)
        queue, met = [problem.root()], graph.node_of
        lists: list[list[int]] = []
        edges = 0
        for state in queue:  # the queue grows meanwhile; the place of a state in it is the number of its node
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
            if node % 1000 == 999 and check is not None:
                check(len(queue), edges)
        graph._adopt(lists)
        graph._level_all(to_leaf=to_leaf)
        return graph

    def _adopt(self, children: list[list[int]]) -> None:
        """Set all edges of a complete graph at once."""
        size = len(children)
        flat = np.fromiter(chain.from_iterable(children), np.int64)
        counts = np.array([len(below) for below in children], np.int64)
        above = np.repeat(np.arange(size), counts)[np.argsort(flat, kind="stable")]
        self.edges = np.concatenate([flat, above]) if len(flat) else np.zeros(1, np.int64)
        sides = (("child", counts, 0), ("parent", np.bincount(flat, minlength=size), len(flat)))
        for side, many, first in sides:
            self.nodes[f"{side}_count"][:size] = many
            self.nodes[f"{side}_start"][:size] = first + np.cumsum(many) - many
        self.two_player, self.has_chance = bool(self.nodes["minimizes"].any()), bool(self._chances)
        self.nodes["adversarial"][0] = self.two_player or self.has_chance
        if self.has_chance:
            self.weights = np.zeros(len(self.edges))
            for node, chances in self._chances.items():
                start = self.nodes["child_start"][node]
                self.weights[start : start + len(chances)] = list(chances.values())

    def _level_all(self, *, to_leaf: bool) -> None:
        """Set the level of every node to the length of its longest path from the root."""
        size = len(self)
        self.nodes["level"][:size], done = longest_paths(*self.arrows(), size)
        if done < size:  # the others are on cycles, or below them
            self.cyclic = True
            if callable(getattr(self.problem, "endless", None)) and not to_leaf:
                self.two_player = True  # also if the opponent never moves: play without end may be worth most
                self.nodes["adversarial"][0] = 1
            self._find_order()

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
