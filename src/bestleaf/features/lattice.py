"""The lattice of feature subsets as a problem: add a feature, or stop and have the subset valued exactly.

A *unit* is a feature, or a group of features that enter together. A state is a sorted tuple of units, or the same with
`STOP` at the end: the terminal leaf of that subset. Leaves that are not terminal are valued by rollouts: random units
are added, before each one the rollout goes on with probability q^size, and the subset reached is valued on a random
subsample.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import combinations, pairwise
from math import comb
from typing import Any

import numpy as np

from bestleaf.features.compiled import NeighbourRollouts
from bestleaf.features.family import SubsetFamily
from bestleaf.features.plain import STOP, PlainRollouts
from bestleaf.oracles import KNNOracle

MANY = 10**12  # subsets, more than anybody counts

Subset = tuple[int, ...]


class SubsetLattice:
    """All subsets of features that may be chosen; see `FeatureLattice`."""

    noisy = False  # terminal leaves are sampled, too

    def __init__(
        self,
        oracle: Any,
        *,
        continue_probability: float = 0.9,
        max_features: int | None = None,
        forced: Iterable[int] = (),
        forbidden: Iterable[int] = (),
        groups: Sequence[Sequence[int]] | None = None,
    ) -> None:
        self.oracle = oracle
        self.groups = _checked_groups(groups, oracle.n_features)
        self._single = groups is None  # a unit is its feature
        self.forced = self._units("forced", forced)
        banned = self._units("forbidden", forbidden)
        what = "features" if groups is None else "groups"
        if both := sorted(set(banned).intersection(self.forced)):
            raise ValueError(f"forced and forbidden must not share {what}, got {both} in both")
        if not 0 <= continue_probability <= 1:
            raise ValueError(f"continue_probability must be between 0 and 1, got {continue_probability}")
        taken = {*banned, *self.forced}
        self.allowed = [unit for unit in range(len(self.groups)) if unit not in taken]
        most, least = len(self.forced) + len(self.allowed), max(1, len(self.forced))
        if most == 0:
            raise ValueError(f"forbidden must leave at least one of the {what}, got all {len(self.groups)}")
        if max_features is not None and max_features < least:
            because = f", the number of forced {what}" if self.forced else ""
            raise ValueError(f"max_features must be at least {least}{because}, got {max_features}")
        self.limit = most if max_features is None else min(most, max_features)
        self.continue_probability = continue_probability
        self.chances = continue_probability ** np.arange(len(self.groups) + 1.0)

    def _units(self, name: str, features: Iterable[int]) -> Subset:
        """Return the units of some features."""
        unit_of = {feature: unit for unit, group in enumerate(self.groups) for feature in group}
        given = list(features)
        strange = [feature for feature in given if feature not in unit_of]
        if strange:
            raise ValueError(f"{name} must name features from 0 to {self.oracle.n_features - 1}, got {strange}")
        return tuple(sorted({unit_of[feature] for feature in given}))

    def features_of(self, state: Subset) -> list[int]:
        """Return the features of a state, in order."""
        if self._single:
            return sorted(state[:-1] if self.is_terminal(state) else state)
        return sorted(feature for unit in state if unit != STOP for feature in self.groups[unit])

    def root(self) -> Subset:
        """Return the subset of the forced features."""
        return self.forced

    def grown(self, state: Subset, unit: int) -> Subset:
        """Return the subset with one unit more."""
        return tuple(sorted((*state, unit)))

    def missing(self, state: Subset) -> Iterator[int]:
        """Yield the units that may still be added."""
        if len(state) < self.limit:
            chosen = set(state)
            yield from (unit for unit in self.allowed if unit not in chosen)

    def children(self, state: Subset) -> list[Subset]:
        """Return the terminal leaf of the subset (none for the empty one) and the subsets with one unit more."""
        stop = [(*state, STOP)] if state else []
        return stop + [self.grown(state, unit) for unit in self.missing(state)]

    def count_children(self, state: Subset) -> int:
        """Return how many children a state has, without listing them."""
        left = len(self.allowed) + len(self.forced) - len(state)
        return bool(state) + (left if len(state) < self.limit else 0)

    def path_to(self, state: Subset) -> list[Subset]:
        """Return the states from below the root to a terminal leaf, by adding its units in order."""
        units = [unit for unit in state[:-1] if unit not in self.forced]
        steps = [tuple(sorted((*self.forced, *units[:size]))) for size in range(1, len(units) + 1)]
        return [*steps, state]

    def subsets_of(self, state: Subset, largest: int) -> Iterator[Subset]:
        """Yield the terminal leaves of the subsets of one; if it is larger than `largest`, those lacking one or two."""
        units = [unit for unit in state[:-1] if unit not in self.forced]
        fewest = 0 if len(units) <= largest else len(units) - 2
        for size in range(fewest, len(units)):
            for kept in combinations(units, size):
                subset = tuple(sorted((*self.forced, *kept)))
                if subset:
                    yield (*subset, STOP)

    def neighbours(self, state: Subset, units: Iterable[int] | None = None) -> list[Subset]:
        """Return the terminal leaves of the subsets with one unit (of `units`) more, one less, or one exchanged."""
        subset = state[:-1]
        free = [unit for unit in (self.allowed if units is None else units) if unit not in subset]
        more = free if len(subset) < self.limit else []
        drops = [self.without(subset, unit) for unit in subset if unit not in self.forced]
        swaps = [self.grown(smaller, unit) for smaller in drops for unit in free]
        found = [self.grown(subset, unit) for unit in more] + drops + swaps
        return [(*one, STOP) for one in found if one]

    def choice(self) -> dict[str, Any]:
        """Return what there is to choose from, for whoever checks that no neighbour is missing."""
        return {"allowed": self.allowed, "forced": list(self.forced), "limit": self.limit}

    def without(self, subset: Subset, unit: int) -> Subset:
        """Return the subset without a unit."""
        return tuple(one for one in subset if one != unit)

    def random_leaf(self, rng: np.random.Generator) -> Subset:
        """Return the terminal leaf of the subset that a rollout from the root reaches."""
        return self.complete(self.forced, rng)

    def count_subsets(self) -> int:
        """Return how many subsets there are to choose from, or the first sum of sizes beyond `MANY`."""
        free, most = len(self.allowed), self.limit - len(self.forced)
        total = -(not self.forced)
        for size in range(most + 1):
            total += comb(free, size)
            if total > MANY:
                break
        return total

    def parents(self, state: Subset) -> list[Subset]:
        """Return the states one move above."""
        if self.is_terminal(state):
            return [state[:-1]]
        kept = set(self.forced)
        return [state[:place] + state[place + 1 :] for place, unit in enumerate(state) if unit not in kept]

    def family(self, node_of: dict[Any, int]) -> SubsetFamily:
        """Return what finds the children of a subset among the nodes of a graph."""
        return SubsetFamily(self, node_of)

    def is_terminal(self, state: Subset) -> bool:
        """Return whether the search has stopped at this subset."""
        return bool(state) and state[-1] == STOP

    def complete(self, state: Subset, rng: np.random.Generator) -> Subset:
        """Return the terminal leaf that a rollout from a state reaches; a terminal leaf stays as it is."""
        return state if self.is_terminal(state) else (*sorted(self._completed(state, rng)), STOP)

    def sample(self, state: Subset, rng: np.random.Generator) -> float:
        """Return the value of a random completion on a random subsample; the stream is used as the kernel does."""
        return self.oracle.sample(self.features_of(self.complete(state, rng)), rng)

    def _completed(self, state: Subset, rng: np.random.Generator) -> set[int]:
        """Return a subset with random units added until the coin says stop."""
        subset, left = set(state), self.count_children(state) - bool(state)
        while left > 0 and len(subset) < self.limit and rng.random() < self.chances[len(subset)]:
            unit = self.allowed[int(rng.random() * len(self.allowed))]
            while unit in subset:
                unit = self.allowed[int(rng.random() * len(self.allowed))]
            subset.add(unit)
            left -= 1
        return subset

    @property
    def value_cost(self) -> int:
        """How many distances take as long as a value, exact or guiding."""
        return self.oracle.rough_cost if self.noisy else self.oracle.value_cost

    @property
    def parts(self) -> int:
        """How many scores a value is the mean of; 0 if it cannot be had in parts."""
        return self.oracle.parts

    def part(self, state: Subset, number: int) -> float:
        """Return one of the scores whose mean the value of a terminal leaf is."""
        return self.oracle.part(self.features_of(state), number)

    def drawn_part(self, rng: np.random.Generator) -> int | None:
        """Return which of these scores a sample is; None if it is none of them."""
        return self.oracle.drawn_part(rng)

    def compiled_oracle(self, rng: np.random.Generator) -> NeighbourRollouts | None:
        """Return the compiled form of `sample`, which keeps RAVE sums; None if a subclass samples in its own way."""
        return NeighbourRollouts(self, rng, noisy_stop=self.noisy) if self.samples_compiled else None

    def plain_rollouts(self) -> PlainRollouts:
        """Return what keeps the RAVE sums of rollouts valued outside the kernels."""
        return PlainRollouts(self)

    def holds(self, state: Any) -> bool:
        """Return whether something is a state of this lattice, for whoever reads one from a file."""
        if not isinstance(state, tuple) or not all(type(unit) is int for unit in state):
            return False
        subset = state[:-1] if self.is_terminal(state) else state
        ordered = all(one < other for one, other in pairwise(subset))
        known = self._everything.issuperset(subset) and set(self.forced).issubset(subset)
        return ordered and known and len(subset) <= self.limit and bool(subset or state == self.forced)

    @cached_property
    def _everything(self) -> frozenset[int]:
        return frozenset((*self.allowed, *self.forced))

    def fingerprint(self) -> dict[str, Any]:
        """Return what tells this lattice from others: the choice, the objective and a fingerprint of the data."""
        oracle = self.oracle
        if not hasattr(oracle, "fingerprint"):
            raise ValueError(f"checkpoint needs an oracle with a method fingerprint, got {type(oracle).__name__}")
        choice = {name: value for name, value in self.choice().items() if name != "limit"}
        return {
            "terminal": "noisy" if self.noisy else "exact",
            **oracle.settings(),
            **choice,
            "max_features": self.limit,
            "groups": self.groups,
            "continue_probability": self.continue_probability,
            "data": oracle.fingerprint(),
        }

    @property
    def samples_compiled(self) -> bool:
        """Whether kernels may draw instead of `sample`: no subclass has its own."""
        return (
            type(self).sample is SubsetLattice.sample and getattr(type(self.oracle), "sample", None) is KNNOracle.sample
        )


class FeatureLattice(SubsetLattice):
    """All subsets of features that hold the forced ones and none of the forbidden, up to a size.

    Parameters
    ----------
    oracle : KNNOracle or EstimatorOracle
        What a subset is worth.
    continue_probability : float, default=0.9
        q: a rollout at size s goes on with probability q^s.
    max_features : int, default=None
        Largest size of a subset; a group counts as one, and more than there are means all.
    forced, forbidden : iterable of int
        Features every subset has, and features none has; a group follows any of its features.
    groups : sequence of sequences of int, default=None
        Features that enter together; every feature is in exactly one group. States then hold numbers of groups.

    Examples
    --------
    >>> from bestleaf import best_leaf
    >>> from bestleaf.datasets import load_linear
    >>> lattice = FeatureLattice(KNNOracle(*load_linear(return_X_y=True), scale=False), max_features=1)
    >>> found = best_leaf(lattice, epsilon=0.005, delta=0.1, expansion=0.3, seed=0)
    >>> found.answer in [(1, -1), (4, -1)]  # feature 4 is twice feature 1 and worth the same
    True
    """

    def exact(self, state: Subset) -> float:
        """Return the exact value of a terminal leaf."""
        return self.oracle.value(self.features_of(state))


class SampledLattice(SubsetLattice):
    """The same where the value of a subset is only known from samples: terminal leaves have intervals, too.

    Takes the arguments of `FeatureLattice`. Growth is guided by ``oracle.rough_value``, on which no claim rests.
    """

    noisy = True

    def guide(self, state: Subset) -> float:
        """Return about what a terminal leaf is worth."""
        return self.oracle.rough_value(self.features_of(state))


def _checked_groups(groups: Sequence[Sequence[int]] | None, features: int) -> list[list[int]]:
    """Return the features of each unit, or say in one sentence why the groups do not share them out."""
    if groups is None:
        return [[feature] for feature in range(features)]
    units = [list(group) for group in groups]
    if empty := [number for number, unit in enumerate(units) if not unit]:
        raise ValueError(f"groups must not be empty, got nothing in group {empty[0]}")
    met: dict[int, int] = {}
    for number, unit in enumerate(units):
        for feature in unit:
            if feature not in range(features):
                raise ValueError(f"groups must name features from 0 to {features - 1}, got {feature}")
            if feature in met:
                raise ValueError(
                    f"groups must not overlap, got feature {feature} in groups {met[feature]} and {number}"
                )
            met[feature] = number
    if lost := [feature for feature in range(features) if feature not in met]:
        raise ValueError(f"groups must hold every feature, got none with the features {lost[:10]}")
    return units
