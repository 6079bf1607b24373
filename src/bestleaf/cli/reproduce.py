"""bestleaf reproduce: the paper's experiments."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer
from rich.console import Console
from typer import Option

from bestleaf.checks import shown
from bestleaf.cli import INTERRUPTED, at_once
from bestleaf.cli.messages import help_without_command
from bestleaf.cli.options import Jobs, Seed, check_ending

Runs = Annotated[int | None, Option(min=1, max=1_000_000, help="Runs of each row (default: the paper's number).")]
Json = Annotated[Path | None, Option("--json", help="File of the rows; the same command goes on from it.")]
Copies = Annotated[list[str] | None, Option(help="Your copy of a data set, madelon=PATH (.data file or its folder).")]
Plot = Annotated[Path, Option(help="PNG or SVG file of the figure.")]
FIGURE = Path("bestleaf-expansion.png")

app = typer.Typer(help="Run the paper's experiments again.")
app.callback(invoke_without_command=True)(help_without_command)


@app.command()
def fixed(runs: Runs = None, json: Json = None, seed: Seed = 2019, n_jobs: Jobs = None) -> None:
    """Compare fixed DAG and fixed tree: samples, node updates and recommended arms."""
    _run("fixed", runs, json, seed, n_jobs)


@app.command()
def games(runs: Runs = None, json: Json = None, seed: Seed = 2019, n_jobs: Jobs = None) -> None:
    """Compare UCT, UCD, LUCB-MCTS, LUCB-MCDS and the default rule on games with many transpositions."""
    _run("games", runs, json, seed, n_jobs)


@app.command()
def selection(
    data: Copies = None, runs: Runs = None, json: Json = None, seed: Seed = 2019, n_jobs: Jobs = None
) -> None:
    """Select features of the paper's linear data and of Madelon: value, features, samples."""
    sources = {}
    for text in data or []:
        name, _, path = text.partition("=")
        if not path:
            raise ValueError(f"--data must be madelon=PATH, got {shown(text)}")
        sources[name] = Path(path)
    _run("selection", runs, json, seed, n_jobs, sources=sources)
    if not data:
        print("Madelon is left out; give your copy by --data madelon=PATH.")


@app.command()
def expansion(
    runs: Runs = None, json: Json = None, plot: Plot = FIGURE, seed: Seed = 2019, n_jobs: Jobs = None
) -> None:
    """Measure samples until stop as a function of the expansion exponent, against theorem 2."""
    check_ending("--plot", plot, (".png", ".svg"))
    if not plot.parent.is_dir():
        raise ValueError(f"--plot: the folder of {plot} does not exist")
    try:
        import matplotlib  # noqa: F401

        drawn = True
    except ImportError:
        print("No figure: matplotlib is missing (pip install 'bestleaf[plot]').", file=sys.stderr)
        drawn = False
    experiment, rows = _run("expansion", runs, json, seed, n_jobs)
    if drawn:
        experiment.plot(rows, plot)
        print(f"Figure: {plot}")


def _run(
    name: str, runs: int | None, json: Path | None, seed: int, n_jobs: int | None, **more: dict[str, Path]
) -> tuple[ModuleType, list[dict[str, object]]]:
    """Compute the rows of an experiment that are missing; print its tables and notes."""
    with at_once():
        from joblib import cpu_count

        experiment = import_module(f"bestleaf.paper.experiments.{name}")
    path, console = json or Path(f"bestleaf-{name}.json"), Console()
    print(f"Rows are kept in {path}; the same command goes on from there.")
    runs, n_jobs = runs or experiment.RUNS, n_jobs or cpu_count()
    try:
        rows = experiment.reproduce(runs, path, seed=seed, n_jobs=n_jobs, console=console, **more)
    except KeyboardInterrupt:
        print(f"Interrupted; the rows so far are in {path}.", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    wide = console if console.is_terminal else Console(width=200)  # a file has room for wide tables
    for table in ("table", "answers"):
        if hasattr(experiment, table):
            wide.print(getattr(experiment, table)(rows))
    print(getattr(experiment, "NOTES", ""), end="")
    return experiment, rows
