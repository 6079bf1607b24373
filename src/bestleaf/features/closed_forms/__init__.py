"""Closed forms: scores of common estimators on many subsets without fitting them one by one.

The training rows of a fold enter a fit only by sums: of products of two features (ridge, least squares, linear
discriminant analysis), or of single features (Gaussian naive Bayes). These are computed once. Then a subset takes a
small system of equations, or a sum over its features.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.pipeline import Pipeline

from bestleaf.features.closed_forms.folds import Listed, Split, folds_of, trusted
from bestleaf.features.closed_forms.recognised import recognised
from bestleaf.features.closed_forms.scores import LABELLED, MEASURES, Form, Measure, measure_name

MOST_NUMBERS = 30_000_000  # that may be kept: products of two features, and test rows, of all folds
MOST_WORK = 3 * 10**10  # multiplications for the products of two features: some seconds
AT_ONCE = 1_000_000  # outputs that are computed at a time
LOOKS, LARGEST_LOOK = 3, 8  # subsets on which a closed form is compared with the estimator, and the largest size
SAME = 1e-9  # relative


class ClosedForm:
    """Scores of an estimator with a closed form; not a number where the estimator itself has to be fitted.

    Parameters
    ----------
    form : Form
        What the estimator computes for the test rows.
    measure : Measure
        How that is scored.
    usable : array of bool
        The features that the closed form can be trusted with.
    """

    def __init__(self, form: Form, measure: Measure, usable: np.ndarray) -> None:
        self.form, self.measure, self.usable = form, measure, usable

    def scores(self, subsets: Sequence[np.ndarray], folds: Sequence[int]) -> np.ndarray:
        """Return the scores [subset, fold] of sorted subsets; not a number where the estimator has to be fitted."""
        found = np.full((len(subsets), len(folds)), np.nan)
        able = [place for place, one in enumerate(subsets) if len(one) and self._can(one)]
        many = max(1, AT_ONCE // max(columns.shape[1] for columns in self.form.columns))
        for start in range(0, len(able), many):
            some = able[start : start + many]
            listed = Listed.of([subsets[place] for place in some])
            for column, fold in enumerate(folds):
                found[some, column] = self.measure.scores(self.form, listed, fold)
        return found

    def _can(self, subset: np.ndarray) -> bool:
        """Return whether all features of a sorted subset are there and can be trusted."""
        return bool(subset[0] >= 0 and subset[-1] < len(self.usable) and self.usable[subset].all())


def _outputs(fitted: BaseEstimator, X: np.ndarray, *, classifier: bool) -> np.ndarray:
    """Return the predictions, or what is in favour of each class beside the first one: [output, row]."""
    if not classifier:
        return np.asarray(fitted.predict(X))[None]
    if hasattr(fitted, "decision_function"):
        values = np.asarray(fitted.decision_function(X))
        values = np.stack([np.zeros(len(X)), values], axis=1) if values.ndim == 1 else values
    else:
        last = fitted.steps[-1][1] if isinstance(fitted, Pipeline) else fitted
        values = last.predict_joint_log_proba(fitted[:-1].transform(X) if isinstance(fitted, Pipeline) else X)
    return (values - values[:, :1]).T


def closed_form(
    estimator: BaseEstimator,
    scorer: Callable[..., float],
    X: np.ndarray,
    y: np.ndarray,
    splits: Sequence[Split],
    weights: np.ndarray | None,
) -> ClosedForm | None:
    """Return the closed form of an estimator with a scorer on some data; None if there is none.

    It is compared with the estimator on a few subsets, and used only if their outputs agree.
    """
    known, name = recognised(estimator), measure_name(scorer)
    if known is None or name is None or known.classifier != (name in LABELLED):
        return None
    if not _can_take(X, y, splits, weights, classifier=known.classifier):
        return None
    classes, target = 0, y
    if known.classifier:
        labels, target = np.unique(y, return_inverse=True)
        classes = len(labels)
        if any(len(np.unique(target[rows])) < max(2, classes) for rows, _ in splits):
            return None
    folds = folds_of(X, target if classes else y.astype(np.float64), weights, splits, shifted=known.shifted)
    usable, measure = trusted(X, splits, constant=known.penalised), MEASURES[name](name, folds)
    if not usable.any() or not measure.usable():
        return None
    for build in known.builds:
        form = build(folds, classes) if classes else build(folds)
        if _agrees(form, estimator, (X, y, weights), splits[0], np.flatnonzero(usable)):
            return ClosedForm(form, measure, usable)
    return None


def _can_take(
    X: np.ndarray, y: np.ndarray, splits: Sequence[Split], weights: np.ndarray | None, *, classifier: bool
) -> bool:
    """Return whether data are finite numbers in double precision, and not too many."""
    if X.dtype != np.float64 or y.shape != (len(X),) or not _plain(y, classifier) or not np.isfinite(X).all():
        return False
    if weights is not None and not (weights > 0).all():
        return False
    features, tested, trained = X.shape[1], sum(len(test) for _, test in splits), sum(len(rows) for rows, _ in splits)
    kept = features * (tested + features * len(splits))
    small = kept <= MOST_NUMBERS and trained * features**2 <= MOST_WORK
    return small and all(len(rows) and len(test) for rows, test in splits)


def _agrees(
    form: Form,
    estimator: BaseEstimator,
    data: tuple[np.ndarray, np.ndarray, np.ndarray | None],
    split: Split,
    features: np.ndarray,
) -> bool:
    """Return whether the closed form and the estimator have the same outputs on a few subsets, for one split."""
    (X, y, weights), (train, test), rng = data, split, np.random.default_rng(0)
    keywords = {} if weights is None else {"sample_weight": weights[train]}
    classifier = is_classifier(estimator)
    compared = 0
    for size in np.linspace(1, min(len(features), LARGEST_LOOK), LOOKS).astype(int):
        subset = np.sort(rng.permutation(features)[:size])
        mine, doubt = form.outputs(Listed.of([subset]), 0)
        if not np.isfinite(doubt[0]):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what the estimator says of a subset is said when it is asked for
            try:
                fitted = clone(estimator).fit(X[np.ix_(train, subset)], y[train], **keywords)
            except ValueError:
                return False
            theirs = _outputs(fitted, X[np.ix_(test, subset)], classifier=classifier)
        ours = mine[0] - mine[0, 0] if classifier else mine[0]
        if not np.abs(ours - theirs).max() <= SAME * (np.abs(mine).max() + np.abs(theirs).max()):
            return False
        compared += 1
    return compared > 0


def _plain(y: np.ndarray, classifier: bool) -> bool:
    """Return whether targets are what the estimator takes as they are: finite numbers, or labels."""
    if y.dtype.kind in "iu" or (y.dtype.kind == "f" and bool(np.isfinite(y).all())):
        return not classifier or y.dtype.kind != "f" or bool((y == np.round(y)).all())
    return classifier and (y.dtype.kind in "bU" or (y.dtype.kind == "O" and all(type(one) is str for one in y)))
