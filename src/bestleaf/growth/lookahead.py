"""By which child the graph grows: by exact values of what stands out."""

from __future__ import annotations

from itertools import chain
from math import log, sqrt
from typing import Any

import numpy as np

from bestleaf.features import STOP, Subset
from bestleaf.graph import GrowingGraph
from bestleaf.growth.proposals import RaveProposals
from bestleaf.storage import Saved
from bestleaf.storage.states import decoded, encoded


class LookaheadProposals(RaveProposals):
    """RAVE, then the exact values of additions, and of exchanges around the best subset.

    When a choice opens, all units that may be added are evaluated (or as many of highest RAVE as can be in seconds).
    What a unit added to its value is remembered, so that after some choices the units stand out that add more than the
    luckiest of so many useless ones would. These are the *promising* units: a choice opens with the 7 of highest value,
    later the best of those not there enters, and the best subset so far is improved by adding, dropping and exchanging
    them. The rollouts of highest value are evaluated, too: features that tell something only together show there. What
    all that finds enters. Where fewer than 7 units stand out, those of highest value and of highest RAVE follow in
    turn. As exact values lead, choices below the root open with a tenth of the rollouts.

    Where values are dear (an estimator is fitted several times for one), the candidates of a step race: all get the
    first of the fits, the better half the second, and so on, until a few are left that are evaluated. Then all units
    may be added, not only those that are promising, and the best subset is improved by additions first.
    """

    LESS = 10
    DISTANCES = 4e9  # computed for the values of one opening, at most: some seconds
    FINALISTS = 5  # of a race, evaluated
    NORMAL = 1.4826  # standard deviation of a normal distribution over its median absolute deviation

    def __init__(self, graph: GrowingGraph, *ground: Any) -> None:
        super().__init__(graph, *ground)
        units, oracle = len(self.lattice.groups), self.lattice.oracle
        self.gains = np.zeros(units)  # of each unit over the median of all, summed over the choices it was tried at
        self.tries = np.zeros(units)
        self.best: tuple[float, Subset] = (-1.0, ())  # of the subsets evaluated
        self.luck = sqrt(2.0 * log(max(2, units)))  # standard deviations by which the luckiest of so many is ahead
        self.affordable = max(self.BREADTH, int(self.DISTANCES / getattr(oracle, "part_cost", self.lattice.value_cost)))

    def rollouts(self, node: int) -> int:
        """Return the full number at the root, a tenth below it: by then the rollouts of the whole search tell."""
        most = super().rollouts(node)
        return most if node == 0 else -(-most // self.LESS)

    def value(self, subset: Subset) -> float:
        """Return the exact value of a subset, -1 when the budget is spent."""
        value = self.values.look_up((*subset, STOP))
        if value is None:
            return -1.0
        if value > self.best[0]:
            self.best = (value, subset)
        return value

    def values_of(self, subsets: list[Subset]) -> list[float]:
        """Return the exact values of several subsets."""
        self.values.prefetch([(*subset, STOP) for subset in subsets])
        return [self.value(subset) for subset in subsets]

    @property
    def dear(self) -> bool:
        """Whether values come in parts, so that a glimpse at all candidates pays."""
        return self.lattice.parts > 1

    def finalists(self, subsets: list[Subset]) -> list[Subset]:
        """Return those worth an exact value: all of them or, where values are dear, the winners of a race."""
        left = list(dict.fromkeys(subsets))
        for part in range(1, self.lattice.parts if self.dear else 0):
            if len(left) <= self.FINALISTS:
                break
            seen = self.values.glimpse([(*subset, STOP) for subset in left], part)
            left.sort(key=lambda subset: -seen.get((*subset, STOP), -1.0))
            last = seen.get((*left[max(self.FINALISTS, -(-len(left) // 2)) - 1], STOP), -1.0)
            left = [subset for subset in left if seen.get((*subset, STOP), -1.0) >= last]  # ties go on
        return left[: self.FINALISTS] if self.dear else left

    def marks(self, subsets: list[Subset]) -> list[float]:
        """Return what all subsets are judged by, their values or a glimpse at them; -1 when the budget is spent."""
        if not self.dear:
            return self.values_of(subsets)
        seen = self.values.glimpse([(*subset, STOP) for subset in subsets], 1)
        self.values_of(self.finalists(subsets))
        return [seen.get((*subset, STOP), -1.0) for subset in subsets]

    def outstanding(self, gains: np.ndarray) -> np.ndarray:
        """Return which gains stand out; -inf stands for one not known."""
        known = gains[np.isfinite(gains)]
        if not len(known):
            return np.zeros(len(gains), bool)
        middle = np.median(known)
        return gains > middle + self.luck * self.NORMAL * np.median(np.abs(known - middle))

    def mean_gains(self) -> np.ndarray:
        """Return what each unit added on average, -inf where it was never tried."""
        return np.where(self.tries > 0, self.gains / np.maximum(self.tries, 1.0), -np.inf)

    def promising(self) -> np.ndarray:
        """Return the units that stand out on average, the best first; if they are few, the 7 best; for a race all."""
        gains = self.mean_gains()
        order = np.argsort(-gains, kind="stable")
        order = order[: int((self.tries > 0).sum())]
        return order if self.dear else order[: max(self.BREADTH, int(self.outstanding(gains).sum()))]

    def opening_units(self, node: int) -> list[int]:
        """Return the promising units of highest value here; if they are few, others by value and RAVE in turn.

        Exact values see what a unit adds by itself, RAVE what it may add in company.
        """
        subset = self.graph.states[node]
        units = self.best_units(node, self.affordable)
        values = np.full(len(self.gains), -np.inf)
        values[units] = self.marks([self.lattice.grown(subset, unit) for unit in units])
        if not units or values[units].min() < 0:  # nothing to add, or the budget is spent
            return units[: self.BREADTH]
        self.gains[units] += values[units] - np.median(values[units])
        self.tries[units] += 1
        ranked = sorted(units, key=lambda unit: -values[unit])
        stands_out = self.outstanding(self.mean_gains()) | self.outstanding(values)
        turns = chain.from_iterable(zip(ranked, units, strict=True))
        return list(dict.fromkeys(chain((unit for unit in ranked if stands_out[unit]), turns)))[: self.BREADTH]

    def opening(self, node: int) -> list[Any]:
        """Return what RAVE's would with these units, and the way to a better subset if there is one near the best."""
        states = super().opening(node)
        met = set(states)
        return states + [state for state in self.improved() if state not in self.graph.node_of and state not in met]

    def improved(self) -> list[Any]:
        """Return the way to the best subset, improved as far as it goes.

        A rollout takes its place only if it is better than what came of it: most of what a rollout holds is noise.
        """
        self._climb()
        self.values_of(self.finalists(self.oracle.best_subsets()))
        self._climb()
        return self.lattice.path_to((*self.best[1], STOP)) if self.best[0] >= 0 else []

    def _climb(self) -> None:
        """Improve the best subset by single steps with promising units, always the best one."""
        before, pool = None, self.promising()
        while self.best != before:
            before = self.best
            units = pool[: self.affordable // (len(before[1]) + 1)]
            near = [state[:-1] for state in self.lattice.neighbours((*before[1], STOP), units.tolist())]
            if self.dear:
                self._race_by_size(before[1], near)
            else:
                self.values_of(near)

    def _race_by_size(self, subset: Subset, near: list[Subset]) -> None:
        """Let larger subsets race; if none is better evaluate all; then let smaller ones and equally large ones race.

        So the best subset is never one that forward selection would add to.
        """
        before, lattice = self.best, self.lattice
        larger = [lattice.grown(subset, unit) for unit in lattice.missing(subset)][: self.affordable]
        smaller = [one for one in near if len(one) < len(subset)]
        same = [one for one in near if len(one) == len(subset)]
        for field, race in ((larger, True), (larger, False), (smaller, True), (same, True)):
            if field and self.best == before:
                self.values_of(self.finalists(field) if race else field)

    def next(self, node: int) -> list[Any]:
        """Return the terminal leaf if it is not in the graph, otherwise the best of a few children."""
        subset, lattice = self.graph.states[node], self.lattice
        if subset and (*subset, STOP) not in self.graph.node_of:
            return [(*subset, STOP)]
        children = [lattice.grown(subset, unit) for unit in self.absent_units(node, self.BREADTH)]
        children = self.finalists(children)
        self.values_of(children)
        best = max(children, key=self.value)
        if self.value(best) > self.values.best_value():
            return [best, (*best, STOP)]
        return [best]

    def absent_units(self, node: int, most: int) -> list[int]:
        """Return the promising units whose child is not in the graph, then those of highest RAVE."""
        units = super().absent_units(node, len(self.gains))
        stands_out = self.outstanding(self.mean_gains())
        return sorted(units, key=lambda unit: not stands_out[unit])[:most]

    def snapshot(self) -> dict[str, Any]:
        """Return the gains and the best subset, too."""
        best = None if self.best[0] < 0 else encoded(self.best[1])
        return {**super().snapshot(), "gains": self.gains.copy(), "tries": self.tries.copy(), "best": best}

    def restore(self, saved: Saved, values: dict[Any, float]) -> None:
        """Take in a snapshot; the best subset must have been evaluated."""
        super().restore(saved, values)
        units = len(self.gains)
        self.tries = saved.array("tries", (units,), 0.0, 2.0**53).copy()
        self.gains = saved.array("gains", (units,), -(2.0**53), 2.0**53).copy()
        best = saved.get("best")
        if best is not None:
            subset = decoded(best)
            if (*subset, STOP) not in values:
                raise ValueError(f"the best subset must have been evaluated, got {subset}")
            self.best = (values[(*subset, STOP)], subset)
