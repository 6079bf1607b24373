"""From one sample to the intervals of the leaf and of all its ancestors.

For an inner node s with the children c in D_t: L_s = max L_c, U_s = max U_c, and the representative child is the one of
largest U_c. Where the opponent moves: L_s = min L_c, U_s = min U_c, and the child of smallest L_c. A tie goes to the
child whose representative leaf has the larger tie-break, so that the representative leaf is the strongest leaf below s.
If two children have the same representative leaf, the child with the larger tie-break is taken. For chance see
`chance`. The nodes of a component, which reach each other, are computed together; see `cycles`.
"""

import numpy as np

from bestleaf.engine.bounds import apart
from bestleaf.engine.compile import (
    bucket_of,
    components_of,
    edges_of,
    exits_of,
    floats_at,
    helper,
    inlined,
    interval_at,
    kernel,
    known_of,
    node_kernel,
    node_kernel_at,
    nodes_of,
    observe_at,
    pasted,
    rate_at,
    track_of,
)
from bestleaf.engine.kernels.reach import rank_all
from bestleaf.engine.records import EXACT, INNER


@inlined
def goes_first(child, other, known):
    """Whether `child` wins a tie against the child `other`; it does if there is no other (-1)."""
    if other < 0:
        return True
    leaf, rest = known[child].leaf, known[other].leaf
    if leaf == rest:
        return known[child].tie_break > known[other].tie_break
    return known[leaf].tie_break > known[rest].tie_break


@inlined
def refresh(node, nodes, edges, known):
    """Compute an inner node again from its children; True if its interval or its representative leaf has changed."""
    minimizes = nodes[node].minimizes == 1
    lower = upper = np.inf if minimizes else -np.inf
    chosen = -1
    start = nodes[node].child_start
    for edge in range(start, start + nodes[node].child_count):
        child = edges[edge]
        low, high = known[child].lower, known[child].upper
        if minimizes:
            upper = min(upper, high)
            if low < lower or (low == lower and goes_first(child, chosen, known)):
                lower, chosen = low, child
        else:
            lower = max(lower, low)
            if high > upper or (high == upper and goes_first(child, chosen, known)):
                upper, chosen = high, child
    leaf = known[chosen].leaf
    changed = lower != known[node].lower or upper != known[node].upper or leaf != known[node].leaf
    known[node].lower = lower
    known[node].upper = upper
    known[node].child = chosen
    known[node].leaf = leaf
    return changed


@inlined
def recomputed(node, nodes, edges, known, with_chance, world):
    """Compute an inner node again, in a graph with or without chance; True if anything has changed."""
    if with_chance:
        return node_kernel_at(world.renew)(node, world) == 1
    return refresh(node, nodes, edges, known)


@inlined
def enqueue_parents(node, nodes, edges, track, bucket):
    """Add the parents of `node` to the waiting lists of their levels; its oldest node stands for a component."""
    start = nodes[node].parent_start
    for edge in range(start, start + nodes[node].parent_count):
        parent = edges[edge]
        if nodes[parent].component > 0:
            if nodes[parent].component == nodes[node].component:
                continue
            parent = nodes[parent].component - 1
        if track[parent].waiting == 0:
            level = nodes[parent].level
            track[parent].waiting = 1
            track[parent].following = bucket[level]
            bucket[level] = parent


@helper
def backup_component(head, world):
    """Refresh a component; if it has changed, add the parents of all its nodes; return how many nodes beside `head`.

    Its oldest node is its head.
    """
    nodes, edges, track, bucket = nodes_of(world), edges_of(world), track_of(world), bucket_of(world)
    if node_kernel_at(world.refresh_component)(head, world) == 0:
        return 0
    if nodes[0].adversarial == 0:
        own, exits = components_of(world)[head], exits_of(world)
        for place in range(own.gates, own.last):
            enqueue_parents(exits[place].node, nodes, edges, track, bucket)
        return own.size - 1
    others, node = 0, head
    while True:
        enqueue_parents(node, nodes, edges, track, bucket)
        node = nodes[node].ring
        if node == head:
            return others
        others += 1


@node_kernel
def backup(node, world):
    """Refresh the ancestors of `node`, deepest first; stop where nothing changed. Return how many were refreshed."""
    nodes, edges, known, track = nodes_of(world), edges_of(world), known_of(world), track_of(world)
    bucket, with_chance = bucket_of(world), world.chance == 1
    refreshed = 0
    enqueue_parents(node, nodes, edges, track, bucket)
    for level in range(nodes[node].level - 1, -1, -1):
        waiting = bucket[level]
        bucket[level] = -1
        while waiting >= 0:
            track[waiting].waiting = 0
            refreshed += 1
            if nodes[waiting].component > 0:
                refreshed += backup_component(waiting, world)
            elif recomputed(waiting, nodes, edges, known, with_chance, world):
                enqueue_parents(waiting, nodes, edges, track, bucket)
            waiting = track[waiting].following
    return refreshed


