"""What each column of a table is: numbers, a category, dates, or left out; its cells as numbers; and how it looks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real

import numpy as np
import pandas as pd

from bestleaf.checks import cut, shown
from bestleaf.encoding import dates as times
from bestleaf.proof.text import counted

MOST_CATEGORIES = 1_000  # in one column; text with more is probably an identifier
FEWEST_IDS = 20  # with more rows, a text of its own in every row is taken for an identifier
MOST_CELLS = 3  # cells that are shown in a note
FEW_NUMBERS = 20  # with at most so many different numbers, an odd cell that is repeated is a level like the others,
MARKERS = frozenset(  # unless it says that a value is missing
    (
        *("", "?", "??", "-", "--", "---", ".", "*", "na", "n/a", "n.a.", "#n/a", "nan", "nil", "null", "none"),
        *("unknown", "missing", "not available", "not known"),
    )
)
AT_ONCE = 5 * 10**6  # cells that are looked at together
SOME = 200  # different texts that are looked at to tell what they are
MOST_TEXTS = 20_000  # different texts that are looked at to find odd ones
# A number with a unit or a currency is no identifier, although all of its texts may differ.
MEASURED = re.compile(r"[-+]?\s*[$€£¥]?\s*[-+]?\d[\d.,' ]*\s*(%|°?[A-Za-zµ]{1,6}(/[A-Za-z]{1,4})?|[$€£¥])?")
FEW = 0.1  # the largest share of odd cells in a column that stays numeric, or stays a date
MISSING = "(missing)"  # the category of missing values

NUMBER, CATEGORY, TEXT, DATE, LENGTH, MIXED, NESTED = "number", "category", "text", "date", "length", "mixed", "nested"
LEFT_OUT, NOT_USED = "left out", "left out, because "
KINDS = {  # by the type that pandas infers from the values
    **dict.fromkeys(("integer", "floating", "mixed-integer-float", "decimal", "empty"), NUMBER),
    **dict.fromkeys(("categorical", "boolean"), CATEGORY),
    "string": TEXT,
    **dict.fromkeys(("date", "datetime", "datetime64", "period"), DATE),
    **dict.fromkeys(("timedelta", "timedelta64", "time"), LENGTH),
}
REFUSED = {  # the sentence about features, and what is said about the target
    NESTED: ("a column must hold numbers or text, not lists, dictionaries or bytes", "lists, dictionaries or bytes"),
    MIXED: ("a column must hold numbers or text, not both", "both in one column"),
}


@dataclass(frozen=True)
class Column:
    """What a column becomes in a table of numbers."""

    kind: str  # NUMBER, CATEGORY, DATE, LENGTH, or LEFT_OUT if no search can use it
    note: str = ""
    odd: str = ""  # cells that are no numbers or dates, in words; they are missing values
    levels: tuple[str, ...] = ()  # of a category, or the parts of a date
    written: times.Written | None = None  # how dates are written in text; None if the cells are dates

    def plain(self, column: pd.Series) -> np.ndarray:
        """Return the cells as numbers, [rows, plain columns]; of a category, the number of the level or -1."""
        if self.kind == LEFT_OUT:
            return np.empty((len(column), 0))
        if self.kind == DATE:
            if self.written is None:
                return times.parts_of(times.times_of(column), self.levels)
            return times.parts_of(times.times_in_text(_known(column), self.written), self.levels)
        if self.kind == LENGTH:
            return times.length_in_days(column)[:, None]
        if self.kind == CATEGORY:
            return pd.Index(self.levels).get_indexer(pd.Index(_texts(column))).astype(np.float64)[:, None]
        return _finite(column, floats_of(column))[:, None]

    def names(self, name: str) -> list[str]:
        """Return the names of the numeric columns that a column of this name becomes."""
        if self.kind == CATEGORY:
            return [f"{name}={level}" for level in self.levels]
        if self.kind == DATE and self.levels != (times.DAYS,):
            return [f"{name}.{part}" for part in self.levels]
        return [] if self.kind == LEFT_OUT else [name]


def _left_out(why: str) -> Column:
    return Column(LEFT_OUT, f"{NOT_USED}{why}")


def kind_of(column: pd.Series) -> str:
    """Return the kind of a column: one of the names above."""
    if column.dtype.kind in "biuf":
        return NUMBER
    if kind := KINDS.get(pd.api.types.infer_dtype(column, skipna=True)):
        return kind
    types = {type(value) for value in column.dropna()}
    if all(issubclass(one, Real | Decimal) for one in types):
        return NUMBER
    return MIXED if all(issubclass(one, Real | Decimal | str) for one in types) else NESTED


def read_column(column: pd.Series, way: str) -> Column | str:
    """Return what a column is, or the kind of a column that cannot be used; `way` is what becomes of dates."""
    kind = kind_of(column)
    if not column.notna().any():
        return _left_out("it has no value at all")
    if kind == NUMBER:
        return Column(NUMBER)
    if kind == LENGTH:
        return Column(LENGTH, "a length of time, in days")
    if kind == DATE:
        return _dates(times.times_of(column), way, None, "")
    if kind == CATEGORY:
        return _category(column)
    if kind in (TEXT, MIXED):
        found = _numbers_in_text(column) or (_dates_in_text(column, way) if kind == TEXT else None)
        return found or (_category(column) if kind == TEXT else MIXED)
    return kind


def _numbers_in_text(column: pd.Series) -> Column | None:
    """Return a column of text as numbers, if almost all of its cells are; numbers with zeros in front are codes."""
    known = _known(column).dropna()
    numbers = pd.to_numeric(known, errors="coerce")
    odd = numbers.isna()
    codes = known[~odd].str.match(r"\s*0\d")
    if not _is_few(odd) or codes.any():
        return None
    if not odd.any():
        return Column(NUMBER, "numbers written as text")
    repeated = {cell.strip().casefold() for cell in known[odd][known[odd].duplicated()]}
    if numbers.nunique() <= FEW_NUMBERS and repeated - MARKERS:  # such as 0, 1, 2, 3+
        return None
    return Column(NUMBER, odd=_odd_cells(known[odd], "number"))


def _dates_in_text(column: pd.Series, way: str) -> Column | None:
    """Return a column of text as dates, if almost all of its cells are."""
    known = _known(column).dropna()
    found = times.dates_among(known, FEW)
    if found is None:
        return None
    mask, written = found
    cells = "" if mask.all() else _odd_cells(known[~mask], "date")
    return _dates(times.times_in_text(known, written), way, written, cells)


def _dates(found: pd.Series, way: str, written: times.Written | None, odd: str) -> Column:
    if way == "drop":
        return _left_out("dates are dropped")
    parts = times.parts_that_vary(found) if way == "parts" else (times.DAYS,)
    as_what = "days since 1970" if parts == (times.DAYS,) else ", ".join(parts)
    return Column(DATE, f"a date, as {as_what} (dates: {way})", odd, parts, written)


def _category(column: pd.Series) -> Column:
    texts = _texts(column)
    levels = tuple(sorted(texts.unique()))
    if len(levels) == len(texts) > FEWEST_IDS:
        return _left_out("every row has a text of its own")
    if len(levels) > MOST_CATEGORIES:
        return _left_out(f"it has {len(levels):,} different texts, more than {MOST_CATEGORIES:,}")
    missing = int(column.isna().sum())
    apart = f", {counted(missing, 'missing value')} as one of their own" if missing else ""
    return Column(CATEGORY, f"{in_categories(len(levels))}{apart}", levels=levels)


def in_categories(many: int) -> str:
    """Return how many categories there are, in words."""
    return counted(many, "category", "categories")


def _is_few(odd: pd.Series) -> bool:
    """Whether the odd cells are few: at most a tenth, or a single one of at least four."""
    return bool(odd.sum() <= max(FEW * len(odd), len(odd) >= 4))


def _odd_cells(odd: pd.Series, what: str) -> str:
    """Return in words which cells are odd, with the row of the first of each; rows are counted from 1."""
    first = odd.drop_duplicates()[:MOST_CELLS]
    named = [f"{shown(cut(cell, 20))} in row {row + 1:,}" for row, cell in first.items()]
    more = ", …" if odd.nunique() > MOST_CELLS else ""
    return f"{counted(len(odd), f'cell is no {what}', f'cells are no {what}s')}: {', '.join(named)}{more}"


def _texts(column: pd.Series) -> pd.Series:
    """Return the cells of a category as text."""
    return column.astype("string").fillna(MISSING).astype(object)


def _known(column: pd.Series) -> pd.Series:
    """Return the cells as Python texts, with NaN for missing ones."""
    return column.astype("string").astype(object).where(column.notna(), np.nan)


def floats_of(column: pd.Series) -> np.ndarray:
    """Return a column of numbers of any kind as floats, with NaN for missing values and odd cells."""
    if column.dtype.kind in "biuf":
        return column.to_numpy(np.float64, na_value=np.nan)
    if pd.api.types.infer_dtype(column, skipna=True) in ("string", "categorical", "mixed-integer", "mixed"):
        return pd.to_numeric(_known(column), errors="coerce").to_numpy(np.float64)
    try:
        return column.astype(object).map(float, na_action="ignore").to_numpy(np.float64, na_value=np.nan)
    except (OverflowError, ValueError, TypeError):
        raise ValueError(f"column {shown(column.name)} must hold numbers of 64 bits, got larger ones") from None


def _finite(column: pd.Series, found: np.ndarray) -> np.ndarray:
    if np.isinf(found).any():
        raise ValueError(f"the table must have no infinite numbers, got some in the columns {shown(column.name)}")
    return found


# ---- what a look at a table finds


@dataclass(frozen=True)
class Look:
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
    measured: bool = False  # its texts are numbers with a unit
    marker: tuple[int, str] | None = None  # cells that often mean a missing value: how many, and which
    digest: int | None = None  # the same for columns with the same values


def looked_at(features: pd.DataFrame) -> list[Look]:
    """Return what each column of a table looks like, in the order of the table."""
    blocks = (zip(names, columns, strict=True) for names, columns in numbers(features))
    found = {name: _of_numbers(name, column) for block in blocks for name, column in block}
    found |= {name: _of_texts(features[name], codes, values) for name, codes, values in texts(features)}
    return [found.get(name) or Look(name, float(features[name].isna().mean())) for name in features.columns]


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
    types = enumerate(features.dtypes)
    places = [place for place, one in types if one.kind in kinds and not isinstance(one, pd.PeriodDtype)]
    many = max(1, AT_ONCE // max(1, len(features)))
    for start in range(0, len(places), many):
        yield features.iloc[:, places[start : start + many]]


def _of_numbers(name: str, column: np.ndarray) -> Look:
    """Return what a column of numbers looks like."""
    low, high, known = column.min(), column.max(), column
    if not (np.isfinite(low) and np.isfinite(high)):
        known = column[np.isfinite(column)]
        low, high = (known.min(), known.max()) if len(known) else (np.nan, np.nan)
    gaps = int(np.isnan(column).sum()) if len(known) < len(column) else 0
    whole = len(known) > 0 and _are_whole(known[:100]) and _are_whole(known)
    apart = whole and len(known) - 1 <= high - low  # otherwise two of its numbers are the same
    return Look(
        name,
        gaps / len(column),
        value=f"{low:g}" if low == high and len(known) == len(column) else None,
        whole=whole,
        low=float(low),
        high=float(high),
        different=len(np.unique(known)) if apart else None,
        rising=apart and bool((np.diff(known) > 0).all()),
        digest=hash((column + 0.0).tobytes()),  # so that -0.0 is 0.0
    )


def _are_whole(values: np.ndarray) -> bool:
    return bool((values == np.floor(values)).all())


def _of_texts(column: pd.Series, codes: np.ndarray, values: list[object]) -> Look:
    """Return what a column of objects looks like: the encoder says whether it holds numbers, dates or text."""
    name, missing, read = str(column.name), float((codes < 0).mean()), read_column(column, "parts")
    texts = [str(value).strip() for value in values[:MOST_TEXTS]]
    value = repr(texts[0]) if len(values) == 1 and missing == 0 else None
    digest = hash((codes.tobytes(), *texts[:SOME]))
    if isinstance(read, Column) and read.kind in (DATE, LENGTH, NUMBER):
        return Look(name, missing, value=value, digest=digest)
    counts = np.bincount(codes[codes >= 0], minlength=len(values))[: len(texts)]
    marks = [text.casefold() in MARKERS for text in texts]
    named = [repr(text) for text, taken in zip(texts, marks, strict=True) if taken]
    return Look(
        name,
        missing,
        text=True,
        value=value,
        different=len(values),
        measured=2 * sum(MEASURED.fullmatch(text) is not None for text in texts[:SOME]) > len(texts[:SOME]),
        marker=(int(counts[marks].sum()), ", ".join(named[:MOST_CELLS])) if named else None,
        digest=digest,
    )
