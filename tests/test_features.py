"""The lattice of feature subsets, its rollouts compiled and plain, and best leaf on it."""

from __future__ import annotations

import numpy as np
import pytest

from bestleaf import Search, best_leaf
from bestleaf.engine.compile import kernel
from bestleaf.features import STOP, FeatureLattice
from bestleaf.features.kernels.records import draw_at
from bestleaf.features.kernels.rollout import complete, spell_out
from bestleaf.features.neighbours import KNNOracle
from bestleaf.paper import load_linear, make_linear
from naive import NaiveLattice, NaiveSelection


@pytest.fixture(scope="module")
def oracle():
    return KNNOracle(*load_linear(return_X_y=True), scale=False)


@kernel
def completion(leaf, oracle):
    """Complete the subset of a leaf in the oracle's scratch; return the number of features."""
    complete(leaf, oracle)
    return spell_out(oracle)[0]


def completions(lattice, state, runs):
    rollouts = lattice.compiled_oracle(np.random.default_rng(0))
    rollouts.add(0, state)
    return [rollouts.place.arrays["chosen"][: completion(0, rollouts.record)].tolist() for _ in range(runs)]


def draws(lattice, state, seed, runs):
    rollouts = lattice.compiled_oracle(np.random.default_rng(seed))
    rollouts.add(0, state)
    return [draw_once(0, rollouts.record) for _ in range(runs)]


@kernel
def draw_once(leaf, oracle):
    return draw_at(oracle.draw)(leaf, oracle)


def test_the_lattice_stops_or_adds_one_feature(oracle):
    lattice = FeatureLattice(oracle, max_features=2, include=[3], exclude=[0, 1])
    assert lattice.root() == (3,)
    children = lattice.children((3,))
    assert children[0] == (3, STOP)
    assert len(children) == 1 + 27
    assert lattice.children((3, 5)) == [(3, 5, STOP)]
    assert lattice.is_terminal((3, STOP))
    assert not lattice.is_terminal(())
    assert lattice.exact((3, 5, STOP)) == oracle.value([3, 5])
    assert lattice.terminal((3, 5)) == (3, 5, STOP)
    assert lattice.subset_of((3, 5, STOP)) == lattice.subset_of((3, 5)) == (3, 5)
    states = [lattice.root(), *children, *lattice.children((3, 5))]
    for state in (one for one in states if not lattice.is_terminal(one)):
        assert lattice.count_children(state) == len(lattice.children(state))
        assert all(state in lattice.parents(child) for child in lattice.children(state))


@pytest.mark.slow
def test_rollouts_have_the_published_mean_size(oracle):
    sizes = [len(found) for found in completions(FeatureLattice(oracle), (), 20_000)]
    assert np.mean(sizes) == pytest.approx(3.91, abs=4 * np.std(sizes) / np.sqrt(20_000))
    assert min(sizes) == 1


def test_rollouts_hold_their_start_and_respect_the_limits(oracle):
    lattice = FeatureLattice(oracle, max_features=4, include=[3], exclude=range(6, 30))
    for found in completions(lattice, (3, 5), 500):
        assert {3, 5} <= set(found)
        assert len(set(found)) == len(found) <= 4
        assert set(found) <= set(range(6))


def test_every_feature_is_as_likely_in_a_rollout(oracle):
    first = [found[0] for found in completions(FeatureLattice(oracle, max_features=1), (), 6000)]
    counts = np.bincount(first, minlength=30)
    assert ((counts - 200) ** 2 / 200).sum() < 70  # chi-squared with 29 degrees of freedom, p < 1e-4


