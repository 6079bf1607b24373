"""When the graph grows, at which node, by which child."""

from __future__ import annotations

from typing import Any, Protocol

from bestleaf._kernels.grow import ripest
from bestleaf._records import UNLIMITED
from bestleaf.graph import GrowingGraph
from bestleaf.growth.due import is_due, next_due
from bestleaf.growth.lookahead import LookaheadProposals
from bestleaf.growth.proposals import Proposals, RandomProposals, RaveProposals, best_value
from bestleaf.intervals import Knowledge
from bestleaf.storage import Saved

__all__ = ["PROPOSALS", "Growth", "Proposals", "is_due", "next_due"]

PROPOSALS: dict[str, Any] = {"random": RandomProposals, "rave": RaveProposals, "lookahead": LookaheadProposals}


AT_ONCE = 256  # nodes that enter between two looks at the budget


class Asked(Protocol):
    """The part of a budget that growth asks."""

    def spent(self) -> str | None:
        """Return why the search has to end; None if it may go on."""

    def cut(self) -> None:
        """Note that something was left unfinished because the budget ran out."""


class Growth:
    """Grows the graph of one search with the exponent b, by what the proposals say."""

    def __init__(
        self, graph: GrowingGraph, known: Knowledge, exponent: float, proposals: Proposals, budget: Asked
    ) -> None:
        self.graph = graph
        self.known = known
        self.exponent = exponent
        self.proposals = proposals
        self.budget = budget
        self.growths = 0
        self._complete: set[int] = set()  # roots with nothing missing below

    def grow(self, root: int) -> list[int]:
        """Add one node below `root` where it pays (`BAIAdd`); return the nodes added."""
        track = self.known.track
        due = min(int(track["rounds"][root]), int(track["grow_at"][root]))  # a batch may have passed it
        track["grow_at"][root] = next_due(due + 1, self.exponent)
        return self._grow_once(root)

    def deepen(self, root: int) -> list[int]:
        """Add one node below `root` out of turn, because all leaves hang below its best child; return the nodes added.

        It happens at most once for each child of the root, so that twins do not drag the whole graph in.
        """
        self.known.track["deepened"][root] += 1
        return self._grow_once(root)

    def _grow_once(self, root: int) -> list[int]:
        track = self.known.track
        node = int(ripest(root, self.known.world))
        if node < 0:
            track["grow_at"][root] = UNLIMITED
            self._complete.add(root)
            return []
        self.growths += 1
        return self.add(self.proposals.next(node))

    def open(self, node: int) -> list[int]:
        """Prepare the first choice at `node`; return the nodes added."""
        states = self.proposals.opening(node)  # may be interrupted
        self.known.track["opened"][node] = 1
        return self.add(states)

    def best_value(self) -> float:
        """Return the best exact value in the graph."""
        return best_value(self.graph, self.known)

    def add(self, states: list[Any]) -> list[int]:
        """Add states, parents first, and bring the intervals up to date; return the nodes.

        Where they are very many, those come to nothing that the budget does not allow.
        """
        added: list[tuple[int, list[int]]] = []
        try:
            for state in states:
                if added and len(added) % AT_ONCE == 0 and self.budget.spent() is not None:
                    self.budget.cut()
                    break
                added.append(self.graph.add(state))
        finally:  # what is in the graph is known, even when the problem's rules raise halfway
            self.known.take_in(added)
            for root in self._complete:  # there may be something to add below them again
                self.known.track["grow_at"][root] = next_due(int(self.known.track["rounds"][root]), self.exponent)
            self._complete.clear()
        return [node for node, _ in added]

    def snapshot(self) -> dict[str, Any]:
        """Return what a checkpoint keeps."""
        return {"growths": self.growths, "complete": sorted(self._complete), "proposals": self.proposals.snapshot()}

    def restore(self, saved: Saved, values: dict[Any, float]) -> None:
        """Take in a snapshot, on a graph that has the nodes of then."""
        self.growths = saved.whole("growths")
        self._complete = set(saved.nodes("complete", len(self.graph)))
        self.proposals.restore(saved.part("proposals"), values)
