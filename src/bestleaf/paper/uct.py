"""UCT on any problem: on trees, on graphs (UCT1, UCT2, UCT3, UCD), and with samples added to all ancestors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from inspect import Signature, signature
from math import inf
from typing import Any, NamedTuple

import numpy as np

from bestleaf.checks import function_or_none, number, one_of, shown, whole
from bestleaf.engine.compile import clock
from bestleaf.engine.graph import GrowingGraph
from bestleaf.engine.records import EVALUATE, EXACT, GROW, Workplace, enlarged
from bestleaf.paper import kernels
from bestleaf.paper.kernels import DEEP, SAMPLED, credit, descend, play
from bestleaf.problems import Problem, State
from bestleaf.search.budget import SLICE, Budget, run_in_slices
from bestleaf.search.result import Progress
from bestleaf.search.settings import Seed, checked_problem, checked_value, stream

# Depths d1, d2, d3 of UCD: how many levels below an edge its mean, the count of its parent and its count are taken.
VARIANTS = {"uct1": (0, 0, 0), "uct2": (1, 0, 0), "uct3": (inf, 0, 0), "ucd": (1, 1, 1)}
BACKUPS = {"descent": 0.0, "all": 1.0}
DEEPEST = 8  # largest finite depth, because means of finite depth are computed at every choice


@dataclass(frozen=True, kw_only=True)
class UCTSettings:
    """The keywords of `uct_search`, checked."""

    variant: str | Iterable[float] = "uct1"
    bonus: str = "ucb1"
    exploration: float = 2.0
    widening: float = 1.0
    backup: str | float = "descent"
    initial_rollouts: int = 1
    recommend: str = "visits"
    max_samples: int | None = None
    max_time: float | None = None

    def __post_init__(self) -> None:
        self.record()
        one_of("recommend", self.recommend, ("visits", "mean"))
        if self.max_samples is not None:
            whole("max_samples", self.max_samples, 1)
        if self.max_time is not None:
            number("max_time", self.max_time, "a positive number of seconds", 0.0, inf, open_ends=True)
        if self.max_samples is None and self.max_time is None:
            raise ValueError("max_samples or max_time must be given, because nothing else ends the search, got neither")

    def depths(self) -> list[int]:
        """Return the three depths of the variant."""
        given: Any = self.variant
        if isinstance(given, str):
            given = VARIANTS[one_of("variant", given, VARIANTS)]
        given = tuple(given) if isinstance(given, Iterable) else ()
        if len(given) != 3:
            raise ValueError(f"variant must be one of {', '.join(VARIANTS)} or three depths, got {shown(self.variant)}")
        found = [DEEP if depth == inf else whole("a depth of variant", depth, 0) for depth in given]
        if max(found) > DEEPEST:
            raise ValueError(f"a depth of variant must be at most {DEEPEST}, or infinite, got {max(found)}")
        if given[1] < given[2]:
            why = "a child met often by other ways would lose its bonus"
            raise ValueError(f"variant must have d2 of at least d3 ({why}), got {given}")
        return found

    def record(self) -> dict[str, float]:
        """Return the settings as fields of the kernels' `DESCENT` record."""
        mean_depth, parent_depth, count_depth = depths = self.depths()
        backup = BACKUPS[one_of("backup", self.backup, BACKUPS)] if isinstance(self.backup, str) else self.backup
        return {
            "mean_depth": mean_depth,
            "parent_depth": parent_depth,
            "count_depth": count_depth,
            "deep": DEEP in depths,
            "tuned": one_of("bonus", self.bonus, ("ucb1", "ucb1_tuned")) == "ucb1_tuned",
            "exploration": number("exploration", self.exploration, "at least 0", 0.0, 1e9),
            "widening": number("widening", self.widening, "between 0 and 1", 0.0, 1.0),
            "backup": number("backup", backup, "between 0 and 1, 'descent' or 'all'", 0.0, 1.0),
            "initial": whole("initial_rollouts", self.initial_rollouts, 1),
        }


def full_signature(search: Callable[..., object], settings: type[UCTSettings]) -> Signature:
    """Return the signature of a search, with the fields of its settings in place of ``**settings``."""
    problem, *others, _ = signature(search).parameters.values()
    return Signature([problem, *signature(settings).parameters.values(), *others])


class Arm(NamedTuple):
    """A child of the root: its state, how often it was visited, and the mean of its samples."""

    state: State
    visits: float
    mean: float


