"""`validate`: the score of a selector on rows that it has not seen."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing

from bestleaf.certificate.claims import words_of
from bestleaf.checks import check_keywords, number, shown
from bestleaf.features.estimator import described
from bestleaf.new_data import split_of
from bestleaf.new_data.held_out import HeldOutRows, checked_test_set
from bestleaf.search.budget import Budget
from bestleaf.selection.data import METADATA, checked_fit_data
from bestleaf.selection.searched import call_of
from bestleaf.selection.selector import BestLeafSelector, seed_of

GONE = {  # keywords of earlier versions, and what to use instead
    "n_repeats": "several values of random_state",
    "resample": "fits on other rows, with several values of random_state",
    "n_jobs": "the n_jobs of the selector",
}


@dataclass(frozen=True)
class Validation:
    """What `validate` found out about a selector.

    Attributes
    ----------
    selector : BestLeafSelector
        Fitted on `rows`; its certificate also has the score on held-out rows.
    rows : array of int
        The rows that this selector was fitted on: all rows, or those left if `holdout` is given.
    score : float
        Score on the held-out rows, by the measure of the search; nan after Ctrl-C.
    all_features_score : float
        The same for all features (without those that are excluded or constant).
    interval : (float, float) or None
        Confidence interval, with a proof, for the score on new rows that are drawn like the held-out ones. None with
        groups, weights, or a score that has no proof; then the certificate says why.
    difference_interval : (float, float) or None
        The same for `difference`: score minus score of all features, on the same rows.
    reason : str
        ``"settled"`` if the held-out rows were scored, otherwise what ended it: ``"interrupted"`` or ``"max_time"``.
    """

    selector: BestLeafSelector
    rows: np.ndarray = field(repr=False)
    score: float
    all_features_score: float
    interval: tuple[float, float] | None
    difference_interval: tuple[float, float] | None
    reason: str

    @property
    def difference(self) -> float:
        """Score minus that of all features, on the same rows."""
        return self.score - self.all_features_score

    def __str__(self) -> str:
        content = self.selector.certificate_.content
        lines = [f"Selected: {', '.join(content['features'])}, score {self.selector.score_:.4f}."]
        if "unseen" in content:
            lines.append(f"Score on held-out rows: {self.score:.4f}.")
            every = f"all features {self.all_features_score:.4f}"
            lines.append(f"Difference to {every} on the same rows: {self.difference:+.4f}.")
        lines += [claim["text"] for claim in content["claims"] if claim["kind"].startswith("new rows")]
        return "\n".join(lines)


def validate(
    selector: BestLeafSelector,
    X: Any,
    y: Any,
    *,
    holdout: float | np.floating | None = None,
    test_set: tuple[ArrayLike, ArrayLike] | None = None,
    delta: float | None = None,
    **metadata: Any,
) -> Validation:
    """Fit a selector and judge its answer on rows that it has not seen.

    The certificate gets a claim about new rows: an interval for the score of the selected features, and one for its
    difference to the score of all features. Both have a proof, if new rows are drawn like the held-out ones.

    Parameters
    ----------
    selector : BestLeafSelector
        A copy of it is fitted.
    X, y
        As in `BestLeafSelector.fit`.
    holdout : float, default=None
        A fraction of the rows: the answer is found on the other rows and scored on these.
    test_set : (X_new, y_new), default=None
        Held-out rows that you hand in: the answer is found on all rows of `X` and scored on these.
    delta : float, default=None
        Probability with which each interval about new rows may fail; None is the `delta` of the selector.
    **metadata
        ``sample_weight`` and ``groups``, as in `BestLeafSelector.fit`; rows of a group are held out together.

    Returns
    -------
    Validation

    Examples
    --------
    >>> from bestleaf import BestLeafSelector, validate
    >>> from bestleaf.paper import load_linear
    >>> X, y = load_linear(return_X_y=True)
    >>> found = validate(BestLeafSelector(choose="training", epsilon=0.05, random_state=0), X, y, holdout=0.25)
    >>> found.score > 0.9
    True
    >>> low, high = found.interval
    >>> low <= found.score <= high
    True
    """
    if not isinstance(selector, BestLeafSelector):
        raise TypeError(f"selector must be a BestLeafSelector, got {shown(selector)}")
    budget = Budget(max_time=selector.max_time)
    check_keywords("validate", metadata, (*METADATA, "holdout", "test_set", "delta"), gone=GONE)
    if delta is not None:
        number("delta", delta, "strictly between 0 and 1", 0.0, 1.0, open_ends=True)
    if isinstance(selector.cv, Iterator):
        what = f"the iterator {described(selector.cv)}, which ends"
        raise ValueError(f"cv must be a number, a splitter or a list, got {what}")
    if holdout is None and test_set is None:
        raise ValueError("holdout or test_set must be given, the rows to score on, got neither")
    holdout = float(holdout) if isinstance(holdout, np.floating) else holdout
    fitted = clone(selector)
    fitted._validate_params()
    data = checked_fit_data(fitted, X, y, metadata)
    seed, split = seed_of(fitted), None
    new = None if test_set is None else checked_test_set(fitted, data, test_set, holdout)
    if holdout is not None:
        if isinstance(fitted.cv, list | tuple):
            raise ValueError("cv must be a number or a splitter with holdout, got a list of rows of all the data")
        split = split_of(holdout, data.X, data.y, fitted.estimator, seed, data.metadata.get("groups"))
    rows = slice(None) if split is None else split.kept  # no copy of large data
    part = data.part(rows)
    given: Any = part.given
    if hasattr(fitted, "feature_names_in_"):  # the selector learns the names from a data frame
        given = X if split is None else _safe_indexing(X, rows)
    fitted._fit_within(budget, given, part.y, part.metadata, seed)
    content = fitted.certificate_.content
    reason = "interrupted" if fitted.certificate_.reason == "interrupted" else "settled"
    held = HeldOutRows(data, split, new)
    scored = held.scored(fitted, seed, over=lambda: budget.look() <= 0)
    if scored is None:
        reason, by = ("max_time", "max_time") if budget.look() <= 0 else ("interrupted", "Ctrl-C")
        told = f"{by} ended the validation before the held-out rows were scored"
        warnings.warn(told, ConvergenceWarning, stacklevel=2)
    else:
        content["unseen"] = held.entry(fitted, scored, content["search"]["delta"] if delta is None else float(delta))
        content |= words_of(content)
    words = {name: described(one) for name, one in (("holdout", holdout), ("delta", delta)) if one is not None}
    words |= {name: name for name in data.metadata} | ({} if test_set is None else {"test_set": "(X_new, y_new)"})
    repeat = "".join(f", {name}={one}" for name, one in words.items())
    fitted.certificate_.add_to_report(repeat=f"validate({call_of(fitted, seed)}, X, y{repeat})")
    fitted._tell_result(stacklevel=3)
    proof = content.get("unseen", {}).get("proof", {})
    return Validation(
        selector=fitted,
        rows=np.arange(len(data.X))[rows],
        score=np.nan if scored is None else scored.score,
        all_features_score=np.nan if scored is None else scored.all_features,
        interval=tuple(proof["interval"]) if proof else None,
        difference_interval=tuple(proof["difference_interval"]) if proof else None,
        reason=reason,
    )
