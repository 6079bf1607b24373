"""Nearest neighbours by a k-d tree: the same ones as `neighbours.py` finds, with fewer distances on few features."""

import numpy as np

from bestleaf.engine.compile import helper, inlined, ints_at, kernel, longs_at, singles_at
from bestleaf.features.kernels.neighbours import add_targets, insert

INFINITE = np.float32(np.inf)


@inlined
def to_box(node, query, boxes):
    """Return the squared distance of a query to the box of a node.

    It is summed in the same order and precision as the distance to an example. Rounding keeps the order of numbers, so
    it is at most the distance to any example in the box, to the last bit.
    """
    size, total = len(query), np.float32(0.0)
    for feature in range(size):
        at, low, high = query[feature], boxes[node, feature], boxes[node, size + feature]
        beyond = max(max(low - at, at - high), np.float32(0.0))  # no branches: they would often be predicted wrong
        total += beyond * beyond
    return total


@inlined
def is_out(distance, node, nearest, who, firsts):
    """Return whether no example of a node can be among the nearest; of equal distances the earlier example counts."""
    last = len(nearest) - 1
    if distance == INFINITE or distance > nearest[last]:
        return True
    return distance == nearest[last] and who[last] >= 0 and firsts[node] > who[last]


@helper
def search_leaf(leaf, place, query, points, members, line, nearest, oracle):
    """Put the examples of a leaf of the tree into the list of the nearest of the query at a place."""
    many, who = len(line), longs_at(oracle.who, oracle.neighbours)
    groups, last = ints_at(oracle.groups, oracle.stride), len(nearest) - 1
    for one in range(many):
        line[one] = np.float32(0.0)
    for feature in range(len(query)):
        at = query[feature]
        column = points[feature, leaf * many : (leaf + 1) * many]
        for one in range(many):
            difference = column[one] - at
            line[one] += difference * difference
    for one in range(many):
        distance = line[one]
        if distance <= nearest[last] and distance < INFINITE:
            example = members[leaf * many + one]
            out = example == place or example >= oracle.examples or (oracle.drop_zero == 1 and distance == 0)
            if not out and not (oracle.grouped == 1 and groups[example] == groups[place]):
                insert(distance, example, nearest, who)


@kernel
def tree_sums(places, queries, points, members, boxes, firsts, scratch, oracle, found):
    """Write what `neighbour_sums` does for the queries at some places to `found`; return how many leaves were searched.

    `queries` [places, features] are their coordinates. Node i of the tree has the children 2 i + 1 and 2 i + 2; `boxes`
    [nodes, 2 x features] are the smallest and the largest coordinates of its examples, and `firsts` [nodes] the first
    of them. The leaves have equally many `points` [features, leaves x examples]; `members` says which examples they
    are. Those beyond the number of examples are padding. `scratch` has room for a list of nodes with their distances,
    the distances of one leaf and those of the nearest.
    """
    waiting, distances, line, nearest = scratch
    who, sums = longs_at(oracle.who, oracle.neighbours), singles_at(oracle.sums, oracle.outputs)
    inner, searched = len(firsts) // 2, 0
    for number in range(len(places)):
        query = queries[number]
        for rank in range(len(nearest)):
            nearest[rank] = INFINITE
            who[rank] = -1
        waiting[0], distances[0], top = 0, to_box(0, query, boxes), 1
        while top > 0:
            top -= 1
            node = waiting[top]
            if is_out(distances[top], node, nearest, who, firsts):
                continue
            if node >= inner:
                search_leaf(node - inner, places[number], query, points, members, line, nearest, oracle)
                searched += 1
                continue
            left, right = 2 * node + 1, 2 * node + 2
            to_left, to_right = to_box(left, query, boxes), to_box(right, query, boxes)
            if to_left > to_right or (to_left == to_right and firsts[left] > firsts[right]):
                left, right, to_left, to_right = right, left, to_right, to_left
            waiting[top], distances[top] = right, to_right
            waiting[top + 1], distances[top + 1] = left, to_left  # the nearer one comes first
            top += 2
        many = 0
        while many < len(nearest) and who[many] >= 0:
            many += 1
        add_targets(many, oracle)
        for output in range(oracle.outputs):
            found[number, output] = sums[output]
    return searched
