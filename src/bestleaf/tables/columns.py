"""What each column of a table looks like: numbers, text or dates, and how many values are missing or different."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bestleaf.encoding.columns import MARKERS, Dates, Lengths, Numbers, read_column

NUMBER, TEXT, DATE, OTHER = "number", "text", "date", "other"
AT_ONCE = 5 * 10**6  # cells that are looked at together
SOME = 200  # different texts that are looked at to tell what they are
MOST_TEXTS = 20_000  # different texts that are looked at to find odd ones
MOST_CELLS = 3  # odd cells that are shown

# A number with a unit or a currency is no identifier, although all of its texts may differ.
MEASURED = re.compile(r"[-+]?\s*[$€£¥]?\s*[-+]?\d[\d.,' ]*\s*(%|°?[A-Za-zµ]{1,6}(/[A-Za-z]{1,4})?|[$€£¥])?")


@dataclass(frozen=True)
class Column:
    """What is known of a column.

    Attributes
    ----------
    name, kind : str
        Its name, and what it holds: number, text, date or other.
    missing : float
        Share of the values that are missing.
    value : str or None
        Its only value; None if it has several.
    whole : bool
        Whether all of its numbers are whole numbers.
    low, high : float
        The lowest and the highest number.
    different : int or None
        How many different texts it has, or whole numbers where that was counted.
    rising : bool
        Whether whole numbers that are all different are in order.
    measured : bool
        Whether its texts are numbers with a unit.
    infinite : bool
        Whether some of its numbers are infinite.
    odd : str or None
        Cells that are no numbers in a column of numbers, in words.
    marker : (int, str) or None
        Cells of a text that often mean a missing value: how many, and which.
    digest : int or None
        The same for columns with the same values.
    """

    name: str
    kind: str
    missing: float
    value: str | None = None
    whole: bool = False
    low: float = np.nan
    high: float = np.nan
    different: int | None = None
    rising: bool = False
    measured: bool = False
    infinite: bool = False
    odd: str | None = None
    marker: tuple[int, str] | None = None
    digest: int | None = None


def looked_at(features: pd.DataFrame) -> list[Column]:
    """Return what each column of a table looks like, in the order of the table."""
    blocks = (zip(names, columns, strict=True) for names, columns in numbers(features))
    found = {name: _of_numbers(name, column) for block in blocks for name, column in block}
    found |= {name: _of_texts(features[name], codes, values) for name, codes, values in texts(features)}
    return [found.get(name) or Column(name, *_not_looked_at(features[name])) for name in features.columns]


def numbers(features: pd.DataFrame) -> Iterator[tuple[list[str], np.ndarray]]:
    """Yield the columns of numbers [columns, rows], many at a time, with their names; missing values are nan."""
    for some in _blocks(features, "biuf"):
        yield list(some.columns), np.ascontiguousarray(some.to_numpy(np.float64, na_value=np.nan).T)


def texts(features: pd.DataFrame) -> Iterator[tuple[str, np.ndarray, list[object]]]:
    """Yield the other columns, except dates: the number of each value (-1 if it is missing), and the values."""
    for some in _blocks(features, "OSUT"):
        for name, column in zip(some.columns, some.to_numpy(object).T, strict=True):
            try:
                codes, values = pd.factorize(column)
            except TypeError:  # lists and dictionaries
                continue
            yield name, codes, list(values)


def _blocks(features: pd.DataFrame, kinds: str) -> Iterator[pd.DataFrame]:
    """Yield the columns of some kinds of types, as many at a time as memory allows."""
    places = [place for place, dtype in enumerate(features.dtypes) if dtype.kind in kinds and not _of_dates(dtype)]
    many = max(1, AT_ONCE // max(1, len(features)))
    for start in range(0, len(places), many):
        yield features.iloc[:, places[start : start + many]]


def _of_dates(dtype: np.dtype | pd.api.extensions.ExtensionDtype) -> bool:
    return dtype.kind in "mM" or isinstance(dtype, pd.PeriodDtype)


def _not_looked_at(column: pd.Series) -> tuple[str, float]:
    """Return the kind of a column that holds neither numbers nor text, and the share of missing values."""
    return DATE if _of_dates(column.dtype) else OTHER, float(column.isna().mean())


def _of_numbers(name: str, column: np.ndarray) -> Column:
    """Return what a column of numbers looks like."""
    low, high, known = column.min(), column.max(), column
    if not (np.isfinite(low) and np.isfinite(high)):
        known = column[np.isfinite(column)]
        low, high = (known.min(), known.max()) if len(known) else (np.nan, np.nan)
    gaps = int(np.isnan(column).sum()) if len(known) < len(column) else 0
    whole = len(known) > 0 and _are_whole(known[:100]) and _are_whole(known)
    apart = whole and len(known) - 1 <= high - low  # otherwise two of its numbers are the same
    return Column(
        name,
        NUMBER,
        gaps / len(column),
        value=f"{low:g}" if low == high and len(known) == len(column) else None,
        whole=whole,
        low=float(low),
        high=float(high),
        different=len(np.unique(known)) if apart else None,
        rising=apart and bool((np.diff(known) > 0).all()),
        infinite=len(known) + gaps < len(column),
        digest=hash((column + 0.0).tobytes()),  # so that -0.0 is 0.0
    )


def _are_whole(values: np.ndarray) -> bool:
    return bool((values == np.floor(values)).all())


def _of_texts(column: pd.Series, codes: np.ndarray, values: list[object]) -> Column:
    """Return what a column of objects looks like: the encoder says whether it holds numbers, dates or text."""
    name, missing, read = str(column.name), float((codes < 0).mean()), read_column(column, "parts")
    texts = [str(value).strip() for value in values[:MOST_TEXTS]]
    value = repr(texts[0]) if len(values) == 1 and missing == 0 else None
    digest = hash((codes.tobytes(), *texts[:SOME]))
    if isinstance(read, Dates | Lengths):
        return Column(name, DATE, missing, value=value, digest=digest)
    if isinstance(read, Numbers):
        return Column(name, NUMBER, missing, value=value, odd=read.odd or None, digest=digest)
    counts = np.bincount(codes[codes >= 0], minlength=len(values))[: len(texts)]
    marks = [text.casefold() in MARKERS for text in texts]
    named = [repr(text) for text, taken in zip(texts, marks, strict=True) if taken]
    return Column(
        name,
        TEXT,
        missing,
        value=value,
        different=len(values),
        measured=bool(texts) and _mostly(MEASURED.fullmatch, texts[:SOME]),
        marker=(int(counts[marks].sum()), ", ".join(named[:MOST_CELLS])) if named else None,
        digest=digest,
    )


def _mostly(test: Callable[[str], object], texts: list[str]) -> bool:
    """Whether more than half of some texts pass a test."""
    return sum(bool(test(text)) for text in texts) > len(texts) / 2
