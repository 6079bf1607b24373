"""`TableEncoder`: a scikit-learn transformer that turns the columns of any data frame into numbers; encoded rows."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd
from msgspec import convert
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.impute import SimpleImputer
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from bestleaf.checks import listed, one_of, shown
from bestleaf.columns.frames import pandas_frame
from bestleaf.columns.kinds import (
    CATEGORY,
    LEFT_OUT,
    NOT_USED,
    NUMBER,
    REFUSED,
    Column,
    in_categories,
    read_column,
)
from bestleaf.proof.record import Encoding
from bestleaf.proof.text import counted
from bestleaf.scikit import check_feature_names_in, takes_missing

AUTO, KEEP = "auto", "keep"
FILLED = ("median", "mean", "most_frequent")
DATES = ("parts", "number", "drop")
IN_FOLDS = "; in cross-validation that of the training rows of each fold"  # where a filling comes from
FEW_LINES = 6  # more columns that are just categories are told in one line


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turn the columns of a data frame into numbers.

    Numbers stay as they are. Text, categories, and truth values with missing values become a column of zeros and ones
    for each level; a level that `fit` has not seen becomes zeros. Dates become numbers. In a column of numbers, a few
    cells that are none are missing values, with a warning. Columns without any value, and text with more than 1,000
    levels, are left out. All of it follows from the rows of `fit`.

    Parameters
    ----------
    impute : {"median", "mean", "most_frequent", "keep"} or None, default="median"
        What becomes of missing values in numbers and dates: they are filled, or kept as NaN. None refuses them. In a
        category they are a level of their own.
    dates : {"parts", "number", "drop"}, default="parts"
        What becomes of dates: year, month, day of week, day of year and hour, as far as they vary; or the days since
        1970 as one number; or nothing.

    Attributes
    ----------
    groups_ : dict
        For each column of the table, the names of the numeric columns it became; an empty list if it was left out.
    columns_ : list of lists of int
        For each column of the table, the numbers of the numeric columns it became.
    owners_ : list of int
        For each numeric column, the number of the column of the table that it belongs to.
    levels_ : dict
        The levels of each category, and the parts of each date.
    left_out_ : dict
        The columns that were left out, and why.
    notes_ : tuple of str
        What was done to the columns, in words.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"size": [1.0, None, 3.0], "colour": ["red", "blue", "red"]})
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.transform(table).tolist()
    [[1.0, 0.0, 1.0], [2.0, 1.0, 0.0], [3.0, 0.0, 1.0]]
    >>> encoder.groups_
    {'size': ['size'], 'colour': ['colour=blue', 'colour=red']}
    """

    def __init__(self, impute: str | None = "median", dates: str = "parts") -> None:
        self.impute = impute
        self.dates = dates

    def fit(self, X: object, y: object = None) -> TableEncoder:
        """Learn what each column is, the levels of categories, and what missing values are filled with.

        Parameters
        ----------
        X : data frame or array
            The table: of pandas, polars, or any other library that narwhals knows.
        y : ignored
            Not used.
        """
        self.fit_plain(X)
        return self

    def fit_plain(self, X: object) -> np.ndarray:
        """Fit, and return the cells as numbers before missing values are filled and levels become columns."""
        if self.impute is not None:
            one_of("impute", self.impute, (*FILLED, KEEP))
        one_of("dates", self.dates, DATES)
        frame = self._frame(X, reset=True)
        self._special, names = self._read(frame), frame.columns.tolist()
        self.left_out_ = {
            name: one.note.removeprefix(NOT_USED) for name, one in self._special.items() if one.kind == LEFT_OUT
        }
        if len(self.left_out_) == len(names):
            name, why = next(iter(self.left_out_.items()))
            raise ValueError(f"X must have a column that can be used, got none; {shown(name)} is left out: {why}")
        self._set_names(names)
        plain = self._plain(frame)
        self._missing = np.isnan(plain).sum(axis=0)
        odd = {name: one.odd for name, one in self._special.items() if one.odd}
        self._check_missing(plain, odd)
        self.last_step_ = LastStep(self._levels, self.impute).fit(plain)
        for name, cells in odd.items():
            told = f"column {shown(name)}: {cells}; such cells count as missing values"
            warnings.warn(told, UserWarning, stacklevel=3)
        return plain

    def _frame(self, X: object, *, reset: bool) -> pd.DataFrame:
        """Return X as a data frame of pandas, with the columns that `fit` has seen."""
        frame = pandas_frame(X).reset_index(drop=True)
        if frame.empty:
            got = f"{len(frame)} sample(s) and {frame.shape[1]} feature(s) (shape={frame.shape})"
            raise ValueError(f"X must have rows and columns, got {got} while a minimum of 1 is required.")
        if frame.columns.has_duplicates:
            repeated = sorted(set(frame.columns[frame.columns.duplicated()]))
            raise ValueError(f"X must have a different name for every column, got [{listed(repeated)}] more than once")
        validate_data(self, X, skip_check_array=True, reset=reset)
        return frame

    def _read(self, frame: pd.DataFrame) -> dict[str, Column]:
        """Return what each column is, without plain numbers; refuse columns that cannot be used."""
        found, refused = dict[str, Column](), dict[str, list[str]]()
        empty = frame.isna().all(axis=0).tolist()
        for name, dtype, without in zip(frame.columns.tolist(), frame.dtypes, empty, strict=True):
            if dtype.kind in "biuf" and not without:
                continue  # thousands of columns are not looked at one by one
            one = read_column(frame[name], self.dates)
            if isinstance(one, str):
                refused.setdefault(one, []).append(name)
            else:
                found[name] = one
        for kind, names in refused.items():
            raise ValueError(f"{REFUSED[kind][0]}, got the columns {listed(names)}")
        return found

    def _set_names(self, names: list[str]) -> None:
        """Set the names and numbers of the columns that each column becomes, and of the plain columns before."""
        self.groups_ = {name: self._special[name].names(name) if name in self._special else [name] for name in names}
        self.levels_ = {name: list(one.levels) for name, one in self._special.items() if one.levels}
        ends = np.cumsum([len(made) for made in self.groups_.values()]).tolist()
        starts = [0, *ends[:-1]]
        self.columns_ = [list(range(start, end)) for start, end in zip(starts, ends, strict=True)]
        self.owners_ = [number for number, columns in enumerate(self.columns_) for _ in columns]
        made = pd.Index([one for some in self.groups_.values() for one in some])
        if clashes := sorted(set(made[made.duplicated()])):
            raise ValueError(f"a category must not have the name of another column, got {listed(clashes)}; rename one")
        many = {name: len(one.levels) for name, one in self._special.items() if one.kind == CATEGORY}
        widths = [1 if name in many else len(some) for name, some in self.groups_.items()]
        self._plain_owners = np.repeat(np.arange(len(names)), widths)
        self._levels = np.array([many.get(names[owner], 0) for owner in self._plain_owners.tolist()])

    def _plain(self, frame: pd.DataFrame) -> np.ndarray:
        """Return [rows, plain columns]: numbers, parts of dates, and the number of the level of each category."""
        names, usual = frame.columns.tolist(), Column(NUMBER)
        kinds = zip(names, frame.dtypes, strict=True)
        block = [name for name, dtype in kinds if name not in self._special and dtype.kind in "biuf"]
        numbers = frame[block].to_numpy(np.float64, na_value=np.nan)
        if infinite := np.flatnonzero(np.isinf(numbers).any(axis=0)).tolist():
            which = listed(block[place] for place in infinite)
            raise ValueError(f"the table must have no infinite numbers, got some in the columns {which}")
        if len(block) == len(names):
            return numbers
        found, done = np.empty((len(frame), len(self._plain_owners))), set(block)
        owners = [names[owner] for owner in self._plain_owners.tolist()]
        found[:, [name in done for name in owners]] = numbers
        for name in (name for name in names if name not in done):
            place = [owner == name for owner in owners]
            found[:, place] = self._special.get(name, usual).plain(frame[name])
        return found

    def _check_missing(self, plain: np.ndarray, odd: dict[str, str]) -> None:
        """Refuse missing values, if they are to be refused; `odd` has words about cells that became such."""
        if self.impute is not None:
            return
        names = list(self.groups_)
        there = {names[owner] for owner in self._plain_owners[np.isnan(plain).any(axis=0)]}
        missing = [name for name in names if name in there]
        if missing:
            first = next((f" ({odd[name]})" for name in missing if name in odd), "")
            got = f"got some in the columns {listed(missing)}{first}; impute='median' fills them"
            raise ValueError(f"the table must have no missing values, {got}")

    def transform(self, X: object) -> np.ndarray:
        """Return the table as numbers, without missing values unless they are kept.

        Parameters
        ----------
        X : data frame or array
            A table with the columns of that of `fit`.
        """
        return self.last_step_.transform(self.plain(X))

    def plain(self, X: object) -> np.ndarray:
        """Return the cells of a table as numbers, before missing values are filled and levels become columns."""
        check_is_fitted(self)
        plain = self._plain(self._frame(X, reset=False))
        self._check_missing(plain, {})
        return plain

    def settings(self) -> Encoding:
        """Return what a certificate says about the encoding: enough to do it again on the same rows."""
        levels, left_out = self.levels_, sorted(self.left_out_)
        return convert({"impute": self.impute, "dates": self.dates, "levels": levels, "left_out": left_out}, Encoding)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Return the names of the numeric columns: ``colour=red`` for a level, ``when.year`` for a part of a date."""
        check_is_fitted(self)
        check_feature_names_in(self, input_features)
        return np.array([one for names in self.groups_.values() for one in names], object)

    @property
    def changes_nothing(self) -> bool:
        """Whether all columns are numbers, and none of those seen was missing."""
        plain = all(one.kind == NUMBER and not one.note for one in self._special.values())
        return plain and not self._missing.any()

    @property
    def notes_(self) -> tuple[str, ...]:
        """What was done to the columns, in words."""
        return self.notes("")

    def notes(self, where: str = IN_FOLDS) -> tuple[str, ...]:
        """Return what was done to the columns; `where` says which rows a filling was computed from."""
        filled, names, told = self.last_step_.filled_with, list(self.groups_), dict[str, list[str]]()
        for name, one in self._special.items():
            told[name] = [text for text in (one.note, one.odd) if text]
        for place in np.flatnonzero(self._missing).tolist():
            name = names[self._plain_owners[place]]
            value = filled.get(place) if self._special.get(name, Column(NUMBER)).kind == NUMBER else None
            with_what = "" if value is None else f" with {value:g}"
            done = f"filled{with_what} ({self.impute}{where})" if filled else "kept"
            text = f"{counted(int(self._missing[place]), 'missing value')} {done}"
            if text not in told.setdefault(name, []):  # it is the same for all parts of a date
                told[name].append(text)
        levels = {name: len(one.levels) for name, one in self._special.items() if one.kind == CATEGORY}
        plain = [name for name in names if name in levels and told[name] == [in_categories(levels[name])]]
        if len(plain) <= FEW_LINES:
            plain = []
        lines = {name: f"{name}: {', '.join(told[name])}" for name in names if told.get(name) and name not in plain}
        together = ", ".join(f"{name} ({levels[name]})" for name in plain)
        return (*lines.values(), *([f"{len(plain)} columns are categories: {together}"] if plain else []))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.impute is not None
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.sparse = True
        return tags


class LastStep:
    """Fills missing values and turns levels into columns; what it does follows from the rows of `fit` alone.

    Parameters
    ----------
    levels : array of int
        For each plain column, the number of its levels; 0 for numbers.
    impute : str or None
        How missing numbers are filled; they stay as they are if it is none of FILLED.
    """

    def __init__(self, levels: np.ndarray, impute: str | None) -> None:
        self.levels, self.impute = levels, impute
        widths = np.maximum(levels, 1)
        self._owners = np.repeat(np.arange(len(levels)), widths)  # the plain column of each column
        self._level = np.arange(widths.sum()) - np.repeat(np.cumsum(widths) - widths, widths)
        self._of_levels = np.flatnonzero(levels[self._owners])

    def fit(self, plain: np.ndarray) -> LastStep:
        """Learn from the rows of a plain table, [rows, plain columns]."""
        places = np.flatnonzero(self.levels == 0) if self.impute in FILLED else np.array([], int)
        self.filled_with: dict[int, float] = {}  # by plain columns of numbers
        if len(places):
            imputer = SimpleImputer(strategy=self.impute, keep_empty_features=True).fit(plain[:, places])
            self.filled_with = dict(zip(places.tolist(), imputer.statistics_.tolist(), strict=True))
        self._seen = self._as_levels(plain).any(axis=0)
        return self

    def transform(self, plain: np.ndarray) -> np.ndarray:
        """Return the columns of a plain table as numbers, in its order; levels not seen in `fit` are ignored."""
        fill = np.array([self.filled_with.get(place, np.nan) for place in range(len(self.levels))])
        found = np.where(np.isnan(plain), fill, plain)[:, self._owners]
        found[:, self._of_levels] = self._as_levels(plain) & self._seen
        return found

    def _as_levels(self, plain: np.ndarray) -> np.ndarray:
        """Return for each column of a level whether the rows have it."""
        return plain[:, self._owners[self._of_levels]] == self._level[self._of_levels]


class EncodedRows(NamedTuple):
    """Rows of a table, as they were given and as numbers."""

    encoder: TableEncoder  # fitted
    frame: pd.DataFrame  # the rows as they were given
    plain: np.ndarray  # their cells as numbers, before missing values are filled and levels become columns

    @classmethod
    def of(cls, encoder: TableEncoder, X: object) -> EncodedRows:
        """Fit an encoder and encode the rows that it was fitted on."""
        plain = encoder.fit_plain(X)
        return cls(encoder, pandas_frame(X), plain)

    def part(self, rows: np.ndarray | slice) -> EncodedRows:
        """Return some of the rows."""
        return self._replace(frame=self.frame.iloc[rows], plain=self.plain[rows])

    def numbers(self) -> np.ndarray:
        """Return the rows as numbers, by what the encoder has learned."""
        return self.encoder.last_step_.transform(self.plain)

    def learned_from(self, rows: np.ndarray) -> np.ndarray:
        """Return all rows as numbers, by what some of them teach: what missing values are filled with, and levels."""
        step = LastStep(self.encoder.last_step_.levels, self.encoder.impute)
        return step.fit(self.plain[rows]).transform(self.plain)


def encoder_for(encode: object, estimator: object) -> TableEncoder | None:
    """Return the encoder that the parameter `encode` stands for; None if tables are not encoded.

    With "auto", an estimator that takes missing values gets them; for others they are filled with medians. An encoder
    that refuses missing values lets them through to an estimator that takes them.
    """
    if encode is None:
        return None
    found = TableEncoder(impute=None) if encode == AUTO else encode
    if not isinstance(found, TableEncoder):
        raise ValueError(f"encode must be None, 'auto' or a TableEncoder, got {shown(encode)}")
    impute = found.impute
    if impute is None and takes_missing(estimator):
        impute = KEEP
    elif impute is None and encode == AUTO:
        impute = "median"
    return clone(found).set_params(impute=impute)
