"""The protocol of an oracle, which gives subsets of features their values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import numpy as np


class Oracle(Protocol):
    """What gives subsets of features their values: all that the lattice, the search, the selector and `verify` use.

    An oracle may also have a number `at_once`: so many values take less time together than one by one.

    Values and samples are numbers in [0, 1]; higher is better. The unit of costs is the distance between two rows on
    one feature, which takes about a nanosecond.
    """

    n_samples: int
    n_features: int
    rollouts_a_unit: int  # rollouts for each unit when the search first chooses at a node
    parts: int  # number of scores whose mean is the value; 0 if there are none, otherwise see `SplitOracle`
    value_cost: int  # cost of one value

    def value(self, subset: Iterable[int]) -> float:
        """Return the exact value of a subset."""

    def values(self, subsets: Iterable[Iterable[int]]) -> list[float]:
        """Return the exact values of several subsets."""

    def sample(self, subset: Iterable[int], rng: np.random.Generator) -> float:
        """Return one noisy value."""

    def settings(self) -> dict[str, object]:
        """Return the settings that values depend on, for checkpoints and certificates."""

    def counts(self) -> dict[str, int | None]:
        """Return the number of classes and the number of rows that a value is computed on."""

    def fingerprint(self) -> str:
        """Return a hash of the data."""


class SplitOracle(Oracle, Protocol):
    """An oracle whose value is the mean of `parts` scores, such as those of cross-validation."""

    part_cost: int  # cost of one score

    def part(self, subset: Iterable[int], number: int) -> float:
        """Return one of the scores."""

    def drawn_part(self, rng: np.random.Generator) -> int:
        """Return which of the scores `sample` would return with this random stream."""
