"""From the final graph of a search to the content of a certificate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import bestleaf
from bestleaf.certificate.claims import further_claims, grown_claim, not_claimed
from bestleaf.certificate.record import FORMAT, FORMAT_VERSION, Certificate
from bestleaf.certificate.verify_graph import gap_of, node_bounds

if TYPE_CHECKING:
    from bestleaf.intervals import Leaf


@dataclass(frozen=True)
class Structure:
    """The final graph: the nodes in order of creation with their children."""

    states: tuple[Any, ...]
    first: np.ndarray  # where the children of each node begin in the edges
    count: np.ndarray
    edges: np.ndarray
    minimizes: np.ndarray
    two_player: bool = False
    created: int = 0  # leaves that ever had a share of delta; some of them are inner nodes now
    orders: np.ndarray | None = None  # place in the order of creation that an inner node had as a leaf, 0 for none

    def children(self) -> list[list[int]]:
        """Return the children of every node."""
        ends = self.first + self.count
        return [self.edges[start:stop].tolist() for start, stop in zip(self.first, ends, strict=True)]

    def entry(self) -> dict[str, Any]:
        """Return the graph as JSON."""
        orders = np.zeros(len(self.states), np.int64) if self.orders is None else self.orders
        return {
            "labels": [plain(state) for state in self.states],
            "children": self.children(),
            "minimizes": np.flatnonzero(self.minimizes).tolist(),
            "two_player": self.two_player,
            "created": self.created,
            "inner_orders": np.where(self.count > 0, orders, 0).tolist(),
        }


def plain(value: Any) -> Any:
    """Return a value in terms of JSON: sequences become lists, what JSON has no form for becomes text."""
    if isinstance(value, bool | int | float | str) or value is None:
        return value
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return repr(value)


def leaf_entry(leaf: Leaf, node: int) -> dict[str, Any]:
    """Return one leaf as JSON."""
    lower, upper = leaf.evidence
    return {
        "node": node,
        "label": plain(leaf.label),
        "terminal": leaf.terminal,
        "exact": leaf.exact,
        "count": leaf.count,
        "mean": leaf.mean,
        "lower": leaf.lower,
        "upper": leaf.upper,
        "order": leaf.order,
        "share": leaf.share,
        "lower_evidence": None if lower is None else list(lower),
        "upper_evidence": None if upper is None else list(upper),
    }


def certificate_of(
    *,
    answer: int,
    reason: str,
    search: dict[str, Any],
    cost: dict[str, Any],
    leaves: tuple[Leaf, ...],
    structure: Structure,
    data: dict[str, Any] | None = None,
    features: list[str] | None = None,
    challenges: dict[str, Any] | None = None,
) -> Certificate:
    """Put a certificate together and let it say what follows from its numbers.

    Interval and gap of the answer are measured from the leaves as `verify` does, whatever test ended the search.
    """
    node_of = {state: node for node, state in enumerate(structure.states)}
    content: dict[str, Any] = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "bestleaf": bestleaf.__version__,
        "answer": answer,
        "lower": 0.0,
        "upper": 1.0,
        "features": features,
        "gap": 1.0,
        "reason": reason,
        "search": plain(search),
        "cost": {**plain(cost), "values_outside": cost["exact_evaluations"] - sum(leaf.exact for leaf in leaves)},
        "data": plain(data),
        "challenges": plain(challenges or {}),
        "leaves": [leaf_entry(leaf, node_of[leaf.state]) for leaf in leaves],
        "graph": structure.entry(),
    }
    graph = content["graph"]
    lower, upper = node_bounds(graph["children"], set(graph["minimizes"]), content["leaves"])
    content |= {"lower": lower[answer], "upper": upper[answer], "gap": gap_of(content, lower, upper)}
    content["claims"] = [grown_claim(content), *further_claims(content)]
    content["not_claimed"] = not_claimed(content)
    return Certificate(content)
