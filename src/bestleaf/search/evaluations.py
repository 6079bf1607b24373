"""What a search knows exactly: values asked for, and how the graph gets to know them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bestleaf._kernels.backup import settle
from bestleaf._kernels.loop import count_round
from bestleaf._records import EXACT, NOISY, Proposal
from bestleaf.graph import GrowingGraph
from bestleaf.growth import Growth
from bestleaf.intervals import Knowledge
from bestleaf.search.batch import Batches
from bestleaf.search.budget import Budget
from bestleaf.search.options import Options, checked_value


class Evaluations:
    """The part of a search that asks for exact values; every value is asked for once."""

    problem: Any
    rollouts: Any
    batches: Batches | None
    options: Options
    graph: GrowingGraph
    known: Knowledge
    growth: Growth
    reason: str | None
    values: dict[Any, float]  # of states in the graph or not
    glimpsed: dict[Any, list[float]]  # the first parts of values
    valueless: set[Any]
    spare: dict[Any, float]
    rough: dict[Any, float]
    budget: Budget
    exact_evaluations: int
    warmup_samples: int
    _proposal: Proposal | None
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
        """See to it that something can be said if a budget ended the search before there was any value.

        One is computed or, where it takes several fits, estimated from those there were, if need be from a single one.
        """
        self._open_root()
        kind = EXACT if self.has_exact else NOISY
        if not (self.graph.kinds == kind).any():
            self.join([self._terminal_below()])
        leaves = np.flatnonzero(self.graph.kinds == kind)
        if self.values or not len(leaves) or self.known.known["count"][leaves].any():
            return
        state = self.graph.states[int(leaves[0])]
        if self.batches is None or not self.batches.many_parts:
            self._take(state, self._answer_of(state))
            return
        self.rough = self.batches.rough_values() or {state: checked_value(self.problem.part(state, 0), "part", state)}
        self.join(self.problem.path_to(max(self.rough, key=self.rough.__getitem__)))

    def _terminal_below(self) -> Any:
        """Return a terminal state below the most promising node that has one; for a graph without terminal leaves."""
        order = np.argsort(-self.known.known["lower"][: len(self.graph)], kind="stable")
        below = (child for node in order for child in self.problem.children(self.graph.states[node]))
        return next(child for child in below if self.problem.is_terminal(child))

    def _introduce(self, nodes: Any) -> None:
        """Tell the compiled oracle of new nodes, and the graph of their exact values if they were asked for before."""
        for node in nodes:
            state = self.graph.states[node]
            if self.rollouts is not None:
                self.rollouts.add(node, state)
            if state in self.values:
                self._settle(state)

    def _evaluate(self, proposal: Proposal) -> None:
        """Ask for the exact value of a terminal leaf; one that has none becomes a noisy leaf."""
        if self.batches is not None:
            self._evaluate_all(proposal)
            return
        value = self._exact(proposal.first)
        if value is not None:
            count_round(proposal, self.known.world)
            settle(proposal.first, value, self.known.world)

    def _evaluate_all(self, proposal: Proposal) -> None:
        """Ask for the exact values of a batch of leaves: none that waits for its value can be told from the best."""
        count_round(proposal, self.known.world)
        waiting = np.flatnonzero((self.graph.kinds == EXACT) & (self.known.known["count"][: len(self.graph)] == 0))
        others = [leaf for leaf in waiting.tolist() if leaf != proposal.first]
        many = self.batches.size if self.batches is not None else 1
        self.prefetch([self.graph.states[leaf] for leaf in (proposal.first, *others)[:many]])
        self._proposal = None

    def _exact(self, leaf: int) -> float | None:
        """Return the exact value of a leaf; None, and it becomes a noisy leaf, when there is none."""
        state = self.graph.states[leaf]
        if state in self.values:
            return self.values[state]
        value = self._answer_of(state)
        if value is None:
            self.known.admit(leaf)
            return None
        self.exact_evaluations += 1
        self.values[state] = checked_value(value, "exact", state)
        return self.values[state]

    def look_up(self, state: Any) -> float | None:
        """Return the value of a terminal state that may not be in the graph; None when the budget is spent.

        The value is exact or, where the problem has none, the one that guides growth.
        """
        if state not in self.values:
            if self._spent() is not None:
                self.end_midway()
                return None
            self._take(state, self._answer_of(state))
        return self.values.get(state)

    def prefetch(self, states: list[Any]) -> None:
        """Evaluate in batches what will be looked up soon, as far as the budget goes; nothing without batches."""
        if self.batches is None:
            return
        missing = [state for state in dict.fromkeys(states) if state not in self.values]
        while missing and self._spent() is None:
            part = missing[: min(self.batches.values_at_once, self._left())]
            missing = missing[len(part) :]
            fresh = [state for state in part if state not in self.spare]
            found = dict(zip(fresh, self.batches.values(fresh), strict=False)) if fresh else {}
            for state in part:
                if state in found or state in self.spare:
                    self._take(state, found[state] if state in found else self.spare.pop(state))
                else:
                    missing.append(state)  # time was over before its turn
        if missing:
            self.end_midway()

    def glimpse(self, states: list[Any], parts: int) -> dict[Any, float]:
        """Return the mean of the first parts of the values of terminal states, as far as the budget goes.

        Every part that was not asked for before counts as a sample to warm up.
        """
        states = list(dict.fromkeys(states))
        missing = [(state, part) for state in states for part in range(len(self.glimpsed.get(state, ())), parts)]
        while missing and self._spent() is None and self.batches is not None:
            now = missing[: min(self.batches.size, self._left())]
            missing = missing[len(now) :]
            scores = self.batches.parts(now)
            for (state, _), score in zip(now, scores, strict=False):
                self.glimpsed.setdefault(state, []).append(checked_value(score, "part", state))
            self.warmup_samples += len(scores)
            missing += now[len(scores) :]
        if missing:
            self.budget.cut()
        seen = {state: self.glimpsed.get(state, [])[:parts] for state in states}
        return {state: float(np.mean(scores)) for state, scores in seen.items() if len(scores) == parts}

    def _take(self, state: Any, value: Any) -> None:
        """Note a value that was asked for, and tell the graph; a leaf of it that has none becomes a noisy one."""
        if value is None:
            self.valueless.add(state)
            node = self.graph.node_of.get(state)
            if node is not None and self.graph.kinds[node] == EXACT:
                self.known.admit(node)
                self._proposal = None
            return
        self.values[state] = checked_value(value, "exact", state)
        self.exact_evaluations += 1
        self._settle(state)

    @property
    def has_exact(self) -> bool:
        """Whether values asked for are exact."""
        return hasattr(self.problem, "exact")

    def _settle(self, state: Any) -> None:
        """Tell the graph an exact value that was asked for, if the state is in it and does not have it."""
        node = self.graph.node_of.get(state)
        if node is not None and self.has_exact and self.known.known["count"][node] == 0:
            settle(node, self.values[state], self.known.world)
            self._proposal = None

    def _spent(self) -> str | None:
        """Return why no more may be asked of the problem, None if it may."""
        nobody = None if self.batches is None else self.batches.ended
        return self.budget.hurried or nobody or ("max_samples" if self._left() <= 0 else None)

    def end_midway(self) -> None:
        """End the search in the middle of something, for a reason that has come up in between."""
        self.reason = self.reason or self._spent()
        self.budget.cut()

    def join(self, states: list[Any]) -> bool:
        """Let states enter the graph on behalf of a stage, with the exact values already known; False if none may."""
        missing = [state for state in dict.fromkeys(states) if state not in self.graph.node_of]
        self._introduce(self.growth.add(missing))
        self._proposal = None
        return True

    def best_value(self) -> float:
        """Return the best value in the graph: exact, or that guides growth."""
        if self.has_exact:
            return self.growth.best_value()
        return max((value for state, value in self.values.items() if state in self.graph.node_of), default=0.0)

    def _let_the_best_in(self) -> None:
        """Let the best state evaluated into the graph, if the search ended before it could enter."""
        if not self.values or not hasattr(self.problem, "path_to"):
            return
        sampled = self.known.known["count"][: len(self.graph)][self.graph.kinds == NOISY].any()
        if sampled and not self.has_exact:  # what was sampled is better known
            return
        best = max(self.values, key=self.values.__getitem__)
        if best not in self.graph.node_of and self.values[best] > self.best_value():
            self.join(self.problem.path_to(best))

    def _answer_of(self, state: Any) -> Any:
        """Return what the problem says, without asking again for what a checkpoint has of it."""
        if state in self.spare:
            return self.spare.pop(state)
        return self.problem.exact(state) if self.has_exact else self.problem.guide(state)
