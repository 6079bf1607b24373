"""The loop of the UCT family: descend, sample, credit, widen, until the budget is spent."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from bestleaf._kernels import draw  # noqa: F401  registers the compiled oracles
from bestleaf._kernels.descent import SAMPLED, play, step_down, step_up
from bestleaf._records import EVALUATE, GROW, REFRESH, SAMPLE
from bestleaf.checks import function_or_none
from bestleaf.graph import GrowingGraph
from bestleaf.search.interrupt import SecondInterrupt, deferred_interrupt
from bestleaf.search.options import checked_value
from bestleaf.search.result import Progress
from bestleaf.search.stages import SLICE
from bestleaf.uct.children import Children
from bestleaf.uct.statistics import Statistics


class Loop:
    """Descents on one graph with one budget."""

    def __init__(
        self,
        problem: Any,
        settings: dict[str, Any],
        *,
        rng: np.random.Generator,
        oracle: Any,
        recommend: str,
        max_samples: int | None,
        max_time: float | None,
        callback: Callable[[Progress], Any] | None,
    ) -> None:
        self.problem = problem
        self.rng = rng
        self.oracle = oracle
        self.recommend = recommend
        self.max_samples = max_samples
        self.max_time = max_time
        self.callback = function_or_none("callback", callback)
        self.values: dict[Any, float] = {}  # exact values asked for
        self.exact_leaves = True  # terminal leaves are worth their exact value where the problem has one
        self.elapsed = 0.0
        self.reason: str | None = None
        self.graph = GrowingGraph.opening(problem, with_children=False)
        self.statistics = Statistics(self.graph, settings)
        self.children: Children  # set by whoever makes the loop
        self._introduce(0)

    @property
    def samples(self) -> int:
        """Descents so far; those that ended at an exact leaf are among them."""
        return int(self.statistics.world["samples"])

    def _introduce(self, node: int) -> None:
        if self.oracle is not None:
            self.oracle.add(node, self.graph.states[node])

    def run(self) -> None:
        """Descend until the budget is spent, Ctrl-C is pressed or the callback says so."""
        if self.oracle is not None:
            play(self.statistics.world, self.oracle.record, self.rng, 0)  # compiles before the clock starts
        else:
            self._slice(1)  # so does the first sample
        started, reported, rounds = perf_counter(), 0.0, 32
        with deferred_interrupt() as interrupted:
            try:
                while self.reason is None:
                    begun, drawn = perf_counter(), self.samples
                    self._slice(rounds if self.max_samples is None else min(rounds, self.max_samples - drawn))
                    self.elapsed = perf_counter() - started
                    rounds = self._paced(rounds, self.samples - drawn, perf_counter() - begun)
                    if self.callback is not None and self.elapsed - reported >= SLICE:
                        reported = self.elapsed
                        if self.callback(self.progress()) is True and self.reason is None:
                            self.reason = "callback"
                    if interrupted() and self.reason is None:
                        self.reason = "interrupted"
            except SecondInterrupt:
                raise
            except KeyboardInterrupt:  # raised by the problem or the callback
                self.reason = "interrupted"
        if self.callback is not None:
            self.callback(self.progress())

    def _paced(self, rounds: int, drawn: int, seconds: float) -> int:
        """Look at the budgets; return how long the next slice may be."""
        left = SLICE if self.max_time is None else min(SLICE, self.max_time - self.elapsed)
        if self.max_samples is not None and self.samples >= self.max_samples:
            self.reason = "max_samples"
        elif left <= 0:
            self.reason = "max_time"
        affordable = drawn * left / max(seconds, 1e-6)
        return int(max(1.0, min(affordable, 4.0 * rounds))) if drawn else rounds

    def _slice(self, rounds: int) -> None:
        """Play some rounds, doing in Python what the kernel cannot."""
        world, until, last = self.statistics.world, perf_counter() + SLICE, self.samples + rounds
        while (left := last - self.samples) > 0 and perf_counter() < until:
            if self.oracle is not None:
                action = play(world, self.oracle.record, self.rng, left)
            else:
                action = step_down(world)
                if action == SAMPLE:
                    step_up(self._sample(int(world["node"])), world)
            if action == GROW:
                self._grow(int(world["node"]), int(world["edge"]))
            elif action == EVALUATE:
                self._evaluate(int(world["node"]))
            elif action == REFRESH:
                self.children.refresh(int(world["node"]))

    def _sample(self, node: int) -> float:
        """Return the value of a node for a problem in Python."""
        value, state = float(self.statistics.crossings["value"][node]), self.graph.states[node]
        return value if value >= 0 else checked_value(self.problem.sample(state, self.rng), "sample", state)

    def _grow(self, node: int, edge: int) -> None:
        """Make the next edge of a node, or the node that an edge lacks."""
        if edge >= 0:
            self.statistics.lead(
                edge, self._node_of(self.children.state(node, int(self.statistics.edges["child"][edge])))
            )
            return
        state = self.children.next(node)
        if state is not None:
            self.statistics.connect(node, self._node_of(state))

    def _node_of(self, state: Any) -> int:
        """Return the node of a state, which enters the graph if it is not there."""
        if state not in self.graph.node_of:
            node, _ = self.graph.add(state)
            self.statistics.survey()
            self._introduce(node)
        return self.graph.node_of[state]

    def _evaluate(self, node: int) -> None:
        """Ask for the exact value of a terminal leaf; one that has none is sampled."""
        state = self.graph.states[node]
        value = self.problem.exact(state) if self.exact_leaves else None
        if value is None:
            self.statistics.crossings["value"][node] = SAMPLED
            return
        self.values[state] = checked_value(value, "exact", state)
        self.statistics.crossings["value"][node] = self.values[state]

    def progress(self) -> Progress:
        """Return a look at the search as it stands; nothing is claimed, so the gap is 1."""
        best = self.graph.states[self.statistics.recommended(self.recommend)[-1]]
        leaves = int((self.statistics.crossings["arms"][: len(self.graph)] == 0).sum())
        return Progress(self.samples, len(self.values), len(self.graph) - 1, leaves, 1.0, best, self.elapsed)
