"""What a subset of features is worth: how well the votes of nearest neighbours rank the examples.

For each example the targets of its k nearest other examples (Euclidean distance on the subset) are summed; the value of
the subset is the share of pairs with different targets that the sums put in the right order: the AUC for two classes,
the mean of the one-against-rest AUCs for several, the concordance index for real targets.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from threading import RLock
from typing import Any

import numpy as np

from bestleaf._kernels.neighbours import (
    ONE,
    neighbour_sums,
    pairs_in_order,
    share_of_pairs,
    share_of_votes,
    sum_nearest,
)
from bestleaf._records import HALF, NEIGHBOURS, ROW_ORDER, STRICT

TIES = {"half": HALF, "strict": STRICT, "row_order": ROW_ORDER}
VALUE_COST = 10**9  # distances computed for one exact value, at most (about a second a feature)
FEWEST_QUERIES = 1000  # examples an exact value is computed on, at least
FEWEST_OF_A_CLASS = 20
DISTANCES_A_THREAD = 10**6  # fewer are not worth a thread
FAR_OFF = 1000  # means this many standard deviations from 0 are taken off before single precision
LARGEST = 1e15  # of numbers whose squared differences can be added in single precision
VECTOR = 16  # single-precision numbers in the widest vector


class Workplace:
    """A `NEIGHBOURS` record for the kernels, and the arrays behind its addresses."""

    def __init__(self) -> None:
        self.record = np.zeros(1, NEIGHBOURS)[0]
        self.arrays: dict[str, np.ndarray] = {}

    def set(self, **numbers: Any) -> None:
        """Write numbers into the record."""
        for name, number in numbers.items():
            self.record[name] = number

    def point(self, **arrays: np.ndarray) -> None:
        """Write addresses of arrays into the record and keep the arrays."""
        for name, array in arrays.items():
            assert array.flags.c_contiguous
            self.arrays[name] = array
            self.record[name] = array.ctypes.data


class KNNOracle:
    """Leave-one-out k-nearest-neighbour value of feature subsets, exact or on a random subsample.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Numbers without gaps.
    y : array of shape (n_samples,)
        Labels, or real targets with ``task="regression"``.
    task : {"classification", "regression"}
        What `y` is.
    n_neighbors : int, default=5
        k.
    subsample : int, default=50
        Examples m on which `sample` evaluates; neighbours are searched among all.
    ties : {"half", "strict", "row_order"}, default="half"
        A pair with equal votes counts one half (as `sklearn.metrics.roc_auc_score` does), nothing (the paper's
        formula), or one if its examples are in the right order of rows (the published program).
    scale : bool, default=True
        Standardise the features first.
    drop_zero : bool, default=False
        Leave out all examples at distance 0, not only the example itself, as the published program does.
    memory : int, default=256 MiB
        Bytes for votes of subsets already evaluated; a subset met again then costs next to nothing.

    n_jobs : int, default=1
        Threads that share an exact value of large data; the value does not depend on it.

    Attributes
    ----------
    rows : array of int
        The order in which the examples lie inside: a fixed random one, because of several neighbours at the same
        distance the first ones vote, and in data sorted by label those would be of one class (not with
        ``ties="row_order"``, which is about the order of rows).
    queries : array of int
        The examples on which `value` is computed: all of them, unless there are more than about 31,000. Then it is a
        fixed subsample, the same for every subset; neighbours are still searched among all examples.

    Examples
    --------
    >>> from bestleaf.datasets import load_linear
    >>> oracle = KNNOracle(*load_linear(return_X_y=True), scale=False)
    >>> round(oracle.value([1, 2, 5]), 4)
    0.9941
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        task: str = "classification",
        n_neighbors: int = 5,
        subsample: int = 50,
        ties: str = "half",
        scale: bool = True,
        drop_zero: bool = False,
        memory: int = 256 * 2**20,
        n_jobs: int = 1,
    ) -> None:
        if ties not in TIES:
            raise ValueError(f"ties must be one of {', '.join(TIES)}, got {ties!r}")
        data = _checked_data(X)
        examples = len(data)
        if not 1 <= n_neighbors < examples:
            raise ValueError(f"n_neighbors must be between 1 and the number of rows less one, got {n_neighbors}")
        if not 2 <= subsample <= examples:
            raise ValueError(f"subsample must be between 2 and the number of rows ({examples}), got {subsample}")
        self.ties, self.subsample, self.drop_zero, self.scale = ties, subsample, drop_zero, scale
        self.n_neighbors, self.memory, self.n_jobs = n_neighbors, memory, n_jobs
        self.classes, targets = _checked_targets(y, examples, task)
        self.rows = np.arange(examples) if ties == "row_order" else np.random.default_rng(2019).permutation(examples)
        self.targets = np.ascontiguousarray(targets[:, self.rows])
        self.n_samples, self.n_features = data.shape
        self._lanes = _lanes(examples, n_neighbors)
        self.columns = _columns(data, scale, self._lanes, self.rows)
        self.weights = self._weights()
        self._workplace, self._lock = self.workplace(), RLock()
        self._histograms = (np.zeros(n_neighbors + 1, np.int64), np.zeros(n_neighbors + 1, np.int64))
        self._memory: OrderedDict[bytes, tuple[np.ndarray, np.ndarray]] = OrderedDict()
        self._room = max(1, memory // (examples * (1 + 4 * len(self.targets))))
        self._everyone = np.arange(examples)
        self.queries = self._everyone if examples**2 <= VALUE_COST else _fixed_queries(self.targets)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what holds addresses and locks; they are made anew."""
        return {name: value for name, value in vars(self).items() if name not in ("_workplace", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._workplace, self._lock = self.workplace(), RLock()

    def value(self, subset: Iterable[int]) -> float:
        """Return the exact value of a subset: all examples (of huge data `queries`) are ranked."""
        with self._lock:
            return self._score(self.queries, self._sums(self._features(subset), self.queries))

    def sample(self, subset: Iterable[int], rng: np.random.Generator) -> float:
        """Return the value of a subset on a fresh uniform subsample (drawn again while it has one class only)."""
        features = self._features(subset)
        while True:
            queries = _drawn(self.n_samples, self.subsample, rng)
            drawn = self.targets[:, queries]
            if (drawn != drawn[:, :1]).any():
                with self._lock:
                    return self._score(queries, self._sums(features, queries))

    def sums(self, subset: Iterable[int]) -> np.ndarray:
        """Return for each example the summed targets of its nearest neighbours, one column an output."""
        with self._lock:
            found = np.empty((self.n_samples, len(self.targets)), np.float32)
            found[self.rows] = self._sums(self._features(subset), self._everyone)
            return found

    def settings(self) -> dict[str, Any]:
        """Return the keywords that make this oracle from its data."""
        return {
            "task": "regression" if self.classes is None else "classification",
            "n_neighbors": self.n_neighbors,
            "subsample": self.subsample,
            "ties": self.ties,
            "scale": self.scale,
            "drop_zero": self.drop_zero,
        }

    def in_words(self) -> str:
        """Return what `value` is, in words."""
        many = 0 if self.classes is None else len(self.classes)
        kind = "AUC" if many == 2 else f"mean one-against-rest AUC ({many} classes)" if many else "concordance index"
        where = f"all {self.n_samples:,} examples"
        if len(self.queries) < self.n_samples:
            where = (
                f"a fixed random subsample of {len(self.queries):,} of the {self.n_samples:,} examples (computing it "
                "on all would take too long; neighbours are searched among all)"
            )
        return f"leave-one-out {kind} of the votes of {self.n_neighbors} nearest neighbours on {where}"

    def workplace(self) -> Workplace:
        """Return the data with scratch of their own, for one thread of the neighbour kernels."""
        place = Workplace()
        place.set(
            examples=self.n_samples,
            padded=self.columns.shape[1],
            lanes=self._lanes,
            outputs=len(self.targets),
            neighbours=self.n_neighbors,
            drop_zero=self.drop_zero,
            real=self.classes is None,
            weighed=len(self.weights) > 0,
            sum_nearest=sum_nearest.address,
            pairs_in_order=pairs_in_order.address if self.classes is None else 0,
        )
        place.point(
            columns=self.columns,
            targets=self.targets,
            weights=self.weights,
            distance=np.zeros(self.columns.shape[1], np.float32),
            minima=np.zeros(self._lanes, np.int32),
            tally=np.zeros(self._lanes, np.int32),
            nearest=np.zeros(self.n_neighbors, np.int32),
            who=np.zeros(self.n_neighbors, np.int64),
            sums=np.zeros(len(self.targets), np.float32),
            chosen=np.zeros(self.n_features, np.int64),
        )
        return place

    def _weights(self) -> np.ndarray:
        """Return the targets of classes as whole numbers plus the weight of an example; nothing for real targets."""
        sums_fit = self.classes is not None and self.n_neighbors < ONE // 2
        weights = np.zeros((len(self.targets) if sums_fit else 0, self.columns.shape[1]), np.int32)
        weights[:, : self.n_samples] = self.targets[: len(weights)] + ONE
        return weights

    def _features(self, subset: Iterable[int]) -> np.ndarray:
        features = np.unique(np.fromiter(subset, np.int64))
        if len(features) and not 0 <= features[0] <= features[-1] < self.n_features:
            raise ValueError(f"subset must name features from 0 to {self.n_features - 1}, got {features.tolist()}")
        return features

    def _sums(self, features: np.ndarray, queries: np.ndarray) -> np.ndarray:
        """Return the sums of the queries, computing only those not remembered."""
        sums, known = self._remembered(features)
        missing = queries[~known[queries]]
        if len(missing):
            sums[missing], known[missing] = self._computed(features, missing), True
        return sums[queries]

    def _computed(self, features: np.ndarray, queries: np.ndarray) -> np.ndarray:
        """Return the sums of the queries, shared out among threads where that pays."""
        sums = np.empty((len(queries), len(self.targets)), np.float32)
        threads = min(self.n_jobs, len(queries) * self.n_samples // DISTANCES_A_THREAD)
        if threads < 2:
            self._workplace.arrays["chosen"][: len(features)] = features
            neighbour_sums(len(features), queries, self._workplace.record, sums)
            return sums
        edges = np.linspace(0, len(queries), threads + 1).astype(int)
        workplaces = [self.workplace() for _ in range(threads)]
        for place in workplaces:
            place.arrays["chosen"][: len(features)] = features
        with ThreadPoolExecutor(threads) as pool:
            parts = [slice(start, stop) for start, stop in pairwise(edges.tolist())]
            work = [
                pool.submit(neighbour_sums, len(features), queries[part], place.record, sums[part])
                for part, place in zip(parts, workplaces, strict=True)
            ]
            for one in work:
                one.result()
        return sums

    def _remembered(self, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what is remembered of a subset, forgetting the one unused for longest when memory is full."""
        key = features.tobytes()
        if key in self._memory:
            self._memory.move_to_end(key)
        else:
            if len(self._memory) >= self._room:
                self._memory.popitem(last=False)
            empty = np.empty((self.n_samples, len(self.targets)), np.float32)
            self._memory[key] = (empty, np.zeros(self.n_samples, np.bool_))
        return self._memory[key]

    def _score(self, queries: np.ndarray, sums: np.ndarray) -> float:
        """Return the share of well-ordered pairs, averaged over the outputs that have any."""
        shares = [self._share(queries, sums[:, output], output) for output in range(len(self.targets))]
        counted = [share for share in shares if share is not None]
        return sum(counted) / len(counted)

    def _share(self, queries: np.ndarray, score: np.ndarray, output: int) -> float | None:
        target = self.targets[output, queries]
        if self.classes is None:
            good, pairs = share_of_pairs(score, target, TIES[self.ties], pairs_in_order.address)
        else:
            good, pairs = share_of_votes(score, target, TIES[self.ties], *self._histograms)
        return float(good / pairs) if pairs else None


def concordance(score: np.ndarray, truth: np.ndarray) -> float:
    """Return the share of pairs of different truth that the scores put in the right order, ties counting one half."""
    ranks = np.unique(truth, return_inverse=True)[1].astype(np.float32)
    good, pairs = share_of_pairs(np.asarray(score, np.float32), ranks, HALF, pairs_in_order.address)
    return float(good / pairs)


def _checked_data(X: Any) -> np.ndarray:
    """Return X as numbers, or say in one sentence why not."""
    try:
        data = np.asarray(X)
        data = data if data.dtype in (np.float32, np.float64) else data.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"X must hold numbers only: {error}") from None
    if data.ndim != 2 or data.shape[1] == 0:
        raise ValueError(f"X must be a table of rows and columns, got shape {data.shape}")
    if len(data) < 2:
        raise ValueError(f"X must have at least 2 rows, got {len(data)}")
    broken = [number for number, column in enumerate(data.T) if not np.isfinite(column).all()]
    if broken:
        raise ValueError(f"X must not have missing or infinite values, found in columns {broken[:10]}")
    return data


