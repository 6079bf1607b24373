"""When the graph grows (by about t^b nodes in t rounds), and at which node."""

from __future__ import annotations

from typing import TYPE_CHECKING
from warnings import warn

import numpy as np

from bestleaf.checks import shown
from bestleaf.engine.kernels.reach import ripest
from bestleaf.engine.records import NOISY, UNLIMITED
from bestleaf.problems import Problem, State

if TYPE_CHECKING:
    from bestleaf.search.evaluator import Evaluator
    from bestleaf.search.growth.pausing import Pause
    from bestleaf.search.growth.proposals import RandomProposals
    from bestleaf.search.state import SearchState

LONGEST = 10_000  # moves to new states after which a walk is taken to be endless
FAR = 2**45  # rounds; no search has as many. Up to here t and t + 1 have different powers in floating point


def next_due(step: int, exponent: float) -> int:
    """Return the first round t from `step` on at which the graph grows: floor((t + 1)^b) > floor(t^b) (`BAIExpand`).

    With an exponent b of 0 the graph never grows.
    """
    if exponent == 0:
        return UNLIMITED
    target = int(step**exponent) + 1
    low, high = step, step + 1
    while int((high + 1) ** exponent) < target:
        low, high = high, 2 * high
        if high > FAR:
            return UNLIMITED
    while low < high:  # the first t with floor((t + 1)^b) >= target
        middle = (low + high) // 2
        if int((middle + 1) ** exponent) < target:
            low = middle + 1
        else:
            high = middle
    return low


def own_due(name: str, given: object, step: int) -> int:
    """Return the round that a schedule of the user's own has named; None stands for never."""
    if given is None:
        return UNLIMITED
    if not isinstance(given, int | np.integer) or isinstance(given, bool) or given < step:
        raise ValueError(f"growth {name} must return a round from {step} on, or None for never, got {shown(given)}")
    return min(int(given), UNLIMITED)


def never_ends(problem: Problem, state: State) -> bool:
    """Whether a random walk from a state makes `LONGEST` moves, always to a new state, and comes to no end."""
    rng, met = np.random.default_rng(0), {state}
    while len(met) <= LONGEST:
        if problem.is_terminal(state):
            return False
        children = list(problem.children(state))
        state = children[int(rng.integers(len(children)))]
        if state in met:
            return False
        met.add(state)
    return True


class Growth:
    """Grows the graph of one search: the schedule says when, the visits of nodes say where, the proposals say which.

    Near the end of a budget growth pauses; see `bestleaf.search.growth.pausing`.
    """

    def __init__(self, state: SearchState, evaluator: Evaluator, proposals: RandomProposals, pause: Pause) -> None:
        self.state = state
        self.evaluator = evaluator
        self.proposals = proposals
        self.pause = pause
        self._opening = -1  # the choice that is being opened; -1 for none
        self._ends = state.settings.task == "arm"  # whether there are terminal states, or none are needed

    def grow(self, root: int) -> None:
        """Let one child enter below `root`, as the schedule says (`BAIAdd`)."""
        track = self.state.known.track
        if self.pause.before(leaves=1):
            track["grow_at"][root] = FAR
            return
        rounds, due = int(track["rounds"][root]), int(track["grow_at"][root])
        if due == 0:  # the schedule has not been asked yet
            due = self.state.next_growth(root, 0)
        if due > rounds:
            track["grow_at"][root] = due
            return
        self._grow_once(root)
        if root not in self.state.complete:  # the arrays may be new ones now, and within a batch the round has passed
            self.state.known.track["grow_at"][root] = self.state.next_growth(root, due + 1)

    def deepen(self, root: int) -> None:
        """Let one child enter below `root` ahead of schedule, because all leaves lie below its best child.

        That happens at most once for each child. Otherwise two children with the same leaves would make the whole graph
        enter.
        """
        self.state.known.track["deepened"][root] += 1
        self._grow_once(root)

    def _grow_once(self, root: int) -> None:
        state = self.state
        node = int(ripest(root, state.known.world))
        if node < 0:
            state.known.track["grow_at"][root] = UNLIMITED
            state.complete.add(root)
            return
        states = self.proposals.next(node)
        state.growths += 1
        state.add(states, self.evaluator.budget)
        self._check_ends(node)

    def stays_closed(self, node: int) -> bool:
        """Whether the choice at a node is not opened, because growth pauses; one that is being opened is finished."""
        return node != self._opening and self.pause.before_opening(self.proposals.opening_cost(node))

    def open(self, node: int) -> None:
        """Open the choice at a node; if rollouts have to be drawn first, only draw some of them."""
        self._opening = node
        if not self._warm_up(node):
            self.open_now(node)
            self._opening = -1

    def _check_ends(self, node: int) -> None:
        """Warn, or without a budget refuse, if no walk seems to end: a best leaf is a state where one does."""
        state, budget = self.state, self.evaluator.budget
        if self._ends or state.graph.nodes["level"][node] < 4:
            return
        self._ends = True  # asked once
        if (state.graph.kinds >= NOISY).any() or not never_ends(state.problem, state.graph.states[node]):
            return
        said = (
            f"best_leaf looks for a terminal state, but a walk of {LONGEST:,} moves came to none; give a stop move: "
            "a child that is terminal"
        )
        if budget.max_samples is None and budget.max_time is None:
            raise ValueError(f"{said}, or set max_samples or max_time")
        warn(f"{said}; the answer will be unfinished", RuntimeWarning, stacklevel=2)

    def look_instead(self) -> str | None:
        """Look at the leaves that are there for one slice; return what a stage returns. If that cannot help, go on."""
        outcome = self.pause.slice()
        if not self.pause.begun:
            track = self.state.known.track
            for root in np.flatnonzero(track["grow_at"] == FAR).tolist():
                track["grow_at"][root] = self.state.next_growth(root, int(track["rounds"][root]))
        return outcome

    def open_now(self, node: int) -> None:
        """Open the choice at a node: let its first children enter."""
        states = self.proposals.opening(node)  # may be interrupted
        self.state.known.track["opened"][node] = 1
        self.state.add(states, self.evaluator.budget)
        self._check_ends(node)

    def _warm_up(self, node: int) -> bool:
        """Draw some of the rollouts needed to open the choice at `node`; False if no more are needed or allowed."""
        state, evaluator = self.state, self.evaluator
        most = max(evaluator.rounds, evaluator.batch_size or 1)
        rounds = max(0, min(most, evaluator.left))
        drawn = self.proposals.warm_up(node, rounds)
        state.warmup_samples += drawn
        return drawn > 0
