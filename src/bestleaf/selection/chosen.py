"""Columns for new rows (``choose="new_data"``): test rows kept aside, the choice, the score; and their record."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from msgspec import structs

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
from bestleaf.selection.judges import Panel, finite
from bestleaf.selection.new_rows import Split, drawn, is_cut_short, matching_of, on_test_rows, rivals, rows_aside
from bestleaf.selection.space import Space

FEWEST_OF_A_CLASS = 5  # with fewer rows cross-validation says nothing


def chosen(fit: Fit) -> record.Certificate:
    """Choose columns for new rows; return the record."""
    data, selector = fit.data, fit.selector
    task = task_for(data.y, selector.estimator)
    check_targets(data, task)
    data, notes = kept_together(data), tuple[str, ...]()
    if data is not fit.data:
        many = len(data.y) - len(np.unique(data.metadata["groups"]))
        notes = (f"{many:,} rows are copies of other rows; equal rows were kept together, so there is no proof",)
        warn(notes[0])
    space, split = fit.space, _split(fit, data, task)
    kept = data if split is None else data.learned_from(split.kept).part(split.kept)
    panel = Panel.of(selector.estimator, selector.scoring, kept, fit.seed)
    if data is not fit.data and hasattr(selector.cv, "split"):  # folds of the user's own
        kept = kept._replace(metadata={name: kept.metadata[name] for name in fit.data.metadata})
    if (why := too_few(kept, task)) is None:
        found = _choose(fit, kept, space, panel, selector.cv, nested=split is None)
    else:
        found = _choose(fit, kept._replace(metadata={}), space, panel, [], nested=False)
        whole = found.size == len(space.everything)
        answer = "all columns" if whole else f"the first {found.size} columns that forward selection adds"
        notes = (
            *notes,
            f"{why}, too little to choose by cross-validation: the answer is {answer}",
        )
        warn(notes[-1])
    if why is None and not found.folds_planned:
        notes = (*notes, "no fold has two different targets on both sides, nothing to choose by: groups of one class?")
        warn(notes[-1])
    claim = _honest(found, space)
    if split is not None and fit.budget.spent() != "interrupted":
        sets = rivals(found.sizes, found.sets, found.curve, found.size)
        if fit.budget.spent() and "groups" not in data.metadata:  # as many test rows as take half a second
            few = max(50, 3 * 10**8 // (len(split.kept) * data.X.shape[1]))
            split = split._replace(aside=drawn(data.y, task, min(few, len(split.aside)), fit.seed).aside)
        sets = [found.units, *(one for one in sets if one != found.units)]
        matching = matching_of(fit.digest.result())
        claim = on_test_rows(
            data, split, space, panel, sets, selector.delta, matching=matching, seed=fit.seed, budget=fit.budget
        )
        if found.reason == "settled" and (claim.rows + claim.trained < len(data.y) or is_cut_short(claim, len(sets))):
            found = replace(found, reason="interrupted" if fit.budget.spent() == "interrupted" else "max_time")
    if claim is None and found.folds and not found.asked and found.reason == "settled":
        notes += ("no score on new rows is known: without two folds at a time, too little is left to choose by",)
    return _record(fit, space, panel, found, claim, len(kept.y), notes)


def check_targets(data: Data, task: str) -> None:
    """Refuse targets that are all alike, or that get no weight."""
    if len(np.unique(data.y)) < 2:
        kinds = "classes" if task == "classification" else "different values"
        raise ValueError(f"y must have at least two {kinds}, got only {shown(data.y[0])}")
    weights = data.metadata.get("sample_weight")
    if weights is not None and lightest_share(data.y, np.asarray(weights, float)) <= LIGHTEST:
        raise ValueError(f"sample_weight must give more than {LIGHTEST:g} of the weight to a second target")


def too_few(data: Data, task: str) -> str | None:
    """Return what a table has too little of for cross-validation, in words; None if it has enough."""
    rows, groups = len(data.y), data.metadata.get("groups")
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
    return rows_aside(data, 0 if of_all_rows else selector.holdout, task, fit.seed)


def _choose(fit: Fit, data: Data, space: Space, panel: Panel, folds: object, *, nested: bool) -> Chosen:
    """Return the choice; its orders and scores are remembered."""
    selector, memory = fit.selector, None
    if fit.memory is not None:
        names = ("estimator", "scoring", "encode")
        settings = [described(getattr(selector, name)) for name in names]
        of_rows = [array.tolist() for array in data.metadata.values()]
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


def _honest(found: Chosen, space: Space) -> record.NewRowsClaim | None:
    """Return the honest score. If the answer is all columns, it is theirs, too.

    Their own score in the folds is not: these folds preferred them to all smaller sets, so it is too high on average.
    """
    if found.nested is None or set(found.units) != set(space.everything):
        return found.nested
    return structs.replace(found.nested, all_columns=found.nested.score, difference_error=0.0)


def _record(
    fit: Fit,
    space: Space,
    panel: Panel,
    found: Chosen,
    claim: record.NewRowsClaim | None,
    rows: int,
    notes: tuple[str, ...],
) -> record.Certificate:
    """Return the record of a choice."""
    names, data = [str(name) for name in fit.data.names], fit.data
    units = fit.units

    def named(some: tuple[int, ...]) -> tuple[str, ...]:
        return tuple(names[feature] for feature in sorted(feature for unit in some for feature in units[unit]))

    votes = np.minimum(found.chosen_in_folds, 1.0).tolist()  # sums of shares are rounded
    share = {names[feature]: votes[unit] for unit, some in enumerate(units) for feature in some}
    path = record.Path(
        rows=tuple(_row(found, place, named(some)) for place, some in enumerate(found.sets)),
        size=found.size,
        order=found.method.replace(" ", "_"),
        judges=found.judges if found.folds else (),
        folds=found.folds,
        folds_planned=found.folds_planned,
        tolerance=float(found.tolerance),
        asked=found.asked,
        chosen_in_folds={name: one for name, one in share.items() if one > 0},
        seed=fit.seed,
    )
    objective = record.Panel(
        judges=panel.names,
        scoring=scorer_name(panel.scoring, panel.scorer),
        task=panel.task,
        classes=0 if panel.classes is None else len(panel.classes),
        grouped="groups" in data.metadata,
        weighted="sample_weight" in data.metadata,
    )
    fit.budget.look()
    return record.Certificate(
        bestleaf=bestleaf.__version__,
        reason=found.reason,
        cost=record.Cost(seconds=fit.budget.seconds),
        features=named(found.units),
        new_rows=claim,
        path=path,
        data=fit.about(objective, rows),
        told=record.Told(repeat=fit.repeat, notes=(*fit.notes, *notes)),
    )


def _row(found: Chosen, place: int, features: tuple[str, ...]) -> record.PathRow:
    """Return one row of the path; what is not known is None."""
    curve, scores = (
        np.asarray(one, float).reshape(-1, len(found.sets))[:, place] for one in (found.curve, found.score)
    )
    known = found.folds > 0 and np.isfinite(curve).all()
    return record.PathRow(
        size=found.sizes[place],
        features=features,
        difference=float(curve.mean()) if known else None,
        judges=tuple(curve.tolist()) if known else (),
        score=finite(scores.mean()) if known else None,
        standard_error=finite(np.asarray(found.error, float).reshape(-1)[place]) if known else None,
    )
