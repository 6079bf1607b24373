"""`TableEncoder`: a scikit-learn transformer that turns the columns of any data frame into numbers; encoded rows."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from bestleaf.checks import listed, one_of, shown
from bestleaf.columns.frames import dense, pandas_frame
from bestleaf.columns.kinds import (
    AS_TEXT,
    CATEGORY,
    LEFT_OUT,
    MISSING,
    NOT_USED,
    NUMBER,
    REFUSED,
    Column,
    Read,
    read_columns,
)
from bestleaf.features.estimator import name_of
from bestleaf.proof.record import Encoding
from bestleaf.proof.text import counted
from bestleaf.scikit import check_feature_names_in, takes_missing

AUTO, KEEP = "auto", "keep"
FILLED = ("median", "mean", "most_frequent")
DATES = ("parts", "number", "drop")
IN_FOLDS = " of the training rows"  # where a filling comes from
FEW_LINES = 6  # more columns that are just categories, or numbers written as text, are told in one line


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

    def fit_plain(self, X: object, read: dict[str, Read] | None = None) -> tuple[np.ndarray, dict[str, Read]]:
        """Fit, and return the cells as numbers before missing values are filled and levels become columns.

        `read` is what is known of the columns already; it is returned, too.
        """
        if self.impute is not None:
            one_of("impute", self.impute, (*FILLED, KEEP))
        one_of("dates", self.dates, DATES)
        frame = self._frame(X, reset=True)
        names = frame.columns.tolist()
        read = read_columns(frame) if read is None else {name: one for name, one in read.items() if name in frame}
        _refuse(read)
        self._special = {name: one.dated(self.dates) for name, (one, _) in read.items()}
        self.left_out_ = {
            name: one.note.removeprefix(NOT_USED) for name, one in self._special.items() if one.kind == LEFT_OUT
        }
        if len(self.left_out_) == len(names):
            name, why = next(iter(self.left_out_.items()))
            raise ValueError(f"X must have a column that can be used, got none; {shown(name)} is left out: {why}")
        self._set_names(names)
        plain = self._plain(frame, read)
        self._missing = np.isnan(plain).sum(axis=0)
        odd = {name: one.odd for name, one in self._special.items() if one.odd}
        self._check_missing(plain, odd)
        self.last_step_ = clone(self.last_step).fit(plain)
        for name, cells in odd.items():
            told = f"column {shown(name)}: {cells}; such cells count as missing values"
            warnings.warn(told, UserWarning, stacklevel=3)
        return plain, read

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
        self._made = [  # the names that the last step has for the numeric columns
            name
            for place, levels in enumerate(self._levels.tolist())
            for name in ([f"levels__x{place}_{level}.0" for level in range(levels)] or [f"numbers__x{place}"])
        ]

    @property
    def last_step(self) -> ColumnTransformer:
        """What fills missing values and turns levels into columns, not fitted; folds fit it to their training rows."""
        numbers = (
            SimpleImputer(strategy=self.impute, keep_empty_features=True) if self.impute in FILLED else "passthrough"
        )
        levels = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        places = (np.flatnonzero(self._levels == 0), np.flatnonzero(self._levels))
        return ColumnTransformer([("numbers", numbers, places[0]), ("levels", levels, places[1])])

    def _plain(self, frame: pd.DataFrame, read: dict[str, Read] | None = None) -> np.ndarray:
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
        found = np.empty((len(frame), len(self._plain_owners)))
        owners = [names[owner] for owner in self._plain_owners.tolist()]
        done = set(block)
        found[:, [name in done for name in owners]] = numbers
        for name in (name for name in names if name not in done):
            place = [owner == name for owner in owners]
            cells = None if read is None or name not in read else read[name][1]
            found[:, place] = self._special.get(name, usual).plain(frame[name], cells)
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
        return self.encoded(self.plain(X))

    def plain(self, X: object) -> np.ndarray:
        """Return the cells of a table as numbers, before missing values are filled and levels become columns."""
        check_is_fitted(self)
        plain = self._plain(self._frame(X, reset=False))
        self._check_missing(plain, {})
        return plain

    def encoded(self, plain: np.ndarray) -> np.ndarray:
        """Return the columns of a plain table as numbers; levels that `fit` has not seen are zeros."""
        return in_places(self.last_step_, self.last_step_.transform(plain), self._made)

    def learned_from(self, rows: np.ndarray, plain: np.ndarray, y: object) -> np.ndarray:
        """Return the columns of a plain table as numbers, by what some of its rows teach."""
        step = clone(self.last_step).fit(plain[rows])
        return in_places(step, step.transform(plain), self._made)

    @property
    def categories(self) -> tuple[tuple[int, ...], ...]:
        """The columns of each category: those of a date are not levels."""
        ends = np.cumsum(np.maximum(self._levels, 1)).tolist()
        widths = zip(ends, self._levels.tolist(), strict=True)
        return tuple(tuple(range(end - many, end)) for end, many in widths if many)

    def settings(self) -> Encoding:
        """Return what a certificate says about the encoding: enough to do it again on the same rows."""
        levels = {name: tuple(some) for name, some in self.levels_.items()}
        return Encoding(impute=self.impute, dates=self.dates, levels=levels, left_out=tuple(sorted(self.left_out_)))  # type: ignore[arg-type]

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
        imputer, filled = self.last_step_.named_transformers_.get("numbers"), dict[int, float]()
        if self.impute in FILLED and hasattr(imputer, "statistics_"):
            filled = dict(zip(np.flatnonzero(self._levels == 0).tolist(), imputer.statistics_.tolist(), strict=True))
        names, told = list(self.groups_), dict[str, list[str]]()
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
        together: dict[str, dict[str, str]] = {" are categories": {}, f": {AS_TEXT}": {}}
        for name, one in self._special.items():
            if told[name] != [one.note]:
                continue
            if one.kind == CATEGORY and MISSING not in one.levels:
                together[" are categories"][name] = f"{name} ({len(one.levels)})"
            elif one.note.startswith(AS_TEXT):
                together[f": {AS_TEXT}"][name] = name
        together = {what: some for what, some in together.items() if len(some) > FEW_LINES}
        apart = [name for name in names if told.get(name) and not any(name in some for some in together.values())]
        lines = [f"{name}: {', '.join(told[name])}" for name in apart]
        return (*lines, *(f"{len(some)} columns{what}: {', '.join(some.values())}" for what, some in together.items()))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.impute is not None
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.sparse = True
        return tags


def _refuse(read: dict[str, Read]) -> None:
    """Refuse columns of lists, and those of numbers mixed with text."""
    for kind, (rule, _) in REFUSED.items():
        if names := [name for name, (one, _) in read.items() if one.kind == kind]:
            raise ValueError(f"{rule}, got the columns {listed(names)}")


def in_places(step: BaseEstimator, made: Any, names: list[str]) -> np.ndarray:
    """Return what a fitted transformer made, each column at the place of its name; columns that it lacks are zeros."""
    places = pd.Index(names).get_indexer(step.get_feature_names_out())
    if np.array_equal(places, np.arange(len(names))):
        return np.asarray(dense(made), np.float64)
    found = np.zeros((made.shape[0], len(names)))
    found[:, places[places >= 0]] = np.asarray(dense(made), np.float64)[:, places >= 0]
    return found


class OwnEncoder:
    """A transformer of the user's own, with what a selector asks of an encoder.

    Its columns belong to the columns that they are named after: "colour" itself, "colour_red", "colour=red" or
    "colour.red", also behind the name of a step as in "text__colour_red".
    """

    changes_nothing = False
    levels_: dict[str, list[str]] = {}  # noqa: RUF012
    categories = ()

    def __init__(self, transformer: BaseEstimator) -> None:
        self.transformer = transformer

    def fit_rows(self, X: object, y: object) -> pd.DataFrame:
        """Fit, and return the rows as a data frame."""
        frame = pandas_frame(X).reset_index(drop=True)
        self.transformer_ = self._repeatable().fit(frame, y)
        try:
            self._made = list(self.transformer_.get_feature_names_out())
        except (AttributeError, ValueError) as error:
            rule = "encode must be a transformer that names its columns (get_feature_names_out)"
            raise ValueError(f"{rule}, got {shown(self.transformer)}: {error}") from None
        if len(set(self._made)) < len(self._made):
            raise ValueError(f"encode must give each column a name of its own, got {listed(map(str, self._made))}")
        names = frame.columns.tolist()
        self.owners_ = [_owner(made, names) for made in self._made]
        self.columns_ = [
            [place for place, one in enumerate(self.owners_) if one == owner] for owner in range(len(names))
        ]
        self.left_out_ = {
            name: "the encoder drops it" for name, made in zip(names, self.columns_, strict=True) if not made
        }
        return frame

    def _repeatable(self) -> BaseEstimator:
        """Return the transformer, not fitted; what is random in it is the same each time."""
        found = clone(self.transformer)
        given = found.get_params()
        fixed: dict[str, object] = {
            name: 0 for name, one in given.items() if name.endswith("random_state") and one is None
        }
        for name, folds in given.items():  # of a TargetEncoder, from scikit-learn 1.9 on
            if isinstance(folds, int) and given.get(f"{name.removesuffix('cv')}random_state") == "deprecated":
                fixed[name] = KFold(folds, shuffle=True, random_state=0)
        return found.set_params(**fixed)

    def plain(self, X: object) -> pd.DataFrame:
        """Return rows as a data frame."""
        return pandas_frame(X).reset_index(drop=True)

    def encoded(self, frame: pd.DataFrame) -> np.ndarray:
        """Return rows as numbers."""
        return self._placed(self.transformer_, self.transformer_.transform(frame), len(frame))

    def _placed(self, step: Any, made: Any, rows: int) -> np.ndarray:
        """Return what the transformer made, in places; refuse what is no table of numbers of these rows."""
        due, got = (rows, len(step.get_feature_names_out())), shown(self.transformer)
        if np.shape(made) != due:
            what = f"{due[0]:,} rows and {due[1]:,} columns, as many as it names"
            raise ValueError(f"encode must make {what}, got the shape {np.shape(made)} from {got}")
        try:
            return in_places(step, made, self._made)
        except (TypeError, ValueError) as error:
            raise ValueError(f"encode must make numbers, got from {got}: {error}") from None

    def transform(self, X: object) -> np.ndarray:
        """Return a table as numbers."""
        return self.encoded(self.plain(X))

    def learned_from(self, rows: np.ndarray, frame: pd.DataFrame, y: np.ndarray | None) -> np.ndarray:
        """Return all rows as numbers, by what some of them teach; a TargetEncoder makes these by folds of its own."""
        step = self._repeatable()
        known = self._placed(step, step.fit_transform(frame.iloc[rows], np.asarray(y)[rows]), len(rows))
        found = self._placed(step, step.transform(frame), len(frame)).copy()  # it may be the table itself
        found[rows] = known
        return found

    def settings(self) -> Encoding:
        """Return what a certificate says about the encoding."""
        left_out = tuple(sorted(self.left_out_))
        return Encoding(impute=None, dates="parts", levels={}, left_out=left_out, own=name_of(self.transformer))

    def notes(self) -> tuple[str, ...]:
        """Return what was done to the columns, in words."""
        return tuple(f"{name}: {NOT_USED}{why}" for name, why in self.left_out_.items())

    notes_ = property(notes)


def _owner(made: str, names: list[str]) -> int:
    """Return the number of the column that a column of an encoder's output is named after."""
    plain = [made, made.partition("__")[2]]
    found = [name for name in names if name in plain] or [
        name for name in names if any(one.startswith((f"{name}_", f"{name}=", f"{name}.")) for one in plain)
    ]
    if len(found) == 1:
        return names.index(found[0])
    rule = "encode must name each column that it makes after one column of X"
    if found:
        raise ValueError(f"{rule}, got {shown(made)}, which may be of {listed(found)}; rename one of them")
    raise ValueError(f"{rule}, got {shown(made)}; put such a transformer before the selector, in a pipeline")


