"""Intervals for scores on new rows, with a proof: bets on matched pairs of test rows.

The sets of columns and the judges are fixed before a test row is looked at. So, if test rows are drawn like new rows,
they are independent of all of that and of each other. They are matched at random into disjoint *trials*: a row of a
class with a row of another class (AUC), one row of each class (AUC of several classes), two rows (concordance), or
every row by itself (accuracy). A trial has a level for each set, by how many judges are right, and the mean level is
the score on new rows.

Someone who bets a fixed part of a capital of 1 on every trial that the mean is above a candidate has an expected
capital of at most 1 if it is not; so has the mean over many matchings, however much they depend on each other.
By Markov's inequality it exceeds 1 / level with probability at most `level`, and every candidate for which it does is
excluded. The average over matchings makes the interval about as narrow as the variance of the AUC allows. With fixed
bets this holds for rows of different kinds, too (the geometric mean is at most the arithmetic one).

`bestleaf.proof.check` computes the same from the certificate, by code of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import ceil, floor, log, sqrt
from typing import Literal, NamedTuple

import numpy as np

from bestleaf.features.ranking import auc, concordance
from bestleaf.proof.record import RankTable

Measure = Literal["auc", "concordance", "accuracy"]

AVERAGED = 0.5  # variance of the mean over matchings as a part of that of one matching: typical
LOWEST = 1e-9  # a mean at the lowest value there is cannot be bet against
CELLS = (LOWEST, *(1 / (1 + np.exp(-np.arange(-4.0, 9.0, 0.25)))).tolist(), 1.0)  # candidates with the same bet
DIGITS = 10**6  # ends are rounded outward to so many parts
GAMMA = 0x9E3779B97F4A7C15


class Proved(NamedTuple):
    """What the test rows prove; each number is rounded outward."""

    interval: tuple[float, float]
    difference_interval: tuple[float, float]
    best_other: float | None


class Tally(NamedTuple):
    """How often each value was met in each matching."""

    values: np.ndarray
    counts: np.ndarray  # [matchings, values]
    evidence: float  # trials, as independent ones

    def mirrored(self) -> Tally:
        """Return the tally of the values counted from the other end."""
        return self._replace(counts=self.counts[:, ::-1])


# ---- the table of test rows


class Rows(NamedTuple):
    """The rows of a table: targets, and what ranks them."""

    measure: Measure
    target: np.ndarray
    ranks: np.ndarray  # [rows, sets, judges, outputs]

    @classmethod
    def of(cls, table: RankTable) -> Rows:
        """Return the rows that a table lists, in its order."""
        lines = np.array(table.lines, np.int64)
        rows = np.repeat(lines[:, :-1], lines[:, -1], axis=0)
        return cls(table.measure, rows[:, 0], rows[:, 1:].reshape(len(rows), len(table.sets), table.judges, -1))

    def scores(self) -> np.ndarray:
        """Return the score of each set by each judge."""
        return np.array([[self._score(self.ranks[:, s, j]) for j in range(self.judges)] for s in range(self.sets)])

    @property
    def sets(self) -> int:
        """How many sets there are."""
        return self.ranks.shape[1]

    @property
    def judges(self) -> int:
        """How many judges there are."""
        return self.ranks.shape[2]

    @property
    def classes(self) -> list[int]:
        """The classes that an output should rank high, one for each output."""
        return [1] if self.ranks.shape[3] == 1 else list(range(self.ranks.shape[3]))

    def _score(self, ranks: np.ndarray) -> float:
        if self.measure == "accuracy":
            return float(ranks.mean())
        if self.measure == "concordance":
            return concordance(self.target, ranks[:, 0])
        return float(np.mean([auc(self.target == one, ranks[:, place]) for place, one in enumerate(self.classes)]))


def table_of(
    measure: Measure, target: np.ndarray, predicted: Sequence[Sequence[np.ndarray]], sizes: Sequence[int]
) -> RankTable:
    """Return the table of some rows: `predicted` has an array [rows, outputs] for each judge of each set."""
    columns = [np.zeros(len(target), int) if measure == "accuracy" else _ranks(target)]
    for one in (column for judges in predicted for outputs in judges for column in outputs.T):
        columns.append(one.astype(int) if measure == "accuracy" else _ranks(one))
    lines, counts = np.unique(np.column_stack(columns), axis=0, return_counts=True)
    found = np.column_stack([lines, counts]).tolist()
    return RankTable(measure=measure, judges=len(predicted[0]), sets=tuple(sizes), lines=tuple(map(tuple, found)))


def _ranks(values: np.ndarray) -> np.ndarray:
    return np.unique(values, return_inverse=True)[1].ravel()


# ---- what it proves


def proved(table: RankTable, delta: float, seed: int) -> Proved:
    """Return the intervals of the score and of its difference to all columns, and how much better another set may be.

    Half of delta is for the score; the other half is shared between all columns and the other sets.
    """
    rows = Rows.of(table)
    scores, others = rows.scores().mean(axis=1), list(range(1, rows.sets))
    chosen, gains = _tallies(rows, seed)
    interval = (_low(chosen, delta / 4), 1 - _low([tally.mirrored() for tally in chosen], delta / 4))
    difference, ends = (0.0, 0.0), list[float]()
    if others and table.sets[1] > table.sets[0]:  # the second set is all columns
        every, level = gains[others.pop(0)], delta / 8 if rows.sets > 2 else delta / 4
        ends.append(_low_difference(every, level))
        difference = (ends[0], -_low_difference([tally.mirrored() for tally in every], level))
        difference = _outward(difference, scores[0] - scores[1], -1.0)
        delta /= 2
    ends += [_low_difference(gains[other], delta / 2 / len(others)) for other in others]
    best_other = None
    if ends:
        best_other = _outward((-1.0, -min(ends)), max(scores[1:]) - scores[0], -1.0)[1]
    return Proved(_outward(interval, scores[0], 0.0), difference, best_other)


def _outward(interval: tuple[float, float], estimate: float, lowest: float) -> tuple[float, float]:
    """Return an interval rounded outward, so that it has the estimate in it."""
    low, high = floor(interval[0] * DIGITS) / DIGITS, ceil(interval[1] * DIGITS) / DIGITS
    return max(lowest, min(low, float(estimate))), min(1.0, max(high, float(estimate)))


def _low(tallies: Sequence[Tally], level: float) -> float:
    """Return the lower end of a mean in [0, 1]; of several parts it is the mean of their ends."""
    return float(np.mean([_low_score(tally, level / len(tallies)) for tally in tallies]))


def _low_score(tally: Tally, level: float) -> float:
    """Return how far from 0 upwards all candidates are excluded; in a cell all have the same bet."""
    for first, last in pairwise(CELLS):
        middle = (first + last) / 2
        # On a score, as a part of the capital.
        bet = min(0.95, sqrt(2 * log(1 / level) * middle / (tally.evidence * (1 - middle))))
        end = _excluded(tally, np.array([bet]), level, first, last, 0.0)
        if end < last:
            break
    return 0.0 if end == LOWEST else end


def _low_difference(tallies: Sequence[Tally], level: float) -> float:
    """Return the lower end of a mean in [-1, 1]; the capital is shared out among a few bets."""
    level, ends = level / len(tallies), []
    for tally in tallies:
        # One bet is made for each of two variances; at another variance the interval is a little wider.
        sizes = np.sqrt(2 * log(1 / level) / (tally.evidence * np.array([0.02, 0.15])))
        end = _excluded(tally, sizes / np.sqrt(1 + sizes**2), level, LOWEST - 1.0, 1.0, -1.0)
        ends.append(-1.0 if end == LOWEST - 1.0 else end)
    return float(np.mean(ends))


def _excluded(tally: Tally, bets: np.ndarray, level: float, first: float, last: float, lowest: float) -> float:
    """Return how far from `first` to `last` all candidates are excluded; a larger one is harder to exclude."""
    threshold = log(1 / level) + 1e-9  # more than all rounding
    if log_capital(tally, bets, last, lowest) >= threshold:
        return last
    if log_capital(tally, bets, first, lowest) < threshold:
        return first
    excluded, kept = first, last
    for _ in range(40):
        middle = (excluded + kept) / 2
        if log_capital(tally, bets, middle, lowest) >= threshold:
            excluded = middle
        else:
            kept = middle
    return excluded


def log_capital(tally: Tally, bets: np.ndarray, candidate: float, lowest: float) -> float:
    """Return the logarithm of the mean capital, over bets and matchings, of bets that the mean exceeds a candidate."""
    parts = bets[:, None]
    logs = np.log(1 - parts + parts * (tally.values - lowest) / (candidate - lowest)) @ tally.counts.T
    highest = logs.max()
    return float(highest + log(np.exp(logs - highest).mean()))


# ---- trials


def _tallies(rows: Rows, seed: int) -> tuple[list[Tally], list[list[Tally]]]:
    """Return the tallies of the answer's score, and of its difference to each set, for each part of the score."""
    scores: list[list[np.ndarray]] = []
    gains: list[list[list[np.ndarray]]] = []
    sides = []
    for levels, top, evidence in _parts(rows, seed):
        sides.append((top, evidence))
        scores.append([])
        gains.append([[] for _ in range(rows.sets)])
        for level in levels:
            scores[-1].append(np.bincount(level[:, 0], minlength=top + 1))
            for other in range(rows.sets):
                found = np.bincount(level[:, 0] - level[:, other] + top, minlength=2 * top + 1)
                gains[-1][other].append(found)
    of_scores = [
        Tally(np.linspace(0, 1, top + 1), np.array(counts, float), evidence)
        for counts, (top, evidence) in zip(scores, sides, strict=True)
    ]
    of_gains = [
        [
            Tally(np.linspace(-1, 1, 2 * top + 1), np.array(part[other], float), evidence)
            for part, (top, evidence) in zip(gains, sides, strict=True)
        ]
        for other in range(rows.sets)
    ]
    return of_scores, of_gains


