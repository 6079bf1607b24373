"""What a rule is, and the helpers that it may call: what a rule sees of the graph, the samples and chance.

Helpers are compiled, as rules are. `root`, `node`, `child` and `leaf` are numbers of nodes; `graph` and `known` are
what a rule gets.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bestleaf.engine.compile import inlined, pasted, track_of, worlds_at
from bestleaf.engine.kernels.pairs import champion, hidden_rival, mean_of, next_uniform, reaches_label, weight_of
from bestleaf.engine.parts import Part, compiled_part
from bestleaf.engine.records import INNER

HIDDEN = 0.25  # share of the rounds for leaves below the same child as the leader


@pasted
def children(graph, node):
    """Return the children of `node` in the current graph, in the order they were linked."""
    start = graph.nodes[node].child_start
    return graph.edges[start : start + graph.nodes[node].child_count]


@pasted
def world_of(graph):
    """Return the record of all that the kernels work on."""
    return worlds_at(graph.place, 1)[0]


@inlined
def is_leaf(node, graph):
    """Whether `node` is a leaf of the current graph."""
    return graph.nodes[node].kind != INNER


@inlined
def count(node, graph):
    """Return the number of samples of a leaf; infinite if its exact value is known."""
    return weight_of(node, world_of(graph))


@inlined
def mean(node, graph):
    """Return the mean of the samples of a leaf, or its exact value; 1/2 before the first sample."""
    return mean_of(node, world_of(graph))


@inlined
def level(node, graph):
    """Return the length of the longest path from the root to `node`."""
    return graph.nodes[node].level


@inlined
def visits(node, graph):
    """Return how often the search went through `node`; counted only while the graph grows."""
    return track_of(world_of(graph))[node].visits


@inlined
def rounds(node, graph):
    """Return how many rounds were spent on the choice at `node`."""
    return track_of(world_of(graph))[node].rounds


@inlined
def reaches(node, leaf, graph):
    """Whether `leaf`, or another leaf with the same label, lies below `node` or is `node` itself."""
    return reaches_label(node, graph.nodes[leaf].label, world_of(graph))


@inlined
def uniform(graph):
    """Return a random number in [0, 1); it follows from the seed of the search and from the samples drawn so far."""
    return next_uniform(world_of(graph))


@inlined
def leader_and_challenger(root, graph):
    """Return the leaf of highest mean, and the leaf that is hardest to tell apart from it (-1 for none).

    To find the best arm, leaves below the same child of `root` need no telling apart. One round in four still goes to
    such a leaf if it may be better than the leader, because then fewer samples are needed. If the stopping test works
    in pairs, it has just looked for this pair.
    """
    world = world_of(graph)
    if world.pairs == 1:
        leader, proved, challenger = world.leader, world.proved, world.challenger
    else:
        leader, _, proved, challenger = champion(root, world)
    if proved != leader and uniform(graph) < HIDDEN:
        hidden = hidden_rival(leader, proved, world)
        challenger = hidden if hidden >= 0 else challenger
    return leader, challenger


@inlined
def of_children(root, graph, known):
    """Return the leaves of the child of highest lower bound and of its rival: for games, which have no best leaf."""
    best = highest_lower_bound(root, graph, known)
    rival = strongest_rival(best, root, graph, known)
    first, second = known[best].leaf, known[rival].leaf if rival >= 0 else -1
    if second >= 0 and known[second].upper - known[second].lower > known[first].upper - known[first].lower:
        first, second = second, first
    return first, second


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
    leaves
        The function returns two leaves, and the first of them is sampled.
    """

    def __init__(
        self, function: Callable, *, both: bool = False, intersect: bool = False, leaves: bool = False
    ) -> None:
        super().__init__(function)
        self.both = both
        self.intersect = intersect
        self.leaves = leaves
        self.part = compiled_part(function, "rule of leaves" if leaves else "rule")
