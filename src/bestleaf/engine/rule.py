"""What a rule is, and the helpers that it may call.

Helpers are compiled, as rules are. `root`, `node`, `child` and `leaf` are numbers of nodes; `graph` and `known` are
what a rule gets.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bestleaf.engine.compile import inlined, pasted
from bestleaf.engine.parts import Part, compiled_part


@pasted
def children(graph, node):
    """Return the children of `node` in the current graph, in the order they were linked."""
    start = graph.nodes[node].child_start
    return graph.edges[start : start + graph.nodes[node].child_count]


@inlined
def pessimistic(child, root, graph, known):
    """Return the least that `child` can be worth to the player who moves at `root` (for the opponent: -U)."""
    return -known[child].upper if graph.nodes[root].minimizes else known[child].lower


@inlined
def optimistic(child, root, graph, known):
    """Return the most that `child` can be worth to the player who moves at `root` (for the opponent: -L)."""
    return -known[child].lower if graph.nodes[root].minimizes else known[child].upper


@inlined
def highest_lower_bound(root, graph, known):
    """Return the child of largest pessimistic value; ties: larger lot."""
    start = graph.nodes[root].child_start
    best, highest = graph.edges[start], -np.inf
    for edge in range(start, start + graph.nodes[root].child_count):
        child = graph.edges[edge]
        value = pessimistic(child, root, graph, known)
        if value > highest or (value == highest and known[child].lot > known[best].lot):
            best, highest = child, value
    return best


@inlined
def strongest_rival(best, root, graph, known):
    """Return the child of largest optimistic value whose representative leaf is not that of `best`, or -1.

    With two players any child but `best` may be the rival: children with the same leaf may differ in value.
    """
    nodes = graph.nodes
    shared = nodes[known[best].leaf].label
    single_player = nodes[0].adversarial == 0
    rival, highest = -1, -np.inf
    start = nodes[root].child_start
    for edge in range(start, start + nodes[root].child_count):
        child = graph.edges[edge]
        if child == best or (single_player and nodes[known[child].leaf].label == shared):
            continue
        value = optimistic(child, root, graph, known)
        if rival < 0 or value > highest or (value == highest and known[child].lot > known[rival].lot):
            rival, highest = child, value
    return rival


@inlined
def smallest_regret(root, graph, known):
    """Return the child with the smallest possible regret, and this regret; ties: larger lot.

    The regret of a child is the largest optimistic value of the others minus its own pessimistic value.
    """
    start = graph.nodes[root].child_start
    stop = start + graph.nodes[root].child_count
    first = second = -np.inf
    for edge in range(start, stop):
        value = optimistic(graph.edges[edge], root, graph, known)
        if value >= first:
            first, second = value, first
        elif value > second:
            second = value
    best, regret = graph.edges[start], np.inf
    for edge in range(start, stop):
        child = graph.edges[edge]
        others = second if optimistic(child, root, graph, known) == first else first
        value = others - pessimistic(child, root, graph, known)
        if value < regret or (value == regret and known[child].lot > known[best].lot):
            best, regret = child, value
    return best, regret


class Rule(Part):
    """A rule usable as ``rule=`` in every search, made from a function ``(root, graph, known) -> (best, rival)``.

    Parameters
    ----------
    function
        A function that numba can compile: it uses numbers, arrays and the helpers of `bestleaf.engine.rules`.
    both
        Sample best and rival in every round instead of the wider one.
    intersect
        Let intervals never widen, even under a rate.
    """

    def __init__(self, function: Callable, *, both: bool = False, intersect: bool = False) -> None:
        super().__init__(function)
        self.both = both
        self.intersect = intersect
        self.part = compiled_part(function, "rule")
