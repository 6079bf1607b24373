"""
Your own rule
=============

A rule names two children of a node: the one it takes for the best, and its rival. The search then samples a leaf below
the one with the wider interval. A rule is a plain function; it is compiled. A poor rule costs
samples, never correctness, because the stopping test decides when the search is over.
"""

from bestleaf import best_arm, problems
from bestleaf.engine.rules import children, strongest_rival
from bestleaf.testing import check_ingredients


def boldest(root, graph, known):
    """Take the child with the highest upper bound for the best."""
    best = children(graph, root)[0]
    for child in children(graph, root):
        if known[child].upper > known[best].upper:
            best = child
    return best, strongest_rival(best, root, graph, known)


def least_known(root, graph, known):
    """Take the child with the widest interval for the best."""
    best = children(graph, root)[0]
    for child in children(graph, root):
        if known[child].upper - known[child].lower > known[best].upper - known[best].lower:
            best = child
    return best, strongest_rival(best, root, graph, known)


# %%
# ``check_ingredients`` runs searches with the rule on small problems whose answers are known:

check_ingredients(rule=boldest)
for rule in ("smallest_gap", "lucb", boldest, least_known):
    found = best_arm(problems.paper_lattice(), epsilon=0.1, delta=0.1, rule=rule, seed=0)
    print(f"{found.certificate.search.rule}: {found.answer} after {found.samples:,} samples ({found.reason})")
