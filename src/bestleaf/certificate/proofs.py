"""Whether a bound follows from the samples of a leaf: the formula of each rigorous family, written out again."""

from __future__ import annotations

from collections.abc import Callable
from math import lgamma, log, sqrt

import numpy as np

from bestleaf.bounds import BETS, GRID, HEAD
from bestleaf.certificate.compare import CLOSE, near


def _hoeffding(side: str, value: float, share: float, evidence: list[float]) -> bool:
    count, mean = evidence[0], evidence[1] / evidence[0]
    half = 1.7 * sqrt((log(log(2 * count)) + 0.72 * log(10.4 / share)) / (4 * count))
    return _justified(side, value, mean - half, mean + half)


def _bernstein(side: str, value: float, share: float, evidence: list[float]) -> bool:
    count, total, _, bets, gains, spread, added, _ = evidence
    if not (near(added, total) and 0 < bets <= count / 2 + CLOSE and 0 <= gains <= bets and spread >= 0):
        return False
    half = (log(2 / share) + spread) / bets
    return _justified(side, value, gains / bets - half, gains / bets + half)


def _bernoulli(side: str, value: float, share: float, evidence: list[float]) -> bool:
    count, total = evidence[0], evidence[1]
    if not 0 < value < 1 or (value > total / count) == (side == "lower"):
        return False
    mixed = lgamma(1 + total) + lgamma(1 + count - total) - lgamma(2 + count)
    return mixed - total * log(value) - (count - total) * log(1 - value) >= log(1 / share) - CLOSE


def _betting(side: str, value: float, share: float, evidence: list[float]) -> bool:
    """Check that the capital of the bets against `value` has reached the threshold; then it has beyond it, too."""
    count, total = evidence[0], evidence[1]
    weights = np.array(evidence[2 + HEAD : 2 + HEAD + len(GRID)])
    spread_mean = float(weights @ GRID)
    if not (0 < value < 1 and (weights >= 0).all() and near(weights.sum(), count) and near(spread_mean, total)):
        return False
    if (value > total / count) == (side == "lower"):
        return False
    gains = (GRID / value if side == "lower" else (1 - GRID) / (1 - value)) - 1
    wealth = np.log1p(np.outer(BETS, gains)) @ weights
    capital = wealth.max() + log(np.exp(wealth - wealth.max()).mean())
    return capital >= log(2 / share) - CLOSE * max(1.0, count)


def _justified(side: str, value: float, lower: float, upper: float) -> bool:
    return value <= lower + CLOSE if side == "lower" else value >= upper - CLOSE


PROOFS: dict[str, Callable[[str, float, float, list[float]], bool]] = {
    "hoeffding": _hoeffding,
    "bernstein": _bernstein,
    "bernoulli": _bernoulli,
    "betting": _betting,
}
