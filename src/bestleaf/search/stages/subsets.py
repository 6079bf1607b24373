"""Stages that evaluate more leaves: all of them, or the subsets of the best answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from bestleaf.checkpoint import Saved
from bestleaf.checkpoint.codec import encoded
from bestleaf.problems import State
from bestleaf.search.evaluator import Evaluator
from bestleaf.search.stages.base import DONE, REOPEN, Stage, evaluate_waiting, saved_terminals
from bestleaf.search.state import SearchState


class EveryLeaf(Stage):
    """Evaluate every leaf that has an exact value, even if the answer is identified without it."""

    def slice(self, state: SearchState, evaluator: Evaluator) -> str | None:
        """Evaluate for one slice."""
        waiting = [state.graph.states[leaf] for leaf in state.waiting_leaves()[::-1]]
        return DONE if evaluate_waiting(waiting, state, evaluator) else None


class Subsets(Protocol):
    """What `SubsetsOfAnswers` needs of a problem whose terminal states are subsets."""

    def subsets_of(self, state: Any, largest: int) -> Iterable[State]:
        """Return terminal states: all subsets or, of more than `largest` units, those without one or two of them."""

    def path_to(self, state: Any) -> Sequence[State]:
        """Return the states on the way to a terminal state, without the root."""


class SubsetsOfAnswers(Stage):
    """Evaluate the subsets of the best answers so far; those close to the best value enter the graph.

    Features that the search has added on its way may be of no use in the end. If a subset is better than the best
    answer, the search goes on from there. If very many subsets are within epsilon of the best, only some of them enter:
    those of highest value and the smallest ones.
    """

    ANSWERS = 3  # whose subsets are evaluated
    CLOSE = 32  # how many subsets of highest value enter, and how many of the smallest
    LARGEST = 8  # up to this size all subsets of an answer are evaluated; of a larger one, those without one or two

    def __init__(self, lattice: Subsets) -> None:
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

    def _close(self, state: SearchState, best: float) -> list[State]:
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
        present = [one for one in state.values if one in state.graph.node_of]
        best = sorted(present, key=lambda one: -state.values[one])[: self.ANSWERS]
        found: dict[Any, None] = dict.fromkeys(
            subset for one in best for subset in self.lattice.subsets_of(one, self.LARGEST)
        )
        return sorted((one for one in found if one not in state.values), key=len)

    def snapshot(self) -> dict[str, Any]:
        """Return the subsets that wait."""
        return {"waiting": None if self._waiting is None else [encoded(state) for state in self._waiting]}

    def restore(self, saved: Saved, state: SearchState) -> None:
        """Restore a snapshot."""
        none = saved.get("waiting") is None
        self._waiting = None if none else saved_terminals(saved, "waiting", state.problem)
