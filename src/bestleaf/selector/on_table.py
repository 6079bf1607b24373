"""Feature selection on a table as a user has it: by the names of its columns, from file to files."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from math import ceil
from typing import Any

import pandas as pd

import bestleaf
from bestleaf.certificate.claims import counted, objective_in_words
from bestleaf.checks import did_you_mean
from bestleaf.datasets.tables import Table
from bestleaf.selector.estimator import BestLeafSelector

NEIGHBOURS = 5  # that vote, unless told otherwise
OPTIONS = {  # of the command line, by parameter of the selector
    "max_features": "--max-features",
    "max_samples": "--max-samples",
    "max_time": "--max-time",
    "forced": "--force",
    "forbidden": "--forbid",
    "feature_groups": "--groups",
    "guarantee": "--guarantee",
    "holdout": "--holdout",
    "scoring": "--scoring",
    "cv": "--cv",
    "score_range": "--score-range",
    "terminal": "--terminal",
    "max_memory": "--max-memory",
    "X": "the table",
}


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
        if getattr(selector, "n_repeats_", selector.n_repeats) < selector.n_repeats:
            return "interrupted"
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
    **keywords: Any,
) -> TableSelection:
    """Select columns of a table; columns are meant by their names in the file.

    Parameters
    ----------
    table : Table
        As `bestleaf.datasets.prepared` makes it.
    forced, forbidden : list of str, default=None
        Columns that every subset has, and that none has.
    groups : dict of lists of str, default=None
        Columns that enter together, by the name of the group; the others enter one by one.
    **keywords
        Further keywords of `BestLeafSelector`.
    """
    for argument, names in (("--force", forced or []), ("--forbid", forbidden or [])):
        check_columns(argument, names, table)
    units = units_of(table, groups or {})
    _check_choice(forced or [], forbidden or [], units, table, keywords.get("max_features"))
    if keywords.get("estimator") is None:
        check_rows(len(table.X), keywords.get("holdout"), keywords.get("n_neighbors", NEIGHBOURS))
    settings = {**keywords, "forced": _expanded(forced, table), "forbidden": _expanded(forbidden, table)}
    if any(len(columns) > 1 for columns in units):
        settings["feature_groups"] = units
    selector = BestLeafSelector(**settings)
    try:
        selector.fit(table.X, table.y)
    except ValueError as error:
        raise ValueError(in_option_words(str(error))) from None
    chosen = set(selector.subset_)
    features = [name for name, columns in table.groups.items() if chosen.intersection(columns)]
    return TableSelection(table, selector, features)


def in_option_words(sentence: str) -> str:
    """Return a sentence about parameters of the selector with the options of the command line in their place."""
    sentence = sentence.replace("score_range=(lowest, highest)", "--score-range LOW HIGH")
    return re.sub(rf"(?<![\w'\-])({'|'.join(OPTIONS)})(?![\w'])", lambda found: OPTIONS[found[1]], sentence)


def _check_choice(
    forced: list[str], forbidden: list[str], units: list[list[str]], table: Table, most: int | None
) -> None:
    """Refuse columns that must and must not be there, nothing to choose from, and fewer columns than must be there."""
    unit_of = {column: number for number, unit in enumerate(units) for column in unit}
    wanted = {unit_of[table.groups[name][0]]: name for name in forced}
    unwanted = {unit_of[table.groups[name][0]]: name for name in forbidden}
    for unit in sorted(wanted.keys() & unwanted.keys()):
        one, other = wanted[unit], unwanted[unit]
        got = repr(one) if one == other else f"{one!r} and {other!r}, which are of one group,"
        raise ValueError(f"--force and --forbid must not name the same column, got {got} for both")
    if len(unwanted) == len(units):
        raise ValueError(f"--forbid must leave a column to choose, got all {len(units)}")
    if most is not None and most < len(wanted):
        raise ValueError(f"--max-features must be at least {len(wanted)}, as many as --force names, got {most}")


def check_rows(rows: int, holdout: float | None, neighbours: int) -> None:
    """Refuse a table with too few rows for the votes of nearest neighbours."""
    kept = rows if holdout is None else rows - ceil(rows * holdout)
    if kept <= neighbours:
        aside = f" beside the {counted(rows - kept, 'row')} that --holdout keeps" if kept < rows else ""
        votes = f"for the votes of {neighbours} nearest neighbours"
        raise ValueError(f"the table must have at least {neighbours + 1} rows {votes}{aside}, got {kept}")


def check_columns(argument: str, names: list[Any], table: Table) -> None:
    """Refuse names that are no columns of the table."""
    for name in names:
        if not isinstance(name, str) or name not in table.groups:
            rule = "must name a column of the table other than the target"
            raise ValueError(f"{argument} {rule}, got {name!r}{did_you_mean(name, table.groups)}")


def _expanded(names: list[str] | None, table: Table) -> list[str]:
    return [column for name in names or [] for column in table.groups[name]]


def units_of(table: Table, groups: dict[str, Any]) -> list[list[str]]:
    """Return the columns of numbers that enter together: a user's groups, then single columns of the file."""
    owner: dict[str, str] = {}
    for group, names in groups.items():
        if not (isinstance(names, list) and names):
            raise ValueError(f"--groups must list columns for every group, got {names!r} for {group!r}")
        check_columns("--groups", names, table)
        if len(set(names)) < len(names):
            raise ValueError(f"--groups must name a column once, got {names} for {group!r}")
        for name in names:
            if owner.setdefault(name, group) != group:
                raise ValueError(f"--groups must not overlap, got {name!r} in {owner[name]!r} and {group!r}")
    units = [[column for name in names for column in table.groups[name]] for names in groups.values()]
    return units + [columns for name, columns in table.groups.items() if name not in owner]
