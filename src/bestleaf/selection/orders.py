"""Orders of units, best first, found on the training rows of a part.

An order is a function of a part. It begins with the forced units; ties go to the unit that stands first in the space.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from bestleaf.features.kernels import forest
from bestleaf.selection.folds import Part

Units = Sequence[int] | np.ndarray
Check = Callable[[], object]  # raises an error if time is over

ORDERS = ("elimination", "forward")  # where both are equally good, the first one is taken
RIDGE = 0.01
DEPENDENT = 1e-6  # share of a column that the columns before leave; below it the column is one of their sums


class Forest:
    """Forests on some units of a part; see the kernel for how trees are grown."""

    def __init__(self, part: Part, check: Check, *, depth: int) -> None:
        self.part, self.check, self.depth = part, check, depth
        self.codes, self.new_codes = part.codes
        known, new, outputs = len(part.y), len(part.new_y), part.targets.shape[1]
        # Steps of the grid of real targets on each side of 0.
        self.unit = np.abs(part.y).max() / 2.0**30 if part.real else 1.0
        self.targets = np.rint(part.y / self.unit).astype(np.int64)
        self.scratch = forest.Scratch.of(known, new, outputs, depth)

    def grown(self, units: Units, trees: int, tried: int, seed: int, *, predict: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return the importance of each unit, and the predictions [new rows, outputs] of a forest on some units.

        The best of several cuts through noise explains something, too, and a column of many values has many nodes in
        which it can. What chance explains does not count as importance.
        """
        of_units = [self.part.numbers_of[unit] for unit in units]
        used = np.concatenate(of_units)
        new_codes = self.new_codes if predict else self.new_codes[:, :0]
        table = forest.GrowingRows(self.codes, used, self.targets, new_codes)
        rows = new_codes.shape[1]
        scratch = self.scratch._replace(shuffled=np.empty(len(used), np.int64), new_row=self.scratch.new_row[:rows])
        outputs = self.part.targets.shape[1]
        # What the best of so many cuts through noise hardly ever exceeds, in variances; predictions do not ask for it.
        chance = 0.0 if predict else 1.0 + 2.0 * float(np.log(tried))
        shape = forest.TreeShape(outputs, tried, 2, self.depth, chance)  # two rows in a leaf at least
        importance, out = np.zeros(len(used)), np.zeros((rows, outputs))
        # Codes that a forest looks at between two looks at the clock: about a tenth of a second.
        at_once = max(1, int(1e8 / (len(self.targets) * min(tried, len(used)) * self.depth)))
        for begin in range(0, trees, at_once):
            self.check()
            forest.grow(table, shape, scratch, seed, (begin, min(trees, begin + at_once)), importance, out)
        ends = np.cumsum([len(some) for some in of_units])
        return np.add.reduceat(importance, ends - [len(some) for some in of_units]), out * (self.unit / trees)


