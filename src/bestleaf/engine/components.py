"""Cycles and chance in the graph: states that reach each other, levels, what endless play is worth, probabilities.

States that all reach each other are a *component*: a strong one, with a cycle in it. The nodes of a component have the
same level; every edge that leaves a component goes to a larger level.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum, inf
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bestleaf.checks import shown
from bestleaf.engine.records import INNER
from bestleaf.problems import State

if TYPE_CHECKING:
    from bestleaf.engine.graph import GrowingGraph


class Order(NamedTuple):
    """Where the nodes of a graph stand, as fields of their records."""

    level: np.ndarray  # longest path from the root, if every component is taken for one node
    component: np.ndarray  # 1 + the oldest node of the component, 0 for a node on no cycle
    ring: np.ndarray  # the next node of the component, in the order in which they entered


def ordered(parents: np.ndarray, children: np.ndarray, size: int) -> Order:
    """Find the components and the levels of a graph from the two nodes of every edge."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    links = csr_matrix((np.ones(len(parents), np.int8), (parents, children)), (size, size))
    many, group = connected_components(links, connection="strong")
    component, ring = np.zeros(size, np.int64), np.arange(size)
    cyclic = np.bincount(group, minlength=many) > 1
    cyclic[group[parents[parents == children]]] = True  # a state that is its own child
    members = np.flatnonzero(cyclic[group])
    members = members[np.argsort(group[members], kind="stable")]
    for ring_of in np.split(members, np.flatnonzero(np.diff(group[members])) + 1):
        component[ring_of], ring[ring_of] = 1 + ring_of[:1], np.roll(ring_of, -1)
    above, below = group[parents], group[children]
    apart = above != below
    return Order(longest_paths(above[apart], below[apart], many)[0][group], component, ring)


def longest_paths(above: np.ndarray, below: np.ndarray, size: int) -> tuple[np.ndarray, int]:
    """Return the length of the longest path to every node, and how many are neither on a cycle nor below one.

    One level is peeled off at a time. Of the other nodes the length means nothing.
    """
    order = np.argsort(above, kind="stable")
    heads, starts = below[order], np.searchsorted(above[order], np.arange(size + 1))
    waiting, level = np.bincount(below, minlength=size), np.zeros(size, np.int64)
    front, depth, done = np.flatnonzero(waiting == 0), 0, 0
    while len(front):
        level[front] = depth
        done += len(front)
        counts = starts[front + 1] - starts[front]
        first = np.cumsum(counts) - counts
        met = heads[np.arange(counts.sum()) + np.repeat(starts[front] - first, counts)]
        np.subtract.at(waiting, met, 1)
        met = np.unique(met)
        front, depth = met[waiting[met] == 0], depth + 1
    return level, done


def checked_endless(value: object, state: State) -> tuple[float, float]:
    """Return what `endless` says about a state as the two ends of an interval."""
    ends: Sequence[object] = value if isinstance(value, tuple | list) else (value, value)
    if len(ends) == 2 and all(isinstance(end, Real) for end in ends):
        lower, upper = (float(end) for end in ends)  # type: ignore[arg-type]
        if 0.0 <= lower <= upper <= 1.0:
            return lower, upper
    raise ValueError(
        f"endless({shown(state)}) must return a number in [0, 1], or a lower and an upper one, got {shown(value)}"
    )


def closing_children(graph: GrowingGraph, node: int, parents: list[int], present: list[int]) -> list[int]:
    """Return the children of a new node that lead back to it; on the way to its parents levels do not fall."""
    level, component = graph.nodes["level"], graph.nodes["component"]
    top = max((int(level[parent]) for parent in parents), default=-1)
    ends, components = {node, *parents}, {int(component[parent]) for parent in parents} - {0}
    closing = []
    elsewhere: set[int] = set()  # nodes that do not lead back
    for child in present:
        met, stack = {child}, [child]
        while stack:
            current = stack.pop()
            if current in ends or int(component[current]) in components:
                closing.append(child)
                break
            if level[current] <= top:
                fresh = set(graph.linked("child", current).tolist()) - met - elsewhere
                met |= fresh
                stack += fresh
        else:
            elsewhere |= met
    return closing


def component_around(graph: GrowingGraph, node: int) -> int:
    """Return the component of all parents of a node and of its children but the first, a new leaf; 0 for none."""
    component, below = graph.nodes["component"], graph.linked("child", node)
    around = {*component[graph.linked("parent", node)].tolist(), *component[below[1:]].tolist()}
    return around.pop() if len(around) == 1 else 0


def end_of_play(graph: GrowingGraph, members: np.ndarray) -> float:
    """Return about what play that never leaves a component is worth: the middle of its interval."""
    if not graph.adversarial:
        return 0.0
    ends = graph.ends[members[0]]
    if not np.isnan(ends[0]):
        return float(ends.mean())
    component = graph.nodes["component"][members[0]]
    leaving = [one for one in members if (graph.nodes["component"][graph.linked("child", one)] != component).any()]
    return float(graph.nodes["minimizes"][leaving].mean() if leaving else 0.5)


def reaches_leaf(graph: GrowingGraph, node: int) -> bool:
    """Whether a leaf can be reached from a node."""
    met, stack = {node}, [node]
    while stack and graph.kinds[stack[-1]] == INNER:
        fresh = set(graph.linked("child", stack.pop()).tolist()) - met
        met |= fresh
        stack += fresh
    return bool(stack)


def short_of_leaves(graph: GrowingGraph) -> list[int]:
    """Return the nodes, oldest first, that miss children and from which no leaf can be reached."""
    met = set(np.flatnonzero(graph.kinds != INNER).tolist())
    stack = list(met)
    while stack:
        fresh = set(graph.linked("parent", stack.pop()).tolist()) - met
        met |= fresh
        stack += fresh
    return [node for node in np.flatnonzero(graph.nodes["missing"][: len(graph)]).tolist() if node not in met]


Chances = dict[State, float]  # probability of each child


def chances_of(problem: Any, state: State) -> Chances | None:
    """Return the probability of each child of a state; None where somebody moves.

    A child that is listed twice has the sum of its probabilities. A child of probability 0 is left out: it never comes.
    """
    given = problem.chance(state)
    if given is None:
        return None
    call = f"chance({shown(state)})"
    try:
        listed = list(given)
    except TypeError:
        raise TypeError(f"{call} must return None or a list of probabilities, got {shown(given)}") from None
    children = list(problem.children(state))
    if len(listed) != len(children):
        raise ValueError(f"{call} must return a probability for each of {len(children)} children, got {len(listed)}")
    for one in listed:
        if not isinstance(one, Real) or not 0.0 <= float(one) < inf:
            raise ValueError(f"{call} must return probabilities of at least 0, got {shown(one)}")
    total = fsum(listed)
    if abs(total - 1.0) > 1e-9:
        raise ValueError(f"{call} must return probabilities that sum to 1, got the sum {total:.12g}")
    found: Chances = {}
    for child, one in zip(children, listed, strict=True):
        if one > 0:
            found[child] = found.get(child, 0.0) + float(one) / total
    return found
