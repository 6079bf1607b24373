"""Scores on examples that the search has not seen, and how often features are selected again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit, check_cv
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from bestleaf.oracles import concordance


def splits(holdout: Any, X: np.ndarray, y: np.ndarray, task: str, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield (examples to search on, examples to score on): one pair for a share, as many as it gives for a splitter."""
    if isinstance(holdout, float):
        kind = ShuffleSplit if task == "regression" else StratifiedShuffleSplit
        try:
            kept, aside = next(kind(1, test_size=holdout, random_state=seed % 2**32).split(X, y))
        except ValueError:  # scikit-learn speaks of its own parameters
            rows = f"{len(y)} rows"
            if task != "regression":
                rows += f", {np.unique(y, return_counts=True)[1].min()} of the rarest class"
            raise ValueError(
                f"holdout must leave rows of every class on both sides, got a share of {holdout:g} of {rows}"
            ) from None
        if len(np.unique(y[kept])) < 2 or len(np.unique(y[aside])) < 2:
            raise ValueError(f"holdout must leave two different targets on both sides, got a share of {holdout:g}")
        yield kept, aside
    else:
        yield from check_cv(holdout, y, classifier=task != "regression").split(X, y)


def unseen_score(
    X: np.ndarray, y: np.ndarray, new_X: np.ndarray, new_y: np.ndarray, *, task: str, n_neighbors: int, scale: bool
) -> float:
    """Return how well the votes of nearest neighbours among the examples rank new ones, as the search measures it."""
    if scale:
        scaler = StandardScaler().fit(X)
        X, new_X = scaler.transform(X), scaler.transform(new_X)
    nearest = NearestNeighbors(n_neighbors=n_neighbors).fit(X).kneighbors(new_X, return_distance=False)
    if task == "regression":
        return concordance(y[nearest].mean(axis=1), new_y)
    classes = np.unique(y)
    shown = classes[1:] if len(classes) == 2 else classes
    shares = [(new_y == one, (y[nearest] == one).mean(axis=1)) for one in shown]
    return float(np.mean([roc_auc_score(truth, votes) for truth, votes in shares if 0 < truth.sum() < len(truth)]))
