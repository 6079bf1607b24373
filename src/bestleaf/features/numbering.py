"""All subsets by number: the best thousand and the best of each size are leaves of a record, the others are counted.

Every subset has a number: its place in the order of a tree. Below a subset stand the subsets with one more unit, which
comes after all of its units: (0), (0, 1), (0, 1, 2), (0, 2), (1), (1, 2), (2) for three units. So a subset begins with
the units of the one it stands below, and its distances follow from those of the other by adding one unit at the end.
The sums are then added in the order of the columns, as they are for a single subset, and no value differs in its last
digit. (A Gray code also changes one unit at a time, but its sums would be added in another order.)

Subsets were evaluated in this order. Every one of them above `least` is a leaf of the certificate.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import comb

import numpy as np

from bestleaf.proof.record import Choice, count_subsets

LISTED = 1000  # best subsets that are leaves of the certificate
MOST_NUMBERS = 2**30  # that are given to subsets


class Numbering:
    """Numbers from 0 to `total` - 1 for all subsets of units that may be chosen.

    Parameters
    ----------
    allowed, forced : sequence of int
        Units that may be added, and units that are always in.
    limit : int
        The largest number of units, those that are always in included.
    """

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

    def units(self, number: int) -> tuple[int, ...]:
        """Return the units of the subset with this number, those that are always in included."""
        added = self.allowed[self.members(np.array([number]))[0]]
        return tuple(np.sort(np.concatenate([self.forced, added])).tolist())

    def columns(self, members: np.ndarray, groups: Sequence[Sequence[int]]) -> np.ndarray:
        """Return [subsets, columns]: which columns subsets have, given by their members; units have `groups`."""
        owner = np.zeros(sum(map(len, groups)), np.int64)
        for unit, group in enumerate(groups):
            owner[list(group)] = unit
        every = np.zeros((len(members), len(groups)), bool)
        every[:, self.allowed], every[:, self.forced] = members, True
        return every[:, owner]
