"""What all tables of the paper are: lines with their settings and published figures, and columns of text.

A line of a table, which the command line calls a row, shows all runs of one setting. `experiment` makes the runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.table import Table

from bestleaf.checks import shown
from bestleaf.paper.runs import Row, experiment


@dataclass(frozen=True)
class Line:
    """One line of a table: what is searched, how, and what the paper says of it."""

    problem: str
    settings: Mapping[str, Any]
    published: Mapping[str, float] = field(default_factory=dict)  # means, by what is measured; none: not in the paper
    tolerance: Mapping[str, float] = field(default_factory=dict)  # relative differences that count as agreement

    def verdicts(self, runs: pd.DataFrame, *, fewest: int) -> dict[str, str]:
        """Say of each published mean whether ours agrees with it."""
        compared = [(name, mean) for name, mean in self.published.items() if name in self.tolerance]
        return {name: agreement(runs[name], mean, self.tolerance[name], fewest=fewest) for name, mean in compared}


Column = Callable[[Line, pd.DataFrame], str]  # the text of a line with its runs


@dataclass(frozen=True)
class PaperTable:
    """One of the paper's tables: its lines, what one run of a line measures, and what is shown of its runs."""

    name: str
    lines: dict[str, Line]
    runs: int  # of a line, as in the paper
    problems: Callable[[Mapping[str, Path]], dict[str, Any]]  # what is searched, by name; given: files of the user
    measured: Callable[..., Row]
    title: str
    columns: dict[str, Column]
    left: Sequence[str]  # the columns that hold text
    notes: str = ""
    extra_runs: int | None = None  # most runs of a line that the paper does not have

    def reproduce(
        self,
        runs: int,
        names: Sequence[str] = (),
        *,
        seed: int,
        files: Mapping[str, Path] | None = None,
        settings: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> pd.DataFrame:
        """Return the runs of the lines asked for; without names, of all lines whose data are there.

        `settings` are further settings of every line, `more` further keywords of `experiment`.
        """
        problems, found = self.problems(files or {}), list[pd.DataFrame]()
        lines = {name: self.lines[name] for name in chosen(names, self.lines)}
        for name in [name for name, line in lines.items() if line.problem not in problems]:
            if names:
                raise ValueError(f"the row {shown(name)} needs --data {lines.pop(name).problem}=PATH")
            del lines[name]
        for name, line in lines.items():
            seeds = [seed_of(seed, run) for run in range(self.many(line, runs))]
            asked = {name: {**line.settings, **(settings or {})}}
            found.append(experiment({line.problem: problems[line.problem]}, asked, seeds, run=self.measured, **more))
            if found[-1].attrs["interrupted"]:
                break
        table = pd.concat([one for one in found if len(one)] or found, ignore_index=True)
        table.attrs["interrupted"] = found[-1].attrs["interrupted"]
        return table

    def many(self, line: Line, runs: int) -> int:
        """Return how many runs a line has, if lines of the paper have `runs`."""
        return runs if line.published or self.extra_runs is None else min(runs, self.extra_runs)

    def seconds(self, first: pd.DataFrame, runs: int) -> float:
        """Return about how long all runs will take one after the other, by the first of each line."""
        return sum(row.seconds * (self.many(self.lines[row.setting], runs) - 1) for row in first.itertuples())

    def table(self, runs: pd.DataFrame) -> Table:
        """Return the table, with a line for every setting that has runs."""
        table = Table(title=self.title, title_justify="left")
        for name in self.columns:
            table.add_column(name, justify="left" if name in self.left else "right")
        for name, mine in runs.groupby("setting", sort=False):
            table.add_row(*(cell(self.lines[str(name)], mine) for cell in self.columns.values()))
        return table


def seed_of(seed: int, run: int) -> int:
    """Return the seed of a run, which no other run has, also of other seeds."""
    return int(np.random.SeedSequence([seed, run]).generate_state(1, np.uint64)[0] >> np.uint64(1))


def chosen(names: Sequence[str], known: Iterable[str]) -> list[str]:
    """Return the lines asked for, in the order of the table; all of them if no name is given."""
    lines = list(dict.fromkeys(known))
    if strange := [name for name in names if name not in lines]:
        raise ValueError(f"there is no row {shown(strange[0])}; the rows are: {'; '.join(lines)}")
    return [line for line in lines if line in names] if names else lines


def with_error(runs: pd.DataFrame) -> str:
    """Return the mean number of samples and its standard error as text."""
    middle, error = runs["samples"].mean(), runs["samples"].sem()
    return f"{middle:,.0f} ± {error:,.0f}" if isfinite(error) else f"{middle:,.0f}"


def agreement(values: pd.Series, published: float, tolerance: float, *, fewest: int) -> str:
    """Say whether a mean agrees with a published one: within a relative tolerance or within two standard errors.

    Nothing is said for fewer than `fewest` runs, or if two standard errors are more than a quarter of the mean: then
    almost any mean would agree.
    """
    middle, error = float(values.mean()), float(values.sem())
    if len(values) < fewest or 2 * error > 0.25 * abs(middle):
        return "too few runs to tell"
    relative = round(middle / published - 1, 9) + 0.0  # never -0.0
    agrees = abs(relative) <= tolerance or abs(middle - published) <= 2 * error
    return f"{'agrees' if agrees else 'DIFFERS'} ({relative:+.1%})"
