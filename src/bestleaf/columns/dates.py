"""Dates as numbers: recognised in text, split into parts, or counted in days."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

FIRST_DAY = pd.Timestamp("1970-01-01")
DAY = pd.Timedelta(days=1)
DAYS = "days"  # the only part of a date that is one number
MONTHS = "(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
# A text is a date if it has a month and a year: 2020-01-31, 2020-01, 31.1.2020 14:30, 1/31/20, 5 Jan 2020, Jan 5, 2020,
# Jan-2020.
DATE_TEXT = re.compile(
    r"\s*((?P<iso>\d{4}-\d{1,2}(-\d{1,2})?)|\d{4}[/.]\d{1,2}([/.]\d{1,2})?"
    r"|(?P<first>\d{1,2})(?P<mark>[-/.])(?P<second>\d{1,2})[-/.](\d{4}|\d{2})"
    rf"|\d{{1,2}}[ -]{MONTHS}\.?[ ,-]+\d{{4}}|{MONTHS}\.? \d{{1,2}},? \d{{4}}|{MONTHS}[ /-]\d{{4}})"
    r"([ T]\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[ap]m)?)? ?(?P<zone>Z|UTC|GMT|[+-]\d{2}:?\d{2})?\s*",
    re.IGNORECASE,
)
MONTH_AND_YEAR = re.compile(r"^\s*([a-z]+)[ /-](\d{4})\s*$", re.IGNORECASE)
LOOK = 100  # texts that are looked at first, because most texts are no dates
PARTS: dict[str, Callable[[pd.Series], pd.Series]] = {
    "year": lambda times: times.dt.year,
    "month": lambda times: times.dt.month,
    "day of week": lambda times: times.dt.day_of_week,
    "day of year": lambda times: times.dt.day_of_year,
    "hour": lambda times: times.dt.hour,
}


class Written(NamedTuple):
    """How dates are written in a text."""

    iso: bool  # 2020-01-31
    day_first: bool
    zoned: bool  # some have a time zone


def dates_among(texts: pd.Series, few: float) -> tuple[np.ndarray, Written] | None:
    """Return which texts are dates, and how they are written; None if more than a share `few` of them are none.

    31.1.2020 has the day first. 1/31/2020 has the month first, unless a number beyond 12 says otherwise.
    """
    if len(texts) > LOOK and dates_among(texts[:LOOK], 2 * few) is None:
        return None
    forms = {text: DATE_TEXT.fullmatch(text) for text in texts.unique()}
    there = [form for form in forms.values() if form is not None]
    mask = texts.map({text: form is not None for text, form in forms.items()}).to_numpy(bool)
    if not there or (~mask).mean() > few:
        return None
    numbers = [(int(form["first"]), int(form["second"])) for form in there if form["first"]]
    day, month = (max((pair[place] for pair in numbers), default=0) for place in (0, 1))
    dotted = there[0]["mark"] == "."
    written = Written(
        all(form["iso"] for form in there),
        day > 12 or (month <= 12 and dotted),
        any(form["zone"] for form in there),
    )
    with suppress(ValueError, TypeError, OverflowError, UserWarning):
        if day <= 12 or month <= 12:
            _parsed(texts[mask][:LOOK], written, errors="raise")
            return mask, written
    return None


def times_in_text(texts: pd.Series, written: Written) -> pd.Series:
    """Return the times that texts mean, with NaT where a text is missing or no date."""
    known = texts.dropna()
    forms = {text: DATE_TEXT.fullmatch(text) is not None for text in known.unique()}
    fine = known[known.map(forms).to_numpy(bool)]
    if not len(fine):
        return pd.Series(pd.NaT, texts.index, "datetime64[us]")
    return _parsed(fine, written, errors="coerce").reindex(texts.index)


def _parsed(texts: pd.Series, written: Written, errors: Literal["raise", "coerce"]) -> pd.Series:
    """Return texts as times; the clock is that of UTC if some have a zone."""
    texts = texts.str.replace(MONTH_AND_YEAR, r"1 \1 \2", regex=True)  # pandas needs a day
    how = {"format": "ISO8601"} if written.iso else {"dayfirst": written.day_first}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if errors == "raise":  # texts that have no common form are no dates
            warnings.filterwarnings("error", message="Could not infer format")
        return _without_zone(pd.to_datetime(texts, errors=errors, utc=written.zoned, **how))


def times_of(column: pd.Series) -> pd.Series:
    """Return a column of dates of any kind as times without a zone, on the clock of the column's own zone."""
    if isinstance(column.dtype, pd.ArrowDtype):
        column = column.astype(object)
    if isinstance(column.dtype, pd.PeriodDtype):
        return column.dt.to_timestamp()
    if column.dtype.kind == "M" or isinstance(column.dtype, pd.DatetimeTZDtype):
        return _without_zone(column)
    values = column.map(lambda value: value.to_timestamp() if isinstance(value, pd.Period) else value)
    zoned = values.dropna().map(lambda value: getattr(value, "tzinfo", None) is not None)
    return _without_zone(pd.to_datetime(values, errors="coerce", utc=bool(zoned.any())))


def _without_zone(times: pd.Series) -> pd.Series:
    return times.dt.tz_localize(None) if getattr(times.dt, "tz", None) is not None else times


def parts_that_vary(times: pd.Series) -> tuple[str, ...]:
    """Return the parts of dates that are not the same in all rows; days, if there are none."""
    known = times.dropna()
    return tuple(name for name, part in PARTS.items() if part(known).nunique() > 1) or (DAYS,)


def parts_of(times: pd.Series, parts: tuple[str, ...]) -> np.ndarray:
    """Return [rows, parts] numbers, with NaN where the date is missing."""
    found = []
    for name in parts:
        values = (times - FIRST_DAY) / DAY if name == DAYS else PARTS[name](times)
        found.append(values.to_numpy(np.float64, na_value=np.nan))
    return np.stack(found, axis=1)


def length_in_days(column: pd.Series) -> np.ndarray:
    """Return lengths of time, or times of the day, as days."""
    if column.dtype.kind != "m":
        column = pd.to_timedelta(column.map(_as_length, na_action="ignore"))
    return (column / DAY).to_numpy(np.float64, na_value=np.nan)


def _as_length(value: object) -> object:
    """Return a time of the day as the time since midnight."""
    return value if isinstance(value, pd.Timedelta) or not hasattr(value, "hour") else str(value).split("+")[0]
