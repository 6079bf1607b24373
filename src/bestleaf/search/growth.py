"""How the graph grows: which child enters, when, and at which node; and when growth pauses.

It grows by about t^b nodes in t rounds. Near the end of a budget it pauses: what is left goes to the leaves that are
there.
"""

from __future__ import annotations

from math import isfinite
from numbers import Real
from typing import Any
from warnings import warn

import numpy as np

from bestleaf.checks import shown
from bestleaf.engine import records
from bestleaf.engine.kernels.reach import ripest
from bestleaf.problems import Problem, State
from bestleaf.proof.text import part_name
from bestleaf.search.answer import compared_now
from bestleaf.search.evaluator import Evaluator
from bestleaf.search.settings import FAR, PROPOSALS, Settings, name_of
from bestleaf.search.stages import DONE
from bestleaf.search.state import SearchState

LONGEST = 10_000  # moves to new states after which a walk is taken to be endless
ROUNDING = 1e-12  # so that an upper bound minus the value is at most epsilon in floating point, too


class RandomProposals:
    """Proposals for any problem: a choice opens with all children of the node; otherwise a random child enters.

    It is the base class of all proposals.
    """

    name = "random"
    whole_opening = True  # every child of a node enters when its choice opens

    def __init__(self, state: SearchState, evaluator: Evaluator) -> None:
        self.state = state
        self.evaluator = evaluator
        self.graph = state.graph

    def warm_up(self, node: int, rounds: int) -> int:
        """Draw up to `rounds` of the rollouts that `opening` needs; return how many, 0 if no more are needed."""
        return 0

    def opening_cost(self, node: int) -> int:
        """Return about how many rollouts and values are needed before the choice at `node` can open."""
        return 0

    def opening(self, node: int) -> list[State]:
        """Return the states that enter when the choice at `node` opens, parents first."""
        return list(self.graph.relatives.absent(node))

    def next(self, node: int) -> list[State]:
        """Return a child of `node` that is not in the graph, and states that enter with it, parents first."""
        absent = list(self.graph.relatives.absent(node))
        return [absent[int(self.state.rng.integers(len(absent)))]]


class OwnProposals(RandomProposals):
    """The child that a user's function ``(children, node, state)`` names enters."""

    def __init__(self, state: SearchState, evaluator: Evaluator) -> None:
        super().__init__(state, evaluator)
        self.function: Any = state.settings.proposal
        self.name = name_of(self.function)

    def next(self, node: int) -> list[State]:
        """Return the child that the function names."""
        absent = list(self.graph.relatives.absent(node))
        child = self.function(absent, node, self.state)
        if child not in absent:
            raise ValueError(f"proposal {self.name} must return one of the children that it gets, got {shown(child)}")
        return [child]


class PriorProposals(RandomProposals):
    """Proposals for a problem with ``prior(state)``: of the children that are missing, the one of highest prior enters.

    Equal priors are decided at random. A choice still opens with all children of its node, so a prior changes how soon
    a state below them is looked at, and nothing else. Samples and intervals do not depend on it.
    """

    name = "prior"

    def __init__(self, state: SearchState, evaluator: Evaluator) -> None:
        super().__init__(state, evaluator)
        self._priors: dict[int, dict[State, float]] = {}  # by node; not saved, because the problem can say them again

    def next(self, node: int) -> list[State]:
        """Return the child of highest prior that is not in the graph."""
        if node not in self._priors:
            self._priors[node] = priors_of(self.state.problem, self.graph.states[node])
        priors = self._priors[node]
        absent = list(self.graph.relatives.absent(node))
        highest = max(priors[child] for child in absent)
        best = [child for child in absent if priors[child] == highest]
        return [best[int(self.state.rng.integers(len(best)))] if len(best) > 1 else best[0]]


def priors_of(problem: object, state: State) -> dict[State, float]:
    """Return the prior of every child of a state; a child that is listed twice has the sum.

    Where the problem has no opinion (None), all children have the same prior.
    """
    children = list(problem.children(state))  # type: ignore[attr-defined]
    given = problem.prior(state)  # type: ignore[attr-defined]
    if given is None:
        return dict.fromkeys(children, 1.0)
    try:
        weights = list(given)
    except TypeError:
        weights = [None]
    if len(weights) != len(children):
        what = f"one number for each of the {len(children)} children"
        raise ValueError(f"prior({shown(state)}) must return {what}, got {shown(given)}")
    found: dict[State, float] = {}
    for child, weight in zip(children, weights, strict=True):
        if not isinstance(weight, Real) or not isfinite(weight) or weight < 0:
            raise ValueError(f"prior({shown(state)}) must return finite numbers of at least 0, got {shown(weight)}")
        found[child] = found.get(child, 0.0) + float(weight)
    return found


BY_NAME: dict[str, type[RandomProposals]] = {one.name: one for one in (RandomProposals, PriorProposals)}


