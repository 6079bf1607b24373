"""Evaluate all subsets: the best thousand, the best of each size, and how many were evaluated.

Subsets stand in the order of a tree (see `Numbering`), so most of them add one feature to the one before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bestleaf.engine.compile import clock
from bestleaf.features.numbering import LISTED, Numbering
from bestleaf.memory import Answers, Memory
from bestleaf.search.budget import Budget
from bestleaf.search.result import Progress

if TYPE_CHECKING:
    from bestleaf.features.lattice import FeatureLattice
    from bestleaf.features.rollouts import Subset

SLICE = 0.5  # seconds between two looks at the clock, the callback and Ctrl-C
NOBODY = -1  # number of a subset that is not there


class Exhaustion:
    """Evaluates all subsets of a lattice within a budget: a job for `run_in_slices`.

    Parameters
    ----------
    lattice : FeatureLattice
        Its oracle computes the values of many subsets at once.
    budget : Budget
        Seconds and values allowed.
    memory : Memory, default=None
        Keeps the values of an estimator; those of votes are cheap, and are computed again after a kill.
    """

    def __init__(self, lattice: FeatureLattice, budget: Budget, memory: Memory | None = None) -> None:
        self.lattice, self.budget, self.oracle = lattice, budget, lattice.oracle
        self.numbering = Numbering(lattice.allowed, lattice.forced, lattice.limit)
        self.evaluated = 0  # subsets so far: those with the first numbers
        self.best, self.best_values = np.empty(0, np.int64), np.empty(0)  # numbers and values, best first
        sizes = len(lattice.forced) + self.numbering.most + 1
        self.by_size, self.size_values = np.full(sizes, NOBODY), np.full(sizes, -1.0)  # the best of each size
        self.reason: str | None = None  # why it ended
        self._answers = Answers.of(memory, lattice) if lattice.parts else None
        self._pace = 1  # subsets that are evaluated between two looks at the clock

    def slice(self) -> None:
        """Evaluate for about `SLICE` seconds; of the first subsets at least some, whatever the budget is."""
        left = self.budget.samples_left(self.evaluated)
        begun, many = clock(), min(self._pace, max(1, left), self.numbering.total - self.evaluated)
        numbers = np.arange(self.evaluated, self.evaluated + many)
        members = self.numbering.members(numbers)
        values = self._values(self.numbering.columns(members, self.lattice.groups))
        self._take(numbers, members.sum(axis=1) + len(self.lattice.forced), values)
        affordable = many * SLICE / max(clock() - begun, 1e-6)
        self._pace = int(max(1.0, min(affordable, 4.0 * self._pace)))
        self.budget.look()
        if self.complete:
            self.reason = "settled"
        elif many >= left:
            self.reason = "max_samples"

    def _values(self, columns: np.ndarray) -> np.ndarray:
        """Return the values of subsets; only those that are not in the memory are computed."""
        answers = self._answers
        if answers is None:
            return self.oracle.table_values(columns)
        questions = [answers.question("columns", tuple(np.flatnonzero(row).tolist())) for row in columns]
        known = [answers.number(question) for question in questions]
        missing = np.array([one is None for one in known])
        values = np.array([np.nan if one is None else one[0] for one in known])
        values[missing] = self.oracle.table_values(columns[missing])
        for place in np.flatnonzero(missing):
            answers.keep_number(questions[place], values[place])
        return values

    def close(self) -> None:
        """Do nothing at the end."""

    @property
    def complete(self) -> bool:
        """Whether all subsets were evaluated."""
        return self.evaluated == self.numbering.total

    def _take(self, numbers: np.ndarray, sizes: np.ndarray, values: np.ndarray) -> None:
        """Note the values of the next subsets; of equal values the first subsets are kept."""
        self.evaluated += len(numbers)
        for size in np.unique(sizes[values > self.size_values[sizes]]):
            place = np.flatnonzero(sizes == size)[np.argmax(values[sizes == size])]
            self.by_size[size], self.size_values[size] = numbers[place], values[place]
        good = values >= self.least
        numbers, values = np.concatenate([self.best, numbers[good]]), np.concatenate([self.best_values, values[good]])
        order = np.lexsort((numbers, -values))[:LISTED]
        self.best, self.best_values = numbers[order], values[order]

    @property
    def least(self) -> float:
        """The lowest value that is listed; 0 while there is room for all."""
        return float(self.best_values[-1]) if len(self.best) == LISTED else 0.0

    def values(self) -> dict[Subset, float]:
        """Return the values of the best subsets and of the best of each size, by units."""
        there = self.by_size != NOBODY
        numbers = np.concatenate([self.best, self.by_size[there]]).tolist()
        values = np.concatenate([self.best_values, self.size_values[there]]).tolist()
        return {self.numbering.units(number): value for number, value in zip(numbers, values, strict=True)}

    def progress(self) -> Progress:
        """Return the progress now; nothing is known of the gap before all subsets are done."""
        done, gap = self.evaluated, 0.0 if self.complete else 1.0
        best = self.lattice.terminal(self.numbering.units(int(self.best[0])))
        return Progress(0, done, 0, self.numbering.total, gap, best, self.budget.seconds, done)
