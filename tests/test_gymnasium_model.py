"""Environments with a model as problems: with a small stand-in, and with Gymnasium where it is installed."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest

from bestleaf import best_arm, best_leaf, verify
from bestleaf.problems.gymnasium import END, GymnasiumModel
from bestleaf.testing import check_problem

NAME = "gymnasium"
installed = pytest.mark.skipif(find_spec(NAME) is None, reason="needs Gymnasium (pip install 'bestleaf[gymnasium]')")


def corridor(places=4, slip=0.0):
    """Return an environment: action 1 steps to the right for a reward of -1, the last place ends it with +3.

    Action 0 stays for -2. With probability `slip` a step stays where it is.
    """
    model = {}
    for place in range(places):
        right = min(place + 1, places - 1)
        step = (1.0 - slip, right, 3.0 if right == places - 1 else -1.0, right == places - 1)
        steps = [step, (slip, place, -1.0, False)] if slip else [step]
        model[place] = {0: [(0.5, place, -2.0, False), (0.5, place, -2.0, False)], 1: steps}
    start = np.zeros(places)
    start[0] = 1.0
    return SimpleNamespace(unwrapped=SimpleNamespace(P=model, initial_state_distrib=start))


def value_of(problem, state=None):
    """Return the value of a state by dynamic programming over all states."""
    known = {}

    def value(state):
        if state in known:
            return known[state]
        if problem.is_terminal(state):
            return problem.exact(state)
        below = [value(child) for child in problem.children(state)]
        chances = problem.chance(state) if hasattr(problem, "chance") else None
        known[state] = max(below) if chances is None else float(np.dot(chances, below))
        return known[state]

    return value(problem.root() if state is None else state)


def test_a_missing_library_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, NAME, None)
    with pytest.raises(ImportError, match=r"^GymnasiumModel needs gymnasium \(pip install 'bestleaf\[gymnasium\]'\)$"):
        GymnasiumModel("FrozenLake-v1")


def test_a_plan_is_found_and_its_return_is_told():
    problem = GymnasiumModel(corridor(), horizon=5)
    check_problem(problem, samples=50)
    assert (problem.low, problem.high) == (-10.0, 1.0)
    result = best_leaf(problem, epsilon=0, delta=0.1, seed=0)
    assert problem.actions(result.answer) == [1, 1, 1]
    assert result.answer == (3, 3, 1.0, END)
    assert problem.collected(result.lower) == 1.0
    assert verify(result.certificate)


def test_outcomes_that_are_the_same_are_one():
    problem = GymnasiumModel(corridor(), horizon=5)
    assert not hasattr(problem, "chance")  # action 0 has two equal outcomes
    assert problem.children(problem.root()) == [(1, 0, -2.0), (1, 1, -1.0)]


def test_states_are_shared_by_time_place_and_reward():
    problem = GymnasiumModel(corridor(), horizon=3)
    first_waits = problem.children((1, 0, -2.0))[1]
    first_goes = problem.children((1, 1, -1.0))[0]
    assert first_waits == first_goes == (2, 1, -3.0)


def test_the_horizon_ends_an_episode():
    problem = GymnasiumModel(corridor(), horizon=2)
    ends = [state for child in problem.children(problem.root()) for state in problem.children(child)]
    assert all(problem.is_terminal(state) and state[0] == 2 for state in ends)
    assert {problem.exact(state) for state in ends} == {0.0, 0.5, 1.0}


def test_rewards_are_discounted():
    problem = GymnasiumModel(corridor(), horizon=5, discount=0.5)
    result = best_leaf(problem, epsilon=0, delta=0.1, seed=0)
    assert problem.collected(result.lower) == pytest.approx(-1 - 0.5 + 0.25 * 3)


def test_samples_are_values_of_random_episodes():
    problem, rng = GymnasiumModel(corridor(3), horizon=2), np.random.default_rng(0)
    drawn = [problem.sample(problem.root(), rng) for _ in range(4000)]
    # returns -4, -3, -3 and 2 with equal probabilities, moved from [-4, 2]
    assert np.mean(drawn) == pytest.approx((0 + 1 / 6 + 1 / 6 + 1) / 4, abs=4 * np.std(drawn) / np.sqrt(4000))


def test_chance_is_averaged():
    problem = GymnasiumModel(corridor(slip=0.25), horizon=4)
    action = (0, 0, 0.0, 1)
    assert action in problem.children(problem.root())
    assert problem.children(action) == [(1, 1, -1.0), (1, 0, -1.0)]
    assert problem.chance(action) == [0.75, 0.25]
    assert problem.chance(problem.root()) is None
    result = best_arm(problem, epsilon=0, delta=0.1, seed=0)
    assert result.answer == action
    assert result.lower <= value_of(problem) + 1e-9 <= result.upper + 2e-9
    rng = np.random.default_rng(0)
    drawn = [problem.sample(action, rng) for _ in range(200)]
    assert 0 <= min(drawn) < max(drawn) <= 1
    plan = best_leaf(problem, epsilon=0, delta=0.1, seed=0).plan
    assert {problem.action(state, child) for state, child in plan.items()} == {1}
    assert problem.action((0, 0, 0.0), (1, 0, -2.0)) == 0
    with pytest.raises(ValueError, match=r"child must be one of those of \(0, 0, 0\.0\), got \(5, 0, 0\.0\)"):
        problem.action((0, 0, 0.0), (5, 0, 0.0))


BAD = [
    ({}, ValueError, "horizon must be given, because the environment has no limit of its own, got None"),
    ({"horizon": 0}, ValueError, "horizon must be a whole number of at least 1, got 0"),
    ({"horizon": 3, "start": 9}, ValueError, "start must be one of the 4 states of the environment, got 9"),
    ({"horizon": 3, "discount": 2}, ValueError, "discount must be between 0 and 1, got 2"),
    ({"horizon": 3, "is_slippery": True}, TypeError, "is_slippery needs the name of an environment"),
]


@pytest.mark.parametrize(("given", "kind", "words"), BAD)
def test_bad_arguments(given, kind, words):
    with pytest.raises(kind, match=words):
        GymnasiumModel(corridor(), **given)


def test_environments_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"env must have a model, the table env\.unwrapped\.P"):
        GymnasiumModel(SimpleNamespace(unwrapped=3), horizon=3)
    many = corridor()
    many.unwrapped.initial_state_distrib[:] = 0.25
    with pytest.raises(
        ValueError, match="start must be given, because the environment can start in 4 places, got None"
    ):
        GymnasiumModel(many, horizon=3)
    assert GymnasiumModel(many, horizon=3, start=1).root() == (0, 1, 0.0)
    wrong = corridor()
    wrong.unwrapped.P[0][1] = [(0.4, 1, 0.0, False)]
    with pytest.raises(ValueError, match=r"probabilities sum to 1, got 0\.4"):
        GymnasiumModel(wrong, horizon=3)
    same = SimpleNamespace(unwrapped=SimpleNamespace(P={0: {0: [(1.0, 0, 0.0, False)]}}))
    with pytest.raises(ValueError, match="horizon must be long enough for two different returns, got 3"):
        GymnasiumModel(same, horizon=3, start=0)


@installed
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "settings", "best", "actions"),
    [
        ("FrozenLake-v1", {"is_slippery": False, "horizon": 8, "discount": 0.9}, 0.9**5, 6),
        ("CliffWalking-v1", {"horizon": 13}, -13.0, 13),
    ],
)
def test_real_environments_are_solved(name, settings, best, actions):
    problem = GymnasiumModel(name, **settings)
    result = best_leaf(problem, epsilon=0, delta=0.1, seed=0)
    assert problem.collected(result.lower) == pytest.approx(best)
    assert len(problem.actions(result.answer)) == actions


@installed
@pytest.mark.filterwarnings("ignore")
def test_real_environments_that_are_refused():
    with pytest.raises(ValueError, match="env must be the name of an environment of Gymnasium, got 'Nowhere-v1'"):
        GymnasiumModel("Nowhere-v1")
    with pytest.raises(ValueError, match="env must have a model"):
        GymnasiumModel("CartPole-v1")
