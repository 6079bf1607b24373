"""The choice by left-out rows: which family of candidates, and which size.

The score of a family and a size on left-out rows is an estimate with noise. Four things keep the choice from following
the noise. Scores are averaged over neighbouring sizes. Differences to all features are taken fold by fold. Candidates
are compared by the mean difference less a part of its standard error. And the choice itself is judged: it is made again
without each fold, and scored on that fold. If it then does worse than all features, all features are the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bestleaf.new_data.left_out import Scores
from bestleaf.new_data.part import Candidates, Choosable, Subset

WIDTH = 0.2  # of the average over sizes, on a logarithmic scale
CAUTION = 0.5  # standard errors of the difference to all features that a subset must make up for
FEWEST_JUDGES = 3  # folds of a round that are needed to judge the choice
ALL = "all features"


class Candidate(NamedTuple):
    """A family and a size, and how much better than all features it is on left-out rows."""

    cautious: float  # mean difference less CAUTION standard errors
    family: str
    place: int  # of the size among the sizes that are tried
    by_fold: np.ndarray  # difference in each fold, averaged over neighbouring sizes


@dataclass(frozen=True)
class Row:
    """One row of the path, in units."""

    size: int
    units: Subset
    family: str
    left_out: float
    standard_error: float
    difference: float
    difference_error: float


@dataclass(frozen=True)
class Choice:
    """What left-out rows decided."""

    chosen: Row
    judged: Row  # scores of the choice on folds that had no part in it
    path: tuple[Row, ...]  # by size; the last row is all features
    families: dict[str, float]  # highest left-out score of each family, averaged over sizes
    folds: int
    parsimony: float


def decide(scores: list[Scores], candidates: dict[str, Candidates], choosable: Choosable, parsimony: float) -> Choice:
    """Choose a family and a size by scores on left-out rows; `candidates` are those found on all rows."""
    ballot = Ballot(scores, candidates, choosable)
    best, last = ballot.elected(parsimony), ballot.row(None)
    rows = {place: ballot.row(max(some, key=_merit)) for place, some in ballot.by_size().items()}
    if best is not None:
        rows[best.place] = ballot.row(best)
    chosen = last if best is None else rows[best.place]
    judged = ballot.scored(chosen.units, chosen.family, ballot.judged(Ballot.elected, parsimony))
    path = (*(rows[place] for place in sorted(rows)), last)
    return Choice(chosen, judged, path, ballot.highest_scores(), len(scores), parsimony)


class Ballot:
    """The scores of all candidates on left-out rows."""

    def __init__(self, scores: list[Scores], candidates: dict[str, Candidates], choosable: Choosable) -> None:
        self.scores, self.candidates, self.choosable = scores, candidates, choosable
        self.sizes, self.everything = np.array(choosable.sizes), np.array([one.everything for one in scores])
        train, aside = np.mean([one.sides for one in scores], axis=0)
        self.widening = np.sqrt(1.0 / len(scores) + aside / train)  # folds share rows: they are not independent
        families = [name for name in candidates if all(name in one.by_family for one in scores)]
        self.raw = {name: np.stack([one.by_family[name] for one in scores]) for name in families}
        self.tried = [one for name in families for one in self._of_family(name)]

    def _of_family(self, name: str) -> Iterator[Candidate]:
        smooth = averaged(self.raw[name] - self.everything[:, None], self.sizes)
        for place, by_fold in enumerate(smooth.T):
            if self.sizes[place] in self.candidates[name] and np.isfinite(by_fold).all():
                yield Candidate(float(by_fold.mean() - CAUTION * self.error(by_fold)), name, place, by_fold)

    @property
    def all_allowed(self) -> bool:
        """Whether all features may be the answer."""
        return self.choosable.limit == len(self.choosable.everything)

    def error(self, by_fold: np.ndarray) -> float:
        """Return the standard error of a mean over folds, corrected for the rows they share (Nadeau and Bengio)."""
        return float(self.widening * by_fold.std(ddof=1))

    def by_size(self) -> dict[int, list[Candidate]]:
        """Return the candidates of each size."""
        found: dict[int, list[Candidate]] = {}
        for one in self.tried:
            found.setdefault(one.place, []).append(one)
        return found

    def winner(self, parsimony: float) -> Candidate | None:
        """Return the best candidate, or a smaller one that costs little; None for all features."""
        best = max(self.tried, key=_merit, default=None)
        if best is not None and best.cautious < 0.0 and self.all_allowed:
            best = None
        if parsimony == 0.0:
            return best
        reference = np.zeros(len(self.everything)) if best is None else best.by_fold
        smaller = [one for one in self.tried if best is None or one.place < best.place]
        losses = [(one, reference - one.by_fold) for one in smaller]
        within = [one for one, lost in losses if lost.mean() <= parsimony * self.error(lost)]
        smallest = min((one.place for one in within), default=None)
        return max((one for one in within if one.place == smallest), key=_merit, default=best)

    def elected(self, parsimony: float) -> Candidate | None:
        """Return the winner; None for all features, also if the choice itself is worse than all features."""
        best = self.winner(parsimony)
        if best is None or parsimony > 0.0 or not self.all_allowed:
            return best
        return best if self.judged(Ballot.winner, parsimony).mean() >= self.everything.mean() else None

    def judged(self, choice: Callable[[Ballot, float], Candidate | None], parsimony: float) -> np.ndarray:
        """Return the score in each fold of what the other folds of its round choose."""
        found = self.everything.copy()
        for number, mine in enumerate(self.scores):
            others = [one for one in self.scores if one.round == mine.round and one is not mine]
            if len(others) >= FEWEST_JUDGES - 1:
                best = choice(Ballot(others, self.candidates, self.choosable), parsimony)
                score = np.nan if best is None else mine.by_family[best.family][best.place]
                found[number] = score if np.isfinite(score) else mine.everything
        return found

    def row(self, one: Candidate | None) -> Row:
        """Return the row of the path for a candidate; None is all features. Its scores are not averaged over sizes."""
        by_fold = self.everything if one is None else self.raw[one.family][:, one.place]
        units, family = self.choosable.everything, ALL
        if one is not None:
            units, family = self.candidates[one.family][int(self.sizes[one.place])], one.family
        return self.scored(units, family, by_fold)

    def scored(self, units: Subset, family: str, by_fold: np.ndarray) -> Row:
        """Return a row with these scores in each fold."""
        return Row(
            len(units),
            units,
            family,
            float(by_fold.mean()),
            self.error(by_fold),
            float(by_fold.mean() - self.everything.mean()),
            self.error(by_fold - self.everything),
        )

    def highest_scores(self) -> dict[str, float]:
        """Return the highest left-out score of each family, averaged over neighbouring sizes."""
        found: dict[str, float] = {}
        for one in self.tried:
            score = float(self.everything.mean() + one.by_fold.mean())
            found[one.family] = max(score, found.get(one.family, -np.inf))
        return found


def averaged(by_fold: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return [folds, sizes] averages over neighbouring sizes; nan where there is no score."""
    place = np.log(sizes)
    weights = np.exp(-0.5 * ((place[:, None] - place) / WIDTH) ** 2)
    there = np.isfinite(by_fold)
    with np.errstate(invalid="ignore"):
        found = (np.where(there, by_fold, 0.0) @ weights) / (there @ weights)
    return np.where(there, found, np.nan)


def _merit(one: Candidate) -> tuple[float, int]:
    """Return what candidates are compared by; of equal ones the smaller is better."""
    return one.cautious, -one.place