@pytest.mark.parametrize("task", ["two classes", "several classes", "real"])
@pytest.mark.parametrize("groups", [None, [[0, 5], [1], [2, 3, 4], [6, 7], [8, 9, 10, 11]]])
def test_compiled_and_plain_rollouts_are_the_same(task, groups):
    X, y = make_linear(120, 12, seed=1, return_X_y=True)
    target = {"two classes": y, "several classes": (4 * X[:, 0]).astype(int), "real": X[:, 0] - X[:, 1]}[task]
    kind = "regression" if task == "real" else "classification"
    lattice = FeatureLattice(KNNOracle(X, target, task=kind, subsample=30), groups=groups, exclude=[2])
    plain = np.random.default_rng(0)
    assert draws(lattice, (1,), 0, 100) == [lattice.sample((1,), plain) for _ in range(100)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stopping", "bound", "limit", "epsilon"),
    [("paper", "beta2", 3, 0.4), ("sound", "hoeffding", 2, 0.45), ("sound", "beta2", 3, 0.3)],
)
def test_selection_agrees_with_the_naive_twin(stopping, bound, limit, epsilon):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, (24, 9)).astype(np.float32)  # whole numbers: many equal distances
    y = (X[:, 0] + X[:, 1] + rng.normal(size=24) > 8).astype(int)
    settings = {"task": "leaf", "epsilon": epsilon, "delta": 0.1, "bound": bound, "stopping": stopping}
    settings |= {"expansion": 0.4, "seed": 0}
    oracle = KNNOracle(X, y, scale=False, n_neighbors=3, subsample=8)
    search = Search(FeatureLattice(oracle, max_features=limit), **settings, proposal="rave")
    result = search.run()
    X, y = X[oracle.rows], y[oracle.rows]  # of equally near examples the first ones vote
    twin = NaiveSelection(NaiveLattice(X, y, k=3, m=8, q=0.9, max_features=limit), **settings)
    while twin.step() is not None:
        assert len(twin.problem.rollouts) <= result.samples
    assert twin.answer == result.answer
    assert len(twin.problem.rollouts) == result.samples
    assert len(twin.exact) == result.exact_evaluations
    assert search.state.graph.states == list(twin.children)
    for leaf in result.leaves:
        low, high = twin.leaf_interval(leaf.state)
        assert leaf.count == (leaf.state in twin.exact) + len(twin.samples.get(leaf.state, []))
        assert (leaf.lower, leaf.upper) == pytest.approx((max(low, 0), min(high, 1)), abs=1e-12)
    assert result.growths > 0


def test_a_solved_node_opens_with_its_best_features_to_depth_two(oracle):
    search = Search(FeatureLattice(oracle), task="leaf", epsilon=0.1, delta=0.1, expansion=0.0, seed=0, max_samples=601)
    search.run()
    states = search.state.graph.states
    assert search.state.warmup_samples == 20 * 30
    assert [len(state) for state in states if STOP not in state] == [0] + [1] * 7 + [2] * 21
    assert {state[0] for state in states if STOP in state} == {state[0] for state in states if len(state) == 1}
    proposals = search.growth.proposals
    sums, counts = search.evaluator.compiled.global_rave_sums.T
    assert set(np.argsort(-sums / counts)[:7]) == {state[0] for state in states if len(state) == 1}
    stopped = proposals.next(search.state.graph.node_of[states[-1]])
    assert stopped == [(*states[-1], STOP)]


@pytest.mark.slow
def test_wide_data_are_searched_without_listing_children():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5000)).astype(np.float32)
    y = (X[:, 1234] > 0).astype(int)
    lattice = FeatureLattice(KNNOracle(X, y, subsample=20))
    lattice.children = lambda state: pytest.fail("would take seconds")
    result = best_leaf(lattice, epsilon=0, delta=0.1, expansion=0.3, proposal="rave", seed=0, max_samples=110_000)
    assert result.samples + result.exact_evaluations == 110_000
    assert len(result.leaves) > 30
    best = max((leaf for leaf in result.leaves if leaf.exact), key=lambda leaf: leaf.mean)
    assert 1234 in best.state
    assert lattice.count_subsets() > 10**12


def test_features_of_a_group_enter_together(oracle):
    lattice = FeatureLattice(oracle, groups=[[5, 1], [0], [2, 3, 4], [*range(6, 30)]], include=[0], exclude=[7])
    assert lattice.root() == (1,)
    assert lattice.children((1,)) == [(1, STOP), (0, 1), (1, 2)]
    assert lattice.count_children((1,)) == 3
    assert lattice.parents((0, 1)) == [(1,)]
    assert lattice.exact((0, 1, STOP)) == oracle.value([0, 1, 5])
    for found in completions(lattice, (1,), 200):
        units = tuple(unit for unit in (0, 1, 2) if lattice.groups[unit][0] in found)
        assert sorted(found) == lattice.features_of(units)


@pytest.mark.parametrize(
    ("keywords", "sentence"),
    [
        ({"include": [30]}, r"include must name features from 0 to 29, got \[30\]"),
        ({"exclude": [-1]}, r"exclude must name features from 0 to 29, got \[-1\]"),
        ({"max_features": 0}, "max_features must be at least 1, got 0"),
        ({"groups": [[0, 1], []]}, "groups must not be empty, got nothing in group 1"),
        ({"groups": [[0, 30]]}, "groups must name features from 0 to 29, got 30"),
        ({"continue_probability": 1.2}, "continue_probability must be between 0 and 1, got 1.2"),
    ],
)
def test_bad_limits_get_one_clear_sentence(oracle, keywords, sentence):
    with pytest.raises(ValueError, match=sentence):
        FeatureLattice(oracle, **keywords)
