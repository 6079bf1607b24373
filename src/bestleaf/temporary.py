"""Files beside a file: names nobody can foresee, opened exclusively, cleared away when a killed run has left them.

Whoever has such a file open also has a lock on it. A lock dies with its process, so a file without one was left behind.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from secrets import token_hex

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

LONGEST = 150  # bytes of a name that is kept in the names beside it; disks allow 255, some 143
TAKEN = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK)
NEVER_A_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
LOCKED_BYTE = 1 << 20  # on Windows nobody else can read what is locked, so it is a byte beyond the text
NEW, OLD = "partial", "before"  # what is being written, and what it replaces


def name_beside(path: Path, ending: str) -> Path:
    """Return the hidden name of a file that belongs to `path`."""
    known = os.fsencode(path.name)
    stem = path.name if len(known) <= LONGEST else sha256(known).hexdigest()
    return path.with_name(f".{stem}.{ending}")


def create_beside(path: Path) -> tuple[int, str]:
    """Return (handle, name) of a new empty file beside `path`, locked, with the permissions of the file at `path`."""
    name = str(name_beside(path, f"{token_hex(16)}.{NEW}"))
    handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | NEVER_A_LINK, 0o666)
    _locked_like(path, handle, name)
    return handle, name


def _locked_like(path: Path, handle: int, name: str) -> None:
    """Lock an open file and give it the permissions of another, where the disk knows locks and permissions."""
    with suppress(OSError):
        try_lock(handle)
    with suppress(OSError):
        os.chmod(handle if os.chmod in os.supports_fd else name, 0o777 & os.stat(path).st_mode)


def second_name(path: Path) -> tuple[int | None, str]:
    """Return (handle, name) of another name for the file at `path`, or of a copy where the disk knows no links."""
    name = str(name_beside(path, f"{token_hex(16)}.{OLD}"))
    try:
        os.link(path, name)
    except OSError:
        return _copied(path, name), name
    try:
        handle = os.open(name, os.O_RDONLY | NEVER_A_LINK)
    except OSError:  # a file that may be replaced but not read
        return None, name
    with suppress(OSError):
        try_lock(handle)
    return handle, name


def _copied(path: Path, name: str) -> int:
    """Return the handle of a copy of the file at `path`."""
    handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | NEVER_A_LINK, 0o600)
    try:
        _locked_like(path, handle, name)
        write_fully(handle, path.read_bytes())
    except BaseException:
        os.close(handle)
        remove([name])
        raise
    return handle


def write_fully(handle: int, *parts: bytes | memoryview) -> None:
    """Write bytes to an open file and wait until they are on the disk."""
    for part in parts:
        rest = memoryview(part)
        while len(rest):
            rest = rest[os.write(handle, rest) :]
    os.fsync(handle)


def try_lock(handle: int) -> bool:
    """Lock an open file; False if it is locked already, OSError where the disk knows no locks."""
    try:
        if sys.platform == "win32":
            os.lseek(handle, LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            os.lseek(handle, 0, os.SEEK_SET)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in TAKEN:
            return False
        raise
    return True


def remove_leftovers(path: Path) -> None:
    """Remove what runs that were killed have left beside `path`; what another run is writing now stays."""
    stem = re.escape(name_beside(path, "").name)
    ours = re.compile(rf"{stem}[0-9a-f]{{32}}\.({NEW}|{OLD})")
    try:
        with os.scandir(path.parent) as entries:
            found = [one.path for one in entries if ours.fullmatch(one.name)]
    except OSError:  # a folder that may not be listed
        return
    for name in found:
        with suppress(OSError):
            _remove_if_left(name)


def _remove_if_left(name: str) -> None:
    """Remove a file unless somebody has a lock on it."""
    if not stat.S_ISREG(os.lstat(name).st_mode):
        return
    handle = os.open(name, os.O_RDONLY | NEVER_A_LINK)
    try:
        left = try_lock(handle)
        if left and sys.platform != "win32":
            os.unlink(name)
    finally:
        os.close(handle)
    if left and sys.platform == "win32":  # where an open file cannot be removed
        os.unlink(name)


def remove(names: Iterable[str]) -> None:
    """Remove files that may be gone already."""
    for name in names:
        with suppress(FileNotFoundError):
            os.unlink(name)
