"""Confidence intervals for the score of new rows, from the held-out rows that a certificate lists.

The features, the training rows and the fitted model are fixed before a held-out row is looked at. So, if the held-out
rows are drawn like new rows, they are independent of all of that and of each other, and the intervals below hold with
probability 1 - delta. Every method was chosen before the rows are looked at; none is picked by its result.

**Pairs of rows** (AUC, concordance index). The rows are put into disjoint pairs at random. Each pair is in the right
order (1), tied (1/2) or in the wrong order (0), and these numbers are independent with the score as their mean. Someone
who bets a fixed part of a capital of 1 on every pair that the mean is above a candidate has an expected capital of at
most 1 if it is not. The mean capital over many random pairings has the same property, however much they depend on each
other. By Markov's inequality it exceeds 2 / delta with probability at most delta / 2, and every candidate for which it
does is excluded. Averaging over pairings makes the interval about as narrow as the variance of the AUC itself allows.
With several classes the pairs are blocks of one row of each class. If a class is rare, every class gets an interval of
its own instead, with its part of delta, and the means of their ends are taken.

**Single rows** (accuracy). The interval of the score is the exact binomial one (Clopper and Pearson). It also holds if
the share of every class among the held-out rows is fixed (Hoeffding 1956, for delta below 1/2). Differences are bet on
as above, row by row: with fixed bets the capital has an expectation of at most 1 for rows of different kinds as well,
by the inequality of the arithmetic and the geometric mean.

The bets are fixed numbers that depend on delta and on the number of rows alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log, sqrt
from typing import NamedTuple

import numpy as np

from bestleaf.certificate.bets import Interval, Tally, binomial_interval, by_bets, by_cells

PAIRINGS = 400  # random pairings whose capital is averaged; fewer with very many rows
FEWEST_PAIRINGS, WORK, AT_A_TIME = 50, 4_000_000, 1_000_000
# Variance of a U-statistic times its number of pairs, as a fraction of that of one pair: typical values. A bet that is
# made for another variance is still fair; the interval is only a little wider.
OF_ONE_ROW, OF_TWO_ROWS = 0.32, 0.6
NODES = 40  # values of blocks of several classes are spread over a grid with this many steps in [0, 1]
MOST_ROWS = 10**7  # held-out rows of a table
MEASURES = {"accuracy": "accuracy", "concordance": "concordance", "roc_auc": "auc", "roc_auc_ovr": "auc"}  # of scorers
COLUMNS = {  # of the table of held-out rows; the last one says how many rows are alike
    "auc": "class; votes or rank for each class (for the second one only, if there are two), first with the selected "
    "and then with all features",
    "concordance": "ranks of the target, of the prediction with the selected features, of that with all features",
    "accuracy": "1 if the prediction is right, 0 if not: with the selected features, with all features",
}


class Judged(NamedTuple):
    """What held-out rows say: score, score of all features, difference, and the intervals for new rows."""

    score: float
    all_features: float
    difference: float
    interval: Interval
    difference_interval: Interval


def judged(measure: str, table: Sequence[Sequence[int]] | np.ndarray, delta: float, *, same: bool = False) -> Judged:
    """Return scores and intervals from the table of the held-out rows.

    Parameters
    ----------
    measure : {"auc", "concordance", "accuracy"}
        What the score is; see `COLUMNS` for the columns of its table.
    table : array of int
        One line for each kind of row; the last column says how many rows are of that kind.
    delta : float
        Probability with which each interval may fail.
    same : bool, default=False
        Whether the features are all features, so that the difference is 0 for certain.
    """
    rows = _rows(table)
    score, every = _SCORES[measure](rows)
    interval, difference = _INTERVALS[measure](rows, delta)
    difference = Interval(0.0, 0.0) if same else _around(score - every, difference)
    return Judged(score, every, score - every, _around(score, interval), difference)


def scores_of(measure: str, table: Sequence[Sequence[int]] | np.ndarray) -> tuple[float, float]:
    """Return the score with the features and the score with all features."""
    return _SCORES[measure](_rows(table))


def table_of(*columns: np.ndarray) -> np.ndarray:
    """Return the table of some rows from the columns that `COLUMNS` lists; numbers that are not whole become ranks."""
    whole = [
        one if one.dtype.kind in "iu" else np.unique(one, return_inverse=True)[1].ravel()
        for one in (column.astype(np.int64) if column.dtype.kind == "b" else column for column in columns)
    ]
    lines, counts = np.unique(np.column_stack(whole), axis=0, return_counts=True)
    return np.column_stack([lines, counts])


def columns_fit(measure: str, table: Sequence[Sequence[int]]) -> bool:
    """Whether a table has the columns of its measure, and rows whose score is defined."""
    widths = {len(line) for line in table}
    if len(widths) != 1 or any(line[-1] < 1 for line in table):
        return False
    (width,), targets = widths, {line[0] for line in table}
    if measure == "accuracy":
        return width == 3 and all(max(line[:2]) <= 1 for line in table)
    if measure == "concordance":
        return width == 4 and len(targets) > 1
    outputs = (width - 2) // 2
    return outputs > 0 and width == 2 + 2 * outputs and targets == set(range(max(2, outputs)))


def widening(tested: Sequence[int], trained: Sequence[int]) -> float:
    """Return by what the variance of a score is multiplied to get that of the mean over splits of the same rows.

    The splits share training rows, so their scores depend on each other: the variance of the mean is larger than that
    of as many independent scores (Nadeau and Bengio 2003). Rows tested and trained on are given for each split.
    """
    return float(1 / len(tested) + np.mean(np.divide(tested, trained)))


def corrected_error(scores: Sequence[float], tested: Sequence[int], trained: Sequence[int]) -> float:
    """Return the standard error of the mean score of several splits of the same rows; nan for fewer than two."""
    return float(np.sqrt(np.var(scores, ddof=1) * widening(tested, trained))) if len(scores) > 1 else np.nan


def _rows(table: Sequence[Sequence[int]] | np.ndarray) -> np.ndarray:
    """Return one line for each row, in an order that does not depend on that of the table."""
    lines = np.asarray(table, np.int64)
    rows = np.repeat(lines[:, :-1], lines[:, -1], axis=0)
    return rows[np.lexsort(rows.T)]


def _around(value: float, interval: Interval) -> Interval:
    return Interval(float(min(value, interval.low)), float(max(value, interval.high)))


# ---- accuracy: single rows


def _accuracies(rows: np.ndarray) -> tuple[float, float]:
    score, every = rows.mean(axis=0).tolist()
    return score, every


def _accuracy(rows: np.ndarray, delta: float) -> tuple[Interval, Interval]:
    gains = np.bincount(rows[:, 0] - rows[:, 1] + 1, minlength=3)[None, :].astype(np.float64)
    difference = by_bets(Tally(np.array([-1.0, 0.0, 1.0]), gains, len(rows), 1.0), delta)
    return binomial_interval(int(rows[:, 0].sum()), len(rows), delta), difference


# ---- pairs of rows: AUC and concordance index, by code that the search does not use


def auc(positive: np.ndarray, ranks: np.ndarray) -> float:
    """Return the fraction of pairs of a positive and another row that the ranks put in the right order; ties: 1/2."""
    others, ours = np.sort(ranks[~positive]), ranks[positive]
    twice = np.searchsorted(others, ours, "left") + np.searchsorted(others, ours, "right")
    return float(twice.sum() / (2 * len(others) * len(ours)))


def concordance(target: np.ndarray, ranks: np.ndarray) -> float:
    """Return the fraction of pairs with different targets that the ranks put in the right order; ties count 1/2."""
    sizes = np.unique(target, return_counts=True)[1]
    pairs = (len(target) ** 2 - int((sizes**2).sum())) // 2
    right = _inversions(-ranks[np.lexsort((-ranks, target))])
    wrong = _inversions(ranks[np.lexsort((ranks, target))])
    return (pairs + right - wrong) / (2 * pairs)


def _inversions(values: np.ndarray) -> int:
    """Return how many pairs stand in the wrong order: an earlier value that is larger than a later one."""
    ranks, found = np.unique(values, return_inverse=True)[1].ravel(), 0
    for bit in range(int(ranks.max()).bit_length()):
        # Pairs that differ in this bit first: the larger one has the bit, both have the same higher bits.
        order = np.argsort(ranks >> (bit + 1), kind="stable")
        group, ones = ranks[order] >> (bit + 1), (ranks[order] >> bit) & 1
        before = np.cumsum(ones) - ones
        starts = np.searchsorted(group, group)
        found += int((before - before[starts])[ones == 0].sum())
    return found


class _Ranked(NamedTuple):
    """Rows of classes with what ranks them: for each class, or for the second one only if there are two."""

    labels: np.ndarray
    chosen: np.ndarray  # [rows, outputs]
    every: np.ndarray
    of_class: list[np.ndarray]  # which rows each output should rank high

    @classmethod
    def of(cls, rows: np.ndarray) -> _Ranked:
        labels, outputs = rows[:, 0], (rows.shape[1] - 1) // 2
        of_class = [labels == one for one in ([1] if outputs == 1 else range(outputs))]
        return cls(labels, rows[:, 1 : 1 + outputs], rows[:, 1 + outputs :], of_class)


def _aucs(rows: np.ndarray) -> tuple[float, float]:
    ranked = _Ranked.of(rows)
    score, every = (
        float(np.mean([auc(positive, ranks[:, place]) for place, positive in enumerate(ranked.of_class)]))
        for ranks in (ranked.chosen, ranked.every)
    )
    return score, every


def _auc(rows: np.ndarray, delta: float) -> tuple[Interval, Interval]:
    """Return the intervals of score and difference, from pairs of each class or from blocks of all classes.

    The choice looks at the number of rows of each class, not at their scores.
    """
    ranked = _Ranked.of(rows)
    counts, outputs = np.bincount(ranked.labels), len(ranked.of_class)
    rarest = np.minimum(counts, len(rows) - counts)
    together = sqrt(2 * log(2 / delta) / (outputs * rarest.min()))
    apart = float(np.mean([min(1.0, sqrt(log(2 * outputs / delta) / many)) for many in rarest]))
    if outputs > 1 and together < apart:
        score, gain = _tallies_of_blocks(ranked)
        return by_cells(score, delta), by_bets(gain, delta)
    found = []
    for place, positive in enumerate(ranked.of_class):
        score, gain = _tallies_of_class(positive, ranked.chosen[:, place], ranked.every[:, place])
        found.append((by_cells(score, delta / outputs), by_bets(gain, delta / outputs)))
    intervals = np.mean(found, axis=0)  # if all of them hold, their mean holds for the mean score
    return Interval(*intervals[0]), Interval(*intervals[1])


def _tallies_of_class(positive: np.ndarray, chosen: np.ndarray, every: np.ndarray) -> tuple[Tally, Tally]:
    """Return the tallies of random pairs of a row of a class and a row of the rest: score and difference."""
    sides = np.flatnonzero(positive), np.flatnonzero(~positive)
    few, many = sorted(sides, key=len)
    right, tallies = (1 if few is sides[0] else -1), []
    for places in _orders(len(many), len(positive)):
        other = many[places[:, : len(few)]]
        tallies.append(_pairs_counted(right, chosen[few] - chosen[other], every[few] - every[other]))
    return _tallies(tallies, len(few), OF_ONE_ROW * (1 + len(few) / len(many)))


def _pairs_counted(right: int | np.ndarray, chosen: np.ndarray, every: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how often each value of the score, and of the difference, is met in each line of pairs.

    The arrays [lines, pairs] hold the differences of ranks; `right` is their right sign, 0 for a pair that is left out.
    """
    shape = chosen.shape
    scores, others = right * np.sign(chosen) + 1, right * np.sign(every) + 1
    lines = np.broadcast_to(np.arange(shape[0])[:, None], shape)
    used = np.broadcast_to(right != 0, shape)
    return (
        np.bincount((3 * lines + scores)[used], minlength=3 * shape[0]).reshape(-1, 3),
        np.bincount((5 * lines + scores - others + 2)[used], minlength=5 * shape[0]).reshape(-1, 5),
    )


