"""Folds that are done, in a file beside the checkpoint: a fit that was killed goes on with the next fold."""

from __future__ import annotations

import os
import warnings
from hashlib import sha256
from math import inf, isfinite
from types import TracebackType

import numpy as np

import bestleaf
from bestleaf.checkpoint import FOLDS, Checkpoint, Saved
from bestleaf.checkpoint.codec import Json
from bestleaf.checkpoint.file import Lock, read_file, refuse, write_file
from bestleaf.checkpoint.identity import difference, identity
from bestleaf.features import FeatureLattice
from bestleaf.files import in_words
from bestleaf.new_data.left_out import Scores
from bestleaf.new_data.part import Candidates, Choosable
from bestleaf.new_data.splits import Split


def folds_file(given: str | os.PathLike[str] | Checkpoint | None) -> Checkpoint | None:
    """Return where the folds of a selection are saved: PATH.folds for a checkpoint at PATH."""
    checkpoint = Checkpoint.of(given)
    return None if checkpoint is None else Checkpoint(f"{os.fspath(checkpoint.path)}{FOLDS}", checkpoint.every)


def seed_of_folds(given: str | os.PathLike[str] | Checkpoint | None) -> int | None:
    """Return the seed that folds were saved with; None if there are none yet."""
    place = folds_file(given)
    if place is None or not os.path.isfile(place.file):  # no error for a name that is too long
        return None
    found = read_file(place.file)
    try:
        return Saved(found, {}).part("identity").whole("seed", 0, 2**128)
    except ValueError as error:
        refuse(place.file, error)


class SavedFolds:
    """A context with the candidates, the scores of the folds done so far, and the seconds they took.

    With a checkpoint they are read from its file, and saved to it. While the context lasts, no other run can save to
    the same file. A file of other data or settings is refused.
    """

    def __init__(
        self,
        given: str | os.PathLike[str] | Checkpoint | None,
        lattice: FeatureLattice,
        choosable: Choosable,
        splits: list[tuple[int, Split]],
        seed: int,
    ) -> None:
        self.candidates: dict[str, Candidates] | None = None
        self.scores: list[Scores] = []
        self.seconds = 0.0
        self._choosable, self._folds, self._place = choosable, len(splits), folds_file(given)
        self._lock: Lock | None = None
        checkpoint = Checkpoint.of(given)
        if checkpoint is not None:
            checkpoint.check()
            rows = sha256(b"-".join(np.asarray(side, np.int64).tobytes() for _, split in splits for side in split))
            settings = {
                "seed": seed,
                "rounds": [number for number, _ in splits],
                "folds": rows.hexdigest(),
                "sizes": list(choosable.sizes),
            }
            self._identity = identity(lattice, {"bestleaf": bestleaf.__version__, **settings})

    def __enter__(self) -> SavedFolds:
        if self._place is not None:
            self._lock = Lock(self._place.file)
            try:
                self._read(self._place)
            except BaseException:
                self._lock.release()
                raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if self._lock is not None:
            self._lock.release()

    def save(self, seconds: float) -> None:
        """Save what is known so far; if that fails, as on a full disk, warn and go on."""
        self.seconds = seconds
        if self._place is None:
            return
        named = self.candidates or {}
        content = {
            "identity": self._identity,
            "seconds": seconds,
            "candidates": {name: [list(units) for units in one.values()] for name, one in named.items()},
            "scores": [
                {
                    "families": {name: _written(row) for name, row in one.by_family.items()},
                    "everything": _written(np.array([one.everything])),
                    "sides": list(one.sides),
                    "round": one.round,
                }
                for one in self.scores
            ],
        }
        try:
            write_file(self._place.file, content)
        except OSError as error:
            told = f"checkpoint could not be written: {in_words(error)}; the choice goes on"
            warnings.warn(told, RuntimeWarning, stacklevel=4)

    def _read(self, place: Checkpoint) -> None:
        """Read the file; if there is none, create it, so that its seed is known from the beginning."""
        if not os.path.exists(place.file):
            self.save(self.seconds)
            return
        found = read_file(place.file)
        try:
            saved = Saved(found, {})
            other = difference(saved.get("identity"), self._identity)
        except ValueError as error:
            refuse(place.file, error)
        if other is not None:
            raise ValueError(f"{place.file.name} has the folds of another selection: {other}")
        try:
            self.seconds = saved.number("seconds", 0.0, 1e15)
            named = saved.part("candidates").content
            self.candidates = {name: self._subsets(name, one) for name, one in named.items()} or None
            self.scores = [self._scores(Saved(one, {}, "scores.")) for one in saved.listed("scores")]
            if len(self.scores) > (self._folds if self.candidates else 0):
                raise ValueError(f"there must be at most {self._folds} scores and candidates for them")
        except ValueError as error:
            refuse(place.file, error)

    def _subsets(self, name: str, given: Json) -> Candidates:
        """Return the candidates of a family, a subset of each size; refuse subsets that may not be chosen."""
        known, forced = set(self._choosable.everything), set(self._choosable.forced)
        found = {}
        if not isinstance(given, list) or not all(isinstance(units, list) for units in given):
            raise ValueError(f"candidates.{name} must be a list of lists, got {str(given)[:80]}")
        for units in given:
            fine = set(map(type, units)) <= {int} and units == sorted(set(units))
            fine = fine and forced <= set(units) <= known and len(units) in self._choosable.sizes
            if not fine:
                raise ValueError(f"candidates.{name} must list subsets that may be chosen, got {str(units)[:80]}")
            found[len(units)] = tuple(units)
        return found

    def _scores(self, saved: Saved) -> Scores:
        """Return the scores of a fold."""
        by_family = {}
        families = saved.part("families")
        for name in families.content:
            by_family[name] = _read_back(families.listed(name), len(self._choosable.sizes))
        train, aside = (Saved({"rows": one}, {}, "sides.").whole("rows", 1) for one in _pair(saved.listed("sides")))
        return Scores(
            by_family, float(_read_back(saved.listed("everything"), 1)[0]), (train, aside), saved.whole("round")
        )


def _pair(given: list[Json]) -> list[Json]:
    if len(given) != 2:
        raise ValueError(f"scores.sides must be two numbers of rows, got {str(given)[:80]}")
    return given


def _written(scores: np.ndarray) -> list[float | None]:
    """Return scores as JSON, which has no nan."""
    return [float(one) if isfinite(one) else None for one in scores]


def _read_back(given: list[Json], many: int) -> np.ndarray:
    """Return scores; refuse what is not as many numbers."""
    fine = len(given) == many and all(one is None or (type(one) is float and -inf < one < inf) for one in given)
    if not fine:
        raise ValueError(f"scores must be {many} numbers, got {str(given)[:80]}")
    return np.array([np.nan if one is None else one for one in given], np.float64)
