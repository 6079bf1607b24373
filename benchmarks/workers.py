"""How much of two workers a search uses: the same selection in this process, by joblib's processes, by Dask and by Ray.

All take the same samples. The machine itself may give two processes less than twice what it gives one; so the same fits
are also done by two processes that have nothing to do with each other.
`python benchmarks/workers.py [TREES [SAMPLES...]]`; the default is 20 trees, 60 and 400 samples.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
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

ESTIMATOR = RandomForestClassifier(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
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


def ways() -> Iterator[tuple[str, Any, int | None]]:
    """Yield the ways to share fits out: the name, a function that returns a context, and `n_jobs`."""
    yield "this process", nullcontext, 1
    yield "joblib, 2 processes", nullcontext, WORKERS
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        print("no Dask: pip install 'bestleaf[dask]'")
    else:
        with LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None) as cluster:
            client = Client(cluster)
            client.run(_import_all)
            yield "Dask, 2 workers", lambda: parallel_config("dask", client=client), None
            client.close()
    try:
        import ray
        from ray.util.joblib import register_ray
    except ImportError:
        print("no Ray: pip install ray")
    else:
        register_ray()
        ray.init(num_cpus=WORKERS, include_dashboard=False, log_to_driver=False)
        yield "Ray, 2 workers", lambda: parallel_config("ray"), WORKERS
        ray.shutdown()


def compare(numbers: Sequence[int]) -> None:
    """Print the seconds of every way for each number of samples, and whether its answer is that of this process."""
    alone: dict[int, tuple[float, Any]] = {}
    for name, context, n_jobs in ways():
        for samples in numbers:
            with context():
                seconds, found = selection(samples, n_jobs)
            leaves = found.certificate_.search.leaves
            alone.setdefault(samples, (seconds, leaves))
            ratio, same = alone[samples][0] / seconds, leaves == alone[samples][1]
            drawn = found.certificate_.cost.samples
            print(
                f"{name:20}{samples:5} samples ({drawn} drawn) {seconds:6.1f} s, ratio {ratio:.2f}, same answer: {same}"
            )


def main(numbers: Sequence[int]) -> None:
    warnings.simplefilter("ignore")
    print(f"one fit and score: {1000 * fit_time():.1f} ms")
    print(f"two processes on their own do {machine_ratio():.2f} times the fits of one")
    start_processes()
    compare(numbers)


def _import_all() -> None:
    import sklearn.ensemble  # noqa: F401

    import bestleaf.selection.selector  # noqa: F401


if __name__ == "__main__":
    main([int(one) for one in sys.argv[2:]] or [60, 400])
