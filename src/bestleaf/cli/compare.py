"""bestleaf compare: beside what scikit-learn offers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from bestleaf.cli.options import SHARE, Data, Epsilon, Impute, Jobs, Seed, Target, Task, Time
from bestleaf.cli.words import told_as_options
from bestleaf.leaving import INTERRUPTED, at_once

if TYPE_CHECKING:
    from bestleaf.selector.comparison import Compared


def compare(
    data: Data,
    target: Target,
    task: Task = "auto",
    epsilon: Epsilon = 0.01,
    max_time: Time = None,
    holdout: Annotated[
        float, typer.Option(parser=SHARE, metavar="NUMBER", help="Share of the rows nobody selects on.")
    ] = 0.25,
    impute: Impute = None,
    seed: Seed = 0,
    n_jobs: Jobs = None,
) -> None:
    """Compare bestleaf with sequential selection, RFECV and mutual information on the same split of a table."""
    with at_once():
        from bestleaf.datasets import prepared, read_frame
        from bestleaf.selector.comparison import compare as compared

    with told_as_options():
        table = prepared(read_frame(data), target, impute=impute, task=task)
    shown = Table(title=f"{data.name}, {holdout:.0%} of the rows held out", title_justify="left")
    for name in ("method", "features", "value", "held-out", "seconds", "which"):
        shown.add_column(name, justify="left" if name in ("method", "which") else "right")
    console = Console() if Console().is_terminal else Console(width=160)
    settings = {"task": task, "epsilon": epsilon, "max_time": max_time, "n_jobs": n_jobs}
    code = 0
    with console.status("Selecting") as status, told_as_options():
        try:
            for row in compared(table, holdout=holdout, seed=seed, **settings):
                status.update(f"{row.method} done")
                _add(shown, row)
        except KeyboardInterrupt:
            code = INTERRUPTED
    console.print(shown, markup=False)
    console.print(
        "value: what bestleaf maximises (leave-one-out, 5 nearest neighbours) on the rows selected on; held-out: the "
        "same measure of 5 nearest neighbours on the rows nobody has seen.",
        highlight=False,
        soft_wrap=True,
    )
    raise typer.Exit(code)


def _add(shown: Table, row: Compared) -> None:
    """Add what one method selected to the table."""
    which = ", ".join(row.columns[:8]) + (", …" if len(row.columns) > 8 else "")
    numbers = (str(len(row.columns)), f"{row.value:.4f}", f"{row.held_out:.4f}", f"{row.seconds:.1f}")
    shown.add_row(row.method, *numbers, which)
