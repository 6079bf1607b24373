"""The UCT family: agreement with the naive twin, convergence, and the known failure of update-all."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from bestleaf import fuse_search, problems, uct_search
from bestleaf.features import FeatureLattice
from bestleaf.features.neighbours import KNNOracle
from bestleaf.paper import load_linear
from bestleaf.paper.fuse import Fuse, FuseSettings
from bestleaf.paper.uct import UCT, VARIANTS, UCTSettings
from bestleaf.search.budget import SLICE
from naive import NaiveFuse, NaiveLattice, NaiveUCT

pytestmark = pytest.mark.slow


def played(search):
    """Return a search after it has run."""
    search.run()
    return search


def edges_of(search):
    """Return {(tail, head): (n, total, n')} by states."""
    states, edges = search.statistics.graph.states, search.statistics.edges[: search.statistics.used]
    return {
        (states[edge["tail"]], states[edge["head"]]): (edge["count"], edge["total"], edge["early_count"])
        for edge in edges
        if edge["head"] >= 0
    }


def assert_agree(search, twin):
    ours = edges_of(search)
    for edge, samples in twin.samples.items():
        if not samples and edge not in ours:
            continue  # a twin makes the heads of all edges at once
        count, total, early = ours[edge]
        assert count == pytest.approx(sum(weight for weight, _, _ in samples), abs=1e-9)
        assert total == pytest.approx(sum(weight * value for weight, value, _ in samples), abs=1e-9)
        assert early == pytest.approx(sum(weight for weight, _, was_leaf in samples if was_leaf), abs=1e-9)
    for node, state in enumerate(search.statistics.graph.states):
        assert search.statistics.crossings["visits"][node] == twin.visits[state]
        assert search.statistics.crossings["weight"][node] == pytest.approx(twin.weight[state])


PROBLEMS = {
    "lattice": problems.paper_lattice(),
    "tree": problems.Unrolled(problems.ScoreLattice((-0.3, 0.0, 0.4, 0.5), 2)),
    "dag with exact leaves": problems.random_dag(5, layers=4, exact_share=0.5),
    "game": problems.random_dag(7, layers=4, two_player=True),
    "game tree": problems.random_game_tree(1),
}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("variant", [*VARIANTS, (2, 2, 1), (1, inf, 2)])
@pytest.mark.parametrize(
    ("bonus", "backup", "widening", "initial"),
    [("ucb1", "descent", 1.0, 1), ("ucb1_tuned", "descent", 0.5, 3), ("ucb1", 0.3, 1.0, 1), ("ucb1", "all", 0.6, 2)],
)
def test_agrees_with_the_naive_twin(name, variant, bonus, backup, widening, initial):
    alpha = {"descent": 0.0, "all": 1.0}.get(backup, backup)
    settings = {"variant": variant, "bonus": bonus, "backup": backup, "widening": widening}
    search = played(UCT(PROBLEMS[name], UCTSettings(**settings, initial_rollouts=initial, max_samples=120), 3))
    depths = VARIANTS[variant] if isinstance(variant, str) else variant
    twin = NaiveUCT(
        PROBLEMS[name], depths=depths, tuned=bonus == "ucb1_tuned", b=widening, alpha=alpha, initial=initial, seed=3
    )
    for _ in range(120):
        twin.iterate()
    assert_agree(search, twin)


@pytest.fixture(scope="module")
def small():
    rng = np.random.default_rng(4)
    X = rng.integers(0, 8, (24, 5)).astype(np.float32)
    y = (X[:, 1] + X[:, 3] + rng.normal(size=24) > 7).astype(int)
    return X, y


@pytest.mark.parametrize("variant", ["uct1", "ucd", "uct3"])
@pytest.mark.parametrize("backup", ["descent", 0.5])
def test_fuse_agrees_with_the_naive_twin(small, variant, backup):
    X, y = small
    oracle = KNNOracle(X, y, n_neighbors=3, subsample=8, scale=False)
    lattice = FeatureLattice(oracle, max_features=3)
    naive = NaiveLattice(X[oracle.rows], y[oracle.rows], k=3, m=8, q=0.9, max_features=3)
    settings = {"variant": variant, "backup": backup, "initial_rollouts": 6, "max_samples": 150}
    search = played(Fuse(lattice, FuseSettings(widening=0.5, **settings), 2))
    alpha = 0.0 if backup == "descent" else backup
    twin = NaiveFuse(naive, depths=VARIANTS[variant], alpha=alpha, initial=6, seed=2, b=0.5)
    for _ in range(150):
        twin.iterate()
    assert_agree(search, twin)


def wrong_answers(variant, backup, samples):
    """Return in how many of 10 runs the trap is fallen into."""
    settings = {"variant": variant, "backup": backup, "recommend": "mean", "max_samples": samples}
    runs = [uct_search(problems.transposition_trap(), **settings, seed=seed) for seed in range(10)]
    return sum(run.answer == "right" for run in runs)


def test_update_all_prefers_a_wrong_move_for_ever_and_ucd_does_not():
    """Samples of bad states reached through one move are held against the other (Saffidine et al.)."""
    assert wrong_answers("uct1", "all", 5_000) >= 4
    assert wrong_answers("uct1", "all", 25_000) >= 4
    for variant in VARIANTS:
        assert wrong_answers(variant, "descent", 25_000) == 0


def test_budgets_callback_and_repeatability(clock):
    lattice = problems.paper_lattice()
    looks = []
    clock.tick = 0.01
    timed = uct_search(lattice, max_time=0.2, seed=0, callback=looks.append)
    assert timed.reason == "max_time"
    assert 0.2 <= timed.seconds <= 0.2 + SLICE
    assert looks
    assert looks[-1].samples == timed.samples
    ended = uct_search(lattice, max_samples=10**9, seed=0, callback=lambda now: now.samples > 1_000)
    assert ended.reason == "interrupted"
    one, other = (uct_search(lattice, max_samples=777, seed=5) for _ in range(2))
    assert one.samples == 777
    assert one.arms == other.arms
    assert "no guarantee" in str(one)


@pytest.mark.parametrize(
    ("keywords", "error", "words"),
    [
        ({}, ValueError, "max_samples or max_time must be given"),
        ({"max_samples": 0}, ValueError, "max_samples must be a whole number of at least 1, got 0"),
        ({"max_samples": 1.5}, TypeError, "max_samples must be a whole number"),
        ({"variant": 3, "max_samples": 9}, ValueError, "three depths"),
        ({"variant": (1, 0, 1), "max_samples": 9}, ValueError, "d2 of at least d3"),
        ({"backup": 1.5, "max_samples": 9}, ValueError, "backup must be between 0 and 1"),
        ({"max_time": -1}, ValueError, "max_time must be a positive number of seconds, got -1"),
        ({"variant": "uct9", "max_samples": 9}, ValueError, "variant must be one of uct1"),
        ({"variant": (1, 2), "max_samples": 9}, ValueError, "three depths"),
        ({"variant": (99, 0, 0), "max_samples": 9}, ValueError, "at most 8, or infinite"),
        ({"bonus": "luck", "max_samples": 9}, ValueError, "bonus must be one of ucb1, ucb1_tuned"),
        ({"exploration": -1, "max_samples": 9}, ValueError, "exploration must be at least 0, got -1"),
        ({"widening": 2, "max_samples": 9}, ValueError, "widening must be between 0 and 1, got 2"),
        ({"backup": "some", "max_samples": 9}, ValueError, "backup must be one of descent, all"),
        ({"initial_rollouts": 0, "max_samples": 9}, ValueError, "initial_rollouts must be a whole number"),
        ({"recommend": "hope", "max_samples": 9}, ValueError, "recommend must be one of visits, mean"),
    ],
)
def test_bad_input_is_one_sentence(keywords, error, words):
    with pytest.raises(error, match=words) as caught:
        uct_search(problems.paper_lattice(), **keywords)
    assert "\n" not in str(caught.value)


@pytest.fixture(scope="module")
def linear():
    return load_linear(return_X_y=True)


def test_fuse_finds_good_features_and_says_what_it_evaluated(linear):
    lattice = FeatureLattice(KNNOracle(*linear, scale=False))
    found = fuse_search(lattice, max_samples=20_000, seed=0)
    assert found.value >= 0.97
    assert found.values[(*found.answer, -1)] == found.value == lattice.oracle.value(found.answer)
    assert set(found.ranking[:5].tolist()) & {1, 2, 4, 5}
    assert sorted(found.ranking.tolist()) == list(range(30))


def test_a_lattice_that_samples_in_its_own_way_is_refused(linear):
    class Own(FeatureLattice):
        def sample(self, state, rng):
            return 0.5

    with pytest.raises(TypeError, match="a sample method of its own"):
        fuse_search(Own(KNNOracle(*linear)), max_samples=10)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"widening": None}, "widening must be a number between 0 and 1, got None"),
        ({"locality": -1}, "locality must be at least 0, got -1"),
        ({"max_time": inf, "max_samples": None}, "max_time must be a positive number of seconds, got inf"),
        ({"callback": 5}, "callback must be a function or None, got 5"),
    ],
)
def test_bad_options_of_fuse_are_one_sentence(linear, options, words):
    with pytest.raises((TypeError, ValueError), match=words):
        fuse_search(FeatureLattice(KNNOracle(*linear)), **{"max_samples": 10, **options})


def test_nothing_to_choose_and_nothing_chosen():
    with pytest.raises(ValueError, match="no children"):
        uct_search(problems.TableProblem({0: []}, {}), max_samples=10)
    found = uct_search(problems.paper_lattice(), max_samples=1, seed=0)
    assert found.answer is None
    assert "Nothing recommended" in str(found)
