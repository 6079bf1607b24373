"""One rollout on the lattice of feature subsets: a random completion, valued on a random subsample."""

import numpy as np

from bestleaf._compile import draws, helper, inlined, kernel
from bestleaf._kernels.neighbours import find_nearest, pairs_in_order, sum_targets, votes_in_order
from bestleaf._kernels.reach import contains, include
from bestleaf._records import Neighbours


@helper
def complete(bits, oracle, rng):
    """Copy a subset, add random allowed features until the coin says stop; return (size, key of the subset)."""
    chosen, current = oracle.chosen, oracle.current
    size, key, left = 0, np.uint64(0), 0
    for word in range(len(current)):
        current[word] = bits[word]
    for place in range(len(oracle.allowed)):
        if not contains(current, oracle.allowed[place]):
            left += 1
    for feature in range(len(oracle.keys)):
        if contains(current, feature):
            chosen[size] = feature
            key ^= oracle.keys[feature]
            size += 1
    while left > 0 and size < oracle.limits[0] and rng.random() < oracle.chances[size]:
        feature = oracle.allowed[int(rng.random() * len(oracle.allowed))]
        while contains(current, feature):
            feature = oracle.allowed[int(rng.random() * len(oracle.allowed))]
        include(current, feature)
        chosen[size] = feature
        key ^= oracle.keys[feature]
        size += 1
        left -= 1
    return size, key


@inlined
def draw_queries(oracle, rng):
    """Put a fresh uniform subsample at the front of `oracle.order`."""
    order = oracle.order
    for place in range(len(oracle.score)):
        other = place + int(rng.random() * (len(order) - place))
        order[place], order[other] = order[other], order[place]


@helper
def remember(key, oracle):
    """Return the row of votes that belongs to the subset `key`, emptied if it held another's."""
    row = int(key % np.uint64(len(oracle.owners)))
    if oracle.owners[row] != key:
        oracle.owners[row] = key
        for place in range(oracle.votes.shape[1]):
            oracle.votes[row, place] = np.nan
    return row


@helper
def vote(query, row, size, oracle):
    """Find the neighbours of one query on the chosen features and remember the sums of their targets."""
    targets = oracle.targets
    scratch = (oracle.distance, oracle.bits, oracle.minima, oracle.nearest, oracle.who)
    drop_zero = oracle.limits[2] == 1
    found = find_nearest(query, oracle.columns, oracle.chosen, size, targets.shape[1], drop_zero, scratch)
    for output in range(targets.shape[0]):
        total = sum_targets(targets[output], oracle.who, found)
        if oracle.limits[3] == 1:
            total /= max(found, 1)
        oracle.votes[row, output * targets.shape[1] + query] = total


@draws(Neighbours)
@kernel
def draw_neighbours(oracle, leaf, rng):
    """Return the value of a random completion of the subset of `leaf` on a random subsample."""
    size, key = complete(oracle.subsets[leaf], oracle, rng)
    row = remember(key, oracle)
    examples = oracle.targets.shape[1]
    while True:
        draw_queries(oracle, rng)
        total, counted = 0.0, 0
        for output in range(oracle.targets.shape[0]):
            for place in range(len(oracle.score)):
                query = oracle.order[place]
                if np.isnan(oracle.votes[row, output * examples + query]):
                    vote(query, row, size, oracle)
                oracle.score[place] = oracle.votes[row, output * examples + query]
                oracle.truth[place] = oracle.targets[output, query]
            if oracle.limits[3] == 1:
                good, pairs = pairs_in_order(oracle.score, oracle.truth, oracle.limits[1])
            else:
                good, pairs = votes_in_order(oracle.score, oracle.truth, oracle.limits[1], oracle.below, oracle.level)
            if pairs > 0:
                total += good / pairs
                counted += 1
        if counted > 0:
            return total / counted