def proposals_for(settings: Settings, problem: object, *, rollouts: bool) -> type[RandomProposals]:
    """Return the class of proposals: the one in the settings; by default the first that the problem hands in.

    A problem whose states are sampled by rollouts may hand in proposals of its own, by name. Without them it is the
    prior, if the problem has one.
    """
    wanted, by_prior = settings.proposal, hasattr(problem, "prior")
    handed = problem.proposals() if rollouts and not settings.fixed and hasattr(problem, "proposals") else {}
    if wanted is None:
        wanted = next(iter(handed), "prior" if by_prior else "random")
    if not isinstance(wanted, str):
        return wanted if isinstance(wanted, type) else OwnProposals
    if wanted not in BY_NAME and wanted not in handed:
        raise ValueError(f"proposal {shown(wanted)} needs a growing lattice of feature subsets; use 'random' or None")
    if wanted == "prior" and not by_prior:
        raise ValueError(f"proposal {shown(wanted)} needs a problem with prior(state); use 'random' or None")
    return {**BY_NAME, **handed}[wanted]


def called(proposals: RandomProposals) -> str:
    """Return what certificates call proposals."""
    return part_name(proposals.name, PROPOSALS, ours=not isinstance(proposals, OwnProposals))


class Pause:
    """Says when growth pauses, and looks at the leaves that are there instead.

    A new leaf takes about as many samples as a leaf has taken so far on average. If what is left of the budget does not
    suffice for the new leaves and for those that still wait to be compared, nothing enters any more. Only a limit of
    samples counts: the clock ends a search, and decides nothing else.

    With `opens_later` choices stay closed, too, while growth pauses. Then the leaves of largest upper bound are sampled
    until none is better than the best leaf by more than epsilon. The answer must be named by the bounds of leaves.
    """

    def __init__(self, state: SearchState, evaluator: Evaluator, *, opens_later: bool) -> None:
        self.state, self.evaluator = state, evaluator
        settings, limited = state.settings, evaluator.budget.max_samples is not None
        self._possible = limited and settings.stopping == "sound" and not settings.fixed and not state.graph.adversarial
        self._opens_later = opens_later
        self.begun = False  # growth pauses
        self.closing = False  # instead of opening a choice, leaves are compared
        self._target: float | None = None  # no upper bound shall be above it

    def before(self, *, leaves: float, draws: float = 0.0) -> bool:
        """Whether growth pauses before `leaves` new leaves, which take some more `draws` to enter."""
        if not self._possible or self.begun:
            return self.begun
        left, state = self.evaluator.left, self.state
        rows, kinds = state.known.known[: len(state.graph)], state.graph.kinds
        counts = rows["count"][(kinds != records.INNER) & (rows["count"] > 0) & (rows["upper"] > rows["lower"])]
        if len(counts) < 2:
            return False
        waiting = int(((kinds != records.INNER) & ~compared_now(state)).sum())
        # Leaves that enter later need more samples than earlier ones, because the gap is smaller then.
        if left < 1.5 * ((waiting + leaves) * counts.mean() + draws):
            self.begun = True
        return self.begun

    def before_opening(self, draws: int) -> bool:
        """Whether growth pauses before a choice opens, for which `draws` are needed.

        As many leaves will enter as for the choices opened so far.
        """
        state = self.state
        opened = int(state.known.track["opened"][: len(state.graph)].sum())
        if not self._opens_later or not opened:
            return False
        self.closing = self.before(leaves=state.unfinished / opened, draws=draws)
        return self.closing

    def slice(self) -> str | None:
        """Look at the leaves of largest upper bound for one slice; return `DONE` once the best leaf is settled.

        If the leaf of largest upper bound is known to be better, only growth can help. Then growth goes on.
        """
        state, evaluator, epsilon = self.state, self.evaluator, self.state.settings.epsilon
        if self._target is None:
            self._target = self._best() + epsilon - min(ROUNDING, epsilon / 2)
        stands = evaluator.press(self._target, evaluator.rounds)
        state.check_parts()
        if stands == records.SAMPLE:
            return None
        if stands == records.BAD_BOUND:
            raise ValueError(f"bound {state.settings.bound.name} must return lower <= upper")
        top = int(state.known.known["leaf"][0])
        if stands == records.LIMITED or (stands == records.EVALUATE and not evaluator.evaluate(top)):
            state.reason = state.reason or "max_samples"
        if stands == records.OPEN and self._best() + epsilon <= self._target + ROUNDING:
            self.begun = self.closing = self._possible = False
        self._target = None  # set anew only here, so that the result does not depend on the clock
        return DONE if stands == records.SOLVED else None

    def _best(self) -> float:
        """Return the highest lower bound of a terminal leaf."""
        kinds = self.state.graph.kinds
        lower = self.state.known.known["lower"][: len(kinds)]
        return float(lower[(kinds == records.NOISY) | (kinds == records.EXACT)].max(initial=0.0))


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

    Near the end of a budget growth pauses; see `Pause`.
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
            state.known.track["grow_at"][root] = records.UNLIMITED
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
        if (state.graph.kinds >= records.NOISY).any() or not never_ends(state.problem, state.graph.states[node]):
            return
        said = f"best_leaf looks for a terminal state, but a walk of {LONGEST:,} moves came to none"
        said += "; give a stop move: a child that is terminal"
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