@dataclass(frozen=True, kw_only=True)
class UCTResult:
    """What UCT recommends; nothing is proved.

    Attributes
    ----------
    answer : state or None
        The recommended child of the root; None if the budget ended before a child was tried.
    path : tuple of states
        The recommended path from the root, without the root.
    value : float
        Mean of the samples of the answer, as the variant counts them.
    arms : tuple of Arm
        The children of the root that were tried.
    samples, exact_evaluations : int
        Descents, and exact values computed.
    nodes, edges : int
        Size of the graph.
    reason : str
        Why the search ended: ``"max_samples"``, ``"max_time"``, or ``"interrupted"``.
    seconds, seed : float, int or None
        How long the search took, and the seed to repeat it.
    """

    answer: State
    path: tuple[State, ...]
    value: float
    arms: tuple[Arm, ...] = field(repr=False)
    samples: int
    exact_evaluations: int
    nodes: int
    edges: int
    reason: str
    seconds: float
    seed: int | None

    def __str__(self) -> str:
        if not self.path:
            return f"Nothing recommended: {self.samples:,} samples ({self.reason}) did not get below the root."
        after = f"after {self.samples:,} samples ({self.reason}). UCT gives no guarantee."
        return f"Recommended: {self.answer!r}, mean {self.value:.4f} {after}"


class EdgeStatistics:
    """Nodes, edges and their samples, in arrays for the kernels.

    The graph knows all parents of a node from the start. Descents take an edge only after `connect` has made it.
    """

    def __init__(self, problem: Problem, fields: dict[str, float]) -> None:
        self.graph = GrowingGraph.opening(problem, with_children=False)
        self._place = Workplace(kernels.DESCENT)
        self._place.set(moment=kernels.moment.address, **fields)
        self.world = self._place.record  # what the kernels read and write
        self.crossings = np.zeros(64, kernels.CROSSING)  # by node
        self.edges = np.zeros(256, kernels.EDGE)
        self.used = 0  # edges
        self._known = 0  # nodes
        self._take_in_nodes()

    def node_of(self, state: State) -> tuple[int, bool]:
        """Return the node of a state, and whether it is new in the graph."""
        if (node := self.graph.node_of.get(state)) is not None:
            return node, False
        node, _ = self.graph.add(state)
        self._take_in_nodes()
        return node, True

    def _take_in_nodes(self) -> None:
        """Make room for the new nodes of the graph and tell the kernels where the arrays are."""
        graph, new, arrays = self.graph, slice(self._known, len(self.graph)), self._place.arrays
        if graph.cyclic:  # descents would go in circles
            raise ValueError(f"UCT needs a graph without cycles, but {shown(graph.states[-1])} leads back to itself")
        self._known = len(graph)
        self.crossings = enlarged(self.crossings, self._known)
        self.crossings[new] = 0
        for name in ("first_out", "last_out", "first_in"):
            self.crossings[name][new] = -1
        self.crossings["value"][new] = np.where(graph.nodes["kind"][new] == EXACT, kernels.UNKNOWN_VALUE, SAMPLED)
        self.crossings["children"][new] = graph.nodes["missing"][new] + graph.nodes["child_count"][new]
        nothing, room = np.zeros(0, np.int64), graph.depth + 2
        self._place.point(
            graph=graph.nodes,
            crossings=self.crossings,
            edges=self.edges,
            path=enlarged(arrays.get("path", nothing), room),
            trail=enlarged(arrays.get("trail", nothing), room),
            bucket=enlarged(arrays.get("bucket", nothing), room, -1),
            stack=enlarged(arrays.get("stack", nothing), self._known),
        )

    def connect(self, tail: int, head: int) -> None:
        """Make an edge from the node `tail` to the node `head`."""
        edge, crossing = self.used, self.crossings[tail]
        self.used += 1
        if self.used > len(self.edges):
            self.edges = enlarged(self.edges, self.used)
            self._place.point(edges=self.edges)
        entering = self.crossings["first_in"][head]
        for name, value in (("tail", tail), ("head", head), ("next_out", -1), ("next_in", entering)):
            self.edges[name][edge] = value
        if crossing["last_out"] >= 0:
            self.edges["next_out"][crossing["last_out"]] = edge
        else:
            crossing["first_out"] = edge
        crossing["last_out"] = edge
        crossing["arms"] += 1
        self.crossings["first_in"][head] = edge
        if self.world["deep"]:
            kernels.refresh_above(tail, self.world)

    def leaving(self, node: int) -> Iterator[int]:
        """Yield the edges that leave a node, in the order they were made."""
        edge = int(self.crossings["first_out"][node])
        while edge >= 0:
            yield edge
            edge = int(self.edges["next_out"][edge])

    def below(self, node: int) -> np.ndarray:
        """Return a node and all nodes that descents can reach from it."""
        found, waiting = {node}, [node]
        while waiting:
            heads = {int(self.edges["head"][edge]) for edge in self.leaving(waiting.pop())}
            waiting += heads - found
            found |= heads
        return np.fromiter(found, np.int64)

    def mean(self, edge: int) -> float:
        """Return the mean of an edge at the depth of the variant."""
        return float(kernels.judged_mean(edge, self.world))

    def arms(self) -> tuple[Arm, ...]:
        """Return the children of the root that are in the graph."""
        states, heads, counts = self.graph.states, self.edges["head"], self.edges["count"]
        return tuple(Arm(states[heads[edge]], float(counts[edge]), self.mean(edge)) for edge in self.leaving(0))

    def recommended(self, by: str) -> list[int]:
        """Return the path from the root that takes the edge of most "visits" or best "mean" at every node."""
        path = [0]
        while edges := [edge for edge in self.leaving(path[-1]) if self.edges["count"][edge] > 0]:
            sign = -1.0 if self.graph.nodes["minimizes"][path[-1]] else 1.0
            counts = self.edges["count"]
            best = max(edges, key=lambda edge: counts[edge] if by == "visits" else sign * self.mean(edge))
            path.append(int(self.edges["head"][best]))
        return path


