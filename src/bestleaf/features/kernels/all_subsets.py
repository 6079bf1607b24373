"""The votes of the five nearest neighbours on many subsets, for sixteen rows side by side.

Subsets stand in an order in which neighbours begin with the same features. The distances on the first 1, 2, 3, …
features of the current subset are kept. The next subset keeps those of the features that both begin with, and adds only
the others. Sums are added in the order of the features, as for a single subset, so that votes are the same to the last
digit.

Each row has a *lane*. Arrays of distances are [examples x lanes], and the innermost loops run over the lanes without
branches: the compiler turns them into vector instructions.
"""

from typing import NamedTuple

import numpy as np

from bestleaf.engine.compile import inlined, kernel
from bestleaf.features.kernels.ranking import votes_in_order

LANES = 16
STEP = 4  # examples that are looked at together
NEAREST = 5  # neighbours that are found
SCRATCH = (2 * NEAREST + 1) * LANES  # five smallest distances of each lane, whose they are, and a column at the lanes
WHO, HERE = NEAREST * LANES, 2 * NEAREST * LANES


class Voters(NamedTuple):
    """What the votes depend on."""

    columns: np.ndarray  # [features, at least rows rounded up to lanes] single precision
    targets: np.ndarray  # [outputs, rows] single precision
    groups: np.ndarray  # [rows] rows of the same group do not vote for each other; empty if there are no groups
    neighbours: int  # at most `NEAREST`
    real: bool  # the mean of the targets is asked for, not the sum


@inlined
def moved(before, new, here, comes_before, comes_here):
    """Return what stands at a place of a list after something new has come to a place before, here, or behind."""
    return before if comes_before else (new if comes_here else here)


@inlined
def insert(distance, example, five):
    """Return the five nearest, sorted, after one more example was looked at; it comes after those equally near."""
    a, at_a, b, at_b, c, at_c, d, at_d, e, at_e = five
    to_a, to_b, to_c, to_d, to_e = distance < a, distance < b, distance < c, distance < d, distance < e
    return (
        distance if to_a else a,
        example if to_a else at_a,
        moved(a, distance, b, to_a, to_b),
        moved(at_a, example, at_b, to_a, to_b),
        moved(b, distance, c, to_b, to_c),
        moved(at_b, example, at_c, to_b, to_c),
        moved(c, distance, d, to_c, to_d),
        moved(at_c, example, at_d, to_c, to_d),
        moved(d, distance, e, to_d, to_e),
        moved(at_d, example, at_e, to_d, to_e),
    )


@inlined
def add(first, column, before, after, scratch):
    """Add a column to the distances of four examples; return whether one of them may be among the nearest."""
    one, two, three, four = column[first], column[first + 1], column[first + 2], column[first + 3]
    less, more = before[first * LANES : (first + STEP) * LANES], after[first * LANES : (first + STEP) * LANES]
    near = np.int32(0)
    for lane in range(LANES):
        here = scratch[HERE + lane]
        by_one, by_two, by_three, by_four = one - here, two - here, three - here, four - here
        to_one = less[lane] + by_one * by_one
        to_two = less[LANES + lane] + by_two * by_two
        to_three = less[2 * LANES + lane] + by_three * by_three
        to_four = less[3 * LANES + lane] + by_four * by_four
        more[lane] = to_one
        more[LANES + lane] = to_two
        more[2 * LANES + lane] = to_three
        more[3 * LANES + lane] = to_four
        near |= np.int32(min(min(to_one, to_two), min(to_three, to_four)) < scratch[WHO - LANES + lane])
    return near != 0


