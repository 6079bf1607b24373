"""A look at a table before a search: columns that should not be searched, and what else is strange about it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bestleaf.checks import did_you_mean, listed, one_of, shown
from bestleaf.columns.kinds import DATE, NUMBER, Read, read_columns, read_target
from bestleaf.columns.leaks import leaks, leaks_by_gaps, leaks_of_two, near_copies, sums_of_others
from bestleaf.columns.look import Look, looked_at
from bestleaf.features.data import task_of
from bestleaf.features.neighbours import TASKS
from bestleaf.proof.text import counted, in_line, visible

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

UNNAMED = re.compile(r"(Unnamed: \d+(_level_\d+)?)?\s*|__index_level_\d+__")
WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")  # of a name such as customer_id, customerId or CustomerID
AN_ID_ENDS_IN = {"id", "ids", "uid", "pid", "uuid", "guid", "key", "no", "nr"}
ROW_NAMES = {"row", "rows", "rowname", "rownames", "rownumber", "rowid", "rowno", "index", "idx"}
TIMES = {  # words in the names of times
    *("time", "year", "yr", "month", "week", "day", "date", "hour", "minute", "second", "quarter", "period", "season"),
    *("age", "wave", "t"),
}


MOST_LINES = 5  # columns of a kind that have a line each
MOST_NAMES = 8  # columns that are named in a line about many
BEFORE = "Drop what is not known before the target."


Found = dict[str, dict[str, str]]  # by kind, the columns with a text


class Kind(NamedTuple):
    """A kind of finding: what is said about one column, with its name before, and about many."""

    one: str  # behind the name
    many: str = ""  # behind the number of columns
    left_out: bool = False
    told: str = ""  # what X has, in the warning of a selector; nothing if it does not warn


# The order is that of the lines: first what must be looked at, then what was left out, then the rest.
KINDS = {
    "leak": Kind(
        "alone ranks the target almost perfectly ({text})",
        "rank the target almost perfectly, each of them alone",
        told="has columns that rank y almost perfectly, perhaps leaks",
    ),
    "leak by gaps": Kind(
        "is missing exactly where the target is {text}",
        "are missing exactly for some classes of the target",
        told="has columns that are missing for whole classes of y, perhaps leaks",
    ),
    "leak of two": Kind(
        "is part of {text}, which ranks the target perfectly, although no column does alone",
        "rank the target perfectly, each together with another one",
        told="has two columns that rank y perfectly, perhaps a leak",
    ),
    "classes": Kind("has {text} different whole numbers, taken as classes; task regression takes them as numbers."),
    "rare class": Kind("has {text}."),
    "few rows": Kind("has {text}: scores on so few rows are rough."),
    "unnamed": Kind("has no name of its own", "have no name of their own", True),
    "row number": Kind("numbers the rows", "number the rows", True, "has columns that number the rows"),
    "id": Kind("is an identifier ({text})", "are identifiers", True, "has columns that look like identifiers"),
    "empty": Kind("has no values at all", "have no values at all", True),
    "constant": Kind("is always {text}.", "are constant"),
    "marker": Kind("has {text}; does that mean a missing value?", "have cells such as '?'"),
    "lone": Kind("is {text}; is that right?", "have one number that is far from all others"),
    "missing": Kind("has no value in {text} of the rows.", "have many missing values"),
    "sum": Kind(
        "is the sum {text}, apart from a constant.", "are sums of others", told="has columns that are sums of others"
    ),
    "duplicate": Kind("has the same values as {text}.", "have the same values as another one"),
    "copy": Kind("is nearly a copy of {text}; one of both is enough.", "are nearly copies of another one"),
}


@dataclass(frozen=True)
class Finding:
    """Something that was found in a table, in one or more columns."""

    kind: str  # such as "id" or "leak"; all kinds are in `KINDS`
    columns: tuple[str, ...]  # of few rows "The table"
    texts: tuple[str, ...]  # one for each column, such as the share of missing values; "" where there is none

    def lines(self) -> list[str]:
        """Return what was found as lines: one for each column, or one for many columns."""
        kind, many = KINDS[self.kind], len(self.columns)
        names = [in_line(visible(name), 60) or "(blank)" for name in self.columns]
        leak, end = self.kind.startswith("leak"), "; left out." if kind.left_out else ""
        end = f". {BEFORE}" if leak else end
        if many <= MOST_LINES:
            said = (kind.one.format(text=in_line(visible(text), 120)) for text in self.texts)
            return [f"{'A leak? ' if leak else ''}{name} {words}{end}" for name, words in zip(names, said, strict=True)]
        more = f" and {many - MOST_NAMES:,} more" if many > MOST_NAMES else ""
        named = ", ".join(dict.fromkeys(names[:MOST_NAMES]))
        return [f"{'Leaks? ' if leak else ''}{many:,} columns {kind.many}: {named}{more}{end or '.'}"]


@dataclass(frozen=True, repr=False)
class TableCheck:
    """What a look at a table found; true in a condition if there is something."""

    rows: int
    columns: int  # beside the target, that were looked at
    target: str
    task: str | None  # None if the target cannot be predicted
    findings: tuple[Finding, ...]
    read: dict[str, Read] = field(default_factory=dict, compare=False)  # what each column is, but for plain numbers

    @property
    def left_out(self) -> list[str]:
        """Columns that a search leaves out: row numbers, other identifiers, and columns without a name or values."""
        return [name for one in self.findings if KINDS[one.kind].left_out for name in one.columns]

    @property
    def leaks(self) -> list[str]:
        """Columns to drop if they are not known before the target: of two that are a leak together, the first."""
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
    frame: pd.DataFrame,
    target: str,
    *,
    task: str = "auto",
    drop: Iterable[str] = (),
    keep: Iterable[str] = (),
    read: dict[str, Read] | None = None,
) -> TableCheck:
    """Look at a table before a search.

    Row numbers, other identifiers, and columns without a name or without any value are those that a search should leave
    out. A column that alone ranks the target almost perfectly may be a leak: something that is known only after the
    target. Constant columns, columns that are (nearly) the same, missing values and rare classes are named, too.

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
    read : dict, default=None
        What `read_columns` says of the columns, if that is known already.

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
    id numbers the rows; left out.
    """
    frame = without_columns(frame.set_axis([str(name) for name in frame.columns.tolist()], axis=1), target, drop, keep)
    features = frame.drop(columns=target)
    one_of("task", task, TASKS)
    kept = set(keep)
    found: Found = defaultdict(dict)
    y = read_target(frame[target])[1]
    found_task = _look_at_target(found, y, task)
    if len(frame) < FEW_ROWS:
        found["few rows"]["The table"] = f"only {counted(len(frame), 'row')}"
    read = read_columns(features) if read is None else read
    if written := {name: one.numbers(cells) for name, (one, cells) in read.items() if one.kind == NUMBER and cells}:
        features = features.assign(**written)  # numbers are looked at as numbers, however they are written
    columns = looked_at(features, read)
    ranks = _ranks(columns, len(frame))
    out = {one.name for one in columns if one.name not in {*kept, *ranks} and _is_left_out(found, one, len(frame))}
    stay, first = [one for one in columns if one.name not in out], dict[int, str]()
    for column in stay:
        _look_at_column(found, column, first)
    if found_task is not None:
        measure = "AUC" if found_task == "classification" else "rank correlation"
        looked = features[[one.name for one in stay]]
        for name, score in leaks(looked, y, found_task).items():
            found["leak"][name] = f"{measure} {score:.4f}"
        for name, gaps in leaks_by_gaps(looked, y, found_task).items():
            if name not in found.get("leak", {}):
                found["leak by gaps"][name] = gaps
        for name, pair in leaks_of_two(looked, y, found_task).items():
            found["leak of two"][name] = pair
    different = features[[one.name for one in stay if one.name not in found.get("duplicate", {})]]
    for name, (other, correlation) in near_copies(different).items():
        found["copy"][name] = f"{other} (rank correlation {correlation:.4f})"
    for name, terms in sums_of_others(different).items():
        found["sum"][name] = terms
    findings = tuple(Finding(kind, tuple(texts), tuple(texts.values())) for kind, texts in found.items())
    return TableCheck(len(frame), len(columns), target, found_task, findings, read)


def told_in_python(frame: pd.DataFrame, y: np.ndarray, read: dict[str, Read] | None = None) -> str | None:
    """Return in a sentence which columns of a data frame may be ids, leaks or sums of others; None without any."""
    target = next(name for number in range(len(frame.columns) + 1) if (name := "y" * (number + 1)) not in frame.columns)
    found = [
        one for one in check_table(frame.assign(**{target: y}), target, read=read).findings if KINDS[one.kind].told
    ]
    said = [
        f"{KINDS[one.kind].told} [{listed(one.texts if one.kind == 'leak of two' else one.columns)}]" for one in found
    ]
    return f"X {'; '.join(said)}; bestleaf.tables.check_table says more" if said else None


def without_columns(frame: pd.DataFrame, target: str, drop: Iterable[str], keep: Iterable[str]) -> pd.DataFrame:
    """Return a table without the columns to drop; refuse names that are no columns beside the target."""
    check_target_name(frame, target)
    others = [name for name in frame.columns.tolist() if name != target]
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


def _look_at_target(found: Found, y: pd.Series, task: str) -> str | None:
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
        found["classes"][name] = f"{len(counts):,}"
    if len(rare := counts[counts < RARE_CLASS]):
        labels = [f"{shown(label)} ({rows})" for label, rows in rare.iloc[::-1][:MOST_LABELS].items()]
        told = f"{counted(len(rare), 'class', 'classes')} of fewer than {RARE_CLASS} rows: {', '.join(labels)}"
        found["rare class"][name] = told + (", …" if len(rare) > MOST_LABELS else "")
    return task


def _is_left_out(found: Found, column: Look, rows: int) -> bool:
    """Return whether a column should be left out of a search, and note why."""
    name, different, values = column.name, column.different or 0, round(rows * (1 - column.missing))
    if UNNAMED.fullmatch(name):
        found["unnamed"][name] = ""
    elif values == 0:
        found["empty"][name] = ""
    elif _counts_rows(column, rows) and _numbers_rows(column, rows):
        found["row number"][name] = ""
    elif column.whole and different == values and rows >= FEWEST_NUMBERED and _named_id(name):
        found["id"][name] = f"{different:,} different whole numbers"
    elif _texts_are_ids(column, different, values):
        found["id"][name] = f"{different:,} different texts"
    else:
        return False
    return True


def _named_id(name: str) -> bool:
    """Whether the name of a column says that it is an identifier."""
    words = [word.lower() for word in WORDS.findall(name)]
    return "".join(words) in ROW_NAMES or (bool(words) and (words[-1] in AN_ID_ENDS_IN or words[0] == "id"))


def _named_time(name: str) -> bool:
    """Whether the name of a column says that it is a time."""
    return not TIMES.isdisjoint(word.lower() for word in WORDS.findall(name)) and not _named_id(name)


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


def _texts_are_ids(column: Look, different: int, values: int) -> bool:
    """Whether a column has texts that are (almost) all different, so they say nothing about other rows."""
    if not column.text or column.measured or different < AN_ID * values or values < FEWEST_TEXTS:
        return False
    return column.missing < MOST_WITHOUT and not _named_time(column.name)


def _ranks(columns: Iterable[Look], rows: int) -> set[str]:
    """Return the columns that rank the rows: several that number them, each in another order, are no row numbers."""
    named = {one.name for one in columns if _counts_rows(one, rows) and not (one.rising or _named_id(one.name))}
    return {name for name in named if len(named) > 1 and not UNNAMED.fullmatch(name)}


def _look_at_column(found: Found, column: Look, first: dict[int, str]) -> None:
    """Note what is strange about a column that a search does not leave out; `first` has those before by values."""
    name = column.name
    if column.value is not None:
        found["constant"][name] = column.value
    if column.marker is not None:
        found["marker"][name] = column.marker
    if column.lone is not None:
        found["lone"][name] = column.lone
    if column.missing >= MANY_MISSING:
        found["missing"][name] = f"{column.missing:.1%}"
    if column.digest is not None and column.value is None and (other := first.setdefault(column.digest, name)) != name:
        found["duplicate"][name] = other
