"""Scores on examples that the search has not seen, and how often features are selected again."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from time import time
from typing import Any, NamedTuple

import numpy as np
from joblib import parallel_config
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit, StratifiedShuffleSplit, check_cv
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from bestleaf.checks import shown
from bestleaf.examples import unit_range
from bestleaf.executors import Dask, Executor, Joblib, Serial, executor_for
from bestleaf.oracles import concordance
from bestleaf.search.interrupt import deferred_interrupt
from bestleaf.selector.shares import Shares

ASKED = 1000  # new examples that are scored between two looks at the clock


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


class Run(NamedTuple):
    """A search again: on some of the rows, with settings of its own."""

    rows: Any
    settings: dict[str, Any]


def searched_again(
    kind: type[Any], examples: Examples, runs: list[Run], shares: Shares, n_jobs: int | None
) -> list[np.ndarray]:
    """Return the support of a selector for each run; after Ctrl-C, or when time is over, those before it.

    Several at a time where there are workers; they do not share out their own work again.
    """
    executor: Executor = Serial() if shares.workers == 1 or len(runs) == 1 else executor_for(n_jobs, "processes")
    if isinstance(executor, Joblib):
        executor = Joblib(n_jobs, "processes")  # a whole search is long enough for a process: no patience
    if isinstance(executor, Joblib | Dask):
        return _side_by_side(executor, kind, examples, runs, shares)
    found: list[np.ndarray] = []
    for place, run in enumerate(runs):
        support = None if shares.over else _support(kind, examples, run, shares.next(len(runs) - place))
        if support is None:
            break
        found.append(support)
    return found


def _side_by_side(
    executor: Joblib | Dask, kind: type[Any], examples: Examples, runs: list[Run], shares: Shares
) -> list[np.ndarray]:
    """Return the supports of the runs, by workers; the searches themselves keep to the time."""
    until = None if shares.budget.max_time is None else time() + shares.budget.look()
    items = [(run, shares.next(len(runs)), until) for run in runs]
    with deferred_interrupt() as interrupted:
        executor.until(interrupted)
        found = executor.map(_supports, (kind, examples), items)
    return list(takewhile(lambda support: support is not None, found))


def _supports(
    problem: tuple[type[Any], Examples], items: Sequence[tuple[Run, float | None, float | None]]
) -> list[Any]:
    """Return which features are selected, by a worker that must not wait for others; None when time is over."""
    found: list[Any] = []
    for run, seconds, until in items:
        left = None if seconds is None or until is None else min(seconds, until - time())
        alone = run._replace(settings={**run.settings, "n_jobs": 1})
        with parallel_config("sequential"):
            found.append(None if left is not None and left <= 0 else _support(*problem, alone, left))
    return found


def _support(kind: type[Any], examples: Examples, run: Run, seconds: float | None) -> np.ndarray | None:
    """Return which features are selected; None if the search was interrupted."""
    part = examples.part(run.rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of the first search is enough
        found = kind(**{**run.settings, "max_time": seconds}).fit(part.X, part.y, **part.metadata)
    return None if found.certificate_.reason == "interrupted" else found.support_


class UnseenScore(NamedTuple):
    """What features are worth on examples that were no part of a search, and on how many of them it was measured."""

    score: float
    rows: int


def unseen_score(
    X: np.ndarray,
    y: np.ndarray,
    new_X: np.ndarray,
    new_y: np.ndarray,
    *,
    task: str,
    n_neighbors: int,
    scale: bool,
    over: Callable[[], bool] = bool,
) -> UnseenScore:
    """Return how well the votes of nearest neighbours among the examples rank new ones, as the search measures it.

    When time is over before all new examples have been asked, the score is that of those before.
    """
    if scale:
        scaler = StandardScaler().fit(X)
        X, new_X = scaler.transform(X), scaler.transform(new_X)
    voters, found, rows = NearestNeighbors(n_neighbors=n_neighbors).fit(X), [], 0
    while rows < len(new_X) and not (over() and len(np.unique(new_y[:rows])) > 1):
        found.append(voters.kneighbors(new_X[rows : rows + ASKED], return_distance=False))
        rows += len(found[-1])
    nearest, new_y = np.concatenate(found), new_y[:rows]
    if task == "regression":
        return UnseenScore(concordance(unit_range(y)[nearest].mean(axis=1), new_y), rows)
    classes = np.unique(y)
    shown = classes[1:] if len(classes) == 2 else classes
    shares = [(new_y == one, (y[nearest] == one).mean(axis=1)) for one in shown]
    scores = [roc_auc_score(truth, votes) for truth, votes in shares if 0 < truth.sum() < len(truth)]
    return UnseenScore(float(np.mean(scores)), rows)
