"""What to answer with, and what else was learnt on the way."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from bestleaf.features import SubsetLattice
from bestleaf.intervals import Leaf
from bestleaf.search.answer import SURROUNDINGS


class EvaluatedSubset(NamedTuple):
    """A subset of features with its exact value."""

    features: tuple[str | int, ...]  # names, or numbers if the data have no names
    score: float
    size: int  # how many features, a group counting as one


class EvaluatedSubsets(tuple[EvaluatedSubset, ...]):
    """Every subset evaluated exactly, best first."""

    def __str__(self) -> str:
        return "\n".join(f"{subset.score:.4f}  {', '.join(map(str, subset.features))}" for subset in self)

    def by_size(self) -> dict[int, EvaluatedSubset]:
        """Return the best subset of each size, smallest size first; a group counts as one."""
        found: dict[int, EvaluatedSubset] = {}
        for subset in self:
            found.setdefault(subset.size, subset)
        return dict(sorted(found.items()))


def chosen(
    leaves: Iterable[Leaf], epsilon: float, *, prefer_small: bool, guides: dict[Any, float] | None = None
) -> tuple[Leaf, float]:
    """Return the leaf to answer with and its gap: how much better another leaf may be.

    Of the leaves whose gap is at most epsilon it is the smallest, if small ones are preferred, otherwise the one of
    highest likely value. If there is none, it is the leaf of highest likely value: the exact value or, where none is
    exact, the mean of the samples and two more at the value that guided growth.
    """
    ordered = sorted(leaves, key=lambda leaf: -leaf.upper)
    exact = [leaf for leaf in ordered if leaf.exact]
    candidates = exact or [leaf for leaf in ordered if leaf.terminal]
    likely = likely_values(candidates, guides or {})
    candidates.sort(key=lambda leaf: (-likely[leaf.state], len(leaf.state)))

    def gap(leaf: Leaf) -> float:
        rival = next((other for other in ordered if other.label != leaf.label), None)
        return 0.0 if rival is None else min(1.0, rival.upper - leaf.lower)

    passing = [leaf for leaf in candidates if gap(leaf) <= epsilon] or candidates[:1]
    best = min(passing, key=lambda leaf: len(leaf.state)) if prefer_small else passing[0]
    return best, gap(best)


def likely_values(leaves: Iterable[Leaf], guides: dict[Any, float]) -> dict[Any, float]:
    """Return the exact or likely value of each leaf; few samples do not carry it far from what guided growth."""
    sampled = [leaf.mean for leaf in leaves if leaf.mean is not None]
    middle = float(np.mean(sampled)) if sampled else 0.5

    def likely(leaf: Leaf) -> float:
        if leaf.exact:
            return leaf.lower
        if leaf.mean is None:
            return guides.get(leaf.state, 0.0)
        around = guides.get(leaf.state, middle)
        return (leaf.count * leaf.mean + SURROUNDINGS * around) / (leaf.count + SURROUNDINGS)

    return {leaf.state: likely(leaf) for leaf in leaves}


def mean_scores(rave: np.ndarray, values: dict[Any, float], lattice: SubsetLattice) -> np.ndarray:
    """Return the mean value of the rollouts with each feature (of the exact values, if there were no rollouts)."""
    sums, counts = rave.T.copy()
    if not counts.any():
        for state, value in values.items():
            sums[list(state[:-1])] += value
            counts[list(state[:-1])] += 1
    scores = np.full(lattice.oracle.n_features, np.nan)
    for unit, group in enumerate(lattice.groups):
        scores[group] = sums[unit] / counts[unit] if counts[unit] else np.nan
    return scores
