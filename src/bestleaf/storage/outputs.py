"""Which files a command has written, kept in its checkpoint: going on from there, it may write them again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from bestleaf.storage.file import read_file, refuse, write_file
from bestleaf.storage.lock import Lock

OUTPUTS = "outputs"  # in a checkpoint: SHA-256 of what was written, the newest last, by path
MOST = 10  # remembered of one file: a run that is killed may leave the one before


def checked_outputs(content: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the files that a command has written, as its checkpoint says."""
    found = content.get(OUTPUTS, {})
    plain = isinstance(found, dict) and all(
        isinstance(marks, list) and all(isinstance(mark, str) for mark in marks) for marks in found.values()
    )
    if not plain:
        raise ValueError(f"{OUTPUTS} must list the marks of each file")
    return found


def was_written_by(checkpoint: Path, path: Path) -> bool:
    """Whether a file is one that the run of a checkpoint has written, and nobody has changed since."""
    file = Path(os.path.realpath(checkpoint))
    try:
        marks = checked_outputs(read_file(file)).get(_place(path), [])
    except ValueError as error:
        refuse(file, error)
    with path.open("rb") as written:
        return file_digest(written, "sha256").hexdigest() in marks


def note_outputs(checkpoint: Path, texts: Mapping[Path, str]) -> None:
    """Write into a checkpoint which files are about to be written, and what will be in them."""
    file = Path(os.path.realpath(checkpoint))
    lock = Lock(file)
    try:
        found = read_file(file)
        outputs = checked_outputs(found)
        for path, text in texts.items():
            mark = sha256(text.encode()).hexdigest()
            before = [one for one in outputs.get(_place(path), []) if one != mark]
            outputs[_place(path)] = [*before, mark][-MOST:]
        write_file(file, {**found, OUTPUTS: outputs, **found.arrays})
    finally:
        lock.release()


def _place(path: Path) -> str:
    return os.path.realpath(path)
