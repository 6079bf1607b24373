"""What each column of a table is: numbers, a category, dates, or left out; and its cells as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from numbers import Real

import numpy as np
import pandas as pd

from bestleaf.certificate.claims import counted
from bestleaf.checks import cut, shown
from bestleaf.encoding import dates as times

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
FEW = 0.1  # the largest share of odd cells in a column that stays numeric, or stays a date
MISSING = "(missing)"  # the category of missing values

NUMBER, CATEGORY, TEXT, DATE, LENGTH, MIXED, NESTED = "number", "category", "text", "date", "length", "mixed", "nested"
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
class Numbers:
    """A column of numbers; cells that are no numbers are missing values."""

    note: str = ""
    odd: str = ""  # the cells that are no numbers, in words
    levels: tuple[str, ...] = ()

    def plain(self, column: pd.Series) -> np.ndarray:
        """Return the numbers, [rows, 1]."""
        return _finite(column, floats_of(column))[:, None]

    def names(self, name: str) -> list[str]:
        """Return the names of the numeric columns that a column of this name becomes."""
        return [name]


@dataclass(frozen=True)
class Category:
    """A column of text, categories or truth values; it becomes a column of zeros and ones for each of its levels."""

    levels: tuple[str, ...]
    note: str = ""

    def plain(self, column: pd.Series) -> np.ndarray:
        """Return the number of the level in each row, [rows, 1]; -1 for one that is not known."""
        return pd.Index(self.levels).get_indexer(pd.Index(_texts(column))).astype(np.float64)[:, None]

    def names(self, name: str) -> list[str]:
        """Return the names of the columns of zeros and ones."""
        return [f"{name}={level}" for level in self.levels]


@dataclass(frozen=True)
class Dates:
    """A column of dates, as numbers of their parts or of days."""

    levels: tuple[str, ...]  # the parts
    written: times.Written | None  # None if the cells are dates, not text
    note: str = ""
    odd: str = ""

    def plain(self, column: pd.Series) -> np.ndarray:
        """Return the parts of each date, [rows, parts]."""
        if self.written is None:
            return times.parts_of(times.times_of(column), self.levels)
        return times.parts_of(times.times_in_text(_known(column), self.written), self.levels)

    def names(self, name: str) -> list[str]:
        """Return the names of the parts."""
        return [name if self.levels == (times.DAYS,) else f"{name}.{part}" for part in self.levels]


@dataclass(frozen=True)
class Lengths:
    """A column of lengths of time, or of times of the day, in days."""

    note: str = "a length of time, in days"
    levels: tuple[str, ...] = ()

    def plain(self, column: pd.Series) -> np.ndarray:
        """Return the days, [rows, 1]."""
        return times.length_in_days(column)[:, None]

    def names(self, name: str) -> list[str]:
        """Return the name of the column."""
        return [name]


@dataclass(frozen=True)
class LeftOut:
    """A column that no search can use."""

    why: str
    levels: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """What is said about it."""
        return f"left out, because {self.why}"

    def plain(self, column: pd.Series) -> np.ndarray:
        """Return no numbers, [rows, 0]."""
        return np.empty((len(column), 0))

    def names(self, name: str) -> list[str]:
        """Return no names."""
        return []


Column = Numbers | Category | Dates | Lengths | LeftOut


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
        return LeftOut("it has no value at all")
    if kind == NUMBER:
        return Numbers()
    if kind == LENGTH:
        return Lengths()
    if kind == DATE:
        return _dates(times.times_of(column), way, None, "")
    if kind == CATEGORY:
        return _category(column)
    if kind in (TEXT, MIXED):
        found = _numbers_in_text(column) or (_dates_in_text(column, way) if kind == TEXT else None)
        return found or (_category(column) if kind == TEXT else MIXED)
    return kind


def _numbers_in_text(column: pd.Series) -> Numbers | None:
    """Return a column of text as numbers, if almost all of its cells are; numbers with zeros in front are codes."""
    known = _known(column).dropna()
    numbers = pd.to_numeric(known, errors="coerce")
    odd = numbers.isna()
    codes = known[~odd].str.match(r"\s*0\d")
    if not _is_few(odd) or codes.any():
        return None
    if not odd.any():
        return Numbers("numbers written as text")
    repeated = {cell.strip().casefold() for cell in known[odd][known[odd].duplicated()]}
    if numbers.nunique() <= FEW_NUMBERS and repeated - MARKERS:  # such as 0, 1, 2, 3+
        return None
    return Numbers(odd=_odd_cells(known[odd], "number"))


def _dates_in_text(column: pd.Series, way: str) -> Dates | LeftOut | None:
    """Return a column of text as dates, if almost all of its cells are."""
    known = _known(column).dropna()
    found = times.dates_among(known, FEW)
    if found is None:
        return None
    mask, written = found
    cells = "" if mask.all() else _odd_cells(known[~mask], "date")
    return _dates(times.times_in_text(known, written), way, written, cells)


def _dates(found: pd.Series, way: str, written: times.Written | None, odd: str) -> Dates | LeftOut:
    if way == "drop":
        return LeftOut("dates are dropped")
    parts = times.parts_that_vary(found) if way == "parts" else (times.DAYS,)
    as_what = "days since 1970" if parts == (times.DAYS,) else ", ".join(parts)
    return Dates(parts, written, f"a date, as {as_what} (dates: {way})", odd)


def _category(column: pd.Series) -> Category | LeftOut:
    texts = _texts(column)
    levels = tuple(sorted(texts.unique()))
    hint = _almost_numbers(texts)
    if len(levels) == len(texts) > FEWEST_IDS:
        return LeftOut("every row has a text of its own")
    if len(levels) > MOST_CATEGORIES:
        return LeftOut(f"it has {len(levels):,} different texts, more than {MOST_CATEGORIES:,}{hint}")
    missing = int(column.isna().sum())
    apart = f", {counted(missing, 'missing value')} as one of their own" if missing else ""
    return Category(levels, f"{in_categories(len(levels))}{apart}{hint}")


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


def _almost_numbers(values: pd.Series) -> str:
    """Return a hint if most cells of a column of text are numbers, because all of them may be meant as numbers."""
    known = values[values != MISSING]
    strange = pd.to_numeric(known, errors="coerce").isna()
    if not 0 < strange.sum() < len(known) / 2:
        return ""
    cells = ", ".join(repr(str(cell)[:20]) for cell in known[strange].unique()[:MOST_CELLS])
    return f", because {counted(int(strange.sum()), 'cell is no number', 'cells are no numbers')}: {cells}"


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
