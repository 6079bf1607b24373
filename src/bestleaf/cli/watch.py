"""bestleaf watch: look at a search that another process runs, from its checkpoint."""

from __future__ import annotations

from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text
from typer import Option

from bestleaf.cli import INTERRUPTED, at_once
from bestleaf.cli.messages import say

if TYPE_CHECKING:
    from bestleaf.checkpoint.codec import Json
    from bestleaf.watch import Status

EVERY = 1.0  # seconds between two looks at the file
PATIENCE = 15.0  # seconds without a process after which nobody is waited for: between two phases there is none, too

Checkpoint = Annotated[Path, typer.Argument(help="The checkpoint of the search (select --checkpoint FILE).")]
Port = Annotated[int | None, Option(min=0, max=65535, help="Port of --serve (default: any that is free).")]


def watch(
    file: Checkpoint,
    once: Annotated[bool, Option("--once", help="Show it once and exit.")] = False,
    serve: Annotated[bool, Option("--serve", help="Serve a local page, to this machine only.")] = False,
    port: Port = None,
) -> None:
    """Show how far a running search is, from its checkpoint, until it ends; Ctrl-C stops looking, not the search."""
    with at_once():
        from bestleaf import watch as looking

    if once and serve:
        raise ValueError("--once and --serve exclude each other, got both")
    if port is not None and not serve:
        raise ValueError(f"--port needs --serve, got --port {port}")
    if serve:
        _serve(file, port or 0)
    elif once:
        Console().print(_shown(looking.status(file)), soft_wrap=True)
    else:
        _follow(file)


def _serve(file: Path, port: int) -> None:
    """Serve the page until Ctrl-C."""
    from bestleaf.watch import serve

    try:
        server = serve(file, port)
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise ValueError(f"--port must be a port that is free, got {port}: {error.strerror}") from None
    with server:
        print(f"{server.address} (Ctrl-C ends it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            say("the page is not served any more; the search goes on")
            raise typer.Exit(INTERRUPTED) from None


def _follow(file: Path) -> None:
    """Show the search until it is over or nobody runs it any more."""
    from bestleaf.watch import status

    console, now, alone_since, told = Console(), status(file), None, 0.0
    with Live(console=console, auto_refresh=False, transient=False) as live:
        while True:
            if console.is_terminal:
                live.update(_shown(now), refresh=True)
            elif now.saved != told:  # a file gets one block of lines for each time the search was saved
                told = now.saved
                console.print(_shown(now), soft_wrap=True)
            alone_since = None if now.running else monotonic() if alone_since is None else alone_since
            if now.over or (alone_since is not None and monotonic() - alone_since >= PATIENCE):
                return
            sleep(EVERY)
            now = status(file)


def _shown(now: Status) -> RenderableType:
    """Return the state of a search as it is shown on a terminal."""
    from bestleaf.watch import words

    parts: list[RenderableType] = [Text(words.heading(now), style="bold")]
    parts += [Text(line) for line in words.lines(now)]
    if rows := words.path_rows(now):
        parts.append(_path(rows, words.best_size(now)))
    return Group(*parts)


def _path(rows: list[dict[str, Json]], best: int | None) -> Table:
    """Return some rows of the path so far as a table; only the names of features are cut, never numbers."""
    from bestleaf.watch import words

    table = Table(title="Left-out scores so far: the highest mean of each size", title_justify="left")
    cells = [(str(row["size"]), f"{row['score']:.4f}", row["family"], words.features_of(row)) for row in rows]
    for place, name in enumerate(("size", "left-out score", "family", "features")):
        longest = 0 if name == "features" else max(len(text) for text in (name, *(row[place] for row in cells)))
        table.add_column(name, justify="right" if place < 2 else "left", min_width=longest)
    for row, texts in zip(rows, cells, strict=True):
        style = "bold" if row["size"] == best else None
        table.add_row(*(Text(text, no_wrap=True, overflow="ellipsis") for text in texts), style=style)
    return table
