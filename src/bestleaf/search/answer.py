"""The answer of a search that stops now, and its gap: how much better another answer may be.

The function that computes them can be replaced. It gets the state of the search and the next decision, and returns
(node, gap), or the node alone. Progress, result, stages and certificate all use it. Where chance decides at some nodes
and the best leaf is searched, the answer is a plan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from operator import index
from typing import Any

import numpy as np

from bestleaf.checks import shown
from bestleaf.engine.components import end_of_play
from bestleaf.engine.graph import GrowingGraph
from bestleaf.engine.intervals import Knowledge
from bestleaf.engine.kernels.reach import list_below, strongest_rival_of
from bestleaf.engine.records import EXACT, INNER, NOISY, SOLVED, TEMPORARY, Decision
from bestleaf.problems import State
from bestleaf.proof.build import compared_leaves
from bestleaf.search import plans
from bestleaf.search.state import SearchState

SURROUNDINGS = 2.0  # the leaves beside a leaf count as much as two samples of it

Answer = Callable[[SearchState, Decision], tuple[int, float] | int]


def most_likely(state: SearchState, decision: Decision) -> tuple[int, float]:
    """Return (node, gap) of the answer; the gap is at most 1 because values are in [0, 1].

    A settled answer is the one that was proved. Before that it is the leaf or arm that is most likely best. It is
    not the one of highest lower bound, because that is often just the one that was sampled most.
    """
    task, graph, known = state.settings.task, state.graph, state.known
    if known.world["plans"]:
        plan, value = recommended_plan(state)
        return plan.get(0, 0), min(1.0, value.loss)
    published = task == "arm" and not known.world["sound"]
    if decision.action == SOLVED or published:
        node, gap = decision.best, decision.gap
        beyond = not known.intersects and known.world["sound"]  # the paper's rates reach beyond [0, 1]
        if not graph.adversarial and beyond:
            gap = gap_of(node, task, graph, known)
    elif task == "leaf":
        node = likely_leaf(graph, known)
        gap = gap_of(node, task, graph, known)
    else:
        node, gap = likely_move(graph, known)
    return node, min(1.0, gap)


def recommended_plan(state: SearchState) -> tuple[dict[int, int], plans.PlanValue]:
    """Return the plan of highest lower bound if its loss is at most epsilon, otherwise the one that is likely best."""
    graph, known = state.graph, state.known
    moves, rows = moves_now(graph, known), known.known

    def surest(node: int) -> int:
        return max(moves.children(node), key=lambda child: (rows["lower"][child], rows["tie_break"][child]))

    def followed(move_at: Callable[[int], int]) -> tuple[dict[int, int], plans.PlanValue]:
        plan = {node: move_at(node) for node in plans.reached(moves, move_at) if moves.who(node) == plans.PLAYER}
        return plan, plans.value_of(plan, moves)

    plan, value = followed(surest)
    if value.loss > state.settings.epsilon:
        drawn = _drawn_values(graph, known)
        plan, value = followed(lambda node: _likeliest(node, drawn, graph, known))
    return plan, value


@dataclass(frozen=True)
class EvaluatedLeaf:
    """Answer with an evaluated leaf; if no leaf is evaluated, with the terminal leaf of highest likely value.

    It is the smallest leaf (the one with the fewest moves) whose gap is at most epsilon. If there is no such leaf yet,
    the gap among the leaves compared counts; if that is too large as well, the leaf must only be within epsilon of the
    best evaluated one. With a `tolerance` its likely value is below the highest one by at most so much: 0 answers with
    the best leaf.
    """

    tolerance: float | None = None

    @property
    def name(self) -> str:
        """What a memory calls it."""
        within = f" within {self.tolerance:g} of the best" if self.tolerance else ""
        return "best evaluated leaf" if self.tolerance == 0 else f"smallest evaluated leaf{within}"

    def __call__(self, state: SearchState, decision: Decision) -> tuple[int, float]:
        """Return (node, gap) of the answer."""
        graph, rows = state.graph, state.known.known[: len(state.graph)]
        nodes = np.flatnonzero(graph.kinds != INNER)
        lower = np.maximum(rows["lower"], 0.0)
        exact = nodes[(graph.kinds[nodes] == EXACT) & (rows["count"][nodes] > 0)]
        terminal = nodes[graph.kinds[nodes] != TEMPORARY]
        candidates = exact if len(exact) else terminal if len(terminal) else nodes
        candidates = _strongest_first(candidates, rows)
        likely = lower[candidates] if len(exact) else _guided_values(candidates, rows, graph.states, state.rough)
        sizes = graph.nodes["level"][candidates]
        order = np.lexsort((sizes, -likely))
        candidates, sizes, likely = candidates[order], sizes[order], likely[order]
        gaps, epsilon = _gaps(candidates, nodes, state), state.settings.epsilon
        close = likely >= likely[0] - (inf if self.tolerance is None else self.tolerance)
        passing = np.flatnonzero(close & (gaps <= epsilon))
        if not len(passing):
            known = _gaps(candidates, np.flatnonzero(compared_now(state)), state)
            passing = np.flatnonzero(close & (known <= epsilon))
        if not len(passing) and len(exact):
            passing = np.flatnonzero(close & (likely >= likely[0] - epsilon))
        passing = passing if len(passing) else np.array([0])
        best = passing[np.argmin(sizes[passing])]
        return int(candidates[best]), float(gaps[best])


def _strongest_first(nodes: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return nodes in the order of their upper bounds, the largest first."""
    return nodes[np.argsort(-np.minimum(rows["upper"], 1.0)[nodes], kind="stable")]


