"""How a search went with time, as it is kept in a checkpoint: read without trust."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from bestleaf.search import Progress
from bestleaf.storage import Saved

HISTORY = frozenset((*Progress._fields, "score"))  # of an entry of `history_`
COUNTS = ("samples", "exact_evaluations", "growths", "leaves")
ROUNDING = 1e-9


def check_history(notes: list[dict[str, Any]], samples: int, elapsed: float) -> None:
    """Refuse a history whose numbers cannot be, go back, or lie beyond the search."""
    for note in notes:
        if note.keys() != HISTORY:
            raise ValueError(f"the notes of a checkpoint must have {', '.join(sorted(HISTORY))}")
        row = Saved(note, {}, "history.")
        for name in COUNTS:
            row.whole(name)
        row.number("gap", -1.0, 1.0)
        row.number("elapsed", 0.0, elapsed)
        if note["score"] is not None:
            row.number("score", 0.0, 1.0)
        if not isinstance(note["best"], str):
            raise ValueError("history.best must be a text")
    if notes and notes[-1]["samples"] > samples:
        raise ValueError(f"history.samples must be at most the {samples:,} of the search")
    for one, other in pairwise(notes):
        falls = one["score"] is not None and (other["score"] is None or one["score"] > other["score"] + ROUNDING)
        if falls or one["elapsed"] > other["elapsed"] or one["samples"] > other["samples"]:
            raise ValueError("history must not go back in time, samples or best value")
