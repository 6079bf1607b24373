"""Scores of many subsets at once, from what the kernels in `fits` write for the test rows of one fold."""

import numpy as np

from bestleaf.engine.compile import helper, kernel


@kernel
def errors(predicted, truth, weights, absolute, found):
    """Write for each subset the weighted sum of absolute or squared errors."""
    for subset in range(predicted.shape[0]):
        total = 0.0
        for row in range(len(truth)):
            error = predicted[subset, row] - truth[row]
            total += weights[row] * (abs(error) if absolute else error * error)
        found[subset] = total
    return 0


@helper
def halves_above(score, others):
    """Return how many of some scores are higher, counted twice, plus how many are equal."""
    halves = np.int32(0)  # as wide as the scores, for vector instructions
    for place in range(len(others)):
        halves = np.int32(halves + np.int32(np.int32(score < others[place]) + np.int32(score <= others[place])))
    return np.int64(halves)


@kernel
def in_order(scores, ends, found):
    """Write for each subset the number of pairs in the right order; rows are sorted by target, equal scores count half.

    ``ends[row]`` is the first row with a higher target.
    """
    for subset in range(scores.shape[0]):
        halves = 0
        for row in range(scores.shape[1]):
            halves += halves_above(scores[subset, row], scores[subset, ends[row] :])
        found[subset] = 0.5 * halves
    return 0


@kernel
def labelled(values, truth, weights, tolerance, right):
    """Write the weight of the rows of each class that get their own label, the class of highest value.

    If the two highest values of a row differ by no more than the tolerance of the subset, it is set to infinity.
    """
    classes = values.shape[1]
    for subset in range(values.shape[0]):
        for c in range(classes):
            right[subset, c] = 0.0
        close = False
        for row in range(len(truth)):
            best, second = 0, -np.inf
            for c in range(1, classes):
                if values[subset, c, row] > values[subset, best, row]:
                    second, best = values[subset, best, row], c
                else:
                    second = max(second, values[subset, c, row])
            if not values[subset, best, row] - second > tolerance[subset]:
                close = True
            if truth[row] == best:
                right[subset, best] += weights[row]
        if close:
            tolerance[subset] = np.inf
    return 0


@kernel
def ranked(starts, features, columns, order, scores, least, share, truth, weights, same_rows, found):
    """Write the weighted fraction of pairs of a positive and a negative row that the scores put in the right order.

    `order` sorts the rows by score. Two scores may be equal if they differ by no more than `least` plus `share` times
    the score. Such pairs count one half if the rows are equal on the features of the subset and `same_rows` says that
    equal rows have equal scores. Otherwise the fraction is not a number.
    """
    rows = len(truth)
    for subset in range(scores.shape[0]):
        below, good, positives, place, close = 0.0, 0.0, 0.0, 0, False
        while place < rows:
            end, high, low, reach = place, 0.0, 0.0, np.inf
            while end < rows and scores[subset, order[subset, end]] <= reach:
                row = order[subset, end]
                if truth[row] == 1:
                    high += weights[row]
                else:
                    low += weights[row]
                reach = scores[subset, row] + least[subset] + share[subset] * abs(scores[subset, row])
                end += 1
            if high > 0.0 and low > 0.0:
                close = close or not same_rows
                for other in range(place + 1, end):
                    for i in range(starts[subset], starts[subset + 1]):
                        if columns[features[i], order[subset, place]] != columns[features[i], order[subset, other]]:
                            close = True
            good += high * (below + 0.5 * low)
            below += low
            positives += high
            place = end
        found[subset] = np.nan if close else good / (positives * below)
    return 0
