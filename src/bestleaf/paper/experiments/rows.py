"""What all experiments use: rows computed in parallel and kept in a file, means with their errors, tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from math import inf, isfinite, sqrt
from pathlib import Path
from statistics import fmean
from time import monotonic
from typing import Any, TypeVar

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

import bestleaf
from bestleaf.files import write_atomically

Row = dict[str, Any]  # "case", "run" and what was measured, in values that JSON can hold
Case = TypeVar("Case")
Column = Callable[[Case, list[Row]], str]  # the text of one case with its rows
Columns = dict[str, Column[Case]]  # by name
SAVE_EVERY = 10.0  # seconds


class RowFile:
    """The rows of one experiment; a file that exists with the same settings is continued."""

    def __init__(self, path: Path | None, experiment: str, settings: Row) -> None:
        self.path = path
        self.head: Row = {"experiment": experiment, "version": bestleaf.__version__, "settings": settings}
        self.rows: list[Row] = []
        if path is not None and not path.parent.is_dir():
            raise ValueError(f"the folder of {path} does not exist")
        if path is not None and path.exists():
            self.rows = self._read(path)

    def _read(self, path: Path) -> list[Row]:
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            head, rows = {name: found.get(name) for name in self.head}, found["rows"]
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            raise ValueError(f"{path} exists but is not a file of rows; give another name") from None
        if head != self.head:
            was = "{experiment} with settings {settings} of version {version}".format(**head)
            raise ValueError(f"{path} holds rows of {was}; give another name")
        return rows

    def save(self) -> None:
        """Write all rows, in the order of cases and runs."""
        if self.path is not None:
            self.rows.sort(key=lambda row: (row["case"], row["run"]))
            lines = ",\n".join(json.dumps(row) for row in self.rows)
            write_atomically(self.path, f'{json.dumps(self.head)[:-1]}, "rows": [\n{lines}\n]}}\n')

    def complete(
        self, tasks: Sequence[tuple[str, int]], run: Callable[[str, int], Row], *, n_jobs: int, console: Console
    ) -> list[Row]:
        """Compute the rows of `tasks` that are missing, with a progress bar; return the rows of all tasks.

        Rows are saved every few seconds and at the end, also after Ctrl-C.
        """
        name, wanted, before, saved = self.head["experiment"], set(tasks), list(self.rows), monotonic()
        done = {(row["case"], row["run"]) for row in before}
        pool = ThreadPoolExecutor(n_jobs)
        futures = [pool.submit(run, *task) for task in tasks if task not in done]
        finished = as_completed(futures)
        try:
            for future in track(finished, name, len(futures), console=console, disable=not console.is_terminal):
                self.rows.append(future.result())
                if monotonic() - saved > SAVE_EVERY:
                    self.save()
                    saved = monotonic()
                    if not console.is_terminal:
                        console.print(f"{name}: {len(self.rows):,} rows of {len(tasks):,}", highlight=False)
        finally:
            pool.shutdown(cancel_futures=True)  # waits for the runs that have begun
            good = [future for future in futures if not future.cancelled() and not future.exception()]
            self.rows = before + [future.result() for future in good]
            self.save()
        return [row for row in self.rows if (row["case"], row["run"]) in wanted]


def seed_of(seed: int, cases: Iterable[str], case: str, run: int) -> np.random.SeedSequence:
    """Return the seed of one run; it depends only on the seed of the experiment, the case and the run."""
    return np.random.SeedSequence([seed, list(cases).index(case), run])


def mean(rows: Sequence[Row], name: str) -> float:
    """Return the mean of one measurement."""
    return fmean(row[name] for row in rows)


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and its standard error (infinite for fewer than two values)."""
    count, middle = len(values), fmean(values)
    squares = sum((value - middle) ** 2 for value in values)
    return middle, sqrt(squares / (count - 1) / count) if count > 1 else inf


def with_error(rows: Sequence[Row]) -> str:
    """Return the mean number of samples and its standard error as text."""
    middle, error = mean_and_error([row["samples"] for row in rows])
    return f"{middle:,.0f} ± {error:,.0f}" if isfinite(error) else f"{middle:,.0f}"


def table_of(
    title: str, columns: Columns[Case], cases: dict[str, Case], rows: Sequence[Row], left: Sequence[str]
) -> Table:
    """Return a table with a line for every case that has rows; the columns in `left` hold text, the others numbers."""
    table = Table(title=title, title_justify="left")
    for name in columns:
        table.add_column(name, justify="left" if name in left else "right")
    for name, case in cases.items():
        if mine := [row for row in rows if row["case"] == name]:
            table.add_row(*(cell(case, mine) for cell in columns.values()))
    return table
