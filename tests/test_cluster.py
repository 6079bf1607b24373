"""A real Dask scheduler with worker processes on loopback."""

from __future__ import annotations

import os
import signal
import threading

import pytest
from joblib import parallel_config
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB

from bestleaf import Search, problems, verify
from bestleaf.search.ask_tell import Inside
from bestleaf.search.executors import Dask, draw_samples, executor_for
from selecting import made_selector

distributed = pytest.importorskip("distributed")

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # what Dask and its sockets say is their own affair
    pytest.mark.slow,
]
SETTINGS = {"estimator": GaussianNB(), "epsilon": 0.05, "max_samples": 250, "random_state": 0}


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as found:
        yield found


@pytest.fixture
def client(cluster):
    cluster.scale(2)
    with distributed.Client(cluster) as found:
        found.wait_for_workers(2)
        yield found


@pytest.fixture(scope="module")
def table():
    return make_classification(120, 10, n_informative=3, shuffle=False, random_state=0)


@pytest.fixture(scope="module")
def alone(table):
    return made_selector(choose="training", **SETTINGS).fit(*table)


def same(one, other):
    left, right = one.certificate_, other.certificate_
    costs = [(found.cost.samples, found.cost.exact_evaluations) for found in (left, right)]
    return costs[0] == costs[1] and left.search == right.search and left.features == right.features


def test_a_cluster_gives_the_same_answer_as_this_process(client, table, alone):
    with parallel_config("dask"):
        assert isinstance(executor_for(None, "processes"), Dask)
        found = made_selector(choose="training", **SETTINGS).fit(*table)
    assert same(found, alone)


def test_the_problem_is_sent_once(client):
    sent = []
    executor, problem = Dask(client), problems.paper_lattice()
    scatter = client.scatter
    client.scatter = lambda *args, **keywords: sent.append(args) or scatter(*args, **keywords)
    items = [((0, 1, 2), (0, number)) for number in range(10)]
    for _ in range(5):
        assert executor.map(draw_samples, problem, items) == draw_samples(problem, items)
    assert len(sent) == 1


def test_a_worker_that_is_killed_changes_nothing(client, table, alone):
    class Killing(Dask):
        batches = 0

        def map(self, work, problem, items):
            self.batches += 1
            if self.batches == 3:
                victim = next(iter(self.client.run(os.getpid).values()))
                threading.Timer(0.02, os.kill, (victim, signal.SIGKILL)).start()
            return super().map(work, problem, items)

    found = made_selector(choose="training", **SETTINGS)
    executor = Killing(client)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bestleaf.selection.searched.executor_for", lambda n_jobs, prefer: executor)
        found.fit(*table)
    assert executor.batches > 5
    assert same(found, alone)


@pytest.fixture
def empty():
    """A cluster without workers, in this process."""
    keywords = {"processes": False, "protocol": "tcp", "dashboard_address": None, "host": "127.0.0.1"}
    with distributed.LocalCluster(n_workers=0, threads_per_worker=1, **keywords) as found:
        yield found


ITEMS = [((0, 1, number % 4 + 2), (7, number)) for number in range(16)]
ENDLESS = {"task": "leaf", "epsilon": 0.0001, "delta": 0.1, "seed": 0, "batch_size": 16, "max_time": 60}


def test_a_worker_that_comes_late_is_waited_for_with_a_message(empty):
    class Late(Dask):
        """A worker starts once none was found."""

        def count(self):
            found = super().count()
            empty.scale(1)
            return found

    problem = problems.paper_lattice()
    words = "no worker is left on the Dask cluster; waiting up to 60 s"
    with distributed.Client(empty) as client, pytest.warns(RuntimeWarning, match=words):
        assert Late(client).map(draw_samples, problem, ITEMS) == draw_samples(problem, ITEMS)


@pytest.mark.parametrize("lost", ["workers", "scheduler"])
def test_without_workers_a_search_ends_with_what_it_has_and_a_reason_of_its_own(empty, lost):
    class Leaving(Dask):
        """All workers, or the scheduler, are lost after three batches."""

        batches = 0

        def map(self, work, problem, items):
            self.batches += 1
            if self.batches == 4:
                leave = empty.close if lost == "scheduler" else lambda: empty.scale(0)
                leave()
            return super().map(work, problem, items)

    problem = problems.ScoreLattice([0.0] * 6, 3)  # all leaves tie: it never ends by itself
    with distributed.Client(empty) as client:
        empty.scale(1)
        client.wait_for_workers(1)
        found = Search(problem, **ENDLESS, inside=Inside(Leaving(client, patience=0.5))).run()
        assert found.reason == "exhausted"  # it does not wait for the end of max_time
        assert found.samples > 0
        assert verify(found.certificate)
