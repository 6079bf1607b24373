"""bestleaf check: a look at a table before a search."""

from __future__ import annotations

import typer
from rich.console import Console

from bestleaf.cli import at_once
from bestleaf.cli.messages import complaint
from bestleaf.cli.options import TableOptions, of_a_table, tell, tell_options

REFUSED = 1  # exit code


@of_a_table
def check(options: TableOptions) -> None:
    """Look at a table before a search (exit code 0: select takes it, 1: it does not).

    It finds ids, leaks, dates, missing values and more. Ids and columns without a name are left out by select.
    """
    with at_once():
        from bestleaf.tables import load  # noqa: F401  (takes a second)

    look = options.look()
    found, notes, refused = look.check, look.notes, None
    try:
        notes = options.ready(look).notes  # they also tell what becomes of the columns
    except ValueError as error:
        refused = complaint(error)
    console = Console()
    tell(console, f"{options.data.name}: {found.size}", *notes)
    if not found:
        tell(console, "Nothing strange was found.")
    tell_options(console, found)
    if refused is not None:
        tell(console, f"bestleaf select refuses this table: {refused}.")
        raise typer.Exit(REFUSED)
    tell(console, "bestleaf select takes this table.")
