"""From the samples of one leaf to [L, U]: one function a family, compiled into the loop.

A *rate* is an exploration level beta(N, delta) with the half-width sqrt(beta / 2N) of the paper; its
intervals are neither clipped nor intersected. A *bound* returns an interval that holds at all times
at once with probability 1 - (the leaf's share of delta), may keep its own numbers of each leaf, and
is clipped to [0, 1] and never widens.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import e, log, sqrt

from bestleaf._compile import Compiled, is_ours


class Rate:
    """An exploration rate usable as ``bound=``, from a function ``(count, delta, leaves) -> level``.

    `leaves` is the current number of leaves that are not exact. Set ``uses_leaves=False`` if the level
    does not depend on it: then nothing has to be recomputed when the graph grows.
    """

    def __init__(self, function: Callable, *, uses_leaves: bool = True) -> None:
        if not callable(function):
            raise TypeError(f"Rate must be made from a function, got {function!r}")
        self.name = function.__name__
        self.uses_leaves = uses_leaves
        self.part = Compiled(function, "rate", cached=is_ours(function))
        self.__doc__ = function.__doc__

    def __repr__(self) -> str:
        return f"Rate({self.name})"


def keep_nothing(row, value, count):
    """Update of a bound that needs no numbers of its own."""


class Bound:
    """A time-uniform interval usable as ``bound=``, from ``(mean, count, delta, row) -> (lower, upper)``.

    Parameters
    ----------
    function
        `delta` is the leaf's own share of the error probability; `row` holds the bound's own numbers.
    width
        How many numbers `row` has, zero at first.
    observe
        ``(row, value, count)``, called after each sample to update `row`; `count` includes the sample.
    """

    def __init__(self, function: Callable, *, width: int = 0, observe: Callable = keep_nothing) -> None:
        if not callable(function):
            raise TypeError(f"Bound must be made from a function, got {function!r}")
        if observe is not keep_nothing and width < 1:
            raise ValueError(f"width must be at least 1 for a bound that observes, got {width}")
        self.name = function.__name__
        self.width = width
        self.part = Compiled(function, "interval", cached=is_ours(function))
        self.observe = Compiled(observe, "observe", cached=is_ours(observe))
        self.__doc__ = function.__doc__

    def __repr__(self) -> str:
        return f"Bound({self.name})"


@Rate
def theory(count, delta, leaves):
    """ln(n/d) + 3 ln ln(n/d) + 1.5 ln(ln N + 1): the paper's theorems, leaves fixed in advance."""
    crowd = log(leaves / delta)
    return crowd + 3.0 * log(crowd) + 1.5 * log(log(count) + 1.0)


@Rate
def beta1(count, delta, leaves):
    """ln(n/d) + ln(ln N + 1): the rate of the paper's tables, as written."""
    return log(leaves / delta) + log(log(count) + 1.0)


@Rate
def beta1_published(count, delta, leaves):
    """(ln n)/d + ln(ln N + 1): what the published program computes; only for reproducing the tables."""
    return log(leaves) / delta + log(log(count) + 1.0)


@partial(Rate, uses_leaves=False)
def beta2(count, delta, leaves):
    """ln(ln(eN)/d): the empirical rate, without a union over the leaves and without proof."""
    return log(log(e * count) / delta)


@Bound
def hoeffding(mean, count, delta, row):
    """Stitched sub-Gaussian boundary, two-sided (Howard et al. 2021): rigorous under growth."""
    half = 1.7 * sqrt((log(log(2.0 * count)) + 0.72 * log(10.4 / delta)) / (4.0 * count))
    return mean - half, mean + half


BOUNDS: dict[str, Rate | Bound] = {b.name: b for b in (theory, beta1, beta1_published, beta2, hoeffding)}


def named_bound(given: str | Rate | Bound) -> Rate | Bound:
    """Return the rate or bound of that name, or the user's own."""
    if isinstance(given, Rate | Bound):
        return given
    found = BOUNDS.get(str(given))
    if found is None:
        raise ValueError(f"bound must be one of {', '.join(BOUNDS)}, a Rate or a Bound, got {given!r}")
    return found
