"""Options that several commands take, and how their texts are read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer


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


def seconds(given: str | float) -> float:
    """Return a time given as 90, 90s, 1.5m or 2h in seconds."""
    text = str(given).strip().lower()
    units = {"s": 1.0, "m": 60.0, "h": 3600.0}
    number, unit = (text[:-1], units[text[-1]]) if text[-1:] in units else (text, 1.0)
    try:
        found = float(number) * unit
    except ValueError:
        found = -1.0
    if not 0 < found < float("inf"):
        raise typer.BadParameter(f"must be a time such as 90, 90s, 1.5m or 2h, got {given!r}")
    return found
