"""Intervals for scores on new rows, with a proof: bets on matched pairs of test rows.

The sets of columns and the judges are fixed before a test row is looked at. So, if test rows are drawn like new rows,
they are independent of all of that and of each other. They are matched at random into disjoint *trials*: one row of
each class (AUC), two rows (concordance), or every row by itself (accuracy). A trial has a level for each set, by how
many judges are right, and the mean level is the score on new rows.

Someone who bets a fixed part of a capital of 1 on every trial that the mean is above a candidate has an expected
capital of at most 1 if it is not; so has the mean over many matchings, however much they depend on each other.
By Markov's inequality it exceeds 1 / level with probability at most `level`, and every candidate for which it does is
excluded. The average over matchings makes the interval about as narrow as the variance of the AUC allows. With fixed
bets this holds for rows of different kinds, too (the geometric mean is at most the arithmetic one).

The certificate has how often each level was met in each matching. `bestleaf.proof.check` computes the intervals again
from that, by code of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import ceil, floor, log
from typing import Literal, NamedTuple

import numpy as np

from bestleaf.features.ranking import auc, concordance
from bestleaf.proof.record import MatchedRows

Measure = Literal["auc", "concordance", "accuracy"]

MATCHINGS = 50  # 400 make intervals 3 to 8 percent narrower
LOWEST = 1e-9  # a mean at the lowest value there is cannot be bet against
EDGES = (LOWEST, *(1 / (1 + np.exp(-np.arange(-4.0, 9.0, 0.25)))).tolist(), 1.0)
# Candidates from, to, and the variances that a bet is made for, as a part of the squared distance to the lowest value:
# of a score that of its candidates, of a difference two typical ones; at another variance an interval is a little wider
OF_SCORE = [(first, last, (2 / (first + last) - 1,)) for first, last in pairwise(EDGES)]
OF_DIFFERENCE = [(LOWEST / 2, 1.0, (0.02, 0.15))]
DIGITS = 10**6  # ends are rounded outward to so many parts
GAMMA = 0x9E3779B97F4A7C15


class Proved(NamedTuple):
    """What the test rows prove; each end is rounded outward."""

    table: MatchedRows
    interval: tuple[float, float]
    difference_interval: tuple[float, float]
    best_other: float | None


class Tally(NamedTuple):
    """How often each level was met in each matching."""

    counts: np.ndarray  # [matchings, levels]
    evidence: float  # trials, as independent ones

    def mirrored(self) -> Tally:
        """Return the tally of the levels counted from the other end."""
        return self._replace(counts=self.counts[:, ::-1])


# ---- test rows


class Rows(NamedTuple):
    """Test rows in an order that follows from themselves: targets, and what ranks them."""

    measure: Measure
    target: np.ndarray
    ranks: np.ndarray  # [rows, sets, judges, outputs]
    sizes: tuple[int, ...]  # of the sets: the answer, then all columns if they are not the answer, then others

    @classmethod
    def of(
        cls, measure: Measure, target: np.ndarray, predicted: Sequence[Sequence[np.ndarray]], sizes: Sequence[int]
    ) -> Rows:
        """Return rows by what each judge of each set says of them, an array [rows, outputs]."""
        columns = [np.zeros(len(target), int) if measure == "accuracy" else _ranks(target)]
        for one in (column for judges in predicted for outputs in judges for column in outputs.T):
            columns.append(one.astype(int) if measure == "accuracy" else _ranks(one))
        rows = np.column_stack(columns)
        rows = rows[np.lexsort(rows.T[::-1])]
        return cls(measure, rows[:, 0], rows[:, 1:].reshape(len(rows), len(sizes), len(predicted[0]), -1), tuple(sizes))

    def scores(self) -> np.ndarray:
        """Return the score of each set by each judge."""
        _, sets, judges, _ = self.ranks.shape
        return np.array([[self._score(self.ranks[:, s, j]) for j in range(judges)] for s in range(sets)])

    @property
    def classes(self) -> list[int]:
        """The classes that an output should rank high, one for each output."""
        return [1] if self.ranks.shape[3] == 1 else list(range(self.ranks.shape[3]))

    @property
    def top(self) -> int:
        """The highest level of a trial."""
        return 2 * self.ranks.shape[2] * len(self.classes)

    def _score(self, ranks: np.ndarray) -> float:
        if self.measure == "accuracy":
            return float(ranks.mean())
        if self.measure == "concordance":
            return concordance(self.target, ranks[:, 0])
        return float(np.mean([auc(self.target == one, ranks[:, place]) for place, one in enumerate(self.classes)]))


def _ranks(values: np.ndarray) -> np.ndarray:
    return np.unique(values, return_inverse=True)[1].ravel()


# ---- what they prove


def proved(rows: Rows, delta: float, seed: int, planned: int = 0) -> Proved:
    """Return the intervals of the score and of its difference to all columns, and how much better another set may be.

    Half of delta is for the score; the other half is shared between all columns and the other sets: `planned` of them,
    also if fewer were judged because time was over, so that nobody gains by judging fewer.
    """
    score, *gains = tallies(rows, seed)
    scores, others = rows.scores().mean(axis=1), list(gains)
    interval = (_low(score, delta / 4, OF_SCORE), 1 - _low(score.mirrored(), delta / 4, OF_SCORE))
    difference, ends = (0.0, 0.0), list[float]()
    if others and rows.sizes[1] > rows.sizes[0]:  # the second set is all columns
        every = others.pop(0)
        level = delta / 8 if planned or others else delta / 4
        ends.append(_low_difference(every, level))
        difference = (ends[0], -_low_difference(every.mirrored(), level))
        difference = _outward(difference, scores[0] - scores[1], -1.0)
        delta /= 2
    ends += [_low_difference(gain, delta / 2 / max(planned, len(others))) for gain in others]
    best_other = _outward((-1.0, -min(ends)), max(scores[1:]) - scores[0], -1.0)[1] if ends else None
    written, *differences = (tuple(map(tuple, tally.counts.tolist())) for tally in (score, *gains))
    table = MatchedRows(measure=rows.measure, sets=rows.sizes, score=written, gains=tuple(differences))
    return Proved(table, _outward(interval, scores[0], 0.0), difference, best_other)


def _outward(interval: tuple[float, float], estimate: float, lowest: float) -> tuple[float, float]:
    """Return an interval rounded outward, so that it has the estimate in it."""
    low, high = floor(interval[0] * DIGITS) / DIGITS, ceil(interval[1] * DIGITS) / DIGITS
    return max(lowest, min(low, float(estimate))), min(1.0, max(high, float(estimate)))


def _low_difference(tally: Tally, level: float) -> float:
    """Return the lower end of a mean in [-1, 1]."""
    return 2 * _low(tally, level, OF_DIFFERENCE) - 1


def _low(tally: Tally, level: float, cells: Sequence[tuple[float, float, tuple[float, ...]]]) -> float:
    """Return how far from 0 upwards all candidates for a mean in [0, 1] are excluded; in a cell all have one bet."""
    end = 0.0
    for first, last, variances in cells:
        sizes = np.sqrt(2 * log(1 / level) / (tally.evidence * np.array(variances)))
        end = _excluded(tally, sizes / np.sqrt(1 + sizes**2), level, first, last)
        if end < last:
            break
    return 0.0 if end == cells[0][0] else end


def _excluded(tally: Tally, bets: np.ndarray, level: float, first: float, last: float) -> float:
    """Return how far from `first` to `last` all candidates are excluded; a larger one is harder to exclude."""
    threshold = log(1 / level) + 1e-9  # more than all rounding
    if log_capital(tally, bets, last) >= threshold:
        return last
    if log_capital(tally, bets, first) < threshold:
        return first
    excluded, kept = first, last
    for _ in range(40):
        middle = (excluded + kept) / 2
        if log_capital(tally, bets, middle) >= threshold:
            excluded = middle
        else:
            kept = middle
    return excluded


def log_capital(tally: Tally, bets: np.ndarray, candidate: float) -> float:
    """Return the logarithm of the mean capital, over bets and matchings, of bets that the mean exceeds a candidate."""
    parts, values = bets[:, None], np.linspace(0, 1, tally.counts.shape[1])
    logs = np.log(1 - parts + parts * values / candidate) @ tally.counts.T
    highest = logs.max()
    return float(highest + log(np.exp(logs - highest).mean()))


# ---- trials


def tallies(rows: Rows, seed: int) -> list[Tally]:
    """Return the tally of the answer's score, and those of its differences to the other sets."""
    levels, top, sets = list(_matchings(rows, seed)), rows.top, range(1, len(rows.sizes))
    many = len(rows.target) // 2 if rows.measure == "concordance" else len(levels[0])
    evidence = many * (1.0 if rows.measure == "accuracy" else 0.5)
    found = [[np.bincount(one[:, 0], minlength=top + 1) for one in levels]]
    found += [[np.bincount(one[:, 0] - one[:, s] + top, minlength=2 * top + 1) for one in levels] for s in sets]
    return [Tally(np.array(counts), evidence) for counts in found]


