"""Read tables from files: CSV, TSV, Parquet, Feather, and .data files with a .labels file beside them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from bestleaf.checks import cut, did_you_mean, listed, shown

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
NUMBER_WITH_COMMA = r"\s*[+-]?\d+(,\d+([eE][+-]?\d+)?)?\s*"


def read_table(path: str | Path, target: str) -> tuple[pd.DataFrame, pd.Series]:
    """Return (features, target column) of a CSV, TSV, Parquet or Feather file.

    Parameters
    ----------
    path : path
        The file; its ending says which kind of file it is.
    target : str
        Name of the target column; all other columns are features.
    """
    frame = read_frame(path)
    if target not in frame.columns:
        raise ValueError(
            f"target must be a column of {shown(Path(path).name)}, got {shown(target)}"
            f"{did_you_mean(target, frame.columns)}"
        )
    return frame.drop(columns=target), frame[target]


def read_frame(path: str | Path) -> pd.DataFrame:
    """Return the table in a CSV, TSV, Parquet or Feather file, or in a ``.data`` file with ``.labels`` beside it."""
    path = Path(path)
    readers: dict[str, Callable[[Path], pd.DataFrame]] = {
        ".csv": lambda file: _read_text(file, ","),
        ".tsv": lambda file: _read_text(file, "\t"),
        ".parquet": pd.read_parquet,
        ".feather": pd.read_feather,
        ".data": read_pair,
    }
    named = cut(str(path), 150)
    if path.suffix.lower() not in readers:
        raise ValueError(f"the table must be one of {', '.join(readers)}, got {shown(path.name)}")
    if not os.path.isfile(path):  # False also for a name that is too long
        folder = os.path.isdir(path)
        raise FileNotFoundError(f"{named} is a folder, not a file" if folder else f"there is no file {named}")
    try:
        frame = readers[path.suffix.lower()](path)
    except ImportError:
        raise ValueError(f"reading {path.name} needs pyarrow (pip install pyarrow)") from None
    except UnicodeDecodeError:
        raise ValueError(f"{named} cannot be read: it is not text in UTF-8") from None
    except (ValueError, OSError, KeyError, TypeError, MemoryError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise ValueError(f"{named} cannot be read: {cut(reason, 120)}") from None
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    frame.columns = [str(name).strip() for name in frame.columns]
    if frame.empty:
        got = f"{len(frame)} rows of {frame.shape[1]} columns"
        raise ValueError(f"{cut(path.name, 100)} must have rows and columns, got {got}")
    if repeated := sorted(set(frame.columns[frame.columns.duplicated()])):
        rule = "must have a different name for every column"
        raise ValueError(f"{cut(path.name, 100)} {rule}, got {listed(repeated)} more than once")
    return frame


def _read_text(path: Path, usual: str) -> pd.DataFrame:
    """Read a table of text; the separator is the only one in the first line, or the usual one if there are several."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        head = file.readline()
    if not head.strip():
        raise ValueError("it is empty")
    used = [one for one in SEPARATORS if one in head]
    separator = used[0] if len(used) == 1 else usual
    frame = _read_separated(path, separator)
    if separator != usual and frame.shape[1] > 1:
        note = f"the file is separated by {SEPARATORS[separator]}"
        if separator != "," and any(_has_decimal_commas(column) for _, column in frame.items()):
            frame = _read_separated(path, separator, decimal=",")
            note += " and its numbers have decimal commas"
        frame.attrs["notes"] = (note,)
    return frame


def _has_decimal_commas(column: pd.Series) -> bool:
    """Whether a column is text only because its numbers are written as 1,5."""
    if column.dtype.kind in "biuf" or not column.notna().any():
        return False
    return bool(column.dropna().astype("string").str.fullmatch(NUMBER_WITH_COMMA).all())


def _read_separated(path: Path, separator: str, decimal: str = ".") -> pd.DataFrame:
    """Read a table of text. By default pandas would rename columns of the same name and cut long rows."""
    names = pd.read_csv(path, sep=separator, encoding="utf-8-sig", header=None, nrows=1, dtype=str).iloc[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            frame = pd.read_csv(
                path, sep=separator, encoding="utf-8-sig", decimal=decimal, low_memory=False, index_col=False
            )
        except pd.errors.ParserWarning:
            raise ValueError("it has rows with more cells than the first line") from None
    if len(names) == len(frame.columns):
        frame.columns = names.fillna("").astype(str)
    return frame


def read_pair(path: Path) -> pd.DataFrame:
    """Read numbers separated by spaces; the ``.labels`` file beside them becomes the column ``label``."""
    labels = path.with_suffix(".labels")
    for file in (path, labels):
        if not file.is_file():
            raise FileNotFoundError(f"there is no file {file}; a .data file needs a .labels file beside it")
    try:
        data, target = np.loadtxt(path, ndmin=2), np.loadtxt(labels, ndmin=2)[:, 0]
    except ValueError as error:
        raise ValueError(f"both files must hold numbers separated by spaces: {error}") from None
    if len(data) != len(target):
        raise ValueError(f"it has {len(data)} rows but its .labels file has {len(target)}")
    frame = pd.DataFrame(data, columns=[f"f{number}" for number in range(data.shape[1])])
    return frame.assign(label=target.astype(int) if (target == np.floor(target)).all() else target)
