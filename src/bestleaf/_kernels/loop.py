"""One round of the search, and many: propose whom to sample, absorb what came back.

A round starts at the root and goes down through solved nodes (best leaf) until the first node whose
choice is open. The stopping test says whether it is; the rule names best and rival, and the wider of the two is
sampled.
"""

import numpy as np

from bestleaf._compile import (
    arms_kernel_at,
    draw,
    edges_of,
    inlined,
    kernel,
    known_of,
    node_kernel_at,
    nodes_of,
    rule_at,
    separate,
    track_of,
    words_at,
)
from bestleaf._kernels.arms import highest_lower_bound, pessimistic, smallest_regret, strongest_rival
from bestleaf._kernels.backup import absorb
from bestleaf._kernels.reach import cone, contains, strongest_apart
from bestleaf._records import (
    BAD_BOUND,
    BAD_RULE,
    DEEPEN,
    EVALUATE,
    EXACT,
    GROW,
    INNER,
    LIMITED,
    OPEN,
    SAMPLE,
    SOLVED,
    TEMPORARY,
    UNLIMITED,
    Graph,
    Proposal,
)

TURNS = 10  # one round in so many samples the pair of the stopping test, whatever the rule names


@inlined
def width(node, known):
    """Return U - L of a node (infinite for a leaf never sampled under an unclipped bound)."""
    return known[node].upper - known[node].lower


@inlined
def enter(best, leaf, rival_leaf, gap, rival_wider, world):
    """Write a contest down: the leaf of the wider side is first."""
    world.best = best
    world.first = rival_leaf if rival_wider else leaf
    world.second = leaf if rival_wider else rival_leaf
    world.gap = gap


@inlined
def widest_copy(leaf, root, world):
    """Return the copy of `leaf` below `root` that is known least, or `leaf` itself; ties: larger lot.

    Copies have the same value, but each has samples of its own, and only those below `root` tell its children apart.
    """
    nodes, known = nodes_of(world), known_of(world)
    inside = words_at(world.inside + 8 * world.words * cone(root, world), world.words)
    chosen, copy = leaf, nodes[leaf].twin
    while copy != leaf:
        if nodes[copy].kind != INNER and contains(inside, world.first_node + copy):
            mine, least = width(copy, known), width(chosen, known)
            if mine > least or (mine == least and known[copy].lot > known[chosen].lot):
                chosen = copy
        copy = nodes[copy].twin
    return chosen


@inlined
def test_leaves(root, world):
    """Find the child of smallest gap, U of the strongest leaf it does not reach minus its own L; True if solved.

    One player: if the best leaf lies below the child, it is a best child; otherwise U of that leaf is at most L + gap.
    """
    nodes, edges, known = nodes_of(world), edges_of(world), known_of(world)
    best = rival = -1
    gap = np.inf
    start = nodes[root].child_start
    for edge in range(start, start + nodes[root].child_count):
        child = edges[edge]
        other = strongest_apart(child, world)
        value = known[other].upper - known[child].lower if other >= 0 else -np.inf
        if best < 0 or value < gap or (value == gap and known[child].lot > known[best].lot):
            best, rival, gap = child, other, value
    if rival < 0:
        enter(best, known[best].leaf, -1, 0.0, False, world)
        return True
    # If the strongest of all leaves is not the rival, `best` reaches it or another copy of it: then it is in the way.
    strongest = known[0].leaf
    leaf = known[best].leaf if rival == strongest else strongest
    if world.labelled == 1:
        leaf, rival = widest_copy(leaf, root, world), widest_copy(rival, root, world)
    enter(best, leaf, rival, gap, width(rival, known) > width(leaf, known), world)
    return gap <= world.epsilon


@inlined
def test_moves(root, world):
    """Find the child that the best of the others exceeds by the least, for whoever moves; True if solved.

    Two players: which leaves a child reaches proves nothing, so every other child is a rival.
    """
    graph, known = Graph(nodes_of(world), edges_of(world)), known_of(world)
    best, gap = smallest_regret(root, graph, known)
    rival = strongest_rival(best, root, graph, known)
    enter(best, known[best].leaf, known[rival].leaf, gap, width(rival, known) > width(best, known), world)
    return gap <= world.epsilon


