"""What may follow once the search is settled: stages that use the same graph, samples and budgets."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from bestleaf._records import BAD_BOUND, EVALUATE, EXACT, LIMITED, NOISY, OPEN, SOLVED
from bestleaf.storage import Saved
from bestleaf.storage.states import encoded

SLICE = 0.05  # seconds between two looks at the clock, the callback and Ctrl-C


class Stage(Protocol):
    """Work after the search, done in slices."""

    def slice(self, search: Any) -> bool:
        """Work for a moment; return True when there is nothing left to do."""

    def reset(self) -> None:
        """Start anew, because a later stage has found something better and the search went on."""

    def snapshot(self) -> dict[str, Any]:
        """Return what a checkpoint keeps."""

    def restore(self, saved: Saved, search: Any) -> None:
        """Take in a snapshot, in a search whose graph and values are those of then."""


def evaluated(waiting: list[Any], search: Any) -> bool:
    """Look up the values of states that wait, the last first, for one slice; True when none is left or allowed."""
    until = perf_counter() + SLICE
    while waiting and perf_counter() < until:
        if waiting[-1] not in search.values:
            search.prefetch(waiting[: -search.batch_size - 1 : -1])
        if search.look_up(waiting.pop()) is None:
            return True
    return not waiting


class EveryLeaf:
    """Evaluate every leaf that has an exact value, whether or not the answer is known without it."""

    def reset(self) -> None:
        """Nothing is forgotten."""

    def slice(self, search: Any) -> bool:
        """Evaluate for one slice."""
        leaves = np.flatnonzero((search.graph.kinds == EXACT) & (search.known.known["count"][: len(search.graph)] == 0))
        return evaluated([search.graph.states[leaf] for leaf in leaves[::-1]], search)

    def snapshot(self) -> dict[str, Any]:
        """Return nothing: the graph tells."""
        return {}

    def restore(self, saved: Saved, search: Any) -> None:
        """Take in a snapshot."""


class SubsetsOfAnswers:
    """Evaluate the subsets of the best answers so far; the best of those close to the best value join the graph.

    What the search added on its way may be of no use in the end, several features together. If a subset beats the best,
    the search goes on from there. Where thousands of subsets are within epsilon of the best, a few of them will do:
    those of highest value, and the smallest, of which one may be the answer.
    """

    ANSWERS = 3  # whose subsets are evaluated
    CLOSE = 32  # subsets of highest value that join, and as many of the smallest
    LARGEST = 8  # features of an answer all of whose 255 subsets are evaluated; of a larger one, those less one or two

    def __init__(self, lattice: Any) -> None:
        self.lattice = lattice
        self.reset()

    def reset(self) -> None:
        """Forget whose subsets were evaluated."""
        self._waiting: list[tuple[int, ...]] | None = None

    def slice(self, search: Any) -> bool:
        """Evaluate for one slice."""
        if self._waiting is None:
            self._waiting = self._candidates(search)
        if not evaluated(self._waiting, search):
            return False
        best = search.best_value()
        fresh = [state for state in self._close(search, best) if state not in search.graph.node_of]
        if not search.join([step for state in fresh for step in self.lattice.path_to(state)]):
            return True
        if fresh and (not search.has_exact or max(search.values[state] for state in fresh) > best):
            search.reopen()  # a leaf that is only sampled has to be told from the best, too
        return True

    def _close(self, search: Any, best: float) -> list[tuple[int, ...]]:
        """Return the states within epsilon of the best that matter, in the order in which they were evaluated."""
        values = search.values
        close = [state for state, value in values.items() if value >= best - search.options.epsilon]
        if len(close) <= 2 * self.CLOSE:
            return close
        highest = sorted(close, key=lambda state: (-values[state], len(state)))[: self.CLOSE]
        smallest = sorted(close, key=lambda state: (len(state), -values[state]))[: self.CLOSE]
        chosen = {*highest, *smallest}
        return [state for state in close if state in chosen]

    def _candidates(self, search: Any) -> list[tuple[int, ...]]:
        """Return the terminal leaves of subsets that have no value yet, the largest last."""
        present = [state for state in search.values if state in search.graph.node_of]
        best = sorted(present, key=lambda state: -search.values[state])[: self.ANSWERS]
        found = dict.fromkeys(one for state in best for one in self.lattice.subsets_of(state, self.LARGEST))
        return sorted((state for state in found if state not in search.values), key=len)

    def snapshot(self) -> dict[str, Any]:
        """Return the subsets that wait."""
        return {"waiting": None if self._waiting is None else [encoded(state) for state in self._waiting]}

    def restore(self, saved: Saved, search: Any) -> None:
        """Take in a snapshot."""
        self._waiting = None if saved.get("waiting") is None else search.terminal_states(saved, "waiting")


class SmallerAnswer:
    """Make small answers pass the final test.

    Terminal leaves that are smaller than the best one evaluated are evaluated too; then the upper bounds of all leaves
    are narrowed until the smallest leaf within epsilon of the best passes, or cannot. That takes at most as many
    samples as the search has taken.
    """

    def __init__(self, size: Callable[[Any], int]) -> None:
        self.size = size
        self.reset()

    def reset(self) -> None:
        """Allow as many samples again as the search has taken, for every candidate."""
        self._allowed: int | None = None
        self._failed: set[int] = set()

    def slice(self, search: Any) -> bool:
        """Evaluate or narrow for one slice."""
        if self._allowed is None:
            self._allowed = 2 * search.samples
        leaves = np.flatnonzero(search.graph.kinds == (EXACT if search.has_exact else NOISY))
        counts, values = search.known.known["count"][leaves], search.known.known["lower"][leaves]
        done = counts > 0
        if not done.any():
            return True
        best = leaves[done][np.argmax(values[done])]
        sizes = np.array([self.size(search.graph.states[leaf]) for leaf in leaves])
        waiting = leaves[~done & (sizes < self.size(search.graph.states[best]))]
        if len(waiting) and search.has_exact:
            return not search.evaluate(int(waiting[0]))
        within = done & (values >= values[done].max() - search.options.epsilon)
        within &= ~np.isin(leaves, list(self._failed))
        order = np.lexsort((-values[within], sizes[within]))
        candidates = leaves[within][order]
        if not len(candidates) or candidates[0] == best:
            return True
        return self._narrow(search, int(candidates[0]))

    def _narrow(self, search: Any, leaf: int) -> bool:
        if search.samples >= (self._allowed or 0):
            return True
        target = float(search.known.known["lower"][leaf]) + search.options.epsilon
        rounds = min(search.rounds, (self._allowed or 0) - search.samples)  # the end does not depend on the clock
        stands = search.press(target, rounds)
        search.check_parts()
        search.forget_proposal()
        if stands == EVALUATE:
            return not search.evaluate(int(search.known.known["leaf"][0]))
        if stands == OPEN:
            self._failed.add(leaf)
        if stands == LIMITED:
            search.reason = "max_samples"
        if stands == BAD_BOUND:
            raise ValueError(f"bound {search.options.bound.name} must return lower <= upper")
        return stands in (SOLVED, LIMITED)

    def snapshot(self) -> dict[str, Any]:
        """Return the samples allowed and the leaves that cannot pass."""
        return {"allowed": self._allowed, "failed": sorted(self._failed)}

    def restore(self, saved: Saved, search: Any) -> None:
        """Take in a snapshot."""
        self._allowed = None if saved.get("allowed") is None else saved.whole("allowed")
        self._failed = set(saved.nodes("failed", len(search.graph)))
