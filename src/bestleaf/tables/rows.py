"""Columns of a table that are no features but say something about its rows: their groups and their weights."""

from __future__ import annotations

from typing import TypedDict

import numpy as np
import pandas as pd

from bestleaf.checks import did_you_mean, shown


class RowData(TypedDict, total=False):
    """What is known of the rows, as `BestLeafSelector.fit` takes it."""

    groups: np.ndarray
    sample_weight: np.ndarray


def some_rows(about: RowData, rows: np.ndarray) -> RowData:
    """Return what is known of some of the rows."""
    found: RowData = {}
    if "groups" in about:
        found["groups"] = about["groups"][rows]
    if "sample_weight" in about:
        found["sample_weight"] = about["sample_weight"][rows]
    return found


def split_off_rows(
    frame: pd.DataFrame, target: str, *, groups: str | None = None, weights: str | None = None
) -> tuple[pd.DataFrame, RowData]:
    """Return a table without the columns of groups and weights, and these two as metadata for `fit`.

    Parameters
    ----------
    frame : DataFrame
        The table as it was read.
    target : str
        Name of the target column.
    groups, weights : str, default=None
        Names of the columns that hold the group and the weight of each row.
    """
    named = {option: name for option, name in (("groups", groups), ("weights", weights)) if name is not None}
    for option, name in named.items():
        if name not in frame.columns or name == target:
            hint = did_you_mean(name, frame.columns) if name not in frame.columns else ""
            raise ValueError(f"{option} must name a column of the table other than the target, got {shown(name)}{hint}")
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
