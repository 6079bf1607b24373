"""What a look at a table found, and how the table was made ready: as a certificate keeps it, checked and in words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from bestleaf.certificate.claims import counted, first_of, in_line, shown
from bestleaf.certificate.schema import Content, need

MOST_LINES = 5  # columns of a kind that have a line each
MOST_NAMES = 8  # columns that are named in a line about many
ALMOST_EMPTY = 0.95  # share of missing values
LEAVE_OUT = "left out of the search"
TOLD_BY_ENCODER = ("date", "odd cells")


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
    "no target": Kind("The target {name} is missing in {rows}; drop these rows before a search.", ""),
    "one target": Kind("The target {name} is always {text}; there is nothing to predict.", ""),
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
    "date": Kind("{name} holds dates or times.", "{many} columns hold dates or times: {names}."),
    "counter": Kind(
        "{name} counts the rows, perhaps in time.", "{many} columns count the rows, perhaps in time: {names}."
    ),
    "rank": Kind("{name} ranks the rows.", "{many} columns rank the rows: {names}."),
    "many texts": Kind(
        "{name}: {number:,.0f} different texts, so that few rows share one.",
        "{many} columns have so many different texts that few rows share one: {names}.",
    ),
    "odd cells": Kind(
        "{name}: {text}; such cells count as missing values.",
        "{many} columns of numbers have cells that are no numbers: {names}.",
    ),
    "marker": Kind(
        "{name}: {cells} {text}; does that mean a missing value?",
        "{many} columns have cells such as '?' that may mean a missing value: {names}.",
    ),
    "infinite": Kind("{name} has infinite numbers.", "{many} columns have infinite numbers: {names}."),
    "almost empty": Kind(
        "{name} is almost empty: {number:.1%} of its values are missing.", "{many} columns are almost empty: {names}."
    ),
    "missing": Kind(
        "{name}: {number:.0%} of its values are missing.", "{many} columns have many missing values: {names}."
    ),
    "duplicate": Kind(
        "{name} has the same values as {text}.", "{many} columns have the same values as another one: {names}."
    ),
}


def findings_in_words(findings: Iterable[Content], *, encoded: bool = False) -> list[str]:
    """Return what was found as lines: one for each column, or one for many columns of a kind.

    If the table is encoded, the encoder tells what it made of dates and odd cells.
    """
    by_kind = {finding["kind"]: finding for finding in findings}
    kinds = [kind for kind in KINDS if kind in by_kind and not (encoded and kind in TOLD_BY_ENCODER)]
    return [line for kind in kinds for line in _lines(by_kind[kind])]


def _lines(finding: Content) -> list[str]:
    kind, columns = KINDS[finding["kind"]], finding["columns"]
    if len(columns) > MOST_LINES:
        names = [in_line(shown(name), 60) for name in dict.fromkeys(columns[:MOST_NAMES])]
        more = f" and {len(columns) - MOST_NAMES:,} more" if len(columns) > MOST_NAMES else ""
        return [kind.many.format(many=f"{len(columns):,}", names=", ".join(names) + more, out=LEAVE_OUT)]
    rows = zip(columns, finding["numbers"], finding["texts"], strict=True)
    return [_line(kind.one, in_line(shown(name), 60), number, in_line(shown(text), 80)) for name, number, text in rows]


def _line(words: str, name: str, number: float, text: str) -> str:
    """Return the line about one column."""
    many = round(number)
    nouns = {
        "rows": counted(many, "row"),
        "cells": counted(many, "cell is", "cells are"),
        "classes": counted(many, "class has", "classes have"),
    }
    return words.format(name=name or "(blank)", number=number, text=text, out=LEAVE_OUT, **nouns)


def left_out(findings: Iterable[Content]) -> list[str]:
    """Return the columns that are left out of a search."""
    return [name for finding in findings if KINDS[finding["kind"]].left_out for name in finding["columns"]]


def check_findings(findings: list[Content]) -> None:
    """Refuse findings that are not well formed."""
    kinds = [finding["kind"] for finding in findings]
    need(len(set(kinds)) == len(kinds), "the table must have one finding of a kind, got several")
    for finding in findings:
        sizes = {len(finding[name]) for name in ("columns", "numbers", "texts")}
        need(
            finding["kind"] in KINDS,
            f"the kind of a finding must be one of {', '.join(KINDS)}, got {finding['kind']!r:.40}",
        )
        need(len(sizes) == 1, f"the finding {finding['kind']} must have a number and a text for each of its columns")


def check_how_made(content: Content) -> None:
    """Check that what is written about the table fits the data that the certificate is about."""
    table, data = content.get("table"), content["data"]
    if table is None:
        return
    check_findings(table["findings"])
    about_rows = [table[name] for name in ("groups", "weights") if table[name] is not None]
    names, out = set(data["names"]), [*table["dropped"], *about_rows, *left_out(table["findings"])]
    for name in out:
        need(name not in names, f"the column {name!r:.60} was left out, so it must not be among the features")
        need(name not in table["kept"], f"the column {name!r:.60} was kept, so it must not be left out")
    many = len(names) + 1
    need(len(table["checksums"]) == many, f"the table must have {many:,} checksums, got {len(table['checksums']):,}")
    for name, part in (("groups", "row_groups"), ("weights", "row_weights")):
        fine = (table[name] is None) == (part not in data)
        need(fine, f"the column of {name} must be written if and only if rows have {name}")
    by_estimator = data["objective"].get("kind") == "estimator"
    fine = table["estimator"] is None or (table["estimator"] != "neighbours") == by_estimator
    need(fine, f"the estimator {table['estimator']} does not go with the objective")


def made_in_words(table: Content) -> list[str]:
    """Return how a table was made ready and what was found in it, as lines."""
    lines = []
    if table["dropped"]:
        names = first_of([shown(name) for name in table["dropped"]])
        lines.append(f"{counted(len(table['dropped']), 'column')} dropped before the search: {names}.")
    if table["missing"]:
        lines.append(f"Cells that mean a missing value: {', '.join(map(repr, table['missing']))}.")
    return [*lines, *findings_in_words(table["findings"], encoded=True)]
