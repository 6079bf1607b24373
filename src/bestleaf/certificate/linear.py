"""Criteria for least squares on subsets of features, and a proof that no subset is better, in numpy alone.

Errors are sums of squared errors as shares of that of the mean, so they lie between 0 and 1. Every criterion here gets
better or worse with ``error * growth(size)``, where the growth is larger for larger sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import log, pi
from typing import NamedTuple

import numpy as np

CRITERIA = ("r2", "adjusted_r2", "aic", "bic")
HIGHER_IS_BETTER = ("r2", "adjusted_r2")
MARGIN = 1e-9  # share of an error by which another subset may be better unnoticed
ROUNDING = 16 * 2.0**-52  # the same as a share of the error of the mean, for each variance inflation factor
MOST_INFLATED = 1e7  # largest sum of variance inflation factors; beyond it columns are nearly sums of others
AT_ONCE = 2_000_000  # numbers of the matrices that are inverted at a time


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


class Level(NamedTuple):
    """Sets of features of one size: the first `fixed` features of each stay, the others may be dropped."""

    sets: np.ndarray  # [sets, size]
    fixed: np.ndarray


def nothing_better(
    known: Moments, forced: list[int], thresholds: np.ndarray, over: Callable[[], bool] = bool
) -> tuple[bool, int]:
    """Return whether no subset of any size has an error below its threshold, and how many sets were looked at.

    ``thresholds[size]`` is the error that a subset of this size would have to beat; minus infinity where none counts.
    The sets are looked at level by level, from all features down. Of every set, the errors after dropping one feature
    follow from the inverse of its correlations, which is computed anew. What is dropped in a set that cannot reach any
    threshold needs no look. If `over` says that time is over, nothing is shown.
    """
    features = len(known.target)
    free = [one for one in range(features) if one not in forced]
    level = Level(np.array([[*forced, *free]], np.int64), np.array([len(forced)]))
    reach = np.maximum.accumulate(thresholds[::-1])[::-1]
    looked = 0
    full = 1.0 - float(known.target @ np.linalg.solve(known.between, known.target)) if features else 1.0
    if full < thresholds[features]:
        return False, 1
    for size in range(features, len(forced), -1):
        next_sets: list[Level] = []
        for part in _parts(level, size):
            if over():
                return False, looked
            looked += len(part.sets)
            children, better = _dropped(known, part, size, thresholds[size - 1], reach)
            if better:
                return False, looked
            next_sets.append(children)
        level = Level(np.concatenate([one.sets for one in next_sets]), np.concatenate([one.fixed for one in next_sets]))
        if not len(level.sets):
            break
    return True, looked


def _parts(level: Level, size: int) -> Iterator[Level]:
    many = max(1, AT_ONCE // size**2)
    for start in range(0, len(level.sets), many):
        yield Level(level.sets[start : start + many], level.fixed[start : start + many])


def _dropped(known: Moments, level: Level, size: int, threshold: float, reach: np.ndarray) -> tuple[Level, bool]:
    """Return the sets with one feature less that have to be looked at, and whether one beats the threshold."""
    sets, fixed = level
    target = known.target[sets]
    inverse = np.linalg.inv(known.between[sets[:, :, None], sets[:, None, :]])
    slopes = np.einsum("sij,sj->si", inverse, target)
    errors = 1.0 - np.einsum("si,si->s", target, slopes)
    after = errors[:, None] + slopes**2 / np.einsum("sii->si", inverse)
    droppable = np.arange(size) >= fixed[:, None]
    after[~droppable] = np.inf
    if (after < threshold).any():
        return Level(sets[:0, 1:], fixed[:0]), True
    order = np.argsort(np.where(droppable, -after, -np.inf), axis=1, kind="stable")  # fixed ones stay in front
    sets, after = np.take_along_axis(sets, order, 1), np.take_along_axis(after, order, 1)
    place = np.arange(size)
    smallest = np.broadcast_to(place, after.shape)  # what stays if all that may be dropped is dropped
    open_ones = droppable & (place < size - 1) & (after < reach[smallest])
    which, child = np.nonzero(open_ones)
    kept = np.argsort(place[None, :] == child[:, None], axis=1, kind="stable")[:, : size - 1]
    return Level(np.take_along_axis(sets[which], kept, 1), child), False


def product_of(criterion: str, value: float, rows: int, total: float) -> float:
    """Return the error times growth that a value of a criterion stands for: the inverse of `criterion_value`."""
    if criterion == "r2":
        return 1.0 - value
    if criterion == "adjusted_r2":
        return (1.0 - value) / (rows - 1.0)
    penalty = 2.0 if criterion == "aic" else log(rows)
    return float(np.exp((value - penalty) / rows - log(2 * pi) - 1.0 - log(total / rows)))
