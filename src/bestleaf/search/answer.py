"""What to answer if the search stopped now, and how much better another answer may be."""

from __future__ import annotations

from typing import Any

import numpy as np

from bestleaf._kernels.reach import strongest_rival_of
from bestleaf._records import EXACT, INNER, NOISY, SOLVED, TEMPORARY, Proposal
from bestleaf.bounds import BOUNDS
from bestleaf.certificate.build import Structure
from bestleaf.certificate.names import part_name
from bestleaf.graph import GrowingGraph
from bestleaf.intervals import Knowledge
from bestleaf.rules import RULES
from bestleaf.search.result import Progress, Result

SURROUNDINGS = 2.0  # samples that the surroundings of a leaf count for
FEWEST_DRAWS, MOST_DRAWS, MOST_DRAWN = 32, 400, 2_000_000  # of values of all nodes; numbers in all


def recommendation(proposal: Proposal, task: str, graph: GrowingGraph, known: Knowledge) -> tuple[int, float]:
    """Return (node, gap) of the answer; the gap is at most 1 because values are in [0, 1].

    Once the answer is identified it is the one that was proved. Before that it is what is most likely best: the highest
    lower bound would favour whatever was sampled most.
    """
    published = task == "arm" and not known.world["sound"]
    if proposal.action == SOLVED or published:
        node, gap = proposal.best, proposal.gap
        if not known.intersects and known.world["sound"] and not graph.adversarial:
            gap = gap_of(node, task, graph, known)  # the paper's rates reach beyond [0, 1]
    elif task == "leaf" and not graph.adversarial:
        node = likely_leaf(graph, known)
        gap = gap_of(node, task, graph, known)
    else:
        node, gap = likely_play(task, graph, known)
    return node, min(1.0, gap)


def gap_of(node: int, task: str, graph: GrowingGraph, known: Knowledge) -> float:
    """Return how much better than a node another answer may be, for one player; intervals are cut to [0, 1]."""
    if graph.kinds[node] == TEMPORARY and task == "leaf":
        return 1.0  # nothing is known of the best way on from it
    rival = int(strongest_rival_of(node, known.world))
    if rival < 0:
        return 0.0
    return min(1.0, float(known.known["upper"][rival])) - max(0.0, float(known.known["lower"][node]))


def estimates(graph: GrowingGraph, known: Knowledge) -> np.ndarray:
    """Return the likely value of every leaf (of other nodes nothing of use): exact, or its mean with two samples more.

    Their value is the mean of the leaves beside it, those with a parent in common; so few samples do not carry a leaf
    far from its surroundings.
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
    """Return the terminal leaf of highest likely value, of those looked at if there are any; ties: larger lot."""
    kinds, rows = graph.kinds, known.known[: len(graph)]
    terminal = (kinds == NOISY) | (kinds == EXACT)
    for crowd in (terminal & (rows["count"] > 0), terminal, kinds != INNER):
        if crowd.any():
            break
    leaves, likely = np.flatnonzero(crowd), estimates(graph, known)
    return int(leaves[np.lexsort((rows["lot"][leaves], likely[leaves]))[-1]])


def likely_play(task: str, graph: GrowingGraph, known: Knowledge) -> tuple[int, float]:
    """Return the first move that is most likely best, or the leaf that such moves lead to, and its gap.

    Values of leaves are drawn around their likely values, as far apart as their intervals are wide; of each draw the
    best moves follow. The gap of a leaf is the largest on the way.
    """
    drawn, node, gap = _drawn_values(graph, known), 0, 0.0
    while graph.kinds[node] == INNER:
        children = graph.linked("child", node)
        wins = (drawn[children] == drawn[node]).mean(axis=1)
        best = int(children[np.lexsort((known.known["lot"][children], wins))[-1]])
        gap = max(gap, _gap_of_move(best, node, graph, known))
        node = best
        if task == "arm":
            break
    return node, gap


def _gap_of_move(move: int, node: int, graph: GrowingGraph, known: Knowledge) -> float:
    """Return how much better another move at a node may be."""
    if not graph.adversarial:
        return gap_of(move, "arm", graph, known)
    children = graph.linked("child", node)
    others = children[children != move]
    if not len(others):
        return 0.0
    lower, upper = known.known["lower"].clip(0.0, 1.0), known.known["upper"].clip(0.0, 1.0)
    if graph.nodes["minimizes"][node]:
        return float(upper[move] - lower[others].min())
    return float(upper[others].max() - lower[move])


def _drawn_values(graph: GrowingGraph, known: Knowledge) -> np.ndarray:
    """Return [nodes, draws] values of all nodes, drawn for the leaves and backed up from there."""
    size, kinds = len(graph), graph.kinds
    rows, shares = known.known[:size], known.track["share"][:size]
    draws = int(np.clip(MOST_DRAWN // size, FEWEST_DRAWS, MOST_DRAWS))
    deviations = np.sqrt(2.0 * np.log(2.0 / np.where(shares > 0, shares, known.world["delta"])))
    spread = (rows["upper"].clip(0.0, 1.0) - rows["lower"].clip(0.0, 1.0)) / (2.0 * deviations)
    noise = np.random.default_rng(known.lots or 0).standard_normal((size, draws))
    values = (estimates(graph, known)[:, None] + spread[:, None] * noise).clip(0.0, 1.0)
    levels = graph.nodes["level"][:size]
    for level in range(graph.depth - 1, -1, -1):
        inner = np.flatnonzero((levels == level) & (kinds == INNER))
        if len(inner):
            _back_up(inner, values, graph)
    return values


def _back_up(inner: np.ndarray, values: np.ndarray, graph: GrowingGraph) -> None:
    """Set the values of nodes to the best of their children's, for whoever moves."""
    counts = graph.nodes["child_count"][inner]
    ends = np.cumsum(counts)
    places = np.arange(ends[-1]) + np.repeat(graph.nodes["child_start"][inner] - ends + counts, counts)
    below = values[graph.edges[places]]
    least = graph.nodes["minimizes"][inner] == 1
    highest = np.maximum.reduceat(below, ends - counts)
    lowest = np.minimum.reduceat(below, ends - counts) if least.any() else highest
    values[inner] = np.where(least[:, None], lowest, highest)


