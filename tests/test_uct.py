"""The UCT family: agreement with the naive twin, convergence, and the known failure of update-all."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from bestleaf import problems
from bestleaf.features import FeatureLattice, NeighbourRollouts
from bestleaf.oracles import KNNOracle
from bestleaf.uct.children import AnyChildren, CompetingChildren, RaveChildren
from bestleaf.uct.loop import Loop
from bestleaf.uct.settings import VARIANTS, descent_settings
from naive import NaiveLattice
from naive_uct import NaiveCompeting, NaiveFuse, NaiveUCT

DEFAULTS = {
    "variant": "uct1",
    "bonus": "ucb1",
    "exploration": 2.0,
    "widening": 1.0,
    "backup": "descent",
    "initial_rollouts": 1,
}


def played(problem, rounds, *, children=None, oracle=None, seed=0, compiled=True, trust=0.0, **settings):
    """Return the loop after some rounds."""
    rng = np.random.default_rng(seed)
    if compiled and oracle is None:
        oracle = problem.compiled_oracle(rng)
    elif oracle is not None:
        oracle = oracle(problem, rng)
    fields = descent_settings(**{**DEFAULTS, **settings}, trust=trust)
    limits = {"max_samples": rounds, "max_time": None, "callback": None}
    loop = Loop(problem, fields, rng=rng, oracle=oracle, recommend="visits", **limits)
    make = children or (lambda statistics, _: AnyChildren(statistics, rng))
    loop.children = make(loop.statistics, oracle)
    loop.run()
    return loop


def edges_of(loop):
    """Return {(tail, head): (n, total, n')} by states."""
    states, edges = loop.graph.states, loop.statistics.edges[: loop.statistics.used]
    return {
        (states[edge["tail"]], states[edge["head"]]): (edge["count"], edge["total"], edge["early_count"])
        for edge in edges
        if edge["head"] >= 0
    }


def assert_agree(loop, twin):
    ours = edges_of(loop)
    for edge, samples in twin.samples.items():
        if not samples and edge not in ours:
            continue  # a twin makes the heads of all edges at once
        count, total, early = ours[edge]
        assert count == pytest.approx(sum(weight for weight, _, _ in samples), abs=1e-9)
        assert total == pytest.approx(sum(weight * value for weight, value, _ in samples), abs=1e-9)
        assert early == pytest.approx(sum(weight for weight, _, was_leaf in samples if was_leaf), abs=1e-9)
    for node, state in enumerate(loop.graph.states):
        assert loop.statistics.crossings["visits"][node] == twin.visits[state]
        assert loop.statistics.crossings["weight"][node] == pytest.approx(twin.weight[state])


PROBLEMS = {
    "lattice": problems.paper_lattice(),
    "tree": problems.Unrolled(problems.ScoreLattice((-0.3, 0.0, 0.4, 0.5), 2)),
    "dag with exact leaves": problems.random_dag(5, layers=4, exact_share=0.5),
    "game": problems.random_dag(7, layers=4, two_player=True),
    "game tree": problems.random_game_tree(1),
}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("variant", [*VARIANTS, (2, 2, 1), (inf, inf, inf), (1, inf, 2)])
@pytest.mark.parametrize(
    ("bonus", "backup", "widening", "initial"),
    [("ucb1", "descent", 1.0, 1), ("ucb1_tuned", "descent", 0.5, 3), ("ucb1", 0.3, 1.0, 1), ("ucb1", "all", 0.6, 2)],
)
def test_agrees_with_the_naive_twin(name, variant, bonus, backup, widening, initial):
    alpha = {"descent": 0.0, "all": 1.0}.get(backup, backup)
    settings = {"variant": variant, "bonus": bonus, "backup": backup, "widening": widening}
    loop = played(PROBLEMS[name], 120, seed=3, **settings, initial_rollouts=initial)
    depths = VARIANTS[variant] if isinstance(variant, str) else variant
    twin = NaiveUCT(
        PROBLEMS[name], depths=depths, tuned=bonus == "ucb1_tuned", b=widening, alpha=alpha, initial=initial, seed=3
    )
    for _ in range(120):
        twin.iterate()
    assert_agree(loop, twin)


@pytest.mark.parametrize("name", ["lattice", "dag with exact leaves", "game"])
def test_a_problem_in_python_gives_the_same(name):
    fast, slow = (played(PROBLEMS[name], 200, variant="uct3", compiled=compiled) for compiled in (True, False))
    assert edges_of(fast) == edges_of(slow)


@pytest.fixture(scope="module")
def small():
    rng = np.random.default_rng(4)
    X = rng.integers(0, 8, (24, 5)).astype(np.float32)
    y = (X[:, 1] + X[:, 3] + rng.normal(size=24) > 7).astype(int)
    return X, y


@pytest.mark.parametrize("variant", ["uct1", "ucd", "uct3"])
@pytest.mark.parametrize("backup", ["descent", 0.5])
@pytest.mark.parametrize("kind", ["discrete", "continuous"])
def test_fuse_agrees_with_the_naive_twin(small, variant, backup, kind):
    X, y = small
    continuous = kind == "continuous"
    oracle = KNNOracle(X, y, n_neighbors=3, subsample=8, scale=False)
    lattice = FeatureLattice(oracle, max_features=3)
    naive = NaiveLattice(X[oracle.rows], y[oracle.rows], k=3, m=8, q=0.9, max_features=3)
    make = CompetingChildren if continuous else RaveChildren
    loop = played(
        lattice,
        150,
        children=lambda statistics, oracle: make(statistics, oracle, 200.0),
        oracle=NeighbourRollouts,
        variant=variant,
        backup=backup,
        bonus="ucb1_tuned",
        widening=1.0 if continuous else 0.5,
        initial_rollouts=6,
        trust=50.0 if continuous else 0.0,
        seed=2,
    )
    alpha = 0.0 if backup == "descent" else backup
    settings = {"depths": VARIANTS[variant], "alpha": alpha, "initial": 6, "seed": 2}
    twin = NaiveCompeting(naive, trust=50.0, **settings) if continuous else NaiveFuse(naive, b=0.5, **settings)
    for _ in range(150):
        twin.iterate()
    assert_agree(loop, twin)
