"""The lattice of feature subsets as a problem: each move adds a feature, or stops and takes the subset as it is.

A *unit* is a feature, or a group of features that enter together. A state is a sorted tuple of units. With `STOP` at
the end it is the terminal leaf of that subset. Other states are sampled by rollouts: a rollout adds random units, and
before each one it goes on with probability q^size. Its value is one sample of the oracle for the subset it ends in.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Protocol, cast

import numpy as np

from bestleaf.checks import cut, shown
from bestleaf.features.fold_scores import FoldScores
from bestleaf.features.lookahead import LookaheadProposals
from bestleaf.features.neighbours import KNNOracle
from bestleaf.features.rave import RaveProposals
from bestleaf.features.rollouts import NeighbourRollouts, PlainRollouts, Subset, SubsetFamily
from bestleaf.proof.record import Choice, count_subsets
from bestleaf.search.evaluator import Evaluator
from bestleaf.search.growth import RandomProposals

MANY = 10**12  # counting subsets ends beyond this
STOP = -1  # the last element of a terminal leaf


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

    @property
    def most_subsets(self) -> int:
        """How many subsets may all be evaluated."""

    def value(self, subset: Iterable[int]) -> float:
        """Return the exact value of a subset."""

    def values(self, subsets: Iterable[Iterable[int]]) -> list[float]:
        """Return the exact values of several subsets."""

    def table_values(self, columns: np.ndarray) -> np.ndarray:
        """Return the exact values of many subsets; `columns` [subsets, features] says which features each has."""

    def sample(self, subset: Iterable[int], rng: np.random.Generator) -> float:
        """Return one noisy value."""

    def settings(self) -> dict[str, object]:
        """Return the settings that values depend on, for memories and certificates."""

    def fingerprint(self) -> str:
        """Return a hash of the data."""


class SplitOracle(Oracle, Protocol):
    """An oracle whose value is the mean of `parts` scores, such as those of cross-validation."""

    part_cost: int  # cost of one score

    def part(self, subset: Iterable[int], number: int) -> float:
        """Return one of the scores."""

    def drawn_part(self, rng: np.random.Generator) -> int:
        """Return which of the scores `sample` would return with this random stream."""


class FeatureLattice:
    """All subsets, up to a size, with all features of `include` and none of `exclude`.

    Parameters
    ----------
    oracle : Oracle
        What gives subsets their values, such as a `KNNOracle` or an `EstimatorOracle`.
    continue_probability : float, default=0.9
        q: a rollout at size s goes on with probability q^s.
    max_features : int, default=None
        Largest size of a subset; a group counts as one. None means no limit.
    include, exclude : iterable of int
        Features that every subset has, and features that no subset has; each stands for its whole group.
    groups : sequence of sequences of int, default=None
        Features that enter together; every feature is in exactly one group. States then hold numbers of groups.

    Examples
    --------
    >>> from bestleaf import best_leaf
    >>> from bestleaf.paper import load_linear
    >>> lattice = FeatureLattice(KNNOracle(*load_linear(return_X_y=True), scale=False), max_features=1)
    >>> found = best_leaf(lattice, epsilon=0.005, delta=0.1, expansion=0.3, seed=0)
    >>> found.answer in [(1, -1), (4, -1)]  # feature 4 is twice feature 1 and worth the same
    True
    """

    settles_unfinished = True  # as in the paper: a subset is worth the mean of its random completions

    def __init__(
        self,
        oracle: Oracle,
        *,
        continue_probability: float = 0.9,
        max_features: int | None = None,
        include: Iterable[int] = (),
        exclude: Iterable[int] = (),
        groups: Sequence[Sequence[int]] | None = None,
    ) -> None:
        self.oracle = oracle
        every = range(oracle.n_features)
        self.groups = [[feature] for feature in every]
        if groups is not None:
            self.groups = checked_groups("groups", dict(enumerate(groups)), [f"feature {number}" for number in every])
        self.forced = self._units("include", include)
        banned = self._units("exclude", exclude)
        what = "features" if groups is None else "groups"
        if both := sorted(set(banned).intersection(self.forced)):
            raise ValueError(f"include and exclude must not share {what}, got {both} in both")
        if not 0 <= continue_probability <= 1:
            raise ValueError(f"continue_probability must be between 0 and 1, got {continue_probability}")
        self._always = frozenset(self.forced)
        taken = self._always.union(banned)
        self.allowed = [unit for unit in range(len(self.groups)) if unit not in taken]
        most, least = len(self.forced) + len(self.allowed), max(1, len(self.forced))
        if most == 0:
            raise ValueError(f"exclude must leave at least one of the {what}, got all {len(self.groups)}")
        if max_features is not None and max_features < least:
            because = f", the number of {what} in include" if self.forced else ""
            raise ValueError(f"max_features must be at least {least}{because}, got {max_features}")
        self.limit = most if max_features is None else min(most, max_features)
        self.continue_probability = continue_probability
        self.chances = continue_probability ** np.arange(len(self.groups) + 1.0)

    def _units(self, name: str, features: Iterable[int]) -> Subset:
        """Return the units of some features."""
        unit_of = {feature: unit for unit, group in enumerate(self.groups) for feature in group}
        given = list(features)
        if strange := [feature for feature in given if feature not in unit_of]:
            raise ValueError(f"{name} must name features from 0 to {self.oracle.n_features - 1}, got {strange}")
        return tuple(sorted({unit_of[feature] for feature in given}))

    def root(self) -> Subset:
        """Return the subset of the units that every subset has."""
        return self.forced

    def is_terminal(self, state: Subset) -> bool:
        """Return whether a state is a terminal leaf."""
        return bool(state) and state[-1] == STOP

    def terminal(self, subset: Subset) -> Subset:
        """Return the terminal leaf of a subset."""
        return (*subset, STOP)

    def subset_of(self, state: Subset) -> Subset:
        """Return the units of a state, terminal or not."""
        return state[:-1] if self.is_terminal(state) else state

    def features_of(self, state: Subset) -> list[int]:
        """Return the features of a state, in order."""
        return sorted(feature for unit in self.subset_of(state) for feature in self.groups[unit])

    def grown(self, subset: Subset, unit: int) -> Subset:
        """Return the subset with one unit more."""
        return tuple(sorted((*subset, unit)))

    def without(self, subset: Subset, unit: int) -> Subset:
        """Return the subset without a unit."""
        return tuple(one for one in subset if one != unit)

    def missing(self, subset: Subset) -> Iterator[int]:
        """Yield the units that may be added."""
        if len(subset) < self.limit:
            chosen = set(subset)
            yield from (unit for unit in self.allowed if unit not in chosen)

    def children(self, subset: Subset) -> list[Subset]:
        """Return the terminal leaf of a subset (the empty one has none) and the subsets with one unit more."""
        stop = [self.terminal(subset)] if subset else []
        return stop + [self.grown(subset, unit) for unit in self.missing(subset)]

    def count_children(self, subset: Subset) -> int:
        """Return the number of children without listing them."""
        left = len(self.allowed) + len(self.forced) - len(subset)
        return bool(subset) + (left if len(subset) < self.limit else 0)

    def parents(self, state: Subset) -> list[Subset]:
        """Return the states one move above."""
        if self.is_terminal(state):
            return [state[:-1]]
        return [self.without(state, unit) for unit in state if unit not in self._always]

    def path_to(self, state: Subset) -> list[Subset]:
        """Return the states from below the root to a terminal leaf; its units are added in order."""
        units = self._free_units(state)
        return [*(self._with_forced(units[:size]) for size in range(1, len(units) + 1)), state]

    def subsets_of(self, state: Subset, largest: int) -> Iterator[Subset]:
        """Yield the terminal leaves of all subsets of a state; if it has more than `largest` units, less one or two."""
        units = self._free_units(state)
        fewest = 0 if len(units) <= largest else len(units) - 2
        for size in range(fewest, len(units)):
            found = (self._with_forced(kept) for kept in combinations(units, size))
            yield from (self.terminal(subset) for subset in found if subset)

    def neighbours(self, state: Subset, units: Iterable[int] | None = None) -> list[Subset]:
        """Return the terminal leaves of the subsets with one unit (of `units`) added, dropped or exchanged."""
        subset = self.subset_of(state)
        free = [unit for unit in (self.allowed if units is None else units) if unit not in subset]
        more = [self.grown(subset, unit) for unit in free] if len(subset) < self.limit else []
        drops = [self.without(subset, unit) for unit in subset if unit not in self._always]
        swaps = [self.grown(smaller, unit) for smaller in drops for unit in free]
        return [self.terminal(one) for one in (*more, *drops, *swaps) if one]

    def _free_units(self, state: Subset) -> list[int]:
        return [unit for unit in self.subset_of(state) if unit not in self._always]

    def _with_forced(self, units: Iterable[int]) -> Subset:
        return tuple(sorted((*self.forced, *units)))

    def family(self, node_of: dict[Subset, int]) -> SubsetFamily:
        """Return the object that finds the children of a subset among the nodes of a graph."""
        return SubsetFamily(self, node_of)

    def count_subsets(self) -> int:
        """Return the number of subsets that may be chosen; counting ends beyond `MANY`."""
        return count_subsets(self.allowed, self.forced, self.limit, MANY)

    def complete(self, state: Subset, rng: np.random.Generator) -> Subset:
        """Return the terminal leaf in which a rollout from a state ends; a terminal leaf stays as it is."""
        if self.is_terminal(state):
            return state
        subset, left = set(state), self.count_children(state) - bool(state)
        while left > 0 and len(subset) < self.limit and rng.random() < self.chances[len(subset)]:
            unit = self.allowed[int(rng.random() * len(self.allowed))]
            while unit in subset:
                unit = self.allowed[int(rng.random() * len(self.allowed))]
            subset.add(unit)
            left -= 1
        return self.terminal(tuple(sorted(subset)))

    def sample(self, state: Subset, rng: np.random.Generator) -> float:
        """Return the value of one rollout; kernels use the random stream in the same way."""
        return self.oracle.sample(self.features_of(self.complete(state, rng)), rng)

    def exact(self, state: Subset) -> float:
        """Return the exact value of a terminal leaf."""
        return self.oracle.value(self.features_of(state))

    def in_pieces(self, state: Subset) -> Iterator[None]:
        """Do the long part of `exact` piece by piece, if the oracle can."""
        if type(self).exact is FeatureLattice.exact and hasattr(self.oracle, "in_pieces"):
            yield from self.oracle.in_pieces(self.features_of(state))

    def values(self, states: Sequence[Subset]) -> list[float]:
        """Return the exact values of several terminal leaves."""
        if type(self).exact is not FeatureLattice.exact:  # a subclass has values of its own
            return [self.exact(state) for state in states]
        return self.oracle.values([self.features_of(state) for state in states])

    @property
    def at_once(self) -> int:
        """How many values the oracle computes in less time together than one by one; 1 if it does not."""
        return getattr(self.oracle, "at_once", 1)

    @property
    def samples_compiled(self) -> bool:
        """Whether kernels may draw the samples: no subclass has replaced `sample` of the lattice or the oracle."""
        mine, oracles = type(self).sample, getattr(type(self.oracle), "sample", None)
        return mine is FeatureLattice.sample and oracles is KNNOracle.sample

    def compiled_oracle(self, rng: np.random.Generator) -> NeighbourRollouts | None:
        """Return the compiled form of `sample`; None if there is none."""
        return NeighbourRollouts(self, rng) if self.samples_compiled else None

    def plain_rollouts(self) -> PlainRollouts:
        """Return the object that keeps the RAVE sums of rollouts that are drawn outside of kernels."""
        return PlainRollouts(self)

    def proposals(self) -> dict[str, type[RandomProposals]]:
        """Return the ways in which this lattice grows, by name; the first is the default."""
        return {one.name: one for one in (LookaheadProposals, RaveProposals)}

    @property
    def value_cost(self) -> int:
        """Cost of one value; see `Oracle`."""
        return self.oracle.value_cost

    @property
    def parts(self) -> int:
        """Number of scores whose mean is the value of a terminal leaf; 0 if the value is not a mean of scores."""
        return self.oracle.parts

    @property
    def local_first(self) -> bool:
        """Whether the guarantee "local" is proved before the graph is searched: values take long."""
        return self.parts > 0

    def batches(self, evaluator: Evaluator) -> FoldScores | None:
        """Return what draws batches: scores of folds, if values are means of them."""
        return FoldScores(self, evaluator) if self.parts else None

    def part(self, state: Subset, number: int) -> float:
        """Return one of the scores whose mean is the value of a terminal leaf."""
        return cast(SplitOracle, self.oracle).part(self.features_of(state), number)

    def seconds(self, item: tuple[Subset, int]) -> float:
        """Return about how long the score of a terminal leaf on a fold will take; 0 if the oracle does not know."""
        seconds = getattr(self.oracle, "seconds", None)
        return 0.0 if seconds is None else seconds(self.features_of(item[0]))

    def rough(self, state: Subset) -> float:
        """Return an estimate of the value of a terminal leaf that takes little time, or one of its scores."""
        if hasattr(self.oracle, "rough") and type(self).part is FeatureLattice.part:
            return self.oracle.rough(self.features_of(state))
        return self.part(state, 0)

    def drawn_part(self, rng: np.random.Generator) -> int:
        """Return which of the scores `sample` would return with this random stream."""
        return cast(SplitOracle, self.oracle).drawn_part(rng)

    def choice(self) -> Choice:
        """Return what may be chosen, for a record."""
        return Choice(allowed=tuple(self.allowed), forced=tuple(self.forced), limit=self.limit)

    def fingerprint(self) -> dict[str, object]:
        """Return what the values of subsets depend on: the objective, the groups and a hash of the data."""
        if not hasattr(self.oracle, "fingerprint"):
            raise ValueError(f"memory needs an oracle with a method fingerprint, got {type(self.oracle).__name__}")
        return {**self.oracle.settings(), "groups": self.groups, "data": self.oracle.fingerprint()}


def checked_groups(argument: str, groups: Mapping[Hashable, Iterable[int]], names: Sequence[str]) -> list[list[int]]:
    """Return the features of each group; refuse groups that do not hold every feature exactly once.

    `names` says what errors call each feature.
    """
    found = [list(group) for group in groups.values()]
    owner: dict[int, Hashable] = {}
    for label, group in zip(groups, found, strict=True):
        if not group:
            raise ValueError(f"{argument} must not be empty, got nothing in group {shown(label)}")
        for feature in group:
            if feature not in range(len(names)):
                raise ValueError(f"{argument} must name features from 0 to {len(names) - 1}, got {feature}")
            if feature in owner:
                both = f"groups {shown(owner[feature])} and {shown(label)}"
                raise ValueError(f"{argument} must not overlap, got {names[feature]} in {both}")
            owner[feature] = label
    if lost := [name for feature, name in enumerate(names) if feature not in owner]:
        more = f" and {len(lost) - 10} more" if len(lost) > 10 else ""
        raise ValueError(f"{argument} must hold every feature, got none with {cut(', '.join(lost[:10]), 100)}{more}")
    return found
