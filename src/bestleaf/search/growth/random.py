"""Which child enters when the graph grows: the base class of all proposals, which draws children at random."""

from __future__ import annotations

from typing import Any

from bestleaf.checkpoint import Saved
from bestleaf.problems import State
from bestleaf.search.evaluator import Evaluator
from bestleaf.search.state import SearchState


class RandomProposals:
    """Proposals for any problem: a choice opens with all children of the node; otherwise a random child enters.

    For your own proposals, write a subclass and give it as the keyword ``proposal`` of `best_leaf`. It may read the
    `SearchState` and ask the `Evaluator` for values. The states that it returns enter the graph.
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
