"""
Your own rule
=============

A rule says which child of the root to look at as the best and which as its rival; the search then samples a leaf of
each. It is a plain function behind a decorator and compiles into the loop. A poor rule costs samples, never
correctness: the sound stopping test decides when the search is over.
"""

from bestleaf import Rule, best_arm, problems
from bestleaf.rules import children, strongest_rival


@Rule
def boldest(root, graph, known):
    """Best by upper bound."""
    best = children(graph, root)[0]
    for child in children(graph, root):
        if known[child].upper > known[best].upper:
            best = child
    return best, strongest_rival(best, root, graph, known)


@Rule
def least_known(root, graph, known):
    """The child of widest interval, and the strongest of the others as its rival."""
    best = children(graph, root)[0]
    for child in children(graph, root):
        if known[child].upper - known[child].lower > known[best].upper - known[best].lower:
            best = child
    return best, strongest_rival(best, root, graph, known)


for rule in ("lucb", boldest, least_known):
    found = best_arm(problems.paper_lattice(), epsilon=0.1, delta=0.1, rule=rule, seed=0)
    print(f"{found.rule}: {found.answer} after {found.samples:,} samples ({found.reason})")
