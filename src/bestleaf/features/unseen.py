"""Scores of subsets on rows that the oracle does not have, for many subsets in turn."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from bestleaf.features.data import checked_data, scaled, unit_range
from bestleaf.features.kernels import neighbours as kernels
from bestleaf.features.neighbours import KNNOracle


class UnseenVotes:
    """How well the votes of the rows of an oracle rank other rows.

    The other rows stand after those of the oracle in the memory of the kernels, where these expect padding: they are
    queries and never vote.

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
        self.oracle, rows, new_X = oracle, oracle.n_samples, checked_data(new_X)
        lanes = oracle._lanes
        columns = np.zeros((oracle.n_features, -(-(rows + len(new_X)) // lanes) * lanes), np.float32)
        for number, column in enumerate(columns):
            seen = np.asarray(X[:, number], np.float64)
            column[:rows] = scaled(seen, oracle.scale)[oracle.rows]
            column[rows : rows + len(new_X)] = scaled(np.asarray(new_X[:, number], np.float64), oracle.scale, seen)
        weights = np.zeros((len(oracle.weights), columns.shape[1]), np.int32)
        weights[:, :rows] = oracle.weights[:, :rows]
        self._columns, self._weights = columns, weights  # the workplace has only their addresses
        self._place = oracle.workplace_on(columns, weights)
        self._queries = np.arange(rows, rows + len(new_X))
        if oracle.classes is None:
            self.targets = unit_range(np.asarray(new_y, np.float64)).astype(np.float32)[None, :]
        else:
            outputs = oracle.classes[1:] if len(oracle.classes) == 2 else oracle.classes
            self.targets = np.stack([(new_y == one).astype(np.float32) for one in outputs])

    def sums(self, subset: Iterable[int]) -> np.ndarray:
        """Return [new rows, outputs]: the sums of the targets of the nearest neighbours."""
        features = np.unique(np.fromiter(subset, np.int64))
        found = np.empty((len(self._queries), len(self.targets)), np.float32)
        self._place.arrays["chosen"][: len(features)] = features
        kernels.neighbour_sums(len(features), self._queries, self._place.record, found)
        return found

    def score(self, subset: Iterable[int]) -> float:
        """Return the fraction of pairs of new rows in the right order, as `KNNOracle.value` does for its own rows."""
        return self.oracle.ranked_right(self.sums(subset), self.targets, self._new_weight)
