"""Guarantees beyond the graph as grown: compare the answer with more leaves; for "local" with those one step away."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from bestleaf.checkpoint import Saved
from bestleaf.checkpoint.codec import decoded, encoded
from bestleaf.checks import shown
from bestleaf.engine.records import EXACT
from bestleaf.problems import State
from bestleaf.search.evaluator import Evaluator
from bestleaf.search.stages.base import DONE, REOPEN, Stage, evaluate_waiting, saved_terminals
from bestleaf.search.state import SearchState


class Challenge(Stage):
    """Evaluate leaves outside the graph. If one is better than the answer by more than epsilon, it enters the graph.

    Then the search goes on.

    Parameters
    ----------
    problem : Problem
        What is searched.
    answer : callable
        Returns the node that is the answer now.
    """

    name: str

    def __init__(self, problem: Any, answer: Callable[[], int]) -> None:
        self.problem = problem
        self.answer = answer
        self.proof: dict[str, Any] | None = None
        self._about: State = None  # the answer that is compared
        self._all: list[State] | None = None  # what it is compared with
        self._waiting: list[State] = []  # those of them without a value

    def reset(self) -> None:
        """Begin the comparison anew."""
        self.proof, self._all = None, None

    def challengers(self, state: State) -> list[State]:
        """Return the terminal states to compare the answer with."""
        raise NotImplementedError

    def path_to(self, state: State) -> list[State]:
        """Return the states on the way to a challenger, without the root."""
        return self.problem.path_to(state)

    def written(self) -> dict[str, Any]:
        """Return what the certificate says besides the values."""
        return {}

    def _answer(self, state: SearchState) -> tuple[State, float] | None:
        """Return the answer now and its exact value; None if it has none."""
        node = self.answer()
        known = state.known.known[node]
        if state.graph.kinds[node] != EXACT or known["count"] == 0:
            return None
        return state.graph.states[node], float(known["lower"])

    def slice(self, state: SearchState, evaluator: Evaluator) -> str | None:
        """Evaluate for one slice."""
        found = self._answer(state)
        if found is None:
            return self._give_up("the answer")
        if self._all is None:
            self._about = found[0]
            self._all = self.challengers(self._about)
            self._waiting = [one for one in self._all if one not in state.values]
        done = evaluate_waiting(self._waiting, state, evaluator)
        if valueless := [one for one in self._all if one in state.valueless]:
            self.reset()
            return self._give_up(shown(valueless[0]))
        if not done or any(one not in state.values for one in self._all):
            return None if state.reason is None else DONE
        found = self._answer(state)
        if found is None or found[0] != self._about:  # a new value has changed the answer
            return REOPEN  # what was proved of the old answer has to be proved again
        best = max(self._all, key=state.values.__getitem__, default=self._about)
        if self._all and state.values[best] > found[1] + state.settings.epsilon:
            state.join(self.path_to(best), evaluator.budget)
            return REOPEN
        self._prove(state)
        return DONE

    def _give_up(self, what: str) -> str:
        words = f"guarantee {self.name} compares exact values, and {what} has none, so it is not claimed"
        warnings.warn(words, RuntimeWarning, stacklevel=2)
        return DONE

    def _prove(self, state: SearchState) -> None:
        self.proof = {**self.written(), "subsets": [[one, state.values[one]] for one in self._all or []]}

    def snapshot(self) -> dict[str, Any]:
        """Return what the answer is compared with, and which values are missing."""
        if self._all is None:
            return {"all": None}
        return {
            "all": [encoded(one) for one in self._all],
            "waiting": [encoded(one) for one in self._waiting],
            "about": encoded(self._about),
            "proved": self.proof is not None,
        }

    def restore(self, saved: Saved, state: SearchState) -> None:
        """Restore a snapshot."""
        self.reset()
        if saved.get("all") is None:
            return
        self._all = saved_terminals(saved, "all", self.problem)
        self._waiting = saved_terminals(saved, "waiting", self.problem)
        self._about = decoded(saved.get("about"))
        missing = {one for one in self._all if one not in state.values}
        if not missing <= set(self._waiting) or self._about not in state.values:
            raise ValueError("the challengers that wait must be those without a value")
        if saved.get("proved"):
            if missing:
                raise ValueError("a guarantee is proved only if the values of all challengers are known")
            self._prove(state)


class LocalOptimum(Challenge):
    """Check that no leaf one step away is better than the answer by more than epsilon."""

    name = "local"

    def challengers(self, state: State) -> list[State]:
        """Return the leaves one step away, as the problem lists them."""
        return list(dict.fromkeys(self.problem.neighbours(state)))

    def written(self) -> dict[str, Any]:
        """Return what may be chosen, if the problem says so."""
        return {"choice": self.problem.choice()} if hasattr(self.problem, "choice") else {}
