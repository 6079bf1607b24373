"""What all experiments are: a plan, rows computed in parallel and kept in a file, and a table of means with errors.

A row is one run of one case. A line of a table, which the command line calls a row, shows all runs of a case.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from math import inf, isfinite, sqrt
from pathlib import Path
from statistics import fmean
from time import monotonic
from typing import Any, Generic, TypeVar

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

import bestleaf
from bestleaf.checks import shown
from bestleaf.files import write_atomically

Row = dict[str, Any]  # "case", "run" and what was measured, in values that JSON can hold
Task = tuple[str, int]  # case and run
Case = TypeVar("Case")
Column = Callable[[Case, list[Row]], str]  # the text of one case with its rows


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with the rows that were finished before."""

    def __init__(self, rows: list[Row]) -> None:
        super().__init__()
        self.rows = rows


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
        self, tasks: Sequence[Task], run: Callable[[str, int], Row], *, n_jobs: int, console: Console
    ) -> list[Row]:
        """Compute the rows of `tasks` that are missing, with a progress bar; return the rows of all tasks so far.

        Rows are saved every few seconds and at the end. After Ctrl-C the rows finished by then are saved, and go with
        the exception (`Interrupted`). Runs that have begun are not waited for.
        """
        name, before, saved = self.head["experiment"], list(self.rows), monotonic()
        done = {(row["case"], row["run"]) for row in before}
        pool = ThreadPoolExecutor(n_jobs)
        futures = [pool.submit(run, *task) for task in tasks if task not in done]
        ended = as_completed(futures)
        try:
            for future in track(ended, name, len(futures), console=console, disable=not console.is_terminal):
                self.rows.append(future.result())
                if monotonic() - saved > 10.0:  # seconds
                    self.save()
                    saved = monotonic()
                    if not console.is_terminal:
                        finished = len(tasks) - sum(not future.done() for future in futures)
                        console.print(f"{name}: {finished:,} of {len(tasks):,} runs", highlight=False)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise Interrupted(self._kept(before, futures, tasks)) from None
        except BaseException:
            pool.shutdown(cancel_futures=True)
            self._kept(before, futures, tasks)
            raise
        pool.shutdown()
        return self._kept(before, futures, tasks)

    def _kept(self, before: list[Row], futures: list[Future[Row]], tasks: Sequence[Task]) -> list[Row]:
        """Save the old rows and those of the runs that have ended well; return the rows of the tasks."""
        ended, asked = [future for future in futures if future.done() and not future.cancelled()], set(tasks)
        self.rows = before + [future.result() for future in ended if future.exception() is None]
        self.save()
        return [row for row in self.rows if (row["case"], row["run"]) in asked]


@dataclass(frozen=True)
class Experiment(Generic[Case]):
    """One of the paper's tables: its lines, what one run of a line measures, and what is shown of its runs."""

    name: str
    cases: dict[str, Case]  # by the name of the line
    runs: int  # of a line, as in the paper
    measured: Callable[[Case, np.random.SeedSequence], Row]
    title: str
    columns: dict[str, Column[Case]]
    left: Sequence[str]  # the columns that hold text
    notes: str = ""
    extra_runs: int | None = None  # most runs of a line that the paper does not have

    def plan(self, runs: int, names: Sequence[str] = ()) -> list[Task]:
        """Return the runs of the lines asked for; of all lines if no name is given."""
        fewer = runs if self.extra_runs is None else min(runs, self.extra_runs)
        lines = chosen(names, self.cases)
        many = {line: runs if getattr(self.cases[line], "published", None) else fewer for line in lines}
        return [(line, run) for line in lines for run in range(many[line])]

    def run_row(self, seed: int, name: str, run: int) -> Row:
        """Return the row of one run, whose seed follows from that of the experiment, the line and the run alone."""
        stream = np.random.SeedSequence([seed, list(self.cases).index(name), run])
        return {"case": name, "run": run, **self.measured(self.cases[name], stream)}

    def reproduce(
        self,
        runs: int,
        path: Path | None,
        names: Sequence[str] = (),
        *,
        seed: int,
        n_jobs: int,
        console: Console,
        **settings: Any,
    ) -> list[Row]:
        """Return the rows of the lines asked for; compute those that the file does not have yet.

        `settings` are written into the file, so that rows of other ones are not mixed with these.
        """
        tasks, file = self.plan(runs, names), RowFile(path, self.name, {"seed": seed, **settings})
        return file.complete(tasks, lambda name, run: self.run_row(seed, name, run), n_jobs=n_jobs, console=console)

    def table(self, rows: Sequence[Row]) -> Table:
        """Return the table, with a line for every case that has rows."""
        table = Table(title=self.title, title_justify="left")
        for name in self.columns:
            table.add_column(name, justify="left" if name in self.left else "right")
        for name, case in self.cases.items():
            if mine := [row for row in rows if row["case"] == name]:
                table.add_row(*(cell(case, mine) for cell in self.columns.values()))
        return table


def chosen(names: Sequence[str], known: Iterable[str]) -> list[str]:
    """Return the lines asked for, in the order of the table; all of them if no name is given."""
    lines = list(dict.fromkeys(known))
    if strange := [name for name in names if name not in lines]:
        raise ValueError(f"there is no row {shown(strange[0])}; the rows are: {'; '.join(lines)}")
    return [line for line in lines if line in names] if names else lines


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


def agreement(values: Sequence[float], published: float, *, fewest: int, tolerance: float) -> str:
    """Say whether a mean agrees with a published one: within a relative tolerance or within two standard errors.

    Nothing is said for fewer than `fewest` runs, or if two standard errors are more than a quarter of the mean: then
    almost any mean would agree.
    """
    middle, error = mean_and_error(values)
    if len(values) < fewest or 2 * error > 0.25 * abs(middle):
        return "too few runs to tell"
    relative = middle / published - 1
    agrees = abs(relative) <= tolerance or abs(middle - published) <= 2 * error
    return f"{'agrees' if agrees else 'DIFFERS'} ({relative:+.1%})"
