"""Evaluate all subsets: the best thousand, the best of each size, and how many were evaluated.

Every subset has a number: its place in the order of a tree. Below a subset stand the subsets with one more unit, which
comes after all of its units: (0), (0, 1), (0, 1, 2), (0, 2), (1), (1, 2), (2) for three units. So a subset begins with
the units of the one it stands below, and its distances follow from those of the other by adding one unit at the end.
The sums are then added in the order of the columns, as they are for a single subset, and no value differs in its last
digit. (A Gray code also changes one unit at a time, but its sums would be added in another order.)

Subsets are evaluated in this order. Every one of them above `least` is a leaf of the certificate.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from bestleaf.engine.compile import clock
from bestleaf.memory import Answers, Memory
from bestleaf.proof.record import Choice, count_subsets
from bestleaf.search.budget import Budget
from bestleaf.search.result import Progress

if TYPE_CHECKING:
    from bestleaf.features.lattice import FeatureLattice
    from bestleaf.features.rollouts import Subset

LISTED = 1000  # best subsets that are leaves of the certificate
MOST_NUMBERS = 2**30  # that are given to subsets
SLICE = 0.5  # seconds between two looks at the clock, the callback and Ctrl-C
NOBODY = -1  # number of a subset that is not there


class Numbering:
    """Numbers from 0 to `total` - 1 for all subsets of units: those of `forced` are always in, and count in `limit`."""

    def __init__(self, allowed: Sequence[int], forced: Sequence[int], limit: int) -> None:
        self.allowed, self.forced = np.array(sorted(allowed), np.int64), np.array(sorted(forced), np.int64)
        self.most = min(limit - len(forced), len(allowed))  # units that may be added
        self.total = count_subsets(allowed, forced, limit, MOST_NUMBERS)
        if self.total > MOST_NUMBERS:
            raise ValueError(f"there must be at most {MOST_NUMBERS:,} subsets to be numbered, got more")

    @classmethod
    def of(cls, choice: Choice) -> Numbering:
        """Return the numbering of what may be chosen by a record."""
        return cls(choice.allowed, choice.forced, choice.limit)

    @cached_property
    def table(self) -> np.ndarray:
        """[units after the last one, units that may still be added]: how many subsets stand at or below a subset."""
        units = len(self.allowed)
        counts = [[comb(after, size) for size in range(self.most + 1)] for after in range(units + 1)]
        return np.cumsum(np.array(counts, np.int64), axis=1)

    def members(self, numbers: np.ndarray) -> np.ndarray:
        """Return [numbers, allowed units]: which units, apart from those that are always in, each subset has."""
        found = np.zeros((len(numbers), len(self.allowed)), bool)
        left = numbers.astype(np.int64) - (len(self.forced) > 0)  # the first of them all adds nothing to `forced`
        waiting, size = left >= 0, np.zeros(len(numbers), np.int64)
        for place in range(len(self.allowed)):
            below = self.table[len(self.allowed) - 1 - place, np.maximum(self.most - size - 1, 0)]
            taken = waiting & (left < below)
            found[:, place] = taken
            waiting &= ~(taken & (left == 0))  # the unit that the subset ends with
            left -= np.where(taken, 1, below)
            size += taken
        return found

    def units(self, numbers: np.ndarray) -> list[tuple[int, ...]]:
        """Return the units of the subsets with these numbers, those that are always in included."""
        members, forced = self.members(numbers), self.forced.tolist()
        return [tuple(sorted([*forced, *self.allowed[one].tolist()])) for one in members]

    def columns(self, members: np.ndarray, groups: Sequence[Sequence[int]]) -> np.ndarray:
        """Return [subsets, columns]: which columns subsets have, given by their members; units have `groups`."""
        owner = np.zeros(sum(map(len, groups)), np.int64)
        for unit, group in enumerate(groups):
            owner[list(group)] = unit
        every = np.zeros((len(members), len(groups)), bool)
        every[:, self.allowed], every[:, self.forced] = members, True
        return every[:, owner]


class Exhaustion:
    """Evaluates all subsets of a lattice within a budget: a job for `run_in_slices`.

    The oracle computes the values of many subsets at once. A memory keeps the values of an estimator; those of votes
    are cheap, and are computed again after a kill.
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
        numbers = np.concatenate([self.best, self.by_size[there]])
        values = np.concatenate([self.best_values, self.size_values[there]]).tolist()
        return dict(zip(self.numbering.units(numbers), values, strict=True))

    def progress(self) -> Progress:
        """Return the progress now; nothing is known of the gap before all subsets are done."""
        done, gap = self.evaluated, 0.0 if self.complete else 1.0
        best = self.lattice.terminal(self.numbering.units(self.best[:1])[0])
        return Progress(0, done, 0, self.numbering.total, gap, best, self.budget.seconds, done)
