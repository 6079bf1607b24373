"""The intervals of the nodes of a component, which all reach each other (see `bestleaf.engine.components`).

One player can go from every node of a component to every edge that leaves it, an *exit*. So all nodes share L = max L_c
and U = max U_c over the exits to children c. Play that never leaves is worth 0.

With two players, the lower bounds are the values of a game in which an exit to c is worth L_c, and the upper bounds
those of a game in which it is worth U_c. Both are solved by retrograde analysis (Washburn's deterministic graphical
games). Play that never leaves the component is worth what the problem says: `ends` is an interval; its lower end counts
in the first game, its upper end in the second. If the problem says nothing, such play is worth 0 if only the first
player could leave, and 1 if only the opponent could. If both could, or nobody, its value is unknown: the interval [0,
1].

Representative children lead out of the component. Of equally short ways the one through the child with the larger
tie-break is taken. Without memory of their own, kernels work in the scratch arrays `components`, `exits` and `stack`.
"""

import numpy as np

from bestleaf.engine.compile import (
    components_of,
    edges_of,
    exits_of,
    floats_at,
    helper,
    inlined,
    kernel,
    known_of,
    node_kernel,
    nodes_of,
    stack_of,
    track_of,
)
from bestleaf.engine.kernels.backup import goes_first
from bestleaf.engine.records import INNER


@inlined
def inside(node, head, nodes):
    """Whether a node is in the component whose oldest node is `head`."""
    return nodes[node].component == head + 1


@helper
def ring_of(head, nodes):
    """Yield the nodes of the component whose oldest node is `head`, in the order in which they entered."""
    node = head
    while True:
        yield node
        node = nodes[node].ring
        if node == head:
            return


@helper
def lead_to(leaf, head, world):
    """Let nodes of a component without a representative leaf lead to `leaf`, as far as they can, by shortest ways."""
    nodes, edges, known = nodes_of(world), edges_of(world), known_of(world)
    components, queue = components_of(world), stack_of(world)
    met = 0
    for node in ring_of(head, nodes):
        components[node].rank = 0
        pick = -1
        if components[node].leaf < 0:
            start = nodes[node].child_start
            for edge in range(start, start + nodes[node].child_count):
                child = edges[edge]
                there = components[child].leaf if inside(child, head, nodes) else known[child].leaf
                if there == leaf and (pick < 0 or known[child].tie_break > known[pick].tie_break):
                    pick = child
        if pick >= 0:
            components[node].pick, components[node].rank = pick, 1
            queue[met] = node
            met += 1
    done = 0
    while done < met:
        node = queue[done]
        done += 1
        start = nodes[node].parent_start
        for edge in range(start, start + nodes[node].parent_count):
            parent = edges[edge]
            if not inside(parent, head, nodes) or components[parent].leaf >= 0:
                continue
            if components[parent].rank == 0:
                components[parent].rank, components[parent].pick = components[node].rank + 1, node
                queue[met] = parent
                met += 1
                continue
            tied = components[parent].rank == components[node].rank + 1
            if tied and known[node].tie_break > known[components[parent].pick].tie_break:
                components[parent].pick = node
    for place in range(met):
        components[queue[place]].leaf = leaf


@inlined
def mark(node, walk, place, world):
    """List a node of the current walk among the exits, unless the walk has seen it; return the next place."""
    track = track_of(world)
    if track[node].seen == walk:
        return place
    track[node].seen = walk
    exits_of(world)[place].node = node
    return place + 1


@helper
def survey(head, world):
    """One player: list the exits of a component, and its nodes that others look at: parents outside, or `head`."""
    nodes, edges, found = nodes_of(world), edges_of(world), components_of(world)[head]
    world.walk += 1
    place = world.listed
    found.first, found.size = place, 0
    for node in ring_of(head, nodes):
        found.size += 1
        start = nodes[node].child_start
        for edge in range(start, start + nodes[node].child_count):
            if not inside(edges[edge], head, nodes):
                place = mark(edges[edge], world.walk, place, world)
    found.gates = place
    place = mark(head, world.walk, place, world)
    for node in ring_of(head, nodes):
        start, count = nodes[node].parent_start, nodes[node].parent_count
        for edge in range(start, start + count):
            if edges[edge] == head or not inside(edges[edge], head, nodes):
                place = mark(node, world.walk, place, world)
    found.last = world.listed = place


@helper
def spread(head, world):
    """One player: give all nodes of a component what is known of its oldest, and the shortest ways to its leaf."""
    nodes, known, components = nodes_of(world), known_of(world), components_of(world)
    now, leaf = known[head], known[head].leaf
    if components[head].leaf != leaf:
        for node in ring_of(head, nodes):
            components[node].leaf, components[node].pick = -1, head
        if leaf != head:
            lead_to(leaf, head, world)
        components[head].leaf = leaf
    for node in ring_of(head, nodes):
        known[node].lower, known[node].upper, known[node].leaf = now.lower, now.upper, leaf
        known[node].child = components[node].pick


