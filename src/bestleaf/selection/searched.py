"""The paper's search on the lattice of subsets (``choose="training"``), and the record of what it found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from msgspec import structs
from sklearn.base import BaseEstimator

import bestleaf
from bestleaf.checks import one_of, shown
from bestleaf.engine.bounds import Bound, Rate, named_bound
from bestleaf.engine.parts import STOPPINGS
from bestleaf.features import FeatureLattice, Subset
from bestleaf.features.all_subsets import Exhaustion
from bestleaf.features.estimator import EstimatorOracle
from bestleaf.features.lattice import Oracle
from bestleaf.features.neighbours import KNNOracle
from bestleaf.features.scoring import chosen_score, scorer_name
from bestleaf.features.stages import EveryLeaf, SmallerAnswer, SubsetsOfAnswers
from bestleaf.proof import record
from bestleaf.proof.build import gap_of_subsets, star
from bestleaf.proof.text import part_name
from bestleaf.search import Progress, Search
from bestleaf.search.answer import EvaluatedLeaf
from bestleaf.search.ask_tell import Inside
from bestleaf.search.budget import Budget, run_in_slices
from bestleaf.search.executors import executor_for, workers_there
from bestleaf.search.result import how_searched
from bestleaf.search.settings import GUARANTEES, Settings, checked_guarantees
from bestleaf.search.stages import Stage
from bestleaf.selection.data import Data, votes_of
from bestleaf.selection.fit import Fit
from bestleaf.selection.views import ROOM, EvaluatedSubset, EvaluatedSubsets

if TYPE_CHECKING:
    from bestleaf.selection.selector import BestLeafSelector

FEW_SUBSETS = 4096  # guarantee "auto" evaluates all subsets if there are at most this many
MOST_IN_GRAPH = ROOM // 8_000  # subsets in a graph of all of them, which workers share; more are evaluated one by one


class SearchOptions(BaseEstimator):
    """Expert settings of the search of a `BestLeafSelector`.

    Parameters
    ----------
    guarantee : {"auto", "grown", "local", "exhaustive"} or several, default="auto"
        What the answer is compared with. "grown": the leaves of the graph as grown; this is always included. "local":
        all subsets one step away from the answer. "exhaustive": all subsets, which are then all evaluated: up to
        4,194,304 by the votes of nearest neighbours, on a GPU up to 2^30, with an estimator up to a million. "auto" is
        "exhaustive" if that takes only seconds; otherwise, and if other settings of the search are given for more than
        4,096 subsets, it is "grown".
    max_samples : int, default=None
        Rollouts and exact values allowed in the search on all rows.
    bound : str, Rate or Bound, default="betting"
        Confidence interval of a leaf; see `bestleaf.best_leaf`.
    stopping : {"sound", "paper"}, default="sound"
        The test that ends the search; "paper" is the published one, which has no proof.
    expansion : float, default=0.6
        Exponent b: the graph grows by about t^b nodes in t samples.
    proposal : {"random", "rave", "lookahead"} or None, default=None
        Which child enters when the graph grows: a random one, the one whose rollouts were best, or one of highest exact
        value. None is "lookahead", which also improves the best subset by single exchanges. In the end it evaluates the
        subsets of the best answers.
    """

    def __init__(
        self,
        *,
        guarantee: str | Iterable[str] = "auto",
        max_samples: int | None = None,
        bound: str | Rate | Bound = "betting",
        stopping: str = "sound",
        expansion: float = 0.6,
        proposal: str | None = None,
    ) -> None:
        self.guarantee = guarantee
        self.max_samples = max_samples
        self.bound = bound
        self.stopping = stopping
        self.expansion = expansion
        self.proposal = proposal


def searched(fit: Fit) -> Searched:
    """Search the subsets that may be chosen."""
    lattice = lattice_of(fit)
    how = how_all_subsets(fit, lattice)
    return _evaluated_at_once(fit, lattice) if how == "at once" else _by_rollouts(fit, lattice, whole=how == "graph")


# ---- what is searched, and how


def lattice_of(fit: Fit) -> FeatureLattice:
    """Return the lattice of the subsets that may be chosen."""
    oracle, space = oracle_of(fit.selector, fit.data, fit.seed), fit.space
    excluded = set(range(len(space.units))).difference(space.everything)
    return FeatureLattice(
        oracle,
        max_features=space.limit,
        include=space.columns(space.forced),
        exclude=space.columns(excluded),
        groups=space.units,
    )


def oracle_of(selector: BestLeafSelector, data: Data, seed: int) -> KNNOracle | EstimatorOracle:
    """Return the oracle, which gives subsets their values on the rows given."""
    if isinstance(selector.estimator, list | tuple):
        got = f"a list of {len(selector.estimator)}"
        raise ValueError(f"estimator must be one estimator or None with choose='training', got {got}")
    votes = votes_of(selector.estimator)
    if votes is None:
        score = chosen_score(selector.estimator, selector.scoring)
        if score.is_error:
            raise ValueError(
                "scoring must have scores from 0 to 1, or at most 1 as r2 has, with choose='training', got the error "
                f"{score.name}"
            )
        return EstimatorOracle(
            data.X,
            data.y,
            estimator=selector.estimator,
            scoring=selector.scoring,
            cv=selector.cv,
            sample_weight=data.weights,
            groups=data.groups,
            random_state=seed,
        )
    for name in ("scoring", "cv"):
        if getattr(selector, name) is not None:
            got = f"{shown(getattr(selector, name))} and estimator={shown(selector.estimator)}"
            raise ValueError(f"{name} needs an estimator to score with choose='training', got {got}")
    n_jobs = workers_there(selector.n_jobs)
    return votes.oracle(data.X, data.y, groups=data.groups, sample_weight=data.weights, n_jobs=n_jobs)


def options_of(selector: BestLeafSelector) -> SearchOptions:
    """Return the expert settings; all but `stopping` are checked by the search."""
    options = SearchOptions() if selector.search is None else selector.search
    one_of("stopping", options.stopping, STOPPINGS)
    return options


def tolerance_of(selector: BestLeafSelector) -> float | None:
    """Return how much value a smaller answer may cost on the rows given; None is epsilon."""
    if selector.parsimony is None:
        return None
    if selector.parsimony > selector.epsilon:
        limit = f"at most epsilon={selector.epsilon:g} with choose='training', a difference of values"
        raise ValueError(f"parsimony must be {limit}, got {selector.parsimony:g}")
    return float(selector.parsimony)


def guarantees_of(options: SearchOptions) -> frozenset[str]:
    """Return the guarantees asked for, and "auto"."""
    return checked_guarantees(options.guarantee, ("auto", *GUARANTEES))


def how_all_subsets(fit: Fit, lattice: FeatureLattice) -> Literal["graph", "at once"] | None:
    """Return how all subsets are evaluated: with guarantee "exhaustive", or with "auto" if that is cheap.

    A few subsets make a graph; more are evaluated at once, if the oracle can. None: not all are evaluated.
    """
    options = options_of(fit.selector)
    guarantees, voting = guarantees_of(options), lattice.parts == 0
    many, most = lattice.count_subsets(), lattice.oracle.most_subsets
    in_graph = not (FEW_SUBSETS if voting else MOST_IN_GRAPH) < many <= most
    if "exhaustive" in guarantees:
        if many > most:
            raise ValueError(
                f"guarantee='exhaustive' needs at most {most:,} subsets, got {many:,}; limit them by max_features, "
                "exclude or feature_groups"
            )
        return "graph" if in_graph else "at once"
    distances = many * lattice.value_cost
    if "auto" not in guarantees or distances > 4e9:  # some seconds
        return None
    if in_graph:
        return "graph" if many <= FEW_SUBSETS else None
    given = {**options.get_params(deep=False), "guarantee": "auto"}
    wants_a_search = given != SearchOptions().get_params(deep=False)
    soon = fit.budget.max_time is None or distances <= 1e9 * fit.budget.max_time  # about half of it
    return "at once" if soon and not wants_a_search else None


# ---- searches


def _by_rollouts(fit: Fit, lattice: FeatureLattice, *, whole: bool) -> Searched:
    """Search the lattice by the paper's algorithm."""
    selector, options, tolerance = fit.selector, options_of(fit.selector), tolerance_of(fit.selector)
    voting, guarantees = lattice.parts == 0, guarantees_of(options)
    by_default, unlimited = "auto" in guarantees, fit.budget.max_time is None and options.max_samples is None
    if not (whole or voting) and guarantees & {"auto", "local"}:
        guarantees |= {"local"}
    stages: list[Stage] = [EveryLeaf()] if whole else []
    if options.proposal in (None, "lookahead") and not whole:
        stages.append(SubsetsOfAnswers(lattice))
    if tolerance != 0 and options.stopping == "sound" and not whole:
        stages.append(SmallerAnswer(len, tolerance))
    enough = by_default and unlimited and lattice.count_subsets() > FEW_SUBSETS  # of few more can be proved soon
    fit.budget.look()

    def look(now: Progress) -> bool:
        return fit.watch.slice(now, search.state.values, over=search.state.reason is not None)

    search = Search(
        lattice,
        task="leaf",
        epsilon=selector.epsilon,
        delta=selector.delta,
        bound=options.bound,
        stopping=options.stopping,
        expansion=None if whole else options.expansion,
        proposal=None if whole else options.proposal,
        max_samples=options.max_samples,
        max_time=fit.budget.max_time,
        max_memory=None if whole else ROOM,
        guarantee=guarantees - {"auto", "exhaustive"},
        seed=fit.seed,
        batch_size=None if voting else 32,
        memory=fit.memory,
        callback=look,
        answer=EvaluatedLeaf(tolerance),
        inside=Inside(
            None if voting else executor_for(selector.n_jobs, "processes"), stages, fit.budget.seconds, enough
        ),
    )
    fit.watch.names(_namer(fit.data, lattice))
    search.finish()
    search.ensure_value()
    return Searched.of(search, fit, lattice)


