"""A useful answer whenever a budget ends: the gap of the leaves looked at, growth that pauses, small answers."""

from __future__ import annotations

import copy
import re
import warnings
from itertools import pairwise

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from bestleaf import Search, best_arm, best_leaf, verify
from bestleaf.certificate.claims import unsettled_in_words
from bestleaf.certificate.searched import looked_at, looked_at_in
from bestleaf.problems import ScoreLattice, paper_lattice, random_game_tree
from bestleaf.search.growth.pausing import Pause
from forging import judged, reworded, rewritten
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
    """A certificate whose claim is about the leaves looked at, but not about all leaves."""
    found = (one.certificate_ for one in searches.values())
    return next(one for one in found if one.known_gap < one.gap and not one.settled and one.looked_at > 1)


# Which leaves were looked at.


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
    found = looked_at(np.zeros(10, bool), np.array(upper), 0.5, epsilon, grown=grown)
    assert found.tolist() == [True] * kept + [False] * (10 - kept)


def test_evaluated_leaves_were_always_looked_at():
    exact, upper = np.array([False, False, False, True]), np.array([0.6, 1.0, 1.0, 1.0])
    assert looked_at(exact, upper, 1.0, 0.0, grown=True).tolist() == [True, False, False, True]


# The gap at the end.


def test_the_known_gap_is_never_all_that_is_possible(searches):
    unsettled = 0
    for (budget, seed), one in searches.items():
        found = one.certificate_
        assert found.known_gap <= found.gap
        if found.looked_at > 1:
            assert found.known_gap < 1 - found.score, (budget, seed)
        unsettled += not found.settled
        assert verify(found), verify(found)
        assert verify(found, *table())
    assert unsettled >= 2  # otherwise there is nothing to test


def test_a_larger_budget_knows_more(searches):
    means = [np.mean([searches[budget, seed].certificate_.known_gap for seed in SEEDS]) for budget in BUDGETS]
    assert means[-1] <= EPSILON
    assert all(later <= earlier + EPSILON for earlier, later in pairwise(means))


def test_certificate_summary_and_warning_say_it_in_the_same_words(open_one):
    claim = open_one.claims[0]
    words = unsettled_in_words(open_one.content)
    assert claim.startswith("Not settled among the ")
    assert f"). {words}" in claim
    assert claim in str(open_one)
    found = re.match(
        r"Of the (\d+) candidates \(24 features\), (\d+) were compared\. (?:It is certain that|"
        r"With probability at least 1 - 0\.05) none of these is better(?: by more than ([\d.]+))?\. The other (\d+) "
        r"were not compared, or not often enough: they may be better by up to ([\d.]+)\.",
        words,
    )
    assert found, words
    leaves, looked, limit, rest, most = found.groups()
    assert int(leaves) == len(open_one.leaves) == int(looked) + int(rest)
    assert int(looked) == open_one.looked_at
    assert 0 <= float(limit or 0) - open_one.known_gap < 1e-4 or open_one.known_gap <= 0
    assert float(most) == pytest.approx(open_one.gap, abs=1e-4)
    budget = open_one.samples + open_one.exact_evaluations
    with pytest.warns(ConvergenceWarning) as told:
        again = selector(max_samples=budget, random_state=open_one.seed).fit(*table())
    assert unsettled_in_words(again.certificate_.content) in str(told[-1].message)
    assert "ended the search before it was settled. " in str(told[-1].message)


def test_an_arm_and_a_game_say_what_is_known_of_them():
    arm = best_arm(paper_lattice(), epsilon=0.001, delta=0.1, max_samples=400, seed=0)
    assert "All 20 leaves of the whole graph were compared. With" in arm.summary()
    assert "none of these shows that another arm is better by more than" in arm.summary()
    game = best_arm(random_game_tree(3, depth=3, branching=2), epsilon=0.001, delta=0.1, max_samples=50, seed=0)
    assert "Another arm of the whole graph (8 leaves) may be better by up to" in game.summary()
    assert game.known_gap == game.gap


