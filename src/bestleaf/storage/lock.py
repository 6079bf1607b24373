"""A lock on a checkpoint: two runs never save to one file, and a run that was killed leaves no lock.

The lock is on a small file beside the checkpoint, because every snapshot replaces the checkpoint itself. The system
takes it off when the process ends, however it ends.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import threading
import warnings
from contextlib import suppress
from pathlib import Path
from weakref import WeakValueDictionary, finalize

from bestleaf.temporary import NEVER_A_LINK, name_beside, try_lock

TRIES = 100  # others may remove the file between the moment it is opened and the moment it is locked
READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)

_held: WeakValueDictionary[Path, Lock] = WeakValueDictionary()  # by this process
_guard = threading.RLock()


class Lock:
    """The right to save to a checkpoint, until `release` or the end of the process.

    In one process a new search takes over from an earlier one of the same thread, or of a thread that has ended: the
    earlier one is not running. One that runs in another thread keeps it.
    """

    def __init__(self, checkpoint: Path) -> None:
        self.checkpoint = checkpoint
        self._thread = threading.current_thread()
        with _guard:
            earlier = _held.get(checkpoint)
            if earlier is not None and not earlier._runs_elsewhere():
                earlier.release()
            handle = _locked_file(checkpoint)
            self._end = finalize(self, _unlock, handle, name_beside(checkpoint, "lock"), os.getpid())
            _held[checkpoint] = self

    @property
    def held(self) -> bool:
        """Whether it is still held."""
        return self._end.alive

    def release(self) -> None:
        """Let others have it."""
        self._end()

    def _runs_elsewhere(self) -> bool:
        return self._thread is not threading.current_thread() and self._thread.is_alive()


def _locked_file(checkpoint: Path) -> int | None:
    """Return the handle of the file beside a checkpoint, locked; None where there can be no lock."""
    name = name_beside(checkpoint, "lock")
    for _ in range(TRIES):
        try:
            handle = os.open(name, os.O_RDWR | os.O_CREAT | NEVER_A_LINK, 0o666)
        except OSError as error:
            if error.errno in READ_ONLY and not os.path.lexists(name):
                return None  # nobody can save here at all
            raise
        try:
            if _is_mine(handle, name, checkpoint):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
    raise ValueError(f"checkpoint {checkpoint.name} cannot be locked: other runs come and go; try again")


def _is_mine(handle: int, name: Path, checkpoint: Path) -> bool:
    """Lock the file; False if whoever had it before has removed it in the meantime."""
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
        raise ValueError(
            f"checkpoint {checkpoint.name} is being used by another run{_whose(handle)}; wait until it ends, or give "
            "another file"
        )
    with suppress(FileNotFoundError):
        if os.path.samestat(os.fstat(handle), os.lstat(name)):
            with suppress(OSError):  # the number of the process is a courtesy
                os.truncate(handle if os.truncate in os.supports_fd else name, 0)
                os.write(handle, str(os.getpid()).encode())
            return True
    return False


def _whose(handle: int) -> str:
    """Return which process has the lock, as it says itself."""
    with suppress(OSError, ValueError):
        return f" (process {int(os.read(handle, 20))})"
    return ""


def _unlock(handle: int | None, name: Path, process: int) -> None:
    """Remove the file and take the lock off; a forked child of the process does not."""
    if handle is None:
        return
    if os.getpid() == process and sys.platform != "win32":
        with suppress(OSError):
            os.unlink(name)
    os.close(handle)
    if os.getpid() == process and sys.platform == "win32":  # where an open file cannot be removed
        with suppress(OSError):
            os.unlink(name)
