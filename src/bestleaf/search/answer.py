"""What to answer if the search stopped now, and how much better another answer may be."""

from __future__ import annotations

from typing import Any

import numpy as np

from bestleaf._kernels.loop import contest_at
from bestleaf._records import EXACT, INNER, SOLVED, TEMPORARY, Proposal
from bestleaf.bounds import BOUNDS
from bestleaf.certificate.build import Structure
from bestleaf.certificate.names import part_name
from bestleaf.graph import GrowingGraph
from bestleaf.intervals import Knowledge
from bestleaf.rules import RULES
from bestleaf.search.result import Progress, Result


def recommendation(proposal: Proposal, task: str, graph: GrowingGraph, known: Knowledge) -> tuple[int, float]:
    """Return (node, gap) of the answer; the gap is at most 1 because values are in [0, 1].

    Where intervals may reach beyond, as the paper's rates do, it is computed again from what is left of them.
    """
    if task == "arm" or proposal.action == SOLVED:
        node, gap = proposal.best, proposal.gap
    elif graph.adversarial:
        node, gap = principal_variation(graph, known)
    else:
        node, gap = best_terminal_leaf(graph, known)
    if not known.intersects and known.world["sound"] and not graph.adversarial:
        gap = gap_within(node, task, graph, known)
    return node, min(1.0, gap)


def gap_within(node: int, task: str, graph: GrowingGraph, known: Knowledge) -> float:
    """Return how much better than a node another answer may be, with all intervals cut to [0, 1]."""
    if graph.kinds[node] == TEMPORARY and task == "leaf":
        return 1.0
    labels, leaves = graph.nodes["label"], np.flatnonzero(graph.kinds != INNER)
    below, waiting = {node}, [node]
    while waiting:
        fresh = set(graph.linked("child", waiting.pop()).tolist()) - below
        below |= fresh
        waiting += fresh
    mine = np.unique(labels[sorted(below)])
    others = known.known["upper"][leaves[~np.isin(labels[leaves], mine)]]
    lower = max(0.0, float(known.known["lower"][node]))
    return float(min(1.0, others.max()) - lower) if len(others) else 0.0


def principal_variation(graph: GrowingGraph, known: Knowledge) -> tuple[int, float]:
    """Follow the recommended children to a leaf; the gap is the largest on the way."""
    node, gap = 0, 0.0
    while graph.kinds[node] == INNER:
        node, level_gap = contest_at(node, known.world)
        gap = max(gap, level_gap)
    return node, gap


def best_terminal_leaf(graph: GrowingGraph, known: Knowledge) -> tuple[int, float]:
    """Return the terminal leaf of highest lower bound (any leaf if none is terminal) and its gap."""
    kinds, lower, upper, labels = graph.kinds, known.known["lower"], known.known["upper"], graph.nodes["label"]
    leaves = np.flatnonzero(kinds != INNER)
    terminal = leaves[kinds[leaves] != TEMPORARY]
    candidates = terminal if len(terminal) else leaves
    node = int(candidates[np.lexsort((upper[candidates], lower[candidates]))[-1]])
    others = leaves[labels[leaves] != labels[node]]
    if kinds[node] == TEMPORARY:
        return node, 1.0  # nothing is known of the best way on from it
    return node, float(upper[others].max() - lower[node]) if len(others) else 0.0


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
