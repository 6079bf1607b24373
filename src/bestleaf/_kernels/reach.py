"""Who lies below whom: the cone of labels below a node, and the strongest leaf outside a cone.

Of two leaves the one of larger upper bound is stronger; equals are ordered by creation, the later first.
"""

import numpy as np

from bestleaf._compile import (
    cones_of,
    edges_of,
    helper,
    inlined,
    known_of,
    node_kernel_at,
    nodes_of,
    separate,
    stack_of,
    track_of,
    words_at,
)
from bestleaf._records import CONES, INNER


@inlined
def stronger(one, other, known):
    """Whether leaf `one` has a larger upper bound than `other` (ties: was created later; -1 loses to any)."""
    if other < 0 or known[one].upper > known[other].upper:
        return True
    return known[one].upper == known[other].upper and one > other


@inlined
def include(inside, label):
    """Add a number to a bit set; True when it was not in it."""
    bit = np.uint64(1) << np.uint64(label & 63)
    fresh = (inside[label >> 6] & bit) == 0
    inside[label >> 6] |= bit
    return fresh


@inlined
def contains(inside, label):
    """Whether a number is in the bit set."""
    return (inside[label >> 6] >> np.uint64(label & 63)) & np.uint64(1) != 0


@helper
def walk_down(node, world):
    """List `node` and everything below it at the start of the stack; return how many."""
    nodes, edges, track, stack = nodes_of(world), edges_of(world), track_of(world), stack_of(world)
    world.walk += 1
    walk = world.walk
    track[node].seen = walk
    stack[0] = node
    done, met = 0, 1
    while done < met:
        start = nodes[stack[done]].child_start
        for edge in range(start, start + nodes[stack[done]].child_count):
            child = edges[edge]
            if track[child].seen != walk:
                track[child].seen = walk
                stack[met] = child
                met += 1
        done += 1
    return met


@separate("at_node")
def find_cone(node, world):
    """Walk down from `node` and remember the labels below it; return their row."""
    nodes, track, stack = nodes_of(world), track_of(world), stack_of(world)
    cones = cones_of(world)
    row = world.next_cone
    world.next_cone = (row + 1) % CONES
    if cones[row].node >= 0:
        track[cones[row].node].cone = -1
    inside = words_at(world.inside + 8 * world.words * row, world.words)
    inside[:] = 0
    size = 0
    for place in range(walk_down(node, world)):
        below = stack[place]
        if include(inside, nodes[below].label) and nodes[below].kind != INNER:
            size += 1
    track[node].cone = row
    track[node].reach = size
    cones[row].node = node
    return row


@inlined
def cone(node, world):
    """Return the row of the labels below `node`."""
    row = track_of(world)[node].cone
    return row if row >= 0 else node_kernel_at(world.find_cone)(node, world)


@separate("at_arms")
def widest_cone(best, root, world):
    """Among children with the lower bound of `best`, return the one with most leaves below (ties: the last)."""
    nodes, edges, known, track = nodes_of(world), edges_of(world), known_of(world), track_of(world)
    winner, widest = best, -1
    start = nodes[root].child_start
    for edge in range(start, start + nodes[root].child_count):
        child = edges[edge]
        if known[child].lower == known[best].lower:
            if track[child].reach == 0:
                cone(child, world)
            if track[child].reach >= widest:
                winner, widest = child, track[child].reach
    return winner


@separate("at_node")
def strongest_outside(row, world):
    """Return the strongest leaf whose label is not in cone `row`, or -1.

    A node's representative leaf is the strongest below it. If that is outside the cone, no need to look further
    down; if it is inside, the node is searched, unless its leaf is no match for the best found so far.
    """
    nodes, edges, known = nodes_of(world), edges_of(world), known_of(world)
    track, stack = track_of(world), stack_of(world)
    inside = words_at(world.inside + 8 * world.words * row, world.words)
    world.walk += 1
    walk = world.walk
    best, top = -1, 1
    stack[0] = 0
    while top > 0:
        top -= 1
        node = stack[top]
        if not stronger(known[node].leaf, best, known):
            continue
        start = nodes[node].child_start
        for edge in range(start, start + nodes[node].child_count):
            child = edges[edge]
            leaf = known[child].leaf
            if track[child].seen == walk or contains(inside, nodes[child].label):
                continue
            track[child].seen = walk
            if stronger(leaf, best, known):
                if contains(inside, nodes[leaf].label):
                    stack[top] = child
                    top += 1
                else:
                    best = leaf
    return best
