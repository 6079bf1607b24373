"""The best subset of features for least squares, among all subsets, with a proof: leaps and bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bestleaf.certificate.linear import (
    CRITERIA,
    HIGHER_IS_BETTER,
    MOST_INFLATED,
    Moments,
    criterion_value,
    error_of,
    growth,
    moments,
)
from bestleaf.certificate.linear_record import FORMAT, FORMAT_VERSION, LinearCertificate
from bestleaf.certificate.same_data import fingerprint
from bestleaf.checks import function_or_none, listed, number, one_of, shown, whole
from bestleaf.features.data import checked_data
from bestleaf.features.kernels import leaps
from bestleaf.search.budget import Budget, deferred_interrupt

MOST_FEATURES = 62  # a subset is kept as bits of a whole number
SLICE = 300_000  # subsets that are looked at between two looks at the clock


class OfSize(NamedTuple):
    """The best subset of one size.

    It has the numbers of its features, the share of the sum of squares about the mean that its fit leaves, and its
    value of the criterion.
    """

    size: int
    features: tuple[int, ...]
    error: float
    value: float

    @property
    def r2(self) -> float:
        """R² on the rows of the fit."""
        return 1.0 - self.error


class LeapProgress(NamedTuple):
    """How far a search has come: seconds, subsets looked at, and the best value of the criterion so far."""

    seconds: float
    looked_at: int
    value: float


@dataclass(frozen=True)
class LinearSubsets:
    """What `best_linear_subset` found.

    Attributes
    ----------
    features, names : tuple
        Numbers and names of the features of the best subset.
    criterion, value : str, float
        The criterion and its value for the best subset.
    by_size : tuple of OfSize
        The best subset of each size or, with ``every_size=False``, the best one only.
    proved : bool
        Whether no other subset is better; false if the search ended early.
    bound : float
        No subset has a better value than this one; the value itself if it is proved.
    reason : str
        Why the search ended: ``"proved"``, ``"max_time"`` or ``"interrupted"``.
    looked_at : int
        Subsets that were looked at; all others cannot be better.
    seconds : float
        Time taken.
    certificate : LinearCertificate
        All of this, to save and to verify.
    """

    features: tuple[int, ...]
    names: tuple[str, ...]
    criterion: str
    value: float
    by_size: tuple[OfSize, ...]
    proved: bool
    bound: float
    reason: str
    looked_at: int
    seconds: float
    certificate: LinearCertificate

    def __str__(self) -> str:
        return str(self.certificate)


def best_linear_subset(
    X: ArrayLike,
    y: ArrayLike,
    *,
    criterion: str = "bic",
    every_size: bool = True,
    forced: Iterable[int] = (),
    forbidden: Iterable[int] = (),
    max_features: int | None = None,
    max_time: float | None = None,
    callback: Callable[[LeapProgress], object] | None = None,
) -> LinearSubsets:
    """Return the best of all subsets of features for least squares with an intercept, with a proof.

    A subset fits no better than a larger one that contains it, so most subsets need no look. Ctrl-C ends the
    search early; what is returned then says that it is not proved.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Finite numbers, more rows than features, no column that is constant or a sum of others.
    y : array of shape (n_samples,)
        Real targets.
    criterion : {"bic", "aic", "adjusted_r2", "r2"}, default="bic"
        What a subset is judged by, on the rows that it is fitted on. AIC and BIC are those of normal errors.
    every_size : bool, default=True
        Also find the best subset of each size. Without it the search takes less time.
    forced, forbidden : iterable of int
        Features that every subset has, and features that no subset has.
    max_features : int, default=None
        Largest size of a subset; None for no limit.
    max_time : float, default=None
        Seconds after which the best so far is returned; None for no limit.
    callback : callable, default=None
        Gets a `LeapProgress` now and then.

    Returns
    -------
    LinearSubsets
        The best subset, the best of each size, and a certificate.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(50, 6))
    >>> best_linear_subset(X, X[:, 1] - X[:, 4] + 0.1 * X[:, 0] ** 2).features
    (1, 4)
    """
    one_of("criterion", criterion, CRITERIA)
    if not isinstance(every_size, bool):
        raise TypeError(f"every_size must be True or False, got {shown(every_size)}")
    if max_time is not None:
        number("max_time", max_time, "a number of seconds of at least 0", 0.0, np.inf)
    function_or_none("callback", callback)
    names = [str(name) for name in getattr(X, "columns", [])]
    data = checked_data(X).astype(np.float64)
    names = names or [f"x{column}" for column in range(data.shape[1])]
    target = _checked_target(y, len(data))
    allowed, fixed, most = _checked_choice(data.shape[1], forced, forbidden, max_features)
    known = _checked_moments(data, target, allowed, names)
    with deferred_interrupt() as interrupted:
        budget = Budget(max_time=max_time)
        budget.listen(interrupted)
        search = _Leaps(known, [allowed.index(feature) for feature in fixed], most, criterion, every_size=every_size)
        reason = search.run(budget, callback)
        budget.look()
    found = [_valued(data, target, known, criterion, [allowed[place] for place in one]) for one in search.subsets()]
    sign = 1.0 if criterion in HIGHER_IS_BETTER else -1.0
    best = max(found, key=lambda one: sign * one.value)
    proved = reason == "proved"
    bound = best.value if proved else sign * max(sign * best.value, sign * search.bound())
    certificate = LinearCertificate(
        {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "criterion": criterion,
            "every_size": every_size,
            "proved": proved,
            "reason": reason,
            "rows": known.rows,
            "names": names,
            "fingerprint": fingerprint(data, target),
            "allowed": allowed,
            "forced": fixed,
            "max_features": most,
            "sizes": [[one.size, list(one.features), one.error, one.value] for one in found],
            "answer": list(best.features),
            "value": best.value,
            "bound": bound,
            "looked_at": search.looked_at,
            "seconds": budget.seconds,
        }
    )
    chosen = tuple(names[feature] for feature in best.features)
    answer = best.features, chosen, criterion, best.value, tuple(found)
    return LinearSubsets(*answer, proved, bound, reason, search.looked_at, budget.seconds, certificate)


def _valued(X: np.ndarray, y: np.ndarray, known: Moments, criterion: str, features: list[int]) -> OfSize:
    """Return a subset with its error, computed from the data, and its value."""
    error, size = error_of(X, y, features), len(features)
    return OfSize(size, tuple(features), error, criterion_value(criterion, error, size, known.rows, known.total))


class _Leaps:
    """The state of a search by leaps and bounds; features are numbered from 0 among those that may be chosen."""

    def __init__(self, known: Moments, forced: list[int], most: int, criterion: str, *, every_size: bool) -> None:
        many = len(known.target)
        self.known, self.criterion, self.together = known, criterion, not every_size
        self.growth = growth(criterion, known.rows, np.arange(many + 1))
        self.found = np.zeros(many + 1, np.uint64)
        self.best = np.full(many + 1, -np.inf)
        self.best[len(forced) : most + 1] = np.inf
        self.reach = np.full(many + 2, -np.inf)
        self.counters = np.zeros(4, np.int64)
        self.sizes = range(len(forced), most + 1)
        for subset in first_subsets(known, forced):
            self._take(subset)
        self.stack = self._planted(forced)

    def _take(self, subset: list[int]) -> None:
        """Note a subset, if it is better than those known."""
        size, error = len(subset), _error(self.known, subset)
        if error < self.best[size]:
            settings = self.together, self.known.margins, self.growth, self.best, self.reach
            leaps.note(size, error, *settings)
            self.found[size] = sum(1 << place for place in subset)
            self.counters[leaps.CHOSEN] = size

    def _planted(self, forced: list[int]) -> tuple[np.ndarray, ...]:
        """Return the stack with its first node: all features, of which all but the forced ones may be dropped."""
        many = len(self.known.target)
        inverse = np.linalg.inv(self.known.between)
        slopes = inverse @ self.known.target
        steps = slopes**2 / np.diag(inverse)
        free = [place for place in np.argsort(-steps, kind="stable").tolist() if place not in forced]
        depth, left = len(free) + 1, len(free)
        nodes, masks, errors = np.zeros((depth, 3), np.int64), np.zeros(depth, np.uint64), np.zeros(depth)
        by_feature = np.zeros((depth, left)), np.zeros((depth, left), np.int64), np.zeros((depth, left))
        blocks = np.zeros((depth, left, left))
        nodes[0], masks[0] = (len(forced), left, left - 1), (1 << many) - 1
        errors[0] = 1.0 - self.known.target @ slopes
        for array, value in zip(by_feature, (steps[free], free, slopes[free]), strict=True):
            array[0] = value
        blocks[0] = inverse[np.ix_(free, free)]
        return nodes, masks, errors, *by_feature, blocks

    def run(self, budget: Budget, callback: Callable[[LeapProgress], object] | None) -> str:
        """Search until it is proved that no subset is better, or until the budget is spent; return why it ended."""
        left = self.stack[-1].shape[1]
        scratch = np.zeros(left, np.int64), np.zeros(left)
        settings = self.together, self.known.margins, self.growth, self.best, self.reach, self.found, self.counters
        while not leaps.leap(SLICE, *settings, self.stack, scratch):
            if callback is not None:
                budget.look()
                callback(LeapProgress(budget.seconds, self.looked_at, self._value(self._product())))
            if (reason := budget.spent()) is not None:
                return reason
        return "proved"

    @property
    def looked_at(self) -> int:
        """Subsets that were looked at."""
        return int(self.counters[leaps.VISITED])

    def subsets(self) -> list[list[int]]:
        """Return the best subset of each size; if all sizes compete, the best one only."""
        known = [size for size in self.sizes if np.isfinite(self.best[size])]
        sizes = [int(self.counters[leaps.CHOSEN])] if self.together else known
        places = range(len(self.known.target))
        return [[place for place in places if int(self.found[size]) >> place & 1] for size in sizes]

    def _product(self) -> float:
        """Return the smallest product of error and growth so far."""
        return float((self.best * self.growth)[self.sizes].min())

    def _value(self, product: float) -> float:
        """Return the value of the criterion that a product of error and growth stands for."""
        return criterion_value(self.criterion, product / self.growth[0], 0, self.known.rows, self.known.total)

    def bound(self) -> float:
        """Return a value of the criterion that no subset can be better than, also none that was not looked at."""
        nodes, _, errors, steps = self.stack[:4]
        least = self._product()
        for depth in range(int(self.counters[leaps.DEPTH]) + 1):
            fixed, _, child = nodes[depth]
            for place in range(child + 1):
                size = max(fixed + place, self.sizes[0])
                least = min(least, (errors[depth] + steps[depth, place]) * self.growth[size])
        share, rounding = self.known.margins
        return self._value(max(least * (1.0 - share) - rounding * float(self.growth[-1]), np.finfo(float).tiny))


def first_subsets(known: Moments, forced: list[int]) -> list[list[int]]:
    """Return a good subset of each size: all features, then dropping one after the other and exchanging features.

    The better they are, the less has to be looked at; the result does not depend on them.
    """
    current, found = list(range(len(known.target))), list[list[int]]()
    while True:
        current = _exchanged(known, current, forced)
        found.append(sorted(current))
        if len(current) == len(forced):
            return found
        inverse = np.linalg.inv(known.between[np.ix_(current, current)])
        steps = (inverse @ known.target[current]) ** 2 / np.diag(inverse)
        steps[[place for place, one in enumerate(current) if one in forced]] = np.inf
        del current[int(steps.argmin())]


def _error(known: Moments, subset: list[int]) -> float:
    """Return the error of a subset."""
    target = known.target[subset]
    return 1.0 - float(target @ np.linalg.solve(known.between[np.ix_(subset, subset)], target)) if subset else 1.0


def _exchanged(known: Moments, subset: list[int], forced: list[int]) -> list[int]:
    """Exchange one feature for another as long as that reduces the error."""
    current = list(subset)
    while True:
        others = [one for one in range(len(known.target)) if one not in current]
        leaving = [place for place, one in enumerate(current) if one not in forced]
        if not others or not leaving:
            return current
        inverse = np.linalg.inv(known.between[np.ix_(current, current)])
        across = known.between[np.ix_(current, others)]
        weights, slopes = inverse @ across, inverse @ known.target[current]
        room = 1.0 - np.einsum("ij,ij->j", across, weights)
        cross = known.target[others] - known.target[current] @ weights
        pivots = np.diag(inverse)[:, None]
        losses = slopes[:, None] ** 2 / pivots  # by dropping each feature
        gains = (cross + slopes[:, None] / pivots * weights) ** 2 / (room + weights**2 / pivots)  # by adding each other
        change = (losses - gains)[leaving]
        if not change.min() < -1e-9 * _error(known, current):
            return current
        gone, came = np.unravel_index(change.argmin(), change.shape)
        current[leaving[int(gone)]] = others[int(came)]


def _checked_target(y: ArrayLike, rows: int) -> np.ndarray:
    try:
        target = np.asarray(y, np.float64)
    except (TypeError, ValueError):
        raise ValueError("y must hold numbers, got something else") from None
    if target.shape != (rows,):
        raise ValueError(f"y must have one value for each of the {rows} rows, got shape {target.shape}")
    if not np.isfinite(target).all():
        raise ValueError("y must not have missing or infinite values")
    if np.ptp(target) == 0:
        raise ValueError(f"y must have at least two different values, got only {target[0]:g}")
    return target


def _checked_choice(
    many: int, forced: Iterable[int], forbidden: Iterable[int], max_features: int | None
) -> tuple[list[int], list[int], int]:
    """Return the features that may be chosen, those that must be, and the largest size."""
    given = {"forced": list(forced), "forbidden": list(forbidden)}
    for name, features in given.items():
        for one in features:
            if isinstance(one, bool) or one not in range(many):
                raise ValueError(f"{name} must hold numbers of features from 0 to {many - 1}, got {shown(one)}")
    fixed = sorted({int(one) for one in given["forced"]})
    banned = {int(one) for one in given["forbidden"]}
    if both := sorted(banned & set(fixed)):
        raise ValueError(f"forced and forbidden must not have features in common, got {listed(both)} in both")
    allowed = [one for one in range(many) if one not in banned]
    if not 0 < len(allowed) <= MOST_FEATURES:
        raise ValueError(f"X must have 1 to {MOST_FEATURES} features that may be chosen, got {len(allowed)}")
    most = len(allowed) if max_features is None else min(whole("max_features", max_features, 1), len(allowed))
    if most < len(fixed):
        raise ValueError(f"max_features must be at least the number of forced features, {len(fixed)}, got {most}")
    return allowed, fixed, most


def _checked_moments(X: np.ndarray, y: np.ndarray, allowed: list[int], names: list[str]) -> Moments:
    """Return what least squares need of the data; refuse data on which they are not determined."""
    if len(X) < len(allowed) + 2:
        raise ValueError(f"X must have at least {len(allowed) + 2} rows for {len(allowed)} features, got {len(X)}")
    spread = X[:, allowed].std(axis=0)
    size = np.abs(X[:, allowed]).max(axis=0)
    if still := [names[allowed[place]] for place in np.flatnonzero(spread <= 1e-10 * size)]:
        raise ValueError(f"X must not have columns that are constant or nearly so, got {listed(still)}; forbid them")
    known = moments(X[:, allowed], y)
    if not known.inflation <= MOST_INFLATED:
        _, vectors = np.linalg.eigh(known.between)
        part = np.flatnonzero(np.abs(vectors[:, 0]) > 0.05)
        alike = listed(names[allowed[place]] for place in part)
        raise ValueError(f"X must not have columns that are nearly sums of others, got {alike}; forbid one of them")
    return known