@pasted
def row_of(leaf, world):
    """Return the numbers of the bound that belong to a leaf."""
    return floats_at(world.rows + 8 * world.width * track_of(world)[leaf].slot, world.width)


@inlined
def take_evidence(leaf, side, world):
    """Keep what the lower (side 0) or upper (side 1) bound of a leaf follows from: count, total, its row."""
    known, width = known_of(world), world.width
    row = row_of(leaf, world)
    kept = floats_at(world.evidence + 8 * (2 + width) * (2 * track_of(world)[leaf].slot + side), 2 + width)
    kept[0] = known[leaf].count
    kept[1] = known[leaf].total
    for place in range(width):
        kept[2 + place] = row[place]


@inlined
def interval_of(mean, count, share, row, world):
    """Return what the bound says of a mean of so many samples."""
    if world.rated == 1:
        half = np.sqrt(rate_at(world.rate)(count, world.delta, world.stochastic) / (2.0 * count))
        return mean - half, mean + half
    return interval_at(world.interval)(mean, count, share, row)


@kernel
def count_escapes(runs, mean, times, world, rng):
    """Return in how many runs of samples of 0 or 1 their mean leaves the interval of the bound at one of the `times`.

    After a time at which the bound gives lower > upper or NaN, return that time, negative.
    """
    escapes, width = 0, world.width
    row = floats_at(world.rows, width)
    for _ in range(runs):
        row[:] = 0.0
        total, count = 0.0, 0
        for time in times:
            while count < time:
                value = 1.0 if rng.random() < mean else 0.0
                total += value
                count += 1
                if world.rated == 0:
                    observe_at(world.observe)(row, value, count)
            lower, upper = interval_of(total / count, count, world.delta, row, world)
            if not lower <= upper:
                return -count
            if lower > mean + 1e-9 or upper < mean - 1e-9:
                escapes += 1
                break
    return escapes


@node_kernel
def narrow(leaf, world):
    """Set the interval of a sampled leaf by the bound; return 0 if the bound gave lower > upper or NaN."""
    known = known_of(world)
    count, share = known[leaf].count, track_of(world)[leaf].share
    lower, upper = interval_of(known[leaf].total / count, count, share, row_of(leaf, world), world)
    if not lower <= upper:
        return 0
    if world.intersect == 1:
        if lower > known[leaf].lower:
            take_evidence(leaf, 0, world)
        if upper < known[leaf].upper:
            take_evidence(leaf, 1, world)
        # An empty intersection means the bound has failed on this leaf (probability at most its share).
        lower, upper = apart(lower, upper, known[leaf].lower, known[leaf].upper)
    known[leaf].lower = lower
    known[leaf].upper = upper
    return 1


@inlined
def publish(leaf, world):
    """Update all ancestors after the interval of `leaf` has changed."""
    track = track_of(world)
    if world.rank != 0:
        node_kernel_at(world.rank)(leaf, world)
    if track[leaf].ancestors == 0:
        node_kernel_at(world.count_ancestors)(leaf, world)
    world.updates += track[leaf].ancestors
    world.refreshes += 1 + node_kernel_at(world.backup)(leaf, world)


@inlined
def absorb(leaf, value, world):
    """Add one sample of `leaf` and update all its ancestors; False if the bound failed."""
    known = known_of(world)
    known[leaf].count += 1
    known[leaf].total += value
    world.samples += 1
    if world.rated == 0:
        observe = observe_at(world.observe)
        if track_of(world)[leaf].slot == 0:
            world.slots += 1
            track_of(world)[leaf].slot = world.slots
        observe(row_of(leaf, world), value, known[leaf].count)
    if node_kernel_at(world.narrow)(leaf, world) == 0:
        return False
    publish(leaf, world)
    return True


@kernel
def settle(leaf, value, world):
    """Set the exact value of a leaf: L = U = value."""
    known = known_of(world)
    known[leaf].lower = value
    known[leaf].upper = value
    known[leaf].total = value
    known[leaf].count = 1
    publish(leaf, world)


@kernel
def recompute(order, leaves_too, world):
    """Compute all nodes in `order` (deepest level first) again from the samples; False if the bound failed.

    Leaves are computed again only with `leaves_too`, for a bound that depends on the number of leaves.
    """
    nodes, edges, known = nodes_of(world), edges_of(world), known_of(world)
    narrow_it, with_chance = node_kernel_at(world.narrow), world.chance == 1
    world.listed = 0
    for node in order:
        kind, component = nodes[node].kind, nodes[node].component
        if kind == INNER:
            if component == 0:
                recomputed(node, nodes, edges, known, with_chance, world)
            elif component == node + 1:
                known[node].leaf = -1  # the ways to its leaf may have changed
                node_kernel_at(world.refresh_component)(node, world)
        elif leaves_too and kind != EXACT and known[node].count > 0 and narrow_it(node, world) == 0:
            return False
    if world.rank != 0:
        rank_all(world)
    return True