def _checked_targets(y: Any, examples: int, task: str) -> tuple[np.ndarray | None, np.ndarray]:
    """Return (classes or None, targets [outputs, examples]); one output for two classes and for real targets."""
    labels = np.asarray(y)
    if labels.shape != (examples,):
        raise ValueError(f"y must have one value for each of the {examples} rows, got shape {labels.shape}")
    if task == "regression":
        targets = labels.astype(np.float64)
        if not np.isfinite(targets).all():
            raise ValueError("y must not have missing or infinite values")
        if targets.min() == targets.max():
            raise ValueError(f"y must have at least two different values, got only {targets[0]}")
        spread = (targets - targets.min()) / (targets.max() - targets.min())  # neither origin nor unit matters
        single = spread.astype(np.float32)
        if len(np.unique(single)) < 0.99 * len(np.unique(targets)):
            raise ValueError(
                f"y must be told apart in single precision, got values from {targets.min():g} to {targets.max():g}; "
                "take their logarithms or ranks"
            )
        return None, single[None, :]
    if task != "classification":
        raise ValueError(f"task must be 'classification' or 'regression', got {task!r}")
    classes = np.unique(labels)
    if len(classes) < 2:
        raise ValueError(f"y must have at least two classes, got only {classes.tolist()}")
    shown = classes[1:] if len(classes) == 2 else classes
    return classes, np.stack([(labels == one).astype(np.float32) for one in shown])


