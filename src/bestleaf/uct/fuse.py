"""FUSE: UCT on the lattice of feature subsets (Gaudel & Sebag), with its relatives on a DAG."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

import numpy as np

from bestleaf.checks import number, one_of, shown
from bestleaf.features import STOP, FeatureLattice, NeighbourRollouts, Subset
from bestleaf.search.options import stream
from bestleaf.search.result import Progress
from bestleaf.uct.children import CompetingChildren, RaveChildren
from bestleaf.uct.loop import Loop
from bestleaf.uct.settings import RECOMMENDATIONS, budgets, descent_settings

HEURISTICS = ("discrete", "continuous")
LOCALITY = 200.0  # c_l, as in the published program
TRUST = 200.0  # c of the continuous heuristic: after so many samples an edge's mean and its RAVE count the same


@dataclass(frozen=True)
class FuseResult:
    """What FUSE recommends; it proves nothing beyond the exact values.

    Attributes
    ----------
    answer : tuple of int
        The units of the subset at the end of the recommended path.
    value : float
        Its exact value.
    ranking : array of int
        All units by g-RAVE, the best first (FUSE^R); units that were in no rollout come last.
    scores : array of float
        g-RAVE of each unit, nan for units that were in no rollout.
    values : dict
        Every terminal leaf evaluated exactly, with its value.
    samples, rollouts, nodes, edges : int
        Descents, those of them that drew a rollout (the others ended at subsets already evaluated), size of the graph.
    reason : str
        ``"max_samples"``, ``"max_time"``, ``"interrupted"`` or ``"callback"``.
    elapsed : float
        Seconds.
    """

    answer: Subset
    value: float
    ranking: np.ndarray = field(repr=False)
    scores: np.ndarray = field(repr=False)
    values: dict[Subset, float] = field(repr=False)
    samples: int
    rollouts: int
    nodes: int
    edges: int
    reason: str
    elapsed: float
    seed: int | None

    @property
    def exact_evaluations(self) -> int:
        """How many subsets were evaluated exactly."""
        return len(self.values)

    def __str__(self) -> str:
        return (
            f"Recommended: {self.answer}, value {self.value:.4f} after {self.samples:,} samples ({self.reason}). "
            "FUSE gives no guarantee."
        )


class Fuse:
    """One search by FUSE, with the keywords of `fuse_search`: run ``loop``, then take the ``result``."""

    def __init__(
        self,
        lattice: FeatureLattice,
        *,
        heuristic: str = "discrete",
        variant: Any = "uct1",
        backup: Any = "descent",
        bonus: str = "ucb1_tuned",
        exploration: float = 2.0,
        widening: float = 0.26,
        initial_rollouts: int = 100,
        exact_stop: bool = True,
        locality: float = LOCALITY,
        trust: float = TRUST,
        recommend: str = "mean",
        max_samples: int | None = None,
        max_time: float | None = None,
        seed: Any = None,
        callback: Callable[[Progress], Any] | None = None,
    ) -> None:
        if not isinstance(lattice, FeatureLattice):
            raise TypeError(f"lattice must be a FeatureLattice, got a {type(lattice).__name__}")
        if not lattice.samples_compiled:
            raise TypeError("lattice must be sampled by nearest neighbours, got one with a sample method of its own")
        continuous = one_of("heuristic", heuristic, HEURISTICS) == "continuous"
        settings = descent_settings(
            variant=variant,
            bonus=bonus,
            exploration=exploration,
            widening=1.0 if continuous else widening,
            backup=backup,
            initial_rollouts=initial_rollouts,
            trust=trust if continuous else 0.0,
        )
        number("widening", widening, "between 0 and 1", 0.0, 1.0)
        number("trust", trust, "more than 0", 0.0, 1e9, open_ends=True)
        if not isinstance(exact_stop, bool):
            raise TypeError(f"exact_stop must be True or False, got {shown(exact_stop)}")
        self.recommend = one_of("recommend", recommend, RECOMMENDATIONS)
        number("locality", locality, "at least 0", 0.0, 1e12)
        limits = budgets(max_samples, max_time)
        rng, self.seed = stream(seed)
        self.rollouts = NeighbourRollouts(lattice, rng, noisy_stop=not exact_stop)
        self.loop = Loop(
            lattice, settings, rng=rng, oracle=self.rollouts, recommend=recommend, callback=callback, **limits
        )
        self.loop.exact_leaves = exact_stop
        kind = CompetingChildren if continuous else RaveChildren
        self.loop.children = kind(self.loop.statistics, self.rollouts, locality)

    def result(self) -> FuseResult:
        """Return what is recommended as of now."""
        loop = self.loop
        answer = _subset(loop, self.recommend)
        sums, counts = self.rollouts.global_rave_sums.T
        scores = np.where(counts > 0, sums / np.maximum(counts, 1.0), np.nan)
        return FuseResult(
            answer=answer,
            value=loop.values[(*answer, STOP)],
            ranking=np.argsort(np.where(counts > 0, -scores, np.inf), kind="stable"),
            scores=scores,
            values=dict(loop.values),
            samples=loop.samples,
            rollouts=int(self.rollouts.place.arrays["by_size"][:, 1].sum()),
            nodes=len(loop.graph),
            edges=loop.statistics.used,
            reason=loop.reason or "unfinished",
            elapsed=loop.elapsed,
            seed=self.seed,
        )


def fuse_search(lattice: FeatureLattice, **keywords: Any) -> FuseResult:
    """Search the lattice of feature subsets by FUSE and recommend a subset, without a guarantee.

    The defaults are those of the published program.

    Parameters
    ----------
    lattice : FeatureLattice
        What is searched.
    heuristic : {"discrete", "continuous"}, default="discrete"
        Which features compete at a node: as many as t^b, taken in order of RAVE, the stopping feature first; or all
        from the start, with RAVE as the prior of their means.
    variant, backup, bonus, exploration, recommend
        As in `bestleaf.uct_search`: ``variant="ucd"`` is FUSE on UCD, ``backup=0.5`` AlphaFUSE.
    widening : float, default=0.26
        b of the discrete heuristic.
    initial_rollouts : int, default=100
        Rollouts at a node before features compete there; t does not count them.
    exact_stop : bool, default=True
        The reward of the stopping feature is the exact value of the subset, not that of a subsample.
    locality : float, default=200
        c_l: weight of the RAVE of all rollouts against that of the rollouts below a node.
    trust : float, default=200
        c of the continuous heuristic: RAVE counts c / (c + t) after t samples of an edge, its mean the rest.
    max_samples, max_time : default=None
        Budgets, of which one must be given.
    seed : int, Generator or None, default=None
        Everything random follows from it.
    callback : callable, default=None
        Called with a `Progress` about twenty times a second; the search ends when it returns True.

    Returns
    -------
    FuseResult

    Examples
    --------
    >>> from bestleaf import fuse_search
    >>> from bestleaf.datasets import load_linear
    >>> from bestleaf.features import FeatureLattice
    >>> from bestleaf.oracles import KNNOracle
    >>> lattice = FeatureLattice(KNNOracle(*load_linear(return_X_y=True), scale=False))
    >>> found = fuse_search(lattice, max_samples=5000, seed=0)
    >>> found.value == lattice.oracle.value(found.answer)
    True
    """
    found = Fuse(lattice, **keywords)
    found.loop.run()
    return found.result()


fuse_search.__signature__ = signature(Fuse).replace(return_annotation="FuseResult")  # type: ignore[attr-defined]


def _subset(loop: Loop, recommend: str) -> Subset:
    """Return the subset at the end of the recommended path, with its exact value in ``loop.values``.

    A search that ended before any feature competed at the root answers with the best single feature by RAVE.
    """
    lattice, state = loop.problem, loop.graph.states[loop.statistics.recommended(recommend)[-1]]
    subset = state[:-1] if lattice.is_terminal(state) else state
    if not subset:
        sums, counts = loop.oracle.global_rave_sums.T
        scores = np.where(counts > 0, sums / np.maximum(counts, 1.0), -np.inf)
        subset = (lattice.allowed[int(np.argmax(scores[lattice.allowed]))],)
    if (*subset, STOP) not in loop.values:
        loop.values[(*subset, STOP)] = lattice.exact((*subset, STOP))
    return subset
