"""Families of candidates for an estimator: orders that cost few fits."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path
from sklearn.pipeline import Pipeline

from bestleaf.new_data.families import f_test, forest_importance
from bestleaf.new_data.part import Candidates, Choosable, Part, Subset

FEW_UNITS = 24  # with more free units, the fits of other orders are few beside those of an elimination
AT_ONCE = 0.05  # of the units are dropped at once from a linear model; at least one
STEPS = 500  # of the path of a penalised model


def fitted_families(part: Part) -> Iterator[tuple[str, Candidates]]:
    """Yield the families for an estimator, with their names.

    An estimator that says how important features are gives the order of elimination. Three more orders are tried for
    an estimator that does not, and where their fits are few beside those of dropping units one by one.
    """
    free = np.array(part.choosable.free)
    by_itself = elimination_by_importance(part)
    if by_itself is not None:
        yield "elimination", by_itself
    if by_itself is None or len(free) > FEW_UNITS:
        yield "importance", part.choosable.cut(free[np.argsort(-forest_importance(part), kind="stable")].tolist())
        yield "F-test", part.choosable.cut(free[np.argsort(-f_test(part), kind="stable")].tolist())
        yield "L1 path", part.choosable.cut(free[l1_order(part)].tolist())


def l1_order(part: Part) -> np.ndarray:
    """Return the places of the free units in the order in which they enter a linear model as its L1 penalty falls.

    Of units that say the same, the first to enter takes the others' place: that is what the F-test does not see. More
    than two classes have a model each; a unit counts from where it enters the first of them.
    """
    X, units, place = part.standardised_free(), part.choosable.free, 0
    classes = np.unique(part.y)
    codes = [part.y] if part.task == "regression" else [part.y == one for one in classes[len(classes) == 2 :]]
    entered = np.full(X.shape[1], np.inf)
    for code in codes:
        target = np.asarray(code, np.float64)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # columns that say the same
            order = lars_path(X, target - target.mean(), method="lasso", max_iter=STEPS)[1]
        found = np.array(list(dict.fromkeys(order)), int)
        entered[found] = np.minimum(entered[found], np.arange(len(found)))
    first = []
    for unit in units:  # a unit enters with its first column
        many = len(part.choosable.groups[unit])
        first.append(entered[place : place + many].min())
        place += many
    return np.argsort(first, kind="stable")


def elimination_by_importance(part: Part) -> Candidates | None:
    """Return subsets of each size: the least important units are dropped, and the estimator is fitted again.

    Coefficients of a linear model change a lot when a column is dropped that says the same as another one. So few units
    are dropped before it is fitted again. None if the estimator does not say how important features are.
    """
    choosable = part.choosable
    subset, dropped = choosable.everything, list[int]()  # of those dropped, the last first
    loose = [unit for unit in subset if unit not in choosable.forced]
    for size in reversed(choosable.sizes):
        while len(subset) > size:
            fitted = part.model(subset)
            importance = importance_of(fitted, len(choosable.columns(subset)))
            if importance is None:
                return None
            at_once = max(1, int(AT_ONCE * len(subset))) if hasattr(last_step(fitted), "coef_") else len(subset)
            loose = _most_important_first(subset, importance, choosable)
            many = max(size, len(subset) - at_once) - len(choosable.forced)
            loose, dropped = loose[:many], [*loose[many:], *dropped]
            subset = tuple(sorted((*choosable.forced, *loose)))
    return choosable.cut([*loose, *dropped])


def _most_important_first(subset: Subset, importance: np.ndarray, choosable: Choosable) -> list[int]:
    """Return the units of a subset that are not forced, the most important first."""
    order = np.sort(choosable.columns(subset))  # the estimator gets the columns in this order
    of_column = dict(zip(order.tolist(), importance.tolist(), strict=True))
    of_unit = {unit: sum(of_column[column] for column in choosable.groups[unit]) for unit in subset}
    return sorted((unit for unit in subset if unit not in choosable.forced), key=lambda unit: -of_unit[unit])


def last_step(fitted: object) -> object:
    """Return the estimator itself or, of a pipeline, its last step."""
    return fitted.steps[-1][1] if isinstance(fitted, Pipeline) else fitted


def importance_of(fitted: object, columns: int) -> np.ndarray | None:
    """Return the importance of each column by the fitted estimator itself; None if it has none."""
    if isinstance(fitted, Pipeline) and not _keeps_columns(fitted[:-1], columns):
        return None
    last = last_step(fitted)
    for name in ("feature_importances_", "coef_"):
        found = getattr(last, name, None)
        if found is not None:
            found = np.abs(np.asarray(found.toarray() if hasattr(found, "toarray") else found, np.float64))
            found = found.reshape(-1, found.shape[-1]).sum(axis=0) if found.ndim > 1 else found
            return found if found.shape == (columns,) and np.isfinite(found).all() else None
    return None


def _keeps_columns(first: Pipeline, columns: int) -> bool:
    """Whether the first steps of a pipeline hand on the columns they get, in order, such as a scaler does.

    Other steps drop or mix columns: then the last step says how important something else is.
    """
    names = [f"column {number}" for number in range(columns)]
    try:
        return not len(first.steps) or list(first.get_feature_names_out(names)) == names
    except (AttributeError, TypeError, ValueError):  # a step that does not say what it gives
        return False
