"""bestleaf select: read a table, select columns, write the results."""

from __future__ import annotations

import os
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console
from typer import Option

from bestleaf.cli import INTERRUPTED, at_once
from bestleaf.cli.messages import complaint, say
from bestleaf.cli.options import (
    PAGE,
    Exclude,
    Include,
    Jobs,
    MaxFeatures,
    Overwrite,
    Scoring,
    TableOptions,
    Time,
    check_ending,
    check_new_file,
    in_files,
    loud,
    of_a_table,
    seldom,
    selected,
    tell,
    tell_notes,
)
from bestleaf.files import write_all_atomically
from bestleaf.proof.text import counted

if TYPE_CHECKING:
    from bestleaf.proof import Certificate
    from bestleaf.tables.select import TableSelection

Files = dict[str, Path | None]  # by option
ENDINGS = {"--out": (".csv", ".tsv"), "--certificate": (".json",), "--report": PAGE}
EXIT_CODES = {"interrupted": INTERRUPTED, "max_time": 3, "max_samples": 3}  # by reason
KEYWORDS = (  # of the selector, in the order in which `select` has their values
    *("estimator", "include", "exclude", "max_features", "n_features_to_select", "parsimony", "holdout", "max_time"),
    *("memory", "scoring", "cv", "choose", "epsilon", "delta", "n_jobs", "random_state"),
)


@of_a_table
def select(
    options: TableOptions,
    include: Include = None,
    exclude: Exclude = None,
    max_features: MaxFeatures = None,
    n_features: Annotated[int | None, selected("Exactly so many columns.", "--n-features", min=1)] = None,
    parsimony: Annotated[
        float | None, selected("How much score a smaller set may cost (default: 0.003).", min=0)
    ] = None,
    holdout: Annotated[
        float | None,
        selected("Part of the rows to test on; 0: none (default: a quarter, from 2,000 rows on).", metavar="FRACTION"),
    ] = None,
    max_time: Time = None,
    out: Annotated[Path | None, in_files("Table of the selected columns and the target.")] = None,
    report: Annotated[Path | None, in_files("HTML page about the result.")] = None,
    certificate: Annotated[
        Path | None, in_files("The certificate: the result and its proof in JSON, for bestleaf verify.")
    ] = None,
    memory: Annotated[
        Path | None, in_files("File to go on from after a stop: the same command with it repeats no work.")
    ] = None,
    force_overwrite: Overwrite = False,
    safe_csv: Annotated[
        bool, in_files("In --out, a ' before cells that a spreadsheet would run, as =1+1.", "--safe-csv")
    ] = False,
    explain: Annotated[bool, Option("--explain", help="Print everything that is known of the result.")] = False,
    scoring: Scoring = None,
    cv: Annotated[int | None, seldom("Number of folds (default: 5, several times for small tables).", min=2)] = None,
    choose: Annotated[
        Literal["new_data", "training"] | None,
        seldom("What decides: the score on new rows (default), or only the value on the rows given (training)."),
    ] = None,
    epsilon: Annotated[
        float | None,
        seldom("With --choose training: by how much another set may be better (default: 0.01).", min=0, max=1),
    ] = None,
    delta: Annotated[
        float | None, seldom("Probability with which a proof may be wrong, between 0 and 1 (default: 0.05).")
    ] = None,
    n_jobs: Jobs = None,
    random_state: Annotated[
        int | None, seldom("The seed: the same seed gives the same result (default: 0).", min=0, max=2**32 - 1)
    ] = None,
) -> None:
    """Select columns of a table (exit code 0: done, 3: --max-time ended it, 130: interrupted)."""
    given = (
        *(options.estimator, include, exclude, max_features, n_features, parsimony, holdout, max_time),
        *(memory, scoring, cv, choose, epsilon, delta, n_jobs, random_state),
    )
    typed = {name: value for name, value in zip(KEYWORDS, given, strict=True) if value is not None}
    if "epsilon" in typed and choose != "training":
        raise ValueError(f"--epsilon needs --choose training, got {epsilon:g} without it")
    files = {"--out": out, "--certificate": certificate, "--report": report}
    _check_files(options.data, files, memory, overwrite=force_overwrite)
    table, console = options.table(include or ()), Console()
    with Console(stderr=True).status("Beginning"), at_once():
        from bestleaf.tables.select import select_from_table

    if explain:
        tell_notes(console, table)
    else:
        tell(console, *loud(table.notes))
    settings: dict[str, Any] = {"n_jobs": -1, "random_state": 0, "verbose": 1, **typed}
    with _told_warnings(console), redirect_stdout(sys.stderr):  # progress and warnings are no part of the answer
        repeat = shlex.join(["bestleaf", *sys.argv[1:]])
        found = select_from_table(table, task=options.task, repeat=repeat, **settings)
    tell(console, *(_everything(found.certificate) if explain else _answer(found, report)))
    name = options.data.name.encode("utf-8", "replace").decode("utf-8")  # without bytes that are no text
    with Console(stderr=True).status("Writing"):
        _write_files(found, files, safe_csv, f"{name}: columns that predict {options.target}")
    if written := [str(path) for option, path in files.items() if path is not None and (explain or path != report)]:
        tell(console, f"Written: {', '.join(written)}")
    raise typer.Exit(0 if found.certificate.settled else EXIT_CODES.get(found.certificate.reason, 0))


