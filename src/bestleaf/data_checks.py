"""Checks of what a user gives to a selector: data, names of features, groups, memory."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, is_regressor
from sklearn.utils._param_validation import Interval, InvalidParameterError
from sklearn.utils.validation import validate_data

from bestleaf.checks import did_you_mean, listed, one_of, shown
from bestleaf.features.data import columns_not_finite, task_of
from bestleaf.features.lattice import checked_groups
from bestleaf.features.neighbours import TASKS, NeighbourVotes

METADATA = ("sample_weight", "groups")  # what `fit` takes in addition to X and y
FeatureGroups = Sequence[Iterable[int | str]] | dict[str, Iterable[int | str]]  # features that enter together
UNITS = {"": 1, "B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}


class Data(NamedTuple):
    """Rows of data, the names of the columns, and the metadata of `fit`."""

    X: np.ndarray
    y: np.ndarray
    names: np.ndarray  # x0, x1, … if the data have none
    metadata: dict[str, np.ndarray]

    def part(self, rows: np.ndarray | slice) -> Data:
        """Return some of the rows."""
        metadata = {name: value[rows] for name, value in self.metadata.items()}
        return Data(self.X[rows], self.y[rows], self.names, metadata)

    @property
    def bytes(self) -> int:
        """The memory that the data always take: as given, and once more by column in single precision."""
        outputs = max(1, len(np.unique(self.y))) if self.y.dtype.kind not in "f" else 1
        return int(self.X.nbytes + 4 * self.X.size + 8 * len(self.X) * min(outputs, 1000))


def checked_fit_data(
    selector: BaseEstimator, X: Any, y: Any, metadata: dict[str, Any], *, splits_by_group: bool = False
) -> Data:
    """Return the data after the checks of scikit-learn and ours; an error about a column names it.

    `splits_by_group` allows groups with the votes of nearest neighbours: the votes do not use them, but splits do.
    """
    _check_numbers(selector)
    _check_frame(X)
    with np.errstate(over="ignore", invalid="ignore"):  # X may hold the largest numbers there are
        X, y = validate_data(
            selector, X, y, dtype=(np.float64, np.float32), ensure_all_finite=False, ensure_min_samples=2
        )
    if y.dtype.kind == "O" and len({isinstance(label, str) for label in y.tolist()}) > 1:
        raise ValueError("y must hold labels of one kind, got text and numbers")
    names = getattr(selector, "feature_names_in_", None)
    if names is None:
        names = np.array([f"x{number}" for number in range(X.shape[1])], object)
    if broken := columns_not_finite(X):
        raise ValueError(
            "Input X must not have missing values (NaN) or infinity (inf), found in columns "
            f"[{listed(str(name) for name in names[broken])}]; impute or drop them"
        )
    return Data(X, y, names, _checked_metadata(selector, metadata, len(X), splits_by_group))


def votes_of(estimator: BaseEstimator | None) -> NeighbourVotes | None:
    """Return the settings of the votes of nearest neighbours; None if subsets are valued by another estimator."""
    if estimator is None:
        return NeighbourVotes()
    return estimator if isinstance(estimator, NeighbourVotes) else None


def _check_numbers(given: BaseEstimator) -> None:
    """Refuse True and False as numbers; scikit-learn takes them for 1 and 0."""
    for name, rules in given._parameter_constraints.items():
        value = getattr(given, name)
        numbers = any(isinstance(rule, Interval) or rule in (Integral, Real, "random_state") for rule in rules)
        if numbers and isinstance(value, bool):
            raise InvalidParameterError(f"{name} must be a number, not a truth value, got {value}")


def _check_frame(X: Any) -> None:
    """Refuse text, dates, and a data frame with two columns of the same name."""
    if isinstance(X, np.ndarray) and X.dtype.kind in "US":
        raise ValueError(f"X must hold numbers only, got an array of text ({X.dtype})")
    if not (hasattr(X, "columns") and hasattr(X, "shape")):
        return
    if repeated := sorted(str(name) for name, times in Counter(X.columns).items() if times > 1):
        raise ValueError(f"X must have a different name for every column, got [{listed(repeated)}] more than once")
    if text := _columns_of_text(X):
        raise ValueError(
            f"X must hold numbers only, got text or dates in columns [{listed(text)}]; encode or drop them"
        )


def _checked_metadata(
    selector: BaseEstimator, given: dict[str, Any], rows: int, splits_by_group: bool
) -> dict[str, np.ndarray]:
    """Return the metadata of `fit`; refuse what has the wrong length or would not be used."""
    voting = votes_of(selector.estimator) is not None
    found = {name: np.asarray(value) for name, value in given.items() if value is not None}
    if strange := sorted(set(found) - set(METADATA)):
        raise TypeError(f"fit takes X, y, {' and '.join(METADATA)}, got {shown(strange[0])}")
    for name, value in found.items():
        if value.shape != (rows,):
            raise ValueError(f"{name} must have one value for each of the {rows} rows, got shape {value.shape}")
        if voting and not (name == "groups" and splits_by_group):
            raise ValueError(f"{name} cannot be used by the votes of nearest neighbours; give an estimator that can")
    return found


def task_for(y: np.ndarray, estimator: BaseEstimator | None) -> str:
    """Return "classification" or "regression": the kind of the estimator or, for the votes, the kind of `y`."""
    votes = votes_of(estimator)
    if votes is None:
        return "regression" if is_regressor(estimator) else "classification"
    return task_of(y, one_of("task", votes.task, TASKS))


class Choice(NamedTuple):
    """Numbers of the features that every subset has, that no subset has, and that enter together."""

    forced: list[int]
    forbidden: list[int]
    feature_groups: list[list[int]] | None


def choice_by_number(selector: BaseEstimator, names: np.ndarray) -> Choice:
    """Return what a selector forces, forbids and groups, as numbers of features."""
    number_of = {text: number for number, text in enumerate(getattr(selector, "feature_names_in_", ()))}
    forced = _numbers("forced", selector.forced, number_of, len(names))
    forbidden = _numbers("forbidden", selector.forbidden, number_of, len(names))
    groups = selector.feature_groups
    if groups is None:
        return Choice(forced, forbidden, None)
    labelled = groups.items() if isinstance(groups, dict) else enumerate(groups)
    by_number = {label: _numbers("feature_groups", group, number_of, len(names)) for label, group in labelled}
    return Choice(forced, forbidden, checked_groups("feature_groups", by_number, [shown(name) for name in names]))


def _numbers(argument: str, given: Any, number_of: dict[str, int], many: int) -> list[int]:
    """Return the numbers of features given by number or by name."""
    found = []
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ValueError(f"{argument} must list features by name or number, got {shown(given)}")
    for one in given:
        if isinstance(one, str):
            if not number_of:
                raise ValueError(f"{argument} must give features by number, because X has no names, got {shown(one)}")
            if one not in number_of:
                raise ValueError(f"{argument} must name features of X, got {shown(one)}{did_you_mean(one, number_of)}")
            found.append(number_of[one])
        elif isinstance(one, int | np.integer) and not isinstance(one, bool) and 0 <= one < many:
            found.append(int(one))
        else:
            raise ValueError(f"{argument} must hold names or numbers from 0 to {many - 1}, got {shown(one)}")
    return found


def constant_columns(data: Data, choice: Choice) -> list[int]:
    """Return the constant columns, which are left out of the search, and warn about them.

    A group is left out only if all of its columns are constant.
    """
    X, (wanted, unwanted, groups) = data.X, choice
    suspect = np.flatnonzero((X[:1000] == X[0]).all(axis=0)).tolist()  # a look at every row of every column takes long
    constant = {number for number in suspect if (X[:, number] == X[0, number]).all()}
    units = [[number] for number in range(X.shape[1])] if groups is None else groups
    free = [unit for unit in units if not {*wanted, *unwanted}.intersection(unit)]
    useless = sorted(number for unit in free if constant.issuperset(unit) for number in unit)
    if not useless:
        return []
    if all(constant.issuperset(unit) for unit in free) and not wanted:
        raise ValueError(f"X must have a column that changes, got {len(constant)} constant of {X.shape[1]}")
    which = listed(str(name) for name in data.names[useless])
    warnings.warn(f"columns [{which}] are constant and left out of the search", UserWarning, stacklevel=6)
    return useless


def _columns_of_text(X: Any) -> list[Hashable]:
    """Return the columns of a data frame that hold text or dates."""
    kinds = {getattr(one, "kind", "O") for one in getattr(X, "dtypes", [])}
    if kinds <= set("biuf"):  # no need to look at thousands of columns one by one
        return []
    return [name for name in X.columns if not _holds_numbers(np.asarray(X[name]))]


def _holds_numbers(column: np.ndarray) -> bool:
    """Whether a column holds numbers, also if they are written as text; dates are not numbers."""
    if column.dtype.kind in "OUS" and any(isinstance(value, str) for value in column[:1000]):
        try:
            column.astype(np.float64)
        except (TypeError, ValueError):
            return False
    return column.dtype.kind not in "mM"


def checked_memory(given: float | str | None) -> int | None:
    """Return a limit in bytes; it is given as a number or as a text such as "2 GB"."""
    if given is None:
        return None
    text = str(given).strip().upper().replace("IB", "B")
    number = text.rstrip("KMGTB ")
    unit = text[len(number) :].strip()
    try:
        found = int(float(number) * UNITS[unit])
    except (KeyError, ValueError, OverflowError):
        found = 0
    if isinstance(given, bool) or found < 1:
        raise ValueError(f"max_memory must be a number of bytes or a text such as '2 GB', got {shown(given)}")
    return found


def room_for_search(max_memory: float | str | None, data: Data) -> int | None:
    """Return the bytes that the graph of a search may take: half of what the data leave."""
    limit = checked_memory(max_memory)
    if limit is None:
        return None
    if limit <= data.bytes:
        raise ValueError(
            f"max_memory must be more than the {bytes_in_words(data.bytes)} that the data take, got "
            f"{bytes_in_words(limit)}"
        )
    return (limit - data.bytes) // 2


def bytes_in_words(size: int) -> str:
    """Return a number of bytes with its unit."""
    unit = next(unit for unit in ("TB", "GB", "MB", "KB", "B") if size >= UNITS[unit] or unit == "B")
    return f"{size / UNITS[unit]:,.4g} {unit}"
