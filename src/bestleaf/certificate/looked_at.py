"""Which leaves were looked at, so that something is known of them, when a budget ends the search.

A leaf that has just entered the graph may be worth anything up to 1. A claim about all leaves then says nothing,
although nearly all of them are known well. All intervals hold at once, so a claim about some leaves is as sound.
"""

from __future__ import annotations

import numpy as np

from bestleaf.certificate.schema import Content

FINE = 0.001  # smaller gaps are not told apart
HALF = 0.5  # at least so many of the leaves are looked at, if something is known of so many


def looked_at(exact: np.ndarray, upper: np.ndarray, value: float, epsilon: float, *, grown: bool) -> np.ndarray:
    """Return which leaves were looked at. The leaves must be listed in the order in which they entered the graph.

    These are the exact leaves and, of the others, those whose upper bound is below 1. In a graph that grew, the leaves
    that entered last may have been sampled too little. They are left out if that makes the gap smaller by a larger
    factor than the number of leaves.

    Parameters
    ----------
    exact : array of bool
        Whether a leaf has been evaluated.
    upper : array of float
        Upper bounds in [0, 1].
    value : float
        The best known value, from which the gap is measured.
    epsilon : float
        The gap that is tolerated: a smaller one is no better.
    grown : bool
        Whether the graph grew. If not, there are no last leaves.
    """
    bounded = exact | (upper < 1.0)
    if not grown:
        return bounded
    sampled = np.flatnonzero(bounded & ~exact)
    tops = np.maximum.accumulate(np.concatenate(([upper[exact].max(initial=0.0)], upper[sampled])))
    gaps = np.maximum(tops - value, max(epsilon, FINE))
    many = np.arange(len(tops)) + exact.sum()  # exact leaves, and the first sampled ones
    worth = np.where(many >= min(HALF * len(exact), many[-1]), many / gaps, -1.0)
    found = exact.copy()
    found[sampled[: np.flatnonzero(worth == worth.max())[-1]]] = True
    return found


def looked_at_in(content: Content) -> set[int]:
    """Return the nodes of the leaves of a certificate that were looked at."""
    search, leaves = content["search"], sorted(content["leaves"], key=lambda leaf: leaf["node"])
    exact = np.array([leaf["exact"] for leaf in leaves], bool)
    upper = np.array([leaf["upper"] for leaf in leaves])
    value = max((leaf["lower"] for leaf in leaves if leaf["terminal"]), default=0.0)
    found = looked_at(exact, upper, value, search["epsilon"], grown=search["expansion"] is not None)
    return {leaf["node"] for leaf, looked in zip(leaves, found.tolist(), strict=True) if looked}
