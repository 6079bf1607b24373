"""Which child enters when the graph grows: any child at random, or the one that a user's function names."""

from __future__ import annotations

from typing import Any

from bestleaf.checkpoint import Saved
from bestleaf.checks import shown
from bestleaf.problems import State
from bestleaf.search.evaluator import Evaluator
from bestleaf.search.settings import name_of
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

    def snapshot(self) -> dict[str, Any]:
        """Return what a checkpoint keeps."""
        return {}

    def restore(self, saved: Saved) -> None:
        """Restore a snapshot; the graph and the values of the search are restored already."""


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
