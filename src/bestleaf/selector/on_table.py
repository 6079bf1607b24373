"""Feature selection on a table as a user has it: by the names of its columns, from file to files."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Any

import pandas as pd

import bestleaf
from bestleaf.certificate.claims import counted, objective_in_words
from bestleaf.checks import did_you_mean, shown
from bestleaf.datasets.tables import Table
from bestleaf.selector.estimator import BestLeafSelector, seed_of
from bestleaf.selector.honest import rows_searched

NEIGHBOURS = 5  # that vote, unless told otherwise


@dataclass(frozen=True)
class TableSelection:
    """What was selected of a table.

    Attributes
    ----------
    table : Table
        The table.
    selector : BestLeafSelector
        Fitted.
    features : list of str
        Columns of the file that were selected, in its order.
    """

    table: Table
    selector: BestLeafSelector
    features: list[str]

    @property
    def reason(self) -> str:
        """Why the search ended; ``"identified"`` also when a budget ended it after the answer was known."""
        found, selector = self.selector.certificate_, self.selector
        again = getattr(selector, "repeats_reason_", "identified")
        if again != "identified":
            return str(again)
        return "identified" if found.settled else found.reason

    def result(self) -> dict[str, Any]:
        """Return the result in plain numbers and words, for JSON."""
        found, selector = self.selector.certificate_, self.selector
        result = {
            "features": self.features,
            "score": selector.score_,
            "objective": objective_in_words(found.content["data"]),
            "samples": found.samples,
            "exact_evaluations": found.exact_evaluations,
            "reason": found.reason,
            "settled": found.settled,
            "epsilon": found.epsilon,
            "delta": found.delta,
            "gap": found.gap,
            "seed": found.seed,
            "seconds": found.elapsed,
            "claims": list(found.claims),
            "not_claimed": list(found.not_claimed),
            "notes": list(self.table.notes),
            "version": bestleaf.__version__,
        }
        if hasattr(selector, "holdout_score_"):
            result["holdout_score"] = selector.holdout_score_
        if hasattr(selector, "selection_frequency_"):
            frequency = dict(zip(self.table.X.columns, selector.selection_frequency_, strict=True))
            result["selection_frequency"] = {
                name: float(max(frequency[column] for column in columns)) for name, columns in self.table.groups.items()
            }
        return result

    def to_json(self) -> str:
        """Return the result as text."""
        return json.dumps(self.result(), indent=1, allow_nan=False) + "\n"

    def reduced(self) -> pd.DataFrame:
        """Return the rows as they were read with the selected columns and the target."""
        return self.table.original[[*self.features, self.table.target]]


def select_from_table(
    table: Table,
    *,
    forced: list[str] | None = None,
    forbidden: list[str] | None = None,
    groups: dict[str, list[str]] | None = None,
    ready: Callable[[Table], object] | None = None,
    **keywords: Any,
) -> TableSelection:
    """Select columns of a table; columns are meant by their names in the file.

    With `holdout` gaps are filled again, by the rows that the search sees only.

    Parameters
    ----------
    table : Table
        As `bestleaf.datasets.prepared` makes it.
    forced, forbidden : list of str, default=None
        Columns that every subset has, and that none has.
    groups : dict of lists of str, default=None
        Columns that enter together, by the name of the group; the others enter one by one.
    ready : callable, default=None
        Called with the table as the search sees it, before the search.
    **keywords
        Further keywords of `BestLeafSelector`.
    """
    for argument, names in (("forced", forced or []), ("forbidden", forbidden or [])):
        check_columns(argument, names, table)
    units = units_of(table, groups or {})
    _check_choice(forced or [], forbidden or [], units, table, keywords.get("max_features"))
    if keywords.get("estimator") is None:
        check_rows(len(table.X), keywords.get("holdout"), keywords.get("n_neighbors", NEIGHBOURS))
    settings = {**keywords, "forced": _expanded(forced, table), "forbidden": _expanded(forbidden, table)}
    if any(len(columns) > 1 for columns in units):
        settings["feature_groups"] = units
    selector = BestLeafSelector(**settings)
    table = _filled_for_search(table, selector)
    if ready is not None:
        ready(table)
    selector.fit(table.X, table.y)
    chosen = set(selector.subset_)
    features = [name for name, columns in table.groups.items() if chosen.intersection(columns)]
    return TableSelection(table, selector, features)


def _filled_for_search(table: Table, selector: BestLeafSelector) -> Table:
    """Return the table with its gaps filled by the rows that the search will see.

    Whoever fills a gap with the median of all rows has looked at those that are kept from the search.
    """
    if selector.holdout is None or table.impute is None:
        return table
    if not isinstance(selector.holdout, float):
        raise ValueError(f"holdout must be a share where gaps were filled, got {shown(selector.holdout)}")
    selector.set_params(random_state=seed_of(selector))  # the same rows in `fit`
    return table.filled_from(rows_searched(selector, table.X, table.y.to_numpy()))


def _check_choice(
    forced: list[str], forbidden: list[str], units: list[list[str]], table: Table, most: int | None
) -> None:
    """Refuse columns that must and must not be there, nothing to choose from, and fewer columns than must be there."""
    unit_of = {column: number for number, unit in enumerate(units) for column in unit}
    wanted = {unit_of[table.groups[name][0]]: name for name in forced}
    unwanted = {unit_of[table.groups[name][0]]: name for name in forbidden}
    for unit in sorted(wanted.keys() & unwanted.keys()):
        one, other = wanted[unit], unwanted[unit]
        got = shown(one) if one == other else f"{shown(one)} and {shown(other)}, which are of one group,"
        raise ValueError(f"forced and forbidden must not name the same column, got {got} for both")
    if len(unwanted) == len(units):
        raise ValueError(f"forbidden must leave a column to choose, got all {len(units)}")
    if most is not None and most < len(wanted):
        raise ValueError(f"max_features must be at least {len(wanted)}, as many as forced names, got {most}")


def check_rows(rows: int, holdout: Any, neighbours: int) -> None:
    """Refuse a table with too few rows for the votes of nearest neighbours, beside a share that is kept aside."""
    kept = rows - ceil(rows * holdout) if isinstance(holdout, float) else rows
    if kept <= neighbours:
        aside = f" beside the {counted(rows - kept, 'row')} that holdout keeps" if kept < rows else ""
        votes = f"for the votes of {neighbours} nearest neighbours"
        raise ValueError(f"the table must have at least {neighbours + 1} rows {votes}{aside}, got {kept}")


def check_columns(argument: str, names: list[Any], table: Table) -> None:
    """Refuse names that are no columns of the table."""
    for name in names:
        if not isinstance(name, str) or name not in table.groups:
            rule = "must name a column of the table other than the target"
            raise ValueError(f"{argument} {rule}, got {shown(name)}{did_you_mean(name, table.groups)}")


def _expanded(names: list[str] | None, table: Table) -> list[str]:
    return [column for name in names or [] for column in table.groups[name]]


def units_of(table: Table, groups: dict[str, Any]) -> list[list[str]]:
    """Return the columns of numbers that enter together: a user's groups, then single columns of the file."""
    owner: dict[str, str] = {}
    for group, names in groups.items():
        if not (isinstance(names, list) and names):
            raise ValueError(f"groups must list columns for every group, got {shown(names)} for {shown(group)}")
        check_columns("groups", names, table)
        if len(set(names)) < len(names):
            raise ValueError(f"groups must name a column once, got {shown(names)} for {shown(group)}")
        for name in names:
            if owner.setdefault(name, group) != group:
                raise ValueError(
                    f"groups must not overlap, got {shown(name)} in {shown(owner[name])} and {shown(group)}"
                )
    units = [[column for name in names for column in table.groups[name]] for names in groups.values()]
    return units + [columns for name, columns in table.groups.items() if name not in owner]
