"""Fits of common estimators on many subsets, from sums over the training rows of one fold.

A subset is a list of features: those of subset s stand from ``starts[s]`` to ``starts[s + 1]`` in `features`. Every
kernel fits one subset after the other, with the same operations in the same order however many subsets it is given. So
a score does not depend on what else is asked for. `doubt` says how large rounding errors may be, beside the largest
output. Where it is infinite, the subset must be fitted in the ordinary way.
"""

import numpy as np

from bestleaf.engine.compile import helper, kernel

SMALLEST_PIVOT = 1e-10  # of a matrix with ones on its diagonal; below it a column is nearly a sum of others
ROUNDING = 2.0**-52  # of one operation


@helper
def subtract(factor, other, row):
    """Subtract a multiple of another row. Both begin at 0, so that the compiler can use vector instructions."""
    for j in range(len(row)):
        row[j] -= factor * other[j]


@helper
def inverted(size, matrix, inverse):
    """Factor a positive definite matrix into R'R and write the inverse of R; return the trace of its own inverse.

    Only the upper triangles are read and written. The trace is infinite if the matrix is close to singular. If the
    diagonal of the matrix is one, the trace is the sum of the variance inflation factors of its columns.
    """
    for pivot in range(size):
        if not matrix[pivot, pivot] > SMALLEST_PIVOT:
            return np.inf
        scale = 1.0 / np.sqrt(matrix[pivot, pivot])
        for j in range(pivot, size):
            matrix[pivot, j] *= scale
        for i in range(pivot + 1, size):
            subtract(matrix[pivot, i], matrix[pivot, i:size], matrix[i, i:size])
    trace = 0.0
    for back in range(size):
        i = size - 1 - back
        for j in range(i, size):
            inverse[i, j] = 0.0
        for k in range(i + 1, size):
            subtract(matrix[i, k], inverse[k, k:size], inverse[i, k:size])
        inverse[i, i] = 1.0
        scale = 1.0 / matrix[i, i]
        for j in range(i, size):
            inverse[i, j] *= scale
            trace += inverse[i, j] * inverse[i, j]
    return trace


@helper
def solve(size, inverse, right, middle, solution):
    """Write the solution of the system whose matrix `inverted` has factored."""
    for j in range(size):
        middle[j] = 0.0
    for i in range(size):
        subtract(-right[i], inverse[i, i:size], middle[i:size])
    for i in range(size):
        total = 0.0
        for j in range(i, size):
            total += inverse[i, j] * middle[j]
        solution[i] = total


@helper
def scaled_block(first, size, features, gram, spread, added, root, matrix):
    """Write the block of a subset, its diagonal scaled to ones, and the roots of the diagonal; False if one is 0."""
    for i in range(size):
        one = features[first + i]
        own = gram[one, one] / (spread[one] * spread[one]) + added
        if not own > 0.0:
            return False
        root[i] = np.sqrt(own)
    for i in range(size):
        one = features[first + i]
        for j in range(i, size):
            other = features[first + j]
            matrix[i, j] = gram[one, other] / (spread[one] * spread[other]) / (root[i] * root[j])
        matrix[i, i] = 1.0
    return True


@helper
def narrowest(size, inverse, root):
    """Return a lower bound of the smallest eigenvalue, as a share of the largest, before the diagonal was scaled."""
    largest, inverse_smallest = 0.0, 0.0
    for i in range(size):
        own = 0.0
        for j in range(i, size):
            own += inverse[i, j] * inverse[i, j]
        inverse_smallest += own / (root[i] * root[i])
        largest += root[i] * root[i]
    return 1.0 / (largest * inverse_smallest)


@kernel
def least_squares(
    starts, features, gram, cross, centre, spread, penalty, offset, columns, most, least, work, out, doubt
):
    """Write the predictions of ridge or least squares for the test rows of a fold: out[subset, row].

    `gram` and `cross` are sums over the training rows of products of two features, and of a feature and the target.
    Features are divided by `spread` before the fit. A fit is used if the doubt is at most `most`, and the smallest
    eigenvalue at least the share `least` of the largest.
    """
    matrix, inverse, vectors = work
    for subset in range(len(starts) - 1):
        first, size = starts[subset], starts[subset + 1] - starts[subset]
        doubt[subset] = np.inf
        if not scaled_block(first, size, features, gram, spread, penalty, vectors[0], matrix):
            continue
        rounding = ROUNDING * inverted(size, matrix, inverse)
        if not rounding <= most or not narrowest(size, inverse, vectors[0]) >= least:
            continue
        doubt[subset] = rounding
        for i in range(size):
            one = features[first + i]
            vectors[1, i] = cross[one] / (spread[one] * vectors[0, i])
        solve(size, inverse, vectors[1], vectors[2], vectors[3])
        start = offset
        for i in range(size):
            one = features[first + i]
            vectors[3, i] /= vectors[0, i] * spread[one]
            start -= vectors[3, i] * centre[one]
        for row in range(out.shape[1]):
            out[subset, row] = start
        for i in range(size):
            one, factor = features[first + i], vectors[3, i]
            for row in range(out.shape[1]):
                out[subset, row] += factor * columns[one, row]
    return 0


