"""Columns for new rows (``choose="new_data"``): test rows kept aside, the choice, the score; and their record."""

from __future__ import annotations

import numpy as np
from msgspec import structs
from sklearn.model_selection import TimeSeriesSplit

import bestleaf
from bestleaf.checks import shown
from bestleaf.features.data import LIGHTEST, lightest_share
from bestleaf.features.estimator import described
from bestleaf.features.scoring import scorer_name
from bestleaf.memory import Answers
from bestleaf.proof import record
from bestleaf.search.executors import executor_for
from bestleaf.selection.choice import Chosen, choose
from bestleaf.selection.data import Data, task_for, votes_of, warn
from bestleaf.selection.fit import Fit
from bestleaf.selection.folds import kept_together
from bestleaf.selection.judges import Panel
from bestleaf.selection.new_rows import (
    Split,
    as_time_allows,
    compared,
    is_cut_short,
    matching_of,
    on_test_rows,
    rows_aside,
)
from bestleaf.selection.space import Space

FEWEST_OF_A_CLASS = 5  # with fewer rows cross-validation says nothing


def chosen(fit: Fit) -> record.Certificate:
    """Choose columns for new rows; return the record."""
    data, selector = fit.data, fit.selector
    task = task_for(data.y, selector.estimator)
    check_targets(data, task)
    data, notes = kept_together(data), tuple[str, ...]()
    if data is not fit.data:
        assert data.groups is not None
        many = len(data.y) - len(np.unique(data.groups))
        notes = (f"{many:,} rows are copies of other rows; equal rows were kept together, so there is no proof",)
        warn(notes[0])
    space, split = fit.space, _split(fit, data, task)
    kept = data if split is None else data.learned_from(split.kept).part(split.kept)
    panel = Panel.of(selector.estimator, selector.scoring, kept, fit.seed)
    if data is not fit.data and hasattr(selector.cv, "split"):  # folds of the user's own
        kept = kept._replace(groups=None)
    if (why := too_few(kept, task)) is None:
        found = _choose(fit, kept, space, panel, selector.cv, nested=split is None)
    else:
        found = _choose(fit, kept._replace(groups=None, weights=None), space, panel, [], nested=False)
        whole = found.path.size == len(space.everything)
        answer = "all columns" if whole else f"the first {found.path.size} columns that forward selection adds"
        notes = (
            *notes,
            f"{why}, too little to choose by cross-validation: the answer is {answer}",
        )
        warn(notes[-1])
    if why is None and not found.path.folds_planned:
        notes = (*notes, "no fold has two different targets on both sides, nothing to choose by: groups of one class?")
        warn(notes[-1])
    claim = found.nested
    if claim is not None and set(found.units) == set(space.everything):
        # The score of all columns in the folds that preferred them to all smaller sets is too high on average.
        claim = structs.replace(claim, all_columns=claim.score, difference_error=0.0)
    if split is not None and fit.budget.spent() != "interrupted":
        sets = compared(found.path.chosen.features, found.path, space, data)
        if data.groups is None:
            split = as_time_allows(split, data, task, fit.seed, 0.0 if fit.budget.spent() else fit.budget.look())
        matching = matching_of(fit.digest.result())
        claim = on_test_rows(
            data, split, space, panel, sets, selector.delta, matching=matching, seed=fit.seed, budget=fit.budget
        )
        if found.reason == "settled" and (claim.rows + claim.trained < len(data.y) or is_cut_short(claim, len(sets))):
            found = found._replace(reason="interrupted" if fit.budget.spent() == "interrupted" else "max_time")
    if claim is None and found.path.folds and not found.path.asked and found.reason == "settled":
        why = "without two folds at a time, too little is left to choose by, or cv scores later rows only"
        notes += (f"no score on new rows is known: {why}",)
    return _record(fit, panel, found, claim, len(kept.y), notes)


def check_targets(data: Data, task: str) -> None:
    """Refuse targets that are all alike, or that get no weight."""
    if len(np.unique(data.y)) < 2:
        kinds = "classes" if task == "classification" else "different values"
        raise ValueError(f"y must have at least two {kinds}, got only {shown(data.y[0])}")
    if data.weights is not None and lightest_share(data.y, np.asarray(data.weights, float)) <= LIGHTEST:
        raise ValueError(f"sample_weight must give more than {LIGHTEST:g} of the weight to a second target")


def too_few(data: Data, task: str) -> str | None:
    """Return what a table has too little of for cross-validation, in words; None if it has enough."""
    rows, groups = len(data.y), data.groups
    if rows < 20:
        return f"X has {rows} rows"
    if task == "classification":
        second = np.sort(np.unique(data.y, return_counts=True)[1])[-2]
        if second < FEWEST_OF_A_CLASS:
            return f"only one class has {FEWEST_OF_A_CLASS} rows or more"
    if groups is not None and len(np.unique(groups)) < FEWEST_OF_A_CLASS:
        return f"groups has {len(np.unique(groups))} groups"
    return None


def _split(fit: Fit, data: Data, task: str) -> Split | None:
    """Return the test rows; with a list of folds, which are about all rows, there are none unless asked for."""
    selector = fit.selector
    of_all_rows = selector.cv is not None and not hasattr(selector.cv, "split") and not isinstance(selector.cv, int)
    if of_all_rows and selector.holdout:
        raise ValueError("cv must be a number or a splitter with holdout, got a list of rows of all the data")
    in_time = isinstance(selector.cv, TimeSeriesSplit) and selector.holdout is None  # test rows would know the future
    return rows_aside(data, 0 if of_all_rows or in_time else selector.holdout, task, fit.seed)


def _choose(fit: Fit, data: Data, space: Space, panel: Panel, folds: object, *, nested: bool) -> Chosen:
    """Return the choice; its orders and scores are remembered."""
    selector, memory = fit.selector, None
    if fit.memory is not None:
        names = ("estimator", "scoring", "encode")
        settings = [described(getattr(selector, name)) for name in names]
        of_rows = [None if one is None else one.tolist() for one in (data.groups, data.weights)]
        memory = Answers(fit.memory, ["choice", fit.digest.result(), len(data.y), settings, of_rows, repr(space)])
    quick = selector.estimator is None or votes_of(selector.estimator) is not None
    return choose(
        data,
        space,
        panel,
        parsimony=selector.parsimony,
        n_features=selector.n_features_to_select,
        folds=folds,
        seed=fit.seed,
        budget=fit.budget,
        memory=memory,
        workers=executor_for(selector.n_jobs, "threads" if quick else "processes"),
        tell=fit.watch.fold,
        nested=nested,
    )


def _record(
    fit: Fit,
    panel: Panel,
    found: Chosen,
    claim: record.NewRowsClaim | None,
    rows: int,
    notes: tuple[str, ...],
) -> record.Certificate:
    """Return the record of a choice."""
    data = fit.data
    objective = record.Panel(
        judges=panel.names,
        scoring=scorer_name(panel.scoring, panel.scorer),
        task=panel.task,
        classes=0 if panel.classes is None else len(panel.classes),
        grouped=data.groups is not None,
        weighted=data.weights is not None,
    )
    fit.budget.look()
    return record.Certificate(
        bestleaf=bestleaf.__version__,
        reason=found.reason,
        cost=record.Cost(seconds=fit.budget.seconds),
        features=found.path.chosen.features,
        new_rows=claim,
        path=found.path,
        data=fit.about(objective, rows),
        told=record.Told(repeat=fit.repeat, notes=(*fit.notes, *notes)),
    )
