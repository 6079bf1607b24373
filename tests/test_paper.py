"""BAI-exMCDS and BLI-MCDS in one file that reads like the paper: the package does the same."""

from __future__ import annotations

import pytest

from bestleaf import best_arm, best_leaf
from bestleaf.problems import ScoreLattice, Unrolled, random_dag
from naive.paper import BLIMCDS, BAIexMCDS, beta1, beta2

LATTICE = ScoreLattice((-0.4, 0.1, 0.5, 0.9), 2)
GRAPHS = {
    "lattice": LATTICE,
    "tree": Unrolled(LATTICE),
    **{f"dag {seed}": random_dag(seed, grid=0.1) for seed in (0, 2, 3)},
}


class Plain:
    """A problem whose samples are drawn in Python, as the naive search draws them."""

    def __init__(self, problem):
        self.root, self.children, self.is_terminal = problem.root, problem.children, problem.is_terminal
        self.sample = problem.sample
        if hasattr(problem, "label"):
            self.label = problem.label


@pytest.mark.slow
@pytest.mark.parametrize("rate", [beta1, beta2])
@pytest.mark.parametrize("exponent", [None, 0.5])
@pytest.mark.parametrize("graph", GRAPHS)
def test_the_package_does_what_the_paper_says(graph, exponent, rate):
    keywords = {"epsilon": 0.25, "delta": 0.2, "seed": 1}
    for ours, papers in ((best_arm, BAIexMCDS), (best_leaf, BLIMCDS)):
        mine = Plain(GRAPHS[graph])
        found = ours(mine, stopping="paper", bound=rate.__name__, expansion=exponent, **keywords)
        search = papers(mine, beta=rate, exponent=exponent, **keywords)
        answer = search.run()
        assert found.reason == "settled"
        assert found.answer == answer
        assert list(found.states) == list(search.children)
        drawn = {state: values for state, values in search.samples.items() if not search.children[state]}
        assert {leaf.state: leaf.count for leaf in found.leaves if leaf.count} == {
            state: len(values) for state, values in drawn.items()
        }