@kernel
def discriminants(
    starts, features, within, means, centre, spread, prior, columns, most, least, distinct, work, between, out, doubt
):
    """Write the linear discriminants of each class for the test rows of a fold: out[subset, class, row].

    `within` is the covariance within classes, `means` and `prior` are the mean and the logarithm of the share of each
    class, `centre` is the mean of the means. A fit is used as in `least_squares`, and if of the directions between the
    class means the weakest has at least the share `distinct` of the strongest.
    """
    matrix, inverse, vectors = work
    classes = means.shape[0]
    for subset in range(len(starts) - 1):
        first, size = starts[subset], starts[subset + 1] - starts[subset]
        doubt[subset] = np.inf
        if not scaled_block(first, size, features, within, spread, 0.0, vectors[0], matrix):
            continue
        rounding = ROUNDING * inverted(size, matrix, inverse)
        if not rounding <= most or not narrowest(size, inverse, vectors[0]) >= least:
            continue
        for c in range(classes):
            for i in range(size):
                one = features[first + i]
                vectors[1, i] = (means[c, one] - centre[one]) / (spread[one] * vectors[0, i])
            solve(size, inverse, vectors[1], vectors[2], vectors[3])
            length, start = 0.0, prior[c]
            for i in range(size):
                one = features[first + i]
                length += vectors[1, i] * vectors[3, i]
                between[0, c, i] = vectors[2, i] * np.exp(0.5 * prior[c])
                vectors[3, i] /= vectors[0, i] * spread[one]
                start -= vectors[3, i] * centre[one]
            start -= 0.5 * length
            for row in range(out.shape[2]):
                out[subset, c, row] = start
            for i in range(size):
                one, factor = features[first + i], vectors[3, i]
                for row in range(out.shape[2]):
                    out[subset, c, row] += factor * columns[one, row]
        if classes == 2 or weakest(size, classes, prior, between) >= distinct:
            doubt[subset] = rounding
    return 0


@helper
def weakest(size, classes, prior, between):
    """Return a lower bound of the share of the weakest direction between class means in the strongest, squared.

    ``between[0]`` holds the whitened class means, weighted by the roots of their shares. They add up to 0 with these
    roots as weights, so they have at most one direction fewer than there are classes.
    """
    by_class = classes - 1 <= size
    many = classes if by_class else size
    total = 0.0
    for i in range(many):
        for j in range(i, many):
            value = 0.0
            if by_class:
                for k in range(size):
                    value += between[0, i, k] * between[0, j, k]
            else:
                for k in range(classes):
                    value += between[0, k, i] * between[0, k, j]
            between[1, i, j] = value
        total += between[1, i, i]
    if not total > 0.0:
        return 0.0
    for i in range(many):
        for j in range(i, many):
            between[1, i, j] /= total
            if by_class:  # fill the direction that is always empty, so that the matrix can be inverted
                between[1, i, j] += np.exp(0.5 * (prior[i] + prior[j]))
    return 1.0 / inverted(many, between[1], between[2])


@kernel
def naive_bayes(starts, features, means, variances, largest, smoothing, spread, prior, columns, work, out, doubt):
    """Write the logarithm of prior times likelihood of each class for the test rows: out[subset, class, row].

    Every variance is enlarged by `smoothing` times the largest variance (`largest`) of the features of the subset.
    """
    for subset in range(len(starts) - 1):
        first, size = starts[subset], starts[subset + 1] - starts[subset]
        added = 0.0
        for i in range(size):
            added = max(added, largest[features[first + i]])
        added *= smoothing
        for c in range(means.shape[0]):
            start = prior[c]
            for i in range(size):
                one = features[first + i]
                variance = variances[c, one] + added * spread[one] * spread[one]
                start -= 0.5 * np.log(2.0 * np.pi * variance)
                work[i] = 0.5 / variance
            for row in range(out.shape[2]):
                out[subset, c, row] = start
            for i in range(size):
                one, factor, mean = features[first + i], work[i], means[c, features[first + i]]
                for row in range(out.shape[2]):
                    away = columns[one, row] - mean
                    out[subset, c, row] -= factor * (away * away)
        doubt[subset] = ROUNDING * size
    return 0


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
