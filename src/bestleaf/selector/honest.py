"""Scores on examples that the search has not seen, and how often features are selected again."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit, StratifiedShuffleSplit, check_cv
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from bestleaf.checks import shown
from bestleaf.examples import unit_range
from bestleaf.oracles import concordance


class Examples(NamedTuple):
    """Examples with what was given beside them."""

    X: np.ndarray
    y: np.ndarray
    metadata: dict[str, np.ndarray]

    def part(self, rows: Any) -> Examples:
        """Return some of the examples."""
        return Examples(self.X[rows], self.y[rows], {name: value[rows] for name, value in self.metadata.items()})


def splits(holdout: Any, examples: Examples, task: str, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield (examples to search on, examples to score on): one pair for a share, as many as it gives for a splitter."""
    X, y, groups = examples.X, examples.y, examples.metadata.get("groups")
    if isinstance(holdout, float):
        kind = ShuffleSplit if task == "regression" else StratifiedShuffleSplit
        kind = kind if groups is None else GroupShuffleSplit
        try:
            kept, aside = next(kind(1, test_size=holdout, random_state=seed % 2**32).split(X, y, groups))
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
        for kept, aside in check_cv(holdout, y, classifier=task != "regression").split(X, y, groups):
            if len(np.unique(y[kept])) < 2 or len(np.unique(y[aside])) < 2:
                raise ValueError(
                    "holdout must leave two different targets on both sides, got a split with "
                    f"{len(kept):,} and {len(aside):,} examples that does not"
                )
            yield kept, aside


def held_out(holdout: Any, examples: Examples, task: str, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return all pairs of rows to search on and rows to score on; none without `holdout`."""
    if holdout is None:
        return []
    pairs = list(splits(holdout, examples, task, seed))
    if not pairs:
        raise ValueError(f"holdout must give at least one split, got none from {shown(holdout)}")
    return pairs


def rows_searched(selector: Any, X: Any, y: np.ndarray) -> np.ndarray:
    """Return the rows that a selector with a share kept aside and a whole number as `random_state` searches on."""
    return next(splits(selector.holdout, Examples(X, y, {}), selector._task(y), selector.random_state))[0]


def searched_again(
    kind: type[Any], runs: list[tuple[Examples, dict[str, Any]]], n_jobs: int | None
) -> list[np.ndarray]:
    """Return the support of a selector on examples and with settings, for each run; after Ctrl-C those before it.

    Several at a time where there are workers; they do not share out their own work again.
    """
    if effective_n_jobs(n_jobs) == 1 or len(runs) == 1:
        found: list[np.ndarray] = []
        for examples, settings in runs:
            support = _support(kind, examples, settings)
            if support is None:
                break
            found.append(support)
        return found
    every = Parallel(n_jobs=n_jobs)(delayed(_support_alone)(kind, *run) for run in runs)
    return list(takewhile(lambda support: support is not None, every))


def _support_alone(kind: type[Any], examples: Examples, settings: dict[str, Any]) -> np.ndarray | None:
    """Return which features are selected, by a worker that must not wait for others."""
    with parallel_config("sequential"):
        return _support(kind, examples, {**settings, "n_jobs": 1})


def _support(kind: type[Any], examples: Examples, settings: dict[str, Any]) -> np.ndarray | None:
    """Return which features are selected; None if the search was interrupted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of the first search is enough
        found = kind(**settings).fit(examples.X, examples.y, **examples.metadata)
    return None if found.certificate_.reason == "interrupted" else found.support_


def unseen_score(
    X: np.ndarray, y: np.ndarray, new_X: np.ndarray, new_y: np.ndarray, *, task: str, n_neighbors: int, scale: bool
) -> float:
    """Return how well the votes of nearest neighbours among the examples rank new ones, as the search measures it."""
    if scale:
        scaler = StandardScaler().fit(X)
        X, new_X = scaler.transform(X), scaler.transform(new_X)
    nearest = NearestNeighbors(n_neighbors=n_neighbors).fit(X).kneighbors(new_X, return_distance=False)
    if task == "regression":
        return concordance(unit_range(y)[nearest].mean(axis=1), new_y)
    classes = np.unique(y)
    shown = classes[1:] if len(classes) == 2 else classes
    shares = [(new_y == one, (y[nearest] == one).mean(axis=1)) for one in shown]
    return float(np.mean([roc_auc_score(truth, votes) for truth, votes in shares if 0 < truth.sum() < len(truth)]))
