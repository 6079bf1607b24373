"""bestleaf compare: bestleaf beside other methods of feature selection, on the same splits of a table."""

from __future__ import annotations

import sys
from math import isnan
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TimeElapsedColumn
from rich.table import Table
from typer import Option

from bestleaf.cli import INTERRUPTED, at_once
from bestleaf.cli.options import (
    Exclude,
    Include,
    Jobs,
    MaxFeatures,
    Scoring,
    Seed,
    TableOptions,
    Time,
    of_a_table,
    tell_notes,
)

if TYPE_CHECKING:
    from bestleaf.tables.compare import Standing

MOST_SHOWN = 8  # columns that are named
ONE_SPLIT = "One split says little: --splits 5 gives standard errors."
SEVERAL = '±: standard error over the splits, corrected because they share rows. "on 2": selected on 2 splits.'


@of_a_table
def compare(
    options: TableOptions,
    max_time: Time = None,
    holdout: Annotated[float, Option(metavar="FRACTION", help="Part of the rows that no method sees.")] = 0.25,
    splits: Annotated[int, Option(min=1, max=1000, help="Splits of the rows; several give standard errors.")] = 1,
    peers: Annotated[
        list[str] | None, Option(metavar="NAME", help="Method to compare with (default: all); may be repeated.")
    ] = None,
    max_features: MaxFeatures = None,
    include: Include = None,
    exclude: Exclude = None,
    scoring: Scoring = None,
    random_state: Seed = 0,
    n_jobs: Jobs = None,
) -> None:
    """Compare bestleaf with all columns and with other methods of feature selection on the same splits of a table."""
    table, estimator = options.table(include or ()), options.estimator
    with at_once():
        from bestleaf.features.data import task_of
        from bestleaf.tables.compare import compare as compared
        from bestleaf.tables.compare import methods, standings

    console = Console() if Console().is_terminal else Console(width=160)
    tell_notes(console, table)
    how: dict[str, Any] = {"include": include or (), "exclude": exclude or (), "max_features": max_features}
    how |= {"task": options.task, "scoring": scoring, "max_time": max_time, "n_jobs": n_jobs}
    chosen = methods(peers or None)
    how |= {"peers": chosen, "estimator": estimator, "random_state": random_state}
    results = compared(table, holdout=holdout, splits=splits, **how)
    rows, code = [], 0
    columns = (SpinnerColumn(), *Progress.get_default_columns(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task_id = bar.add_task("Selecting", total=splits * (2 + len(chosen)))
        try:
            for row in results:
                rows.append(row)
                told = f"Split {row.split + 1} of {splits}: {row.method} done in {row.seconds:.0f} s"
                bar.update(task_id, advance=1, description=told)
                if not console.is_terminal:
                    print(told, file=sys.stderr, flush=True)
        except KeyboardInterrupt:
            code = INTERRUPTED
    again = f" in each of {splits} splits" if splits > 1 else ""
    title = f"{options.data.name}, {holdout:.0%} of the rows are test rows{again}"
    console.print(_as_table(title, standings(rows), splits), markup=False)
    usual = "AUC" if task_of(table.y.to_numpy(), options.task) == "classification" else "R2"
    measure = f"{'' if estimator else 'mean '}{scoring or usual}"
    print(
        f"score: {measure} of {estimator or '5 nearest neighbours, a linear model and boosting'} on rows that no "
        "method has seen; difference: score of bestleaf minus that of the method. A category or date is one column for "
        "all methods; --max-features limits bestleaf only. Peers use 5 folds and one core."
    )
    print(ONE_SPLIT if splits == 1 else SEVERAL)
    raise typer.Exit(code)


def _as_table(title: str, found: list[Standing], splits: int) -> Table:
    """Return the results as a table for the terminal."""
    shown = Table(title=title, title_justify="left")
    for name in ("method", "columns", "score", "difference", "seconds", "which"):
        shown.add_column(name, justify="left" if name in ("method", "which") else "right")
    for one in found:
        notes = "; ".join(dict.fromkeys(one.notes))
        numbers = [
            f"{one.features:.{0 if splits == 1 else 1}f}",
            _with_error(f"{one.score:.4f}", one.score_error),
            "" if one.method == found[0].method else _with_error(f"{one.difference:+.4f}", one.difference_error),
        ]
        cells = ["-"] * len(numbers) if isnan(one.score) else numbers
        which = _which(one.columns, splits)
        shown.add_row(f"{one.method} ({notes})" if notes else one.method, *cells, f"{one.seconds:.1f}", which)
    return shown


def _with_error(text: str, error: float) -> str:
    return text if isnan(error) else f"{text} ± {error:.4f}"


def _which(columns: dict[str, int], splits: int) -> str:
    """Return the columns that were selected most often, and on how many splits if not on all of them."""
    named = [name if times == splits else f"{name} on {times}" for name, times in columns.items()]
    return ", ".join(named[:MOST_SHOWN]) + (", …" if len(named) > MOST_SHOWN else "")
