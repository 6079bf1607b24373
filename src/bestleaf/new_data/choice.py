"""The choice by left-out rows: which family of candidates, and which size.

The score of a family and a size on left-out rows is an estimate with noise. Four things keep the choice from following
the noise. Scores are averaged over neighbouring sizes. Differences to all features are taken fold by fold. Candidates
are compared by the mean difference less a part of its standard error. And the choice itself is judged: it is made again
without each fold, and scored on that fold. If it then does worse than all features, all features are the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from bestleaf.certificate.held_out import widening
from bestleaf.new_data.left_out import Scores
from bestleaf.new_data.part import Candidates, Choosable, Subset

WIDTH = 0.2  # of the average over sizes, on a logarithmic scale
CAUTION = 0.5  # standard errors of the difference to all features that a subset must make up for
FEWEST_JUDGES = 3  # folds of a round that are needed to judge the choice
ALL = "all features"


class Candidate(NamedTuple):
    """A size and a family, by their places among those that are tried."""

    size: int
    family: int


@dataclass(frozen=True)
class LeftOut:
    """Scores on left-out rows: means over folds, with standard errors."""

    left_out: float
    standard_error: float
    difference: float  # to all features
    difference_error: float


@dataclass(frozen=True)
class Row:
    """One row of the path, in units."""

    units: Subset
    family: str
    scores: LeftOut

    @property
    def size(self) -> int:
        """How many units there are."""
        return len(self.units)


@dataclass(frozen=True)
class Choice:
    """What left-out rows decided."""

    chosen: Row
    judged: LeftOut  # scores of the choice on folds that had no part in it
    path: tuple[Row, ...]  # by size; the last row is all features
    families: dict[str, float]  # highest left-out score of each family, averaged over sizes
    folds: int
    parsimony: float


def decide(scores: list[Scores], candidates: dict[str, Candidates], choosable: Choosable, parsimony: float) -> Choice:
    """Choose a family and a size by scores on left-out rows; `candidates` are those found on all rows."""
    families = [name for name in candidates if all(name in one.by_family for one in scores)]
    ballot = Ballot.of(scores, {name: candidates[name] for name in families}, choosable)

    def row(one: Candidate) -> Row:
        name = families[one.family]
        return Row(candidates[name][choosable.sizes[one.size]], name, ballot.left_out(one))

    best, last = ballot.elected(parsimony), Row(choosable.everything, ALL, ballot.left_out(None))
    rows = {one.size: row(one) for one in ballot.best_of_each_size()}
    if best is not None:
        rows[best.size] = row(best)
    chosen = last if best is None else rows[best.size]
    judged = ballot.summed_up(ballot.judged(Ballot.elected, parsimony))
    path = (*(rows[size] for size in sorted(rows)), last)
    return Choice(chosen, judged, path, ballot.highest_scores(families), len(scores), parsimony)


@dataclass(frozen=True)
class Ballot:
    """The scores of all candidates on the left-out rows of some folds."""

    scores: np.ndarray  # [folds, sizes, families]; nan where there is no score
    gains: np.ndarray  # scores less those of all features, averaged over sizes; nan for what cannot be chosen
    everything: np.ndarray  # [folds]: scores of all features
    sides: np.ndarray  # [folds, 2]: rows that were trained on, and rows left out
    rounds: np.ndarray  # [folds]: folds of one round have no left-out row in common
    all_allowed: bool  # whether all features may be the answer

    @classmethod
    def of(cls, scores: list[Scores], candidates: dict[str, Candidates], choosable: Choosable) -> Ballot:
        """Return the scores of these families in all folds."""
        everything, sizes = np.array([one.everything for one in scores]), choosable.sizes
        raw = np.empty((len(scores), len(sizes), len(candidates)))
        gains = np.empty_like(raw)
        for number, (name, subsets) in enumerate(candidates.items()):
            by_fold = np.stack([one.by_family[name] for one in scores])
            raw[:, :, number] = by_fold
            smooth = averaged(by_fold - everything[:, None], np.array(sizes))
            gains[:, :, number] = np.where([size in subsets for size in sizes], smooth, np.nan)
        sides, rounds = np.array([one.sides for one in scores]), np.array([one.round for one in scores])
        return cls(raw, gains, everything, sides, rounds, choosable.limit == len(choosable.everything))

    def part(self, folds: np.ndarray) -> Ballot:
        """Return the scores of some of the folds."""
        arrays = {name: getattr(self, name)[folds] for name in ("scores", "gains", "everything", "sides", "rounds")}
        return replace(self, **arrays)

    @cached_property
    def _widening(self) -> float:
        trained, left_out = self.sides.T.tolist()
        return widening(left_out, trained)

    def error(self, by_fold: np.ndarray) -> np.ndarray:
        """Return the standard error of a mean over folds, which are the first axis; it allows for rows they share."""
        return np.sqrt(self._widening * by_fold.var(axis=0, ddof=1))

    @cached_property
    def merits(self) -> np.ndarray:
        """[sizes, families]: what candidates are compared by, the mean gain less CAUTION standard errors.

        -inf where there is no candidate. Of equal ones `argmax` finds the smallest, because sizes are the first axis.
        """
        return np.nan_to_num(self.gains.mean(axis=0) - CAUTION * self.error(self.gains), nan=-np.inf)

    def best_of_each_size(self) -> list[Candidate]:
        """Return the best candidate of each size that has one."""
        there = np.flatnonzero(np.isfinite(self.merits).any(axis=1))
        return [Candidate(int(size), int(self.merits[size].argmax())) for size in there]

    def winner(self, parsimony: float) -> Candidate | None:
        """Return the best candidate, or a smaller one that costs little; None for all features."""
        best = _highest(self.merits)
        if best is not None and self.all_allowed and self.merits[best] < 0.0:
            best = None
        if parsimony == 0.0:
            return best
        reference = np.zeros(len(self.everything)) if best is None else self.gains[:, best.size, best.family]
        lost = reference[:, None, None] - self.gains
        within = lost.mean(axis=0) <= parsimony * self.error(lost)
        smaller = within[: None if best is None else best.size]
        if not smaller.any():
            return best
        smallest = int(smaller.any(axis=1).argmax())
        return Candidate(smallest, int(np.where(smaller[smallest], self.merits[smallest], -np.inf).argmax()))

    def elected(self, parsimony: float) -> Candidate | None:
        """Return the winner; None for all features, also if the choice itself is worse than all features."""
        best = self.winner(parsimony)
        if best is None or parsimony > 0.0 or not self.all_allowed:
            return best
        return best if self.judged(Ballot.winner, parsimony).mean() >= self.everything.mean() else None

    def judged(self, choice: Callable[[Ballot, float], Candidate | None], parsimony: float) -> np.ndarray:
        """Return the score in each fold of what the other folds of its round choose."""
        found = self.everything.copy()
        for fold, of_round in enumerate(self.rounds):
            others = np.flatnonzero((self.rounds == of_round) & (np.arange(len(self.rounds)) != fold))
            if len(others) >= FEWEST_JUDGES - 1:
                best = choice(self.part(others), parsimony)
                if best is not None and np.isfinite(self.scores[fold][best]):
                    found[fold] = self.scores[fold][best]
        return found

    def left_out(self, one: Candidate | None) -> LeftOut:
        """Return the scores of a candidate, not averaged over sizes; None is all features."""
        return self.summed_up(self.everything if one is None else self.scores[:, one.size, one.family])

    def summed_up(self, by_fold: np.ndarray) -> LeftOut:
        """Return means and standard errors of scores in each fold."""
        difference = float(by_fold.mean() - self.everything.mean())
        error, difference_error = float(self.error(by_fold)), float(self.error(by_fold - self.everything))
        return LeftOut(float(by_fold.mean()), error, difference, difference_error)

    def highest_scores(self, families: list[str]) -> dict[str, float]:
        """Return the highest left-out score of each family that can be chosen, averaged over neighbouring sizes."""
        highest = self.everything.mean() + np.nan_to_num(self.gains.mean(axis=0), nan=-np.inf).max(axis=0)
        return {name: float(one) for name, one in zip(families, highest, strict=True) if np.isfinite(one)}


def _highest(merits: np.ndarray) -> Candidate | None:
    """Return the candidate of highest merit, of equal ones the smallest; None if there is none."""
    if not np.isfinite(merits).any():
        return None
    size, family = np.unravel_index(merits.argmax(), merits.shape)
    return Candidate(int(size), int(family))


def averaged(by_fold: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return [folds, sizes] averages over neighbouring sizes; nan where there is no score."""
    place = np.log(sizes)
    weights = np.exp(-0.5 * ((place[:, None] - place) / WIDTH) ** 2)
    there = np.isfinite(by_fold)
    with np.errstate(invalid="ignore"):
        found = (np.where(there, by_fold, 0.0) @ weights) / (there @ weights)
    return np.where(there, found, np.nan)
