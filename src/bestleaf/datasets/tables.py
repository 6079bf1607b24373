"""Tables as users have them: read from files, with categories and gaps turned into numbers or refused by name."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

MOST_SHOWN = 10  # columns named in a complaint
MOST_CATEGORIES = 1_000  # of one column; text with more is rather an identifier


@dataclass(frozen=True)
class Table:
    """A table ready for a search.

    Attributes
    ----------
    X : DataFrame
        Numbers without gaps; a category takes one column a value.
    y : Series
        What is predicted.
    groups : dict
        Columns of `X` by the column of the file they come from.
    original : DataFrame
        The rows as they were read, target included.
    target : str
        Name of the column that is predicted.
    notes : tuple of str
        What was done to the columns, in words.
    """

    X: pd.DataFrame
    y: pd.Series
    groups: dict[str, list[str]]
    original: pd.DataFrame
    target: str
    notes: tuple[str, ...]

    @property
    def grouped(self) -> bool:
        """Whether some column became several."""
        return any(columns != [name] for name, columns in self.groups.items())


def read_table(path: str | Path, target: str) -> Any:
    """Return (features as a data frame, target column) of a CSV, TSV, Parquet or Feather file.

    Parameters
    ----------
    path : path
        The file; its ending says what it is.
    target : str
        Name of the column to predict; all other columns are features.
    """
    frame = read_frame(path)
    if target not in frame.columns:
        raise ValueError(f"--target must be a column of {Path(path).name}, got {target!r}")
    return frame.drop(columns=target), frame[target]


def read_frame(path: str | Path) -> pd.DataFrame:
    """Return the table in a file: CSV, TSV, Parquet, Feather, or a ``.data`` file with its ``.labels`` beside it."""
    path = Path(path)
    readers: dict[str, Callable[[Path], pd.DataFrame]] = {
        ".csv": lambda file: _read_text(file, ","),
        ".tsv": lambda file: _read_text(file, "\t"),
        ".parquet": pd.read_parquet,
        ".feather": pd.read_feather,
        ".data": _read_pair,
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise ValueError(f"the table must be one of {', '.join(readers)}, got {path.name}")
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}" if not path.is_dir() else f"{path} is a folder, not a file")
    try:
        frame = reader(path)
    except ImportError:
        raise ValueError(f"reading {path.name} needs pyarrow (pip install pyarrow)") from None
    except PermissionError:
        raise ValueError(f"{path} cannot be read: permission denied") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} cannot be read: it is not text in UTF-8") from None
    except (ValueError, OSError, KeyError, TypeError, MemoryError, OverflowError) as error:
        raise ValueError(f"{path} cannot be read: {' '.join(str(error).split())}") from None
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    frame.columns = [str(name).strip() for name in frame.columns]
    _check_names(frame, path.name)
    return frame


def _read_text(path: Path, separator: str) -> pd.DataFrame:
    """Read a table of text; names that stand twice are seen as they are, not renamed."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        head = file.readline()
    if not head.strip():
        raise ValueError("it is empty")
    names = pd.read_csv(path, sep=separator, header=None, nrows=1, dtype=str, encoding="utf-8-sig").iloc[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)  # pandas would cut long rows and go on
        try:
            frame = pd.read_csv(path, sep=separator, encoding="utf-8-sig", low_memory=False, index_col=False)
        except pd.errors.ParserWarning:
            raise ValueError("it has rows with more cells than the first line") from None
    if len(names) == len(frame.columns):
        frame.columns = ["" if name is None or name != name else str(name) for name in names]
    return frame


def _read_pair(path: Path) -> pd.DataFrame:
    """Read numbers separated by spaces, with the labels in the file beside it as the column ``label``."""
    labels = path.with_suffix(".labels")
    if not labels.is_file():
        raise ValueError(f"there is no file {labels} beside it")
    data, target = (np.loadtxt(file, ndmin=2) for file in (path, labels))
    if len(data) != len(target):
        raise ValueError(f"it has {len(data)} rows but its .labels file has {len(target)}")
    frame = pd.DataFrame(data, columns=[f"f{number}" for number in range(data.shape[1])])
    frame["label"] = target[:, 0].astype(int) if (target[:, 0] == target[:, 0].astype(int)).all() else target[:, 0]
    return frame