def _tallies(parts: Sequence[tuple[np.ndarray, np.ndarray]], pairs: int, shrunk: float) -> tuple[Tally, Tally]:
    """Return the tallies of score and difference; their values are evenly spread over [0, 1] and [-1, 1]."""
    scores, gains = (np.concatenate(counts).astype(np.float64) for counts in zip(*parts, strict=True))
    return (
        Tally(np.linspace(0, 1, scores.shape[1]), scores, pairs, shrunk),
        Tally(np.linspace(-1, 1, gains.shape[1]), gains, pairs, shrunk),
    )


def _tallies_of_blocks(ranked: _Ranked) -> tuple[Tally, Tally]:
    """Return the tallies of random blocks with one row of each class.

    The value of a block is the mean over the classes of how well its row is told from the other rows, which are
    weighted by the number of rows of their class.
    """
    labels, classes = ranked.labels, list(map(np.flatnonzero, ranked.of_class))
    sizes = np.array(list(map(len, classes)))
    weights = sizes / (len(labels) - sizes[:, None]) / len(classes)
    blocks, tallies = int(sizes.min()), []
    orders = [_orders(size, len(labels) * len(classes), seed) for seed, size in enumerate(sizes)]
    for several in zip(*orders, strict=True):
        drawn = [rows[places[:, :blocks]] for rows, places in zip(classes, several, strict=True)]
        values = np.zeros((2, *drawn[0].shape))
        for place, mine in enumerate(drawn):
            for number, other in enumerate(drawn):
                if number != place:
                    for value, ranks in zip(values, (ranked.chosen, ranked.every), strict=True):
                        ordered = np.sign(ranks[mine, place] - ranks[other, place])
                        value += weights[place, number] * (ordered + 1) / 2
        score, gain = values[0], values[0] - values[1]
        tallies.append((_spread(score, 0.0, NODES + 1), _spread(gain, -1.0, 2 * NODES + 1)))
    return _tallies(tallies, blocks, 4 * OF_ONE_ROW / len(classes))


