"""Which nodes lie below a node, the strongest leaf that does not, and where below it the graph grows next.

The cone of a node is what lies below it: the nodes, and the labels of the leaves among them. Labels of inner nodes are
not part of it, because different leaves may have grown below two copies of a state. Of two leaves, the one of larger
upper bound is stronger; ties: larger lot.
"""

import numpy as np

from bestleaf.engine.compile import (
    cones_of,
    edges_of,
    helper,
    inlined,
    kernel,
    known_of,
    node_kernel,
    node_kernel_at,
    nodes_of,
    stack_of,
    track_of,
    words_at,
)
from bestleaf.engine.records import INNER


@inlined
def as_one(node, world):
    """Whether a choice at `node` is one between all exits of its knot, so that it leads to a leaf, not in circles."""
    return world.to_leaf == 1 and nodes_of(world)[node].knot > 0


@inlined
def stronger(one, other, known):
    """Whether leaf `one` is stronger than leaf `other`, which may be -1 for none."""
    if other < 0 or known[one].upper > known[other].upper:
        return True
    return known[one].upper == known[other].upper and known[one].lot > known[other].lot


@inlined
def include(inside, label):
    """Add a number to a bit set; True if it was not in the set."""
    bit = np.uint64(1) << np.uint64(label & 63)
    fresh = (inside[label >> 6] & bit) == 0
    inside[label >> 6] |= bit
    return fresh


@inlined
def contains(inside, label):
    """Whether a number is in the bit set."""
    return (inside[label >> 6] >> np.uint64(label & 63)) & np.uint64(1) != 0


@helper
def walk(node, upwards, world):
    """Write `node` and all nodes below it (above it, if `upwards`) to the start of the stack; return how many."""
    nodes, edges, track, stack = nodes_of(world), edges_of(world), track_of(world), stack_of(world)
    world.walk += 1
    number = world.walk
    track[node].seen = number
    stack[0] = node
    done, met = 0, 1
    while done < met:
        current = nodes[stack[done]]
        start = current.parent_start if upwards else current.child_start
        count = current.parent_count if upwards else current.child_count
        for edge in range(start, start + count):
            other = edges[edge]
            if track[other].seen != number:
                track[other].seen = number
                stack[met] = other
                met += 1
        done += 1
    return met


@node_kernel
def count_ancestors(node, world):
    """Remember and return 1 + the number of ancestors of `node`."""
    met = walk(node, True, world)
    track_of(world)[node].ancestors = met
    return met


@node_kernel
def find_cone(node, world):
    """Find the cone of `node` and remember it; return its row."""
    nodes, track, stack = nodes_of(world), track_of(world), stack_of(world)
    cones = cones_of(world)
    row = world.next_cone
    world.next_cone = (row + 1) % world.rows_of_cones
    if cones[row].node >= 0:
        track[cones[row].node].cone = -1
    inside = words_at(world.inside + 8 * world.words * row, world.words)
    inside[:] = 0
    for place in range(walk(node, False, world)):
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
    """Return the row of the cone of `node`."""
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

    Where intervals never widen, it stays the strongest as long as its upper bound does not change.
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
    """Return the strongest leaf that `node` does not reach, or -1."""
    strongest = known_of(world)[0].leaf
    return rival_of(node, world) if reaches(node, strongest, world) else strongest


@node_kernel
def strongest_outside(row, world):
    """Return the strongest leaf whose label is not in cone `row`, or -1.

    The representative leaf of a node is the strongest leaf below it. If that leaf is outside the cone, no other leaf
    below the node matters. If it is inside, the search goes on below the node, unless the leaf is weaker than the
    strongest one found so far.
    """
    nodes, edges, known = nodes_of(world), edges_of(world), known_of(world)
    track, stack = track_of(world), stack_of(world)
    inside = words_at(world.inside + 8 * world.words * row, world.words)
    world.walk += 1
    number = world.walk
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
            if track[child].seen == number or contains(inside, world.first_node + child):
                continue
            track[child].seen = number
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


@kernel
def ripest(root, world):
    """Return the node below `root` where a child enters next (`BAIAdd`), or -1 if no child is missing.

    It has the largest index T_s / (children in D_t + 1) / (1 + depth); ties go to the oldest node. With the published
    stopping test the depth is d(s), the levels below the root of the graph, as the paper counts it; otherwise the
    levels below `root`. The paper divides by d(s) alone, so that its root, of depth 0, would come before all others;
    the 1 is that of its program.
    """
    nodes, track, stack = nodes_of(world), track_of(world), stack_of(world)
    above = nodes[root].level if world.sound == 1 else 0
    chosen, highest = -1, -1.0
    for place in range(walk(root, False, world)):
        node = stack[place]
        if nodes[node].missing == 0:
            continue
        depth = nodes[node].level - above
        index = track[node].visits / (nodes[node].child_count + 1) / (1 + depth)
        if index > highest or (index == highest and node < chosen):
            chosen, highest = node, index
    return chosen


@kernel
def list_below(node, world):
    """Write `node` and all nodes below it to the start of the stack, for Python; return how many."""
    return walk(node, False, world)
