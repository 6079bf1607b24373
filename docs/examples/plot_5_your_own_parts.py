"""
Your own rule, your own bound
=============================

Parts are plain functions behind a decorator; they compile into the loop.
"""

from math import log, sqrt

from bestleaf import Bound, Rule, best_arm, problems
from bestleaf.rules import children, strongest_rival


@Rule
def boldest(root, graph, known):
    """Best by upper bound."""
    best = children(graph, root)[0]
    for child in children(graph, root):
        if known[child].upper > known[best].upper:
            best = child
    return best, strongest_rival(best, root, graph, known)


@Bound
def union_over_time(mean, count, delta, row):
    """Hoeffding at every count, each with its part of the leaf's share of delta."""
    half = sqrt(log(2 * count * (count + 1) / delta) / (2 * count))
    return mean - half, mean + half


for rule in ("lucb", boldest):
    found = best_arm(problems.paper_lattice(), epsilon=0.1, delta=0.1, rule=rule, bound=union_over_time, seed=0)
    print(found.rule, found.samples, found.answer)
