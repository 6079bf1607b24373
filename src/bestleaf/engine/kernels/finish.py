"""Where a growing graph has to grow before an answer is settled, because a bound rests on an unfinished node.

A node is unfinished while children of it have to enter: what is known of it comes from random play below it, or from
some of its children only. A settled answer rests on a lower bound of the best child and on upper bounds of its rivals
(the other way round where the opponent chooses). With an opponent, a lower bound rests on one child where the player
moves and on all children where the opponent moves; an upper bound the other way round. None of the nodes that the
bounds rest on may be unfinished, so what is settled is settled for the whole game. With one player an upper bound rests
on every child, so that the whole graph would have to enter. There only the leaf that each bound comes from, and the way
to it, must be finished. Where chance decides, and in a component of moves that lead in circles, a bound rests on all
children.
"""

from bestleaf.engine.compile import (
    edges_of,
    inlined,
    known_of,
    node_kernel,
    node_kernel_at,
    nodes_of,
    stack_of,
    track_of,
)
from bestleaf.engine.kernels.loop import node_above
from bestleaf.engine.kernels.reach import as_one, list_children
from bestleaf.engine.records import INNER, Graph
from bestleaf.engine.rules import highest_lower_bound, strongest_rival


@inlined
def is_unfinished(node, world):
    """Whether children of a node have to enter."""
    return nodes_of(world)[node].missing > 0


@inlined
def bearing_child(node, lower, world):
    """Return the child that the lower (or upper) bound of `node` comes from; ties: larger tie-break; -1 for none."""
    nodes, edges, known = nodes_of(world), edges_of(world), known_of(world)
    chosen = -1
    start = nodes[node].child_start
    for edge in range(start, start + nodes[node].child_count):
        child = edges[edge]
        same = known[child].lower == known[node].lower if lower else known[child].upper == known[node].upper
        if same and (chosen < 0 or known[child].tie_break > known[chosen].tie_break):
            chosen = child
    return chosen


@inlined
def first_unfinished(lower, done, met, world):
    """Return the first unfinished node that the lower (or upper) bounds of the listed nodes rest on, or -1.

    The nodes lie on the stack from `done` to `met`.
    """
    nodes, stack = nodes_of(world), stack_of(world)
    while done < met:
        node = stack[done]
        done += 1
        if is_unfinished(node, world):
            return node
        if nodes[node].kind != INNER:
            continue
        apart = nodes[node].chance == 0 and nodes[node].component == 0
        on_one = apart and (world.opponent == 0 or (nodes[node].minimizes == 0) == lower)
        only = bearing_child(node, lower, world) if on_one else -1
        if only >= 0 or not on_one:
            met = list_children(node, only, -1, met, world)
    return -1


@inlined
def unfinished_above(leaf, world):
    """Return the first unfinished node on the way up from a leaf, or -1."""
    nodes, node = nodes_of(world), leaf
    while nodes[node].level > 0:
        if is_unfinished(node, world):
            return node
        node = node_above(node, world)
    return -1


@inlined
def list_rivals(node, best, met, world):
    """Append the rivals of `best` at a node to the stack: its other children; with one player only the strongest."""
    if world.opponent == 1:
        return list_children(node, -1, best, met, world)
    rival = strongest_rival(best, node, Graph(nodes_of(world), edges_of(world)), known_of(world))
    return list_children(node, rival, best, met, world) if rival >= 0 else met


@inlined
def unfinished_at(root, best, world):
    """Return an unfinished node that the choice of `best` at `root` rests on, or -1; its contest is the last one."""
    nodes, stack = nodes_of(world), stack_of(world)
    if nodes[0].adversarial == 0:  # two leaves are compared, not two children
        if world.second < 0:
            return -1
        node = unfinished_above(world.first, world)
        return node if node >= 0 else unfinished_above(world.second, world)
    lower = nodes[root].minimizes == 0
    world.walk += 1
    stack[0] = best
    track_of(world)[best].seen = world.walk
    node = first_unfinished(lower, 0, 1, world)
    if node >= 0:
        return node
    world.walk += 1
    return first_unfinished(not lower, 0, list_rivals(root, best, 0, world), world)


@inlined
def unfinished_beside_plan(world):
    """Return an unfinished node that an upper bound of a move beside the plan rests on, or -1; the plan has none."""
    nodes, known, track, stack = nodes_of(world), known_of(world), track_of(world), stack_of(world)
    graph = Graph(nodes, edges_of(world))
    world.walk += 1
    stack[0], done, met = 0, 0, 1
    track[0].seen = world.walk
    while done < met:  # the nodes that the plan leads to
        node = stack[done]
        done += 1
        moves = nodes[node].chance == 0 and nodes[node].minimizes == 0 and nodes[node].kind == INNER
        only = highest_lower_bound(node, graph, known) if moves else -1
        met = list_children(node, only, -1, met, world)
    planned = met
    for place in range(planned):
        node = stack[place]
        if nodes[node].kind != INNER or nodes[node].chance == 1:
            continue
        if nodes[node].minimizes == 0:
            met = list_rivals(node, highest_lower_bound(node, graph, known), met, world)
    return first_unfinished(False, planned, met, world)


@node_kernel
def unfinished(root, world):
    """Return where children have to enter before the answer is settled, or -1; all choices on the way are solved."""
    if world.plans == 1:
        return unfinished_beside_plan(world)
    nodes = nodes_of(world)
    while True:
        if nodes[root].child_count == 1 and not as_one(root, world):
            best = edges_of(world)[nodes[root].child_start]
        else:
            node_kernel_at(world.contest)(root, world)
            best = world.best
            node = unfinished_at(root, best, world)
            if node >= 0:
                return node
        if world.to_leaf == 0 or nodes[best].kind != INNER:
            return -1
        root = nodes[best].component - 1 if as_one(best, world) else best
