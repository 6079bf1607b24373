"""The command line; every command is one public function."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

import bestleaf

app = typer.Typer(
    help="Monte-Carlo search in growing single-rooted DAGs with a proof of what it found.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
experiments = typer.Typer(help="Run the paper's experiments again.", no_args_is_help=True)
app.add_typer(experiments, name="reproduce")


def _at_least(least: int) -> Callable[[str | int], int]:
    """Return a parser of whole numbers from `least` on that names the value it got."""

    def parse(given: str | int) -> int:  # typer hands the default over too
        text = str(given)
        if not text.isascii() or not text.isdigit() or int(text) < least:
            raise typer.BadParameter(f"must be a whole number of at least {least}, got {text!r}")
        return int(text)

    return parse


Runs = Annotated[
    int | None, typer.Option(parser=_at_least(1), help="Runs of each row (default: the paper's number).", metavar="N")
]
Json = Annotated[Path | None, typer.Option("--json", help="File of the rows; the same command goes on from it.")]
Seed = Annotated[int, typer.Option(parser=_at_least(0), help="Everything random follows from it.", metavar="N")]
Jobs = Annotated[int | None, typer.Option(parser=_at_least(1), help="Threads (default: all cores).", metavar="N")]


@app.callback(invoke_without_command=True)
def _root(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    if version:
        print(bestleaf.__version__)
        raise typer.Exit


@experiments.command()
def fixed(runs: Runs = None, json: Json = None, seed: Seed = 2019, n_jobs: Jobs = None) -> None:
    """Compare fixed DAG and fixed tree: samples, node updates and recommended arms."""
    from bestleaf.experiments import fixed as experiment

    console = Console()
    rows = _rows(experiment, runs, json, seed, n_jobs, console)
    _wide(console).print(experiment.table(rows))
    console.print(experiment.NOTES, highlight=False)


@experiments.command()
def expansion(
    runs: Runs = None,
    json: Json = None,
    plot: Annotated[Path | None, typer.Option(help="PNG or SVG file of the figure.")] = None,
    seed: Seed = 2019,
    n_jobs: Jobs = None,
) -> None:
    """Measure samples until stop as a function of the expansion exponent, against theorem 2."""
    from bestleaf.experiments import expansion as experiment

    console = Console()
    picture = _picture(plot or Path("bestleaf-expansion.png"))
    rows = _rows(experiment, runs, json, seed, n_jobs, console)
    _wide(console).print(experiment.table(rows))
    if picture is not None:
        experiment.plot(rows, picture)
        console.print(f"Figure: {picture}", highlight=False)


@experiments.command()
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
    from bestleaf.experiments import selection as experiment

    console = Console()
    rows = _rows(experiment, runs, json, seed, n_jobs, console, sources=_sources(data or []))
    _wide(console).print(experiment.table(rows))
    _wide(console).print(experiment.answers(rows))
    console.print(experiment.NOTES, highlight=False)
    if not data:
        console.print("Madelon is left out; give your copy by --data madelon=PATH.", highlight=False)


@experiments.command()
def games(runs: Runs = None, json: Json = None, seed: Seed = 2019, n_jobs: Jobs = None) -> None:
    """Compare UCT, UCD, LUCB-MCTS and LUCB-MCDS on games with many transpositions."""
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
            raise ValueError(f"--data must be madelon=PATH, got {text!r}")
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
        raise typer.Exit(130) from None


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


@app.command()
def verify(
    file: Annotated[Path, typer.Argument(help="The certificate.")],
    data: Annotated[Path | None, typer.Option(help="The table it is about, to compute exact values again.")] = None,
    target: Annotated[str | None, typer.Option(help="Column of the table that holds the targets.")] = None,
) -> None:
    """Check a certificate from what is written in it (exit code 0: holds, 1: refused)."""
    from bestleaf.certificate import Certificate
    from bestleaf.certificate import verify as check
    from bestleaf.datasets import read_table

    if (data is None) != (target is None):
        raise ValueError("--data and --target go together: the table and the column of its targets")
    certificate = Certificate.load(file)
    X, y = (None, None) if data is None or target is None else read_table(data, target)
    verdict = check(certificate, X, y)
    print(verdict)
    raise typer.Exit(0 if verdict else 1)


@app.command()
def demo(seed: Seed = 1) -> None:
    """Select features of the paper's linear data and show what is proved, in a few seconds."""
    from bestleaf.demo import run

    run(Console(), seed)


@app.command()
def warm() -> None:
    """Compile everything once, so that the first search does not wait."""
    from bestleaf.demo import warm_up

    print(f"Compiled in {warm_up():.1f} s.")


def main() -> None:
    """Run the command line; bad input is one sentence and exit code 2."""
    try:
        app()
    except (ValueError, OSError) as error:
        print(f"bestleaf: {error}", file=sys.stderr)
        sys.exit(2)
