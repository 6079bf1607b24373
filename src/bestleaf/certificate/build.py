"""From the final graph of a search to the content of a certificate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import bestleaf
from bestleaf.certificate.claims import further_claims, grown_claim, not_claimed
from bestleaf.certificate.record import FORMAT, FORMAT_VERSION, Certificate

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

    def children(self) -> list[list[int]]:
        """Return the children of every node."""
        ends = self.first + self.count
        return [self.edges[start:stop].tolist() for start, stop in zip(self.first, ends, strict=True)]


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
    lower: float,
    upper: float,
    gap: float,
    reason: str,
    search: dict[str, Any],
    cost: dict[str, Any],
    leaves: tuple[Leaf, ...],
    structure: Structure,
    data: dict[str, Any] | None = None,
    features: list[str] | None = None,
    challenges: dict[str, Any] | None = None,
) -> Certificate:
    """Put a certificate together and let it say what follows from its numbers."""
    node_of = {state: node for node, state in enumerate(structure.states)}
    content: dict[str, Any] = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "bestleaf": bestleaf.__version__,
        "answer": answer,
        "lower": lower,
        "upper": upper,
        "features": features,
        "gap": gap,
        "reason": reason,
        "search": plain(search),
        "cost": plain(cost),
        "data": plain(data),
        "challenges": plain(challenges or {}),
        "leaves": [leaf_entry(leaf, node_of[leaf.state]) for leaf in leaves],
        "graph": {
            "labels": [plain(state) for state in structure.states],
            "children": structure.children(),
            "minimizes": np.flatnonzero(structure.minimizes).tolist(),
            "two_player": structure.two_player,
            "created": structure.created,
        },
    }
    content["claims"] = [grown_claim(content), *further_claims(content)]
    content["not_claimed"] = not_claimed(content)
    return Certificate(content)
