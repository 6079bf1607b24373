"""Closed forms beside the cross-validation of scikit-learn.

The table has the time of one subset on 500 rows and 50 features with 5 folds: scikit-learn fits and scores, the closed
form computes the same scores in batches of 200 subsets.
`python benchmarks/closed_forms.py`
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import perf_counter

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier
from sklearn.metrics import make_scorer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from bestleaf import EstimatorOracle
from bestleaf.features.ranking import concordance

console = Console(width=150)
ROWS, FEATURES, SIZES, BATCH = 500, 50, (5, 10, 25, 50), 200


def table(rows: int, features: int, seed: int = 0, alike: float = 0.5, true: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Return correlated columns, and a target that depends on some of them."""
    rng = np.random.default_rng(seed)
    near = alike ** np.abs(np.subtract.outer(np.arange(features), np.arange(features)))
    X = rng.normal(size=(rows, features)) @ np.linalg.cholesky(near).T
    weights = np.zeros(features)
    weights[rng.permutation(features)[:true]] = rng.normal(size=true)
    return X, X @ weights + 2.0 * rng.normal(size=rows)


def fastest(work: Callable[[], object], times: int) -> float:
    """Return the shortest of some times, in seconds."""
    found = []
    for _ in range(times):
        began = perf_counter()
        work()
        found.append(perf_counter() - began)
    return min(found)


def forms() -> None:
    X, real = table(ROWS, FEATURES)
    two, three = (real > 0).astype(int), np.digitize(real, np.quantile(real, [1 / 3, 2 / 3]))
    cases: list[tuple[BaseEstimator, str, np.ndarray]] = [
        (Ridge(), "r2", real),
        (Ridge(), "concordance", real),
        (make_pipeline(StandardScaler(), Ridge()), "r2", real),
        (LinearRegression(), "r2", real),
        (RidgeClassifier(), "accuracy", two),
        (RidgeClassifier(), "roc_auc", two),
        (RidgeClassifier(), "accuracy", three),
    ]
    shown = Table(title=f"One subset, 5 folds, {ROWS} x {FEATURES}: microseconds, and how many times as fast")
    heads = [f"{size} features" for size in SIZES]
    for head in ("estimator", "score", *heads, "largest difference"):
        shown.add_column(head)
    for estimator, scoring, y in cases:
        oracle = EstimatorOracle(X, y, estimator=estimator, scoring=scoring, cv=5)
        scorer = make_scorer(concordance) if scoring == "concordance" else scoring
        closed, rng, cells, worst = oracle.closed_form, np.random.default_rng(1), [], 0.0
        assert closed is not None
        for size in SIZES:
            subsets = [np.sort(rng.permutation(FEATURES)[:size]) for _ in range(BATCH)]
            scores = closed.scores(subsets, range(5))
            mine = fastest(partial(closed.scores, subsets, range(5)), 10) / BATCH
            one = X[:, subsets[0]]
            theirs = fastest(partial(cross_val_score, estimator, one, y, scoring=scorer, cv=5), 10)
            plain = cross_val_score(estimator, one, y, scoring=scorer, cv=5)
            worst = max(worst, float(np.nanmax(np.abs(plain - scores[0]))))
            cells.append(f"{1e6 * theirs:,.0f} / {1e6 * mine:,.1f} = {theirs / mine:,.0f}")
        name = type(estimator[-1]).__name__ + ", scaled" if hasattr(estimator, "steps") else type(estimator).__name__
        shown.add_row(name, scoring, *cells, f"{worst:.1e}")
    console.print(shown)


if __name__ == "__main__":
    with threadpool_limits(1):
        forms()
