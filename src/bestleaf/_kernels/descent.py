"""One descent of the UCT family, and many: choose edges down to a leaf, credit the sample to what it came through.

Statistics are on edges: n(e), the mean of the samples that came through e, and both as they were when the head of e got
an edge of its own (n', the early ones). Means and counts at depth d are put together from the edges d levels below.
"""

from math import inf, log, sqrt

from bestleaf._compile import (
    crossings_at,
    draw,
    edge_kernel_at,
    helper,
    inlined,
    kernel,
    links_at,
    longs_at,
    nodes_at,
    separate,
)
from bestleaf._records import EVALUATE, EXACT, GROW, NOISY, REFRESH, SAMPLE

MANY = 1 << 40
DEEP = -1  # a depth that never ends
UNKNOWN_VALUE, SAMPLED = -1.0, -2.0


@separate("of_edge")
def edge_count(place, depth, power, world):
    """Return n_d of an edge (`power` is not used)."""
    edges, crossings = links_at(world.edges, MANY), crossings_at(world.crossings, MANY)
    edge = edges[place]
    if depth == 0 or edge.head < 0 or crossings[edge.head].arms == 0:
        return edge.count
    if depth == DEEP:
        return edge.early_count + crossings[edge.head].deep_visits
    found, below = 0.0, crossings[edge.head].first_out
    while below >= 0:
        found += edge_kernel_at(world.edge_count)(below, depth - 1, power, world)
        below = edges[below].next_out
    return edge.early_count + found


@separate("of_edge")
def edge_mean(place, depth, power, world):
    """Return mu_d of an edge, or with power 2 the mean of the squares; 0 when nothing came through."""
    edges, crossings = links_at(world.edges, MANY), crossings_at(world.crossings, MANY)
    edge = edges[place]
    if depth == 0 or edge.head < 0 or crossings[edge.head].arms == 0:
        return (edge.total if power == 1 else edge.square) / edge.count if edge.count > 0.0 else 0.0
    total, count = 0.0, 0.0
    if depth == DEEP:
        node = crossings[edge.head]
        total, count = node.deep_total if power == 1 else node.deep_square, node.deep_count
    else:
        below = crossings[edge.head].first_out
        while below >= 0:
            weight = edges[below].count
            total += weight * edge_kernel_at(world.edge_mean)(below, depth - 1, power, world)
            count += weight
            below = edges[below].next_out
    count += edge.early_count
    total += edge.early_total if power == 1 else edge.early_square
    return total / count if count > 0.0 else 0.0


@inlined
def mean_of(place, world):
    """Return the mean by which an edge is judged, before its prior."""
    return edge_kernel_at(world.edge_mean)(place, world.mean_depth, 1, world)


@helper
def bonus(place, mean, count, crowd, world):
    """Return what an edge gets for being uncertain."""
    pace = log(max(crowd, 1.0)) / count
    if world.tuned == 0:
        return sqrt(world.exploration * pace)
    square = edge_kernel_at(world.edge_mean)(place, world.mean_depth, 2, world)
    spread = max(0.0, square - mean * mean) + sqrt(2.0 * pace)
    return sqrt(world.exploration * pace * min(0.25, spread))


@helper
def crowd_at(node, world):
    """Return p_d2: at depth 0 all samples that came by the node, its first rollouts included."""
    edges, crossings = links_at(world.edges, MANY), crossings_at(world.crossings, MANY)
    if world.parent_depth == 0:
        return crossings[node].weight
    crowd, place = 0.0, crossings[node].first_out
    while place >= 0:
        crowd += edge_kernel_at(world.edge_count)(place, world.parent_depth, 0, world)
        place = edges[place].next_out
    return crowd


@helper
def choose(node, world):
    """Return the edge to go down from a node: the first that nothing is known of, otherwise the highest score."""
    edges, crossings = links_at(world.edges, MANY), crossings_at(world.crossings, MANY)
    sign = -1.0 if nodes_at(world.graph, MANY)[node].minimizes == 1 else 1.0
    crowd = crowd_at(node, world)
    chosen, highest, place = -1, -inf, crossings[node].first_out
    while place >= 0:
        count = edge_kernel_at(world.edge_count)(place, world.count_depth, 0, world)
        if count <= 0.0 and world.trust == 0.0:
            return place
        mean = mean_of(place, world)
        judged = mean
        if world.trust > 0.0:
            faith = world.trust / (world.trust + count)
            judged = (1.0 - faith) * mean + faith * edges[place].prior
            count = max(1.0, count)
        score = sign * judged + bonus(place, mean, count, crowd, world)
        if score > highest:
            chosen, highest = place, score
        place = edges[place].next_out
    return chosen


@inlined
def is_narrow(node, world):
    """Whether the node may have another edge: it has fewer than floor(t^b) after its first rollouts."""
    crossing = crossings_at(world.crossings, MANY)[node]
    if crossing.arms >= crossing.children:
        return False
    return crossing.arms < int((crossing.visits - world.initial + 1) ** world.widening)


@inlined
def needed_at(node, world):
    """Return what must be done at a node before a descent can end there or go on: SAMPLE for nothing."""
    crossing, kind = crossings_at(world.crossings, MANY)[node], nodes_at(world.graph, MANY)[node].kind
    if kind == EXACT or kind == NOISY:  # noqa: SIM109  a tuple would be built
        return EVALUATE if crossing.value == UNKNOWN_VALUE else SAMPLE
    if crossing.visits < world.initial:
        return SAMPLE
    if is_narrow(node, world):
        return GROW
    if world.trust > 0.0 and crossing.arms > 0 and crossing.visits >= crossing.refresh_at:
        return REFRESH
    return SAMPLE


