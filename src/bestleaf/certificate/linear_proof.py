"""A proof that no subset of features is better for least squares than those that are known, in numpy alone.

It shares no code with the search. Sets of features are looked at many at a time, from all features down. A set fits no
worse than what is left of it after dropping features. So if its error is no smaller than the errors to beat, nothing
below it needs a look.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bestleaf.certificate.linear import Moments

AT_ONCE = 1_000_000  # numbers of the matrices that are worked on at a time
MOST_KEPT = 30_000_000  # numbers that may wait; beyond it the sets with the fewest features to drop come first


class Sets(NamedTuple):
    """Sets of features with equally many features that may be dropped; the features themselves are not kept.

    Every feature has a vector. Dropping one takes its direction out of the vectors of the others. The error grows by
    the square of the part of the side (`Moments.side`) in that direction.
    """

    fixed: np.ndarray  # number of features that stay
    errors: np.ndarray
    vectors: np.ndarray  # [sets, droppable, dimensions]: at first the rows of the inverse of R

    @property
    def droppable(self) -> int:
        """The number of features that may be dropped."""
        return self.vectors.shape[1]


class Waiting:
    """Sets that wait for a look, by the number of features that may be dropped."""

    def __init__(self) -> None:
        self._sets: dict[int, list[Sets]] = {}
        self._numbers: dict[int, int] = {}

    def add(self, sets: Sets) -> None:
        """Let sets wait."""
        self._sets.setdefault(sets.droppable, []).append(sets)
        self._numbers[sets.droppable] = self._numbers.get(sets.droppable, 0) + sets.vectors.size

    def next(self) -> Sets | None:
        """Return sets to look at together; None if none is left."""
        if not self._sets:
            return None
        if sum(self._numbers.values()) > MOST_KEPT:
            kind = min(self._sets)
        else:
            kind = max(self._sets, key=lambda many: min(self._numbers[many], AT_ONCE))
        taken, size = [], 0
        while self._sets[kind] and size < AT_ONCE:
            taken.append(self._sets[kind].pop())
            size += taken[-1].vectors.size
        self._numbers[kind] -= size
        if not self._sets[kind]:
            del self._sets[kind], self._numbers[kind]
        return taken[0] if len(taken) == 1 else Sets(*map(np.concatenate, zip(*taken, strict=True)))


def nothing_better(
    known: Moments, forced: list[int], thresholds: np.ndarray, over: Callable[[], bool] = bool
) -> tuple[bool, int]:
    """Return whether no subset of any size has an error below its threshold, and how many sets were looked at.

    ``thresholds[size]`` is the error that a subset of this size would have to beat; minus infinity where none counts.
    If `over` says that time is over, nothing is shown.
    """
    features = len(known.side)
    free = [one for one in range(features) if one not in forced]
    if known.rest < thresholds[features]:
        return False, 1
    reach = np.maximum.accumulate(thresholds[::-1])[::-1]
    waiting, looked = Waiting(), 1
    if free:
        waiting.add(Sets(np.array([len(forced)]), np.array([known.rest]), known.inverse[free][None]))
    while (sets := waiting.next()) is not None:
        if over():
            return False, looked
        lengths = np.einsum("sfd,sfd->sf", sets.vectors, sets.vectors)
        steps = (sets.vectors @ known.side) ** 2 / lengths
        order = np.argsort(-steps, axis=1)
        after = sets.errors[:, None] + np.take_along_axis(steps, order, 1)
        looked += after.size
        if (after < thresholds[sets.fixed + sets.droppable - 1][:, None]).any():
            return False, looked
        least = sets.fixed[:, None] + np.arange(sets.droppable)  # sizes if all that may be dropped is dropped
        may_be_better = after < reach[least]
        for place in range(sets.droppable - 1):
            which = np.flatnonzero(may_be_better[:, place])
            if len(which):
                vectors = _without(sets.vectors, which, order[which, place:], lengths)
                waiting.add(Sets(sets.fixed[which] + place, after[which, place], vectors))
    return True, looked


def _without(vectors: np.ndarray, which: np.ndarray, order: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the vectors of some of the sets without the first feature of an order, for the features after it."""
    gone = vectors[which, order[:, 0]]
    kept = vectors[which[:, None], order[:, 1:]]
    shares = np.einsum("sfd,sd->sf", kept, gone) / lengths[which, order[:, 0]][:, None]
    kept -= shares[:, :, None] * gone[:, None, :]
    return kept
