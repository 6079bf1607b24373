"""Runs of an experiment as rows: computed in parallel, kept in a file, taken up again where they stopped."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from math import inf, isfinite, sqrt
from pathlib import Path
from time import monotonic
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

import bestleaf
from bestleaf.files import write_atomically

Row = dict[str, Any]
SAVE_EVERY = 10.0  # seconds


class RowFile:
    """The rows of one experiment with its settings; opened again, it goes on where it stopped."""

    def __init__(self, path: Path | None, experiment: str, settings: Row) -> None:
        self.path = path
        self.experiment = experiment
        self.settings = settings
        self.rows: list[Row] = []
        if path is not None:
            if not path.parent.is_dir():
                raise ValueError(f"the folder of {path} does not exist")
            if path.exists():
                self.rows = self._read(path)

    def _read(self, path: Path) -> list[Row]:
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            kind, settings, rows = found["experiment"], found["settings"], found["rows"]
        except (OSError, ValueError, KeyError, TypeError):
            raise ValueError(f"{path} exists but is not a file of rows; give another name") from None
        version = found.get("version")
        if kind != self.experiment or settings != self.settings or version != bestleaf.__version__:
            was = f"{kind} with settings {settings} of version {version}"
            raise ValueError(f"{path} holds rows of {was}; give another name")
        return rows

    def done(self) -> set[tuple[str, int]]:
        """Return (case, run) of every row there is."""
        return {(row["case"], row["run"]) for row in self.rows}

    def save(self) -> None:
        """Write all rows, in the order of cases and runs."""
        if self.path is None:
            return
        self.rows.sort(key=lambda row: (row["case"], row["run"]))
        head = {"experiment": self.experiment, "version": bestleaf.__version__, "settings": self.settings}
        lines = ",\n".join(json.dumps(row) for row in self.rows)
        write_atomically(self.path, f'{json.dumps(head)[:-1]}, "rows": [\n{lines}\n]}}\n')


def compute(
    file: RowFile,
    tasks: Sequence[tuple[str, int]],
    run: Callable[[str, int], Row],
    *,
    n_jobs: int,
    chunk: Callable[[str], int],
    console: Console,
) -> None:
    """Compute the missing rows of `tasks` (case, run) with a bar, saving as it goes (also when interrupted)."""
    done = file.done()
    missing = [task for task in tasks if task not in done]
    if not missing:
        return
    chunks = list(_chunks(missing, chunk))
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    bar = Progress(*columns, console=console, disable=not console.is_terminal)
    pool = ThreadPoolExecutor(n_jobs)
    saved = monotonic()
    futures = [pool.submit(lambda part: [run(*task) for task in part], part) for part in chunks]
    collected: set[Future[list[Row]]] = set()
    try:
        with bar:
            shown = bar.add_task(file.experiment, total=len(tasks), completed=len(tasks) - len(missing))
            while len(collected) < len(futures):
                finished = wait(set(futures) - collected, return_when=FIRST_COMPLETED).done
                for future in finished:
                    file.rows += future.result()
                    collected.add(future)
                    bar.update(shown, advance=len(future.result()))
                if monotonic() - saved > SAVE_EVERY:
                    file.save()
                    saved = monotonic()
                    if not console.is_terminal:
                        count = len(tasks) - len(missing) + sum(len(one.result()) for one in collected)
                        console.print(f"{file.experiment}: {count:,} of {len(tasks):,} rows", highlight=False)
    except BaseException:
        file.save()
        pool.shutdown(wait=True, cancel_futures=True)
        ended = [one for one in futures if one not in collected and not one.cancelled() and not one.exception()]
        file.rows += [row for future in ended for row in future.result()]
        raise
    finally:
        pool.shutdown()
        file.save()


def _chunks(tasks: list[tuple[str, int]], size: Callable[[str], int]) -> Iterable[list[tuple[str, int]]]:
    """Cut the tasks into pieces of one case each."""
    start = 0
    while start < len(tasks):
        case = tasks[start][0]
        stop = start
        while stop < len(tasks) and tasks[stop][0] == case and stop - start < size(case):
            stop += 1
        yield tasks[start:stop]
        start = stop


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and its standard error (infinite for fewer than two values)."""
    count = len(values)
    mean = sum(values) / count
    if count < 2:
        return mean, inf
    return mean, sqrt(sum((value - mean) ** 2 for value in values) / (count - 1) / count)


def with_error(mean: float, error: float) -> str:
    """Return "mean ± standard error" as text."""
    return f"{mean:,.0f} ± {error:,.0f}" if isfinite(error) else f"{mean:,.0f}"


def default_jobs() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