def _gaps(candidates: np.ndarray, leaves: np.ndarray, state: SearchState) -> np.ndarray:
    """Return the gap of each candidate among some leaves, for one player."""
    rows, labels = state.known.known[: len(state.graph)], state.graph.nodes["label"]
    lower, upper = np.maximum(rows["lower"], 0.0), np.minimum(rows["upper"], 1.0)
    leaves = _strongest_first(leaves, rows)
    if not len(leaves):
        return np.ones(len(candidates))
    others = leaves[labels[leaves] != labels[leaves[0]]]
    second = upper[others[0]] if len(others) else -np.inf
    rivals = np.where(labels[candidates] == labels[leaves[0]], second, upper[leaves[0]])
    return np.where(rivals == -np.inf, 0.0, np.minimum(1.0, rivals - lower[candidates]))


def compared_now(state: SearchState) -> np.ndarray:
    """Return which nodes are leaves that were compared; see `bestleaf.proof.build`."""
    kinds, rows = state.graph.kinds, state.known.known[: len(state.graph)]
    leaves = np.flatnonzero(kinds != INNER)
    exact = (kinds[leaves] == EXACT) & (rows["count"][leaves] > 0)
    lower, upper = np.maximum(rows["lower"][leaves], 0.0), np.minimum(rows["upper"][leaves], 1.0)
    best = float(lower[kinds[leaves] != TEMPORARY].max(initial=0.0))
    settings, found = state.settings, np.zeros(len(kinds), bool)
    found[leaves] = compared_leaves(exact, upper, best, settings.epsilon, grown=not settings.fixed)
    return found


def known_gap_of(node: int, gap: float, state: SearchState) -> tuple[float, int]:
    """Return the gap of an answer among the leaves compared, and how many these are; `gap` is that among all."""
    looked, graph, known = np.flatnonzero(compared_now(state)), state.graph, state.known
    unfinished = state.settings.task == "leaf" and graph.kinds[node] == TEMPORARY
    if graph.adversarial or unfinished or node == 0:
        return gap, len(looked)
    below = known.stack[: list_below(node, known.world)]
    inside = graph.nodes["label"][below[graph.kinds[below] != INNER]]
    rivals = looked[~np.isin(graph.nodes["label"][looked], inside)]
    if not len(rivals):
        return gap, len(looked)
    upper = min(1.0, float(known.known["upper"][rivals].max()))
    return min(gap, upper - max(0.0, float(known.known["lower"][node]))), len(looked)


def gap_among_leaves(node: int, gap: float, state: SearchState) -> float:
    """Return the gap of an answer that follows from the leaves, whatever test ended the search.

    That of a plan and of a root that is not opened is `gap`.
    """
    if node == 0 or state.known.world["plans"]:
        return gap
    return min(1.0, gap_of(node, state.settings.task, state.graph, state.known))


def checked_answer(answer: Answer, state: SearchState, decision: Decision) -> tuple[int, float]:
    """Return (node, gap) of an answer function; one of the user's own may return anything.

    It may return the node alone. Once an answer is proved, a node whose gap is larger than epsilon does not replace it.
    """
    found: Any = answer(state, decision)
    if answer is most_likely or isinstance(answer, EvaluatedLeaf):
        return found
    try:
        node, gap = found if isinstance(found, tuple) else (found, 0.0)
        node = index(node)
        fine = 0 < node < len(state.graph) and -1.0 <= gap <= 1.0
    except (TypeError, ValueError):
        fine = False
    if not fine:
        pair = f"(node, gap), a node from 1 to {len(state.graph) - 1} and a gap of at most 1"
        raise ValueError(f"answer must return {pair}, or the node alone, got {shown(found)}")
    if state.settings.task == "leaf" and state.graph.kinds[node] == INNER:
        raise ValueError(f"answer must return a leaf, got node {node} with children: {shown(state.graph.states[node])}")
    if state.settings.task == "arm" and node not in state.graph.linked("child", 0):
        raise ValueError(f"answer must return a child of the root, got {shown(state.graph.states[node])}")
    gap = float(gap) if isinstance(found, tuple) else gap_among_leaves(node, 1.0, state)
    proved = max(gap, gap_among_leaves(node, gap, state))
    if decision.action == SOLVED and proved > state.settings.epsilon and state.known.world["sound"]:
        return most_likely(state, decision)
    return node, gap