def _spread(values: np.ndarray, low: float, nodes: int) -> np.ndarray:
    """Return values split between the two nodes of a grid around them, so that the weighted mean of both is the value.

    The logarithm of what a bet gains is concave, so the capital computed from the grid is at most the true one.
    """
    places = np.clip((values - low) * NODES, 0, nodes - 1)
    before = np.minimum(places.astype(np.int64), nodes - 2)
    cells, part = before + nodes * np.arange(len(values))[:, None], places - before
    size = nodes * len(values)
    found = np.bincount(cells.ravel(), (1 - part).ravel(), size) + np.bincount(cells.ravel() + 1, part.ravel(), size)
    return found.reshape(-1, nodes)


def _concordances(rows: np.ndarray) -> tuple[float, float]:
    target, chosen, every = rows.T
    return concordance(target, chosen), concordance(target, every)


def _concordance(rows: np.ndarray, delta: float) -> tuple[Interval, Interval]:
    """Pairs of rows with equal targets are left out; those with different targets have the score as their mean."""
    target, chosen, every = rows.T
    pairs, tallies = len(rows) // 2, []
    for places in _orders(len(rows), len(rows)):
        one, other = places[:, :pairs], places[:, pairs : 2 * pairs]
        right = np.sign(target[one] - target[other])
        tallies.append(_pairs_counted(right, chosen[one] - chosen[other], every[one] - every[other]))
    score, gain = _tallies(tallies, pairs, OF_TWO_ROWS)
    return by_cells(score, delta), by_bets(gain, delta)


def _orders(many: int, rows: int, seed: int = 0) -> Iterator[np.ndarray]:
    """Yield arrays whose lines are random orders of `many` places, fewer of them the more rows there are.

    The stream of random numbers is the same in every version of numpy.
    """
    rng, left = np.random.RandomState(2019 + seed), int(np.clip(WORK // rows, FEWEST_PAIRINGS, PAIRINGS))
    at_a_time = max(1, AT_A_TIME // rows)
    while left > 0:
        yield np.argsort(rng.random_sample((min(left, at_a_time), many)), axis=1)
        left -= at_a_time


_SCORES = {"auc": _aucs, "concordance": _concordances, "accuracy": _accuracies}
_INTERVALS = {"auc": _auc, "concordance": _concordance, "accuracy": _accuracy}
