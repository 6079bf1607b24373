"""Proposals: which features stand out, and what enters the graph."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Bunch

from bestleaf import BestLeafSelector, Search, SearchOptions, best_leaf, verify
from bestleaf.features import FeatureLattice
from bestleaf.features.neighbours import KNNOracle
from bestleaf.problems import BernoulliProblem

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


@pytest.mark.parametrize("budget", [405, 430, 460])
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


class Onwards(BernoulliProblem):
    """Two moves from every state; with `stops` one of them ends there."""

    def __init__(self, *, stops=False):
        self.stops = stops

    def root(self):
        return 1

    def children(self, state):
        return [2 * state, -state if self.stops else 2 * state + 1]

    def is_terminal(self, state):
        return state < 0

    def mean(self, state):
        return 0.2 + 0.6 / abs(state)


def test_a_best_leaf_of_walks_without_end_is_refused_or_warned_of():
    keywords = {"epsilon": 0.05, "delta": 0.1, "expansion": 0.5, "seed": 0}
    with pytest.raises(ValueError, match=r"a walk of 10,000 moves came to none; give a stop move: .* or set max_samp"):
        best_leaf(Onwards(), **keywords)
    with pytest.warns(RuntimeWarning, match="give a stop move"):
        assert not best_leaf(Onwards(), **keywords, max_samples=3000).settled
    assert best_leaf(Onwards(stops=True), **keywords).answer == -1
