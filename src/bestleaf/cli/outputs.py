"""What a command puts out: the table of the path, and files.

Files are checked before the work begins; files of others are not overwritten.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from bestleaf.certificate import Certificate
from bestleaf.certificate.path import HEADS, path_cells
from bestleaf.cli.messages import complaint, say
from bestleaf.cli.options import PAGE, check_ending
from bestleaf.files import check_writable, write_all_atomically

if TYPE_CHECKING:
    from bestleaf.tables.select import TableSelection

Files = Mapping[str, Path | None]  # by option
ENDINGS = {"--out": (".csv", ".tsv"), "--json": (".json",), "--certificate": (".json",), "--report": PAGE}


def check_new_file(option: str, path: Path, *, overwrite: bool, checkpoint: Path | None = None) -> None:
    """Refuse a file that cannot be written or that exists.

    A run that continues from its checkpoint may replace files that it has written itself and that are unchanged.
    """
    try:
        check_writable(path)
    except ValueError as error:
        raise ValueError(f"{option}: {error}") from None
    if overwrite or not path.exists():
        return
    if checkpoint is None or not checkpoint.exists():
        raise ValueError(f"{option} {path} exists; --force-overwrite replaces it")
    from bestleaf.checkpoint.file import was_written_by

    if not was_written_by(checkpoint, path):
        left = f"is not as the run of {checkpoint.name} left it"
        raise ValueError(f"{option} {path} exists and {left}; --force-overwrite replaces it")


def check_files(data: Path, files: Files, checkpoint: Path | None, *, overwrite: bool) -> None:
    """Refuse files that cannot be written, before the work begins."""
    if checkpoint is not None:
        check_new_file("--checkpoint", checkpoint, overwrite=True)
    places = {} if checkpoint is None else {os.path.realpath(checkpoint): "--checkpoint"}
    for option, path in files.items():
        if path is None:
            continue
        check_ending(option, path, ENDINGS[option])
        check_new_file(option, path, overwrite=overwrite, checkpoint=checkpoint)
        if (other := places.setdefault(os.path.realpath(path), option)) != option:
            raise ValueError(f"{other} and {option} must be different files, got {path} for both")
    if itself := places.get(os.path.realpath(data)):
        raise ValueError(f"{itself} must not be the table itself, got {data}")


def path_table(certificate: Certificate) -> Table | None:
    """Return some rows of the path as a table for the terminal; None if left-out rows decided nothing."""
    if certificate.path is None:
        return None
    rows = path_cells(certificate.content)
    some = "" if len(rows) == len(certificate.path) else f", {len(rows)} of {len(certificate.path):,} sizes"
    table = Table(title=f"The path: one subset of each size{some} (* chosen)", title_justify="left")
    for place, name in enumerate(HEADS):
        numbers = name != "features"
        longest = max(len(row.texts()[place]) for row in rows) if numbers else 0  # only names are cut, numbers never
        table.add_column(name, justify="right" if numbers else "left", min_width=longest)
    for row in rows:
        cells = [Text(text, no_wrap=True, overflow="ellipsis") for text in row.texts()]
        table.add_row(*cells, style="bold" if row.chosen else None)
    return table


def write_files(found: TableSelection, files: Files, title: str, checkpoint: Path | None) -> None:
    """Write all files that were asked for, or none; the checkpoint first notes what will be written."""
    from bestleaf.checkpoint.file import note_outputs
    from bestleaf.report import report_html

    certificate = found.selector.certificate_
    separator = "\t" if str(files["--out"]).lower().endswith(".tsv") else ","
    texts: dict[str, Callable[[], str]] = {
        "--out": lambda: found.reduced().to_csv(index=False, sep=separator),
        "--json": found.to_json,
        "--certificate": lambda: certificate.to_json() + "\n",
        "--report": lambda: report_html(certificate, title=title),
    }
    written = {path: texts[option]() for option, path in files.items() if path is not None}
    if checkpoint is not None and written:
        try:
            note_outputs(checkpoint, written)
        except (OSError, ValueError) as error:  # not worth losing the result
            say(f"the checkpoint does not know of the files that are written now: {complaint(error)}")
    write_all_atomically(written)
