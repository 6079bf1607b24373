"""Turn the columns of a table into numbers; refuse columns for which that is not possible, by name."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from numbers import Real

import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

from bestleaf.certificate.claims import counted
from bestleaf.checks import did_you_mean, listed, one_of, shown

IMPUTE = ("median", "mean", "most_frequent")
MOST_CATEGORIES = 1_000  # in one column; text with more is probably an identifier
MOST_CELLS = 3  # cells that are shown in a note
MISSING = "(missing)"  # the category of missing values

NUMBER, CATEGORY, DATE, MIXED, NESTED = "number", "category", "date", "mixed", "nested"
KINDS = {  # by the type that pandas infers from the values
    **dict.fromkeys(("integer", "floating", "mixed-integer-float", "decimal", "empty"), NUMBER),
    **dict.fromkeys(("string", "categorical", "boolean"), CATEGORY),
    **dict.fromkeys(("date", "datetime", "datetime64", "timedelta", "timedelta64", "time", "period"), DATE),
}
REFUSED = {  # the sentence about features, and what is said about the target
    DATE: ("dates must be turned into numbers first", "dates"),
    NESTED: ("a column must hold numbers or text, not lists, dictionaries or bytes", "lists, dictionaries or bytes"),
    MIXED: ("a column must hold numbers or text, not both", "both in one column"),
}


@dataclass(frozen=True)
class Table:
    """A table ready for a search.

    Attributes
    ----------
    X : DataFrame
        Numbers without missing values; a category becomes one column for each of its values.
    y : Series
        The target.
    groups : dict
        For each column of the file, the columns of `X` that it became.
    original : DataFrame
        The table as it was read, with the target.
    target : str
        Name of the target column.
    notes : tuple of str
        What was done to the columns, in words.
    impute : {None, "median", "mean", "most_frequent"}
        How missing values were filled; None if there were none.
    filled_by : array of int or None
        The rows that the filled values were computed from; None for all rows.
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
        """Return the table with missing values filled from some of the rows only."""
        if self.impute is None:
            return self
        return prepared(self.original, self.target, impute=self.impute, rows=rows)


def prepared(
    frame: pd.DataFrame,
    target: str,
    *,
    impute: str | None = None,
    task: str = "auto",
    rows: np.ndarray | None = None,
) -> Table:
    """Return a table ready for a search: categories as columns of zeros and ones, missing values refused or filled.

    Text, pandas' categories, and truth values with missing values are categories. A column of a CSV file with a cell
    that is no number is a category, too, and a note says so. Decimals and pandas' nullable numbers are numbers. Dates,
    lists, dictionaries, bytes, and columns with both numbers and text are refused.

    Parameters
    ----------
    frame : DataFrame
        Features and target.
    target : str
        Name of the target column.
    impute : {None, "median", "mean", "most_frequent"}, default=None
        How missing values are filled; None refuses them. In a category they become a category of their own.
    task : {"auto", "classification", "regression"}, default="auto"
        Regression needs numbers in the target.
    rows : array of int, default=None
        The rows that filled values are computed from, such as those that are searched; None for all rows.
    """
    if target not in frame.columns:
        hint, there = did_you_mean(target, frame.columns), listed(frame.columns)
        raise ValueError(f"target must be a column of the table, got {shown(target)}{hint} where there are {there}")
    if len(frame.columns) < 2:
        raise ValueError(f"the table must have a column beside the target {shown(target)}, got none")
    if impute is not None:
        one_of("impute", impute, IMPUTE)
    y = _encoded_target(frame[target])
    if task == "regression" and y.dtype.kind not in "biuf":
        raise ValueError(f"task 'regression' needs numbers in the target, got text in {shown(target)}")
    features = frame.drop(columns=target)
    dtypes = zip(features.columns, features.dtypes, strict=True)  # faster than thousands of columns one by one
    kinds = {name: NUMBER if dtype.kind in "biuf" else _kind_of(features[name]) for name, dtype in dtypes}
    for kind, (complaint, _) in REFUSED.items():
        if names := [name for name in kinds if kinds[name] == kind]:
            raise ValueError(f"{complaint}, got the columns {listed(names)}")
    missing = features.columns[features.isna().any()].tolist()
    if missing and impute is None:
        got = f"got some in the columns {listed(missing)}; impute='median' fills them"
        raise ValueError(f"the table must have no missing values, {got}")
    X, groups, notes = _encoded_features(features, kinds, str(impute), rows)
    notes = [*frame.attrs.get("notes", ()), *notes]
    return Table(X, y, groups, frame, target, tuple(notes), impute if missing else None, rows)


def _kind_of(column: pd.Series) -> str:
    """Return the kind of a column: number, category (text, truth values), date, mixed (numbers and text) or nested."""
    if column.dtype.kind in "biuf":
        return NUMBER
    if kind := KINDS.get(pd.api.types.infer_dtype(column, skipna=True)):
        return kind
    types = {type(value) for value in column.dropna()}
    if all(issubclass(one, Real | Decimal) for one in types):
        return NUMBER
    return MIXED if all(issubclass(one, Real | Decimal | str) for one in types) else NESTED


