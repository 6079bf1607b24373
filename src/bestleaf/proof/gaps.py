"""Which leaves of a search were compared, and whether its answer is settled.

The gap says how much better than the answer another candidate may be; the known gap is the same among the leaves that
were compared. Both are computed once, from the arrays of the search (`bestleaf.search.answer`), or here from the
subsets that were evaluated. `bestleaf.proof.check` computes them again from the leaves, in its own way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from bestleaf.proof.record import AllSubsetsClaim, Certificate


def compared_leaves(exact: np.ndarray, upper: np.ndarray, value: float, epsilon: float, *, grown: bool) -> np.ndarray:
    """Return which leaves were compared. The leaves must be listed in the order in which they entered the graph.

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
    gaps = np.maximum(tops - value, max(epsilon, 0.001))  # smaller gaps are not told apart
    many = np.arange(len(tops)) + exact.sum()  # exact leaves, and the first sampled ones
    # At least so many of the leaves are compared, if something is known of so many.
    worth = np.where(many >= min(0.5 * len(exact), many[-1]), many / gaps, -1.0)
    found = exact.copy()
    found[sampled[: np.flatnonzero(worth == worth.max())[-1]]] = True
    return found


def gaps_of_subsets(
    values: np.ndarray, answer: int, all_subsets: AllSubsetsClaim, *, every: bool
) -> tuple[float, float]:
    """Return gap and known gap of an answer among subsets that were evaluated; `every`: no other may be chosen."""
    others = np.append(np.delete(values, answer), all_subsets.least)  # subsets that are no leaves are at most so good
    known = float(others.max() - values[answer])
    return (known, known) if every else (max(known, 1.0 - float(values[answer])), known)


def is_settled(certificate: Certificate) -> bool:
    """Whether the answer of a search is known to within epsilon, or whether a choice was finished.

    In a graph that grew, at least one other candidate must be there.
    """
    search = certificate.search
    if search is None:
        return certificate.reason == "settled"
    if search.gap > search.epsilon:
        return False
    if search.expansion is None or search.task == "arm" or search.plan is not None:
        return True
    labels = [search.label_of(leaf) for leaf in search.leaves]
    return any(label != labels[0] for label in labels)
