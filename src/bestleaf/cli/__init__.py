"""The command line; every command is one public function."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import bestleaf
from bestleaf.cli.compare import compare
from bestleaf.cli.options import Seed
from bestleaf.cli.reproduce import app as experiments
from bestleaf.cli.select import check_choices, check_new_file, select

app = typer.Typer(
    help="Monte-Carlo search in growing single-rooted DAGs with a proof of what it found.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command()(select)
app.command()(compare)
app.add_typer(experiments, name="reproduce")


@app.callback(invoke_without_command=True)
def _root(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    if version:
        print(bestleaf.__version__)
        raise typer.Exit


@app.command()
def verify(
    file: Annotated[Path, typer.Argument(help="The certificate.")],
    data: Annotated[Path | None, typer.Option(help="The table it is about, to compute exact values again.")] = None,
    target: Annotated[str | None, typer.Option(help="Column of the table that holds the targets.")] = None,
    impute: Annotated[str | None, typer.Option(help="How gaps were filled.")] = None,
) -> None:
    """Check a certificate from what is written in it (exit code 0: holds, 1: refused)."""
    from bestleaf.certificate import Certificate
    from bestleaf.certificate import verify as check
    from bestleaf.datasets import prepared, read_frame

    check_choices(task="auto", impute=impute)
    if (data is None) != (target is None):
        raise ValueError("--data and --target go together: the table and the column of its targets")
    certificate = Certificate.load(file)
    X = y = None
    if data is not None and target is not None:
        table = prepared(read_frame(data), target, impute=impute)
        X, y = table.X, table.y
    verdict = check(certificate, X, y)
    print(verdict)
    raise typer.Exit(0 if verdict else 1)


@app.command()
def report(
    file: Annotated[Path, typer.Argument(help="The certificate.")],
    out: Annotated[Path, typer.Option(help="The HTML page.")],
    title: Annotated[str | None, typer.Option(help="Its heading.")] = None,
    force_overwrite: Annotated[bool, typer.Option("--force-overwrite", help="Replace a page that exists.")] = False,
) -> None:
    """Write a self-contained HTML page about a certificate that holds."""
    from bestleaf.certificate import Certificate
    from bestleaf.certificate import verify as check
    from bestleaf.report import save_report

    if out.resolve() == file.resolve():
        raise ValueError(f"--out must not be the certificate itself, got {out}")
    check_new_file("--out", out, overwrite=force_overwrite)
    certificate = Certificate.load(file)
    if not (verdict := check(certificate)):
        print(verdict)
        raise typer.Exit(1)
    save_report(certificate, out, title=title)
    print(f"Page: {out}")


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
