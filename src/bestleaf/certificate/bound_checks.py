"""Check that a bound follows from the samples of a leaf, with the formula of each bound written out again.

Evidence is what was known of a leaf when its bound was set: the number of samples, their sum, and the numbers that the
bound keeps. Each check asks first whether samples in [0, 1] can give these numbers, then whether the bound follows.
Nothing of the engine is imported; a test compares the constants with those of `bestleaf.engine.bounds`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import e, isclose, isfinite, log, sqrt

import numpy as np

from bestleaf.certificate.schema import CLOSE

Check = Callable[[str, float, float, list[float]], bool]

# `betting` spreads each sample over the nodes of GRID, and bets the fractions BETS of its capital.
_HALF_GRID = (0.0, 0.002, 0.004, 0.007, 0.011, 0.016, 0.023, 0.033, 0.047, 0.067, 0.095, 0.135, 0.19, 0.27, 0.37)
GRID = np.array([*_HALF_GRID, 0.5, *(1.0 - node for node in reversed(_HALF_GRID))])
BETS = np.array([0.01, 0.019, 0.036, 0.069, 0.13, 0.25, 0.47, 0.9])
HEAD = 3  # numbers of `betting` before the weights of the nodes
WEIGHTS = slice(2 + HEAD, 2 + HEAD + len(GRID))  # of the nodes, in the evidence


def _hoeffding(side: str, value: float, share: float, evidence: list[float]) -> bool:
    count, mean = evidence[0], evidence[1] / evidence[0]
    return _within(side, value, mean, 1.7 * sqrt((log(log(2 * count)) + 0.72 * log(10.4 / share)) / (4 * count)))


def _betting(side: str, value: float, share: float, evidence: list[float]) -> bool:
    """Check that the capital of the bets against `value` has reached the threshold.

    Then the capital against every value beyond it has reached the threshold, too.
    """
    count, total, weights = evidence[0], evidence[1], np.array(evidence[WEIGHTS])
    if not 0 < value < 1 or (value > total / count) == (side == "lower"):
        return False
    if not ((weights >= 0).all() and _near(weights.sum(), count) and _near(weights @ GRID, total)):
        return False
    gains = (GRID / value if side == "lower" else (1 - GRID) / (1 - value)) - 1
    wealth = np.log1p(np.outer(BETS, gains)) @ weights
    capital = wealth.max() + log(np.exp(wealth - wealth.max()).mean())
    return capital >= log(2 / share) - CLOSE * max(1.0, count)


def _within(side: str, value: float, mean: float, half: float) -> bool:
    return value <= mean - half + CLOSE if side == "lower" else value >= mean + half - CLOSE


def _near(one: float, other: float) -> bool:
    return isclose(one, other, rel_tol=CLOSE, abs_tol=CLOSE)


CHECKS: dict[str, Check] = {"hoeffding": _hoeffding, "betting": _betting}
WIDTHS = {"hoeffding": 0, "betting": HEAD + len(GRID) + len(BETS)}

RATES: dict[str, Callable[[float, float, int], float]] = {
    "theory": lambda count, delta, leaves: (
        log(leaves / delta) + 3 * log(log(leaves / delta)) + 1.5 * log(log(count) + 1)
    ),
    "beta1": lambda count, delta, leaves: log(leaves / delta) + log(log(count) + 1),
    "beta1_published": lambda count, delta, leaves: log(leaves) / delta + log(log(count) + 1),
    "beta2": lambda count, delta, leaves: log(log(e * count) / delta),
}


def rate_gives(rate: str, side: str, value: float, delta: float, leaves: int, count: float, total: float) -> bool:
    """Whether a bound is the one that a rate gives, or a weaker one."""
    return _within(side, value, total / count, sqrt(RATES[rate](count, delta, leaves) / (2 * count)))


def of_one_leaf(bound: str, looks: list[list[float]]) -> bool:
    """Whether pieces of evidence can come from one leaf at different times: samples are only added."""
    rising = WEIGHTS if bound == "betting" else slice(0, 0)  # sums, which never go down
    for early, late in pairwise(sorted(looks, key=lambda look: look[0])):
        slack = CLOSE * max(1.0, late[0])
        fresh = [new - old for old, new in zip([early[1], *early[rising]], [late[1], *late[rising]], strict=False)]
        if min(fresh) < -slack or max(fresh) > late[0] - early[0] + slack:
            return False
    return True


def is_evidence(bound: str, evidence: list[float], count: int) -> bool:
    """Whether a list holds the number of samples, their sum, and as many finite numbers as the bound keeps."""
    if not (set(map(type, evidence)) <= {int, float} and all(map(isfinite, evidence)) and len(evidence) >= 2):
        return False
    wide = len(evidence) - 2 == WIDTHS.get(bound, len(evidence) - 2)
    return wide and 1 <= evidence[0] <= count and evidence[0] % 1 == 0 and 0 <= evidence[1] <= evidence[0] + CLOSE
