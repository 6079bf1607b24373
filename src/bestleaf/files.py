"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from secrets import token_hex


def check_regular(path: Path) -> None:
    """Refuse to write where there is something else than a file: a folder, a device, a pipe."""
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} must be a file, got a folder or a device")


def check_writable(path: Path) -> None:
    """Refuse a path that no file could be written to, before any work is done."""
    path = Path(os.path.realpath(path))
    check_regular(path)
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".bestleaf.")
    except OSError as error:
        raise ValueError(f"{path} cannot be written: {error.strerror}") from None
    os.close(handle)
    os.unlink(name)
    with suppress(OSError):
        if len(os.fsencode(path.name)) > os.pathconf(path.parent, "PC_NAME_MAX"):
            raise ValueError(f"{path} cannot be written: the name is too long")


def in_words(error: OSError) -> str:
    """Return what went wrong with a file as a sentence without its number."""
    if error.errno is None or error.filename is None:
        return error.strerror.lower() if error.strerror else str(error)
    name = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else str(error.filename)
    if isinstance(error, FileNotFoundError):
        return f"there is no file {name}"
    if isinstance(error, IsADirectoryError):
        return f"{name} is a folder, not a file"
    return f"{name} cannot be read or written: {os.strerror(error.errno).lower()}"


def write_atomically(path: Path, text: str) -> None:
    """Replace the file at `path` by `text`; on any failure the old file stays as it was. Links are followed."""
    write_all_atomically({path: text})


def write_all_atomically(texts: Mapping[Path, str]) -> None:
    """Replace the file at each path by its text, all or none: on any failure all stay as they were."""
    fresh: dict[Path, str] = {}
    try:
        for path, text in texts.items():
            place = Path(os.path.realpath(path))
            check_regular(place)
            if place in fresh:
                raise ValueError(f"every text must have a file of its own, got {path} more than once")
            fresh[place] = _written_beside(place, text)
        _replace_all(fresh)
    finally:
        _remove(fresh.values())


def _written_beside(path: Path, text: str) -> str:
    """Return the name of a new file beside `path` that holds the text, safely on the disk."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".bestleaf.")
    try:
        mask = os.umask(0)  # the only way to ask for it
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        _remove([name])
        raise
    return name


def _replace_all(fresh: Mapping[Path, str]) -> None:
    """Rename the new files to their places; when one cannot be, the others are taken back."""
    saved: dict[Path, str] = {}
    done: list[Path] = []
    try:
        for path in list(fresh)[:-1]:  # when the last one fails there is nothing of its own to take back
            if path.exists():
                saved[path] = _second_name(path)
        for path, name in fresh.items():
            os.replace(name, path)
            done.append(path)
    except BaseException:
        for path in done:
            _take_back(path, saved.pop(path, None))  # where that fails too, the old file keeps its second name
        raise
    finally:
        _remove(saved.values())


def _take_back(path: Path, old: str | None) -> None:
    """Put the old file back to its place, or nothing where there was none."""
    if old is None:
        path.unlink()
    else:
        os.replace(old, path)


def _second_name(path: Path) -> str:
    """Return another name for the file at `path`, or for a copy of it where the disk knows no links."""
    name = str(path.with_name(f".bestleaf.{token_hex(8)}"))
    try:
        os.link(path, name)
    except OSError:
        try:
            shutil.copy2(path, name)
        except BaseException:
            _remove([name])
            raise
    return name


def _remove(names: Iterable[str]) -> None:
    for name in names:
        with suppress(FileNotFoundError):
            os.unlink(name)
