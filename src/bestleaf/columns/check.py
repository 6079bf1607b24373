"""A look at a table before a search: columns that should not be searched, and what else is strange about it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bestleaf.checks import did_you_mean, listed, one_of, shown
from bestleaf.columns.findings import KINDS, Finding
from bestleaf.columns.kinds import DATE, read_target
from bestleaf.columns.leaks import leaks, leaks_by_gaps, leaks_of_two, sums_of_others
from bestleaf.columns.look import Look, looked_at
from bestleaf.features.data import task_of
from bestleaf.features.neighbours import TASKS
from bestleaf.proof.text import counted

FEW_ROWS = 50
RARE_CLASS = 10  # a class with fewer rows is rare
FEWEST_NUMBERED = 20  # rows: consecutive numbers of fewer rows may be measurements, if their name says nothing else
MANY_NUMBERED = 100  # rows: consecutive numbers of so many rows number them even if they do not begin with 0 or 1
FEWEST_TEXTS = 10  # values: all texts of fewer ones may differ by chance
AN_ID = 0.95  # share of different texts among the texts of an identifier
MOST_WITHOUT = 0.5  # share of missing values among texts that may be identifiers
MANY_MISSING = 0.3
FEW_NUMBERS = 5  # so many different whole numbers, or more, may be meant as numbers and not as classes
MOST_LABELS = 5  # rare classes that are named
YEARS = (1500, 2200)

TOLD_IN_PYTHON = {
    "row number": "has columns that number the rows",
    "id": "has columns that look like identifiers",
    "leak": "has columns that rank y almost perfectly, perhaps leaks",
    "leak by gaps": "has columns that are missing for whole classes of y, perhaps leaks",
    "leak of two": "has two columns that rank y perfectly, perhaps a leak",
    "sum": "has columns that are sums of others",
}
UNNAMED = re.compile(r"(Unnamed: \d+(_level_\d+)?)?\s*|__index_level_\d+__")
WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")  # of a name such as customer_id, customerId or CustomerID
AN_ID_ENDS_IN = {"id", "ids", "uid", "pid", "uuid", "guid", "key", "no", "nr"}
ROW_NAMES = {"row", "rows", "rowname", "rownames", "rownumber", "rowid", "rowno", "index", "idx"}
TIMES = {  # words in the names of times
    *("time", "year", "yr", "month", "week", "day", "date", "hour", "minute", "second", "quarter", "period", "season"),
    *("age", "wave", "t"),
}


@dataclass(frozen=True, repr=False)
class TableCheck:
    """What a look at a table found; true in a condition if there is something."""

    rows: int
    columns: int  # beside the target, that were looked at
    target: str
    task: str | None  # None if the target cannot be predicted
    findings: tuple[Finding, ...]

    @property
    def left_out(self) -> list[str]:
        """Columns that a search leaves out: row numbers, other identifiers, and columns without a name or values."""
        return [name for one in self.findings if KINDS[one.kind].left_out for name in one.columns]

    @property
    def leaks(self) -> list[str]:
        """Columns that alone rank the target almost perfectly."""
        return [name for one in self.findings if one.kind == "leak" for name in one.columns]

    @property
    def to_drop(self) -> list[str]:
        """Columns to drop if they are not known before the target: the leaks, and one of two that are one together."""
        names = (name for one in self.findings if one.kind.startswith("leak") for name in one.columns)
        return list(dict.fromkeys(names))

    @property
    def notes(self) -> list[str]:
        """What was found, in words, in the order of `KINDS`."""
        by_kind = {finding.kind: finding for finding in self.findings}
        return [line for kind in KINDS if kind in by_kind for line in by_kind[kind].lines()]

    def __bool__(self) -> bool:
        return bool(self.findings)

    @property
    def size(self) -> str:
        """Rows, columns and target, in words."""
        kind = {"classification": "classes", "regression": "numbers", None: "what cannot be predicted"}[self.task]
        columns = f"{counted(self.columns, 'column')} beside the target {self.target} ({kind})"
        return f"{counted(self.rows, 'row')}, {columns}."

    def __str__(self) -> str:
        return "\n".join([self.size, *(self.notes or ["Nothing strange was found."])])

    __repr__ = __str__


def check_table(
    frame: pd.DataFrame, target: str, *, task: str = "auto", drop: Iterable[str] = (), keep: Iterable[str] = ()
) -> TableCheck:
    """Look at a table before a search.

    Row numbers, other identifiers, and columns without a name or without any value are those that a search should leave
    out. A column that alone ranks the target almost perfectly may be a leak: something that is known only after the
    target. Constant columns, columns with the same values, missing values and rare classes are named, too.

    Parameters
    ----------
    frame : DataFrame
        Features and target.
    target : str
        Name of the target column.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether the target holds classes or numbers.
    drop : list of str, default=()
        Columns that are not looked at.
    keep : list of str, default=()
        Columns that a search should not leave out, whatever they look like.

    Returns
    -------
    TableCheck

    Examples
    --------
    >>> import pandas as pd
    >>> from bestleaf.tables import check_table
    >>> people = pd.DataFrame({"id": range(1, 61), "age": [20, 35, 50] * 20, "bought": [0, 1, 1, 0] * 15})
    >>> check_table(people, "bought")
    60 rows, 2 columns beside the target bought (classes).
    id numbers the rows; left out of the search.
    """
    frame = without_columns(frame.set_axis([str(name) for name in frame.columns], axis=1), target, drop, keep)
    features = frame.drop(columns=target)
    one_of("task", task, TASKS)
    found, kept = _Findings(), set(keep)
    y = read_target(frame[target])[1]
    found_task = _look_at_target(found, y, task)
    if len(frame) < FEW_ROWS:
        found.add("few rows", target, len(frame))
    columns = looked_at(features)
    ranks = _ranks(columns, len(frame))
    out = {one.name for one in columns if one.name not in {*kept, *ranks} and _is_left_out(found, one, len(frame))}
    stay = [one for one in columns if one.name not in out]
    for column in stay:
        _look_at_column(found, column)
    _look_for_duplicates(found, stay)
    if found_task is not None:
        measure = "AUC" if found_task == "classification" else "rank correlation"
        looked = features[[one.name for one in stay]]
        for name, score in leaks(looked, y, found_task).items():
            found.add("leak", name, score, measure)
        alone = {name for name, _, _ in found.get("leak", [])}
        for name, gaps in leaks_by_gaps(looked, y, found_task).items():
            if name not in alone:
                found.add("leak by gaps", name, 0, gaps)
        for name, pair in leaks_of_two(looked, y, found_task).items():
            found.add("leak of two", name, 0, pair)
    copies = {name for name, _, _ in found.get("duplicate", [])}
    for name, terms in sums_of_others(features[[one.name for one in stay if one.name not in copies]]).items():
        found.add("sum", name, 0, terms)
    findings = tuple(Finding(kind, *zip(*rows, strict=True)) for kind, rows in found.items())
    return TableCheck(len(frame), len(columns), target, found_task, findings)


def told_in_python(frame: pd.DataFrame, y: np.ndarray) -> str | None:
    """Return in a sentence which columns of a data frame may be ids, leaks or sums of others; None without any."""
    target = next(name for number in range(len(frame.columns) + 1) if (name := "y" * (number + 1)) not in frame.columns)
    found = {one.kind: one for one in check_table(frame.assign(**{target: y}), target).findings}
    said = [
        f"{words} [{listed(one.texts if kind == 'leak of two' else one.columns)}]"
        for kind, words in TOLD_IN_PYTHON.items()
        if (one := found.get(kind)) is not None
    ]
    return f"X {'; '.join(said)}; bestleaf.tables.check_table says more" if said else None


def without_columns(frame: pd.DataFrame, target: str, drop: Iterable[str], keep: Iterable[str]) -> pd.DataFrame:
    """Return a table without the columns to drop; refuse names that are no columns beside the target."""
    check_target_name(frame, target)
    others = [name for name in frame.columns if name != target]
    dropped, kept = columns_named("drop", drop, others), columns_named("keep", keep, others)
    if both := sorted(set(dropped).intersection(kept)):
        raise ValueError(f"drop and keep must not name the same column, got {listed(both)} for both")
    if repeated := sorted({str(name) for name in frame.columns[frame.columns.duplicated()]}):
        rule = "the table must have a different name for every column"
        raise ValueError(f"{rule}, got {listed(repeated)} more than once")
    return frame.drop(columns=dropped)


def columns_named(argument: str, given: Iterable[Any], others: Collection[str]) -> list[str]:
    """Return names of columns as a list; refuse other names."""
    names: list[Any] = columns_listed(argument, given)
    for name in names:
        if not isinstance(name, str) or name not in others:
            rule = "must name a column of the table other than the target"
            raise ValueError(f"{argument} {rule}, got {shown(name)}{did_you_mean(name, others)}")
    return names


def columns_listed(argument: str, given: Iterable[Any]) -> list[str]:
    """Return names of columns as a list; a text would be a list of its letters."""
    if isinstance(given, str):
        raise TypeError(f"{argument} must be a list of names of columns, got the text {shown(given)}")
    return list(given)


def check_target_name(frame: pd.DataFrame, target: str) -> None:
    """Refuse a target that is no column of a table."""
    if target not in frame.columns:
        hint, there = did_you_mean(target, frame.columns), listed(frame.columns)
        raise ValueError(f"target must be a column of the table, got {shown(target)}{hint} where there are {there}")


class _Findings(dict[str, list[tuple[str, float, str]]]):
    """By kind, the columns with a number and a text."""

    def add(self, kind: str, column: str, number: float = 0, text: str = "") -> None:
        """Add a finding about a column."""
        self.setdefault(kind, []).append((column, number, text))


def _look_at_target(found: _Findings, y: pd.Series, task: str) -> str | None:
    """Look at the target; return the task, or None if it cannot be predicted."""
    name, known = str(y.name), y.dropna()
    if known.nunique() < 2:
        return None
    numbers = known.dtype.kind in "biuf"
    if read_target(known)[0] == DATE:
        return None
    try:
        task = task_of(known.to_numpy() if numbers else known.astype(str).to_numpy(object), task)
    except ValueError:  # infinite numbers, for example
        return None
    if task == "regression":
        return task if numbers else None
    counts = known.value_counts()
    if known.dtype.kind in "iuf" and len(counts) >= FEW_NUMBERS:
        found.add("classes", name, len(counts))
    if len(rare := counts[counts < RARE_CLASS]):
        labels = [f"{shown(label)} ({rows})" for label, rows in rare.iloc[::-1][:MOST_LABELS].items()]
        found.add("rare class", name, len(rare), ", ".join(labels) + (", …" if len(rare) > MOST_LABELS else ""))
    return task


def _is_left_out(found: _Findings, column: Look, rows: int) -> bool:
    """Return whether a column should be left out of a search, and note why."""
    name, different, values = column.name, column.different or 0, round(rows * (1 - column.missing))
    if UNNAMED.fullmatch(name):
        found.add("unnamed", name)
    elif values == 0:
        found.add("empty", name)
    elif _counts_rows(column, rows) and _numbers_rows(column, rows):
        found.add("row number", name)
    elif column.whole and different == values and rows >= FEWEST_NUMBERED and _named_id(name):
        found.add("id", name, different, "whole numbers")
    elif column.text and not column.measured and different >= AN_ID * values and _texts_are_ids(column, values):
        found.add("id", name, different, "texts")
    else:
        return False
    return True


def _words(name: str) -> list[str]:
    """Return the words of a name in small letters."""
    return [word.lower() for word in WORDS.findall(name)]


def _named_id(name: str) -> bool:
    """Whether the name of a column says that it is an identifier."""
    words = _words(name)
    return "".join(words) in ROW_NAMES or (bool(words) and (words[-1] in AN_ID_ENDS_IN or words[0] == "id"))


def _named_time(name: str) -> bool:
    """Whether the name of a column says that it is a time."""
    return not TIMES.isdisjoint(_words(name)) and not _named_id(name)


def _counts_rows(column: Look, rows: int) -> bool:
    """Whether a column has consecutive whole numbers, each of them once."""
    return column.whole and column.different == rows > 2 and column.high - column.low == rows - 1


def _numbers_rows(column: Look, rows: int) -> bool:
    """Whether consecutive whole numbers are numbers of rows: not years, other times or a few measurements."""
    if _named_id(column.name):
        return True
    years = YEARS[0] <= column.low and column.high <= YEARS[1]
    begins = column.low in (0, 1)
    return not (years or _named_time(column.name)) and rows >= (FEWEST_NUMBERED if begins else MANY_NUMBERED)


def _texts_are_ids(column: Look, values: int) -> bool:
    """Whether texts that are (almost) all different say nothing about other rows."""
    return values >= FEWEST_TEXTS and column.missing < MOST_WITHOUT and not _named_time(column.name)


def _ranks(columns: Iterable[Look], rows: int) -> set[str]:
    """Return the columns that rank the rows: several that number them, each in another order, are no row numbers."""
    named = {one.name for one in columns if _counts_rows(one, rows) and not (one.rising or _named_id(one.name))}
    return {name for name in named if len(named) > 1 and not UNNAMED.fullmatch(name)}


def _look_at_column(found: _Findings, column: Look) -> None:
    """Note what is strange about a column that a search does not leave out."""
    name = column.name
    if column.value is not None:
        found.add("constant", name, 0, column.value)
    if column.marker is not None:
        found.add("marker", name, *column.marker)
    if column.lone is not None:
        found.add("lone", name, 0, column.lone)
    if column.missing >= MANY_MISSING:
        found.add("missing", name, column.missing)


def _look_for_duplicates(found: _Findings, columns: Iterable[Look]) -> None:
    """Note columns that have the same values as one before them."""
    first: dict[int, str] = {}
    for column in columns:
        if column.digest is not None and column.value is None:
            other = first.setdefault(column.digest, column.name)
            if other != column.name:
                found.add("duplicate", column.name, 0, other)
