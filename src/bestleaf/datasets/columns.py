"""Columns as users have them, turned into numbers; what cannot be is refused by name."""

from __future__ import annotations

from decimal import Decimal
from numbers import Real

import numpy as np
import pandas as pd

from bestleaf.certificate.claims import counted
from bestleaf.checks import listed, shown

MOST_CATEGORIES = 1_000  # of one column; text with more is rather an identifier
MOST_STRANGE = 3  # cells shown that are no numbers

NUMBER, CATEGORY, DATE, MIXED, NESTED = "number", "category", "date", "mixed", "nested"
KINDS = {  # by what pandas infers from the values
    **dict.fromkeys(("integer", "floating", "mixed-integer-float", "decimal", "empty"), NUMBER),
    **dict.fromkeys(("string", "categorical", "boolean"), CATEGORY),
    **dict.fromkeys(("date", "datetime", "datetime64", "timedelta", "timedelta64", "time", "period"), DATE),
}


def kinds_of(frame: pd.DataFrame) -> dict[str, str]:
    """Return what each column holds."""
    dtypes = zip(frame.columns, frame.dtypes, strict=True)  # a look at every column is slow when there are thousands
    return {name: NUMBER if dtype.kind in "biuf" else kind_of(frame[name]) for name, dtype in dtypes}


def kind_of(column: pd.Series) -> str:
    """Return what a column holds: numbers, a category (text, truth values), dates, both numbers and text, or lists."""
    if column.dtype.kind in "biuf":
        return NUMBER
    if column.dtype.kind in "mM":
        return DATE
    if isinstance(column.dtype, pd.CategoricalDtype):
        return CATEGORY
    kind = KINDS.get(pd.api.types.infer_dtype(column, skipna=True))
    return kind or _kind_of_values(column)


def _kind_of_values(column: pd.Series) -> str:
    """Return what a column of Python objects of several types holds."""
    types = {type(value) for value in column.dropna()}
    if all(issubclass(one, Real | Decimal) for one in types):
        return NUMBER
    return MIXED if all(issubclass(one, Real | Decimal | str) for one in types) else NESTED


def check_kinds(kinds: dict[str, str]) -> None:
    """Refuse columns that are neither numbers nor categories."""
    complaints = {
        DATE: "dates must be turned into numbers first",
        NESTED: "a column must hold numbers or text, not lists, dictionaries or bytes",
        MIXED: "a column must hold numbers or text, not both",
    }
    for wrong, complaint in complaints.items():
        if names := [name for name, kind in kinds.items() if kind == wrong]:
            raise ValueError(f"{complaint}, got the columns {listed(names)}")


def numbers_of(frame: pd.DataFrame) -> np.ndarray:
    """Return columns of numbers as one array, with nan for gaps."""
    plain = frame.copy(deep=False)
    for name in frame.columns[[one.kind == "O" for one in frame.dtypes]]:
        plain[name] = _as_floats(frame[name])
    found = plain.to_numpy(np.float64, copy=True, na_value=np.nan)  # gaps are filled in it
    if infinite := frame.columns[np.isinf(found).any(axis=0)].tolist():
        raise ValueError(f"the table must have no infinite numbers, got some in the columns {listed(infinite)}")
    return found


def _as_floats(column: pd.Series) -> pd.Series:
    """Return a column of Python numbers, such as decimals, as floats."""
    try:
        return column.astype(object).map(float, na_action="ignore").astype(np.float64)
    except (OverflowError, ValueError, TypeError):
        raise ValueError(f"column {shown(column.name)} must hold numbers of 64 bits, got larger ones") from None


def fill_gaps(numbers: np.ndarray, names: list[str], impute: str, rows: np.ndarray | None = None) -> list[str]:
    """Fill the gaps of each column with the median, mean or most frequent number of `rows`; return what was done."""
    notes = []
    missing = np.isnan(numbers)
    asked = slice(None) if rows is None else rows
    where = "" if rows is None else " of the rows searched"
    for number in np.flatnonzero(missing.any(axis=0)):
        name, gaps = names[number], missing[:, number]
        known = numbers[asked, number][~gaps[asked]]
        if len(known) == 0:
            raise ValueError(f"column {shown(name)} must have a number{where} to fill its gaps with, got gaps only")
        value = _typical(known, impute)
        numbers[gaps, number] = value
        notes.append(f"{name}: {counted(int(gaps.sum()), 'gap')} filled with {value:g} ({impute}{where})")
    return notes


def _typical(known: np.ndarray, impute: str) -> float:
    if impute == "most_frequent":
        values, counts = np.unique(known, return_counts=True)
        return float(values[counts.argmax()])
    return float(np.median(known) if impute == "median" else known.mean())


def categories_of(column: pd.Series, name: str) -> tuple[list[str], np.ndarray, str]:
    """Return the names of the values of a category, an array of zeros and ones with a column for each, and a note."""
    values = column.astype("string").fillna("(missing)")
    kinds = sorted(values.unique())
    if len(kinds) > MOST_CATEGORIES:
        limit = f"at most {MOST_CATEGORIES:,} different texts"
        raise ValueError(
            f"column {shown(name)} must have {limit}, got {len(kinds):,}; drop it{_almost_numbers(values)}"
        )
    places = pd.Index(kinds).get_indexer(values)
    ones = (places[:, None] == np.arange(len(kinds))).astype(np.float64)
    gaps = int(column.isna().sum())
    missing = f", {counted(gaps, 'gap')} as one of their own" if gaps else ""
    note = f"{name}: {counted(len(kinds), 'category', 'categories')}{missing}{_almost_numbers(values)}"
    return [f"{name}={kind}" for kind in kinds], ones, note


def _almost_numbers(values: pd.Series) -> str:
    """Return a hint when most cells of a column of text are numbers: somebody may have meant all of them to be."""
    strange = pd.to_numeric(values, errors="coerce").isna() & (values != "(missing)")
    if not 0 < strange.sum() < len(values) / 2:
        return ""
    cells = ", ".join(repr(str(cell)[:20]) for cell in values[strange].unique()[:MOST_STRANGE])
    return f", because {counted(int(strange.sum()), 'cell is no number', 'cells are no numbers')}: {cells}"


def targets_of(column: pd.Series) -> pd.Series:
    """Return the column to predict as numpy knows it: numbers, truth values or text."""
    name, kind = column.name, kind_of(column)
    if gaps := int(column.isna().sum()):
        raise ValueError(
            f"the target {shown(name)} must have no gaps, got {gaps:,} of {len(column):,} rows without one"
        )
    if kind in (DATE, NESTED, MIXED):
        words = {DATE: "dates", NESTED: "lists, dictionaries or bytes", MIXED: "both in one column"}[kind]
        raise ValueError(f"the target {shown(name)} must hold numbers or classes, got {words}")
    if column.nunique() < 2:
        raise ValueError(f"the target {shown(name)} must have two different values, got only {shown(column.iloc[0])}")
    if isinstance(column.dtype, pd.CategoricalDtype):
        return targets_of(column.astype(column.cat.categories.dtype))
    if kind == CATEGORY:
        return column if isinstance(column.iloc[0], str | bool | np.bool_) else column.astype(str)
    if column.dtype.kind == "O":
        column = _as_floats(column)
    plain = column.astype({"b": np.bool_, "i": np.int64, "u": np.uint64}.get(column.dtype.kind, np.float64))
    if not np.isfinite(plain.to_numpy()).all():
        raise ValueError(f"the target {shown(name)} must have no infinite numbers, got some")
    return plain