def _parts(rows: Rows, seed: int) -> Iterator[tuple[Iterator[np.ndarray], int, float]]:
    """Yield for each part of the score the levels [trials, sets] of each matching, the top level, and the evidence."""
    many, top = len(rows.target), 2 * rows.judges
    keys = [draws(seed, number, many) for number in range(50)]  # 400 make intervals 3 to 8 percent narrower
    if rows.measure == "accuracy":
        yield iter([2 * rows.ranks[..., 0].sum(axis=2)]), top, float(many)
    elif rows.measure == "concordance":
        yield (_of_pairs(rows, one) for one in keys), top, many // 2 * AVERAGED
    elif len(rows.classes) > 1 and len(rows.classes) ** 2 * (fewest := np.bincount(rows.target).min()) >= many:
        levels = (_of_blocks(rows, one, seed, number) for number, one in enumerate(keys))
        yield levels, top * len(rows.classes), fewest * AVERAGED
    else:
        for place, one in enumerate(rows.classes):
            ours = int((rows.target == one).sum())
            yield (_of_class(rows, key, one, place) for key in keys), top, min(ours, many - ours) * AVERAGED


def _of_class(rows: Rows, keys: np.ndarray, one: int, output: int) -> np.ndarray:
    """Match rows of a class with rows of the others."""
    sides = [_shuffled(np.flatnonzero(side), keys) for side in (rows.target == one, rows.target != one)]
    ours, others = (side[: min(map(len, sides))] for side in sides)
    return _levels(rows.ranks[ours, ..., output], rows.ranks[others, ..., output])


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
    levels = np.zeros((fewest, rows.sets), np.int64)
    for one in range(classes):
        others = np.delete(np.arange(classes), one)
        place = np.searchsorted(np.cumsum(sizes[others]), drawn[:, one] % np.uint64(many - sizes[one]), "right")
        rivals = blocks[np.arange(fewest), others[place]]
        levels += _levels(rows.ranks[blocks[:, one], ..., one], rows.ranks[rivals, ..., one])
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
