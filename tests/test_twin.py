"""The fast engine and the naive twin do the same thing step by step."""

from __future__ import annotations

import numpy as np
import pytest

from bestleaf import Search, best_arm, best_leaf
from bestleaf._records import EVALUATE, SAMPLE
from bestleaf.problems import ScoreLattice, TableProblem, Unrolled, random_dag, random_game_tree
from naive import NaiveSearch

LATTICE = ScoreLattice((-0.4, 0.1, 0.5, 0.9), 2)


def small_problems():
    yield "lattice", LATTICE
    yield "tree", Unrolled(LATTICE)
    for seed in range(4):
        yield f"dag{seed}", random_dag(seed, grid=0.1)
    for seed in range(3):
        yield f"exact{seed}", random_dag(10 + seed, exact_share=0.5, grid=0.05)
    for seed in range(3):
        yield f"game{seed}", random_dag(20 + seed, two_player=True, width=3)
    yield "gametree", random_game_tree(1, depth=2, branching=3)


PROBLEMS = dict(small_problems())


def follow(problem, steps, **keywords):
    """Run both side by side and compare samples, counts and intervals after every step."""
    twin = NaiveSearch(problem, **keywords)
    search = Search(problem, **keywords)
    search.oracle = None  # the loop over Python-defined problems draws through problem.sample, as the twin does
    for _ in range(steps):
        expected = twin.step()
        while search.reason is None:
            proposal = search._propose()
            if proposal.action == SAMPLE:
                values = [search._draw(leaf) for leaf in (proposal.first, proposal.second) if leaf >= 0]
                last = proposal.first if proposal.second < 0 else proposal.second
                taken = (search.graph.states[last], values[-1])
                search._absorb(proposal, *values)
                break
            evaluated = search.exact_evaluations
            search._handle(proposal)
            if proposal.action == EVALUATE and search.exact_evaluations > evaluated:
                leaf = search.graph.states[proposal.first]
                taken = (leaf, twin.exact[leaf])
                break
        if expected is None:
            assert search.reason == "identified"
            assert search.result().answer == twin.answer
            return
        assert taken == expected
        compare(search, twin)


def compare(search, twin):
    assert search.graph.states == list(twin.children)
    known = search.known.known
    for node, state in enumerate(search.graph.states):
        assert (known["lower"][node], known["upper"][node]) == twin.interval(state)
        assert search.graph.states[known["leaf"][node]] == twin.representative_leaf(state)
        children = [search.graph.states[child] for child in search.graph.linked("child", node)]
        assert children == twin.children[state]
        assert search.graph.nodes["level"][node] == twin.level(state)
        if twin.b:
            assert search.known.track["visits"][node] == twin.visits.get(state, 0)


@pytest.mark.parametrize("stopping", ["sound", "paper"])
@pytest.mark.parametrize("task", ["arm", "leaf"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_fixed_graphs_step_by_step(name, task, stopping):
    for bound in ("hoeffding", "beta2", "theory"):
        follow(PROBLEMS[name], 150, task=task, epsilon=0.05, delta=0.1, bound=bound, stopping=stopping, seed=3)


@pytest.mark.parametrize("stopping", ["sound", "paper"])
@pytest.mark.parametrize("task", ["arm", "leaf"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_growing_graphs_step_by_step(name, task, stopping):
    for bound, exponent in (("hoeffding", 0.5), ("beta1", 0.7)):
        follow(
            PROBLEMS[name],
            120,
            task=task,
            epsilon=0.1,
            delta=0.1,
            bound=bound,
            stopping=stopping,
            expansion=exponent,
            seed=5,
        )


@pytest.mark.parametrize("rule", ["ugape", "lucb_mcts", "lucb_micro"])
@pytest.mark.parametrize("name", ["lattice", "dag0", "exact1", "game0"])
def test_other_rules_step_by_step(name, rule):
    for stopping in ("sound", "paper"):
        follow(
            PROBLEMS[name],
            120,
            task="arm",
            epsilon=0.05,
            delta=0.1,
            bound="hoeffding",
            stopping=stopping,
            seed=1,
            rule=rule,
        )


@pytest.mark.parametrize("name", ["lattice", "tree", "dag0", "dag1", "exact0", "game0", "gametree"])
@pytest.mark.parametrize("expansion", [None, 0.6])
def test_the_compiled_loop_ends_where_the_twin_ends(name, expansion):
    keywords = {"epsilon": 0.15, "delta": 0.2, "bound": "beta2", "stopping": "sound", "seed": 7}
    for task, function in (("arm", best_arm), ("leaf", best_leaf)):
        twin = NaiveSearch(PROBLEMS[name], task=task, expansion=expansion, **keywords)
        while twin.step() is not None:
            pass
        result = function(PROBLEMS[name], expansion=expansion, **keywords)
        assert result.answer == twin.answer
        assert result.samples == twin.samples_drawn
        assert {leaf.state: leaf.count for leaf in result.leaves if not leaf.exact} == {
            leaf: len(twin.samples.get(leaf, [])) for leaf in twin.leaves() if leaf not in twin.exact
        }


def test_backup_is_idempotent():
    search = Search(Unrolled(LATTICE), epsilon=0, delta=0.1, seed=0, max_samples=500)
    search.run()
    before = search.known.known.copy()
    search.known._refresh_all()
    assert np.array_equal(before, search.known.known)


def test_graphs_grow_far_beyond_their_first_capacity():
    """One arm with a wide open crown: 300 leaves enter while the other arm's single leaf must stay a rival."""
    problem = TableProblem({0: [1, 2], 2: range(3, 303)}, {1: 0.7, **dict.fromkeys(range(2, 303), 0.4)})
    for seed in range(5):
        result = best_arm(problem, epsilon=0.05, delta=0.1, expansion=0.9, seed=seed, max_samples=50_000)
        assert result.nodes > 70
        assert next(leaf for leaf in result.leaves if leaf.state == 1).count > 0
        assert not (result.reason == "identified" and result.answer == 2)
    follow(problem, 90, task="arm", epsilon=0.1, delta=0.1, bound="hoeffding", stopping="sound", expansion=1.0, seed=0)
