"""What a look at a table may find: the kinds of findings, and each in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from bestleaf.proof.text import counted, in_line, shown

MOST_LINES = 5  # columns of a kind that have a line each
MOST_NAMES = 8  # columns that are named in a line about many
LEAVE_OUT = "left out of the search"


class Kind(NamedTuple):
    """A kind of finding: the line about one column, and the line about many."""

    one: str  # with name, number (also counted as rows, cells or classes), text and out
    many: str  # with many (a number of columns) and names
    left_out: bool = False


# The order is that of the lines: first what must be looked at, then what was left out, then the rest.
KINDS = {
    "leak": Kind(
        "A leak? {name} alone ranks the target almost perfectly ({text} {number:.4f}). If it is not known before the "
        "target, drop it.",
        "Leaks? Each of {many} columns alone ranks the target almost perfectly: {names}. Drop those that are not known "
        "before the target.",
    ),
    "leak by gaps": Kind(
        "A leak? {name} is missing exactly where the target is {text}. If it is not known before the target, drop it.",
        "Leaks? Each of {many} columns is missing exactly for some classes of the target: {names}. Drop those that are "
        "not known before the target.",
    ),
    "leak of two": Kind(
        "A leak? {text} ranks the target perfectly, although no column does alone. If it is not known before the "
        "target, drop one.",
        "Leaks? Each of {many} columns ranks the target perfectly together with another one: {names}.",
    ),
    "classes": Kind(
        "The target {name}: {number:,.0f} different whole numbers are taken as classes; task regression takes them as "
        "numbers.",
        "",
    ),
    "rare class": Kind("The target {name}: {classes} fewer than 10 rows: {text}.", ""),
    "few rows": Kind("There are only {number:,.0f} rows: scores on so few rows are rough.", ""),
    "unnamed": Kind(
        "{name} has no name of its own; {out}.", "{many} columns have no name of their own: {names}; {out}.", True
    ),
    "row number": Kind("{name} numbers the rows; {out}.", "{many} columns number the rows: {names}; {out}.", True),
    "id": Kind(
        "{name} is an identifier ({number:,.0f} different {text}); {out}.",
        "{many} columns are identifiers: {names}; {out}.",
        True,
    ),
    "empty": Kind("{name} has no values at all; {out}.", "{many} columns have no values at all: {names}; {out}.", True),
    "constant": Kind("{name} is always {text}.", "{many} columns are constant: {names}."),
    "marker": Kind(
        "{name}: {cells} {text}; does that mean a missing value?",
        "{many} columns have cells such as '?' that may mean a missing value: {names}.",
    ),
    "lone": Kind(
        "{name} is {text}; is that right?", "{many} columns have one number that is far from all others: {names}."
    ),
    "missing": Kind(
        "{name}: {number:.1%} of its values are missing.", "{many} columns have many missing values: {names}."
    ),
    "sum": Kind("{name} is the sum {text}, apart from a constant.", "{many} columns are sums of others: {names}."),
    "duplicate": Kind(
        "{name} has the same values as {text}.", "{many} columns have the same values as another one: {names}."
    ),
}


@dataclass(frozen=True)
class Finding:
    """Something that was found in a table, in one or more columns."""

    kind: str  # such as "id" or "leak"; all kinds are in `KINDS`
    columns: tuple[str, ...]  # for a finding about the target, its name
    numbers: tuple[float, ...]  # one for each column, such as the share of missing values; 0 where there is none
    texts: tuple[str, ...]  # one for each column; "" where there is none

    def lines(self) -> list[str]:
        """Return what was found as lines: one for each column, or one for many columns."""
        kind, many = KINDS[self.kind], len(self.columns)
        if many > MOST_LINES:
            names = [in_line(shown(name), 60) for name in dict.fromkeys(self.columns[:MOST_NAMES])]
            more = f" and {many - MOST_NAMES:,} more" if many > MOST_NAMES else ""
            return [kind.many.format(many=f"{many:,}", names=", ".join(names) + more, out=LEAVE_OUT)]
        return [_line(kind.one, *row) for row in zip(self.columns, self.numbers, self.texts, strict=True)]


def _line(words: str, name: str, number: float, text: str) -> str:
    """Return the line about one column."""
    many = round(number)
    nouns = {
        "cells": counted(many, "cell is", "cells are"),
        "classes": counted(many, "class has", "classes have"),
    }
    name, text = in_line(shown(name), 60) or "(blank)", in_line(shown(text), 80)
    return words.format(name=name, number=number, text=text, out=LEAVE_OUT, **nouns)
