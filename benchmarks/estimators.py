"""bestleaf beside scikit-learn's forward selection: same estimator, same folds, same examples kept aside.

Forward selection adds the best feature until it gains less than 0.001. bestleaf, with epsilon 0.001, may take at most
as many features and at most 0.9 of the time. A split is won or lost by its held-out score.
`python benchmarks/estimators.py [CASE ...]`.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from bestleaf import BestLeafSelector

SPLITS = 5
TOLERANCE = 1e-3  # gain for which forward selection adds a feature
SHARE = 0.9  # of the time of forward selection that bestleaf may take
LINEAR = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
BOOSTING = HistGradientBoostingClassifier(max_iter=30, random_state=0)


def digits() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_digits(return_X_y=True)
    kept = (y == 0) | (y == 8)
    return X[kept], (y[kept] == 8).astype(int)


def loaded(load: Callable[..., Any]) -> Callable[[], Any]:
    return lambda: load(return_X_y=True)


CASES: dict[str, tuple[Callable[[], Any], Any, str]] = {
    "breast cancer, logistic": (loaded(load_breast_cancer), LINEAR, "roc_auc"),
    "breast cancer, boosting": (loaded(load_breast_cancer), BOOSTING, "roc_auc"),
    "wine, logistic": (loaded(load_wine), LINEAR, "accuracy"),
    "wine, boosting": (loaded(load_wine), BOOSTING, "accuracy"),
    "digits 0 and 8, logistic": (digits, LINEAR, "roc_auc"),
    "digits 0 and 8, boosting": (digits, BOOSTING, "roc_auc"),
    "diabetes, ridge": (loaded(load_diabetes), make_pipeline(StandardScaler(), Ridge()), "r2"),
    "diabetes, boosting": (
        loaded(load_diabetes),
        HistGradientBoostingRegressor(max_iter=30, random_state=0),
        "r2",
    ),
}


def compared(case: str, split: int) -> list[tuple[float, float, int, float]]:
    """Return (value, held-out score, features, seconds) of both methods on one split."""
    load, estimator, scoring = CASES[case]
    X, y = load()
    regression = scoring == "r2"
    X, new_X, y, new_y = train_test_split(X, y, test_size=0.25, random_state=split, stratify=None if regression else y)
    folds = (KFold if regression else StratifiedKFold)(5, shuffle=True, random_state=split)
    score = check_scoring(estimator, scoring=scoring)

    def judged(support: np.ndarray, seconds: float) -> tuple[float, float, int, float]:
        fitted = clone(estimator).fit(X[:, support], y)
        values = [
            score(clone(estimator).fit(X[train][:, support], y[train]), X[test][:, support], y[test])
            for train, test in folds.split(X, y)
        ]
        return float(np.mean(values)), float(score(fitted, new_X[:, support], new_y)), int(support.sum()), seconds

    begun = perf_counter()
    forward = SequentialFeatureSelector(
        estimator, n_features_to_select="auto", tol=TOLERANCE, scoring=scoring, cv=folds
    ).fit(X, y)
    forward_time = perf_counter() - begun
    begun = perf_counter()
    ours = BestLeafSelector(
        choose="training",
        estimator=estimator,
        scoring=scoring,
        cv=folds,
        epsilon=TOLERANCE,
        max_features=int(forward.get_support().sum()),
        max_time=SHARE * forward_time,
        random_state=split,
    ).fit(X, y)
    seconds = perf_counter() - begun
    return [judged(forward.get_support(), forward_time), judged(ours.support_, seconds)]


def main(cases: list[str]) -> None:
    warnings.simplefilter("ignore")
    print("case, split: forward selection V, held-out, features, s | bestleaf the same | verdict")
    for case in cases or list(CASES):
        rows = []
        for split in range(SPLITS):
            with threadpool_limits(1):
                theirs, ours = compared(case, split)
            verdict = "drawn" if ours[1] == theirs[1] else "won" if ours[1] > theirs[1] else "lost"
            cells = [f"{v:.4f}, {unseen:.4f}, {many}, {seconds:.1f}" for v, unseen, many, seconds in (theirs, ours)]
            print(f"{case}, {split}: {cells[0]} | {cells[1]} | {verdict}", flush=True)
            rows.append((theirs, ours))
        table = np.array(rows)
        means = table.mean(axis=0)
        shown = [f"{v:.4f}, {unseen:.4f}, {many:.1f}, {seconds:.1f}" for v, unseen, many, seconds in means]
        error = (table[:, 1, 1] - table[:, 0, 1]).std(ddof=1) / len(table) ** 0.5
        better = means[1][1] - means[0][1]
        print(f"**{case}, mean**: {shown[0]} | {shown[1]} | held-out {better:+.4f} ± {error:.4f}\n", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
