"""How much memory the graph of a search takes."""

from __future__ import annotations

from typing import Any

import numpy as np

A_NODE = 600  # bytes of Python objects: the state, its number, its place among relatives
A_RELATIVE = 250  # of a state that is not in the graph, for every node next to it
A_VALUE = 250  # of a value asked for
BY_NODE = ("subsets", "sizes", "heads")  # arrays of compiled rollouts


def arrays_of(search: Any) -> list[np.ndarray]:
    """Return the arrays that grow with the graph."""
    places = getattr(getattr(search.rollouts, "place", None), "arrays", {})
    found = [search.graph.nodes, search.graph.edges, *vars(search.known).values()]
    found += [places.get(name) for name in BY_NODE]
    return [array for array in found if isinstance(array, np.ndarray)]


def next_memory(search: Any) -> int:
    """Return the bytes that the graph takes while its largest array moves to one of twice the size."""
    sums = getattr(search.rollouts, "memory", 0)  # of rollouts by node and unit
    sizes = [sums, *(array.nbytes for array in arrays_of(search))]
    remembered = len(search.values) + len(search.glimpsed)
    if search.batches is not None:
        remembered += search.batches.remembered
    objects = A_NODE * len(search.graph) + A_VALUE * remembered + A_RELATIVE * search.graph.relatives.remembered
    return sum(sizes) + 2 * max(sizes) + objects
