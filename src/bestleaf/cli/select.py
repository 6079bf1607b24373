"""bestleaf select: features of a table, from file to files."""

from __future__ import annotations

import json as json_module
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from bestleaf.cli.options import (
    PAGE,
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
    check_ending,
)
from bestleaf.cli.workers import workers_of
from bestleaf.files import check_writable, in_words, write_all_atomically

if TYPE_CHECKING:
    from bestleaf.selector.on_table import TableSelection

ENDINGS = {"--out": (".csv", ".tsv"), "--json": (".json",), "--certificate": (".json",), "--report": PAGE}
IDENTIFIED, STOPPED, INTERRUPTED = 0, 3, 130  # exit codes
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
    from bestleaf.datasets import prepared, read_frame
    from bestleaf.selector.inputs import task_of
    from bestleaf.selector.named import named_estimator
    from bestleaf.selector.on_table import select_from_table

    _check_estimator(estimator, scoring=scoring, cv=cv, score_range=score_range)
    _check_rival(algorithm, guarantee or [], budget=max_time is not None or max_samples is not None)
    files = {"--out": out, "--json": json, "--certificate": certificate, "--report": report}
    resumed = checkpoint is not None and checkpoint.exists()  # the same command goes on, and writes its files again
    _check_files(data, files, overwrite=force_overwrite or resumed)
    named = _read_groups(groups)
    if checkpoint is not None:
        _check_files(data, {"--checkpoint": checkpoint}, overwrite=True)
        if checkpoint.resolve() in [path.resolve() for path in files.values() if path is not None]:
            raise ValueError(f"--checkpoint must be a file of its own, got {checkpoint}")
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
    _tell(console, *table.notes)
    with warnings.catch_warnings(), workers_of(dask):
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *_, **__: _tell(console, *_worth_telling(str(message)))
        found = select_from_table(table, forced=force, forbidden=forbid, groups=named, **settings)
    write_all_atomically(_texts(found, files, f"Features of {_printable(data.name)} that predict {target}"))
    _tell(console, *_again_in_words(found))
    if table.grouped:
        _tell(console, f"Columns of the file: {', '.join(found.features)}.")
    _tell(console, *(f"{name[2:]}: {path}" for name, path in files.items() if path is not None))
    raise typer.Exit(_exit_code(found.reason))


def _worth_telling(message: str) -> list[str]:
    """Return a warning that a user of the command line can do something about; all else is in the result."""
    return [message] if any(words in message for words in TOLD) else []


def _tell(console: Console, *lines: str) -> None:
    """Print lines as they are."""
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)


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


def _texts(found: TableSelection, files: dict[str, Path | None], title: str) -> dict[Path, str]:
    """Return what goes into each file that was asked for."""
    from bestleaf.report import report_html

    certificate = found.selector.certificate_
    separator = "\t" if str(files["--out"]).lower().endswith(".tsv") else ","
    renderers: dict[str, Callable[[], str]] = {
        "--out": lambda: found.reduced().to_csv(index=False, sep=separator),
        "--json": found.to_json,
        "--certificate": lambda: certificate.to_json() + "\n",
        "--report": lambda: report_html(certificate, title=title),
    }
    return {path: renderers[name]() for name, path in files.items() if path is not None}


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


def check_new_file(name: str, path: Path, *, overwrite: bool) -> None:
    """Refuse a file that could not be written, or that is there already."""
    if not path.parent.is_dir():
        raise ValueError(f"{name} must be in a folder that exists, got {path}")
    if path.exists() and not path.is_file():
        raise ValueError(f"{name} must be a file, got the folder or device {path}")
    if path.exists() and not overwrite:
        raise ValueError(f"{name} {path} exists; --force-overwrite replaces it")
    check_writable(path)


def _check_files(data: Path, files: dict[str, Path | None], *, overwrite: bool) -> None:
    """Refuse files that could not be written in the end, before any work is done."""
    given = {name: path for name, path in files.items() if path is not None}
    for name, path in given.items():
        if name in ENDINGS:
            check_ending(name, path, ENDINGS[name])
        check_new_file(name, path, overwrite=overwrite)
        if path.resolve() == data.resolve():
            raise ValueError(f"{name} must not be the table itself, got {path}")
    places: dict[Path, str] = {}
    for name, path in given.items():
        if (other := places.setdefault(path.resolve(), name)) != name:
            raise ValueError(f"{other} and {name} must be different files, got {path} for both")


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
            raise ValueError(f"the name {name!r} stands twice")
        found[name] = value
    return found
