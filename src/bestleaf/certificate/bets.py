"""Intervals for a mean, with a proof: by bets against every candidate for it, and the exact one of a probability.

The proof is told in `bestleaf.certificate.held_out`. The bets are fixed numbers that depend on delta and on the number
of pairs alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import log, sqrt
from typing import NamedTuple

import numpy as np

LARGEST_BET = 0.95  # on a score, as a fraction of the capital
VARIANCES = (0.02, 0.15)  # of a difference: one bet is made for each
NEXT_TO_FLOOR = 1e-12  # a mean at the lowest value there is cannot be bet against
CELLS = np.concatenate(
    [[NEXT_TO_FLOOR], 1 / (1 + np.exp(-np.arange(-4.0, 9.0, 0.25))), [1.0]]
)  # candidates with the same bet
HALVINGS = 40  # far finer than the digits in which `verify` compares
MOST_DELTA = 0.4  # the exact interval of a probability has no proof for rows of fixed classes beyond 1/2


class Interval(NamedTuple):
    """Lower and upper end."""

    low: float
    high: float


class Tally(NamedTuple):
    """What is bet on: how often each value was met in each pairing."""

    values: np.ndarray
    counts: np.ndarray  # [pairings, values]
    pairs: int  # in each pairing
    shrunk: float  # variance of the mean over all pairings, as a fraction of that over one pairing

    def mirrored(self) -> Tally:
        """Return the tally of the values counted from the other end."""
        return self._replace(values=(1.0 - self.values) if self.values[0] >= 0 else -self.values)


def by_cells(tally: Tally, delta: float) -> Interval:
    """Return the interval of a mean in [0, 1].

    In each cell of candidates the bet is the best one for a typical variance at its middle.
    """
    ends = []
    for side in (tally, tally.mirrored()):
        ends.append(0.0)
        for first, last in pairwise(CELLS.tolist()):
            bet = bet_on_score(tally, delta, (first + last) / 2)
            ends[-1] = _excluded(side, [bet], delta, first, last, 0.0)
            if ends[-1] < last:
                break
    return Interval(ends[0], 1.0 - ends[1])


def by_bets(tally: Tally, delta: float) -> Interval:
    """Return the interval of a mean in [-1, 1]; the capital is shared out among a few bets."""
    bets = bets_on_difference(tally, delta)
    low, high = (_excluded(side, bets, delta, -1.0 + NEXT_TO_FLOOR, 1.0, -1.0) for side in (tally, tally.mirrored()))
    return Interval(low, -high)


def bets_on_difference(tally: Tally, delta: float) -> np.ndarray:
    """Return the bets on a mean in [-1, 1], one for each typical variance; none is all of the capital."""
    sizes = np.sqrt(2 * log(2 / delta) / (tally.pairs * tally.shrunk * np.array(VARIANCES)))
    return sizes / np.sqrt(1 + sizes**2)


def bet_on_score(tally: Tally, delta: float, candidate: float) -> float:
    """Return the bet on a mean in [0, 1] for a typical variance if it is near a candidate."""
    size = sqrt(2 * log(2 / delta) * candidate / (tally.pairs * tally.shrunk * (1 - candidate)))
    return min(size, LARGEST_BET)


def _excluded(
    tally: Tally, bets: Sequence[float] | np.ndarray, delta: float, first: float, last: float, floor: float
) -> float:
    """Return how far from `first` to `last` all candidates for the mean are excluded.

    The capital of a bet against a candidate is smaller for every larger candidate, so halving finds the end.
    """
    threshold = log(2 / delta)
    if log_capital(tally, bets, last, floor) >= threshold:
        return last
    if log_capital(tally, bets, first, floor) < threshold:
        return floor if first == floor + NEXT_TO_FLOOR else first
    kept, excluded = last, first
    for _ in range(HALVINGS):
        middle = (excluded + kept) / 2
        if log_capital(tally, bets, middle, floor) >= threshold:
            excluded = middle
        else:
            kept = middle
    return excluded


def log_capital(tally: Tally, bets: Sequence[float] | np.ndarray, candidate: float, floor: float) -> float:
    """Return the logarithm of the mean capital of bets, over bets and pairings, that the mean exceeds a candidate.

    A bet is a fraction of the capital; `floor` is the lowest value there is. If the mean is the candidate, the expected
    capital is at most 1.
    """
    fractions = np.array(bets)[:, None]
    logs = np.log(1 - fractions + fractions * (tally.values - floor) / (candidate - floor)) @ tally.counts.T
    return _log_sum(logs) - log(logs.size)


def _log_sum(logs: np.ndarray) -> float:
    """Return the logarithm of a sum of numbers given by their logarithms."""
    highest = logs.max()
    return float(highest + log(np.exp(logs - highest).sum()))


def binomial_interval(right: int, many: int, delta: float) -> Interval:
    """Return the exact interval for a probability after `right` successes in `many` trials."""
    level = log(min(delta, MOST_DELTA) / 2)
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, many + 1)))])  # of the factorials
    ways = logs[many] - logs - logs[::-1]

    def lower(hits: int) -> float:
        """Return the largest probability at which so many hits or more are too unlikely."""
        excluded, kept, tail = 0.0, 1.0, np.arange(hits, many + 1)
        for _ in range(HALVINGS if hits else 0):
            middle = (excluded + kept) / 2
            terms = ways[hits:] + tail * log(middle) + (many - tail) * log(1 - middle)
            if _log_sum(terms) <= level:
                excluded = middle
            else:
                kept = middle
        return excluded

    return Interval(lower(right), 1.0 - lower(many - right))
