"""The rounds of the search: decide which leaf to sample, add the sample, update the intervals.

A round starts at the root. If the best leaf is searched, it goes down through solved nodes to the first node whose
choice is not solved. The stopping test says whether a choice is solved. The rule names the best child and its rival,
and the wider of the two is sampled.
"""

from functools import partial

import numpy as np

from bestleaf.engine.compile import (
    draw,
    edges_of,
    inlined,
    kernel,
    known_of,
    node_kernel,
    node_kernel_at,
    nodes_of,
    sampler_at,
    track_of,
)
from bestleaf.engine.kernels.backup import absorb
from bestleaf.engine.kernels.contest import width
from bestleaf.engine.kernels.reach import as_one
from bestleaf.engine.records import (
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
    STUCK,
    TEMPORARY,
    UNLIMITED,
    Decision,
)


@inlined
def pending(leaf, world):
    """Whether `leaf` has an exact value that has not been computed yet."""
    return nodes_of(world)[leaf].kind == EXACT and known_of(world)[leaf].count == 0


@inlined
def fixed(leaf, world):
    """Whether a representative leaf cannot be sampled: its exact value is known, or it stands for endless play."""
    kind = nodes_of(world)[leaf].kind
    return kind == INNER or (kind == EXACT and known_of(world)[leaf].count > 0)


@inlined
def nothing_to_compare(root, world):
    """Whether the sound test found no rival at `root`, but the graph could still grow one."""
    many = nodes_of(world)[root].child_count
    track = track_of(world)
    waits = as_one(root, world) or (many > 1 and track[root].deepened < many)
    return world.sound == 1 and world.growing == 1 and world.second < 0 and waits and track[root].grow_at < UNLIMITED


@inlined
def tell_apart(root, best, gap, world):
    """Return what to do about a choice that is not solved: grow below it, evaluate or sample one of its two leaves."""
    track = track_of(world)
    if world.growing == 1 and track[root].rounds >= track[root].grow_at:
        return Decision(GROW, root, best, -1, gap)
    leaf = world.first
    if world.refresh_component != 0 and fixed(leaf, world):
        leaf = world.second
        if leaf < 0 or fixed(leaf, world):
            return Decision(STUCK, root, best, -1, gap)
    return Decision(EVALUATE if pending(leaf, world) else SAMPLE, root, best, leaf, gap)


@inlined
def unfinished_node(world):
    """Return a node whose children have to enter before a solved answer is settled, or -1; see `finish`."""
    return node_kernel_at(world.unfinished)(0, world) if world.unfinished != 0 else -1


@inlined
def propose_for_plan(world):
    """Return what to do for the plan: tell two moves apart where most can be lost, or let children enter."""
    action = node_kernel_at(world.plan_choice)(0, world)
    if action < 0:
        return Decision(BAD_RULE, world.at, -1, -1, world.gap)
    if action == SOLVED:
        node = unfinished_node(world)
        return Decision(SOLVED if node < 0 else OPEN, max(0, node), 0, -1, world.gap)
    if action == OPEN:
        return Decision(OPEN, world.at, 0, -1, world.gap)
    return tell_apart(world.at, world.best, world.gap, world)


@inlined
def propose(world):
    """Go down through solved nodes to the first choice that is not solved; return what to do there."""
    nodes, track = nodes_of(world), track_of(world)
    root, gap = 0, -np.inf
    if track[0].opened == 0:
        return Decision(OPEN, 0, 0, -1, gap)
    if world.plans == 1:
        return propose_for_plan(world)
    while True:
        if nodes[root].child_count == 1 and not as_one(root, world):
            best = edges_of(world)[nodes[root].child_start]
        else:
            solved = node_kernel_at(world.contest)(root, world)
            if solved < 0:
                return Decision(BAD_RULE, root, -1, -1, gap)
            best = world.best
            # With the sound test the last gap holds for all leaves; otherwise the largest gap on the way counts.
            gap = world.gap if world.sound == 1 else max(gap, world.gap)
            if solved == 0:
                break
            if nothing_to_compare(root, world):
                return Decision(DEEPEN, root, best, -1, gap)
        if world.to_leaf == 0 or (nodes[best].kind != INNER and nodes[best].kind != TEMPORARY):
            gap = gap if gap > -np.inf else 0.0
            if world.to_leaf == 1 and pending(best, world):
                return Decision(EVALUATE, root, best, best, gap)
            node = unfinished_node(world)
            return Decision(OPEN, node, best, -1, gap) if node >= 0 else Decision(SOLVED, root, best, best, gap)
        if track[best].opened == 0:
            return Decision(OPEN, best, best, -1, gap)
        root = nodes[best].component - 1 if as_one(best, world) else best
    return tell_apart(root, best, gap, world)


