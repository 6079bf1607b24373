"""From the parameters of a selector to its search."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.model_selection import check_cv

from bestleaf.certificate.verify_data import fingerprint
from bestleaf.checks import shown
from bestleaf.executors import workers_there
from bestleaf.features import FeatureLattice, SubsetLattice
from bestleaf.search import Search
from bestleaf.search.budget import Budget
from bestleaf.search.guarantees import GUARANTEES, checked_guarantees
from bestleaf.search.stages import EveryLeaf, SmallerAnswer, Stage, SubsetsOfAnswers
from bestleaf.selector.answer import chosen
from bestleaf.selector.honest import Examples
from bestleaf.selector.inputs import check_groups, columns_named, task_of, useless_columns
from bestleaf.selector.memory import A_SUBSET, given_as, room_for_search
from bestleaf.selector.objective import (
    Oracle,
    batch_size_of,
    executor_of,
    lattice_of,
    oracle_of,
)
from bestleaf.selector.shares import Shares
from bestleaf.selector.ways import BestLeafWay, FuseWay, Selection

FEW_SUBSETS = 4096  # evaluated without being asked, if
CHEAP = 4e9  # that takes no more distances than this, some seconds
MOST_SUBSETS = 1_000_000  # evaluated when asked
SHORTEST = 1e-3  # seconds of a rival's search when time is over


class Searching:
    """What a selector searches, and how."""

    def _select(self: Any, examples: Examples, seed: int, shares: Shares) -> Selection:
        """Search, and keep what was found."""
        X, y, metadata = examples
        room = room_for_search(self.max_memory, X, y)
        with ThreadPoolExecutor(1) as beside:
            digest = beside.submit(fingerprint, X, y)  # takes seconds for millions of rows
            lattice = self._lattice(oracle_of(self, X, y, metadata, seed), X)
            if self.algorithm == "bli":
                way: BestLeafWay | FuseWay = self._best_leaf_way(lattice, seed, room, shares)
            else:
                way = self._fuse_way(lattice, seed, shares)
            self._watch(way, lattice, X, y, shares.first)
            selection = way.selection()
        self._keep(selection, lattice, len(X), digest.result())
        return selection

    def _shares(self: Any, examples: Examples, budget: Budget) -> Shares:
        """Return how the time is shared out among this search and those again on other examples, with other seeds."""
        others = self.n_repeats - 1
        if self.holdout is not None and not isinstance(self.holdout, float):
            X, y, metadata = examples
            cv = check_cv(self.holdout, y, classifier=self._task(y) != "regression")
            others += cv.get_n_splits(X, y, metadata.get("groups"))
        return Shares(budget, others, workers_there(self.n_jobs))

    def _task(self: Any, y: np.ndarray) -> str:
        """Return whether the targets are classes or real numbers; an estimator says it by what it is."""
        if self.estimator is not None and self.task == "auto":
            return "regression" if is_regressor(self.estimator) else "classification"
        return task_of(y, self.task)

    def _best_leaf_way(self: Any, lattice: SubsetLattice, seed: int, room: int | None, shares: Shares) -> BestLeafWay:
        if self.algorithm_options:
            raise ValueError(f"algorithm_options are for the rivals of 'bli', got {shown(self.algorithm_options)}")
        whole, batch = self._exhaustive(lattice, room), batch_size_of(self, lattice)
        search = Search(
            lattice,
            task="leaf",
            epsilon=self.epsilon,
            delta=self.delta,
            bound=self.bound,
            stopping=self.stopping,
            expansion=None if whole else self.expansion,
            proposal=None if whole else self.proposal,
            max_samples=self.max_samples,
            max_time=shares.first,
            max_memory=room,
            guarantee=self._guarantees() - {"auto", "exhaustive"},
            alpha=self.alpha,
            seed=seed,
            batch_size=batch,
            executor=None if batch is None else executor_of(self),
            checkpoint=self.checkpoint,
        )
        shares.budget.look()
        search.budget.start(shares.budget.elapsed)  # what the data took counts
        search.answer = self._answer
        search.about = {"prefer_small": self.prefer_small}
        first: list[Stage] = [EveryLeaf()] if whole else []
        if self.proposal in (None, "lookahead") and not whole:
            first.append(SubsetsOfAnswers(lattice))
        if self.prefer_small and self.stopping == "sound" and not whole:
            first.append(SmallerAnswer(len))
        search.stages[:0] = first
        return BestLeafWay(search, prefer_small=self.prefer_small)

    def _fuse_way(self: Any, lattice: SubsetLattice, seed: int, shares: Shares) -> FuseWay:
        if self.estimator is not None or not isinstance(lattice, FeatureLattice):
            raise ValueError(
                f"algorithm {self.algorithm!r} values subsets by nearest neighbours, so estimator must be None, got "
                f"{shown(self.estimator)}"
            )
        if wanted := sorted(self._guarantees() - {"auto", "grown"}):
            raise ValueError(
                f"guarantee must be 'auto' with algorithm {self.algorithm!r}, which gives none, got {wanted[0]!r}"
            )
        if self.checkpoint is not None:
            raise ValueError(f"checkpoint must be None with algorithm {self.algorithm!r}, got {shown(self.checkpoint)}")
        shares.budget.look()
        limit = None if shares.first is None else max(shares.first - shares.budget.elapsed, SHORTEST)
        return FuseWay(
            lattice,
            self.algorithm,
            self.algorithm_options,
            epsilon=self.epsilon,
            delta=self.delta,
            max_samples=self.max_samples,
            max_time=limit,
            seed=seed,
        )

    def _lattice(self: Any, oracle: Oracle, X: np.ndarray) -> SubsetLattice:
        forced, forbidden = self._columns("forced", self.forced), self._columns("forbidden", self.forbidden)
        groups = self._groups()
        forbidden += useless_columns(X, self._names(), forced, forbidden, groups)
        return lattice_of(self, oracle)(
            oracle,
            continue_probability=self.continue_probability,
            max_features=self.max_features,
            forced=forced,
            forbidden=forbidden,
            groups=groups,
        )

    def _exhaustive(self: Any, lattice: SubsetLattice, room: int | None) -> bool:
        """Whether all subsets are evaluated: when asked for, or when that takes no longer than a search might."""
        many, wanted = lattice.count_subsets(), self._guarantees()
        if lattice.noisy:
            if beyond := sorted(wanted - {"auto", "grown"}):
                raise ValueError(
                    f"guarantee {beyond[0]!r} compares exact values, so terminal must be 'exact', got {self.terminal!r}"
                )
            return False
        if "exhaustive" in wanted and many > MOST_SUBSETS:
            raise ValueError(
                f"guarantee='exhaustive' needs at most {MOST_SUBSETS:,} subsets, got {many:,}; limit them by "
                "max_features, forbidden or feature_groups"
            )
        fits = room is None or many * A_SUBSET <= room
        if "exhaustive" in wanted and not fits:
            raise ValueError(
                f"max_memory must be more for all {many:,} subsets, which take about {given_as(many * A_SUBSET)}, got "
                f"{shown(self.max_memory)}"
            )
        cheap = fits and many <= FEW_SUBSETS and many * lattice.value_cost <= CHEAP
        return "exhaustive" in wanted or ("auto" in wanted and cheap)

    def _guarantees(self: Any) -> frozenset[str]:
        return checked_guarantees(self.guarantee, ("auto", *GUARANTEES))

    def _answer(self: Any, search: Search) -> tuple[Any, float]:
        """Return the state and the value of the answer as of now."""
        answer, _ = chosen(search.known.list_leaves(), self.epsilon, prefer_small=self.prefer_small)
        return answer.state, answer.lower

    def _groups(self: Any) -> list[list[int]] | None:
        """Return the groups by numbers of features."""
        groups = self.feature_groups
        if groups is None:
            return None
        listed = groups.values() if isinstance(groups, dict) else groups
        found = [self._columns("feature_groups", group) for group in listed]
        check_groups(found, list(groups) if isinstance(groups, dict) else range(len(found)), self._names())
        return found

    def _columns(self: Any, argument: str, given: Iterable[Any]) -> list[int]:
        return columns_named(argument, given, getattr(self, "feature_names_in_", ()), self.n_features_in_)

    def _names(self: Any) -> np.ndarray:
        """Return the names of the features, x0, x1, … if they have none."""
        given = getattr(self, "feature_names_in_", None)
        return np.array([f"x{number}" for number in range(self.n_features_in_)], object) if given is None else given
