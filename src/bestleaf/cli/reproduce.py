"""bestleaf reproduce: the paper's experiments; all rows are kept in a file, and the same command goes on from there."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from typer import Argument, Option

from bestleaf.checks import shown
from bestleaf.cli import INTERRUPTED, at_once
from bestleaf.cli.options import Jobs, Seed, check_ending
from bestleaf.files import write_atomically


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
    json: Annotated[Path | None, Option("--json", help="File of the rows; the same command goes on from it.")] = None,
    plot: Annotated[Path, Option(help="SVG file of the figure of expansion.")] = Path("bestleaf-expansion.svg"),
    seed: Seed = 2019,
    n_jobs: Jobs = None,
) -> None:
    """Run one of the paper's experiments again."""
    with at_once():
        module = import_module(f"bestleaf.paper.experiments.{experiment}")
        from bestleaf.paper.experiments.rows import chosen
    if listing:
        print("\n".join(module.EXPERIMENT.cases))
        raise typer.Exit
    try:
        chosen(names or [], module.EXPERIMENT.cases)
    except ValueError as error:
        print(f"bestleaf: {error}", file=sys.stderr)  # whole: the names do not fit into 300 characters
        raise typer.Exit(2) from None
    sources = _sources(data or []) if experiment == "selection" else {}
    if data and not sources:
        raise ValueError(f"--data is for the experiment selection, got it for {experiment}")
    if experiment == "expansion":
        check_ending("--plot", plot, (".svg",))
        if not plot.parent.is_dir():
            raise ValueError(f"--plot: the folder of {plot} does not exist")
    rows = _run(module, names or [], runs, json, seed, n_jobs, **({"sources": sources} if sources else {}))
    if experiment == "expansion":
        write_atomically(plot, module.figure(rows))
        print(f"Figure: {plot}")
    if experiment == "selection" and not data and not names:
        print("Madelon is left out; give your copy by --data madelon=PATH.")


def _sources(copies: list[str]) -> dict[str, Path]:
    """Return where copies of data sets are, by name."""
    pairs = [text.partition("=") for text in copies]
    if wrong := [name for name, _, path in pairs if not path]:
        raise ValueError(f"--data must be madelon=PATH, got {shown(wrong[0])}")
    return {name: Path(path) for name, _, path in pairs}


def _run(
    module: ModuleType,
    names: list[str],
    runs: int | None,
    json: Path | None,
    seed: int,
    n_jobs: int | None,
    **more: Any,
) -> list[dict[str, object]]:
    """Compute the rows of an experiment that are missing; print its tables and notes, also after Ctrl-C."""
    with at_once():
        from joblib import cpu_count

        from bestleaf.paper.experiments.rows import Interrupted
    experiment, console = module.EXPERIMENT, Console()
    path = json or Path(f"bestleaf-{experiment.name}.json")
    print(f"Rows are kept in {path}; the same command goes on from there.")
    more |= {"seed": seed, "n_jobs": n_jobs or cpu_count(), "console": console}
    try:
        rows = module.reproduce(runs or experiment.runs, path, names, **more)
    except Interrupted as stop:
        _show(module, stop.rows, console)
        finished = f"the {len(stop.rows):,} runs finished so far are in {path}" if stop.rows else "no run was finished"
        print(f"Interrupted; {finished}.", file=sys.stderr, flush=True)
        sys.stdout.flush()
        os._exit(INTERRUPTED)  # runs that have begun end with the program
    _show(module, rows, console)
    return rows


def _show(module: ModuleType, rows: list[dict[str, object]], console: Console) -> None:
    """Print the table and the notes of an experiment."""
    if not rows:
        return
    wide = console if console.is_terminal else Console(width=200)  # a file has room for wide tables
    wide.print(module.EXPERIMENT.table(rows))
    if module.EXPERIMENT.notes:
        print(module.EXPERIMENT.notes)
