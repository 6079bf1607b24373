"""What a search returns: the answer, and the record of what is known about it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple, cast

import numpy as np

import bestleaf
from bestleaf.engine.bounds import BOUNDS
from bestleaf.engine.graph import GrowingGraph
from bestleaf.engine.records import INNER
from bestleaf.engine.rules import RULES
from bestleaf.problems import State
from bestleaf.proof.build import plain
from bestleaf.proof.record import Certificate, ChanceNode, Cost, EndlessPlay, Graph, LocalClaim, Reason, SearchClaim
from bestleaf.proof.text import part_name
from bestleaf.search.answer import bounds_now, gap_among_leaves, known_gap_of, recommended_plan
from bestleaf.search.plans import CHANCE, LEAF, PLAYER, Moves, outcomes_of
from bestleaf.search.settings import Settings, name_of
from bestleaf.search.state import SearchState


@dataclass(frozen=True, slots=True)
class FoundLeaf:
    """A leaf of the final graph with its statistics."""

    state: State
    label: object
    terminal: bool
    exact: bool  # its exact value has been computed
    count: int
    mean: float | None  # None for a leaf never sampled
    lower: float
    upper: float
    order: int  # place in the order of creation, from 1; 0 for an exact leaf
    share: float  # its part of delta: delta / (order (order + 1)), or an equal part of a graph fixed in advance


@dataclass(frozen=True)
class Result:
    """The answer of a search, what is known about it, and what it cost.

    Attributes
    ----------
    answer : state
        The recommended child of the root (best arm) or leaf (best leaf). With chance, best leaf returns a plan, and the
        answer is its first move; where chance or the opponent moves first, it is the root.
    plan : dict or None
        The recommended plan, if the best leaf of a graph with chance was searched: the child to move to, for every
        state where the player moves and to which the plan may lead. Else None.
    states : tuple of state
        The states of the final graph, in the order in which they entered.
    node_updates, node_refreshes : int
        The leaf and its ancestors, summed over the samples; and how many of these intervals were computed again:
        updating stops where nothing changed.
    certificate : Certificate
        The record of what was found and proved; `bestleaf.verify` checks it. All numbers below are read from it.
    search : SearchClaim
        How it was searched (rule, bound, seed, ...), the final graph, and what is known of its leaves.
    lower, upper : float
        Confidence interval of the answer's value.
    gap : float
        How much better than the answer another one may be: at most `epsilon` when settled.
    known_gap, compared : float, int
        The gap among the leaves that were compared, and how many these are. A leaf that has just entered the graph may
        be worth anything; see `bestleaf.proof.build`.
    reason : str
        Why the search ended: ``"settled"``, ``"max_samples"``, ``"max_time"``, ``"interrupted"`` (Ctrl-C, or a
        callback that returned True) or ``"exhausted"`` (memory, workers or moves ran out: what is open may depend on
        what play without end is worth, which the problem leaves open); ``"unfinished"`` when `Search.result` is asked
        before the end.
    samples, exact_evaluations : int
        Samples drawn and exact values computed.
    warmup_samples : int
        Samples drawn only to decide which children enter; no interval uses them.
    growths, nodes : int
        How often the graph grew, and its number of nodes at the end.
    seconds : float
        How long the search took.
    leaves : tuple of FoundLeaf
        Every leaf of the final graph with its statistics.
    """

    answer: Any
    plan: dict[State, State] | None = field(repr=False)
    states: tuple[State, ...] = field(repr=False)
    certificate: Certificate = field(repr=False)
    node_updates: int
    node_refreshes: int

    lower = property(lambda self: self.search.lower)
    upper = property(lambda self: self.search.upper)
    gap = property(lambda self: self.search.gap)
    known_gap = property(lambda self: self.search.known_gap)
    compared = property(lambda self: self.search.compared)
    reason = property(lambda self: self.certificate.reason)
    samples = property(lambda self: self.certificate.cost.samples)
    warmup_samples = property(lambda self: self.certificate.cost.warmup_samples)
    exact_evaluations = property(lambda self: self.certificate.cost.exact_evaluations)
    growths = property(lambda self: self.certificate.cost.growths)
    seconds = property(lambda self: self.certificate.cost.seconds)
    nodes = property(lambda self: len(self.states))

    @classmethod
    def of(
        cls, state: SearchState, node: int, gap: float, seconds: float, proposal: str, local: LocalClaim | None
    ) -> Result:
        """Return the result of a search whose answer is `node`; `gap` is that of a plan."""
        world, plan, states = state.known.world, None, state.graph.states
        lower, upper = (float(bounds[node]) for bounds in bounds_now(state.graph, state.known))
        if world["plans"]:
            plan, value = recommended_plan(state)
            lower, upper = value.lower, value.upper
        gap = gap_among_leaves(node, gap, state)
        claim = SearchClaim(
            **how_searched(state.settings, state.seed, proposal, exact=state.has_exact),
            answer=node,
            lower=lower,
            upper=min(1.0, upper),
            gap=float(gap),
            graph=graph_of(state.graph, state.known.order, max(0, state.known.created)),
            leaves=state.known.list_leaves(),
            plan=None if plan is None else tuple(sorted(plan.items())),
        )
        record = Certificate(
            bestleaf=bestleaf.__version__,
            reason=cast(Reason, state.reason or "unfinished"),
            cost=_cost(state, seconds, sum(leaf.exact for leaf in claim.leaves)),
            search=claim,
            local=local,
        )
        moves = None if plan is None else {states[place]: states[child] for place, child in sorted(plan.items())}
        return cls(states[node], moves, tuple(states), record, int(world["updates"]), int(world["refreshes"]))

    @property
    def search(self) -> SearchClaim:
        """How it was searched, the final graph, and what is known of its leaves."""
        assert self.certificate.search is not None
        return self.certificate.search

    @property
    def settled(self) -> bool:
        """Whether the search has proved that the gap is at most epsilon."""
        return self.reason == "settled"

    @cached_property
    def leaves(self) -> tuple[FoundLeaf, ...]:
        """Every leaf of the final graph with its statistics."""
        states, same = self.states, attrgetter(*(one.name for one in fields(FoundLeaf)[2:]))
        labelled = ((states[one.node], one) for one in self.search.leaves)
        return tuple(FoundLeaf(at, at if one.label is None else one.label, *same(one)) for at, one in labelled)

    @property
    def leaf(self) -> FoundLeaf:
        """The leaf that is the answer; only for a best leaf."""
        return next(leaf for leaf in self.leaves if leaf.state == self.answer)

    @property
    def outcomes(self) -> dict[State, float]:
        """The leaves that the plan may end at, each with its probability; only for a plan of one player."""
        graph, plan = self.search.graph, self.search.plan
        if plan is None or graph.two_player:
            raise ValueError("outcomes are those of a plan of one player: of best_leaf in a graph with chance")
        chances = {one.node: one.probabilities for one in graph.chance or ()}

        def who(node: int) -> int:
            return LEAF if not graph.children[node] else CHANCE if node in chances else PLAYER

        moves = Moves(who, graph.children.__getitem__, chances.__getitem__, (), ())
        return {self.states[node]: share for node, share in outcomes_of(dict(plan), moves).items()}

    def summary(self) -> str:
        """Return the result in words."""
        return self.certificate.summary()

    __str__ = summary


def how_searched(settings: Settings, seed: int | None, proposal: str, *, exact: bool) -> dict[str, Any]:
    """Return how a search was run, as fields of its claim; `exact`: terminal states have values."""
    own = settings.growth
    return {
        **{name: getattr(settings, name) for name in ("task", "epsilon", "delta", "expansion")},
        "stopping": settings.stopping_name,
        "rule": part_name(settings.rule.name, RULES, ours=settings.rule in RULES.values()),
        "bound": part_name(settings.bound.name, BOUNDS, ours=settings.bound in BOUNDS.values()),
        "proposal": proposal,
        "growth": None if own is None else part_name(name_of(own), (), ours=False),
        "seed": seed,
        "proof": settings.proof(exact=exact),
    }


def graph_of(graph: GrowingGraph, orders: np.ndarray, created: int) -> Graph:
    """Return the record of a graph; `orders` are the places that its nodes had as leaves in the order of creation."""
    size, endless = len(graph), sorted(graph.endless.items())
    nodes = graph.nodes[:size]
    first, count, edges = nodes["child_start"].tolist(), nodes["child_count"].tolist(), graph.edges.tolist()
    chance = np.flatnonzero(nodes["chance"]).tolist() if graph.has_chance else ()
    inner = np.flatnonzero((nodes["child_count"] > 0) & (orders[:size] > 0))
    weights = {node: tuple(graph.weights[first[node] : first[node] + count[node]].tolist()) for node in chance}
    return Graph(
        labels=tuple(map(plain, graph.states)),
        children=tuple(tuple(edges[start : start + many]) for start, many in zip(first, count, strict=True)),
        minimizes=tuple(np.flatnonzero(nodes["minimizes"]).tolist()),
        two_player=graph.two_player,
        created=created,
        inner_orders=dict(zip(inner.tolist(), orders[inner].tolist(), strict=True)),
        chance=tuple(ChanceNode(node=node, probabilities=some) for node, some in weights.items() if some)
        if graph.has_chance
        else None,
        endless=tuple(EndlessPlay(node=node, lower=lower, upper=upper) for node, (lower, upper) in endless),
    )


def _cost(state: SearchState, seconds: float, exact: int) -> Cost:
    """Return what a search took; `exact` leaves have exact values."""
    return Cost(
        seconds=seconds,
        samples=state.samples,
        warmup_samples=state.warmup_samples,
        exact_evaluations=state.exact_evaluations,
        values_outside=len(state.values) - exact,
        growths=state.growths,
    )


class Progress(NamedTuple):
    """The progress of a running search, as ``callback`` gets it."""

    samples: int
    exact_evaluations: int
    growths: int
    leaves: int
    gap: float  # among the leaves compared
    best: State
    seconds: float
    compared: int  # how many leaves were compared

    @classmethod
    def of(cls, state: SearchState, node: int, gap: float, seconds: float) -> Progress:
        """Return the progress of a search whose answer now is `node`; `gap` is that among all leaves."""
        leaves, best = int((state.graph.kinds != INNER).sum()), state.graph.states[node]
        known, compared = known_gap_of(node, gap, state)
        return cls(state.samples, state.exact_evaluations, state.growths, leaves, known, best, seconds, compared)
