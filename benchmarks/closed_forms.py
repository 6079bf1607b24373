"""Closed forms beside the cross-validation of scikit-learn; the best linear subset beside abess and forward selection.

The first table has the time of one subset on 500 rows and 50 features with 5 folds: scikit-learn fits and scores, the
closed form computes the same scores in batches of 200 subsets. At least 100 times as fast is asked for. The second has
the best subset by BIC: abess and forward selection find a good one, leaps and bounds the best one, with a proof.
`python benchmarks/closed_forms.py [forms] [subsets]`; abess is left out if it is not installed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from time import perf_counter

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.base import BaseEstimator
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import make_scorer
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from bestleaf import EstimatorOracle, best_linear_subset
from bestleaf.certificate.linear import criterion_value, error_of, growth, moments
from bestleaf.features.scoring import concordance_score

console = Console(width=150)
ROWS, FEATURES, SIZES, BATCH = 500, 50, (5, 10, 25, 50), 200
ASKED = 100


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
        (make_pipeline(StandardScaler(), Ridge()), "neg_mean_squared_error", real),
        (LinearRegression(), "neg_mean_absolute_error", real),
        (LinearDiscriminantAnalysis(), "accuracy", two),
        (LinearDiscriminantAnalysis(), "roc_auc", two),
        (LinearDiscriminantAnalysis(), "balanced_accuracy", three),
        (GaussianNB(), "accuracy", two),
        (GaussianNB(), "roc_auc", two),
        (make_pipeline(StandardScaler(), GaussianNB()), "accuracy", three),
    ]
    shown = Table(title=f"One subset, 5 folds, {ROWS} x {FEATURES}: microseconds, and how many times as fast")
    heads = [f"{size} features" for size in SIZES]
    for head in ("estimator", "score", *heads, "largest difference", f"{ASKED}x"):
        shown.add_column(head)
    for estimator, scoring, y in cases:
        oracle = EstimatorOracle(X, y, estimator=estimator, scoring=scoring, score_range=(-1e9, 1e9), cv=5)
        scorer = make_scorer(concordance_score) if scoring == "concordance" else scoring
        closed, rng, cells, ratios, worst = oracle.closed_form, np.random.default_rng(1), [], [], 0.0
        assert closed is not None
        for size in SIZES:
            subsets = [np.sort(rng.permutation(FEATURES)[:size]) for _ in range(BATCH)]
            scores = closed.scores(subsets, range(5))
            mine = fastest(partial(closed.scores, subsets, range(5)), 10) / BATCH
            one = X[:, subsets[0]]
            theirs = fastest(partial(cross_val_score, estimator, one, y, scoring=scorer, cv=5), 10)
            plain = cross_val_score(estimator, one, y, scoring=scorer, cv=5)
            worst = max(worst, float(np.nanmax(np.abs(plain - scores[0]))))
            ratios.append(theirs / mine)
            cells.append(f"{1e6 * theirs:,.0f} / {1e6 * mine:,.1f} = {ratios[-1]:,.0f}")
        name = type(estimator[-1]).__name__ + ", scaled" if hasattr(estimator, "steps") else type(estimator).__name__
        shown.add_row(name, scoring, *cells, f"{worst:.1e}", "yes" if min(ratios) >= ASKED else "no")
    console.print(shown)


def bic(X: np.ndarray, y: np.ndarray, subset: Sequence[int]) -> float:
    total = float(((y - y.mean()) ** 2).sum())
    return criterion_value("bic", error_of(X, y, list(subset)), len(subset), len(y), total)


def forward(X: np.ndarray, y: np.ndarray) -> list[int]:
    """Add the feature that lowers the BIC most, as long as one does."""
    chosen: list[int] = []
    while len(chosen) < X.shape[1]:
        rest = [one for one in range(X.shape[1]) if one not in chosen]
        best = min(rest, key=lambda one: bic(X, y, [*chosen, one]))
        if bic(X, y, [*chosen, best]) >= bic(X, y, chosen):
            break
        chosen.append(best)
    return chosen


def by_abess(X: np.ndarray, y: np.ndarray) -> list[int] | None:
    try:
        from abess.linear import LinearRegression as Abess
    except ImportError:
        return None
    model = Abess(ic_type="bic", support_size=range(X.shape[1] + 1)).fit(X, y)
    return np.flatnonzero(model.coef_).tolist()


def exhaustive(X: np.ndarray, y: np.ndarray) -> tuple[float, list[tuple[int, ...]]]:
    """Return the lowest BIC of all subsets and the best subset of each size, from the correlations, size by size."""
    known, many = moments(X, y), X.shape[1]
    between, target = known.factor.T @ known.factor, known.factor.T @ known.side
    factors, best, found = growth("bic", len(y), np.arange(many + 1)), np.inf, list[tuple[int, ...]]([()])
    for size in range(1, many + 1):
        sets = np.array(list(combinations(range(many), size)))
        errors = np.empty(len(sets))
        for start in range(0, len(sets), 20_000):
            some = sets[start : start + 20_000]
            blocks, sides = between[some[:, :, None], some[:, None, :]], target[some]
            errors[start : start + 20_000] = 1.0 - np.einsum(
                "si,si->s", sides, np.linalg.solve(blocks, sides[..., None])[..., 0]
            )
        found.append(tuple(sets[errors.argmin()].tolist()))
        best = min(best, float(errors.min() * factors[size]))
    return best, found


def subsets() -> None:
    shown = Table(title="The best subset by BIC: value (seconds); leaps and bounds also prove it, for every size")
    heads = ("rows x features", "correlation", "forward selection", "abess", "leaps and bounds", "looked at", "verify")
    for head in heads:
        shown.add_column(head)
    cases = ((500, 20, 0.5, 5), (500, 40, 0.5, 10), (500, 40, 0.9, 10), (500, 40, 0.0, 0), (60, 40, 0.9, 40))
    best_linear_subset(*table(50, 5, true=2))  # compiles
    for rows, features, alike, true in cases:
        X, y = table(rows, features, 3, alike, true)
        cells = []
        for method in (forward, by_abess):
            began = perf_counter()
            chosen = method(X, y)
            seconds = perf_counter() - began
            cells.append("-" if chosen is None else f"{bic(X, y, chosen):.3f} ({seconds:.2f} s)")
        began = perf_counter()
        found = best_linear_subset(X, y)
        seconds = perf_counter() - began
        began = perf_counter()
        verdict = found.certificate.verify(X, y)
        checked = f"{'holds' if verdict else 'refused'} ({perf_counter() - began:.2f} s)"
        mine = f"{found.value:.3f} ({seconds:.2f} s)"
        shown.add_row(f"{rows} x {features}", f"{alike:g}", *cells, mine, f"{found.looked_at:,}", checked)
    console.print(shown)
    X, y = table(500, 20, 3, 0.5, 5)
    began = perf_counter()
    product, every = exhaustive(X, y)
    seconds = perf_counter() - began
    found = best_linear_subset(X, y)
    mine = min(one.error * growth("bic", 500, np.array([one.size]))[0] for one in found.by_size)
    same = [one.features for one in found.by_size] == every and abs(mine / product - 1) < 1e-9
    console.print(f"All {2**20:,} subsets of 20 features ({seconds:.0f} s): {'the same' if same else 'OTHER'} subsets.")


if __name__ == "__main__":
    asked = sys.argv[1:] or ["forms", "subsets"]
    with threadpool_limits(1):
        for name in asked:
            {"forms": forms, "subsets": subsets}[name]()
