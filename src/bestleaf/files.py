"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path


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


def write_atomically(path: Path, text: str) -> None:
    """Replace the file at `path` by `text`; on any failure the old file stays as it was. Links are followed."""
    path = Path(os.path.realpath(path))
    check_regular(path)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".bestleaf.")
    try:
        mask = os.umask(0)  # the only way to ask for it
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name)
        raise