def _everything(certificate: Certificate) -> list[str]:
    """Return all that is known of the result, with the scores by size."""
    from bestleaf.proof.words_new_rows import path_in_words

    by_size = [] if certificate.path is None else [path_in_words(certificate.path)]
    return [*certificate.summary().splitlines(), *by_size]


def _answer(found: TableSelection, report: Path | None) -> list[str]:
    """Return the answer in a few lines, what is proved in one, and where the rest is."""
    from bestleaf.proof.words_new_rows import proved_in_short

    certificate = found.certificate
    answer = certificate.answer_in_words().splitlines()
    if certificate.path is not None and certificate.reason != "settled":
        by, path = {"interrupted": "Ctrl-C"}.get(certificate.reason, "--max-time"), certificate.path
        answer.append(f"{by} ended the choice after {path.folds} of {path.folds_planned} folds.")
    notes = len(found.table.notes)
    about = f" ({counted(notes, 'note')} about the table)" if notes else ""
    rest = f"The rest{about}: {report or '--report page.html'}, or run again with --explain"
    return [*answer, *_near_copies(found), proved_in_short(certificate), rest]


def _near_copies(found: TableSelection) -> list[str]:
    """Return what the check says of near copies, if one of both was chosen."""
    findings = () if found.table.check is None else found.table.check.findings
    for one in findings:
        names = {*one.columns, *(text.rpartition(" (")[0] for text in one.texts)}
        if one.kind == "copy" and not names.isdisjoint(found.features):
            return one.lines()
    return []


@contextmanager
def _told_warnings(console: Console) -> Iterator[None]:
    """Show warnings at once, in one line each; the result tells of budgets."""

    def show(message: Warning | str, category: type[Warning] = UserWarning, *_: object, **__: object) -> None:
        text = str(message)
        if text.startswith("memory "):
            say(text)
        elif category is UserWarning:
            tell(console, complaint(UserWarning(text)))

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


def _write_files(found: TableSelection, files: Files, safe: bool, title: str) -> None:
    """Write all files that were asked for; none if one of them cannot be written."""
    from bestleaf.report import report_html

    certificate = found.certificate
    separator = "\t" if str(files["--out"]).lower().endswith(".tsv") else ","
    texts: dict[str, Callable[[], str]] = {
        "--out": lambda: found.reduced(safe=safe).to_csv(index=False, sep=separator),
        "--certificate": lambda: certificate.to_json() + "\n",
        "--report": lambda: report_html(certificate, title=title),
    }
    write_all_atomically({path: texts[option]() for option, path in files.items() if path is not None})
