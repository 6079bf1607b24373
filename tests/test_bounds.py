"""Intervals as statistics: at all times at once they miss the mean in at most delta of the runs."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from bestleaf import best_leaf
from bestleaf.engine.bounds import BETS, RIGOROUS, betting, log_capital
from bestleaf.engine.compile import interval_at, kernel, observe_at
from bestleaf.problems import random_dag
from conftest import binomial_margin

pytestmark = pytest.mark.slow

RUNS, SAMPLES, DELTA = 2_000, 2_000, 0.05


def bernoulli(rng, size):
    return (rng.random(size) < 0.3).astype(float), 0.3


def beta(rng, size):
    return rng.beta(4.0, 1.0, size), 0.8


def two_points(rng, size):
    return np.where(rng.random(size) < 0.9, 0.99, 0.4), 0.9 * 0.99 + 0.1 * 0.4


def near_zero(rng, size):
    return (rng.random(size) < 0.004).astype(float), 0.004


def near_one(rng, size):
    return 1 - 0.05 * rng.beta(0.5, 2.0, size), 1 - 0.05 * 0.2


def changing(rng, size):
    """Return rewards of one mean whose spread follows from those before: wide after high ones, narrow after low."""
    runs, samples = size
    values, mean, wide = np.empty(size), 0.7, np.zeros(runs, bool)
    for place in range(samples):
        coin = (rng.random(runs) < mean).astype(float)
        narrow = mean + 0.02 * (rng.random(runs) - 0.5)
        values[:, place] = np.where(wide, coin, narrow)
        wide = values[:, : place + 1].mean(axis=1) > mean if place % 50 == 49 else wide
    return values, mean


SOURCES = (bernoulli, beta, two_points, near_zero, near_one, changing)


@kernel
def misses(values, mean, share, interval, observe, row):
    """Count the runs whose running interval misses the mean at any time; add up the final widths."""
    wrong, width = 0, 0.0
    for run in range(values.shape[0]):
        for place in range(len(row)):
            row[place] = 0.0
        lower, upper, total = 0.0, 1.0, 0.0
        missed = False
        for step in range(values.shape[1]):
            total += values[run, step]
            observe_at(observe)(row, values[run, step], step + 1)
            low, high = interval_at(interval)(total / (step + 1), step + 1, share, row)
            lower, upper = max(lower, low), min(upper, high)
            missed = missed or not lower <= mean <= upper
        wrong += missed
        width += max(0.0, upper - lower)
    return wrong, width / values.shape[0]


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.__name__)
def test_intervals_hold_at_all_times_at_once(source):
    values, mean = source(np.random.default_rng(1), (RUNS, SAMPLES))
    widths = {}
    for bound in RIGOROUS:
        row = np.zeros(bound.width)
        wrong, widths[bound.name] = misses(values, mean, DELTA, bound.part.address, bound.observe.address, row)
        assert wrong <= binomial_margin(RUNS, DELTA), bound.name
    assert widths["betting"] < widths["hoeffding"]  # on every one of these sources


def test_samples_spread_over_the_grid_never_add_capital():
    rng = np.random.default_rng(0)
    for _ in range(30):
        values = rng.beta(*rng.uniform(0.3, 5.0, 2), 200)
        row = np.zeros(betting.width)
        for count, value in enumerate(values, 1):
            betting.observe.function(row, value, count)
        for mean in (0.05, 0.4, 0.9):
            for mirrored in (False, True):
                gains = (values / mean if mirrored else (1 - values) / (1 - mean)) - 1
                wealth = np.log1p(np.outer(BETS, gains)).sum(axis=1)
                true = wealth.max() + np.log(np.exp(wealth - wealth.max()).mean())
                spread = log_capital.py_func(mean, row, mirrored)
                assert spread <= true + 1e-9
                assert spread > true - 0.02 * 200  # and loses little


@pytest.mark.parametrize("bound", [bound.name for bound in RIGOROUS])
def test_best_leaf_on_growing_graphs_errs_at_most_delta(bound):
    """300 growing graphs: a leaf of the final graph is truly better by more than epsilon in at most delta of them."""
    runs, delta, epsilon, wrong = 300, 0.1, 0.15, 0
    for seed in range(runs):
        problem = random_dag(seed, layers=3, width=5, exact_share=0.3)
        found = best_leaf(problem, epsilon=epsilon, delta=delta, bound=bound, expansion=0.5, seed=seed)
        best = max(problem.mean(leaf.state) for leaf in found.leaves)
        wrong += problem.mean(found.answer) < best - epsilon
    assert wrong <= binomial_margin(runs, delta)


@pytest.mark.parametrize("bound", RIGOROUS, ids=lambda bound: bound.name)
def test_a_bound_that_fails_stays_an_interval_and_parts_are_constants(bound):
    """A source that drifts breaks every promise but must not break the search."""

    class Drifting:
        def __init__(self):
            self.drawn = 0

        def root(self):
            return 0

        def children(self, state):
            return [1, 2]

        def is_terminal(self, state):
            return state > 0

        def sample(self, state, rng):
            self.drawn += 1
            return 0.9 if self.drawn < 600 else 0.1

    found = best_leaf(Drifting(), epsilon=0.0, delta=0.1, bound=bound, seed=0, max_samples=3000)
    assert all(leaf.lower <= leaf.upper for leaf in found.leaves)
    assert copy.deepcopy(bound) is bound
    assert pickle.loads(pickle.dumps(bound)) is bound
