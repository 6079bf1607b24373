"""Samples in batches: the same search, whoever draws them."""

from __future__ import annotations

import os
import signal
from threading import Timer
from time import sleep

import numpy as np
import pytest

from bestleaf import Search, best_arm, best_leaf, problems
from bestleaf.features import FeatureLattice
from bestleaf.features.neighbours import KNNOracle
from bestleaf.paper import load_linear
from bestleaf.search.ask_tell import Inside
from bestleaf.search.budget import deferred_interrupt
from bestleaf.search.executors import Joblib, Serial
from conftest import binomial_margin
from toys import worth

RUNS, DELTA = 60, 0.1


class Shuffled(Serial):
    """Works through its items in another order and puts the results back in order."""

    def map(self, work, problem, items):
        order = np.random.default_rng(len(items)).permutation(len(items))
        done = {int(place): work(problem, [items[place]])[0] for place in order}
        return [done[place] for place in range(len(items))]


def told(result):
    return result.answer, result.samples, result.exact_evaluations, result.gap, result.reason, result.leaves


@pytest.fixture(scope="module")
def lattice():
    X, y = load_linear(return_X_y=True)
    return FeatureLattice(KNNOracle(X[:120], y[:120], scale=False), max_features=3)


@pytest.mark.parametrize("executor", [Serial(), Shuffled(), Joblib(2, "threads"), Joblib(3, "threads")])
def test_the_answer_does_not_depend_on_who_draws(executor, lattice):
    keywords = {"epsilon": 0.05, "delta": 0.1, "bound": "betting", "expansion": 0.5, "seed": 3, "batch_size": 8}
    alone = Search(lattice, task="leaf", **keywords).run()
    shared = Search(lattice, task="leaf", **keywords, inside=Inside(executor)).run()
    assert told(alone) == told(shared)
    assert alone.reason == "settled"


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="signals cannot be blocked here")
def test_ctrl_c_ends_the_wait_for_processes():
    executor, long = Joblib(2), 40.0
    with deferred_interrupt() as interrupted:
        executor.until(interrupted)
        Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
        found = executor.map(lambda _, items: [sleep(one) or one for one in items], None, [0.0, long, long])
        assert interrupted()
    assert long not in found


class Deadly(problems.ScoreLattice):
    """Kills the process that draws a sample: once, which a file remembers, or always."""

    def __init__(self, file, *, always):
        super().__init__([0.1, 0.2, 0.3, 0.4], 2)
        self.file, self.always, self.home = file, always, os.getpid()

    def sample(self, state, rng):
        if os.getpid() != self.home and (self.always or not self.file.exists()):
            self.file.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().sample(state, rng)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="processes cannot be killed here")
def test_a_worker_that_is_killed_in_a_batch_changes_nothing(tmp_path):
    keywords = {"task": "leaf", "epsilon": 0.2, "delta": 0.1, "seed": 0, "batch_size": 20}
    problem = Deadly(tmp_path / "killed", always=False)
    alone = Search(problem, **keywords).run()
    assert told(Search(problem, **keywords, inside=Inside(Joblib(2))).run()) == told(alone)
    assert problem.file.exists()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="processes cannot be killed here")
def test_if_all_workers_are_killed_again_and_again_there_is_an_answer_and_one_warning(tmp_path):
    problem = Deadly(tmp_path / "killed", always=True)
    keywords = {"task": "leaf", "epsilon": 0.2, "delta": 0.1, "seed": 0, "batch_size": 20}
    with pytest.warns(RuntimeWarning) as warned:
        found = Search(problem, **keywords, inside=Inside(Joblib(2))).run()
    told_once = "all workers were lost 5 times in the same batch: the search ends with what it has found"
    assert [str(one.message) for one in warned] == [told_once]
    assert (found.reason, found.samples) == ("exhausted", 0)
    assert problem.is_terminal(found.answer)


@pytest.mark.slow
@pytest.mark.parametrize("task", ["arm", "leaf"])
@pytest.mark.parametrize("size", [4, 33])
def test_batched_answers_are_right_as_often_as_they_promise(task, size):
    wrong = 0
    for seed in range(RUNS):
        problem = problems.random_dag(seed, layers=3, width=5)
        search = best_arm if task == "arm" else best_leaf
        found = search(problem, epsilon=0.05, delta=DELTA, seed=seed, batch_size=size)
        wrong += worth(problem, found.answer) < worth(problem, problem.root()) - 0.05
    assert wrong <= binomial_margin(RUNS, DELTA)


def test_asking_and_telling_batches_is_the_search_itself():
    problem = problems.paper_lattice()
    keywords = {"task": "leaf", "epsilon": 0.1, "delta": 0.1, "seed": 4, "batch_size": 10}
    search = Search(problem, **keywords)
    while requests := search.ask_batch(10):
        values = {one: problem.sample(one.state, np.random.default_rng(one.seed)) for one in reversed(requests)}
        search.tell_batch([values[one] for one in requests])
    assert told(search.result()) == told(Search(problem, **keywords).run())


@pytest.mark.parametrize(
    ("keywords", "sentence"),
    [
        ({"batch_size": 0}, "batch_size must be a whole number of at least 1 or None, got 0"),
        ({"n_jobs": 2}, "n_jobs needs batch_size, the number of samples asked for at once, got n_jobs=2"),
        ({"max_memory": 0}, "max_memory must be a whole number of at least 1 or None, got 0"),
    ],
)
def test_bad_settings_are_refused_in_one_sentence(keywords, sentence):
    with pytest.raises(ValueError, match=sentence):
        Search(problems.paper_lattice(), epsilon=0.1, delta=0.1, **keywords)


def test_telling_without_asking_is_refused():
    search = Search(problems.paper_lattice(), epsilon=0.1, delta=0.1, seed=0, batch_size=2)
    with pytest.raises(RuntimeError, match="must follow an ask_batch"):
        search.tell_batch([0.5])
    search.ask_batch(2)
    with pytest.raises(ValueError, match="one for each of 2 requests, got 1"):
        search.tell_batch([0.5])


def test_a_sample_outside_the_unit_interval_is_refused():
    search = Search(problems.paper_lattice(), epsilon=0.1, delta=0.1, seed=0, batch_size=2)
    search.ask_batch(2)
    with pytest.raises(ValueError, match="must return a number in"):
        search.tell_batch([0.5, 1.5])


def test_a_graph_that_would_take_too_much_memory_ends_the_search(clock):
    clock.tick = 0.01
    found = best_leaf(
        problems.ScoreLattice(np.linspace(-1, 1, 30), 8),
        epsilon=0.001,
        delta=0.1,
        expansion=0.9,
        seed=0,
        max_memory=2_000_000,
        max_time=20,
    )
    assert found.reason == "exhausted"
    assert 0 < found.gap <= 1
