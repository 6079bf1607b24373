"""The plan that a search recommends, where chance decides at some nodes and the best leaf is searched."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bestleaf.certificate.plan import CHANCE, LEAF, OPPONENT, PLAYER, UNFINISHED, Moves, PlanValue, reached, value_of
from bestleaf.engine.graph import GrowingGraph
from bestleaf.engine.intervals import Knowledge
from bestleaf.engine.records import INNER, TEMPORARY


def moves_now(graph: GrowingGraph, known: Knowledge) -> Moves:
    """Return the current graph as plans see it; intervals are cut to [0, 1]."""
    rows, nodes = known.known[: len(graph)], graph.nodes

    def who(node: int) -> int:
        kind = graph.kinds[node]
        if kind != INNER:
            return UNFINISHED if kind == TEMPORARY else LEAF
        return CHANCE if nodes["chance"][node] else OPPONENT if nodes["minimizes"][node] else PLAYER

    return Moves(
        who,
        lambda node: graph.linked("child", node).tolist(),
        lambda node: graph.chances(node) or [],
        np.maximum(rows["lower"], 0.0).tolist(),
        np.minimum(rows["upper"], 1.0).tolist(),
    )


def complete_plan(moves: Moves, move_at: Callable[[int], int]) -> dict[int, int]:
    """Return the moves of a plan at all nodes that it reaches."""
    return {node: move_at(node) for node in reached(moves, move_at) if moves.who(node) == PLAYER}


def surest_plan(graph: GrowingGraph, known: Knowledge) -> tuple[dict[int, int], PlanValue]:
    """Return the plan that takes the child of highest lower bound everywhere, and its value; ties: larger lot."""
    moves, rows = moves_now(graph, known), known.known

    def surest(node: int) -> int:
        return max(moves.children(node), key=lambda child: (rows["lower"][child], rows["lot"][child]))

    plan = complete_plan(moves, surest)
    return plan, value_of(plan, moves)


def likely_plan(graph: GrowingGraph, known: Knowledge, drawn: np.ndarray) -> tuple[dict[int, int], PlanValue]:
    """Return the plan that takes the child that is best in most of the drawn values of all nodes, and its value."""
    moves, lots = moves_now(graph, known), known.known["lot"]

    def likeliest(node: int) -> int:
        children = graph.linked("child", node)
        wins = (drawn[children] == drawn[node]).mean(axis=1)
        return int(children[np.lexsort((lots[children], wins))[-1]])

    plan = complete_plan(moves, likeliest)
    return plan, value_of(plan, moves)
