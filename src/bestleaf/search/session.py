"""One search from its first graph to its result: `Search`, run to the end or by ask and tell."""

from __future__ import annotations

import os
from collections.abc import Callable
from copy import copy
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from bestleaf._kernels import draw  # noqa: F401  registers the compiled oracles
from bestleaf._kernels.loop import run
from bestleaf._records import (
    LIMITED,
    SAMPLE,
    Proposal,
)
from bestleaf.checks import function_or_none, shown
from bestleaf.executors import Executor
from bestleaf.graph import GrowingGraph
from bestleaf.growth import PROPOSALS, Growth
from bestleaf.intervals import Knowledge
from bestleaf.search.answer import exact_answer, progress_of, recommendation, result_of
from bestleaf.search.asking import Asking
from bestleaf.search.batch import Request
from bestleaf.search.budget import Budget
from bestleaf.search.guarantees import Answer, challenges
from bestleaf.search.interrupt import SecondInterrupt, deferred_interrupt
from bestleaf.search.keeper import Keeper
from bestleaf.search.memory import next_memory
from bestleaf.search.options import Options, checked_problem, stream
from bestleaf.search.result import Progress, Result
from bestleaf.search.snapshot import check_terminal
from bestleaf.search.stages import SLICE, Stage
from bestleaf.storage import Checkpoint, Saved


