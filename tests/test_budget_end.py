"""A useful answer whenever a budget ends: the gap among leaves compared, growth that pauses, small answers."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from bestleaf import Search, best_arm, best_leaf, verify
from bestleaf.problems import ScoreLattice, paper_lattice, random_game_tree
from bestleaf.proof.build import compared_leaves
from bestleaf.proof.words import unsettled_in_words
from bestleaf.search.growth import Pause
from selecting import made_selector

pytestmark = pytest.mark.slow

BUDGETS = (300, 600, 750, 900)
SEEDS = (0, 1)
EPSILON = 0.02


def table():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(120, 24))
    y = (X[:, 0] + 0.8 * X[:, 1] - 0.6 * X[:, 2] + 0.7 * rng.normal(size=120) > 0).astype(int)
    return X, y


def selector(**keywords):
    given = {"choose": "training", "guarantee": "grown", "epsilon": EPSILON, "random_state": 0, **keywords}
    return made_selector(**given)


def fitted(**keywords):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return selector(**keywords).fit(*table())


@pytest.fixture(scope="module")
def searches():
    return {(budget, seed): fitted(max_samples=budget, random_state=seed) for budget in BUDGETS for seed in SEEDS}


@pytest.fixture(scope="module")
def open_one(searches):
    """A certificate whose claim is about the leaves compared, but not about all leaves."""
    found = (one.certificate_ for one in searches.values())
    open_ones = (one for one in found if not one.settled)
    return next(one for one in open_ones if one.search.known_gap < one.search.gap and one.search.compared > 1)


# Which leaves were compared.


@pytest.mark.parametrize(
    ("upper", "epsilon", "grown", "kept"),
    [
        ([0.52] * 8 + [0.9, 1.0], 0.01, True, 8),  # leaves that entered last hide what is known
        ([0.52] * 8 + [0.9, 1.0], 0.5, True, 9),  # epsilon tolerates the ninth
        ([0.52] * 8 + [0.9, 1.0], 0.01, False, 9),  # a graph that does not grow has no last leaves
        ([0.9] + [0.52] * 9, 0.01, True, 10),  # an early rival is never left out
    ],
)
def test_leaves_that_entered_last_are_left_out_if_they_hide_what_is_known(upper, epsilon, grown, kept):
    found = compared_leaves(np.zeros(10, bool), np.array(upper), 0.5, epsilon, grown=grown)
    assert found.tolist() == [True] * kept + [False] * (10 - kept)


def test_evaluated_leaves_were_always_compared():
    exact, upper = np.array([False, False, False, True]), np.array([0.6, 1.0, 1.0, 1.0])
    assert compared_leaves(exact, upper, 1.0, 0.0, grown=True).tolist() == [True, False, False, True]


# The gap at the end.


def test_the_known_gap_is_never_all_that_is_possible(searches):
    unsettled = 0
    for (budget, seed), one in searches.items():
        found, claim = one.certificate_, one.certificate_.search
        assert claim.known_gap <= claim.gap
        if claim.compared > 1:
            assert claim.known_gap < 1 - one.score_, (budget, seed)
        unsettled += not found.settled
        assert verify(found), verify(found)
        assert verify(found, *table())
    assert unsettled >= 2  # otherwise there is nothing to test


def test_a_larger_budget_knows_more(searches):
    means = [np.mean([searches[budget, seed].certificate_.search.known_gap for seed in SEEDS]) for budget in BUDGETS]
    assert means[-1] <= EPSILON
    assert all(later <= earlier + EPSILON for earlier, later in pairwise(means))


def test_certificate_summary_and_warning_say_it_in_the_same_words(open_one):
    words, claim = unsettled_in_words(open_one), open_one.claims[0]
    assert words in claim
    assert claim in str(open_one)
    search, cost = open_one.search, open_one.cost
    assert f"Of the {len(search.leaves)} candidates (24 columns), {search.compared} were compared." in words
    with pytest.warns(ConvergenceWarning) as told:
        again = selector(max_samples=cost.samples + cost.exact_evaluations, random_state=search.seed).fit(*table())
    assert unsettled_in_words(again.certificate_) in str(told[-1].message)
    assert "ended the search before it was settled. " in str(told[-1].message)
    assert told[-1].filename == __file__


def test_an_arm_and_a_game_say_what_is_known_of_them():
    arm = best_arm(paper_lattice(), epsilon=0.001, delta=0.1, max_samples=400, seed=0)
    assert "All 20 leaves of the whole graph were compared. With" in arm.summary()
    assert "none of these shows that another arm is better by more than" in arm.summary()
    game = best_arm(random_game_tree(3, depth=3, branching=2), epsilon=0.001, delta=0.1, max_samples=50, seed=0)
    assert "Another arm of the whole graph (8 leaves) may be better by up to" in game.summary()
    assert game.known_gap == game.gap


def test_what_is_said_of_the_leaves_compared_holds():
    """At most delta of the searches may be wrong; with 40 of them, 3 standard deviations more are allowed."""
    problem, delta, runs, wrong, limited = paper_lattice(), 0.2, 40, 0, 0
    for seed in range(runs):
        found = best_leaf(problem, epsilon=0.001, delta=delta, expansion=0.8, max_samples=100 + 5 * seed, seed=seed)
        leaves, limited = found.leaves, limited + (found.known_gap < found.gap)
        exact, upper = np.array([one.exact for one in leaves]), np.array([one.upper for one in leaves])
        value = max((one.lower for one in leaves if one.terminal), default=0.0)
        compared = compared_leaves(exact, upper, value, 0.001, grown=True)
        assert compared.sum() == found.compared
        best = max(
            problem.mean(one.state) for one, there in zip(leaves, compared, strict=True) if there and one.terminal
        )
        wrong += best > problem.mean(found.answer) + found.known_gap + 1e-12
    assert limited > 0
    assert wrong <= runs * delta + 3 * (runs * delta * (1 - delta)) ** 0.5


# Growth that pauses.


def test_growth_pauses_only_near_the_end_of_a_budget():
    lattice = ScoreLattice([0.9, 0.5, 0.4, 0.2, 0.1, 0.0, 0.0, 0.0], 4)
    keywords = {"task": "leaf", "epsilon": 0.01, "delta": 0.1, "expansion": 0.8, "seed": 1}
    small, large = (Search(lattice, max_samples=most, **keywords) for most in (400, 800))
    small.run()
    large.run()
    assert small.growth.pause.begun
    assert small.result().growths < large.result().growths
    unlimited = Search(lattice, **{**keywords, "epsilon": 0.5})
    unlimited.run()
    assert not unlimited.growth.pause.begun


def test_a_budget_in_seconds_only_cuts_a_prefix(clock):
    lattice = ScoreLattice([0.9, 0.5, 0.4, 0.2, 0.1, 0.0, 0.0, 0.0], 4)
    keywords = {"task": "leaf", "epsilon": 0.0001, "delta": 0.1, "expansion": 0.8, "seed": 1}
    whole = Search(lattice, **keywords, max_samples=20_000)
    whole.growth.pause.before = lambda **cost: False
    whole.run()
    for tick in (0.001, 0.004, 0.02):
        clock.tick = tick
        search = Search(lattice, **keywords, max_time=1.0)
        search.run()
        states = search.state.graph.states
        assert states == whole.state.graph.states[: len(states)]


# Small answers.


def test_the_answer_is_small_when_a_budget_ends(searches):
    smaller = 0
    for one in searches.values():
        found, best = one.certificate_, one.evaluated_[0]
        assert one.score_ >= best.score - EPSILON
        if found.settled or found.search.known_gap <= EPSILON:
            continue
        close = [subset.size for subset in one.evaluated_ if subset.score >= best.score - EPSILON]
        assert len(one.subset_) == min(close)
        smaller += best.size > min(close)
    assert smaller


# While it runs.


def test_the_history_counts_leaves_and_does_not_jump(searches):
    for one in searches.values():
        for row in one.history_:
            assert 0 <= row["compared"] <= row["leaves"]
            if row["compared"] > 1 and row["score"] is not None:
                assert row["gap"] < 1
        if one.history_[-1]["score"] is not None:  # otherwise a value was computed after the search
            assert one.history_[-1]["gap"] == pytest.approx(one.certificate_.search.known_gap)


def test_at_most_half_of_what_is_known_is_left_out():
    assert compared_leaves(np.zeros(10, bool), np.array([0.501] * 2 + [0.9] * 8), 0.5, 0.0, grown=True).sum() >= 5


def test_growth_that_pauses_leaves_fewer_leaves_open(searches, monkeypatch):
    with monkeypatch.context() as changed:
        changed.setattr(Pause, "before", lambda self, **cost: False)
        without = [fitted(max_samples=budget).certificate_ for budget in BUDGETS[1:]]
    paused = [searches[budget, 0].certificate_ for budget in BUDGETS[1:]]
    assert np.mean([one.search.gap for one in paused]) < np.mean([one.search.gap for one in without])
    assert sum(one.settled for one in paused) >= sum(one.settled for one in without)
