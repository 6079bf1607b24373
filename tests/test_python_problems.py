"""Problems whose samples and values are Python: the compiled loop calls them and survives what they do."""

import numpy as np
import pytest

from bestleaf import Search, best_arm, best_leaf, verify
from bestleaf.testing import check_problem


class Slots:
    """Some machines; a sample says whether one pays."""

    MEANS = (0.2, 0.5, 0.9)

    def root(self):
        return "start"

    def children(self, state):
        return [] if state != "start" else list(range(len(self.MEANS)))

    def is_terminal(self, state):
        return state != "start"

    def sample(self, state, rng):
        return float(rng.random() < self.MEANS[state])


class Strange(Slots):
    """The tenth sample is whatever `tenth` returns or raises."""

    def __init__(self, tenth):
        self.asked, self.tenth = 0, tenth

    def sample(self, state, rng):
        self.asked += 1
        return self.tenth() if self.asked == 10 else super().sample(state, rng)


def raised(error):
    raise error


@pytest.mark.parametrize(
    ("tenth", "error", "words"),
    [
        (lambda: raised(RuntimeError("the machine is broken")), RuntimeError, "the machine is broken"),
        (lambda: raised(SystemExit(3)), SystemExit, "3"),
        (lambda: 1.5, ValueError, r"sample\(\d\) must return a number in \[0, 1\], got 1.5"),
        (lambda: float("nan"), ValueError, r"must return a number in \[0, 1\], got nan"),
        (lambda: "yes", TypeError, r"must return a number in \[0, 1\], got 'yes'"),
        (lambda: None, TypeError, "got None"),
    ],
)
def test_an_error_in_a_sample_is_the_users_error(tenth, error, words):
    search = Search(Strange(tenth), task="arm", epsilon=0.1, delta=0.1, seed=0)
    with pytest.raises(error, match=words):
        search.run()
    assert search.run().answer == 2  # the search is as it was before that sample


def test_ctrl_c_in_a_sample_ends_the_search():
    found = Search(Strange(lambda: raised(KeyboardInterrupt())), task="arm", epsilon=0.1, delta=0.1, seed=0).run()
    assert found.reason == "interrupted"
    assert found.samples == 9


@pytest.mark.parametrize("one", [np.float32(1.0), 1, True, np.bool_(0), np.array([1.0])])
def test_numbers_of_other_kinds_are_samples(one):
    assert best_arm(Strange(lambda: one), epsilon=0.1, delta=0.1, seed=0).answer == 2


class Many(Slots):
    """Thousands of leaves whose values are an array."""

    MEANS = np.random.default_rng(0).random(5000)

    def __init__(self):
        self.calls = []

    def exact(self, state):
        raise AssertionError("values are asked for together")

    def exact_many(self, states):
        self.calls.append(len(states))
        return self.MEANS[list(states)]


def test_values_of_thousands_of_leaves_are_asked_for_together():
    problem = Many()
    found = best_leaf(problem, epsilon=0.0, delta=0.1, seed=0)
    assert problem.calls == [5000]
    assert found.answer == Many.MEANS.argmax()
    assert found.exact_evaluations == 5000
    assert verify(found.certificate)


def test_values_asked_for_together_respect_the_budget_and_growth():
    problem = Many()
    found = best_leaf(problem, epsilon=0.0, delta=0.1, seed=0, max_samples=100)
    assert problem.calls == [100]
    assert found.reason == "max_samples"
    grown = best_leaf(Many(), epsilon=0.05, delta=0.1, seed=0, expansion=0.5)
    assert grown.gap <= 0.05


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda states: [0.5], "one number for each of the 5,000 states"),
        (lambda states: ["a"] * len(states), "exact_many must return numbers"),
        (lambda states: [0.5] * (len(states) - 1) + [2.0], r"got 2.0 for 4999"),
        (lambda states: [float("nan")] * len(states), r"got nan for 0"),
    ],
)
def test_wrong_values_of_many_are_one_sentence(wrong, words):
    problem = Many()
    problem.exact_many = wrong
    with pytest.raises((TypeError, ValueError), match=words):
        best_leaf(problem, epsilon=0.0, delta=0.1, seed=0)


def test_many_values_need_single_ones_beside_them():
    class Lacking(Slots):
        def exact_many(self, states):
            return [0.5] * len(states)

    with pytest.raises(TypeError, match="exact_many of a problem needs the method exact"):
        best_leaf(Lacking(), epsilon=0.1, delta=0.1)


def test_check_problem_compares_many_values_with_single_ones():
    class Liar(Slots):
        def exact(self, state):
            return self.MEANS[state]

        def exact_many(self, states):
            return [0.5] * len(states)

    with pytest.raises(AssertionError, match="exact_many"):
        check_problem(Liar())
