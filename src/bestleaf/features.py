"""The lattice of feature subsets as a problem: add a feature, or stop and have the subset valued exactly.

A *unit* is a feature, or a group of features that enter together. A state is a sorted tuple of units, or the same with
`STOP` at the end: the terminal leaf of that subset. Leaves that are not terminal are valued by rollouts: random units
are added, before each one the rollout goes on with probability q^size, and the subset reached is valued on a random
subsample.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from ctypes import c_void_p, cast
from functools import cached_property
from itertools import combinations, pairwise
from math import comb
from typing import Any

import numpy as np

from bestleaf._kernels.rollout import draw_neighbours, warm_up
from bestleaf._records import enlarged
from bestleaf.oracles import TIES, KNNOracle
from bestleaf.storage import Saved

STOP = -1
KEPT = 16  # rollouts of highest value
ROWS_OF_VOTES = 2**20  # at most
MANY = 10**12  # subsets, more than anybody counts

Subset = tuple[int, ...]


class FeatureLattice:
    """All subsets of features that hold the forced ones and none of the forbidden, up to a size.

    Parameters
    ----------
    oracle : KNNOracle
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

    def __init__(
        self,
        oracle: KNNOracle,
        *,
        continue_probability: float = 0.9,
        max_features: int | None = None,
        forced: Iterable[int] = (),
        forbidden: Iterable[int] = (),
        groups: Sequence[Sequence[int]] | None = None,
    ) -> None:
        self.oracle = oracle
        self.groups = _checked_groups(groups, oracle.n_features)
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
        return (*sorted(self._completed(self.forced, rng)), STOP)

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

    def is_terminal(self, state: Subset) -> bool:
        """Return whether the search has stopped at this subset."""
        return bool(state) and state[-1] == STOP

    def exact(self, state: Subset) -> float:
        """Return the exact value of a terminal leaf."""
        return self.oracle.value(self.features_of(state))

    def sample(self, state: Subset, rng: np.random.Generator) -> float:
        """Return the value of a random completion on a random subsample; the stream is used as the kernel does."""
        return self.oracle.sample(self.features_of(tuple(self._completed(state, rng))), rng)

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

    def compiled_oracle(self, rng: np.random.Generator) -> NeighbourRollouts | None:
        """Return the compiled form of `sample`, which keeps RAVE sums; None if a subclass samples in its own way."""
        return NeighbourRollouts(self, rng) if self.samples_compiled else None

    @property
    def samples_compiled(self) -> bool:
        """Whether kernels may draw instead of `sample`: no subclass has its own."""
        return type(self).sample is FeatureLattice.sample and type(self.oracle).sample is KNNOracle.sample

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
            "data": oracle.fingerprint(),
            **oracle.settings(),
            **choice,
            "max_features": self.limit,
            "groups": self.groups,
            "continue_probability": self.continue_probability,
        }


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