def _check_names(frame: pd.DataFrame, name: str) -> None:
    if frame.shape[1] == 0 or len(frame) == 0:
        raise ValueError(f"{name} must have rows and columns, got {len(frame)} rows of {frame.shape[1]} columns")
    repeated = sorted({str(column) for column in frame.columns[frame.columns.duplicated()]})
    if repeated:
        raise ValueError(f"{name} must have a different name for every column, got {_shown(repeated)} more than once")


def _shown(names: list[str]) -> str:
    more = f" and {len(names) - MOST_SHOWN} more" if len(names) > MOST_SHOWN else ""
    return ", ".join(repr(name) for name in names[:MOST_SHOWN]) + more


def prepared(frame: pd.DataFrame, target: str, *, impute: str | None = None, task: str = "auto") -> Table:
    """Return a table ready for a search: categories as columns of zeros and ones, gaps refused or filled.

    Parameters
    ----------
    frame : DataFrame
        Features and target.
    target : str
        Name of the column to predict.
    impute : {None, "median", "mean", "most_frequent"}, default=None
        How gaps are filled; None refuses them. Gaps of a category become a value of their own.
    task : {"auto", "classification", "regression"}, default="auto"
        Regression needs numbers in the target.
    """
    if target not in frame.columns:
        raise ValueError(
            f"--target must be a column of the table, got {target!r} where there are {_shown(list(frame.columns))}"
        )
    if len(frame.columns) < 2:
        raise ValueError(f"the table must have a column beside the target {target!r}, got none")
    y = frame[target]
    if y.isna().any():
        raise ValueError(
            f"the target {target!r} must have no gaps, got {int(y.isna().sum())} of {len(y)} rows without one"
        )
    if y.dtype.kind in "mM":
        raise ValueError(f"the target {target!r} must hold numbers or classes, got dates")
    features = frame.drop(columns=target)
    dates = [name for name in features if features[name].dtype.kind in "mM"]
    if dates:
        raise ValueError(f"dates must be turned into numbers first, got the columns {_shown(dates)}")
    numbers = features.apply(lambda column: column.dtype.kind in "biuf")
    gaps = [name for name in features if features[name].isna().any()]
    if gaps and impute is None:
        raise ValueError(
            f"the table must have no gaps, got some in the columns {_shown(gaps)}; --impute median fills them"
        )
    groups: dict[str, list[str]] = {}
    parts: list[pd.DataFrame] = []
    notes: list[str] = []
    for name in features:
        part, note = _numbers(features[name], name, impute) if numbers[name] else _categories(features[name], name)
        groups[name] = list(part.columns)
        parts.append(part)
        notes += [note] if note else []
    X = pd.concat(parts, axis=1)
    if clashes := sorted(set(X.columns[X.columns.duplicated()])):
        raise ValueError(f"a category must not have the name of another column, got {_shown(clashes)}; rename one")
    infinite = [name for name in X if not np.isfinite(X[name]).all()]
    if infinite:
        raise ValueError(f"the table must have no infinite numbers, got some in the columns {_shown(infinite)}")
    if task == "regression" and y.dtype.kind not in "biuf":
        raise ValueError(f"--task regression needs numbers in the target, got text in {target!r}")
    return Table(X, y, groups, frame, target, tuple(notes))


def _numbers(column: pd.Series, name: str, impute: str | None) -> tuple[pd.DataFrame, str | None]:
    """Return a column of numbers with its gaps filled."""
    note, column = None, column.astype(np.float64)
    gaps = int(column.isna().sum())
    if gaps:
        fill = {"median": column.median, "mean": column.mean, "most_frequent": lambda: column.mode().iloc[0]}
        if gaps == len(column):
            raise ValueError(f"column {name!r} must have a number to fill its gaps with, got gaps only")
        value = float(fill[str(impute)]())
        column, note = column.fillna(value), f"{name}: {gaps} gaps filled with {value:g} ({impute})"
    return column.to_frame(name), note


def _categories(column: pd.Series, name: str) -> tuple[pd.DataFrame, str | None]:
    """Return a column of zeros and ones for each value of a category."""
    values = column.astype("string").fillna("(missing)")
    kinds = sorted(values.unique())
    if len(kinds) > MOST_CATEGORIES:
        limit = f"at most {MOST_CATEGORIES:,} different texts"
        raise ValueError(f"column {name!r} must have {limit}, got {len(kinds):,}; drop it")
    ones = {f"{name}={kind}": (values == kind).to_numpy(np.float64) for kind in kinds}
    return pd.DataFrame(ones, index=column.index), f"{name}: {len(kinds)} categories"
