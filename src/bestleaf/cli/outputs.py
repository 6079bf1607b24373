"""Files that a command writes: checked before any work is done, and never over what somebody else has written."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from bestleaf.checks import sentence
from bestleaf.cli.options import PAGE, check_ending
from bestleaf.files import check_writable, in_words, is_loop, write_all_atomically

if TYPE_CHECKING:
    from bestleaf.selector.on_table import TableSelection

Files = Mapping[str, Path | None]  # by option
ENDINGS = {"--out": (".csv", ".tsv"), "--json": (".json",), "--certificate": (".json",), "--report": PAGE}


def check_new_file(name: str, path: Path, *, overwrite: bool, checkpoint: Path | None = None) -> None:
    """Refuse a file that could not be written, or that is there already.

    A run that goes on from its checkpoint may replace what it has written before, if nobody has changed it since.
    """
    if not path.parent.is_dir():
        raise ValueError(f"{name} must be in a folder that exists, got {path}")
    if is_loop(path):
        raise ValueError(f"{name} must be a file, got {path}, which is a loop of links")
    if path.exists() and not path.is_file():
        raise ValueError(f"{name} must be a file, got the folder or device {path}")
    if path.exists() and not overwrite:
        _check_own(name, path, checkpoint)
    check_writable(path)


def _check_own(name: str, path: Path, checkpoint: Path | None) -> None:
    """Refuse to replace a file that the run of a checkpoint has not written."""
    if checkpoint is None or not checkpoint.exists():
        raise ValueError(f"{name} {path} exists; --force-overwrite replaces it")
    from bestleaf.storage.outputs import was_written_by

    if not was_written_by(checkpoint, path):
        raise ValueError(
            f"{name} {path} exists and is not as the run of {checkpoint.name} left it; --force-overwrite replaces it"
        )


def check_files(data: Path, files: Files, checkpoint: Path | None, *, overwrite: bool) -> None:
    """Refuse files that could not be written in the end, before any work is done."""
    given = {name: path for name, path in files.items() if path is not None}
    if checkpoint is not None:
        check_new_file("--checkpoint", checkpoint, overwrite=True)
    for name, path in given.items():
        check_ending(name, path, ENDINGS[name])
        check_new_file(name, path, overwrite=overwrite, checkpoint=checkpoint)
    if checkpoint is not None:
        given["--checkpoint"] = checkpoint
    places: dict[str, str] = {}
    for name, path in given.items():
        if os.path.realpath(path) == os.path.realpath(data):
            raise ValueError(f"{name} must not be the table itself, got {path}")
        if (other := places.setdefault(os.path.realpath(path), name)) != name:
            raise ValueError(f"{other} and {name} must be different files, got {path} for both")


def write_files(found: TableSelection, files: Files, title: str, checkpoint: Path | None) -> None:
    """Write all files that were asked for, or none; their marks go into the checkpoint first."""
    texts = _texts(found, files, title)
    if checkpoint is not None and texts:
        from bestleaf.storage.outputs import note_outputs

        try:
            note_outputs(checkpoint, texts)
        except (OSError, ValueError) as error:  # not worth losing the result
            told = in_words(error) if isinstance(error, OSError) else str(error)
            say(f"the checkpoint does not know of the files that are written now: {told}")
    write_all_atomically(texts)


def _texts(found: TableSelection, files: Files, title: str) -> dict[Path, str]:
    """Return what goes into each file that was asked for."""
    from bestleaf.report import report_html

    certificate = found.selector.certificate_
    separator = "\t" if str(files["--out"]).lower().endswith(".tsv") else ","
    renderers: dict[str, Callable[[], str]] = {
        "--out": lambda: found.reduced().to_csv(index=False, sep=separator),
        "--json": found.to_json,
        "--certificate": lambda: certificate.to_json() + "\n",
        "--report": lambda: report_html(certificate, title=title),
    }
    return {path: renderers[name]() for name, path in files.items() if path is not None}


def say(told: str) -> None:
    """Tell what is wrong in one line."""
    print(sentence(f"bestleaf: {told}"), file=sys.stderr)
