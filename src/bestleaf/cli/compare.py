"""bestleaf compare: beside what scikit-learn offers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from bestleaf.cli.options import Jobs, Seed, seconds
from bestleaf.cli.select import check_choices


def compare(
    data: Annotated[Path, typer.Argument(help="CSV, TSV, Parquet or Feather file, or .data with .labels beside it.")],
    target: Annotated[str, typer.Option(help="Column to predict (of a .data file: label).")],
    task: Annotated[str, typer.Option(help="auto, classification or regression.")] = "auto",
    epsilon: Annotated[float, typer.Option(help="How much better than the answer another leaf may be.")] = 0.01,
    max_time: Annotated[
        float | None, typer.Option(parser=seconds, metavar="TIME", help="Time allowed for bestleaf: 90, 90s, 1.5m, 2h.")
    ] = None,
    holdout: Annotated[float, typer.Option(help="Share of the rows nobody selects on.")] = 0.25,
    impute: Annotated[str | None, typer.Option(help="Fill gaps with median, mean or most_frequent.")] = None,
    seed: Seed = 0,
    n_jobs: Jobs = None,
) -> None:
    """Compare bestleaf with sequential selection, RFECV and mutual information on the same split of a table."""
    from bestleaf.datasets import prepared, read_frame
    from bestleaf.selector.comparison import compare as compared

    check_choices(task=task, impute=impute)
    if not 0 < holdout < 1:
        raise ValueError(f"--holdout must be strictly between 0 and 1, got {holdout:g}")
    table = prepared(read_frame(data), target, impute=impute, task=task)
    shown = Table(title=f"{data.name}, {holdout:.0%} of the rows held out", title_justify="left")
    for name in ("method", "features", "value", "held-out", "seconds", "which"):
        shown.add_column(name, justify="left" if name in ("method", "which") else "right")
    console = Console() if Console().is_terminal else Console(width=160)
    with console.status("Selecting") as status:
        for row in compared(
            table, holdout=holdout, seed=seed, task=task, epsilon=epsilon, max_time=max_time, n_jobs=n_jobs
        ):
            status.update(f"{row.method} done")
            which = ", ".join(row.columns[:8]) + (", …" if len(row.columns) > 8 else "")
            numbers = (str(len(row.columns)), f"{row.value:.4f}", f"{row.held_out:.4f}", f"{row.seconds:.1f}")
            shown.add_row(row.method, *numbers, which)
    console.print(shown, markup=False)
    console.print(
        "value: what bestleaf maximises (leave-one-out, 5 nearest neighbours) on the rows selected on; held-out: the "
        "same measure of 5 nearest neighbours on the rows nobody has seen.",
        highlight=False,
        soft_wrap=True,
    )
