"""bestleaf select: features of a table, from file to files."""

from __future__ import annotations

import json as json_module
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from bestleaf.checks import shown
from bestleaf.cli.options import (
    SHARE,
    Algorithm,
    Batch,
    Data,
    Delta,
    Epsilon,
    Estimator,
    Folds,
    Guarantees,
    Impute,
    Jobs,
    Memory,
    Repeats,
    Samples,
    ScoreRange,
    Scoring,
    Seed,
    Size,
    Target,
    Task,
    Terminal,
    Time,
)
from bestleaf.cli.outputs import check_files, say, write_files
from bestleaf.cli.words import told_as_options
from bestleaf.cli.workers import workers_of
from bestleaf.files import in_words
from bestleaf.leaving import INTERRUPTED, at_once

if TYPE_CHECKING:
    from bestleaf.selector.on_table import TableSelection

IDENTIFIED, STOPPED = 0, 3  # exit codes
TOLD = ("constant and left out", "no worker is left")  # of warnings
MOST_SHOWN = 20  # columns that were selected again


def select(
    data: Data,
    target: Target,
    task: Task = "auto",
    epsilon: Epsilon = 0.01,
    delta: Delta = 0.05,
    max_time: Time = None,
    max_samples: Samples = None,
    max_features: Size = None,
    force: Annotated[list[str] | None, typer.Option(help="Column that every subset has; may be repeated.")] = None,
    forbid: Annotated[list[str] | None, typer.Option(help="Column that no subset has; may be repeated.")] = None,
    groups: Annotated[
        Path | None, typer.Option(help='JSON file of columns that enter together: {"name": ["a", "b"]}.')
    ] = None,
    guarantee: Guarantees = None,
    algorithm: Algorithm = "bli",
    estimator: Estimator = "neighbours",
    scoring: Scoring = None,
    cv: Folds = None,
    score_range: ScoreRange = None,
    terminal: Terminal = "auto",
    batch_size: Batch = None,
    impute: Impute = None,
    holdout: Annotated[
        float | None, typer.Option(parser=SHARE, metavar="NUMBER", help="Share of the rows to keep from the search.")
    ] = None,
    repeats: Repeats = 1,
    seed: Seed = 0,
    max_memory: Memory = None,
    n_jobs: Jobs = None,
    dask: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Scheduler of a Dask cluster that does the work: tcp://...")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Table of the selected columns and the target.")] = None,
    json: Annotated[Path | None, typer.Option("--json", help="File of the result.")] = None,
    certificate: Annotated[Path | None, typer.Option(help="File of the certificate.")] = None,
    report: Annotated[Path | None, typer.Option(help="HTML page about the result.")] = None,
    checkpoint: Annotated[Path | None, typer.Option(help="File to save the search to, and go on from.")] = None,
    force_overwrite: Annotated[bool, typer.Option("--force-overwrite", help="Replace files that exist.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show nothing but errors.")] = False,
) -> None:
    """Select features of a table, with a proof (exit code 0: identified, 3: a budget ended it, 130: interrupted)."""
    with at_once():
        from bestleaf.datasets import prepared, read_frame
        from bestleaf.selector.inputs import task_of
        from bestleaf.selector.named import named_estimator
        from bestleaf.selector.on_table import select_from_table

    _check_estimator(estimator, scoring=scoring, cv=cv, score_range=score_range)
    _check_rival(algorithm, guarantee or [], budget=max_time is not None or max_samples is not None)
    files = {"--out": out, "--json": json, "--certificate": certificate, "--report": report}
    check_files(data, files, checkpoint, overwrite=force_overwrite)
    named = _read_groups(groups)
    with told_as_options():
        table = prepared(read_frame(data), target, impute=impute, task=task)
    settings: dict[str, Any] = {
        "task": task,
        "epsilon": epsilon,
        "delta": delta,
        "max_time": max_time,
        "max_samples": max_samples,
        "max_features": max_features,
        "guarantee": guarantee or "auto",
        "algorithm": algorithm,
        "holdout": holdout,
        "n_repeats": repeats,
        "random_state": seed,
        "estimator": named_estimator(estimator, task_of(table.y.to_numpy(), task)),
        "scoring": scoring,
        "cv": cv,
        "score_range": score_range,
        "terminal": terminal,
        "batch_size": batch_size,
        "max_memory": max_memory,
        "n_jobs": -1 if n_jobs is None else n_jobs,
        "checkpoint": checkpoint,
        "verbose": 0 if quiet else 1,
    }
    console = Console(quiet=quiet)
    with _told_warnings(console), workers_of(dask), told_as_options():
        found = select_from_table(
            table,
            forced=force,
            forbidden=forbid,
            groups=named,
            ready=lambda seen: _tell(console, *seen.notes),
            **settings,
        )
    write_files(found, files, f"Features of {_printable(data.name)} that predict {target}", checkpoint)
    _tell(console, *_again_in_words(found))
    if table.grouped:
        _tell(console, f"Columns of the file: {', '.join(found.features)}.")
    _tell(console, *(f"{name[2:]}: {path}" for name, path in files.items() if path is not None))
    raise typer.Exit(_exit_code(found.reason))


