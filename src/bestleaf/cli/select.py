"""bestleaf select: read a table, select features, write the results."""

from __future__ import annotations

import json as json_module
import shlex
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from typer import Option

from bestleaf.checks import cut, shown
from bestleaf.cli import INTERRUPTED, at_once
from bestleaf.cli.messages import say
from bestleaf.cli.options import (
    Data,
    Dates,
    Device,
    Drop,
    Encoding,
    Epsilon,
    Estimator,
    Forbidden,
    Forced,
    Groups,
    Impute,
    Jobs,
    Keep,
    MaxFeatures,
    Missing,
    ReferenceRows,
    Scoring,
    Seed,
    Target,
    Task,
    Time,
    Weights,
    fraction,
)
from bestleaf.cli.outputs import check_files, path_table, write_files
from bestleaf.cli.table import TableOptions, tell, tell_notes

EXIT_CODES = {"identified": 0, "interrupted": INTERRUPTED}  # by reason; 3 for a budget
# Warnings with these words are shown; the result tells the rest.
TOLD = ("constant and left out", "no worker is left", "ended the choice by left-out rows", "the GPU cannot be used")
MOST_SHOWN = 20  # columns whose selection frequency is shown
PATIENCE = 10  # seconds to wait for a scheduler

# Options that are not keywords of select_from_table.
OURS = {"data", "target", "groups", "weights", "drop", "keep", "missing", "encoding", "impute", "dates", "dask", "out"}
OURS |= {"json", "certificate", "report", "force_overwrite", "quiet"}

Guarantee = StrEnum("Guarantee", "auto grown local quantile exhaustive")  # typer takes no lists of literals
Algorithm = Literal["bli", "fuse", "fuse-ucd", "alphafuse"]
Choose = Literal["new_data", "training"]
Resample = Literal["bootstrap", "half"]
Range = tuple[float, float] | None


def select(
    data: Data,
    target: Target,
    groups: Groups = None,
    weights: Weights = None,
    task: Task = "auto",
    epsilon: Epsilon = 0.01,
    delta: Annotated[float, Option(parser=fraction, metavar="NUMBER", help="Probability that it is wrong.")] = 0.05,
    choose: Annotated[Choose, Option(help="Rows that decide: left-out ones, or all.")] = "new_data",
    parsimony: Annotated[float | None, Option(min=0, help="Standard errors that fewer features may cost.")] = None,
    max_time: Time = None,
    max_samples: Annotated[int | None, Option(min=1, help="Rollouts and exact values allowed.")] = None,
    max_features: MaxFeatures = None,
    forced: Forced = None,
    forbidden: Forbidden = None,
    feature_groups: Annotated[Path | None, Option(help='JSON of columns that enter together: {"name": ["a"]}.')] = None,
    costs: Annotated[Path | None, Option(help='JSON of what columns cost: {"a": 2.5}.')] = None,
    max_cost: Annotated[float | None, Option(min=0, help="What all columns of a subset may cost.")] = None,
    at_most: Annotated[Path | None, Option(help='JSON of limits: {"name": [2, ["a", "b", "c"]]}.')] = None,
    guarantee: Annotated[list[Guarantee] | None, Option(help="What is proved; may be repeated.")] = None,
    algorithm: Annotated[Algorithm, Option(help="All but bli prove nothing and need a budget.")] = "bli",
    estimator: Estimator = "neighbours",
    reference_rows: ReferenceRows = None,
    device: Device = "auto",
    scoring: Scoring = None,
    cv: Annotated[int | None, Option(min=2, max=1000, help="Folds of cross-validation (default: 5).")] = None,
    score_range: Annotated[Range, Option(metavar="LOW HIGH", help="For scores without bounds (r2).")] = None,
    batch_size: Annotated[int | None, Option(min=1, max=100_000, help="Samples asked for at once.")] = None,
    drop: Drop = None,
    keep: Keep = None,
    missing: Missing = None,
    encoding: Encoding = None,
    impute: Impute = None,
    dates: Dates = "parts",
    holdout: Annotated[
        float | None, Option(parser=fraction, metavar="FRACTION", help="Part of the rows held out.")
    ] = None,
    n_repeats: Annotated[
        int | None, Option(min=1, max=1_000_000, help="Searches with different seeds or rows, to compare.")
    ] = None,
    resample: Annotated[Resample | None, Option(help="Other rows for these searches (20 by default).")] = None,
    random_state: Seed = 0,
    max_memory: Annotated[str | None, Option(metavar="SIZE", help="For data and graph: 500MB, 2GB.")] = None,
    n_jobs: Jobs = None,
    dask: Annotated[str | None, Option(metavar="ADDRESS", help="Scheduler of a Dask cluster: tcp://...")] = None,
    out: Annotated[Path | None, Option(help="Table of the selected columns and the target.")] = None,
    json: Annotated[Path | None, Option("--json", help="File of the result.")] = None,
    certificate: Annotated[Path | None, Option(help="File of the certificate.")] = None,
    report: Annotated[Path | None, Option(help="HTML page about the result.")] = None,
    checkpoint: Annotated[Path | None, Option(help="File to save the search to, and go on from.")] = None,
    force_overwrite: Annotated[bool, Option("--force-overwrite", help="Replace files that exist.")] = False,
    quiet: Annotated[bool, Option("--quiet", help="Show nothing but errors.")] = False,
) -> None:
    """Select features of a table, with a proof (exit code 0: identified, 3: a budget ended it, 130: interrupted)."""
    settings = {name: value for name, value in locals().items() if name not in OURS}
    with at_once():
        from bestleaf.tables.select import select_from_table

    if algorithm != "bli" and max_time is None and max_samples is None:
        raise ValueError(f"--max-samples or --max-time must be given with --algorithm {algorithm}, got neither")
    if algorithm != "bli" and not {"auto", "grown"}.issuperset(guarantee or []):
        raise ValueError(f"--guarantee must be auto with --algorithm {algorithm}, which proves nothing")
    files = {"--out": out, "--json": json, "--certificate": certificate, "--report": report}
    check_files(data, files, checkpoint, overwrite=force_overwrite)
    together = _read_named("--feature-groups", feature_groups, '{"name": ["column", ...]}')
    settings |= {
        "feature_groups": together,
        "costs": _read_named("--costs", costs, '{"column": 2.5, ...}'),
        "at_most": _read_named("--at-most", at_most, '{"name": [2, ["column", ...]]}'),
        "guarantee": [one.value for one in guarantee] if guarantee else "auto",
        "n_jobs": -1 if n_jobs is None else n_jobs,
        "verbose": 0 if quiet else 1,
    }
    grouped = [name for names in (together or {}).values() if isinstance(names, list) for name in names]
    wanted = [*(forced or []), *(name for name in grouped if isinstance(name, str))]
    options = TableOptions(task, groups, weights, drop, keep, missing, encoding, impute, dates, estimator)
    table = options.table(data, target, wanted)
    console = Console(quiet=quiet)
    with _told_warnings(console), workers_of(dask):
        repeat = shlex.join(["bestleaf", *sys.argv[1:]])
        found = select_from_table(table, ready=lambda seen: tell_notes(console, seen), repeat=repeat, **settings)
    if (path := path_table(found.selector.certificate_)) is not None:
        console.print(path)
    name = data.name.encode("utf-8", "replace").decode("utf-8")  # without bytes that are no text
    write_files(found, files, f"Features of {name} that predict {target}", checkpoint)
    if found.validation is not None and found.selection_frequency is not None:
        tell(console, _again_in_words(found.selection_frequency, found.validation.n_repeats, resample))
    tell(console, *(f"{option[2:]}: {path}" for option, path in files.items() if path is not None))
    unlimited = max_time is None and max_samples is None  # then ending the search unsettled is no failure
    raise typer.Exit(0 if found.reason == "max_time" and unlimited else EXIT_CODES.get(found.reason, 3))


