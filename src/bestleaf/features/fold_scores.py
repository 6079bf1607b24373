"""Scores of single cross-validation folds, for a search that draws in batches.

A sample is the score of one fold, and a value is the mean over all folds. So samples, values and races share what was
computed: each score is computed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, cast

import numpy as np

from bestleaf.features.rollouts import Subset
from bestleaf.search.evaluator import Evaluator, Request
from bestleaf.search.settings import checked_value
from bestleaf.search.state import A_VALUE

if TYPE_CHECKING:
    from bestleaf.features.lattice import FeatureLattice

KEPT = 500_000  # scores: about 125 MB
Score = tuple[Subset, int]  # of a terminal leaf on a fold


def scores(lattice: FeatureLattice, items: Sequence[Score]) -> list[float]:
    """Return some scores; workers do this."""
    return [lattice.part(state, fold) for state, fold in items]


class FoldScores:
    """Draws the samples and computes the values of a lattice whose values are means of scores; see `Batched`."""

    def __init__(self, lattice: FeatureLattice, evaluator: Evaluator) -> None:
        self.lattice, self.evaluator, self.folds = lattice, evaluator, lattice.parts
        self._scores: dict[Score, float] = {}
        self._first: dict[Subset, list[float]] = {}  # of races: the scores of the first folds

    @property
    def memory(self) -> int:
        """How many bytes the scores take."""
        return A_VALUE * (len(self._scores) + len(self._first))

    def values_at_once(self, batch_size: int) -> int:
        """Return how many values take about as long as a batch of samples."""
        return max(1, batch_size // self.folds)

    def samples(self, requests: Sequence[Request]) -> list[float]:
        """Return one sample for each request, in order; fewer if time is over."""
        drawn = (self.lattice.drawn_part(np.random.default_rng(one.seed)) for one in requests)
        return self._found([(cast("Subset", one.state), fold) for one, fold in zip(requests, drawn, strict=True)])

    def values(self, states: Sequence[Subset]) -> list[float]:
        """Return the values of states, in order; fewer if time is over."""
        found = self._found([(state, fold) for state in states for fold in range(self.folds)])
        whole = len(found) // self.folds
        return [float(np.mean(row)) for row in np.reshape(found[: whole * self.folds], (whole, self.folds))]

    def rough(self, state: Subset) -> dict[Subset, float]:
        """Return estimates of the values of some states, by the scores so far; without any, one of this state."""
        known: dict[Subset, list[float]] = {}
        for (one, _), score in self._scores.items():
            known.setdefault(one, []).append(checked_value(score, "part", one))
        means = {one: float(np.mean(some)) for one, some in known.items()}
        return means or {state: checked_value(self.lattice.rough(state), "part", state)}

    def first_means(self, states: Sequence[Subset], folds: int) -> dict[Subset, float]:
        """Return the mean score of each state over its first folds, as far as the budget goes.

        Every new score counts as a warm-up sample.
        """
        evaluator, seen = self.evaluator, self._first
        states = list(dict.fromkeys(states))
        missing = [(state, fold) for state in states for fold in range(len(seen.get(state, ())), folds)]
        while missing and evaluator.spent() is None:
            now = missing[: min(evaluator.batch_size or 1, evaluator.left)]
            missing = missing[len(now) :]
            found = self._found(now)
            for (state, _), score in zip(now, found, strict=False):
                seen.setdefault(state, []).append(checked_value(score, "part", state))
            evaluator.state.warmup_samples += len(found)
            missing += now[len(found) :]
        if missing:
            evaluator.end_midway()
        first = {state: seen.get(state, [])[:folds] for state in states}
        return {state: float(np.mean(some)) for state, some in first.items() if len(some) == folds}

    def known(self) -> dict[Subset, list[float]]:
        """Return the scores of all folds of the states for which all of them are kept."""
        found: dict[Subset, dict[int, float]] = {}
        for (state, fold), score in self._scores.items():
            found.setdefault(state, {})[fold] = float(score)
        every = range(self.folds)
        return {state: [one[fold] for fold in every] for state, one in found.items() if len(one) == self.folds}

    def _found(self, items: list[Score]) -> list[float]:
        """Return some scores, in order; fewer if time is over."""
        if len(self._scores) > KEPT:
            self._scores.clear()
        missing = [one for one in dict.fromkeys(items) if one not in self._scores]
        if missing:
            self._scores.update(zip(missing, self.evaluator.asked("part", missing, scores), strict=False))
        return [self._scores[one] for one in takewhile(self._scores.__contains__, items)]
