"""The lattice of feature subsets, its rollouts compiled and plain, and best leaf on it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from bestleaf import EstimatorOracle, Search, best_leaf
from bestleaf.checkpoint import Saved
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


def test_a_subset_has_one_terminal_leaf(oracle):
    lattice = FeatureLattice(oracle)
    assert lattice.terminal((3, 5)) == (3, 5, STOP)
    assert lattice.subset_of((3, 5, STOP)) == lattice.subset_of((3, 5)) == (3, 5)
    assert lattice.subset_of(()) == ()


def test_a_lattice_tells_what_looking_at_subsets_costs(oracle):
    exact = FeatureLattice(oracle)
    assert exact.parts == 0
    assert exact.value_cost == oracle.value_cost
    by_fits = FeatureLattice(EstimatorOracle(*load_linear(return_X_y=True), estimator=GaussianNB(), cv=3))
    assert by_fits.parts == 3


def test_sums_of_plain_rollouts_are_those_of_their_values(oracle):
    lattice = FeatureLattice(oracle)
    rollouts = lattice.plain_rollouts()
    for node, state in enumerate([(), (2,)]):
        rollouts.add(node, state)
    for node, reached, value in [(0, (1, 2, STOP), 0.5), (1, (2, STOP), 0.25), (0, (2, 7, STOP), 1.0)]:
        rollouts.credit(node, reached, value)
    assert rollouts.global_rave_sums[[1, 2, 7]].tolist() == [[0.5, 1], [1.75, 3], [1.0, 1]]
    assert rollouts.rave_sums(np.array([0]))[[1, 2, 7]].tolist() == [[0.5, 1], [1.5, 2], [1.0, 1]]
    assert rollouts.rave_sums(np.array([1])).sum() == 1.25
    assert rollouts.best_subsets() == [(1, 2), (2,), (2, 7)]
    saved = rollouts.snapshot()
    again = lattice.plain_rollouts()
    again.add(1, (2,))
    arrays = {name: value for name, value in saved.items() if isinstance(value, np.ndarray)}
    again.restore(Saved(saved, arrays))
    assert np.array_equal(again.rave_sums(np.arange(2)), rollouts.rave_sums(np.arange(2)))
    assert again.snapshot()["kept"] == saved["kept"]


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


def test_votes_remembered_or_not_give_the_same_samples():
    X, y = load_linear(return_X_y=True)
    values = []
    for memory in (2**24, 0):
        lattice = FeatureLattice(KNNOracle(X, y, scale=False, memory=memory))
        values.append(draws(lattice, (1, 2), 3, 300))
    assert values[0] == values[1]


def test_best_leaf_on_the_lattice_is_the_best_of_what_it_evaluated(oracle):
    lattice = FeatureLattice(oracle, max_features=3)
    result = best_leaf(lattice, epsilon=0.02, delta=0.1, bound="beta2", expansion=0.3, seed=1)
    assert result.reason == "identified"
    assert result.answer[-1] == STOP
    evaluated = [leaf.mean for leaf in result.leaves if leaf.exact]
    assert result.lower == result.upper >= max(evaluated) - 0.02


def data_of(seed, rows, features):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 9, (rows, features)).astype(np.float32)  # whole numbers: many equal distances
    return X, (X[:, 0] + X[:, 1] + rng.normal(size=rows) > 8).astype(int)


@pytest.mark.parametrize("seed", range(1))
@pytest.mark.parametrize(
    ("stopping", "bound", "limit", "epsilon"),
    [("paper", "beta2", 3, 0.4), ("sound", "hoeffding", 2, 0.45), ("sound", "beta2", 3, 0.3)],
)
def test_selection_agrees_with_the_naive_twin(seed, stopping, bound, limit, epsilon):
    X, y = data_of(seed, 24, 9)
    settings = {
        "task": "leaf",
        "epsilon": epsilon,
        "delta": 0.1,
        "bound": bound,
        "stopping": stopping,
        "expansion": 0.4,
    }
    oracle = KNNOracle(X, y, scale=False, n_neighbors=3, subsample=8)
    search = Search(FeatureLattice(oracle, max_features=limit), **settings, proposal="rave", seed=seed)
    result = search.run()
    X, y = X[oracle.rows], y[oracle.rows]  # of equally near examples the first ones vote
    twin = NaiveSelection(NaiveLattice(X, y, k=3, m=8, q=0.9, max_features=limit), **settings, seed=seed)
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


def test_wide_data_are_searched_without_listing_children():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 20_000)).astype(np.float32)
    y = (X[:, 12_345] > 0).astype(int)
    lattice = FeatureLattice(KNNOracle(X, y, subsample=20))
    lattice.children = lambda state: pytest.fail("would take seconds")
    result = best_leaf(lattice, epsilon=0, delta=0.1, expansion=0.3, proposal="rave", seed=0, max_samples=420_000)
    assert result.samples + result.exact_evaluations == 420_000
    assert len(result.leaves) > 30
    best = max((leaf for leaf in result.leaves if leaf.exact), key=lambda leaf: leaf.mean)
    assert 12_345 in best.state


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


def test_relatives_in_the_lattice_are_the_same_listed_or_not(oracle):
    lattice = FeatureLattice(oracle, max_features=3, include=[4], exclude=range(8, 30))
    states = [lattice.root(), *lattice.children(lattice.root())]
    states += [child for state in states[2:5] for child in lattice.children(state)]
    for state in dict.fromkeys(states):
        if not lattice.is_terminal(state):
            assert lattice.count_children(state) == len(lattice.children(state))
            assert all(state in lattice.parents(child) for child in lattice.children(state))


@pytest.mark.parametrize(
    ("keywords", "sentence"),
    [
        ({"include": [30]}, r"include must name features from 0 to 29, got \[30\]"),
        ({"exclude": [-1]}, r"exclude must name features from 0 to 29, got \[-1\]"),
        ({"include": [1, 2], "exclude": [2]}, r"include and exclude must not share features, got \[2\] in both"),
        ({"max_features": 0}, "max_features must be at least 1, got 0"),
        (
            {"include": [1, 2], "max_features": 1},
            "max_features must be at least 2, the number of features in include, got 1",
        ),
        ({"exclude": range(30)}, "exclude must leave at least one of the features, got all 30"),
        ({"groups": [[0, 1], [1, 2]]}, "groups must not overlap, got feature 1 in groups 0 and 1"),
        ({"groups": [[0, 1], []]}, "groups must not be empty, got nothing in group 1"),
        ({"groups": [[0, 30]]}, "groups must name features from 0 to 29, got 30"),
        ({"groups": [range(29)]}, "groups must hold every feature, got none with feature 29"),
        ({"continue_probability": 1.2}, "continue_probability must be between 0 and 1, got 1.2"),
    ],
)
def test_bad_limits_get_one_clear_sentence(oracle, keywords, sentence):
    with pytest.raises(ValueError, match=sentence):
        FeatureLattice(oracle, **keywords)


def test_counting_subsets_of_very_many_features_takes_no_time():
    rng = np.random.default_rng(0)
    wide = FeatureLattice(KNNOracle(rng.random((10, 20_000)), np.arange(10) % 2, subsample=5))
    assert wide.count_subsets() > 10**12
    assert FeatureLattice(KNNOracle(rng.random((10, 5)), np.arange(10) % 2, subsample=5)).count_subsets() == 31
