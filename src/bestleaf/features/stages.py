"""Stages of a search over feature subsets: evaluate more leaves, the subsets of the best answers, smaller answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bestleaf.engine.records import BAD_BOUND, EVALUATE, EXACT, LIMITED, NOISY, OPEN, SAMPLE, SOLVED
from bestleaf.problems import State
from bestleaf.search.evaluator import Evaluator
from bestleaf.search.stages import DONE, REOPEN, Stage, evaluate_waiting
from bestleaf.search.state import SearchState

if TYPE_CHECKING:
    from bestleaf.features.lattice import FeatureLattice
    from bestleaf.features.rollouts import Subset


class EveryLeaf(Stage):
    """Evaluate every leaf that has an exact value, even if the answer is settled without it."""

    def slice(self, state: SearchState, evaluator: Evaluator) -> str | None:
        """Evaluate for one slice."""
        waiting = [state.graph.states[leaf] for leaf in state.waiting_leaves()[::-1]]
        return DONE if evaluate_waiting(waiting, state, evaluator) else None


class SubsetsOfAnswers(Stage):
    """Evaluate the subsets of the best answers so far; those close to the best value enter the graph.

    Features that the search has added on its way may be of no use in the end. If a subset is better than the best
    answer, the search goes on from there. If very many subsets are within epsilon of the best, only some of them enter:
    those of highest value and the smallest ones.
    """

    ANSWERS = 3  # whose subsets are evaluated
    CLOSE = 32  # how many subsets of highest value enter, and how many of the smallest
    LARGEST = 8  # up to this size all subsets of an answer are evaluated; of a larger one, those without one or two

    def __init__(self, lattice: FeatureLattice) -> None:
        self.lattice = lattice
        self.reset()

    def reset(self) -> None:
        """Forget which subsets wait."""
        self._waiting: list[State] | None = None

    def slice(self, state: SearchState, evaluator: Evaluator) -> str | None:
        """Evaluate for one slice."""
        if self._waiting is None:
            self._waiting = self._candidates(state)
        if not evaluate_waiting(self._waiting, state, evaluator):
            return None
        best = state.best_value()
        fresh = [one for one in self._close(state, best) if one not in state.graph.node_of]
        state.join([step for one in fresh for step in self.lattice.path_to(one)], evaluator.budget)
        if fresh and max(state.values[one] for one in fresh) > best:
            return REOPEN  # leaves that are only sampled have to be compared with the best one, too
        return DONE

    def _close(self, state: SearchState, best: float) -> list[Subset]:
        """Return the states within epsilon of the best that may enter, in the order in which they were evaluated."""
        values = state.values
        close: list[Any] = [one for one, value in values.items() if value >= best - state.settings.epsilon]
        if len(close) <= 2 * self.CLOSE:
            return close
        highest = sorted(close, key=lambda one: (-values[one], len(one)))[: self.CLOSE]
        smallest = sorted(close, key=lambda one: (len(one), -values[one]))[: self.CLOSE]
        chosen = {*highest, *smallest}
        return [one for one in close if one in chosen]

    def _candidates(self, state: SearchState) -> list[State]:
        """Return the subsets of the best answers that have no value yet, the largest last."""
        present: list[Any] = [one for one in state.values if one in state.graph.node_of]
        best = sorted(present, key=lambda one: -state.values[one])[: self.ANSWERS]
        found: dict[Any, None] = dict.fromkeys(
            subset for one in best for subset in self.lattice.subsets_of(one, self.LARGEST)
        )
        return sorted((one for one in found if one not in state.values), key=len)


class Aim(NamedTuple):
    """The leaf that is tried, what no upper bound may be above, and the number of samples until which it is tried."""

    leaf: int
    target: float
    until: int


class SmallerAnswer(Stage):
    """Try to prove that a smaller leaf is within epsilon of the best; `tolerance` is how much it may be worse itself.

    First, all terminal leaves smaller than the best one are evaluated. Then other leaves are sampled until their upper
    bounds prove it for the smallest leaf whose value allows it. That takes at most as many samples as the search has
    taken. A leaf for which it cannot be proved is left out.
    """

    def __init__(self, size: Callable[[Subset], int], tolerance: float | None = None) -> None:
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
        leaf, until = int(candidates[0]), min(self._allowed, state.samples + 256)
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
