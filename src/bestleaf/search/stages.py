"""What may follow once the search is settled: stages that use the same graph, samples and budgets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from bestleaf._kernels.loop import press
from bestleaf._records import BAD_BOUND, EVALUATE, EXACT, LIMITED, OPEN, SOLVED


class Stage(Protocol):
    """Work after the search, done in slices."""

    def slice(self, search: Any) -> bool:
        """Work for a moment; return True when there is nothing left to do."""


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
