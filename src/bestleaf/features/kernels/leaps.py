"""Leaps and bounds: the subset of each size with the smallest sum of squared errors, among all subsets.

Every subset is reached once, from all features by dropping one at a time. A subset has no smaller error than the set it
was made from by dropping. So if a set is already no better than the best subsets known of all sizes that can be made
from it, nothing below it is looked at.

A node holds a set of features: some are fixed, the others may be dropped. ``steps[depth, i]`` is by how much the error
grows if the i-th of these is dropped; the largest come first. The child that drops the i-th fixes those before it.
Therefore only the block of the inverse for features that may still be dropped is kept.
"""

import numpy as np

from bestleaf.engine.compile import helper, kernel

DEPTH, VISITED, OPENED, CHOSEN = 0, 1, 2, 3  # places in the counters; CHOSEN is the size of the last subset found


@helper
def sort_steps(depth, free, steps, place):
    """Sort the features that may be dropped by the growth of the error, the largest first."""
    for i in range(free):
        place[i] = i
    for i in range(1, free):
        mine, own = place[i], steps[depth, place[i]]
        j = i - 1
        while j >= 0 and steps[depth, place[j]] < own:
            place[j + 1] = place[j]
            j -= 1
        place[j + 1] = mine


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
def leap(many, together, margin, growth, best, reach, found, counters, stack, scratch):
    """Look at about `many` subsets; return whether all were looked at or cannot be better.

    ``best[size]`` is the error below which a subset of this size is better than all known: than those of the same size
    or, with `together`, than those of all sizes, where errors are compared after multiplying by ``growth[size]``. Sizes
    that do not count have minus infinity. ``reach[size]`` is the largest such error of this size and larger ones, less
    the margin for rounding. ``found[size]`` is the subset that was found last, as bits. The stack holds the nodes from
    all features to the current one: the number of fixed features, of those that may be dropped and the next child; the
    set as bits; its error; steps, names and slopes of what may be dropped; the block of the inverse.
    """
    nodes, masks, errors, steps, names, slopes, inverse = stack
    place, column = scratch
    depth, visited, opened = counters[DEPTH], 0, 0
    while depth >= 0 and visited < many:
        fixed, free, child = nodes[depth, 0], nodes[depth, 1], nodes[depth, 2]
        if child < 0:
            depth -= 1
            continue
        nodes[depth, 2] = child - 1
        size = fixed + free - 1
        visited += 1
        error = errors[depth] + steps[depth, child]
        mask = masks[depth] & ~(np.uint64(1) << np.uint64(names[depth, child]))
        if error < best[size]:
            found[size] = mask
            counters[CHOSEN] = size
            improve(size, error, together, margin, growth, best, reach)
        left = free - 1 - child
        if left == 0 or error >= reach[fixed + child]:
            continue
        opened += 1
        below = depth + 1
        pivot = inverse[depth, child, child]
        share = slopes[depth, child] / pivot
        for i in range(left):
            old = child + 1 + i
            column[i] = inverse[depth, child, old]
            own = inverse[depth, old, old] - column[i] * column[i] / pivot
            slope = slopes[depth, old] - column[i] * share
            steps[below, i] = slope * slope / own
        sort_steps(below, left, steps, place)
        for i in range(left):
            old = child + 1 + place[i]
            factor = inverse[depth, child, old] / pivot
            slopes[below, i] = slopes[depth, old] - inverse[depth, child, old] * share
            names[below, i] = names[depth, old]
            for j in range(left):
                other = place[j]
                inverse[below, i, j] = inverse[depth, old, child + 1 + other] - factor * column[other]
            steps[below, i] = slopes[below, i] * slopes[below, i] / inverse[below, i, i]
        nodes[below, 0], nodes[below, 1], nodes[below, 2] = fixed + child, left, left - 1
        masks[below], errors[below] = mask, error
        depth = below
    counters[DEPTH] = depth
    counters[VISITED] += visited
    counters[OPENED] += opened
    return depth < 0
