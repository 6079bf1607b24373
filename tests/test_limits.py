"""Time, memory and Ctrl-C: limits hold wherever a search may spend long."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import tracemalloc
from functools import partial

import numpy as np
import pytest
from numba.core import event
from sklearn.exceptions import ConvergenceWarning
from sklearn.naive_bayes import GaussianNB

from bestleaf import BestLeafSelector, Rate, Search, SearchOptions, best_arm, best_leaf, verify
from bestleaf.engine import compile as compiler
from bestleaf.engine.graph import AbsentParents, GrowingGraph
from bestleaf.features import FeatureLattice
from bestleaf.features.estimator import expected_seconds
from bestleaf.features.neighbours import KNNOracle
from bestleaf.features.votes import Votes
from bestleaf.problems import ScoreLattice
from bestleaf.search.ask_tell import Inside
from bestleaf.search.executors import Joblib, Serial, draw_samples

IGNORING = """
import os, signal
from bestleaf import best_arm
from bestleaf.problems import ScoreLattice
signal.signal(signal.SIGINT, signal.SIG_IGN)
presses = []

def press_three_times(progress):
    os.kill(os.getpid(), signal.SIGINT)
    presses.append(progress)
    return len(presses) == 3  # ends the search

endless = ScoreLattice([0.0] * 8, 4)
print(best_arm(endless, epsilon=0, delta=0.1, expansion=0.3, callback=press_three_times).reason, len(presses))
print(signal.getsignal(signal.SIGINT) == signal.SIG_IGN)
"""

GENES = """
import resource, warnings
import numpy as np
from bestleaf import BestLeafSelector
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X, y = rng.integers(-1, 2, (73, 325)) * 2.0, rng.integers(0, 2, 73)
X[:, :4] += 2 * y[:, None]
BestLeafSelector(choose="training", max_time=0.5, random_state=0).fit(X[:, :20], y)  # compiled, and all imported
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
BestLeafSelector(choose="training", epsilon=0.001, max_time=20, random_state=0).fit(X, y)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_search_started_with_ctrl_c_ignored_goes_on_ignoring_it():
    done = subprocess.run([sys.executable, "-c", IGNORING], capture_output=True, text=True, timeout=60, check=False)
    reason, presses, ignored = done.stdout.split()
    assert (reason, ignored) == ("interrupted", "True"), done.stderr[-500:]
    assert int(presses) >= 3


class Endless:
    """Two chains without an end; a clock moves on by a millisecond for every state."""

    def __init__(self, clock):
        self.clock, self.asked = clock, 0

    def root(self):
        return 0

    def children(self, state):
        return [state + 2] if state else [1, 2]

    def is_terminal(self, state):
        self.asked += 1
        self.clock.advance(0.001)
        return False

    def sample(self, state, rng):
        return rng.random()


class Doubling(Endless):
    """A binary tree of two million nodes."""

    def children(self, state):
        return [2 * state + 1, 2 * state + 2]

    def is_terminal(self, state):
        super().is_terminal(state)
        return state >= 2**20 - 1


@pytest.mark.parametrize(
    ("shape", "limit", "states"),
    [(Endless, {"max_time": 5.0}, 5_000), (Doubling, {"max_memory": 20_000_000}, 20_000)],
)
def test_a_whole_graph_that_takes_too_long_or_too_much_memory_is_refused_in_time(shape, limit, states, clock):
    problem = shape(clock)
    words = f"{next(iter(limit))}=.* is not enough to build and search the whole graph"
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=words):
            best_arm(problem, epsilon=0.1, delta=0.1, seed=0, **limit)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()
    assert 0 < problem.asked <= states


class Crowd(Endless):
    """A root with three children; the best of them has twenty thousand."""

    def children(self, state):
        return [1, 2, 3] if state == 0 else range(4, 20_000)

    def is_terminal(self, state):
        super().is_terminal(state)
        return state > 1

    def sample(self, state, rng):
        return float(state not in (2, 3))


