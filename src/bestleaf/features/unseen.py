"""Scores of subsets on rows that the oracle does not have, for many subsets in turn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from bestleaf.features.data import checked_data, in_order, scaled, unit_range
from bestleaf.features.gpu import PaddedSubsets
from bestleaf.features.kernels import neighbours as kernels
from bestleaf.features.neighbours import KNNOracle


class UnseenVotes:
    """How well the votes of the rows of an oracle rank other rows.

    The other rows stand after those that vote in the memory of the kernels: they are queries and never vote.

    Parameters
    ----------
    oracle : KNNOracle
        The oracle, whose rows vote.
    X : array of shape (n_samples, n_features)
        The data of the oracle; new rows are scaled as these are.
    new_X, new_y : arrays
        The rows to score on. A label that the oracle does not have counts as wrong for all of its classes.
    new_weight : array, default=None
        Weights of these rows.
    """

    def __init__(
        self,
        oracle: KNNOracle,
        X: np.ndarray,
        new_X: np.ndarray,
        new_y: np.ndarray,
        new_weight: np.ndarray | None = None,
    ) -> None:
        self._new_weight = None if new_weight is None else np.asarray(new_weight, np.float64)
        self.oracle, voters, new_X = oracle, oracle.rows[: oracle.roles.references], checked_data(new_X)
        many = len(voters) + len(new_X)
        columns = np.zeros((oracle.n_features, max(many, oracle.padded)), np.float32)
        for number, column in enumerate(columns):
            seen = np.asarray(X[:, number], np.float64)
            like = seen[oracle.rows] if oracle.roles.apart else seen  # the rows that the oracle scales its columns by
            column[: len(voters)] = scaled(seen[voters], oracle.scale, like)
            column[len(voters) : many] = scaled(np.asarray(new_X[:, number], np.float64), oracle.scale, like)
        groups = None if oracle.groups is None else oracle.groups[: len(voters)]
        self._place = oracle.workplace_on(columns, groups)
        self._gpu = oracle.gpu_for(columns, groups)
        self._queries = np.arange(len(voters), many)
        if oracle.classes is None:
            self.targets = unit_range(np.asarray(new_y, np.float64)).astype(np.float32)[None, :]
        else:
            outputs = oracle.classes[1:] if len(oracle.classes) == 2 else oracle.classes
            self.targets = np.stack([(new_y == one).astype(np.float32) for one in outputs])

    def sums(self, subset: Iterable[int]) -> np.ndarray:
        """Return [new rows, outputs]: the sums of the targets of the nearest neighbours."""
        features = in_order(subset)
        found = np.empty((len(self._queries), len(self.targets)), np.float32)
        self._place.arrays["chosen"][: len(features)] = features
        kernels.neighbour_sums(len(features), self._queries, self._place.record, found)
        return found

    def score(self, subset: Iterable[int]) -> float:
        """Return the fraction of pairs of new rows in the right order, as `KNNOracle.value` does for its own rows."""
        return self._ranked(self.sums(subset))

    def scores(self, subsets: Sequence[Iterable[int]]) -> list[float]:
        """Return the scores of several subsets; a GPU finds the neighbours if there is one."""
        asked = [in_order(subset) for subset in subsets]
        if self.oracle.suits_gpu(asked, len(self._queries)):
            found = self._gpu.tried(lambda votes: votes.sums(PaddedSubsets.of(asked), self._queries))
            if found is not None:
                return [self._ranked(sums) for sums in found]
        return [self.score(subset) for subset in asked]

    def _ranked(self, sums: np.ndarray) -> float:
        return self.oracle.fraction_in_order(self.targets, sums, self._new_weight)
