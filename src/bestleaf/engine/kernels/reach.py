"""Which leaves lie below a node, the strongest leaf that does not, and where below it the graph grows next.

The reachable set of a node holds the labels of the leaves below it. Labels of inner nodes are not part of it, because
different leaves may have grown below two copies of a state. Of two leaves, the one of larger upper bound is stronger;
ties: larger tie-break. The ranking is a tournament of all leaves: it holds the winner of every pair, of every pair of
pairs, and so on.
"""

import numpy as np

from bestleaf.engine.compile import (
    edges_of,
    helper,
    inlined,
    inside_of,
    kernel,
    known_of,
    node_kernel,
    node_kernel_at,
    nodes_of,
    ranking_of,
    reachable_of,
    stack_of,
    track_of,
)
from bestleaf.engine.records import INNER


@inlined
def as_one(node, world):
    """Whether a choice at `node` is one between all exits of its component: it leads to a leaf, not in circles."""
    return world.to_leaf == 1 and nodes_of(world)[node].component > 0


@inlined
def stronger(one, other, known):
    """Whether leaf `one` is stronger than leaf `other`, which may be -1 for none."""
    if other < 0 or known[one].upper > known[other].upper:
        return True
    return known[one].upper == known[other].upper and known[one].tie_break > known[other].tie_break


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


@inlined
def list_children(node, only, but, met, world):
    """Append the child `only` of a node (all of them, if it is -1) to the stack, without `but`; return its new length.

    Nodes that the current walk has seen are left out.
    """
    nodes, edges, track, stack = nodes_of(world), edges_of(world), track_of(world), stack_of(world)
    start = nodes[node].child_start
    for edge in range(start, start + nodes[node].child_count):
        child = edges[edge]
        if child != but and (only < 0 or child == only) and track[child].seen != world.walk:
            track[child].seen = world.walk
            stack[met] = child
            met += 1
    return met


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


@inlined
def forget_sets(world):
    """Forget all reachable sets."""
    track, reachable = track_of(world), reachable_of(world)
    for row in range(world.sets):
        track[reachable[row].node].reached = -1
    world.sets = world.taken = 0


@helper
def collect(node, world):
    """Collect the reachable set of `node` in the last words of `inside`; return the first and the last word in use.

    Sets that are remembered are taken over.
    """
    nodes, track, stack = nodes_of(world), track_of(world), stack_of(world)
    reachable, inside = reachable_of(world), inside_of(world)
    built = world.most_words - world.words
    world.walk += 1
    low, high, met = world.words, -1, 1
    stack[0] = node
    while met > 0:
        met -= 1
        current = stack[met]
        if nodes[current].kind != INNER:
            low, high = min(low, track[current].place >> 6), max(high, track[current].place >> 6)
            include(inside, 64 * built + track[current].place)
            if world.labelled == 1:
                include(inside, 64 * built + world.first_node + current)
                high = max(high, (world.first_node + current) >> 6)
        elif track[current].reached >= 0:
            known = reachable[track[current].reached]
            low, high = min(low, known.first), max(high, known.first + known.words - 1)
            for word in range(known.words):
                inside[built + known.first + word] |= inside[known.start + word]
        else:
            met = list_children(current, -1, -1, met, world)
    return low, high


