"""Nodes where chance decides, and plans: what a player does wherever chance (and an opponent) may lead.

The interval of a chance node is the mean of the intervals of its children, weighted with their probabilities p_c. So
its width is a sum over many leaves, and the leaf to sample is the one whose next sample narrows it most. The gain of a
leaf is its width divided by the number of its samples + 1: widths fall with the root of the number of samples n, so one
more sample narrows a leaf in proportion to its width / n. The gain of a chance node is the largest p_c times the gain
of c, and its representative child is that c. The gain of another node is that of its representative child.

The plan takes the child of highest lower bound wherever the player moves, so that its value is at least L_s from every
node s on. The loss D_s of a node bounds how much better than the plan any other plan is from there on:

- At a leaf it is 0.
- Where the player moves and the plan takes c: the larger of D_c and U - L_c, with U the largest upper bound of the
  other children. If c is a best child, the plan loses what it loses below c. Otherwise a best child is worth at most U.
- At a chance node it is the mean of the losses of its children.
- Where the opponent moves: the largest of min(D_c, U_s - L_c) over the children c. Let c be the child to which the
  opponent moves against the plan. Then the value of s is at most that of c, and at most U_s.

The search for a plan is over when the loss of the root is at most epsilon. Until then it goes down from the root to the
choice that the loss comes from, and tells the child of the plan apart from its rival there. Of the children of a chance
node it takes the one where the next sample reduces the loss most: the largest p_c times what is gained at the choice
below c. No leaf is left out for ever, because gains fall with every sample. So every search ends.
"""

from bestleaf.engine.compile import edges_of, floats_at, inlined, known_of, node_kernel, nodes_of, stack_of, track_of
from bestleaf.engine.kernels.backup import goes_first, refresh
from bestleaf.engine.kernels.contest import enter, named_pair, width
from bestleaf.engine.kernels.reach import list_children
from bestleaf.engine.records import INNER, OPEN, SAMPLE, SOLVED, TEMPORARY, Graph
from bestleaf.engine.rules import highest_lower_bound, strongest_rival


@inlined
def gain_at(node, world):
    """Return how much one more sample of the representative leaf of a node may narrow the interval of the node."""
    known = known_of(world)
    if nodes_of(world)[node].kind == INNER:
        return floats_at(world.gains, world.size)[node]
    return width(node, known) / (known[node].count + 1.0)


@inlined
def average(node, world):
    """Compute a chance node again from its children; return 1 if its parents have to be computed again, too."""
    nodes, edges, known = nodes_of(world), edges_of(world), known_of(world)
    weights, gains = floats_at(world.weights, world.pool), floats_at(world.gains, world.size)
    losses, reliefs = floats_at(world.losses, world.size), floats_at(world.reliefs, world.size)
    lower = upper = total = loss = relief = 0.0
    gain, chosen = -1.0, -1
    start = nodes[node].child_start
    for edge in range(start, start + nodes[node].child_count):
        child, weight = edges[edge], weights[edge]
        lower += weight * known[child].lower
        upper += weight * known[child].upper
        total += weight
        loss += weight * losses[child]
        relief = max(relief, weight * reliefs[child])
        part = weight * gain_at(child, world)
        if part > gain or (part == gain and goes_first(child, chosen, known)):
            gain, chosen = part, child
    if nodes[node].missing > 0:  # the problem failed while children entered: the others may be worth anything
        upper += max(0.0, 1.0 - total)
        loss += max(0.0, 1.0 - total)
    leaf = known[chosen].leaf
    changed = lower != known[node].lower or upper != known[node].upper or leaf != known[node].leaf
    changed = changed or gain != gains[node] or loss != losses[node] or relief != reliefs[node]
    known[node].lower = lower
    known[node].upper = upper
    known[node].child = chosen
    known[node].leaf = leaf
    gains[node], losses[node], reliefs[node] = gain, loss, relief
    return 1 if changed else 0


@inlined
def part_of_loss(child, node, world):
    """Return what a move of the opponent from `node` to `child` may cost the plan."""
    known = known_of(world)
    return min(floats_at(world.losses, world.size)[child], known[node].upper - known[child].lower)


