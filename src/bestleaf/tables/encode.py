"""A table ready for a search: its columns as numbers, its target, and what was done to both."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from sklearn.base import clone

from bestleaf.certificate.findings import left_out
from bestleaf.certificate.schema import Content
from bestleaf.checks import did_you_mean, listed, one_of, shown
from bestleaf.encoding import TableEncoder
from bestleaf.encoding.columns import CATEGORY, DATE, LENGTH, REFUSED, TEXT, floats_of, kind_of
from bestleaf.encoding.last_step import FILLED
from bestleaf.encoding.transformer import KEEP
from bestleaf.tables.rows import RowData

NOT_PREDICTED = {DATE: "dates", LENGTH: "lengths of time", **{kind: words for kind, (_, words) in REFUSED.items()}}


@dataclass(frozen=True)
class Table:
    """A table ready for a search.

    Attributes
    ----------
    X : DataFrame
        Numbers. A category has one column for each of its levels; a date has one for each of its parts.
    y : Series
        The target.
    original : DataFrame
        The table as it was read, with the target.
    target : str
        Name of the target column.
    encoder : TableEncoder
        The fitted encoder that made `X`.
    notes : tuple of str
        What was done to the columns, in words.
    filled_by : array of int or None
        The rows that the encoder was fitted on; None for all rows.
    metadata : dict of arrays
        The groups and the weights of the rows, as `BestLeafSelector.fit` takes them.
    made : dict or None
        How `load_table` made the table, as a certificate keeps it.
    """

    X: pd.DataFrame
    y: pd.Series
    original: pd.DataFrame
    target: str
    encoder: TableEncoder
    notes: tuple[str, ...]
    filled_by: np.ndarray | None = None
    metadata: RowData = field(default_factory=RowData)
    made: Content | None = None

    @property
    def groups(self) -> dict[str, list[str]]:
        """For each column of the file, the columns of `X` that it became; none if it was left out."""
        return self.encoder.groups_

    @property
    def left_out(self) -> list[str]:
        """Columns of the file that a look at the table left out, such as identifiers."""
        return [] if self.made is None else left_out(self.made["findings"])

    @property
    def features(self) -> pd.DataFrame:
        """The columns of the file without the target; those of `X`, if all of them are numbers already."""
        return self.X if self.encoder.changes_nothing else self.original.drop(columns=self.target)

    @property
    def encode(self) -> TableEncoder | None:
        """The encoder of a selector for `features`, not fitted; None if all columns are numbers already."""
        return None if self.encoder.changes_nothing else clone(self.encoder)

    def filled_from(self, rows: np.ndarray, impute: str | None = None) -> Table:
        """Return the table with missing values filled, and levels known, from some of the rows only.

        `impute` says how they are filled; None is as before.
        """
        if self.encoder.changes_nothing:
            return self
        features = self.original.drop(columns=self.target)
        encoder = clone(self.encoder).set_params(impute=self.encoder.impute if impute is None else impute)
        encoder = _fitted(encoder, features.iloc[rows])
        notes = (*self.original.attrs.get("notes", ()), *encoder.notes(" of the rows searched"))
        return replace(self, X=_numbers(encoder, features), encoder=encoder, notes=notes, filled_by=rows)


def prepared(
    frame: pd.DataFrame, target: str, *, impute: str | None = None, dates: str = "parts", task: str = "auto"
) -> Table:
    """Return a table ready for a search: categories and dates as numbers, missing values refused, filled or kept.

    `bestleaf.encoding.TableEncoder` says what becomes of each kind of column. Lists, dictionaries, bytes, and columns
    with both numbers and text are refused.

    Parameters
    ----------
    frame : DataFrame
        Features and target.
    target : str
        Name of the target column.
    impute : {None, "median", "mean", "most_frequent", "keep"}, default=None
        How missing values are filled. None refuses them. With "keep" they stay, for estimators that take them. In a
        category they become a level of their own.
    dates : {"parts", "number", "drop"}, default="parts"
        What becomes of dates: their parts, the days since 1970, or nothing.
    task : {"auto", "classification", "regression"}, default="auto"
        Regression needs numbers in the target.
    """
    if target not in frame.columns:
        hint, there = did_you_mean(target, frame.columns), listed(frame.columns)
        raise ValueError(f"target must be a column of the table, got {shown(target)}{hint} where there are {there}")
    if len(frame.columns) < 2:
        raise ValueError(f"the table must have a column beside the target {shown(target)}, got none")
    if impute is not None:
        one_of("impute", impute, (*FILLED, KEEP))
    y = encoded_target(frame[target])
    if task == "regression" and y.dtype.kind not in "biuf":
        raise ValueError(f"task 'regression' needs numbers in the target, got text in {shown(target)}")
    features = frame.drop(columns=target)
    encoder = _fitted(TableEncoder(impute, dates), features)
    notes = (*frame.attrs.get("notes", ()), *encoder.notes())
    return Table(_numbers(encoder, features), y, frame, target, encoder, notes)


def _fitted(encoder: TableEncoder, features: pd.DataFrame) -> TableEncoder:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the notes say it
        return encoder.fit(features)


def _numbers(encoder: TableEncoder, features: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(encoder.transform(features), columns=encoder.get_feature_names_out(), index=features.index)


def encoded_target(column: pd.Series) -> pd.Series:
    """Return the target column as numbers, truth values or text."""
    told, kind = f"the target {shown(column.name)} must", kind_of(column)
    if missing := int(column.isna().sum()):
        raise ValueError(f"{told} have no missing values, got {missing:,} of {len(column):,} rows without one")
    if kind in NOT_PREDICTED:
        raise ValueError(f"{told} hold numbers or classes, got {NOT_PREDICTED[kind]}")
    if column.nunique() < 2:
        raise ValueError(f"{told} have two different values, got only {shown(column.iloc[0])}")
    if isinstance(column.dtype, pd.CategoricalDtype):
        return encoded_target(column.astype(column.cat.categories.dtype))
    if kind in (CATEGORY, TEXT):
        return column
    if column.dtype.kind == "O":
        column = pd.Series(floats_of(column), column.index, name=column.name)
    plain = column.astype({"b": np.bool_, "i": np.int64, "u": np.uint64}.get(column.dtype.kind, np.float64))
    if not np.isfinite(plain.to_numpy()).all():
        raise ValueError(f"{told} have no infinite numbers, got some")
    return plain
