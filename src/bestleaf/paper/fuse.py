"""FUSE: UCT on the lattice of feature subsets (Gaudel and Sebag 2010), also with UCD and with samples for ancestors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bestleaf.checks import number
from bestleaf.features import STOP, FeatureLattice, NeighbourRollouts, Subset
from bestleaf.features.rave import rave_scores
from bestleaf.paper.uct import UCT, UCTResult, UCTSettings, full_signature
from bestleaf.search.result import Progress
from bestleaf.search.settings import Seed


@dataclass(frozen=True, kw_only=True)
class FuseSettings(UCTSettings):
    """The keywords of `fuse_search`, checked; the defaults are those of the published program."""

    bonus: str = "ucb1_tuned"
    widening: float = 0.26
    initial_rollouts: int = 100
    recommend: str = "mean"
    locality: float = 200.0

    def __post_init__(self) -> None:
        super().__post_init__()
        number("locality", self.locality, "at least 0", 0.0, 1e12)


@dataclass(frozen=True, kw_only=True)
class FuseResult(UCTResult):
    """What FUSE recommends; nothing is proved but exact values. A unit is a feature or a group of features.

    Attributes
    ----------
    answer : tuple of int
        Units of the subset at the end of the recommended path.
    value : float
        Its exact value.
    scores : array of float
        g-RAVE: mean value of the rollouts with each unit; nan for a unit that was in no rollout.
    ranking : array of int
        All units by `scores`, the best first (FUSE^R); units without a score come last.
    values : dict
        Exact value of every terminal leaf that was evaluated.
    rollouts : int
        Descents that drew a rollout; the others ended at subsets already evaluated.
    path, arms, samples, exact_evaluations, nodes, edges, reason, seconds, seed
        As in `bestleaf.UCTResult`.
    """

    answer: Subset
    value: float
    ranking: np.ndarray = field(repr=False)
    scores: np.ndarray = field(repr=False)
    values: dict[Subset, float] = field(repr=False)
    rollouts: int

    def __str__(self) -> str:
        after = f"after {self.samples:,} samples ({self.reason}). FUSE gives no guarantee."
        return f"Recommended: {self.answer}, value {self.value:.4f} {after}"


class Fuse(UCT):
    """One search by FUSE: the children of a subset get their edges one by one, in the order of their RAVE scores."""

    settings: FuseSettings
    oracle: NeighbourRollouts

    def __init__(self, lattice: FeatureLattice, settings: FuseSettings, seed: Seed = None) -> None:
        if not isinstance(lattice, FeatureLattice):
            raise TypeError(f"lattice must be a FeatureLattice, got a {type(lattice).__name__}")
        if not lattice.samples_compiled:
            raise TypeError("lattice must be sampled by nearest neighbours, got one with a sample method of its own")
        super().__init__(lattice, settings, seed)
        self._given: dict[int, set[int]] = {}  # units with an edge, by node

    def rave(self, node: int) -> np.ndarray:
        """Return the RAVE score of every unit at a node."""
        here = self.oracle.rave_sums(self.statistics.below(node))
        return rave_scores(here, self.oracle.global_rave_sums, self.settings.locality)

    def next_child(self, node: int) -> Subset:
        """Return the next child of a node: first its terminal leaf, then the child of highest RAVE score."""
        subset, lattice = self.statistics.graph.states[node], self.problem
        given = self._given.setdefault(node, set())
        if subset and STOP not in given:
            unit = STOP
        else:
            units = np.array([unit for unit in lattice.missing(subset) if unit not in given], np.int64)
            unit = int(units[np.argmax(self.rave(node)[units])])
        given.add(unit)
        return lattice.terminal(subset) if unit == STOP else lattice.grown(subset, unit)

    def result(self) -> FuseResult:
        """Return what is recommended now, with its exact value.

        If the search ended before the root had edges, it answers with the unit of the highest RAVE score.
        """
        found, lattice = super().result(), self.problem
        sums, counts = self.oracle.global_rave_sums.T
        scores = np.where(counts > 0, sums / np.maximum(counts, 1.0), np.nan)
        state = found.path[-1] if found.path else lattice.root()
        subset = lattice.subset_of(state)
        if not subset:
            units = list(lattice.missing(()))
            subset = (units[int(np.argmax(np.nan_to_num(scores, nan=-np.inf)[units]))],)
        if (leaf := lattice.terminal(subset)) not in self.values:
            self.values[leaf] = lattice.exact(leaf)
        answer = {"answer": subset, "value": self.values[leaf], "exact_evaluations": len(self.values)}
        return FuseResult(
            **vars(found) | answer,
            ranking=np.argsort(np.where(counts > 0, -scores, np.inf), kind="stable"),
            scores=scores,
            values=dict(self.values),
            rollouts=int(self.oracle.record["drawn"]),
        )


def fuse_search(
    lattice: FeatureLattice, *, seed: Seed = None, callback: Callable[[Progress], object] | None = None, **settings: Any
) -> FuseResult:
    """Search the lattice of feature subsets by FUSE and recommend a subset, without a guarantee.

    Parameters
    ----------
    lattice : FeatureLattice
        What is searched.
    variant, backup, bonus, exploration, recommend, max_samples, max_time, seed, callback
        As in `bestleaf.uct_search`: ``variant="ucd"`` is FUSE with UCD, ``backup=0.5`` is AlphaFUSE.
    widening : float, default=0.26
        b: a node has t^b edges after t descents, the terminal leaf first, then by RAVE score.
    initial_rollouts : int, default=100
        Rollouts at a node before it gets edges; t does not count them.
    locality : float, default=200
        c_l: weight of the RAVE score of all rollouts, compared with that of the rollouts below a node.

    Examples
    --------
    >>> from bestleaf.features.neighbours import KNNOracle
    >>> from bestleaf.paper import load_linear
    >>> lattice = FeatureLattice(KNNOracle(*load_linear(return_X_y=True), scale=False))
    >>> found = fuse_search(lattice, max_samples=5000, seed=0)
    >>> found.value == lattice.oracle.value(found.answer)
    True
    """
    search = Fuse(lattice, FuseSettings(**settings), seed)
    search.run(callback)
    return search.result()


fuse_search.__signature__ = full_signature(fuse_search, FuseSettings)  # type: ignore[attr-defined]