class Search(Asking):
    """A search that can be run to its end, or opened up by `ask` and `tell`.

    Takes the keywords of `bestleaf.best_arm` and ``task="arm"`` or ``"leaf"``.

    Examples
    --------
    >>> import numpy as np
    >>> from bestleaf import Search, problems
    >>> lattice, rng = problems.paper_lattice(), np.random.default_rng(0)
    >>> search = Search(lattice, task="arm", epsilon=0.2, delta=0.1, seed=0)
    >>> while (leaf := search.ask()) is not None:
    ...     search.tell(lattice.sample(leaf, rng))
    >>> search.result().reason
    'identified'
    """

    def __init__(
        self,
        problem: Any,
        *,
        task: str = "arm",
        epsilon: float,
        delta: float,
        rule: Any = None,
        bound: Any = "betting",
        stopping: str = "sound",
        expansion: float | None = None,
        proposal: str | None = None,
        max_samples: int | None = None,
        max_time: float | None = None,
        max_memory: int | None = None,
        seed: Any = None,
        guarantee: Any = "grown",
        alpha: float = 0.01,
        callback: Callable[[Progress], Any] | None = None,
        batch_size: int | None = None,
        executor: Executor | None = None,
        checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
    ) -> None:
        self.options = Options.checked(
            task=task,
            epsilon=epsilon,
            delta=delta,
            rule=rule,
            bound=bound,
            stopping=stopping,
            expansion=expansion,
            proposal=proposal,
            max_samples=max_samples,
            max_time=max_time,
            max_memory=max_memory,
            guarantee=guarantee,
            alpha=alpha,
            batch_size=batch_size,
        )
        checked_problem(problem)
        self.problem = problem
        self.budget = Budget(self.options.max_samples, self.options.max_time, self.options.max_memory)
        self.keeper = Keeper(checkpoint)
        self.rng, self.seed = self.keeper.stream(seed)
        self.callback = function_or_none("callback", callback)
        self.reason: str | None = None
        self.exact_evaluations = 0
        self.warmup_samples = 0
        self.values: dict[Any, float] = {}  # exact values asked for, of states in the graph or not
        self.glimpsed: dict[Any, list[float]] = {}
        self.valueless: set[Any] = set()  # states that have no exact value
        self.spare: dict[Any, float] = {}  # exact values computed before a budget ran out, not asked for again yet
        self.rough: dict[Any, float] = {}  # estimates of values, if time was over before there was any
        self.about: dict[str, Any] = {}  # what else a checkpoint must agree on
        self.notes: list[dict[str, Any]] = []  # kept in the checkpoint for whoever runs the search
        self._warming: tuple[int, float] | None = None  # node that is warmed up, and since when
        self.rounds = 32  # of the next slice
        self.answer: Answer = exact_answer
        self.challenges = self._challenges()
        self.stages: list[Stage] = [*self.challenges]  # what follows once the answer is identified
        self.steps_left = 0  # of the search and the stages, once it has begun; 0 for all of them
        self._reopened = False
        self._reported = 0.0
        self._proposal: Proposal | None = None
        self._asked: int | None = None
        self.first_value: float | None = None
        self._requests: list[Request] = []
        self.batches = self._batches(executor)
        self._build()

    def _build(self) -> None:
        """Make the first graph and what is known of it."""
        options, problem = self.options, self.problem
        root = problem.root()
        if problem.is_terminal(root):
            raise ValueError(f"the root {shown(root)} is terminal, so there is nothing to choose")
        fixed = options.expansion is None
        compiled = hasattr(problem, "compiled_oracle") and self.batches is None
        self.oracle = problem.compiled_oracle(self.rng) if compiled else None
        self.rollouts = self._rollouts()
        proposals = PROPOSALS[self.proposal_name]
        self.budget.start()
        if fixed:
            self.graph = GrowingGraph.whole(problem, self.budget)
        else:
            self.graph = GrowingGraph.opening(problem, with_children=proposals.whole_opening)
        self.budget.look()  # compiling is not counted
        if len(self.graph.linked("child", 0)) == 0 and proposals.whole_opening:
            raise ValueError(f"the root {shown(root)} has no children, so there is nothing to choose")
        self.known = Knowledge(self.graph, options.rule, options.bound, options.settings, lots=self._lots())
        self.known.start(fixed)
        chosen = proposals(self.graph, self.known, self.rollouts, self.rng, self)
        self.growth = Growth(self.graph, self.known, options.expansion or 0.0, chosen, self.budget)
        self.budget.weigh(partial(next_memory, self))
        self._introduce(range(len(self.graph)))
        self._check_fit(fixed)

    def _lots(self) -> int | None:
        """Return the seed of the lots that break ties; the published test goes by the order of listing."""
        return int(self.rng.integers(2**63)) if self.options.stopping == "sound" else None

    def _challenges(self) -> list[Any]:
        """Return the stages that challenge the answer, with a stream of their own."""
        options = self.options
        if options.guarantee <= {"grown", "exhaustive"}:
            return []
        seed = [self.seed, 1] if self.seed is not None else int(self.rng.integers(2**63))
        rng = np.random.default_rng(seed)
        return challenges(self.problem, options.guarantee, options.alpha, options.delta, rng)

    @property
    def proposal_name(self) -> str:
        """How nodes are proposed: by RAVE where rollouts keep the sums for it, otherwise at random."""
        by_rave = hasattr(self.rollouts, "rave_sums") and self.options.expansion is not None
        name = self.options.proposal or ("lookahead" if by_rave else "random")
        if name != "random" and not by_rave:
            raise ValueError(f"proposal {shown(name)} needs a growing lattice of feature subsets; use 'random' or None")
        return name

    def _check_fit(self, fixed: bool) -> None:
        """Refuse combinations that could not keep their promise."""
        options, leaves = self.options, int(self.known.world["stochastic"])
        if options.bound.name == "theory" and leaves and options.delta > 0.1 * leaves:
            raise ValueError(f"bound theory needs delta of at most 0.1 times the {leaves} leaves, got {options.delta}")
        if not self.graph.adversarial or options.epsilon > 0:
            return
        if not fixed or self.graph.has_twin_arms():
            raise ValueError(
                "epsilon must be positive in a two-player graph that grows or in which two children of the root "
                "reach the same leaves, got 0"
            )

    def again(self, seed: Any) -> Search:
        """Return this search as it stands with a stream of its own; only for a graph that does not grow."""
        if self.options.expansion is not None:
            raise ValueError(f"again() needs a graph that does not grow, got expansion={self.options.expansion}")
        other = copy(self)
        other.rng, other.seed = stream(seed)
        other.budget = copy(self.budget)
        other.budget.weigh(partial(next_memory, other))
        other.graph = self.graph.frozen_copy()
        other.known = self.known.copy(other.graph, lots=other._lots())
        other.values, other.spare, other.glimpsed = dict(self.values), dict(self.spare), dict(self.glimpsed)
        if self.batches is not None:
            other.batches = other._batches(self.batches.executor)
        other.challenges = other._challenges()
        other.stages = [*other.challenges]
        other.keeper = Keeper(None)
        return other

    def run(self) -> Result:
        """Search until the answer is identified, a budget is spent or Ctrl-C is pressed."""
        self.finish()
        return self.result()

    def finish(self) -> None:
        """Search as `run` does without putting a result together."""
        with deferred_interrupt() as interrupted:
            self.budget.listen(interrupted)
            try:
                self.resume()
                self._propose()  # compiles, if need be, before the clock starts
                self.budget.start()
                self._check_time()
                todo = self._steps()[-self.steps_left :]
                while self.reason is None:
                    drawn, begun = self.samples, perf_counter()
                    if todo[0]() and self.reason is None:
                        todo.pop(0)
                    if self._reopened:
                        todo = self._steps()
                        self._reopened = False
                    self.budget.look()
                    if not todo:
                        self.reason = "identified"
                    self._pace(self.samples - drawn, perf_counter() - begun)
                    if interrupted() and self.reason is None:
                        self.reason = "interrupted"
                    self.steps_left = len(todo)
                    if self.reason is None:
                        self.keeper.slice_over(self)
                self.keeper.over(self)
                self._open_root()
                if self.reason != "identified":
                    self._let_the_best_in()
                if self.callback is not None:
                    self.callback(self.progress())
            except SecondInterrupt:
                raise
            except KeyboardInterrupt:  # raised by the problem, a worker or the callback
                self.reason = "interrupted"
                self.budget.listen(lambda: True)
                self.budget.cut()
                self.keeper.over(self)

    def _steps(self) -> list[Callable[[], bool]]:
        """Return all there is to do, in slices."""
        return [self._search_slice, *(partial(stage.slice, self) for stage in self.stages)]

    def _search_slice(self) -> bool:
        """Search for one slice; True when the answer is identified."""
        self._handle(self._play())
        if self.reason == "identified":
            self.reason = None
            return True
        return False

    def _pace(self, drawn: int, seconds: float) -> None:
        """Set the length of the next slice by the samples of the last, look at the clock and report."""
        left = min(SLICE, self.budget.left)
        self._check_time()
        if self.reason is None and self.budget.full:
            self.reason = "max_memory"
        if drawn > 0:
            affordable = drawn * left / max(seconds, 1e-6)
            self.rounds = int(max(1.0, min(affordable, 4.0 * self.rounds)))
        if self.callback is not None and self.elapsed - self._reported >= SLICE:
            self._reported = self.elapsed
            if self.callback(self.progress()) is True and self.reason is None:
                self.reason = "callback"

    def _check_time(self) -> None:
        if self.budget.left <= 0 and self.reason is None:
            self.reason = "max_time"

    def _play(self) -> Proposal:
        """Play one slice of rounds; return the proposal that needs a decision."""
        if self.oracle is not None:
            return Proposal(*run(self.limited_world(), self.oracle.record, self.rng, self.rounds))
        if self.batches is not None:
            return self._play_batch(self.batches)
        deadline = perf_counter() + min(SLICE, self.budget.left)
        while (proposal := self._propose()).action == SAMPLE and perf_counter() < deadline:
            left = self._left()
            if left <= 0:
                return proposal._replace(action=LIMITED)
            if left == 1:
                proposal = proposal._replace(second=-1)
            first = self._draw(proposal.first)
            self._absorb(proposal, first, self._draw(proposal.second) if proposal.second >= 0 else 0.0)
        return proposal

    def reopen(self) -> None:
        """Let the search go on and all stages start anew, because the graph has changed for the better."""
        self._reopened = True
        for stage in self.stages:
            stage.reset()

    @property
    def elapsed(self) -> float:
        """Seconds the search has taken."""
        return self.budget.elapsed

    @property
    def cut_short(self) -> bool:
        """Whether a budget ran out in the middle of something."""
        return self.budget.cut_short

    @property
    def recommended(self) -> Any:
        """The answer as of now."""
        return self.graph.states[self._recommend()[0]]

    def _recommend(self) -> tuple[int, float]:
        """Return (node, gap) of the answer as of now."""
        if not self.known.track["opened"][0]:
            return 0, 1.0
        return recommendation(self._propose(), self.options.task, self.graph, self.known)

    def progress(self) -> Progress:
        """Return a look at the search as it stands."""
        return progress_of(self, *self._recommend())

    def result(self) -> Result:
        """Return the answer as of now, with honest bounds."""
        return result_of(self, *self._recommend())

    def resume(self) -> bool:
        """Go on from the checkpoint, if there is one; return whether there was. `run` and `ask` do so by themselves."""
        self.keeper.begin(self)
        return self.keeper.resumed

    def start_over(self) -> None:
        """Let the search go on and all stages start anew, because another epsilon is asked for."""
        self.steps_left = 0
        for stage in self.stages:
            stage.reset()

    def forget_proposal(self) -> None:
        """Forget what was to be done next, because something has changed."""
        self._proposal = None

    def terminal_states(self, saved: Saved, name: str) -> list[Any]:
        """Return terminal states from a checkpoint, for a stage."""
        states = saved.states(name)
        check_terminal(self.problem, states)
        return states
