"""The fast engine and the naive twin do the same thing step by step."""

from __future__ import annotations

import numpy as np
import pytest

from bestleaf import Search, best_arm, best_leaf
from bestleaf.engine.records import EVALUATE, SAMPLE, SOLVED
from bestleaf.features import FeatureLattice
from bestleaf.features.neighbours import KNNOracle
from bestleaf.problems import ScoreLattice, TableProblem, Unrolled, random_dag, random_game_tree
from bestleaf.search.loop import act
from naive import NaiveBatches, NaiveChance, NaiveCycles, NaiveLattice, NaiveLookahead, NaiveSearch
from toys import random_cyclic_graph

pytestmark = pytest.mark.slow

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
TASKS = [  # a best leaf is for one player
    (name, task)
    for name, problem in PROBLEMS.items()
    for task in ("arm", "leaf")
    if task == "arm" or not hasattr(problem, "maximizes")
]


def follow(problem, steps, *, twin_class=NaiveSearch, **keywords):
    """Run both side by side and compare samples, counts and intervals after every step."""
    twin = (NaiveChance if hasattr(problem, "chance") else twin_class)(problem, **keywords)
    search = Search(problem, **keywords)
    # the loop over Python-defined problems draws through problem.sample, as the twin does
    search.evaluator.compiled = None
    for _ in range(steps):
        expected = twin.step()
        while search.state.reason is None:
            proposal = search.evaluator.propose()
            if proposal.action == SAMPLE:
                taken = (search.state.graph.states[proposal.leaf], search.evaluator.draw(proposal.leaf))
                search.evaluator.absorb(proposal, taken[1])
                break
            evaluated = search.state.exact_evaluations
            act(proposal, search.state, search.evaluator, search.growth)
            if proposal.action == SOLVED:
                search.state.reason = "settled"
            if proposal.action == EVALUATE and search.state.exact_evaluations > evaluated:
                leaf = search.state.graph.states[proposal.leaf]
                taken = (leaf, twin.exact[leaf])
                break
        if expected is None:
            assert search.state.reason == ("exhausted" if twin.stuck else "settled")
            assert twin.stuck or search.result().answer == twin.answer
            assert search.result().plan == getattr(twin, "plan", None)
            return
        assert taken == expected
        compare(search, twin)


def compare(search, twin):
    assert search.state.graph.states == list(twin.children)
    known = search.state.known.known
    for node, state in enumerate(search.state.graph.states):
        assert (known["lower"][node], known["upper"][node]) == twin.interval(state)
        assert search.state.graph.states[known["leaf"][node]] == twin.representative_leaf(state)
        children = [search.state.graph.states[child] for child in search.state.graph.linked("child", node)]
        assert children == twin.children[state]
        assert search.state.graph.nodes["level"][node] == twin.level(state)
        if twin.b:
            assert search.state.known.track["visits"][node] == twin.visits.get(state, 0)


@pytest.mark.parametrize("stopping", ["sound", "paper"])
@pytest.mark.parametrize(("name", "task"), TASKS)
def test_fixed_graphs_step_by_step(name, task, stopping):
    for bound in ("hoeffding", "beta2", "theory"):
        follow(PROBLEMS[name], 150, task=task, epsilon=0.05, delta=0.1, bound=bound, stopping=stopping, seed=3)


@pytest.mark.parametrize("stopping", ["sound", "paper"])
@pytest.mark.parametrize(("name", "task"), TASKS)
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


@pytest.mark.parametrize("rule", ["ugape", "lucb_mcts"])
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


@pytest.mark.parametrize("expansion", [None, 0.7])
@pytest.mark.parametrize(
    ("task", "two_player", "endless"),
    [("arm", False, None), ("leaf", False, None), ("arm", True, 0.5), ("arm", True, None), ("arm", True, (0.3, 0.7))],
)
def test_graphs_with_cycles_step_by_step(task, two_player, endless, expansion):
    keywords = {"task": task, "epsilon": 0.05, "delta": 0.1, "bound": "hoeffding", "stopping": "sound", "seed": 3}
    for seed in (1, 3, 12, 34):
        problem = random_cyclic_graph(
            seed, inner=5, leaves=4, two_player=two_player, endless=endless, exact_share=0.4 * (seed % 2), grid=0.1
        )
        follow(problem, 20, twin_class=NaiveCycles, expansion=expansion, **keywords)