def elimination(part: Part, check: Check, effort: float = 1.0) -> np.ndarray:
    """Return the units in the order in which forests drop the least important fifth, the last ones left first.

    Each forest counts as much as all before it. With half the `effort` there are half as many trees.
    """
    grow, forced = Forest(part, check, depth=12), set(part.space.forced)
    every, seed = np.array(part.space.everything), part.seed

    def importance(units: np.ndarray, trees: int, number: int) -> np.ndarray:
        columns = sum(len(part.numbers_of[unit]) for unit in units)
        tried = max(int(np.ceil(columns**0.5)), min(int(np.ceil(columns / 3)), 100))  # columns tried at a node
        found = grow.grown(units, round(effort * trees), tried, 1000 * seed + number, predict=False)[0]
        return found / max(found.sum(), 1e-12)

    memo = np.zeros(len(part.columns))
    memo[every] = importance(every, 200, 0)
    always = np.array([unit for unit in every if unit in forced], np.int64)
    left = _best_first(np.array([unit for unit in every if unit not in forced], np.int64), memo)
    tail: list[int] = []
    for number in range(1, len(every)):
        if len(left) <= 2:
            break
        units = np.sort(np.concatenate([always, left]))
        found = importance(units, 50, number)
        memo[units] = (memo[units] / max(memo[units].sum(), 1e-12) + found) / 2
        left = _best_first(left, memo)
        drop = max(1, len(left) // 5)  # of the units left, the least important fifth is dropped
        tail, left = [*left[-drop:].tolist(), *tail], left[:-drop]
    return np.array([*_best_first(always, memo).tolist(), *left.tolist(), *tail])


def _best_first(units: np.ndarray, memo: np.ndarray) -> np.ndarray:
    units = np.sort(units)
    return units[np.argsort(-memo[units], kind="stable")]


def forward(part: Part, check: Check) -> np.ndarray:
    """Return the units in the order in which they explain most of what is left, by least squares on the targets.

    After 60 steps, or when no unit adds anything, the others follow by what they would add.
    """
    state = _Residuals(part)
    forced, left = list(part.space.forced), [unit for unit in part.space.everything if unit not in part.space.forced]
    order: list[int] = []
    while left:
        check()
        candidates = [unit for unit in forced if unit not in order] or left
        gains = state.gains(candidates)
        best = candidates[int(np.argmax(gains))]
        if candidates is left and (len(order) >= min(60, len(part.y) - 2) or state.room(best) < DEPENDENT):
            return np.array([*order, *(left[place] for place in np.argsort(-gains, kind="stable"))])
        state.enter(best)
        order.append(best)
        if candidates is left:
            left.remove(best)
    return np.array([*order, *(unit for unit in forced if unit not in order)])


class _Residuals:
    """What columns have in common with the targets, once the columns entered so far are taken out of both."""

    def __init__(self, part: Part) -> None:
        rows = len(part.y)
        self.table, self.columns = part.numbers / rows**0.5, part.numbers_of
        centred = part.targets - part.targets.mean(axis=0)
        self.common = self.table.T @ centred  # [columns, outputs]
        self.norm = (self.table**2).sum(axis=0)
        self.taken = np.zeros((self.table.shape[1], 0))  # [columns, columns entered]
        self.first = np.array([some[0] for some in self.columns])
        groups = {unit: some for unit, some in enumerate(self.columns) if len(some) > 1}
        self.blocks = {unit: self.table[:, some].T @ self.table[:, some] for unit, some in groups.items()}
        self.noise = (centred**2).sum() / rows  # what a column without any relation explains on average

    def gains(self, units: Units) -> np.ndarray:
        """Return what each unit would explain; of a group, less what its further columns would explain by chance."""
        each = (self.common**2).sum(axis=1) / (self.norm + RIDGE)
        found = each[self.first]
        for unit, block in self.blocks.items():
            some = self.columns[unit]
            rest = block - self.taken[some] @ self.taken[some].T + RIDGE * np.eye(len(some))
            explained = float((self.common[some] * np.linalg.solve(rest, self.common[some])).sum())
            found[unit] = explained - (len(some) - 1) * self.noise
        return found[list(units)]

    def room(self, unit: int) -> float:
        """Return how much of a unit the columns entered so far leave."""
        return float(self.norm[self.columns[unit]].max())

    def enter(self, unit: int) -> None:
        """Take the columns of a unit out of all others and of the targets."""
        for column in self.columns[unit].tolist():
            if self.norm[column] < DEPENDENT:
                continue
            scale = self.norm[column] ** 0.5
            shared = (self.table.T @ self.table[:, column] - self.taken @ self.taken[column]) / scale
            self.common -= np.outer(shared, self.common[column] / scale)
            self.norm -= shared**2
            self.taken = np.column_stack([self.taken, shared])


def pooled(orders: Sequence[np.ndarray]) -> np.ndarray:
    """Return one order from several: by the mean of log(1 + place)."""
    return np.argsort(np.mean([np.log1p(np.argsort(order)) for order in orders], axis=0), kind="stable")
