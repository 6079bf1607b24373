"""One search as an object: run it to its end, or draw its samples yourself by `ask` and `tell`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, NamedTuple, TypeVar

from bestleaf.checks import check_keywords, function_or_none, shown, whole
from bestleaf.engine.records import LIMITED, SAMPLE, SOLVED, Decision
from bestleaf.memory import Answers, Memory, opened
from bestleaf.problems import Problem, State
from bestleaf.search.answer import Answer, EvaluatedLeaf, checked_answer, gap_of, most_likely, named_answer
from bestleaf.search.budget import Budget, run_in_slices
from bestleaf.search.evaluator import Evaluator, Request
from bestleaf.search.executors import Serial, executor_for
from bestleaf.search.growth import Growth, Pause, called, proposals_for
from bestleaf.search.loop import act, let_the_best_in, search_slice
from bestleaf.search.moves import Begun, carry_over
from bestleaf.search.result import Progress, Result
from bestleaf.search.settings import Seed, Settings, checked_problem, name_of, stream
from bestleaf.search.stages import LocalOptimum, Stage
from bestleaf.search.state import SearchState

Asked = TypeVar("Asked")


class Inside(NamedTuple):
    """What bestleaf itself hands to a search, beside the keywords of users."""

    executor: Serial | None = None  # draws the samples of a batch; None for this thread
    stages: Sequence[Stage] = ()  # work to do once the answer is settled, before guarantees are checked
    seconds: float = 0.0  # of `max_time` that are used already
    enough: bool = False  # the search ends with an early local proof; see `LocalOptimum`


NOTHING_INSIDE = Inside()


class Search:
    """A search that runs to its end, or lets you draw the samples by `ask` and `tell`.

    Parameters
    ----------
    problem : Problem
        What is searched.
    seed, callback, memory : default=None
        As in `best_leaf`.
    n_jobs, answer
        As in `best_leaf`.
    inside : Inside
        What bestleaf itself hands in.
    **settings
        ``task="arm"`` or ``"leaf"``, and the other keywords of `best_leaf`.

    Examples
    --------
    >>> import numpy as np
    >>> from bestleaf import Search, problems
    >>> lattice, rng = problems.paper_lattice(), np.random.default_rng(0)
    >>> search = Search(lattice, task="arm", epsilon=0.2, delta=0.1, seed=0)
    >>> while (leaf := search.ask()) is not None:
    ...     search.tell(lattice.sample(leaf, rng))
    >>> search.result().reason
    'settled'
    """

    def __init__(
        self,
        problem: Problem,
        *,
        seed: Seed = None,
        callback: Callable[[Progress], object] | None = None,
        n_jobs: int | None = None,
        memory: str | os.PathLike[str] | Memory | None = None,
        answer: Answer | None = None,
        inside: Inside = NOTHING_INSIDE,
        **settings: Any,
    ) -> None:
        check_keywords("Search", settings, (one.name for one in fields(Settings)), ("epsilon", "delta"))
        self.settings = Settings(**settings)
        checked_problem(problem)
        self.budget = Budget(self.settings.max_samples, self.settings.max_time, self.settings.max_memory)
        self._memory, self._lent = opened(memory), isinstance(memory, Memory)
        answers = Answers.of(self._memory, problem)
        self._callback = function_or_none("callback", callback)
        self._answer = named_answer(answer)
        self._asked: int | None = None
        self._requests: list[Request] = []
        self._begun = False  # the kernels are compiled, and the clock runs
        if seed is None and answers is not None:  # the same call without a seed has the seed of the first time
            seed = answers.seed(int(stream(None)[1] or 0), *self._told(answer))
        rng, number = stream(seed)
        executor, batches = inside.executor, None  # `batches` is the seed of samples drawn in batches
        if self.settings.batch_size is not None:
            executor = executor_for(n_jobs, "processes") if executor is None else executor
            batches = int(rng.integers(2**63)) if number is None else number
        elif n_jobs is not None:
            needed = "n_jobs needs batch_size, the number of samples asked for at once"
            raise ValueError(f"{needed}, got n_jobs={shown(n_jobs)}")
        self._local: list[LocalOptimum] = []
        if "local" in self.settings.guarantee:
            self._local.append(LocalOptimum(problem, lambda: self._recommend()[0], enough=inside.enough))
        compiled = problem.compiled_oracle(rng) if batches is None and hasattr(problem, "compiled_oracle") else None
        rollouts = compiled if batches is None else getattr(problem, "plain_rollouts", lambda: None)()
        proposals = proposals_for(self.settings, problem, rollouts=rollouts is not None)
        self.state = SearchState(
            problem, self.settings, rng, number, rollouts, self.budget, whole_opening=proposals.whole_opening
        )
        self.evaluator = Evaluator(self.state, self.budget, compiled, executor, batches, answers)
        pause = Pause(self.state, self.evaluator, opens_later=isinstance(self._answer, EvaluatedLeaf))
        self.growth = Growth(self.state, self.evaluator, proposals(self.state, self.evaluator), pause)
        self.state.introduce(range(len(self.state.graph)))
        self.state.check_fit()
        if self.state.known.world["plans"] and self._answer is not most_likely:
            raise ValueError(f"answer must be the default one where best_leaf returns a plan, got {shown(answer)}")
        self.stages: list[Stage] = [*inside.stages, *self._local]
        if inside.seconds:
            self.budget.start(inside.seconds)

    def _told(self, answer: Answer | None) -> list[object]:
        """Return the settings that tell one call without a seed from another, in words."""
        besides = ("epsilon", "max_samples", "max_time", "max_memory", "guarantee")  # they do not change what is asked
        given = [getattr(self.settings, one.name) for one in fields(Settings) if one.name not in besides]
        named = [one if isinstance(one, str | int | float) else name_of(one) for one in (*given, answer)]
        return [*named, sorted(self.settings.guarantee)]

    def run(self) -> Result:
        """Search until the answer is settled, a budget is spent or Ctrl-C is pressed."""
        try:
            self.finish()
            return self.result()
        finally:
            if self._memory is not None and not self._lent:
                self._memory.close()

    def finish(self) -> None:
        """Search as `run` does, but return no result."""
        self._begun = False
        with self.evaluator.executor:  # its pool of workers stays open until the search ends
            run_in_slices(self, self._callback)

    @property
    def reason(self) -> str | None:
        """Why the search is over; None while it goes on."""
        return self.state.reason

    @reason.setter
    def reason(self, reason: str | None) -> None:
        self.state.reason = reason

    def slice(self) -> None:
        """Search for about 50 ms; the first time, only prepare it."""
        if self._begun:
            search_slice(self.state, self.evaluator, self.budget, self.growth, self.stages)
            return
        self._begun = True
        self.evaluator.propose()  # compiles the kernels, if need be, before the clock starts
        self.budget.start()

    def close(self) -> None:
        """Open the root and let the best state in, if the search ended before that; write the memory."""
        self._open_root()
        if self.state.reason != "settled":
            smallest = isinstance(self._answer, EvaluatedLeaf) and self._answer.tolerance != 0
            let_the_best_in(self.state, self.budget, smallest=smallest)
        if self._memory is not None:
            self._memory.write()

    def move(self, state: State) -> Search:
        """Return a search that goes on from a state below the root, after a move or several.

        What is known below this state is taken over, and no sample of it is drawn again. Every search has a budget of
        its own, as the settings say; samples and values that were taken over do not count. The certificates of all
        searches of a game hold together, with probability 1 - delta; see `bestleaf.search.moves`. The new search keeps
        no memory.
        """
        may_be_one = getattr(state, "__hash__", None) is not None  # lists and dictionaries are no states
        if not may_be_one or (self.settings.fixed and state not in self.state.graph.node_of):
            raise ValueError(f"state must be one below the root, got {shown(state)}")
        given = {one.name: getattr(self.settings, one.name) for one in fields(Settings)}
        workers = NOTHING_INSIDE if self.settings.batch_size is None else Inside(self.evaluator.executor)
        problem, seed = Begun(self.state.problem, state), self.state.rng
        after = Search(problem, seed=seed, callback=self._callback, answer=self._answer, inside=workers, **given)
        carry_over(self.state, after.state, after.budget)
        return after

    # Ask and tell: the caller draws the samples.

    def ask(self) -> State:
        """Return the state to sample next, or None when the search is over."""
        self._asked = self._until_asked("ask", self._untold)
        return None if self._asked is None else self.state.graph.states[self._asked]

    def tell(self, value: float) -> None:
        """Give one sample of the state that `ask` returned."""
        leaf, answers = self._asked, self.evaluator.answers
        if self.state.decision is None or leaf is None or self.state.reason is not None:
            raise RuntimeError("tell() must follow an ask() that returned a state")
        value = self.evaluator.checked([Request(leaf, None, ())], [value])[0]
        if answers is not None:
            answers.keep_number(self._question(answers, leaf), value)
        self._absorb(value)

    def _absorb(self, value: float) -> None:
        """Take in the sample of the state that was asked for."""
        assert self.state.decision is not None
        self.budget.look()
        self._asked = None
        self.evaluator.absorb(self.state.decision, value)

    def _question(self, answers: Answers, leaf: int) -> bytes:
        """Return what stands for the next sample of a leaf that the caller draws."""
        return answers.question("told", self.state.graph.states[leaf], self.state.seed, self.state.samples)

    def _untold(self, decision: Decision) -> int | None:
        """Return the leaf to sample; None if the same sample was told before: it is taken in."""
        answers = self.evaluator.answers
        known = None if answers is None else answers.number(self._question(answers, decision.leaf))
        if known is None or known[0] is None:
            return decision.leaf
        self._absorb(known[0])
        return None

    def ask_batch(self, size: int) -> list[Request]:
        """Return the samples to draw next, the most useful first; an empty list when the search is over.

        Draw them in any order and anywhere. Give the values to `tell_batch` in the order of the requests.
        """
        if self.settings.batch_size is None:
            raise RuntimeError("ask_batch() needs a search with batch_size")
        size = whole("size", size, 1)
        self._requests = self._until_asked("ask_batch", lambda now: self.evaluator.requests(now, size)) or []
        return list(self._requests)

    def tell_batch(self, values: Sequence[float]) -> None:
        """Give the samples of the requests, in their order."""
        if not self._requests:
            raise RuntimeError("tell_batch() must follow an ask_batch() that returned requests")
        if len(values) != len(self._requests):
            raise ValueError(f"values must be one for each of {len(self._requests)} requests, got {len(values)}")
        self.budget.look()
        checked = self.evaluator.checked(self._requests, values)
        self.evaluator.tell(self.evaluator.propose(), self._requests, checked)
        self._requests = []

    def _until_asked(self, method: str, sampled: Callable[[Decision], Asked | None]) -> Asked | None:
        """Do what decisions say until `sampled` says what to draw for one; return that, None if the search is over."""
        if self.stages:
            raise RuntimeError(f"{method}() searches the graph as grown only; use run() for a guarantee beyond it")
        state, found = self.state, None
        self.budget.start()
        while state.reason is None and found is None:
            if self.budget.look() <= 0:
                state.reason = "max_time"
                break
            decision = self.evaluator.propose()
            if decision.action == SAMPLE and self.evaluator.left > 0:
                found = sampled(decision)
                continue
            decision = decision._replace(action=LIMITED) if decision.action == SAMPLE else decision
            act(decision, state, self.evaluator, self.growth)
            if decision.action == SOLVED:
                state.reason = "settled"
        self.budget.look()
        if state.reason is not None and self._memory is not None:
            self._memory.write()
        return found

    # What is known.

    def ensure_value(self) -> None:
        """Compute or estimate one value, if a budget ended the search before there was any."""
        self._open_root()
        self.evaluator.ensure_value()

    def _open_root(self) -> None:
        """Open the choice at the root, if the search was stopped before that."""
        if not self.state.known.track["opened"][0]:
            self.growth.open_now(0)

    def _recommend(self) -> tuple[int, float]:
        """Return (node, gap) of the answer now."""
        if not self.state.known.track["opened"][0]:
            return 0, 1.0
        node, gap = checked_answer(self._answer, self.state, self.evaluator.propose())
        for local in self._local if gap > self.settings.epsilon else ():
            proved = local.stands_for(self.state, node)
            if proved is not None:
                return proved, gap_of(proved, self.settings.task, self.state.graph, self.state.known)
        return node, gap

    @property
    def samples(self) -> int:
        """Noisy samples drawn so far, those of warm-ups included."""
        return self.state.samples

    def progress(self) -> Progress:
        """Return the progress of the search now."""
        return Progress.of(self.state, *self._recommend(), self.budget.seconds)

    def result(self) -> Result:
        """Return the result of the search now; its interval and its gap hold at any time."""
        node, gap = self._recommend()
        local = next((one.proof for one in self._local if one.proves(self.state.graph.states[node])), None)
        return Result.of(self.state, node, gap, self.budget.seconds, called(self.growth.proposals), local)
