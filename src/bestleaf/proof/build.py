"""Make records from what a search knows; the arrays of a search stay in its own room."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bestleaf.proof.record import Graph, Label, Leaf


def plain(value: object) -> Label:
    """Return a label that JSON can hold: a sequence becomes a list, an unknown object becomes text."""
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, bool | int | float | str) or value is None:
        return value
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    return repr(value)


def named(label: object) -> Label:
    """Return the label of a leaf that is not called like its node."""
    found = plain(label)
    return "None" if found is None else found


def star(labels: Sequence[Label], root: Label, values: np.ndarray) -> tuple[Graph, tuple[Leaf, ...]]:
    """Return the graph of a root with the subsets that were evaluated below it, best known by their exact values."""
    graph = Graph(
        labels=(root, *labels), children=(tuple(range(1, len(labels) + 1)), *[()] * len(labels)), two_player=False
    )
    leaves = tuple(
        Leaf(node=node, terminal=True, exact=True, count=1, mean=value, lower=value, upper=value)
        for node, value in enumerate(values.tolist(), 1)
    )
    return graph, leaves
