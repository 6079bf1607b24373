"""Leaps and bounds: the subset of each size with the smallest sum of squared errors, among all subsets.

Every subset is reached once, from all features by dropping one at a time. A subset has no smaller error than the set it
was made from by dropping. So if a set is already no better than the best subsets known of all sizes that can be made
from it, nothing below it is looked at.

A node holds a set of features: some are fixed, the others may be dropped. ``steps[depth, i]`` is by how much the error
grows if the i-th of these is dropped. `order` sorts them, the largest first; the child that drops one fixes those
before it.

Every feature has a vector, at first its row in the inverse of R, where QR are the columns. The error grows by the
square of the part of the side, Q'y, that points in the direction of the vector. Dropping a feature takes its direction
out of the vectors of the others. This loses only half as many digits as the inverse of the correlations would.
"""

import numpy as np

from bestleaf.engine.compile import helper, kernel

DEPTH, VISITED, OPENED, CHOSEN = 0, 1, 2, 3  # places in the counters; CHOSEN is the size of the last subset found


@helper
def sort_steps(depth, free, steps, order):
    """Sort the features that may be dropped by the growth of the error, the largest first."""
    for i in range(free):
        order[depth, i] = i
    for i in range(1, free):
        own = steps[depth, i]
        j = i - 1
        while j >= 0 and steps[depth, order[depth, j]] < own:
            order[depth, j + 1] = order[depth, j]
            j -= 1
        order[depth, j + 1] = i


@helper
def product(one, other):
    """Return the inner product of two vectors whose length is a multiple of 4, by four sums at a time."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for part in range(len(one) // 4):
        a += one[4 * part] * other[4 * part]
        b += one[4 * part + 1] * other[4 * part + 1]
        c += one[4 * part + 2] * other[4 * part + 2]
        d += one[4 * part + 3] * other[4 * part + 3]
    return (a + b) + (c + d)


@helper
def take_out(vector, length, other, result):
    """Write what is left of another vector without the direction of a vector with this squared length."""
    share = product(vector, other) / length
    for place in range(len(result)):
        result[place] = other[place] - share * vector[place]


@helper
def improve(size, error, together, margin, growth, best, reach):
    """Write what errors are of interest after a subset was found; sizes that do not count keep minus infinity."""
    if together:
        for other in range(len(best)):
            if best[other] > -np.inf:
                best[other] = error * growth[size] / growth[other]
    best[size] = error
    for back in range(len(best)):
        other = len(best) - 1 - back
        reach[other] = max(best[other] * (1.0 - margin[0]) - margin[1], reach[other + 1])


@kernel
def note(size, error, together, margin, growth, best, reach):
    """Do `improve` for Python."""
    improve(size, error, together, margin, growth, best, reach)


@kernel
def leap(many, together, side, margin, growth, best, reach, found, counters, stack):
    """Look at about `many` subsets; return whether all were looked at or cannot be better.

    ``best[size]`` is the error below which a subset of this size is better than all known: than those of the same size
    or, with `together`, than those of all sizes, where errors are compared after multiplying by ``growth[size]``. Sizes
    that do not count have minus infinity. ``reach[size]`` is the largest such error of this size and larger ones, less
    the margin for rounding. ``found[size]`` is the subset that was found last, as bits. The stack holds the nodes from
    all features to the current one: the number of fixed features, of those that may be dropped and the next child; the
    set as bits; its error; order, steps, names, squared lengths and vectors of what may be dropped.
    """
    nodes, masks, errors, order, steps, names, lengths, vectors = stack
    depth, visited, opened = counters[DEPTH], 0, 0
    while depth >= 0 and visited < many:
        fixed, free, child = nodes[depth, 0], nodes[depth, 1], nodes[depth, 2]
        if child < 0:
            depth -= 1
            continue
        nodes[depth, 2] = child - 1
        size = fixed + free - 1
        visited += 1
        gone = order[depth, child]
        error = errors[depth] + steps[depth, gone]
        mask = masks[depth] & ~(np.uint64(1) << np.uint64(names[depth, gone]))
        if error < best[size]:
            found[size] = mask
            counters[CHOSEN] = size
            improve(size, error, together, margin, growth, best, reach)
        left = free - 1 - child
        if left == 0 or error >= reach[fixed + child]:
            continue
        opened += 1
        below = depth + 1
        for i in range(left):
            old = order[depth, child + 1 + i]
            take_out(vectors[depth, gone], lengths[depth, gone], vectors[depth, old], vectors[below, i])
            slope = product(vectors[below, i], side)
            lengths[below, i] = product(vectors[below, i], vectors[below, i])
            steps[below, i] = slope * slope / lengths[below, i]
            names[below, i] = names[depth, old]
        sort_steps(below, left, steps, order)
        nodes[below, 0], nodes[below, 1], nodes[below, 2] = fixed + child, left, left - 1
        masks[below], errors[below] = mask, error
        depth = below
    counters[DEPTH] = depth
    counters[VISITED] += visited
    counters[OPENED] += opened
    return depth < 0
