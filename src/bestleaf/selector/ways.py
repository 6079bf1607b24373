"""Ways to search the lattice of subsets, and what they leave behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np

from bestleaf.certificate.build import Structure
from bestleaf.checks import shown
from bestleaf.features import STOP, FeatureLattice, SubsetLattice
from bestleaf.intervals import Leaf
from bestleaf.search import Progress, Search
from bestleaf.selector.answer import chosen
from bestleaf.selector.history import check_history
from bestleaf.uct import Fuse

FIXED_BUDGET: dict[str, dict[str, Any]] = {
    "fuse": {},
    "fuse-ucd": {"variant": "ucd"},
    "alphafuse": {"backup": 0.5},
}
CHEAP = 1e9  # distances that are computed for a page without being asked, a second
HURRIED = {"max_time": 1e7, "interrupted": 1e7, "no_workers": 1e7}  # the same when the search had to end, a hundredth
ALGORITHMS = ("bli", *FIXED_BUDGET)
OPTIONS = frozenset(signature(Fuse).parameters) - {"lattice", "max_samples", "max_time", "seed", "callback"}


@dataclass(frozen=True)
class Selection:
    """What a search of the lattice found, whichever way it went."""

    answer: Leaf
    reason: str
    settings: dict[str, Any]
    cost: dict[str, Any]
    leaves: tuple[Leaf, ...]
    structure: Structure
    challenges: dict[str, Any]
    values: dict[Any, float]  # exact, by terminal leaf
    rave: np.ndarray  # [units, 2] sum and number of rollouts
    guide: float | None = None  # rough value of an answer that is not exact


class BestLeafWay:
    """Best leaf identification."""

    def __init__(self, search: Search, *, prefer_small: bool) -> None:
        self.search = search
        self.prefer_small = prefer_small

    @property
    def values(self) -> dict[Any, float]:
        """Exact values so far."""
        return self.search.values

    @property
    def reason(self) -> str | None:
        """Why it ended."""
        return self.search.reason

    @property
    def notes(self) -> list[dict[str, Any]]:
        """What is kept with the search."""
        return self.search.notes

    @property
    def samples(self) -> int:
        """Samples so far."""
        return self.search.samples

    def resume(self) -> bool:
        """Go on from the checkpoint, if there is one; return whether there was."""
        resumed = self.search.resume()
        check_history(self.notes, self.samples, self.search.elapsed)
        return resumed

    def run(self, callback: Callable[[Progress], bool]) -> None:
        """Search to the end."""
        self.search.callback = callback
        self.search.finish()

    def selection(self) -> Selection:
        """Return what was found."""
        self.search.ensure_value()
        result = self.search.result()
        guides = self.search.rough if self.search.has_exact or self.search.rough else self.search.values
        answer, _ = chosen(result.leaves, result.epsilon, prefer_small=self.prefer_small, guides=guides)
        rollouts: Any = self.search.rollouts
        return Selection(
            answer=answer,
            reason=result.reason,
            settings=result.settings(),
            cost=result.cost(),
            leaves=result.leaves,
            structure=result.structure,
            challenges=result.challenges,
            values=self.search.values if self.search.has_exact else _means(result.leaves),
            guide=guides.get(answer.state),
            rave=rollouts.global_rave_sums,
        )


class FuseWay:
    """FUSE and its relatives: only a budget ends them, and they prove nothing."""

    def __init__(
        self,
        lattice: FeatureLattice,
        algorithm: str,
        options: dict[str, Any] | None,
        *,
        epsilon: float,
        delta: float,
        max_samples: int | None,
        max_time: float | None,
        seed: int,
    ) -> None:
        if max_samples is None and max_time is None:
            raise ValueError(
                f"algorithm {algorithm!r} stops only when a budget is spent, so max_samples or max_time must be given, "
                "got neither"
            )
        self.algorithm = algorithm
        if strange := sorted(str(name) for name in set(options or {}) - OPTIONS):
            raise ValueError(f"algorithm_options must be of {', '.join(sorted(OPTIONS))}, got {shown(strange[0])}")
        self.options = {**FIXED_BUDGET[algorithm], **(options or {})}
        self.promise = {"epsilon": epsilon, "delta": delta}
        self.notes: list[dict[str, Any]] = []
        self.samples = 0
        self.fuse = Fuse(lattice, max_samples=max_samples, max_time=max_time, seed=seed, **self.options)

    @property
    def values(self) -> dict[Any, float]:
        """Exact values so far."""
        return self.fuse.loop.values

    @property
    def reason(self) -> str | None:
        """Why it ended."""
        return self.fuse.loop.reason

    def resume(self) -> bool:
        """Return False: there is no checkpoint."""
        return False

    def run(self, callback: Callable[[Progress], bool]) -> None:
        """Search until the budget is spent."""
        self.fuse.loop.callback = callback
        self.fuse.loop.run()

    def selection(self) -> Selection:
        """Return what was found, as the graph of the leaves evaluated."""
        result, loop = self.fuse.result(), self.fuse.loop
        leaves = tuple(
            Leaf(state, state, True, True, 1, value, value, value, 0, 0.0) for state, value in result.values.items()
        )
        answer = next(leaf for leaf in leaves if leaf.state[:-1] == result.answer)
        many = len(leaves)
        return Selection(
            answer=answer,
            reason=result.reason,
            settings={
                "task": "leaf",
                **self.promise,
                "rule": self.algorithm,
                "bound": "none",
                "stopping": "budget",
                "expansion": float(loop.statistics.world["widening"]),
                "proposal": "rave",
                "options": {name: str(value) for name, value in self.options.items()},
                "seed": result.seed,
                "proof": "none",
            },
            cost={
                "samples": result.samples,
                "rollouts": result.rollouts,
                "warmup_samples": 0,
                "exact_evaluations": result.exact_evaluations,
                "growths": result.nodes - 1,
                "seconds": result.elapsed,
            },
            leaves=leaves,
            structure=Structure(
                (loop.problem.root(), *result.values),
                np.zeros(many + 1, np.int64),
                np.array([many] + [0] * many),
                np.arange(1, many + 1),
                np.zeros(many + 1, np.int64),
            ),
            challenges={},
            values=result.values,
            rave=self.fuse.rollouts.global_rave_sums,
        )


def values_without(selection: Selection, lattice: SubsetLattice) -> dict[str, float]:
    """Return the exact value of the answer without each unit that may be dropped, as far as that is known or cheap."""
    found, subset = {}, selection.answer.state[:-1]
    oracle = lattice.oracle
    cheap = len(subset) * oracle.value_cost <= HURRIED.get(selection.reason, CHEAP)
    for unit in subset:
        left = (*lattice.without(subset, unit), STOP)
        if unit in lattice.forced or left == (STOP,):
            continue
        if left in selection.values:
            found[str(unit)] = float(selection.values[left])
        elif cheap and not lattice.noisy:
            found[str(unit)] = float(oracle.value(lattice.features_of(left)))
    return found


def _means(leaves: tuple[Leaf, ...]) -> dict[Any, float]:
    """Return the mean value of every terminal leaf that was sampled."""
    return {leaf.state: leaf.mean for leaf in leaves if leaf.terminal and leaf.mean is not None}
