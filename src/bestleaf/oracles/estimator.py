"""What a subset of features is worth to any scikit-learn estimator: its cross-validated score, mapped to [0, 1]."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    check_cv,
)
from sklearn.model_selection._split import GroupsConsumerMixin
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import has_fit_parameter

from bestleaf.checks import shown
from bestleaf.examples import checked_data
from bestleaf.objectives import estimator_in_words
from bestleaf.oracles.fitting import ONE_THREAD, described, fix_random_states
from bestleaf.oracles.scores import chosen_score, in_short

DEFAULT_FOLDS = 5
MOST_TRIES = 100  # to draw a split with two classes on both sides
AT_RANDOM = (
    KFold,
    StratifiedKFold,
    ShuffleSplit,
    StratifiedShuffleSplit,
    GroupKFold,
    StratifiedGroupKFold,
    GroupShuffleSplit,
)


class EstimatorOracle:
    """Cross-validated score of an estimator on feature subsets: exact on fixed splits, or one random split at a time.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Numbers without gaps.
    y : array of shape (n_samples,)
        Targets.
    estimator : scikit-learn classifier or regressor
        A clone is fitted on the columns of each subset; where a `random_state` is None it gets a fixed one.
    scoring : str or callable, default=None
        Any scorer; None is the accuracy of a classifier and the concordance index of a regressor.
    cv : int, splitter or iterable, default=None
        The fixed splits, as scikit-learn understands them; None is 5 folds.
    score_range : (float, float), default=None
        Lowest and highest score, mapped to 0 and 1. Known for scorers that have bounds; a score outside is an error.
    fresh_splits : bool, default=False
        Draw a new random split for every sample, with test parts as large as those of `cv`; otherwise `sample` takes
        one of the fixed splits at random, so that its mean is `value`.
    sample_weight : array of shape (n_samples,), default=None
        Weights of the examples, in fitting and in scoring; refused if either cannot take them.
    groups : array of shape (n_samples,), default=None
        Which examples stay together, for splitters that use groups; refused with others.
    random_state : int, default=0
        For splits and estimators that are random.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> oracle = EstimatorOracle(*load_iris(return_X_y=True), estimator=DecisionTreeClassifier())
    >>> round(oracle.value([2, 3]), 2)
    0.95
    """

    value_cost = 10**8  # one value takes about as long as so many distances of the k-NN oracle: a tenth of a second
    rough_cost = value_cost
    part_cost = 2 * 10**7  # and one of its scores
    rollouts_a_unit = 1  # that a choice opens with

    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        estimator: Any,
        scoring: Any = None,
        cv: Any = None,
        score_range: Any = None,
        fresh_splits: bool = False,
        sample_weight: Any = None,
        groups: Any = None,
        random_state: int = 0,
    ) -> None:
        known = isinstance(estimator, BaseEstimator) and (is_classifier(estimator) or is_regressor(estimator))
        if not known:
            raise TypeError(f"estimator must be a scikit-learn classifier or regressor, got {shown(estimator)}")
        self.X = checked_data(X)
        self.y = np.asarray(y)
        self.n_samples, self.n_features = self.X.shape
        self.estimator = clone(estimator)
        fix_random_states(self.estimator, random_state)
        self.score = chosen_score(self.estimator, scoring, score_range)
        self.fresh_splits = fresh_splits
        self.sample_weight = self._checked_weights(sample_weight)
        self.cv = self._checked_cv(DEFAULT_FOLDS if cv is None else cv)
        self.groups = self._checked_groups(groups)
        self.splits = self._fixed_splits(random_state)
        self.test_share = float(np.mean([len(test) for _, test in self.splits])) / self.n_samples
        self._refuse_requests()

    def value(self, subset: Iterable[int]) -> float:
        """Return the mean score on the fixed splits, mapped to [0, 1]."""
        features = self._features(subset)
        return float(np.mean([self._scored(features, *split) for split in self.splits]))

    def rough_value(self, subset: Iterable[int]) -> float:
        """Return the value itself."""
        return self.value(subset)

    def sample(self, subset: Iterable[int], rng: np.random.Generator) -> float:
        """Return the score on one random split, mapped to [0, 1]."""
        features, number = self._features(subset), self.drawn_part(rng)
        split = self._fresh_split(int(rng.integers(2**32))) if number is None else self.splits[number]
        return self._scored(features, *split)

    @property
    def parts(self) -> int:
        """How many scores a value is the mean of, each of which can be asked for alone."""
        return len(self.splits)

    def part(self, subset: Iterable[int], number: int) -> float:
        """Return the score on one of the fixed splits, mapped to [0, 1]."""
        return self._scored(self._features(subset), *self.splits[number])

    def drawn_part(self, rng: np.random.Generator) -> int | None:
        """Return which of the fixed splits a sample takes; None if it takes a fresh one."""
        return None if self.fresh_splits else int(rng.integers(len(self.splits)))

    def fitted(self, subset: Iterable[int], rows: np.ndarray) -> Any:
        """Return a clone of the estimator fitted on some rows and the columns of a subset."""
        weights = {} if self.sample_weight is None else {"sample_weight": self.sample_weight[rows]}
        try:
            return clone(self.estimator).fit(self.X[np.ix_(rows, self._features(subset))], self.y[rows], **weights)
        except ValueError as error:
            raise ValueError(f"estimator {self.name} cannot be fitted to these data: {in_short(error)}") from None

    def unseen_score(self, subset: Iterable[int], new_X: np.ndarray, new_y: np.ndarray, new_weight: Any) -> float:
        """Return the score on other examples of the estimator fitted on all of these, mapped as values are."""
        features = self._features(subset)
        weights = {} if new_weight is None else {"sample_weight": new_weight}
        score = self.score.of(self.fitted(features, np.arange(self.n_samples)), new_X[:, features], new_y, **weights)
        return self.score.placed(float(score))

    @property
    def name(self) -> str:
        """The name of the estimator; of a pipeline, that of its last step."""
        last = self.estimator.steps[-1][1] if isinstance(self.estimator, Pipeline) else self.estimator
        return type(last).__name__

    def fingerprint(self) -> str:
        """Return the SHA-256 of the data, the weights and the fixed splits."""
        digest = sha256(repr((self.X.shape, self.y.tolist())).encode())
        digest.update(np.ascontiguousarray(self.X).view(np.uint8).data)
        digest.update(described(self.estimator).encode())
        for array in (self.sample_weight, self.groups, *(part for split in self.splits for part in split)):
            digest.update(b"-" if array is None else repr(array.tolist()).encode())
        return digest.hexdigest()

    def settings(self) -> dict[str, Any]:
        """Return what the values depend on beside the data, in words where there is no other form."""
        return {
            "kind": "estimator",
            "name": self.name,
            "estimator": described(self.estimator),
            "scoring": self.score.name,
            "score_range": [self.score.low, self.score.high],
            "cv": described(self.cv),
            "splits": len(self.splits),
            "fresh_splits": self.fresh_splits,
            "weighted": self.sample_weight is not None,
            "grouped": self.groups is not None,
        }

    def counts(self, *, sampled: bool = False) -> dict[str, None]:
        """Return what a certificate counts of nearest neighbours; of an estimator its settings say all."""
        return {"classes": None, "queries": None}

    def in_words(self, *, sampled: bool = False) -> str:
        """Return what `value` is, or what the mean of `sample` is, in words."""
        return estimator_in_words(self.settings(), sampled=sampled)

    def _features(self, subset: Iterable[int]) -> np.ndarray:
        return np.unique(np.fromiter(subset, np.int64))

    def _scored(self, features: np.ndarray, train: np.ndarray, test: np.ndarray) -> float:
        """Return the score of one split; many fits at a time pay, several threads for one do not."""
        weights = {} if self.sample_weight is None else {"sample_weight": self.sample_weight[test]}
        with ONE_THREAD:
            fitted = self.fitted(features, train)
            score = self.score.of(fitted, self.X[np.ix_(test, features)], self.y[test], **weights)
        return self.score.mapped(score, features.tolist())

    def _fresh_split(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return a random split; by groups one is drawn again while a part has one class only."""
        keywords: dict[str, Any] = {"test_size": self.test_share, "random_state": seed}
        if self.groups is None:
            kind = StratifiedShuffleSplit if is_classifier(self.estimator) else ShuffleSplit
            return next(kind(n_splits=1, **keywords).split(self.X, self.y))
        every = GroupShuffleSplit(n_splits=MOST_TRIES, **keywords).split(self.X, self.y, self.groups)
        for train, test in every:
            if is_regressor(self.estimator) or all(len(np.unique(self.y[part])) > 1 for part in (train, test)):
                return train, test
        raise ValueError(f"groups must leave two classes on both sides of a split, got none such in {MOST_TRIES} tries")

    def _fixed_splits(self, random_state: int) -> list[tuple[np.ndarray, np.ndarray]]:
        if getattr(self.cv, "shuffle", True) and getattr(self.cv, "random_state", 0) is None:
            self.cv = clone(self.cv, safe=False)
            self.cv.random_state = random_state % 2**32
        found = [(np.asarray(train), np.asarray(test)) for train, test in self.cv.split(self.X, self.y, self.groups)]
        if not found:
            raise ValueError(f"cv must give at least one split, got none from {self.cv}")
        return found

    def _checked_cv(self, given: Any) -> Any:
        if isinstance(given, Iterator):
            raise ValueError(
                f"cv must be a number, a splitter or a list, got the iterator {described(given)}, which ends"
            )
        cv = check_cv(given, self.y, classifier=is_classifier(self.estimator))
        if self.fresh_splits and not isinstance(cv, AT_RANDOM):
            raise ValueError(
                f"terminal='noisy' draws random splits, so cv must be a number of folds or a splitter at random or by "
                f"groups, got {described(cv)}"
            )
        return cv

    def _checked_weights(self, given: Any) -> np.ndarray | None:
        if given is None:
            return None
        weights = np.asarray(given, np.float64)
        if weights.shape != (self.n_samples,) or not (np.isfinite(weights) & (weights >= 0)).all():
            raise ValueError(
                f"sample_weight must be {self.n_samples} numbers of at least 0, got {weights.dtype} of shape "
                f"{weights.shape}"
            )
        if not has_fit_parameter(self.estimator, "sample_weight"):
            raise ValueError(f"sample_weight cannot be used: {type(self.estimator).__name__}.fit does not take it")
        if not self.score.takes_weights:
            raise ValueError(f"sample_weight cannot be used: scoring {self.score.name} does not take it")
        return weights

    def _checked_groups(self, given: Any) -> np.ndarray | None:
        by_groups = isinstance(self.cv, GroupsConsumerMixin)
        unknown = not type(self.cv).__module__.startswith("sklearn.")  # a splitter of the user's own may use them
        if given is None:
            if by_groups:
                raise ValueError(
                    f"groups must be given to fit, because {type(self.cv).__name__} splits by them, got None"
                )
            return None
        if not (by_groups or unknown):
            raise ValueError(
                f"groups cannot be used: {type(self.cv).__name__} does not split by them; give cv=GroupKFold() or "
                "another splitter that does"
            )
        groups = np.asarray(given)
        if groups.shape != (self.n_samples,):
            raise ValueError(
                f"groups must have one value for each of the {self.n_samples} rows, got shape {groups.shape}"
            )
        return groups

    def _refuse_requests(self) -> None:
        """Refuse an estimator that asks for metadata which are not handed on."""
        requests = get_routing_for_object(self.estimator)
        asked = getattr(getattr(requests, "fit", None), "requests", {})
        others = sorted(name for name, wanted in asked.items() if wanted is True and name != "sample_weight")
        if others:
            raise ValueError(f"estimator asks for the metadata {', '.join(others)}, which are not handed on to it")