def _guided_values(
    leaves: np.ndarray, rows: np.ndarray, states: list[State], guides: Mapping[State, float]
) -> np.ndarray:
    """Return the likely value of each leaf: its mean, drawn towards the value that guided growth."""
    counts = rows["count"][leaves]
    means = rows["total"][leaves] / np.maximum(counts, 1)
    middle = float(np.mean(means[counts > 0])) if counts.any() else 0.5
    guide = [guides.get(states[leaf], middle if count else 0.0) for leaf, count in zip(leaves, counts, strict=True)]
    return np.where(counts > 0, (counts * means + SURROUNDINGS * np.array(guide)) / (counts + SURROUNDINGS), guide)


def gap_of(node: int, task: str, graph: GrowingGraph, known: Knowledge) -> float:
    """Return the gap of a leaf or a move at the root as the answer; intervals are cut to [0, 1]."""
    if graph.adversarial:
        return _gap_of_move(node, graph, known)
    if graph.kinds[node] == TEMPORARY and task == "leaf":
        return 1.0  # nothing is known of its children
    rival = int(strongest_rival_of(node, known.world))
    if rival < 0 or graph.kinds[rival] == INNER:  # play that goes in circles stands for itself, but is no candidate
        return 0.0
    return min(1.0, float(known.known["upper"][rival])) - max(0.0, float(known.known["lower"][node]))


def estimates(graph: GrowingGraph, known: Knowledge) -> np.ndarray:
    """Return the likely value of every leaf (entries of inner nodes mean nothing): exact, or a shrunken mean.

    The mean is taken over the samples and two more, whose value is the mean of the leaves beside it: those with a
    parent in common. So a leaf with few samples has a value like the leaves beside it.
    """
    size, kinds = len(graph), graph.kinds
    rows = known.known[:size]
    sampled = (kinds != INNER) & (rows["count"] > 0)
    means = np.where(sampled, rows["total"] / np.maximum(rows["count"], 1), 0.0)
    parents, children = graph.arrows()
    sums = np.bincount(parents, means[children], size)
    counts = np.bincount(parents, sampled[children], size)
    beside = np.bincount(children, sums[parents] - means[children], size)
    many = np.bincount(children, counts[parents] - sampled[children], size)
    middle = means[sampled].mean() if sampled.any() else 0.5
    around = (beside + middle) / (many + 1.0)
    shrunk = (rows["total"] + SURROUNDINGS * around) / (rows["count"] + SURROUNDINGS)
    return np.where((kinds == EXACT) & sampled, means, shrunk)


def likely_leaf(graph: GrowingGraph, known: Knowledge) -> int:
    """Return the terminal leaf of highest likely value, best one with samples or a value; ties: larger tie-break."""
    kinds, rows = graph.kinds, known.known[: len(graph)]
    terminal = (kinds == NOISY) | (kinds == EXACT)
    for group in (terminal & (rows["count"] > 0), terminal, kinds != INNER):
        if group.any():
            break
    leaves, likely = np.flatnonzero(group), estimates(graph, known)
    return int(leaves[np.lexsort((rows["tie_break"][leaves], likely[leaves]))[-1]])


def likely_move(graph: GrowingGraph, known: Knowledge) -> tuple[int, float]:
    """Return the move at the root that is most likely best, and its gap.

    The values of leaves are drawn at random around their likely values, more widely the wider their intervals are. The
    move that is best in most draws is the most likely one.
    """
    if graph.kinds[0] != INNER:
        return 0, 0.0
    best = _likeliest(0, _drawn_values(graph, known), graph, known)
    return best, max(0.0, gap_of(best, "arm", graph, known))


def _likeliest(node: int, drawn: np.ndarray, graph: GrowingGraph, known: Knowledge) -> int:
    """Return the child that is best in most of the drawn values of all nodes; ties: larger tie-break."""
    children = graph.linked("child", node)
    wins = (drawn[children] == drawn[node]).mean(axis=1)
    return int(children[np.lexsort((known.known["tie_break"][children], wins))[-1]])


def _gap_of_move(move: int, graph: GrowingGraph, known: Knowledge) -> float:
    """Return how much better another move at the root may be, with an opponent or chance."""
    children = graph.linked("child", 0)
    others = children[children != move]
    if not len(others):
        return 0.0
    lower, upper = bounds_now(graph, known)
    if graph.nodes["minimizes"][0]:
        return float(upper[move] - lower[others].min())
    return float(upper[others].max() - lower[move])


