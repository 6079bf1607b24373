"""bestleaf select: features of a table, from file to files."""

from __future__ import annotations

import json as json_module
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from bestleaf.cli.options import Jobs, Seed, seconds
from bestleaf.files import check_writable, write_atomically

IDENTIFIED, STOPPED, INTERRUPTED = 0, 3, 130  # exit codes


def select(
    data: Annotated[Path, typer.Argument(help="CSV, TSV, Parquet or Feather file, or .data with .labels beside it.")],
    target: Annotated[str, typer.Option(help="Column to predict (of a .data file: label).")],
    task: Annotated[str, typer.Option(help="auto, classification or regression.")] = "auto",
    epsilon: Annotated[float, typer.Option(help="How much better than the answer another leaf may be.")] = 0.01,
    delta: Annotated[float, typer.Option(help="Probability with which that may be wrong.")] = 0.05,
    max_time: Annotated[
        float | None, typer.Option(parser=seconds, metavar="TIME", help="Time allowed: 90, 90s, 1.5m or 2h.")
    ] = None,
    max_samples: Annotated[int | None, typer.Option(help="Rollouts and exact values allowed.")] = None,
    max_features: Annotated[int | None, typer.Option(help="Largest number of features.")] = None,
    force: Annotated[list[str] | None, typer.Option(help="Column that every subset has; may be repeated.")] = None,
    forbid: Annotated[list[str] | None, typer.Option(help="Column that no subset has; may be repeated.")] = None,
    groups: Annotated[
        Path | None, typer.Option(help='JSON file of columns that enter together: {"name": ["a", "b"]}.')
    ] = None,
    guarantee: Annotated[
        list[str] | None, typer.Option(help="auto, grown, local, quantile or exhaustive; may be repeated.")
    ] = None,
    algorithm: Annotated[str, typer.Option(help="bli, or fuse, fuse-ucd, alphafuse with a budget.")] = "bli",
    impute: Annotated[str | None, typer.Option(help="Fill gaps with median, mean or most_frequent.")] = None,
    holdout: Annotated[float | None, typer.Option(help="Share of the rows to keep from the search.")] = None,
    repeats: Annotated[int, typer.Option(help="Searches with other seeds, to see what is stable.")] = 1,
    seed: Seed = 0,
    n_jobs: Jobs = None,
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
    from bestleaf.report import save_report
    from bestleaf.selector.on_table import select_from_table

    check_choices(task=task, impute=impute)
    if holdout is not None and not 0 < holdout < 1:
        raise ValueError(f"--holdout must be strictly between 0 and 1, got {holdout:g}")
    files = {"--out": out, "--json": json, "--certificate": certificate, "--report": report}
    _check_files(data, files, overwrite=force_overwrite)
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
        "n_jobs": n_jobs,
        "checkpoint": checkpoint,
        "verbose": 0 if quiet else 1,
    }
    console = Console(quiet=quiet)
    for note in table.notes:
        console.print(note, highlight=False, markup=False)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = select_from_table(table, forced=force, forbidden=forbid, groups=_read_groups(groups), **settings)
    for warning in told:
        if issubclass(warning.category, UserWarning) and "constant" in str(warning.message):
            console.print(str(warning.message), highlight=False, markup=False)
    if json is not None:
        write_atomically(json, found.to_json())
    if certificate is not None:
        found.selector.certificate_.save(certificate)
    if report is not None:
        save_report(found.selector.certificate_, report, title=f"Features of {data.name} that tell {target}")
    if out is not None:
        write_atomically(out, found.reduced().to_csv(index=False, sep="\t" if out.suffix.lower() == ".tsv" else ","))
    if table.grouped:
        console.print(f"Columns of the file: {', '.join(found.features)}.", highlight=False, markup=False)
    for name, path in files.items():
        if path is not None:
            console.print(f"{name[2:]}: {path}", highlight=False, markup=False)
    raise typer.Exit(_exit_code(found.reason))


def _exit_code(reason: str) -> int:
    if reason == "interrupted":
        return INTERRUPTED
    return IDENTIFIED if reason == "identified" else STOPPED


def check_choices(*, task: str, impute: str | None) -> None:
    """Refuse words that are not known."""
    if task not in ("auto", "classification", "regression"):
        raise ValueError(f"--task must be auto, classification or regression, got {task!r}")
    if impute not in (None, "median", "mean", "most_frequent"):
        raise ValueError(f"--impute must be median, mean or most_frequent, got {impute!r}")


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
        check_new_file(name, path, overwrite=overwrite)
        if path.resolve() == data.resolve():
            raise ValueError(f"{name} must not be the table itself, got {path}")
    if len({path.resolve() for path in given.values()}) < len(given):
        raise ValueError(f"{' and '.join(given)} must be different files")
    out = files.get("--out")
    if out is not None and out.suffix.lower() not in (".csv", ".tsv"):
        raise ValueError(f"--out must end in .csv or .tsv, got {out}")


def _read_groups(path: Path | None) -> dict[str, list[str]] | None:
    if path is None:
        return None
    try:
        found = json_module.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"--groups {path} cannot be read as JSON: {' '.join(str(error).split())}") from None
    if not isinstance(found, dict):
        raise ValueError(f'--groups must hold {{"name": ["column", ...]}}, got a {type(found).__name__}')
    return found