@contextmanager
def _told_warnings(console: Console) -> Iterator[None]:
    """Show warnings of `TOLD` and about checkpoints at once."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        text = str(message)
        if any(words in text for words in TOLD):
            tell(console, text)
        elif text.startswith("checkpoint "):
            say(text)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        yield


@contextmanager
def workers_of(address: str | None) -> Iterator[None]:
    """Let joblib use the Dask cluster whose scheduler is at an address; None changes nothing."""
    if address is None:
        yield
        return
    try:
        from distributed import Client
    except ImportError:
        raise ValueError("--dask needs Dask (pip install 'bestleaf[dask]')") from None
    from joblib import parallel_config

    try:
        client = Client(address, timeout=PATIENCE)
    except (OSError, ValueError, TypeError) as error:
        rule, reason = "must be the address of a scheduler such as tcp://host:8786", " ".join(str(error).split())
        raise ValueError(f"--dask {rule}, got {shown(address)}: {cut(reason, 100)}") from None
    with client, parallel_config("dask", client=client):
        yield


def _again_in_words(frequency: dict[str, float], searches: int, resample: str | None) -> str:
    """Return how often each column was selected."""
    from bestleaf.validation import searches_in_words

    often = sorted((one for one in frequency.items() if one[1] > 0), key=lambda one: -one[1])
    listed = ", ".join(f"{name} in {round(one * searches)}" for name, one in often[:MOST_SHOWN])
    more = f" and {len(often) - MOST_SHOWN} more" if len(often) > MOST_SHOWN else ""
    return f"Selected in {searches_in_words(searches, resample)}: {listed}{more}."


def _read_named(option: str, path: Path | None, form: str) -> dict[str, object] | None:
    """Return the object in a JSON file; the search checks what it holds."""
    if path is None:
        return None
    text = path.read_text(encoding="utf-8", errors="replace")
    try:
        found = json_module.loads(text, object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{option} {path} cannot be read as JSON: {error}") from None
    if not isinstance(found, dict):
        raise ValueError(f"{option} must hold {form}, got a {type(found).__name__}")
    return found


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object of a JSON file; refuse a name that is there twice, because Python would keep the last value."""
    for name, times in Counter(name for name, _ in pairs).items():
        if times > 1:
            raise ValueError(f"the name {shown(name)} stands twice")
    return dict(pairs)
