"""Candidates found on the training part of each fold, and their scores on the rows left out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from numbers import Integral
from time import time
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
)

from bestleaf.certificate.rows import group_numbers, rows_of_others
from bestleaf.features.data import LIGHTEST, lightest_share, splits_by
from bestleaf.features.estimator import ONE_THREAD, EstimatorOracle, fixed_splitter, groups_for
from bestleaf.features.neighbours import KNNOracle, NeighbourVotes
from bestleaf.features.unseen import UnseenVotes
from bestleaf.new_data.families import neighbour_families
from bestleaf.new_data.fitted_families import fitted_families
from bestleaf.new_data.part import Candidates, Choosable, Part, Subset
from bestleaf.new_data.splits import Split
from bestleaf.selection.data import Data, votes_of

FOLDS = {20_000: (2, 10), 50_000: (1, 10), inf: (1, 5)}  # numbers in the table: times folds are drawn, folds
FEWEST_ROWS = 20  # with fewer rows none are left out
MOST_ROWS = 5000  # of more rows, a random part chooses

Scoring = str | Callable[..., float] | None  # as scikit-learn understands it
Fold = tuple[int, int, Split, float]  # number, round, rows, end of time by the clock on the wall, for workers


class TimeOverError(Exception):
    """The time for choosing is over, or Ctrl-C was pressed."""


class Scores(NamedTuple):
    """Scores on the rows left out of one fold."""

    by_family: dict[str, np.ndarray]  # one for each size; nan where the family has no subset of the size
    everything: float  # of all features
    sides: tuple[int, int]  # rows that were trained on, and rows left out
    round: int  # folds of one round have no left-out row in common


@dataclass(frozen=True)
class Plan:
    """What the folds share: data and settings. Workers get a copy."""

    data: Data
    estimator: BaseEstimator | None
    scoring: Scoring
    choosable: Choosable
    task: str
    seed: int
    over: Callable[[], bool] | None = None  # whether Ctrl-C was pressed or time is over; other processes cannot ask
    threads: int = 1  # that may work on one part

    def part(self, rows: np.ndarray | slice, number: int, until: float) -> Part:
        """Return some rows with their oracle; `number` gives the seed, `until` the end of time."""
        some, seed = self.data.part(rows), self.seed + 7919 * number
        check = partial(_check_time, until, self.over)
        oracle = oracle_of(some, self.estimator, self.scoring, self.seed, self.threads)
        return Part(some.X, some.y, oracle, self.choosable, self.task, seed, check, self.threads)

    def __getstate__(self) -> dict[str, object]:
        """Return what is sent to another process."""
        return {**vars(self), "over": None}


def oracle_of(
    data: Data,
    estimator: BaseEstimator | None,
    scoring: Scoring,
    seed: int,
    threads: int = 1,
) -> KNNOracle | EstimatorOracle:
    """Return an oracle that gives values by votes, or fits the estimator; its cross-validated score is not used."""
    votes = votes_of(estimator)
    if votes is not None:
        every_row = {"subsample": None, "reference_rows": len(data.y)}  # it draws no samples, and all rows vote
        return clone(votes).set_params(**every_row).oracle(data.X, data.y, **data.metadata, n_jobs=threads)
    every = np.arange(len(data.y))
    return EstimatorOracle(
        data.X,
        data.y,
        estimator=estimator,
        scoring=scoring,
        cv=[(every, every)],
        sample_weight=data.metadata.get("sample_weight"),
        random_state=seed,
    )


def _check_time(until: float, over: Callable[[], bool] | None) -> None:
    """Raise an error if time is over; another process has no `over` to ask and looks at the clock on the wall."""
    is_over = time() > until if over is None else over()
    if is_over:
        raise TimeOverError


def candidates_on(part: Part) -> dict[str, Candidates]:
    """Return the candidates of every family on some rows."""
    families = neighbour_families if isinstance(part.oracle, KNNOracle) else fitted_families
    return dict(families(part))


def score_folds(plan: Plan, items: Sequence[Fold]) -> list[Scores | None]:
    """Return the scores of each fold; None if time is over."""
    found: list[Scores | None] = []
    for fold in items:
        try:
            found.append(_score_fold(plan, *fold))
        except TimeOverError:
            found.append(None)
    return found


def _score_fold(plan: Plan, number: int, of_round: int, split: Split, until: float) -> Scores:
    plan = replace(plan, data=plan.data.learned_from(split.kept))  # nothing may be learned from left-out rows
    part, new = plan.part(split.kept, number, until), plan.data.part(split.aside)
    families, everything = candidates_on(part), plan.choosable.everything
    asked = [subsets[size] for subsets in families.values() for size in plan.choosable.sizes if size in subsets]
    scores = _scores_on(part, new, list(dict.fromkeys([*asked, everything])))  # families may have subsets in common
    by_family = {
        name: np.array([scores[subsets[size]] if size in subsets else np.nan for size in plan.choosable.sizes])
        for name, subsets in families.items()
    }
    return Scores(by_family, scores[everything], (len(split.kept), len(split.aside)), of_round)


def _scores_on(part: Part, new: Data, subsets: list[Subset]) -> dict[Subset, float]:
    """Return the score of each subset, trained on a part, on other rows."""
    columns, oracle, weight = part.choosable.columns, part.oracle, new.metadata.get("sample_weight")
    found: list[float] = []
    if isinstance(oracle, KNNOracle):
        unseen = UnseenVotes(oracle, part.X, new.X, new.y, weight)
        for begin in range(0, len(subsets), oracle.at_once):
            part.check()
            found += unseen.scores([columns(units) for units in subsets[begin : begin + oracle.at_once]])
    else:
        for units in subsets:
            fitted = part.model(units)
            with ONE_THREAD:
                found.append(oracle.score_of(fitted, columns(units), new.X, new.y, weight))
    return dict(zip(subsets, found, strict=True))


def rows_to_choose_by(data: Data, cv: object, task: str, seed: int) -> np.ndarray | None:
    """Return the rows that choose: all of them, or a random part of very many; None if there are too few."""
    many = len(data.y)
    if many < FEWEST_ROWS:
        return None
    if many <= MOST_ROWS or cv is not None:  # `cv` may name rows by number
        return np.arange(many)
    rng = np.random.RandomState(seed % 2**32)
    if task == "regression":
        return np.sort(rng.permutation(many)[:MOST_ROWS])
    try:
        return np.sort(next(StratifiedShuffleSplit(1, train_size=MOST_ROWS, random_state=rng).split(data.X, data.y))[0])
    except ValueError:  # a class of a single row
        return np.sort(rng.permutation(many)[:MOST_ROWS])


def folds_of(data: Data, cv: object, task: str, seed: int, votes: NeighbourVotes | None) -> list[list[Split]]:
    """Return the folds of each round: two rounds for a small table. There are none if a class has too few rows.

    With `cv` they are its splits. Rows of a group stay together; a splitter of scikit-learn that does not split by
    groups is refused if there are any. `votes` is None if an estimator is fitted instead.
    """
    groups = data.metadata.get("groups")
    least = FEWEST_ROWS // 2 if votes is None else max(FEWEST_ROWS // 2, votes.n_neighbors + 1)
    if cv is not None and (groups is None or not isinstance(cv, Integral)):
        splitter = fixed_splitter(cv, data.y, seed, classifier=task != "regression")
        groups = groups_for(splitter, groups, len(data.y))
        return [_usable(splits_by("cv", splitter, data.X, data.y, groups), data, least, votes)]
    times, folds = (1, 5) if votes is None else next((plan for most, plan in FOLDS.items() if data.X.size <= most))
    folds = folds if cv is None else int(cv)
    if task != "regression":
        folds = min(folds, int(np.unique(data.y, return_counts=True)[1].max()))
    if groups is not None:
        folds = min(folds, len(np.unique(groups)))
    found: list[list[Split]] = []
    for number in range(times if folds > 1 else 0):
        keywords = {"shuffle": True, "random_state": (seed + number) % 2**32}
        if groups is not None:
            splitter = GroupKFold(folds) if task == "regression" else StratifiedGroupKFold(folds, **keywords)
            return [_usable(splitter.split(data.X, data.y, groups), data, least, votes)]
        kind = KFold if task == "regression" else StratifiedKFold
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a class with fewer rows than folds
            found.append(_usable(kind(folds, **keywords).split(data.X, data.y), data, least, votes))
    return found


def _usable(
    splits: Iterable[tuple[np.ndarray, np.ndarray]], data: Data, least: int, votes: NeighbourVotes | None
) -> list[Split]:
    """Return the splits with at least two different targets on both sides, and enough rows to train on and to vote."""
    return [
        split
        for split in (Split(*split) for split in splits)
        if len(split.kept) >= least
        and min(len(np.unique(data.y[side])) for side in split) > 1
        and can_vote(data, split.kept, votes)
        and weighs_two_targets(data, split.aside, votes)
    ]


def can_vote(data: Data, rows: np.ndarray | slice, votes: NeighbourVotes | None) -> bool:
    """Whether some rows can vote on each other: each has enough rows of other groups, and two targets have weight."""
    groups = data.metadata.get("groups")
    if groups is None or votes is None:
        return weighs_two_targets(data, rows, votes)
    numbers = group_numbers(groups[rows], len(groups[rows]))
    return rows_of_others(numbers) >= votes.n_neighbors and weighs_two_targets(data, rows, votes)


def weighs_two_targets(data: Data, rows: np.ndarray | slice, votes: NeighbourVotes | None) -> bool:
    """Whether rows of two different targets have weight, which votes need."""
    weights = data.metadata.get("sample_weight")
    return votes is None or weights is None or lightest_share(data.y[rows], weights[rows]) > LIGHTEST
