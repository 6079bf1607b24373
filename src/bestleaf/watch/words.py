"""The state of a running search in words: the same on a terminal and on the page."""

from __future__ import annotations

from time import time

from bestleaf.certificate.claims import counted, first_of
from bestleaf.certificate.path import thinned
from bestleaf.checkpoint.codec import Json
from bestleaf.watch.status import Status

ROWS = 10  # of the path so far
MINUTE, HOUR = 60, 3600
OVER = {
    "identified": "The search is over: its answer is settled.",
    "interrupted": "The search was interrupted; the same command continues it.",
}


def heading(now: Status) -> str:
    """Return what is searched and whether it goes on."""
    going = "over" if now.over else "running" if now.running else "not running"
    return f"{now.file}: {now.problem}, {going}, saved {duration(time() - now.saved)} ago"


def lines(now: Status) -> list[str]:
    """Return how far the search is, in a few lines."""
    found = [_folds(now)] if now.folds is not None else []
    if now.searching:
        found += _search(now)
    found.append(_time(now))
    if now.further:
        found.append(f"Further searches beside it, to be watched by name: {first_of(now.further)}.")
    return found + _end(now)


def path_rows(now: Status) -> list[dict[str, Json]]:
    """Return some rows of the path so far, the best one among them."""
    path = [] if now.folds is None else now.folds.path
    return thinned(path, best_size(now) or 1, ROWS)


def best_size(now: Status) -> int | None:
    """Return the size of highest left-out score so far; None if there is none."""
    path = [] if now.folds is None else now.folds.path
    return max(path, key=lambda row: row["score"])["size"] if path else None


def duration(seconds: float) -> str:
    """Return a time in words: 12 s, 3 min 20 s, 2 h 5 min."""
    whole = max(0, round(seconds))
    if whole < 2 * MINUTE:
        return f"{whole} s"
    if whole < 2 * HOUR:
        return f"{whole // MINUTE} min {whole % MINUTE} s"
    return f"{whole // HOUR} h {whole % HOUR // MINUTE} min"


def _folds(now: Status) -> str:
    """Return how many folds are done, and the best left-out score so far."""
    folds = now.folds
    assert folds is not None
    what = "Choice by left-out rows" if now.searching else "Choosing by left-out rows"
    text = f"{what}: {folds.done} of {counted(folds.many, 'fold')} done."
    if folds.path:
        top = max(folds.path, key=lambda row: row["score"])
        text += f" Highest mean left-out score so far: {top['score']:.4f} with {counted(top['size'], 'feature')}"
        text += "." if folds.all_features is None else f"; all features {folds.all_features:.4f}."
    return text


def _search(now: Status) -> list[str]:
    """Return the best answer so far, the gap and what was drawn."""
    where = " on the rows given" if now.folds is not None else ""
    best = f"Best so far{where}: nothing yet."
    if now.value is not None:
        best = f"Best so far{where}: {now.value:.4f}{'' if now.best is None else f', {now.best}'}"
    gap = f"Gap: not known; settled at {now.epsilon:g}."
    if now.gap is not None:
        gap = f"Gap: {now.gap:.4f}; settled at {now.epsilon:g}."
    drawn = f"{counted(now.samples, 'sample')} and {counted(now.exact_evaluations, 'exact value')}"
    leaves = "" if now.leaves is None else f", {counted(now.leaves, 'leaf', 'leaves')}"
    return [best, gap, f"{drawn}{leaves}."]


def _time(now: Status) -> str:
    """Return the time used and what is left of the budgets."""
    used, left = now.used(), []
    if now.max_time is not None:
        left.append(f"{duration(now.max_time - used)} of {duration(now.max_time)}")
    if now.max_samples is not None:
        left.append(counted(max(0, now.max_samples - now.samples - now.exact_evaluations), "sample"))
    return f"Time used: {duration(used)}" + (f"; left: {' and '.join(left)}." if left else ".")


def _end(now: Status) -> list[str]:
    """Return why it ended, or that nobody runs it; nothing while it runs."""
    if now.over:
        return [OVER.get(str(now.reason), f"The search is over: {now.reason} ended it.")]
    if not now.running:
        return ["No process is running it now; the same command continues it."]
    return []


def features_of(row: dict[str, Json]) -> str:
    """Return the features of a row of the path in one line."""
    return first_of(row["features"])
