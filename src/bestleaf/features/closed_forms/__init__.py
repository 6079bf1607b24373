"""Closed forms: scores of common estimators on many subsets without fitting them one by one.

The training rows of a fold enter a fit only by sums: of products of two features (ridge, least squares, linear
discriminant analysis), or of single features (Gaussian naive Bayes). These are computed once. Then a subset takes a
small system of equations, or a sum over its features.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline

from bestleaf.features.closed_forms.folds import Fold, Listed, Split, folds_of, trusted
from bestleaf.features.closed_forms.recognised import Recognised, recognised
from bestleaf.features.closed_forms.scores import MEASURES, Form, Measure, measure_name

MOST_NUMBERS = 30_000_000  # that may be kept: products of two features, and test rows, of all folds
MOST_WORK = 3 * 10**11  # multiplications for the products of two features, some ten seconds
AT_ONCE = 1_000_000  # outputs that are computed at a time
LOOKS = 4  # subsets on which a closed form is compared with the estimator itself
SAME = 1e-9  # relative


class ClosedForm:
    """Scores of an estimator with a closed form; not a number where the estimator itself has to be fitted.

    Sums over the rows are computed when the first score is asked for. Then the closed form is compared with the
    estimator on a few subsets. If their outputs differ, all scores are left to the estimator.
    """

    def __init__(
        self,
        estimator: BaseEstimator,
        known: Recognised,
        measure: str,
        data: tuple[np.ndarray, np.ndarray, np.ndarray | None],
        splits: Sequence[Split],
    ) -> None:
        self._estimator, self._known, self._measure_name = estimator, known, measure
        self._data, self._splits = data, splits
        self._lock = Lock()
        self._ready = False
        self._form: Form | None = None
        self._measure: Measure | None = None
        self._trusted = np.zeros(0, bool)

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_lock": None}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state, _lock=Lock())

    def scores(self, subsets: Sequence[np.ndarray], folds: Sequence[int]) -> np.ndarray:
        """Return the scores [subset, fold] of sorted subsets; not a number where the estimator has to be fitted."""
        found = np.full((len(subsets), len(folds)), np.nan)
        self._prepare()
        if self._form is None or self._measure is None:
            return found
        able = [place for place, one in enumerate(subsets) if len(one) and self._can(one)]
        largest = max((self._form.columns[fold].shape[1] for fold in folds), default=1)
        many = max(1, AT_ONCE // max(1, largest))
        for start in range(0, len(able), many):
            some = able[start : start + many]
            listed = Listed.of([subsets[place] for place in some])
            for column, fold in enumerate(folds):
                found[some, column] = self._measure.scores(self._form, listed, fold)
        return found

    def _can(self, subset: np.ndarray) -> bool:
        """Return whether all features of a sorted subset are there and can be trusted."""
        return bool(subset[0] >= 0 and subset[-1] < len(self._trusted) and self._trusted[subset].all())

    def _prepare(self) -> None:
        """Compute the sums over the rows, once."""
        if self._ready:
            return
        with self._lock:
            if self._ready:
                return
            X, y, weights = self._data
            fine, target, classes = trusted(X, self._splits), y, 0
            if self._known.classifier:
                labels, target = np.unique(y, return_inverse=True)
                classes = len(labels)
            else:
                target = y.astype(np.float64)
            folds = folds_of(X, target, weights, self._splits, shifted=self._known.shifted)
            measure = MEASURES[self._measure_name](self._measure_name, folds)
            complete = not classes or all(len(np.unique(fold.target)) == classes > 1 for fold in folds)
            if complete and measure.usable() and fine.any():
                form = self._known.build(folds, classes)
                if self._agrees(form, folds[0], np.flatnonzero(fine)):
                    self._form, self._measure, self._trusted = form, measure, fine
            self._ready = True

    def _agrees(self, form: Form, fold: Fold, features: np.ndarray) -> bool:
        """Return whether the closed form and the estimator have the same outputs on a few subsets of the first fold."""
        X, y, weights = self._data
        train, test = self._splits[0]
        rng, compared = np.random.default_rng(0), 0
        for size in np.linspace(1, min(len(features), 8), LOOKS).astype(int):
            subset = np.sort(rng.permutation(features)[:size])
            mine, doubt = form.outputs(Listed.of([subset]), 0)
            if not np.isfinite(doubt[0]):
                continue
            keywords = {} if weights is None else {"sample_weight": weights[train]}
            fitted = clone(self._estimator).fit(X[np.ix_(train, subset)], y[train], **keywords)
            theirs = _outputs(fitted, X[np.ix_(test, subset)], classifier=self._known.classifier)
            ours = mine[0] - mine[0, 0] if self._known.classifier else mine[0]
            if np.abs(ours - theirs).max() > SAME * (np.abs(mine).max() + np.abs(theirs).max()):
                return False
            compared += 1
        return True


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
    """Return the closed form of an estimator with a scorer on some data; None if there is none."""
    known, measure = recognised(estimator), measure_name(scorer)
    if known is None or measure is None or X.dtype != np.float64 or y.ndim != 1 or len(y) != len(X):
        return None
    if known.classifier != (measure in ("accuracy", "balanced_accuracy", "roc_auc")) or not _plain(y, known.classifier):
        return None
    if weights is not None and not (weights > 0).all():
        return None
    rows, features = X.shape
    tested, trained = (sum(len(side[place]) for side in splits) for place in (1, 0))
    kept = features * (tested + (2 if known.classifier else 1) * features * len(splits))
    if kept > MOST_NUMBERS or trained * features**2 > MOST_WORK or not all(len(test) for _, test in splits):
        return None
    if not np.isfinite(X).all():
        return None
    return ClosedForm(estimator, known, measure, (X, y, weights), splits)


def _plain(y: np.ndarray, classifier: bool) -> bool:
    """Return whether targets are what the estimator takes as they are: finite numbers, or labels."""
    if y.dtype.kind in "iu" or (y.dtype.kind == "f" and bool(np.isfinite(y).all())):
        return not classifier or y.dtype.kind != "f" or bool((y == np.round(y)).all())
    return classifier and y.dtype.kind in "bU"
