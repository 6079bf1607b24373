"""The compiled part of UCT: choose edges from the root down to a leaf, then add the leaf's sample to the edges taken.

An edge keeps the number and the sum of the samples that came through it. It keeps both a second time for the early
samples: those that came before its head, the node it leads to, got an edge of its own. The variants of UCT for graphs
compute the mean or the count of an edge from the edges some levels below it; depth d means d levels.
"""

from math import inf, log, sqrt

import numpy as np

from bestleaf.engine.compile import (
    array_at,
    draw,
    function_at,
    helper,
    inlined,
    kernel,
    longs_at,
    nodes_at,
    separate,
    signature,
)
from bestleaf.engine.records import EVALUATE, EXACT, GROW, NOISY, SAMPLE, record

MANY = 1 << 40
DEEP = -1  # stands for infinite depth
UNKNOWN_VALUE, SAMPLED = -1.0, -2.0  # in the field `value`: not computed yet; or none, because the node is sampled

# A node. UCT keeps its samples on edges. The edges that leave a node are a linked list, and so are those that enter it.
CROSSING = record(
    first_out="i",  # first and last edge that leaves the node, -1 for none
    last_out="i",
    first_in="i",  # first edge that enters the node (the latest one made), -1 for none
    arms="i",  # edges that leave it
    children="i",  # children that the problem gives it: the largest number of edges
    visits="i",  # descents that came through
    weight="f",  # T: visits, plus `backup` for every sample below it whose descent did not visit it
    value="f",  # of a terminal node: its exact value, -1 while it is not known, -2 if it is sampled
    deep_count="f",  # sums over the edges that leave it: of n,
    deep_visits="f",  # of n at infinite depth,
    deep_total="f",  # of n times the mean at infinite depth,
    deep_square="f",  # of n times the second moment at infinite depth
    mark="i",  # number of the last sample that reached it
    following="i",  # next node of its level in a list of nodes to refresh
)

EDGE = record(
    tail="i",
    head="i",
    next_out="i",
    next_in="i",
    count="f",  # n: samples
    total="f",  # their sum
    square="f",  # sum of their squares
    early_count="f",  # n', the same three until the head got an edge of its own
    early_total="f",
    early_square="f",
    mark="i",
)

# The settings of a search by UCT, the last descent, and the addresses of arrays.
DESCENT = record(
    tuned="i",  # UCB1-tuned
    exploration="f",
    widening="f",  # b
    initial="i",  # rollouts at a node before it gets edges
    mean_depth="i",  # d1, -1 for infinite
    parent_depth="i",  # d2
    count_depth="i",  # d3
    deep="i",  # some depth is infinite
    backup="f",  # alpha: weight of a sample for ancestors that the descent did not visit
    node="i",  # at which Python has something to do
    length="i",  # of the last descent
    midway="i",  # whether the descent has stopped for Python and will go on from there
    clock="i",  # number of the last sample
    samples="i",
    moment="i",  # kernel
    graph="i",  # -> [size] NODE
    crossings="i",  # -> [size] CROSSING
    edges="i",  # -> [used] EDGE
    path="i",  # -> [depth + 2] nodes of the last descent
    trail="i",  # -> [depth + 2] its edges
    bucket="i",  # -> [levels] first node of the level to refresh, -1 for none
    stack="i",  # -> [size] scratch
)

OF_EDGE = signature(np.float64, np.int64, np.int64, np.int64, DESCENT)

edge_kernel_at = function_at(OF_EDGE)
crossings_at = array_at(CROSSING)
links_at = array_at(EDGE)


@separate(OF_EDGE)
def moment(place, depth, power, world):
    """Return the number of samples of an edge at some depth (power 0), their mean (1) or that of their squares (2)."""
    edges, crossings = links_at(world.edges, MANY), crossings_at(world.crossings, MANY)
    edge = edges[place]
    if depth == 0 or crossings[edge.head].arms == 0:
        if power == 0 or edge.count == 0.0:
            return edge.count
        return (edge.total if power == 1 else edge.square) / edge.count
    node, found, count = crossings[edge.head], 0.0, 0.0
    if depth == DEEP:
        found = node.deep_visits if power == 0 else node.deep_total if power == 1 else node.deep_square
        count = node.deep_count
    else:
        below = node.first_out
        while below >= 0:
            weight = edges[below].count
            found += (1.0 if power == 0 else weight) * edge_kernel_at(world.moment)(below, depth - 1, power, world)
            count += weight
            below = edges[below].next_out
    count += edge.early_count
    found += edge.early_count if power == 0 else edge.early_total if power == 1 else edge.early_square
    if power == 0:
        return found
    return found / count if count > 0.0 else 0.0


@kernel
def judged_mean(place, world):
    """Return the mean of an edge at the depth that the variant asks for."""
    return edge_kernel_at(world.moment)(place, world.mean_depth, 1, world)


@helper
def crowd_at(node, world):
    """Return the number of samples of a node, for the bonus of its edges; at depth 0 its first rollouts count, too."""
    edges, crossings = links_at(world.edges, MANY), crossings_at(world.crossings, MANY)
    if world.parent_depth == 0:
        return crossings[node].weight
    crowd, place = 0.0, crossings[node].first_out
    while place >= 0:
        crowd += edge_kernel_at(world.moment)(place, world.parent_depth, 0, world)
        place = edges[place].next_out
    return crowd


