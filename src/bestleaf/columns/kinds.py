"""What each column of a table is: numbers, a category, dates, or left out; its cells as numbers; and how it looks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import NamedTuple

import numpy as np
import pandas as pd

from bestleaf.checks import cut, shown
from bestleaf.columns import dates as times
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
SOME = 200  # different texts that are looked at to tell what they are
UNIT = "[%‰$€£¥]|EUR|USD|GBP|CHF"
WRITTEN_NUMBER = re.compile(
    rf"\s*(?P<sign>[-+]?)\s*(?P<before>{UNIT})?\s*(?P<inner>[-+]?)(?P<digits>\d[\d.,'\u00a0\u202f]*)\s*(?P<after>{UNIT})?\s*"
)
THOUSANDS = {
    mark: rf"[1-9]\d{{0,2}}(?:[{other}'\u00a0\u202f]\d{{3}})+" for mark, other in (".,", ",.")
}  # by decimal mark
FORMS = {mark: rf"(?:{many}|\d+)(?:[{mark}]\d+)?" for mark, many in THOUSANDS.items()}
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


class Numbers(NamedTuple):
    """How numbers are written in a text."""

    decimal: str = "."  # or a comma
    unit: str | None = None  # such as "%", before or after the number; None: as Python writes numbers


@dataclass(frozen=True)
class Column:
    """What a column becomes in a table of numbers."""

    kind: str  # NUMBER, CATEGORY, DATE, LENGTH, or LEFT_OUT if no search can use it
    note: str = ""
    odd: str = ""  # cells that are no numbers or dates, in words; they are missing values
    levels: tuple[str, ...] = ()  # of a category, or the parts of a date
    written: times.Written | Numbers | None = None  # how dates or numbers are written in text; None if they are not

    def plain(self, column: pd.Series) -> np.ndarray:
        """Return the cells as numbers, [rows, plain columns]; of a category, the number of the level or -1."""
        if self.kind == LEFT_OUT:
            return np.empty((len(column), 0))
        if self.kind == DATE:
            if not isinstance(self.written, times.Written):
                return times.parts_of(times.times_of(column), self.levels)
            return times.parts_of(times.times_in_text(_known(column), self.written), self.levels)
        if self.kind == LENGTH:
            return times.length_in_days(column)[:, None]
        if self.kind == CATEGORY:
            return pd.Index(self.levels).get_indexer(pd.Index(_texts(column))).astype(np.float64)[:, None]
        if isinstance(self.written, Numbers) and column.dtype.kind not in "biuf":
            return _finite(column, numbers_in_text(_known(column), self.written).to_numpy(np.float64))[:, None]
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
    written = _how_numbers_are_written(known)
    numbers = numbers_in_text(known, written)
    odd = numbers.isna()
    codes = known[~odd].str.match(r"\s*0\d")
    if not _is_few(odd) or codes.any():
        return None
    if not odd.any():
        first = "" if written.unit is None else f", {shown(known.iloc[0].strip())} is {numbers.iloc[0]:g}"
        return Column(NUMBER, f"numbers written as text{first}", written=written)
    repeated = {cell.strip().casefold() for cell in known[odd][known[odd].duplicated()]}
    if numbers.nunique() <= FEW_NUMBERS and repeated - MARKERS:  # such as 0, 1, 2, 3+
        return None
    return Column(NUMBER, odd=_odd_cells(known[odd], "number"), written=written)


def _how_numbers_are_written(texts: pd.Series) -> Numbers:
    """Return the decimal mark and the unit of most texts.

    "1,234" has thousands, as has "€ 1.234"; "1,234 %" has a decimal comma. Texts with different units are no numbers.
    """
    if _is_few(pd.to_numeric(texts, errors="coerce").isna()):
        return Numbers()
    found = texts.drop_duplicates()[:SOME].str.extract(WRITTEN_NUMBER)
    if found["digits"].isna().mean() > 0.5:
        return Numbers()
    units = _units(found.dropna(subset="digits"))
    unit = str(units.mode().iloc[0])
    digits = found["digits"].dropna()
    fits = {mark: int(digits.str.fullmatch(FORMS[mark]).sum()) for mark in ".,"}
    many = {mark: int(digits.str.match(THOUSANDS[mark]).sum()) * (-1 if unit in "%‰" and unit else 1) for mark in ".,"}
    return Numbers(max(".,", key=lambda mark: (fits[mark], many[mark])), unit)


def _units(found: pd.DataFrame) -> pd.Series:
    return found["before"].fillna("") + found["after"].fillna("")


def numbers_in_text(texts: pd.Series, written: Numbers) -> pd.Series:
    """Return texts as numbers, with NaN for those that are none."""
    if written.unit is None:
        return pd.to_numeric(texts, errors="coerce")
    found = texts.str.extract(f"^{WRITTEN_NUMBER.pattern}$")
    digits = found["digits"].where(found["digits"].str.fullmatch(FORMS[written.decimal]).eq(True))
    plain = digits.str.replace(rf"[^\d{written.decimal}]", "", regex=True).str.replace(",", ".")
    numbers = pd.to_numeric(found["sign"].fillna("") + found["inner"].fillna("") + plain, errors="coerce")
    return numbers.where(_units(found) == written.unit)


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


def read_target(column: pd.Series) -> tuple[str, pd.Series]:
    """Return the kind of a target, and the target; numbers with decimal commas or units become numbers."""
    kind = kind_of(column)
    if kind == TEXT and column.notna().any():
        read = read_column(column, "number")
        if not isinstance(read, Column) or read.odd:
            return kind, column
        if read.kind == DATE:
            return DATE, column
        if isinstance(read.written, Numbers) and read.written.unit is not None:
            return NUMBER, pd.Series(read.plain(column)[:, 0], column.index, name=column.name)
    return kind, column
