"""Which child enters when the graph grows: any child, that of highest prior, or the one that a function names."""

from __future__ import annotations

from math import isfinite
from numbers import Real
from typing import Any

from bestleaf.checks import shown
from bestleaf.problems import State
from bestleaf.proof.text import part_name
from bestleaf.search.evaluator import Evaluator
from bestleaf.search.settings import PROPOSALS, Settings, name_of
from bestleaf.search.state import SearchState


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
