"""Whether a bound follows from the samples of a leaf: the formula of each family, written out again.

Evidence is what was known of a leaf when a bound of it was set: the number of samples, their sum, and the bound's own
numbers. Each check first asks whether any samples in [0, 1] could have given these numbers, then whether the bound
follows. Nothing of the engine is imported; a test compares the constants with those of `bestleaf.bounds`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import e, isfinite, lgamma, log, sqrt
from typing import Any

import numpy as np

from bestleaf.certificate.refusal import CLOSE, near

Check = Callable[[str, float, float, list[float]], bool]

# The nodes over which `betting` spreads samples, and the shares of the capital that it bets.
_HALF_GRID = (0.0, 0.002, 0.004, 0.007, 0.011, 0.016, 0.023, 0.033, 0.047, 0.067, 0.095, 0.135, 0.19, 0.27, 0.37)
GRID = np.array([*_HALF_GRID, 0.5, *(1.0 - node for node in reversed(_HALF_GRID))])
BETS = np.array([0.01, 0.019, 0.036, 0.069, 0.13, 0.25, 0.47, 0.9])
HEAD = 3  # numbers of `betting` before the weights of the nodes
LARGEST_BET = 0.5  # of `bernstein`


def _hoeffding(side: str, value: float, share: float, evidence: list[float]) -> bool:
    count, mean = evidence[0], evidence[1] / evidence[0]
    half = 1.7 * sqrt((log(log(2 * count)) + 0.72 * log(10.4 / share)) / (4 * count))
    return _justified(side, value, mean - half, mean + half)


def _bernstein(side: str, value: float, share: float, evidence: list[float]) -> bool:
    bets, gains, spread = evidence[3:6]
    level = log(2 / share)
    if not _samples_give(evidence, level):
        return False
    half = (level + spread) / bets
    return _justified(side, value, gains / bets - half, gains / bets + half)


def _samples_give(evidence: list[float], level: float) -> bool:
    """Whether any samples in [0, 1] have the sums that `bernstein` keeps.

    A bet is at most 1/2 and never rises; it is at least what it would be had all squares been there from the start.
    `squares` adds (v_i - m_i)^2, with m_i the mean of v_1, ..., v_i and one sample 1/2 more: that is at least half of
    the sum of squares about the last mean, and at most all of it. `spread` adds (v_i - m_(i-1))^2 = ((i + 1) / i)^2
    (v_i - m_i)^2, weighted by -log(1 - bet) - bet.
    """
    count, total, last, bets, gains, spread, added, squares = evidence
    slack = CLOSE * max(1.0, count)
    misses, least = count - total, _bet(count, squares, level)
    about = 0.25 - (total + 0.5) ** 2 / (count + 1)  # less the squares of the samples: about their last mean
    return (
        near(added, total)
        and 0 <= last <= 1
        and _least_bets(count, squares, level) - slack <= bets <= LARGEST_BET * count + slack
        and least * total - slack <= gains <= min(LARGEST_BET * total, bets - least * misses) + slack
        and bets - gains <= LARGEST_BET * misses + slack
        and 0.5 * (total**2 / count + about) - slack <= squares <= total + about + slack
        and _weight(least) * squares - slack <= spread <= 4 * _weight(LARGEST_BET) * squares + slack
    )


def _bet(place: float, squares: float, level: float) -> float:
    """Return the least that the bet at a place can be."""
    known = 0.25 + min(max(0.0, squares), place - 1)
    return min(LARGEST_BET, sqrt(2 * level / (known * log(1 + place))))


def _least_bets(count: float, squares: float, level: float) -> float:
    """Return the least that all bets together can be; places are taken in stretches, so that any count is quick."""
    total, start = 0.0, 1
    while start <= count:
        end = min(int(count), start + start // 4)
        total += (end - start + 1) * _bet(end, squares, level)
        start = end + 1
    return total


def _weight(bet: float) -> float:
    return -log(1 - bet) - bet


def _bernoulli(side: str, value: float, share: float, evidence: list[float]) -> bool:
    count, total = evidence[0], evidence[1]
    if not 0 < value < 1 or (value > total / count) == (side == "lower"):
        return False
    mixed = lgamma(1 + total) + lgamma(1 + count - total) - lgamma(2 + count)
    return mixed - total * log(value) - (count - total) * log(1 - value) >= log(1 / share) - CLOSE


def _betting(side: str, value: float, share: float, evidence: list[float]) -> bool:
    """Check that the capital of the bets against `value` has reached the threshold; then it has beyond it, too."""
    count, total = evidence[0], evidence[1]
    weights = _weights(evidence)
    spread_mean = float(weights @ GRID)
    if not (0 < value < 1 and (weights >= 0).all() and near(weights.sum(), count) and near(spread_mean, total)):
        return False
    if (value > total / count) == (side == "lower"):
        return False
    gains = (GRID / value if side == "lower" else (1 - GRID) / (1 - value)) - 1
    wealth = np.log1p(np.outer(BETS, gains)) @ weights
    capital = wealth.max() + log(np.exp(wealth - wealth.max()).mean())
    return capital >= log(2 / share) - CLOSE * max(1.0, count)


def _weights(evidence: Sequence[float]) -> np.ndarray:
    return np.array(evidence[2 + HEAD : 2 + HEAD + len(GRID)])


def _justified(side: str, value: float, lower: float, upper: float) -> bool:
    return value <= lower + CLOSE if side == "lower" else value >= upper - CLOSE


CHECKS: dict[str, Check] = {
    "hoeffding": _hoeffding,
    "bernstein": _bernstein,
    "bernoulli": _bernoulli,
    "betting": _betting,
}
WIDTHS = {"hoeffding": 0, "bernstein": 6, "bernoulli": 3, "betting": HEAD + len(GRID) + len(BETS)}
RISING = {"bernstein": slice(3, 8), "betting": slice(2 + HEAD, 2 + HEAD + len(GRID))}  # sums, which never go down

RATES: dict[str, Callable[[float, float, int], float]] = {
    "theory": lambda count, delta, leaves: (
        log(leaves / delta) + 3 * log(log(leaves / delta)) + 1.5 * log(log(count) + 1)
    ),
    "beta1": lambda count, delta, leaves: log(leaves / delta) + log(log(count) + 1),
    "beta1_published": lambda count, delta, leaves: log(leaves) / delta + log(log(count) + 1),
    "beta2": lambda count, delta, leaves: log(log(e * count) / delta),
}


def rate_gives(rate: str, side: str, value: float, delta: float, leaves: int, count: float, total: float) -> bool:
    """Whether a bound is the one of a rate, or a weaker one."""
    half = sqrt(RATES[rate](count, delta, leaves) / (2 * count))
    mean = total / count
    return _justified(side, value, max(0.0, mean - half), min(1.0, mean + half))


def of_one_leaf(bound: str, looks: list[list[float]]) -> bool:
    """Whether evidence can be of one leaf at two or three times, the last of them now: samples are only added."""
    looks = sorted(looks, key=lambda look: look[0])
    rising = RISING.get(bound, slice(0, 0))
    for early, late in pairwise(looks):
        more, added, slack = late[0] - early[0], late[1] - early[1], CLOSE * max(1.0, late[0])
        if not -slack <= added <= more + slack:
            return False
        fresh = [new - old for old, new in zip(early[rising], late[rising], strict=False)]
        if any(not -slack <= one <= more + slack for one in fresh):
            return False
    return True


def is_evidence(bound: str, evidence: Any, count: int) -> bool:
    """Whether a list holds a number of samples, their sum and finite numbers of the bound, as many as it has."""
    if not (isinstance(evidence, list) and len(evidence) >= 2):
        return False
    numbers = all(type(one) in (int, float) and isfinite(one) for one in evidence)
    if not numbers or len(evidence) - 2 != WIDTHS.get(bound, len(evidence) - 2):
        return False
    return 1 <= evidence[0] <= count and evidence[0] == int(evidence[0]) and 0 <= evidence[1] <= evidence[0] + CLOSE
