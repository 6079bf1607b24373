"""What each column of a table is: numbers, a category, dates, or left out; and its cells as numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
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
AS_TEXT = "numbers written as text"
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


class Cells(NamedTuple):
    """The cells of a column as text, each different text once; so a million dates of a year are read 365 times."""

    texts: pd.Series  # the different ones, in the order of their first rows
    codes: np.ndarray  # for each row the number of its text; -1 if it is missing

    @classmethod
    def of(cls, column: pd.Series) -> Cells:
        """Return the cells of a column; a TypeError says that they are lists or dictionaries."""
        codes, values = pd.factorize(column)
        texts = pd.Series(values).astype("string").astype(object)
        if texts.duplicated().any():  # such as 1 and "1"
            again, different = pd.factorize(texts)
            return cls(pd.Series(different, dtype=object), np.append(again, -1)[codes])
        return cls(texts, codes)

    @property
    def counts(self) -> np.ndarray:
        """How many rows have each text."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.texts))

    @property
    def missing(self) -> int:
        """How many cells are missing."""
        return int((self.codes < 0).sum())

    def known(self) -> pd.Series:
        """Return the texts of the rows that have one."""
        return self.texts.take(self.codes[self.codes >= 0])

    def spread(self, of_texts: np.ndarray, missing: float = np.nan) -> np.ndarray:
        """Return [rows, columns] from the numbers of each text."""
        return np.vstack([of_texts, np.full((1, of_texts.shape[1]), missing)])[self.codes]


@dataclass(frozen=True)
class Column:
    """What a column is, and what it becomes in a table of numbers."""

    kind: str  # NUMBER, CATEGORY, DATE or LENGTH; LEFT_OUT if no search can use it; MIXED or NESTED if it is refused
    note: str = ""
    odd: str = ""  # cells that are no numbers or dates, in words; they are missing values
    levels: tuple[str, ...] = ()  # of a category, or the parts of a date
    written: times.Written | Numbers | None = None  # how dates or numbers are written in text; None if they are not
    example: str = ""  # of a date in text, how it was read, in words

    def dated(self, way: str) -> Column:
        """Return the same column; a date becomes its "parts", one "number", or it is dropped."""
        if self.kind != DATE:
            return self
        if way == "drop":
            return _left_out("dates are dropped")
        parts = self.levels if way == "parts" else (times.DAYS,)
        as_what = "days since 1970" if parts == (times.DAYS,) else ", ".join(parts)
        return replace(self, levels=parts, note=f"a date{self.example}, as {as_what} (dates: {way})")

    def plain(self, column: pd.Series, cells: Cells | None = None) -> np.ndarray:
        """Return the cells as numbers, [rows, plain columns]; of a category, the number of the level or -1."""
        if self.kind == LEFT_OUT:
            return np.empty((len(column), 0))
        if self.kind == LENGTH:
            return times.length_in_days(column)[:, None]
        if self.kind == DATE and self.written is None:
            return times.parts_of(times.times_of(column), self.levels)
        if self.kind == NUMBER and (self.written is None or column.dtype.kind in "biuf"):
            return _finite(column, floats_of(column)[:, None])
        cells = Cells.of(column) if cells is None else cells
        if isinstance(self.written, times.Written):
            return cells.spread(times.parts_of(times.times_in_text(cells.texts, self.written), self.levels))
        if self.kind == NUMBER:
            return _finite(column, self.numbers(cells)[:, None])
        place = pd.Index(self.levels)
        missing = float(place.get_indexer([MISSING])[0])
        return cells.spread(place.get_indexer(pd.Index(cells.texts)).astype(np.float64)[:, None], missing)

    def numbers(self, cells: Cells) -> np.ndarray:
        """Return the numbers of a column that has them as text."""
        assert isinstance(self.written, Numbers)
        return cells.spread(numbers_in_text(cells.texts, self.written).to_numpy(np.float64)[:, None])[:, 0]

    def names(self, name: str) -> list[str]:
        """Return the names of the numeric columns that a column of this name becomes."""
        if self.kind == CATEGORY:
            return [f"{name}={level}" for level in self.levels]
        if self.kind == DATE and self.levels != (times.DAYS,):
            return [f"{name}.{part}" for part in self.levels]
        return [] if self.kind == LEFT_OUT else [name]


Read = tuple[Column, Cells | None]  # a column, and its cells if they are text


def _left_out(why: str) -> Column:
    return Column(LEFT_OUT, f"{NOT_USED}{why}")


def read_columns(frame: pd.DataFrame) -> dict[str, Read]:
    """Return what each column of a table is, by name, but for plain numbers, which are not looked at one by one.

    The check, the encoder and the selectors ask here and nowhere else.
    """
    empty = frame.isna().all(axis=0).tolist()
    columns = zip(frame.columns.tolist(), frame.dtypes, empty, strict=True)
    return {name: read_column(frame[name]) for name, dtype, none in columns if none or dtype.kind not in "biuf"}


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