def _encoded_features(
    features: pd.DataFrame, kinds: dict[str, str], impute: str, rows: np.ndarray | None
) -> tuple[pd.DataFrame, dict[str, list[str]], list[str]]:
    """Return all columns as numbers, the names of the columns that each one became, and notes."""
    groups = {name: [name] for name in features}
    numbers = [name for name in features if kinds[name] == NUMBER]
    texts = [name for name in features if kinds[name] != NUMBER]
    found, notes = _filled(_floats(features[numbers]), impute, rows)
    if texts:
        ones, names, more = _one_hot(features[texts])
        groups.update(names)
        notes += more
        found = np.hstack([found, ones])
    made = pd.Index([column for name in [*numbers, *texts] for column in groups[name]])
    if clashes := sorted(made[made.duplicated()].unique()):
        raise ValueError(f"a category must not have the name of another column, got {listed(clashes)}; rename one")
    X = pd.DataFrame(found, columns=made, index=features.index)
    return X[[column for name in features for column in groups[name]]], groups, notes


def _floats(frame: pd.DataFrame) -> pd.DataFrame:
    """Return columns of numbers as floats, with nan for missing values."""
    plain = frame.copy(deep=False)
    for name in frame.columns[[one.kind == "O" for one in frame.dtypes]]:
        plain[name] = _objects_as_floats(frame[name])
    found = plain.to_numpy(np.float64, na_value=np.nan)
    if infinite := frame.columns[np.isinf(found).any(axis=0)].tolist():
        raise ValueError(f"the table must have no infinite numbers, got some in the columns {listed(infinite)}")
    return pd.DataFrame(found, columns=frame.columns)


def _objects_as_floats(column: pd.Series) -> pd.Series:
    """Return a column of Python numbers, such as decimals, as floats."""
    try:
        return column.astype(object).map(float, na_action="ignore").astype(np.float64)
    except (OverflowError, ValueError, TypeError):
        raise ValueError(f"column {shown(column.name)} must hold numbers of 64 bits, got larger ones") from None


def _filled(numbers: pd.DataFrame, impute: str, rows: np.ndarray | None) -> tuple[np.ndarray, list[str]]:
    """Return numbers with missing values filled from `rows`, and notes."""
    found, missing = numbers.to_numpy(copy=True), numbers.isna().sum()
    some = np.flatnonzero(missing)
    if not len(some):
        return found, []
    where = "" if rows is None else " of the rows searched"
    known = found[:, some] if rows is None else found[np.ix_(rows, some)]
    for name in numbers.columns[some[np.isnan(known).all(axis=0)]]:
        rule = f"must have a number{where} to fill its missing values with"
        raise ValueError(f"column {shown(name)} {rule}, got missing values only")
    imputer = SimpleImputer(strategy=impute).fit(known)
    found[:, some] = imputer.transform(found[:, some])
    columns = zip(numbers.columns[some], missing.iloc[some], imputer.statistics_, strict=True)
    return found, [
        f"{name}: {counted(many, 'missing value')} filled with {value:g} ({impute}{where})"
        for name, many, value in columns
    ]


def _one_hot(frame: pd.DataFrame) -> tuple[np.ndarray, dict[str, list[str]], list[str]]:
    """Return categories as zeros and ones, the names of the columns that each one became, and notes."""
    values = frame.astype("string").fillna(MISSING)
    for name, many in values.nunique().items():
        if many > MOST_CATEGORIES:
            rule = f"must have at most {MOST_CATEGORIES:,} different texts"
            raise ValueError(f"column {shown(name)} {rule}, got {many:,}; drop it{_almost_numbers(values[name])}")
    encoder = OneHotEncoder(sparse_output=False, dtype=np.float64)
    ones = encoder.fit_transform(values.to_numpy(object))
    groups, notes = {}, []
    for name, kinds, missing in zip(frame, encoder.categories_, frame.isna().sum(), strict=True):
        groups[name] = [f"{name}={kind}" for kind in kinds]
        apart = f", {counted(missing, 'missing value')} as one of their own" if missing else ""
        many = counted(len(kinds), "category", "categories")
        notes.append(f"{name}: {many}{apart}{_almost_numbers(values[name])}")
    return ones, groups, notes


def _almost_numbers(values: pd.Series) -> str:
    """Return a hint if most cells of a column of text are numbers, because all of them may be meant as numbers."""
    strange = pd.to_numeric(values, errors="coerce").isna() & (values != MISSING)
    if not 0 < strange.sum() < len(values) / 2:
        return ""
    cells = ", ".join(repr(str(cell)[:20]) for cell in values[strange].unique()[:MOST_CELLS])
    return f", because {counted(int(strange.sum()), 'cell is no number', 'cells are no numbers')}: {cells}"


def _encoded_target(column: pd.Series) -> pd.Series:
    """Return the target column as numbers, truth values or text."""
    told, kind = f"the target {shown(column.name)} must", _kind_of(column)
    if missing := int(column.isna().sum()):
        raise ValueError(f"{told} have no missing values, got {missing:,} of {len(column):,} rows without one")
    if kind in REFUSED:
        raise ValueError(f"{told} hold numbers or classes, got {REFUSED[kind][1]}")
    if column.nunique() < 2:
        raise ValueError(f"{told} have two different values, got only {shown(column.iloc[0])}")
    if isinstance(column.dtype, pd.CategoricalDtype):
        return _encoded_target(column.astype(column.cat.categories.dtype))
    if kind == CATEGORY:
        return column
    if column.dtype.kind == "O":
        column = _objects_as_floats(column)
    plain = column.astype({"b": np.bool_, "i": np.int64, "u": np.uint64}.get(column.dtype.kind, np.float64))
    if not np.isfinite(plain.to_numpy()).all():
        raise ValueError(f"{told} have no infinite numbers, got some")
    return plain
