"""What is done on cross-validation folds: orders are found and their prefixes scored, on one core or many."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from math import inf
from time import time
from typing import Literal, NamedTuple, cast

import numpy as np
from msgspec import msgpack

from bestleaf.features.estimator import ONE_THREAD
from bestleaf.memory import Answers
from bestleaf.search.budget import Budget
from bestleaf.search.executors import Joblib, Serial
from bestleaf.selection.data import Data
from bestleaf.selection.folds import Fold, Part
from bestleaf.selection.judges import Panel
from bestleaf.selection.orders import Check, elimination, forward
from bestleaf.selection.space import Space

Arrays = tuple[np.ndarray, ...]
Tell = Callable[[int, int, str], object]  # is told what is done, of how much, and in words how it stands


class Scored(NamedTuple):
    """An order found on the training rows of a fold, and the scores of its prefixes, [judges, sizes]."""

    order: np.ndarray
    scores: np.ndarray

    @property
    def difference(self) -> np.ndarray:
        """The difference to all columns."""
        return self.scores - self.scores[:, -1:]


class Task(NamedTuple):
    """One piece of work: an order on all rows, one on a fold and its scores, or a part of the honest score."""

    kind: Literal["order", "forward", "elimination", "inner", "outer"]
    fold: Fold
    scored: Arrays = ()  # an order and scores that are known already; or the set to score
    ends: float = inf  # of time by the clock on the wall, for other processes


class TimeOverError(Exception):
    """The time is over, or Ctrl-C was pressed."""


@dataclass(frozen=True)
class Plan:
    """What tasks share: data and settings. Other processes get a copy."""

    data: Data
    space: Space  # in the order of content: all of its units may be chosen
    panel: Panel
    sizes: tuple[int, ...]
    asked: int | None
    seed: int
    budget: Budget | None  # None in another process, which looks at the clock on the wall

    def __getstate__(self) -> dict[str, object]:
        """Return what is sent to another process."""
        return {**vars(self), "budget": None}

    @property
    def thin(self) -> tuple[int, ...]:
        """Every second size, those at the end, and the one asked for."""
        return tuple(sorted({*self.sizes[::2], *self.sizes[-2:], self.asked or self.sizes[0]}))

    def done(self, task: Task) -> list[np.ndarray]:
        """Return the result of a task."""

        def check() -> None:
            if time() > task.ends if self.budget is None else self.budget.spent():
                raise TimeOverError

        check()
        return KINDS[task.kind](self, self.panel.part(self.data, self.space, task.fold), task.scored, check)


def _order(plan: Plan, part: Part, scored: Arrays, check: Check) -> list[np.ndarray]:
    return [forward(part, check)]


def _forward(plan: Plan, part: Part, scored: Arrays, check: Check) -> list[np.ndarray]:
    """Return an order and the scores of its prefixes."""
    order, every = forward(part, check), range(len(plan.space.units))
    scores = np.empty((len(plan.panel.judges), len(plan.sizes)))
    scores[:, -1:] = plan.panel.scores(part, every, [len(every)], check)
    scores[:, :-1] = plan.panel.scores(part, order, plan.sizes[:-1], check)
    return [order, scores]


def _elimination(plan: Plan, part: Part, scored: Arrays, check: Check) -> list[np.ndarray]:
    """Return an order and its scores; sets that forward selection has found, too, are not scored again."""
    known, scores = scored[0], scored[1].copy()
    order = elimination(part, check)
    fresh = [place for place, size in enumerate(plan.sizes) if {*order[:size]} != {*known[:size]}]
    scores[:, fresh] = plan.panel.scores(part, order, [plan.sizes[place] for place in fresh], check)
    return [order, scores]


def _inner(plan: Plan, part: Part, scored: Arrays, check: Check) -> list[np.ndarray]:
    """Return the orders found without two folds, and the differences on each, [folds, orders, judges, sizes]."""
    light, every = plan.panel.lighter(), range(len(plan.space.units))
    first = int(scored[0][0])
    tests = [np.arange(first), np.arange(first, len(part.new_y))]
    # Of the trees, for choices inside of the honest score.
    orders = [elimination(part, check, 0.5), forward(part, check)]
    best = light.scores_on(part, every, [len(every)], tests, check)
    each = [light.scores_on(part, order, plan.thin[:-1], tests, check) - best for order in orders]
    zero = np.zeros((len(tests), len(orders), len(light.judges), 1))
    return [*orders, np.concatenate([np.stack(each, axis=1), zero], axis=-1)]


def _outer(plan: Plan, part: Part, scored: Arrays, check: Check) -> list[np.ndarray]:
    """Return the score of each set by each judge."""
    return [plan.panel.scores(part, units, [len(units)], check)[:, 0] for units in scored]


KINDS = {"order": _order, "forward": _forward, "elimination": _elimination, "inner": _inner, "outer": _outer}


def do(plan: Plan, tasks: Sequence[Task]) -> list[list[np.ndarray] | None]:
    """Return the result of each task; None if time is over."""
    found: list[list[np.ndarray] | None] = []
    with ONE_THREAD:
        for task in tasks:
            try:
                found.append(plan.done(task))
            except TimeOverError:
                found.append(None)
    return found


class Run:
    """Does tasks within a budget; what a memory knows is not done again."""

    def __init__(self, plan: Plan, memory: Answers | None, workers: Serial, many: int, tell: Tell | None) -> None:
        self.plan, self.memory, self.workers, self.many, self.tell = plan, memory, workers, many, tell
        self.budget = cast(Budget, plan.budget)
        self.about = [plan.panel.settings(), plan.seed, plan.sizes, plan.space.units, plan.space.forced]
        self.count = 0
        self.words = ""

    @property
    def over(self) -> bool:
        """Whether nothing more can be done."""
        return self.budget.spent() is not None or self.workers.ended is not None

    def results(self, tasks: Sequence[Task]) -> Iterator[list[np.ndarray]]:
        """Yield the results of tasks in order; fewer if time is over."""
        width, place = _width(self.workers), 0
        while place < len(tasks):
            some = tasks[place : place + width]
            known = [self._known(task) for task in some]
            fresh = [task for task, one in zip(some, known, strict=True) if one is None]
            done = iter(self._fresh(fresh))
            for task, one in zip(some, known, strict=True):
                found = next(done, None) if one is None else one
                if found is None:
                    return
                if one is None and self.memory is not None:
                    self.memory.memory.put(self._question(task, self.memory), packed(found))
                yield found
                self.count += 1
                if self.tell is not None:
                    self.tell(self.count, self.many, self.words)
            place += width

    def _fresh(self, tasks: Sequence[Task]) -> list[list[np.ndarray] | None]:
        if not tasks or self.over:
            return []
        ends = time() + self.budget.look()
        return self.workers.map(do, self.plan, [task._replace(ends=ends) for task in tasks])

    def _question(self, task: Task, memory: Answers) -> bytes:
        numbers = (*task.fold, *task.scored)
        digests = [blake2b(np.ascontiguousarray(one).tobytes(), digest_size=16).hexdigest() for one in numbers]
        return memory.question("choice", task.kind, digests, *self.about)

    def _known(self, task: Task) -> list[np.ndarray] | None:
        answer = None if self.memory is None else self.memory.memory.get(self._question(task, self.memory))
        return None if answer is None else unpacked(answer)


def _width(workers: Serial) -> int:
    """Return how many tasks are done at a time."""
    if isinstance(workers, Joblib):
        from joblib import effective_n_jobs

        return max(1, effective_n_jobs(workers.n_jobs))
    return max(1, workers.count()) if hasattr(workers, "count") else 1


def packed(arrays: Sequence[np.ndarray]) -> bytes:
    """Return arrays as bytes."""
    return msgpack.encode([(one.dtype.str, one.shape, one.tobytes()) for one in arrays])


def unpacked(answer: bytes) -> list[np.ndarray] | None:
    """Return the arrays in some bytes; None if they are damaged."""
    try:
        return [np.frombuffer(body, kind).reshape(shape) for kind, shape, body in msgpack.decode(answer)]
    except (ValueError, TypeError):
        return None
