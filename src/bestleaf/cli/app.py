"""The commands of the command line. Bad input gives one sentence and exit code 2."""

from __future__ import annotations

import os
import shlex
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperCommand, TyperGroup

import bestleaf
from bestleaf.cli import INTERRUPTED, at_once
from bestleaf.cli.compare import compare
from bestleaf.cli.messages import StillWriting, UsageError, complaint, say
from bestleaf.cli.options import (
    PAGE,
    Overwrite,
    Seed,
    TableOptions,
    check_ending,
    check_new_file,
    of_a_table,
    tell,
    tell_notes,
)
from bestleaf.cli.reproduce import reproduce
from bestleaf.cli.select import select

REFUSED, OTHER_DATA = 1, 4  # exit codes of verify


class _Commands(TyperGroup):
    """Commands that end with one line after Ctrl-C, in every version of typer."""

    def invoke(self, ctx: typer.Context) -> object:  # type: ignore[override]
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            say("interrupted")
            raise typer.Exit(INTERRUPTED) from None


class _Command(TyperCommand):
    """A command whose flags are shown without a type: nothing is typed behind them."""

    def get_params(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        found = super().get_params(ctx)
        for one in found:
            one.metavar = "" if getattr(one, "is_flag", False) else one.metavar
        return found


def _example(of: str) -> dict[str, Any]:
    """Return the settings of a command with an example below its help."""
    return {"cls": _Command, "epilog": f"Example: bestleaf {of}"}


app = typer.Typer(
    cls=_Commands,
    help="Which columns of a table do I need? With an honest score on new rows, and a proof where there is one.",
    pretty_exceptions_enable=False,
    add_completion=False,
)


@app.command(**_example("check customers.csv --target churned"))
@of_a_table
def check(options: TableOptions) -> None:
    """Look at a table before a selection (exit code 0: select takes it, 1: it does not).

    It finds ids, leaks, dates, missing values and more. Ids and columns without a name are left out by select.
    """
    with at_once():
        from bestleaf.tables.load import RefusedTableError, Table

    table: Table | RefusedTableError
    try:
        table = options.table()
    except RefusedTableError as error:
        table = error
    console, found = Console(), table.check
    if found is not None:
        tell(console, f"{options.data.name}: {found.size}")
    tell_notes(console, table)
    if not found:
        tell(console, "Nothing strange was found.")
    if isinstance(table, RefusedTableError):
        tell(console, f"bestleaf select refuses this table: {complaint(table)}.")
        raise typer.Exit(REFUSED)
    drop = [] if found is None else [text for name in found.leaks for text in ("--drop", name)]
    typed = ["select" if text == "check" else text for text in sys.argv[1:]]
    but = " (without --drop for what is known before the target)" if drop else ""
    tell(console, f"bestleaf select takes this table. Next{but}:")
    tell(console, f"  {shlex.join(['bestleaf', *typed, *drop, '--report', 'page.html'])}")


app.command(**_example("select customers.csv --target churned --drop refund --report page.html"))(select)
app.command(**_example("compare customers.csv --target churned --splits 5"))(compare)
app.command(**_example("reproduce fixed --runs 10"))(reproduce)


def run() -> None:
    """Run the command line; bad input gives one sentence and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a character that the terminal lacks must not end a search
    sys.stdout = StillWriting(sys.stdout)
    try:
        sys.exit(app(standalone_mode=False) or 0)
    except (UsageError, OSError, MemoryError, ImportError, ValueError) as error:
        say(complaint(error))
        sys.exit(2)


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        print(bestleaf.__version__)
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit


@app.command(**_example("verify proof.json --data customers.csv"))
def verify(
    file: Annotated[Path, typer.Argument(help="The certificate.")],
    data: Annotated[Path | None, typer.Option(help="The table it is about, to compute exact values again.")] = None,
    audit: Annotated[
        float | None,
        typer.Option(help="If all subsets were evaluated: the share of them that is computed again (default: 0.01)."),
    ] = None,
) -> None:
    """Check a certificate (exit code 0: it holds, 1: refused, 4: it is about other data than --data).

    With --data, the table is made again as the certificate says, and values and scores are computed again.
    """
    with at_once():
        from bestleaf import proof as proofs

    if data is None and audit is not None:
        raise ValueError("--data must be given with --audit, which computes values again, got none")
    if data is None:
        verdict = proofs.verify(proofs.Certificate.load(file))
    else:
        with at_once():
            from bestleaf.tables.verify import verify_table

        verdict = verify_table(proofs.Certificate.load(file), data, audit=audit)
    print(verdict)
    raise typer.Exit(0 if verdict else OTHER_DATA if verdict.other_data else REFUSED)


@app.command(**_example("report proof.json --out page.html"))
def report(
    file: Annotated[Path, typer.Argument(help="The certificate.")],
    out: Annotated[Path | None, typer.Option(help="The HTML page (default: beside the certificate).")] = None,
    title: Annotated[str | None, typer.Option(help="Its heading.")] = None,
    force_overwrite: Overwrite = False,
) -> None:
    """Write a self-contained HTML page about a certificate that holds."""
    with at_once():
        from bestleaf import proof as proofs
        from bestleaf.report import save_report

    if out is None:
        out = file.with_suffix(".html")
        if out.exists() and not force_overwrite:  # the page of `bestleaf select` with the same name stays
            out = file.with_suffix(".certificate.html")
    if os.path.realpath(out) == os.path.realpath(file):
        raise ValueError(f"--out must not be the certificate itself, got {out}")
    check_ending("--out", out, PAGE)
    check_new_file("--out", out, overwrite=force_overwrite)
    certificate = proofs.Certificate.load(file)
    if not (verdict := proofs.verify(certificate)):
        print(verdict)
        raise typer.Exit(1)
    save_report(certificate, out, title=title)
    print(f"Page: {out}")


@app.command(**_example("demo"))
def demo(random_state: Seed = 0) -> None:
    """Select columns of a messy table that is generated, then of the paper's data with a proof: under a minute."""
    with at_once():
        from bestleaf.cli.demo import show

    show(random_state)