class UCT:
    """One search: it descends to a leaf, samples it, adds the sample to the edges taken, and gives nodes more edges."""

    def __init__(self, problem: Problem, settings: UCTSettings, seed: Seed = None) -> None:
        self.problem: Any = problem  # with the methods that only some problems have
        self.settings = settings
        self.rng, self.seed = stream(seed)
        compiled = getattr(problem, "compiled_oracle", None)  # draws samples in kernels
        self.oracle: Any = None if compiled is None else compiled(self.rng)
        self.statistics = EdgeStatistics(problem, settings.record())
        self.values: dict[Any, float] = {}  # exact values so far, by state
        self.budget = Budget(settings.max_samples, settings.max_time)
        self.reason: str | None = None
        self._rounds = 32  # descents of the next slice
        self._left: dict[int, list[State]] = {}  # children without an edge, by node
        if self.oracle is not None:
            self.oracle.add(0, problem.root())

    @property
    def samples(self) -> int:
        """Descents so far, including those that ended at an exact leaf."""
        return int(self.statistics.world["samples"])

    def run(self, callback: Callable[[Progress], object] | None = None) -> None:
        """Descend until a budget is spent, Ctrl-C is pressed or the callback returns True."""
        function_or_none("callback", callback)
        self.budget.start()
        run_in_slices(self, callback)

    def slice(self) -> None:
        """Make descents for about `SLICE` seconds, the first time only a few."""
        begun, drawn = clock(), self.samples
        self._play(min(self._rounds, self.budget.samples_left(drawn)))
        pace = (self.samples - drawn) / max(clock() - begun, 1e-6)
        self._rounds = int(max(1.0, min(pace * min(SLICE, self.budget.look()), 4.0 * self._rounds)))
        if self.budget.samples_left(self.samples) <= 0:
            self.reason = "max_samples"

    def close(self) -> None:
        """Do nothing: a search by UCT ends where it stops."""

    def _play(self, rounds: int) -> None:
        """Let the kernels make some descents; do what they leave to Python."""
        world, until, last = self.statistics.world, clock() + SLICE, self.samples + rounds
        while (left := last - self.samples) > 0 and clock() < until:
            action = descend(world) if self.oracle is None else play(world, self.oracle.record, self.rng, left)
            node = int(world["node"])
            if action == GROW:
                self._grow(node)
            elif action == EVALUATE:
                self._evaluate(node)
            elif self.oracle is None:
                credit(self._sample(node), world)

    def _sample(self, node: int) -> float:
        """Return the exact value of a node, or a sample drawn in Python."""
        value, state = float(self.statistics.crossings["value"][node]), self.statistics.graph.states[node]
        return value if value >= 0 else checked_value(self.problem.sample(state, self.rng), "sample", state)

    def _grow(self, node: int) -> None:
        """Make a new edge of a node."""
        state = self.next_child(node)
        head, is_new = self.statistics.node_of(state)
        if is_new and self.oracle is not None:
            self.oracle.add(head, state)
        self.statistics.connect(node, head)

    def _evaluate(self, node: int) -> None:
        """Compute the exact value of a terminal leaf; a leaf without one is sampled."""
        state = self.statistics.graph.states[node]
        if (value := self.problem.exact(state)) is not None:
            self.values[state] = checked_value(value, "exact", state)
        self.statistics.crossings["value"][node] = self.values.get(state, SAMPLED)

    def next_child(self, node: int) -> State:
        """Return the child for a new edge of a node, here a random one."""
        if node not in self._left:
            self._left[node] = list(dict.fromkeys(self.problem.children(self.statistics.graph.states[node])))
        left = self._left[node]
        place = int(self.rng.integers(len(left)))
        left[place], left[-1] = left[-1], left[place]
        return left.pop()

    def progress(self) -> Progress:
        """Return the progress for the callback; UCT proves nothing, so the gap is 1."""
        graph = self.statistics.graph
        best = graph.states[self.statistics.recommended(self.settings.recommend)[-1]]
        leaves = int((self.statistics.crossings["arms"][: len(graph)] == 0).sum())
        return Progress(self.samples, len(self.values), len(graph) - 1, leaves, 1.0, best, self.budget.seconds, leaves)

    def result(self) -> UCTResult:
        """Return what is recommended now."""
        states, arms = self.statistics.graph.states, self.statistics.arms()
        path = tuple(states[node] for node in self.statistics.recommended(self.settings.recommend)[1:])
        answer = path[0] if path else None
        return UCTResult(
            answer=answer,
            path=path,
            value=next((arm.mean for arm in arms if arm.state == answer), 0.0),
            arms=arms,
            samples=self.samples,
            exact_evaluations=len(self.values),
            nodes=len(states),
            edges=self.statistics.used,
            reason=self.reason or "unfinished",
            seconds=self.budget.seconds,
            seed=self.seed,
        )


