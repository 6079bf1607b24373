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
def subtract_two(one, first, two, second, row):
    """Subtract a multiple of one row, then of another, in one pass."""
    for j in range(len(row)):
        row[j] = (row[j] - one * first[j]) - two * second[j]


@helper
def factored(size, matrix):
    """Factor a positive definite matrix into R'R in place; return whether it is not too close to a singular one.

    Only the upper triangle is read and written.
    """
    for pivot in range(size):
        if pivot % 2 == 1:  # the rows below follow for two pivots at a time
            subtract(matrix[pivot - 1, pivot], matrix[pivot - 1, pivot:size], matrix[pivot, pivot:size])
        if not matrix[pivot, pivot] > SMALLEST_PIVOT:
            return False
        scale = 1.0 / np.sqrt(matrix[pivot, pivot])
        for j in range(pivot, size):
            matrix[pivot, j] *= scale
        if pivot % 2 == 1:
            for i in range(pivot + 1, size):
                one, two = matrix[pivot - 1, i], matrix[pivot, i]
                subtract_two(one, matrix[pivot - 1, i:size], two, matrix[pivot, i:size], matrix[i, i:size])
    return True


@helper
def invert(size, factor, inverse, inflation):
    """Write the inverse of a factor R, and the diagonal of the inverse of R'R; return its trace.

    If the diagonal of R'R is one, these are the variance inflation factors of its columns.
    """
    trace = 0.0
    for back in range(size):
        i = size - 1 - back
        for j in range(i, size):
            inverse[i, j] = 0.0
        for k in range(i + 1, size):
            subtract(factor[i, k], inverse[k, k:size], inverse[i, k:size])
        inverse[i, i] = 1.0
        scale, own = 1.0 / factor[i, i], 0.0
        for j in range(i, size):
            inverse[i, j] *= scale
            own += inverse[i, j] * inverse[i, j]
        inflation[i] = own
        trace += own
    return trace


@helper
def solve(size, factor, right, middle, solution):
    """Write the solution of the system with the matrix R'R, and what comes out after the first of its two steps."""
    for i in range(size):
        middle[i] = right[i]
    for i in range(size):
        middle[i] /= factor[i, i]
        subtract(middle[i], factor[i, i + 1 : size], middle[i + 1 : size])
    for back in range(size):
        i = size - 1 - back
        total = middle[i]
        for j in range(i + 1, size):
            total -= factor[i, j] * solution[j]
        solution[i] = total / factor[i, i]


@helper
def block(first, size, features, correlation, matrix):
    """Write the upper triangle of the block of a subset."""
    for i in range(size):
        one = features[first + i]
        for j in range(i, size):
            matrix[i, j] = correlation[one, features[first + j]]


@helper
def fitted(first, size, features, correlation, diagonal, inflation, blur, most, least, work):
    """Factor the block of a subset; return the doubt, infinite if the fit cannot be used.

    The smallest eigenvalue before the diagonal was scaled must have at least the share `least` of the largest. Its
    lower bound, like the doubt, follows from the variance inflation factors. Those of all features together are upper
    bounds of those of the subset; only if these do not suffice, its own are computed. `blur` is how many times the
    rounding of a standardised column each column has, because its mean is far from 0.
    """
    matrix, inverse, vectors = work
    block(first, size, features, correlation, matrix)
    if not factored(size, matrix):
        return np.inf
    for i in range(size):
        vectors[0, i] = inflation[features[first + i]]
    for attempt in range(2):
        if attempt == 1:
            invert(size, matrix, inverse, vectors[0])
        rounding, largest, inverse_smallest = 0.0, 0.0, 0.0
        for i in range(size):
            own = diagonal[features[first + i]]
            rounding += ROUNDING * blur[features[first + i]] * vectors[0, i]
            largest += own
            inverse_smallest += vectors[0, i] / own
        if rounding <= most and least * largest * inverse_smallest <= 1.0:
            return rounding
    return np.inf


