"""The path of a selection: the subset of each size, with its value on the rows and its score on rows left out."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan, nan
from typing import NamedTuple

from bestleaf.certificate.schema import Content


class PathRow(NamedTuple):
    """One subset of the path; scores are nan where they are not known."""

    size: int  # how many features, a group counting as one
    features: tuple[str | int, ...]  # names, or numbers if the data have no names
    family: str  # how the subset was found; see the guide
    training: float  # exact value on the rows of the fit
    left_out: float  # mean score on left-out rows, of subsets found without these rows
    standard_error: float  # of `left_out`, corrected for rows that folds share
    difference: float  # `left_out` minus that of all features
    difference_error: float  # standard error of this paired difference


class Path(tuple[PathRow, ...]):
    """The path by size; the last row is all features. ``pandas.DataFrame(selector.path_)`` makes it a table."""

    def at(self, size: int) -> PathRow:
        """Return the row of a size; if there is none, that of the nearest smaller size."""
        smaller = [row for row in self if row.size <= size]
        if not smaller:
            raise ValueError(f"size must be at least {self[0].size}, the smallest of the path, got {size}")
        return smaller[-1]

    @classmethod
    def of(cls, rows: Sequence[Content], labels: dict[str, str | int]) -> Path:
        """Return the path of a certificate; `labels` has the label of each name."""
        scored = ("training", "left_out", "standard_error", "difference", "difference_error")
        found = []
        for row in rows:
            scores = [nan if row[name] is None else row[name] for name in scored]
            found.append(PathRow(row["size"], tuple(labels[one] for one in row["features"]), row["family"], *scores))
        return cls(found)

    def __str__(self) -> str:
        heads = f"{'size':>5} {'training':>9} {'left out':>9} {'± s.e.':>7} {'to all':>8} {'± s.e.':>7}  features"
        lines = [heads]
        for row in self:
            numbers = [row.training, row.left_out, row.standard_error, row.difference, row.difference_error]
            widths, signs = (9, 9, 7, 8, 7), ("", "", "", "+", "")
            cells = [
                " " * width if isnan(one) else f"{one:{sign}{width}.4f}"
                for one, width, sign in zip(numbers, widths, signs, strict=True)
            ]
            lines.append(f"{row.size:>5} {' '.join(cells)}  {', '.join(map(str, row.features))}")
        return "\n".join(lines)
