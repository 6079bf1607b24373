"""Problems whose samples and values are Python: the compiled loop calls them and survives what they do."""

import numpy as np
import pytest

from bestleaf import Search, best_arm


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
