"""Checkpoints of a search that evaluates all subsets: it goes on in the middle of a block, also after it was killed."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from bestleaf.certificate.all_subsets import LISTED, BlockSummary
from bestleaf.certificate.numbering import Block
from bestleaf.checkpoint import Checkpoint, Saved
from bestleaf.checkpoint.codec import Json
from bestleaf.checkpoint.file import OUTPUTS, File, Lock, checked_outputs, read_file, refuse, write_file
from bestleaf.checkpoint.identity import difference, identity
from bestleaf.features.exhaust import NOBODY, Exhaustion, Standing
from bestleaf.files import in_words, remove_leftovers

SEARCH = "all subsets"  # what the identity calls this kind of search


class SavedBlocks:
    """A context in which all subsets are evaluated; with a checkpoint, what is known is read from it and saved to it.

    Parameters
    ----------
    given : Checkpoint or None
        The file; None saves nothing.
    exhaustion : Exhaustion
        What is saved.
    told : dict
        Epsilon and limits of the search.
    seed : int
        The seed, which the file must have, too.
    notes : list of dict
        The history of the search, which is saved, too.
    check : callable
        Refuses a history from a file that cannot be one.
    """

    def __init__(
        self,
        given: Checkpoint | None,
        exhaustion: Exhaustion,
        told: dict[str, Json],
        seed: int,
        notes: list[dict[str, Any]],
        check: Callable[[list[dict[str, Any]]], None],
    ) -> None:
        self.checkpoint, self.exhaustion, self.told, self.notes, self.check = given, exhaustion, told, notes, check
        self.resumed = False
        self._lock: Lock | None = None
        self._due = 0.0
        self._outputs: dict[str, list[str]] = {}
        if given is not None:
            given.check()
            about = {"search": SEARCH, "block": exhaustion.standing.block, "listed": LISTED, "seed": seed}
            self._identity = identity(exhaustion.lattice, about)

    def __enter__(self) -> SavedBlocks:
        if self.checkpoint is not None:
            self._lock = Lock(self.checkpoint.file)
            try:
                self._begin(self.checkpoint)
            except BaseException:
                self._lock.release()
                raise
        return self

    def __exit__(self, *error: object) -> None:
        if self._lock is not None:
            self._lock.release()

    def _begin(self, checkpoint: Checkpoint) -> None:
        """Read the file if there is one, otherwise create it."""
        remove_leftovers(checkpoint.file)
        if not checkpoint.file.exists():
            self.save(None, now=True)
            return
        found = read_file(checkpoint.file)
        try:
            saved = Saved(found, found.arrays)
            other = difference(saved.get("identity"), self._identity)
            self._outputs = checked_outputs(found)
        except ValueError as error:
            refuse(checkpoint.file, error)
        if other is not None:
            raise ValueError(f"{checkpoint.file.name} is the checkpoint of another search: {other}")
        try:
            self._restore(saved.part("snapshots").part("0"))
        except ValueError as error:
            refuse(checkpoint.file, error)
        self.resumed = True

    def save(self, reason: str | None, *, now: bool = False) -> None:
        """Save what is known if it is time, or in any case if it must be `now`; warn if that fails."""
        if self.checkpoint is None or not (now or perf_counter() >= self._due):
            return
        begun = perf_counter()
        content = {
            "identity": self._identity,
            **self.told,
            "reason": reason,
            "samples": 0,
            OUTPUTS: self._outputs,
            "snapshots": {"0": self._snapshot()},
        }
        try:
            write_file(self.checkpoint.file, content)
        except OSError as error:
            told = f"checkpoint could not be written: {in_words(error)}; the search goes on"
            warnings.warn(told, RuntimeWarning, stacklevel=4)
        self._due = perf_counter() + self.checkpoint.pause(perf_counter() - begun)

    def _snapshot(self) -> dict[str, Json]:
        now = self.exhaustion.standing
        return {
            "values": [],
            "notes": list(self.notes),
            "seconds": self.exhaustion.budget.seconds,
            "evaluated": now.evaluated,
            "at": now.at,
            "hashes": [one.digest for one in now.summaries],
            "tops": [one.top for one in now.summaries],
            "counts": np.array([[one.count, one.reached] for one in now.summaries], np.int64).reshape(-1, 2),
            "floors": np.array([one.floor for one in now.summaries], np.float64),
            "part": now.part,
            "best": now.best,
            "best_values": now.best_values,
            "by_size": now.by_size,
            "size_values": now.size_values,
        }

    def _restore(self, saved: Saved) -> None:
        """Restore a snapshot. Nothing in it is trusted, and the best value is computed again."""
        now, total = self.exhaustion.standing, self.exhaustion.standing.numbering.total
        at = saved.whole("at", 0, total)
        done = at // now.block if at < total else -(-total // now.block)
        summaries = _summaries(saved, done)
        standing = replace(
            now,
            at=at,
            evaluated=saved.whole("evaluated", 0, at),
            summaries=summaries,
            part=saved.array("part", (None,), -1.0, 1.0),
            best=saved.array("best", (None,), 0, total - 1, np.int64),
            best_values=saved.array("best_values", (None,), 0.0, 1.0),
            by_size=saved.array("by_size", now.by_size.shape, NOBODY, total - 1, np.int64),
            size_values=saved.array("size_values", now.size_values.shape, -1.0, 1.0),
        )
        if at > standing.begun:
            standing.listed = [Block(now.numbering, standing.begun, at, now.groups)]
        _check_standing(standing)
        if len(standing.best):
            units = standing.numbering.units(int(standing.best[0]))
            again = self.exhaustion.lattice.oracle.value(self.exhaustion.lattice.features_of(units))
            if again != standing.best_values[0]:
                raise ValueError(f"the best value is {again:.6g}, not {standing.best_values[0]:.6g}")
        notes, seconds = saved.listed("notes"), saved.number("seconds", 0.0, 1e15)
        self.exhaustion.budget.start(max(seconds, self.exhaustion.budget.seconds))
        self.check(notes)
        self.notes[:] = notes
        self.exhaustion.standing = standing


def _summaries(saved: Saved, many: int) -> list[BlockSummary]:
    """Return the summaries of blocks that are done."""
    counts = saved.array("counts", (many, 2), 0, kind=np.int64).tolist()
    floors, tops, hashes = (
        saved.array("floors", (many,), 0.0, 1.0).tolist(),
        saved.listed("tops"),
        saved.listed("hashes"),
    )
    fine = len(tops) == len(hashes) == many and all(isinstance(one, str) and len(one) == 64 for one in hashes)
    if not fine or not all(one is None or (type(one) is float and 0.0 <= one <= 1.0) for one in tops):
        raise ValueError(f"there must be a hash and a highest value for each of {many:,} blocks")
    rows = zip(counts, floors, tops, hashes, strict=True)
    return [BlockSummary(count, reached, floor, top, digest) for (count, reached), floor, top, digest in rows]


def _check_standing(now: Standing) -> None:
    """Refuse numbers that do not fit each other."""
    waiting = sum(len(block) for block in now.listed)
    done = sum(one.count for one in now.summaries)
    if len(now.part) != waiting or now.evaluated != done + waiting:
        raise ValueError(f"evaluated must be {done + waiting:,}, with {waiting:,} values of the block that is not done")
    ordered = (np.diff(now.best_values) <= 0).all() and len(np.unique(now.best)) == len(now.best)
    if len(now.best) != min(LISTED, done) or len(now.best_values) != len(now.best) or not ordered:
        raise ValueError(f"best must list {min(LISTED, done):,} different subsets, the best first")
    if (now.best >= now.begun).any() or (now.by_size >= max(now.begun, 1)).any():
        raise ValueError("best must list subsets of the blocks that are done")


def search_kind(given: str | os.PathLike[str] | Checkpoint | None) -> str | None:
    """Return what kind of search a checkpoint holds: "all subsets" or "graph"; None if there is no file."""
    checkpoint = Checkpoint.of(given)
    if checkpoint is None or not os.path.isfile(checkpoint.file):
        return None
    found: File = read_file(checkpoint.file)
    about = found.get("identity")
    return SEARCH if isinstance(about, dict) and about.get("search") == SEARCH else "graph"
