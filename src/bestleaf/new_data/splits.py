"""Held-out rows: which rows they are, and how well the votes of nearest neighbours rank them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit, StratifiedShuffleSplit
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from bestleaf.checks import number, shown
from bestleaf.features.data import unit_range
from bestleaf.features.neighbours import NeighbourVotes
from bestleaf.features.ranking import auc, concordance
from bestleaf.selection.data import task_for

AT_A_TIME = 1000  # rows that are scored between two looks at the clock


class Split(NamedTuple):
    """Rows to search on, and rows to score on."""

    kept: np.ndarray
    aside: np.ndarray


def split_of(
    holdout: object,
    X: ArrayLike,
    y: np.ndarray,
    estimator: BaseEstimator | None,
    seed: int,
    groups: np.ndarray | None = None,
) -> Split:
    """Return the rows to search on, and a fraction `holdout` of the rows to score on; groups stay together."""
    if not isinstance(holdout, float):
        more = "; several splits are those of `bestleaf.tables.compare`"
        raise ValueError(f"holdout must be a fraction between 0 and 1, got {shown(holdout)}{more}")
    number("holdout", holdout, "strictly between 0 and 1", 0.0, 1.0, open_ends=True)
    task = task_for(y, estimator)
    kind = ShuffleSplit if task == "regression" else StratifiedShuffleSplit
    splitter = (kind if groups is None else GroupShuffleSplit)(1, test_size=holdout, random_state=seed % 2**32)
    try:
        ((kept, aside),) = splitter.split(X, y, groups)
    except ValueError:  # scikit-learn would speak of its own parameters
        sides, rows = "rows of every class", f"{len(y)} rows"
        if groups is not None:
            sides, rows = "groups", f"{len(np.unique(groups))} groups"
        elif task != "regression":
            rows += f", {np.unique(y, return_counts=True)[1].min()} of the rarest class"
        raise ValueError(f"holdout must leave {sides} on both sides, got a fraction of {holdout:g} of {rows}") from None
    if len(np.unique(y[kept])) < 2 or len(np.unique(y[aside])) < 2:
        raise ValueError(f"holdout must leave two different targets on both sides, got a fraction of {holdout:g}")
    return Split(kept, aside)


def votes_score(
    votes: NeighbourVotes,
    X: np.ndarray,
    y: np.ndarray,
    new_X: np.ndarray,
    new_y: np.ndarray,
    new_weight: np.ndarray | None = None,
) -> float:
    """Return how well the votes of nearest neighbours among the rows of X rank new rows, which may have weights."""
    (sums,) = votes_for(votes, y, [(X, new_X)], new_y, bool)
    return score_of_votes(votes, y, sums, new_y, new_weight)


def votes_for(
    votes: NeighbourVotes,
    y: np.ndarray,
    tables: Sequence[tuple[np.ndarray, np.ndarray]],
    new_y: np.ndarray,
    over: Callable[[], bool],
) -> list[np.ndarray]:
    """Return the votes of nearest neighbours for new rows, [rows, outputs], for each pair of X and new rows.

    There is one output for real targets, one for the second of two classes, and one for each of more classes. If time
    is over, there are votes for the first rows only, and some for at least two different targets.
    """
    # `UnseenVotes` is faster for many subsets. Its votes are the same but where neighbours are at the same distance: it
    # takes the first ones in a random order, as the search does. Here scikit-learn takes those that it also takes for a
    # user who fits KNeighborsClassifier to the selected features: held-out rows are to tell what that user gets.
    classes = np.unique(y)
    if task_for(y, votes) == "regression":
        targets = unit_range(y)[:, None]
    else:
        targets = y[:, None] == classes[len(classes) == 2 :]
    scaled, voters = [], []
    for X, new_X in tables:
        scaler = StandardScaler(with_mean=votes.scale, with_std=votes.scale).fit(X)
        scaled.append(scaler.transform(new_X))
        voters.append(NearestNeighbors(n_neighbors=votes.n_neighbors).fit(scaler.transform(X)))
    found: list[list[np.ndarray]] = [[] for _ in tables]
    rows = 0
    while rows < len(new_y) and not (over() and len(np.unique(new_y[:rows])) > 1):
        for sums, ready, rows_of in zip(found, voters, scaled, strict=True):
            nearest = ready.kneighbors(rows_of[rows : rows + AT_A_TIME], return_distance=False)
            sums.append(targets[nearest].sum(axis=1))
        rows += AT_A_TIME
    return [np.concatenate(sums) for sums in found]


def score_of_votes(
    votes: NeighbourVotes, y: np.ndarray, sums: np.ndarray, new_y: np.ndarray, weights: np.ndarray | None = None
) -> float:
    """Return how well votes rank rows: the concordance index, or the mean AUC of the classes that are there.

    With weights a pair of rows counts the product of its weights.
    """
    if weights is not None:
        there = weights > 0
        sums, new_y, weights = sums[there], new_y[there], weights[there].astype(np.float64)
        if len(np.unique(new_y)) < 2:
            raise ValueError("sample_weight must give weight to two different targets among the held-out rows")
    if task_for(y, votes) == "regression":
        return concordance(new_y, sums[:, 0], weights)
    classes = np.unique(y)
    ranked = zip(classes[len(classes) == 2 :], sums.T, strict=True)
    known = [(new_y == one, ranks) for one, ranks in ranked if 0 < (new_y == one).sum() < len(new_y)]
    return float(np.mean([auc(positive, ranks, weights) for positive, ranks in known]))
