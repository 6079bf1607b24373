"""Tables as users have them: read from files, with categories and gaps turned into numbers or refused by name."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bestleaf.checks import cut, did_you_mean, listed, one_of, shown
from bestleaf.datasets.columns import (
    NUMBER,
    categories_of,
    check_kinds,
    fill_gaps,
    kinds_of,
    numbers_of,
    targets_of,
)

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
IMPUTE = ("median", "mean", "most_frequent")
DECIMAL_COMMA = r"\s*[+-]?\d+,\d+([eE][+-]?\d+)?\s*"


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
    impute : {None, "median", "mean", "most_frequent"}
        How gaps were filled; None if there were none.
    filled_by : array of int or None
        Rows whose numbers the gaps were filled with; None for all.
    """

    X: pd.DataFrame
    y: pd.Series
    groups: dict[str, list[str]]
    original: pd.DataFrame
    target: str
    notes: tuple[str, ...]
    impute: str | None = None
    filled_by: np.ndarray | None = None

    def filled_from(self, rows: np.ndarray) -> Table:
        """Return the table with its gaps filled by what is known of some rows only, those that a search may see."""
        if self.impute is None:
            return self
        return prepared(self.original, self.target, impute=self.impute, rows=rows)

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
        raise ValueError(
            f"target must be a column of {shown(Path(path).name)}, got {shown(target)}"
            f"{did_you_mean(target, frame.columns)}"
        )
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
        raise ValueError(f"the table must be one of {', '.join(readers)}, got {shown(path.name)}")
    if not os.path.isfile(path):  # False also for a name that is too long
        named = cut(str(path), 200)
        raise FileNotFoundError(
            f"{named} is a folder, not a file" if os.path.isdir(path) else f"there is no file {named}"
        )
    try:
        frame = reader(path)
    except ImportError:
        raise ValueError(f"reading {path.name} needs pyarrow (pip install pyarrow)") from None
    except PermissionError:
        raise ValueError(f"{cut(str(path), 150)} cannot be read: permission denied") from None
    except UnicodeDecodeError:
        raise ValueError(f"{cut(str(path), 150)} cannot be read: it is not text in UTF-8") from None
    except (ValueError, OSError, KeyError, TypeError, MemoryError, OverflowError) as error:
        reason = cut(" ".join(str(error).split()), 120)
        raise ValueError(f"{cut(str(path), 150)} cannot be read: {reason}") from None
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    frame.columns = [str(name).strip() for name in frame.columns]
    _check_names(frame, path.name)
    return frame


def _read_text(path: Path, usual: str) -> pd.DataFrame:
    """Read a table of text; another separator than the usual one is found where the first line leaves no doubt."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        head = file.readline()
    if not head.strip():
        raise ValueError("it is empty")
    used = [one for one in SEPARATORS if one in head]
    separator = used[0] if len(used) == 1 else usual
    frame = _read_separated(path, separator)
    if separator != usual and frame.shape[1] > 1:
        notes = [f"the file is separated by {SEPARATORS[separator]}"]
        if separator != "," and any(_has_decimal_commas(column) for _, column in frame.items()):
            frame = _read_separated(path, separator, decimal=",")
            notes.append("its numbers have decimal commas")
        frame.attrs["notes"] = (" and ".join(notes),)
    return frame


def _has_decimal_commas(column: pd.Series) -> bool:
    """Whether a column is text only because its numbers are written 1,5."""
    if column.dtype.kind in "biuf" or not column.notna().any():
        return False
    return bool(column.dropna().astype("string").str.fullmatch(DECIMAL_COMMA + r"|\s*[+-]?\d+\s*").all())


def _read_separated(path: Path, separator: str, decimal: str = ".") -> pd.DataFrame:
    """Read a table of text; names that stand twice are seen as they are, not renamed."""
    how: dict[str, Any] = {"sep": separator, "encoding": "utf-8-sig"}
    names = pd.read_csv(path, header=None, nrows=1, dtype=str, **how).iloc[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)  # pandas would cut long rows and go on
        try:
            frame = pd.read_csv(path, decimal=decimal, low_memory=False, index_col=False, **how)
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
        raise ValueError(
            f"{cut(name, 100)} must have rows and columns, got {len(frame)} rows of {frame.shape[1]} columns"
        )
    repeated = sorted({str(column) for column in frame.columns[frame.columns.duplicated()]})
    if repeated:
        named = cut(name, 100)
        raise ValueError(f"{named} must have a different name for every column, got {listed(repeated)} more than once")


def prepared(
    frame: pd.DataFrame,
    target: str,
    *,
    impute: str | None = None,
    task: str = "auto",
    rows: np.ndarray | None = None,
) -> Table:
    """Return a table ready for a search: categories as columns of zeros and ones, gaps refused or filled.

    Text, truth values with gaps and pandas' categories are categories; so is a column of a CSV file with a cell that is
    no number, with a note that says which. Decimals are numbers, and so are pandas' nullable numbers. Dates, lists,
    dictionaries and bytes are refused by name, and so are Python objects of which some are numbers and some are text.

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
    rows : array of int, default=None
        Rows by number whose values gaps are filled with, for example those that a search may see; None for all.
    """
    _check_arguments(frame, target, impute)
    y = targets_of(frame[target])
    if task == "regression" and y.dtype.kind not in "biuf":
        raise ValueError(f"task 'regression' needs numbers in the target, got text in {shown(target)}")
    features = frame.drop(columns=target)
    kinds = kinds_of(features)
    check_kinds(kinds)
    gaps = features.columns[features.isna().any()].tolist()
    if gaps and impute is None:
        raise ValueError(
            f"the table must have no gaps, got some in the columns {listed(gaps)}; impute='median' fills them"
        )
    X, groups, notes = _as_numbers(features, kinds, impute, rows)
    notes = [*frame.attrs.get("notes", ()), *notes]
    return Table(X, y, groups, frame, target, tuple(notes), impute if gaps else None, rows)


def _check_arguments(frame: pd.DataFrame, target: str, impute: str | None) -> None:
    """Refuse a target that is no column, a table of nothing else, and a way to fill gaps that is not known."""
    if target not in frame.columns:
        raise ValueError(
            f"target must be a column of the table, got {shown(target)}{did_you_mean(target, frame.columns)} where "
            f"there are {listed(frame.columns)}"
        )
    if len(frame.columns) < 2:
        raise ValueError(f"the table must have a column beside the target {shown(target)}, got none")
    if impute is not None:
        one_of("impute", impute, IMPUTE)


def _as_numbers(
    features: pd.DataFrame, kinds: dict[str, str], impute: str | None, rows: np.ndarray | None
) -> tuple[pd.DataFrame, dict[str, list[str]], list[str]]:
    """Return all columns as numbers, the columns of numbers that each became, and what was done."""
    names = [name for name in features if kinds[name] == NUMBER]
    numbers = numbers_of(features[names])  # all at once, because there may be thousands
    notes = fill_gaps(numbers, names, str(impute), rows)
    groups = {name: [name] for name in features}
    parts = [numbers]
    for name in features:
        if kinds[name] != NUMBER:
            groups[name], ones, note = categories_of(features[name], name)
            parts.append(ones)
            notes.append(note)
    made = names + [column for name in features if kinds[name] != NUMBER for column in groups[name]]
    if clashes := sorted(pd.Index(made)[pd.Index(made).duplicated()].unique()):
        raise ValueError(f"a category must not have the name of another column, got {listed(clashes)}; rename one")
    X = pd.DataFrame(np.hstack(parts), columns=made, index=features.index)
    return X[[column for name in features for column in groups[name]]], groups, notes
