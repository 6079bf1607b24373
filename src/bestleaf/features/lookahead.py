"""Proposals on the lattice of feature subsets by exact values."""

from __future__ import annotations

from itertools import chain
from math import log, sqrt

import numpy as np

from bestleaf.features.rave import RaveProposals
from bestleaf.features.rollouts import Subset
from bestleaf.problems import State
from bestleaf.search.evaluator import Evaluator
from bestleaf.search.state import SearchState


class LookaheadProposals(RaveProposals):
    """Proposals by RAVE and by exact values.

    When a choice opens, every unit that may be added is evaluated (or as many units of highest RAVE as some seconds
    allow). What each unit adds to the value is remembered. After some choices a few units stand out: they add more than
    the luckiest of equally many useless units would. These are the *promising* units. A choice opens with the 7 of
    highest value; if fewer stand out, units of highest value and of highest RAVE follow in turn. Later the best
    promising unit that is missing enters. The best subset so far is improved by adding, dropping and exchanging
    promising units. The best rollouts are evaluated, too, because features that are useful only together are found
    there. The best subset that is found enters the graph. Because exact values lead, choices below the root open with a
    tenth of the rollouts.

    A value that is the mean of several scores takes long, because each score needs a fit of an estimator. Then the
    candidates of a step *race*: all get their first score, the better half the second one, and so on, until a few are
    left, which are evaluated. In this case all units count as promising, and the best subset is improved by additions
    first.
    """

    name = "lookahead"
    LESS = 10  # choices below the root open with a tenth of the rollouts
    DISTANCES = 4e9  # most distances computed for the values of one opening: some seconds
    FINALISTS = 5  # how many candidates are left at the end of a race
    NORMAL = 1.4826  # standard deviation of a normal distribution, divided by its median absolute deviation

    def __init__(self, state: SearchState, evaluator: Evaluator) -> None:
        super().__init__(state, evaluator)
        units, oracle = len(self.lattice.groups), self.lattice.oracle
        self.gains = np.zeros(units)  # value with the unit minus the median over all units, summed over its tries
        self.tries = np.zeros(units)  # choices at which the unit was tried
        self.best: tuple[float, Subset] = (-1.0, ())  # the best value so far, and its subset
        self.luck = sqrt(2.0 * log(max(2, units)))  # about the largest of `units` standard normal numbers
        self.affordable = max(self.BREADTH, int(self.DISTANCES / getattr(oracle, "part_cost", self.lattice.value_cost)))

    def rollouts(self, node: int) -> int:
        """Return the full number at the root, a tenth below it: there the earlier rollouts help."""
        most = super().rollouts(node)
        return most if node == 0 else -(-most // self.LESS)

    def opening_cost(self, node: int) -> int:
        """Also count a value for each unit that may be added."""
        return super().opening_cost(node) + min(self.affordable, self.lattice.count_children(self.graph.states[node]))

    def value(self, subset: Subset) -> float:
        """Return the exact value of a subset, -1 if the budget is spent."""
        value = self.evaluator.look_up(self.lattice.terminal(subset))
        if value is None:
            return -1.0
        if value > self.best[0]:
            self.best = (value, subset)
        return value

    def values_of(self, subsets: list[Subset]) -> list[float]:
        """Return the exact values of several subsets."""
        self.evaluator.prefetch([self.lattice.terminal(subset) for subset in subsets])
        return [self.value(subset) for subset in subsets]

    @property
    def races(self) -> bool:
        """Whether candidates race, because a value is the mean of several scores."""
        return self.lattice.parts > 1

    def first_means(self, subsets: list[Subset], folds: int) -> list[float]:
        """Return the mean score of each subset over its first folds, -1 if the budget is spent."""
        states = [self.lattice.terminal(subset) for subset in subsets]
        means = self.evaluator.batches.first_means(states, folds)
        return [means.get(state, -1.0) for state in states]

    def finalists(self, subsets: list[Subset]) -> list[Subset]:
        """Return the subsets to evaluate: the winners of a race or, without races, all of them."""
        left = list(dict.fromkeys(subsets))
        if not self.races:
            return left
        for folds in range(1, self.lattice.parts):
            if len(left) <= self.FINALISTS:
                break
            means = dict(zip(left, self.first_means(left, folds), strict=True))
            left.sort(key=means.__getitem__, reverse=True)  # stable: of equals the first stays first
            last = means[left[max(self.FINALISTS, -(-len(left) // 2)) - 1]]
            left = [subset for subset in left if means[subset] >= last]  # ties go on
        return left[: self.FINALISTS]

    def marks(self, subsets: list[Subset]) -> list[float]:
        """Return by what subsets are compared: their values or, with races, their first scores; -1 without budget."""
        if not self.races:
            return self.values_of(subsets)
        first = self.first_means(subsets, 1)
        self.values_of(self.finalists(subsets))
        return first

    def outstanding(self, gains: np.ndarray) -> np.ndarray:
        """Return which gains stand out; -inf stands for a gain that is not known."""
        known = gains[np.isfinite(gains)]
        if not len(known):
            return np.zeros(len(gains), bool)
        middle = np.median(known)
        return gains > middle + self.luck * self.NORMAL * np.median(np.abs(known - middle))

    def mean_gains(self) -> np.ndarray:
        """Return what each unit added on average, -inf if it was never tried."""
        return np.where(self.tries > 0, self.gains / np.maximum(self.tries, 1.0), -np.inf)

    def promising(self) -> np.ndarray:
        """Return the units whose mean gains stand out, the best first, but at least 7; with races all units."""
        gains = self.mean_gains()
        order = np.argsort(-gains, kind="stable")[: int((self.tries > 0).sum())]
        return order if self.races else order[: max(self.BREADTH, int(self.outstanding(gains).sum()))]

    def opening_units(self, node: int) -> list[int]:
        """Return the promising units of highest value here; if they are few, others by value and RAVE in turn.

        The exact value shows what a unit adds by itself, RAVE what it may add together with others.
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

    def opening(self, node: int) -> list[State]:
        """Return the states that open the choice, and those on the way to a better subset if there is one."""
        states = super().opening(node)
        met = set(states)
        return states + [state for state in self.improved() if state not in self.graph.node_of and state not in met]

    def improved(self) -> list[State]:
        """Improve the best subset as far as possible; return the states on the way to it.

        It is improved before rollouts are compared with it, because most features of a rollout are useless.
        """
        self._climb()
        self.values_of(self.finalists(self.state.rollouts.best_subsets()))
        self._climb()
        return [*self.lattice.path_to(self.lattice.terminal(self.best[1]))] if self.best[0] >= 0 else []

    def _climb(self) -> None:
        """Improve the best subset by single steps with promising units; always take the best step."""
        before, pool = None, self.promising()
        while self.best != before:
            before = self.best
            units = pool[: self.affordable // (len(before[1]) + 1)]
            near = [state[:-1] for state in self.lattice.neighbours(self.lattice.terminal(before[1]), units.tolist())]
            if self.races:
                self._race_by_size(before[1], near)
            else:
                self.values_of(near)

    def _race_by_size(self, subset: Subset, near: list[Subset]) -> None:
        """Race larger subsets; if none is better, evaluate all of them; then race smaller and equally large ones.

        So forward selection could not improve the best subset.
        """
        before, lattice = self.best, self.lattice
        larger = [lattice.grown(subset, unit) for unit in lattice.missing(subset)][: self.affordable]
        smaller = [one for one in near if len(one) < len(subset)]
        same = [one for one in near if len(one) == len(subset)]
        for field, race in ((larger, True), (larger, False), (smaller, True), (same, True)):
            if field and self.best == before:
                self.values_of(self.finalists(field) if race else field)

    def next_child(self, node: int) -> list[State]:
        """Return the child of highest exact value among a few."""
        subset, lattice = self.graph.states[node], self.lattice
        children = [lattice.grown(subset, unit) for unit in self.absent_units(node, self.BREADTH)]
        children = self.finalists(children)
        self.values_of(children)
        best = max(children, key=self.value)
        if self.value(best) > self.state.best_value():
            return [best, lattice.terminal(best)]
        return [best]

    def absent_units(self, node: int, most: int) -> list[int]:
        """Return units whose child is not in the graph: the promising ones, then those of highest RAVE."""
        units = super().absent_units(node, len(self.gains))
        stands_out = self.outstanding(self.mean_gains())
        return sorted(units, key=lambda unit: not stands_out[unit])[:most]
