"""What users give: data frames of any library as pandas has them, sparse matrices, targets."""

from __future__ import annotations

import os
from math import prod
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.sparse import issparse

from bestleaf.checks import listed, shown

if TYPE_CHECKING:
    from narwhals import Series


def is_frame(X: object) -> bool:
    """Whether X is a data frame of some library, not an array, a list or a sparse matrix."""
    return hasattr(type(X), "columns") or hasattr(type(X), "column_names")  # to ask a lazy frame itself takes long


def pandas_frame(X: object) -> pd.DataFrame:
    """Return a data frame of any library, or an array, as a data frame of pandas.

    Columns of an array, and those whose names are no texts, are called x0, x1, … as in scikit-learn.
    """
    if isinstance(X, pd.DataFrame):
        frame = X
    elif is_frame(X):
        frame = _by_narwhals(X)
    else:
        frame = _from_array(X)
    if pd.api.types.infer_dtype(frame.columns, skipna=False) != "string":
        frame = frame.set_axis([f"x{number}" for number in range(frame.shape[1])], axis=1)
    return frame


def _from_array(X: object) -> pd.DataFrame:
    """Return an array or lists of rows as a data frame; columns of objects get the kind of their cells."""
    X = dense(X)
    found = X if isinstance(X, np.ndarray) else np.array(X, dtype=object)
    if np.iscomplexobj(found):
        raise ValueError("X must hold real numbers or text, got complex ones (Complex data not supported)")
    if found.ndim != 2:
        raise ValueError(f"X must be a table of rows and columns (2D), got shape {found.shape}. Reshape your data")
    return pd.DataFrame(found).infer_objects()


def dense(X: Any) -> Any:
    """Return a sparse matrix as an array, if that fits into the memory there is; anything else as it is."""
    if not issparse(X):
        return X
    matrix: Any = X
    needed = 8 * prod(matrix.shape)
    if hasattr(os, "sysconf") and needed > os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"):
        got = f"got a sparse matrix that takes {needed / 2**30:,.0f} GB; drop rare columns or use TruncatedSVD"
        raise ValueError(f"X must fit into memory as an array, {got}")
    return matrix.toarray()


def _narwhals() -> ModuleType:
    """Return the module that knows the data frames of other libraries."""
    try:
        import narwhals as nw
    except ImportError:  # scikit-learn brings it from 1.9 on
        raise ValueError("data frames of this library need narwhals (pip install narwhals), or X.to_pandas()") from None
    return nw


def _by_narwhals(X: object) -> pd.DataFrame:
    """Return a data frame of another library, column by column: pyarrow is not needed for that."""
    nw = _narwhals()
    try:
        frame = nw.from_native(X, eager_only=True)
    except TypeError:
        rule = "must be an array or a data frame in memory (a lazy one must be collected first)"
        raise ValueError(f"X {rule}, got {shown(type(X).__name__)}") from None
    columns = {name: _column(nw, frame[name]) for name in frame.columns}
    return pd.DataFrame(columns, index=range(len(frame)))


def _column(nw: ModuleType, column: Series) -> pd.Categorical | pd.Series | np.ndarray:
    """Return a column in a form that pandas knows; missing values are None or NaN."""
    if isinstance(column.dtype, nw.Categorical | nw.Enum):
        return pd.Categorical(column.to_list())
    plain = (column.dtype.is_numeric() and column.dtype != nw.Decimal) or column.dtype == nw.Boolean
    if plain and column.null_count() == 0:
        return column.to_numpy()
    if column.dtype.is_integer() or column.dtype.is_float():
        return column.cast(nw.Float64).to_numpy()
    return pd.Series(column.to_list(), dtype=object)


def selected_columns(X: Any, support: np.ndarray) -> Any:
    """Return some columns of X as they are, in the library of X."""
    if isinstance(X, pd.DataFrame):
        return X.loc[:, support]
    if is_frame(X):
        nw = _narwhals()
        frame = nw.from_native(X, eager_only=True)
        names = [name for name, taken in zip(frame.columns, support, strict=True) if taken]
        return nw.to_native(frame.select(names))
    return X[:, np.flatnonzero(support)] if hasattr(X, "shape") else np.array(X, dtype=object)[:, support]


def check_target(y: object) -> None:
    """Refuse several targets in a sentence that says what to do instead."""
    fields = getattr(getattr(y, "dtype", None), "names", None)
    columns = [str(name) for name in (getattr(y, "columns", ()) if fields is None else fields)]
    shape = getattr(y, "shape", None) or np.shape(np.asarray(y, dtype=object))
    if fields is None and (len(shape) != 2 or shape[1] < 2):
        return
    got = f"{shape[1] if fields is None else len(fields)} columns{f' [{listed(columns)}]' if columns else ''}"
    raise ValueError(f"y must be one target (a 1d array), got {got}; select for each target in turn, or for their mean")
