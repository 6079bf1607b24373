"""Leaves told apart in pairs: what the samples of two leaves say about which of them is better, and the test by pairs.

The cost of a pair (a, b) is the smallest n_a d(m_a, x) + n_b d(m_b, y) over all values x of a and y of b with
y >= x + epsilon. Here n is the number of samples, m their mean, and d the divergence of two coins (Kullback and
Leibler). It says how badly samples like these go together with "b is better than a by more than epsilon". An exact
value counts as infinitely many samples.
"""

from math import log

import numpy as np

from bestleaf.engine.compile import (
    edges_of,
    helper,
    inlined,
    known_of,
    node_kernel,
    nodes_of,
    order_of,
    shared,
    stopping_at,
    words_at,
)
from bestleaf.engine.kernels.reach import cone, contains, strongest_apart
from bestleaf.engine.records import EXACT, INNER

STEPS, PRECISION = 200, 1e-12  # to find the values of least cost


@inlined
def next_uniform(world):
    """Return a random number in [0, 1): a function of the seed, the samples so far and the draws for this decision.

    So the same state of a search always leads to the same decision (splitmix64).
    """
    world.drawn += 1
    mixed = np.uint64(world.stream) + np.uint64(world.samples) * np.uint64(0xD1342543DE82EF95)
    mixed += np.uint64(world.drawn) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.float64((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53


@shared
def divergence(mean, other):
    """Return how badly samples of this mean go together with another mean: d(mean, other) of two coins."""
    found = 0.0
    if mean > 0.0:
        found += mean * log(mean / other)
    if mean < 1.0:
        found += (1.0 - mean) * log((1.0 - mean) / (1.0 - other))
    return found


@shared
def meeting_point(mean, count, rival_mean, rival_count, epsilon):
    """Return the value x of a leaf at which it and a rival of value x + epsilon cost least together."""
    if np.isinf(count):
        return mean
    if np.isinf(rival_count):
        return rival_mean - epsilon
    if epsilon == 0.0:
        return (count * mean + rival_count * rival_mean) / (count + rival_count)
    low, high = max(rival_mean - epsilon, 0.0), min(mean, 1.0 - epsilon)
    point = (count * mean + rival_count * (rival_mean - epsilon)) / (count + rival_count)
    point = min(max(point, 0.95 * low + 0.05 * high), 0.05 * low + 0.95 * high)
    for step in range(STEPS):  # Newton's method on the slope; now and then, and outside of [low, high], halving
        beyond = point + epsilon
        room, rival_room = point * (1.0 - point), beyond * (1.0 - beyond)
        slope = count * (point - mean) / room + rival_count * (beyond - rival_mean) / rival_room
        if slope < 0.0:
            low = point
        else:
            high = point
        steepness = count * (room + (point - mean) * (2.0 * point - 1.0)) / (room * room)
        steepness += (
            rival_count * (rival_room + (beyond - rival_mean) * (2.0 * beyond - 1.0)) / (rival_room * rival_room)
        )
        after = point - slope / steepness
        if abs(after - point) <= PRECISION:
            return point
        point = after if low < after < high and step % 4 < 3 else 0.5 * (low + high)
    return point


@shared
def costs_of(mean, count, rival_mean, rival_count, epsilon):
    """Return the two parts of the cost of a pair: that of the leaf and that of its rival; infinite if impossible."""
    exact, rival_exact = np.isinf(count), np.isinf(rival_count)
    ahead = mean + epsilon - rival_mean
    if ahead < 0.0 or (ahead == 0.0 and not (exact and rival_exact)):
        return 0.0, 0.0
    if exact and (rival_exact or mean + epsilon >= 1.0):
        return np.inf, 0.0
    if rival_exact and rival_mean <= epsilon:
        return np.inf, 0.0
    point = meeting_point(mean, count, rival_mean, rival_count, epsilon)
    own = 0.0 if exact else count * divergence(mean, point)
    return own, 0.0 if rival_exact else rival_count * divergence(rival_mean, point + epsilon)


@inlined
def weight_of(leaf, world):
    """Return the number of samples of a leaf: infinite if its exact value is known."""
    count = known_of(world)[leaf].count
    return np.inf if count > 0 and nodes_of(world)[leaf].kind == EXACT else float(count)


@inlined
def mean_of(leaf, world):
    """Return the mean of the samples of a leaf, or its exact value; 1/2 before the first sample."""
    known = known_of(world)
    return known[leaf].total / known[leaf].count if known[leaf].count > 0 else 0.5


@helper
def highest_mean(world):
    """Return the leaf of highest mean; a leaf without samples only if none has any. Ties: larger lot."""
    nodes, known = nodes_of(world), known_of(world)
    best, highest = -1, -np.inf
    for node in range(world.size):
        if nodes[node].kind == INNER:
            continue
        mean = mean_of(node, world) if known[node].count > 0 else -1.0
        if mean > highest or (mean == highest and known[node].lot > known[best].lot):
            best, highest = node, mean
    return best


@inlined
def reaches_label(node, label, world):
    """Whether `node` is, or reaches, a leaf of that label."""
    nodes = nodes_of(world)
    if nodes[node].kind != INNER:
        return nodes[node].label == label
    return contains(words_at(world.inside + 8 * world.words * cone(node, world), world.words), label)


@inlined
def cost_of(leaf, rival, world):
    """Return the cost of a pair of leaves; 0 if one of them has no samples."""
    count, rival_count = weight_of(leaf, world), weight_of(rival, world)
    if count == 0.0 or rival_count == 0.0:
        return 0.0
    own, other = costs_of(mean_of(leaf, world), count, mean_of(rival, world), rival_count, world.epsilon)
    return own + other


@inlined
def least_cost(leaf, rival, world):
    """Return a number that the cost of a pair is not below, found without logarithms (Pinsker's inequality)."""
    count, rival_count = weight_of(leaf, world), weight_of(rival, world)
    ahead = mean_of(leaf, world) + world.epsilon - mean_of(rival, world)
    if count == 0.0 or rival_count == 0.0 or ahead <= 0.0:
        return 0.0
    spread = (0.0 if np.isinf(count) else 1.0 / count) + (0.0 if np.isinf(rival_count) else 1.0 / rival_count)
    return 2.0 * ahead * ahead / spread if spread > 0.0 else np.inf


@helper
def told_apart(leaf, rival, proved, world):
    """Whether `rival` is proved not to be better by more than epsilon than `proved`, which is or reaches `leaf`."""
    known = known_of(world)
    if known[rival].upper - known[proved].lower <= world.epsilon:
        return True
    count, rival_count = weight_of(leaf, world), weight_of(rival, world)
    if count == 0.0 or rival_count == 0.0:
        return False
    if world.equal > 0:
        share, best_share = world.pair_delta / max(1, world.equal - 1), world.pair_delta
    else:
        order = order_of(world)
        later = float(max(order[leaf], order[rival]))
        share = world.pair_delta / max(1.0, later * later * (later + 1.0))
        best_share = share
    test = stopping_at(world.stopping)
    return test(mean_of(leaf, world), count, mean_of(rival, world), rival_count, world.epsilon, share, best_share)


@helper
def cheapest_rival(proved, leaf, world, only_open):
    """Return the leaf that `proved` does not reach whose pair with `leaf` costs least, and the cost; -1 for none.

    With `only_open`, leaves that are told apart from `leaf` do not count. Ties: larger lot.
    """
    nodes, known = nodes_of(world), known_of(world)
    rival, lowest = -1, np.inf
    for other in range(world.size):
        if nodes[other].kind == INNER or (rival >= 0 and least_cost(leaf, other, world) > lowest):
            continue
        if reaches_label(proved, nodes[other].label, world) or (only_open and told_apart(leaf, other, proved, world)):
            continue
        cost = cost_of(leaf, other, world)
        if rival < 0 or cost < lowest or (cost == lowest and known[other].lot > known[rival].lot):
            rival, lowest = other, cost
    return rival, lowest


@helper
def highest_mean_apart(child, world):
    """Return the highest mean of the leaves that `child` does not reach; minus infinity if there is none."""
    nodes, highest = nodes_of(world), -np.inf
    for node in range(world.size):
        if nodes[node].kind == INNER or mean_of(node, world) <= highest:
            continue
        if not reaches_label(child, nodes[node].label, world):
            highest = mean_of(node, world)
    return highest


@helper
def champion(root, world):
    """Return the leaf of highest mean, a child of `root` that reaches it, what is proved, and the cheapest rival.

    To find the best leaf, the leaf itself is proved: every other leaf is a rival. To find the best arm, the child is
    proved: leaves that it reaches are no rivals. Of several children that reach the leaf, it is then the one whose
    rivals have the lowest highest mean: with enough samples it is the easiest to prove. A child whose rivals are told
    apart best so far would be sampled on and on, even if another one is easier. The rival is -1 if there is none.
    """
    nodes, edges, known = nodes_of(world), edges_of(world), known_of(world)
    leaf = highest_mean(world)
    best, lowest = -1, np.inf
    start = nodes[root].child_start
    for edge in range(start, start + nodes[root].child_count):
        child = edges[edge]
        if not reaches_label(child, nodes[leaf].label, world):
            continue
        highest = 0.0 if world.to_leaf == 1 else highest_mean_apart(child, world)
        if best < 0 or highest < lowest or (highest == lowest and known[child].lot > known[best].lot):
            best, lowest = child, highest
    proved = leaf if world.to_leaf == 1 else best
    rival, _ = cheapest_rival(proved, leaf, world, False)
    return leaf, best, proved, rival


@helper
def hidden_rival(leaf, proved, world):
    """Return the leaf below the proved child that is most like a better one than `leaf`, or -1.

    Nothing has to be proved about it. But if it is better, the child is proved with fewer samples of it. It has the
    smallest index, cost plus logarithm of its samples (IMED, Honda and Takemura 2015), if that is smaller than the
    index of the leader.
    """
    nodes, known = nodes_of(world), known_of(world)
    rival, lowest = -1, log(1.0 + known[leaf].count)
    for other in range(world.size):
        if nodes[other].kind == INNER or nodes[other].label == nodes[leaf].label:
            continue
        if least_cost(leaf, other, world) > lowest or not reaches_label(proved, nodes[other].label, world):
            continue
        index = cost_of(leaf, other, world) + log(1.0 + known[other].count)
        if index < lowest or (index == lowest and rival >= 0 and known[other].lot > known[rival].lot):
            rival, lowest = other, index
    return rival


@node_kernel
def test_pairs(root, world):
    """Look for the pair of least cost that is not told apart yet; return 1 if there is none: the choice is solved."""
    known = known_of(world)
    leaf, best, proved, rival = champion(root, world)
    if rival >= 0 and told_apart(leaf, rival, proved, world):
        rival, _ = cheapest_rival(proved, leaf, world, True)
    strongest = strongest_apart(proved, world)
    gap = known[strongest].upper - known[proved].lower if strongest >= 0 else 0.0
    world.best, world.leader, world.challenger, world.proved = best, leaf, rival, proved
    if rival < 0:
        world.first, world.second, world.gap = leaf, strongest, min(gap, world.epsilon)
        return 1
    fewer = weight_of(rival, world) < weight_of(leaf, world)
    world.first, world.second = (rival, leaf) if fewer else (leaf, rival)
    world.gap = gap
    return 0
