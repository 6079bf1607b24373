"""Evaluate all subsets, block by block: the best thousand, the best of each size, and a summary of every block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol, cast

import numpy as np

from bestleaf.certificate.all_subsets import LISTED, BlockSummary, entry, summary_of
from bestleaf.certificate.numbering import Block, Numbering, count_numbers
from bestleaf.certificate.schema import Content
from bestleaf.engine.compile import clock
from bestleaf.features.kernels import blocks as kernels
from bestleaf.features.lattice import SubsetLattice
from bestleaf.features.oracle import BlockOracle
from bestleaf.features.rollouts import Subset
from bestleaf.search.budget import Budget, SecondInterrupt, deferred_interrupt
from bestleaf.search.result import Progress

SLICE = 0.2  # seconds between two looks at the clock, the callback and Ctrl-C
FIRST = 32  # numbers that are evaluated before the first look
MEASURED = 0.1  # seconds for measuring how long all subsets take
MOST_MEASURED = 2**18  # numbers that are evaluated for it

NOBODY = -1  # number of a subset that is not there


def fits_blocks(lattice: SubsetLattice) -> bool:
    """Whether all subsets of a lattice can be evaluated in blocks."""
    most = 0 if lattice.noisy else getattr(lattice.oracle, "most_in_blocks", 0)
    return count_numbers(len(lattice.allowed), lattice.limit - len(lattice.forced), most) <= most


class FastNumbering(Numbering):
    """A `Numbering` that lists consecutive subsets by a kernel."""

    def between(self, start: int, stop: int) -> np.ndarray:
        """Return the members of the subsets with the numbers from `start` to `stop` - 1."""
        found = np.zeros((stop - start, len(self.allowed)), np.uint8)
        if len(found):
            kernels.list_members(*self._path(start), len(self.allowed), self.most, found)
        return found.view(bool)

    def sizes(self, start: int, stop: int) -> np.ndarray:
        """Return how many units the subsets with these numbers have, those that are always in included."""
        found = np.zeros(stop - start, np.int64)
        if len(found):
            kernels.list_sizes(*self._path(start), len(self.allowed), self.most, found)
        return found + len(self.forced)

    def listed(self, start: int, stop: int) -> np.ndarray:
        """Return [numbers, most]: the places of the units of each subset among those allowed, in order, then 0."""
        found = np.zeros((stop - start, self.most), np.uint16)
        if len(found):
            kernels.list_places(*self._path(start), len(self.allowed), self.most, found)
        return found

    def _path(self, number: int) -> tuple[np.ndarray, int]:
        """Return the places of the units of a subset, with room for more, and how many there are."""
        places, path = self.places(number), np.zeros(self.most + 1, np.int64)
        path[: len(places)] = places
        return path, len(places)


def numbering_of(lattice: SubsetLattice) -> FastNumbering:
    """Return the numbers of the subsets of a lattice."""
    return FastNumbering(lattice.allowed, lattice.forced, lattice.limit)


def seconds_for_all(lattice: SubsetLattice) -> float:
    """Return about how many seconds all subsets take, by evaluating some of them; compiling does not count."""
    numbering, oracle = numbering_of(lattice), cast(BlockOracle, lattice.oracle)
    start = numbering.total // 2
    many, seconds = 0, 0.0
    oracle.block_values(Block(numbering, start, start + 1, lattice.groups))  # a device takes some time to begin
    while seconds < MEASURED and many < min(MOST_MEASURED, numbering.total - start):
        many = min(max(2 * many, 4), numbering.total - start)
        begun = clock()
        oracle.block_values(Block(numbering, start, start + many, lattice.groups))
        seconds = clock() - begun
    return numbering.total * seconds / many


@dataclass
class Standing:
    """What is known after the first so many numbers: all that a checkpoint keeps."""

    numbering: Numbering
    groups: list[list[int]]
    block: int  # numbers of a block
    at: int = 0  # the next number
    evaluated: int = 0  # subsets so far
    summaries: list[BlockSummary] = field(default_factory=list)  # of the blocks that are done
    part: np.ndarray = field(default_factory=lambda: np.empty(0))  # values of the block that is not done yet
    listed: list[Block] = field(default_factory=list)  # the subsets of these values
    best: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))  # numbers of the best subsets, best first
    best_values: np.ndarray = field(default_factory=lambda: np.empty(0))
    by_size: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))  # number of the best of each size
    size_values: np.ndarray = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        if not len(self.by_size):
            sizes = len(self.numbering.forced) + self.numbering.most + 1
            self.by_size, self.size_values = np.full(sizes, NOBODY), np.full(sizes, -1.0)

    @property
    def complete(self) -> bool:
        """Whether all subsets were evaluated."""
        return self.at == self.numbering.total

    @property
    def floor(self) -> float:
        """The value that a subset needs to be among the best that are listed; 0 while there is room for all."""
        return float(self.best_values[-1]) if len(self.best) == LISTED else 0.0

    @property
    def begun(self) -> int:
        """The first number of the block that is not done yet."""
        return len(self.summaries) * self.block

    def upcoming(self, many: int) -> Block:
        """Return the subsets with the next numbers, at most `many`, within one block."""
        stop = min(self.at + many, self.begun + self.block, self.numbering.total)
        return Block(self.numbering, self.at, stop, self.groups)

    def floors(self, block: Block) -> np.ndarray:
        """Return below which value each subset neither is among the best nor the best of its size."""
        return np.minimum(self.floor, self.size_values[block.sizes])

    def take(self, block: Block, values: np.ndarray) -> None:
        """Note the values of the upcoming subsets; at its end the block is summed up."""
        self.at = block.stop
        self.evaluated += len(block)
        self.listed.append(block)
        self.part = np.concatenate([self.part, values])
        if self.at in (self.begun + self.block, self.numbering.total):
            self._sum_up()

    def _sum_up(self) -> None:
        """Sum up the block that is not done yet, as far as it was evaluated."""
        numbers = np.concatenate([block.numbers for block in self.listed])
        values, sizes = self.part, np.concatenate([block.sizes for block in self.listed])
        self.summaries.append(summary_of(numbers - self.begun, values, self.floor))
        for size in np.unique(sizes[values > self.size_values[sizes]]):
            place = np.flatnonzero(sizes == size)[np.argmax(values[sizes == size])]
            self.by_size[size], self.size_values[size] = numbers[place], values[place]
        good = values >= self.floor
        numbers, values = np.concatenate([self.best, numbers[good]]), np.concatenate([self.best_values, values[good]])
        order = np.lexsort((numbers, -values))[:LISTED]
        self.best, self.best_values, self.part = numbers[order], values[order], np.empty(0)
        self.listed = []

    def ended(self) -> Standing:
        """Return a copy in which the block that is not done yet ends with the last number evaluated."""
        arrays = {name: getattr(self, name).copy() for name in ("by_size", "size_values")}
        found = replace(self, summaries=list(self.summaries), **arrays)
        if found.at > found.begun:
            found._sum_up()
        return found

    def values(self) -> dict[Subset, float]:
        """Return the values of the best subsets and of the best of each size, by units."""
        there = self.by_size != NOBODY
        numbers = np.concatenate([self.best, self.by_size[there]])
        values = np.concatenate([self.best_values, self.size_values[there]])
        first = np.unique(numbers, return_index=True)[1]
        members, forced = self.numbering.members(numbers), self.numbering.forced
        allowed = np.array(self.numbering.allowed, np.int64)
        return {
            tuple(sorted((*forced, *allowed[members[place]].tolist()))): float(values[place])
            for place in np.sort(first)
        }

    def entry(self) -> Content:
        """Return what a certificate says about all subsets."""
        return entry(self.at, self.block, self.floor, self.summaries)


class Saving(Protocol):
    """Where a standing is saved; see `SavedBlocks`."""

    def __enter__(self) -> object: ...

    def __exit__(self, *error: object) -> None: ...

    def save(self, reason: str | None, *, now: bool = False) -> None:
        """Save the standing if it is time, or in any case if it must be `now`."""


class Exhaustion:
    """Evaluates all subsets of a lattice within a budget.

    Parameters
    ----------
    lattice : SubsetLattice
        Its oracle computes the values of blocks.
    budget : Budget
        Seconds and values allowed.
    standing : Standing
        Where to begin.
    """

    def __init__(self, lattice: SubsetLattice, budget: Budget, standing: Standing) -> None:
        self.lattice, self.budget, self.standing = lattice, budget, standing
        self.oracle = cast(BlockOracle, lattice.oracle)
        self.reason: str | None = None  # why it ended
        self._pace = FIRST  # numbers that are evaluated between two looks at the clock

    @classmethod
    def of(cls, lattice: SubsetLattice, budget: Budget) -> Exhaustion:
        """Return one that begins with the first subset."""
        numbering = numbering_of(lattice)
        return cls(lattice, budget, Standing(numbering, lattice.groups, numbering.default_block()))

    def run(self, look: Callable[[Progress], object], saved: Saving) -> None:
        """Evaluate until all subsets are done, the budget is spent, or `look` returns True."""
        with deferred_interrupt() as interrupted, saved:
            self.budget.listen(interrupted)
            try:
                while self.reason is None:
                    self._slice()
                    self.budget.look()
                    if self.reason is None:
                        self.reason = "identified" if self.standing.complete else self.budget.hurried
                    if look(self.progress()) is True and self.reason is None:
                        self.reason = "callback"
                    saved.save(self.reason)
            except SecondInterrupt:
                raise
            except KeyboardInterrupt:  # raised by the callback or the oracle
                self.reason = "interrupted"
            saved.save(self.reason, now=True)

    def _slice(self) -> None:
        """Evaluate for about `SLICE` seconds; of the first subsets at least some, whatever the budget is."""
        standing = self.standing
        over = standing.evaluated > 0 and (self.budget.hurried or self._left() <= 0)
        if standing.complete or over:
            self.reason = None if standing.complete else self.budget.hurried or "max_samples"
            return
        block, begun = standing.upcoming(self._pace if standing.evaluated else FIRST), clock()
        if len(block) > self._left():
            block = standing.upcoming(max(1, self._left()))
        if len(block):
            standing.take(block, self.oracle.block_values(block, standing.floors(block)))
            affordable = (block.stop - block.start) * SLICE / max(clock() - begun, 1e-6)
            self._pace = int(max(1.0, min(affordable, 4.0 * self._pace)))
        else:  # no subset with these numbers may be chosen
            standing.take(block, np.empty(0))

    def _left(self) -> int:
        """Return how many values the budget still allows."""
        return self.budget.samples_left(self.standing.evaluated)

    def progress(self) -> Progress:
        """Return the progress now; nothing is known of the gap before all subsets are done."""
        now, gap = self.standing, 0.0 if self.standing.complete else 1.0
        return Progress(0, now.evaluated, 0, now.numbering.total, gap, self.best, self.budget.seconds, now.evaluated)

    @property
    def best(self) -> Subset:
        """The best subset so far, as a terminal leaf; blocks that are not done yet do not count."""
        standing = self.standing
        return self.lattice.terminal(standing.numbering.units(int(standing.best[0]) if len(standing.best) else 1))

    @property
    def best_value(self) -> float | None:
        """Its value; None before the first block is done."""
        return float(self.standing.best_values[0]) if len(self.standing.best) else None
