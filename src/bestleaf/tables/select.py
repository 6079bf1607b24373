"""Feature selection on a table, with columns given by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from msgspec.structs import replace
from sklearn.base import BaseEstimator, is_regressor
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold

from bestleaf.checks import listed, shown
from bestleaf.columns.check import columns_named
from bestleaf.features.data import task_of
from bestleaf.features.rows import column_checksums
from bestleaf.proof import record
from bestleaf.selection.data import votes_of
from bestleaf.selection.selector import BestLeafSelector, with_record
from bestleaf.tables.load import RowData, Table
from bestleaf.tables.models import named_estimator
from bestleaf.tables.peers import Setting


@dataclass(frozen=True)
class TableSelection:
    """What was selected from a table."""

    table: Table  # as it was searched
    selector: BestLeafSelector  # fitted
    features: list[str]  # columns of the file that were selected, in the order of the file

    @property
    def certificate(self) -> record.Certificate:
        """The record of the selection."""
        return self.selector.certificate_

    def reduced(self, *, safe: bool = False) -> pd.DataFrame:
        """Return the table as it was read, with only the selected columns and the target.

        `safe` puts a ' before texts that a spreadsheet would run as a formula.
        """
        found = self.table.original[[*self.features, self.table.target]]
        return found.map(_no_formula).rename(columns=_no_formula) if safe else found


def _no_formula(cell: object) -> object:
    """Return a cell; a text that a spreadsheet would run has a ' before it."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell


def select_from_table(
    table: Table,
    *,
    estimator: Any = None,
    task: str = "auto",
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    feature_groups: dict[str, list[str]] | None = None,
    repeat: str | None = None,
    **keywords: Any,
) -> TableSelection:
    """Select columns of a table; all columns are given by their names in the file.

    Parameters
    ----------
    table : Table
        As `bestleaf.tables.load_table` makes it.
    estimator : estimator, str or list of estimators, default=None
        As in `BestLeafSelector`. A name stands for an estimator with settings that suit most tables: "neighbours",
        "linear", "logistic", "ridge", "svm", "forest", "boosting", or "lightgbm", "xgboost" and "catboost" where these
        are installed.
    task : {"auto", "classification", "regression"}, default="auto"
        What is predicted; it matters for an estimator that is given by its name or not at all.
    include, exclude : list of str, default=()
        Columns that every set has, and columns that no set has.
    feature_groups : dict of lists of str, default=None
        Columns that enter together, by the name of their group; the others enter one by one.
    repeat : str, default=None
        The command that repeats the selection, for the page; None for the call in Python.
    **keywords
        Further keywords of `BestLeafSelector`, such as `holdout`, `parsimony` and `n_features_to_select`.
    """
    metadata, by_name = table.metadata, estimator if isinstance(estimator, str) else None
    if both := sorted(set(include).intersection(exclude)):
        raise ValueError(f"include and exclude must not name the same column, got {listed(both)} for both")
    selector = BestLeafSelector(
        model_of(estimator, table.y, task),
        encode=table.encode,
        include=columns_named("include", include, table.groups),
        exclude=columns_named("exclude", [name for name in exclude if name not in table.left_out], table.groups),
        feature_groups=_units(feature_groups or {}, table),
        **keywords,
    )
    if selector.choose == "training" and votes_of(selector.estimator) is None:
        selector.set_params(cv=folds_for(selector.estimator, selector.cv, metadata))
    selector.fit(table.features, table.y, **metadata)
    found = selector.certificate_
    told = replace(found.told or record.Told(), notes=table.notes)
    made = {"estimator": by_name, **{name: keywords.get(name) for name in ("holdout", "scoring", "cv")}}
    told = replace(told, repeat=repeat or f"{told.repeat}  # {_of_the_table(table)}")
    selector = with_record(selector, replace(found, told=told, table=_how_made(table, task, estimator, made)))
    return TableSelection(table, selector, selector.subset_.tolist())


def _of_the_table(table: Table) -> str:
    """Return in words what X and y are."""
    made = table.made
    others = () if made is None else (*made.dropped, *(one for one in (made.groups, made.weights) if one is not None))
    gone = dict.fromkeys([table.target, *table.left_out, *others])
    return f"X is the table without {listed(gone)}; y is {shown(table.target)}"


def model_of(estimator: Any, y: pd.Series, task: str) -> Any:
    """Return the estimator of a name, or the one given; None, the panel, if the targets say the task themselves."""
    looks = task_of(y.to_numpy(), "auto")
    task = looks if task == "auto" else task
    if isinstance(estimator, str):
        return named_estimator(estimator, task)
    if estimator is not None or task == looks:
        return estimator
    return [Setting(task).model, *(named_estimator(name, task) for name in ("ridge", "forest"))]


def folds_for(estimator: BaseEstimator, cv: Any, metadata: RowData) -> Any:
    """Return the folds of cross-validation: by groups, if rows have groups and only a number of folds is given."""
    if "groups" not in metadata or not isinstance(cv, int | None):
        return cv
    kind = GroupKFold if is_regressor(estimator) else StratifiedGroupKFold
    return kind(cv or 5)


def _how_made(table: Table, task: str, estimator: Any, made: dict[str, Any]) -> record.Table | None:
    """Return how the table was made, so that `verify_table` can make it again from the file; None if it cannot.

    How columns became numbers is written by the selector.
    """
    plain = all(value is None or isinstance(value, str | int | float) for value in made.values())
    if table.made is None or not plain or not isinstance(estimator, str | None):
        return None  # an estimator, scorer or splitter of Python cannot be made again
    columns = None if table.encode is None else table.encoder.columns_
    checksums = tuple(column_checksums(table.X, table.y, columns))
    left = tuple(table.left_out)
    return replace(
        table.made, task=task, left_out=left, checksums=checksums, **{**made, "holdout": made["holdout"] or None}
    )


def _units(groups: Mapping[str, Any], table: Table) -> dict[str, list[str]] | None:
    """Return the columns that enter together, by group; None without groups."""
    for group, names in groups.items():
        if not (isinstance(names, list) and names):
            raise ValueError(f"feature_groups must list columns for every group, got {shown(names)} for {shown(group)}")
    return {group: columns_named("feature_groups", names, table.groups) for group, names in groups.items()} or None
