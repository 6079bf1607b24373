"""Files that are written whole or not at all.

A new file is first written under a random hidden name in the same folder, and then renamed.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from bestleaf.checks import cut, shown


def in_words(error: OSError) -> str:
    """Return what went wrong with a file as a sentence without the error number."""
    if error.errno is None or error.filename is None:
        return error.strerror.lower() if error.strerror else str(error)
    name = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else str(error.filename)
    name = cut(name, 200)
    if isinstance(error, FileNotFoundError):
        return f"there is no file {name}"
    if isinstance(error, IsADirectoryError):
        return f"{name} is a folder, not a file"
    return f"{name} cannot be read or written: {os.strerror(error.errno).lower()}"


def check_regular(path: Path) -> None:
    """Refuse a path that cannot be an ordinary file: a folder, a device, a loop of links, a name too long."""
    named = cut(str(path), 200)
    try:
        mode = path.stat().st_mode
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise ValueError(f"{named} cannot be written: the name is too long") from None
        if error.errno == errno.ELOOP:
            raise ValueError(f"{named} must be a file, got a loop of links") from None
        return
    if not stat.S_ISREG(mode):
        raise ValueError(f"{named} must be a file, got a folder or a device")


def check_writable(path: Path) -> None:
    """Refuse a path that cannot be written to, before any work is done."""
    check_regular(path)
    path = Path(os.path.realpath(path))
    try:
        handle, name = create_beside(path)
    except OSError as error:
        raise ValueError(f"{cut(str(path), 200)} cannot be written: {error.strerror}") from None
    os.close(handle)
    os.unlink(name)


def write_atomically(path: Path, text: str) -> None:
    """Replace the file at `path` by `text`; on any failure the old file stays as it was. Links are followed."""
    write_all_atomically({path: text})


def write_all_atomically(texts: Mapping[Path, str]) -> None:
    """Replace the file at each path by its text; if one of them cannot be written, all old files stay as they were."""
    contents: dict[Path, bytes] = {}
    for path, text in texts.items():
        check_regular(path)
        place = Path(os.path.realpath(path))
        if place in contents:
            raise ValueError(f"every text must have a file of its own, got {shown(str(path))} more than once")
        contents[place] = text.encode()
    fresh: dict[Path, str] = {}
    try:
        for path, content in contents.items():
            handle, fresh[path] = create_beside(path)
            _write(path, handle, content)
        for path, name in fresh.items():
            os.replace(name, path)
    finally:
        for name in fresh.values():
            with suppress(FileNotFoundError):
                os.unlink(name)


def create_beside(path: Path) -> tuple[int, str]:
    """Return handle and hidden name of a new empty file beside `path`, with the permissions of the file at `path`."""
    name = str(path.with_name(f".{token_hex(16)}.partial"))
    never_a_link = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | never_a_link, 0o666)
    with suppress(OSError):  # no file there yet, or a disk without permissions
        os.chmod(handle if os.chmod in os.supports_fd else name, 0o777 & os.stat(path).st_mode)
    return handle, name


def _write(path: Path, handle: int, content: bytes) -> None:
    """Write bytes to an open file that will be that at `path`, safely on the disk, and close it."""
    try:
        with open(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(handle)
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = str(path)  # the system does not say which file it was
        raise