def read_column(column: pd.Series) -> Read:
    """Return what a column is."""
    kind = kind_of(column)
    if not column.notna().any():
        return _left_out("it has no value at all"), None
    if kind == LENGTH:
        return Column(LENGTH, "a length of time, in days"), None
    if kind == DATE:
        return _dates(times.times_of(column)), None
    if kind not in (CATEGORY, TEXT, MIXED):
        return Column(kind), None
    cells = Cells.of(column)
    if kind == CATEGORY:
        return _category(cells), cells
    found = _numbers_in_text(cells) or (_dates_in_text(cells) if kind == TEXT else None)
    return found or (_category(cells) if kind == TEXT else Column(MIXED)), cells


def _numbers_in_text(cells: Cells) -> Column | None:
    """Return a column of text as numbers, if almost all of its cells are; numbers with zeros in front are codes."""
    texts = cells.texts
    written = _how_numbers_are_written(cells)
    numbers = numbers_in_text(texts, written)
    odd = numbers.isna().to_numpy()
    if not _are_few(odd, cells) or texts[~odd].str.match(r"\s*0\d").any():
        return None
    if not odd.any():
        first = "" if written.unit is None else f", {shown(texts[0].strip())} is {numbers[0]:g}"
        return Column(NUMBER, f"{AS_TEXT}{first}", written=written)
    repeated = {cell.strip().casefold() for cell in texts[odd & (cells.counts > 1)]}
    if numbers.nunique() <= FEW_NUMBERS and repeated - MARKERS:  # such as 0, 1, 2, 3+
        return None
    return Column(NUMBER, odd=_odd_cells(cells, odd, "number"), written=written)


def _how_numbers_are_written(cells: Cells) -> Numbers:
    """Return the decimal mark and the unit of most texts.

    "1,234" has thousands, as has "€ 1.234"; "1,234 %" has a decimal comma. Texts with different units are no numbers.
    """
    if _are_few(pd.to_numeric(cells.texts, errors="coerce").isna().to_numpy(), cells):
        return Numbers()
    found = cells.texts[:SOME].str.extract(WRITTEN_NUMBER)
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


def _dates_in_text(cells: Cells) -> Column | None:
    """Return a column of text as dates, if almost all of its cells are."""
    known = cells.known()
    found = times.dates_among(known, FEW)
    if found is None:
        return None
    dates, written = found
    odd = ~cells.texts.isin(known[dates]).to_numpy()
    dated = times.times_in_text(cells.texts, written)
    late = int(dated[:SOME].dt.day.fillna(0).argmax())  # a day after the 12th says which number is the month
    example = "" if written.iso else f", {shown(cells.texts[late].strip())} is {dated[late].date()}"
    return _dates(dated, written, _odd_cells(cells, odd, "date") if odd.any() else "", example)


def _dates(found: pd.Series, written: times.Written | None = None, odd: str = "", example: str = "") -> Column:
    return Column(DATE, "", odd, times.parts_that_vary(found), written, example).dated("parts")


def _category(cells: Cells) -> Column:
    missing, rows = cells.missing, len(cells.codes)
    levels = tuple(sorted({*cells.texts, *([MISSING] if missing else [])}))
    if len(levels) == rows > FEWEST_IDS:
        return _left_out("every row has a text of its own")
    if len(levels) > MOST_CATEGORIES:
        return _left_out(f"it has {len(levels):,} different texts, more than {MOST_CATEGORIES:,}")
    apart = f", {counted(missing, 'missing value')} as one of their own" if missing else ""
    return Column(CATEGORY, f"{counted(len(levels), 'category', 'categories')}{apart}", levels=levels)


def _are_few(odd: np.ndarray, cells: Cells) -> bool:
    """Whether the cells of odd texts are few: at most a tenth, or a single one of at least four."""
    many = int(cells.counts.sum())
    return bool(cells.counts[odd].sum() <= max(FEW * many, many >= 4))


def _odd_cells(cells: Cells, odd: np.ndarray, what: str) -> str:
    """Return in words which cells are odd, with the row of the first of each; rows are counted from 1."""
    which = np.flatnonzero(odd).tolist()
    rows = [int(np.argmax(cells.codes == code)) for code in which[:MOST_CELLS]]
    named = [f"{shown(cut(cells.texts[code], 20))} in row {row + 1:,}" for code, row in zip(which, rows, strict=False)]
    more = ", …" if len(which) > MOST_CELLS else ""
    many = counted(int(cells.counts[odd].sum()), f"cell is no {what}", f"cells are no {what}s")
    return f"{many}: {', '.join(named)}{more}"


def floats_of(column: pd.Series) -> np.ndarray:
    """Return a column of numbers of any kind as floats, with NaN for missing values and odd cells."""
    if column.dtype.kind in "biuf":
        return column.to_numpy(np.float64, na_value=np.nan)
    if pd.api.types.infer_dtype(column, skipna=True) in ("string", "categorical", "mixed-integer", "mixed"):
        texts = column.astype("string").astype(object).where(column.notna(), np.nan)
        return pd.to_numeric(texts, errors="coerce").to_numpy(np.float64)
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
        read, cells = read_column(column)
        if read.kind == DATE and not read.odd:
            return DATE, column
        if isinstance(read.written, Numbers) and read.written.unit is not None and not read.odd:
            return NUMBER, pd.Series(read.plain(column, cells)[:, 0], column.index, name=column.name)
    return kind, column
