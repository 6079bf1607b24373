"""Plans: a move wherever the player moves and chance or an opponent may lead; their value, and what they may lose."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

ROUNDING = 1e-9  # probabilities that sum to 1 up to this are complete
PLAYER, OPPONENT, CHANCE, LEAF, UNFINISHED = range(5)  # who moves at a node; an unfinished leaf has more below it


class Moves(NamedTuple):
    """A graph as plans see it."""

    who: Callable[[int], int]  # who moves at a node
    children: Callable[[int], Sequence[int]]
    chances: Callable[[int], Sequence[float]]  # of a chance node: the probability of each child
    lower: Sequence[float]  # of all nodes
    upper: Sequence[float]


class PlanValue(NamedTuple):
    """What is known of the value of a plan from a node on."""

    lower: float
    upper: float
    loss: float  # how much better another plan may be


def reached(moves: Moves, move_at: Callable[[int], int]) -> list[int]:
    """Return the nodes that a plan reaches from the root, every node after all nodes reached from it."""
    order: list[int] = []
    met, waiting = set[int](), [(0, False)]
    while waiting:
        node, done = waiting.pop()
        if done:
            order.append(node)
        if node in met:
            continue
        met.add(node)
        waiting.append((node, True))
        who = moves.who(node)
        below = () if who in (LEAF, UNFINISHED) else (move_at(node),) if who == PLAYER else moves.children(node)
        waiting += [(child, False) for child in below if child not in met]
    return order


def value_of(plan: Mapping[int, int], moves: Moves) -> PlanValue:
    """Return what is known of the value of a plan, and how much better another plan may be.

    The loss of a leaf is 0, that of an unfinished leaf 1. At a chance node it is the mean loss of the children. Where
    the player moves, it is the loss from the child of the plan on or, if that is more, the largest upper bound of the
    other children minus the lower bound of the plan. Where the opponent moves to a child c, it is at most the loss from
    c on, and at most the upper bound of the node minus the lower bound of the plan from c on.
    """
    known: dict[int, PlanValue] = {}
    for node in reached(moves, plan.__getitem__):
        known[node] = _value_at(node, plan, moves, known)
    return known[0]


def _value_at(node: int, plan: Mapping[int, int], moves: Moves, known: dict[int, PlanValue]) -> PlanValue:
    """Return the value of a plan from a node on; the nodes that it reaches from there are known."""
    who = moves.who(node)
    if who in (LEAF, UNFINISHED):
        return PlanValue(moves.lower[node], moves.upper[node], float(who == UNFINISHED))
    if who == PLAYER:
        taken = known[plan[node]]
        others = [moves.upper[child] - taken.lower for child in moves.children(node) if child != plan[node]]
        return PlanValue(taken.lower, taken.upper, max([taken.loss, *others]))
    below = [known[child] for child in moves.children(node)]
    if who == OPPONENT:
        loss = max(min(one.loss, moves.upper[node] - one.lower) for one in below)
        return PlanValue(min(one.lower for one in below), min(one.upper for one in below), max(0.0, loss))
    lower = upper = loss = total = 0.0
    for weight, one in zip(moves.chances(node), below, strict=True):
        lower += weight * one.lower
        upper += weight * one.upper
        loss += weight * one.loss
        total += weight
    rest = max(0.0, 1.0 - total) if total < 1.0 - ROUNDING else 0.0  # of children that are not in the graph
    return PlanValue(lower, upper + rest, loss + rest)


def outcomes_of(plan: Mapping[int, int], moves: Moves) -> dict[int, float]:
    """Return the leaves that a plan of one player may end at, each with its probability."""
    share = dict.fromkeys(reached(moves, plan.__getitem__), 0.0)
    share[0] = 1.0
    for node in reversed(list(share)):  # every node before all nodes reached from it
        who = moves.who(node)
        if who == PLAYER:
            share[plan[node]] += share[node]
        elif who == CHANCE:
            for weight, child in zip(moves.chances(node), moves.children(node), strict=True):
                share[child] += weight * share[node]
    return {node: one for node, one in share.items() if moves.who(node) in (LEAF, UNFINISHED)}
