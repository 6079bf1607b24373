"""Data and names as users give them, checked; every complaint is one sentence."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, InvalidParameterError
from sklearn.utils.multiclass import type_of_target

from bestleaf.checks import cut, did_you_mean, listed, shown
from bestleaf.examples import columns_not_finite

MOST_CLASSES = 20  # more different whole numbers than this are taken for real targets


def check_truth_values(selector: Any) -> None:
    """Refuse True and False where a number is meant; Python takes them for 1 and 0, and so does scikit-learn."""
    for name, rules in selector._parameter_constraints.items():
        value = getattr(selector, name)
        numbers = any(isinstance(rule, Interval) or rule in (Integral, Real, "random_state") for rule in rules)
        if numbers and isinstance(value, bool):
            raise InvalidParameterError(f"{name} must be a number, not a truth value, got {value}")


def check_frame(X: Any) -> None:
    """Refuse a data frame with a name twice or with text."""
    names = names_of(X)
    repeated = sorted(str(name) for name, times in Counter(names).items() if times > 1)
    if repeated:
        raise ValueError(f"X must have a different name for every column, got [{listed(repeated)}] more than once")
    if isinstance(X, np.ndarray) and X.dtype.kind in "US":
        raise ValueError(f"X must hold numbers only, got an array of text ({X.dtype})")
    text = columns_of_text(X)
    if text:
        raise ValueError(
            f"X must hold numbers only, got text or dates in columns [{listed(text)}]; encode or drop them"
        )


def check_finite(X: np.ndarray, names: np.ndarray) -> None:
    """Refuse gaps and infinities, naming the columns."""
    if broken := columns_not_finite(X):
        raise ValueError(
            "Input X must not have missing values (NaN) or infinity (inf), found in columns "
            f"[{listed(str(name) for name in names[broken])}]; impute or drop them"
        )


def task_of(y: np.ndarray, given: str) -> str:
    """Return whether the targets are classes or real numbers."""
    if given != "auto":
        return given
    with np.errstate(over="ignore", invalid="ignore"):  # the largest numbers there are
        kind = type_of_target(y, input_name="y", raise_unknown=True)
    numbers = np.asarray(y).dtype.kind in "iuf"
    many = kind == "multiclass" and numbers and len(np.unique(y)) > MOST_CLASSES
    return "regression" if many or kind.startswith("continuous") else "classification"


def columns_named(argument: str, given: Iterable[Any], names: Iterable[str], features: int) -> list[int]:
    """Return the numbers of features given by number or by name."""
    number_of = {text: number for number, text in enumerate(names)}
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
        elif isinstance(one, int | np.integer) and not isinstance(one, bool) and 0 <= one < features:
            found.append(int(one))
        else:
            raise ValueError(f"{argument} must hold names or numbers from 0 to {features - 1}, got {shown(one)}")
    return found


def check_groups(groups: list[list[int]], labels: Iterable[Any], names: np.ndarray) -> None:
    """Refuse groups that share a feature or leave some out, by their names."""
    owner: dict[int, Any] = {}
    for label, group in zip(labels, groups, strict=True):
        for feature in group:
            if feature in owner:
                both = f"{shown(owner[feature])} and {shown(label)}"
                raise ValueError(f"feature_groups must not overlap, got {shown(names[feature])} in groups {both}")
            owner[feature] = label
    lost = [str(name) for number, name in enumerate(names) if number not in owner]
    if lost:
        more = f" and {len(lost) - 10} more" if len(lost) > 10 else ""
        raise ValueError(
            f"feature_groups must hold every feature of X, got none with {cut(', '.join(lost[:10]), 100)}{more}"
        )


def useless_columns(
    X: np.ndarray,
    names: np.ndarray,
    wanted: Iterable[int],
    unwanted: Iterable[int],
    groups: list[list[int]] | None = None,
) -> list[int]:
    """Return the columns that never change and so tell no two examples apart, with a warning that names them.

    Of a group they are useless only if none of it changes.
    """
    suspect = np.flatnonzero((X[:1000] == X[0]).all(axis=0)).tolist()  # a walk through every column takes long
    constant = {number for number in suspect if (X[:, number] == X[0, number]).all()}
    units = [[number] for number in range(X.shape[1])] if groups is None else groups
    free = [unit for unit in units if not {*wanted, *unwanted}.intersection(unit)]
    useless = sorted(number for unit in free if constant.issuperset(unit) for number in unit)
    if not useless:
        return []
    if all(constant.issuperset(unit) for unit in free) and not set(wanted):
        raise ValueError(f"X must have a column that changes, got {len(constant)} constant of {X.shape[1]}")
    which = listed(str(name) for name in names[useless])
    warnings.warn(f"columns [{which}] are constant and left out of the search", UserWarning, stacklevel=5)
    return useless


def names_of(X: Any) -> list[Any]:
    """Return the column names of a data frame; none for anything else."""
    return list(X.columns) if hasattr(X, "columns") and hasattr(X, "shape") else []


def columns_of_text(X: Any) -> list[Any]:
    """Return the columns of a data frame that hold text or dates."""
    found = []
    kinds = [getattr(one, "kind", "O") for one in getattr(X, "dtypes", ["O"])]
    for name in [] if set(kinds) <= set("biuf") else names_of(X):  # a look at thousands of columns takes a while
        column = np.asarray(X[name])
        if column.dtype.kind in "mM":
            found.append(name)
        elif column.dtype.kind in "OUS" and any(isinstance(value, str) for value in column[:1000]):
            try:
                column.astype(np.float64)
            except (TypeError, ValueError):
                found.append(name)
    return found