def exact_answer(search: Any) -> tuple[Any, float] | None:
    """Return the state a search recommends with its exact value, None if it has none."""
    node = search.graph.node_of[search.recommended]
    known = search.known.known[node]
    if search.graph.kinds[node] != EXACT or known["count"] == 0:
        return None
    return search.graph.states[node], float(known["lower"])


def progress_of(search: Any, node: int, gap: float) -> Progress:
    """Return a look at a search that would answer with a node."""
    leaves = int((search.graph.kinds != INNER).sum())
    best = search.graph.states[node]
    return Progress(search.samples, search.exact_evaluations, search.growth.growths, leaves, gap, best, search.elapsed)


def result_of(search: Any, node: int, gap: float) -> Result:
    """Return the result of a search that answers with a node, with honest bounds."""
    options, world, known = search.options, search.known.world, search.known.known[node]
    return Result(
        answer=search.graph.states[node],
        lower=max(0.0, float(known["lower"])),
        upper=min(1.0, float(known["upper"])),
        gap=float(gap),
        samples=search.samples,
        warmup_samples=search.warmup_samples,
        node_updates=int(world["updates"]),
        growths=search.growth.growths,
        reason=search.reason or "unfinished",
        leaves=search.known.list_leaves(),
        elapsed=search.elapsed,
        exact_evaluations=search.exact_evaluations,
        node_refreshes=int(world["refreshes"]),
        nodes=len(search.graph),
        task=options.task,
        epsilon=options.epsilon,
        delta=options.delta,
        rule=part_name(options.rule.name, RULES, ours=options.rule in RULES.values()),
        bound=part_name(options.bound.name, BOUNDS, ours=options.bound in BOUNDS.values()),
        stopping=options.stopping,
        expansion=options.expansion,
        seed=search.seed,
        two_player=search.graph.adversarial,
        proposal=search.proposal_name,
        proof=options.proof(exact=search.has_exact),
        structure=structure_of(search.graph, search.known),
        challenges={stage.name: stage.proof for stage in search.challenges if stage.proof},
    )


def structure_of(graph: GrowingGraph, known: Knowledge) -> Structure:
    """Return a copy of a graph as it stands."""
    size = len(graph)
    nodes = graph.nodes[:size]
    return Structure(
        tuple(graph.states),
        nodes["child_start"].copy(),
        nodes["child_count"].copy(),
        graph.edges.copy(),
        nodes["minimizes"].copy(),
        graph.adversarial,
        max(0, known.created),
        known.order[:size].copy(),
    )
