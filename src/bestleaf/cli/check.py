"""bestleaf check: a look at a table before a search."""

from __future__ import annotations

import shlex
import sys

import typer
from rich.console import Console

from bestleaf.cli import at_once
from bestleaf.cli.messages import complaint
from bestleaf.cli.options import TableOptions, of_a_table, tell, tell_notes

REFUSED = 1  # exit code


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
    drop = [] if found is None else [text for name in found.to_drop for text in ("--drop", name)]
    typed = ["select" if text == "check" else text for text in sys.argv[1:]]
    but = " (without --drop for what is known before the target)" if drop else ""
    tell(console, f"bestleaf select takes this table. Next{but}:")
    tell(console, f"  {shlex.join(['bestleaf', *typed, *drop, '--report', 'page.html'])}")
