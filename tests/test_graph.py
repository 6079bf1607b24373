"""The growing graph: links, levels, growth times; rivals against plain Python."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestleaf import Search
from bestleaf.engine.graph import GrowingGraph
from bestleaf.engine.records import NOISY
from bestleaf.problems import ScoreLattice, random_dag
from bestleaf.search.settings import next_due


def edges_of(graph):
    names = graph.states
    return {(names[n], names[c]) for n in range(len(names)) for c in graph.linked("child", n)}


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), order=st.randoms(use_true_random=False))
def test_any_order_of_growth_ends_at_the_whole_graph(seed, order):
    problem = random_dag(seed, layers=4, width=5)
    whole, grown = GrowingGraph.whole(problem), GrowingGraph.opening(problem)
    while absent := [state for node in range(len(grown)) for state in grown.relatives.absent(node)]:
        grown.add(order.choice(absent))
    assert edges_of(grown) == edges_of(whole)
    assert {s: grown.nodes["level"][grown.node_of[s]] for s in grown.states} == {
        s: whole.nodes["level"][whole.node_of[s]] for s in whole.states
    }
    for graph in (whole, grown):
        parents = {(graph.states[p], graph.states[n]) for n in range(len(graph)) for p in graph.linked("parent", n)}
        assert parents == edges_of(graph)
        assert (graph.nodes["missing"][: len(graph)] == 0).all()


@pytest.mark.parametrize("exponent", [0.05, 0.1, 0.26, 0.3, 0.5, 0.999, 1.0])
def test_growth_is_due_when_the_published_rule_says_so(exponent):
    expected = [t for t in range(5000) if int((t + 1) ** exponent) - int(t**exponent) == 1]
    found, step = [], 0
    while (step := next_due(step, exponent)) < 5000:
        found.append(step)
        step += 1
    assert found == expected
    assert len(found) == int(5000**exponent) or len(found) == int(5000**exponent) + 1


def test_tiny_exponents_never_grow_again():
    assert next_due(1, 1e-5) > 2**60
    assert next_due(0, 0) > 2**60


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), samples=st.integers(1, 300))
def test_rivals_agree_with_plain_python(seed, samples):
    from bestleaf.engine.kernels.reach import strongest_rival_of

    search = Search(random_dag(seed, layers=3, width=6), epsilon=0, delta=0.1, seed=seed, max_samples=samples)
    search.run()
    known, graph = search.state.known.known, search.state.graph

    def below(node):
        return {node}.union(*(below(int(child)) for child in graph.linked("child", node)))

    for node in range(1, len(graph)):
        outside = [n for n in range(len(graph)) if graph.kinds[n] == NOISY and n not in below(node)]
        expected = max(outside, key=lambda n: (known["upper"][n], known["tie_break"][n]), default=-1)
        assert strongest_rival_of(node, search.state.known.world) == expected


def test_huge_graphs_are_refused_with_advice(monkeypatch):
    monkeypatch.setattr("bestleaf.engine.graph.MAX_NODES", 100)
    with pytest.raises(ValueError, match="more than 100 nodes; give expansion=b"):
        GrowingGraph.whole(ScoreLattice([0.0] * 12, 6))
