"""Held-out rows: which rows they are, and the score of the selected features on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit, StratifiedShuffleSplit, check_cv
from sklearn.model_selection._split import GroupsConsumerMixin
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from bestleaf.certificate.schema import Content
from bestleaf.checks import number, shown
from bestleaf.data_checks import Data, task_for, votes_of
from bestleaf.features.data import splits_by, unit_range
from bestleaf.features.estimator import EstimatorOracle
from bestleaf.features.neighbours import NeighbourVotes, concordance
from bestleaf.selector import BestLeafSelector

AT_A_TIME = 1000  # rows that are scored between two looks at the clock


class Split(NamedTuple):
    """Rows to search on, and rows to score on."""

    kept: np.ndarray
    aside: np.ndarray


class Score(NamedTuple):
    """A score on held-out rows, and the number of rows it was computed on."""

    score: float
    rows: int


def splits_of(holdout: Any, X: Any, y: np.ndarray, estimator: Any, seed: int, groups: Any = None) -> list[Split]:
    """Return the splits of `holdout`: one split for a fraction of the rows, or all splits of a splitter."""
    task, named = task_for(y, estimator), shown(holdout)
    if groups is not None and not isinstance(holdout, float | GroupsConsumerMixin):
        raise ValueError(f"holdout must be a fraction or a splitter by groups, because groups are given, got {named}")
    if groups is None and isinstance(holdout, GroupsConsumerMixin):
        raise ValueError(f"groups must be given, because holdout={named} splits by them, got None")
    if isinstance(holdout, float):
        number("holdout", holdout, "strictly between 0 and 1", 0.0, 1.0, open_ends=True)
        kind = ShuffleSplit if task == "regression" else StratifiedShuffleSplit
        kind = kind if groups is None else GroupShuffleSplit
        splitter = kind(1, test_size=holdout, random_state=seed % 2**32)
    else:
        splitter = _splitter_of(holdout, y, task)
    try:
        found = [Split(*split) for split in splits_by("holdout", splitter, X, y, groups)]
    except ValueError:
        if not isinstance(holdout, float):
            raise
        sides = "rows of every class"  # scikit-learn would speak of its own parameters
        rows = f"{len(y)} rows"
        if groups is not None:
            sides, rows = "groups", f"{len(np.unique(groups))} groups"
        elif task != "regression":
            rows += f", {np.unique(y, return_counts=True)[1].min()} of the rarest class"
        raise ValueError(f"holdout must leave {sides} on both sides, got a fraction of {holdout:g} of {rows}") from None
    for kept, aside in found:
        if len(both := np.intersect1d(kept, aside)):
            raise ValueError(
                f"holdout must not score on rows of the search, got row {both[0]} on both sides of a split"
            )
        if len(np.unique(y[kept])) < 2 or len(np.unique(y[aside])) < 2:
            got = f"a split with {len(kept):,} and {len(aside):,} rows that does not"
            got = f"a fraction of {holdout:g}" if isinstance(holdout, float) else got
            raise ValueError(f"holdout must leave two different targets on both sides, got {got}")
    if not found:
        raise ValueError(f"holdout must give at least one split, got none from {shown(holdout)}")
    return found


def _splitter_of(holdout: Any, y: np.ndarray, task: str) -> Any:
    """Return the splitter that a number of splits, a splitter or splits stand for, as scikit-learn understands them."""
    folds = isinstance(holdout, int | np.integer) and not isinstance(holdout, bool) and holdout >= 2
    given = hasattr(holdout, "split") or isinstance(holdout, Iterable)
    if isinstance(holdout, str | type) or not (folds or given):
        kinds = "a fraction between 0 and 1, a number of splits of at least 2, a splitter or a list of splits"
        raise ValueError(f"holdout must be {kinds}, got {shown(holdout)}")
    return check_cv(holdout, y, classifier=task != "regression")


def held_out_scores(
    selector: BestLeafSelector,
    data: Data,
    splits: list[Split],
    supports: list[np.ndarray],
    seed: int,
    over: Callable[[], bool],
) -> list[Score]:
    """Return the score of each split on its held-out rows, by the measure of the search.

    `supports` holds the features that were selected on each split; `over` says whether time is over.
    """
    votes, found = votes_of(selector.estimator), []
    for split, support in zip(splits, supports, strict=True):
        seen, new, columns = data.part(split.kept), data.part(split.aside), np.flatnonzero(support)
        if votes is not None:
            score = votes_score(votes, seen.X[:, columns], seen.y, new.X[:, columns], new.y, over)
        else:
            oracle = selector._oracle(seen, seed)
            assert isinstance(oracle, EstimatorOracle)
            weights = new.metadata.get("sample_weight")
            score = Score(oracle.unseen_score(columns, new.X, new.y, weights), len(new.y))
        found.append(score)
    return found


def in_certificate(splits: list[Split], scores: list[Score]) -> Content:
    """Return the scores on held-out rows as a part of a certificate."""
    looked_at = [split.aside[: one.rows] for split, one in zip(splits, scores, strict=True)]
    times = np.unique(np.concatenate(looked_at), return_counts=True)[1]
    return {
        "score": float(np.mean([one.score for one in scores])),
        "rows": len(times),
        "splits": len(splits),
        "times": [int(times.min()), int(times.max())],  # how often a row was held out
    }


def votes_score(
    votes: NeighbourVotes,
    X: np.ndarray,
    y: np.ndarray,
    new_X: np.ndarray,
    new_y: np.ndarray,
    over: Callable[[], bool] = bool,
) -> Score:
    """Return how well the votes of nearest neighbours among the rows of X rank new rows.

    If time is over before all new rows are done, the score is that of the rows done so far.
    """
    if votes.scale:
        scaler = StandardScaler().fit(X)
        X, new_X = scaler.transform(X), scaler.transform(new_X)
    voters, found, rows = NearestNeighbors(n_neighbors=votes.n_neighbors).fit(X), [], 0
    while rows < len(new_X) and not (over() and len(np.unique(new_y[:rows])) > 1):
        found.append(voters.kneighbors(new_X[rows : rows + AT_A_TIME], return_distance=False))
        rows += len(found[-1])
    nearest, new_y = np.concatenate(found), new_y[:rows]
    if task_for(y, votes) == "regression":
        return Score(concordance(unit_range(y)[nearest].mean(axis=1), new_y), rows)
    classes = np.unique(y)
    ranked = [(new_y == one, (y[nearest] == one).mean(axis=1)) for one in classes[len(classes) == 2 :]]
    scores = [roc_auc_score(truth, votes) for truth, votes in ranked if 0 < truth.sum() < len(truth)]
    return Score(float(np.mean(scores)), rows)
