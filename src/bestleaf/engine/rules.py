"""Rules: which two children of a node the search tells apart next. A rule is one short compiled function.

A rule gets the node at which a choice is made, the graph and what is known. It returns ``(best, rival)``: two children
of the node; rival is -1 if there is none. Of the two, the child with the wider interval is taken, and the leaf with the
largest upper bound below it is sampled next. So a rule decides what is sampled. With ``stopping="sound"`` it does not
decide when the search is over: the stopping test does. One round in ten samples the pair of the stopping test. So a
poor rule costs samples, but the guarantee holds and the search ends.

A rule is a plain function. It may call the helpers of this module. Break ties by ``known[child].lot``, a random number
of each node, not by the order in which children are listed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np

from bestleaf.checks import shown
from bestleaf.engine.rule import (
    Rule,
    children,
    highest_lower_bound,
    optimistic,
    pessimistic,
    smallest_regret,
    strongest_rival,
)

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
        if mean > highest or (mean == highest and known[child].lot > known[best].lot):
            best, highest = child, mean
    return best, strongest_rival(best, root, graph, known)


@partial(Rule, both=True, intersect=True)
def lucb_micro(root, graph, known):
    """Like `lucb`, but both are sampled in every round, and intervals never widen (Huang et al. 2017)."""
    best = highest_lower_bound(root, graph, known)
    return best, strongest_rival(best, root, graph, known)


RULES = {rule.name: rule for rule in (smallest_gap, lucb, ugape, lucb_mcts, lucb_micro)}
ALIASES = {"lucb_exmcds": "lucb", "lucb_mcds": "lucb", "ugape_mcts": "ugape", "ugape_mcds": "ugape"}


@cache
def _own(function: Callable) -> Rule:
    """Return the rule of a function; it is compiled once."""
    return Rule(function)


def named_rule(given: str | Rule | Callable) -> Rule:
    """Return the rule of that name, or the user's own."""
    if isinstance(given, Rule):
        return given
    if callable(given):
        return _own(given)
    key = str(given).lower().replace("-", "_")
    found = RULES.get(ALIASES.get(key, key))
    if found is None:
        raise ValueError(f"rule must be one of {', '.join(RULES)} or a function, got {shown(given)}")
    return found
