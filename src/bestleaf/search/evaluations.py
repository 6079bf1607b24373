"""What a search knows exactly: values asked for, and how the graph gets to know them."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from bestleaf._kernels.backup import settle
from bestleaf._kernels.loop import count_round
from bestleaf._records import EXACT, Proposal
from bestleaf.graph import GrowingGraph
from bestleaf.growth import Growth
from bestleaf.intervals import Knowledge
from bestleaf.search.options import Options, checked_value


class Evaluations:
    """The part of a search that asks for exact values; every value is asked for once."""

    problem: Any
    oracle: Any
    options: Options
    graph: GrowingGraph
    known: Knowledge
    growth: Growth
    reason: str | None
    values: dict[Any, float]  # of states in the graph or not
    spare: dict[Any, float]
    cut_short: bool
    exact_evaluations: int
    _proposal: Proposal | None
    _started: float
    _interrupted: Callable[[], bool]
    _left: Callable[[], int]
    _open_root: Callable[[], None]

    def evaluate(self, leaf: int) -> bool:
        """Ask for the exact value of a leaf on behalf of a stage; False when the budget does not allow it."""
        if self._left() <= 0:
            self.reason = "max_samples"
            return False
        value = self._exact(leaf)
        if value is not None:
            settle(leaf, value, self.known.world)
        self._proposal = None
        return True

    def ensure_value(self) -> None:
        """Compute one exact value if a budget ended the search before there was any, so that something can be said."""
        self._open_root()
        exact = np.flatnonzero(self.graph.kinds == EXACT)
        if len(exact) and not self.known.known["count"][exact].any():
            value = self._exact(int(exact[0]))
            if value is not None:
                settle(int(exact[0]), value, self.known.world)
            self._proposal = None

    def _introduce(self, nodes: Any) -> None:
        """Tell the compiled oracle of new nodes, and the graph of their exact values if they were asked for before."""
        for node in nodes:
            state = self.graph.states[node]
            if self.oracle is not None:
                self.oracle.add(node, state)
            if state in self.values:
                self._settle(state)

    def _evaluate(self, proposal: Proposal) -> None:
        """Ask for the exact value of a terminal leaf; one that has none becomes a noisy leaf."""
        value = self._exact(proposal.first)
        if value is not None:
            count_round(proposal, self.known.world)
            settle(proposal.first, value, self.known.world)

    def _exact(self, leaf: int) -> float | None:
        """Return the exact value of a leaf; None, and it becomes a noisy leaf, when there is none."""
        state = self.graph.states[leaf]
        if state in self.values:
            return self.values[state]
        value = self._asked_exactly(state)
        if value is None:
            self.known.admit(leaf)
            return None
        self.exact_evaluations += 1
        self.values[state] = checked_value(value, "exact", state)
        return self.values[state]

    def look_up(self, state: Any) -> float | None:
        """Return the exact value of a terminal state that may not be in the graph; None when the budget is spent."""
        if state not in self.values:
            if self._spent() is not None:
                self.reason = self.reason or self._spent()
                self.cut_short = True
                return None
            self.values[state] = checked_value(self._asked_exactly(state), "exact", state)
            self.exact_evaluations += 1
            self._settle(state)
        return self.values[state]

    def _settle(self, state: Any) -> None:
        """Tell the graph an exact value that was asked for, if the state is in it and does not have it."""
        node = self.graph.node_of.get(state)
        if node is not None and self.known.known["count"][node] == 0:
            settle(node, self.values[state], self.known.world)
            self._proposal = None

    def _spent(self) -> str | None:
        """Return why no more may be asked of the problem, None if it may."""
        limit = self.options.max_time
        if self._interrupted():
            return "interrupted"
        if limit is not None and perf_counter() - self._started >= limit:
            return "max_time"
        return "max_samples" if self._left() <= 0 else None

    def join(self, states: list[Any]) -> None:
        """Let states enter the graph on behalf of a stage, with the exact values already known."""
        missing = [state for state in dict.fromkeys(states) if state not in self.graph.node_of]
        self._introduce(self.growth.add(missing))
        self._proposal = None

    def _let_the_best_in(self) -> None:
        """Let the best state evaluated into the graph, if the search ended before it could enter."""
        if not self.values or not hasattr(self.problem, "path_to"):
            return
        best = max(self.values, key=self.values.__getitem__)
        if self.values[best] > self.growth.best_value():
            self.join(self.problem.path_to(best))

    def _asked_exactly(self, state: Any) -> Any:
        """Return what the problem says, without asking again for what a checkpoint has of it."""
        return self.spare.pop(state) if state in self.spare else self.problem.exact(state)
