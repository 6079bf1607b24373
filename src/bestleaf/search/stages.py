"""What may follow once the search is settled: stages that use the same graph, samples and budgets."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from bestleaf._kernels.loop import press
from bestleaf._records import BAD_BOUND, EVALUATE, EXACT, LIMITED, OPEN, SOLVED

SLICE = 0.05  # seconds


class Stage(Protocol):
    """Work after the search, done in slices."""

    def slice(self, search: Any) -> bool:
        """Work for a moment; return True when there is nothing left to do."""


class SubsetsOfAnswers:
    """Evaluate the subsets of the best answers so far; those that come close to the best join the graph.

    What the search added on its way may be of no use in the end, several features together. If a subset beats the best,
    the search goes on from there.
    """

    ANSWERS = 3  # whose subsets are evaluated
    LARGEST = (
        8  # features of an answer whose subsets are all evaluated (255); of a larger one those that lack one or two
    )

    def __init__(self, lattice: Any) -> None:
        self.lattice = lattice
        self._waiting: list[tuple[int, ...]] | None = None

    def slice(self, search: Any) -> bool:
        """Evaluate for one slice."""
        if self._waiting is None:
            self._waiting = self._candidates(search)
        until = perf_counter() + SLICE
        while self._waiting and perf_counter() < until:
            if search.look_up(self._waiting.pop()) is None:
                return True
        if self._waiting:
            return False
        best = search.growth.best_value()
        close = [state for state, value in search.values.items() if value >= best - search.options.epsilon]
        fresh = [state for state in close if state not in search.graph.node_of]
        search.join([step for state in fresh for step in self.lattice.path_to(state)])
        if fresh and max(search.values[state] for state in fresh) > best:
            self._waiting = None
            search.reopen()
        return True

    def _candidates(self, search: Any) -> list[tuple[int, ...]]:
        """Return the terminal leaves of subsets that have no value yet, the largest last."""
        known, kinds = search.known.known[: len(search.graph)], search.graph.kinds
        leaves = np.flatnonzero((kinds == EXACT) & (known["count"] > 0))
        leaves = leaves[np.argsort(-known["lower"][leaves], kind="stable")][: self.ANSWERS]
        met = {search.graph.states[leaf] for leaf in np.flatnonzero((kinds == EXACT) & (known["count"] > 0))}
        found: dict[tuple[int, ...], None] = {}
        for leaf in leaves:
            found.update(dict.fromkeys(self.lattice.subsets_of(search.graph.states[leaf], self.LARGEST)))
        return sorted((state for state in found if state not in met and state not in search.values), key=len)


class SmallerAnswer:
    """Make small answers pass the final test.

    Terminal leaves that are smaller than the best one evaluated are evaluated too; then the upper bounds of all leaves
    are narrowed until the smallest leaf within epsilon of the best passes, or cannot. That takes at most as many
    samples as the search has taken.
    """

    def __init__(self, size: Callable[[Any], int]) -> None:
        self.size = size
        self._allowed: int | None = None
        self._failed: set[int] = set()

    def slice(self, search: Any) -> bool:
        """Evaluate or narrow for one slice."""
        if self._allowed is None:
            self._allowed = 2 * search.samples
        leaves = np.flatnonzero(search.graph.kinds == EXACT)
        counts, values = search.known.known["count"][leaves], search.known.known["lower"][leaves]
        done = counts > 0
        best = leaves[done][np.argmax(values[done])]
        sizes = np.array([self.size(search.graph.states[leaf]) for leaf in leaves])
        waiting = leaves[~done & (sizes < self.size(search.graph.states[best]))]
        if len(waiting):
            return not search.evaluate(int(waiting[0]))
        within = done & (values >= values[done].max() - search.options.epsilon)
        within &= ~np.isin(leaves, list(self._failed))
        order = np.lexsort((-values[within], sizes[within]))
        candidates = leaves[within][order]
        if not len(candidates) or candidates[0] == best:
            return True
        return self._narrow(search, int(candidates[0]))

    def _narrow(self, search: Any, leaf: int) -> bool:
        if search.samples >= (self._allowed or 0) or search.oracle is None:
            return True
        target = float(search.known.known["lower"][leaf]) + search.options.epsilon
        stands = press(target, search.limited_world(), search.oracle.record, search.rng, search.rounds)
        if stands == EVALUATE:
            return not search.evaluate(int(search.known.known["leaf"][0]))
        if stands == OPEN:
            self._failed.add(leaf)
        if stands == LIMITED:
            search.reason = "max_samples"
        if stands == BAD_BOUND:
            raise ValueError(f"bound {search.options.bound.name} must return lower <= upper")
        return stands in (SOLVED, LIMITED)
