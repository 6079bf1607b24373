"""bestleaf reproduce: the paper's experiments; all runs are kept in a file, and the same command goes on from there."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console
from typer import Argument, Option

from bestleaf.checks import shown
from bestleaf.cli import INTERRUPTED, at_once
from bestleaf.cli.options import Jobs, Seed, check_ending
from bestleaf.files import check_writable, write_atomically

if TYPE_CHECKING:
    import pandas as pd

    from bestleaf.paper.experiments.table import PaperTable

FIGURE = Path("bestleaf-expansion.svg")


def reproduce(
    experiment: Annotated[
        Literal["fixed", "selection", "expansion"],
        Argument(
            help="fixed: samples, updates and recommended arms of fixed DAG and tree; selection: features of the "
            "paper's linear data and of Madelon; expansion: samples as a function of the expansion exponent."
        ),
    ],
    names: Annotated[
        list[str] | None, Argument(metavar="[ROW]...", help="Names of rows (default: all; see --list).")
    ] = None,
    listing: Annotated[bool, Option("--list", help="Print the names of the rows, and compute nothing.")] = False,
    data: Annotated[
        list[str] | None, Option(help="Your copy of a data set, madelon=PATH (.data file or its folder).")
    ] = None,
    runs: Annotated[
        int | None, Option(min=1, max=1_000_000, help="Runs of each row (default: the paper's number).")
    ] = None,
    memory: Annotated[Path | None, Option(help="File that keeps the runs; the same command goes on from it.")] = None,
    csv: Annotated[Path | None, Option("--csv", help="CSV file of all runs, one row each.")] = None,
    seed: Seed = 2019,
    n_jobs: Jobs = None,
) -> None:
    """Run one of the paper's experiments again."""
    with at_once():
        module = import_module(f"bestleaf.paper.experiments.{experiment}")
        from bestleaf.paper.experiments.table import chosen
    table = module.EXPERIMENT
    if listing:
        print("\n".join(table.lines))
        raise typer.Exit
    try:
        chosen(names or [], table.lines)
    except ValueError as error:
        print(f"bestleaf: {error}", file=sys.stderr)  # whole: the names do not fit into 300 characters
        raise typer.Exit(2) from None
    if data and experiment != "selection":
        raise ValueError(f"--data is for the experiment selection, got it for {experiment}")
    files = dict(_file(text) for text in data or [])
    if csv is not None:
        check_ending("--csv", csv, (".csv",))
        check_writable(csv)
    found = _runs(table, names or [], runs or table.runs, memory, seed, n_jobs, files)
    if csv is not None:
        write_atomically(csv, found.to_csv(index=False))
    if experiment == "expansion":
        write_atomically(FIGURE, module.figure(found))
        print(f"Figure: {FIGURE}")
    if experiment == "selection" and not data and not names:
        print("Madelon is left out; give your copy by --data madelon=PATH.")


def _file(copy: str) -> tuple[str, Path]:
    """Return the name of a data set, and where a copy of it is."""
    name, _, path = copy.partition("=")
    if not path:
        raise ValueError(f"--data must be madelon=PATH, got {shown(copy)}")
    return name, Path(path)


def _runs(
    table: PaperTable,
    names: list[str],
    runs: int,
    memory: Path | None,
    seed: int,
    n_jobs: int | None,
    files: dict[str, Path],
) -> pd.DataFrame:
    """Make the runs that are missing, the first of each row first; print the table and notes, also after Ctrl-C."""
    with at_once():
        from joblib import cpu_count
    jobs, path = n_jobs or cpu_count(), memory or Path(f"bestleaf-{table.name}.db")
    print(f"Runs are kept in {path}; the same command goes on from there.", flush=True)
    more: dict[str, Any] = {"seed": seed, "memory": path, "files": files}
    found = table.reproduce(1, names, **more)
    if runs > 1 and not found.attrs["interrupted"]:
        print(f"All runs will take about {_duration(table.seconds(found, runs) / jobs)}, by the first of each row.")
        sys.stdout.flush()
        found = table.reproduce(runs, names, n_jobs=jobs, **more)
    if len(found):
        wide = Console() if Console().is_terminal else Console(width=220)  # a file has room for wide tables
        wide.print(table.table(found))
        print(table.notes)
    if found.attrs["interrupted"]:
        finished = f"the {len(found):,} runs finished so far are in {path}" if len(found) else "no run was finished"
        print(f"Interrupted; {finished}.", file=sys.stderr, flush=True)
        raise typer.Exit(INTERRUPTED)
    return found


def _duration(seconds: float) -> str:
    """Return a time in words that do not promise too much."""
    for unit, length in (("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} seconds"