def _drawn_values(graph: GrowingGraph, known: Knowledge) -> np.ndarray:
    """Return [nodes, draws] values: random for the leaves; other nodes have the value of their best child.

    Chance nodes have the mean value of their children.
    """
    size, kinds = len(graph), graph.kinds
    rows, shares = known.known[:size], known.track["share"][:size]
    draws = int(np.clip(2_000_000 // size, 32, 400))  # of the values of all nodes
    deviations = np.sqrt(2.0 * np.log(2.0 / np.where(shares > 0, shares, known.world["delta"])))
    spread = (rows["upper"].clip(0.0, 1.0) - rows["lower"].clip(0.0, 1.0)) / (2.0 * deviations)
    noise = np.random.default_rng(known.tie_seed or 0).standard_normal((size, draws))
    values = (estimates(graph, known)[:, None] + spread[:, None] * noise).clip(0.0, 1.0)
    levels = graph.nodes["level"][:size]
    for level in range(graph.depth, -1, -1):
        inner = np.flatnonzero((levels == level) & (kinds == INNER))
        components = graph.nodes["component"][inner]
        if len(inner):
            _back_up(inner[components == 0], values, graph)
        for component in np.unique(components[components > 0]):
            _back_up_component(inner[components == component], values, graph)
    return values


def _back_up_component(members: np.ndarray, values: np.ndarray, graph: GrowingGraph) -> None:
    """Set the values of nodes that reach each other: those of play that is cut off after as many moves as nodes.

    After so many moves a player who can leave for a better value has done so, and a player who cannot never will.
    """
    values[members] = end_of_play(graph, members)
    for _ in members:
        before = values[members]
        _back_up(members, values, graph)
        if (values[members] == before).all():
            break


def _back_up(inner: np.ndarray, values: np.ndarray, graph: GrowingGraph) -> None:
    """Set the values of nodes to those of their best children, for the player who moves, or to the mean of all."""
    if not len(inner):
        return
    counts = graph.nodes["child_count"][inner]
    ends = np.cumsum(counts)
    places = np.arange(ends[-1]) + np.repeat(graph.nodes["child_start"][inner] - ends + counts, counts)
    below = values[graph.edges[places]]
    least = graph.nodes["minimizes"][inner] == 1
    highest = np.maximum.reduceat(below, ends - counts)
    lowest = np.minimum.reduceat(below, ends - counts) if least.any() else highest
    values[inner] = np.where(least[:, None], lowest, highest)
    if graph.has_chance:
        means = np.add.reduceat(graph.weights[places][:, None] * below, ends - counts)
        random = graph.nodes["chance"][inner] == 1
        values[inner[random]] = means[random]


def named_answer(given: object) -> Answer:
    """Return the user's own answer function; None is ours."""
    if given is None:
        return most_likely
    if callable(given):
        return given
    raise TypeError(f"answer must be a function of the state and the decision or None, got {shown(given)}")


def moves_now(graph: GrowingGraph, known: Knowledge) -> plans.Moves:
    """Return the current graph as plans see it; intervals are cut to [0, 1]."""
    nodes, (lower, upper) = graph.nodes, bounds_now(graph, known)

    def who(node: int) -> int:
        kind = graph.kinds[node]
        if kind != INNER:
            return plans.UNFINISHED if kind == TEMPORARY else plans.LEAF
        return plans.CHANCE if nodes["chance"][node] else plans.OPPONENT if nodes["minimizes"][node] else plans.PLAYER

    def children(node: int) -> list[int]:
        return graph.linked("child", node).tolist()

    return plans.Moves(who, children, lambda node: graph.chances(node) or [], lower.tolist(), upper.tolist())


def bounds_now(graph: GrowingGraph, known: Knowledge) -> tuple[np.ndarray, np.ndarray]:
    """Return the bounds of all nodes that follow from those of the leaves, cut to [0, 1].

    Where the paper's rates reach beyond [0, 1], the mean of what is cut is not what is left of the mean.
    """
    rows = known.known[: len(graph)]
    lower, upper = np.maximum(rows["lower"], 0.0), np.minimum(rows["upper"], 1.0)
    if known.intersects or not graph.has_chance:
        return lower, upper
    both, levels = np.stack([lower, upper], axis=1), graph.nodes["level"][: len(graph)]
    for level in range(graph.depth, -1, -1):
        inner = np.flatnonzero((levels == level) & (graph.kinds == INNER))
        _back_up(inner, both, graph)
        for node in inner[graph.nodes["chance"][inner] == 1].tolist():
            missing = 1.0 - sum(graph.chances(node) or [])
            both[node, 1] += missing if missing > plans.ROUNDING else 0.0
    return both[:, 0], both[:, 1]
