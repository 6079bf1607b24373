"""Nearest neighbours on a subset of features, and how well their votes rank the rows of the data.

In these kernels an example is a row that votes, and a query is the row whose neighbours are searched. The data are
stored by feature in single precision, the examples at the first places. A query may be one of them or stand behind. The
squared distances of a query to all examples are summed feature by feature, which the compiler turns into vector
instructions. The k nearest are found without sorting. Examples are dealt into lanes: example i goes to lane i modulo
the number of lanes. The k-th smallest of the minima of the lanes is an upper bound of the k-th distance, so only lanes
whose minimum is within this bound are searched. Distances are compared as 32-bit whole numbers: the bits of numbers
that are not negative have the same order as the numbers.
"""

import numpy as np

from bestleaf.engine.compile import helper, inlined, ints_at, kernel, longs_at, separate, singles_at
from bestleaf.features.kernels.records import QUERY, query_kernel_at

FAR = 2139095040  # the bits of infinity in single precision


@inlined
def add_one(one, query, oracle):
    """Write the squared differences on one feature."""
    distance = singles_at(oracle.distance, oracle.padded)
    a = singles_at(oracle.columns + 4 * oracle.stride * one, oracle.stride)
    at_a = a[query]
    for example in range(len(distance)):
        by_a = a[example] - at_a
        distance[example] = by_a * by_a


@inlined
def add_two(one, two, query, fresh, oracle):
    """Add the squared differences on two features to the distances in one pass; if `fresh`, they start at 0."""
    distance = singles_at(oracle.distance, oracle.padded)
    a = singles_at(oracle.columns + 4 * oracle.stride * one, oracle.stride)
    b = singles_at(oracle.columns + 4 * oracle.stride * two, oracle.stride)
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
    """Move the query, the padding and, if asked for, its group and everything at distance 0 to infinity."""
    distance = singles_at(oracle.distance, oracle.padded)
    if oracle.drop_zero == 1:
        for example in range(len(distance)):
            if distance[example] == 0:
                distance[example] = np.float32(np.inf)
    if oracle.grouped == 1:
        groups = ints_at(oracle.groups, oracle.stride)
        mine = groups[query]
        for example in range(len(distance)):
            if groups[example] == mine:
                distance[example] = np.float32(np.inf)
    if query < len(distance):
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
    """Return the rank-th smallest for ranks up to 5, without branches, which a processor would often predict wrong."""
    a, b, c, d, e = FAR, FAR, FAR, FAR, FAR
    for lane in range(len(minima)):
        value = minima[lane]
        a, value = min(a, value), max(a, value)
        b, value = min(b, value), max(b, value)
        c, value = min(c, value), max(c, value)
        d, value = min(d, value), max(d, value)
        e = min(e, value)
    return (a, b, c, d, e)[rank - 1]


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
    """Return an upper bound of the k-th smallest distance."""
    lane_minima(oracle)
    minima, rank = ints_at(oracle.minima, oracle.lanes), oracle.neighbours
    bound = fifth_smallest(minima, rank) if rank <= 5 else smallest(minima, ints_at(oracle.nearest, rank))
    return min(bound, FAR - 1)


@inlined
def insert(value, example, nearest, who):
    """Put an example into the sorted list of the nearest; equal distances are sorted by number."""
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
    """List the k nearest examples within the bound; return how many there are."""
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


@helper
def add_targets(found, oracle):
    """Write for each output the sum of the targets of the first `found` examples that are listed, or their mean."""
    who, sums = longs_at(oracle.who, found), singles_at(oracle.sums, oracle.outputs)
    for output in range(oracle.outputs):
        target = singles_at(oracle.targets + 4 * oracle.rows * output, oracle.rows)
        sum_of_all = 0.0  # in double precision the sum does not depend on the order
        for rank in range(found):
            sum_of_all += np.float64(target[who[rank]])
        sums[output] = sum_of_all / max(found, 1) if oracle.real == 1 else sum_of_all


@separate(QUERY)
def sum_nearest(query, size, oracle):
    """Write the votes of the nearest of a query on the first `size` chosen features."""
    measure(size, query, oracle)
    exclude(query, oracle)
    add_targets(collect(find_bound(oracle), oracle), oracle)
    return 0


@kernel
def neighbour_sums(size, queries, oracle, found):
    """Write the result of `sum_nearest` for each query to `found` [queries, outputs]."""
    sums = singles_at(oracle.sums, oracle.outputs)
    for place in range(len(queries)):
        query_kernel_at(oracle.sum_nearest)(queries[place], size, oracle)
        for output in range(oracle.outputs):
            found[place, output] = sums[output]
