"""Options that several commands have, and parsers for values that typer does not know."""

from __future__ import annotations

from math import inf, nan
from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Option

from bestleaf.checks import shown

PAGE = (".html", ".htm")  # endings of a page
TABLE, SELECTED, FILES = "The table", "What is selected, and how it is judged", "Files"  # titles in the help


def _number(text: str) -> float:
    """Return a text as a number; nan if it is not a number."""
    try:
        return nan if "_" in text else float(text)
    except ValueError:
        return nan


def fraction(given: str | float) -> float:
    """Return a number strictly between 0 and 1."""
    found = _number(str(given))
    if not 0 < found < 1:
        raise typer.BadParameter(f"must be strictly between 0 and 1, got {given}")
    return found


def seconds(given: str | float) -> float:
    """Return a time in seconds; it is given as 90, 90s, 1.5m or 2h."""
    text, units = str(given).strip().lower(), {"s": 1.0, "m": 60.0, "h": 3600.0}
    found = _number(text[:-1]) * units[text[-1]] if text[-1:] in units else _number(text)
    if not 0 < found < inf:
        raise typer.BadParameter(f"must be a time such as 90, 90s, 1.5m or 2h, got {shown(given)}")
    return found


def check_ending(option: str, path: Path, endings: tuple[str, ...]) -> None:
    """Refuse a file whose name does not have one of the endings."""
    if path.suffix.lower() not in endings:
        raise ValueError(f"{option} must end in {' or '.join(endings)}, got {path.name}")


Data = Annotated[
    Path,
    typer.Argument(
        help="CSV or TSV file (also .gz, .bz2, .xz, .zst), Parquet, Feather, or .data with .labels beside it."
    ),
]
Target = Annotated[str, Option(help="Column to predict (of a .data file: label).", rich_help_panel=TABLE)]
Task = Annotated[
    Literal["auto", "classification", "regression"],
    Option(help="Whether to predict classes or numbers.", rich_help_panel=TABLE),
]
Groups = Annotated[
    str | None,
    Option(metavar="COLUMN", help="Rows with the same value in it belong together.", rich_help_panel=TABLE),
]
Weights = Annotated[
    str | None, Option(metavar="COLUMN", help="How many rows each row counts as.", rich_help_panel=TABLE)
]
Drop = Annotated[
    list[str] | None,
    Option(metavar="COLUMN", help="Column that nothing looks at; may be repeated.", rich_help_panel=TABLE),
]
Keep = Annotated[
    list[str] | None,
    Option(
        metavar="COLUMN", help="Column to search although it looks like an id; may be repeated.", rich_help_panel=TABLE
    ),
]
Missing = Annotated[
    list[str] | None,
    Option(
        metavar="TEXT", help='Text that means a missing value, such as "?"; may be repeated.', rich_help_panel=TABLE
    ),
]
Encoding = Annotated[
    str | None,
    Option(metavar="NAME", help="Encoding of the file: latin-1, cp1252 (default: UTF-8).", rich_help_panel=TABLE),
]
Impute = Annotated[
    Literal["median", "mean", "most_frequent"] | None,
    Option(help="How missing values are filled.", rich_help_panel=TABLE),
]
Dates = Annotated[
    Literal["parts", "number", "drop"],
    Option(help="Dates as year, month, ..., as days, or dropped.", rich_help_panel=TABLE),
]
Estimator = Annotated[
    Literal["neighbours", "linear", "boosting", "forest", "svm"],
    Option(help="The model whose score says how good columns are.", rich_help_panel=SELECTED),
]
Include = Annotated[
    list[str] | None,
    Option(metavar="COLUMN", help="Column that is always selected; may be repeated.", rich_help_panel=SELECTED),
]
Exclude = Annotated[
    list[str] | None,
    Option(metavar="COLUMN", help="Column that is never selected; may be repeated.", rich_help_panel=SELECTED),
]
MaxFeatures = Annotated[int | None, Option(min=1, help="Largest number of columns.", rich_help_panel=SELECTED)]
Epsilon = Annotated[
    float | None,
    Option(
        min=0,
        max=1,
        help="By how much other columns may be better than those selected (0.01 by default).",
        rich_help_panel=SELECTED,
    ),
]
Time = Annotated[
    float | None,
    Option(parser=seconds, metavar="TIME", help="Time allowed: 90, 90s, 1.5m or 2h.", rich_help_panel=SELECTED),
]
Scoring = Annotated[str | None, Option(help="Score of an estimator: accuracy, roc_auc, r2, ...")]
Seed = Annotated[int, Option(min=0, max=2**32 - 1, help="Everything random follows from it.")]
Jobs = Annotated[int | None, Option(min=1, max=10_000, help="Threads or processes (default: all cores).")]
