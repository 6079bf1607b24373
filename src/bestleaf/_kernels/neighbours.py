"""Nearest neighbours on a subset of features, and how well their votes rank the examples.

The data lie feature by feature in single precision. For one query the squared distances to all examples are summed
feature after feature, which the compiler turns into vector instructions. The k nearest are found without sorting:
examples are dealt into lanes (example i into lane i modulo their number), the k-th smallest of the lanes' minima
bounds the k-th distance from above, and only lanes whose minimum is within that bound are looked at. Distances are
compared through their bits, which order numbers that are not negative like whole numbers, so that minima of lanes are
vector instructions too.
"""

import numpy as np

from bestleaf._compile import (
    helper,
    inlined,
    ints_at,
    kernel,
    longs_at,
    pairs_at,
    query_kernel_at,
    separate,
    singles_at,
)
from bestleaf._records import HALF, ROW_ORDER

FAR = 2139095040  # the bits of infinity in single precision
ONE = 65536  # weight of an example, beside its target


@inlined
def add_one(one, query, oracle):
    """Write the squared differences on one feature."""
    distance = singles_at(oracle.distance, oracle.padded)
    a = singles_at(oracle.columns + 4 * oracle.padded * one, oracle.padded)
    at_a = a[query]
    for example in range(len(distance)):
        by_a = a[example] - at_a
        distance[example] = by_a * by_a


@inlined
def add_two(one, two, query, fresh, oracle):
    """Add the squared differences on two features to the distances, or to nothing if `fresh`, touching them once."""
    distance = singles_at(oracle.distance, oracle.padded)
    a = singles_at(oracle.columns + 4 * oracle.padded * one, oracle.padded)
    b = singles_at(oracle.columns + 4 * oracle.padded * two, oracle.padded)
    at_a, at_b = a[query], b[query]
    for example in range(len(distance)):
        by_a, by_b = a[example] - at_a, b[example] - at_b
        before = np.float32(0.0) if fresh else distance[example]
        distance[example] = (before + by_a * by_a) + by_b * by_b


@inlined
def measure(size, query, oracle):
    """Write the squared distance of `query` to every example, on the first `size` of the chosen features."""
    chosen = longs_at(oracle.chosen, size)
    fresh = True
    if size == 0:
        distance = singles_at(oracle.distance, oracle.padded)
        for example in range(len(distance)):
            distance[example] = np.float32(0.0)
    if size % 2 == 1:
        add_one(chosen[0], query, oracle)
        fresh = False
    for place in range(size % 2, size, 2):
        add_two(chosen[place], chosen[place + 1], query, fresh, oracle)
        fresh = False


@inlined
def exclude(query, oracle):
    """Put the query itself, the padding and, if asked, everything at distance 0 out of reach."""
    distance = singles_at(oracle.distance, oracle.padded)
    if oracle.drop_zero == 1:
        for example in range(len(distance)):
            if distance[example] == 0:
                distance[example] = np.float32(np.inf)
    distance[query] = np.float32(np.inf)
    for example in range(oracle.examples, len(distance)):
        distance[example] = np.float32(np.inf)


@inlined
def lane_minima(oracle):
    """Write the smallest distance of each lane, as bits."""
    lanes = oracle.lanes
    minima, line = ints_at(oracle.minima, lanes), ints_at(oracle.distance, lanes)
    for lane in range(lanes):
        minima[lane] = line[lane]
    for start in range(lanes, oracle.padded, lanes):
        line = ints_at(oracle.distance + 4 * start, lanes)
        for lane in range(lanes):
            minima[lane] = min(minima[lane], line[lane])


@inlined
def fifth_smallest(minima, rank):
    """Return the rank-th smallest for ranks up to 5: without branches, which would be guessed wrong."""
    a, b, c, d, e = FAR, FAR, FAR, FAR, FAR
    for lane in range(len(minima)):
        value = minima[lane]
        a, value = min(a, value), max(a, value)
        b, value = min(b, value), max(b, value)
        c, value = min(c, value), max(c, value)
        d, value = min(d, value), max(d, value)
        e = min(e, value)
    if rank == 5:
        return e
    if rank == 4:
        return d
    if rank == 3:
        return c
    return b if rank == 2 else a


@inlined
def smallest(minima, nearest):
    """Return the len(nearest)-th smallest of the minima (infinity when there are fewer lanes)."""
    last = len(nearest) - 1
    for place in range(len(nearest)):
        nearest[place] = FAR
    bound = FAR
    for lane in range(len(minima)):
        value = minima[lane]
        if value < bound:
            place = last
            while place > 0 and value < nearest[place - 1]:
                nearest[place] = nearest[place - 1]
                place -= 1
            nearest[place] = value
            bound = nearest[last]
    return bound


@inlined
def find_bound(oracle):
    """Return a bound of the k-th distance that is never too small."""
    lane_minima(oracle)
    minima, rank = ints_at(oracle.minima, oracle.lanes), oracle.neighbours
    bound = fifth_smallest(minima, rank) if rank <= 5 else smallest(minima, ints_at(oracle.nearest, rank))
    return min(bound, FAR - 1)