@helper
def choose(node, world):
    """Return the edge to take from a node: the first without samples, otherwise the one of highest score.

    The score is the mean and an exploration bonus: UCB1, or UCB1-tuned, which uses the variance of the samples.
    """
    edges, crossings = links_at(world.edges, MANY), crossings_at(world.crossings, MANY)
    sign = -1.0 if nodes_at(world.graph, MANY)[node].minimizes == 1 else 1.0
    crowd = crowd_at(node, world)
    chosen, highest, place = -1, -inf, crossings[node].first_out
    while place >= 0:
        count = edge_kernel_at(world.moment)(place, world.count_depth, 0, world)
        if count <= 0.0:
            return place
        mean = edge_kernel_at(world.moment)(place, world.mean_depth, 1, world)
        pace = log(max(crowd, 1.0)) / count
        bonus = world.exploration * pace
        if world.tuned == 1:
            square = edge_kernel_at(world.moment)(place, world.mean_depth, 2, world)
            bonus *= min(0.25, max(0.0, square - mean * mean) + sqrt(2.0 * pace))
        score = sign * mean + sqrt(bonus)
        if score > highest:
            chosen, highest = place, score
        place = edges[place].next_out
    return chosen


@inlined
def needed_at(node, world):
    """Return what Python must do at a node before the descent goes on; SAMPLE stands for nothing."""
    crossing, kind = crossings_at(world.crossings, MANY)[node], nodes_at(world.graph, MANY)[node].kind
    if kind == EXACT or kind == NOISY:  # noqa: SIM109  a tuple would be built
        return EVALUATE if crossing.value == UNKNOWN_VALUE else SAMPLE
    if crossing.visits < world.initial:
        return SAMPLE
    later = crossing.visits - world.initial + 1  # t
    if crossing.arms < crossing.children and crossing.arms < int(later**world.widening):
        return GROW
    return SAMPLE


@kernel
def descend(world):
    """Go down to the node to sample; return SAMPLE, or what Python must do first at `world.node`."""
    edges, crossings = links_at(world.edges, MANY), crossings_at(world.crossings, MANY)
    path, trail = longs_at(world.path, MANY), longs_at(world.trail, MANY)
    if world.midway == 0:
        world.length, path[0] = 0, 0
    world.midway = 1
    while True:
        node = path[world.length]
        world.node = node
        action = needed_at(node, world)
        if action != SAMPLE:
            return action
        if crossings[node].visits < world.initial or crossings[node].arms == 0:
            break
        edge = choose(node, world)
        trail[world.length] = edge
        world.length += 1
        path[world.length] = edges[edge].head
    world.midway = 0
    return SAMPLE


@inlined
def add(edge, weight, value, is_early):
    """Add a sample to an edge."""
    edge.count += weight
    edge.total += weight * value
    edge.square += weight * value * value
    if is_early:
        edge.early_count += weight
        edge.early_total += weight * value
        edge.early_square += weight * value * value


@helper
def list_ancestors(node, world):
    """Write a node and all its ancestors to the start of the stack, the node first; return how many."""
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
    """Add a sample with weight alpha to the listed nodes, and edges into them, that the descent did not take."""
    edges, crossings = links_at(world.edges, MANY), crossings_at(world.crossings, MANY)
    stack, path = longs_at(world.stack, MANY), longs_at(world.path, MANY)
    for step in range(world.length + 1):
        crossings[path[step]].weight -= world.backup
    for place in range(met):
        node = stack[place]
        crossings[node].weight += world.backup
        entering = crossings[node].first_in
        while entering >= 0:
            if edges[entering].mark != world.clock:
                add(edges[entering], world.backup, value, crossings[node].arms == 0)
            entering = edges[entering].next_in


@helper
def refresh_deep(met, world):
    """Recompute counts and means at infinite depth of the listed nodes, the lowest first."""
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
                crossing.deep_visits += edge_kernel_at(world.moment)(place, DEEP, 0, world)
                crossing.deep_total += count * edge_kernel_at(world.moment)(place, DEEP, 1, world)
                crossing.deep_square += count * edge_kernel_at(world.moment)(place, DEEP, 2, world)
                place = edges[place].next_out
            node = crossing.following


@kernel
def credit(value, world):
    """Add the sample of the last descent to the nodes and edges it came through."""
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
    if world.backup > 0.0 or world.deep == 1:
        met = list_ancestors(world.node, world)
        if world.backup > 0.0:
            credit_others(value, met, world)
        if world.deep == 1:
            refresh_deep(met, world)


@kernel
def play(world, oracle, rng, rounds):
    """Make up to `rounds` descents with a compiled oracle; return SAMPLE, or what Python must do first."""
    crossings = crossings_at(world.crossings, MANY)
    for _ in range(rounds):
        action = descend(world)
        if action != SAMPLE:
            return action
        value = crossings[world.node].value
        credit(value if value >= 0.0 else draw(oracle, world.node, rng), world)
    return SAMPLE


@kernel
def refresh_above(node, world):
    """Update counts and means at infinite depth of a node that got an edge, and of its ancestors."""
    world.clock += 1
    refresh_deep(list_ancestors(node, world), world)
