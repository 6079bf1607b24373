"""How much of two workers a search uses: the same selection in this process, by joblib's processes and by Dask's.

All take the same samples, so the efficiency is the ratio of their times over 2. The machine itself may give two
processes less than twice what it gives one; so the same fits are also done by two processes that have nothing to do
with each other, and the efficiency is given as a share of that as well.
`python benchmarks/workers.py [SAMPLES [TREES]]`.
"""

from __future__ import annotations

import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from multiprocessing import get_context
from time import perf_counter
from typing import Any

import numpy as np
from joblib import parallel_config
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

from bestleaf import BestLeafSelector, EstimatorOracle, SearchOptions
from bestleaf.features import FeatureLattice
from bestleaf.features.estimator import ONE_THREAD
from bestleaf.search.executors import Joblib, exact_values

ESTIMATOR = RandomForestClassifier(int(sys.argv[2]) if len(sys.argv) > 2 else 20)
WORKERS = 2


def selection(samples: int, n_jobs: int | None) -> tuple[float, Any]:
    X, y = load_breast_cancer(return_X_y=True)
    selector = BestLeafSelector(
        choose="training",
        estimator=ESTIMATOR,
        epsilon=0.001,
        random_state=0,
        n_jobs=n_jobs,
        search=SearchOptions(max_samples=samples),
    )
    begun = perf_counter()
    selector.fit(X, y)
    return perf_counter() - begun, selector


def fit_time() -> float:
    """Return the seconds of one fit and score."""
    oracle = EstimatorOracle(*load_breast_cancer(return_X_y=True), estimator=ESTIMATOR)
    rng, begun = np.random.default_rng(0), perf_counter()
    for number in range(20):
        oracle.sample([number, number + 1, number + 7], rng)
    return (perf_counter() - begun) / 20


def fits_a_second(seconds: float) -> float:
    """Return how many fits and scores a second this process does."""
    with ONE_THREAD:
        oracle = EstimatorOracle(*load_breast_cancer(return_X_y=True), estimator=ESTIMATOR)
        rng, begun, done = np.random.default_rng(0), perf_counter(), 0
        while perf_counter() - begun < seconds:
            oracle.sample(rng.choice(30, 3, replace=False), rng)
            done += 1
    return done / seconds


def machine_ratio() -> float:
    """Return how much two processes on their own do together, by what one does."""
    with ProcessPoolExecutor(WORKERS, mp_context=get_context("spawn")) as pool:
        list(pool.map(fits_a_second, [0.5] * WORKERS))  # start and import
        alone = next(pool.map(fits_a_second, [5.0]))
        return sum(pool.map(fits_a_second, [5.0] * WORKERS)) / alone


def start_processes() -> None:
    """Let joblib's processes start and import what they need."""
    lattice = FeatureLattice(EstimatorOracle(*load_breast_cancer(return_X_y=True), estimator=ESTIMATOR))
    Joblib(WORKERS).map(exact_values, lattice, [(number, -1) for number in range(8)])


def main(samples: int) -> None:
    warnings.simplefilter("ignore")
    possible = machine_ratio()
    print(f"one fit and score: {1000 * fit_time():.1f} ms; {samples} samples")
    print(f"two processes on their own do {possible:.2f} times the fits of one")
    start_processes()
    alone, expected = selection(samples, 1)
    print(f"this process       {alone:6.1f} s")
    ways: dict[str, Any] = {"joblib, 2 processes": (nullcontext(), WORKERS)}
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        print("no Dask: pip install 'bestleaf[dask]'")
    else:
        cluster = LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None)
        client = Client(cluster)
        client.run(_import_all)
        ways["Dask, 2 workers    "] = (parallel_config("dask", client=client), None)
    for name, (context, n_jobs) in ways.items():
        with context:
            seconds, found = selection(samples, n_jobs)
        same = found.certificate_.search == expected.certificate_.search
        ratio = alone / seconds
        shares = f"efficiency {ratio / WORKERS:.0%}, {ratio / possible:.0%} of what the machine gives"
        print(f"{name} {seconds:6.1f} s, ratio {ratio:.2f}, {shares}, same answer: {same}")


def _import_all() -> None:
    import sklearn.ensemble  # noqa: F401

    import bestleaf.selection.selector  # noqa: F401


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 600)