@inlined
def rank(first, after, scratch):
    """Put four examples into the lists of the five nearest; of equal distances the first examples stay."""
    new = after[first * LANES : (first + STEP) * LANES]
    one, two, three, four = np.float32(first), np.float32(first + 1), np.float32(first + 2), np.float32(first + 3)
    for lane in range(LANES):
        five = (
            scratch[lane],
            scratch[WHO + lane],
            scratch[LANES + lane],
            scratch[WHO + LANES + lane],
            scratch[2 * LANES + lane],
            scratch[WHO + 2 * LANES + lane],
            scratch[3 * LANES + lane],
            scratch[WHO + 3 * LANES + lane],
            scratch[4 * LANES + lane],
            scratch[WHO + 4 * LANES + lane],
        )
        five = insert(new[lane], one, five)
        five = insert(new[LANES + lane], two, five)
        five = insert(new[2 * LANES + lane], three, five)
        five = insert(new[3 * LANES + lane], four, five)
        scratch[lane], scratch[WHO + lane] = five[0], five[1]
        scratch[LANES + lane], scratch[WHO + LANES + lane] = five[2], five[3]
        scratch[2 * LANES + lane], scratch[WHO + 2 * LANES + lane] = five[4], five[5]
        scratch[3 * LANES + lane], scratch[WHO + 3 * LANES + lane] = five[6], five[7]
        scratch[4 * LANES + lane], scratch[WHO + 4 * LANES + lane] = five[8], five[9]


@inlined
def begin(query, distances, voters):
    """Write the distances on no feature: infinite for rows that do not vote, which stays so in all sums."""
    rows, groups = voters.targets.shape[1], voters.groups
    for example in range(len(distances) // LANES):
        for lane in range(LANES):
            out = example >= rows or example == query + lane
            if len(groups) and not out and query + lane < rows:
                out = groups[example] == groups[query + lane]
            distances[example * LANES + lane] = np.float32(np.inf) if out else np.float32(0.0)


@inlined
def count(query, scratch, voters, votes):
    """Write the sums of the targets of the nearest of each lane, or their means, to `votes` [outputs, rows]."""
    outputs, rows = voters.targets.shape
    for lane in range(min(LANES, rows - query)):
        for output in range(outputs):
            total, found = 0.0, 0  # in double precision the sum does not depend on the order
            for place in range(voters.neighbours):
                who = int(scratch[WHO + place * LANES + lane])
                if who >= 0:
                    total += np.float64(voters.targets[output, who])
                    found += 1
            votes[output, query + lane] = total / max(found, 1) if voters.real else total


@kernel
def count_votes(features, starts, voters, stack, path, scratch, votes):
    """Write the votes on every subset to `votes` [subsets, outputs, rows].

    The features of subset s are ``features[starts[s]:starts[s + 1]]``, in order. `stack` is [features + 1, examples x
    lanes], `path` [features] and `scratch` [SCRATCH].
    """
    for query in range(0, voters.targets.shape[1], LANES):
        begin(query, stack[0], voters)
        depth = 0
        for subset in range(len(starts) - 1):
            start, size = starts[subset], starts[subset + 1] - starts[subset]
            common, most = 0, min(depth, size - 1)
            while common < most and path[common] == features[start + common]:
                common += 1
            for place in range(WHO):
                scratch[place] = np.float32(np.inf)
                scratch[WHO + place] = np.float32(-1.0)
            for depth in range(common, size):
                path[depth] = features[start + depth]
                column, before, after = voters.columns[path[depth]], stack[depth], stack[depth + 1]
                for lane in range(LANES):
                    scratch[HERE + lane] = column[query + lane]
                for first in range(0, len(before) // LANES, STEP):
                    if add(first, column, before, after, scratch) and depth == size - 1:
                        rank(first, after, scratch)
            depth = size
            count(query, scratch, voters, votes[subset])


@kernel
def rank_votes(votes, targets, weights, ties, below, level, values):
    """Write the values of all subsets from their votes for classes."""
    for subset in range(len(votes)):
        total, counted = 0.0, 0
        for output in range(len(targets)):
            good, pairs = votes_in_order(targets[output], votes[subset, output], weights, ties, below, level)
            if pairs > 0:
                total += good / pairs
                counted += 1
        values[subset] = total / counted
