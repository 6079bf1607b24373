"""Checkpoints: save a search and continue it. Nothing in the file is ever executed.

The file holds the states, not the graph. The problem builds the graph again from the states. So no file, even a forged
one, can make a kernel read outside its arrays.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from math import inf
from pathlib import Path

from bestleaf.checkpoint.codec import Saved
from bestleaf.checks import number, shown
from bestleaf.files import check_regular

__all__ = ["Checkpoint", "Saved"]

FOLDS = ".folds"  # ending of the file beside a checkpoint that holds the folds of a choice by left-out rows
MOST_SAVING = 20  # saving takes at most about one twentieth of the time


@dataclass(frozen=True)
class Checkpoint:
    """A file that a search is saved to; if the file exists, the search continues from it.

    Parameters
    ----------
    path : str or path
        The file; its folder must exist.
    every : float, default=3.0
        The search is saved at most once in so many seconds, and less often if saving would take more than about a
        twentieth of the time. 0 saves after every slice of the search.

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
        if not os.fspath(self.path) or "\0" in str(self.path):
            raise ValueError(f"checkpoint must be the path of a file, got {shown(os.fspath(self.path))}")
        number("every", self.every, "a number of seconds of at least 0", 0, inf)

    @classmethod
    def of(cls, given: str | os.PathLike[str] | Checkpoint | None) -> Checkpoint | None:
        """Return a path as a Checkpoint; a Checkpoint or None stays as it is."""
        return given if given is None or isinstance(given, cls) else cls(given)  # type: ignore[arg-type]

    @property
    def file(self) -> Path:
        """The file itself; links are followed."""
        return Path(os.path.realpath(self.path))

    def check(self) -> None:
        """Refuse a path that cannot be written to, before any work is done."""
        check_regular(Path(self.path))
        if not self.file.parent.is_dir():
            raise ValueError(f"checkpoint must be in a folder that exists, got {shown(os.fspath(self.path))}")

    def numbered(self, place: int) -> Checkpoint:
        """Return the checkpoint of a further search of the same selection: PATH.1, PATH.2 and so on."""
        return Checkpoint(f"{os.fspath(self.path)}.{place}", self.every)

    def pause(self, seconds: float) -> float:
        """Return how long to wait after a snapshot that took this many seconds."""
        return max(self.every, MOST_SAVING * seconds) if self.every else 0.0
