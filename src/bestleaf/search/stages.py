"""Stages: what a search may still do once the answer is settled, with the same graph, samples and budget.

One proves the guarantee "local". A problem may have others: those of feature subsets are in `bestleaf.features.stages`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from time import perf_counter

from bestleaf.checks import shown
from bestleaf.engine.records import EXACT
from bestleaf.problems import Problem, State
from bestleaf.proof.build import plain
from bestleaf.proof.record import Choice, Compared, LocalClaim
from bestleaf.search.evaluator import Evaluator
from bestleaf.search.state import SearchState

DONE = "done"  # the stage has nothing left to do
REOPEN = "reopen"  # the graph or the answer has changed: search again, then run all stages again


class Stage:
    """Base class of stages: work in slices of about 50 ms, once the answer is settled."""

    def slice(self, state: SearchState, evaluator: Evaluator) -> str | None:
        """Work for one slice; return `DONE`, `REOPEN`, or None to be called again."""
        raise NotImplementedError

    def due(self, state: SearchState) -> bool:
        """Return whether the stage is to work now, before the graph is searched on."""
        return False

    def reset(self) -> None:
        """Forget what was done, because the search goes on."""


def evaluate_waiting(waiting: list[State], state: SearchState, evaluator: Evaluator) -> bool:
    """Evaluate waiting states, the last first, for one slice; True if none is left or the budget is spent."""
    until = perf_counter() + evaluator.budget.slice
    while waiting and perf_counter() < until:
        if waiting[-1] not in state.values:
            evaluator.prefetch(waiting[: -evaluator.at_once - 1 : -1])
        if evaluator.look_up(waiting.pop()) is None:
            return True
    return not waiting


class LocalOptimum(Stage):
    """Evaluate all leaves one step away. If one is better than the answer by more than epsilon, it enters the graph.

    Then the search goes on. Where values take long (``problem.local_first``), as with an estimator, this is the claim
    that can be afforded. So there the stage works before the graph is searched, as soon as the answer has an exact
    value; with `enough` the search ends with such an early proof. `answer` returns the node that is the answer now.
    """

    name = "local"

    def __init__(self, problem: Problem, answer: Callable[[], int], *, enough: bool = False) -> None:
        if not hasattr(problem, "exact"):
            raise ValueError("guarantee local compares exact values, so the problem needs a method exact")
        for method, who in (("maximizes", "an opponent"), ("chance", "chance")):
            if hasattr(problem, method):
                raise ValueError(f"guarantee local is about one player's leaves, got a problem with {who}")
        if not (hasattr(problem, "neighbours") and hasattr(problem, "path_to")):
            raise ValueError("guarantee local needs a problem with the methods neighbours and path_to")
        self.problem, self.answer, self.enough = problem, answer, enough
        self.early = getattr(problem, "local_first", False)
        self.proof: LocalClaim | None = None
        self._about: State = None  # the answer that is compared
        self._all: list[State] | None = None  # what it is compared with
        self._waiting: list[State] = []  # those of them without a value

    def reset(self) -> None:
        """Begin the comparison anew."""
        self.proof, self._all = None, None

    def due(self, state: SearchState) -> bool:
        """Return whether to work before the graph is searched on."""
        if not self.early or not state.known.track["opened"][0]:
            return False
        found = self._answer(state)
        return found is not None and not (self.proof is not None and found[0] == self._about)

    def stands_for(self, state: SearchState, node: int) -> int | None:
        """Return the node of the answer that was proved early; None if `node` is better by more than epsilon."""
        mine = state.graph.node_of.get(self._about) if self.early and self.proof is not None else None
        lower = state.known.known["lower"]
        return mine if mine is not None and lower[node] <= lower[mine] + state.settings.epsilon else None

    def proves(self, answer: State) -> bool:
        """Return whether the guarantee is proved for this answer."""
        return self.proof is not None and (not self.early or self._about == answer)

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
        if self._all is None or (self.early and found[0] != self._about):
            self.reset()
            self._about = found[0]
            self._all = list(dict.fromkeys(self.problem.neighbours(self._about)))
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
            state.join(self.problem.path_to(best), evaluator.budget)
            return REOPEN
        self._prove(state)
        if self.early and self.enough:
            state.reason = state.reason or "exhausted"
        return DONE

    def _give_up(self, what: str) -> str:
        words = f"guarantee local compares exact values, and {what} has none, so it is not claimed"
        warnings.warn(words, RuntimeWarning, stacklevel=2)
        return DONE

    def _prove(self, state: SearchState) -> None:
        limits = self.problem.choice() if hasattr(self.problem, "choice") else None
        choice = limits if isinstance(limits, Choice) else None
        compared = tuple(Compared(label=plain(one), value=state.values[one]) for one in self._all or [])
        self.proof = LocalClaim(epsilon=state.settings.epsilon, compared=compared, choice=choice)
