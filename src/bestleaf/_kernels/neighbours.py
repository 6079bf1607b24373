"""Nearest neighbours on a subset of features, and how well their votes rank the examples.

The data lie feature by feature in single precision. For one query the squared distances to all examples are summed
feature after feature, which the compiler turns into vector instructions. The k nearest are found without sorting:
examples are dealt into lanes (example i into lane i modulo their number), the k-th smallest of the lanes' minima
bounds the k-th distance from above, and only lanes whose minimum is within that bound are looked at. Distances are
compared through their bits, which order numbers that are not negative like whole numbers, so that minima of lanes are
vector instructions too.
"""

import numpy as np

from bestleaf._compile import helper, inlined, kernel
from bestleaf._records import HALF, ROW_ORDER

FAR = 2139095040  # the bits of infinity in single precision
ONE = 65536  # weight of an example, beside its target


@inlined
def add_one(columns, feature, query, fresh, distance):
    """Add the squared differences on one feature, to nothing if `fresh`."""
    column = columns[feature]
    value = column[query]
    for example in range(len(distance)):
        difference = column[example] - value
        before = np.float32(0.0) if fresh else distance[example]
        distance[example] = before + difference * difference


@inlined
def add_two(columns, one, two, query, fresh, distance):
    """Add the squared differences on two features, one after the other, touching `distance` once."""
    a, b = columns[one], columns[two]
    at_a, at_b = a[query], b[query]
    for example in range(len(distance)):
        by_a, by_b = a[example] - at_a, b[example] - at_b
        before = np.float32(0.0) if fresh else distance[example]
        distance[example] = (before + by_a * by_a) + by_b * by_b


@inlined
def measure(columns, subset, size, query, distance):
    """Write the squared distance of `query` to every example into `distance`, on the first `size` of `subset`."""
    if size == 0:
        for example in range(len(distance)):
            distance[example] = np.float32(0.0)
    elif size % 2 == 1:
        add_one(columns, subset[0], query, True, distance)
    else:
        add_two(columns, subset[0], subset[1], query, True, distance)
    for place in range(2 - size % 2, size, 2):
        add_two(columns, subset[place], subset[place + 1], query, False, distance)


@inlined
def exclude(query, examples, drop_zero, distance):
    """Put the query itself, the padding and, if asked, everything at distance 0 out of reach."""
    if drop_zero:
        for example in range(len(distance)):
            if distance[example] == 0:
                distance[example] = np.float32(np.inf)
    distance[query] = np.float32(np.inf)
    for example in range(examples, len(distance)):
        distance[example] = np.float32(np.inf)


@inlined
def lane_minima(bits, minima):
    """Write the smallest distance of each lane."""
    for lane in range(len(minima)):
        minima[lane] = bits[0, lane]
    for row in range(1, bits.shape[0]):
        for lane in range(len(minima)):
            minima[lane] = min(minima[lane], bits[row, lane])


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
    bound = np.int32(FAR)
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


@inlined
def find_bound(query, columns, subset, size, examples, drop_zero, scratch):
    """Measure the distances of `query` on the first `size` of `subset`; return a bound of the k-th, never too small."""
    distance, bits, minima, _, nearest, _ = scratch
    measure(columns, subset, size, query, distance)
    exclude(query, examples, drop_zero, distance)
    lane_minima(bits, minima)
    rank = len(nearest)
    bound = fifth_smallest(minima, rank) if rank <= 5 else smallest(minima, nearest)
    return np.int32(min(bound, FAR - 1))


@inlined
def weigh(bits, bound, weight, tally):
    """Return the summed weights of the examples within the bound."""
    lanes = len(tally)
    for lane in range(lanes):
        heavy = weight[0, lane]
        tally[lane] = heavy if bits[0, lane] <= bound else np.int32(0)
    for row in range(1, bits.shape[0]):
        for lane in range(lanes):
            heavy = weight[row, lane]
            tally[lane] += heavy if bits[row, lane] <= bound else np.int32(0)
    total = 0
    for lane in range(lanes):
        total += tally[lane]
    return total


@inlined
def collect(bits, minima, bound, nearest, who):
    """Find the len(nearest) smallest of `bits` within the bound and who they are; return how many there are."""
    lanes = len(minima)
    for place in range(len(nearest)):
        nearest[place] = FAR
        who[place] = -1
    for lane in range(lanes):
        if minima[lane] <= bound:
            for row in range(bits.shape[0]):
                if bits[row, lane] <= bound:
                    insert(bits[row, lane], row * lanes + lane, nearest, who)
    found = 0
    while found < len(who) and who[found] >= 0:
        found += 1
    return found


@inlined
def sum_targets(target, who, found):
    """Return the sum of the targets of the first `found`; in double precision their order does not matter."""
    total = 0.0
    for rank in range(found):
        total += np.float64(target[who[rank]])
    return total


@inlined
def sum_nearest(query, columns, subset, size, targets, weights, drop_zero, scratch, sums):
    """Write for each output the sum of the targets of the nearest of `query`; return how many there are.

    `scratch` is (distance, bits, minima, tally, nearest, who): bits [rows, lanes] is distance seen as whole numbers, the
    length of nearest is k. `weights` [outputs, rows, lanes] are the targets of classes as whole numbers plus
    `ONE`, so that one sum counts and adds; there are none for real targets. Mostly exactly k examples are within the
    bound, and then nobody needs to know who they are.
    """
    _, bits, minima, tally, nearest, who = scratch
    bound = find_bound(query, columns, subset, size, targets.shape[1], drop_zero, scratch)
    if len(weights) > 0:
        total = weigh(bits, bound, weights[0], tally)
        if total // ONE <= len(nearest):
            sums[0] = total % ONE
            for output in range(1, len(weights)):
                sums[output] = weigh(bits, bound, weights[output], tally) % ONE
            return total // ONE
    found = collect(bits, minima, bound, nearest, who)
    for output in range(targets.shape[0]):
        sums[output] = sum_targets(targets[output], who, found)
    return found


@kernel
def neighbour_sums(columns, subset, targets, weights, queries, drop_zero, scratch, sums, found):
    """For each query sum the targets of its nearest neighbours on `subset`, and count the neighbours found.

    `columns` [features, padded examples] and `targets` [outputs, examples] are read, `sums` [queries, outputs] and
    `found` [queries] are written.
    """
    for place in range(len(queries)):
        found[place] = sum_nearest(
            queries[place], columns, subset, len(subset), targets, weights, drop_zero, scratch, sums[place]
        )


@kernel
def distances_only(columns, subset, queries, distance):
    """Measure every query and do nothing else: what `neighbour_sums` is compared with in the benchmark."""
    total = np.float32(0.0)
    for place in range(len(queries)):
        measure(columns, subset, len(subset), queries[place], distance)
        total += distance[place]
    return total


@helper
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
def share_of_pairs(score, truth, ties):
    """Return `pairs_in_order` for Python."""
    return pairs_in_order(score, truth, ties)


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
