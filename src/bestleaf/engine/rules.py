"""Rules: which two children of a node the search tells apart next. A rule is one short compiled function.

A rule gets the node at which a choice is made, the graph and what is known. It returns ``(best, rival)``: two children
of the node; rival is -1 if there is none. Of the two, the child with the wider interval is taken, and the leaf with the
largest upper bound below it is sampled next. So a rule decides what is sampled. With ``stopping="sound"`` it does not
decide when the search is over: the stopping test does. One round in ten samples the pair of the stopping test. So a
poor rule costs samples, but the guarantee holds and the search ends.

A rule is a plain function. It may call the helpers of this module. Break ties by ``known[child].tie_break``, a random
number of each node, not by the order in which children are listed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bestleaf.checks import shown
from bestleaf.engine.compile import inlined, pasted
from bestleaf.engine.parts import Part, compiled_part, own_part

__all__ = [
    "RULES",
    "Rule",
    "children",
    "highest_lower_bound",
    "named_rule",
    "optimistic",
    "pessimistic",
    "smallest_regret",
    "strongest_rival",
]


@pasted
def children(graph, node):
    """Return the children of `node` in the current graph, in the order they were linked."""
    start = graph.nodes[node].child_start
    return graph.edges[start : start + graph.nodes[node].child_count]


@inlined
def pessimistic(child, root, graph, known):
    """Return the least that `child` can be worth to the player who moves at `root` (for the opponent: -U)."""
    return -known[child].upper if graph.nodes[root].minimizes else known[child].lower


@inlined
def optimistic(child, root, graph, known):
    """Return the most that `child` can be worth to the player who moves at `root` (for the opponent: -L)."""
    return -known[child].lower if graph.nodes[root].minimizes else known[child].upper


@inlined
def highest_lower_bound(root, graph, known):
    """Return the child of largest pessimistic value; ties: larger tie-break."""
    start = graph.nodes[root].child_start
    best, highest = graph.edges[start], -np.inf
    for edge in range(start, start + graph.nodes[root].child_count):
        child = graph.edges[edge]
        value = pessimistic(child, root, graph, known)
        if value > highest or (value == highest and known[child].tie_break > known[best].tie_break):
            best, highest = child, value
    return best


@inlined
def strongest_rival(best, root, graph, known):
    """Return the child of largest optimistic value whose representative leaf is not that of `best`, or -1.

    With two players any child but `best` may be the rival: children with the same leaf may differ in value.
    """
    nodes = graph.nodes
    shared = nodes[known[best].leaf].label
    single_player = nodes[0].adversarial == 0
    rival, highest = -1, -np.inf
    start = nodes[root].child_start
    for edge in range(start, start + nodes[root].child_count):
        child = graph.edges[edge]
        if child == best or (single_player and nodes[known[child].leaf].label == shared):
            continue
        value = optimistic(child, root, graph, known)
        if rival < 0 or value > highest or (value == highest and known[child].tie_break > known[rival].tie_break):
            rival, highest = child, value
    return rival


@inlined
def smallest_regret(root, graph, known):
    """Return the child with the smallest possible regret, and this regret; ties: larger tie-break.

    The regret of a child is the largest optimistic value of the others minus its own pessimistic value.
    """
    start = graph.nodes[root].child_start
    stop = start + graph.nodes[root].child_count
    first = second = -np.inf
    for edge in range(start, stop):
        value = optimistic(graph.edges[edge], root, graph, known)
        if value >= first:
            first, second = value, first
        elif value > second:
            second = value
    best, regret = graph.edges[start], np.inf
    for edge in range(start, stop):
        child = graph.edges[edge]
        others = second if optimistic(child, root, graph, known) == first else first
        value = others - pessimistic(child, root, graph, known)
        if value < regret or (value == regret and known[child].tie_break > known[best].tie_break):
            best, regret = child, value
    return best, regret


class Rule(Part):
    """A rule usable as ``rule=`` in every search, made from a function ``(root, graph, known) -> (best, rival)``.

    It must be a function that numba can compile: it uses numbers, arrays and the helpers of `bestleaf.engine.rules`.
    """

    def __init__(self, function: Callable) -> None:
        super().__init__(function)
        self.part = compiled_part(function, "rule")


@Rule
def smallest_gap(root, graph, known):
    """Best is the child of smallest gap, rival is the strongest leaf that it does not reach: the default.

    The sound stopping test finds this pair by itself. This function is used with the published test, which compares
    children, not leaves.
    """
    best, _ = smallest_regret(root, graph, known)
    return best, strongest_rival(best, root, graph, known)


@Rule
def lucb(root, graph, known):
    """Best has the largest lower bound, rival the largest upper bound: LUCB-exMCDS (the paper, section 2.2.1)."""
    best = highest_lower_bound(root, graph, known)
    return best, strongest_rival(best, root, graph, known)


@Rule
def ugape(root, graph, known):
    """Best has the smallest possible regret, the largest U of the others minus its own L (UGapE-MCTS)."""
    best, _ = smallest_regret(root, graph, known)
    return best, strongest_rival(best, root, graph, known)


@Rule
def lucb_mcts(root, graph, known):
    """Best is the child whose representative leaf has the largest mean (LUCB-MCTS, Kaufmann & Koolen 2017)."""
    start = graph.nodes[root].child_start
    best, highest = graph.edges[start], -np.inf
    for edge in range(start, start + graph.nodes[root].child_count):
        child = graph.edges[edge]
        leaf = known[child].leaf
        mean = known[leaf].total / known[leaf].count if known[leaf].count > 0 else 0.5
        if graph.nodes[root].minimizes:
            mean = -mean
        if mean > highest or (mean == highest and known[child].tie_break > known[best].tie_break):
            best, highest = child, mean
    return best, strongest_rival(best, root, graph, known)


RULES = {rule.name: rule for rule in (smallest_gap, lucb, ugape, lucb_mcts)}


def named_rule(given: str | Rule | Callable) -> Rule:
    """Return the rule of that name, or the user's own."""
    if isinstance(given, Rule):
        return given
    if callable(given):
        return own_part(Rule, given)
    key = str(given).lower().replace("-", "_")
    others = {"lucb_exmcds": "lucb", "lucb_mcds": "lucb", "ugape_mcts": "ugape", "ugape_mcds": "ugape"}
    found = RULES.get(others.get(key, key))
    if found is None:
        raise ValueError(f"rule must be one of {', '.join(RULES)} or a function, got {shown(given)}")
    return found
