"""The path of a selection as users see it: the set of each size, with its scores from cross-validation."""

from __future__ import annotations

from collections.abc import Mapping
from math import nan
from typing import NamedTuple

from bestleaf.proof.record import Path as Rows


class PathRow(NamedTuple):
    """The set of one size; scores are nan where they are not known."""

    size: int  # how many columns, a group counting as one
    features: tuple[str | int, ...]  # names, or numbers if the data have no names
    difference: float  # to all columns: mean over judges and folds, smoothed over neighbouring sizes
    standard_error: float  # of this difference, corrected for rows that folds share
    score: float  # mean over judges and folds


class Path(tuple[PathRow, ...]):
    """The path by size; the last row is all columns. ``pandas.DataFrame(selector.path_)`` makes it a table."""

    def at(self, size: int) -> PathRow:
        """Return the row of a size; if there is none, that of the nearest smaller size."""
        smaller = [row for row in self if row.size <= size]
        if not smaller:
            raise ValueError(f"size must be at least {self[0].size}, the smallest of the path, got {size}")
        return smaller[-1]

    @classmethod
    def of(cls, path: Rows, labels: Mapping[str, str | int]) -> Path:
        """Return the path of a record; `labels` has the label of each name."""
        found = []
        for row in path.rows:
            scores = [nan if one is None else one for one in (row.difference, row.standard_error, row.score)]
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
