"""Fits of ridge regression on many subsets, from sums over the training rows of one fold.

A subset is a list of features: those of subset s stand from ``starts[s]`` to ``starts[s + 1]`` in `features`. One
subset is fitted after the other, with the same operations in the same order however many there are. So a score does
not depend on what else is asked for.
"""

import numpy as np

from bestleaf.engine.compile import helper, kernel


@helper
def subtract(factor, other, row):
    """Subtract a multiple of another row. Both begin at 0, so that the compiler can use vector instructions."""
    for j in range(len(row)):
        row[j] -= factor * other[j]


@helper
def factored(size, matrix):
    """Factor a positive definite matrix into R'R in place; return whether it is not too close to a singular one.

    Only the upper triangle is read and written.
    """
    for pivot in range(size):
        # Of a matrix with ones on its diagonal; below it a column is nearly a sum of others.
        if not matrix[pivot, pivot] > 1e-10:
            return False
        scale = 1.0 / np.sqrt(matrix[pivot, pivot])
        for j in range(pivot, size):
            matrix[pivot, j] *= scale
        for i in range(pivot + 1, size):
            subtract(matrix[pivot, i], matrix[pivot, i:size], matrix[i, i:size])
    return True


@helper
def invert(size, factor, inverse):
    """Write the inverse of a factor R, which is an upper triangle, too."""
    for back in range(size):
        i = size - 1 - back
        for j in range(i, size):
            inverse[i, j] = 0.0
        for k in range(i + 1, size):
            subtract(factor[i, k], inverse[k, k:size], inverse[i, k:size])
        inverse[i, i] = 1.0
        scale = 1.0 / factor[i, i]
        for j in range(i, size):
            inverse[i, j] *= scale


@helper
def doubt_about(chosen, diagonal, blur, inverse):
    """Return how large rounding errors may be, beside the largest output; infinite if the fit cannot be used.

    It follows from the variance inflation factors, the diagonal of the inverse of the normal equations. So does a lower
    bound of the smallest eigenvalue before the diagonal was scaled to ones.
    """
    rounding, largest, inverse_smallest = 0.0, 0.0, 0.0
    for i in range(len(chosen)):
        inflation = 0.0
        for j in range(i, len(chosen)):
            inflation += inverse[i, j] * inverse[i, j]
        rounding += 2.0**-52 * blur[chosen[i]] * inflation  # of one operation
        largest += diagonal[chosen[i]]
        inverse_smallest += inflation / diagonal[chosen[i]]
    # Beyond it the ordinary fit is asked: scores must agree to nine digits.
    # Of the smallest eigenvalue in the largest; scikit-learn may take smaller ones for 0.
    fine = rounding <= 1e-10 and 4e-14 * largest * inverse_smallest <= 1.0
    return rounding if fine else np.inf


@kernel
def ridge(starts, features, equations, columns, matrix, inverse, middle, out, doubt):
    """Write the outputs of ridge regression for the test rows, out[subset, target, row], and the doubt about them.

    The outputs of a subset in infinite doubt are zeros: it must be fitted in the ordinary way. `matrix`, `inverse` and
    `middle` are scratch memory.
    """
    for subset in range(len(starts) - 1):
        chosen = features[starts[subset] : starts[subset + 1]]
        size = len(chosen)
        out[subset] = 0.0
        doubt[subset] = np.inf
        for i in range(size):
            for j in range(i, size):
                matrix[i, j] = equations.correlation[chosen[i], chosen[j]]
        if factored(size, matrix):
            invert(size, matrix, inverse)
            doubt[subset] = doubt_about(chosen, equations.diagonal, equations.blur, inverse)
        if doubt[subset] == np.inf:
            continue
        for target in range(out.shape[1]):
            for j in range(size):
                middle[j] = 0.0
                for i in range(j + 1):
                    middle[j] += inverse[i, j] * equations.right[target, chosen[i]]
            start = equations.offset[target]
            for i in range(size):
                slope = 0.0
                for j in range(i, size):
                    slope += inverse[i, j] * middle[j]
                slope *= equations.unit[chosen[i]]
                start -= slope * equations.centre[chosen[i]]
                subtract(-slope, columns[chosen[i]], out[subset, target])
            for row in range(out.shape[2]):
                out[subset, target, row] += start
