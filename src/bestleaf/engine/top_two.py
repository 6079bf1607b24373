"""Rules that name leaves: a leader and a challenger (top two), LUCB++, and Track-and-Stop.

They need the fewest samples with a stopping test by pairs; see `bestleaf.engine.stopping`.
"""

from __future__ import annotations

from functools import partial
from math import sqrt

import numpy as np

from bestleaf.engine.compile import helper, inlined, track_of
from bestleaf.engine.kernels.pairs import champion, costs_of, divergence, hidden_rival
from bestleaf.engine.records import EXACT
from bestleaf.engine.rule import (
    HIDDEN,
    Rule,
    count,
    is_leaf,
    leader_and_challenger,
    mean,
    of_children,
    reaches,
    uniform,
    world_of,
)
from bestleaf.engine.stopping import end_of_interval

PLANNING = 10  # halvings; the best proportions need not be known better than samples can follow them
APART = 1e-3  # means that are closer are taken to be so far apart, so that proportions stay finite


@partial(Rule, leaves=True)
def eb_tc(root, graph, known):
    """Leader of highest mean, challenger of least transportation cost: EB-TC (Jourdan, Degenne and Kaufmann 2023).

    The cost is that of the epsilon of the search, as in their EB-TC_eps, with the divergence of coins. Which of the two
    is sampled is drawn at random, in proportion to their parts of the cost (information-directed selection, You et al.
    2023).
    """
    if graph.nodes[0].adversarial == 1:
        return of_children(root, graph, known)
    leader, challenger = leader_and_challenger(root, graph)
    if challenger < 0:
        return leader, challenger
    mine, other = count(leader, graph), count(challenger, graph)
    if mine == 0.0 or other == 0.0:
        return (leader, challenger) if mine < other else (challenger, leader)
    own, its = costs_of(mean(leader, graph), mine, mean(challenger, graph), other, world_of(graph).epsilon)
    part = own / (own + its) if 0.0 < own + its < np.inf else 0.5
    return (leader, challenger) if uniform(graph) < part else (challenger, leader)


@partial(Rule, leaves=True, both=True)
def lucb_plus_plus(root, graph, known):
    """Leader of highest mean and rival of highest upper bound, both sampled: LUCB++ (Simchowitz et al. 2017).

    Where all leaves are known in advance, the upper bounds have half of delta each: only that of the best leaf can make
    the answer wrong.
    """
    if graph.nodes[0].adversarial == 1:
        return of_children(root, graph, known)
    world = world_of(graph)
    leader, _, best, _ = champion(root, world)
    delta = world.pair_delta if world.pairs == 1 else world.delta
    rival, highest = -1, -np.inf
    for leaf in range(len(graph.nodes)):
        if not is_leaf(leaf, graph) or reaches(best, leaf, graph):
            continue
        upper = 1.0
        if count(leaf, graph) > 0.0:
            share = delta if world.equal > 0 else track_of(world)[leaf].share
            upper = end_of_interval(mean(leaf, graph), count(leaf, graph), 0.5 * share, True)
        if upper > highest or (upper == highest and known[leaf].lot > known[rival].lot):
            rival, highest = leaf, upper
    if best != leader and uniform(graph) < HIDDEN:
        hidden = hidden_rival(leader, best, world)
        leader = hidden if hidden >= 0 else leader
    return leader, rival


@inlined
def smoothed(leaf, graph):
    """Return the mean of a leaf with half a sample 0 and half a sample 1 more, so that it is never 0 or 1."""
    number = count(leaf, graph)
    return (mean(leaf, graph) * number + 0.5) / (number + 1.0)


@helper
def samples_for_cost(cost, top, other, epsilon):
    """Return how many samples a rival needs for each one of the leader's so that their pair costs `cost`.

    Also return what the leader pays for the pair, divided by what one sample of the rival pays.
    """
    low, high = max(other - epsilon, 0.0), min(top, 1.0 - epsilon)
    ratio = paid = other_paid = 0.0
    for _ in range(PLANNING):  # the value of the leader at which the pair meets
        point = 0.5 * (low + high)
        beyond = point + epsilon
        pull = (top - point) / (point * (1.0 - point))
        ratio = pull * beyond * (1.0 - beyond) / (beyond - other)
        paid, other_paid = divergence(top, point), divergence(other, beyond)
        if paid + ratio * other_paid > cost:
            low = point
        else:
            high = point
    return ratio, paid / other_paid


@partial(Rule, leaves=True)
def track_and_stop(root, graph, known):
    """Sample leaves in the best proportions for the means so far: Track-and-Stop (Garivier and Kaufmann 2016).

    The proportions make the cheapest pair with the leader as expensive as possible. The leaf that is farthest behind
    its proportion is sampled (D-tracking); of K leaves, one with fewer than sqrt(t) - K/2 of t samples goes first.
    Leaves below the same child as the leader need no telling apart, so they get no other samples.
    """
    world = world_of(graph)
    epsilon = world.epsilon
    if graph.nodes[0].adversarial == 1:
        return of_children(root, graph, known)
    leader, _, best, challenger = champion(root, world)
    fewest, leaves = -1, 0
    for leaf in range(len(graph.nodes)):
        if is_leaf(leaf, graph):
            leaves += 1
            fewer = fewest < 0 or count(leaf, graph) < count(fewest, graph)
            if fewer or (count(leaf, graph) == count(fewest, graph) and known[leaf].lot > known[fewest].lot):
                fewest = leaf
    forced = count(fewest, graph) < max(1.0, sqrt(world.samples) - 0.5 * leaves)
    if forced or challenger < 0 or graph.nodes[leader].kind == EXACT:
        return fewest, challenger if fewest == leader else leader
    top = smoothed(leader, graph)
    cheapest, dearest, total = 0.0, np.inf, 0.0
    for leaf in range(len(graph.nodes)):
        if graph.nodes[leaf].kind != EXACT and is_leaf(leaf, graph) and not reaches(best, leaf, graph):
            other = min(smoothed(leaf, graph), top + epsilon - APART)
            dearest = min(dearest, divergence(top, max(other - epsilon, APART)))
    for step in range(PLANNING):  # the cost at which what the leader pays for all pairs is worth one sample of it
        cost = 0.5 * (cheapest + dearest)
        worth, total = 0.0, 1.0
        for leaf in range(len(graph.nodes)):
            if graph.nodes[leaf].kind != EXACT and is_leaf(leaf, graph) and not reaches(best, leaf, graph):
                other = min(smoothed(leaf, graph), top + epsilon - APART)
                ratio, part = samples_for_cost(cost, top, other, epsilon)
                worth, total = worth + part, total + ratio
        if step == PLANNING - 1:
            break
        if worth < 1.0:
            cheapest = cost
        else:
            dearest = cost
    behind, most = leader, world.samples / total - count(leader, graph)
    for leaf in range(len(graph.nodes)):
        if graph.nodes[leaf].kind != EXACT and is_leaf(leaf, graph) and not reaches(best, leaf, graph):
            other = min(smoothed(leaf, graph), top + epsilon - APART)
            ratio, _ = samples_for_cost(0.5 * (cheapest + dearest), top, other, epsilon)
            lag = world.samples * ratio / total - count(leaf, graph)
            if lag > most or (lag == most and known[leaf].lot > known[behind].lot):
                behind, most = leaf, lag
    return behind, challenger if behind == leader else leader