@inlined
def weigh(bound, output, oracle):
    """Return the summed weights of the examples within the bound."""
    lanes, limit = oracle.lanes, np.int32(bound)
    weights, tally = oracle.weights + 4 * oracle.padded * output, ints_at(oracle.tally, lanes)
    for lane in range(lanes):
        tally[lane] = 0
    for start in range(0, oracle.padded, lanes):
        line, weight = ints_at(oracle.distance + 4 * start, lanes), ints_at(weights + 4 * start, lanes)
        for lane in range(lanes):
            heavy = weight[lane]
            tally[lane] += heavy if line[lane] <= limit else np.int32(0)
    total = 0
    for lane in range(lanes):
        total += tally[lane]
    return total


@inlined
def insert(value, example, nearest, who):
    """Put an example into the sorted list of the nearest; of equals the smaller number comes first."""
    place = len(nearest) - 1
    if value > nearest[place] or (value == nearest[place] and example > who[place] and who[place] >= 0):
        return
    while place > 0 and (value < nearest[place - 1] or (value == nearest[place - 1] and example < who[place - 1])):
        nearest[place] = nearest[place - 1]
        who[place] = who[place - 1]
        place -= 1
    nearest[place] = value
    who[place] = example


@helper
def collect(bound, oracle):
    """Find the k nearest within the bound and who they are; return how many there are."""
    lanes, count = oracle.lanes, oracle.neighbours
    bits, minima = ints_at(oracle.distance, oracle.padded), ints_at(oracle.minima, lanes)
    nearest, who = ints_at(oracle.nearest, count), longs_at(oracle.who, count)
    for place in range(count):
        nearest[place] = FAR
        who[place] = -1
    for lane in range(lanes):
        if minima[lane] <= bound:
            for example in range(lane, oracle.padded, lanes):
                if bits[example] <= bound:
                    insert(bits[example], example, nearest, who)
    found = 0
    while found < count and who[found] >= 0:
        found += 1
    return found


@separate("query")
def sum_nearest(query, size, oracle):
    """On the first `size` chosen features, write for each output the sum of the targets of the nearest of `query`.

    Weights are the targets of classes as whole numbers plus `ONE`, so that one sum counts and adds. Mostly exactly k
    examples are within the bound, and then nobody needs to know who they are. Of real targets the sum is a mean.
    """
    sums = singles_at(oracle.sums, oracle.outputs)
    measure(size, query, oracle)
    exclude(query, oracle)
    bound, output, simple = find_bound(oracle), 0, oracle.weighed == 1
    while simple and output < oracle.outputs:
        total = weigh(bound, output, oracle)
        simple = total // ONE <= oracle.neighbours
        sums[output] = total % ONE
        output += 1
    if simple:
        return 0
    found = collect(bound, oracle)
    who = longs_at(oracle.who, found)
    for output in range(oracle.outputs):
        target = singles_at(oracle.targets + 4 * oracle.examples * output, oracle.examples)
        sum_of_all = 0.0  # in double precision the order of the neighbours does not matter
        for rank in range(found):
            sum_of_all += np.float64(target[who[rank]])
        sums[output] = sum_of_all / max(found, 1) if oracle.real == 1 else sum_of_all
    return 0


@kernel
def neighbour_sums(size, queries, oracle, found):
    """For each query write the sums of the targets of its nearest neighbours to `found` [queries, outputs].

    They are searched on the first `size` of the chosen features.
    """
    sums = singles_at(oracle.sums, oracle.outputs)
    for place in range(len(queries)):
        query_kernel_at(oracle.sum_nearest)(queries[place], size, oracle)
        for output in range(oracle.outputs):
            found[place, output] = sums[output]


@separate("pairs")
def pairs_in_order(score, truth, ties):
    """Return (pairs truth_i < truth_j that the scores put in order, all such pairs); i and j in any order of rows.

    Pairs with equal scores count one half, nothing, or one if i stands before j, as `ties` says.
    """
    good, pairs = 0.0, 0
    for i in range(len(score)):
        for j in range(len(score)):
            if truth[i] < truth[j]:
                pairs += 1
                if score[i] < score[j]:
                    good += 1.0
                elif score[i] == score[j]:
                    if ties == HALF:
                        good += 0.5
                    elif ties == ROW_ORDER and i < j:
                        good += 1.0
    return good, pairs


@kernel
def share_of_pairs(score, truth, ties, address):
    """Return `pairs_in_order`, which lies at an address, for Python."""
    return pairs_at(address)(score, truth, ties)


@helper
def votes_in_order(score, truth, ties, below, level):
    """Return the same for two classes and scores that are numbers of votes, in one pass over the examples.

    `below` and `level` are scratch with one place for each possible number of votes: negatives and positives.
    """
    in_order = 0
    for vote in range(len(below)):
        below[vote] = 0
        level[vote] = 0
    for place in range(len(score)):
        vote = int(score[place])
        if truth[place] > 0:
            level[vote] += 1
            in_order += below[vote]
        else:
            below[vote] += 1
    good, positives, seen = 0.0, 0, 0
    for vote in range(len(below)):
        good += level[vote] * seen
        if ties == HALF:
            good += 0.5 * level[vote] * below[vote]
        seen += below[vote]
        positives += level[vote]
    if ties == ROW_ORDER:
        good += in_order
    return good, positives * seen


@kernel
def share_of_votes(score, truth, ties, below, level):
    """Return `votes_in_order` for Python."""
    return votes_in_order(score, truth, ties, below, level)
