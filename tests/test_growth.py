"""Proposals: which features stand out, and what enters the graph."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Bunch

from bestleaf import BestLeafSelector, Search, SearchOptions, best_leaf, verify
from bestleaf.features import STOP, FeatureLattice
from bestleaf.features.neighbours import KNNOracle

pytestmark = pytest.mark.slow

SETTINGS = {"task": "leaf", "epsilon": 0.02, "delta": 0.1, "bound": "betting", "expansion": 0.6, "seed": 0}


@pytest.fixture(scope="module")
def hidden():
    """Five features that matter only together, fifteen combinations of them, sixty of noise."""
    settings = {"n_informative": 5, "n_redundant": 15, "n_clusters_per_class": 16, "flip_y": 0.01, "shuffle": False}
    X, y = make_classification(400, 80, **settings, random_state=3)
    return Bunch(data=X.astype(np.float32), target=y, relevant=range(20))


def searched(data, **settings):
    lattice = FeatureLattice(KNNOracle(data.data, data.target))
    search = Search(lattice, **{**SETTINGS, **settings})
    search.finish()
    return search


def test_features_that_stand_out_are_relevant(hidden):
    search = searched(hidden, max_samples=20_000)
    found = search.growth.proposals
    out = np.flatnonzero(found.outstanding(found.mean_gains()))
    assert len(out) >= 5
    assert set(out.tolist()) <= set(hidden.relevant)


def test_an_opening_stops_when_the_budget_is_spent(hidden):
    for budget in (1, 40, 1_600, 1_650, 2_000):
        search = searched(hidden, max_samples=budget)
        assert search.samples + search.state.exact_evaluations <= budget
        assert search.state.reason == "max_samples"


def test_nothing_stands_out_among_equals():
    X = np.random.default_rng(0).normal(size=(60, 5))
    y = np.random.default_rng(1).integers(0, 2, 60)
    lattice = FeatureLattice(KNNOracle(np.c_[X[:, 0], X[:, 0], X[:, 0], X[:, 0], X[:, 0]], y))
    search = Search(lattice, **SETTINGS, max_samples=2_000)
    found = search.growth.proposals
    assert not found.outstanding(np.zeros(5)).any()
    assert not found.outstanding(np.full(5, -np.inf)).any()
    assert found.outstanding(np.array([0.0, 0.0, 0.0, 0.0, 0.1])).tolist() == [False] * 4 + [True]
    search.finish()
    assert search.progress().best[-1] == STOP


@pytest.mark.parametrize("budget", [405, 410, 425, 430, 440, 460, 480])
def test_the_best_subset_evaluated_is_the_answer_when_the_budget_ends(budget):
    """A budget may end the search in the middle of an opening, before what it evaluated is in the graph."""
    X = np.random.default_rng(0).random((100, 20))
    y = (X[:, 0] + X[:, 19] + 0.5 * X[:, 7] > 1.25).astype(int)
    with pytest.warns(ConvergenceWarning):
        found = BestLeafSelector(
            choose="training", random_state=0, parsimony=0, search=SearchOptions(max_samples=budget)
        ).fit(X, y)
    assert found.score_ == found.evaluated_[0].score
    assert verify(found.certificate_, X, y)
    leaf = best_leaf(
        FeatureLattice(KNNOracle(X, y)), epsilon=0.02, delta=0.1, expansion=0.5, max_samples=budget, seed=0
    )
    assert leaf.lower == leaf.upper > 0.5


def test_features_that_matter_only_together_are_found():
    """An exclusive or of two of a hundred features: no feature tells anything by itself, nor next to any third one."""
    X = np.random.default_rng(1).normal(size=(600, 100))
    y = (X[:, 3] > 0) ^ (X[:, 7] > 0)
    for seed in range(3):
        found = BestLeafSelector(choose="training", random_state=seed).fit(X, y)
        assert found.subset_.tolist() == [3, 7]
        assert found.certificate_.settled


def test_the_rollouts_of_highest_value_are_kept(hidden):
    lattice = FeatureLattice(KNNOracle(hidden.data, hidden.target))
    rollouts = lattice.compiled_oracle(np.random.default_rng(0))
    rollouts.add(0, ())
    drawn = []
    for _ in range(300):
        rollouts.warm_up(0, 1)
        totals = rollouts.place.arrays["by_size"].sum(axis=0)
        drawn.append(totals[0] - sum(drawn))
    kept = rollouts.place.arrays["kept_values"]
    assert np.allclose(sorted(kept), sorted(drawn)[-len(kept) :])
    for subset in rollouts.best_subsets():
        assert lattice.exact((*subset, STOP)) > 0