def test_the_result_and_its_certificate_agree():
    for seed in range(10):
        found = best_leaf(paper_lattice(), epsilon=0.01, delta=0.1, expansion=0.7, max_samples=300, seed=seed)
        assert found.certificate.known_gap == pytest.approx(found.known_gap)
        assert found.certificate.looked_at == found.looked_at
        assert verify(found.certificate)


def test_what_is_said_of_the_leaves_looked_at_holds():
    """At most delta of the searches may be wrong; with 40 of them, 3 standard deviations more are allowed."""
    problem, delta, runs, wrong, limited = paper_lattice(), 0.2, 40, 0, 0
    for seed in range(runs):
        found = best_leaf(problem, epsilon=0.001, delta=delta, expansion=0.8, max_samples=100 + 5 * seed, seed=seed)
        content = found.certificate.content
        limited += found.known_gap < found.gap
        looked = looked_at_in(content)
        states = [leaf.state for leaf in found.leaves if leaf.terminal]
        nodes = [leaf["node"] for leaf in content["leaves"] if leaf["terminal"]]
        best = max(problem.mean(state) for state, node in zip(states, nodes, strict=True) if node in looked)
        wrong += best > problem.mean(found.answer) + found.known_gap + 1e-12
    assert limited > 0
    assert wrong <= runs * delta + 3 * (runs * delta * (1 - delta)) ** 0.5


# Forgeries.


@pytest.mark.parametrize("name", ["known_gap", "looked_at"])
def test_forged_numbers_are_refused(open_one, name):
    forged = copy.deepcopy(open_one.content)
    forged[name] = len(open_one.leaves) if name == "looked_at" else open_one.known_gap - 0.001
    assert f"{name!r} of the answer follows from the leaves" in str(judged(reworded(forged)))


def test_words_that_do_not_follow_are_refused(open_one):
    forged = copy.deepcopy(open_one.content)
    forged["claims"][0]["epsilon"] /= 2
    assert "claim 1 is not the one that follows" in str(judged(forged))


def test_a_leaf_that_was_not_looked_at_cannot_be_sold_as_one(open_one):
    forged = copy.deepcopy(open_one.content)
    for leaf in forged["leaves"]:
        if leaf["upper"] == 1 and not leaf["exact"]:
            leaf["upper"] = 0.9
    assert not judged(rewritten(forged))


def test_a_certificate_of_an_earlier_version_is_still_read(open_one):
    older = copy.deepcopy(open_one.content)
    del older["known_gap"], older["looked_at"]
    verdict = judged(reworded(older))
    assert verdict
    assert "may be better by up to" in str(verdict)


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
        if found.settled or found.known_gap <= EPSILON:
            continue
        close = [subset.size for subset in one.evaluated_ if subset.score >= best.score - EPSILON]
        assert len(one.subset_) == min(close)
        if best.size > min(close):
            smaller += 1
            assert f"The best subset evaluated has {best.size} features and is better by" in found.claims[0]
    assert smaller


# While it runs.


def test_the_history_counts_leaves_and_does_not_jump(searches):
    for one in searches.values():
        for row in one.history_:
            assert 0 <= row["looked_at"] <= row["leaves"]
            if row["looked_at"] > 1 and row["score"] is not None:
                assert row["gap"] < 1
        if one.history_[-1]["score"] is not None:  # otherwise a value was computed after the search
            assert one.history_[-1]["gap"] == pytest.approx(one.certificate_.known_gap)


def test_at_most_half_of_what_is_known_is_left_out():
    assert looked_at(np.zeros(10, bool), np.array([0.501] * 2 + [0.9] * 8), 0.5, 0.0, grown=True).sum() >= 5


def test_growth_that_pauses_leaves_fewer_leaves_open(searches, monkeypatch):
    with monkeypatch.context() as changed:
        changed.setattr(Pause, "before", lambda self, **cost: False)
        without = [fitted(max_samples=budget).certificate_ for budget in BUDGETS[1:]]
    paused = [searches[budget, 0].certificate_ for budget in BUDGETS[1:]]
    assert np.mean([one.gap for one in paused]) < np.mean([one.gap for one in without])
    assert sum(one.settled for one in paused) >= sum(one.settled for one in without)
