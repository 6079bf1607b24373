"""Options that several commands have: those of a table, with what is told about it, and those of files."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable
from inspect import Parameter, Signature, signature
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeAlias, get_type_hints

import typer
from rich.console import Console
from rich.markup import escape
from typer import Option

from bestleaf.checks import shown
from bestleaf.cli import at_once
from bestleaf.files import check_writable
from bestleaf.proof.text import LOUD

if TYPE_CHECKING:
    from bestleaf.tables.load import RefusedTableError, Table

PAGE = (".html", ".htm")  # endings of a page
TABLE, SELECTED, FILES, SELDOM = "The table", "What is selected, and how it is judged", "Files", "Further settings"
ANSWERS = {  # what can be done about kinds of findings
    "--keep COLUMN takes a column in that is left out.": {"unnamed", "row number", "id", "empty"},
    "--missing TEXT takes cells with this text as missing values.": {"marker"},
    "--drop COLUMN leaves a column out.": {"leak", "leak by gaps", "leak of two", "duplicate", "copy", "sum"},
}


def seconds(given: str | float) -> float:
    """Return a time in seconds; it is given as 90, 90s, 1.5m or 2h."""
    found = re.fullmatch(r"([\d.e+-]+)\s*([smh]?)", str(given).strip().lower())
    try:
        time = 0.0 if found is None else float(found[1]) * {"m": 60.0, "h": 3600.0}.get(found[2], 1.0)
    except ValueError:
        time = 0.0
    if not 0 < time < inf:
        raise typer.BadParameter(f"must be a time such as 90, 90s, 1.5m or 2h, got {shown(given)}")
    return time


def check_ending(option: str, path: Path, endings: tuple[str, ...]) -> None:
    """Refuse a file whose name does not have one of the endings."""
    if path.suffix.lower() not in endings:
        raise ValueError(f"{option} must end in {' or '.join(endings)}, got {path.name}")


def check_new_file(option: str, path: Path, *, overwrite: bool) -> None:
    """Refuse a file that cannot be written or that exists, before the work begins."""
    try:
        check_writable(path)
    except ValueError as error:
        raise ValueError(f"{option}: {error}") from None
    if path.exists() and not overwrite:
        raise ValueError(f"{option} {path} exists; --force-overwrite replaces it")


def _in(panel: str) -> Callable[..., Any]:
    """Return what makes an option in a titled group of the help: its words first, then settings of typer."""
    return lambda words, *names, **more: Option(*names, help=words, rich_help_panel=panel, **more)


_table, selected, in_files, seldom = map(_in, (TABLE, SELECTED, FILES, SELDOM))
COLUMN = {"metavar": "COLUMN"}

Include = Annotated[list[str] | None, selected("Column that is always selected; may be repeated.", **COLUMN)]
Exclude = Annotated[
    list[str] | None,
    selected(
        "Column never selected, though all columns, which the choice is compared with, have it; may be repeated.",
        **COLUMN,
    ),
]
MaxFeatures = Annotated[int | None, selected("Largest number of columns.", min=1)]
Time = Annotated[float | None, selected("Time allowed: 90, 90s, 1.5m or 2h.", parser=seconds, metavar="TIME")]
Scoring = Annotated[str | None, selected("How columns are scored: accuracy, roc_auc, r2, ... (default: AUC or R²).")]
Seed = Annotated[int, Option(min=0, max=2**32 - 1, help="The seed: the same seed gives the same result.")]
Jobs = Annotated[int | None, seldom("Threads or processes (default: all cores).", min=1, max=10_000)]
Overwrite = Annotated[bool, in_files("Replace files that exist.", "--force-overwrite")]
FILE = "CSV, TSV or TXT file (also .gz, .bz2, .xz), XLSX, ARFF, Parquet, Feather, or .data beside .labels."
MODELS = (
    "The model that columns are chosen for: neighbours, linear, logistic, ridge, svm, forest, boosting, lightgbm, "
    "xgboost, catboost (default: columns that three kinds of model need)."
)
Names: TypeAlias = list[str] | None
Text: TypeAlias = str | None


class TableOptions(NamedTuple):
    """The table of a command, the options that say how it is read and made ready, and the estimator it is for."""

    data: Annotated[Path, typer.Argument(help=FILE)]
    target: Annotated[str, _table("Column to predict (of a .data file: label).")]
    task: Annotated[
        Literal["auto", "classification", "regression"], _table("Predict classes or numbers; auto looks at the target.")
    ] = "auto"
    groups: Annotated[
        Text, _table("Column that says which rows belong together, as all visits of a patient.", **COLUMN)
    ] = None
    weights: Annotated[Text, _table("Column of row weights: a row of weight 2 counts as two rows.", **COLUMN)] = None
    drop: Annotated[Names, _table("Column to remove, such as a leak; may be repeated.", **COLUMN)] = None
    keep: Annotated[Names, _table("Column to take in although it looks like an id; may be repeated.", **COLUMN)] = None
    missing: Annotated[Names, _table('Text that means a missing value, as "?"; repeatable.', metavar="TEXT")] = None
    encoding: Annotated[Text, _table("Encoding of the file, such as cp1252 (default: UTF-8).", metavar="NAME")] = None
    no_header: Annotated[bool, _table("The first line has no names: they are 'column 1', ...", "--no-header")] = False
    impute: Annotated[
        Literal["median", "mean", "most_frequent"] | None,
        _table("How missing values are filled (default: median, unless the model takes them)."),
    ] = None
    dates: Annotated[Literal["parts", "number", "drop"], _table("Dates as year, month, ..., as days, or dropped.")] = (
        "parts"
    )
    estimator: Annotated[Text, selected(MODELS, metavar="NAME")] = None

    def table(self, wanted: Iterable[str] = ()) -> Table:
        """Return the table ready for a search; columns that other options name are kept like those of --keep."""
        how = self._asdict()
        data, target, without, estimator = (how.pop(name) for name in ("data", "target", "no_header", "estimator"))
        how |= {name: how[name] or () for name in ("drop", "keep", "missing")}
        with Console(stderr=True).status(f"Reading {escape(data.name)}"), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the notes say it
            with at_once():
                from bestleaf.tables.load import load_table
                from bestleaf.tables.models import default_impute
            how |= {"impute": self.impute or default_impute(estimator), "header": not without, "wanted": wanted}
            return load_table(data, target, **how)


def of_a_table(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `TableOptions`; it gets them as its first argument."""

    def run(**given: Any) -> None:
        table = TableOptions(**{name: given.pop(name) for name in TableOptions._fields})
        command(table, **given)

    own = list(signature(command).parameters.values())[1:]
    hints = {**get_type_hints(TableOptions, include_extras=True), **get_type_hints(command, include_extras=True)}
    listed = [
        Parameter(one.name, Parameter.KEYWORD_ONLY, default=one.default, annotation=hints[one.name])
        for one in (*signature(TableOptions).parameters.values(), *own)
    ]
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {one.name: one.annotation for one in listed}
    run.__signature__ = Signature(listed)  # type: ignore[attr-defined]  # typer reads it
    return run


def tell(console: Console, *lines: str) -> None:
    """Print lines as they are; a possible leak is printed in red."""
    for line in lines:
        style = "bold red" if line.startswith(LOUD) else None
        console.print(line, highlight=False, markup=False, soft_wrap=True, style=style)


def loud(notes: Iterable[str]) -> list[str]:
    """Return the notes about a table that must not be overlooked, and those about rows that it lost."""
    return [line for line in notes if line.startswith(LOUD) or " without a value of " in line]


def tell_notes(console: Console, table: Table | RefusedTableError) -> None:
    """Print what was done to a table and what was found in it, and which options change that."""
    kinds = [] if table.check is None else [one.kind for one in table.check.findings]
    tell(console, *table.notes, *(words for words, some in ANSWERS.items() if not some.isdisjoint(kinds)))
