"""Whether data are those that a certificate is about; a table that was encoded is encoded again."""

from __future__ import annotations

import hashlib
import warnings
import zlib
from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from bestleaf.certificate.claims import first_of, shown
from bestleaf.certificate.schema import Content, OtherDataError, RefusedError

OTHER_DATA = "these are not the data the certificate is about"


class Judge(Protocol):
    """What computes the value of a subset again: an oracle."""

    value_cost: int  # distances on one feature; of an estimator, of all features

    def value(self, subset: Iterable[int]) -> float:
        """Return the exact value of a subset."""

    def values(self, subsets: Iterable[Iterable[int]]) -> list[float]:
        """Return the exact values of several subsets."""

    def standard_error(self, subset: Iterable[int]) -> float:
        """Return the standard error of the value of a subset."""


class ByFeature:
    """An oracle of columns that is asked about features; a feature is one column or several."""

    def __init__(self, judge: Judge, columns: list[list[int]]) -> None:
        self.judge, self.columns, self.value_cost = judge, columns, judge.value_cost

    def value(self, subset: Iterable[int]) -> float:
        """Return the exact value of a subset of features."""
        return self.judge.value(self._columns_of(subset))

    def values(self, subsets: Iterable[Iterable[int]]) -> list[float]:
        """Return the exact values of several subsets of features."""
        return self.judge.values([self._columns_of(subset) for subset in subsets])

    def standard_error(self, subset: Iterable[int]) -> float:
        """Return the standard error of the value of a subset of features."""
        return self.judge.standard_error(self._columns_of(subset))

    def _columns_of(self, subset: Iterable[int]) -> list[int]:
        return [column for feature in subset for column in self.columns[feature]]


def encoded(data: Content, X: ArrayLike) -> tuple[np.ndarray, list[list[int]]]:
    """Return a table as numbers, encoded as the certificate says, and the columns of each feature."""
    from bestleaf.encoding import TableEncoder

    settings = data["encoding"]
    encoder = TableEncoder(settings["impute"], settings["dates"])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # cells that are no numbers were told of in the search
            found = encoder.fit(X).transform(X)
    except (TypeError, ValueError) as error:
        raise OtherDataError(f"{OTHER_DATA} (they cannot be encoded: {error})") from None
    for name in {**encoder.levels_, **settings["levels"]}:
        if encoder.levels_.get(name) != settings["levels"].get(name):
            raise OtherDataError(f"{OTHER_DATA} (the levels of {name!r:.60} differ)")
    if sorted(encoder.left_out_) != settings["left_out"]:
        raise OtherDataError(f"{OTHER_DATA} (other columns are left out)")
    return found, encoder.columns_


def encoding_in_words(data: Content) -> str:
    """Return how the columns of a table became numbers."""
    encoding = data["encoding"]
    dates = {"parts": "dates as their parts", "number": "dates as days since 1970", "drop": "dates left out"}
    missing = {None: "missing values refused", "keep": "missing values left to the estimator"}
    filled = missing.get(encoding["impute"], f"missing values filled ({encoding['impute']})")
    categories = "a column of zeros and ones for each level of a category"
    left_out = f"; left out: {first_of([shown(name) for name in encoding['left_out']])}" if encoding["left_out"] else ""
    return f"{categories}; {filled}; {dates[encoding['dates']]}{left_out}"


def fingerprint(X: ArrayLike, y: ArrayLike) -> str:
    """Return the SHA-256 of the numbers of a table and its targets; data frames and arrays give the same."""
    data, target = np.asarray(X), np.asarray(y)
    digest = hashlib.sha256(repr(data.shape).encode())
    for column in data.T:
        digest.update(_column_bytes(column))
    digest.update(_target_bytes(target))
    return digest.hexdigest()


