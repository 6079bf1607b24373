"""When a search is saved, and how it continues from its file."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from bestleaf.certificate.schema import part_name
from bestleaf.checkpoint import Checkpoint, Saved
from bestleaf.checkpoint.codec import Json, fresh_stream, kind_of
from bestleaf.checkpoint.file import File, Lock, read_file, refuse, write_file
from bestleaf.checkpoint.identity import difference, identity
from bestleaf.engine.bounds import BOUNDS
from bestleaf.engine.rules import RULES
from bestleaf.files import in_words, remove_leftovers
from bestleaf.search.growth.lookahead import called
from bestleaf.search.loop import start_over
from bestleaf.search.settings import Seed, Settings, name_of, stream
from bestleaf.search.snapshot import Running, Snapshot, pairs, restore, snapshot_of


class Saver:
    """Saves a search to its checkpoint, if it has one, and continues it from there.

    While the search runs, no other run can save to the same file.

    If a budget runs out in the middle of some work, the search ends otherwise than it would with a larger budget. Then
    the file holds two snapshots. From the last one before that work, the search continues with a larger budget. From
    the end, it is restored if the same command is run again.
    """

    def __init__(self, given: str | os.PathLike[str] | Checkpoint | None) -> None:
        self.checkpoint = Checkpoint.of(given)
        self.resumed = False  # the search continues from a file
        self.found: File | None = None
        self._identity: dict[str, Json] | None = None  # once the search has begun
        self._complete = False  # the file has the end of the search already
        self._last: Snapshot = {}
        self._due = 0.0
        self._lock: Lock | None = None
        self._seen: tuple[int, ...] | None = None  # inode, time and size of the file that was read
        if self.checkpoint is not None:
            self.checkpoint.check()
            self._read(self.checkpoint.file)

    def _read(self, file: Path) -> None:
        """Read the file, if there is one that has not been read yet."""
        there = file.stat() if file.exists() else None
        seen = None if there is None else (there.st_ino, there.st_mtime_ns, there.st_size)
        if seen is not None and seen != self._seen:
            self.found, self._seen = read_file(file), seen

    def stream(self, seed: Seed) -> tuple[np.random.Generator, int | None]:
        """Return the random stream of a seed, and the seed; without a seed, those of the file if there is one."""
        if self.checkpoint is None or self.found is None or seed is not None:
            return stream(seed)
        try:
            saved = Saved(self.found.get("identity"), {})
            if saved.get("seed") is None:
                return fresh_stream(saved.get("random stream")), None
            return stream(saved.whole("seed", 0, 2**128))
        except Exception as error:
            refuse(self.checkpoint.file, error)

    def begin(self, search: Running, answer: object) -> None:
        """Continue from the file if there is one, otherwise create it; a second call does nothing."""
        if self.checkpoint is None or self._identity is not None:
            return
        begun, file = perf_counter(), self.checkpoint.file
        self._identity, self._lock = identity_of(search, answer), Lock(file)
        try:
            remove_leftovers(file)
            self._read(file)  # another run may have saved to it in the meantime
            if self.found is not None:
                self._resume(search, file, self.found)
                self.found, self.resumed = None, True
            self._last = snapshot_of(search)
            if not self.resumed:
                self._write(search, [self._last])
        except BaseException:
            self._lock.release()
            self._identity = None
            raise
        self._due = perf_counter() + self.checkpoint.pause(perf_counter() - begun)

    def slice_over(self, search: Running) -> None:
        """Save the search if enough time has passed."""
        if self.checkpoint is not None and not search.budget.cut_short and perf_counter() >= self._due:
            self._save(search, self.checkpoint)

    def over(self, search: Running) -> None:
        """Save the search at its end, and release the file."""
        if self.checkpoint is not None and not self._complete:
            self._save(search, self.checkpoint)
            self._complete = True
        if self._lock is not None:
            self._lock.release()

    def _save(self, search: Running, checkpoint: Checkpoint) -> None:
        """Write a snapshot; if that fails, as on a full disk, warn and let the search go on."""
        begun = perf_counter()
        taken = self._snapshots(search)
        try:
            self._write(search, taken)
            self._last = taken[0]
        except OSError as error:
            told = f"checkpoint could not be written: {in_words(error)}; the search goes on"
            warnings.warn(told, RuntimeWarning, stacklevel=4)
        self._due = perf_counter() + checkpoint.pause(perf_counter() - begun)

    def _snapshots(self, search: Running) -> list[Snapshot]:
        """Return the snapshot of now; if a budget has cut work short, the last snapshot before that goes first."""
        now, state = snapshot_of(search), search.state
        cut = search.budget.cut_short
        if not cut or state.reason is None:
            return [now]
        before = {**self._last, "seconds": search.budget.seconds}
        asked = {repr(pair[0]) for pair in before["values"]}
        known = pairs({**state.values, **state.spare})
        before["spare"] = [pair for pair in known if repr(pair[0]) not in asked]
        return [before] if state.reason == "interrupted" else [before, now]

    def _write(self, search: Running, snapshots: list[Snapshot]) -> None:
        if self.checkpoint is None:
            return
        if self._lock is None or not self._lock.held:
            raise ValueError(f"checkpoint {self.checkpoint.file.name} is being used by another search of this program")
        content = {
            "identity": self._identity,
            "epsilon": search.state.settings.epsilon,
            "max_samples": search.state.settings.max_samples,
            "max_time": search.state.settings.max_time,
            "reason": search.state.reason,
            "samples": search.state.samples,
            "snapshots": {str(place): one for place, one in enumerate(snapshots)},
        }
        write_file(self.checkpoint.file, content)

    def _resume(self, search: Running, file: Path, found: File) -> None:
        """Restore the search: at its end if it is over, otherwise where it can continue."""
        try:
            saved = Saved(found, found.arrays)
            other = difference(saved.get("identity"), self._identity or {})
        except Exception as error:
            refuse(file, error)
        if other is not None:
            raise ValueError(f"{file.name} is the checkpoint of another search: {other}")
        try:
            snapshots = saved.part("snapshots")
            first = snapshots.part("0")  # there is always one
            same_promise = saved.number("epsilon", 0.0, 1.0) == search.state.settings.epsilon
            over = same_promise and _is_over(search.state.settings, saved, snapshots)
            restore(search, snapshots.part(max(snapshots.content, key=int)) if over else first)
        except Exception as error:
            refuse(file, error)
        if over:
            search.state.reason, self._complete = saved.get("reason"), True
        if not same_promise:
            start_over(search.state, search.stages)


def identity_of(search: Running, answer: object) -> dict[str, Any]:
    """Return what must stay the same if a search continues: all but epsilon, budgets and callback."""
    state, settings = search.state, search.state.settings
    return identity(
        state.problem,
        {
            **{name: getattr(settings, name) for name in ("task", "delta", "expansion")},
            "stopping": settings.stopping_name,
            "rule": part_name(settings.rule.name, RULES, ours=settings.rule in RULES.values()),
            "bound": part_name(settings.bound.name, BOUNDS, ours=settings.bound in BOUNDS.values()),
            "proposal": called(search.growth.proposals),
            "guarantee": sorted(settings.guarantee),
            "batch_size": settings.batch_size,
            "growth": None if settings.growth is None else name_of(settings.growth),
            "answer": name_of(answer),
            "stages": [type(stage).__name__ for stage in search.stages],
            "random stream": kind_of(state.rng),
            "seed": state.seed,
        },
    )


def stored_seed(given: str | os.PathLike[str] | Checkpoint | None) -> int | None:
    """Return the seed in a checkpoint; None if there is no file yet, or no seed in it."""
    saver = Saver(given)
    return saver.stream(None)[1] if saver.found else None


def _is_over(settings: Settings, saved: Saved, snapshots: Saved) -> bool:
    """Whether the saved search has ended, for a reason that still holds with these settings.

    Two snapshots of a settled answer say that the graph grew less because the budget was near its end. With a
    larger budget the search goes on from the first of them.
    """
    reason = saved.get("reason")
    if reason == "settled":
        return len(snapshots.content) == 1 or all(_at_most(settings, saved, one) for one in ("max_samples", "max_time"))
    if reason == "max_samples" and settings.max_samples is not None:
        return settings.max_samples <= saved.whole("max_samples")
    seconds = snapshots.part("0").number("seconds", 0.0, 1e15)
    return reason == "max_time" and settings.max_time is not None and settings.max_time <= seconds


def _at_most(settings: Settings, saved: Saved, name: str) -> bool:
    """Whether a limit of the settings is not larger than that of the saved search."""
    if saved.get(name) is None:
        return True
    given = getattr(settings, name)
    return given is not None and given <= saved.number(name, 0.0, 1e300)