@pytest.mark.parametrize("name", ["lattice", "tree", "dag0", "dag1", "exact0", "game0", "gametree"])
@pytest.mark.parametrize("expansion", [None, 0.6])
def test_the_compiled_loop_ends_where_the_twin_ends(name, expansion):
    keywords = {"epsilon": 0.15, "delta": 0.2, "bound": "beta2", "stopping": "sound", "seed": 7}
    for task, function in (("arm", best_arm), ("leaf", best_leaf)):
        if (name, task) not in TASKS:
            continue
        twin = NaiveSearch(PROBLEMS[name], task=task, expansion=expansion, **keywords)
        while twin.step() is not None:
            pass
        result = function(PROBLEMS[name], expansion=expansion, **keywords)
        assert result.answer == twin.answer
        assert result.samples == twin.samples_drawn
        assert {leaf.state: leaf.count for leaf in result.leaves if not leaf.exact} == {
            leaf: len(twin.samples.get(leaf, [])) for leaf in twin.leaves() if leaf not in twin.exact
        }


CHANCE = {
    **{f"chance{seed}": random_dag(seed, grid=0.1, width=3, chance_share=0.6) for seed in (30, 32)},
    "exact": random_dag(40, exact_share=0.5, grid=0.05, width=3, chance_share=0.6),
    **{f"game{seed}": random_dag(seed, two_player=True, layers=4, width=3, chance_share=0.4) for seed in (51, 52)},
    "twice": TableProblem(  # children listed twice, one that never comes, a chance node below another
        {0: ["a", "b", "c"], "a": [1, 1, "b", 3], "b": ["c", 4], "c": [2, 4]},
        {1: 0.8, 2: 0.3, 3: 0.9, 4: 0.5},
        chance={"a": [0.25, 0.25, 0.5, 0.0], "b": [0.5, 0.5]},
    ),
}


@pytest.mark.parametrize("expansion", [None, 0.6])
@pytest.mark.parametrize("task", ["arm", "leaf"])
@pytest.mark.parametrize("name", CHANCE)
def test_chance_step_by_step(name, task, expansion):
    keywords = {"task": task, "epsilon": 0.1, "delta": 0.1, "seed": 3}
    for bound, rule in (("hoeffding", None), ("beta2", "lucb"), ("hoeffding", "ugape")):
        follow(CHANCE[name], 80, **keywords, bound=bound, rule=rule, stopping="sound", expansion=expansion)
    if task == "arm":
        follow(CHANCE[name], 80, **keywords, bound="beta2", stopping="paper", expansion=expansion)


@pytest.mark.parametrize("expansion", [None, 0.6])
@pytest.mark.parametrize("name", ["chance30", "exact", "game52", "twice"])
def test_compiled_searches_with_chance_end_where_the_twin_ends(name, expansion):
    keywords = {"epsilon": 0.4, "delta": 0.3, "bound": "beta2", "stopping": "sound", "seed": 7, "expansion": expansion}
    for task, function in (("arm", best_arm), ("leaf", best_leaf)):
        twin = NaiveChance(CHANCE[name], task=task, **keywords)
        while twin.step() is not None:
            pass
        result = function(CHANCE[name], **keywords)
        assert (result.answer, result.samples) == (twin.answer, twin.samples_drawn)
        assert result.plan == getattr(twin, "plan", None)


def test_graphs_grow_far_beyond_their_first_capacity():
    """One arm with a wide open crown: 300 leaves enter while the other arm's single leaf must stay a rival."""
    problem = TableProblem({0: [1, 2], 2: range(3, 303)}, {1: 0.7, **dict.fromkeys(range(2, 303), 0.4)})
    for seed in range(5):
        result = best_arm(problem, epsilon=0.05, delta=0.1, expansion=0.9, seed=seed, max_samples=50_000)
        assert result.nodes > 70
        assert next(leaf for leaf in result.leaves if leaf.state == 1).count > 0
        assert not (result.reason == "settled" and result.answer == 2)
    follow(problem, 90, task="arm", epsilon=0.1, delta=0.1, bound="hoeffding", stopping="sound", expansion=1.0, seed=0)


