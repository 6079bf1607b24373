"""What a search returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from bestleaf.certificate import Certificate
from bestleaf.certificate.build import Structure, certificate_of
from bestleaf.certificate.claims import counted, game_claim, in_growth, plan_in_words
from bestleaf.certificate.plan import CHANCE, LEAF, PLAYER, Moves, outcomes_of
from bestleaf.certificate.schema import part_name
from bestleaf.engine.bounds import BOUNDS
from bestleaf.engine.intervals import Leaf
from bestleaf.engine.records import INNER
from bestleaf.engine.rules import RULES
from bestleaf.problems import State
from bestleaf.search.answer import known_gap_of, recommended_plan
from bestleaf.search.settings import Settings, name_of
from bestleaf.search.state import SearchState


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
    lower, upper : float
        Confidence interval of the answer's value.
    gap : float
        How much better than the answer another one may be: at most `epsilon` when settled.
    known_gap, looked_at : float, int
        The gap among the leaves that were looked at, and how many these are. A leaf that has just entered the graph may
        be worth anything; see `bestleaf.certificate.searched`.
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
    node_updates, node_refreshes : int
        The leaf and its ancestors, summed over the samples; and how many of these intervals were computed again:
        updating stops where nothing changed.
    seconds : float
        How long the search took.
    settings : dict
        How the search was run: task, epsilon, delta, rule, bound, stopping, expansion, proposal, seed, and the kind of
        proof ("rigorous", "conditional" on the user's own bound, or "none").
    leaves : tuple of Leaf
        Every leaf of the final graph with its statistics.
    """

    answer: Any
    lower: float
    upper: float
    gap: float
    known_gap: float
    looked_at: int
    reason: str
    samples: int
    exact_evaluations: int
    warmup_samples: int
    growths: int
    nodes: int
    node_updates: int
    node_refreshes: int
    seconds: float
    settings: dict[str, Any]
    leaves: tuple[Leaf, ...] = field(repr=False)
    structure: Structure = field(repr=False)
    challenges: dict[str, Any] = field(repr=False)  # what the answer was compared with, by guarantee
    plan: dict[State, State] | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        state: SearchState,
        node: int,
        gap: float,
        seconds: float,
        proposal: str,
        challenges: dict[str, Any],
    ) -> Result:
        """Return the result of a search whose answer is `node`."""
        world, known = state.known.world, state.known.known[node]
        known_gap, looked = known_gap_of(node, gap, state)
        lower, upper, plan, states = float(known["lower"]), float(known["upper"]), None, state.graph.states
        if world["plans"]:
            moves, value = recommended_plan(state)
            lower, upper = value.lower, value.upper
            plan = {states[place]: states[child] for place, child in sorted(moves.items())}
        return cls(
            answer=states[node],
            plan=plan,
            lower=max(0.0, lower),
            upper=min(1.0, upper),
            gap=float(gap),
            known_gap=float(known_gap),
            looked_at=looked,
            reason=state.reason or "unfinished",
            samples=state.samples,
            exact_evaluations=state.exact_evaluations,
            warmup_samples=state.warmup_samples,
            growths=state.growths,
            nodes=len(state.graph),
            node_updates=int(world["updates"]),
            node_refreshes=int(world["refreshes"]),
            seconds=seconds,
            settings=settings_told(state.settings, state.seed, proposal, exact=state.has_exact),
            leaves=state.known.list_leaves(),
            structure=_structure(state),
            challenges=challenges,
        )

    @property
    def settled(self) -> bool:
        """Whether the search has proved that the gap is at most epsilon."""
        return self.reason == "settled"

    @property
    def leaf(self) -> Leaf:
        """The leaf that is the answer; only for a best leaf."""
        return next(leaf for leaf in self.leaves if leaf.state == self.answer)

    @property
    def outcomes(self) -> dict[Any, float]:
        """The leaves that the plan may end at, each with its probability; only for a plan of one player."""
        if self.plan is None or self.structure.two_player:
            raise ValueError("outcomes are those of a plan of one player: of best_leaf in a graph with chance")
        states, ends = self.structure.states, {leaf.state for leaf in self.leaves}
        node_of = {state: node for node, state in enumerate(states)}
        children, chances = self.structure.children(), self.structure.chances()

        def who(node: int) -> int:
            return LEAF if states[node] in ends else CHANCE if node in chances else PLAYER

        moves = Moves(who, children.__getitem__, chances.__getitem__, (), ())
        plan = {node_of[state]: node_of[child] for state, child in self.plan.items()}
        return {states[node]: share for node, share in outcomes_of(plan, moves).items()}

    @property
    def cost(self) -> dict[str, float]:
        """What the search took, as in a certificate."""
        names = ("samples", "warmup_samples", "exact_evaluations", "growths")
        return {**{name: getattr(self, name) for name in names}, "seconds": self.seconds}

    @property
    def _of_a_game(self) -> bool:
        return self.structure.two_player and self.settings["task"] == "leaf" and self.plan is None

    @cached_property
    def certificate(self) -> Certificate:
        """What was proved and what it follows from; see `bestleaf.verify`."""
        if self._of_a_game:
            raise ValueError("a certificate of a two-player game is about the best arm, got task 'leaf'")
        return certificate_of(self, self.answer)

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """Return the result in words."""
        settings = self.settings
        cost = counted(self.samples, "sample")
        if self.exact_evaluations:
            cost += f" and {counted(self.exact_evaluations, 'exact value')}"
        grew, among = settings["expansion"] is not None, ""
        if grew:
            unfinished = sum(not leaf.terminal for leaf in self.leaves)
            among = f" among the {counted(len(self.leaves), 'candidate')} examined ({in_growth(unfinished)})"
        value = f"between {self.lower:.4f} and {self.upper:.4f}"
        if self.lower == self.upper:
            value = f"{self.lower:.4f}, exactly"
        best = f"Best {settings['task']}{among}: {self.answer!r}, value {value}."
        if self.plan is not None:
            first = repr(self.answer) if self.structure.states[0] in self.plan else None
            best = f"{plan_in_words(len(self.plan), first)}{among}, mean value {value}."
        lines = [
            best,
            f"{cost} on {counted(len(self.leaves), 'leaf', 'leaves')} in {self.seconds:.2f} s ({self.reason}; "
            f"rule {settings['rule']}, bound {settings['bound']}, stopping {settings['stopping']}).",
        ]
        if self._of_a_game:
            certain, open_gap = all(leaf.exact for leaf in self.leaves), None if self.settled else self.gap
            return "\n".join([*lines, game_claim(settings, len(self.leaves), open_gap, certain=certain)])
        return "\n".join([*lines, *self.certificate.claims])


