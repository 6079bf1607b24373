"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from bestleaf.checks import cut, shown
from bestleaf.temporary import create_beside, remove, remove_leftovers, second_name, write_fully

Beside = tuple[int | None, str]  # handle and name of a file beside another


def is_loop(path: Path) -> bool:
    """Whether a path leads through links back to itself, and so nowhere."""
    return _error_of(path) == errno.ELOOP


def _error_of(path: Path) -> int | None:
    """Return the number of what is wrong with a path, as far as the system says so when it is asked about it."""
    try:
        path.stat()
    except OSError as error:
        return error.errno
    return None


def check_regular(path: Path) -> None:
    """Refuse to write where there is something else than a file: a folder, a device, a pipe, a loop of links."""
    wrong, named = _error_of(path), cut(str(path), 200)
    if wrong == errno.ENAMETOOLONG:
        raise ValueError(f"{named} cannot be written: the name is too long")
    if wrong == errno.ELOOP:
        raise ValueError(f"{named} must be a file, got a loop of links")
    if path.exists() and not path.is_file():
        raise ValueError(f"{named} must be a file, got a folder or a device")


def check_writable(path: Path) -> None:
    """Refuse a path that no file could be written to, before any work is done."""
    check_regular(path)
    path = Path(os.path.realpath(path))
    remove_leftovers(path)
    try:
        handle, name = create_beside(path)
    except OSError as error:
        raise ValueError(f"{cut(str(path), 200)} cannot be written: {error.strerror}") from None
    os.close(handle)
    remove([name])
    with suppress(OSError):
        if len(os.fsencode(path.name)) > os.pathconf(path.parent, "PC_NAME_MAX"):
            raise ValueError(f"{cut(str(path), 200)} cannot be written: the name is too long")


def in_words(error: OSError) -> str:
    """Return what went wrong with a file as a sentence without its number."""
    if error.errno is None or error.filename is None:
        return error.strerror.lower() if error.strerror else str(error)
    name = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else str(error.filename)
    name = cut(name, 200)
    if isinstance(error, FileNotFoundError):
        return f"there is no file {name}"
    if isinstance(error, IsADirectoryError):
        return f"{name} is a folder, not a file"
    return f"{name} cannot be read or written: {os.strerror(error.errno).lower()}"


def replace_file(path: Path, *parts: bytes | memoryview) -> None:
    """Replace the file at `path` by these bytes; whenever this is killed, the old file or the new one is there."""
    fresh = {path: _written_beside(path, *parts)}
    try:
        _replace_all(fresh)
    finally:
        _drop(fresh)


def write_atomically(path: Path, text: str) -> None:
    """Replace the file at `path` by `text`; on any failure the old file stays as it was. Links are followed."""
    write_all_atomically({path: text})


def write_all_atomically(texts: Mapping[Path, str]) -> None:
    """Replace the file at each path by its text, all or none: on any failure all stay as they were."""
    fresh: dict[Path, Beside] = {}
    try:
        for path, text in texts.items():
            check_regular(path)
            place = Path(os.path.realpath(path))
            if place in fresh:
                raise ValueError(f"every text must have a file of its own, got {shown(str(path))} more than once")
            remove_leftovers(place)
            fresh[place] = _written_beside(place, text.encode())
        _replace_all(fresh)
    finally:
        _drop(fresh)


def _written_beside(path: Path, *parts: bytes | memoryview) -> Beside:
    """Return a new file beside `path` that holds these bytes, safely on the disk."""
    handle, name = create_beside(path)
    try:
        write_fully(handle, *parts)
    except BaseException as error:
        _drop({path: (handle, name)})
        if isinstance(error, OSError) and error.errno is not None and error.filename is None:
            error.filename = str(path)  # the system does not say which file it was
        raise
    return handle, name


def _replace_all(fresh: dict[Path, Beside]) -> None:
    """Rename the new files to their places; when one cannot be, the others are taken back."""
    saved: dict[Path, Beside] = {}
    done: list[Path] = []
    try:
        for path in list(fresh)[:-1]:  # when the last one fails there is nothing of its own to take back
            if path.exists():
                saved[path] = second_name(path)
        for path, (handle, name) in fresh.items():
            if os.name == "nt" and handle is not None:  # where an open file cannot be renamed
                os.close(handle)
                fresh[path] = (None, name)
            os.replace(name, path)
            done.append(path)
    except BaseException:
        for path in done:
            _take_back(path, saved.pop(path, None))  # where that fails too, the old file keeps its second name
        raise
    finally:
        _drop(saved)


def _take_back(path: Path, old: Beside | None) -> None:
    """Put the old file back to its place, or nothing where there was none."""
    if old is None:
        path.unlink()
        return
    if old[0] is not None:
        os.close(old[0])
    os.replace(old[1], path)


def _drop(files: Mapping[Path, Beside]) -> None:
    """Close and remove files that are no longer needed."""
    for handle, _ in files.values():
        if handle is not None:
            os.close(handle)
    remove(name for _, name in files.values())
