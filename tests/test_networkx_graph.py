"""Graphs of networkx as problems."""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pytest

from bestleaf import best_arm, best_leaf, verify
from bestleaf.problems.networkx import NetworkxGraph
from bestleaf.testing import check_problem

networkx = pytest.importorskip("networkx", reason="needs networkx (pip install 'bestleaf[networkx]')")


def tree(**more):
    """Return a graph with a shared leaf; `more` are attributes of every node."""
    graph = networkx.DiGraph([("root", "a"), ("root", "b"), ("a", "x"), ("a", "y"), ("b", "y"), ("b", "z")])
    for node, value in {"x": 0.9, "y": 0.5, "z": 0.1}.items():
        graph.nodes[node]["value"] = value
    networkx.set_node_attributes(graph, more)
    return graph


def test_a_missing_library_is_one_sentence(monkeypatch):
    graph = tree()
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(ImportError, match=r"^NetworkxGraph needs networkx \(pip install 'bestleaf\[networkx\]'\)$"):
        NetworkxGraph(graph)


def test_the_best_leaf_is_found():
    problem = NetworkxGraph(tree())
    check_problem(problem, samples=20)
    result = best_leaf(problem, epsilon=0, delta=0.1, seed=0)
    assert (result.answer, result.lower) == ("x", 0.9)
    assert verify(result.certificate)
    assert pickle.loads(pickle.dumps(problem)).exact("y") == 0.5


def test_means_are_sampled_and_functions_are_called():
    problem = NetworkxGraph(tree(), kind="mean")
    check_problem(problem)
    assert not hasattr(problem, "exact")
    assert best_leaf(problem, epsilon=0.1, delta=0.1, seed=0).answer == "x"
    problem = NetworkxGraph(tree(), sample=lambda node, rng: float(rng.random() < (0.8 if node == "z" else 0.2)))
    check_problem(problem)
    assert best_leaf(problem, epsilon=0.1, delta=0.1, seed=0).answer == "z"
    assert best_arm(problem, epsilon=0.1, delta=0.1, seed=0, expansion=0.5).answer == "b"


def test_an_opponent_moves():
    problem = NetworkxGraph(tree(b={"turn": True}, a={"turn": True}), opponent="turn")
    assert best_arm(problem, epsilon=0.1, delta=0.1, seed=0).answer == "a"


def test_chance_moves():
    graph = tree()
    for leaf, share in {"x": 0.25, "y": 0.75}.items():
        graph.edges["a", leaf]["p"] = share
    problem = NetworkxGraph(graph, probability="p")
    assert problem.chance("root") is None
    assert problem.chance("a") == [0.25, 0.75]
    rng = np.random.default_rng(0)
    drawn = [problem.sample("a", rng) for _ in range(2000)]
    assert np.mean(drawn) == pytest.approx(0.6, abs=4 * np.std(drawn) / np.sqrt(2000))
    assert best_arm(problem, epsilon=0, delta=0.1, seed=0).answer == "a"  # 0.6 beside 0.5
    graph.edges["b", "z"]["p"] = 1.0
    with pytest.raises(ValueError, match="p must be on all edges that leave a node, or on none, got some at 'b'"):
        best_arm(NetworkxGraph(graph, probability="p"), epsilon=0, delta=0.1, seed=0)


def test_a_root_is_found_or_given():
    graph = tree()
    assert NetworkxGraph(graph).root() == "root"
    assert NetworkxGraph(graph, "b").root() == "b"
    graph.add_edge("other", "x")
    with pytest.raises(ValueError, match="root must be given, because 2 nodes have no edge that enters, got None"):
        NetworkxGraph(graph)
    with pytest.raises(ValueError, match="root must be a node of the graph, got 'nowhere'"):
        NetworkxGraph(graph, "nowhere")


def test_graphs_that_do_not_fit_are_refused():
    with pytest.raises(TypeError, match=r"\(networkx.DiGraph\), got Graph$"):
        NetworkxGraph(networkx.Graph([(0, 1)]))
    with pytest.raises(TypeError, match="without parallel edges"):
        NetworkxGraph(networkx.MultiDiGraph([(0, 1)]))
    with pytest.raises(ValueError, match=r"leaf must have a number in \[0, 1\] as its attribute value, got 3 at 'z'"):
        NetworkxGraph(tree(z={"value": 3}))
    with pytest.raises(ValueError, match="as its attribute score, got None at 'x'"):
        NetworkxGraph(tree(), value="score")
    with pytest.raises(ValueError, match="kind must be one of exact, mean, got 'noisy'"):
        NetworkxGraph(tree(), kind="noisy")
    with pytest.raises(TypeError, match="sample must be a function or None, got 3"):
        NetworkxGraph(tree(), sample=3)


def test_a_walk_that_never_ends_is_one_sentence():
    graph = networkx.DiGraph([("root", "a"), ("a", "b"), ("b", "a"), ("root", "x")])
    graph.nodes["x"]["value"] = 0.5
    problem = NetworkxGraph(graph)
    with pytest.raises(ValueError, match=r"a random walk must reach a leaf, got 10,000 moves, the last to '[ab]'"):
        problem.sample("a", np.random.default_rng(0))


def test_a_memory_knows_the_graph(tmp_path):
    settings = {"epsilon": 0.1, "delta": 0.1, "seed": 0, "memory": tmp_path / "run.db"}
    first = best_leaf(NetworkxGraph(tree(), kind="mean"), **settings)
    again = best_leaf(NetworkxGraph(tree(), kind="mean"), **settings)
    assert (first.answer, first.samples) == (again.answer, again.samples)
    other = best_leaf(NetworkxGraph(tree(x={"value": 0.3}), kind="mean"), **settings)
    assert other.answer != first.answer


def test_cycles_of_one_player():
    graph = tree()
    graph.add_edges_from([("a", "root"), ("b", "a"), ("y", "b")])
    result = best_leaf(NetworkxGraph(graph, "root"), epsilon=0, delta=0.1, seed=0)
    assert (result.answer, result.lower) == ("x", 0.9)
    assert verify(result.certificate)


def test_endless_play_is_worth_what_is_said():
    """The opponent moves at "b". It can go back to "a", where the first player can only come again or take 0.2."""
    graph = networkx.DiGraph([("root", "a"), ("root", "y"), ("a", "b"), ("b", "a"), ("a", "x"), ("b", "z")])
    networkx.set_node_attributes(graph, {"x": 0.2, "y": 0.3, "z": 0.9}, "value")
    graph.nodes["b"]["turn"] = True
    for endless, best in ((0.25, "y"), (0.5, "a")):
        problem = NetworkxGraph(graph, "root", opponent="turn", endless=endless)
        assert best_arm(problem, epsilon=0.01, delta=0.1, seed=0).answer == best
    with pytest.raises(ValueError, match="endless must be between 0 and 1, or None, got 2"):
        NetworkxGraph(graph, "root", opponent="turn", endless=2)
    with pytest.raises(ValueError, match=r"endless needs an opponent, .*, got 0\.5"):
        NetworkxGraph(graph, "root", endless=0.5)