@helper
def share_best(head, world):
    """One player: all nodes of a component get the best bounds of its exits and lead to the strongest leaf; 0 if so.

    As long as the graph does not grow, only the nodes that others look at get them at once; see `catch_up`.
    """
    known, components, exits = known_of(world), components_of(world), exits_of(world)
    fresh = known[head].leaf < 0
    if fresh:
        survey(head, world)
        components[head].leaf, components[head].stale = -1, -1
    own, lower, upper, best = components[head], -np.inf, -np.inf, -1
    for place in range(own.first, own.gates):
        child = exits[place].node
        lower = max(lower, known[child].lower)
        if known[child].upper > upper or (known[child].upper == upper and goes_first(child, best, known)):
            upper, best = known[child].upper, child
    if best < 0:
        lower = upper = 0.0
        known[head].tie_break = -1  # where no leaf can be reached, the oldest node stands for it, and loses every tie
    leaf = known[best].leaf if best >= 0 else head
    if leaf == known[head].leaf and lower == known[head].lower and upper == known[head].upper:
        return 0
    for place in range(own.gates, own.last):
        node = exits[place].node
        known[node].lower, known[node].upper, known[node].leaf = lower, upper, leaf
    if fresh or world.growing == 1 or world.by_rule == 1:
        spread(head, world)
    elif own.stale < 0:
        own.stale, world.stale = world.stale, head + 1
    return 1


@kernel
def catch_up(world):
    """One player: bring all nodes of the components up to date, before Python looks at them."""
    components = components_of(world)
    while world.stale > 0:
        head = world.stale - 1
        world.stale, components[head].stale = components[head].stale, -1
        spread(head, world)


@helper
def sift(place, many, exits):
    """Move an exit down a heap whose smallest payoff is on top."""
    payoff, node = exits[place].payoff, exits[place].node
    while 2 * place + 1 < many:
        lower = 2 * place + 1
        if lower + 1 < many and exits[lower + 1].payoff < exits[lower].payoff:
            lower += 1
        if exits[lower].payoff >= payoff:
            break
        exits[place].payoff, exits[place].node = exits[lower].payoff, exits[lower].node
        place = lower
    exits[place].payoff, exits[place].node = payoff, node