def test_a_choice_that_opens_with_very_many_children_looks_at_the_clock(clock):
    problem = Crowd(clock)
    found = best_leaf(problem, epsilon=0.1, delta=0.1, seed=0, expansion=0.5, max_time=1.5)
    assert found.reason == "max_time"
    assert 1500 <= problem.asked <= 1500 + 256  # it looks once for 256 children


@pytest.mark.parametrize("order", range(3))
def test_the_links_of_a_subset_do_not_depend_on_how_its_children_are_found(order):
    rng = np.random.default_rng(order)
    lattice = FeatureLattice(KNNOracle(rng.normal(size=(60, 40)), rng.integers(0, 2, 60)), max_features=5)
    plain = FeatureLattice(lattice.oracle, max_features=5)
    plain.family = partial(AbsentParents, plain)
    graphs = [GrowingGraph.opening(one, with_children=False) for one in (lattice, plain)]
    for _ in range(400):
        for step in lattice.path_to(lattice.complete((), rng)):
            for graph in graphs:
                if step not in graph.node_of:
                    graph.add(step)
    one, other = graphs
    assert (one.nodes[: len(one)] == other.nodes[: len(other)]).all()
    for node in range(len(one)):
        assert one.linked("child", node).tolist() == other.linked("child", node).tolist()


def test_rave_sums_never_take_more_than_a_fixed_memory(monkeypatch):
    monkeypatch.setattr("bestleaf.features.rollouts.MOST_SUMS", 10**6)
    rng = np.random.default_rng(0)
    lattice = FeatureLattice(KNNOracle(rng.normal(size=(60, 500)), rng.integers(0, 2, 60)))
    few = lattice.compiled_oracle(rng)
    for node in range(200):
        few.add(node, (node,))
        few.warm_up(node, 1)
    assert 0 < few.memory <= 10**6
    assert few.global_rave_sums[:, 1].sum() >= 200 > few.memory // (8 * 1501)  # later nodes count in total only


class Slow(ScoreLattice):
    """Every sample takes a twentieth of a simulated second; the eighth may press Ctrl-C.

    From then on samples wait a moment for the search to notice, because threads could draw them all meanwhile.
    """

    def __init__(self, clock, *, pressed=False):
        super().__init__([0.1, 0.2, 0.3, 0.4], 2)
        self.clock, self.pressed, self.drawn, self.noticed = clock, pressed, 0, threading.Event()

    def sample(self, state, rng):
        self.drawn += 1
        if self.drawn > 8:
            self.noticed.wait(0.1)
        elif self.drawn == 8 and self.pressed:
            os.kill(os.getpid(), signal.SIGINT)
        self.clock.advance(0.05)
        return super().sample(state, rng)


SLOW = {"task": "leaf", "epsilon": 0.01, "delta": 0.1, "seed": 0, "batch_size": 200}


@pytest.mark.parametrize("executor", [Serial(), Joblib(2, "threads")])
@pytest.mark.parametrize("ends", ["max_time", "interrupted"])
def test_a_batch_is_left_when_time_is_over_and_nothing_of_it_counts(executor, ends, clock):
    problem = Slow(clock, pressed=ends == "interrupted")
    search = Search(problem, **SLOW, inside=Inside(executor), max_time=0.39 if ends == "max_time" else 60)
    over = executor.over
    executor.until(lambda: over() and (problem.noticed.set() or True))
    found = search.run()
    assert 8 <= problem.drawn < (9 if type(executor) is Serial else 100)  # of 200
    assert (found.reason, found.samples) == (ends, 0)
    assert search.state.requests == 0


@pytest.mark.slow
def test_a_small_table_takes_a_few_hundred_megabytes_at_most():
    """The table has the shape of gene expressions in three values, on which a search once took gigabytes."""
    made = subprocess.run([sys.executable, "-c", GENES], capture_output=True, text=True, timeout=120, check=False)
    before, after = map(int, made.stdout.split())
    assert after - before < 400_000, f"{(after - before) // 1000} MB"