@kernel
def least_squares(
    starts,
    features,
    correlation,
    diagonal,
    inflation,
    blur,
    right,
    unit,
    centre,
    offset,
    columns,
    most,
    least,
    work,
    out,
    doubt,
):
    """Write the predictions of ridge or least squares for the test rows of a fold: out[subset, row].

    `correlation` is the matrix of the normal equations with its diagonal scaled to ones, `diagonal` what it was, and
    `right` the right side. `inflation` are the variance inflation factors of all features together. A solution times
    `unit` is in the units of the features. A fit is used if the doubt is at most `most`; for `least` see `fitted`.
    """
    matrix, _, vectors = work
    for subset in range(len(starts) - 1):
        first, size = starts[subset], starts[subset + 1] - starts[subset]
        doubt[subset] = fitted(first, size, features, correlation, diagonal, inflation, blur, most, least, work)
        if doubt[subset] == np.inf:
            continue
        for i in range(size):
            vectors[0, i] = right[features[first + i]]
        solve(size, matrix, vectors[0], vectors[1], vectors[2])
        start = offset
        for i in range(size):
            one = features[first + i]
            vectors[2, i] *= unit[one]
            start -= vectors[2, i] * centre[one]
        for row in range(out.shape[1]):
            out[subset, row] = start
        for i in range(size):
            subtract(-vectors[2, i], columns[features[first + i]], out[subset])
    return 0


@kernel
def discriminants(
    starts,
    features,
    correlation,
    diagonal,
    inflation,
    blur,
    right,
    unit,
    centre,
    prior,
    columns,
    most,
    least,
    distinct,
    work,
    between,
    out,
    doubt,
):
    """Write the linear discriminants of each class for the test rows of a fold: out[subset, class, row].

    As in `least_squares`, with the correlations within classes and a right side for each class: its mean beside the
    mean of all. `prior` has the logarithms of the shares of the classes. Of the directions between the class means the
    weakest must have at least the share `distinct` of the strongest.
    """
    matrix, _, vectors = work
    classes = right.shape[0]
    for subset in range(len(starts) - 1):
        first, size = starts[subset], starts[subset + 1] - starts[subset]
        rounding = fitted(first, size, features, correlation, diagonal, inflation, blur, most, least, work)
        doubt[subset] = np.inf
        if rounding == np.inf:
            continue
        for c in range(classes):
            for i in range(size):
                vectors[0, i] = right[c, features[first + i]]
            solve(size, matrix, vectors[0], vectors[1], vectors[2])
            length, start = 0.0, prior[c]
            for i in range(size):
                one = features[first + i]
                length += vectors[0, i] * vectors[2, i]
                between[0, c, i] = vectors[1, i] * np.exp(0.5 * prior[c])
                vectors[2, i] *= unit[one]
                start -= vectors[2, i] * centre[one]
            for row in range(out.shape[2]):
                out[subset, c, row] = start - 0.5 * length
            for i in range(size):
                subtract(-vectors[2, i], columns[features[first + i]], out[subset, c])
        if classes == 2 or weakest(size, classes, prior, between, between[0, 0]) >= distinct:
            doubt[subset] = rounding
    return 0


@helper
def weakest(size, classes, prior, between, spare):
    """Return a lower bound of the share of the weakest direction between class means in the strongest, squared.

    ``between[0]`` holds the whitened class means, weighted by the roots of their shares. They add up to 0 with these
    roots as weights, so they have at most one direction fewer than there are classes. `spare` is scratch memory.
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
    if not factored(many, between[1]):
        return 0.0
    return 1.0 / invert(many, between[1], between[2], spare)


@kernel
def naive_bayes(starts, features, means, variances, largest, smoothing, spread, prior, blur, columns, work, out, doubt):
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
        doubt[subset] = 0.0
        for i in range(size):
            doubt[subset] += ROUNDING * blur[features[first + i]]
    return 0
