"""What a subset of features is worth: how well the votes of nearest neighbours rank the examples.

For each example the targets of its k nearest other examples (Euclidean distance on the subset) are summed; the value of
the subset is the share of pairs with different targets that the sums put in the right order: the AUC for two classes,
the mean of the one-against-rest AUCs for several, the concordance index for real targets.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from itertools import pairwise
from threading import Lock, local
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
from bestleaf._records import HALF, NEIGHBOURS, ROW_ORDER, STRICT, Workplace
from bestleaf.checks import shown
from bestleaf.examples import (
    FEWEST_QUERIES,
    ROUGH_COST,
    ROUGH_QUERIES,
    VALUE_COST,
    Columns,
    checked_data,
    checked_targets,
    drawn,
    fixed_queries,
    lanes,
)
from bestleaf.objectives import neighbours_in_words

TIES = {"half": HALF, "strict": STRICT, "row_order": ROW_ORDER}
SUBSAMPLE = 50  # examples of a sample, as in the paper
A_SUBSET = 600  # bytes of Python objects for the votes of a subset that are remembered
DISTANCES_A_THREAD = 10**6  # fewer are not worth a thread


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
    subsample : int, default=None
        Examples m on which `sample` evaluates: 50, or all if there are fewer. Neighbours are searched among all.
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

    parts = 0  # a value cannot be had in parts
    rollouts_a_unit = 20  # that a choice opens with, as in the published program

    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        task: str = "classification",
        n_neighbors: int = 5,
        subsample: int | None = None,
        ties: str = "half",
        scale: bool = True,
        drop_zero: bool = False,
        memory: int = 256 * 2**20,
        n_jobs: int = 1,
    ) -> None:
        if ties not in TIES:
            raise ValueError(f"ties must be one of {', '.join(TIES)}, got {shown(ties)}")
        data = checked_data(X)
        examples = len(data)
        if not 1 <= n_neighbors < examples:
            raise ValueError(f"n_neighbors must be between 1 and the number of rows less one, got {n_neighbors}")
        if subsample is None:
            subsample = min(SUBSAMPLE, examples)
        if not 2 <= subsample <= examples:
            raise ValueError(f"subsample must be between 2 and the number of rows ({examples}), got {subsample}")
        self.ties, self.subsample, self.drop_zero, self.scale = ties, subsample, drop_zero, scale
        self.n_neighbors, self.memory, self.n_jobs = n_neighbors, memory, n_jobs
        self.classes, targets = checked_targets(y, examples, task)
        self.rows = np.arange(examples) if ties == "row_order" else np.random.default_rng(2019).permutation(examples)
        self.targets = np.ascontiguousarray(targets[:, self.rows])
        self.n_samples, self.n_features = data.shape
        self._lanes = lanes(examples, n_neighbors)
        self._columns = Columns(data, scale, self._lanes, self.rows)
        self.weights = self._weights()
        self._scratch, self._lock = local(), Lock()
        self._memory: OrderedDict[bytes, tuple[np.ndarray, np.ndarray]] = OrderedDict()
        self._room = max(1, memory // (A_SUBSET + examples * (1 + 4 * len(self.targets))))
        self._everyone = np.arange(examples)
        self.queries = self._everyone
        if examples**2 > VALUE_COST:
            self.queries = fixed_queries(self.targets, max(FEWEST_QUERIES, VALUE_COST // examples))
        few = int(np.clip(ROUGH_COST // examples, *ROUGH_QUERIES))
        self.rough_queries = fixed_queries(self.targets, few) if few < examples else self._everyone

    def __getstate__(self) -> dict[str, Any]:
        """Leave out scratch and locks, which are made anew, and votes, which are computed again where needed."""
        return {name: value for name, value in vars(self).items() if name not in ("_scratch", "_lock", "_memory")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._scratch, self._lock, self._memory = local(), Lock(), OrderedDict()

    @property
    def value_cost(self) -> int:
        """How many distances one value takes."""
        return len(self.queries) * self.n_samples

    @property
    def rough_cost(self) -> int:
        """How many distances one rough value takes."""
        return len(self.rough_queries) * self.n_samples

    def value(self, subset: Iterable[int]) -> float:
        """Return the exact value of a subset: all examples (of huge data `queries`) are ranked."""
        return self._score(self.queries, self._sums(self._features(subset), self.queries))

    def rough_value(self, subset: Iterable[int]) -> float:
        """Return the value of a subset on 500 to 2,000 examples, always the same: a guide, not a value."""
        return self._score(self.rough_queries, self._sums(self._features(subset), self.rough_queries))

    def sample(self, subset: Iterable[int], rng: np.random.Generator) -> float:
        """Return the value of a subset on a fresh uniform subsample (drawn again while it has one class only)."""
        features = self._features(subset)
        while True:
            queries = drawn(self.n_samples, self.subsample, rng)
            targets = self.targets[:, queries]
            if (targets != targets[:, :1]).any():
                return self._score(queries, self._sums(features, queries))

    def sums(self, subset: Iterable[int]) -> np.ndarray:
        """Return for each example the summed targets of its nearest neighbours, one column an output."""
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

    def in_words(self, *, sampled: bool = False) -> str:
        """Return what `value` is, or what the mean of `sample` is, in words."""
        counts = self.counts(sampled=sampled)
        return neighbours_in_words(**counts, n_neighbors=self.n_neighbors, rows=self.n_samples, sampled=sampled)

    def counts(self, *, sampled: bool = False) -> dict[str, int]:
        """Return how many classes there are (none for real targets), and on how many examples a value is computed."""
        classes = 0 if self.classes is None else len(self.classes)
        return {"classes": classes, "queries": self.subsample if sampled else len(self.queries)}

    def fingerprint(self) -> str:
        """Return the SHA-256 of the examples as the oracle sees them."""
        columns = self._columns.complete()
        digest = sha256(repr((columns.shape, self.targets.shape)).encode())
        for array in (columns, self.targets, self.rows):
            digest.update(np.ascontiguousarray(array).view(np.uint8).data)
        return digest.hexdigest()

    def workplace(self) -> Workplace:
        """Return all of the data with scratch of their own, for one thread of the neighbour kernels."""
        self._columns.complete()
        return self._workplace()

    def _workplace(self) -> Workplace:
        """Return the same with the features copied so far."""
        columns = self._columns.array
        place = Workplace(NEIGHBOURS)
        place.set(
            examples=self.n_samples,
            padded=columns.shape[1],
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
            columns=columns,
            targets=self.targets,
            weights=self.weights,
            distance=np.zeros(columns.shape[1], np.float32),
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
        weights = np.zeros((len(self.targets) if sums_fit else 0, self._columns.array.shape[1]), np.int32)
        weights[:, : self.n_samples] = self.targets[: len(weights)] + ONE
        return weights

    def _features(self, subset: Iterable[int]) -> np.ndarray:
        features = np.unique(np.fromiter(subset, np.int64))
        if len(features) and not 0 <= features[0] <= features[-1] < self.n_features:
            raise ValueError(f"subset must name features from 0 to {self.n_features - 1}, got {features.tolist()}")
        return features

    def _sums(self, features: np.ndarray, queries: np.ndarray) -> np.ndarray:
        """Return the sums of the queries, computing only those not remembered."""
        with self._lock:
            sums, known = self._remembered(features)
        missing = queries[~known[queries]]
        if len(missing):
            sums[missing], known[missing] = self._computed(features, missing), True
        return sums[queries]

    def _computed(self, features: np.ndarray, queries: np.ndarray) -> np.ndarray:
        """Return the sums of the queries, shared out among threads where that pays."""
        self._columns.need(features)
        sums = np.empty((len(queries), len(self.targets)), np.float32)
        threads = min(self.n_jobs, len(queries) * self.n_samples // DISTANCES_A_THREAD)
        if threads < 2:
            mine = self._of_this_thread()
            mine.workplace.arrays["chosen"][: len(features)] = features
            neighbour_sums(len(features), queries, mine.workplace.record, sums)
            return sums
        edges = np.linspace(0, len(queries), threads + 1).astype(int)
        workplaces = [self._workplace() for _ in range(threads)]
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

    def _of_this_thread(self) -> Any:
        """Return the scratch of this thread."""
        if not hasattr(self._scratch, "workplace"):
            self._scratch.workplace = self._workplace()
            self._scratch.histograms = tuple(np.zeros(self.n_neighbors + 1, np.int64) for _ in range(2))
        return self._scratch

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
            good, pairs = share_of_votes(score, target, TIES[self.ties], *self._of_this_thread().histograms)
        return float(good / pairs) if pairs else None


def concordance(score: np.ndarray, truth: np.ndarray) -> float:
    """Return the share of pairs of different truth that the scores put in the right order, ties counting one half."""
    ranks = np.unique(truth, return_inverse=True)[1].astype(np.float32)
    good, pairs = share_of_pairs(np.asarray(score, np.float32), ranks, HALF, pairs_in_order.address)
    if not pairs:
        raise ValueError(f"concordance needs two different targets, got {len(ranks)} that are the same")
    return float(good / pairs)
