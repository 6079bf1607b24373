"""Data of unusual form: sparse matrices and arrays of a GPU, several targets, missing values for an estimator."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from bestleaf.checks import bytes_in_words, listed

IN_MEMORY = 1  # what DLPack calls the memory of the processor
MANY_TIMES = 20  # with more different numbers beside yes and no, they are taken for times


def check_target(y: object) -> None:
    """Refuse several targets, and a survival target, in a sentence that says what to do instead."""
    fields = getattr(getattr(y, "dtype", None), "names", None)
    columns = [str(name) for name in (getattr(y, "columns", ()) if fields is None else fields)]
    shape = getattr(y, "shape", None) or np.shape(np.asarray(y, dtype=object))
    if fields is None and (len(shape) != 2 or shape[1] < 2):
        return
    named = f" [{listed(columns)}]" if columns else ""
    if fields is not None or _is_survival(np.asarray(y)):
        instead = "whether the event came within a fixed time, or martingale residuals of a Cox model without features"
        got = f"events with times{named} (survival)"
        raise ValueError(f"y must be one target, got {got}; give one number for each row, such as {instead}")
    got = f"{shape[1]} columns{named}"
    raise ValueError(f"y must be one target (a 1d array), got {got}; select for each target in turn, or for their mean")


def _is_survival(y: np.ndarray) -> bool:
    """Whether two columns are an event, yes or no, and a time."""
    if y.shape[1] != 2:
        return False
    try:
        columns = y.astype(np.float64).T
    except (TypeError, ValueError):
        return False
    events = [set(np.unique(column)) <= {0.0, 1.0} for column in columns]
    times = [bool((column >= 0).all()) and len(np.unique(column)) > MANY_TIMES for column in columns]
    return (events[0] and times[1]) or (events[1] and times[0])


def is_on_gpu(values: object) -> bool:
    """Whether an array lives on a GPU: one of CuPy, torch or another library that has DLPack's interface."""
    where = getattr(values, "__dlpack_device__", None)
    return where is not None and not isinstance(values, np.ndarray) and int(where()[0]) != IN_MEMORY


def from_gpu(values: Any) -> Any:
    """Return an array of a GPU as one in memory; anything else as it is."""
    if not is_on_gpu(values):
        return values
    if hasattr(values, "detach"):  # a tensor of torch
        return values.detach().cpu().numpy()
    return values.get() if hasattr(values, "get") else np.from_dlpack(values, device="cpu")


def dense(X: object) -> object:
    """Return a sparse matrix as an array, if that fits into the memory there is; anything else as it is."""
    return _as_array(X) if issparse(X) else X


def _as_array(X: Any) -> np.ndarray:
    if X.ndim != 2:
        raise ValueError(f"X must be a table of rows and columns, got shape {X.shape}")
    rows, columns = X.shape
    needed, room = 8 * rows * columns, _memory_there()
    if room is not None and needed > room:
        takes = f"which takes {bytes_in_words(needed)} of {bytes_in_words(room)}"
        got = f"a sparse matrix of {rows:,} x {columns:,}"
        instead = "drop rare columns or use TruncatedSVD"
        raise ValueError(f"X must fit into memory as an array, {takes}, got {got}; {instead}")
    return X.toarray()


def _memory_there() -> int | None:
    """Return the bytes of memory of this machine; None where the system does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def takes_missing(estimator: object) -> bool:
    """Whether an estimator takes missing values (NaN), by its tags.

    A pipeline does if all of its steps do, up to one that fills them: a step of `sklearn.impute`.
    """
    if isinstance(estimator, Pipeline):
        for _, step in estimator.steps:
            if step is None or step == "passthrough":
                continue
            if not takes_missing(step):
                return False
            if type(step).__module__.startswith("sklearn.impute"):
                return True
        return True
    return isinstance(estimator, BaseEstimator) and bool(get_tags(estimator).input_tags.allow_nan)
