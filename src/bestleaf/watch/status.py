"""What the checkpoint of a search tells about it while it runs.

A checkpoint is replaced as a whole, so whoever reads it sees the old or the new one and never disturbs the search.
Nothing in it is executed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from itertools import count, takewhile
from math import isfinite
from pathlib import Path
from time import time

from bestleaf.certificate.claims import in_line
from bestleaf.checkpoint import FOLDS, Saved
from bestleaf.checkpoint.codec import Json
from bestleaf.checkpoint.file import File, in_use, read_file, refuse
from bestleaf.checks import cut, shown
from bestleaf.report.content import known_gap

LATTICES = ("FeatureLattice",)  # problems that are a feature selection
LONGEST = 2000  # characters of a subset in words

Told = dict[str, Json]  # attributes of a `Status`


@dataclass(frozen=True)
class Folds:
    """How far the choice by left-out rows is.

    Attributes
    ----------
    done, many : int
        Folds that are done, and all folds.
    path : list of dict
        For each size the family of highest mean left-out score in the folds done: size, family, score and features.
        The final choice looks at more than these means.
    all_features : float or None
        The mean left-out score of all features in the folds done.
    """

    done: int
    many: int
    path: list[dict[str, Json]]
    all_features: float | None


@dataclass(frozen=True)
class Status:
    """A search as its checkpoint shows it. What is not known is None.

    Attributes
    ----------
    file : str
        Name of the checkpoint.
    problem : str
        "feature selection", or the class of the problem.
    running : bool
        Whether a process saves to the file.
    reason : str
        Why the search ended: "identified", or the budget that was spent; None before its end.
    saved : float
        When it was last saved, in seconds since 1970.
    best, value, gap : str, float, float
        The best answer so far in words, its value (of sampled leaves the lower bound), and how much better another one
        may be; the gap is None as long as nothing is known of some leaf.
    epsilon : float
        The gap at which the search is settled.
    samples, exact_evaluations, leaves : int
        Samples, exact values, and leaves of the graph.
    seconds, max_time, max_samples : float, float, int
        Seconds used when it was last saved, and the limits.
    history : list of (float, float, float)
        Seconds, gap and best value in the course of time; only of a feature selection.
    folds : Folds
        The choice by left-out rows, if there is one.
    further : list of str
        Checkpoints of the further searches of `validate`, which are beside the file.
    """

    file: str
    problem: str
    running: bool
    reason: str | None
    saved: float
    best: str | None = None
    value: float | None = None
    gap: float | None = None
    epsilon: float | None = None
    samples: int = 0
    exact_evaluations: int = 0
    leaves: int | None = None
    seconds: float = 0.0
    max_time: float | None = None
    max_samples: int | None = None
    history: list[tuple[float, float | None, float | None]] | None = None
    folds: Folds | None = None
    further: list[str] = field(default_factory=list)

    @property
    def over(self) -> bool:
        """Whether the search has ended; what ended by Ctrl-C or a budget may be continued."""
        return self.reason is not None and not self.running

    @property
    def searching(self) -> bool:
        """Whether the search has begun; before that, left-out rows choose."""
        return self.epsilon is not None

    def used(self) -> float:
        """Return the seconds used until now: those when it was last saved and, while it runs, those since then."""
        since = max(0.0, time() - self.saved) if self.running and self.reason is None else 0.0
        used = self.seconds + since
        return used if self.max_time is None else min(used, max(self.max_time, self.seconds))

    def to_dict(self) -> dict[str, Json]:
        """Return everything as numbers, texts, lists and dictionaries."""
        return {**asdict(self), "over": self.over, "used": self.used()}


def status(path: str | os.PathLike[str]) -> Status:
    """Return how far the search is that is saved to a checkpoint, or was.

    Parameters
    ----------
    path : path
        The checkpoint. While left-out rows choose, there may only be the file PATH.folds yet.

    Examples
    --------
    >>> from bestleaf.watch import status
    >>> status("run.blf").gap  # doctest: +SKIP
    0.0123
    """
    file = Path(os.path.realpath(os.fspath(path).removesuffix(FOLDS)))
    beside = file.with_name(f"{file.name}{FOLDS}")
    if not os.path.isfile(file) and not os.path.isfile(beside):
        named = cut(str(file), 150)
        raise FileNotFoundError(f"{named} is a folder, not a file" if file.is_dir() else f"there is no file {named}")
    there = [one for one in (file, beside) if os.path.isfile(one)]
    told: Told = {
        "file": file.name,
        "problem": "feature selection",
        "running": any(in_use(one) for one in (file, beside)),
        "reason": None,
        "saved": max(one.stat().st_mtime for one in there),
        "further": _further(file),
    }
    if beside in there:
        told |= _of(beside, _folds_told)
    if file in there:
        told |= _of(file, _search_told)
    return Status(**told)


def _further(file: Path) -> list[str]:
    """Return the names of the checkpoints PATH.1, PATH.2 and so on, as far as they are there."""
    names = (f"{file.name}.{number}" for number in count(1))
    return list(takewhile(lambda name: os.path.isfile(file.with_name(name)), names))


def _of(file: Path, read: Callable[[File], Told]) -> Told:
    """Return what a file tells; refuse one that is no checkpoint, or has strange numbers."""
    content = read_file(file)
    try:
        return read(content)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        refuse(file, error)


def _search_told(content: File) -> Told:
    """Return what the checkpoint of a search tells."""
    if "scores" in content:
        raise ValueError("it has the folds of a choice by left-out rows; give the checkpoint beside it")
    saved = Saved(content, content.arrays)
    identity, snapshots = saved.part("identity"), saved.part("snapshots")
    last = snapshots.part(max(snapshots.content, key=int))
    kind, notes = identity.get("problem"), [Saved(note, {}, "notes.") for note in last.listed("notes")]
    progress = Saved(content.get("progress") or {}, {}, "progress.")
    reason, now = saved.get("reason"), notes[-1] if notes else progress
    epsilon = saved.number("epsilon", 0.0, 1.0)
    value = _number(now, "score", 0.0, 1.0) if notes else _number(now, "lower", 0.0, 1.0)
    best = now.content.get("best")
    return {
        "problem": "feature selection" if kind in LATTICES else in_line(str(kind), 80),
        "reason": None if reason is None else in_line(str(reason), 40),
        "best": None if best is None or value is None else in_line(str(best), LONGEST),
        "value": value,
        "gap": _gap(now, value, epsilon),
        "epsilon": epsilon,
        "samples": saved.whole("samples"),
        "exact_evaluations": last.whole("evaluated") if "evaluated" in last.content else len(last.listed("values")),
        "leaves": now.whole("leaves") if "leaves" in now.content else None,
        "seconds": last.number("seconds", 0.0, 1e15),
        "max_time": _number(saved, "max_time", 0.0, 1e15),
        "max_samples": None if saved.content.get("max_samples") is None else saved.whole("max_samples"),
        "history": [_entry(note, epsilon) for note in notes],
    }


def _entry(note: Saved, epsilon: float) -> tuple[float, float | None, float | None]:
    """Return seconds, gap and best value of an entry of the history."""
    value = _number(note, "score", 0.0, 1.0)
    return note.number("seconds", 0.0, 1e15), _gap(note, value, epsilon), value


def _gap(row: Saved, value: float | None, epsilon: float) -> float | None:
    """Return the gap, at least 0; None if it is not known."""
    if _number(row, "gap", -1.0, 1.0) is None:
        return None
    gap = known_gap({**row.content, "score": value}, epsilon)
    return None if gap is None else max(0.0, gap)


def _number(row: Saved, name: str, low: float, high: float) -> float | None:
    """Return a number; None if it is not there, as in files of earlier versions."""
    return None if row.content.get(name) is None else row.number(name, low, high)


def _folds_told(content: File) -> Told:
    """Return what the folds of a choice by left-out rows tell."""
    saved = Saved(content, {})
    identity, scores = saved.part("identity"), [Saved(one, {}, "scores.") for one in saved.listed("scores")]
    told = Saved(content.get("told") or {}, {}, "told.")
    names = [in_line(str(name), 120) for name in told.listed("names")] if "names" in told.content else []
    rows = _path_so_far(saved, scores, identity.listed("sizes"), names)
    every = [one.listed("everything")[0] for one in scores]
    folds = Folds(len(scores), len(identity.listed("rounds")), rows, _mean(every))
    return {
        "folds": folds,
        "seconds": saved.number("seconds", 0.0, 1e15),
        "max_time": _number(told, "max_time", 0.0, 1e15),
    }


def _path_so_far(saved: Saved, scores: list[Saved], sizes: list[Json], names: list[str]) -> list[dict[str, Json]]:
    """Return for each size the family of highest mean score in the folds done."""
    candidates = saved.part("candidates").content
    families = [fold.part("families") for fold in scores]
    everywhere = [name for name in candidates if all(name in fold.content for fold in families)]
    subsets = {name: {len(units): units for units in candidates[name]} for name in everywhere}
    found = []
    for place, size in enumerate(sizes):
        means = {name: _mean([fold.listed(name)[place] for fold in families]) for name in subsets}
        known = {name: mean for name, mean in means.items() if mean is not None and size in subsets[name]}
        if known:
            family = max(known, key=known.__getitem__)
            features = [names[unit] for unit in subsets[family][size]] if names else []
            found.append({"size": size, "family": shown(family)[1:-1], "score": known[family], "features": features})
    return found


def _mean(scores: list[Json]) -> float | None:
    """Return the mean of the scores that are known; None if there are none."""
    known = [float(one) for one in scores if one is not None and isfinite(one)]
    return sum(known) / len(known) if known else None