def _columns(data: np.ndarray, scale: bool, lanes: int, rows: np.ndarray) -> np.ndarray:
    """Return the features as rows in single precision, the examples in the order `rows`, padded to whole lanes."""
    examples = len(data)
    columns = np.zeros((data.shape[1], -(-examples // lanes) * lanes), np.float32)
    for row, column in zip(columns, data.T, strict=True):
        column = column[rows].astype(np.float64)
        size = np.abs(column).max()
        if size > 0:
            column = column / size  # no square of it overflows
        middle, spread = column.mean(), column.std()
        if scale:
            column = (column - middle) / (spread if spread > 0 else 1.0)
        else:
            far_off = abs(middle) > FAR_OFF * spread  # then single precision would eat the differences
            column = (column - middle if far_off else column) * size
        with np.errstate(over="ignore"):
            row[:examples] = column
    if not np.abs(columns).max() < LARGEST:
        raise ValueError(
            f"X must hold numbers less than {LARGEST:g} in size, got {np.abs(data).max():g}; use scale=True"
        )
    return columns


def _drawn(examples: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return a uniform subsample, using the stream as the compiled rollouts do (Fisher and Yates, from the front)."""
    moved: dict[int, int] = {}
    drawn = np.empty(size, np.int64)
    for place in range(size):
        other = place + int(rng.random() * (examples - place))
        drawn[place] = moved.get(other, other)
        moved[other] = moved.get(place, place)
    return drawn


def _fixed_queries(targets: np.ndarray) -> np.ndarray:
    """Return the examples on which the values of huge data are computed: a fixed subsample that has every class."""
    examples = targets.shape[1]
    order = np.random.default_rng(2019).permutation(examples)
    queries = set(order[: max(FEWEST_QUERIES, VALUE_COST // examples)].tolist())
    for target in targets:
        for value in (target.min(), target.max()):
            queries.update(order[target[order] == value][:FEWEST_OF_A_CLASS].tolist())
    return np.array(sorted(queries), np.int64)


def _lanes(examples: int, n_neighbors: int) -> int:
    """Return the number of lanes: a multiple of the vector width near 0.6 times the square root of k n.

    Finding the bound costs a few steps a lane, looking into k lanes n / lanes steps each, and looking closer because
    two of the nearest share a lane is the rarer the more lanes there are; measured, the sum is least about there.
    """
    return max(2 * VECTOR, VECTOR * round(0.6 * (n_neighbors * examples) ** 0.5 / VECTOR))