def _evaluated_at_once(fit: Fit, lattice: FeatureLattice) -> Searched:
    """Evaluate all subsets; after Ctrl-C there is time for a few of them only."""
    selector, options = fit.selector, options_of(fit.selector)
    fit.budget.look()
    budget = Budget(options.max_samples, fit.budget.max_time)
    budget.start(fit.budget.seconds)
    found = Exhaustion(lattice, budget, fit.memory)
    fit.watch.names(_namer(fit.data, lattice), subsets=lattice.count_subsets())

    def look(now: Progress) -> bool:
        return fit.watch.slice(now, {now.best: float(found.best_values[0])}, over=found.reason is not None)

    run_in_slices(found, look)
    settings = Settings(
        task="leaf",
        epsilon=selector.epsilon,
        delta=selector.delta,
        bound=named_bound(options.bound),
        stopping=options.stopping,
        max_samples=options.max_samples,
        max_time=fit.budget.max_time,
    )
    return Searched.of_all(found, fit, settings, tolerance_of(selector))


def _namer(data: Data, lattice: FeatureLattice) -> Callable[[Subset], str]:
    """Return the function that says which features a subset has."""
    return lambda state: "{" + ", ".join(data.names[data.features_of(lattice.features_of(state))]) + "}"


# ---- what was found


