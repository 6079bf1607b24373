"""The lattice of feature subsets as a problem: add a feature, or stop and have the subset valued exactly.

A state is a sorted tuple of features, or the same with `STOP` at the end: the terminal leaf of that subset. Leaves that
are not terminal are valued by rollouts: random features are added, before each one the rollout goes on with
probability q^size, and the subset reached is valued on a random subsample.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from bestleaf._kernels import rollout  # noqa: F401  registers how to draw
from bestleaf._records import Neighbours
from bestleaf.oracles import TIES, KNNOracle

STOP = -1
ROWS_OF_VOTES = 2**16  # at most; fewer when the oracle's memory is small


class FeatureLattice:
    """All subsets of features that hold the forced ones and none of the forbidden, up to a size.

    Parameters
    ----------
    oracle : KNNOracle
        What a subset is worth.
    continue_probability : float, default=0.9
        q: a rollout at size s goes on with probability q^s.
    max_features : int, default=None
        Largest size of a subset.
    forced, forbidden : iterable of int
        Features every subset has, and features none has.

    Examples
    --------
    >>> from bestleaf import best_leaf
    >>> from bestleaf.datasets import load_linear
    >>> lattice = FeatureLattice(KNNOracle(*load_linear(return_X_y=True), scale=False), max_features=1)
    >>> found = best_leaf(lattice, epsilon=0.005, delta=0.1, expansion=0.3, seed=0)
    >>> found.answer  # feature 4 is twice feature 1 and worth the same
    (4, -1)
    """

    def __init__(
        self,
        oracle: KNNOracle,
        *,
        continue_probability: float = 0.9,
        max_features: int | None = None,
        forced: Iterable[int] = (),
        forbidden: Iterable[int] = (),
    ) -> None:
        features = range(oracle.n_features)
        self.oracle = oracle
        self.forced, banned = tuple(sorted(set(forced))), set(forbidden)
        for name, given in (("forced", self.forced), ("forbidden", banned)):
            strange = [feature for feature in given if feature not in features]
            if strange:
                raise ValueError(f"{name} must name features from 0 to {oracle.n_features - 1}, got {strange}")
        if both := sorted(banned.intersection(self.forced)):
            raise ValueError(f"forced and forbidden must not share features, got {both}")
        if not 0 <= continue_probability <= 1:
            raise ValueError(f"continue_probability must be between 0 and 1, got {continue_probability}")
        self.allowed = [feature for feature in features if feature not in banned and feature not in self.forced]
        self.limit = len(self.forced) + len(self.allowed) if max_features is None else max_features
        if not max(1, len(self.forced)) <= self.limit <= len(self.forced) + len(self.allowed):
            raise ValueError(
                f"max_features must be between {max(1, len(self.forced))} and the number of features that are not "
                f"forbidden, got {self.limit}"
            )
        self.chances = continue_probability ** np.arange(oracle.n_features + 1.0)

    def root(self) -> tuple[int, ...]:
        """Return the subset of the forced features."""
        return self.forced

    def children(self, state: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Return the terminal leaf of the subset (none for the empty one) and the subsets with one feature more."""
        stop = [(*state, STOP)] if state else []
        if len(state) >= self.limit:
            return stop
        chosen = set(state)
        return stop + [tuple(sorted((*state, feature))) for feature in self.allowed if feature not in chosen]

    def is_terminal(self, state: tuple[int, ...]) -> bool:
        """Return whether the search has stopped at this subset."""
        return bool(state) and state[-1] == STOP

    def exact(self, state: tuple[int, ...]) -> float:
        """Return the exact value of a terminal leaf."""
        return self.oracle.value(state[:-1])

    def sample(self, state: tuple[int, ...], rng: np.random.Generator) -> float:
        """Return the value of a random completion on a random subsample."""
        subset = list(state)
        while len(subset) < self.limit and rng.random() < self.chances[len(subset)]:
            subset.append(int(rng.choice([feature for feature in self.allowed if feature not in subset])))
        return self.oracle.sample(subset, rng)

    def compiled_oracle(self) -> NeighbourRollouts:
        """Return the compiled form of `sample`."""
        return NeighbourRollouts(self)


class NeighbourRollouts:
    """The subsets of the nodes of one search as bit sets, and what rollouts need to value them."""

    def __init__(self, lattice: FeatureLattice) -> None:
        oracle = lattice.oracle
        outputs, examples = oracle.targets.shape
        rows = int(np.clip(oracle.memory // (4 * outputs * examples), 1, ROWS_OF_VOTES))
        words = -(-oracle.n_features // 64)
        words_of = np.frombuffer(np.random.default_rng(2019).bytes(8 * oracle.n_features), np.uint64)
        limits = [lattice.limit, TIES[oracle.ties], oracle.drop_zero, oracle.classes is None]
        self.record = Neighbours(
            columns=oracle.columns,
            targets=oracle.targets,
            subsets=np.zeros((64, words), np.uint64),
            keys=words_of.copy(),
            allowed=np.array(lattice.allowed or [0], np.int64),
            chances=lattice.chances,
            limits=np.array(limits, np.int64),
            owners=np.zeros(rows, np.uint64),
            votes=np.full((rows, outputs * examples), np.nan, np.float32),
            order=np.arange(examples),
            score=np.zeros(oracle.subsample, np.float32),
            truth=np.zeros(oracle.subsample, np.float32),
            chosen=np.zeros(oracle.n_features, np.int64),
            current=np.zeros(words, np.uint64),
            below=np.zeros(oracle.n_neighbors + 1, np.int64),
            level=np.zeros(oracle.n_neighbors + 1, np.int64),
            **oracle.scratch(),
        )

    def add(self, node: int, state: Any) -> None:
        """Note the subset of a new node."""
        record = self.record
        if node >= len(record.subsets):
            longer = np.zeros((2 * node, record.subsets.shape[1]), np.uint64)
            longer[: len(record.subsets)] = record.subsets
            self.record = record = record._replace(subsets=longer)
        for feature in state:
            if feature != STOP:
                record.subsets[node, feature >> 6] |= np.uint64(1) << np.uint64(feature & 63)