def _tell(console: Console, *lines: str) -> None:
    """Print lines as they are."""
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)


@contextmanager
def _told_warnings(console: Console) -> Iterator[None]:
    """Tell what went wrong with files as errors are told, and which columns are left out; the rest is in the result."""

    def tell(message: Warning | str, *_: Any, **__: Any) -> None:
        text = str(message)
        if any(words in text for words in TOLD):
            _tell(console, text)
        elif text.startswith("checkpoint "):
            say(text)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = tell  # at once: some say that the search waits
        yield


def _again_in_words(found: TableSelection) -> list[str]:
    """Return how often each column was selected, if there were several searches."""
    frequency, many = found.result().get("selection_frequency"), getattr(found.selector, "n_repeats_", 1)
    if not frequency:
        return []
    often = sorted((one for one in frequency.items() if one[1] > 0), key=lambda one: -one[1])
    listed = ", ".join(f"{name} in {round(share * many)}" for name, share in often[:MOST_SHOWN])
    more = f" and {len(often) - MOST_SHOWN} more" if len(often) > MOST_SHOWN else ""
    return [f"Selected in {many} searches: {listed}{more}."]


def _exit_code(reason: str) -> int:
    if reason == "interrupted":
        return INTERRUPTED
    return IDENTIFIED if reason == "identified" else STOPPED


def _printable(name: str) -> str:
    """Return the name of a file without bytes that are no text."""
    return name.encode("utf-8", "replace").decode("utf-8")


def _check_rival(algorithm: str, guarantees: list[str], *, budget: bool) -> None:
    """Refuse what only best leaf identification can do."""
    if algorithm == "bli":
        return
    if not budget:
        needs = "--max-samples or --max-time"
        raise ValueError(
            f"--algorithm {algorithm} ends only when a budget is spent: {needs} must be given, got neither"
        )
    if wanted := [one for one in guarantees if one not in ("auto", "grown")]:
        raise ValueError(
            f"--guarantee must be auto with --algorithm {algorithm}, which proves nothing, got {wanted[0]}"
        )


def _check_estimator(estimator: str, **options: Any) -> None:
    """Refuse options of an estimator where nearest neighbours vote."""
    for name, value in options.items():
        if value is not None and estimator == "neighbours":
            option = f"--{name.replace('_', '-')}"
            raise ValueError(f"{option} is about an estimator, so --estimator must be given, got neighbours")


def _read_groups(path: Path | None) -> dict[str, list[str]] | None:
    if path is None:
        return None
    try:
        found = json_module.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_without_repeats)
    except OSError as error:
        raise ValueError(f"--groups: {in_words(error)}") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"--groups {path} cannot be read as JSON: {' '.join(str(error).split())}") from None
    if not isinstance(found, dict):
        raise ValueError(f'--groups must hold {{"name": ["column", ...]}}, got a {type(found).__name__}')
    return found


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of a JSON file; of a name that stands twice JSON would keep the last."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the name {shown(name)} stands twice")
        found[name] = value
    return found
