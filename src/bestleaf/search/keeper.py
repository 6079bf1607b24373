"""When a search is saved, and how it goes on from there."""

from __future__ import annotations

import warnings
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from bestleaf.files import in_words
from bestleaf.search.identity import difference, identity_of
from bestleaf.search.options import stream
from bestleaf.search.snapshot import known_values, restore, snapshot_of
from bestleaf.storage import Checkpoint, Saved
from bestleaf.storage.file import File, read_file, refuse, write_file
from bestleaf.storage.lock import Lock
from bestleaf.storage.outputs import OUTPUTS, checked_outputs
from bestleaf.storage.streams import fresh_stream
from bestleaf.temporary import remove_leftovers

Snapshot = dict[str, Any]


class Keeper:
    """Saves a search to its checkpoint, if it has one, and lets it go on from there.

    From its beginning to its end no other run can save to the same file.

    A budget may run out in the middle of something, which then ends in another way than it would have with more. The
    file then holds two snapshots: the last one before, for a larger budget, and the end, for the same command again.
    """

    def __init__(self, given: Any) -> None:
        self.checkpoint = Checkpoint.of(given)
        self.resumed = False  # the search goes on from a file
        self.found: File | None = None
        self._identity: dict[str, Any] | None = None  # once the search has begun
        self._complete = False  # the file has the end of the search already
        self._last: Snapshot = {}
        self._due = 0.0
        self._lock: Lock | None = None
        self._seen: tuple[int, ...] | None = None  # what marks the file that was read
        self._outputs: dict[str, list[str]] = {}
        if self.checkpoint is not None:
            self.checkpoint.check()
            self._read(self.checkpoint.file)

    def _read(self, file: Path) -> None:
        """Read the file, if there is one that has not been read yet."""
        seen = _mark(file)
        if seen is not None and seen != self._seen:
            self.found, self._seen = read_file(file), seen

    def stream(self, seed: Any) -> tuple[np.random.Generator, int | None]:
        """Return the random stream of a seed; without one it is that of the file, if there is a file."""
        if self.checkpoint is None or self.found is None or seed is not None:
            return stream(seed)
        try:
            identity = Saved(self.found.get("identity"), {})
            if identity.get("seed") is None:
                return fresh_stream(identity.get("random stream")), None
            return stream(identity.whole("seed", 0, 2**128))
        except Exception as error:
            refuse(self.checkpoint.file, error)

    def begin(self, search: Any) -> None:
        """Go on from the file if there is one, otherwise make it; only once."""
        if self.checkpoint is None or self._identity is not None:
            return
        begun, file = perf_counter(), self.checkpoint.file
        self._identity, self._lock = identity_of(search), Lock(file)
        try:
            remove_leftovers(file)
            self._read(file)  # another run may have saved to it in the meantime
            if self.found is not None:
                self._resume(search, self.checkpoint, self.found)
                self.found, self.resumed = None, True
            self._last = snapshot_of(search)
            if not self.resumed:
                self._write(search, [self._last])
        except BaseException:
            self._lock.release()
            self._identity = None
            raise
        self._due = perf_counter() + self.checkpoint.pause(perf_counter() - begun)

    def slice_over(self, search: Any) -> None:
        """Save the search if that is due."""
        if self.checkpoint is not None and not search.cut_short and perf_counter() >= self._due:
            self._save(search)

    def over(self, search: Any) -> None:
        """Save the search at its end, and let others have the file."""
        if self.checkpoint is not None and not self._complete:
            self._save(search)
            self._complete = True
        if self._lock is not None:
            self._lock.release()

    def _save(self, search: Any) -> None:
        """Write a snapshot; a disk that is full must not end the search."""
        begun = perf_counter()
        taken = self._snapshots(search)
        try:
            self._write(search, taken)
            self._last = taken[0]
        except OSError as error:
            told = f"checkpoint could not be written: {in_words(error)}; the search goes on"
            warnings.warn(told, RuntimeWarning, stacklevel=4)
        if self.checkpoint is not None:
            self._due = perf_counter() + self.checkpoint.pause(perf_counter() - begun)

    def _snapshots(self, search: Any) -> list[Snapshot]:
        """Return the search as it stands; if a budget cut it short, the last snapshot before goes first."""
        now = snapshot_of(search)
        cut = search.cut_short or (search.reason == "max_samples" and search.options.rule.both)
        if not cut or search.reason in (None, "identified"):
            return [now]
        before = {**self._last, "elapsed": search.elapsed}
        asked = {repr(pair[0]) for pair in before["values"]}
        before["spare"] = [pair for pair in known_values(search) if repr(pair[0]) not in asked]
        return [before] if search.reason == "interrupted" else [before, now]

    def _write(self, search: Any, snapshots: list[Snapshot]) -> None:
        if self.checkpoint is None:
            return
        if self._lock is None or not self._lock.held:
            raise ValueError(f"checkpoint {self.checkpoint.file.name} is being used by another search of this program")
        options = search.options
        content = {
            "identity": self._identity,
            "epsilon": options.epsilon,
            "max_samples": options.max_samples,
            "reason": search.reason,
            "samples": search.samples,
            OUTPUTS: self._outputs,
            "snapshots": {str(place): one for place, one in enumerate(snapshots)},
        }
        write_file(self.checkpoint.file, content)

    def _resume(self, search: Any, checkpoint: Checkpoint, found: File) -> None:
        """Put the search where the file says it was."""
        try:
            saved = Saved(found, found.arrays)
            other = difference(saved.get("identity"), self._identity or {})
            self._outputs = checked_outputs(found)
        except Exception as error:
            refuse(checkpoint.file, error)
        if other is not None:
            raise ValueError(f"{checkpoint.file.name} is the checkpoint of another search: {other}")
        try:
            self._restore(search, saved)
        except Exception as error:
            refuse(checkpoint.file, error)

    def _restore(self, search: Any, saved: Saved) -> None:
        """Restore the end of a search that is over, otherwise the snapshot to go on from."""
        snapshots = saved.part("snapshots")
        snapshots.part("0")  # there is always one
        same_promise = saved.number("epsilon", 0.0, 1.0) == search.options.epsilon
        over = same_promise and _is_over(search, saved, snapshots)
        place = max(snapshots.content, key=int) if over else "0"
        restore(search, snapshots.part(place))
        if over:
            search.reason, self._complete = saved.get("reason"), True
        if not same_promise:
            search.start_over()


def _mark(file: Path) -> tuple[int, ...] | None:
    """Return what tells a file from one that replaces it; None if there is none."""
    if not file.exists():
        return None
    found = file.stat()
    return found.st_ino, found.st_mtime_ns, found.st_size


def stored_seed(given: Any) -> int | None:
    """Return the seed of the search that a checkpoint is of; None if there is no file yet, or no seed in it."""
    keeper = Keeper(given)
    return keeper.stream(None)[1] if keeper.found else None


def _is_over(search: Any, saved: Saved, snapshots: Saved) -> bool:
    """Whether a search ended for a reason that still stands."""
    options, reason = search.options, saved.get("reason")
    if reason == "identified":
        return True
    if reason == "max_samples" and options.max_samples is not None:
        return options.max_samples <= saved.whole("max_samples")
    elapsed = snapshots.part("0").number("elapsed", 0.0, 1e15)
    return reason == "max_time" and options.max_time is not None and options.max_time <= elapsed