@inlined
def count_bits(word):
    """Return how many bits of a word are set."""
    pairs = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    fours = (pairs & np.uint64(0x3333333333333333)) + ((pairs >> np.uint64(2)) & np.uint64(0x3333333333333333))
    bytes_ = (fours + (fours >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((bytes_ * np.uint64(0x0101010101010101)) >> np.uint64(56))


@node_kernel
def find_reachable(node, world):
    """Find the reachable set of `node` and remember it; return its row. Without room all others are forgotten."""
    track, reachable, inside = track_of(world), reachable_of(world), inside_of(world)
    built = world.most_words - world.words
    low, high = collect(node, world)
    words = max(0, high - low + 1)
    if world.sets == world.most_sets or world.taken + words > built:
        forget_sets(world)
    row, start, size = world.sets, world.taken, 0
    for word in range(low, low + words):
        if 64 * word < world.first_node:
            size += count_bits(inside[built + word])
        inside[start + word - low] = inside[built + word]
        inside[built + word] = 0
    found = reachable[row]
    found.node, found.start, found.first, found.words, found.size = node, start, low, words, size
    found.rival, found.upper = -1, -np.inf if size == world.places else np.nan
    track[node].reached = row
    world.sets, world.taken = row + 1, start + words
    return row


@inlined
def reachable_set(node, world):
    """Return the row of the reachable set of `node`."""
    row = track_of(world)[node].reached
    return row if row >= 0 else node_kernel_at(world.find_reachable)(node, world)


@inlined
def holds(row, bit, world):
    """Whether the reachable set in a row holds a bit."""
    found = reachable_of(world)[row]
    word = (bit >> 6) - found.first
    return 0 <= word < found.words and contains(inside_of(world), 64 * (found.start + word) + (bit & 63))


@inlined
def reaches(node, leaf, world):
    """Whether a leaf with the label of `leaf`, the strongest of all, lies below `node` or is `node` itself."""
    nodes, own = nodes_of(world), known_of(world)[node].leaf
    if own == leaf or nodes[own].label == nodes[leaf].label:
        return True
    # The strongest leaf of all represents every node above it.
    if world.labelled == 0 or nodes[node].kind != INNER:
        return False
    return holds(reachable_set(node, world), track_of(world)[leaf].place, world)


@inlined
def is_current(found, world):
    """Whether the rival that is remembered is still the strongest leaf outside.

    Where intervals never widen, it is as long as its upper bound does not change.
    """
    if found.rival < 0:
        return found.upper == -np.inf
    return world.intersect == 1 and known_of(world)[found.rival].upper == found.upper


@inlined
def rival_of(node, world):
    """Return the strongest leaf that cannot be reached from `node`, or -1."""
    row = reachable_set(node, world)
    found = reachable_of(world)[row]
    if not is_current(found, world):
        found.rival = node_kernel_at(world.strongest_outside)(row, world)
        found.upper = known_of(world)[found.rival].upper
    return found.rival


@inlined
def least_gap(node, world):
    """Return a number that the gap of `node`, which reaches the strongest leaf, is not below; cheaper than the gap."""
    known, row = known_of(world), track_of(world)[node].reached
    rival = reachable_of(world)[row].rival if row >= 0 else -1
    return known[rival].upper - known[node].lower if rival >= 0 else -np.inf


@inlined
def winner(one, other, known):
    """Return the stronger of two leaves; -1 stands for none."""
    return one if one >= 0 and stronger(one, other, known) else other


@node_kernel
def rank(leaf, world):
    """Bring the ranking up to date with the interval of a leaf."""
    nodes, known, ranking = nodes_of(world), known_of(world), ranking_of(world)
    best, copy = leaf, nodes[leaf].twin
    while copy != leaf:
        if nodes[copy].kind != INNER:
            best = winner(copy, best, known)
        copy = nodes[copy].twin
    place = world.half + track_of(world)[leaf].place
    while ranking[place] != best or best == leaf:
        ranking[place] = best
        place >>= 1
        if place == 0:
            break
        best = winner(ranking[2 * place], ranking[2 * place + 1], known)
    return 0


@helper
def rank_all(world):
    """Rank all leaves by their upper bounds, as in a knock-out tournament."""
    nodes, known, track, ranking = nodes_of(world), known_of(world), track_of(world), ranking_of(world)
    ranking[: 2 * world.half] = -1
    for node in range(world.size):
        if nodes[node].kind != INNER:
            place = world.half + track[node].place
            ranking[place] = winner(node, ranking[place], known)
    for place in range(world.half - 1, 0, -1):
        ranking[place] = winner(ranking[2 * place], ranking[2 * place + 1], known)


@inlined
def all_inside(pair, row, world):
    """Whether a reachable set holds all places below a pair of the ranking; only found out where they are one word."""
    word = pair - (world.half >> 6)
    if not 0 <= word < world.half >> 6:
        return False
    found = reachable_of(world)[row]
    within = 0 <= word - found.first < found.words
    return within and inside_of(world)[found.start + word - found.first] == ~np.uint64(0)


@node_kernel
def strongest_outside(row, world):
    """Return the strongest leaf whose label is not in the reachable set of a row, or -1.

    The ranking is searched from the top. If the winner of a part is outside, no other leaf of that part matters. If it
    is inside, the two halves of the part follow, unless the winner is weaker than the strongest leaf found so far.
    """
    known, track, stack, ranking = known_of(world), track_of(world), stack_of(world), ranking_of(world)
    best, top = -1, 1
    stack[0] = 1
    while top > 0:
        top -= 1
        place = stack[top]
        leaf = ranking[place]
        if leaf < 0 or not stronger(leaf, best, known):
            continue
        if not holds(row, track[leaf].place, world):
            best = leaf
        elif place < world.half and not all_inside(place, row, world):
            first = 2 * place if ranking[2 * place] == leaf else 2 * place + 1
            stack[top], stack[top + 1] = first, first ^ 1
            top += 2
    return best


@kernel
def strongest_rival_of(node, world):
    """Return the strongest leaf that cannot be reached from `node`, or -1; for Python."""
    if world.rank == 0:
        rank_all(world)
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
