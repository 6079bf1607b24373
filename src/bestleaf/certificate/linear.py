"""Criteria for least squares on subsets of features.

Errors are sums of squared errors as shares of that of the mean, so they lie between 0 and 1. Every criterion here gets
better or worse with ``error * growth(size)``, where the growth is larger for larger sizes.
"""

from __future__ import annotations

from math import log, pi
from typing import NamedTuple

import numpy as np

CRITERIA = ("r2", "adjusted_r2", "aic", "bic")
HIGHER_IS_BETTER = ("r2", "adjusted_r2")
MARGIN = 1e-9  # share of an error by which another subset may be better unnoticed
ROUNDING = 64 * 2.0**-52  # the same as a share of the error of the mean, for each feature and each inflated deviation
MOST_INFLATED = 1e7  # largest sum of variance inflation factors; beyond it columns are nearly sums of others


class Moments(NamedTuple):
    """All that least squares need of the data: a QR decomposition of the centred columns, scaled to length one.

    Products of columns would do, too, but they lose twice as many digits where columns are alike.
    """

    factor: np.ndarray  # R, [features, features]
    side: np.ndarray  # Q'y, where y is centred and scaled to length one
    rest: float  # error of all features together
    inverse: np.ndarray  # of R; the squared length of a row is the variance inflation factor of the feature
    total: float  # sum of squares of the target about its mean
    rows: int

    @property
    def inflation(self) -> float:
        """The sum of the variance inflation factors."""
        return float((self.inverse**2).sum())

    @property
    def margins(self) -> tuple[float, float]:
        """By how much another error may be smaller unnoticed: a share of itself, and a share of that of the mean."""
        return MARGIN, ROUNDING * max(1, len(self.side)) * float(np.sqrt(self.inflation))

    def error(self, subset: list[int]) -> float:
        """Return the error of a subset."""
        q, _ = np.linalg.qr(self.factor[:, subset])
        left = self.side - q @ (q.T @ self.side)
        return self.rest + float(left @ left)


def moments(X: np.ndarray, y: np.ndarray) -> Moments:
    """Return what least squares with an intercept need of the data."""
    columns, target = X - X.mean(axis=0), y - y.mean()
    total = float(target @ target)
    q, factor = np.linalg.qr(columns / np.sqrt((columns**2).sum(axis=0)))
    scaled = target / np.sqrt(total)
    side = q.T @ scaled
    left = scaled - q @ side
    return Moments(factor, side, float(left @ left), _inverse(factor), total, len(X))


def _inverse(factor: np.ndarray) -> np.ndarray:
    """Return the inverse of an upper triangular matrix, computed with more digits than it has; infinite if singular."""
    many = len(factor)
    if (np.diag(factor) == 0).any():
        return np.full((many, many), np.inf)
    long, inverse = factor.astype(np.longdouble), np.zeros((many, many), np.longdouble)
    for row in reversed(range(many)):
        inverse[row, row] = 1
        inverse[row] -= long[row, row + 1 :] @ inverse[row + 1 :]
        inverse[row] /= long[row, row]
    return inverse.astype(np.float64)


def growth(criterion: str, rows: int, sizes: np.ndarray) -> np.ndarray:
    """Return the factors by which errors of subsets of these sizes are multiplied before they are compared."""
    if criterion == "r2":
        return np.ones(len(sizes))
    if criterion == "adjusted_r2":
        return 1.0 / (rows - 1.0 - sizes)
    return np.exp(sizes * (2.0 if criterion == "aic" else log(rows)) / rows)


def criterion_value(criterion: str, error: float, size: int, rows: int, total: float) -> float:
    """Return the criterion of a subset; AIC and BIC are those of normal errors, the intercept counts as a parameter."""
    if criterion == "r2":
        return 1.0 - error
    if criterion == "adjusted_r2":
        return 1.0 - error * (rows - 1.0) / (rows - 1.0 - size)
    fit = rows * (log(2 * pi) + 1.0 + log(error * total / rows))
    return fit + (2.0 if criterion == "aic" else log(rows)) * (size + 1)


def error_of(X: np.ndarray, y: np.ndarray, subset: list[int]) -> float:
    """Return the share of the sum of squares that least squares on a subset leave, computed from the data."""
    target = y - y.mean()
    if not subset:
        return 1.0
    columns = X[:, subset] - X[:, subset].mean(axis=0)
    q, _ = np.linalg.qr(columns / np.sqrt((columns**2).sum(axis=0)))
    rest = target - q @ (q.T @ target)
    rest -= q @ (q.T @ rest)  # once more, so that rounding of the first pass is gone
    return float(rest @ rest / (target @ target))


def product_of(criterion: str, value: float, rows: int, total: float) -> float:
    """Return the error times growth that a value of a criterion stands for: the inverse of `criterion_value`."""
    if criterion == "r2":
        return 1.0 - value
    if criterion == "adjusted_r2":
        return (1.0 - value) / (rows - 1.0)
    penalty = 2.0 if criterion == "aic" else log(rows)
    return float(np.exp((value - penalty) / rows - log(2 * pi) - 1.0 - log(total / rows)))