def follow_batches(problem, sizes, *, batch_size=6, most=60, **keywords):
    """Ask both for batches of several sizes; compare the leaves asked for, and all that is known after each batch."""
    keywords = {"epsilon": 0.1, "delta": 0.1, "bound": "hoeffding", "stopping": "sound", "seed": 2, **keywords}
    twin = NaiveBatches(problem, batch_size=batch_size, **keywords)
    search = Search(problem, batch_size=batch_size, **keywords)
    for number in range(most):
        size = sizes[number % len(sizes)]
        requests, leaves = search.ask_batch(size), twin.ask(size)
        assert [one.state for one in requests] == leaves
        if not requests:
            assert search.result().answer == twin.answer
            return
        values = twin.draw(leaves)
        assert values == [problem.sample(one.state, np.random.default_rng(one.seed)) for one in requests]
        search.tell_batch(values)
        twin.tell(leaves, values)
        compare(search, twin)


@pytest.mark.parametrize("expansion", [None, 0.6])
@pytest.mark.parametrize(("name", "task"), TASKS)
def test_batches_batch_by_batch(name, task, expansion):
    follow_batches(PROBLEMS[name], (6,), task=task, expansion=expansion)


@pytest.mark.parametrize("name", ["lattice", "dag1", "exact0"])
def test_batches_of_many_sizes_with_other_bounds_and_rules(name):
    for more in ({"bound": "beta2"}, {"bound": "theory"}, {"rule": "ugape"}):
        follow_batches(PROBLEMS[name], (1, 9, 4), task="leaf", expansion=None, **more)
    follow_batches(PROBLEMS[name], (5, 2), task="arm", expansion=0.7, bound="beta1", stopping="paper")


@pytest.mark.parametrize("name", ["lattice", "dag0", "exact1"])
def test_a_search_in_batches_ends_where_the_twin_ends(name):
    keywords = {"epsilon": 0.2, "delta": 0.2, "bound": "beta2", "stopping": "sound", "seed": 7, "batch_size": 8}
    twin = NaiveBatches(PROBLEMS[name], task="leaf", **keywords)
    while leaves := twin.ask():
        twin.tell(leaves, twin.draw(leaves))
    result = best_leaf(PROBLEMS[name], **keywords)
    assert (result.answer, result.samples) == (twin.answer, twin.samples_drawn)
    assert result.exact_evaluations == len(twin.exact)


def whole_numbers(seed, rows, columns):
    """Return a table with many equal distances and two features that matter, so that several choices are opened."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 9, (rows, columns)).astype(np.float32)
    return X, (X[:, 0] + X[:, 1] + 3 * rng.normal(size=rows) > 8).astype(int)


@pytest.mark.parametrize(
    ("seed", "columns", "stopping", "bound", "limit", "epsilon", "expansion"),
    [
        (0, 8, "sound", "beta2", 2, 0.3, 0.6),
        (1, 8, "sound", "beta2", 2, 0.3, 0.6),
        (1, 9, "sound", "beta2", 3, 0.4, 0.6),
        (32, 12, "sound", "beta2", 3, 0.45, 0.7),  # a child that beats all enters with its terminal leaf
        (29, 9, "paper", "beta2", 3, 0.35, 0.5),  # so does one here
        (5, 14, "sound", "hoeffding", 5, 0.45, 0.5),  # openings only, with long ways to the best subset
    ],
)
def test_lookahead_agrees_with_the_naive_twin(seed, columns, stopping, bound, limit, epsilon, expansion):
    X, y = whole_numbers(seed, 24, columns)
    settings = {"epsilon": epsilon, "delta": 0.1, "bound": bound, "stopping": stopping, "expansion": expansion}
    oracle = KNNOracle(X, y, scale=False, n_neighbors=3, subsample=8)
    lattice = FeatureLattice(oracle, max_features=limit)
    result = best_leaf(lattice, **settings, proposal="lookahead", seed=seed)
    X, y = X[oracle.rows], y[oracle.rows]  # of equally near examples the first ones vote
    naive = NaiveLattice(X, y, k=3, m=8, q=0.9, max_features=limit)
    twin = NaiveLookahead(naive, task="leaf", **settings, seed=seed)
    while twin.step() is not None:
        assert len(naive.rollouts) <= result.samples
    assert twin.answer == result.answer
    assert len(naive.rollouts) == result.samples
    assert len(twin.evaluated) == result.exact_evaluations > len(twin.exact)
    assert list(result.states) == list(twin.children)
    assert result.growths > 0 or bound == "hoeffding"
    for leaf in result.leaves:
        low, high = twin.leaf_interval(leaf.state)
        assert leaf.count == (leaf.state in twin.exact) + len(twin.samples.get(leaf.state, []))
        assert (leaf.lower, leaf.upper) == pytest.approx((max(low, 0), min(high, 1)), abs=1e-12)
