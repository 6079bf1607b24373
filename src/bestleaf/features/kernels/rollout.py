"""One rollout on the lattice of feature subsets: random units are added, then the subset is sampled."""

import numpy as np

from bestleaf.engine.compile import (
    bytes_at,
    floats_at,
    helper,
    inlined,
    kernel,
    longs_at,
    separate,
    singles_at,
    words_at,
)
from bestleaf.engine.kernels.reach import contains, include
from bestleaf.features.kernels.ranking import votes_in_order
from bestleaf.features.kernels.records import DRAW, UNKNOWN, draw_at, pairs_at, query_kernel_at, uniform_at

ROWS = 64  # rows of sums by node that are allocated together


@inlined
def uniform(oracle):
    """Return the next number of the stream, between 0 and 1."""
    return uniform_at(oracle.next_double)(oracle.stream)


@inlined
def below(count, oracle):
    """Return a random whole number from 0 to count - 1."""
    return int(uniform(oracle) * count)


@helper
def complete(leaf, oracle):
    """Copy the subset of a leaf and add random units as long as the rollout goes on."""
    words = oracle.words
    bits, current = words_at(oracle.subsets + 8 * words * leaf, words), words_at(oracle.current, words)
    allowed, chances = longs_at(oracle.allowed, oracle.choices), floats_at(oracle.chances, oracle.units + 1)
    for word in range(words):
        current[word] = bits[word]
    size = longs_at(oracle.sizes, leaf + 1)[leaf]
    left = oracle.choices + oracle.forced - size
    while left > 0 and size < oracle.limit and uniform(oracle) < chances[size]:
        unit = allowed[below(oracle.choices, oracle)]
        while contains(current, unit):
            unit = allowed[below(oracle.choices, oracle)]
        include(current, unit)
        size += 1
        left -= 1


@helper
def spell_out(oracle):
    """List the features of the current subset in a fixed order; return (their number, the key of the subset)."""
    current, keys = words_at(oracle.current, oracle.words), words_at(oracle.keys, oracle.units)
    starts, chosen = longs_at(oracle.starts, oracle.units + 1), longs_at(oracle.chosen, 1 << 40)
    members = longs_at(oracle.members, 1 << 40)
    features, key = 0, np.uint64(0)
    for word in range(oracle.words):
        rest, unit = current[word], 64 * word
        while rest != 0:
            if rest & np.uint64(1):
                key ^= keys[unit]
                for place in range(starts[unit], starts[unit + 1]):
                    chosen[features] = members[place]
                    features += 1
            rest >>= np.uint64(1)
            unit += 1
    return features, key


@helper
def draw_by_weight(oracle):
    """Put rows at the front of the order that are drawn in proportion to their weights, each as often as it comes."""
    order, cumulative = longs_at(oracle.order, oracle.queries), floats_at(oracle.cumulative, oracle.queries)
    for place in range(oracle.subsample):
        share, low, high = uniform(oracle), 0, oracle.queries
        while low < high:
            middle = (low + high) // 2
            if cumulative[middle] <= share:
                low = middle + 1
            else:
                high = middle
        order[place] = oracle.first_query + low


@inlined
def draw_queries(oracle):
    """Put a fresh subsample at the front of the order: a uniform one, or one by the weights of rows."""
    if oracle.by_weight == 1:
        draw_by_weight(oracle)
        return
    order, picks = longs_at(oracle.order, oracle.queries), longs_at(oracle.picks, oracle.subsample)
    for place in range(len(picks)):
        other = place + below(oracle.queries - place, oracle)
        picks[place] = other
        order[place], order[other] = order[other], order[place]


@inlined
def undo_queries(oracle):
    """Restore the order, so that the next subsample depends on the random stream alone; weights need no order."""
    if oracle.by_weight == 1:
        return
    order, picks = longs_at(oracle.order, oracle.queries), longs_at(oracle.picks, oracle.subsample)
    for place in range(len(picks) - 1, -1, -1):
        other = picks[place]
        order[place], order[other] = order[other], order[place]


@inlined
def tells_apart(oracle):
    """Return whether the subsample at the front of the order has two different targets."""
    order = longs_at(oracle.order, oracle.queries)
    for output in range(oracle.outputs):
        target = singles_at(oracle.targets + 4 * oracle.rows * output, oracle.rows)
        for place in range(1, oracle.subsample):
            if target[order[place]] != target[order[0]]:
                return True
    return False


@inlined
def read_vote(place, oracle):
    """Return the votes at a place in the memory."""
    if oracle.small == 1:
        return np.float32(bytes_at(oracle.votes, 1 << 50)[place])
    return singles_at(oracle.votes, 1 << 50)[place]


@inlined
def write_vote(place, value, oracle):
    """Write votes to a place in the memory."""
    if oracle.small == 1:
        bytes_at(oracle.votes, 1 << 50)[place] = np.int8(value)
    else:
        singles_at(oracle.votes, 1 << 50)[place] = value


@helper
def remember(key, oracle):
    """Return where the votes of the subset `key` begin in the memory; votes of another subset there are deleted."""
    owners = words_at(oracle.owners, oracle.memory)
    row = int(key % np.uint64(oracle.memory))
    width = oracle.outputs * oracle.queries
    if owners[row] != key:
        owners[row] = key
        for place in range(row * width, (row + 1) * width):
            write_vote(place, UNKNOWN, oracle)
    return row * width