@inlined
def node_above(node, world):
    """Return the first parent of `node`; of a component, the first one outside it, of its oldest node that has one."""
    nodes, edges = nodes_of(world), edges_of(world)
    level = nodes[node].level
    while True:
        start = nodes[node].parent_start
        for edge in range(start, start + nodes[node].parent_count):
            if nodes[edges[edge]].level < level:
                return edges[edge]
        node = nodes[node].ring


@node_kernel
def mark_descent(root, world):
    """Count a visit of every node from `root` to the leaf `world.first`, through `world.best` if that leads there."""
    nodes, edges, known, track = nodes_of(world), edges_of(world), known_of(world), track_of(world)
    leaf = world.first
    track[root].visits += 1
    component = nodes[root].component if as_one(root, world) else -1
    node, above, parent = -1, root, root
    while True:
        start = nodes[parent].child_start
        for edge in range(start, start + nodes[parent].child_count):
            child = edges[edge]
            fits = known[child].leaf == leaf and nodes[child].component != component
            if fits and (node < 0 or (child == world.best and node != world.best)):
                node, above = child, parent
        if component < 0:
            break
        parent = nodes[parent].ring
        if parent == root:
            break
    if above != root:
        track[above].visits += 1
    while node >= 0 and node != leaf:
        track[node].visits += 1
        node = known[node].child
    if node == leaf:
        track[leaf].visits += 1
        return leaf
    # No child of `root` is represented by this leaf: go up from the leaf, always to the first parent.
    node = leaf
    while nodes[node].level > nodes[root].level:
        track[node].visits += 1
        node = node_above(node, world)
    return leaf


@inlined
def begin_round(decision, world):
    """Count the round at the node of the decision and, in a growing graph, the visits on the way to its leaf."""
    track_of(world)[decision.root].rounds += 1
    if world.growing == 1:
        world.first, world.best = decision.leaf, decision.best
        node_kernel_at(world.mark_descent)(decision.root, world)


@inlined
def play(decision, value, world):
    """Count the round of `decision` and take in its sample; False if the bound failed."""
    begin_round(decision, world)
    return absorb(decision.leaf, value, world)


@kernel
def run(world, oracle, rng, rounds):
    """Play up to `rounds` rounds with a compiled oracle; return the fields of the next decision.

    It returns a tuple, not a `Decision`: to make one, numba calls Python, and crashes if a signal handler raises there.
    """
    played = 0
    while True:
        decision = propose(world)
        action, root, best, leaf, gap = decision
        if action != SAMPLE or played == rounds:
            return action, root, best, leaf, gap
        if world.samples >= world.limit:
            return LIMITED, root, best, leaf, gap
        if not play(decision, draw(oracle, leaf, rng), world):
            return BAD_BOUND, root, best, leaf, gap
        played += 1


@partial(kernel, nogil=False)  # each sample needs the interpreter
def converse(world, sampler):
    """Play rounds whose samples a Python function draws; return the fields of the next decision.

    The function at the address `sampler` gets a leaf. It ends the rounds by NaN, which is no sample.
    """
    while True:
        decision = propose(world)
        action, root, best, leaf, gap = decision
        if action != SAMPLE:
            return action, root, best, leaf, gap
        if world.samples >= world.limit:
            return LIMITED, root, best, leaf, gap
        value = sampler_at(sampler)(leaf)
        if value != value:
            return SAMPLE, root, best, leaf, gap
        if not play(decision, value, world):
            return BAD_BOUND, root, best, leaf, gap


@inlined
def standing(target, world):
    """Return SOLVED if no upper bound is above `target`; otherwise what to do about the largest one (see `press`)."""
    known = known_of(world)
    leaf = known[0].leaf
    if known[0].upper <= target:
        return SOLVED
    if known[leaf].lower > target or width(leaf, known) <= 0.0 or pending(leaf, world):
        return EVALUATE if pending(leaf, world) else OPEN
    return LIMITED if world.samples >= world.limit else SAMPLE


@kernel
def press(target, world, oracle, rng, rounds):
    """Sample the leaf of largest upper bound until no upper bound is above `target`; return how that ended.

    SOLVED: none is above it. EVALUATE: the leaf on top needs its exact value. OPEN: the leaf on top stays above it.
    LIMITED: no samples are left. BAD_BOUND: the bound failed. SAMPLE: the `rounds` are over.
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
    """Return what `press` would return before the first sample."""
    return standing(target, world)


@kernel
def take(leaf, value, world):
    """Take in one sample that belongs to no round; False if the bound failed."""
    return absorb(leaf, value, world)


@kernel
def step(decision, value, world):
    """Take in the sample of `decision` (none if its leaf is -1); return the fields of the next decision."""
    if decision.leaf >= 0 and not play(decision, value, world):
        return BAD_BOUND, decision.root, decision.best, decision.leaf, decision.gap
    action, root, best, leaf, gap = propose(world)
    return action, root, best, leaf, gap


@kernel
def count_round(decision, world):
    """Count the round of a decision whose leaf is evaluated, not sampled."""
    begin_round(decision, world)
