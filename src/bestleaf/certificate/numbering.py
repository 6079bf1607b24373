"""The numbers of subsets: all subsets that may be chosen, in one order, cut into blocks of consecutive numbers.

The order is that of a tree. Below a subset stand the subsets with one more unit, which comes after all of its units:
(), (0), (0, 1), (0, 1, 2), (0, 2), (1), (1, 2), (2) for three units. So a subset begins with the units of the one it
stands below, and its distances follow from those of the other by adding one unit at the end. The sums are then added in
the order of the columns, as they are for a single subset, and no value differs in its last digit. (A Gray code also
changes one unit at a time, but its sums would be added in another order.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, comb, log2

import numpy as np

from bestleaf.certificate.schema import Content

MOST_NUMBERS = 2**30  # that are given to subsets
MOST_BLOCKS = 2048  # of the default size
SMALLEST_BLOCK = 1024  # a smaller one takes longer to sum up than to evaluate


def count_numbers(units: int, most: int, beyond: int = MOST_NUMBERS) -> int:
    """Return how many subsets of at most `most` of some units there are; counting ends beyond a number."""
    total = 0
    for size in range(most + 1):
        total += comb(units, size)
        if total > beyond:
            break
    return total


class Numbering:
    """Numbers from 0 to `total` - 1 for all subsets of units that may be chosen.

    Parameters
    ----------
    allowed, forced : sequence of int
        Units that may be added, and units that are always in.
    limit : int
        The largest number of units, those that are always in included.
    """

    def __init__(self, allowed: Sequence[int], forced: Sequence[int] = (), limit: int = 1) -> None:
        self.allowed, self.forced = sorted(allowed), sorted(forced)
        self.most = min(limit - len(self.forced), len(self.allowed))  # units that may be added
        self.total = count_numbers(len(self.allowed), self.most)
        if self.total > MOST_NUMBERS:
            raise ValueError(f"there must be at most {MOST_NUMBERS:,} subsets to be numbered, got more")

    @classmethod
    def of(cls, choice: Content) -> Numbering:
        """Return the numbering of the choice in a certificate."""
        return cls(choice["allowed"], choice["forced"], choice["limit"])

    @cached_property
    def table(self) -> np.ndarray:
        """[units after the last one, units that may still be added]: how many subsets stand at or below a subset."""
        units = len(self.allowed)
        counts = [[comb(after, size) for size in range(self.most + 1)] for after in range(units + 1)]
        return np.cumsum(np.array(counts, np.int64), axis=1)

    def default_block(self) -> int:
        """Return how many numbers a block has if nobody says otherwise: a power of 2."""
        return int(2 ** max(ceil(log2(SMALLEST_BLOCK)), ceil(log2(self.total / MOST_BLOCKS))))

    def below(self, place: int, size: int) -> int:
        """Return how many subsets begin with `size` units and then the allowed unit at this place."""
        return int(self.table[len(self.allowed) - 1 - place, self.most - size - 1]) if size < self.most else 0

    def number(self, units: Sequence[int]) -> int:
        """Return the number of a subset that may be chosen."""
        place_of = {unit: place for place, unit in enumerate(self.allowed)}
        found, before, forced = 0, -1, set(self.forced)
        for size, place in enumerate(sorted(place_of[unit] for unit in units if unit not in forced)):
            found += 1 + sum(self.below(passed, size) for passed in range(before + 1, place))
            before = place
        return found

    def members(self, numbers: np.ndarray) -> np.ndarray:
        """Return [numbers, allowed units]: which units, apart from those that are always in, each subset has."""
        found = np.zeros((len(numbers), len(self.allowed)), bool)
        left, size = numbers.astype(np.int64) - 1, np.zeros(len(numbers), np.int64)
        waiting = left >= 0  # the unit that the subset ends with comes later
        for place in range(len(self.allowed)):
            if not waiting.any():
                break
            below = self.table[len(self.allowed) - 1 - place, np.maximum(self.most - size - 1, 0)]
            taken = waiting & (left < below)
            found[:, place] = taken
            waiting &= ~(taken & (left == 0))
            left -= np.where(taken, 1, below)
            size += taken
        return found

    def between(self, start: int, stop: int) -> np.ndarray:
        """Return the members of the subsets with the numbers from `start` to `stop` - 1."""
        return self.members(np.arange(start, stop))

    def sizes(self, start: int, stop: int) -> np.ndarray:
        """Return how many units the subsets with these numbers have, those that are always in included."""
        return len(self.forced) + self.between(start, stop).sum(axis=1)

    def listed(self, start: int, stop: int) -> np.ndarray | None:
        """Return [numbers, most]: the places of the units of each subset among those allowed; None if it takes long."""
        return None

    def places(self, number: int) -> list[int]:
        """Return the places of the units of a subset among those allowed."""
        found: list[int] = []
        left, place = number - 1, 0
        while left >= 0:
            below = self.below(place, len(found))
            if left < below:
                found.append(place)
            left -= 1 if left < below else below
            place += 1
        return found

    def units(self, number: int) -> tuple[int, ...]:
        """Return the units of the subset with this number, those that are always in included."""
        return tuple(sorted((*self.forced, *(self.allowed[place] for place in self.places(number)))))


@dataclass(frozen=True)
class Block:
    """The subsets with the numbers from `start` to `stop` - 1, as far as they may be chosen.

    Parameters
    ----------
    numbering : Numbering
        What gives subsets their numbers.
    start, stop : int
        The first number, and the one after the last.
    groups : list of list of int
        The columns of each unit.
    """

    numbering: Numbering
    start: int
    stop: int
    groups: Sequence[Sequence[int]]

    @cached_property
    def _members(self) -> np.ndarray:
        """Which units each number has, beside those that are always in."""
        return self.numbering.between(self.start, self.stop)

    @property
    def _kept(self) -> slice:
        """Which of the numbers are those of subsets that may be chosen: nobody can choose no unit at all."""
        return slice(int(self.start == 0 and not self.numbering.forced), None)

    @cached_property
    def numbers(self) -> np.ndarray:
        """The numbers of the subsets that may be chosen, in order."""
        return np.arange(self.start, self.stop)[self._kept]

    @cached_property
    def sizes(self) -> np.ndarray:
        """How many units each of these subsets has."""
        return self.numbering.sizes(self.start, self.stop)[self._kept]

    @property
    def widest(self) -> int:
        """How many columns a subset has at most."""
        widths = sorted((len(self.groups[unit]) for unit in self.numbering.allowed), reverse=True)
        return sum(len(self.groups[unit]) for unit in self.numbering.forced) + sum(widths[: self.numbering.most])

    def __len__(self) -> int:
        return len(self.numbers)

    def listed(self) -> np.ndarray | None:
        """Return [subsets, largest size]: the columns of each subset in order, then column 0.

        None if the numbering does not list them, or if units are not single columns in order.
        """
        numbering, columns = self.numbering, [self.groups[unit][0] for unit in self.numbering.allowed]
        single = all(len(self.groups[unit]) == 1 for unit in numbering.allowed)
        if numbering.forced or not single or columns != sorted(columns):
            return None
        places = numbering.listed(self.start, self.stop)
        if places is None or columns == list(range(len(columns))):
            return None if places is None else places[self._kept]
        return np.array(columns)[places[self._kept]]

    def columns(self, many: int) -> np.ndarray:
        """Return [subsets, `many` columns]: which columns each of these subsets has."""
        members, numbering = self._members[self._kept], self.numbering
        found = np.zeros((len(members), many), bool)
        if all(len(self.groups[unit]) == 1 for unit in numbering.allowed):
            found[:, [self.groups[unit][0] for unit in numbering.allowed]] = members
            found[:, [column for unit in numbering.forced for column in self.groups[unit]]] = True
            return found
        for unit in numbering.forced:
            found[:, self.groups[unit]] = True
        for place, unit in enumerate(numbering.allowed):
            found[:, self.groups[unit]] |= members[:, place, None]
        return found
