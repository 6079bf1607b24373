"""The lattice of feature subsets, its rollouts compiled and plain, and best leaf on it."""

from __future__ import annotations

import numpy as np
import pytest

from bestleaf import Search, best_leaf
from bestleaf._compile import kernel
from bestleaf._kernels.reach import contains
from bestleaf._kernels.rollout import complete, draw_neighbours
from bestleaf.datasets import load_linear, make_linear
from bestleaf.features import STOP, FeatureLattice
from bestleaf.oracles import KNNOracle


@pytest.fixture(scope="module")
def oracle():
    return KNNOracle(*load_linear(return_X_y=True), scale=False)


@kernel
def completion(oracle, leaf, rng, found):
    """Write the features of one random completion; return how many."""
    size, _ = complete(oracle.subsets[leaf], oracle, rng)
    for place in range(size):
        found[place] = oracle.chosen[place]
    return size


def completions(lattice, state, runs):
    rollouts, rng = lattice.compiled_oracle(), np.random.default_rng(0)
    rollouts.add(0, state)
    found = np.zeros(lattice.oracle.n_features, np.int64)
    return [found[: completion(rollouts.record, 0, rng, found)].tolist() for _ in range(runs)]


def test_the_lattice_stops_or_adds_one_feature(oracle):
    lattice = FeatureLattice(oracle, max_features=2, forced=[3], forbidden=[0, 1])
    assert lattice.root() == (3,)
    children = lattice.children((3,))
    assert children[0] == (3, STOP)
    assert len(children) == 1 + 27
    assert lattice.children((3, 5)) == [(3, 5, STOP)]
    assert lattice.is_terminal((3, STOP))
    assert not lattice.is_terminal(())
    assert lattice.exact((3, 5, STOP)) == oracle.value([3, 5])


def test_rollouts_have_the_published_mean_size(oracle):
    sizes = [len(found) for found in completions(FeatureLattice(oracle), (), 20_000)]
    assert np.mean(sizes) == pytest.approx(3.91, abs=4 * np.std(sizes) / np.sqrt(20_000))
    assert min(sizes) == 1


def test_rollouts_hold_their_start_and_respect_the_limits(oracle):
    lattice = FeatureLattice(oracle, max_features=4, forced=[3], forbidden=range(6, 30))
    for found in completions(lattice, (3, 5), 500):
        assert found[:2] == [3, 5]
        assert len(set(found)) == len(found) <= 4
        assert set(found) <= set(range(6))


def test_every_feature_is_as_likely_in_a_rollout(oracle):
    first = [found[0] for found in completions(FeatureLattice(oracle), (), 6000)]
    counts = np.bincount(first, minlength=30)
    assert ((counts - 200) ** 2 / 200).sum() < 70  # chi-squared with 29 degrees of freedom, p < 1e-4


@pytest.mark.parametrize("task", ["two classes", "several classes", "real"])
def test_compiled_and_plain_rollouts_have_the_same_mean(task):
    X, y = make_linear(120, 12, seed=1, return_X_y=True)
    target = {"two classes": y, "several classes": (4 * X[:, 0]).astype(int), "real": X[:, 0] - X[:, 1]}[task]
    kind = "regression" if task == "real" else "classification"
    lattice = FeatureLattice(KNNOracle(X, target, task=kind, subsample=30))
    rng, rollouts = np.random.default_rng(0), lattice.compiled_oracle()
    rollouts.add(0, (1,))
    compiled = [draw_neighbours(rollouts.record, 0, rng) for _ in range(4000)]
    plain = [lattice.sample((1,), rng) for _ in range(800)]
    error = np.hypot(np.std(compiled) / np.sqrt(4000), np.std(plain) / np.sqrt(800))
    assert abs(np.mean(compiled) - np.mean(plain)) < 4 * error


def test_votes_remembered_or_not_give_the_same_samples():
    X, y = load_linear(return_X_y=True)
    values = []
    for memory in (2**24, 0):
        lattice = FeatureLattice(KNNOracle(X, y, scale=False, memory=memory))
        rollouts, rng = lattice.compiled_oracle(), np.random.default_rng(3)
        rollouts.add(0, (1, 2))
        values.append([draw_neighbours(rollouts.record, 0, rng) for _ in range(300)])
    assert values[0] == values[1]


def test_best_leaf_on_the_lattice_is_the_best_of_what_it_evaluated(oracle):
    lattice = FeatureLattice(oracle, max_features=3)
    result = best_leaf(lattice, epsilon=0.02, delta=0.1, bound="beta2", expansion=0.3, seed=1)
    assert result.reason == "identified"
    assert result.answer[-1] == STOP
    evaluated = [leaf.mean for leaf in result.leaves if leaf.exact]
    assert result.lower == result.upper >= max(evaluated) - 0.02


def test_wide_data_are_searched():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 300)).astype(np.float32)
    y = (X[:, 234] > 0).astype(int)
    lattice = FeatureLattice(KNNOracle(X, y, subsample=20), max_features=3)
    search = Search(lattice, task="leaf", epsilon=0, delta=0.1, expansion=0.3, seed=0, max_samples=3000)
    result = search.run()
    assert result.samples + result.exact_evaluations == 3000
    rollouts = search.oracle.record
    node = search.graph.node_of[(234,)]
    assert contains.py_func(rollouts.subsets[node], 234)


@pytest.mark.parametrize(
    ("keywords", "sentence"),
    [
        ({"forced": [30]}, r"forced must name features from 0 to 29, got \[30\]"),
        ({"forbidden": [-1]}, r"forbidden must name features from 0 to 29, got \[-1\]"),
        ({"forced": [1, 2], "forbidden": [2]}, r"forced and forbidden must not share features, got \[2\]"),
        ({"max_features": 0}, "max_features must be between 1 and the number of features"),
        ({"max_features": 31}, "max_features must be between 1 and the number of features"),
        ({"forced": [1, 2], "max_features": 1}, "max_features must be between 2 and"),
        ({"continue_probability": 1.2}, "continue_probability must be between 0 and 1, got 1.2"),
    ],
)
def test_bad_limits_get_one_clear_sentence(oracle, keywords, sentence):
    with pytest.raises(ValueError, match=sentence):
        FeatureLattice(oracle, **keywords)
