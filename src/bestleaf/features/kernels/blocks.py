"""The votes of nearest neighbours on many subsets at once, and which of these subsets can still reach a value.

Subsets are listed in an order in which neighbours begin with the same features. For each query the distances on the
first 1, 2, 3, … features of the current subset are kept. The next subset keeps those of the features that both begin
with, and adds only the others. Sums are added in the order of the features, as for a single subset, so that votes and
values are the same to the last digit.
"""

import numpy as np

from bestleaf.engine.compile import inlined, ints_at, kernel, singles_at
from bestleaf.engine.vectors import EIGHT, FAR, SMALLEST, add_and_rank_eight, add_to_eight, weigh_eight
from bestleaf.features.kernels.neighbours import ONE, vote
from bestleaf.features.kernels.ranking import counted_by_votes, votes_in_order
from bestleaf.features.kernels.records import HALF, ROW_ORDER

# Where things are in the scratch memory of eight queries, in bytes: the smallest distances come first.
BOUNDS, EQUALS, SUMS = (4 * EIGHT * row for row in (SMALLEST, SMALLEST + 1, SMALLEST + 2))


@inlined
def begin(query, stack, oracle):
    """Write the distances on no feature: infinite for rows that do not vote, which stays so in all sums."""
    distance = singles_at(stack, oracle.padded)
    for example in range(oracle.examples):
        distance[example] = np.float32(0.0)
    for example in range(oracle.examples, oracle.padded):
        distance[example] = np.float32(np.inf)
    if oracle.grouped == 1:
        groups = ints_at(oracle.groups, oracle.padded)
        mine = groups[query]
        for example in range(oracle.examples):
            if groups[example] == mine:
                distance[example] = np.float32(np.inf)
    distance[query] = np.float32(np.inf)


@inlined
def add(feature, query, before, after, oracle):
    """Write distances with one more feature; `before` and `after` are addresses of distances."""
    less, more = singles_at(before, oracle.padded), singles_at(after, oracle.padded)
    column = singles_at(oracle.columns + 4 * oracle.stride * feature, oracle.padded)
    here = column[query]
    for example in range(len(more)):
        by = column[example] - here
        more[example] = less[example] + by * by


@inlined
def drop_zeros(before, after, oracle):
    """Copy distances; those of 0 become infinite."""
    less, more = singles_at(before, oracle.padded), singles_at(after, oracle.padded)
    for example in range(len(more)):
        more[example] = np.float32(np.inf) if less[example] == 0 else less[example]


@kernel
def block_votes(first, last, alive, many, features, starts, stack, path, oracle, votes):
    """Write the votes of the queries from `first` to `last` - 1 for the first `many` of the subsets `alive`.

    The features of subset s are ``features[starts[s]:starts[s + 1]]``, in order. `stack` is the address of scratch
    memory for distances, [features + 2, padded] in single precision; `path` is scratch for features. Votes go to the
    address `votes`, [subsets, outputs, examples] in single precision.
    """
    step, outputs = 4 * oracle.padded, oracle.outputs
    found, sums, own = singles_at(votes, 1 << 40), singles_at(oracle.sums, outputs), oracle.distance
    for query in range(first, last):
        begin(query, stack, oracle)
        depth = 0
        for place in range(many):
            subset = alive[place]
            start, size = starts[subset], starts[subset + 1] - starts[subset]
            common, most = 0, min(depth, size)
            while common < most and path[common] == features[start + common]:
                common += 1
            for depth in range(common, size):
                path[depth] = features[start + depth]
                add(path[depth], query, stack + step * depth, stack + step * (depth + 1), oracle)
            depth = size
            oracle.distance = stack + step * depth
            if oracle.drop_zero == 1:
                drop_zeros(oracle.distance, stack + step * (depth + 1), oracle)
                oracle.distance = stack + step * (depth + 1)
            vote(oracle)
            for output in range(outputs):
                found[(subset * outputs + output) * oracle.examples + query] = sums[output]
    oracle.distance = own


@inlined
def begin_eight(first, stack, oracle):
    """Write the distances of eight queries on no feature, [examples, 8]: infinite for rows that do not vote."""
    distance = singles_at(stack, EIGHT * oracle.examples)
    for place in range(len(distance)):
        distance[place] = np.float32(0.0)
    if oracle.grouped == 1:
        groups = ints_at(oracle.groups, oracle.padded)
        for example in range(oracle.examples):
            for lane in range(EIGHT):
                if groups[example] == groups[first + lane]:
                    distance[EIGHT * example + lane] = np.float32(np.inf)
    for lane in range(EIGHT):
        distance[EIGHT * (first + lane) + lane] = np.float32(np.inf)


@inlined
def vote_of_eight(distances, scratch, oracle):
    """Write the weights of the nearest of eight queries; `scratch` has their five smallest distances.

    Of several neighbours at the same distance the first ones vote.
    """
    ranks = ints_at(scratch, SMALLEST * EIGHT)
    bounds, equals = ints_at(scratch + BOUNDS, EIGHT), ints_at(scratch + EQUALS, EIGHT)
    for lane in range(EIGHT):
        bound, equal = ranks[(oracle.neighbours - 1) * EIGHT + lane], 0
        for rank in range(oracle.neighbours):
            equal += ranks[rank * EIGHT + lane] == bound
        if bound >= FAR:  # there are not so many neighbours
            bound, equal = FAR - 1, 0
        bounds[lane] = bound
        equals[lane] = equal
    for output in range(oracle.outputs):
        weights, sums = oracle.weights + 4 * oracle.padded * output, scratch + SUMS + 4 * EIGHT * output
        weigh_eight(distances, weights, scratch + BOUNDS, scratch + EQUALS, oracle.examples, sums)