def test_a_graph_that_takes_too_much_memory_ends_the_search(monkeypatch):
    monkeypatch.setattr("bestleaf.selection.searched.ROOM", 300_000)
    rng = np.random.default_rng(0)
    selector = BestLeafSelector(choose="training", epsilon=0.0, random_state=0)
    with pytest.warns(ConvergenceWarning, match="The memory for the graph, 256 MB, .* ended the search"):
        selector.fit(rng.normal(size=(60, 30)), rng.integers(0, 2, 60))
    assert selector.certificate_.reason == "exhausted"
    assert verify(selector.certificate_)


def test_the_time_that_data_take_counts(clock):
    class Remote:
        """Rows that take half a second to arrive."""

        shape = (60, 30)

        def __array__(self, dtype=None, copy=None):
            clock.advance(0.5)
            return rng.normal(size=self.shape)

    rng = np.random.default_rng(0)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        selector = BestLeafSelector(
            choose="training", max_time=0.4, random_state=0, search=SearchOptions(guarantee="grown")
        ).fit(Remote(), rng.integers(0, 2, 60))
    assert selector.certificate_.cost.samples == 0
    assert selector.certificate_.cost.exact_evaluations == 1  # so that something can be said


def test_compiling_does_not_count(clock, monkeypatch):
    class Slowly(event.Listener):
        """Every compilation takes a hundred simulated seconds."""

        def on_start(self, event):
            clock.advance(100)

        def on_end(self, event):
            pass

    monkeypatch.setattr(compiler, "perf_counter", clock)
    monkeypatch.setattr(event, "timer", clock)  # what numba measures its compiler by
    begun, before = clock.now, compiler.clock()

    @Rate
    def fresh(count, delta, leaves):
        return float(count + leaves)

    with event.install_listener("numba:compile", Slowly()):
        assert fresh.part.address
    assert clock.now - begun >= 100
    assert compiler.clock() == pytest.approx(before)


def test_a_search_ends_cleanly_when_the_first_choice_is_interrupted():
    rng = np.random.default_rng(0)
    lattice = FeatureLattice(KNNOracle(rng.normal(size=(60, 30)), rng.integers(0, 2, 60)))
    search = Search(lattice, task="leaf", epsilon=0.01, delta=0.1, expansion=0.5, seed=0)

    def interrupted(state):
        raise KeyboardInterrupt

    lattice.exact = interrupted
    search.finish()
    del lattice.exact
    assert search.state.reason == "interrupted"
    search.ensure_value()
    assert any(leaf.exact for leaf in search.result().leaves)


def test_a_selector_ends_within_a_fit_and_answers_from_the_fits_there_were(clock):
    fits = []

    class Dozing(GaussianNB):
        """A fit that takes a fifth of a simulated second."""

        def fit(self, X, y, sample_weight=None):
            fits.append(clock.advance(0.2))
            return super().fit(X, y)

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 12)), np.repeat([0, 1], 40)
    selector = BestLeafSelector(
        choose="training",
        estimator=Dozing(),
        max_time=0.7,
        random_state=0,
        n_jobs=1,
        search=SearchOptions(guarantee="grown"),
    )
    with pytest.warns(ConvergenceWarning, match="max_time"):
        selector.fit(X, y)
    assert len(fits) == 4  # the fifth would begin too late; a batch has 32
    assert len(selector.subset_) > 0
    assert selector.score_interval_ == (0.0, 1.0)
    assert 0 < selector.score_ < 1
    assert verify(selector.certificate_)