@inlined
def decisive(node, world):
    """Return the child that the loss of the plan comes from where the opponent or chance moves; ties: larger tie-break.

    The opponent may move where the plan loses most. Of chance it is the child where the next sample helps most.
    """
    nodes, edges, known = nodes_of(world), edges_of(world), known_of(world)
    weights, reliefs = floats_at(world.weights, world.pool), floats_at(world.reliefs, world.size)
    by_chance = nodes[node].chance == 1
    chosen, largest = -1, -1.0
    start = nodes[node].child_start
    for edge in range(start, start + nodes[node].child_count):
        child = edges[edge]
        part = weights[edge] * reliefs[child] if by_chance else part_of_loss(child, node, world)
        if chosen < 0 or part > largest or (part == largest and known[child].tie_break > known[chosen].tie_break):
            chosen, largest = child, part
    return chosen


@inlined
def outlook(node, world):
    """Return loss and relief of a node where somebody moves."""
    nodes, known = nodes_of(world), known_of(world)
    losses, reliefs = floats_at(world.losses, world.size), floats_at(world.reliefs, world.size)
    if nodes[node].minimizes == 1:
        worst = decisive(node, world)
        loss = max(0.0, part_of_loss(worst, node, world))
        return loss, reliefs[worst] if loss > 0.0 else 0.0
    graph = Graph(nodes, edges_of(world))
    best = highest_lower_bound(node, graph, known)
    rival = strongest_rival(best, node, graph, known)
    if rival < 0 or losses[best] >= known[rival].upper - known[best].lower:
        return losses[best], reliefs[best]
    wider = rival if width(rival, known) > width(best, known) else best
    return known[rival].upper - known[best].lower, gain_at(wider, world)


@node_kernel
def renew(node, world):
    """Compute an inner node of a graph with chance again; return 1 if its parents have to be computed again, too."""
    nodes, edges, known = nodes_of(world), edges_of(world), known_of(world)
    if nodes[node].chance == 1:
        return average(node, world)
    changed = refresh(node, nodes, edges, known)
    gains, gain = floats_at(world.gains, world.size), gain_at(known[node].child, world)
    changed = changed or gain != gains[node]
    gains[node] = gain
    if world.plans == 1:
        losses, reliefs = floats_at(world.losses, world.size), floats_at(world.reliefs, world.size)
        loss, relief = outlook(node, world)
        changed = changed or loss != losses[node] or relief != reliefs[node]
        losses[node], reliefs[node] = loss, relief
    return 1 if changed else 0


@inlined
def is_closed(node, world):
    """Whether children of a node have to enter before a plan can go on there."""
    nodes = nodes_of(world)
    waits = nodes[node].kind == INNER and nodes[node].missing > 0
    return nodes[node].kind == TEMPORARY or (waits and (track_of(world)[node].opened == 0 or nodes[node].chance == 1))


@inlined
def first_closed(world):
    """Return the first node that the plan reaches at which children have to enter, or -1."""
    nodes, edges, known = nodes_of(world), edges_of(world), known_of(world)
    track, stack = track_of(world), stack_of(world)
    world.walk += 1
    stack[0], done, met = 0, 0, 1
    track[0].seen = world.walk
    while done < met:
        node = stack[done]
        done += 1
        if is_closed(node, world):
            return node
        if nodes[node].kind == INNER:
            moves = nodes[node].chance == 0 and nodes[node].minimizes == 0
            taken = highest_lower_bound(node, Graph(nodes, edges), known) if moves else -1
            met = list_children(node, taken, -1, met, world)
    return -1


@node_kernel
def plan_choice(node, world):
    """Find the choice that the loss of the plan comes from; write it and its pair into the world; return what to do.

    SAMPLE: tell the pair apart. SOLVED: the plan is good enough and complete. OPEN: children have to enter there. -1:
    the rule failed.
    """
    nodes, edges, known = nodes_of(world), edges_of(world), known_of(world)
    losses = floats_at(world.losses, world.size)
    world.gap = losses[0]
    if losses[0] <= world.epsilon:
        world.at = first_closed(world)
        return SOLVED if world.at < 0 else OPEN
    while True:  # from the root, which is `node`
        world.at = node
        if nodes[node].chance == 1 and nodes[node].missing > 0:
            return OPEN
        if nodes[node].chance == 1 or nodes[node].minimizes == 1:
            node = decisive(node, world)
            continue
        graph = Graph(nodes, edges)
        best = highest_lower_bound(node, graph, known)
        rival = strongest_rival(best, node, graph, known)
        if rival < 0 or losses[best] >= known[rival].upper - known[best].lower:
            node = best
            continue
        enter(best, known[best].leaf, known[rival].leaf, losses[0], width(rival, known) > width(best, known), world)
        return SAMPLE if world.by_rule == 0 or named_pair(node, world) else -1
