"""The answer judged on held-out rows: its score, that of all features, and what a proof needs of both."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bestleaf.certificate.held_out import MEASURES, MOST_ROWS, judged, scores_of, table_of
from bestleaf.certificate.schema import CLOSE, Content
from bestleaf.checks import listed, shown
from bestleaf.encoding import takes_missing
from bestleaf.features.data import columns_not_finite
from bestleaf.features.estimator import EstimatorOracle
from bestleaf.features.neighbours import NeighbourVotes
from bestleaf.new_data.splits import Split, score_of_votes, votes_for
from bestleaf.selection.data import Data, task_for, votes_of

if TYPE_CHECKING:
    from bestleaf.selection.selector import BestLeafSelector


class HeldOut(NamedTuple):
    """Scores on held-out rows, of the selected and of all features, and the table that they follow from."""

    score: float
    all_features: float
    rows: int
    trained: int  # rows that the model was trained on
    measure: str | None = None  # None if the scores do not follow from a table
    table: np.ndarray | None = None  # see `bestleaf.certificate.held_out.COLUMNS`
    strange: bool = False  # whether there are rows of a class that was not there to be learned


class Part(NamedTuple):
    """Rows that features were selected on, held-out rows, and which features were selected."""

    seen: Data
    new: Data
    support: np.ndarray


class HeldOutRows(NamedTuple):
    """The held-out rows of a validation: those of a split of `data`, or `new` rows that were handed in."""

    data: Data
    split: Split | None
    new: Data | None

    def scored(self, selector: BestLeafSelector, seed: int, over: Callable[[], bool]) -> HeldOut | None:
        """Return the scores of a fitted selector, by the measure of the search; None after Ctrl-C.

        `over` says whether time is over.
        """
        try:
            return _scored(selector, self._part(selector.support_), _all_features(selector), seed, over)
        except KeyboardInterrupt:
            return None

    def _part(self, support: np.ndarray) -> Part:
        if self.split is None:
            assert self.new is not None
            return Part(self.data, self.new, support)
        data = self.data.learned_from(self.split.kept)  # nothing may be learned from held-out rows
        return Part(data.part(self.split.kept), data.part(self.split.aside), support)

    def entry(self, selector: BestLeafSelector, scored: HeldOut, delta: float) -> Content:
        """Return the scores as a part of the certificate, with a proof where there is one."""
        names = ("score", "all_features", "rows", "trained")
        found: Content = {
            "score": scored.score,
            "rows": scored.rows,
            "splits": 1,
            "times": [1, 1],  # how often a row was held out
            "given": self.new is not None,
            "parts": [{name: getattr(scored, name) for name in names}],
        }
        measure, table, why = scored.measure, scored.table, self._unproved(scored)
        if why is not None or measure is None or table is None:
            return {**found, "unproved": why}
        same = bool((selector.support_ >= _all_features(selector)).all())
        known = judged(measure, table, delta, same=same)
        ends = {"interval": list(known.interval), "difference_interval": list(known.difference_interval)}
        return {**found, "proof": {"measure": measure, "delta": delta, "table": table.tolist(), **ends}}

    def _unproved(self, scored: HeldOut) -> str | None:
        """Return why there is no proof about new rows; None if there is one."""
        rows = self.data.metadata if self.new is None else self.new.metadata
        reasons = {
            "groups": "groups" in rows,
            "weights": "sample_weight" in self.data.metadata,
            "classes": scored.strange,
            "scoring": scored.table is None,
            "size": scored.rows > MOST_ROWS,
        }
        return next((reason for reason, applies in reasons.items() if applies), None)


def _all_features(selector: BestLeafSelector) -> np.ndarray:
    """Return which columns are meant by all features: those that may be chosen."""
    data = selector.certificate_.content["data"]
    units = [*data["choice"]["allowed"], *data["choice"]["forced"]]
    return np.isin(np.arange(len(data["names"])), [column for unit in units for column in data["groups"][unit]])


def _scored(selector: BestLeafSelector, part: Part, every: np.ndarray, seed: int, over: Callable[[], bool]) -> HeldOut:
    """Return the scores of one part."""
    votes = votes_of(selector.estimator)
    sets = [np.array(part.seen.columns_of(np.flatnonzero(mask))) for mask in (part.support, every)]
    if votes is not None:
        return _by_votes(votes, part, sets, over)
    oracle = selector._oracle(part.seen, seed, selector.scoring)
    assert isinstance(oracle, EstimatorOracle)
    weights, new_y, measure = part.new.metadata.get("sample_weight"), part.new.y, MEASURES.get(oracle.score.name)
    (score, chosen), (all_features, others) = (oracle.unseen(one, part.new.X, new_y, weights) for one in sets)
    found = HeldOut(score, all_features, len(new_y), len(part.seen.y))
    if measure is None or chosen is None or others is None:  # there is no proof for the scorer
        return found
    return _with_table(found, measure, part.seen.y, new_y, chosen, others)


def _by_votes(votes: NeighbourVotes, part: Part, sets: list[np.ndarray], over: Callable[[], bool]) -> HeldOut:
    """Return the scores of the votes of nearest neighbours with two sets of columns."""
    (seen, new, _), y = part, part.seen.y
    chosen, every = votes_for(votes, y, [(seen.X[:, some], new.X[:, some]) for some in sets], new.y, over)
    new_y = new.y[: len(chosen)]  # fewer if time is over
    weights = new.metadata.get("sample_weight")
    weights = None if weights is None else weights[: len(chosen)]
    score, all_features = (score_of_votes(votes, y, sums, new_y, weights) for sums in (chosen, every))
    found = HeldOut(score, all_features, len(new_y), len(y))
    measure = "concordance" if task_for(y, votes) == "regression" else "auc"
    return _with_table(found, measure, y, new_y, chosen, every)


def _with_table(
    found: HeldOut, measure: str, y: np.ndarray, new_y: np.ndarray, chosen: np.ndarray, every: np.ndarray
) -> HeldOut:
    """Return scores with the table that they follow from, if there is one."""
    if measure == "accuracy":
        table = table_of(chosen[:, 0], every[:, 0])
    elif measure == "concordance":
        table = table_of(new_y.astype(np.float64), *(sums[:, 0].astype(np.float32) for sums in (chosen, every)))
    else:
        classes, there = np.unique(y), np.unique(new_y)
        if not np.isin(there, classes).all():
            return found._replace(strange=True)
        outputs = np.isin(classes, there) if len(classes) > 2 else [True]
        table = table_of(np.searchsorted(there, new_y), *chosen[:, outputs].T, *every[:, outputs].T)
    same = np.allclose(scores_of(measure, table), found[:2], rtol=0, atol=CLOSE)
    return found._replace(measure=measure, table=table) if same else found  # a user's scorer may have a name of ours


def checked_test_set(selector: BestLeafSelector, data: Data, given: object, holdout: object) -> Data:
    """Return the rows that were handed in, after checks that they go with the rows of the search."""
    if holdout is not None:
        raise ValueError(f"test_set must be given without holdout, got holdout={shown(holdout)}, too")
    if "sample_weight" in data.metadata:
        raise ValueError("test_set must be given without sample_weight, because its rows would have no weights")
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise ValueError(f"test_set must be a pair (X_new, y_new), got {shown(given)}")
    names = [str(name) for name in data.names]
    theirs = [str(name) for name in getattr(given[0], "columns", names)]
    if hasattr(selector, "feature_names_in_") and len(theirs) == len(names) and theirs != names:
        other = next(both for both in zip(names, theirs, strict=True) if both[0] != both[1])
        raise ValueError(
            f"test_set must have the columns of X in their order, got {other[1]!r} instead of {other[0]!r}"
        )
    X, y = _numbers_of(data, given[0]), np.asarray(given[1])
    if X.ndim != 2 or X.shape[1] != data.X.shape[1]:
        raise ValueError(f"test_set must have {len(names)} columns in X_new, as X has, got shape {X.shape}")
    if y.shape != (len(X),):
        raise ValueError(f"test_set must have one target for each of its {len(X)} rows, got shape {y.shape}")
    if broken := columns_not_finite(X, missing=takes_missing(selector.estimator)):
        which = listed(names[feature] for feature in data.features_of(broken))
        raise ValueError(f"test_set must not have missing values (NaN) or infinity (inf), found in columns [{which}]")
    if task_for(data.y, selector.estimator) == "regression":
        if y.dtype.kind not in "biuf" or not np.isfinite(y).all():
            raise ValueError("test_set must have finite numbers as targets, because y has")
    elif strange := sorted(set(y.tolist()) - set(data.y.tolist()), key=str):
        raise ValueError(f"test_set must have the classes of y only, got {shown(strange[0])}")
    if len(np.unique(y)) < 2:
        raise ValueError(f"test_set must have two different targets at least, got {len(np.unique(y))}")
    return Data(X, y, data.names, {})


def _numbers_of(data: Data, new_X: ArrayLike) -> np.ndarray:
    """Return the new rows of a test set as numbers, by what the rows of the search teach."""
    if data.encoded is not None:
        return data.encoded.encoder.transform(new_X)
    try:
        return np.asarray(new_X, data.X.dtype)
    except (TypeError, ValueError):
        raise ValueError(
            "test_set must hold numbers only in X_new, got text, dates or lines of different length"
        ) from None
