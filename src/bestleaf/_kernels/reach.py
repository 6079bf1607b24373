"""Who lies below whom: cones of labels below a node, and the strongest leaf outside a cone.

Leaves sit in a tournament tree by upper bound: an update climbs until nothing changes, and the
strongest leaf outside a cone is found from the top by skipping what cannot win.
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
    tree_of,
    words_at,
)
from bestleaf._records import CONES, INNER


@inlined
def stronger(one, other, known):
    """Return the leaf of larger upper bound (ties: the one created later; -1 loses to any)."""
    if one < 0 or other < 0:
        return max(one, other)
    if known[one].upper == known[other].upper:
        return max(one, other)
    return one if known[one].upper > known[other].upper else other


@inlined
def reseat(leaf, world):
    """Let the tournament know that the upper bound of `leaf` has changed."""
    tree, known = tree_of(world), known_of(world)
    place = (track_of(world)[leaf].slot + world.slots) >> 1
    while place > 0:
        winner = stronger(tree[2 * place], tree[2 * place + 1], known)
        if winner == tree[place] and winner != leaf:
            break
        tree[place] = winner
        place >>= 1


@inlined
def include(inside, label):
    """Add `label` to a bit set; True when it was not in it."""
    bit = np.uint64(1) << np.uint64(label & 63)
    fresh = (inside[label >> 6] & bit) == 0
    inside[label >> 6] |= bit
    return fresh


@inlined
def contains(inside, label):
    """Whether `label` is in the bit set."""
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
    """Walk down from `node` and remember the labels of the leaves below it; return their row."""
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
        if nodes[below].kind != INNER and include(inside, nodes[below].label):
            size += 1
    track[node].cone = row
    track[node].reach = size
    cones[row].node = node
    return row


@inlined
def cone(node, world):
    """Return the number of the cone with the labels of the leaves below `node`."""
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
    """Return the leaf of largest upper bound (ties: the latest) whose label is not in cone `row`, or -1."""
    nodes, known, stack, tree = nodes_of(world), known_of(world), stack_of(world), tree_of(world)
    inside = words_at(world.inside + 8 * world.words * row, world.words)
    best = -1
    stack[0] = 1
    top = 1
    while top > 0:
        top -= 1
        place = stack[top]
        winner = tree[place]
        if winner < 0 or stronger(winner, best, known) == best:
            continue
        if not contains(inside, nodes[winner].label):
            best = winner
            continue
        if place < world.slots:
            loser_first = tree[2 * place] == winner
            stack[top] = 2 * place + 1 if loser_first else 2 * place
            stack[top + 1] = 2 * place if loser_first else 2 * place + 1
            top += 2
    return best