def column_checksums(X: ArrayLike, y: ArrayLike, columns: Sequence[Sequence[int]] | None = None) -> list[int]:
    """Return a checksum of each feature and, last, of the target. They say which one differs, not that none does.

    `columns` has the columns of X that each feature became; None if every feature is one column.
    """
    data, found = np.asarray(X), list[int]()
    for some in ([column] for column in range(data.shape[1])) if columns is None else columns:
        found.append(zlib.crc32(b"".join(_column_bytes(data[:, column]) for column in some)))
    return [*found, zlib.crc32(_target_bytes(np.asarray(y)))]


def _column_bytes(column: np.ndarray) -> bytes:
    numbers = np.ascontiguousarray(column, np.float64)
    if np.isnan(numbers).any():  # there are many ways to write a missing value in bits
        numbers = np.where(np.isnan(numbers), np.nan, numbers)
    return numbers.tobytes()


def _target_bytes(target: np.ndarray) -> bytes:
    if target.dtype.kind in "biuf":
        return np.ascontiguousarray(target, np.float64).tobytes()
    return "\0".join(map(str, target.tolist())).encode()


def check_same_data(content: Content, X: ArrayLike, y: ArrayLike) -> tuple[np.ndarray, list[list[int]] | None]:
    """Refuse data that are not those that a certificate is about; a column that differs is named.

    The data are returned as numbers. If the table was encoded, the columns that each feature became come with them.
    """
    data = content["data"]
    if data is None:
        raise RefusedError("the certificate is not about data, so there is nothing to compare the data with")
    rows = (getattr(X, "shape", None) or np.shape(X))[0]
    if rows != data["rows"]:
        hint = "after validate(..., holdout=...) a certificate is about the rows Validation.rows"
        raise OtherDataError(f"the certificate is about {data['rows']:,} rows, got {rows:,} ({hint})")
    theirs = [name for name in getattr(X, "columns", []) if isinstance(name, str)]
    named = data["names"] if theirs and data["names"] != [f"x{number}" for number in range(len(data["names"]))] else []
    if "encoding" in data:
        _check_names(named, theirs)
        numbers, columns = encoded(data, X)
    else:
        numbers, columns = np.asarray(X), None
    if fingerprint(numbers, y) != data["fingerprint"]:
        why = _difference_of_names(named, theirs) or _difference_of_values(content, numbers, y, columns)
        _refuse(f"their fingerprints differ{'; ' if why else ''}{why}")
    _check_names(named, theirs)
    return numbers, columns


def _refuse(why: str) -> None:
    raise OtherDataError(f"these are not the data the certificate is about ({why})")


def _check_names(named: list[str], theirs: list[str]) -> None:
    """Refuse other names of columns, if names are known."""
    lost = [name for name in named if name not in theirs]
    if lost and len(named) == len(theirs):
        _refuse(f"the feature called {lost[0]!r:.60} has another name")
    if why := _difference_of_names(named, theirs):
        _refuse(why)


def _difference_of_names(named: list[str], theirs: list[str]) -> str:
    """Return which column is missing, new or elsewhere; empty if the names are the same, or if none are known."""
    if not named or named == theirs:
        return ""
    if lost := [name for name in named if name not in theirs]:
        return f"the column {lost[0]!r:.60} is not among them"
    added = [name for name in theirs if name not in named]
    return f"the column {added[0]!r:.60} is new" if added else "the columns are in another order"


def _difference_of_values(content: Content, X: np.ndarray, y: ArrayLike, columns: list[list[int]] | None) -> str:
    """Return which columns have other values, if the certificate has their checksums."""
    if "table" not in content:
        return ""
    names, written = [*content["data"]["names"], content["table"]["target"]], content["table"]["checksums"]
    pairs = zip(names, written, column_checksums(X, y, columns), strict=False)
    differ = [name for name, one, other in pairs if one != other]
    more = f" and {len(differ) - 1:,} more" if len(differ) > 1 else ""
    return f"other values in {differ[0]!r:.60}{more}" if differ else ""
