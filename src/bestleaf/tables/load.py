"""A table ready for a search: read from a file or a data frame, looked at, and its columns as numbers."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from bestleaf.checks import listed, shown
from bestleaf.columns import TableEncoder
from bestleaf.columns.check import (
    FEW_ROWS,
    TableCheck,
    check_table,
    check_target_name,
    columns_listed,
    columns_named,
    without_columns,
)
from bestleaf.columns.encoder import KEEP
from bestleaf.columns.kinds import CATEGORY, DATE, LENGTH, REFUSED, TEXT, Read, floats_of, read_target
from bestleaf.features.data import task_of
from bestleaf.proof import record
from bestleaf.proof.text import LOUD, counted, first_of, visible
from bestleaf.tables.read import read_frame, without_markers

NOTES = "notes"  # key of `DataFrame.attrs`: what was done so far, in words
NOT_PREDICTED = {DATE: "dates", LENGTH: "lengths of time", **{kind: words for kind, (_, words) in REFUSED.items()}}

RowData = dict[str, Any]  # the groups and the weights of the rows, as `BestLeafSelector.fit` takes them


@dataclass(frozen=True)
class Table:
    """A table ready for a search."""

    X: pd.DataFrame  # numbers: a category has one column for each of its levels; a date has one for each of its parts
    y: pd.Series  # the target
    original: pd.DataFrame  # the table as it was read, with the target
    target: str
    encoder: TableEncoder  # fitted; it made `X`
    notes: tuple[str, ...]  # what was done to the columns, in words
    metadata: RowData = field(default_factory=dict)
    made: record.Table | None = None  # how `load_table` read the table, as a certificate keeps it
    check: TableCheck | None = None  # what `load_table` found in it

    @property
    def groups(self) -> dict[str, list[str]]:
        """For each column of the file, the columns of `X` that it became; none if it was left out."""
        return self.encoder.groups_

    @property
    def left_out(self) -> list[str]:
        """Columns of the file that a look at the table left out, such as identifiers."""
        return [] if self.check is None else self.check.left_out

    @property
    def features(self) -> pd.DataFrame:
        """The columns of the file without the target; those of `X`, if all of them are numbers already."""
        return self.X if self.encoder.changes_nothing else self.original.drop(columns=self.target)

    @property
    def encode(self) -> TableEncoder | None:
        """The encoder of a selector for `features`, not fitted; None if all columns are numbers already."""
        return None if self.encoder.changes_nothing else clone(self.encoder)

    def filled_from(self, rows: np.ndarray) -> Table:
        """Return the table with missing values filled, and levels known, from some of the rows only."""
        if self.encoder.changes_nothing:
            return self
        features = self.original.drop(columns=self.target)
        impute = "median" if self.encoder.impute == KEEP else self.encoder.impute
        encoder = clone(self.encoder).set_params(impute=impute)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the notes say it
            encoder.fit(features.iloc[rows])
        return replace(self, X=_frame(encoder, encoder.transform(features), features.index), encoder=encoder)


def load_table(
    data: str | Path | pd.DataFrame,
    target: str,
    *,
    drop: Iterable[str] = (),
    keep: Iterable[str] = (),
    wanted: Iterable[str] = (),
    missing: Iterable[str] = (),
    encoding: str | None = None,
    header: bool = True,
    groups: str | None = None,
    weights: str | None = None,
    impute: str | None = "median",
    dates: str = "parts",
    task: str = "auto",
) -> Table:
    """Return a table ready for a search, as the command line makes it.

    The table is read, looked at by `check_table`, and encoded by `bestleaf.columns.TableEncoder`. Row numbers, other
    identifiers, columns without a name or values, and rows without a target are left out. The notes of the table say
    what was found and what was done; a possible leak is a warning, too.

    Parameters
    ----------
    data : path-like or DataFrame
        A file as in `read_frame`, or features and target.
    target : str
        Name of the target column.
    drop, keep, wanted : list of str, default=()
        Columns that nothing looks at; columns that are not left out, whatever they look like; columns that the search
        will include or group, which are kept, too, if they are there.
    missing, encoding, header
        How a file is read, as in `read_frame`.
    groups, weights : str, default=None
        Columns with the group and the weight of each row. They are no features.
    impute : {"median", "mean", "most_frequent", "keep"} or None, default="median"
        How missing values are filled; None refuses them. With "keep" they stay, for estimators that take them. In a
        category they become a level of their own.
    dates : {"parts", "number", "drop"}, default="parts"
        What becomes of dates: their parts, the days since 1970, or nothing.
    task : {"auto", "classification", "regression"}, default="auto"
        Regression needs numbers in the target.

    Examples
    --------
    >>> import pandas as pd
    >>> from bestleaf.tables import load_table
    >>> people = pd.DataFrame({"id": range(1, 61), "age": [20, 35, 50] * 20, "bought": [0, 1, 1, 0] * 15})
    >>> load_table(people, "bought").notes
    ('id numbers the rows; left out.',)
    """
    dropped, kept = columns_listed("drop", drop), columns_listed("keep", keep)
    markers = [missing] if isinstance(missing, str) else list(missing)
    frame = without_columns(frame_of(data, missing=markers, encoding=encoding, header=header), target, dropped, kept)
    frame, without = with_target(frame, target)
    frame, metadata = split_off_rows(frame, target, groups, weights)
    kept = [name for name in dict.fromkeys([*kept, *wanted]) if name != target and name in frame.columns]
    check = check_table(frame, target, task=task, keep=kept)
    for line in check.notes:
        if line.startswith(LOUD):
            warnings.warn(line, UserWarning, stacklevel=2)
    made = record.Table(
        target=target,
        task=task,  # type: ignore[arg-type]  # checked by check_table
        checksums=(),
        groups=groups,
        weights=weights,
        dropped=tuple(dropped),
        kept=tuple(kept),
        missing=tuple(markers),
        text_encoding=encoding,
    )
    notes = (*frame.attrs.get(NOTES, ()), *without, *_read_in_words(dropped, markers), *check.notes)
    searched = frame.drop(columns=check.left_out)
    searched.attrs[NOTES] = notes
    try:
        if searched.shape[1] < 2:
            out = f"were left out: {listed(check.left_out)}; keep takes them in" if check.left_out else "were dropped"
            none = f"got none, because all {out}"
            raise ValueError(f"the table must have a column beside the target {shown(target)}, {none}")
        table = prepared(searched, target, impute=impute, dates=dates, task=task, read=check.read)
    except ValueError as error:
        raise RefusedTableError(str(error), check, notes) from error
    return replace(table, metadata=metadata, made=made, check=check)


class RefusedTableError(ValueError):
    """A table cannot be searched; `check` and `notes` say what was found in it before."""

    def __init__(self, told: str, check: TableCheck, notes: tuple[str, ...]) -> None:
        super().__init__(told)
        self.check, self.notes = check, notes


def _read_in_words(dropped: list[str], markers: list[str]) -> list[str]:
    """Return how a table was read, as lines."""
    names = first_of([visible(name) for name in dropped])
    lines = [f"{counted(len(dropped), 'column')} dropped before the search: {names}."] if dropped else []
    return [*lines, f"Cells that mean a missing value: {', '.join(map(repr, markers))}."] if markers else lines


def frame_of(
    data: str | Path | pd.DataFrame, *, missing: Iterable[str] = (), encoding: str | None = None, header: bool = True
) -> pd.DataFrame:
    """Return a table from a file, or a data frame with texts as names of its columns."""
    if not isinstance(data, pd.DataFrame):
        return read_frame(data, missing=missing, encoding=encoding, header=header)
    if encoding is not None:
        raise ValueError(f"encoding must be None for a data frame, got {shown(encoding)}")
    return without_markers(data.set_axis([str(name) for name in data.columns.tolist()], axis=1), missing)


def with_target(frame: pd.DataFrame, target: str) -> tuple[pd.DataFrame, list[str]]:
    """Return the rows that have a value of the target, and how many have none, as a note."""
    check_target_name(frame, target)
    known = frame[target].notna()
    if known.all() or not known.any():
        return frame, []
    left = frame[known].reset_index(drop=True)
    left.attrs = frame.attrs
    note = f"{counted(len(frame) - len(left), 'row')} of {len(frame):,} without a value of {visible(target)}; left out."
    return left, [note]


def split_off_rows(
    frame: pd.DataFrame, target: str, groups: str | None, weights: str | None
) -> tuple[pd.DataFrame, RowData]:
    """Return a table without the columns of groups and weights, and these two as metadata for `fit`."""
    named = {option: name for option, name in (("groups", groups), ("weights", weights)) if name is not None}
    for option, name in named.items():
        columns_named(option, [name], frame.columns.drop(target))
        if missing := int(frame[name].isna().sum()):
            raise ValueError(f"{option} must have a value in every row, got {missing:,} missing in {shown(name)}")
    if groups is not None and groups == weights:
        raise ValueError(f"groups must be another column than weights, got {shown(groups)} for both")
    found: RowData = {}
    if groups is not None:
        found["groups"] = frame[groups].to_numpy()
    if weights is not None:
        numbers = pd.to_numeric(frame[weights], errors="coerce")
        if numbers.isna().any() or (numbers < 0).any():
            bad = frame[weights][numbers.isna() | (numbers < 0)].iloc[0]
            raise ValueError(f"weights must be numbers of at least 0, got {shown(bad)} in {shown(weights)}")
        found["sample_weight"] = numbers.to_numpy(np.float64)
    left = frame.drop(columns=list(named.values()))
    left.attrs = frame.attrs  # notes on how the file was read
    return left, found


def prepared(
    frame: pd.DataFrame,
    target: str,
    *,
    impute: str | None = None,
    dates: str = "parts",
    task: str = "auto",
    read: dict[str, Read] | None = None,
) -> Table:
    """Return a table ready for a search; with None for `impute` missing values are refused.

    `read` is what `TableCheck.read` says of the columns, if they were looked at already.
    """
    check_target_name(frame, target)
    if len(frame.columns) < 2:
        raise ValueError(f"the table must have a column beside the target {shown(target)}, got none")
    y = encoded_target(frame[target])
    _check_task(y, task)
    features = frame.drop(columns=target)
    encoder = TableEncoder(impute, dates)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the notes say it
        plain, _ = encoder.fit_plain(features, read)
    notes = (*frame.attrs.get(NOTES, ()), *encoder.notes())
    return Table(_frame(encoder, encoder.encoded(plain), features.index), y, frame, target, encoder, notes)


def _check_task(y: pd.Series, task: str) -> None:
    """Refuse text that is to be predicted as numbers, and classes that have one row each, or of which one has."""
    if task == "regression" and y.dtype.kind not in "biuf":
        raise ValueError(f"task 'regression' needs numbers in the target, got text in {shown(y.name)}")
    if task_of(y.to_numpy(), task) == "regression":
        return
    rows, told = y.value_counts(), f"the target {shown(y.name)} must be numbers, or classes with several rows each"
    if len(rows) > max(2, len(y) / 2):
        raise ValueError(f"{told}, got {len(rows):,} classes in {len(y):,} rows")
    if rows.min() == 1 and len(y) >= FEW_ROWS:
        numbers = "; task regression takes them as numbers" if y.dtype.kind in "iuf" and len(rows) > 2 else ""
        raise ValueError(f"{told}, got one row of {shown(rows.index[-1])}{numbers}")


def _frame(encoder: TableEncoder, numbers: np.ndarray, index: pd.Index) -> pd.DataFrame:
    return pd.DataFrame(numbers, columns=encoder.get_feature_names_out(), index=index)


def encoded_target(column: pd.Series) -> pd.Series:
    """Return the target column as numbers, truth values or text."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(column.cat.categories.dtype)
    told, (kind, column) = f"the target {shown(column.name)} must", read_target(column)
    if missing := int(column.isna().sum()):
        raise ValueError(f"{told} have no missing values, got {missing:,} of {len(column):,} rows without one")
    if kind in NOT_PREDICTED:
        raise ValueError(f"{told} hold numbers or classes, got {NOT_PREDICTED[kind]}")
    if column.nunique() < 2:
        raise ValueError(f"{told} have two different values, got only {shown(column.iloc[0])}")
    if kind in (CATEGORY, TEXT):
        return column
    if column.dtype.kind == "O":
        column = pd.Series(floats_of(column), column.index, name=column.name)
    plain = column.astype({"b": np.bool_, "i": np.int64, "u": np.uint64}.get(column.dtype.kind, np.float64))
    if not np.isfinite(plain.to_numpy()).all():
        raise ValueError(f"{told} have no infinite numbers, got some")
    return plain
