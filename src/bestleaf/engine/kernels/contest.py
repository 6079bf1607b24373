"""The stopping test at one node: the best child, the two leaves to tell apart, and the gap."""

import numpy as np

from bestleaf.engine.compile import (
    components_of,
    edges_of,
    exits_of,
    inlined,
    known_of,
    node_kernel,
    nodes_of,
    rule_at,
    stopping_at,
    track_of,
)
from bestleaf.engine.kernels.reach import as_one, holds, least_gap, reachable_set, reaches, rival_of
from bestleaf.engine.records import INNER, Graph
from bestleaf.engine.rules import highest_lower_bound, pessimistic, smallest_regret, strongest_rival


@inlined
def width(node, known):
    """Return U - L of a node (infinite for a leaf that was never sampled, under a rate)."""
    return known[node].upper - known[node].lower


@inlined
def enter(best, leaf, rival_leaf, gap, rival_wider, world):
    """Write the outcome into the world; the leaf of the wider child is `first`."""
    world.best = best
    world.first = rival_leaf if rival_wider else leaf
    world.second = leaf if rival_wider else rival_leaf
    world.gap = gap


@inlined
def widest_copy(leaf, root, world):
    """Return the copy of `leaf` below `root` with the widest interval, or `leaf` itself; ties: larger tie-break.

    Copies are leaves with the same label. They have the same value, but each has its own samples.
    """
    nodes, known = nodes_of(world), known_of(world)
    chosen, copy = leaf, nodes[leaf].twin
    while copy != leaf:
        if nodes[copy].kind != INNER and holds(reachable_set(root, world), world.first_node + copy, world):
            mine, least = width(copy, known), width(chosen, known)
            if mine > least or (mine == least and known[copy].tie_break > known[chosen].tie_break):
                chosen = copy
        copy = nodes[copy].twin
    return chosen


@inlined
def test_leaves(root, world):
    """One player: find the child with the smallest gap; True if the gap is at most epsilon.

    The gap is U of the strongest leaf that the child does not reach, minus L of the child. If the best leaf lies below
    the child, the child is a best one. Otherwise the value of the best leaf is at most L + gap. If a best leaf is
    wanted, the children of a component are its exits; `root` is its oldest node.
    """
    nodes, edges, known = nodes_of(world), edges_of(world), known_of(world)
    best = rival = -1
    gap, strongest = np.inf, known[0].leaf
    together = as_one(root, world)
    start = components_of(world)[root].first if together else nodes[root].child_start
    stop = components_of(world)[root].gates if together else start + nodes[root].child_count
    for place in range(start, stop):
        child = exits_of(world)[place].node if together else edges[place]
        if nodes[known[child].leaf].kind == INNER:
            continue  # no leaf can be reached from there
        if reaches(child, strongest, world):
            if best >= 0 and least_gap(child, world) > gap:
                continue
            other = rival_of(child, world)
        else:
            other = strongest
        value = known[other].upper - known[child].lower if other >= 0 else -np.inf
        if best < 0 or value < gap or (value == gap and known[child].tie_break > known[best].tie_break):
            best, rival, gap = child, other, value
    if rival < 0:
        enter(best, known[best].leaf, -1, 0.0, False, world)
        return True
    # If the strongest of all leaves is not the rival, `best` reaches it or a copy of it: then sample it.
    leaf = known[best].leaf if rival == strongest else strongest
    if world.labelled == 1:
        leaf, rival = widest_copy(leaf, root, world), widest_copy(rival, root, world)
    enter(best, leaf, rival, gap, width(rival, known) > width(leaf, known), world)
    return gap <= world.epsilon


@inlined
def test_moves(root, world):
    """Two players: find the child with the smallest gap for the player who moves; True if it is at most epsilon.

    Which leaves a child reaches proves nothing here, so every other child is a rival.
    """
    graph, known = Graph(nodes_of(world), edges_of(world)), known_of(world)
    best, gap = smallest_regret(root, graph, known)
    rival = strongest_rival(best, root, graph, known)
    enter(best, known[best].leaf, known[rival].leaf, gap, width(rival, known) > width(best, known), world)
    return gap <= world.epsilon


@inlined
def test_pair(best, rival, root, world):
    """Compare two children as the published test or the user's own does; True if the choice is solved."""
    known = known_of(world)
    if rival < 0:
        enter(best, known[best].leaf, -1, 0.0, False, world)
        return True
    if nodes_of(world)[root].minimizes == 1:
        gap = known[best].upper - known[rival].lower
    else:
        gap = known[rival].upper - known[best].lower
    rival_wider = width(rival, known) > width(best, known)
    enter(best, known[best].leaf, known[rival].leaf, gap, rival_wider, world)
    exhausted = width(best, known) <= 0.0 and width(rival, known) <= 0.0
    if world.stopping != 0 and not exhausted:
        graph = Graph(nodes_of(world), edges_of(world))
        return stopping_at(world.stopping)(best, rival, root, graph, known, world.epsilon)
    return gap < world.epsilon or (gap == world.epsilon and exhausted)


@inlined
def contest_published(root, world):
    """Apply the rule and a test of its two children; return 1 if solved, 0 if not, -1 if the rule failed."""
    graph, known = Graph(nodes_of(world), edges_of(world)), known_of(world)
    best, rival = rule_at(world.rule)(root, graph, known)
    if best < 0:
        return -1
    if test_pair(best, rival, root, world):
        return 1
    leader = highest_lower_bound(root, graph, known)
    behind = pessimistic(best, root, graph, known) < pessimistic(leader, root, graph, known)
    if width(world.first, known) > 0.0 or not behind:
        return 0
    # No interval can get narrower, and another child is better than the rule's best: test that child.
    return 1 if test_pair(leader, strongest_rival(leader, root, graph, known), root, world) else 0


@inlined
def named_pair(root, world):
    """Replace the pair of the stopping test by the pair of the rule; False if the rule failed.

    One round in ten keeps the pair of the test, and so do rounds in which the rule's intervals cannot get narrower.
    So a poor rule costs samples, but the search still ends.
    """
    if track_of(world)[root].rounds % 10 == 9:
        return True
    known = known_of(world)
    best, rival = rule_at(world.rule)(root, Graph(nodes_of(world), edges_of(world)), known)
    if best >= 0 and rival >= 0 and (width(best, known) > 0.0 or width(rival, known) > 0.0):
        rival_wider = width(rival, known) > width(best, known)
        enter(best, known[best].leaf, known[rival].leaf, world.gap, rival_wider, world)
    return best >= 0


@node_kernel
def contest(root, world):
    """Find the best child of `root`, two leaves to tell apart, the gap; return 1 if solved, -1 if the rule failed."""
    if world.sound == 0:
        return contest_published(root, world)
    one_player = nodes_of(world)[0].adversarial == 0
    if test_leaves(root, world) if one_player else test_moves(root, world):
        return 1
    return 0 if world.by_rule == 0 or named_pair(root, world) else -1
