"""`FuseSelector`: feature selection by FUSE and its variants, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from inspect import signature
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from bestleaf.certificate.build import Structure
from bestleaf.checks import did_you_mean, shown
from bestleaf.data_checks import AtMost, Costs, Data, FeatureGroups, votes_of
from bestleaf.encoding import TableEncoder
from bestleaf.engine.intervals import Leaf
from bestleaf.features import FeatureLattice, SubsetLattice
from bestleaf.features.neighbours import NeighbourVotes
from bestleaf.new_data.choosing import Chosen
from bestleaf.rivals.fuse import Fuse, FuseSettings
from bestleaf.search import Progress
from bestleaf.search.budget import Budget
from bestleaf.selection import Selection, Watch
from bestleaf.selector import BestLeafSelector, SearchOptions

VARIANTS: dict[str, dict[str, Any]] = {"fuse": {}, "fuse-ucd": {"variant": "ucd"}, "alphafuse": {"backup": 0.5}}
SHORTEST = 1e-3  # seconds that a search gets even if time is over


class FuseSelector(BestLeafSelector):
    """Select features by FUSE (UCT on the lattice of subsets) within a budget; nothing is proved.

    It has the attributes of `BestLeafSelector`. Its certificate lists the subsets evaluated and claims nothing else.

    Parameters
    ----------
    variant : {"fuse", "fuse-ucd", "alphafuse"}, default="fuse"
        FUSE, FUSE with UCD, or FUSE with samples added to all ancestors.
    estimator : NeighbourVotes, default=None
        What gives a subset its value; None is ``NeighbourVotes()``.
    options : dict, default=None
        Keywords of `bestleaf.fuse_search`.
    max_samples, max_time : default=None
        Descents and seconds allowed; at least one of them must be given.
    continue_probability : float, default=0.9
        q: a rollout at size s goes on with probability q^s.
    encode, epsilon, delta, max_features, forced, forbidden, feature_groups, costs, max_cost, at_most
        As in `BestLeafSelector`; `epsilon` and `delta` are only written into the certificate.
    max_memory, n_jobs, random_state, verbose
        As in `BestLeafSelector`.
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012  as in scikit-learn
        **BestLeafSelector._parameter_constraints,
        "variant": [StrOptions(set(VARIANTS))],
        "options": [dict, None],
        "continue_probability": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(
        self,
        variant: str = "fuse",
        *,
        estimator: NeighbourVotes | None = None,
        encode: str | TableEncoder | None = None,
        options: dict[str, Any] | None = None,
        max_samples: int | None = None,
        max_time: float | None = None,
        continue_probability: float = 0.9,
        epsilon: float = 0.01,
        delta: float = 0.05,
        max_features: int | None = None,
        forced: Iterable[int | str] = (),
        forbidden: Iterable[int | str] = (),
        feature_groups: FeatureGroups | None = None,
        costs: Costs | None = None,
        max_cost: float | None = None,
        at_most: AtMost | None = None,
        max_memory: int | str | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            estimator,
            encode=encode,
            choose="training",
            max_samples=max_samples,
            max_time=max_time,
            epsilon=epsilon,
            delta=delta,
            max_features=max_features,
            forced=forced,
            forbidden=forbidden,
            feature_groups=feature_groups,
            costs=costs,
            max_cost=max_cost,
            at_most=at_most,
            max_memory=max_memory,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.variant = variant
        self.options = options
        self.continue_probability = continue_probability

    def _options(self) -> SearchOptions:
        """Return the settings of the search that FUSE has, too."""
        return SearchOptions(continue_probability=self.continue_probability)

    def _search(
        self, lattice: SubsetLattice, data: Data, seed: int, budget: Budget, chosen: Chosen | None = None
    ) -> Selection:
        """Search until the budget is spent; return a root with all leaves evaluated as its children."""
        if votes_of(self.estimator) is None:
            values = f"variant {self.variant!r} values subsets by nearest neighbours"
            raise ValueError(f"{values}, so estimator must be NeighbourVotes or None, got {shown(self.estimator)}")
        options = {**VARIANTS[self.variant], **(self.options or {})}
        known = {one.name for one in fields(FuseSettings)} - {"max_samples", "max_time"}
        if strange := [name for name in options if name not in known]:
            hint = did_you_mean(strange[0], known)
            raise ValueError(f"options must hold {', '.join(sorted(known))} only, got {shown(strange[0])}{hint}")
        assert isinstance(lattice, FeatureLattice)  # complete subsets have exact values

        def look(now: Progress) -> bool:
            return watch.look(now, fuse.values, over=fuse.reason is not None)

        left = None if budget.max_time is None else max(budget.look(), SHORTEST)
        settings = FuseSettings(max_samples=self.max_samples, max_time=left, **options)
        fuse = Fuse(lattice, settings, seed)
        watch = Watch(self, data, lattice, budget.max_time, [])
        with watch:
            fuse.run(look)
        result = fuse.result()
        leaves = tuple(
            Leaf(state, state, True, True, 1, value, value, value, 0, 0.0) for state, value in result.values.items()
        )
        many, none = len(leaves), np.zeros(len(leaves) + 1, np.int64)
        return Selection(
            lattice=lattice,
            answer=next(leaf for leaf in leaves if leaf.state[:-1] == result.answer),
            reason=result.reason,
            settings={
                "task": "leaf",
                "epsilon": self.epsilon,
                "delta": self.delta,
                "rule": self.variant,
                "bound": "none",
                "stopping": "budget",
                "expansion": settings.record()["widening"],
                "proposal": "rave",
                "options": {name: str(value) for name, value in options.items()},
                "seed": result.seed,
                "proof": "none",
            },
            cost={
                "samples": result.samples,
                "rollouts": result.rollouts,
                "warmup_samples": 0,
                "exact_evaluations": result.exact_evaluations,
                "growths": result.nodes - 1,
                "seconds": result.seconds,
            },
            leaves=leaves,
            structure=Structure(
                (lattice.root(), *result.values), none, np.array([many] + [0] * many), np.arange(1, many + 1), none
            ),
            challenges={},
            values=result.values,
            rave=fuse.oracle.global_rave_sums,
            history=watch.history,
        )


def selector_from(algorithm: str = "bli", **keywords: Any) -> BestLeafSelector:
    """Return the selector for an algorithm, which is given by its name on the command line.

    Keywords are those of the selector, of `NeighbourVotes` and of `SearchOptions` together. Keywords that the estimator
    or the algorithm does not use are ignored.
    """
    votes = {name: keywords.pop(name) for name in signature(NeighbourVotes).parameters if name in keywords}
    options = {name: keywords.pop(name) for name in signature(SearchOptions).parameters if name in keywords}
    if keywords.get("estimator") is None:
        keywords["estimator"] = NeighbourVotes(**votes)
    if algorithm == "bli":
        return BestLeafSelector(**keywords, search=SearchOptions(**options))
    if keywords.get("checkpoint") is not None:
        raise ValueError(f"checkpoint must be None with algorithm {algorithm!r}, got {shown(keywords['checkpoint'])}")
    known = signature(FuseSelector).parameters
    return FuseSelector(algorithm, **{name: one for name, one in {**keywords, **options}.items() if name in known})
