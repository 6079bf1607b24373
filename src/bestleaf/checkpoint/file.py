"""One checkpoint file: written whole or not at all, checked when it is read, used by one run at a time.

The file begins with one line: what it is, the version of the format, the SHA-256 of the rest. The rest is an
uncompressed .npz of plain arrays; one of them is JSON. The lock is on a small hidden file beside the checkpoint,
because every snapshot replaces the checkpoint itself. The system removes the lock when the process ends, however it
ends.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
import threading
import warnings
import zipfile
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any, NoReturn
from weakref import WeakValueDictionary, finalize

import numpy as np

from bestleaf.files import NEVER_A_LINK, close_and_remove, name_beside, replace_file, try_lock

VERSION = 3
HEAD = re.compile(rb"bestleaf checkpoint (\d{1,9}) ([0-9a-f]{64})")
KINDS = tuple(np.dtype(kind) for kind in (np.float64, np.int64, np.uint64, np.uint8))

TRIES = 100  # another run may remove the lock file between the moment it is opened and the moment it is locked
READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)
_held: WeakValueDictionary[Path, Lock] = WeakValueDictionary()  # the locks of this process
_guard = threading.RLock()


class File(dict[str, Any]):
    """The JSON of a checkpoint, and its arrays."""

    arrays: dict[str, np.ndarray]


def write_file(path: Path, content: dict[str, Any]) -> None:
    """Replace the file at `path`; even if the process is killed, the old or the new file is complete."""
    arrays: dict[str, np.ndarray] = {}
    plain = _split(content, "", arrays)
    text = json.dumps(plain, allow_nan=False, separators=(",", ":")).encode()
    body = BytesIO()
    np.savez(body, json=np.frombuffer(text, np.uint8), **arrays)  # type: ignore[arg-type]
    data = body.getbuffer()
    head = f"bestleaf checkpoint {VERSION} {hashlib.sha256(data).hexdigest()}\n"
    replace_file(path, head.encode(), data)


def _split(content: Any, name: str, arrays: dict[str, np.ndarray]) -> Any:
    """Return the content without its arrays; move these into `arrays`, named by their path in the content."""
    if not isinstance(content, dict):
        return content
    found = {}
    for key, value in content.items():
        if isinstance(value, np.ndarray):
            arrays[f"{name}{key}"] = np.ascontiguousarray(value)
        else:
            found[key] = _split(value, f"{name}{key}.", arrays)
    return found


def read_file(path: Path) -> File:
    """Return the content of a checkpoint; refuse a file that is not one."""
    head, _, data = path.read_bytes().partition(b"\n")
    match = HEAD.fullmatch(head)
    if match is None:
        raise ValueError(f"{path.name} is not a checkpoint of bestleaf: it does not begin like one")
    if int(match[1]) != VERSION:
        raise ValueError(
            f"{path.name} is a checkpoint of format {int(match[1])}, this version of bestleaf reads format {VERSION}"
        )
    if hashlib.sha256(data).hexdigest().encode() != match[2]:
        raise ValueError(f"{path.name} is not a checkpoint of bestleaf: it was damaged, its checksum is wrong")
    try:
        return _parsed(data)
    except Exception as error:  # any error becomes one sentence
        refuse(path, error)


def refuse(path: Path, error: Exception) -> NoReturn:
    """Raise one sentence: the content of a checkpoint is wrong."""
    told = " ".join(str(error).split())[:300] or type(error).__name__
    raise ValueError(f"{path.name} is not a checkpoint of bestleaf: {told}") from error


def _parsed(data: bytes) -> File:
    """Return the JSON and the arrays of a file; refuse arrays that claim to be larger than the file."""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        members = archive.infolist()
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        raise ValueError("its arrays must not be compressed")
    if sum(member.file_size for member in members) > len(data):
        raise ValueError("its arrays are larger than the file")
    with np.load(BytesIO(data), allow_pickle=False) as read:
        arrays = {name: np.asarray(read[name]) for name in read.files}
    for array in arrays.values():
        if array.dtype not in KINDS or not array.flags.c_contiguous:
            raise ValueError(f"its arrays must hold plain numbers in rows, got {array.dtype}")
    content = json.loads(arrays.pop("json").tobytes(), parse_constant=_no_constant)
    if not isinstance(content, dict):
        raise ValueError("its content must be an object")
    found = File(content)
    found.arrays = arrays
    return found


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"its numbers must be finite, got {text}")


class Lock:
    """The right to save to a checkpoint, until `release` or the end of the process.

    Within one process a new search takes the lock of an earlier search of the same thread or of a thread that has
    ended, because that search no longer runs. A search that runs in another thread keeps its lock.
    """

    def __init__(self, checkpoint: Path) -> None:
        self._thread = threading.current_thread()
        with _guard:
            earlier = _held.get(checkpoint)
            if earlier is not None and (earlier._thread is self._thread or not earlier._thread.is_alive()):
                earlier.release()
            handle = _locked_file(checkpoint)
            self._end = finalize(self, _unlock, handle, name_beside(checkpoint, "lock"), os.getpid())
            _held[checkpoint] = self

    @property
    def held(self) -> bool:
        """Whether it is still held."""
        return self._end.alive

    def release(self) -> None:
        """Release the lock."""
        self._end()


def _locked_file(checkpoint: Path) -> int | None:
    """Return the handle of the locked file beside a checkpoint; None if the folder cannot be written to."""
    name = name_beside(checkpoint, "lock")
    for _ in range(TRIES):
        try:
            handle = os.open(name, os.O_RDWR | os.O_CREAT | NEVER_A_LINK, 0o666)
        except OSError as error:
            if error.errno in READ_ONLY and not os.path.lexists(name):
                return None
            raise
        try:
            if _is_mine(handle, name, checkpoint):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
    raise ValueError(f"checkpoint {checkpoint.name} cannot be locked, because other runs keep using it; try again")


def _is_mine(handle: int, name: Path, checkpoint: Path) -> bool:
    """Lock the file; False if the run that held the lock before has removed the file in the meantime."""
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        raise ValueError(f"{name} must be a file, got a folder or a device")
    try:
        free = try_lock(handle)
    except OSError as error:
        reason = os.strerror(error.errno or 0).lower()
        told = f"checkpoint {checkpoint.name} cannot be locked here ({reason}): do not start a second run on it"
        warnings.warn(told, RuntimeWarning, stacklevel=2)
        return True
    if not free:
        whose = ""
        with suppress(OSError, ValueError):
            whose = f" (process {int(os.read(handle, 20))})"
        told = f"checkpoint {checkpoint.name} is being used by another run{whose}"
        raise ValueError(f"{told}; wait until it ends, or give another file")
    with suppress(FileNotFoundError):
        if os.path.samestat(os.fstat(handle), os.lstat(name)):
            with suppress(OSError):  # the number of the process is a courtesy
                os.truncate(handle if os.truncate in os.supports_fd else name, 0)
                os.write(handle, str(os.getpid()).encode())
            return True
    return False


def _unlock(handle: int | None, name: Path, process: int) -> None:
    """Remove the file, which ends the lock; a forked child of the process only closes it."""
    if handle is not None:
        with suppress(OSError):
            close_and_remove(handle, name, remove=os.getpid() == process)