@helper
def descend(world):
    """Go down to the node to sample; return SAMPLE, or what must be done first at `world.node` or `world.edge`."""
    edges, crossings = links_at(world.edges, MANY), crossings_at(world.crossings, MANY)
    path, trail = longs_at(world.path, MANY), longs_at(world.trail, MANY)
    if world.midway == 0:
        world.length, path[0] = 0, 0
    world.midway = 1
    while True:
        node = path[world.length]
        world.node, world.edge = node, -1
        action = needed_at(node, world)
        if action != SAMPLE:
            return action
        if crossings[node].visits < world.initial or crossings[node].arms == 0:
            break
        edge = choose(node, world)
        if edges[edge].head < 0:
            world.edge = edge
            return GROW
        trail[world.length] = edge
        world.length += 1
        path[world.length] = edges[edge].head
    world.midway = 0
    return SAMPLE


@inlined
def add(edge, weight, value, is_early):
    """Credit a sample to an edge."""
    edge.count += weight
    edge.total += weight * value
    edge.square += weight * value * value
    if is_early:
        edge.early_count += weight
        edge.early_total += weight * value
        edge.early_square += weight * value * value


@helper
def list_ancestors(node, world):
    """List a node and those above it at the start of the stack, itself first; return how many."""
    edges, crossings = links_at(world.edges, MANY), crossings_at(world.crossings, MANY)
    stack, clock = longs_at(world.stack, MANY), world.clock
    stack[0] = node
    crossings[stack[0]].mark = clock
    done, met = 0, 1
    while done < met:
        place = crossings[stack[done]].first_in
        while place >= 0:
            tail = edges[place].tail
            if crossings[tail].mark != clock:
                crossings[tail].mark = clock
                stack[met] = tail
                met += 1
            place = edges[place].next_in
        done += 1
    return met


@helper
def credit_others(value, met, world):
    """Credit a sample with weight alpha to the listed nodes, and edges into them, that it did not come through."""
    edges, crossings = links_at(world.edges, MANY), crossings_at(world.crossings, MANY)
    stack, path = longs_at(world.stack, MANY), longs_at(world.path, MANY)
    for step in range(world.length + 1):
        crossings[path[step]].weight -= world.share
    for place in range(met):
        node = stack[place]
        crossings[node].weight += world.share
        entering = crossings[node].first_in
        while entering >= 0:
            if edges[entering].mark != world.clock:
                add(edges[entering], world.share, value, crossings[node].arms == 0)
            entering = edges[entering].next_in


@helper
def refresh_deep(met, world):
    """Recompute what the listed nodes say at infinite depth, the lowest first."""
    edges, crossings = links_at(world.edges, MANY), crossings_at(world.crossings, MANY)
    nodes, stack, bucket = nodes_at(world.graph, MANY), longs_at(world.stack, MANY), longs_at(world.bucket, MANY)
    lowest = 0
    for place in range(met):
        node = stack[place]
        level = nodes[node].level
        crossings[node].following = bucket[level]
        bucket[level] = node
        lowest = max(lowest, level)
    for level in range(lowest, -1, -1):
        node = bucket[level]
        bucket[level] = -1
        while node >= 0:
            crossing = crossings[node]
            crossing.deep_count = crossing.deep_visits = crossing.deep_total = crossing.deep_square = 0.0
            place = crossing.first_out
            while place >= 0:
                count = edges[place].count
                crossing.deep_count += count
                crossing.deep_visits += edge_kernel_at(world.edge_count)(place, DEEP, 0, world)
                crossing.deep_total += count * edge_kernel_at(world.edge_mean)(place, DEEP, 1, world)
                crossing.deep_square += count * edge_kernel_at(world.edge_mean)(place, DEEP, 2, world)
                place = edges[place].next_out
            node = crossing.following


@helper
def credit(value, world):
    """Credit the sample of the last descent."""
    edges, crossings = links_at(world.edges, MANY), crossings_at(world.crossings, MANY)
    path, trail = longs_at(world.path, MANY), longs_at(world.trail, MANY)
    world.clock += 1
    world.samples += 1
    for step in range(world.length):
        edge = trail[step]
        edges[edge].mark = world.clock
        add(edges[edge], 1.0, value, crossings[edges[edge].head].arms == 0)
    for step in range(world.length + 1):
        crossings[path[step]].visits += 1
        crossings[path[step]].weight += 1.0
    if world.share > 0.0 or world.deep == 1:
        met = list_ancestors(world.node, world)
        if world.share > 0.0:
            credit_others(value, met, world)
        if world.deep == 1:
            refresh_deep(met, world)


@kernel
def play(world, oracle, rng, rounds):
    """Play up to `rounds` descents with a compiled oracle; return what stands then."""
    crossings = crossings_at(world.crossings, MANY)
    for _ in range(rounds):
        action = descend(world)
        if action != SAMPLE:
            return action
        value = crossings[world.node].value
        credit(value if value >= 0.0 else draw(oracle, world.node, rng), world)
    return SAMPLE


@kernel
def step_down(world):
    """Descend once, for an oracle in Python; return what stands then."""
    return descend(world)


@kernel
def step_up(value, world):
    """Credit one sample."""
    credit(value, world)


@kernel
def refresh_above(node, world):
    """Bring infinite depth up to date from a node on that has got an edge."""
    world.clock += 1
    refresh_deep(list_ancestors(node, world), world)


@kernel
def judged_mean(place, world):
    """Return the mean by which an edge is judged."""
    return mean_of(place, world)
