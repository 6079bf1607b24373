"""Where a search is saved, and how often."""

from __future__ import annotations

import os
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from bestleaf.checks import number, shown
from bestleaf.files import check_regular

COPIES = 20  # a search spends at most one part in so many on saving itself


@dataclass(frozen=True)
class Checkpoint:
    """A file that a search is saved to, and goes on from if it is there.

    Parameters
    ----------
    path : str or path
        The file; its folder must exist.
    every : float, default=3.0
        Seconds between two snapshots, at least; also, saving takes at most about a twentieth of the time. 0 saves after
        every slice of the search.

    Examples
    --------
    >>> from bestleaf import Checkpoint
    >>> Checkpoint("run.blf", every=60.0).every
    60.0
    """

    path: str | os.PathLike[str]
    every: float = 3.0

    def __post_init__(self) -> None:
        if not isinstance(self.path, str | os.PathLike):
            raise TypeError(f"checkpoint must be a path or a Checkpoint, got {shown(self.path)}")
        number("every", self.every, "a number of seconds of at least 0", 0, inf)

    @classmethod
    def of(cls, given: Any) -> Checkpoint | None:
        """Return a checkpoint given as a path, a Checkpoint or None."""
        return given if given is None or isinstance(given, cls) else cls(given)

    @property
    def file(self) -> Path:
        """The file itself; links are followed."""
        return Path(os.path.realpath(self.path))

    def check(self) -> None:
        """Refuse a path that no file could be at, before any work is done."""
        check_regular(Path(self.path))
        if not self.file.parent.is_dir():
            raise ValueError(f"checkpoint must be in a folder that exists, got {shown(os.fspath(self.path))}")

    def numbered(self, place: int) -> Checkpoint:
        """Return the checkpoint of a further search of the same selection: PATH.1, PATH.2 and so on."""
        return Checkpoint(f"{os.fspath(self.path)}.{place}", self.every)

    def pause(self, seconds: float) -> float:
        """Return how long to wait after a snapshot that took so many seconds."""
        return max(self.every, COPIES * seconds) if self.every else 0.0
