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
ROUNDING = 16 * 2.0**-52  # the same as a share of the error of the mean, for each variance inflation factor
MOST_INFLATED = 1e7  # largest sum of variance inflation factors; beyond it columns are nearly sums of others


class Moments(NamedTuple):
    """All that least squares need of the data: correlations, and the sum of squares of the target about its mean."""

    between: np.ndarray  # [features, features]
    target: np.ndarray  # [features]: correlations with the target
    total: float
    rows: int
    inflation: float  # sum of the variance inflation factors

    @property
    def margins(self) -> tuple[float, float]:
        """By how much another error may be smaller unnoticed: a share of itself, and a share of that of the mean."""
        return MARGIN, ROUNDING * self.inflation


def moments(X: np.ndarray, y: np.ndarray) -> Moments:
    """Return what least squares with an intercept need of the data."""
    columns, target = X - X.mean(axis=0), y - y.mean()
    lengths, total = np.sqrt((columns**2).sum(axis=0)), float(target @ target)
    columns = columns / lengths
    between = columns.T @ columns
    try:
        inflation = float(np.trace(np.linalg.inv(between))) if len(between) else 1.0
    except np.linalg.LinAlgError:
        inflation = np.inf
    return Moments(between, columns.T @ target / np.sqrt(total), total, len(X), inflation)


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