def settings_told(settings: Settings, seed: int | None, proposal: str, *, exact: bool) -> dict[str, Any]:
    """Return how a search was run, as its result and its certificate say it; `exact`: terminal states have values."""
    own_growth = {} if settings.growth is None else {"growth": part_name(name_of(settings.growth), (), ours=False)}
    return {
        **{name: getattr(settings, name) for name in ("task", "epsilon", "delta", "expansion")},
        "stopping": settings.stopping_name,
        "rule": part_name(settings.rule.name, RULES, ours=settings.rule in RULES.values()),
        "bound": part_name(settings.bound.name, BOUNDS, ours=settings.bound in BOUNDS.values()),
        "proposal": proposal,
        **own_growth,
        "seed": seed,
        "proof": settings.proof(exact=exact),
    }


class Progress(NamedTuple):
    """The progress of a running search, as ``callback`` gets it."""

    samples: int
    exact_evaluations: int
    growths: int
    leaves: int
    gap: float  # among the leaves looked at
    best: Any
    seconds: float
    looked_at: int  # how many leaves were looked at

    @classmethod
    def of(cls, state: SearchState, node: int, gap: float, seconds: float) -> Progress:
        """Return the progress of a search whose answer now is `node`; `gap` is that among all leaves."""
        leaves, best = int((state.graph.kinds != INNER).sum()), state.graph.states[node]
        known, looked = known_gap_of(node, gap, state)
        return cls(state.samples, state.exact_evaluations, state.growths, leaves, known, best, seconds, looked)


def _structure(state: SearchState) -> Structure:
    """Return a copy of the graph for the certificate."""
    graph, size = state.graph, len(state.graph)
    nodes = graph.nodes[:size]
    return Structure(
        tuple(graph.states),
        nodes["child_start"].copy(),
        nodes["child_count"].copy(),
        graph.edges.copy(),
        nodes["minimizes"].copy(),
        graph.two_player,
        max(0, state.known.created),
        state.known.order[:size].copy(),
        graph.weights.copy() if graph.has_chance else None,
        nodes["chance"].copy() if graph.has_chance else None,
        dict(state.graph.endless),
    )
