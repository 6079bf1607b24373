"""`validate`: what test rows of one's own say of a fitted selector."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from msgspec import structs
from numpy.typing import ArrayLike

from bestleaf.checks import listed, number, shown
from bestleaf.columns import EncodedRows, pandas_frame
from bestleaf.columns.frames import dense
from bestleaf.features.data import columns_not_finite
from bestleaf.features.neighbours import NeighbourVotes
from bestleaf.features.rows import checked_weights, fingerprint, group_numbers
from bestleaf.proof.record import Certificate, NewRowsClaim
from bestleaf.proof.words_new_rows import (
    about_new_rows,
    answer_lines,
    not_claimed_of_new_rows,
    outward,
)
from bestleaf.scikit import takes_missing
from bestleaf.selection.chosen import check_targets
from bestleaf.selection.data import Data, task_for, warn
from bestleaf.selection.folds import kept_together, row_numbers
from bestleaf.selection.judges import Panel
from bestleaf.selection.new_rows import Split, compared, matching_of, on_test_rows
from bestleaf.selection.selector import BestLeafSelector, rows_and_seed_of
from bestleaf.selection.space import Space
from bestleaf.selection.views import Scores


@dataclass(frozen=True)
class Validation:
    """What test rows say of a selector.

    Attributes
    ----------
    certificate : Certificate
        That of the selector, with this claim about new rows.
    claim : NewRowsClaim
        The claim in numbers.
    score : float
        Score on the test rows; the mean over the models that judge.
    interval : (float, float) or None
        The interval of the score on new rows: proved, or plus and minus two standard errors.
    difference, difference_interval : float, (float, float) or None
        The same for the score minus that of all columns that may be chosen, on the same rows.
    """

    certificate: Certificate
    claim: NewRowsClaim
    score: float
    interval: tuple[float, float] | None
    difference: float
    difference_interval: tuple[float, float] | None

    def __repr__(self) -> str:
        ends = ""
        if self.interval is not None:
            low, high = outward(self.interval)
            ends = f", interval=({low:.3f}, {high:.3f})"
        return f"Validation(score={self.score:.3f}{ends}, difference={self.difference:+.3f})"

    def __str__(self) -> str:
        proved = about_new_rows(self.certificate)
        not_claimed = [f"Not proved: {text}." for text in not_claimed_of_new_rows(self.certificate)[:1]]
        return "\n".join([*answer_lines(self.certificate), *(proved or not_claimed)])


def validate(
    selector: BestLeafSelector,
    X_test: ArrayLike,
    y_test: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    delta: float | None = None,
) -> Validation:
    """Judge the answer of a fitted selector on test rows of your own, which it must not have seen.

    The models that judge are fitted to the rows of the fit, with the selected columns, with all columns, and with other
    sets of the path. If new rows are drawn like the test rows, what follows for them has a proof.

    Parameters
    ----------
    selector : BestLeafSelector
        It is fitted, in this session: the rows of the fit are needed again.
    X_test, y_test
        The test rows, with the columns of the fit.
    groups : array of shape (n_test_rows,), default=None
        Rows that belong together. They depend on each other, so there is an estimate and no proof.
    sample_weight : array of shape (n_test_rows,), default=None
        Weights of the test rows. There is an estimate and no proof.
    delta : float, default=None
        Probability with which what is proved may be wrong; None is the `delta` of the selector.

    Returns
    -------
    Validation

    Examples
    --------
    >>> from bestleaf import BestLeafSelector, validate
    >>> from bestleaf.paper import load_linear
    >>> X, y = load_linear(return_X_y=True)
    >>> selector = BestLeafSelector(random_state=0).fit(X[:200], y[:200])
    >>> found = validate(selector, X[200:], y[200:])
    >>> low, high = found.interval
    >>> low <= found.score <= high
    True
    """
    if not isinstance(selector, BestLeafSelector):
        raise TypeError(f"selector must be a BestLeafSelector, got {shown(selector)}")
    if delta is not None:
        number("delta", delta, "strictly between 0 and 1", 0.0, 1.0, open_ends=True)
    seen, seed = rows_and_seed_of(selector)
    new = _checked(selector, seen, X_test, y_test, {"groups": groups, "sample_weight": sample_weight})
    record, split = selector.certificate_, Split(np.arange(len(seen.y)), len(seen.y) + np.arange(len(new.y)))
    estimator = selector.estimator
    if selector.choose == "training" and estimator is None:
        estimator = NeighbourVotes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # constant columns were told of in the fit
        space = Space.of(selector, seen)
    assert record.data is not None
    claim = on_test_rows(
        _together(seen, new),
        split,
        space,
        Panel.of(estimator, selector.scoring, seen, seed),
        compared(record.features or (), record.path, space, seen),
        selector.delta if delta is None else float(delta),
        matching=matching_of(record.data.fingerprint),
        seed=seed,
        how="given rows",
        fingerprint=fingerprint(new.X, new.y),
    )
    data = structs.replace(record.data, rows=len(seen.y))  # the models that judge are fitted to all of them
    certificate = structs.replace(record, new_rows=claim, data=data, checksum=None)
    return Validation(certificate, claim, *Scores.of(certificate))


def _together(seen: Data, new: Data) -> Data:
    """Return the rows of the fit and the test rows in one table; rows have weight 1 where none was given."""
    groups, weights, both = None, None, (seen, new)
    if any(one.weights is not None for one in both):
        weights = np.concatenate([np.ones(len(one.y)) if one.weights is None else one.weights for one in both])
    if any(one.groups is not None for one in both):
        given = [np.arange(len(one.y)) if one.groups is None else one.groups for one in both]
        first, second = (group_numbers(one, len(one)) for one in given)
        groups = np.concatenate([first, second + first.max() + 1])
    encoded = seen.encoded
    if encoded is not None and new.encoded is not None:
        encoded = encoded.and_more(new.encoded)
    return Data(np.concatenate([seen.X, new.X]), np.concatenate([seen.y, new.y]), seen.names, groups, weights, encoded)


def _checked(
    selector: BestLeafSelector, seen: Data, X: ArrayLike, y: ArrayLike, given: dict[str, ArrayLike | None]
) -> Data:
    """Return the test rows, after checks that they go with the rows of the fit and are not among them."""
    names, X, y = [str(name) for name in seen.names], dense(X), np.asarray(y)
    task = task_for(seen.y, selector.estimator)
    theirs = [str(name) for name in getattr(X, "columns", names)]
    if hasattr(selector, "feature_names_in_") and len(theirs) == len(names) and theirs != names:
        other = next(both for both in zip(names, theirs, strict=True) if both[0] != both[1])
        raise ValueError(f"X_test must have the columns of X in their order, got {other[1]!r} instead of {other[0]!r}")
    encoded = None
    if seen.encoded is not None:
        encoder = seen.encoded.encoder
        encoded = EncodedRows(encoder, pandas_frame(X), encoder.plain(X), y)
        numbers = encoded.numbers()
    else:
        try:
            numbers = np.asarray(X, seen.X.dtype)
        except (TypeError, ValueError):
            raise ValueError("X_test must hold numbers only, got text, dates or lines of different length") from None
    if numbers.ndim != 2 or numbers.shape[1] != seen.X.shape[1]:
        raise ValueError(f"X_test must have {len(names)} columns, as X has, got shape {numbers.shape}")
    if y.shape != (len(numbers),):
        raise ValueError(f"y_test must have one target for each of the {len(numbers)} rows, got shape {y.shape}")
    if broken := columns_not_finite(numbers, missing=takes_missing(selector.estimator)):
        which = listed(names[feature] for feature in seen.features_of(broken))
        raise ValueError(f"X_test must not have missing values (NaN) or infinity (inf), found in columns [{which}]")
    _check_targets(task, seen.y, y)
    checks = {"groups": group_numbers, "sample_weight": checked_weights}
    rows = {name: checks[name](one, len(y)) for name, one in given.items() if one is not None}
    data = Data(numbers, y, seen.names, rows.get("groups"), rows.get("sample_weight"), encoded)
    if data.weights is not None:
        check_targets(data, task)
    _refuse_seen_rows(seen, data, task)
    together = kept_together(data)
    if together is not data:
        assert together.groups is not None
        many = len(y) - len(np.unique(together.groups))
        warn(f"{many:,} rows of X_test are copies of others there; equal rows count as a group, so there is no proof")
    return together


def _check_targets(task: str, y: np.ndarray, new_y: np.ndarray) -> None:
    """Refuse targets of another kind than those of the fit."""
    if task == "regression":
        if new_y.dtype.kind not in "biuf" or not np.isfinite(new_y).all():
            raise ValueError("y_test must have finite numbers as targets, because y has")
    elif strange := sorted(set(new_y.tolist()) - set(y.tolist()), key=str):
        raise ValueError(f"y_test must have the classes of y only, got {shown(strange[0])}")
    if len(np.unique(new_y)) < 2:
        raise ValueError(f"y_test must have at least two different targets, got {len(np.unique(new_y))}")


def _refuse_seen_rows(seen: Data, new: Data, task: str) -> None:
    """Refuse test rows that are rows of the fit; as many may be equal as rows are that equal others by chance."""
    both, y = (seen, new), np.concatenate([seen.y, new.y])
    with np.errstate(over="ignore"):  # in single precision rows are the same whatever the type of their numbers
        X = np.concatenate([np.asarray(one.X, np.float32) for one in both]) + np.float32(0)  # no zero with a minus sign
        _, targets = np.unique(y if task == "classification" else y.astype(np.float32), return_inverse=True)
    X[np.isnan(X)] = np.nan
    numbers = row_numbers(X, targets.ravel())
    known, asked = (np.bincount(some, minlength=len(numbers)) for some in np.split(numbers, [len(seen.y)]))
    found, many = int(asked[known > 0].sum()), len(new.y)
    twice = known[known > 1].sum() / len(seen.y)
    if kept_together(seen._replace(groups=None)).groups is not None:  # copies say nothing of chance
        twice = 0.0
    # Rows that are equal by chance are so among the test rows, too.
    likely = min(many * twice, (asked[asked > 1].sum() + 3) * max(1.0, len(seen.y) / many))
    # Share of test rows that may equal rows of the fit, beyond what rows of the fit share with each other.
    if found > likely + 3 * np.sqrt(max(0.0, likely * (1 - likely / many))) + max(1.0, 0.01 * many):
        raise ValueError(f"X_test must not have rows of the fit, got {found:,} of {many:,} that are among them")
