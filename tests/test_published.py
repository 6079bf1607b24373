"""Growth as in the published program."""

from __future__ import annotations

from itertools import combinations

import pytest

from bestleaf import Search
from bestleaf.features import STOP, FeatureLattice
from bestleaf.features.neighbours import KNNOracle
from bestleaf.paper import load_linear
from bestleaf.paper.published import PublishedProposals

SETTINGS = {"epsilon": 0.05, "delta": 0.1, "bound": "beta2", "stopping": "paper", "expansion": 0.5, "seed": 0}


@pytest.fixture
def lattice():
    X, y = load_linear(return_X_y=True)
    return FeatureLattice(KNNOracle(X[:, :9], y, scale=False))


def test_pairs_of_an_opening_may_end_or_go_on(lattice):
    search = Search(lattice, task="leaf", proposal=PublishedProposals, **SETTINGS)
    states = search.growth.proposals.opening(0)
    singles = [state[0] for state in states if len(state) == 1]
    assert len(singles) == 7
    pairs = [state for state in states if len(state) == 2 and STOP not in state]
    assert sorted(pairs) == sorted(tuple(sorted(pair)) for pair in combinations(singles, 2))
    for pair in pairs:
        best = next(unit for unit in singles if unit not in pair)  # they stand in the order of RAVE
        assert lattice.terminal(pair) in states
        assert lattice.grown(pair, best) in states
    assert len(set(states)) == len(states)


def test_a_feature_enters_with_the_terminal_states_of_its_parents(lattice):
    search = Search(lattice, task="leaf", proposal=PublishedProposals, max_samples=3_000, **SETTINGS)
    search.finish()
    assert search.state.growths > 10
    graph = search.state.graph
    for node, state in enumerate(graph.states):
        if state and STOP not in state and len(graph.linked("child", node)):
            assert lattice.terminal(state) in graph.node_of
            assert len(graph.linked("child", node)) > 1


def test_the_limits_of_a_lattice_hold(lattice):
    small = FeatureLattice(lattice.oracle, max_features=2)
    search = Search(small, task="leaf", proposal=PublishedProposals, max_samples=2_000, **SETTINGS)
    search.finish()
    assert max(len(small.subset_of(state)) for state in search.state.graph.states) == 2
