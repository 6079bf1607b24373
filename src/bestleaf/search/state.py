"""All that a search knows. The loop, growth and the stages change it; nothing of it has to be saved."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from bestleaf.checks import shown
from bestleaf.engine.graph import GrowingGraph
from bestleaf.engine.intervals import Knowledge
from bestleaf.engine.kernels.backup import settle
from bestleaf.engine.parts import check_parts, guarded
from bestleaf.engine.records import EXACT, INNER, TEMPORARY, UNLIMITED, Decision
from bestleaf.problems import Problem, State
from bestleaf.search.budget import Budget
from bestleaf.search.settings import Settings, checked_value, name_of, next_due

A_VALUE = 250  # bytes of a value


class SearchState:
    """Graph, intervals, values, counters and random stream of one search.

    `rollouts` is what the problem keeps for each node: its compiled oracle, or the sums of rollouts drawn in Python.
    The budget is checked while the first graph is built. With `whole_opening` a growing graph begins with all children
    of the root.
    """

    def __init__(
        self,
        problem: Problem,
        settings: Settings,
        rng: np.random.Generator,
        seed: int | None,
        rollouts: Any,
        budget: Budget,
        *,
        whole_opening: bool,
    ) -> None:
        self.problem: Any = problem  # with the methods that only some problems have
        self.settings = settings
        self.rng, self.seed = rng, seed
        self.rollouts = rollouts
        parts = (settings.rule, settings.bound, settings.own_test)
        self._users_parts = [part for part in parts if part is not None and guarded(part)]
        self.reason: str | None = None  # why the search ended; None while it goes on
        self.step = 0  # 0 while the graph is searched, then the number of the current stage
        self.decision: Decision | None = None  # what to do next; None after a change
        self.values: dict[State, float] = {}  # values computed so far, of states in the graph or not
        self.carried = 0  # values that an earlier search of the same game has computed
        self.valueless: set[State] = set()  # terminal states that turned out to have no exact value
        self.rough: dict[State, float] = {}  # estimates, if time was over before any value was computed
        self.warmup_samples = 0  # samples that no interval uses
        self.requests = 0  # samples drawn in batches; the number of a sample gives its stream
        self.growths = 0
        self.complete: set[int] = set()  # nodes below which no child is missing
        root = problem.root()
        if problem.is_terminal(root):
            raise ValueError(f"the root {shown(root)} is terminal, so there is nothing to choose")
        budget.start()
        if settings.fixed:
            self.graph = GrowingGraph.whole(problem, budget.check_whole_graph, to_leaf=settings.task == "leaf")
        else:
            self.graph = GrowingGraph.opening(problem, with_children=whole_opening)
        budget.look()  # compiling is not counted
        if settings.task == "leaf" and self.graph.two_player and not self.graph.has_chance:
            said = "best_leaf needs a problem of one player, but here an opponent may move (maximizes)"
            raise ValueError(f"{said}; best_arm finds the best move")
        self._check_cycles()
        if len(self.graph.linked("child", 0)) == 0 and whole_opening:
            raise ValueError(f"the root {shown(root)} has no children, so there is nothing to choose")
        tie_seed = None if settings.stopping == "paper" else int(rng.integers(2**63))  # the published test has none
        self.known = Knowledge(
            self.graph,
            settings.rule,
            settings.bound,
            {**settings.for_kernels(), "opponent": hasattr(problem, "maximizes")},
            tie_seed=tie_seed,
            stopping=settings.own_test,
            finishes=settings.finishes and not getattr(problem, "settles_unfinished", False),
        )
        self.known.start(settings.fixed)

    @property
    def has_exact(self) -> bool:
        """Whether terminal states have exact values."""
        return hasattr(self.problem, "exact")

    @property
    def exact_evaluations(self) -> int:
        """How many values were computed."""
        return len(self.values) - self.carried

    @property
    def unfinished(self) -> int:
        """How many leaves are unfinished: their children have not entered, so random play below them is their value."""
        return int((self.graph.kinds == TEMPORARY).sum())

    @property
    def samples(self) -> int:
        """Noisy samples drawn so far, those of warm-ups included."""
        return int(self.known.world["samples"]) + self.warmup_samples

    def waiting_leaves(self) -> np.ndarray:
        """Return the leaves whose exact value has not been computed yet."""
        return np.flatnonzero((self.graph.kinds == EXACT) & (self.known.known["count"][: len(self.graph)] == 0))

    def best_value(self) -> float:
        """Return the best exact value in the graph."""
        rows = self.known.known[: len(self.graph)]
        return float(rows["lower"][(self.graph.kinds == EXACT) & (rows["count"] > 0)].max(initial=0.0))

    def check_parts(self) -> None:
        """Raise one sentence if the user's rule, bound or stopping test has raised an error in a kernel."""
        check_parts(*self._users_parts)

    def take_value(self, state: State, value: object) -> None:
        """Store the value of a state, also in the graph; a leaf without an exact value (None) will be sampled."""
        self.decision = None
        node = self.graph.node_of.get(state)
        if value is None:
            self.valueless.add(state)
            if node is not None and self.graph.kinds[node] == EXACT:
                self.known.admit(node)
            return
        self.values[state] = checked_value(value, "exact", state)
        self._settle(state)

    def _settle(self, state: State) -> None:
        """Store an exact value in the graph, if the state is there and its value is not."""
        node = self.graph.node_of.get(state)
        if node is not None and self.has_exact and self.known.known["count"][node] == 0:
            settle(node, self.values[state], self.known.world)
            self.decision = None

    def introduce(self, nodes: Iterable[int]) -> None:
        """Tell the rollouts about new nodes; store exact values of the nodes that are known already."""
        for node in nodes:
            state = self.graph.states[node]
            if self.rollouts is not None:
                self.rollouts.add(node, state)
            if state in self.values:
                self._settle(state)

    def add(self, states: Iterable[State], budget: Budget) -> list[int]:
        """Let states enter the graph, parents first, and update all intervals; return the nodes.

        If the budget runs out on the way, the remaining states stay out.
        """
        added: list[tuple[int, list[int]]] = []
        try:
            for state in states:
                if added and len(added) % 256 == 0 and budget.spent() is not None:
                    break
                added.append(self.graph.add(state))
            self.graph.add_owed(added)
            self._check_cycles()
        finally:  # also if the problem raises an error: the nodes in the graph need their intervals
            self.known.take_in(added)
            track = self.known.track
            for root in self.complete:  # now children may be missing below them again
                track["grow_at"][root] = self.next_growth(root, int(track["rounds"][root]))
            self.complete.clear()
            self.decision = None
        nodes = [node for node, _ in added]
        self.introduce(nodes)
        return nodes

    def _check_cycles(self) -> None:
        """Refuse a graph with cycles where the search cannot deal with them."""
        graph, settings = self.graph, self.settings
        if not graph.cyclic:
            return
        if not (graph.kinds != INNER).any():
            root = shown(graph.states[0])
            raise ValueError(f"the root {root} must lead to a terminal state, but all its moves go in circles")
        if graph.has_chance:
            raise ValueError("a problem with chance must have no cycles, but its moves lead back to a state")
        if settings.stopping != "sound":
            raise ValueError(f"stopping '{settings.stopping_name}' needs a graph without cycles; use stopping='sound'")

    def next_growth(self, root: int, step: int) -> int:
        """Return the first round from `step` on at which the graph grows below `root`."""
        own = self.settings.growth
        if own is None:
            return next_due(step, self.settings.expansion or 0.0)
        given: object = own(step, root, self)
        if given is None:
            return UNLIMITED
        if not isinstance(given, int | np.integer) or isinstance(given, bool) or given < step:
            said = f"growth {name_of(own)} must return a round from {step} on, or None for never"
            raise ValueError(f"{said}, got {shown(given)}")
        return min(int(given), UNLIMITED)

    def join(self, states: Iterable[State], budget: Budget) -> None:
        """Let states enter the graph, as far as they are not in it."""
        self.add([state for state in dict.fromkeys(states) if state not in self.graph.node_of], budget)

    def next_memory(self) -> int:
        """Return the bytes that the search needs while its largest array is copied to one of twice the size."""
        places = getattr(getattr(self.rollouts, "place", None), "arrays", {})
        held = [self.graph.nodes, self.graph.edges, *vars(self.known).values()]
        held += [places.get(name) for name in ("subsets", "sizes", "heads")]
        sizes = [array.nbytes for array in held if isinstance(array, np.ndarray)]
        sizes.append(getattr(self.rollouts, "memory", 0))
        objects = 600 * len(self.graph) + A_VALUE * len(self.values)
        return sum(sizes) + 2 * max(sizes) + objects + 250 * self.graph.relatives.remembered

    def check_fit(self) -> None:
        """Refuse settings with which the guarantee cannot be reached on this graph."""
        settings, leaves = self.settings, int(self.known.world["stochastic"])
        if settings.bound.name == "theory" and leaves and settings.delta > 0.1 * leaves:
            raise ValueError(f"bound theory needs delta of at most 0.1 times the {leaves} leaves, got {settings.delta}")
        if self.graph.has_chance:
            self._check_chance()
        if not self.graph.adversarial or settings.epsilon > 0 or self.graph.has_chance:
            return
        if not settings.fixed or self.graph.has_twin_arms():
            where = "a two-player graph that grows or in which two children of the root reach the same leaves"
            raise ValueError(f"epsilon must be positive in {where}, got 0")

    def _check_chance(self) -> None:
        """Refuse settings that do not go with chance."""
        settings = self.settings
        if settings.task == "arm" and self.graph.nodes["chance"][0]:
            root = shown(self.graph.states[0])
            needed = f"best_arm needs a root where somebody moves, but chance decides at {root}"
            raise ValueError(f"{needed}; best_leaf returns a plan")
        if settings.task == "leaf" and settings.stopping != "sound":
            got = shown(settings.stopping_name)
            raise ValueError(f"stopping must be 'sound' where best_leaf returns a plan, got {got}")
        if settings.epsilon == 0 and not (settings.fixed and self.has_exact):
            unless = "unless its leaves have exact values and it does not grow"
            raise ValueError(f"epsilon must be positive in a graph with chance, {unless}, got 0")