@kernel
def votes_of_eight(first, last, alive, many, features, starts, stack, path, oracle, votes, scratch):
    """Write what `block_votes` writes, for classes and at most 5 neighbours, eight queries at a time.

    `stack` is the address of [features + 1, examples, 8] in single precision, `scratch` that of [7 + outputs, 8] in 32
    bits. The last eight queries may include some that are done already: their votes are the same.
    """
    step, outputs, found = 4 * EIGHT * oracle.examples, oracle.outputs, singles_at(votes, 1 << 40)
    for start_of_eight in range(first, last, EIGHT):
        query = min(start_of_eight, oracle.examples - EIGHT)
        begin_eight(query, stack, oracle)
        depth = 0
        for place in range(many):
            subset = alive[place]
            start, size = starts[subset], starts[subset + 1] - starts[subset]
            common, most = 0, min(depth, size - 1)
            while common < most and path[common] == features[start + common]:
                common += 1
            for depth in range(common, size):
                path[depth] = features[start + depth]
                column = oracle.columns + 4 * oracle.stride * path[depth]
                less, more = stack + step * depth, stack + step * (depth + 1)
                if depth < size - 1:
                    add_to_eight(less, more, column, query, oracle.examples, scratch)
                else:
                    add_and_rank_eight(less, more, column, query, oracle.examples, scratch)
            depth = size
            vote_of_eight(stack + step * depth, scratch, oracle)
            for output in range(outputs):
                sums = ints_at(scratch + SUMS + 4 * EIGHT * output, EIGHT)
                row = (subset * outputs + output) * oracle.examples + query
                for lane in range(EIGHT):
                    found[row + lane] = sums[lane] % ONE


@inlined
def highest(score, truth, seen, ties, below, level):
    """Return what `votes_in_order` can return at most, if only the votes of the first `seen` rows are known.

    It is reached if all other positives have all votes and all other negatives none.
    """
    for number in range(len(below)):
        below[number] = 0
        level[number] = 0
    for place in range(len(truth)):
        number = len(below) - 1 if truth[place] > 0 else 0
        if place < seen:
            number = int(score[place])
        if truth[place] > 0:
            level[number] += 1
        else:
            below[number] += 1
    return counted_by_votes(below, level, 0.5 if ties == HALF else 1.0 if ties == ROW_ORDER else 0.0)


@kernel
def block_ranked(seen, alive, many, votes, rows, outputs, targets, ties, below, level, values):
    """Write the value of each subset `alive`; if not all rows are `seen`, the highest value that it can still reach.

    `votes` and `targets` are the addresses of [subsets, outputs, rows] and [outputs, rows] in single precision.
    """
    for place in range(many):
        subset, total, counted = alive[place], 0.0, 0
        for output in range(outputs):
            score = singles_at(votes + 4 * rows * (subset * outputs + output), rows)
            truth = singles_at(targets + 4 * rows * output, rows)
            if seen < rows:
                good, pairs = highest(score, truth, seen, ties, below, level)
            else:
                good, pairs = votes_in_order(truth, score, ties, below, level)
            if pairs > 0:
                total += good / pairs
                counted += 1
        values[subset] = total / counted


@kernel
def keep_alive(alive, many, values, floors):
    """Keep the subsets whose value is not below its floor; return how many they are. The others get the value -1."""
    kept = 0
    for place in range(many):
        subset = alive[place]
        if values[subset] >= floors[subset]:
            alive[kept] = subset
            kept += 1
        else:
            values[subset] = -1.0
    return kept


@kernel
def step(path, depth, units, most):
    """Move the path of a subset, its units in order, to that of the next number; return its new size."""
    last = path[depth - 1] if depth > 0 else -1
    if depth < most and last < units - 1:
        path[depth] = last + 1
        return depth + 1
    if last == units - 1:
        depth -= 1
    path[depth - 1] += 1
    return depth


@kernel
def list_sizes(path, depth, units, most, sizes):
    """Write the sizes of consecutive subsets; the first one has the units in `path`, so many as `depth`."""
    for place in range(len(sizes)):
        sizes[place] = depth
        if place < len(sizes) - 1:
            depth = step(path, depth, units, most)


@kernel
def list_members(path, depth, units, most, members):
    """Write the units of consecutive subsets to `members`, [subsets, units] of zeros, which become ones."""
    for place in range(len(members)):
        for rank in range(depth):
            members[place, path[rank]] = 1
        if place < len(members) - 1:
            depth = step(path, depth, units, most)


@kernel
def list_places(path, depth, units, most, places):
    """Write the units of consecutive subsets to `places`, [subsets, most] of zeros, in order."""
    for place in range(len(places)):
        for rank in range(depth):
            places[place, rank] = path[rank]
        if place < len(places) - 1:
            depth = step(path, depth, units, most)