@helper
def sort_exits(many, exits):
    """Sort exits by their payoffs, the largest first."""
    for place in range(many // 2 - 1, -1, -1):
        sift(place, many, exits)
    for last in range(many - 1, 0, -1):
        payoff, node = exits[last].payoff, exits[last].node
        exits[last].payoff, exits[last].node = exits[0].payoff, exits[0].node
        exits[0].payoff, exits[0].node = payoff, node
        sift(0, last, exits)


@helper
def begin_game(head, by_upper, world):
    """List the exits with their payoffs; give all nodes of a component the value of endless play; count the exits."""
    nodes, edges, known = nodes_of(world), edges_of(world), known_of(world)
    components, exits = components_of(world), exits_of(world)
    many, can_leave, opponent_can = 0, False, False
    for node in ring_of(head, nodes):
        start = nodes[node].child_start
        for edge in range(start, start + nodes[node].child_count):
            child = edges[edge]
            if not inside(child, head, nodes):
                exits[many].payoff = known[child].upper if by_upper else known[child].lower
                exits[many].node = node
                many += 1
                can_leave |= nodes[node].minimizes == 0
                opponent_can |= nodes[node].minimizes == 1
    end = floats_at(world.ends + 16 * head, 2)[1 if by_upper else 0]
    if np.isnan(end):
        end = 1.0 if by_upper else 0.0
        if can_leave != opponent_can:
            end = 1.0 if opponent_can else 0.0
    for node in ring_of(head, nodes):
        components[node].value, components[node].rank, components[node].left = end, 0, nodes[node].child_count
    return many


@inlined
def touch(node, rank, value, highest, met, world):
    """Note that a child of `node` is worth `value`; if so is the node, add it to the queue; return the queue's length.

    Values are found from the best for one player on (`highest`: for the first one). That player takes the first value
    that a child has. The other player has to take a value once no child is left that might be worth more to them.
    """
    nodes, components = nodes_of(world), components_of(world)
    if components[node].rank > 0:
        return met
    components[node].left -= 1
    chooses = (nodes[node].minimizes == 0) == highest
    if not chooses and components[node].left > 0:
        return met
    components[node].rank, components[node].value = rank, value
    stack_of(world)[met] = node
    return met + 1


@helper
def attract(first, last, highest, head, world):
    """Find the nodes that are worth the payoff of the exits `first` to `last`, which are worth the same."""
    nodes, edges, components, exits = nodes_of(world), edges_of(world), components_of(world), exits_of(world)
    value, met, done = exits[first].payoff, 0, 0
    for place in range(first, last):
        met = touch(exits[place].node, 1, value, highest, met, world)
    while done < met:
        node = stack_of(world)[done]
        done += 1
        start = nodes[node].parent_start
        for edge in range(start, start + nodes[node].parent_count):
            if inside(edges[edge], head, nodes):
                met = touch(edges[edge], components[node].rank + 1, value, highest, met, world)


@helper
def choose(node, head, by_upper, world):
    """Set the representative child: one of the same value, an exit if possible, otherwise one nearer to its exit."""
    nodes, edges, known, components = nodes_of(world), edges_of(world), known_of(world), components_of(world)
    value, rank = components[node].value, components[node].rank
    pick, stays = -1, True
    start = nodes[node].child_start
    for edge in range(start, start + nodes[node].child_count):
        child = edges[edge]
        if inside(child, head, nodes):
            nearer = rank == 0 or 0 < components[child].rank < rank
            if stays and nearer and components[child].value == value:
                pick = child if pick < 0 or known[child].tie_break > known[pick].tie_break else pick
            continue
        payoff = known[child].upper if by_upper else known[child].lower
        if payoff == value and (stays or goes_first(child, pick, known)):
            pick, stays = child, False
    components[node].pick = pick


@helper
def solve_game(head, by_upper, world):
    """Find the upper (or lower) bounds of the nodes of a component, and the moves of the player whom they guide."""
    nodes, components, exits = nodes_of(world), components_of(world), exits_of(world)
    many = begin_game(head, by_upper, world)
    sort_exits(many, exits)
    end = components[head].value
    first = 0
    while first < many and exits[first].payoff > end:
        last = first + 1
        while last < many and exits[last].payoff == exits[first].payoff:
            last += 1
        attract(first, last, True, head, world)
        first = last
    last = many
    while last > 0 and exits[last - 1].payoff < end:
        first = last - 1
        while first > 0 and exits[first - 1].payoff == exits[last - 1].payoff:
            first -= 1
        attract(first, last, False, head, world)
        last = first
    for node in ring_of(head, nodes):
        if by_upper:
            components[node].upper = components[node].value
        else:
            components[node].lower = components[node].value
        if (nodes[node].minimizes == 0) == by_upper:
            choose(node, head, by_upper, world)


@helper
def follow(node, head, world):
    """Follow the moves from a node; if they lead to a leaf, it is the representative leaf of all nodes on the way."""
    nodes, known, components, way = nodes_of(world), known_of(world), components_of(world), stack_of(world)
    met, leaf = 0, -1
    while inside(node, head, nodes) and components[node].rank == 0:
        components[node].rank = 1
        way[met] = node
        met += 1
        node = components[node].pick
    leaf = components[node].leaf if inside(node, head, nodes) else known[node].leaf
    if leaf >= 0 and nodes[leaf].kind != INNER:
        for place in range(met):
            components[way[place]].leaf = leaf


@helper
def widest_beside(head, world):
    """Return the widest leaf that a child of a node without one leads to, or -1; ties: larger tie-break."""
    nodes, edges, known, components = nodes_of(world), edges_of(world), known_of(world), components_of(world)
    chosen, widest = -1, -1.0
    for node in ring_of(head, nodes):
        start = nodes[node].child_start
        for edge in range(start, start + nodes[node].child_count):
            child = edges[edge]
            leaf = components[child].leaf if inside(child, head, nodes) else known[child].leaf
            if components[node].leaf >= 0 or leaf < 0 or nodes[leaf].kind == INNER:
                continue
            width = known[leaf].upper - known[leaf].lower
            if width > widest or (width == widest and known[leaf].tie_break > known[chosen].tie_break):
                chosen, widest = leaf, width
    return chosen


@helper
def represent(head, world):
    """Two players: find the representative leaves of the nodes of a component.

    The first player follows the upper bounds, the opponent the lower ones. If that ends at a leaf, its interval holds
    that of the node. If it never ends, the interval of the node lies in that of endless play; then nothing has to be
    sampled where endless play is worth one number, and otherwise the widest leaf is taken that can be reached.
    """
    nodes, components = nodes_of(world), components_of(world)
    for node in ring_of(head, nodes):
        components[node].leaf, components[node].rank = -1, 0
    for node in ring_of(head, nodes):
        follow(node, head, world)
    leaf = widest_beside(head, world)
    while leaf >= 0:
        lead_to(leaf, head, world)
        leaf = widest_beside(head, world)


@node_kernel
def refresh_component(head, world):
    """Compute all nodes of a component again; return 1 if an interval or a representative leaf has changed.

    Where no leaf can be reached, the oldest node stands for the leaf, and loses every tie.
    """
    nodes, known, components = nodes_of(world), known_of(world), components_of(world)
    if nodes[0].adversarial == 0:
        return share_best(head, world)
    solve_game(head, True, world)
    solve_game(head, False, world)
    represent(head, world)
    changed = 0
    for node in ring_of(head, nodes):
        now = components[node]
        if now.leaf < 0 or now.leaf == head:
            now.leaf = now.pick = head
            known[head].tie_break = -1
        if now.lower != known[node].lower or now.upper != known[node].upper or now.leaf != known[node].leaf:
            changed = 1
        known[node].lower, known[node].upper = now.lower, now.upper
        known[node].child, known[node].leaf = now.pick, now.leaf
    return changed