def _matchings(rows: Rows, seed: int) -> Iterator[np.ndarray]:
    """Yield the levels [trials, sets] of each matching."""
    if rows.measure == "accuracy":
        yield 2 * rows.ranks[..., 0].sum(axis=2)
        return
    for number in range(MATCHINGS):
        keys = draws(seed, number, len(rows.target))
        yield _of_pairs(rows, keys) if rows.measure == "concordance" else _of_blocks(rows, keys, seed, number)


def _of_pairs(rows: Rows, keys: np.ndarray) -> np.ndarray:
    """Match rows with each other; pairs with equal targets are left out."""
    order = _shuffled(np.arange(len(keys)), keys)
    pairs = order[: len(order) // 2 * 2].reshape(-1, 2)
    targets = rows.target[pairs]
    pairs = np.where((targets[:, 0] > targets[:, 1])[:, None], pairs, pairs[:, ::-1])[targets[:, 0] != targets[:, 1]]
    return _levels(rows.ranks[pairs[:, 0], ..., 0], rows.ranks[pairs[:, 1], ..., 0])


def _of_blocks(rows: Rows, keys: np.ndarray, seed: int, number: int) -> np.ndarray:
    """Match one row of each class; every row meets that of another class, drawn by the frequency of classes."""
    many, sizes = len(keys), np.bincount(rows.target)
    fewest, classes = sizes.min(), len(sizes)
    blocks = np.column_stack([_shuffled(np.flatnonzero(rows.target == one), keys)[:fewest] for one in range(classes)])
    drawn = draws(seed, number, fewest * classes, many).reshape(fewest, classes)
    levels = np.zeros((fewest, len(rows.sizes)), np.int64)
    for output, one in enumerate(rows.classes):
        others = np.delete(np.arange(classes), one)
        place = np.searchsorted(np.cumsum(sizes[others]), drawn[:, one] % np.uint64(many - sizes[one]), "right")
        rivals = blocks[np.arange(fewest), others[place]]
        levels += _levels(rows.ranks[blocks[:, one], ..., output], rows.ranks[rivals, ..., output])
    return levels


def _levels(high: np.ndarray, low: np.ndarray) -> np.ndarray:
    """Return for each trial and set how many judges put the first row above the second: 2 each, 1 for a tie."""
    return (np.sign(high - low) + 1).sum(axis=2)


def _shuffled(rows: np.ndarray, keys: np.ndarray) -> np.ndarray:
    return rows[np.argsort(keys[rows], kind="stable")]


def draws(seed: int, number: int, many: int, start: int = 0) -> np.ndarray:
    """Return whole numbers below 2^64 at random: some of stream `number`, by the generator splitmix64."""
    first = (seed + (number * 2**32 + start + 1) * GAMMA) % 2**64
    z = np.uint64(first) + np.arange(many, dtype=np.uint64) * np.uint64(GAMMA)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
