"""Options that several commands take, and how their texts are read."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Annotated

import typer

from bestleaf.checks import shown

MOST = 10**18  # nobody waits for more of anything
LARGEST_SEED = 2**32 - 1  # of scikit-learn's random_state
PAGE = (".html", ".htm")  # endings of a page


def _got(text: str) -> str:
    """Return a value as it was given, in quotes unless it is a number."""
    return (
        text if text.isascii() and text.lstrip("+-").replace(".", "", 1).isdigit() and len(text) < 40 else shown(text)
    )


def _whole(least: int, most: int = MOST) -> Callable[[str | int], int]:
    """Return a parser of whole numbers from `least` to `most` that names the value it got."""
    rule = f"of at least {least}" if most == MOST else f"from {least} to {most}"

    def parse(given: str | int) -> int:  # typer hands the default over too
        text = str(given)
        digits = text.lstrip("0") or "0"
        found = int(digits[:20]) if text.isascii() and text.isdigit() else -1
        if most == MOST:
            found = min(found, MOST)
        if not least <= found <= most:
            raise typer.BadParameter(f"must be a whole number {rule}, got {_got(text)}")
        return found

    return parse


def _share(*, open_ends: bool) -> Callable[[str | float], float]:
    """Return a parser of numbers between 0 and 1, which belong to the range unless `open_ends`."""
    rule = "strictly between 0 and 1" if open_ends else "between 0 and 1"

    def parse(given: str | float) -> float:
        text = str(given)
        try:
            found = float(text)
        except ValueError:
            found = float("nan")
        inside = 0 < found < 1 if open_ends else 0 <= found <= 1
        if not inside or "_" in text:
            raise typer.BadParameter(f"must be {rule}, got {_got(text)}")
        return found

    return parse


def _one_of(*known: str) -> Callable[[str], str]:
    """Return a parser of one of some words."""

    def parse(given: str) -> str:
        if given not in known:
            raise typer.BadParameter(f"must be {', '.join(known[:-1])} or {known[-1]}, got {shown(given)}")
        return given

    return parse


def seconds(given: str | float) -> float:
    """Return a time given as 90, 90s, 1.5m or 2h in seconds."""
    text = str(given).strip().lower()
    units = {"s": 1.0, "m": 60.0, "h": 3600.0}
    number, unit = (text[:-1], units[text[-1]]) if text[-1:] in units else (text, 1.0)
    try:
        found = float(number) * unit
    except ValueError:
        found = -1.0
    if not 0 < found < inf or "_" in text:
        raise typer.BadParameter(f"must be a time such as 90, 90s, 1.5m or 2h, got {shown(given)}")
    return found


def memory(given: str | int) -> int | None:
    """Return a size given as 500MB or 2GB in bytes."""
    from bestleaf.selector.memory import checked_memory

    try:
        return checked_memory(given)
    except ValueError:
        raise typer.BadParameter(f"must be a size such as 500MB or 2GB, got {shown(given)}") from None


def check_ending(name: str, path: Path, endings: tuple[str, ...]) -> None:
    """Refuse a file whose name does not say what will be in it."""
    if path.suffix.lower() not in endings:
        raise ValueError(f"{name} must end in {' or '.join(endings)}, got {path.name}")


IMPUTE = _one_of("median", "mean", "most_frequent")
SHARE = _share(open_ends=True)

Data = Annotated[Path, typer.Argument(help="CSV, TSV, Parquet or Feather file, or .data with .labels beside it.")]
Target = Annotated[str, typer.Option(help="Column to predict (of a .data file: label).")]
Task = Annotated[
    str,
    typer.Option(
        parser=_one_of("auto", "classification", "regression"),
        metavar="WORD",
        help="auto, classification or regression.",
    ),
]
Epsilon = Annotated[
    float,
    typer.Option(
        parser=_share(open_ends=False), metavar="NUMBER", help="How much better than the answer another leaf may be."
    ),
]
Delta = Annotated[
    float,
    typer.Option(parser=SHARE, metavar="NUMBER", help="Probability with which that may be wrong."),
]
Impute = Annotated[
    str | None, typer.Option(parser=IMPUTE, metavar="WORD", help="Fill gaps with median, mean or most_frequent.")
]
Time = Annotated[
    float | None,
    typer.Option(parser=seconds, metavar="TIME", help="Time allowed for the search: 90, 90s, 1.5m or 2h."),
]
Samples = Annotated[int | None, typer.Option(parser=_whole(1), metavar="N", help="Rollouts and exact values allowed.")]
Size = Annotated[int | None, typer.Option(parser=_whole(1), metavar="N", help="Largest number of features.")]
Algorithm = Annotated[
    str,
    typer.Option(
        parser=_one_of("bli", "fuse", "fuse-ucd", "alphafuse"),
        metavar="WORD",
        help="bli, or fuse, fuse-ucd, alphafuse with a budget.",
    ),
]
Guarantees = Annotated[
    list[str] | None,
    typer.Option(
        parser=_one_of("auto", "grown", "local", "quantile", "exhaustive"),
        metavar="WORD",
        help="auto, grown, local, quantile or exhaustive; may be repeated.",
    ),
]
Repeats = Annotated[
    int,
    typer.Option(parser=_whole(1, 1_000_000), metavar="N", help="Searches with other seeds, to see what is stable."),
]
Runs = Annotated[
    int | None,
    typer.Option(parser=_whole(1, 1_000_000), help="Runs of each row (default: the paper's number).", metavar="N"),
]
Json = Annotated[Path | None, typer.Option("--json", help="File of the rows; the same command goes on from it.")]
Seed = Annotated[
    int, typer.Option(parser=_whole(0, LARGEST_SEED), help="Everything random follows from it.", metavar="N")
]
Jobs = Annotated[
    int | None,
    typer.Option(parser=_whole(1, 10_000), help="Threads or processes (default: all cores).", metavar="N"),
]
Estimator = Annotated[
    str,
    typer.Option(
        parser=_one_of("neighbours", "linear", "boosting", "forest", "svm"),
        metavar="WORD",
        help="Who judges a subset: neighbours (votes of the nearest), linear, boosting, forest or svm.",
    ),
]
Scoring = Annotated[
    str | None, typer.Option(metavar="NAME", help="How an estimator is scored: accuracy, roc_auc, r2, ...")
]
Folds = Annotated[
    int | None, typer.Option(parser=_whole(2, 1000), metavar="N", help="Folds on which it is scored (default: 5).")
]
ScoreRange = Annotated[
    tuple[float, float] | None,
    typer.Option(metavar="LOW HIGH", help="Lowest and highest score, of a scoring without bounds such as r2."),
]
Terminal = Annotated[
    str,
    typer.Option(
        parser=_one_of("auto", "exact", "noisy"),
        metavar="WORD",
        help="Complete subsets have exact values, or sampled ones with an interval: auto, exact or noisy.",
    ),
]
Batch = Annotated[
    int | None,
    typer.Option(parser=_whole(1, 100_000), metavar="N", help="Samples asked for at once; the answer depends on it."),
]
Memory = Annotated[
    int | None, typer.Option(parser=memory, metavar="SIZE", help="Memory allowed for data and graph: 500MB, 2GB.")
]