class NeighbourRollouts:
    """The subsets of the nodes of one search as bit sets, what rollouts need to value them, and their RAVE sums."""

    def __init__(self, lattice: FeatureLattice, rng: np.random.Generator, *, noisy_stop: bool = False) -> None:
        oracle, units = lattice.oracle, len(lattice.groups)
        outputs, examples = oracle.targets.shape
        small = oracle.classes is not None and oracle.n_neighbors <= np.iinfo(np.int8).max
        kind = np.dtype(np.int8 if small else np.float32)  # numbers of votes fit into a byte
        rows = int(np.clip(oracle.memory // (kind.itemsize * outputs * examples), 1, ROWS_OF_VOTES))
        words, order = -(-units // 64), np.arange(examples)
        keys = np.frombuffer(np.random.default_rng(2019).bytes(8 * units), np.uint64)
        stream = rng.bit_generator.ctypes
        self.lattice = lattice
        self.rng = rng
        self.noisy_stop = noisy_stop  # terminal leaves are sampled too, without adding any unit
        self._rows = 1  # of `rave` in use
        self.place = oracle.workplace()
        self.place.set(
            draw=draw_neighbours.address,
            next_double=cast(stream.next_double, c_void_p).value,
            stream=stream.state_address,
            subsample=oracle.subsample,
            ties=TIES[oracle.ties],
            limit=lattice.limit,
            forced=len(lattice.forced),
            units=units,
            words=words,
            choices=len(lattice.allowed),
            memory=rows,
            small=small,
            kept=KEPT,
        )
        self.place.point(
            subsets=np.zeros((64, words), np.uint64),
            sizes=np.zeros(64, np.int64),
            slots=np.zeros(64, np.int64),
            rave=np.zeros((16, units, 2)),
            keys=keys,
            starts=np.cumsum([0, *map(len, lattice.groups)]),
            members=np.concatenate([np.array(group, np.int64) for group in lattice.groups]),
            allowed=np.array(lattice.allowed, np.int64),
            chances=lattice.chances,
            owners=np.zeros(rows, np.uint64),
            votes=np.empty((rows, outputs * examples), kind),  # a row is emptied when a subset takes it
            order=order,
            picks=np.zeros(oracle.subsample, np.int64),
            score=np.zeros(oracle.subsample, np.float32),
            truth=np.zeros(oracle.subsample, np.float32),
            by_size=np.zeros((units + 1, 2)),
            kept_values=np.zeros(KEPT),
            kept_subsets=np.zeros((KEPT, words), np.uint64),
            current=np.zeros(words, np.uint64),
            below=np.zeros(oracle.n_neighbors + 1, np.int64),
            level=np.zeros(oracle.n_neighbors + 1, np.int64),
        )

        warm_up(0, 0, self.place.record)  # compiles, before any clock runs

    @property
    def record(self) -> Any:
        """What the kernel draws from."""
        return self.place.record

    def add(self, node: int, state: Subset) -> None:
        """Note the subset of a new node; one that may be sampled gets a row of RAVE sums."""
        arrays = self.place.arrays
        longer = {name: enlarged(arrays[name], node + 1) for name in ("subsets", "sizes", "slots")}
        self.place.point(**longer, rave=enlarged(arrays["rave"], self._rows + 1))
        terminal = self.lattice.is_terminal(state)
        if terminal and not self.noisy_stop:
            return
        longer["slots"][node] = self._rows
        longer["sizes"][node] = 1 - len(state) if terminal else len(state)  # below 0: nothing is added
        self._rows += 1
        for unit in state[:-1] if terminal else state:
            longer["subsets"][node, unit >> 6] |= np.uint64(1) << np.uint64(unit & 63)

    def warm_up(self, node: int, rollouts: int) -> None:
        """Draw rollouts from a node for their RAVE sums."""
        warm_up(node, rollouts, self.record)

    def rave_sums(self, nodes: np.ndarray) -> np.ndarray:
        """Return [units, 2], sum and number of the rollouts drawn at these nodes, by unit."""
        rows = self.place.arrays["slots"][nodes]
        return self.place.arrays["rave"][rows[rows > 0]].sum(axis=0)

    def best_subsets(self) -> list[Subset]:
        """Return the subsets of the rollouts of highest value."""
        arrays = self.place.arrays
        found = []
        for value, words in zip(arrays["kept_values"], arrays["kept_subsets"], strict=True):
            if value > 0:
                bits = np.unpackbits(words.view(np.uint8), bitorder="little")
                found.append(tuple(np.flatnonzero(bits).tolist()))
        return sorted(set(found))

    @property
    def global_rave_sums(self) -> np.ndarray:
        """The same of all rollouts."""
        return self.place.arrays["rave"][0]

    def snapshot(self) -> dict[str, Any]:
        """Return the sums of the rollouts and the best of them."""
        arrays = self.place.arrays
        kept = {name: arrays[name].copy() for name in ("by_size", "kept_values", "kept_subsets")}
        rows = np.flatnonzero(arrays["rave"][: self._rows, :, 1].any(axis=1))  # most nodes are never sampled
        return {**kept, "rave": arrays["rave"][rows], "rows": rows, "lowest": int(self.record["lowest"])}

    def restore(self, saved: Saved) -> None:
        """Take in a snapshot, after the nodes of then were added."""
        arrays, units = self.place.arrays, len(self.lattice.groups)
        rows = saved.array("rows", (None,), 0, self._rows - 1, np.int64)
        arrays["rave"][rows] = checked_sums(saved.array("rave", (len(rows), units, 2), 0.0, 2.0**53))
        arrays["by_size"][:] = checked_sums(saved.array("by_size", (units + 1, 2), 0.0, 2.0**53))
        values = saved.array("kept_values", (KEPT,), 0.0, 1.0)
        subsets = saved.array("kept_subsets", arrays["kept_subsets"].shape, 0, 2**64 - 1, np.uint64)
        lowest = saved.whole("lowest", 0, KEPT - 1)
        if values[lowest] > values.min():
            raise ValueError("the lowest of the rollouts kept must be the lowest")
        arrays["kept_values"][:], arrays["kept_subsets"][:] = values, subsets
        self.place.set(lowest=lowest)
        if strange := [subset for subset in self.best_subsets() if not self.lattice.holds((*subset, STOP))]:
            raise ValueError(f"a rollout must end in a subset of the lattice, got {strange[0]}")


def checked_sums(sums: np.ndarray) -> np.ndarray:
    """Return sums and numbers of values in [0, 1] that were saved, if they can be such."""
    if (sums[..., 0] > sums[..., 1]).any():
        raise ValueError("sums of values in [0, 1] must not exceed their numbers")
    return sums
