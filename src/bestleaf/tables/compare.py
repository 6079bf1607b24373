"""Compare bestleaf with the selectors of scikit-learn: on the same split and the same held-out rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from sklearn import feature_selection as selection
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from bestleaf.features.data import task_of, unit_range
from bestleaf.features.neighbours import KNNOracle, NeighbourVotes
from bestleaf.new_data import splits_of, votes_score
from bestleaf.tables.encode import Table
from bestleaf.tables.select import check_rows, select_from_table

NEIGHBOURS = 5  # neighbours that vote
SMALLEST_GAIN = 1e-3  # sequential selection adds a feature only for a larger gain


@dataclass(frozen=True)
class Compared:
    """One method of feature selection, and its result."""

    method: str
    columns: tuple[str, ...]  # columns of the file that it selected
    score: float  # what bestleaf maximises, on the rows that were searched
    held_out: float  # the same measure on the held-out rows
    seconds: float


def compare(table: Table, *, holdout: float = 0.25, random_state: int = 0, **keywords: Any) -> Iterator[Compared]:
    """Yield what each method selects on the same rows, with its score on the held-out rows.

    Parameters
    ----------
    table : Table
        As `bestleaf.tables.prepared` makes it.
    holdout : float, default=0.25
        Fraction of the rows that are held out from all methods.
    random_state : int, default=0
        Everything random follows from it.
    **keywords
        Further keywords of `bestleaf.tables.select.select_from_table`.
    """
    check_rows(len(table.X), holdout, NEIGHBOURS)
    y = table.y.to_numpy()
    task = task_of(y, keywords.pop("task", "auto"))
    y = np.unique(y, return_inverse=True)[1] if task == "classification" else unit_range(y.astype(np.float64))
    votes = NeighbourVotes(NEIGHBOURS, task=task)
    kept, aside = splits_of(holdout, table.X, y, votes, random_state)[0]
    table = table.filled_from(kept)
    part = replace(table, X=table.X.iloc[kept], y=table.y.iloc[kept], original=table.original.iloc[kept], impute=None)
    names, X = list(table.X.columns), table.X.to_numpy(np.float64)
    oracle = KNNOracle(X[kept], y[kept], task=task, n_neighbors=NEIGHBOURS, subsample=2)  # only for exact values

    def judged(method: str, support: np.ndarray, seconds: float) -> Compared:
        taken = np.flatnonzero(support)
        chosen = {names[number] for number in taken}
        columns = tuple(text for name, group in table.groups.items() if (text := _in_words(name, group, chosen)))
        held_out = votes_score(votes, X[kept][:, taken], y[kept], X[aside][:, taken], y[aside]).score
        return Compared(method, columns, oracle.value(taken.tolist()), held_out, seconds)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of searches ended by a budget, and of linear models that did not converge
        started = perf_counter()
        ours = select_from_table(part, task=task, random_state=random_state, n_neighbors=NEIGHBOURS, **keywords)
        found = ours.selector.certificate_
        interrupted = found.reason == "interrupted"
        end = "" if found.settled else " (interrupted)" if interrupted else " (ended by its budget)"
        yield judged(f"bestleaf{end}", ours.selector.support_, perf_counter() - started)
        if interrupted:
            raise KeyboardInterrupt
        for method, rival in _rivals(task, random_state, int(ours.selector.support_.sum())).items():
            started = perf_counter()
            support = np.ones(1, bool)  # with one column there is nothing to choose
            if X.shape[1] > 1:
                support = rival.fit(X[kept], y[kept])[-1].get_support()
            yield judged(method, support, perf_counter() - started)
        yield judged("all features", np.ones(X.shape[1], bool), 0.0)


def _in_words(name: str, columns: list[str], chosen: set[str]) -> str:
    """Return the name of a column of the file, and how many of its categories were selected; empty if none was."""
    taken = len(chosen.intersection(columns))
    return name if taken == len(columns) else f"{name} ({taken} of {len(columns)} categories)" if taken else ""


def _rivals(task: str, random_state: int, many: int) -> dict[str, Pipeline]:
    """Return pipelines that end in a selector of scikit-learn; `many` is the number of columns bestleaf selected."""
    classes = task == "classification"
    voters = KNeighborsClassifier(NEIGHBOURS) if classes else KNeighborsRegressor(NEIGHBOURS)
    linear = LogisticRegression(max_iter=1000) if classes else Ridge()
    information = selection.mutual_info_classif if classes else selection.mutual_info_regression
    sequential = selection.SequentialFeatureSelector(
        make_pipeline(StandardScaler(), voters),
        n_features_to_select="auto",
        tol=SMALLEST_GAIN,
        scoring="roc_auc_ovr" if classes else "r2",
        cv=5,
    )
    best = selection.SelectKBest(partial(information, random_state=random_state), k=many)
    return {
        "sequential forward (5 nearest neighbours, 5 folds)": make_pipeline(sequential),
        f"RFECV ({'logistic regression' if classes else 'ridge'}, 5 folds)": make_pipeline(
            StandardScaler(), selection.RFECV(linear, cv=5)
        ),
        f"mutual information, the {many} best columns": make_pipeline(best),
    }
