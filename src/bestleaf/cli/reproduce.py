"""bestleaf reproduce: the paper's experiments."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from bestleaf.checks import shown
from bestleaf.cli.options import Jobs, Json, Runs, Seed
from bestleaf.cli.usage import help_without_command
from bestleaf.leaving import INTERRUPTED, at_once

app = typer.Typer(help="Run the paper's experiments again.")
app.callback(invoke_without_command=True)(help_without_command)


@app.command()
def fixed(runs: Runs = None, json: Json = None, seed: Seed = 2019, n_jobs: Jobs = None) -> None:
    """Compare fixed DAG and fixed tree: samples, node updates and recommended arms."""
    with at_once():
        from bestleaf.experiments import fixed as experiment

    console = Console()
    rows = _rows(experiment, runs, json, seed, n_jobs, console)
    _wide(console).print(experiment.table(rows))
    console.print(experiment.NOTES, highlight=False)


@app.command()
def expansion(
    runs: Runs = None,
    json: Json = None,
    plot: Annotated[Path | None, typer.Option(help="PNG or SVG file of the figure.")] = None,
    seed: Seed = 2019,
    n_jobs: Jobs = None,
) -> None:
    """Measure samples until stop as a function of the expansion exponent, against theorem 2."""
    with at_once():
        from bestleaf.experiments import expansion as experiment

    console = Console()
    picture = _picture(plot or Path("bestleaf-expansion.png"))
    rows = _rows(experiment, runs, json, seed, n_jobs, console)
    _wide(console).print(experiment.table(rows))
    if picture is not None:
        experiment.plot(rows, picture)
        console.print(f"Figure: {picture}", highlight=False)


@app.command()
def selection(
    data: Annotated[
        list[str] | None, typer.Option(help="Your copy of a data set, as madelon=PATH (.data file or its folder).")
    ] = None,
    runs: Runs = None,
    json: Json = None,
    seed: Seed = 2019,
    n_jobs: Jobs = None,
) -> None:
    """Select features of the paper's linear data and of Madelon: value, features, samples."""
    with at_once():
        from bestleaf.experiments import selection as experiment

    console = Console()
    rows = _rows(experiment, runs, json, seed, n_jobs, console, sources=_sources(data or []))
    _wide(console).print(experiment.table(rows))
    _wide(console).print(experiment.answers(rows))
    console.print(experiment.NOTES, highlight=False)
    if not data:
        console.print("Madelon is left out; give your copy by --data madelon=PATH.", highlight=False)


@app.command()
def games(runs: Runs = None, json: Json = None, seed: Seed = 2019, n_jobs: Jobs = None) -> None:
    """Compare UCT, UCD, LUCB-MCTS, LUCB-MCDS and the default rule on games with many transpositions."""
    with at_once():
        from bestleaf.experiments import games as experiment

    console = Console()
    rows = _rows(experiment, runs, json, seed, n_jobs, console)
    _wide(console).print(experiment.table(rows))
    console.print(experiment.NOTES, highlight=False)


def _sources(given: list[str]) -> dict[str, Path]:
    """Return the path of each data set given as name=path."""
    found = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not equals or not path:
            raise ValueError(f"--data must be madelon=PATH, got {shown(text)}")
        found[name] = Path(path)
    return found


def _rows(
    experiment: Any,
    runs: int | None,
    json: Path | None,
    seed: int,
    n_jobs: int | None,
    console: Console,
    **more: Any,
) -> Any:
    from bestleaf.experiments.rows import default_jobs

    name = experiment.__name__.rsplit(".", 1)[-1]
    path = json or Path(f"bestleaf-{name}.json")
    console.print(f"Rows are kept in {path}; the same command goes on from there.", highlight=False)
    runs, n_jobs = runs or experiment.RUNS, n_jobs or default_jobs()
    try:
        return experiment.reproduce(runs, path, seed=seed, n_jobs=n_jobs, console=console, **more)
    except KeyboardInterrupt:
        print(f"Interrupted; the rows so far are in {path}.", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None


def _wide(console: Console) -> Console:
    """Return a console that does not fold tables when the output is not a terminal."""
    return console if console.is_terminal else Console(width=200)


def _picture(path: Path) -> Path | None:
    """Return the path if a figure can be drawn there."""
    if path.suffix.lower() not in (".png", ".svg"):
        raise ValueError(f"--plot must end in .png or .svg, got {path}")
    if not path.parent.is_dir():
        raise ValueError(f"--plot: the folder of {path} does not exist")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        print("No figure: matplotlib is missing (pip install 'bestleaf[plot]').", file=sys.stderr)
        return None
    return path
