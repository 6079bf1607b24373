"""Make a certificate from the final graph of a search."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

import bestleaf
from bestleaf.certificate.claims import words_of
from bestleaf.certificate.record import Certificate
from bestleaf.certificate.schema import FORMAT, FORMAT_VERSION, Content, Json
from bestleaf.certificate.verify_graph import answer_of

if TYPE_CHECKING:
    from bestleaf.engine.intervals import Leaf
    from bestleaf.search.result import Result
    from bestleaf.selection.searched import Selection

STATISTICS = ("terminal", "exact", "count", "mean", "lower", "upper", "order", "share")  # of a leaf


@dataclass(frozen=True)
class Structure:
    """The final graph: the nodes, in the order in which they entered, with their children."""

    states: tuple[Hashable, ...]
    first: np.ndarray  # where the children of each node begin in `edges`
    count: np.ndarray  # how many children each node has
    edges: np.ndarray
    minimizes: np.ndarray  # whether the opponent moves at each node
    two_player: bool = False
    created: int = 0  # leaves that ever had a share of delta; some of them are inner nodes now
    orders: np.ndarray | None = None  # place in the order of creation that each node had as a leaf, 0 for none
    weights: np.ndarray | None = None  # the probability of each edge that starts at a chance node
    chance: np.ndarray | None = None  # whether chance decides at each node; None if it decides nowhere
    endless: dict[int, tuple[float, float]] = field(default_factory=dict)  # what play without end is worth, by node

    def children(self) -> list[list[int]]:
        """Return the children of every node."""
        ends = self.first + self.count
        return [self.edges[start:stop].tolist() for start, stop in zip(self.first, ends, strict=True)]

    def chances(self) -> dict[int, list[float]]:
        """Return the probability of each child of every chance node."""
        if self.chance is None or self.weights is None:
            return {}
        spans = ((node, self.first[node]) for node in np.flatnonzero(self.chance).tolist() if self.count[node])
        return {node: self.weights[start : start + self.count[node]].tolist() for node, start in spans}

    def entry(self) -> Content:
        """Return the graph as JSON."""
        chances = [{"node": node, "probabilities": weights} for node, weights in self.chances().items()]
        orders = np.zeros(len(self.states), np.int64) if self.orders is None else self.orders
        entry = {
            "labels": [plain(state) for state in self.states],
            "children": self.children(),
            "minimizes": np.flatnonzero(self.minimizes).tolist(),
            "two_player": self.two_player,
            "created": self.created,
            "inner_orders": np.where(self.count > 0, orders, 0).tolist(),
            **({} if self.chance is None else {"chance": chances}),
        }
        if self.endless:
            ends = sorted(self.endless.items())
            entry["endless"] = [{"node": node, "lower": lower, "upper": upper} for node, (lower, upper) in ends]
        return entry


def plain(value: Json) -> Json:
    """Return a value that JSON can hold: a sequence becomes a list, an unknown object becomes text."""
    if isinstance(value, bool | int | float | str) or value is None:
        return value
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return repr(value)


def _leaf_entry(leaf: Leaf, node: int) -> Content:
    """Return one leaf as JSON."""
    known = {name: getattr(leaf, name) for name in STATISTICS}
    sides = zip(("lower_evidence", "upper_evidence"), leaf.evidence, strict=True)
    evidence = {side: None if numbers is None else list(numbers) for side, numbers in sides}
    return {"node": node, "label": plain(leaf.label), **known, **evidence}


def certificate_of(
    found: Result | Selection, answer: Hashable, *, data: Content | None = None, features: list[str] | None = None
) -> Certificate:
    """Return the certificate of what a search found; `answer` is the state it answers with.

    Interval and gap of the answer are computed from the leaves as `verify` does, whatever test ended the search.
    """
    cost, leaves = found.cost, found.leaves
    node_of = {state: node for node, state in enumerate(found.structure.states)}
    content: Content = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "bestleaf": bestleaf.__version__,
        "answer": node_of[answer],
        **dict.fromkeys(("lower", "upper"), None),  # filled in below, as is "gap"
        "features": features,
        "gap": None,
        "reason": found.reason,
        "search": plain(found.settings),
        "cost": {**plain(cost), "values_outside": cost["exact_evaluations"] - sum(leaf.exact for leaf in leaves)},
        "data": plain(data),
        "challenges": plain(found.challenges),
        "leaves": [_leaf_entry(leaf, node_of[leaf.state]) for leaf in leaves],
        "graph": found.structure.entry(),
    }
    plan = getattr(found, "plan", None)
    if plan is not None:
        content["plan"] = [[node_of[state], node_of[child]] for state, child in plan.items()]
    all_subsets = getattr(found, "all_subsets", None)
    if all_subsets is not None:
        content["all_subsets"] = all_subsets
    content |= answer_of(content)
    content |= words_of(content)
    return Certificate(content)
