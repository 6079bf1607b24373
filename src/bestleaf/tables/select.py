"""Feature selection on a table, with columns given by name."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import pandas as pd
from sklearn import ensemble, svm
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bestleaf
from bestleaf.certificate.claims import counted
from bestleaf.certificate.record import objective_in_words
from bestleaf.checks import did_you_mean, listed, shown
from bestleaf.data_checks import votes_of
from bestleaf.features.data import task_of
from bestleaf.new_data import splits_of
from bestleaf.rivals.fuse_selector import selector_from
from bestleaf.selector import BestLeafSelector, seed_of
from bestleaf.tables.encode import Table
from bestleaf.validation import Validation, validate


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
        Scores on held-out rows and selection frequencies, if asked for.
    """

    table: Table
    selector: BestLeafSelector
    features: list[str]
    validation: Validation | None = None

    @property
    def reason(self) -> str:
        """Why the search ended; ``"identified"`` also if a budget ended it when the answer was already known."""
        if self.validation is not None and self.validation.reason != "identified":
            return self.validation.reason
        found = self.selector.certificate_
        return "identified" if found.settled else str(found.reason)

    @property
    def selection_frequency(self) -> dict[str, float] | None:
        """Fraction of the searches that selected each column of the file; None without repeats."""
        if self.validation is None or self.validation.selection_frequency is None:
            return None
        often = dict(zip(self.table.X.columns, self.validation.selection_frequency, strict=True))
        return {name: float(max(often[one] for one in columns)) for name, columns in self.table.groups.items()}

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
            "seed": found.seed,
            "seconds": found.seconds,
            "claims": list(found.claims),
            "not_claimed": list(found.not_claimed),
            "notes": list(self.table.notes),
            "version": bestleaf.__version__,
        }
        if found.path is not None:
            result |= {"path": found.path, "optimism": found.optimism, "new_data": found.new_data_in_words()}
        if self.validation is not None and len(self.validation.scores):
            result["holdout_score"] = self.validation.mean
        if self.selection_frequency is not None:
            result["selection_frequency"] = self.selection_frequency
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
    forced: list[str] | None = None,
    forbidden: list[str] | None = None,
    feature_groups: dict[str, list[str]] | None = None,
    algorithm: str = "bli",
    holdout: Any = None,
    n_repeats: int | None = None,
    resample: str | None = None,
    ready: Callable[[Table], object] | None = None,
    **keywords: Any,
) -> TableSelection:
    """Select columns of a table; all columns are given by their names in the file.

    With `holdout`, missing values are filled from the rows that are searched, not from held-out rows.

    Parameters
    ----------
    table : Table
        As `bestleaf.tables.prepared` makes it.
    estimator : estimator or {"neighbours", "linear", "boosting", "forest", "svm"}, default=None
        As in `BestLeafSelector`; a name stands for an estimator with settings that suit most tables.
    forced, forbidden : list of str, default=None
        Columns that every subset has, and columns that no subset has.
    feature_groups : dict of lists of str, default=None
        Columns that enter together, by the name of their group; the others enter one by one.
    algorithm : {"bli", "fuse", "fuse-ucd", "alphafuse"}, default="bli"
        Best leaf identification, or a variant of `FuseSelector`.
    holdout, n_repeats, resample
        As in `bestleaf.validate`.
    ready : callable, default=None
        Called before the search, with the table as it will be searched.
    **keywords
        Further keywords of `BestLeafSelector` (or `FuseSelector`), `NeighbourVotes` and `SearchOptions`.
    """
    forced, forbidden = forced or [], forbidden or []
    if isinstance(estimator, str):
        estimator = named_estimator(estimator, task_of(table.y.to_numpy(), keywords.get("task", "auto")))
    selector = selector_from(
        algorithm,
        estimator=estimator,
        forced=_columns("forced", forced, table),
        forbidden=_columns("forbidden", forbidden, table),
        feature_groups=_units(feature_groups or {}, table),
        **keywords,
    )
    if both := sorted(set(forced).intersection(forbidden)):
        raise ValueError(f"forced and forbidden must not name the same column, got {listed(both)} for both")
    if votes := votes_of(selector.estimator):
        check_rows(len(table.X), holdout, votes.n_neighbors)
    if holdout is not None and table.impute is not None:
        table = _filled_for_search(table, selector, holdout)
    if ready is not None:
        ready(table)
    judged = None
    if holdout is None and resample is None and n_repeats in (None, 1):
        selector.fit(table.X, table.y)
    else:
        judged = validate(selector, table.X, table.y, holdout=holdout, n_repeats=n_repeats, resample=resample)
        selector = judged.selector
    chosen = set(selector.subset_)
    features = [name for name, columns in table.groups.items() if chosen.intersection(columns)]
    return TableSelection(table, selector, features, judged)


def named_estimator(name: str, task: str) -> BaseEstimator | None:
    """Return the estimator of a name; None for "neighbours", the votes of nearest neighbours."""
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


def _filled_for_search(table: Table, selector: BestLeafSelector, holdout: object) -> Table:
    """Return the table with missing values filled from the rows that will be searched.

    A median of all rows would tell the search something about the held-out rows.
    """
    if not isinstance(holdout, float):
        raise ValueError(f"holdout must be a fraction where missing values were filled, got {shown(holdout)}")
    seed, y = seed_of(selector), table.y.to_numpy()
    selector.set_params(random_state=seed)  # so that the same rows are held out again
    return table.filled_from(splits_of(holdout, table.X, y, selector.estimator, seed)[0].kept)


def check_rows(rows: int, holdout: object, neighbours: int) -> None:
    """Refuse a table in which too few rows are left to search for the votes of nearest neighbours."""
    kept = rows - ceil(rows * holdout) if isinstance(holdout, float) else rows
    if kept <= neighbours:
        aside = f" beside the {counted(rows - kept, 'row')} that holdout keeps" if kept < rows else ""
        votes = f"for the votes of {neighbours} nearest neighbours"
        raise ValueError(f"the table must have at least {neighbours + 1} rows {votes}{aside}, got {kept}")


def _columns(argument: str, names: Sequence[object], table: Table) -> list[str]:
    """Return the columns of `X` that columns of the file became; refuse names that are no columns."""
    for name in names:
        if not isinstance(name, str) or name not in table.groups:
            rule = "must name a column of the table other than the target"
            raise ValueError(f"{argument} {rule}, got {shown(name)}{did_you_mean(name, table.groups)}")
    return [column for name in names for column in table.groups[str(name)]]


def _units(groups: Mapping[str, object], table: Table) -> dict[str, list[str]] | None:
    """Return the columns of `X` that enter together, by group or column of the file; None if all enter alone."""
    units: dict[str, list[str]] = {}
    grouped: set[str] = set()
    for group, names in groups.items():
        if not (isinstance(names, list) and names):
            raise ValueError(f"feature_groups must list columns for every group, got {shown(names)} for {shown(group)}")
        units[group] = _columns("feature_groups", names, table)
        grouped.update(names)
    for name, columns in table.groups.items():
        if name not in grouped:
            units[f"column {name}" if name in groups else name] = columns
    return units if any(len(columns) > 1 for columns in units.values()) else None