@dataclass(frozen=True)
class Searched:
    """What a search over the subsets of a lattice found, by any algorithm."""

    fit: Fit
    lattice: FeatureLattice
    answer: Subset
    found: record.Certificate  # what is claimed, without the data
    values: dict[Subset, float]  # of each terminal leaf: the exact value, or the mean of its samples
    rave: np.ndarray  # [units, 2]: sum and number of the values of rollouts with each unit
    score: float  # exact value of the answer; without one the mean of its samples, without samples its rough value
    fold_scores: dict[Subset, list[float]] = field(default_factory=dict)  # of leaves whose value is the mean of these

    @classmethod
    def of(cls, search: Search, fit: Fit, lattice: FeatureLattice) -> Searched:
        """Return what a search that is over found."""
        state, result = search.state, search.result()
        leaf = result.leaf
        means = {one.state: one.mean for one in result.leaves if one.terminal and one.mean is not None}
        rough = leaf.mean if leaf.mean is not None else state.rough.get(result.answer)
        return cls(
            fit,
            lattice,
            result.answer,
            result.certificate,
            cast("dict[Subset, float]", state.values if state.has_exact else means),
            state.rollouts.global_rave_sums,
            float(leaf.lower if leaf.exact or rough is None else rough),
            {} if search.evaluator.batches is None else search.evaluator.batches.known(),
        )

    @classmethod
    def of_all(cls, found: Exhaustion, fit: Fit, settings: Settings, tolerance: float | None) -> Searched:
        """Return what was found by evaluating all subsets, or some before a budget ended it: a root with the best."""
        lattice = found.lattice
        values = {lattice.terminal(units): value for units, value in found.values().items()}
        states, numbers = list(values), np.array(list(values.values()))
        close = np.flatnonzero(numbers >= numbers.max() - (settings.epsilon if tolerance is None else tolerance))
        best = min(close.tolist(), key=lambda place: (len(states[place]), -numbers[place], states[place]))
        every = record.AllSubsetsClaim(evaluated=found.evaluated, least=found.least)
        gap = gap_of_subsets(numbers, best, every, every=found.complete)
        graph, leaves = star([list(state) for state in states], list(lattice.root()), numbers)
        claim = record.SearchClaim(
            **how_searched(settings, fit.seed, "random", exact=True),
            answer=best + 1,
            lower=float(numbers[best]),
            upper=float(numbers[best]),
            gap=gap,
            graph=graph,
            leaves=leaves,
        )
        outside = found.evaluated - len(states)
        cost = record.Cost(seconds=found.budget.seconds, exact_evaluations=found.evaluated, values_outside=outside)
        reason = cast("record.Reason", found.reason or "unfinished")
        certificate = record.Certificate(
            bestleaf=bestleaf.__version__, reason=reason, cost=cost, search=claim, all_subsets=every
        )
        nothing = np.zeros((len(lattice.groups), 2))
        return cls(fit, lattice, states[best], certificate, values, nothing, float(numbers[best]))

    def features_of(self, state: Subset) -> list[int]:
        """Return the features of a subset; a feature can be several columns of the lattice."""
        return self.fit.data.features_of(self.lattice.features_of(state))

    @cached_property
    def feature_scores(self) -> np.ndarray:
        """The mean value of the rollouts with each feature; without rollouts, the mean of the exact values."""
        sums, counts = self.rave.T.copy()
        if not counts.any():
            for state, value in self.values.items():
                sums[list(state[:-1])] += value
                counts[list(state[:-1])] += 1
        scores = np.full(len(self.fit.data.names), np.nan)
        for unit in range(len(self.lattice.groups)):
            scores[self.features_of((unit,))] = sums[unit] / counts[unit] if counts[unit] else np.nan
        return scores

    def evaluated(self, labels: Sequence[str | int]) -> EvaluatedSubsets:
        """Return every subset evaluated, best first, of equal ones the smaller first; with labels of features."""
        ranked = sorted(
            (-float(value), len(state) - 1, self.features_of(state)) for state, value in self.values.items()
        )
        return EvaluatedSubsets(
            EvaluatedSubset(tuple(labels[feature] for feature in features), -less, size)
            for less, size, features in ranked
        )

    def certificate(self) -> record.Certificate:
        """Return the record, with what a report also shows."""
        lattice, fit, names = self.lattice, self.fit, [str(name) for name in self.fit.data.names]
        return structs.replace(
            self.found,
            features=tuple(names[feature] for feature in self.features_of(self.answer)),
            data=fit.about(objective_of(lattice.oracle), len(fit.data.X)),
            told=self._told(names),
        )

    def _told(self, names: list[str]) -> record.Told:
        """Return what a report also shows."""
        scores, best = self.feature_scores, self.evaluated(names).by_size()
        steps = ("seconds", "samples", "gap", "score", "leaves", "compared")
        return record.Told(
            history=tuple(record.Step(**{name: note[name] for name in steps}) for note in self.fit.watch.history),
            by_size=tuple((size, one.score, tuple(map(str, one.features))) for size, one in best.items()),
            feature_scores={
                names[feature]: None if np.isnan(scores[feature]) else float(scores[feature])
                for feature in self.features_of(self.answer)
            },
            without=self._values_without(self.answer[:-1]),
            all_features=self._value_of_all(),
            training_score=self.score,
            standard_error=self._standard_error(),
            repeat=self.fit.repeat,
            notes=self.fit.notes,
        )

    def _standard_error(self) -> float | None:
        """Return the standard error of the exact value of the answer; None if there is none or it would take long."""
        oracle, columns = self.lattice.oracle, self.lattice.features_of(self.answer)
        known = self.fold_scores.get(self.answer)
        if not hasattr(oracle, "standard_error") or (known is None and oracle.value_cost > self._affordable):
            return None
        error = oracle.standard_error(columns) if known is None else oracle.standard_error(columns, known)
        return float(error) if np.isfinite(error) else None

    @property
    def _affordable(self) -> float:
        """How many distances may be computed for the report alone: about a second, less after a hurried end."""
        if self.found.reason not in ("max_time", "interrupted", "exhausted"):
            return 1e9
        return 0.0 if self.lattice.parts else min(1e9, 1.5e8 * self.found.cost.seconds)  # how long do fits take?

    def _value(self, state: Subset, cost: float) -> float | None:
        """Return the exact value of a subset; None if there is none or it would take long."""
        if state in self.values:
            return float(self.values[state])
        try:
            return float(self.lattice.exact(state)) if cost <= self._affordable else None
        except ValueError:  # an estimator that cannot be fitted to so many features
            return None

    def _value_of_all(self) -> float | None:
        """Return the exact value of all features together."""
        lattice = self.lattice
        state = lattice.terminal(tuple(sorted({*lattice.allowed, *lattice.forced})))
        return self._value(state, lattice.value_cost * (1 if lattice.parts else len(lattice.features_of(state))))

    def _values_without(self, subset: Subset) -> dict[str, float]:
        """Return the exact value of the answer without each unit that may be dropped, if it is known or cheap."""
        lattice, cost = self.lattice, len(subset) * self.lattice.value_cost
        left = {unit: lattice.without(subset, unit) for unit in subset if unit not in lattice.forced}
        values = {str(unit): self._value(lattice.terminal(rest), cost) for unit, rest in left.items() if rest}
        return {unit: value for unit, value in values.items() if value is not None}


def objective_of(oracle: Oracle) -> record.Neighbours | record.Estimator:
    """Return what gives subsets their values, for a record."""
    given: dict[str, Any] = dict(oracle.settings())
    if isinstance(oracle, EstimatorOracle):
        scoring = scorer_name(given["scoring"], oracle.score)
        given |= {"name": part_name(given["name"], (), ours=True), "scoring": scoring}
        return record.Estimator(**{name: value for name, value in given.items() if name != "kind"})
    assert isinstance(oracle, KNNOracle)
    return record.Neighbours(**given | oracle.counts())
