"""The confidence interval [L, U] of a leaf from its samples: one compiled function for each kind of interval.

A *rate* is the exploration rate beta(N, delta) of the paper; the half-width of the interval is sqrt(beta / 2N). These
intervals are not cut to [0, 1], and they may widen. A *bound* returns an interval that holds at all times at once with
probability 1 - (the leaf's share of delta). It may keep numbers of its own for each leaf. Its intervals are cut to
[0, 1] and never widen.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import e, exp, log, sqrt

import numpy as np

from bestleaf.checks import shown
from bestleaf.engine.compile import helper
from bestleaf.engine.parts import Part, compiled_part


class Rate(Part):
    """An exploration rate usable as ``bound=``, from a function ``(count, delta, leaves) -> level``.

    `leaves` is the current number of leaves without an exact value. Set ``uses_leaves=False`` if the level does not
    depend on it: then no interval has to be computed again when the graph grows.
    """

    def __init__(self, function: Callable, *, uses_leaves: bool = True) -> None:
        super().__init__(function)
        self.uses_leaves = uses_leaves
        self.part = compiled_part(function, "rate")


def keep_nothing(row, value, count):
    """Update of a bound that needs no numbers of its own."""


class Bound(Part):
    """A time-uniform interval usable as ``bound=``, from ``(mean, count, delta, row) -> (lower, upper)``.

    Parameters
    ----------
    function
        `delta` is the leaf's share of delta; `row` holds the bound's own numbers.
    width
        How many numbers `row` has, zero at first.
    observe
        ``(row, value, count)``, called after each sample to update `row`; `count` includes the sample.
    check
        ``(side, value, delta, evidence) -> bool``, plain Python: whether the bound `value` on the `side` "lower" or
        "upper" follows from its evidence, the list of count, total and the numbers of `row` when it was set. With it
        ``verify(certificate, bound=...)`` checks every interval; without it they are taken as written.
    """

    def __init__(
        self,
        function: Callable,
        *,
        width: int = 0,
        observe: Callable = keep_nothing,
        check: Callable[[str, float, float, list[float]], bool] | None = None,
    ) -> None:
        super().__init__(function)
        if observe is not keep_nothing and width < 1:
            raise ValueError(f"width must be at least 1 for a bound that observes, got {width}")
        if check is not None and not callable(check):
            raise TypeError(f"check must be a function of side, value, delta and evidence, got {shown(check)}")
        self.width = width
        self.check = check
        self.part = compiled_part(function, "interval")
        self.observe = compiled_part(observe, "observe")


@Rate
def theory(count, delta, leaves):
    """ln(n/d) + 3 ln ln(n/d) + 1.5 ln(ln N + 1): the paper's theorems, leaves fixed in advance."""
    union = log(leaves / delta)
    return union + 3.0 * log(union) + 1.5 * log(log(count) + 1.0)


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
    """Stitched sub-Gaussian boundary, two-sided (Howard et al. 2021): rigorous, also while the graph grows."""
    half = 1.7 * sqrt((log(log(2.0 * count)) + 0.72 * log(10.4 / delta)) / (4.0 * count))
    return mean - half, mean + half


@helper
def apart(lower, upper, least, most):
    """Return an interval inside [least, most], the last one; it is not empty even if the bound has failed."""
    lower = min(max(lower, least), most)
    return lower, max(min(upper, most), lower)


# The grid to which `betting` rounds samples: fine towards 0 and 1, where the means of bad and good leaves lie.
_HALF_GRID = (0.0, 0.002, 0.004, 0.007, 0.011, 0.016, 0.023, 0.033, 0.047, 0.067, 0.095, 0.135, 0.19, 0.27, 0.37)
GRID = np.array([*_HALF_GRID, 0.5, *(1.0 - node for node in reversed(_HALF_GRID))])
BETS = np.array([0.01, 0.019, 0.036, 0.069, 0.13, 0.25, 0.47, 0.9])  # bets, as fractions of the capital
HEAD = 3  # a row begins with: next count to compute at, lower, upper; then the weights of the grid, then scratch


def spread(row, value, count):
    """Split a sample between the two grid points around it, so that their weighted mean is the sample.

    The logarithm of what a bet gains is concave in the sample. So the capital computed from the grid is at most the
    true one.
    """
    place = 1
    while GRID[place] < value and place < len(GRID) - 1:
        place += 1
    part = (value - GRID[place - 1]) / (GRID[place] - GRID[place - 1])
    row[HEAD + place] += part
    row[HEAD + place - 1] += 1.0 - part


@helper
def log_capital(mean, row, mirrored):
    """Return the log of the mean capital of all bets that the true mean is below `mean` (above it, if mirrored)."""
    room = mean if mirrored else 1.0 - mean
    wealth = row[HEAD + len(GRID) :]
    for place in range(len(BETS)):
        wealth[place] = 0.0
    for node in range(len(GRID)):
        weight = row[HEAD + node]
        if weight > 0.0:
            gain = (GRID[node] if mirrored else 1.0 - GRID[node]) / room - 1.0
            for place in range(len(BETS)):
                wealth[place] += weight * log(1.0 + BETS[place] * gain)
    highest, total = wealth[0], 0.0
    for place in range(1, len(BETS)):
        highest = max(highest, wealth[place])
    for place in range(len(BETS)):
        total += exp(wealth[place] - highest)
    return highest + log(total / len(BETS))


@helper
def farthest(mean, before, threshold, row, mirrored):
    """Return a bound between `before` and the sample mean at which the capital still exceeds the threshold."""
    certain = before == (0.0 if mirrored else 1.0)  # the capital against an impossible mean is infinite
    if before == mean or (not certain and log_capital(before, row, mirrored) < threshold):
        return before
    rejected, kept = before, mean
    for _ in range(8):  # to 1/256 of the distance from the mean
        middle = 0.5 * (rejected + kept)
        if log_capital(middle, row, mirrored) < threshold:
            kept = middle
        else:
            rejected = middle
    return rejected


@partial(Bound, width=HEAD + len(GRID) + len(BETS), observe=spread)
def betting(mean, count, delta, row):
    """Capital of eight bets against every candidate mean (Waudby-Smith and Ramdas 2024): rigorous, also with growth."""
    if count == 1:
        row[1], row[2] = 0.0, 1.0
    if count >= row[0]:
        row[0] = count + 1 + count // 20  # computed again when the samples have grown by a twentieth
        threshold = log(2.0 / delta)
        least, most = row[1], row[2]
        for side in range(1, 3):
            row[side] = farthest(mean, row[side], threshold, row, side == 1)
        row[1], row[2] = apart(row[1], row[2], least, most)
    return row[1], row[2]


BOUNDS: dict[str, Rate | Bound] = {b.name: b for b in (theory, beta1, beta1_published, beta2, hoeffding, betting)}
RIGOROUS = (hoeffding, betting)


def named_bound(given: str | Rate | Bound) -> Rate | Bound:
    """Return the rate or bound of that name, or the user's own."""
    if isinstance(given, Rate | Bound):
        return given
    found = BOUNDS.get(str(given))
    if found is None:
        raise ValueError(f"bound must be one of {', '.join(BOUNDS)}, a Rate or a Bound, got {shown(given)}")
    return found
