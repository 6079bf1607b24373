"""Choose features by left-out rows: search on the training part of each fold, score, decide."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from math import inf, isnan
from time import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bestleaf.certificate.schema import Content
from bestleaf.features import FeatureLattice
from bestleaf.new_data.choice import Choice, LeftOut, decide
from bestleaf.new_data.left_out import (
    Plan,
    Scores,
    TimeOverError,
    can_vote,
    candidates_on,
    folds_of,
    rows_to_choose_by,
    score_folds,
)
from bestleaf.new_data.part import Candidates, Choosable, Subset
from bestleaf.new_data.splits import Split
from bestleaf.search.budget import Budget, deferred_interrupt
from bestleaf.search.executors import Serial, workers_there
from bestleaf.selection.data import Data, task_for, votes_of

if TYPE_CHECKING:
    from bestleaf.selection.selector import BestLeafSelector

SHARE = 0.6  # of `max_time`: when it is used up, no further fold is scored, and the search on all rows begins
FEWEST_FOLDS = 3  # if time is over, there is a choice only if so many folds are scored
# The training values of the path are computed until they have taken so many distances on one feature: some seconds.
# With a limit of time it is at most so many for each of its seconds, about a twentieth of the time.
CHEAP = 2e10
CHEAP_A_SECOND = 1.5e8
PARSIMONY = (0.5, 0.0)  # by default: with an estimator, with votes

Tell = Callable[[int, int], None]  # is told how many folds are done, and of how many


class Chosen(NamedTuple):
    """What left-out rows decided, and whether Ctrl-C was pressed on the way."""

    choice: Choice | None  # None if it could not be made
    rows: int = 0  # rows that were left out at least once
    interrupted: bool = False
    affordable: float = 0.0  # distances that the training values of the path may take
    cut_short: bool = False  # time was over, or Ctrl-C pressed, before enough folds were done
    scoring: str | None = None  # the score of left-out rows, if it is not that of the values


def choose(
    selector: BestLeafSelector,
    data: Data,
    lattice: FeatureLattice,
    seed: int,
    budget: Budget,
    executor: Serial,
    tell: Tell,
) -> Chosen:
    """Return what left-out rows decide about the subsets of a lattice."""
    votes, task = votes_of(selector.estimator), task_for(data.y, selector.estimator)
    choosable, rows = Choosable.of(lattice, by_fits=votes is None), rows_to_choose_by(data, selector.cv, task, seed)
    if rows is None or not choosable.sizes:
        return Chosen(None)
    some = data if len(rows) == len(data.y) else data.part(rows)
    if not can_vote(some, slice(None), votes):
        return Chosen(None)
    rounds = folds_of(some, selector.cv, task, seed, votes)
    splits = [(number, split) for number, folds in enumerate(rounds) for split in folds]
    if len(splits) < 2:
        return Chosen(None)
    known = Folds()
    with deferred_interrupt() as interrupted:

        def over() -> bool:
            return interrupted() or _left(budget) < 0.0

        executor.until(interrupted)
        plan = Plan(some, selector.estimator, selector.scoring, choosable, task, seed, over)
        _score(known, plan, splits, executor, workers_there(selector.n_jobs), budget, tell)
        stopped = interrupted()
    scores = known.scores
    if known.candidates is None or len(scores) < min(FEWEST_FOLDS, len(splits)):
        return Chosen(None, 0, stopped, cut_short=True)
    left_out = np.unique(np.concatenate([split.aside for _, split in splits[: len(scores)]]))
    parsimony = PARSIMONY[votes is not None] if selector.parsimony is None else selector.parsimony
    choice = decide(scores, known.candidates, choosable, parsimony)
    if choice.chosen.size > choosable.limit:  # only all features have scores, and there are too many of them
        return Chosen(None, 0, stopped)
    seconds = 1.0 if stopped else inf if budget.max_time is None else budget.max_time
    return Chosen(choice, len(left_out), stopped, min(CHEAP, CHEAP_A_SECOND * seconds))


@dataclass
class Folds:
    """The candidates, and the scores of the folds done so far."""

    candidates: dict[str, Candidates] | None = None
    scores: list[Scores] = field(default_factory=list)


def _left(budget: Budget) -> float:
    """Return the seconds left for choosing."""
    budget.look()
    return inf if budget.max_time is None else SHARE * budget.max_time - budget.seconds


def _score(
    known: Folds,
    plan: Plan,
    splits: list[tuple[int, Split]],
    executor: Serial,
    workers: int,
    budget: Budget,
    tell: Tell,
) -> None:
    """Find candidates and score the folds that are not done yet, until time is over; workers help if there are any."""
    tell(len(known.scores), len(splits))
    on_a_cluster = bool(getattr(executor, "patience", 0.0))
    here = 1 if on_a_cluster else workers  # threads of this machine
    if known.candidates is None:
        with suppress(TimeOverError):
            known.candidates = candidates_on(replace(plan, threads=here).part(slice(None), 0, inf))
    if known.candidates is None:
        return
    at_once = here  # on a cluster the first fold tells how long one takes
    over = False
    while (done := len(known.scores)) < len(splits) and not over and not (plan.over and plan.over()):
        until, found = time() + _left(budget), list[Scores | None]()
        items = [(number + 1, *splits[number], until) for number in range(done, min(done + at_once, len(splits)))]
        if type(executor) is not Serial:
            found = executor.map(score_folds, replace(plan, threads=max(1, here // len(items))), items)
        if not found:  # there are no workers, or none are left
            found = score_folds(plan, items[:1])
        for scores in found:
            if scores is None or over:  # time was over in this fold, or in one before it
                over = True
            else:
                known.scores.append(scores)
        tell(len(known.scores), len(splits))
        at_once = workers


def fresh_scores(chosen: Chosen, lattice: FeatureLattice, known: Mapping[Subset, float]) -> dict[Subset, list[float]]:
    """Return what training values of the path that are not known yet are the means of, by state of the lattice.

    These are the scores of the splits of an estimator; of votes there is one value. They are computed as far as that is
    cheap. The chosen row always gets one; all features get none if `max_features` does not allow them.
    """
    assert chosen.choice is not None
    choice, oracle, left, found = chosen.choice, lattice.oracle, chosen.affordable, dict[Subset, list[float]]()
    for row in sorted(choice.path, key=lambda row: (row is not choice.chosen, row.size)):
        columns, state = lattice.features_of(row.units), lattice.terminal(row.units)
        if state in known or row.size > lattice.limit:
            continue
        left -= oracle.value_cost * (1 if oracle.parts else len(columns))
        if left >= 0 or row is choice.chosen:
            by_split = [lattice.part(state, number) for number in range(oracle.parts)]
            found[state] = by_split or [oracle.value(columns)]
    return found


def in_certificate(
    chosen: Chosen,
    lattice: FeatureLattice,
    names: list[str],
    training: Mapping[Subset, float],
    features_of: Callable[[Subset], list[int]],
) -> Content:
    """Return the choice as a part of a certificate.

    `training` has the values that are known, by state; `features_of` gives the features of some units, by their names.
    """
    choice = chosen.choice
    assert choice is not None
    path: list[Content] = []
    for row in choice.path:
        value = training.get(lattice.terminal(row.units))
        path.append(
            {
                "size": row.size,
                "features": [names[feature] for feature in features_of(row.units)],
                "family": row.family,
                "training": None if value is None else float(value),
                **_known(row.scores),
            }
        )
    return {
        "parsimony": float(choice.parsimony),
        "folds": choice.folds,
        "rows": chosen.rows,
        "size": choice.chosen.size,
        "family": choice.chosen.family,
        "families": choice.families,
        "path": path,
        "judged": _known(choice.judged),
        **({} if chosen.scoring is None else {"scoring": chosen.scoring}),
    }


def _known(scores: LeftOut) -> dict[str, float | None]:
    """Return scores as JSON, which has no nan."""
    return {name: None if isnan(score) else score for name, score in asdict(scores).items()}
