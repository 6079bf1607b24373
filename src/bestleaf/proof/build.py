"""Make records from what a search knows: labels, which leaves were compared, the gaps that follow.

The gap says how much better than the answer another candidate may be; the known gap is the same among the leaves that
were compared. A search computes both from its arrays (`bestleaf.search.answer`); here they follow from the record.
`bestleaf.proof.check` computes the gap again from the leaves, in its own way.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bestleaf.proof.record import AllSubsetsClaim, Graph, Label, Leaf, SearchClaim


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
    graph = Graph(labels=(root, *labels), children=(tuple(range(1, len(labels) + 1)), *[()] * len(labels)))
    return graph, tuple(
        Leaf(node=node, terminal=True, exact=True, count=1, mean=value, lower=value, upper=value)
        for node, value in enumerate(values.tolist(), 1)
    )


def compared_leaves(
    exact: np.ndarray,  # whether a leaf has been evaluated
    upper: np.ndarray,  # upper bounds in [0, 1]
    value: float,  # the best known value, from which the gap is measured
    epsilon: float,  # the gap that is tolerated: a smaller one is no better
    *,
    grown: bool,  # whether the graph grew; if not, there are no last leaves
) -> np.ndarray:
    """Return which leaves were compared. The leaves must be listed in the order in which they entered the graph.

    These are the exact leaves and, of the others, those whose upper bound is below 1. In a graph that grew, the leaves
    that entered last may have been sampled too little. They are left out if that makes the gap smaller by a larger
    factor than the number of leaves.
    """
    bounded = exact | (upper < 1.0)
    if not grown:
        return bounded
    sampled = np.flatnonzero(bounded & ~exact)
    tops = np.maximum.accumulate(np.concatenate(([upper[exact].max(initial=0.0)], upper[sampled])))
    gaps = np.maximum(tops - value, max(epsilon, 0.001))  # smaller gaps are not told apart
    many = np.arange(len(tops)) + exact.sum()  # exact leaves, and the first sampled ones
    # At least so many of the leaves are compared, if something is known of so many.
    worth = np.where(many >= min(0.5 * len(exact), many[-1]), many / gaps, -1.0)
    found = exact.copy()
    found[sampled[: np.flatnonzero(worth == worth.max())[-1]]] = True
    return found


def gap_among_compared(search: SearchClaim) -> tuple[float, int]:
    """Return the gap of an answer among the leaves that were compared, and how many these are."""
    leaves, graph, exact = search.leaves, search.graph, np.array([leaf.exact for leaf in search.leaves])
    value = max((leaf.lower for leaf in leaves if leaf.terminal), default=0.0)
    upper, grown = np.array([leaf.upper for leaf in leaves]), search.expansion is not None
    compared = compared_leaves(exact, upper, value, search.epsilon, grown=grown)
    below, fresh = {search.answer}, [search.answer]
    for node in fresh:  # grows in this loop
        fresh += set(graph.children[node]) - below
        below.update(graph.children[node])
    inside = {repr(search.label_of(leaf)): leaf.terminal for leaf in leaves if leaf.node in below}
    apart = [repr(search.label_of(leaf)) not in inside for leaf in leaves]
    rivals, many = upper[compared & apart], int(compared.sum())
    by_moves = graph.two_player or graph.chance is not None
    if by_moves or not len(rivals) or (search.task == "leaf" and not any(inside.values())):
        return search.gap, many
    return min(search.gap, float(rivals.max()) - search.lower), many


def gap_of_subsets(values: np.ndarray, answer: int, all_subsets: AllSubsetsClaim, *, every: bool) -> float:
    """Return the gap of an answer among subsets that were evaluated; `every`: no other may be chosen."""
    others = np.append(np.delete(values, answer), all_subsets.least)  # subsets that are no leaves are at most so good
    return float((others.max() if every else 1.0) - values[answer])
