"""Files that are written whole or not at all.

A new file is first written under a random hidden name in the same folder, and then renamed. It is locked while it is
open. The lock ends with the process. So a hidden file without a lock was left by a run that was killed.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from secrets import token_hex

from bestleaf.checks import cut, shown

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

Beside = tuple[int, str]  # handle and name of a hidden file beside another one

LONGEST = 150  # bytes; the hidden name of a file with a longer name has a hash in its place
TAKEN = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK)
NEVER_A_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
LOCKED_BYTE = 1 << 20  # on Windows a locked byte cannot be read, so it lies beyond the text
NEW, CLOSED = "partial", -1  # ending of hidden names, and the handle of one that is no longer open


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
    remove_leftovers(path)
    try:
        _drop([create_beside(path)])
    except OSError as error:
        raise ValueError(f"{cut(str(path), 200)} cannot be written: {error.strerror}") from None


def write_atomically(path: Path, text: str) -> None:
    """Replace the file at `path` by `text`; on any failure the old file stays as it was. Links are followed."""
    write_all_atomically({path: text})


def write_all_atomically(texts: Mapping[Path, str]) -> None:
    """Replace the file at each path by its text; if one of them cannot be written, all old files stay as they were."""
    contents: dict[Path, tuple[bytes, ...]] = {}
    for path, text in texts.items():
        check_regular(path)
        place = Path(os.path.realpath(path))
        if place in contents:
            raise ValueError(f"every text must have a file of its own, got {shown(str(path))} more than once")
        remove_leftovers(place)
        contents[place] = (text.encode(),)
    _replace(contents)


def replace_file(path: Path, *parts: bytes | memoryview) -> None:
    """Replace the file at `path` by these bytes; even if the process is killed, the old or the new file is complete."""
    _replace({path: parts})


def _replace(contents: Mapping[Path, tuple[bytes | memoryview, ...]]) -> None:
    """Write all files beside their places, then rename them."""
    fresh: dict[Path, Beside] = {}
    try:
        for path, parts in contents.items():
            fresh[path] = create_beside(path)
            _write(path, fresh[path][0], *parts)
        for path, (handle, name) in fresh.items():
            if os.name == "nt":  # Windows cannot rename an open file
                os.close(handle)
                fresh[path] = (CLOSED, name)
            os.replace(name, path)
    finally:
        _drop(fresh.values())


def name_beside(path: Path, ending: str) -> Path:
    """Return the hidden name of a file that belongs to `path`."""
    known = os.fsencode(path.name)
    stem = path.name if len(known) <= LONGEST else sha256(known).hexdigest()
    return path.with_name(f".{stem}.{ending}")


def create_beside(path: Path) -> Beside:
    """Return (handle, name) of a new empty file beside `path`, locked, with the permissions of the file at `path`."""
    name = str(name_beside(path, f"{token_hex(16)}.{NEW}"))
    handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | NEVER_A_LINK, 0o666)
    with suppress(OSError):  # a disk without locks
        try_lock(handle)
    with suppress(OSError):  # no file there yet, or a disk without permissions
        os.chmod(handle if os.chmod in os.supports_fd else name, 0o777 & os.stat(path).st_mode)
    return handle, name


def _write(path: Path, handle: int, *parts: bytes | memoryview) -> None:
    """Write bytes to an open file that will be that at `path`, safely on the disk."""
    try:
        for part in parts:
            rest = memoryview(part)
            while len(rest):
                rest = rest[os.write(handle, rest) :]
        os.fsync(handle)
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = str(path)  # the system does not say which file it was
        raise


def try_lock(handle: int) -> bool:
    """Lock an open file; False if it is locked already, OSError where the disk has no locks."""
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
    """Remove hidden files that killed runs have left beside `path`; files of running processes stay."""
    ours = re.compile(rf"{re.escape(name_beside(path, '').name)}[0-9a-f]{{32}}\.{NEW}")
    with suppress(OSError), os.scandir(path.parent) as entries:  # a folder that may not be listed
        for name in [one.path for one in entries if ours.fullmatch(one.name)]:
            with suppress(OSError):
                _remove_if_left(name)


def _remove_if_left(name: str) -> None:
    """Remove an ordinary file unless a process has a lock on it."""
    if stat.S_ISREG(os.lstat(name).st_mode):
        handle, left = os.open(name, os.O_RDONLY | NEVER_A_LINK), False
        try:
            left = try_lock(handle)
        finally:
            close_and_remove(handle, name, remove=left)


def close_and_remove(handle: int, name: str | Path, *, remove: bool) -> None:
    """Close a locked file. With `remove`, also remove it, under the lock where the system allows that."""
    early = remove and sys.platform != "win32"  # Windows cannot remove an open file
    try:
        if early:
            os.unlink(name)
    finally:
        os.close(handle)
    if remove and not early:
        os.unlink(name)


def _drop(files: Iterable[Beside]) -> None:
    """Close and remove hidden files; they may be gone already."""
    for handle, name in files:
        if handle != CLOSED:
            os.close(handle)
        with suppress(FileNotFoundError):
            os.unlink(name)