@inlined
def test_pair(best, rival, root, world):
    """Put two children against each other as the published test does; True if solved."""
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
    return gap < world.epsilon or (gap == world.epsilon and exhausted)


@inlined
def contest_published(root, world):
    """Let the rule and the published test decide; return 1 if solved, -1 if the rule errs."""
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
    # Neither leaf can be narrowed any more: the rule's best is not the best.
    return 1 if test_pair(leader, strongest_rival(leader, root, graph, known), root, world) else 0


@inlined
def named_pair(root, world):
    """Put the pair that the rule names in the place of that of the stopping test; False if the rule errs.

    One round in ten goes to the pair of the test, as do rounds in which the rule's leaves cannot be narrowed: a poor
    rule costs samples, but the search ends.
    """
    if track_of(world)[root].rounds % TURNS == TURNS - 1:
        return True
    known = known_of(world)
    best, rival = rule_at(world.rule)(root, Graph(nodes_of(world), edges_of(world)), known)
    if best >= 0 and rival >= 0 and (width(best, known) > 0.0 or width(rival, known) > 0.0):
        rival_wider = width(rival, known) > width(best, known)
        enter(best, known[best].leaf, known[rival].leaf, world.gap, rival_wider, world)
    return best >= 0


@separate("at_node")
def contest(root, world):
    """Find best child, the two leaves to tell apart and the gap at `root`; return 1 if solved, -1 if the rule errs."""
    if world.sound == 0:
        return contest_published(root, world)
    one_player = nodes_of(world)[0].adversarial == 0
    if test_leaves(root, world) if one_player else test_moves(root, world):
        return 1
    return 0 if world.by_rule == 0 or named_pair(root, world) else -1


@inlined
def pending(leaf, world):
    """Whether `leaf` has an exact value that has not been asked for."""
    return leaf >= 0 and nodes_of(world)[leaf].kind == EXACT and known_of(world)[leaf].count == 0


@inlined
def nothing_to_compare(root, world):
    """Whether the sound test found no leaf outside the cone although more growth could bring one."""
    many = nodes_of(world)[root].child_count
    track = track_of(world)
    waits = track[root].deepened < many and track[root].grow_at < UNLIMITED
    return world.sound == 1 and world.growing == 1 and world.second < 0 and many > 1 and waits


@inlined
def propose(world):
    """Go down through solved nodes to the first open choice and say what to do there."""
    nodes, track = nodes_of(world), track_of(world)
    root, gap = 0, -np.inf
    if track[0].opened == 0:
        return Proposal(OPEN, 0, 0, -1, -1, gap)
    while True:
        if nodes[root].child_count == 1:
            best = edges_of(world)[nodes[root].child_start]
        else:
            solved = node_kernel_at(world.contest)(root, world)
            if solved < 0:
                return Proposal(BAD_RULE, root, -1, -1, -1, gap)
            best = world.best
            # The sound test at the last node speaks of all leaves; otherwise every node on the way has its own gap.
            gap = world.gap if world.sound == 1 and nodes[0].adversarial == 0 else max(gap, world.gap)
            if solved == 0:
                break
            if nothing_to_compare(root, world):
                return Proposal(DEEPEN, root, best, -1, -1, gap)
        if world.to_leaf == 0 or (nodes[best].kind != INNER and nodes[best].kind != TEMPORARY):
            action = EVALUATE if world.to_leaf == 1 and pending(best, world) else SOLVED
            return Proposal(action, root, best, best, -1, gap if gap > -np.inf else 0.0)
        if track[best].opened == 0:
            return Proposal(OPEN, best, best, -1, -1, gap)
        root = best
    if world.growing == 1 and track[root].rounds >= track[root].grow_at:
        return Proposal(GROW, root, best, -1, -1, gap)
    first, second = world.first, world.second
    if world.both == 0 or second == first or width(second, known_of(world)) <= 0.0:
        second = -1
    if pending(second, world):
        first, second = second, -1
    action = EVALUATE if pending(first, world) else SAMPLE
    return Proposal(action, root, best, first, second, gap)


