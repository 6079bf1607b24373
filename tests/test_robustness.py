"""What once went wrong where modules meet: signals, resumed searches, random states, rounding, metadata."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import LeaveOneOut
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from threadpoolctl import threadpool_info

from bestleaf import (
    BestLeafSelector,
    EstimatorOracle,
    Search,
    SearchOptions,
    best_arm,
    best_leaf,
    problems,
    verify,
)
from bestleaf.engine.bounds import BOUNDS
from bestleaf.features.estimator import ONE_THREAD, described
from bestleaf.paper import make_linear

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
MODEL = GaussianNB()


@pytest.fixture(scope="module")
def table():
    return make_classification(120, 8, n_informative=3, shuffle=False, random_state=0)


@pytest.mark.slow
def test_a_local_proof_is_about_the_answer():
    X, y = make_linear(80, 10, seed=1, return_X_y=True)
    for seed in range(6):
        found = BestLeafSelector(
            choose="training",
            parsimony=0,
            epsilon=0.05,
            max_features=4,
            random_state=seed,
            search=SearchOptions(guarantee="local", proposal="rave"),
        ).fit(X, y)
        assert verify(found.certificate_), seed


@pytest.mark.slow
def test_the_history_of_a_resumed_search_does_not_go_back(table, tmp_path):
    for budget in (150, 600):
        options = SearchOptions(max_samples=budget)
        settings = {"epsilon": 0.01, "random_state": 0, "memory": tmp_path / "run.db"}
        found = BestLeafSelector(MODEL, choose="training", **settings, search=options).fit(*table)
    assert verify(found.certificate_), str(verify(found.certificate_))


class Wide:
    """Thirty-nine leaves whose exact values are known."""

    def root(self):
        return 0

    def children(self, state):
        return range(1, 40)

    def is_terminal(self, state):
        return state > 0

    def exact(self, state):
        return state / 40

    def sample(self, state, rng):
        return state / 40


def test_asking_for_batches_ends_when_time_is_over(clock):
    asked = []

    class Slow(Wide):
        def exact(self, state):
            asked.append(clock.advance(0.03))
            return super().exact(state)

    search = Search(Slow(), task="leaf", epsilon=0.01, delta=0.1, seed=0, batch_size=4, max_time=0.1)
    assert search.ask_batch(4) == []
    assert search.state.reason == "max_time"
    assert len(asked) == 4  # of 39 leaves


def test_random_states_of_the_user_stay(table):
    X, y = table
    oracle = EstimatorOracle(X, y, estimator=RandomForestClassifier(3, random_state=42), random_state=7)
    assert oracle.estimator.random_state == 42
    free = EstimatorOracle(X, y, estimator=RandomForestClassifier(3), random_state=7)
    assert isinstance(free.estimator.random_state, int)


@pytest.mark.parametrize("scoring", ["average_precision", "roc_auc"])
def test_a_perfect_score_is_one_in_spite_of_rounding(scoring):
    for seed in range(10):
        X, y = make_classification(60, 4, n_redundant=0, class_sep=6, random_state=seed)
        assert 0 <= EstimatorOracle(X, y, estimator=LogisticRegression(), scoring=scoring).value([0, 1]) <= 1


@pytest.mark.parametrize(("bound", "epsilon"), [("theory", 0.5), ("beta1", 0.9), ("beta2", 0.1)])
def test_certificates_of_rates_that_reach_beyond_the_ends_hold(bound, epsilon):
    assert bound in BOUNDS
    for seed in range(5):
        mixed = problems.random_dag(seed, exact_share=0.4)
        for search in (best_arm, best_leaf):
            assert verify(
                search(problems.paper_lattice(), epsilon=epsilon, delta=0.1, bound=bound, seed=seed).certificate
            )
            if bound != "theory":
                assert verify(search(mixed, epsilon=epsilon, delta=0.1, bound=bound, seed=seed).certificate)


def test_targets_that_cannot_be_ranked_are_one_sentence():
    X, y = make_regression(30, 3, random_state=0)
    with pytest.raises(ValueError, match="scoring concordance cannot score Ridge on these data: concordance needs two"):
        EstimatorOracle(X, y, estimator=Ridge(), cv=LeaveOneOut()).value([0])


def test_the_last_thread_out_gives_the_libraries_their_threads_back():
    def threads():
        return [one["num_threads"] for one in threadpool_info()]

    before = threads()
    with ONE_THREAD:
        with ONE_THREAD:
            assert set(threads()) <= {1}
        assert set(threads()) <= {1}
    assert threads() == before


def test_a_description_has_no_addresses_and_is_not_shortened():
    model = make_pipeline(FunctionTransformer(np.log1p), RandomForestClassifier(n_estimators=7, max_depth=3))
    assert "0x" not in described(FunctionTransformer(lambda X: X))
    assert "..." not in described(make_pipeline(*[model] * 12))
    assert "max_depth=3" in described(model)


class Gaps(Wide):
    """Some leaves have no exact value."""

    def exact(self, state):
        return None if state % 7 == 0 else state / 80

    def sample(self, state, rng):
        return float(rng.random() < 0.1)

    def neighbours(self, state):
        return [one for one in range(1, 40) if one != state]

    def path_to(self, state):
        return [state]


@pytest.mark.parametrize("batch_size", [None, 8])
def test_a_challenger_without_a_value_means_that_nothing_is_claimed(batch_size):
    with pytest.warns(RuntimeWarning, match=r"guarantee local compares exact values, and \d+ has none"):
        found = best_leaf(
            Gaps(), epsilon=0.3, delta=0.1, seed=0, guarantee="local", batch_size=batch_size, expansion=None
        )
    assert found.certificate.local is None


INTERRUPTED = """
import os, signal, sys, threading
import numpy as np
from bestleaf import Search, problems
problem, rng = problems.ScoreLattice([0.0] * 6, 3), np.random.default_rng(0)  # all leaves tie: it never ends
for batch in (None, 8):
    search = Search(problem, task="leaf", epsilon=0, delta=0.1, seed=0, batch_size=batch)
    search.ask_batch(8) if batch else search.ask()
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        while True:
            if batch:
                search.tell_batch([problem.sample(one.state, rng) for one in search.ask_batch(8)])
            else:
                search.tell(problem.sample(search.ask(), rng))
    except KeyboardInterrupt:
        print("interrupted", batch)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_while_asking_and_telling_is_an_ordinary_exception():
    command = [sys.executable, "-c", INTERRUPTED]
    done = subprocess.run(command, timeout=120, check=False, capture_output=True, text=True)
    assert done.stdout == "interrupted None\ninterrupted 8\n", done.stderr[-500:]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_reaches_workers_without_losing_the_result(tmp_path):
    script = textwrap.dedent("""
        import os
        from joblib import parallel_config
        from sklearn.datasets import load_breast_cancer
        from sklearn.naive_bayes import GaussianNB
        from bestleaf import BestLeafSelector
        from bestleaf.search import executors

        class Telling(GaussianNB):
            def fit(self, X, y, sample_weight=None):
                if os.getpid() != here:
                    with open("fits", "a") as file:
                        file.write(".")
                return super().fit(X, y)

        here, executors.STARTING = os.getpid(), 0.001  # seconds of work done here before workers are started
        executors.WORTH_SHARING = 0  # workers pay, however short a fit is
        X, y = load_breast_cancer(return_X_y=True)
        settings = {"choose": "training", "random_state": 0, "memory": "run.db", "epsilon": 1e-4, "n_jobs": 2}
        selector = BestLeafSelector(Telling(), **settings)
        with parallel_config("loky"):
            selector.fit(X, y)
        print(selector.certificate_.reason, selector.certificate_.cost.samples > 0, flush=True)
    """)
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", script],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    fits = tmp_path / "fits"
    while process.poll() is None and (not fits.exists() or fits.stat().st_size < 100):
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert "interrupted True" in out, err[-1500:]
    assert (tmp_path / "run.db").exists()


def test_a_challenger_called_zero_without_a_value_does_not_keep_the_search_waiting(clock):
    clock.tick = 0.001  # so that a search that waits forever ends by max_time

    class FromNought(Gaps):
        def root(self):
            return -1

        def children(self, state):
            return range(6)

        def is_terminal(self, state):
            return state >= 0

        def exact(self, state):
            return None if state == 0 else state / 10

        def neighbours(self, state):
            return [one for one in range(6) if one != state]

    with pytest.warns(RuntimeWarning, match="0 has none"):
        found = best_leaf(FromNought(), epsilon=0.3, delta=0.1, seed=0, guarantee="local", max_time=20)
    assert found.reason == "settled"
