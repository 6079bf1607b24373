"""Who lies below whom: the cone below a node, and the strongest leaf outside a cone.

A cone holds the nodes below a node and the labels of the leaves among them. It does not hold labels of inner nodes: two
copies of a state may have grown different leaves. Of two leaves the one of larger upper bound is stronger, of equals
the one with the larger lot.
"""

import numpy as np

from bestleaf._compile import (
    cones_of,
    edges_of,
    helper,
    inlined,
    kernel,
    known_of,
    node_kernel_at,
    nodes_of,
    separate,
    stack_of,
    track_of,
    words_at,
)
from bestleaf._records import INNER


@inlined
def stronger(one, other, known):
    """Whether leaf `one` has a larger upper bound than `other` (ties: a larger lot; -1 loses to any)."""
    if other < 0 or known[one].upper > known[other].upper:
        return True
    return known[one].upper == known[other].upper and known[one].lot > known[other].lot


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
    """Walk down from `node` and remember what lies below it; return the row of the cone."""
    nodes, track, stack = nodes_of(world), track_of(world), stack_of(world)
    cones = cones_of(world)
    row = world.next_cone
    world.next_cone = (row + 1) % world.rows_of_cones
    if cones[row].node >= 0:
        track[cones[row].node].cone = -1
    inside = words_at(world.inside + 8 * world.words * row, world.words)
    inside[:] = 0
    for place in range(walk_down(node, world)):
        below = stack[place]
        include(inside, world.first_node + below)
        if nodes[below].kind != INNER:
            include(inside, nodes[below].label)
    track[node].cone = row
    cones[row].node = node
    cones[row].upper = np.nan
    return row


@inlined
def cone(node, world):
    """Return the row of the cone below `node`."""
    row = track_of(world)[node].cone
    return row if row >= 0 else node_kernel_at(world.find_cone)(node, world)


@inlined
def reaches(node, leaf, world):
    """Whether a leaf with the label of `leaf`, the strongest of all, lies below `node` or is `node` itself."""
    nodes, known = nodes_of(world), known_of(world)
    if nodes[node].kind != INNER:
        return nodes[node].label == nodes[leaf].label
    if world.labelled == 0 and known[node].upper < known[leaf].upper:
        return False
    inside = words_at(world.inside + 8 * world.words * cone(node, world), world.words)
    return contains(inside, nodes[leaf].label)


@inlined
def rival_of(node, world):
    """Return the strongest leaf outside the cone of `node`, or -1.

    Where intervals never widen it stays the strongest as long as its own upper bound does not change.
    """
    cones, known = cones_of(world), known_of(world)
    row = cone(node, world)
    rival, before = cones[row].rival, cones[row].upper
    same = np.isinf(before) if rival < 0 else known[rival].upper == before
    if world.intersect == 1 and same and not np.isnan(before):
        return rival
    rival = node_kernel_at(world.strongest_outside)(row, world)
    cones[row].rival = rival
    cones[row].upper = known[rival].upper if rival >= 0 else -np.inf
    return rival


@inlined
def strongest_apart(node, world):
    """Return the strongest leaf that `node` does not reach, or -1; most often it is the strongest of all."""
    strongest = known_of(world)[0].leaf
    return rival_of(node, world) if reaches(node, strongest, world) else strongest


@separate("at_node")
def strongest_outside(row, world):
    """Return the strongest leaf whose label is not among those of the leaves in cone `row`, or -1.

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
            if track[child].seen == walk or contains(inside, world.first_node + child):
                continue
            track[child].seen = walk
            if stronger(leaf, best, known):
                if contains(inside, nodes[leaf].label):
                    stack[top] = child
                    top += 1
                else:
                    best = leaf
    return best


@kernel
def strongest_rival_of(node, world):
    """Return the strongest leaf that `node` does not reach, or -1; for Python."""
    return rival_of(node, world)