@separate("at_arms")
def mark_descent(root, best, world):
    """Count the descent from `root` to the leaf `world.first`, through `best` if that is represented by it."""
    nodes, edges, known, track = nodes_of(world), edges_of(world), known_of(world), track_of(world)
    leaf = world.first
    track[root].visits += 1
    node = best if known[best].leaf == leaf else -1
    start = nodes[root].child_start
    for edge in range(start, start + nodes[root].child_count):
        if node < 0 and known[edges[edge]].leaf == leaf:
            node = edges[edge]
    while node >= 0 and node != leaf:
        track[node].visits += 1
        node = known[node].child
    if node == leaf:
        track[leaf].visits += 1
        return leaf
    # No child of the root has this leaf as its representative: climb by the parents that were first.
    node = leaf
    while nodes[node].level > nodes[root].level:
        track[node].visits += 1
        node = edges[nodes[node].parent_start]
    return leaf


@inlined
def begin_round(proposal, world):
    """Count the round at the node of attention and, while the graph grows, the descent to the first leaf."""
    track_of(world)[proposal.root].rounds += 1
    if world.growing == 1:
        world.first = proposal.first
        arms_kernel_at(world.mark_descent)(proposal.root, proposal.best, world)


@inlined
def play(proposal, first_value, second_value, world):
    """Count the round of `proposal` and absorb its samples; False when the bound errs."""
    begin_round(proposal, world)
    leaf, value = proposal.first, first_value
    while absorb(leaf, value, world):
        if leaf == proposal.second or proposal.second < 0:
            return True
        leaf, value = proposal.second, second_value
    return False


@kernel
def run(world, oracle, rng, rounds):
    """Play up to `rounds` rounds with a compiled oracle; return the fields of the proposal that stands then.

    Not the proposal itself: numba makes it by calling Python, where a signal handler may raise, and does not survive.
    """
    played = 0
    while True:
        proposal = propose(world)
        action, root, best, first, second, gap = proposal
        if action != SAMPLE or played == rounds:
            return action, root, best, first, second, gap
        left = world.limit - world.samples
        if left <= 0:
            return LIMITED, root, best, first, second, gap
        if left == 1:
            proposal = Proposal(SAMPLE, root, best, first, -1, gap)
        value = draw(oracle, first, rng)
        other = draw(oracle, proposal.second, rng) if proposal.second >= 0 else 0.0
        if not play(proposal, value, other, world):
            return BAD_BOUND, root, best, first, second, gap
        played += 1


@inlined
def standing(target, world):
    """Return SOLVED if no leaf is above `target`, SAMPLE if the one on top can be sampled, otherwise why it cannot."""
    known = known_of(world)
    leaf = known[0].leaf
    if known[0].upper <= target:
        return SOLVED
    if known[leaf].lower > target or width(leaf, known) <= 0.0 or pending(leaf, world):
        return EVALUATE if pending(leaf, world) else OPEN
    return LIMITED if world.samples >= world.limit else SAMPLE


@kernel
def press(target, world, oracle, rng, rounds):
    """Sample the leaf of largest upper bound until none is above `target`; return what stands then.

    SOLVED when none is; LIMITED when samples have run out; BAD_BOUND; OPEN when the leaf on top can never get there;
    SAMPLE when `rounds` are over.
    """
    for _ in range(rounds):
        stands = standing(target, world)
        if stands != SAMPLE:
            return stands
        leaf = known_of(world)[0].leaf
        if not absorb(leaf, draw(oracle, leaf, rng), world):
            return BAD_BOUND
    return SAMPLE


@kernel
def stands_at(target, world):
    """Return what `press` would do first."""
    return standing(target, world)


@kernel
def take(leaf, value, world):
    """Absorb one sample that belongs to no round; False when the bound errs."""
    return absorb(leaf, value, world)


@kernel
def step(proposal, first_value, second_value, world):
    """Absorb the samples of `proposal` (none when its first leaf is -1) and return the fields of the next one."""
    if proposal.first >= 0 and not play(proposal, first_value, second_value, world):
        return BAD_BOUND, proposal.root, proposal.best, proposal.first, proposal.second, proposal.gap
    action, root, best, first, second, gap = propose(world)
    return action, root, best, first, second, gap


@kernel
def count_round(proposal, world):
    """Count the round of a proposal whose leaf is evaluated exactly."""
    begin_round(proposal, world)
