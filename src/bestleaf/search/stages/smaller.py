"""The stage that looks for a smaller answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bestleaf.checkpoint import Saved
from bestleaf.checkpoint.codec import Json, checked_number
from bestleaf.engine.records import BAD_BOUND, EVALUATE, EXACT, LIMITED, NOISY, OPEN, SAMPLE, SOLVED, UNLIMITED
from bestleaf.search.evaluator import Evaluator
from bestleaf.search.stages.base import DONE, Stage
from bestleaf.search.state import SearchState

AIMED = 256  # samples after which another leaf may be tried


class Aim(NamedTuple):
    """The leaf that is tried, what no upper bound may be above, and the number of samples until which it is tried."""

    leaf: int
    target: float
    until: int

    @classmethod
    def read(cls, saved: list[Json], nodes: int) -> Aim:
        """Return what a checkpoint has saved."""
        if len(saved) != 3:
            raise ValueError("aim must be a node, an upper bound and a number of samples")
        leaf = int(checked_number("aim", saved[0], 0, nodes - 1))
        return cls(leaf, checked_number("aim", saved[1], 0.0, 2.0), int(checked_number("aim", saved[2], 0, UNLIMITED)))


class SmallerAnswer(Stage):
    """Try to prove that a smaller leaf is within epsilon of the best; `tolerance` is how much it may be worse itself.

    First, all terminal leaves smaller than the best one are evaluated. Then other leaves are sampled until their upper
    bounds prove it for the smallest leaf whose value allows it. That takes at most as many samples as the search has
    taken. A leaf for which it cannot be proved is left out.
    """

    def __init__(self, size: Callable[[Any], int], tolerance: float | None = None) -> None:
        self.size, self.tolerance = size, tolerance
        self.reset()

    def reset(self) -> None:
        """Allow as many samples again as the search has taken, and try all leaves again."""
        self._allowed: int | None = None
        self._failed: set[int] = set()
        self._aim: Aim | None = None

    def slice(self, state: SearchState, evaluator: Evaluator) -> str | None:
        """Evaluate or sample for one slice."""
        if self._allowed is None:
            self._allowed = 2 * state.samples
        if self._aim is not None:  # kept for some samples, not for a slice: the result must not depend on the clock
            return self._narrow(state, evaluator, self._aim)
        leaves = np.flatnonzero(state.graph.kinds == (EXACT if state.has_exact else NOISY))
        counts, values = state.known.known["count"][leaves], state.known.known["lower"][leaves]
        done = counts > 0
        if not done.any():
            return DONE
        best = leaves[done][np.argmax(values[done])]
        sizes = np.array([self.size(state.graph.states[leaf]) for leaf in leaves])
        waiting = leaves[~done & (sizes < self.size(state.graph.states[best]))]
        if len(waiting) and state.has_exact:
            return None if evaluator.evaluate(int(waiting[0])) else DONE
        tolerance = state.settings.epsilon if self.tolerance is None else self.tolerance
        within = done & (values >= values[done].max() - tolerance)
        within &= ~np.isin(leaves, list(self._failed))
        order = np.lexsort((-values[within], sizes[within]))
        candidates = leaves[within][order]
        if not len(candidates) or candidates[0] == best:
            return DONE
        leaf, until = int(candidates[0]), min(self._allowed, state.samples + AIMED)
        self._aim = Aim(leaf, float(state.known.known["lower"][leaf]) + state.settings.epsilon, until)
        return self._narrow(state, evaluator, self._aim)

    def _narrow(self, state: SearchState, evaluator: Evaluator, aim: Aim) -> str | None:
        """Sample the leaves whose upper bounds are too high for a leaf to be the answer, as long as it is tried."""
        if aim.until <= state.samples:
            self._aim = None
            return DONE if self._allowed is not None and self._allowed <= state.samples else None
        stands = evaluator.press(aim.target, min(evaluator.rounds, aim.until - state.samples))
        state.check_parts()
        state.decision = None
        if stands == SAMPLE:
            return None
        self._aim = None
        if stands == EVALUATE:
            return None if evaluator.evaluate(int(state.known.known["leaf"][0])) else DONE
        if stands == OPEN:
            self._failed.add(aim.leaf)
        if stands == LIMITED:
            state.reason = "max_samples"
        if stands == BAD_BOUND:
            raise ValueError(f"bound {state.settings.bound.name} must return lower <= upper")
        return DONE if stands in (SOLVED, LIMITED) else None

    def snapshot(self) -> dict[str, Any]:
        """Return the samples allowed, the leaves for which it cannot be proved, and what is tried now."""
        return {"allowed": self._allowed, "failed": sorted(self._failed), "aim": list(self._aim or ())}

    def restore(self, saved: Saved, state: SearchState) -> None:
        """Restore a snapshot."""
        self._allowed = None if saved.get("allowed") is None else saved.whole("allowed")
        self._failed = set(saved.nodes("failed", len(state.graph)))
        self._aim = Aim.read(saved.listed("aim"), len(state.graph)) if saved.listed("aim") else None
