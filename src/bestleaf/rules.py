"""Which two children to tell apart: one short function a rule, compiled into the loop.

A rule gets the node at which a choice is made, the graph and what is known, and returns
``(best, rival)``: two children of the node, rival -1 when there is none. The leaf with the largest upper bound below
the wider of the two is sampled next. So a rule decides what is sampled. It does not decide when the search is over:
the stopping test does (with ``stopping="sound"``), and one round in ten goes to the pair that the test has to tell
apart, so that a poor rule costs samples, but never the promise and never the end.

A rule is a plain function behind ``@Rule``; the helpers imported here may be called in it. Break ties by
``known[child].lot``, a random number of each node, not by the order in which children are listed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from bestleaf._compile import Part, bounded, is_ours
from bestleaf._guard import compiled_part
from bestleaf._kernels.arms import (
    children,
    highest_lower_bound,
    is_child,
    optimistic,
    pessimistic,
    smallest_regret,
    strongest_rival,
)
from bestleaf.checks import shown

__all__ = [
    "Rule",
    "children",
    "highest_lower_bound",
    "lucb",
    "lucb_mcts",
    "lucb_micro",
    "optimistic",
    "pessimistic",
    "smallest_gap",
    "smallest_regret",
    "strongest_rival",
    "ugape",
]


def only_children(function: Callable) -> Callable:
    """Return a user's rule with -1 for best whenever it names a node that is not a child of the root."""
    rule = bounded(function)

    def checked(root, graph, known):
        best, rival = rule(root, graph, known)
        if is_child(best, root, graph) and (rival == -1 or is_child(rival, root, graph)):
            return best, rival
        return -1, -1

    checked.__name__, checked.__module__ = function.__name__, function.__module__
    return checked


class Rule(Part):
    """A rule usable as ``rule=`` in every search, made from a function ``(root, graph, known) -> (best, rival)``.

    Parameters
    ----------
    function
        Reads like a numba function: numbers, arrays and the helpers of `bestleaf.rules`.
    both
        Sample best and rival in every round instead of the wider one.
    intersect
        Keep running intersections of the intervals even under a rate that does not.
    """

    def __init__(self, function: Callable, *, both: bool = False, intersect: bool = False) -> None:
        super().__init__(function)
        self.both = both
        self.intersect = intersect
        self.part = compiled_part(function if is_ours(function) else only_children(function), "rule")


@Rule
def smallest_gap(root, graph, known):
    """Best by the smallest gap to the strongest leaf it does not reach, which is the rival: the default.

    That pair comes from the sound stopping test, which has found it already. This function stands in where children
    are compared, not leaves: with two players, and with the published test.
    """
    best, _ = smallest_regret(root, graph, known)
    return best, strongest_rival(best, root, graph, known)


@Rule
def lucb(root, graph, known):
    """Best by lower bound, rival by upper bound: LUCB-exMCDS (the paper, section 2.2.1)."""
    best = highest_lower_bound(root, graph, known)
    return best, strongest_rival(best, root, graph, known)


@Rule
def ugape(root, graph, known):
    """Best by the smallest possible regret, max over others of U minus own L (UGapE-MCTS)."""
    best, _ = smallest_regret(root, graph, known)
    return best, strongest_rival(best, root, graph, known)


@Rule
def lucb_mcts(root, graph, known):
    """Best by the empirical mean of the representative leaf (LUCB-MCTS, Kaufmann & Koolen 2017)."""
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
    """As `lucb`, but both are sampled in every round and intervals are intersected (Huang et al. 2017)."""
    best = highest_lower_bound(root, graph, known)
    return best, strongest_rival(best, root, graph, known)


RULES = {rule.name: rule for rule in (smallest_gap, lucb, ugape, lucb_mcts, lucb_micro)}
ALIASES = {"lucb_exmcds": "lucb", "lucb_mcds": "lucb", "ugape_mcts": "ugape", "ugape_mcds": "ugape"}


def named_rule(given: str | Rule) -> Rule:
    """Return the rule of that name, or the user's own."""
    if isinstance(given, Rule):
        return given
    key = str(given).lower().replace("-", "_")
    found = RULES.get(ALIASES.get(key, key))
    if found is None:
        raise ValueError(f"rule must be one of {', '.join(RULES)} or a bestleaf.Rule, got {shown(given)}")
    return found
