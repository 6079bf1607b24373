"""A table that was encoded before it was searched: encode it again, and value its features by their columns."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from bestleaf.certificate.claims import first_of, shown
from bestleaf.certificate.schema import Content, OtherDataError

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
