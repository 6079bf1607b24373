"""Samples and exact values asked for in batches: whom to sample at once, and who does it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np

from bestleaf._records import EXACT, INNER, Proposal
from bestleaf.executors import Executor, Serial, Work, draw_samples, exact_values, guiding_values, parts_of_values
from bestleaf.graph import GrowingGraph
from bestleaf.intervals import Knowledge
from bestleaf.search.options import checked_value

MOST_REMEMBERED = 500_000  # scores of parts
STREAM = 2  # of the streams that follow from a seed, the one of samples drawn in batches


class Request(NamedTuple):
    """One sample that is asked for; `problem.sample(state, numpy.random.default_rng(seed))` gives it."""

    leaf: int  # node it counts for
    state: Any  # what is to be sampled: the state of the leaf, or the terminal state a rollout from it has reached
    seed: tuple[int, ...]  # of the stream of this sample


class Batches:
    """How many samples are asked for at once, by whom they are drawn, and their streams.

    Every sample has its number and by that its own stream, so the answer depends on the size of the batches, but not on
    who draws them or when.
    """

    def __init__(self, problem: Any, size: int, executor: Executor | None, seed: int, over: Callable[[], bool]) -> None:
        self.problem = problem
        self.size = size
        self.executor: Executor = Serial() if executor is None else executor
        self.seed = seed
        self.number = 0  # of the next sample
        self.many_parts = getattr(problem, "parts", 0)  # of a value
        self._parts: dict[tuple[Any, int], Any] = {}  # scores of parts asked for
        self.over = over
        if hasattr(self.executor, "until"):
            self.executor.until(over)

    @property
    def ended(self) -> str | None:
        """Why nobody is left to do the work; None while there is somebody."""
        return getattr(self.executor, "ended", None)

    def request(self, leaf: int, state: Any) -> Request:
        """Return the next sample to draw; a rollout is completed here, so that its units are known."""
        seed = (self.seed, STREAM, self.number)
        self.number += 1
        if hasattr(self.problem, "complete"):
            state = self.problem.complete(state, np.random.default_rng((*seed, 1)))
        return Request(leaf, state, seed)

    def samples(self, requests: Sequence[Request]) -> list[Any] | None:
        """Return the samples asked for, in order; None if time was over before all were drawn, and none counts."""
        found = self._drawn(requests)
        if len(found) < len(requests):
            self.number -= len(requests)  # they are asked for again
            return None
        return found

    def _drawn(self, requests: Sequence[Request]) -> list[Any]:
        if self.many_parts:
            numbers = [self.problem.drawn_part(np.random.default_rng(one.seed)) for one in requests]
            if None not in numbers:
                return self.parts([(one.state, number) for one, number in zip(requests, numbers, strict=True)])
        return self._mapped(draw_samples, [(one.state, one.seed) for one in requests])

    def _mapped(self, work: Work, items: Sequence[Any]) -> list[Any]:
        """Return the results of the executor, which may be fewer only for a reason."""
        found = self.executor.map(work, self.problem, items)
        if len(found) != len(items) and not (self.ended or self.over()):
            raise ValueError(f"executor must return a result for each of {len(items)} items, got {len(found)}")
        return found

    def values(self, states: Sequence[Any]) -> list[Any]:
        """Return the exact values of states (those that guide, if none are exact), in order, as far as time goes."""
        if self.many_parts:
            scores = self.parts([(state, number) for state in states for number in range(self.many_parts)])
            whole = len(scores) // self.many_parts
            rows = np.reshape(scores[: whole * self.many_parts], (whole, self.many_parts))
            return [float(np.mean(part)) for part in rows]
        work = exact_values if hasattr(self.problem, "exact") else guiding_values
        return self._mapped(work, states)

    def parts(self, items: list[tuple[Any, int]]) -> list[Any]:
        """Return scores whose means values are, by state and number, in order, as far as time goes; each once."""
        if len(self._parts) > MOST_REMEMBERED:
            self._parts.clear()
        missing = [one for one in dict.fromkeys(items) if one not in self._parts]
        if missing:
            self._parts.update(zip(missing, self._mapped(parts_of_values, missing), strict=False))
        return [self._parts[one] for one in takewhile(self._parts.__contains__, items)]

    def rough_values(self) -> dict[Any, float]:
        """Return the mean of the parts known of every value."""
        scores: dict[Any, list[float]] = {}
        for (state, _), score in self._parts.items():
            scores.setdefault(state, []).append(checked_value(score, "part", state))
        return {state: float(np.mean(known)) for state, known in scores.items()}

    @property
    def remembered(self) -> int:
        """How many scores of parts are remembered."""
        return len(self._parts)

    @property
    def values_at_once(self) -> int:
        """How many values take about as long as a batch of samples."""
        return max(1, self.size // max(1, self.many_parts))


def useful_leaves(proposal: Proposal, graph: GrowingGraph, known: Knowledge, many: int) -> list[int]:
    """Return the leaves to sample next, some of them several times.

    First the wider of best and rival, then who would be next if the middle of an interval stayed where it is and its
    width fell with the square root of the samples, those already asked for included.
    """
    rows, kinds = known.known[: len(graph)], graph.kinds
    if graph.adversarial:
        crowd = np.array([leaf for leaf in (proposal.first, proposal.second) if leaf >= 0])
    else:
        crowd = np.flatnonzero((kinds != INNER) & (kinds != EXACT) & (rows["upper"] > rows["lower"]))
    counts = np.maximum(rows["count"][crowd], 1)
    upper, lower = np.minimum(rows["upper"][crowd], 2.0), np.maximum(rows["lower"][crowd], -1.0)
    half, middle, asked = (upper - lower) / 2, (upper + lower) / 2, np.zeros(len(crowd))
    mine = np.flatnonzero(crowd == rows["leaf"][proposal.best])
    found = [int(np.flatnonzero(crowd == proposal.first)[0])]
    while len(found) < many:
        asked[found[-1]] += 1
        widths = half * np.sqrt(counts / (counts + asked))
        reach = middle + widths
        reach[mine] = -np.inf
        rival = int(reach.argmax())
        found.append(int(mine[0]) if len(mine) and widths[mine[0]] > widths[rival] else rival)
    return crowd[found].tolist()
