"""Draws all samples and computes all values: one by one or in batches, by kernels, in Python or by workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from ctypes import CFUNCTYPE, c_double, c_int64, c_void_p, cast
from functools import cached_property, partial
from itertools import takewhile
from math import inf, nan
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from bestleaf.engine.graph import GrowingGraph
from bestleaf.engine.intervals import Knowledge
from bestleaf.engine.kernels.loop import converse, press, run, stands_at, step, take
from bestleaf.engine.records import BAD_BOUND, EXACT, INNER, LIMITED, NOISY, SAMPLE, Decision
from bestleaf.memory import Answers, stream_of
from bestleaf.problems import State
from bestleaf.search.budget import Budget
from bestleaf.search.executors import LATE, Found, Serial, Work, draw_samples, exact_values
from bestleaf.search.settings import checked_value
from bestleaf.search.state import SearchState


class Request(NamedTuple):
    """One sample to draw: ``problem.sample(state, numpy.random.default_rng(seed))``."""

    leaf: int  # node that the sample belongs to
    state: State  # what to sample: the state of the leaf, or a random completion of it
    seed: tuple[int, ...]  # seed of this sample


class Evaluator:
    """Draws samples and computes values for one search, within its budget.

    Samples come from the `compiled` oracle where the problem has one, otherwise from ``problem.sample``; with a
    `batch_size` they are drawn in batches by an executor. Every sample of a batch has its own random stream, made from
    `seed`. So the answer depends on the size of the batches, but not on the workers. The problem is asked only for
    what `answers`, those of earlier runs, do not have.
    """

    def __init__(
        self,
        state: SearchState,
        budget: Budget,
        compiled: Any,
        executor: Serial | None,
        seed: int | None,
        answers: Answers | None = None,
    ) -> None:
        self.state = state
        self.budget = budget
        self.problem = state.problem
        self.compiled = compiled
        self.batch_size = state.settings.batch_size
        self.executor = Serial() if executor is None else executor
        self.seed = seed
        self.answers = answers
        self.rounds = 1  # rounds of the next slice
        own = getattr(self.problem, "batches", None) if self.batch_size else None
        self.batches: Any = None if own is None else own(self)  # draws batches in the problem's own way; see `Batched`
        budget.weigh(lambda: state.next_memory() + getattr(self.batches, "memory", 0))
        self.executor.until(lambda: budget.hurried is not None, budget.look)

    @property
    def left(self) -> int:
        """How many samples and values the budget still allows."""
        return self.budget.samples_left(self.state.samples + self.state.exact_evaluations)

    def spent(self) -> str | None:
        """Return why no more samples and values may be computed; None if they may."""
        nobody = self.executor.ended if self.batch_size else None
        return self.budget.hurried or nobody or ("max_samples" if self.left <= 0 else None)

    def end_midway(self) -> None:
        """End the search in the middle of some work."""
        self.state.reason = self.state.reason or self.spent()

    def pace(self, drawn: int, seconds: float) -> None:
        """Set the rounds of the next slice from the samples and the seconds of the last one."""
        if drawn > 0:
            affordable = drawn * min(self.budget.slice, self.budget.left) / max(seconds, 1e-6)
            self.rounds = int(max(1.0, min(affordable, 4.0 * self.rounds)))

    # Decisions.

    def propose(self) -> Decision:
        """Return the next decision, without acting on it."""
        state = self.state
        if state.decision is None:
            if self.compiled is not None:
                state.decision = Decision(*run(state.known.world, self.compiled.record, state.rng, 0))
            else:
                state.decision = Decision(*step(Decision(SAMPLE, 0, -1, -1, 0.0), 0.0, state.known.world))
        return state.decision

    def absorb(self, decision: Decision, value: float) -> None:
        """Take in the sample of a decision."""
        self.state.decision = Decision(*step(decision, value, self.state.known.world))
        self.state.check_parts()

    def play(self) -> Decision:
        """Draw samples for one slice; return the next decision."""
        if self.compiled is not None:
            return Decision(*run(self._limited_world(), self.compiled.record, self.state.rng, self.rounds))
        if self.batch_size is not None:
            return self._play_batch(self.batch_size)
        self.state.decision = None
        self._sampler.until = perf_counter() + min(self.budget.slice, self.budget.left)
        decision = Decision(*converse(self._limited_world(), self._sampler.address))
        self._sampler.raise_error()
        return decision

    @cached_property
    def _sampler(self) -> Sampler:
        return Sampler(self.state, self.sampled)

    def _limited_world(self) -> np.void:
        """Set how many samples the kernels may draw; return their record."""
        state = self.state
        state.known.world["limit"] = self.budget.samples_left(state.exact_evaluations + state.warmup_samples)
        return state.known.world

    def _play_batch(self, size: int) -> Decision:
        decision = self.propose()
        if decision.action == SAMPLE:
            requests = self.requests(decision, size)
            if not requests:
                return decision._replace(action=LIMITED)
            values = self.samples(requests)
            if values is not None:
                self.tell(decision, requests, values)
        return self.propose()

    def press(self, target: float, rounds: int) -> int:
        """Sample the leaves of largest upper bound for one slice; return what the kernel `press` returns."""
        state = self.state
        state.decision = None
        if self.compiled is not None:
            return int(press(target, self._limited_world(), self.compiled.record, state.rng, rounds))
        stands = int(stands_at(target, self._limited_world()))
        if stands != SAMPLE:
            return stands
        top = self.propose()._replace(leaf=int(state.known.known["leaf"][0]))
        for leaf, value in self._pressed(top):
            if not take(leaf, value, state.known.world):
                return BAD_BOUND
        state.decision = None
        return SAMPLE

    def _pressed(self, top: Decision) -> Iterator[tuple[int, float]]:
        """Draw samples of the leaves of largest upper bound; yield (leaf, sample)."""
        if self.batch_size is None:
            yield top.leaf, self.draw(top.leaf)
            return
        requests = self.requests(top, self.batch_size)
        for one, value in zip(requests, self.samples(requests) or [], strict=False):
            self._credit(one, value)
            yield one.leaf, value

    # Samples.

    def draw(self, leaf: int) -> float:
        """Return one sample of a leaf."""
        state = self.state.graph.states[leaf]
        return checked_value(self.sampled(state, self.state.rng), "sample", state)

    @property
    def sampled(self) -> Callable[[State, np.random.Generator], float]:
        """The function that draws one sample: ``problem.sample``, or one that asks the memory first."""
        return self.problem.sample if self.answers is None else self._remembered_sample

    def _remembered_sample(self, state: State, rng: np.random.Generator) -> float:
        """Return a sample; it and what it left of the random stream are kept, because both follow from the stream."""
        assert self.answers is not None
        question = self.answers.question("draw", state, stream_of(rng))
        known = self.answers.drawn(question, rng)
        if known is None:
            known = checked_value(self.problem.sample(state, rng), "sample", state)
            self.answers.keep_drawn(question, known, rng)
        return known

    def request(self, leaf: int) -> Request:
        """Return a sample to draw; the random completion of a rollout is drawn here, so that it is known."""
        assert self.seed is not None
        state = self.state.graph.states[leaf]
        seed = (self.seed, 2, self.state.requests)  # 2 among the streams of a seed: samples drawn in batches
        self.state.requests += 1
        if hasattr(self.problem, "complete"):
            state = self.problem.complete(state, np.random.default_rng((*seed, 1)))
        return Request(leaf, state, seed)

    def requests(self, decision: Decision, size: int) -> list[Request]:
        """Return the samples to draw next, the most useful first; fewer if the budget allows fewer."""
        many = min(size, self.left)
        leaves = useful_leaves(decision, self.state.graph, self.state.known, many) if many > 0 else []
        return [self.request(leaf) for leaf in leaves]

    def samples(self, requests: Sequence[Request]) -> list[float] | None:
        """Draw samples, in order; None if time was over before all were drawn: then none of them counts."""
        if self.batches is not None:
            found = self.batches.samples(requests)
        else:
            found = self.asked("sample", [(one.state, one.seed) for one in requests], draw_samples)
        if len(found) < len(requests):
            self.state.requests -= len(requests)  # they will be drawn again
            self.end_midway()
            return None
        return self.checked(requests, found)

    def checked(self, requests: Sequence[Request], values: Sequence[object]) -> list[float]:
        """Return samples as numbers in [0, 1]."""
        states = (self.state.graph.states[one.leaf] for one in requests)
        return [checked_value(value, "sample", state) for value, state in zip(values, states, strict=True)]

    def tell(self, decision: Decision, requests: Sequence[Request], values: Sequence[float]) -> None:
        """Take in the samples of a batch, in the order of the requests."""
        for one, value in zip(requests, values, strict=True):
            self.absorb(decision._replace(leaf=one.leaf), value)
            self._credit(one, value)
            if self.state.decision is not None and self.state.decision.action == BAD_BOUND:
                break

    def _credit(self, request: Request, value: float) -> None:
        if self.state.rollouts is not None:
            self.state.rollouts.credit(request.leaf, request.state, value)

    def warm_up(self, node: int, many: int) -> int:
        """Draw rollouts from a node that no interval uses; return how many."""
        if self.compiled is not None:
            return self.compiled.warm_up(node, many)
        requests = [self.request(node) for _ in range(many)]
        values = self.samples(requests)
        for one, value in zip(requests, values or [], strict=False):
            self._credit(one, value)
        return 0 if values is None else many

    # Values.

    def look_up(self, state: State) -> float | None:
        """Return the value of a terminal state, in the graph or not; None if the budget is spent."""
        if state not in self.state.values:
            if self.spent() is not None:
                self.end_midway()
            elif (found := self.ask(state)) is not None:
                self.state.take_value(state, found[0])
        return self.state.values.get(state)

    def ask(self, state: State) -> tuple[float | None] | None:
        """Return the value of a state, in a tuple; None if time was over before it was computed.

        It is computed only if neither the search nor its memory has it.
        """
        if state in self.state.values:
            return (self.state.values[state],)
        found = self._recalled("exact", [(state,)], lambda _: self._in_pieces(state))
        if not found:
            self.end_midway()
        return (found[0],) if found else None

    def _in_pieces(self, state: State, late: float = 0.0) -> list[float | None]:
        """Return the value of a state in a list; an empty one if time is over before its long part is done.

        It may take `late` seconds even if time is over already.
        """
        until = perf_counter() + late
        for _ in self.problem.in_pieces(state) if hasattr(self.problem, "in_pieces") else ():
            if self.budget.hurried is not None and perf_counter() >= until:
                return []
        return [self.problem.exact(state)]

    def evaluate(self, leaf: int) -> bool:
        """Compute the exact value of a leaf of the graph; False if the budget does not allow it."""
        if self.left <= 0:
            self.state.reason = "max_samples"
            return False
        state = self.state.graph.states[leaf]
        found = self.ask(state)
        if found is not None:
            self.state.take_value(state, found[0])
        return found is not None

    @property
    def at_once(self) -> int:
        """How many values are computed together: a batch, or as many as the problem can do at once."""
        if self.batch_size is not None:
            return self.batch_size if self.batches is None else self.batches.values_at_once(self.batch_size)
        return getattr(self.problem, "at_once", 1) if self.state.has_exact else 1

    def prefetch(self, states: Sequence[State]) -> None:
        """Evaluate states together before they are looked up, as far as the budget goes, if that takes less time."""
        at_once = self.at_once
        if self.batch_size is None and at_once < 2:
            return
        missing = [state for state in dict.fromkeys(states) if state not in self.state.values]
        while missing and self.spent() is None:
            now = missing[: min(at_once, self.left)]
            missing = missing[len(now) :]
            found = self._values(now)
            for state, value in zip(now, found, strict=False):
                self.state.take_value(state, value)
            missing += now[len(found) :]  # time was over before their turn
        if missing:
            self.end_midway()

    def _values(self, states: Sequence[State]) -> Sequence[float | None]:
        """Return the values of states, computed by the executor, in order; fewer if time is over."""
        if self.batches is not None:
            return self.batches.values(states)
        work = exact_values if self.batch_size is None else partial(self.executor.map, exact_values)
        asked = [(state,) for state in states]
        return self._recalled("exact", asked, lambda some: work(self.problem, [one for (one,) in some]))

    def asked(self, kind: str, items: Sequence[tuple], work: Work[float]) -> list[float]:
        """Return the result of each item, by the executor unless it is known; fewer if time is over."""
        return self._recalled(kind, items, lambda missing: self.executor.map(work, self.problem, missing))

    def _recalled(
        self, kind: str, items: Sequence[tuple], compute: Callable[[list[tuple]], Sequence[Found]]
    ) -> list[Found]:
        """Return the answers to some questions; only those that are not in the memory are computed, and kept."""
        if self.answers is None:
            return list(compute(list(items)))
        questions = [self.answers.question(kind, *one) for one in items]
        known: list[tuple[Any] | None] = [self.answers.number(question) for question in questions]
        places = [place for place, answer in enumerate(known) if answer is None]
        found = compute([items[place] for place in places]) if places else []
        for place, value in zip(places, found, strict=False):
            self.answers.keep_number(questions[place], value)
            known[place] = (value,)
        return [answer[0] for answer in takewhile(lambda one: one is not None, known) if answer is not None]

    def ensure_value(self) -> None:
        """Compute or estimate one value, if a budget ended the search before there was any.

        A problem that draws batches in its own way estimates it. Where it would take more than half a second, it is
        estimated by one sample.
        """
        state = self.state
        kind = EXACT if state.has_exact else NOISY
        if not (state.graph.kinds == kind).any():
            state.join([self._terminal_below()], self.budget)
        leaves = np.flatnonzero(state.graph.kinds == kind)
        if state.values or not len(leaves) or state.known.known["count"][leaves].any():
            return
        first = state.graph.states[int(leaves[0])]
        if self.batches is not None:
            self._guess(self.batches.rough(first))
        elif found := self._recalled("exact", [(first,)], lambda _: self._in_pieces(first, LATE)):
            state.take_value(first, found[0])
        else:
            sample = self.problem.sample(first, np.random.default_rng(self.state.seed))
            self._guess({first: checked_value(sample, "sample", first)})

    def _guess(self, rough: dict[State, float]) -> None:
        """Take over rough values of states; the best of them enters the graph."""
        self.state.rough = rough
        self.state.join(self.problem.path_to(max(rough, key=rough.__getitem__)), self.budget)

    def _terminal_below(self) -> State:
        """Return a terminal child of the node of highest lower bound that has one."""
        graph = self.state.graph
        order = np.argsort(-self.state.known.known["lower"][: len(graph)], kind="stable")
        below = (child for node in order for child in self.problem.children(graph.states[node]))
        return next(child for child in below if self.problem.is_terminal(child))


def useful_leaves(decision: Decision, graph: GrowingGraph, known: Knowledge, many: int) -> list[int]:
    """Return the leaves to sample next, some of them several times.

    The first is the leaf of the decision. The others are found by assuming that the samples before them keep the middle
    of each interval where it is and reduce its width with the square root of the number of samples.
    """
    rows, kinds = known.known[: len(graph)], graph.kinds
    if graph.adversarial:
        leaves = np.array([decision.leaf])
    else:
        leaves = np.flatnonzero((kinds != INNER) & (kinds != EXACT) & (rows["upper"] > rows["lower"]))
    counts = np.maximum(rows["count"][leaves], 1)
    upper, lower = np.minimum(rows["upper"][leaves], 2.0), np.maximum(rows["lower"][leaves], -1.0)
    half, middle, asked = (upper - lower) / 2, (upper + lower) / 2, np.zeros(len(leaves))
    own = np.flatnonzero(leaves == rows["leaf"][decision.best])
    found = [int(np.flatnonzero(leaves == decision.leaf)[0])]
    while len(found) < many:
        asked[found[-1]] += 1
        widths = half * np.sqrt(counts / (counts + asked))
        reach = middle + widths
        reach[own] = -np.inf
        rival = int(reach.argmax())
        found.append(int(own[0]) if len(own) and widths[own[0]] > widths[rival] else rival)
    return leaves[found].tolist()


class Sampler:
    """What the kernel `converse` calls for a sample of a leaf.

    No error can pass through compiled code. So an error is kept, the kernel gets NaN and returns, and `raise_error`
    raises the error.
    """

    def __init__(self, state: SearchState, sample: Callable[[State, np.random.Generator], object]) -> None:
        self.until = inf  # on the clock `perf_counter`: no round begins later
        self._error: BaseException | None = None

        def draw(leaf: int) -> float:
            if perf_counter() >= self.until:
                return nan
            try:
                value = sample(asked := state.graph.states[leaf], state.rng)
                return value if type(value) is float and 0.0 <= value <= 1.0 else checked_value(value, "sample", asked)
            except BaseException as error:
                self._error = error
                return nan

        self._callback = CFUNCTYPE(c_double, c_int64)(draw)

    @property
    def address(self) -> int:
        """The address of the function for compiled code."""
        return cast(self._callback, c_void_p).value or 0

    def raise_error(self) -> None:
        """Raise the error of the last sample, if there was one."""
        error, self._error = self._error, None
        if error is not None:
            raise error
