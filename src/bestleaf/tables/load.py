"""From a file or a data frame to a table that is ready for a search: read, look at, leave out, encode."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from bestleaf.certificate.findings import made_in_words
from bestleaf.certificate.schema import Content
from bestleaf.checks import listed, shown
from bestleaf.tables.check import TableCheck, check_table, listed_names, plain, without_columns
from bestleaf.tables.encode import Table, prepared
from bestleaf.tables.read import read_frame, without_markers
from bestleaf.tables.rows import RowData, split_off_rows

NOTES = "notes"  # key of `DataFrame.attrs`: what was done so far, in words


def load_table(
    data: str | Path | pd.DataFrame,
    target: str,
    *,
    drop: Iterable[str] = (),
    keep: Iterable[str] = (),
    wanted: Iterable[str] = (),
    missing: Iterable[str] = (),
    encoding: str | None = None,
    groups: str | None = None,
    weights: str | None = None,
    impute: str | None = None,
    dates: str = "parts",
    task: str = "auto",
) -> Table:
    """Return a table ready for a search, as the command line makes it.

    The table is read, looked at by `check_table`, and encoded by `prepared`. Row numbers, other identifiers, and
    columns without a name or values are left out. The notes of the table say what was found and what was done; a
    possible leak is a warning, too.

    Parameters
    ----------
    data : path or DataFrame
        A file as in `read_frame`, or features and target.
    target : str
        Name of the target column.
    drop : list of str, default=()
        Columns that are left out before anything looks at them.
    keep : list of str, default=()
        Columns that are not left out, whatever they look like.
    wanted : list of str, default=()
        Columns that the search will force or group. They are kept, too; names that are no columns are refused there.
    missing : list of str, default=()
        Cells with one of these texts have no value, such as "?".
    encoding : str, default=None
        Encoding of a file of text, such as "latin-1"; None is UTF-8.
    groups, weights : str, default=None
        Columns with the group and the weight of each row. They are no features.
    impute, dates, task
        As in `prepared`.

    Examples
    --------
    >>> import pandas as pd
    >>> from bestleaf.tables import load_table
    >>> people = pd.DataFrame({"id": range(1, 61), "age": [20, 35, 50] * 20, "bought": [0, 1, 1, 0] * 15})
    >>> load_table(people, "bought").notes
    ('id numbers the rows; left out of the search.',)
    """
    look = first_look(
        data,
        target,
        drop=drop,
        keep=keep,
        wanted=wanted,
        missing=missing,
        encoding=encoding,
        groups=groups,
        weights=weights,
        task=task,
    )
    for name in look.check.leaks:
        warnings.warn(f"a leak? {shown(name)} alone ranks the target almost perfectly", UserWarning, stacklevel=2)
    return look.table(impute=impute, dates=dates)


@dataclass(frozen=True)
class FirstLook:
    """A table that was read and looked at, before it is encoded."""

    frame: pd.DataFrame  # features and target; columns to leave out are still there
    check: TableCheck
    metadata: RowData  # groups and weights of the rows
    made: Content  # how the table was read, as a certificate keeps it

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done so far and what was found, in words."""
        return (*self.frame.attrs.get(NOTES, ()), *made_in_words(self.made))

    def table(self, *, impute: str | None, dates: str) -> Table:
        """Return the table ready for a search; `impute` and `dates` are those of `prepared`."""
        target, left_out = self.made["target"], self.check.left_out
        searched = self.frame.drop(columns=left_out)
        if searched.shape[1] < 2:
            out = f"were left out: {listed(left_out)}; keep takes them in" if left_out else "were dropped"
            none = f"got none, because all {out}"
            raise ValueError(f"the table must have a column beside the target {shown(target)}, {none}")
        searched.attrs[NOTES] = self.notes
        table = prepared(searched, target, impute=impute, dates=dates, task=self.made["task"])
        return replace(table, metadata=self.metadata, made=self.made)


def first_look(
    data: str | Path | pd.DataFrame,
    target: str,
    *,
    drop: Iterable[str],
    keep: Iterable[str],
    wanted: Iterable[str],
    missing: Iterable[str],
    encoding: str | None,
    groups: str | None,
    weights: str | None,
    task: str,
) -> FirstLook:
    """Read a table and look at it; the parameters are those of `load_table`."""
    dropped, kept = listed_names("drop", drop), listed_names("keep", keep)
    markers = [missing] if isinstance(missing, str) else list(missing)
    frame = frame_of(data, missing=markers, encoding=encoding)
    frame = without_columns(frame, target, dropped, kept)
    frame, metadata = split_off_rows(frame, target, groups=groups, weights=weights)
    kept += [name for name in wanted if name != target and name not in kept]
    kept = [name for name in kept if name in frame.columns]
    check = check_table(frame, target, task=task, keep=kept)
    made: Content = {
        "target": target,
        "task": task,
        "groups": groups,
        "weights": weights,
        "dropped": dropped,
        "kept": kept,
        "missing": markers,
        "text_encoding": encoding,
        "findings": [plain(one) for one in check.findings],
    }
    return FirstLook(frame, check, metadata, made)


def frame_of(
    data: str | Path | pd.DataFrame, *, missing: Iterable[str] = (), encoding: str | None = None
) -> pd.DataFrame:
    """Return a table from a file, or a data frame with texts as names of its columns."""
    if not isinstance(data, pd.DataFrame):
        return read_frame(data, missing=missing, encoding=encoding)
    if encoding is not None:
        raise ValueError(f"encoding must be None for a data frame, got {shown(encoding)}")
    return without_markers(data.set_axis([str(name) for name in data.columns], axis=1), missing)