@pytest.mark.parametrize("choose", ["new_data", "training"])
@pytest.mark.parametrize("moment", ["checked_fit_data", "fingerprint", "Fit", "searched", "chosen"])
def test_ctrl_c_at_any_moment_of_a_fit_gives_the_answer_known_so_far(monkeypatch, choose, moment):
    if moment == {"new_data": "searched", "training": "chosen"}[choose]:
        pytest.skip("the other way to find columns")
    home = f"bestleaf.selection.{'fit' if moment in ('fingerprint', 'Fit') else 'selector'}"
    work = getattr(sys.modules[home], moment)

    def pressed(*given, **named):
        os.kill(os.getpid(), signal.SIGINT)
        return work(*given, **named)

    monkeypatch.setattr(f"{home}.{moment}", pressed)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 20)), rng.integers(0, 2, 60)
    before = signal.getsignal(signal.SIGINT)
    with pytest.warns(ConvergenceWarning, match="Ctrl-C"):
        selector = BestLeafSelector(choose=choose, epsilon=0.0, random_state=0).fit(X, y)
    assert selector.certificate_.reason == "interrupted"
    assert selector.n_features_ == (20 if choose == "new_data" else selector.support_.sum())
    assert verify(selector.certificate_)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_value_given_up_midway_leaves_no_trace(clock, monkeypatch):
    """Time ends in the middle of a value: it counts for nothing; the values are the first of a longer search."""
    monkeypatch.setattr("bestleaf.features.votes.A_PIECE", 1)  # a piece is a row
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8))
    y = X[:, 0] + X[:, 1] + rng.normal(size=60)
    plain = Votes._computed

    def slowly(self, features, queries):
        clock.advance(0.1 if len(queries) == 1 else 0.0)
        return plain(self, features, queries)

    monkeypatch.setattr(Votes, "_computed", slowly)

    def search(max_time):
        lattice = FeatureLattice(KNNOracle(X, y, task="regression"))
        found = Search(lattice, task="leaf", epsilon=0.05, delta=0.1, expansion=0.3, seed=0, max_time=max_time)
        found.finish()
        return found

    whole = search(500.0)
    for seconds in (3.0, 20.0, 50.0):
        short = search(seconds)
        assert short.reason == "max_time"
        assert short.budget.seconds < seconds + 0.5
        assert len(short.state.values) == int(seconds / 6.0)  # the last one was given up
        assert list(short.state.values.items()) == list(whole.state.values.items())[: len(short.state.values)]


def test_without_time_for_one_value_the_answer_has_a_rough_one(monkeypatch):
    monkeypatch.setattr("bestleaf.search.evaluator.LATE", 0.0)
    monkeypatch.setattr("bestleaf.features.votes.A_PIECE", 1)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8))
    selector = BestLeafSelector(
        choose="training", max_time=1e-6, random_state=0, search=SearchOptions(guarantee="grown")
    )
    with pytest.warns(ConvergenceWarning, match="max_time"):
        selector.fit(X, X[:, 0] + rng.normal(size=60))
    assert selector.certificate_.cost.exact_evaluations == 0
    assert 0 < selector.score_ < 1
    assert selector.score_interval_ == (0.0, 1.0)
    assert verify(selector.certificate_)


def test_a_fit_that_would_end_far_too_late_is_not_begun():
    class Scores(ScoreLattice):
        def sample(self, state, rng):
            begun.append(state)
            return 0.5

        def seconds(self, item):
            return 3.0

    begun, problem = [], Scores([0.5] * 4, 2)
    executor, left = Serial(), iter([9.0, 3.0, 2.0])
    executor.until(lambda: False, lambda: next(left))
    assert executor.map(draw_samples, problem, [((number,), 0) for number in range(5)]) == [0.5, 0.5]
    assert (begun, executor.ended) == ([(0,), (1,)], "max_time")


@pytest.mark.parametrize(("power", "fixed"), [(1.0, 0.0), (1.5, 0.0), (1.0, 2.0)])
def test_the_time_of_a_fit_follows_from_smaller_ones(power, fixed):
    took = [fixed + 1e-4 * rows**power for rows in (100, 400)]
    assert expected_seconds(10_000, (100, 400), took) == pytest.approx(fixed + 1e-4 * 10_000**power)
