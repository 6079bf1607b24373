"""The value of a subset of features as the cross-validated score of a scikit-learn estimator."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from hashlib import sha256
from threading import Lock
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn import config_context, get_config
from sklearn import model_selection as splitters
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.utils.metadata_routing import MetadataRequest, MetadataRouter, get_routing_for_object
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import ThreadpoolController

from bestleaf.checks import sentence, shown
from bestleaf.features.data import checked_data, in_order, splits_by
from bestleaf.features.rows import checked_weights
from bestleaf.features.scoring import Scoring, chosen_score, corrected_error
from bestleaf.scikit import takes_missing
from bestleaf.search.executors import LATE

DEFAULT_FOLDS = 5
FEW_ROWS, FASTER = 500, 4  # rows on which a fit is tried first, to see how long it will take; then four times as many
TRIED = 0.05  # seconds after which no larger fit is tried
STEEPEST = 2.0  # power of the number of rows by which the time of fits may grow

Split = tuple[np.ndarray, np.ndarray]  # rows to fit on, held-out rows


class EstimatorOracle:
    """Cross-validated score of an estimator on feature subsets: exact on fixed splits, sampled on a random one.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Numbers, without missing values unless the estimator takes them.
    y : array of shape (n_samples,)
        Targets.
    estimator : scikit-learn classifier or regressor
        A clone is fitted on the columns of each subset. A `random_state` of None gets a fixed value. Each fit uses one
        thread, unless a parameter such as `n_jobs` asks for another number than all.
    scoring : str or callable, default=None
        A scorer with scores of at most 1; those below 0 count as 0. None is the accuracy of a classifier and the
        concordance index of a regressor. An error can score other rows, but no subsets.
    cv : int, splitter or iterable, default=None
        The fixed splits, as scikit-learn understands them; None is 5 folds.
    sample_weight : array of shape (n_samples,), default=None
        Weights of the rows for fitting and scoring; an error if the estimator or the scorer cannot use them.
    groups : array of shape (n_samples,), default=None
        Rows of the same group stay together; an error if `cv` does not split by groups.
    random_state : int, default=0
        Seed of random splits and random estimators.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> oracle = EstimatorOracle(*load_iris(return_X_y=True), estimator=DecisionTreeClassifier())
    >>> round(oracle.value([2, 3]), 2)
    0.95
    """

    value_cost = 10**8  # stands for a tenth of a second
    most_subsets = 1_000_000  # that are all evaluated with guarantee "exhaustive"
    part_cost = 2 * 10**7
    rollouts_a_unit = 1

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        estimator: BaseEstimator,
        scoring: Scoring = None,
        cv: object = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        random_state: int = 0,
    ) -> None:
        known = isinstance(estimator, BaseEstimator) and (is_classifier(estimator) or is_regressor(estimator))
        if not known:
            raise TypeError(f"estimator must be a scikit-learn classifier or regressor, got {shown(estimator)}")
        self.X, self.y = checked_data(X, missing=takes_missing(estimator)), np.asarray(y)
        self.n_samples, self.n_features = self.X.shape
        self.estimator = prepared(estimator, random_state)
        self.score = chosen_score(self.estimator, scoring)
        self.sample_weight = self._checked_weights(sample_weight)
        given = DEFAULT_FOLDS if cv is None else cv
        self.cv = fixed_splitter(given, self.y, random_state, classifier=is_classifier(self.estimator))
        self.groups = groups_for(self.cv, groups, self.n_samples)
        self.splits: list[Split] = splits_by("cv", self.cv, self.X, self.y, self.groups)
        if not self.splits:
            raise ValueError(f"cv must give at least one split, got none from {shown(cv)}")
        self.parts = len(self.splits)
        self._took: dict[int, float] = {}  # by number of columns: how long the last fit and its score took

    def value(self, subset: Iterable[int]) -> float:
        """Return the mean score on the fixed splits."""
        features = in_order(subset)
        return float(np.mean([self.part(features, number) for number in range(self.parts)]))

    def values(self, subsets: Iterable[Iterable[int]]) -> list[float]:
        """Return the values of several subsets."""
        return [self.value(subset) for subset in subsets]

    def table_values(self, columns: np.ndarray) -> np.ndarray:
        """Return the exact values of many subsets; `columns` [subsets, features] says which features each has."""
        return np.array(self.values([np.flatnonzero(row) for row in columns]))

    def sample(self, subset: Iterable[int], rng: np.random.Generator) -> float:
        """Return the score on one random split."""
        return self.part(in_order(subset), self.drawn_part(rng))

    def part(self, subset: Iterable[int], number: int) -> float:
        """Return the score on one of the fixed splits, and note how long it took."""
        features, begun = in_order(subset), perf_counter()
        score = self._plain_score(features, self.splits[number])
        self._took[len(features)] = perf_counter() - begun
        return self.score.value(score, features.tolist())

    def seconds(self, subset: Iterable[int]) -> float:
        """Return about how long a score will take, by the fits so far; the first time, by fits on few rows."""
        features = in_order(subset)
        size, took = len(features), self._took
        if not took:
            return self._tried(features)[0]
        larger = [seconds for other, seconds in took.items() if other >= size]
        return min(larger) if larger else took[max(took)] * size / max(1, max(took))

    def rough(self, subset: Iterable[int]) -> float:
        """Return the score on the first split or, if it takes more than half a second, that of a fit on fewer rows."""
        features = in_order(subset)
        seconds, score = self._tried(features)
        return self.part(features, 0) if seconds <= LATE else self.score.value(score, features.tolist())

    def _tried(self, features: np.ndarray) -> tuple[float, Any]:
        """Return the seconds that a fit and its score on the first split will take, and the score of one on fewer rows.

        Two fits on few rows, or more if they take no time, show how the time grows. A fit that fails says nothing.
        """
        (train, test), rows = self.splits[0], FEW_ROWS
        many, seconds, score = [0.0], [0.0], 0.0
        while many[-1] < len(train) and (len(many) < 3 or seconds[-1] < TRIED):
            some = train[:: -(-len(train) // rows)], test[:: -(-len(train) // rows)]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                begun = perf_counter()
                with suppress(Exception):
                    score = self._plain_score(features, some)
            many, seconds, rows = [*many, float(len(some[0]))], [*seconds, perf_counter() - begun], FASTER * rows
        return expected_seconds(len(train), many, seconds), score

    def drawn_part(self, rng: np.random.Generator) -> int:
        """Return the number of the split that `sample` takes."""
        return int(rng.integers(len(self.splits)))

    def fitted(self, subset: Iterable[int], rows: np.ndarray) -> BaseEstimator:
        """Return a clone of the estimator, fitted on some rows and the columns of a subset."""
        return fitted_to(self.X[np.ix_(rows, in_order(subset))], self.y[rows], self.estimator, **self._weights(rows))

    def standard_error(self, subset: Iterable[int], known: Sequence[float] | None = None) -> float:
        """Return the standard error of the value, from the scores of the fixed splits; nan if there is only one.

        It is corrected for training rows that the splits have in common. `known` are these scores, if they are known.
        """
        scores = [self.part(subset, number) for number in range(self.parts)] if known is None else known
        train, test = zip(*self.splits, strict=True)
        return corrected_error(scores, list(map(len, test)), list(map(len, train)))

    @property
    def name(self) -> str:
        """The name of the estimator; of a pipeline, that of its last step."""
        return name_of(self.estimator)

    def settings(self) -> dict[str, object]:
        """Return the settings that values depend on."""
        return {
            "kind": "estimator",
            "name": self.name,
            "estimator": described(self.estimator),
            "scoring": self.score.name,
            "cv": described(self.cv),
            "splits": len(self.splits),
            "fresh_splits": False,
            "weighted": self.sample_weight is not None,
            "grouped": self.groups is not None,
        }

    def fingerprint(self) -> str:
        """Return the SHA-256 of the data, the estimator, the weights and the fixed splits."""
        digest = sha256(repr((self.X.shape, self.y.tolist())).encode())
        digest.update(np.ascontiguousarray(self.X).view(np.uint8).data)
        digest.update(described(self.estimator).encode())
        for array in (self.sample_weight, self.groups, *(part for split in self.splits for part in split)):
            digest.update(b"-" if array is None else repr(array.tolist()).encode())
        return digest.hexdigest()

    def _weights(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        return {} if self.sample_weight is None else {"sample_weight": self.sample_weight[rows]}

    def _plain_score(self, features: np.ndarray, split: Split) -> float:
        """Return the score of one split. Each fit uses one thread, because many fits run at a time."""
        train, test = split
        with ONE_THREAD:
            fitted = self.fitted(features, train)
            return self.score.of(fitted, self.X[np.ix_(test, features)], self.y[test], **self._weights(test))

    def _checked_weights(self, given: ArrayLike | None) -> np.ndarray | None:
        if given is None:
            return None
        weights = checked_weights(given, self.n_samples)
        if not fits_with_weights(self.estimator):
            raise ValueError(f"sample_weight cannot be used: {type(self.estimator).__name__}.fit does not take it")
        if not self.score.takes_weights:
            raise ValueError(f"sample_weight cannot be used: scoring {self.score.name} does not take it")
        return weights


def expected_seconds(rows: int, many: Sequence[float], seconds: Sequence[float]) -> float:
    """Return how long a fit on all rows will take, by times of fits on fewer: on a line, or a power if that is more."""
    (few, more), (short, long) = many[-2:], seconds[-2:]
    line = long + max(0.0, long - short) / (more - few) * (rows - more)
    if few == 0.0 or long <= short:
        return line
    power = min(STEEPEST, np.log(long / short) / np.log(more / few))
    return float(max(line, long * (rows / more) ** power))


class _OneThread:
    """A context in which BLAS and OpenMP use one thread. Several threads may be in it; the last to leave undoes it."""

    def __init__(self) -> None:
        self.lock, self.inside = Lock(), 0
        self.libraries: ThreadpoolController | None = None
        self.limits: Any = None  # has no public type

    def __enter__(self) -> None:
        with self.lock:
            if self.inside == 0:
                self.libraries = self.libraries or ThreadpoolController()  # takes a while, so not at import
                self.limits = self.libraries.limit(limits=1)
            self.inside += 1

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.inside -= 1
            if self.inside == 0:
                self.limits.restore_original_limits()


ONE_THREAD = _OneThread()


def fixed_splitter(
    given: object, y: np.ndarray, random_state: int, *, classifier: bool
) -> splitters.BaseCrossValidator:
    """Return the splitter that `cv` stands for; a random one gets a fixed random state."""
    if isinstance(given, Iterator):
        what = f"the iterator {described(given)}, which can be used only once"
        raise ValueError(f"cv must be a number, a splitter or a list, got {what}")
    cv = splitters.check_cv(given, y, classifier=classifier)
    if getattr(cv, "shuffle", True) and getattr(cv, "random_state", 0) is None:
        cv = clone(cv, safe=False)
        cv.random_state = random_state % 2**32
    return cv


def groups_for(cv: splitters.BaseCrossValidator, given: ArrayLike | None, rows: int) -> np.ndarray | None:
    """Return the groups of the rows that a splitter splits by; refuse groups that it would not use."""
    by_groups, name = _requests(cv, "split").get("groups") is True, type(cv).__name__
    if given is None:
        if by_groups:
            raise ValueError(f"groups must be given to fit, because {name} splits by them, got None")
        return None
    if not by_groups and type(cv).__module__.startswith("sklearn."):  # a user's own splitter may use groups
        raise ValueError(
            f"groups cannot be used: {name} does not split by them; give cv=GroupKFold() or another splitter that does"
        )
    groups = np.asarray(given)
    if groups.shape != (rows,):
        raise ValueError(f"groups must have one value for each of the {rows} rows, got shape {groups.shape}")
    return groups


def described(thing: object) -> str:
    """Return the repr of something in one line, without addresses in memory."""
    text = thing.__repr__(N_CHAR_MAX=10**6) if isinstance(thing, BaseEstimator) else repr(thing)
    return re.sub(r" at 0x[0-9a-fA-F]+", "", " ".join(text.split()))


def name_of(estimator: BaseEstimator) -> str:
    """Return the name of an estimator; of a pipeline, that of its last step."""
    return type(estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator).__name__


def fitted_to(X: np.ndarray, y: np.ndarray, estimator: BaseEstimator, **weights: np.ndarray) -> BaseEstimator:
    """Return a clone of an estimator, fitted to some rows."""
    routed = bool(weights) and not has_fit_parameter(estimator, "sample_weight")  # to a step of a pipeline
    try:
        with config_context(enable_metadata_routing=True) if routed else nullcontext():  # each thread has its own
            return clone(estimator).fit(X, y, **weights)
    except ValueError as error:
        why = sentence(str(error), 200)
        raise ValueError(f"estimator {name_of(estimator)} cannot be fitted to these data: {why}") from None


def prepared(estimator: BaseEstimator, seed: int) -> BaseEstimator:
    """Return a clone with fixed random states and one thread; refuse one that asks for other metadata than weights."""
    found = clone(estimator)
    fix_random_states(found, seed)
    keep_to_one_thread(found)
    refuse_requests(found)
    return found


def fix_random_states(estimator: BaseEstimator, seed: int) -> None:
    """Replace every random state that is None by a number that follows from the seed."""
    rng = np.random.RandomState(seed % 2**32)
    for name, value in sorted(estimator.get_params(deep=True).items()):
        if value is None and (name == "random_state" or name.endswith("__random_state")):
            estimator.set_params(**{name: int(rng.randint(np.iinfo(np.int32).max))})


def keep_to_one_thread(estimator: BaseEstimator) -> None:
    """Let an estimator, and all estimators in it, use one thread where nobody said how many: many fits run at a time.

    Some libraries do not ask OpenMP how many threads they may use. They take all cores unless a parameter says so. In
    scikit-learn None stands for one, so it stays.
    """
    given = estimator.get_params(deep=True)
    for name, value in given.items():
        owner, _, parameter = name.rpartition("__")
        one = given[owner] if owner else estimator
        ours = type(one).__module__.startswith("sklearn.")
        threads = parameter in ("n_jobs", "nthread", "num_threads", "thread_count")  # what libraries call their number
        if threads and (value == -1 or (value is None and not ours)):
            estimator.set_params(**{name: 1})


def routing_of(estimator: Any) -> MetadataRequest | MetadataRouter | None:
    """Return what metadata an estimator asks for; None if scikit-learn cannot say it."""
    try:
        return get_routing_for_object(estimator)
    except RecursionError:  # scikit-learn 1.9.1 cannot say it of RidgeCV
        return None


def fits_with_weights(estimator: BaseEstimator) -> bool:
    """Whether `fit` gets weights of rows: where metadata are routed, if the estimator or one in it asks for them."""
    asked = routing_of(estimator) if get_config()["enable_metadata_routing"] else None
    if asked is None:
        return has_fit_parameter(estimator, "sample_weight")
    return bool(asked.consumes("fit", ["sample_weight"]))


def refuse_requests(estimator: BaseEstimator) -> None:
    """Refuse an estimator that asks for metadata other than sample weights."""
    asked = _requests(estimator, "fit")
    others = sorted(name for name, wanted in asked.items() if wanted is True and name != "sample_weight")
    if others:
        raise ValueError(f"estimator asks for the metadata {', '.join(others)}, which are not handed on to it")


def _requests(one: object, method: str) -> dict[str, object]:
    """Return which metadata a method of an estimator or splitter asks for."""
    return getattr(getattr(routing_of(one), method, None), "requests", {})
