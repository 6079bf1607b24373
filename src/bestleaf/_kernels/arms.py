"""Helpers for rules: the children of a node as seen by whoever moves there."""

import numpy as np

from bestleaf._compile import helper, inlined, pasted


@pasted
def children(graph, node):
    """Return the children of `node` in the current graph, in the order they were linked."""
    start = graph.nodes[node].child_start
    return graph.edges[start : start + graph.nodes[node].child_count]


@inlined
def pessimistic(child, root, graph, known):
    """Return what `child` is worth at least to whoever moves at `root` (minus U for the opponent)."""
    return -known[child].upper if graph.nodes[root].minimizes else known[child].lower


@inlined
def optimistic(child, root, graph, known):
    """Return what `child` is worth at most to whoever moves at `root` (minus L for the opponent)."""
    return -known[child].lower if graph.nodes[root].minimizes else known[child].upper


@inlined
def highest_lower_bound(root, graph, known):
    """Return the child of best pessimistic value; ties go to the larger lot."""
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
    """Return the child of best optimistic value whose representative leaf differs from best's, or -1.

    In two-player graphs two children may share that leaf and differ in value: there any other child will do.
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
    """Return the child for which the best of the others exceeds it by the least, and by how much; ties: larger lot."""
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


@helper
def is_child(node, root, graph):
    """Whether `node` is a child of `root` in the current graph."""
    start = graph.nodes[root].child_start
    for edge in range(start, start + graph.nodes[root].child_count):
        if graph.edges[edge] == node:
            return True
    return False
