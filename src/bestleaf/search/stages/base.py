"""The base class of stages, and what they share."""

from __future__ import annotations

from collections.abc import Iterable
from time import perf_counter
from typing import Any

from bestleaf.checkpoint import Saved
from bestleaf.checks import shown
from bestleaf.problems import State
from bestleaf.search.evaluator import Evaluator
from bestleaf.search.state import SearchState

DONE = "done"  # the stage has nothing left to do
REOPEN = "reopen"  # the graph or the answer has changed: search again, then run all stages again


class Stage:
    """Base class of stages: work in slices of about 50 ms, once the answer is identified."""

    def slice(self, state: SearchState, evaluator: Evaluator) -> str | None:
        """Work for one slice; return `DONE`, `REOPEN`, or None to be called again."""
        raise NotImplementedError

    def due(self, state: SearchState) -> bool:
        """Return whether the stage is to work now, before the graph is searched on."""
        return False

    def reset(self) -> None:
        """Forget what was done, because the search goes on."""

    def snapshot(self) -> dict[str, Any]:
        """Return what a checkpoint keeps."""
        return {}

    def restore(self, saved: Saved, state: SearchState) -> None:
        """Restore a snapshot; the graph and the values of the search are restored already."""


def evaluate_waiting(waiting: list[State], state: SearchState, evaluator: Evaluator) -> bool:
    """Evaluate waiting states, the last first, for one slice; True if none is left or the budget is spent."""
    until = perf_counter() + evaluator.budget.slice
    while waiting and perf_counter() < until:
        if waiting[-1] not in state.values:
            evaluator.prefetch(waiting[: -evaluator.at_once - 1 : -1])
        if evaluator.look_up(waiting.pop()) is None:
            return True
    return not waiting


def check_terminal(problem: Any, states: Iterable[State]) -> None:
    """Refuse states that are not terminal states of the problem."""
    holds = getattr(problem, "holds", None)
    for state in states:
        if (holds is not None and not holds(state)) or not problem.is_terminal(state):
            raise ValueError(f"{shown(state)} is not a terminal state of this problem")


def saved_terminals(saved: Saved, name: str, problem: Any) -> list[State]:
    """Return terminal states from a checkpoint."""
    states = saved.states(name)
    check_terminal(problem, states)
    return states
