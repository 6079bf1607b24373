"""One rollout on the lattice of feature subsets: a random completion, valued on a random subsample."""

import numpy as np

from bestleaf._compile import draws, helper, inlined, kernel
from bestleaf._kernels.neighbours import pairs_in_order, sum_nearest, votes_in_order
from bestleaf._kernels.reach import contains, include
from bestleaf._records import UNKNOWN, Neighbours


@helper
def complete(bits, size, oracle, rng):
    """Copy a subset of `size` units and add random allowed ones until the coin says stop; return the new size."""
    current, allowed = oracle.current, oracle.allowed
    for word in range(len(current)):
        current[word] = bits[word]
    left = len(allowed) + oracle.limits[4] - size
    while left > 0 and size < oracle.limits[0] and rng.random() < oracle.chances[size]:
        unit = allowed[int(rng.random() * len(allowed))]
        while contains(current, unit):
            unit = allowed[int(rng.random() * len(allowed))]
        include(current, unit)
        size += 1
        left -= 1
    return size


@helper
def spell_out(oracle):
    """List the units and the columns of the current subset in order; return (columns, key of the subset).

    In one order whatever the way to the subset: its votes are then a function of the subset alone.
    """
    size, columns, key = 0, 0, np.uint64(0)
    for word in range(len(oracle.current)):
        rest = oracle.current[word]
        unit = 64 * word
        while rest != 0:
            if rest & np.uint64(1):
                oracle.units[size] = unit
                size += 1
                key ^= oracle.keys[unit]
                for place in range(oracle.starts[unit], oracle.starts[unit + 1]):
                    oracle.chosen[columns] = oracle.members[place]
                    columns += 1
            rest >>= np.uint64(1)
            unit += 1
    return columns, key


@inlined
def draw_queries(oracle, rng):
    """Put a fresh uniform subsample at the front of `oracle.order`."""
    order, picks = oracle.order, oracle.picks
    for place in range(len(picks)):
        other = place + int(rng.random() * (len(order) - place))
        picks[place] = other
        order[place], order[other] = order[other], order[place]


@inlined
def tells_apart(oracle):
    """Whether the subsample at the front of `oracle.order` has two different targets."""
    targets, first = oracle.targets, oracle.order[0]
    for output in range(targets.shape[0]):
        for place in range(1, len(oracle.picks)):
            if targets[output, oracle.order[place]] != targets[output, first]:
                return True
    return False


@inlined
def undo_queries(oracle):
    """Put `oracle.order` back as it was, so that a subsample depends on the stream alone."""
    order, picks = oracle.order, oracle.picks
    for place in range(len(picks) - 1, -1, -1):
        other = picks[place]
        order[place], order[other] = order[other], order[place]


@helper
def remember(key, oracle):
    """Return the row of votes that belongs to the subset `key`, emptied if it held another's."""
    row = int(key % np.uint64(len(oracle.owners)))
    if oracle.owners[row] != key:
        oracle.owners[row] = key
        for place in range(oracle.votes.shape[1]):
            oracle.votes[row, place] = UNKNOWN
    return row


@helper
def vote(row, columns, oracle):
    """Find the neighbours of the queries not met before on the chosen columns, remember the sums of their targets."""
    targets, votes, examples = oracle.targets, oracle.votes, oracle.targets.shape[1]
    scratch = (oracle.distance, oracle.bits, oracle.minima, oracle.tally, oracle.nearest, oracle.who)
    drop_zero, mean = oracle.limits[2] == 1, oracle.limits[3] == 1
    sums, weights = oracle.sums, oracle.weights
    for place in range(len(oracle.picks)):
        query = oracle.order[place]
        if votes[row, query] < 0:
            found = sum_nearest(
                query, oracle.columns, oracle.chosen, columns, targets, weights, drop_zero, scratch, sums
            )
            for output in range(len(sums)):
                votes[row, output * examples + query] = sums[output] / max(found, 1) if mean else sums[output]


@helper
def value_on_subsample(row, oracle):
    """Return the value of the votes in `row` on the examples at the front of `oracle.order`."""
    examples = oracle.targets.shape[1]
    total, counted = 0.0, 0
    for output in range(oracle.targets.shape[0]):
        for place in range(len(oracle.score)):
            query = oracle.order[place]
            oracle.score[place] = oracle.votes[row, output * examples + query]
            oracle.truth[place] = oracle.targets[output, query]
        if oracle.limits[3] == 1:
            good, pairs = pairs_in_order(oracle.score, oracle.truth, oracle.limits[1])
        else:
            good, pairs = votes_in_order(oracle.score, oracle.truth, oracle.limits[1], oracle.below, oracle.level)
        if pairs > 0:
            total += good / pairs
            counted += 1
    return total / counted


@inlined
def credit(size, row, value, oracle):
    """Add a value to the RAVE sums of the units of the current subset, in the row of a leaf."""
    for place in range(size):
        oracle.rave[row, oracle.units[place], 0] += value
        oracle.rave[row, oracle.units[place], 1] += 1.0


@draws(Neighbours)
@kernel
def draw_neighbours(oracle, leaf, rng):
    """Return the value of a random completion of the subset of `leaf` on a random subsample."""
    size = complete(oracle.subsets[leaf], oracle.sizes[leaf], oracle, rng)
    columns, key = spell_out(oracle)
    row = remember(key, oracle)
    draw_queries(oracle, rng)
    while not tells_apart(oracle):
        undo_queries(oracle)
        draw_queries(oracle, rng)
    vote(row, columns, oracle)
    value = value_on_subsample(row, oracle)
    undo_queries(oracle)
    credit(size, 0, value, oracle)
    credit(size, oracle.slots[leaf], value, oracle)
    return value


@kernel
def warm_up(oracle, leaf, rng, rollouts):
    """Draw rollouts from `leaf` for their RAVE sums alone."""
    for _ in range(rollouts):
        draw_neighbours(oracle, leaf, rng)
