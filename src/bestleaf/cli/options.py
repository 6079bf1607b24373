"""Options that several commands have, and parsers for values that typer does not know."""

from __future__ import annotations

from math import inf, nan
from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Option

from bestleaf.checks import shown

PAGE = (".html", ".htm")  # endings of a page


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
Target = Annotated[str, Option(help="Column to predict (of a .data file: label).")]
Groups = Annotated[str | None, Option(metavar="COLUMN", help="Rows with the same value in it belong together.")]
Weights = Annotated[str | None, Option(metavar="COLUMN", help="How many rows each row counts as.")]
Task = Annotated[Literal["auto", "classification", "regression"], Option(help="Predict classes or numbers.")]
Epsilon = Annotated[float, Option(min=0, max=1, help="How much better than the answer another subset may be.")]
Time = Annotated[
    float | None,
    Option(parser=seconds, metavar="TIME", help="Time allowed for the search: 90, 90s, 1.5m or 2h."),
]
Impute = Annotated[Literal["median", "mean", "most_frequent"] | None, Option(help="How missing values are filled.")]
Drop = Annotated[list[str] | None, Option(metavar="COLUMN", help="Column that nothing looks at; may be repeated.")]
Keep = Annotated[
    list[str] | None, Option(metavar="COLUMN", help="Column to search although it looks like an id; may be repeated.")
]
Missing = Annotated[
    list[str] | None, Option(metavar="TEXT", help='Text that means a missing value, such as "?"; may be repeated.')
]
Encoding = Annotated[str | None, Option(metavar="NAME", help="Encoding of the file: latin-1, cp1252 (default: UTF-8).")]
Estimator = Annotated[
    Literal["neighbours", "linear", "boosting", "forest", "svm"], Option(help="Whose score a subset has.")
]
ReferenceRows = Annotated[
    int | None, Option(min=1, help="Rows among which neighbours are searched (default: 20,000 of very many).")
]
Device = Annotated[
    Literal["auto", "cpu", "cuda"], Option(help="Where neighbours are searched; auto takes a GPU if there is one.")
]
Scoring = Annotated[str | None, Option(help="Score of an estimator: accuracy, roc_auc, r2, ...")]
MaxFeatures = Annotated[int | None, Option(min=1, help="Largest number of features.")]
Forced = Annotated[list[str] | None, Option(help="Column that every subset has; may be repeated.")]
Forbidden = Annotated[list[str] | None, Option(help="Column that no subset has; may be repeated.")]
Dates = Annotated[Literal["parts", "number", "drop"], Option(help="Dates as year, month, ..., as days, or dropped.")]
Seed = Annotated[int, Option(min=0, max=2**32 - 1, help="Everything random follows from it.")]
Jobs = Annotated[int | None, Option(min=1, max=10_000, help="Threads or processes (default: all cores).")]