Encoder = TableEncoder | OwnEncoder


class EncodedRows(NamedTuple):
    """Rows of a table, as they were given and as numbers."""

    encoder: Encoder  # fitted
    frame: pd.DataFrame  # the rows as they were given
    plain: Any  # of a `TableEncoder` their cells as numbers, before missing values are filled and levels become columns
    y: np.ndarray | None = None  # their targets, for encoders that learn from these
    read: dict[str, Read] | None = None  # what each column is, of all rows just encoded

    @classmethod
    def of(cls, encoder: Encoder, X: object, y: object = None) -> EncodedRows:
        """Fit an encoder and encode the rows that it was fitted on."""
        frame = pandas_frame(X)
        if isinstance(encoder, TableEncoder):
            plain, read = encoder.fit_plain(X)
            return cls(encoder, frame, plain, read=read)
        return cls(encoder, frame, encoder.fit_rows(frame, y), np.asarray(y))

    def part(self, rows: np.ndarray | slice) -> EncodedRows:
        """Return some of the rows."""
        plain = self.plain.iloc[rows] if isinstance(self.plain, pd.DataFrame) else self.plain[rows]
        y = None if self.y is None else self.y[rows]
        return self._replace(frame=self.frame.iloc[rows], plain=plain, y=y, read=None)

    def and_more(self, other: EncodedRows) -> EncodedRows:
        """Return these rows and others."""
        frame = pd.concat([self.frame, other.frame], ignore_index=True)
        plain = np.concatenate([self.plain, other.plain]) if isinstance(self.plain, np.ndarray) else frame
        y = None if self.y is None or other.y is None else np.concatenate([self.y, other.y])
        return self._replace(frame=frame, plain=plain, y=y, read=None)

    def numbers(self) -> np.ndarray:
        """Return the rows as numbers, by what the encoder has learned."""
        return self.encoder.encoded(self.plain)

    def learned_from(self, rows: np.ndarray) -> np.ndarray:
        """Return all rows as numbers, by what some of them teach: what missing values are filled with, and levels."""
        return self.encoder.learned_from(rows, self.plain, self.y)


def encoder_for(encode: object, estimator: object) -> Encoder | None:
    """Return the encoder that the parameter `encode` stands for; None if tables are not encoded.

    With "auto", an estimator that takes missing values gets them; for others they are filled with medians. A
    `TableEncoder` that refuses missing values lets them through to an estimator that takes them.
    """
    if encode is None:
        return None
    found = TableEncoder(impute=None) if encode == AUTO else encode
    if not isinstance(found, TableEncoder):
        return OwnEncoder(found)
    impute = found.impute
    if impute is None and takes_missing(estimator):
        impute = KEEP
    elif impute is None and encode == AUTO:
        impute = "median"
    return clone(found).set_params(impute=impute)
