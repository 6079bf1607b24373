"""The value of a subset of features by nearest neighbours: how well their votes rank the rows.

Every row gets the sum of the targets of its k nearest other rows (Euclidean distance on the subset). If rows belong to
groups, these are rows of other groups. The value of the subset is the fraction of pairs with different targets that
these sums put in the right order: the AUC for two classes, the mean one-against-rest AUC for more classes, the
concordance index for real targets. If rows have weights, a pair counts the product of its weights; votes have none.

With very many rows the neighbours are searched in a fixed random part of them, the reference, and some of the other
rows are ranked. So no row that is ranked has voted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from itertools import chain, pairwise

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from bestleaf.checks import one_of, shown, whole
from bestleaf.features.all_subsets import MOST_NUMBERS
from bestleaf.features.data import (
    LIGHTEST,
    checked_data,
    checked_targets,
    drawn,
    in_order,
    lightest_share,
    reference_size,
    row_roles,
    task_of,
)
from bestleaf.features.gpu import DEVICES, PaddedSubsets
from bestleaf.features.kernels import all_subsets as together
from bestleaf.features.kernels import ranking
from bestleaf.features.kernels.records import TIES
from bestleaf.features.ranking import counted_pairs, pulls
from bestleaf.features.rows import check_voters, checked_weights, group_numbers
from bestleaf.features.votes import Votes

TASKS = ("auto", "classification", "regression")
TOGETHER = 16  # outputs whose votes are copied together: those of a row in one line of the cache


class NeighbourVotes(BaseEstimator):
    """Parameters of the votes of nearest neighbours, which `BestLeafSelector` uses by default.

    This class does not fit or predict. Its method `oracle` makes the `KNNOracle` of a data set.

    Parameters
    ----------
    n_neighbors : int, default=5
        Number k of neighbours that vote.
    ties : {"half", "strict", "row_order"}, default="half"
        A pair with equal votes counts one half (as `sklearn.metrics.roc_auc_score` does), nothing (the paper's
        formula), or one if its rows are in the right order (the published program).
    scale : bool, default=True
        Standardise the features first.
    subsample : int, default=None
        Number m of rows that one sample is computed on; None is 50, or all rows if there are fewer.
    drop_zero : bool, default=False
        Ignore all rows at distance 0, not only the row itself, as the published program does.
    task : {"auto", "classification", "regression"}, default="auto"
        What the targets are. "auto" decides by their values.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where exact values are computed. "auto" takes a GPU if there is one and `bestleaf[gpu]` is installed. The values
        are the same on both.
    reference_rows : int, default=None
        Number of rows that vote: a fixed random part of the rows with the same share of every class, the *reference*.
        Values and samples then rank other rows only. If it is at least the number of rows, every row votes on all
        others. None is all rows up to about 31,000 rows, and 20,000 of more rows.
    query_rows : int, default=None
        Number of the other rows that are ranked, a fixed random part of them. None is 10,000, or all of them if there
        are fewer. It is not used if every row votes.

    Examples
    --------
    >>> from bestleaf.paper import load_linear
    >>> oracle = NeighbourVotes(scale=False).oracle(*load_linear(return_X_y=True))
    >>> round(oracle.value([1, 2, 5]), 4)
    0.9941
    """

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        ties: str = "half",
        scale: bool = True,
        subsample: int | None = None,
        drop_zero: bool = False,
        task: str = "auto",
        device: str = "auto",
        reference_rows: int | None = None,
        query_rows: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.ties = ties
        self.scale = scale
        self.subsample = subsample
        self.drop_zero = drop_zero
        self.task = task
        self.device = device
        self.reference_rows = reference_rows
        self.query_rows = query_rows

    def oracle(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        n_jobs: int | None = None,
    ) -> KNNOracle:
        """Return the oracle of these data.

        `groups` and `sample_weight` are those of `KNNOracle`. `n_jobs` is the number of threads for one exact value
        (None is 1).
        """
        whole("n_neighbors", self.n_neighbors, 1)
        for name, least in (("subsample", 2), ("reference_rows", 1), ("query_rows", 2)):
            if getattr(self, name) is not None:
                whole(name, getattr(self, name), least)
        for name in ("scale", "drop_zero"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise TypeError(f"{name} must be True or False, got {shown(getattr(self, name))}")
        votes = self.get_params() | {"task": task_of(y, one_of("task", self.task, TASKS))}
        votes |= {"groups": groups, "sample_weight": sample_weight}
        return KNNOracle(X, y, **votes, n_jobs=n_jobs or 1)


class KNNOracle:
    """Leave-one-out k-nearest-neighbour value of feature subsets, exact or on a random subsample.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Numbers without missing values.
    y : array of shape (n_samples,)
        Labels, or real targets with ``task="regression"``.
    task : {"classification", "regression"}
        What `y` is.
    n_neighbors, subsample, ties, scale, drop_zero, device, reference_rows, query_rows
        As in `NeighbourVotes`.
    groups : array of shape (n_samples,), default=None
        Rows that belong together, such as all visits of a patient: the neighbours of a row are searched among the rows
        of other groups only (leave-one-group-out instead of leave-one-out).
    sample_weight : array of shape (n_samples,), default=None
        A row of weight w counts as w rows in the value: a pair of rows counts the product of its weights. The votes are
        not weighted: every row has one vote, also a row of weight 0. Samples draw rows in proportion to their weights,
        with replacement.
    memory : int, default=256 MiB
        Bytes for votes that are kept, so that the next value of the same subset takes little time.
    n_jobs : int, default=1
        Threads that share the work of one exact value of large data, or of many values.

    Attributes
    ----------
    roles : RowRoles
        Which rows vote and which are ranked.
    rows : array of int
        The rows that the oracle keeps, in its order: a fixed random one, reference rows first. Of several neighbours at
        the same distance the first ones vote; in data sorted by label these would be of one class.
        ``ties="row_order"`` keeps their order.
    queries : array of int
        The places in `rows` of the rows that `value` ranks.

    Examples
    --------
    >>> from bestleaf.paper import load_linear
    >>> oracle = KNNOracle(*load_linear(return_X_y=True), scale=False)
    >>> round(oracle.value([1, 2, 5]), 4)
    0.9941
    """

    parts = 0  # a value is not a mean of scores
    rollouts_a_unit = 20  # as in the published program

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        task: str = "classification",
        n_neighbors: int = 5,
        subsample: int | None = None,
        ties: str = "half",
        scale: bool = True,
        drop_zero: bool = False,
        reference_rows: int | None = None,
        query_rows: int | None = None,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        memory: int = 256 * 2**20,
        n_jobs: int = 1,
        device: str = "auto",
    ) -> None:
        one_of("ties", ties, TIES)
        self.device = one_of("device", device, DEVICES)
        data = checked_data(X)
        self.n_samples, self.n_features = rows, _ = data.shape
        if not 1 <= n_neighbors < rows:
            raise ValueError(f"n_neighbors must be between 1 and the number of rows less one, got {n_neighbors}")
        self.ties, self.drop_zero, self.scale = ties, drop_zero, scale
        self.n_neighbors, self.memory, self.n_jobs = n_neighbors, memory, n_jobs
        self.classes, targets = checked_targets(y, rows, task)
        numbers = None if groups is None else group_numbers(groups, rows)
        weights = None if sample_weight is None else checked_weights(sample_weight, rows)
        self.roles = row_roles(
            self._labels(targets), reference_rows, query_rows, weights=weights, shuffle=ties != "row_order"
        )
        self.rows = self.roles.order
        self.targets = np.ascontiguousarray(targets[:, self.rows])
        self.groups = None if numbers is None else numbers[self.rows]
        self.row_weights = None if weights is None else weights[self.rows]
        self.cumulative = np.empty(0)  # shares of the weight, to draw rows by
        self._check_roles()
        most = self.roles.queries
        self.subsample = min(50, most) if subsample is None else subsample
        if not 2 <= self.subsample <= most:
            which = "rows that are ranked" if self.roles.apart else "rows"
            raise ValueError(f"subsample must be between 2 and the number of {which} ({most}), got {subsample}")
        self.votes = Votes(
            data,
            self.targets,
            self.roles,
            neighbours=n_neighbors,
            groups=self.groups,
            real=self.classes is None,
            scale=scale,
            drop_zero=drop_zero,
            memory=memory,
            n_jobs=n_jobs,
            device=self.device,
        )
        self.columns, self.queries = self.votes.columns, self.votes.queries
        self.value_cost = len(self.queries) * self.roles.references

    def _labels(self, targets: np.ndarray) -> np.ndarray:
        """Return the class of each row by its number; all the same for real targets."""
        if self.classes is None:
            return np.zeros(targets.shape[1], np.int64)
        return targets[0].astype(np.int64) if len(targets) == 1 else targets.argmax(axis=0)

    def _check_roles(self) -> None:
        """Refuse too few rows that vote or are ranked, and weights that leave only one target."""
        many, first = self.roles.references, self.roles.first_query
        if many < self.n_neighbors:
            least = f"{self.n_neighbors}, the number of neighbours"
            raise ValueError(f"reference_rows must be at least {least}, got {many}")
        if self.groups is not None:
            check_voters(self.groups[:many], self.n_neighbors)
        ranked = self.targets[:, first:]
        if (ranked == ranked[:, :1]).all():
            rule = "reference_rows must leave rows with two different targets to rank"
            raise ValueError(f"{rule}, got {many} of {self.n_samples} rows")
        if self.row_weights is not None:
            labels = ranked[0] if len(ranked) == 1 else ranked.argmax(axis=0)
            if lightest_share(labels, self.row_weights[first:]) <= LIGHTEST:
                raise ValueError(f"sample_weight must give more than {LIGHTEST:g} of the weight to a second target")
            sums = np.cumsum(self.row_weights[first:])
            self.cumulative = sums / sums[-1]

    def value(self, subset: Iterable[int]) -> float:
        """Return the exact value of a subset."""
        weights = None if self.row_weights is None else self.row_weights[self.queries]
        return self._value(self._features(subset), self.queries, weights)

    def in_pieces(self, subset: Iterable[int]) -> Iterator[None]:
        """Compute the votes of a subset piece by piece; they are kept, so that then its value takes little time."""
        yield from self.votes.in_pieces(self._features(subset))

    def values(self, subsets: Iterable[Iterable[int]]) -> list[float]:
        """Return the values of several subsets, computed together on a GPU or by several threads."""
        asked = [self._features(subset) for subset in subsets]
        if len(asked) > 1 and self.votes.suit_gpu([len(features) for features in asked], len(self.queries)):
            found = self._values_on_gpu(PaddedSubsets.of(asked))
            if found is not None:
                return found.tolist()
        threads = min(len(asked), self.votes.threads(len(asked) * len(self.queries)))
        if threads < 2 or self.votes.threads(len(self.queries)):  # then the threads share the work of each value
            return [self.value(features) for features in asked]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(self.value, asked))

    @property
    def most_subsets(self) -> int:
        """How many subsets may all be evaluated, more of them on a GPU."""
        return MOST_NUMBERS if self.votes.gpu.is_there and not self.roles.apart else 2**22

    def table_values(self, columns: np.ndarray) -> np.ndarray:
        """Return the exact values of many subsets; `columns` [subsets, features] says which features each has.

        Any order will do; fewest distances are computed if subsets that begin with the same features stand together.
        """
        if self.votes.suit_gpu(columns.sum(axis=1).tolist(), len(self.queries)):
            found = self._values_on_gpu(PaddedSubsets.among(columns))
            if found is not None:
                return found
        if self.n_neighbors > together.NEAREST or self.drop_zero or self.roles.apart:
            return np.array(self.values([np.flatnonzero(row) for row in columns]))
        many, largest = len(columns), max(1, 2 * 10**6 // self.targets.size)
        threads = max(1, min(self.n_jobs, many // 16))  # the first one of a part shares no distances with another
        edges = np.linspace(0, many, max(-(-many // largest), threads) + 1).astype(int)
        parts = [columns[start:stop] for start, stop in pairwise(edges.tolist()) if start < stop]
        if threads < 2:
            return np.concatenate([self._values_together(one) for one in parts])
        with ThreadPoolExecutor(threads) as pool:
            return np.concatenate(list(pool.map(self._values_together, parts)))

    def _values_together(self, columns: np.ndarray) -> np.ndarray:
        """Return the values of some subsets in this thread, exactly as `value` gives them."""
        votes = self.votes.together(columns)
        if self.classes is None:
            return np.array([self.fraction_in_order(self.targets, one.T, self.row_weights) for one in votes])
        values, heavy = np.empty(len(columns)), self.row_weights
        heavy = np.ones(votes.shape[2]) if heavy is None else heavy
        together.rank_votes(votes, self.targets, heavy, TIES[self.ties], *np.zeros((2, self.n_neighbors + 1)), values)
        return values

    @property
    def at_once(self) -> int:
        """How many values take less time together than one by one: many on a GPU, some for several threads."""
        if self.votes.gpu.is_there:  # distances and values that take about 50 ms
            return int(np.clip(2 * 10**10 // self.value_cost, 1, 4096))
        return 1 if self.n_jobs < 2 or self.votes.threads(len(self.queries)) else 8 * self.n_jobs

    def _values_on_gpu(self, subsets: PaddedSubsets) -> np.ndarray | None:
        """Return values, to the last digit as the processor computes them; None if there is no GPU."""
        queries, targets = self.queries, self.targets[:, self.queries]
        if self.row_weights is not None or self.ties == "row_order":  # the processor ranks the rows by their votes
            sums = self.votes.gpu.tried(lambda votes: votes.sums(subsets, queries))
            weights = None if self.row_weights is None else self.row_weights[queries]
            return sums if sums is None else np.array([self.fraction_in_order(targets, one, weights) for one in sums])
        truth, half = np.stack([np.unique(one, return_inverse=True)[1] for one in targets]), self.ties == "half"
        twice = self.votes.gpu.tried(lambda votes: votes.pairs_in_order(subsets, queries, truth, half=half))
        if twice is None:
            return None
        total, outputs = np.zeros(len(twice)), 0
        for ranks, column in zip(truth, twice.T, strict=True):
            if pairs := (len(queries) ** 2 - int((np.bincount(ranks) ** 2).sum())) // 2:
                total += column / 2 / pairs
                outputs += 1
        return total / outputs

    def sample(self, subset: Iterable[int], rng: np.random.Generator) -> float:
        """Return the value on a random subsample, drawn again while all its targets are the same.

        Rows with weights are drawn in proportion to these, so that the rows drawn count the same. Compiled rollouts
        draw the same rows from the same random stream.
        """
        features = self._features(subset)
        while True:
            if self.row_weights is None:
                queries = drawn(self.roles.queries, self.subsample, rng)
            else:
                queries = np.searchsorted(self.cumulative, rng.random(self.subsample), side="right")
            queries += self.roles.first_query
            targets = self.targets[:, queries]
            if (targets != targets[:, :1]).any():
                return self._value(features, queries)

    def standard_error(self, subset: Iterable[int]) -> float:
        """Return the standard error of the value: how much it would differ on other rows of the same kind.

        It is the one of DeLong for the AUC of the votes, and its analogue for the concordance index. That neighbours
        would change, too, is left out. Rows of a group may resemble each other, so groups count as a whole. With very
        many rows it is computed on some and scaled.
        """
        rows = self.queries[:: -(-len(self.queries) // 2000)]
        if self.row_weights is not None:
            rows = rows[self.row_weights[rows] > 0]
        sums, found = self.votes.sums(self._features(subset), rows), []
        for score, target in zip(sums.T, self.targets[:, rows], strict=True):
            if target.min() < target.max():
                weights = None if self.row_weights is None else self.row_weights[rows]
                found.append(pulls(target, score, weights, real=self.classes is None))
        by_row = np.mean(found, axis=0)
        if self.groups is not None:
            by_row = np.bincount(np.unique(self.groups[rows], return_inverse=True)[1], by_row)
        shrunk = len(rows) / len(self.queries) * len(by_row) / (len(by_row) - 1)
        return float(np.sqrt(shrunk * (by_row**2).sum()))

    def sums(self, subset: Iterable[int]) -> np.ndarray:
        """Return [rows, outputs]: the sums of the targets of the nearest neighbours, rows as in `X`.

        They are nan for rows that neither vote nor are ranked.
        """
        found = np.full((self.n_samples, len(self.targets)), np.nan, np.float32)
        found[self.rows] = self.votes.sums(self._features(subset), np.arange(len(self.rows)))
        return found

    def settings(self) -> dict[str, object]:
        """Return the keywords with which this oracle was made, and whether rows have groups and weights, if so."""
        task = "regression" if self.classes is None else "classification"
        names = ("n_neighbors", "subsample", "ties", "scale", "drop_zero")
        about_rows = {"grouped": self.groups is not None, "weighted": self.row_weights is not None}
        flags = {name: True for name, applies in about_rows.items() if applies}
        many = reference_size(self.n_samples, None) < self.n_samples  # then it is written in any case
        roles = {"reference_rows": self.roles.references} if self.roles.apart or many else {}
        roles |= {"query_rows": self.roles.queries} if self.roles.apart else {}
        return {"task": task, **{name: getattr(self, name) for name in names}, **flags, **roles}

    def counts(self) -> dict[str, int]:
        """Return the number of classes (0 for real targets) and of the rows that a value ranks."""
        return {"classes": 0 if self.classes is None else len(self.classes), "queries": len(self.queries)}

    def fingerprint(self) -> str:
        """Return the SHA-256 of the data in the form that the kernels use."""
        digest = sha256(repr((self.columns.shape, self.targets.shape)).encode())
        about_rows = (array for array in (self.groups, self.row_weights) if array is not None)
        for array in (self.columns, self.targets, self.rows, *about_rows):
            digest.update(np.ascontiguousarray(array).view(np.uint8).data)
        return digest.hexdigest()

    def _features(self, subset: Iterable[int]) -> np.ndarray:
        features = in_order(subset)
        if len(features) and not 0 <= features[0] <= features[-1] < self.n_features:
            raise ValueError(f"subset must name features from 0 to {self.n_features - 1}, got {features.tolist()}")
        return features

    def _value(self, features: np.ndarray, queries: np.ndarray, weights: np.ndarray | None = None) -> float:
        whole = queries is self.queries
        targets = self.targets[:, self.roles.first_query :] if whole else self.targets[:, queries]
        return self.fraction_in_order(targets, self.votes.sums(features, queries), weights)

    def fraction_in_order(self, targets: np.ndarray, sums: np.ndarray, weights: np.ndarray | None = None) -> float:
        """Return the fraction of pairs in the right order, averaged over the outputs with different targets."""
        fractions, ties, counts = [], TIES[self.ties], np.zeros((2, self.n_neighbors + 1))
        heavy = np.ones(len(sums)) if weights is None else weights
        some = (np.ascontiguousarray(sums[:, first : first + TOGETHER].T) for first in range(0, len(targets), TOGETHER))
        for target, score in zip(targets, chain.from_iterable(some), strict=True):
            if self.classes is None:
                good, pairs = counted_pairs(target, score, ties, weights)
            else:
                good, pairs = ranking.votes_in_order(target, score, heavy, ties, *counts)
            if pairs:
                fractions.append(float(good / pairs))
        return sum(fractions) / len(fractions)
