"""What a user gives to a selector, checked: data, names of features, metadata of rows, what may be chosen."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.base import BaseEstimator, is_regressor
from sklearn.utils.metadata_routing import MetadataRouter, process_routing
from sklearn.utils.validation import check_X_y, validate_data

from bestleaf.checks import listed, one_of, shown
from bestleaf.columns import EncodedRows, encoder_for
from bestleaf.columns.check import told_in_python
from bestleaf.columns.encoder import OwnEncoder
from bestleaf.columns.frames import check_target, dense, is_frame
from bestleaf.features.data import columns_not_finite, task_of
from bestleaf.features.neighbours import TASKS, NeighbourVotes
from bestleaf.features.rows import checked_weights, group_numbers
from bestleaf.scikit import Interval, InvalidParameterError, takes_missing

if TYPE_CHECKING:
    from bestleaf.selection.selector import BestLeafSelector

METADATA = ("sample_weight", "groups")  # what `fit` takes in addition to X and y
FeatureGroups = Sequence[Iterable[int | str]] | Mapping[str, Iterable[int | str]]  # features that enter together


class Data(NamedTuple):
    """Rows of data, and the names of the columns."""

    X: np.ndarray
    y: np.ndarray
    names: np.ndarray  # of the features: x0, x1, … if the data have none
    groups: np.ndarray | None = None  # of the rows, as given; rows of one belong together
    weights: np.ndarray | None = None
    encoded: EncodedRows | None = None  # what X was made of, if a feature can be several columns of X

    def part(self, rows: np.ndarray | slice) -> Data:
        """Return some of the rows."""
        groups, weights = (None if one is None else one[rows] for one in (self.groups, self.weights))
        encoded = None if self.encoded is None else self.encoded.part(rows)
        return Data(self.X[rows], self.y[rows], self.names, groups, weights, encoded)

    def learned_from(self, rows: np.ndarray) -> Data:
        """Return the same rows, with missing values filled and levels known from some of them only."""
        return self if self.encoded is None else self._replace(X=self.encoded.learned_from(rows))

    def columns_of(self, features: Iterable[int]) -> list[int]:
        """Return the columns of X that some features are."""
        if self.encoded is None:
            return [int(feature) for feature in features]
        columns = self.encoded.encoder.columns_
        return [column for feature in features for column in columns[feature]]

    def features_of(self, columns: Iterable[int]) -> list[int]:
        """Return the features that some columns of X belong to, in order."""
        if self.encoded is None:
            return list(columns)
        owners = self.encoded.encoder.owners_
        return sorted({owners[column] for column in columns})


def checked_fit_data(selector: BestLeafSelector, X: Any, y: Any, metadata: Mapping[str, ArrayLike | None]) -> Data:
    """Return the data after the checks of scikit-learn and ours; an error about a column names it."""
    _check_numbers(selector)
    _check_together(selector)
    if get_config()["enable_metadata_routing"] and isinstance(selector.get_metadata_routing(), MetadataRouter):
        process_routing(selector, "fit", **metadata)  # refuses what an estimator neither asks for nor declines
    check_target(y)
    X, encoder, encoded = dense(X), encoder_for(selector.encode, selector.estimator), None
    if encoder is None:
        _check_frame(X)
        with np.errstate(over="ignore", invalid="ignore"):  # X may hold the largest numbers there are
            X, y = validate_data(
                selector, X, y, dtype=(np.float64, np.float32), ensure_all_finite=False, ensure_min_samples=2
            )
    else:  # a feature is a column of the table
        encoded = EncodedRows.of(encoder, X, y)
        validate_data(selector, X, skip_check_array=True)
        strange = is_frame(X) and isinstance(selector.encode, str)
        X, y = check_X_y(encoded.numbers(), y, ensure_all_finite=False, ensure_min_samples=2, estimator=selector)
        if strange and (told := told_in_python(encoded.frame, y, encoded.read)) is not None:
            warn(told)
        encoded = encoded._replace(read=None)
    _check_labels(y)
    names = _names_of(selector)
    if broken := columns_not_finite(X, missing=takes_missing(selector.estimator)):
        owners = broken if encoder is None else [encoder.owners_[column] for column in broken]
        which = listed(str(name) for name in names[owners])
        if encoder is None:
            what = f"values (NaN) or infinity (inf), found in columns [{which}]"
            infinite = bool(np.isinf(X[:, broken]).any())
            way = "replace infinite numbers" if infinite else "encode='auto' fills them, or drop them"
            raise ValueError(f"Input X must not have missing {what}; {way}")
        way = "its encoder must fill them" if isinstance(encoder, OwnEncoder) else "impute='median' fills them"
        got = f"got some in columns [{which}]; {way}"
        raise ValueError(f"estimator must take missing values if they are kept, {got}")
    encoded = None if encoder is None or encoder.changes_nothing else encoded
    return Data(X, y, names, *_groups_and_weights(metadata, len(X)), encoded)


def _names_of(selector: BestLeafSelector) -> np.ndarray:
    """Return the names of the features."""
    numbered = np.array([f"x{number}" for number in range(selector.n_features_in_)], object)
    return getattr(selector, "feature_names_in_", numbered)


def _check_labels(y: np.ndarray) -> None:
    """Refuse labels of different kinds, which cannot be sorted."""
    if y.dtype.kind == "O" and (missing := sum(label is None or label != label for label in y.tolist())):
        raise ValueError(f"y must have no missing values, got {missing:,} of {len(y):,} rows without one")
    if y.dtype.kind == "O" and len({isinstance(label, str) for label in y.tolist()}) > 1:
        raise ValueError("y must hold labels of one kind, got text and numbers")


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


def _check_together(selector: BestLeafSelector) -> None:
    """Refuse keywords that do not go with `choose`, and a list without folds."""
    if isinstance(selector.cv, list | tuple) and not selector.cv:
        raise ValueError(f"cv must give at least one split, got none from {selector.cv}")
    training = selector.choose == "training"
    for name in ("n_features_to_select", "holdout") if training else ("search",):
        if getattr(selector, name) is not None:
            other = "new_data" if training else "training"
            raise ValueError(f"{name} needs choose={other!r}, got choose={selector.choose!r}")


def _check_frame(X: pd.DataFrame | np.ndarray) -> None:
    """Refuse text, dates, and a data frame with two columns of the same name."""
    if isinstance(X, np.ndarray) and X.dtype.kind in "US":
        raise ValueError(f"X must hold numbers only, got an array of text ({X.dtype})")
    if not (hasattr(X, "columns") and hasattr(X, "shape")):
        return
    if repeated := sorted(str(name) for name, times in Counter(X.columns).items() if times > 1):
        raise ValueError(f"X must have a different name for every column, got [{listed(repeated)}] more than once")
    if text := _columns_of_text(X):
        got = f"text or dates in columns [{listed(text)}]"
        raise ValueError(f"X must hold numbers only, got {got}; encode='auto' takes them, or drop them")


def _groups_and_weights(
    given: Mapping[str, ArrayLike | None], rows: int
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return the groups and the weights of the rows; refuse what has the wrong length or an unknown name."""
    found = {name: np.asarray(value) for name, value in given.items() if value is not None}
    if strange := sorted(set(found) - set(METADATA)):
        raise TypeError(f"fit takes X, y, {' and '.join(METADATA)}, got {shown(strange[0])}")
    for name, value in found.items():
        if value.shape != (rows,):
            raise ValueError(f"{name} must have one value for each of the {rows} rows, got shape {value.shape}")
        (group_numbers if name == "groups" else checked_weights)(value, rows)
    return found.get("groups"), found.get("sample_weight")


def task_for(y: np.ndarray, estimator: BaseEstimator | Sequence[BaseEstimator] | None) -> str:
    """Return "classification" or "regression": the kind of the first estimator or, for the votes, the kind of `y`."""
    if isinstance(estimator, list | tuple):
        kinds = {task_for(y, one) for one in estimator}
        if len(kinds) != 1:
            got = "none" if not kinds else "classifiers and regressors"
            raise ValueError(f"estimator must be one estimator or a list of estimators of one kind, got {got}")
        return kinds.pop()
    votes = votes_of(estimator)
    if votes is None:
        return "regression" if is_regressor(estimator) else "classification"
    return task_of(y, one_of("task", votes.task, TASKS))


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn about the line of the user's program that called bestleaf, however deep this call is."""
    level, frame, ours = 1, sys._getframe(), ("bestleaf.", "sklearn.", "contextlib")
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith(ours):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)


def _columns_of_text(X: pd.DataFrame) -> list[Hashable]:
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
