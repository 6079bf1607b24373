"""What each column of a table looks like, all columns of numbers at once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from bestleaf.columns.kinds import CATEGORY, LEFT_OUT, MARKERS, MIXED, MOST_CELLS, SOME, Read
from bestleaf.proof.text import counted

AT_ONCE = 5 * 10**6  # cells that are looked at together
FAR, FEWEST_AROUND = 100, 20  # a cell is far from at least 20 others if its distance is 100 times the range of these
MOST_TEXTS = 20_000  # different texts that are looked at to find odd ones
# A number with a unit or a currency is no identifier, although all of its texts may differ.
MEASURED = re.compile(r"[-+]?\s*[$€£¥]?\s*[-+]?\d[\d.,' ]*\s*(%|°?[A-Za-zµ]{1,6}(/[A-Za-z]{1,4})?|[$€£¥])?")


class Look(NamedTuple):
    """What a column looks like."""

    name: str
    missing: float  # share of the values that are missing
    text: bool = False  # neither numbers nor dates
    value: str | None = None  # its only value; None if it has several
    whole: bool = False  # all of its numbers are whole numbers
    low: float = np.nan  # of its numbers
    high: float = np.nan
    different: int | None = None  # how many different texts it has, or whole numbers where that was counted
    rising: bool = False  # whole numbers that are all different are in order
    lone: str | None = None  # in words, its one number that is far from all others
    measured: bool = False  # its texts are numbers with a unit
    marker: str | None = None  # cells that often mean a missing value: how many, and which
    digest: int | None = None  # the same for columns with the same values


@np.errstate(all="ignore")  # a table may hold the largest numbers there are
def looked_at(features: pd.DataFrame, read: dict[str, Read]) -> list[Look]:
    """Return what each column of a table looks like, in the order of the table; `read` says what the others are."""
    found = {one.name: one for names, columns in numbers(features) for one in _of_numbers(names, columns)}
    found |= {name: _of_texts(name, one) for name, one in read.items() if one[1] is not None and name not in found}
    return [found.get(name) or Look(name, float(features[name].isna().mean())) for name in features.columns.tolist()]


def numbers(features: pd.DataFrame) -> Iterator[tuple[list[str], np.ndarray]]:
    """Yield the columns of numbers [columns, rows], many at a time, with their names; missing values are nan."""
    places = [place for place, one in enumerate(features.dtypes) if one.kind in "biuf"]
    many = max(1, AT_ONCE // max(1, len(features)))
    for start in range(0, len(places), many):
        some = features.iloc[:, places[start : start + many]]
        yield list(some.columns), np.ascontiguousarray(some.to_numpy(np.float64, na_value=np.nan).T)


def _of_numbers(names: list[str], columns: np.ndarray) -> Iterator[Look]:
    """Yield what columns of numbers [columns, rows] look like."""
    fine = np.isfinite(columns)
    gaps, none = np.isnan(columns).sum(axis=1), ~fine.any(axis=1)
    low = np.where(none, np.nan, np.where(fine, columns, np.inf).min(axis=1))
    high = np.where(none, np.nan, np.where(fine, columns, -np.inf).max(axis=1))
    whole = ~none & ((columns == np.floor(columns)) | ~fine).all(axis=1)
    apart = whole & (fine.sum(axis=1) - 1 <= high - low)  # otherwise two of its numbers are the same
    lone = _lone_cells(columns, fine, low, high)
    for number, name in enumerate(names):
        column = columns[number]
        known = column[fine[number]] if apart[number] else column
        yield Look(
            name,
            float(gaps[number]) / len(column),
            value=f"{low[number]:g}" if low[number] == high[number] and fine[number].all() else None,
            whole=bool(whole[number]),
            low=float(low[number]),
            high=float(high[number]),
            different=len(np.unique(known)) if apart[number] else None,
            rising=bool(apart[number]) and bool((known[1:] > known[:-1]).all()),
            lone=lone.get(number),
            digest=hash((column + 0.0).tobytes()),  # so that -0.0 is 0.0
        )


def _lone_cells(columns: np.ndarray, fine: np.ndarray, low: np.ndarray, high: np.ndarray) -> dict[int, str]:
    """Return in words the one cell that is far from all others, such as 1,000,000 among hundreds, by column.

    If one cell has almost all of the variance, its distance from the mean is almost the largest there can be.
    """
    many = fine.sum(axis=1)
    mean = np.where(fine, columns, 0).sum(axis=1) / many
    spread = np.sqrt(np.where(fine, (columns - mean[:, None]) ** 2, 0).sum(axis=1) / many)
    far = np.maximum(high - mean, mean - low) / spread > 0.999 * (many - 1) / np.sqrt(many)
    found = {}
    for number in np.flatnonzero(far & (many >= FEWEST_AROUND)).tolist():
        rows = np.flatnonzero(fine[number])
        values = columns[number, rows]
        place = int(np.argmax(np.abs(values - mean[number])))
        others = np.delete(values, place)
        width, distance = np.ptp(others), np.abs(others - values[place]).min()
        if 0 < width * FAR < distance:
            around = f"{others.min():,.6g} to {others.max():,.6g}"
            found[number] = f"{values[place]:,.10g} in row {rows[place] + 1:,}, and {around} in all others"
    return found


def _of_texts(name: str, read: Read) -> Look:
    """Return what a column of text looks like."""
    column, cells = read
    assert cells is not None
    missing = cells.missing / len(cells.codes)
    texts = cells.texts[:MOST_TEXTS].str.strip().tolist()
    value = repr(texts[0]) if len(cells.texts) == 1 and missing == 0 else None
    digest = hash((cells.codes.tobytes(), *texts[:SOME]))
    if column.kind not in (CATEGORY, LEFT_OUT, MIXED):
        return Look(name, missing, value=value, digest=digest)
    marks = [text.casefold() in MARKERS for text in texts]
    many = int(cells.counts[: len(texts)][marks].sum())
    named = [repr(text) for text, taken in zip(texts, marks, strict=True) if taken]
    return Look(
        name,
        missing,
        text=True,
        value=value,
        different=len(cells.texts),
        measured=2 * sum(MEASURED.fullmatch(text) is not None for text in texts[:SOME]) > len(texts[:SOME]),
        marker=f"{counted(many, 'cell')} of {', '.join(named[:MOST_CELLS])}" if named else None,
        digest=digest,
    )
