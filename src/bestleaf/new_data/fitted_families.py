"""Families of candidates for an estimator: orders that cost few fits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.pipeline import Pipeline

from bestleaf.new_data.families import f_test, forest_importance
from bestleaf.new_data.part import Candidates, Part, Subset

FEW_UNITS = 24  # with more free units, the fits of a second order are few beside those of an elimination


def fitted_families(part: Part) -> Iterator[tuple[str, Candidates]]:
    """Yield the families for an estimator, with their names.

    An estimator that says how important features are gives the order of elimination. For another one a random forest
    gives the order. A second order is tried only where its fits are few beside those of dropping units one by one.
    """
    free = np.array(part.choosable.free)
    by_itself = elimination_by_importance(part)
    if by_itself is not None:
        yield "elimination", by_itself
    else:
        yield "importance", part.choosable.cut(free[np.argsort(-forest_importance(part), kind="stable")].tolist())
    if by_itself is None or len(free) > FEW_UNITS:
        yield "F-test", part.choosable.cut(free[np.argsort(-f_test(part), kind="stable")].tolist())


def elimination_by_importance(part: Part) -> Candidates | None:
    """Return subsets of each size: the least important units are dropped, and the estimator is fitted again.

    None if the estimator does not say how important features are.
    """
    choosable = part.choosable
    subset, found = choosable.everything, dict[int, Subset]()
    for size in reversed(choosable.sizes):
        importance = importance_of(part.model(subset), len(choosable.columns(subset)))
        if importance is None:
            return None
        order = np.sort(choosable.columns(subset))  # the estimator gets the columns in this order
        of_column = dict(zip(order.tolist(), importance.tolist(), strict=True))
        of_unit = {unit: sum(of_column[column] for column in choosable.groups[unit]) for unit in subset}
        loose = sorted((unit for unit in subset if unit not in choosable.forced), key=lambda unit: -of_unit[unit])
        subset = tuple(sorted((*choosable.forced, *loose[: size - len(choosable.forced)])))
        found[size] = subset
    return dict(sorted(found.items()))


def importance_of(fitted: object, columns: int) -> np.ndarray | None:
    """Return the importance of each column by the fitted estimator itself; None if it has none."""
    last = fitted
    if isinstance(fitted, Pipeline):
        if not _keeps_columns(fitted[:-1], columns):
            return None
        last = fitted.steps[-1][1]
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
