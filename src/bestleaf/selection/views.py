"""What users read of a selector: sets of columns in tuples that print as tables, and scores from the record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from msgspec import structs

from bestleaf.proof import record
from bestleaf.proof.record import Certificate
from bestleaf.proof.text import first_of, visible
from bestleaf.proof.words import unsettled_in_words
from bestleaf.proof.words_new_rows import intervals_of

ROOM = 256 * 2**20  # bytes that the graph of a search may take


class PathRow(NamedTuple):
    """The set of one size; scores are nan where they are not known."""

    size: int  # how many columns, a group counting as one
    features: tuple[str | int, ...]  # names, or numbers if the data have no names
    difference: float  # to all columns: mean over judges and folds, smoothed over neighbouring sizes
    standard_error: float  # of this difference, corrected for rows that folds share
    score: float  # mean over judges and folds


Row = TypeVar("Row", PathRow, record.PathRow)


class Path(tuple[PathRow, ...]):
    """The path by size; the last row is all columns. ``pandas.DataFrame(selector.path_)`` makes it a table."""

    def at(self, size: int) -> PathRow:
        """Return the row of a size; if there is none, that of the nearest smaller size."""
        return row_at(self, size)

    @classmethod
    def of(cls, path: record.Path, labels: Mapping[str, str | int]) -> Path:
        """Return the path of a record; `labels` has the label of each name."""
        found = []
        for row in path.rows:
            scores = [known(one) for one in (row.difference, row.standard_error, row.score)]
            found.append(PathRow(row.size, tuple(labels[name] for name in row.features), *scores))
        return cls(found)

    def __str__(self) -> str:
        lines = [f"{'size':>5} {'to all':>8} {'± s.e.':>7} {'score':>8}  columns"]
        for row in self:
            lines.append(
                f"{row.size:>5} {row.difference:+8.4f} {row.standard_error:7.4f} {row.score:8.4f}  "
                + ", ".join(map(str, row.features))
            )
        return "\n".join(lines).replace("nan", "   ")

    __repr__ = __str__


class EvaluatedSubset(NamedTuple):
    """A subset of features with its exact value."""

    features: tuple[str | int, ...]  # names, or numbers if the data have no names
    score: float
    size: int  # how many features, a group counting as one


class EvaluatedSubsets(tuple[EvaluatedSubset, ...]):
    """Every subset evaluated exactly, best first, printed as its ten best.

    ``pandas.DataFrame(selector.evaluated_)`` is a table of all of them.
    """

    def __str__(self) -> str:
        lines = [f"{one.score:.4f}  {first_of([visible(str(name)) for name in one.features])}" for one in self[:10]]
        more = [f"and {len(self) - 10:,} more"] if len(self) > 10 else []
        return "\n".join([*lines, *more]) or "no subset was evaluated"

    __repr__ = __str__

    def by_size(self) -> dict[int, EvaluatedSubset]:
        """Return the best subset of each size, smallest size first; a group counts as one."""
        found: dict[int, EvaluatedSubset] = {}
        for subset in self:
            found.setdefault(subset.size, subset)
        return dict(sorted(found.items()))


class Scores(NamedTuple):
    """The score of a record and its difference to that of all columns, with their intervals."""

    score: float
    interval: tuple[float, float] | None
    difference: float
    difference_interval: tuple[float, float] | None

    @classmethod
    def of(cls, found: Certificate, asked: int | None = None) -> Scores:
        """Return the scores on new rows; without them those of a size that was `asked` for, or on the rows given."""
        told, path, claim = found.told, found.path, found.new_rows
        if claim is not None:
            interval, difference_interval = intervals_of(claim)
            return cls(claim.score, interval, claim.score - claim.all_columns, difference_interval)
        if path is not None:
            row = path.chosen
            if path.asked and path.size == asked:
                return cls(known(row.score), None, known(row.difference), None)
            return cls(np.nan, None, np.nan, None)  # of a set that they have chosen, the folds' score is too high
        assert told is not None
        assert found.search is not None
        score = known(told.training_score)
        return cls(score, (found.search.lower, found.search.upper), score - known(told.all_features), None)


def known(given: float | None) -> float:
    """Return a number; nan if it is not known."""
    return np.nan if given is None else float(given)


def ranking_of_scores(support: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return 1 for the selected columns; the others follow by their scores, those without one last."""
    found = np.ones(len(support), int)
    others = np.argsort(np.where(np.isnan(scores), np.inf, -scores), kind="stable")
    found[others[~support[others]]] = np.arange(2, 2 + (~support).sum())
    return found


def ranking_of_path(found: Certificate) -> np.ndarray:
    """Return 1 for the selected columns; the others follow by the size at which the path has them first."""
    assert found.path is not None
    assert found.data is not None
    first = {name: row.size for row in reversed(found.path.rows) for name in row.features}
    first |= dict.fromkeys(found.features or (), 0)
    places = [first.get(name, np.inf) for name in found.data.names]
    return np.unique(places, return_inverse=True)[1].ravel() + 1


def cv_results_of(path: record.Path) -> dict[str, np.ndarray]:
    """Return the path as arrays."""
    found = {
        "n_features": np.array([row.size for row in path.rows]),
        "mean_test_score": np.array([known(row.score) for row in path.rows]),
        "mean_difference": np.array([known(row.difference) for row in path.rows]),
        "difference_error": np.array([known(row.standard_error) for row in path.rows]),
    }
    for place, judge in enumerate(path.judges):
        found[f"difference_{judge}"] = np.array([row.judges[place] if row.judges else np.nan for row in path.rows])
    return found


def row_at(rows: Sequence[Row], size: int) -> Row:
    """Return the row of a size; if there is none, that of the nearest smaller size."""
    smaller = [row for row in rows if row.size <= size]
    if not smaller:
        raise ValueError(f"size must be at least {rows[0].size}, the smallest of the path, got {size}")
    return smaller[-1]


def at_size(found: Certificate, size: int) -> Certificate:
    """Return the record with the set of a size of the path, or the next smaller one; its score on new rows is open."""
    assert found.path is not None
    assert found.data is not None
    assert found.told is not None
    limit, most = found.data.choice.limit, found.path.rows[-1].size
    if size > most:
        raise ValueError(f"size must be at most {most}, the number of columns, got {size}")
    row = row_at(found.path.rows, size)
    if row.size > limit:
        raise ValueError(f"size must be at most {limit}, the largest number of columns that may be chosen, got {size}")
    if row.size == found.path.size:
        return found
    path, told = structs.replace(found.path, size=row.size, asked=True), structs.replace(found.told, without={})
    return structs.replace(found, features=row.features, path=path, told=told, new_rows=None, checksum=None)


def early_end(found: Certificate, epsilon: float) -> str | None:
    """Return in words what a budget ended; None if it ended nothing."""
    by = {
        "interrupted": "Ctrl-C or a callback",
        "exhausted": f"The memory for the graph, {ROOM // 2**20} MB, or the loss of all workers",
    }.get(found.reason, found.reason)
    if (path := found.path) is not None:
        answer = "" if path.folds else ": nothing is known yet, so it is all columns"
        ended = f"{by} ended the choice after {path.folds} of {path.folds_planned} folds{answer}"
        return None if found.reason == "settled" else ended
    if found.settled or found.local is not None:
        return None
    more = f"Give it more time or samples, or a larger epsilon than {epsilon:g}."
    return f"{by} ended the search before it was settled. {unsettled_in_words(found)} {more}"
