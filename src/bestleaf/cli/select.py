"""bestleaf select: read a table, select features, write the results."""

from __future__ import annotations

import os
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text
from typer import Option

from bestleaf.cli import INTERRUPTED, at_once
from bestleaf.cli.config import read_settings
from bestleaf.cli.messages import say
from bestleaf.cli.options import (
    FILES,
    PAGE,
    SELECTED,
    Epsilon,
    Exclude,
    Include,
    MaxFeatures,
    Overwrite,
    TableOptions,
    Time,
    check_ending,
    check_new_file,
    fraction,
    of_a_table,
    tell,
    tell_notes,
)
from bestleaf.files import write_all_atomically

if TYPE_CHECKING:
    from bestleaf.certificate import Certificate
    from bestleaf.tables.select import TableSelection

Files = dict[str, Path | None]  # by option
ENDINGS = {"--out": (".csv", ".tsv"), "--json": (".json",), "--certificate": (".json",), "--report": PAGE}

EXIT_CODES = {"settled": 0, "interrupted": INTERRUPTED}  # by reason; 3 for a budget
# Warnings with these words are shown; the result tells the rest.
TOLD = ("constant and left out", "no worker is left", "ended the choice by left-out rows", "the GPU cannot be used")


@of_a_table
def select(
    options: TableOptions,
    include: Include = None,
    exclude: Exclude = None,
    max_features: MaxFeatures = None,
    epsilon: Epsilon = None,
    holdout: Annotated[
        float | None,
        Option(
            parser=fraction,
            metavar="FRACTION",
            help="Part of the rows to keep aside, and to test on in the end.",
            rich_help_panel=SELECTED,
        ),
    ] = None,
    max_time: Time = None,
    out: Annotated[
        Path | None, Option(help="Table of the selected columns and the target.", rich_help_panel=FILES)
    ] = None,
    report: Annotated[Path | None, Option(help="HTML page about the result.", rich_help_panel=FILES)] = None,
    json: Annotated[Path | None, Option("--json", help="The result in JSON.", rich_help_panel=FILES)] = None,
    certificate: Annotated[
        Path | None, Option(help="Proof of the result, for bestleaf verify.", rich_help_panel=FILES)
    ] = None,
    memory: Annotated[
        Path | None, Option(help="File of answers to go on from after a stop.", rich_help_panel=FILES)
    ] = None,
    config: Annotated[
        Path | None,
        Option(
            metavar="FILE.toml",
            help="Further settings: any keyword of BestLeafSelector; tables search and neighbours.",
            rich_help_panel=FILES,
        ),
    ] = None,
    force_overwrite: Overwrite = False,
) -> None:
    """Select columns of a table, with a proof (exit code 0: settled, 3: a budget ended it, 130: interrupted)."""
    typed = {
        "include": include,
        "exclude": exclude,
        "max_features": max_features,
        "epsilon": epsilon,
        "max_time": max_time,
        "memory": memory,
    }
    with at_once():
        from bestleaf.tables.select import select_from_table

    given, options = read_settings(config, options)
    settings: dict[str, Any] = {"n_jobs": -1, "random_state": 0, "verbose": 1, **given}
    settings |= {name: value for name, value in typed.items() if value is not None}
    kept = None if settings.get("memory") is None else Path(settings["memory"])
    files = {"--out": out, "--json": json, "--certificate": certificate, "--report": report}
    _check_files(options.data, files, kept, overwrite=force_overwrite)
    groups = [group for group in settings.get("feature_groups", {}).values() if isinstance(group, list)]
    named = [*settings.get("include", ()), *(name for group in groups for name in group)]
    table = options.table(name for name in named if isinstance(name, str))
    console = Console(quiet=not settings["verbose"])
    with _told_warnings(console):
        repeat = shlex.join(["bestleaf", *sys.argv[1:]])
        try:
            found = select_from_table(
                table,
                task=options.task,
                holdout=holdout,
                ready=lambda seen: tell_notes(console, seen),
                repeat=repeat,
                **settings,
            )
        except TypeError as error:
            if config is None:
                raise
            raise ValueError(str(error)) from error  # a setting of another kind
    if (path := path_table(found.selector.certificate_)) is not None:
        console.print(path)
    name = options.data.name.encode("utf-8", "replace").decode("utf-8")  # without bytes that are no text
    _write_files(found, files, f"Features of {name} that predict {options.target}")
    tell(console, *(f"{option[2:]}: {path}" for option, path in files.items() if path is not None))
    limits = found.selector.max_time, found.selector._options().max_samples
    unlimited = limits == (None, None)  # then ending the search unsettled is no failure
    raise typer.Exit(0 if found.reason == "exhausted" and unlimited else EXIT_CODES.get(found.reason, 3))


@contextmanager
def _told_warnings(console: Console) -> Iterator[None]:
    """Show warnings of `TOLD` and about the memory at once."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        text = str(message)
        if any(words in text for words in TOLD):
            tell(console, text)
        elif text.startswith("memory "):
            say(text)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        yield


def _check_files(data: Path, files: Files, memory: Path | None, *, overwrite: bool) -> None:
    """Refuse files that cannot be written, before the work begins."""
    if memory is not None:
        check_new_file("--memory", memory, overwrite=True)
    places = {} if memory is None else {os.path.realpath(memory): "--memory"}
    for option, path in files.items():
        if path is None:
            continue
        check_ending(option, path, ENDINGS[option])
        check_new_file(option, path, overwrite=overwrite)
        if (other := places.setdefault(os.path.realpath(path), option)) != option:
            raise ValueError(f"{other} and {option} must be different files, got {path} for both")
    if itself := places.get(os.path.realpath(data)):
        raise ValueError(f"{itself} must not be the table itself, got {data}")


def _write_files(found: TableSelection, files: Files, title: str) -> None:
    """Write all files that were asked for; none if one of them cannot be written."""
    from bestleaf.report import report_html

    certificate = found.selector.certificate_
    separator = "\t" if str(files["--out"]).lower().endswith(".tsv") else ","
    texts: dict[str, Callable[[], str]] = {
        "--out": lambda: found.reduced().to_csv(index=False, sep=separator),
        "--json": found.to_json,
        "--certificate": lambda: certificate.to_json() + "\n",
        "--report": lambda: report_html(certificate, title=title),
    }
    write_all_atomically({path: texts[option]() for option, path in files.items() if path is not None})


def path_table(certificate: Certificate) -> Table | None:
    """Return some rows of the path as a table for the terminal; None if left-out rows decided nothing."""
    from bestleaf.certificate.path import HEADS, path_cells

    if certificate.path is None:
        return None
    rows = path_cells(certificate.content)
    some = "" if len(rows) == len(certificate.path) else f", {len(rows)} of {len(certificate.path):,} sizes"
    table = Table(title=f"The path: one subset of each size{some} (* chosen)", title_justify="left")
    for place, name in enumerate(HEADS):
        numbers = name != "features"
        longest = max(len(row.texts()[place]) for row in rows) if numbers else 0  # only names are cut, numbers never
        table.add_column(name, justify="right" if numbers else "left", min_width=longest)
    for row in rows:
        cells = [Text(text, no_wrap=True, overflow="ellipsis") for text in row.texts()]
        table.add_row(*cells, style="bold" if row.chosen else None)
    return table
