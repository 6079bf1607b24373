"""Feature selection on a table, with columns given by name."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
import pandas as pd
from sklearn import ensemble, svm
from sklearn.base import BaseEstimator, is_regressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bestleaf
from bestleaf.certificate.claims import counted
from bestleaf.certificate.record import objective_in_words
from bestleaf.certificate.same_data import column_checksums
from bestleaf.certificate.schema import Content
from bestleaf.checks import did_you_mean, listed, one_of, shown
from bestleaf.encoding import takes_missing
from bestleaf.encoding.transformer import KEEP
from bestleaf.features.data import task_of
from bestleaf.features.estimator import DEFAULT_FOLDS
from bestleaf.features.neighbours import NeighbourVotes
from bestleaf.new_data import split_of
from bestleaf.selection.data import votes_of
from bestleaf.selection.selector import BestLeafSelector, seed_of
from bestleaf.selection.validation import Validation, validate
from bestleaf.tables.load import RowData, Table

NAMED = ("neighbours", "linear", "boosting", "forest", "svm")  # estimators that can be given by name


@dataclass(frozen=True)
class TableSelection:
    """What was selected from a table.

    Attributes
    ----------
    table : Table
        The table as it was searched.
    selector : BestLeafSelector
        The fitted selector.
    features : list of str
        Columns of the file that were selected, in the order of the file.
    validation : Validation or None
        The score on held-out rows, if asked for.
    """

    table: Table
    selector: BestLeafSelector
    features: list[str]
    validation: Validation | None = None

    @property
    def reason(self) -> str:
        """Why the search ended; ``"settled"`` also if a budget ended it when the answer was already known."""
        if self.validation is not None and self.validation.reason != "settled":
            return self.validation.reason
        found = self.selector.certificate_
        return "settled" if found.settled else str(found.reason)

    @property
    def left_out(self) -> list[str]:
        """Columns of the file that were not searched: identifiers and the like, and what cannot become numbers."""
        return [*self.table.left_out, *self.table.encoder.left_out_]

    def result(self) -> dict[str, object]:
        """Return the result in plain numbers and words."""
        found = self.selector.certificate_
        result = {
            "features": self.features,
            "score": self.selector.score_,
            "objective": objective_in_words(found.content["data"]),
            "samples": found.samples,
            "exact_evaluations": found.exact_evaluations,
            "reason": found.reason,
            "settled": found.settled,
            "epsilon": found.epsilon,
            "delta": found.delta,
            "gap": found.gap,
            "known_gap": found.known_gap,
            "looked_at": found.looked_at,
            "seed": found.seed,
            "seconds": found.seconds,
            "claims": list(found.claims),
            "not_claimed": list(found.not_claimed),
            "notes": list(self.table.notes),
            "left_out": self.left_out,
            "version": bestleaf.__version__,
        }
        result["all_features"] = found.all_features
        if found.path is not None:
            result |= {"path": found.path, "optimism": found.optimism, "new_data": found.new_data_in_words()}
        if "unseen" in found.content and self.validation is not None:
            result["holdout_score"] = self.validation.score
        return result

    def to_json(self) -> str:
        """Return the result as JSON."""
        return json.dumps(self.result(), indent=1, allow_nan=False) + "\n"

    def reduced(self) -> pd.DataFrame:
        """Return the table as it was read, with only the selected columns and the target."""
        return self.table.original[[*self.features, self.table.target]]


def select_from_table(
    table: Table,
    *,
    estimator: Any = None,
    task: str = "auto",
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    feature_groups: dict[str, list[str]] | None = None,
    holdout: float | None = None,
    ready: Callable[[Table], object] | None = None,
    repeat: str | None = None,
    **keywords: Any,
) -> TableSelection:
    """Select columns of a table; all columns are given by their names in the file.

    Missing values are filled, and levels known, from the rows that are searched, not from held-out rows.

    Parameters
    ----------
    table : Table
        As `bestleaf.tables.load_table` makes it, or `bestleaf.tables.prepared`. With groups of rows, folds for an
        estimator that are given by their number are folds by groups.
    estimator : estimator or {"neighbours", "linear", "boosting", "forest", "svm"}, default=None
        As in `BestLeafSelector`; a name stands for an estimator with settings that suit most tables.
    task : {"auto", "classification", "regression"}, default="auto"
        What an estimator that is given by its name predicts; "neighbours" and None are such names, too.
    include, exclude : list of str, default=()
        Columns that every subset has, and columns that no subset has.
    feature_groups : dict of lists of str, default=None
        Columns that enter together, by the name of their group; the others enter one by one.
    holdout : float, default=None
        As in `bestleaf.validate`.
    ready : callable, default=None
        Called before the search, with the table as it will be searched.
    repeat : str, default=None
        The command that repeats the selection, for the page; None for the call in Python.
    **keywords
        Further keywords of `BestLeafSelector`.
    """
    metadata, by_name = table.metadata, estimator if isinstance(estimator, str) else None
    if estimator is None or isinstance(estimator, str):
        known = named_estimator(estimator or NAMED[0], task_of(table.y.to_numpy(), task))
        estimator = NeighbourVotes(task=task) if known is None else known
    selector = BestLeafSelector(
        estimator,
        encode=table.encode,
        include=_columns_of("include", include, table),
        exclude=_columns_of("exclude", [name for name in exclude if name not in table.left_out], table),
        feature_groups=_units(feature_groups or {}, table),
        **keywords,
    )
    if both := sorted(set(include).intersection(exclude)):
        raise ValueError(f"include and exclude must not name the same column, got {listed(both)} for both")
    if votes := votes_of(selector.estimator):
        check_rows(len(table.X), holdout, votes.n_neighbors)
    else:
        selector.set_params(cv=folds_for(selector.estimator, selector.cv, metadata))
    if isinstance(holdout, float) and table.encode is not None:
        table = _filled_for_search(table, selector, holdout)
    if ready is not None:
        ready(table)
    judged = None
    if holdout is None:
        selector.fit(table.features, table.y, **metadata)
    else:
        judged = validate(selector, table.features, table.y, holdout=holdout, **metadata)
        selector = judged.selector
    selector.certificate_.add_to_report(repeat=repeat, notes=table.notes)
    made = {"holdout": holdout, "estimator": by_name, "scoring": keywords.get("scoring"), "cv": keywords.get("cv")}
    _keep_how_made(selector, table, slice(None) if judged is None else judged.rows, made)
    return TableSelection(table, selector, selector.subset_.tolist(), judged)


def folds_for(estimator: BaseEstimator, cv: Any, metadata: RowData) -> Any:
    """Return the folds of cross-validation: by groups, if rows have groups and only a number of folds is given."""
    if "groups" not in metadata or not isinstance(cv, int | None):
        return cv
    kind = GroupKFold if is_regressor(estimator) else StratifiedGroupKFold
    return kind(cv or DEFAULT_FOLDS)


def _keep_how_made(selector: BestLeafSelector, table: Table, rows: np.ndarray | slice, made: Content) -> None:
    """Write into the certificate how the table was made, so that `verify_table` can make it again from the file.

    How columns became numbers is written by the selector.
    """
    by_name = all(value is None or isinstance(value, str | int | float) for value in made.values())
    if table.made is None or not by_name:
        return  # an estimator, scorer or splitter of Python cannot be made again
    columns = None if table.encode is None else table.encoder.columns_
    checksums = column_checksums(table.X.iloc[rows], table.y.iloc[rows], columns)
    made = {**table.made, **made, "left_out": table.left_out, "checksums": checksums}
    selector.certificate_.content["table"] = made


def named_estimator(name: str, task: str) -> BaseEstimator | None:
    """Return the estimator of a name; None for "neighbours", the votes of nearest neighbours."""
    one_of("estimator", name, NAMED)
    classes = task == "classification"
    if name == "linear":
        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000) if classes else Ridge())
    if name == "svm":
        return make_pipeline(StandardScaler(), svm.SVC() if classes else svm.SVR())
    if name == "forest":
        return ensemble.RandomForestClassifier(50) if classes else ensemble.RandomForestRegressor(50)
    if name == "boosting":
        boosting = ensemble.HistGradientBoostingClassifier if classes else ensemble.HistGradientBoostingRegressor
        return boosting(max_iter=50)
    return None


def default_impute(estimator: str) -> str | None:
    """Return what becomes of missing values unless the user says so: kept for an estimator that takes them."""
    return KEEP if takes_missing(named_estimator(estimator, "classification")) else None


def _filled_for_search(table: Table, selector: BestLeafSelector, holdout: float) -> Table:
    """Return the table as the rows that will be searched make it: what was filled is told before the search."""
    seed, y, groups = seed_of(selector), table.y.to_numpy(), table.metadata.get("groups")
    selector.set_params(random_state=seed)  # so that the same rows are held out again
    return table.filled_from(split_of(holdout, table.X, y, selector.estimator, seed, groups).kept)


def check_rows(rows: int, holdout: object, neighbours: int) -> None:
    """Refuse a table in which too few rows are left to search for the votes of nearest neighbours."""
    kept = rows - ceil(rows * holdout) if isinstance(holdout, float) else rows
    if kept <= neighbours:
        aside = f" beside the {counted(rows - kept, 'row')} that holdout keeps" if kept < rows else ""
        votes = f"for the votes of {neighbours} nearest neighbours"
        raise ValueError(f"the table must have at least {neighbours + 1} rows {votes}{aside}, got {kept}")


def _columns_of(argument: str, names: Sequence[object], table: Table) -> list[str]:
    """Return names of columns of the file; refuse names that are no columns, and numbers."""
    for name in names:
        if not isinstance(name, str) or name not in table.groups:
            rule = "must name a column of the table other than the target"
            raise ValueError(f"{argument} {rule}, got {shown(name)}{did_you_mean(name, table.groups)}")
    return [str(name) for name in names]


def _units(groups: Mapping[str, object], table: Table) -> dict[str, list[str]] | None:
    """Return the columns that enter together, by group, and the others one by one; None if all enter alone."""
    units: dict[str, list[str]] = {}
    grouped: set[str] = set()
    for group, names in groups.items():
        if not (isinstance(names, list) and names):
            raise ValueError(f"feature_groups must list columns for every group, got {shown(names)} for {shown(group)}")
        units[group] = _columns_of("feature_groups", names, table)
        grouped.update(names)
    for name in table.groups:
        if name not in grouped:
            units[f"column {name}" if name in groups else name] = [name]
    return units if any(len(columns) > 1 for columns in units.values()) else None