def uct_search(
    problem: Problem, *, seed: Seed = None, callback: Callable[[Progress], object] | None = None, **settings: Any
) -> UCTResult:
    """Search a problem by UCT and recommend a child of the root, without a guarantee.

    A state that several paths lead to is one node. For UCT on the tree, where each path has its own node, wrap the
    problem in `bestleaf.problems.Unrolled`.

    Parameters
    ----------
    problem : Problem
        What is searched; see `bestleaf.problems.Problem`. States that are not terminal are sampled, too.
    variant : {"uct1", "uct2", "uct3", "ucd"} or three depths, default="uct1"
        Depths d1, d2, d3 of UCD: how many levels below an edge its mean, the count of its parent and its own count are
        taken. "uct1" is (0, 0, 0), "uct2" (1, 0, 0), "uct3" (inf, 0, 0), "ucd" (1, 1, 1).
    bonus : {"ucb1", "ucb1_tuned"}, default="ucb1"
        sqrt(c ln p / n) for n samples of an edge and p of its parent, or the same with the variance of the samples.
    exploration : float, default=2.0
        c of the bonus.
    widening : float, default=1.0
        b: a node has at most t^b edges after t descents.
    backup : {"descent", "all"} or float, default="descent"
        Weight of a sample for ancestors that the descent did not visit: 0 ("descent"), 1 ("all") or a number between.
        With a weight above 0 the means may stay wrong for ever; see the documentation.
    initial_rollouts : int, default=1
        Samples of a node before descents go on below it.
    recommend : {"visits", "mean"}, default="visits"
        Whether the child with most visits or with the best mean is recommended.
    max_samples, max_time : default=None
        Budgets; one of them must be given.
    seed : int, Generator or None, default=None
        Seed of everything random.
    callback : callable, default=None
        Called with a `Progress` about twenty times a second; the search ends when it returns True.

    Examples
    --------
    >>> from bestleaf import problems, uct_search
    >>> found = uct_search(problems.paper_lattice(), variant="ucd", max_samples=5000, seed=0)
    >>> len(found.path)
    3
    """
    checked_problem(problem)
    if hasattr(problem, "chance"):
        raise ValueError("problem must have no chance nodes, because UCT would choose there, got one with chance")
    checked, root = UCTSettings(**settings), problem.root()
    if problem.is_terminal(root) or not list(problem.children(root)):
        raise ValueError(f"the root {shown(root)} has no children, so there is nothing to choose")
    search = UCT(problem, checked, seed)
    search.run(callback)
    return search.result()


uct_search.__signature__ = full_signature(uct_search, UCTSettings)  # type: ignore[attr-defined]
