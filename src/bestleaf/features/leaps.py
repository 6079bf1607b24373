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
    moments,
)
from bestleaf.certificate.linear_record import FORMAT, FORMAT_VERSION, LinearCertificate
from bestleaf.certificate.same_data import fingerprint
from bestleaf.checks import function_or_none, listed, number, one_of, shown, whole
from bestleaf.features.data import checked_data
from bestleaf.features.leaps_search import LeapProgress, Leaps
from bestleaf.search.budget import Budget, deferred_interrupt

PERFECT = 1e-10  # an error so small is none; its logarithm is rounding
MOST_FEATURES = 62  # a subset is kept as bits of a whole number


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
    if criterion in ("aic", "bic") and error_of(data, target, allowed) < PERFECT:
        raise ValueError(f"criterion {criterion} needs errors, but all features together fit y perfectly; use r2")
    with deferred_interrupt() as interrupted:
        budget = Budget(max_time=max_time)
        budget.listen(interrupted)
        search = Leaps(known, [allowed.index(feature) for feature in fixed], most, criterion, every_size=every_size)
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
            "rounding": known.margins[1],
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
        direction = np.linalg.svd(known.factor)[2][-1]  # the sum of columns that is nearly 0
        part = np.flatnonzero(np.abs(direction) > 0.05)
        alike = listed(names[allowed[place]] for place in part)
        raise ValueError(f"X must not have columns that are nearly sums of others, got {alike}; forbid one of them")
    return known