@helper
def vote(start, features, oracle):
    """Compute and keep the votes of those queries whose votes on the chosen features are not known."""
    order, sums = longs_at(oracle.order, oracle.queries), singles_at(oracle.sums, oracle.outputs)
    for place in range(oracle.subsample):
        kept = start + order[place] - oracle.first_query
        if read_vote(kept, oracle) < 0:
            query_kernel_at(oracle.sum_nearest)(order[place], features, oracle)
            for output in range(oracle.outputs):
                write_vote(kept + output * oracle.queries, sums[output], oracle)


@helper
def value_on_subsample(start, oracle):
    """Return the value of the subset whose votes begin at `start`, on the subsample at the front of the order."""
    order, length = longs_at(oracle.order, oracle.queries), oracle.subsample
    score, truth = singles_at(oracle.score, length), singles_at(oracle.truth, length)
    below, level = floats_at(oracle.below, oracle.neighbours + 1), floats_at(oracle.level, oracle.neighbours + 1)
    ones = floats_at(oracle.ones, length)
    total, counted = 0.0, 0
    for output in range(oracle.outputs):
        target = singles_at(oracle.targets + 4 * oracle.rows * output, oracle.rows)
        first = start + output * oracle.queries - oracle.first_query
        for place in range(length):
            score[place] = read_vote(first + order[place], oracle)
            truth[place] = target[order[place]]
        if oracle.real == 1:
            good, pairs = pairs_at(oracle.pairs_in_order)(truth, score, oracle.ties)
        else:
            good, pairs = votes_in_order(truth, score, ones, oracle.ties, below, level)
        if pairs > 0:
            total += good / pairs
            counted += 1
    return total / counted


@helper
def row_of(node, oracle):
    """Return the address of the sums of a node, which gets a row when it is first sampled; 0 if there is no row left.

    A row has how many units were met, which these are, and the sum and the number of values of every unit.
    """
    heads = longs_at(oracle.heads, node + 1)
    if heads[node] == 0:
        if oracle.used == oracle.room:
            return 0
        oracle.used += 1
        heads[node] = oracle.used
    row = heads[node] - 1
    return longs_at(oracle.chunks, 1 << 40)[row // ROWS] + 8 * (1 + 3 * oracle.units) * (row % ROWS)


@inlined
def add_to_row(address, unit, total, number, oracle):
    """Add to the sum and the number of a unit in a row."""
    units = oracle.units
    row, place = floats_at(address, 1 + 3 * units), 1 + units + 2 * unit
    if row[place + 1] == 0.0:
        row[0] += 1.0
        row[int(row[0])] = unit
    row[place] += total
    row[place + 1] += number


@kernel
def add_to_rows(keys, sums, oracle):
    """Add [keys, 2] sums and numbers; a key is node x units + unit."""
    for place in range(len(keys)):
        node = keys[place] // oracle.units
        address = row_of(node, oracle)
        if address != 0:
            add_to_row(address, keys[place] - node * oracle.units, sums[place, 0], sums[place, 1], oracle)


@kernel
def sum_rows(nodes, found, oracle):
    """Add the sums and numbers at some nodes to `found` [units, 2]."""
    heads, units = longs_at(oracle.heads, 1 << 40), oracle.units
    for node in nodes:
        if heads[node] != 0:
            row = floats_at(row_of(node, oracle), 1 + 3 * units)
            for place in range(1, int(row[0]) + 1):
                unit = int(row[place])
                found[unit, 0] += row[1 + units + 2 * unit]
                found[unit, 1] += row[2 + units + 2 * unit]


@helper
def credit(leaf, value, oracle):
    """Add a value to the RAVE sums of the units of the current subset: those of the leaf and the total ones."""
    current, address = words_at(oracle.current, oracle.words), row_of(leaf, oracle)
    totals = floats_at(oracle.rave, 2 * oracle.units)
    for word in range(oracle.words):
        rest, unit = current[word], 64 * word
        while rest != 0:
            if rest & np.uint64(1):
                if address != 0:
                    add_to_row(address, unit, value, 1.0, oracle)
                totals[2 * unit] += value
                totals[2 * unit + 1] += 1.0
            rest >>= np.uint64(1)
            unit += 1


@inlined
def keep(value, oracle):
    """Keep the current subset if its value is one of the highest so far."""
    values = floats_at(oracle.kept_values, oracle.kept)
    if value <= values[oracle.lowest]:
        return
    current = words_at(oracle.current, oracle.words)
    subset = words_at(oracle.kept_subsets + 8 * oracle.words * oracle.lowest, oracle.words)
    for word in range(oracle.words):
        subset[word] = current[word]
    values[oracle.lowest] = value
    for place in range(oracle.kept):
        if values[place] < values[oracle.lowest]:
            oracle.lowest = place


@separate(DRAW)
def draw_neighbours(leaf, oracle):
    """Return the value of one rollout from `leaf` on a random subsample."""
    complete(leaf, oracle)
    features, key = spell_out(oracle)
    start = remember(key, oracle)
    draw_queries(oracle)
    while not tells_apart(oracle):
        undo_queries(oracle)
        draw_queries(oracle)
    vote(start, features, oracle)
    value = value_on_subsample(start, oracle)
    undo_queries(oracle)
    credit(leaf, value, oracle)
    keep(value, oracle)
    oracle.drawn += 1
    return value


@kernel
def warm_up(leaf, rollouts, oracle):
    """Draw rollouts from `leaf` only for their RAVE sums."""
    for _ in range(rollouts):
        draw_at(oracle.draw)(leaf, oracle)
