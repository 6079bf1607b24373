"""bestleaf reproduce: the paper's experiments."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer
from rich.console import Console
from typer import Argument, Option

from bestleaf.checks import shown
from bestleaf.cli import INTERRUPTED, at_once
from bestleaf.cli.messages import help_without_command
from bestleaf.cli.options import Jobs, Seed, check_ending
from bestleaf.files import write_atomically

Names = Annotated[list[str] | None, Argument(metavar="[ROW]...", help="Names of rows (default: all; see --list).")]
Listing = Annotated[bool, Option("--list", help="Print the names of the rows, and compute nothing.")]
Runs = Annotated[int | None, Option(min=1, max=1_000_000, help="Runs of each row (default: the paper's number).")]
Json = Annotated[Path | None, Option("--json", help="File of the rows; the same command goes on from it.")]
Copies = Annotated[list[str] | None, Option(help="Your copy of a data set, madelon=PATH (.data file or its folder).")]
Plot = Annotated[Path, Option(help="SVG file of the figure.")]

app = typer.Typer(help="Run the paper's experiments again.")
app.callback(invoke_without_command=True)(help_without_command)


@app.command()
def fixed(
    names: Names = None,
    listing: Listing = False,
    runs: Runs = None,
    json: Json = None,
    seed: Seed = 2019,
    n_jobs: Jobs = None,
) -> None:
    """Compare fixed DAG and fixed tree: samples, node updates and recommended arms."""
    experiment = _experiment("fixed", names, listing)
    _run(experiment, names, runs, json, seed, n_jobs)


@app.command()
def selection(
    names: Names = None,
    listing: Listing = False,
    data: Copies = None,
    runs: Runs = None,
    json: Json = None,
    seed: Seed = 2019,
    n_jobs: Jobs = None,
) -> None:
    """Select features of the paper's linear data and of Madelon: value, features, samples."""
    experiment, sources = _experiment("selection", names, listing), {}
    for text in data or []:
        name, _, path = text.partition("=")
        if not path:
            raise ValueError(f"--data must be madelon=PATH, got {shown(text)}")
        sources[name] = Path(path)
    _run(experiment, names, runs, json, seed, n_jobs, sources=sources)
    if not data and not names:
        print("Madelon is left out; give your copy by --data madelon=PATH.")


@app.command()
def expansion(
    names: Names = None,
    listing: Listing = False,
    runs: Runs = None,
    json: Json = None,
    plot: Plot = Path("bestleaf-expansion.svg"),
    seed: Seed = 2019,
    n_jobs: Jobs = None,
) -> None:
    """Measure samples until stop as a function of the expansion exponent, against theorem 2."""
    check_ending("--plot", plot, (".svg",))
    if not plot.parent.is_dir():
        raise ValueError(f"--plot: the folder of {plot} does not exist")
    experiment = _experiment("expansion", names, listing)
    rows = _run(experiment, names, runs, json, seed, n_jobs)
    write_atomically(plot, experiment.figure(rows))
    print(f"Figure: {plot}")


def _experiment(name: str, names: list[str] | None, listing: bool) -> ModuleType:
    """Return the module of an experiment; print the names of its rows, or refuse a name that it does not have."""
    with at_once():
        experiment = import_module(f"bestleaf.paper.experiments.{name}")
        from bestleaf.paper.experiments.rows import chosen
    if listing:
        print("\n".join(experiment.EXPERIMENT.cases))
        raise typer.Exit
    try:
        chosen(names or [], experiment.EXPERIMENT.cases)
    except ValueError as error:
        print(f"bestleaf: {error}", file=sys.stderr)  # whole: the names do not fit into 300 characters
        raise typer.Exit(2) from None
    return experiment


def _run(
    experiment: ModuleType,
    names: list[str] | None,
    runs: int | None,
    json: Path | None,
    seed: int,
    n_jobs: int | None,
    **more: dict[str, Path],
) -> list[dict[str, object]]:
    """Compute the rows of an experiment that are missing; print its tables and notes, also after Ctrl-C."""
    with at_once():
        from joblib import cpu_count

        from bestleaf.paper.experiments.rows import Interrupted
    path, console = json or Path(f"bestleaf-{experiment.EXPERIMENT.name}.json"), Console()
    print(f"Rows are kept in {path}; the same command goes on from there.")
    try:
        rows = experiment.reproduce(
            runs or experiment.EXPERIMENT.runs,
            path,
            names or [],
            seed=seed,
            n_jobs=n_jobs or cpu_count(),
            console=console,
            **more,
        )
    except Interrupted as stop:
        _show(experiment, stop.rows, console)
        finished = f"the {len(stop.rows):,} runs finished so far are in {path}" if stop.rows else "no run was finished"
        print(f"Interrupted; {finished}.", file=sys.stderr, flush=True)
        sys.stdout.flush()
        os._exit(INTERRUPTED)  # runs that have begun end with the program
    _show(experiment, rows, console)
    return rows


def _show(experiment: ModuleType, rows: list[dict[str, object]], console: Console) -> None:
    """Print the table and the notes of an experiment."""
    if not rows:
        return
    wide = console if console.is_terminal else Console(width=200)  # a file has room for wide tables
    wide.print(experiment.EXPERIMENT.table(rows))
    if experiment.EXPERIMENT.notes:
        print(experiment.EXPERIMENT.notes)
