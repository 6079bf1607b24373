"""bestleaf beside what scikit-learn offers: the same split, the same objective, the same held-out examples."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.feature_selection import (
    RFECV,
    SelectKBest,
    SequentialFeatureSelector,
    mutual_info_classif,
    mutual_info_regression,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bestleaf.datasets.tables import Table
from bestleaf.examples import unit_range
from bestleaf.oracles import KNNOracle
from bestleaf.selector.honest import Examples, splits, unseen_score
from bestleaf.selector.inputs import task_of
from bestleaf.selector.on_table import NEIGHBOURS, check_rows, select_from_table

SMALLEST_GAIN = 1e-3  # for which sequential selection adds a feature


@dataclass(frozen=True)
class Compared:
    """One way to select features, and what came of it."""

    method: str
    columns: tuple[str, ...]  # of the file
    value: float  # of the objective of bestleaf, on the examples selected on
    held_out: float
    seconds: float


def compare(table: Table, *, holdout: float = 0.25, seed: int = 0, **keywords: Any) -> Iterator[Compared]:
    """Yield what each method selects of the same examples, and what that is worth on the others.

    Parameters
    ----------
    table : Table
        As `bestleaf.datasets.prepared` makes it.
    holdout : float, default=0.25
        Share of the examples nobody selects on.
    seed : int, default=0
        Everything random follows from it.
    **keywords
        Further keywords of `BestLeafSelector`.
    """
    check_rows(len(table.X), holdout, NEIGHBOURS)
    y = table.y.to_numpy()
    task = task_of(y, keywords.pop("task", "auto"))
    y = np.unique(y, return_inverse=True)[1] if task == "classification" else unit_range(y.astype(np.float64))
    kept, aside = next(splits(holdout, Examples(table.X, y, {}), task, seed))
    table = table.filled_from(kept)
    X = table.X.to_numpy(np.float64)
    part = Table(
        table.X.iloc[kept], table.y.iloc[kept], table.groups, table.original.iloc[kept], table.target, table.notes
    )
    oracle = KNNOracle(X[kept], y[kept], task=task, n_neighbors=NEIGHBOURS, subsample=2)  # only for exact values
    place = {name: number for number, name in enumerate(table.X.columns)}

    def judged(method: str, columns: list[int], seconds: float) -> Compared:
        taken = (_named(name, [place[one] for one in group], columns) for name, group in table.groups.items())
        names = tuple(name for name in taken if name)
        held_out = unseen_score(
            X[kept][:, columns],
            y[kept],
            X[aside][:, columns],
            y[aside],
            task=task,
            n_neighbors=NEIGHBOURS,
            scale=True,
        ).score
        return Compared(method, names, oracle.value(columns), held_out, seconds)

    started = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a budget that ends the search is part of the comparison
        ours = select_from_table(part, task=task, random_state=seed, n_neighbors=NEIGHBOURS, **keywords)
    found = [place[name] for name in ours.selector.subset_]
    interrupted = ours.selector.certificate_.reason == "interrupted"
    end = " (interrupted)" if interrupted else " (ended by its budget)"
    name = "bestleaf" + ("" if ours.selector.certificate_.settled else end)
    yield judged(name, found, perf_counter() - started)
    if interrupted:
        raise KeyboardInterrupt
    for method, select in _methods(task, seed, len(found)).items():
        started = perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # linear models that have not converged
            support = select(X[kept], y[kept])
        yield judged(method, np.flatnonzero(support).tolist(), perf_counter() - started)
    yield judged("all features", list(range(X.shape[1])), 0.0)


def _named(name: str, places: list[int], columns: list[int]) -> str:
    """Return the name of a column of the file if it was taken, and how much of it: rivals take categories in parts."""
    taken = len(set(places) & set(columns))
    return name if taken == len(places) else f"{name} ({taken} of {len(places)} categories)" if taken else ""


def _methods(task: str, seed: int, many: int) -> dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]]:
    """Return the rivals: (X, y) -> which columns."""
    classes = task == "classification"
    model = KNeighborsClassifier(NEIGHBOURS) if classes else KNeighborsRegressor(NEIGHBOURS)
    neighbours = make_pipeline(StandardScaler(), model)
    linear = LogisticRegression(max_iter=1000) if classes else Ridge()
    information = mutual_info_classif if classes else mutual_info_regression

    def sequential(X: np.ndarray, y: np.ndarray) -> np.ndarray:
        scoring = "roc_auc_ovr" if classes else "r2"
        if X.shape[1] == 1:
            return np.ones(1, bool)
        most = {"n_features_to_select": "auto", "tol": SMALLEST_GAIN}
        return SequentialFeatureSelector(neighbours, scoring=scoring, cv=5, **most).fit(X, y).get_support()

    def recursive(X: np.ndarray, y: np.ndarray) -> np.ndarray:
        if X.shape[1] == 1:
            return np.ones(1, bool)
        return RFECV(linear, cv=5).fit(StandardScaler().fit_transform(X), y).support_

    def ranked(X: np.ndarray, y: np.ndarray) -> np.ndarray:
        return SelectKBest(lambda X, y: information(X, y, random_state=seed), k=many).fit(X, y).get_support()

    return {
        "sequential forward (5 nearest neighbours, 5 folds)": sequential,
        f"RFECV ({'logistic regression' if classes else 'ridge'}, 5 folds)": recursive,
        f"mutual information, the {many} best columns": ranked,
    }
