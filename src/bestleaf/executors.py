"""Who evaluates a batch: this thread, joblib's workers, a Dask cluster. Results come back in the order of the tasks.

A task is (problem, items); nothing but numbers comes back, so it does not matter who did it, or how often.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from time import perf_counter
from typing import Any, Protocol

import numpy as np

CHUNKS_A_WORKER = 2  # of what is left of a batch, so that a slow one does not hold up the others
QUICK = 0.01  # seconds of an item that is not worth sending to a process
RECOUNT = 5.0  # seconds after which workers are counted again
STARTING = 3.0  # seconds that processes take to start
TRIES = 5  # of a batch whose workers were lost

Work = Callable[[Any, Sequence[Any]], list[Any]]


def draw_samples(problem: Any, items: Sequence[tuple[Any, Any]]) -> list[Any]:
    """Return one sample for each (state, seed), every one from a stream of its own."""
    return [problem.sample(state, np.random.default_rng(seed)) for state, seed in items]


def exact_values(problem: Any, states: Sequence[Any]) -> list[Any]:
    """Return the exact values of states."""
    return [problem.exact(state) for state in states]


def guiding_values(problem: Any, states: Sequence[Any]) -> list[Any]:
    """Return the values of states that guide growth where no value is exact."""
    return [problem.guide(state) for state in states]


def parts_of_values(problem: Any, items: Sequence[tuple[Any, int]]) -> list[Any]:
    """Return the score number so and so of those whose mean the value of a state is, for each (state, number)."""
    return [problem.part(state, number) for state, number in items]


class Executor(Protocol):
    """Does work on parts of a list; the results are in the order of the list."""

    def map(self, work: Work, problem: Any, items: Sequence[Any]) -> list[Any]:
        """Return ``work(problem, items)``, whoever does it."""


class Serial:
    """Do everything here."""

    def map(self, work: Work, problem: Any, items: Sequence[Any]) -> list[Any]:
        """Return ``work(problem, items)``."""
        return work(problem, items)


class Joblib:
    """Share the work out among joblib's workers, of whatever backend is configured.

    Parameters
    ----------
    n_jobs : int or None
        As in joblib.
    prefer : {"threads", "processes"}
        What to use if no backend is configured: threads for work that frees the interpreter, processes for the rest.
    patience : float
        Seconds of work to do here first: less is done before processes have started. If items turn out to take less
        than ten milliseconds, all of it is done here.
    """

    def __init__(self, n_jobs: int | None = None, prefer: str = "processes", patience: float = 0.0) -> None:
        self.n_jobs = n_jobs
        self.prefer = prefer
        self.patience = patience
        self._done, self._seconds = 0, 0.0  # here

    def _worth_it(self) -> bool:
        """Whether enough has been done here to know that processes pay."""
        return self._seconds >= self.patience and self._seconds >= QUICK * self._done

    def map(self, work: Work, problem: Any, items: Sequence[Any]) -> list[Any]:
        """Return the results of all parts, in order."""
        from joblib import Parallel, delayed, effective_n_jobs

        parts = chunks(items, effective_n_jobs(self.n_jobs))
        if len(parts) < 2 or (self.patience and not self._worth_it()):
            begun = perf_counter()
            found = work(problem, items)
            self._done, self._seconds = self._done + len(items), self._seconds + perf_counter() - begun
            return found

        def shared_out() -> list[Any]:
            with _without_interrupts():
                done = Parallel(n_jobs=self.n_jobs, prefer=self.prefer, batch_size=1)(
                    delayed(work)(problem, part) for part in parts
                )
            return [result for part in done for result in part]

        return tried(shared_out, lost=BrokenExecutor)  # others take the place of a worker that was killed


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Hold Ctrl-C back; processes that are started meanwhile never get it, and leave it to whoever started them."""
    if not hasattr(signal, "pthread_sigmask") or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Dask:
    """Share the work out among the workers of a Dask cluster; the problem is sent once.

    The samples of a worker that is lost are drawn again by another: a task is its state and its seed, so it gives the
    same numbers wherever it runs, and its results are counted when the batch is complete.

    Parameters
    ----------
    client : dask.distributed.Client
        The cluster.
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self._sent: tuple[Any, Any] | None = None
        self._counted = (-2 * RECOUNT, 1)  # when, and how many workers

    def map(self, work: Work, problem: Any, items: Sequence[Any]) -> list[Any]:
        """Return the results of all parts, in order."""
        from concurrent.futures import CancelledError

        from distributed.client import FutureCancelledError
        from distributed.scheduler import KilledWorker

        def shared_out() -> list[Any]:
            many = min(len(items), self._workers())
            parts = [items[place::many] for place in range(many)]  # one for each: tasks of Dask keep their worker
            waiting = [self.client.submit(work, self._at_workers(problem), part, pure=False) for part in parts]
            done = self.client.gather(waiting)
            return [done[place % many][place // many] for place in range(len(items))]

        def forget() -> None:
            self._sent = None  # the workers that had the problem are gone

        return tried(shared_out, lost=(CancelledError, FutureCancelledError, KilledWorker), forget=forget)

    def _workers(self) -> int:
        """Return how many workers there are, as of some seconds ago: asking takes as long as a sample."""
        if perf_counter() - self._counted[0] > RECOUNT:
            self._counted = (perf_counter(), max(1, sum(self.client.ncores().values())))
        return self._counted[1]

    def _at_workers(self, problem: Any) -> Any:
        """Return the problem as it lies at the workers, sending it if need be."""
        if self._sent is None or self._sent[0] is not problem:
            self._sent = (problem, self.client.scatter(problem, broadcast=True, hash=False))
        return self._sent[1]


def tried(
    shared_out: Callable[[], list[Any]],
    *,
    lost: type[BaseException] | tuple[type[BaseException], ...],
    forget: Callable[[], None] = lambda: None,
) -> list[Any]:
    """Return the results of a batch, which is shared out anew while workers are lost, some times."""
    for _ in range(TRIES - 1):
        try:
            return shared_out()
        except lost:
            forget()
    return shared_out()


def chunks(items: Sequence[Any], workers: int) -> list[Sequence[Any]]:
    """Return the list in parts, ever smaller ones, so that all workers end at about the same time."""
    if workers < 2:
        return [items]
    parts, begun = [], 0
    while begun < len(items):
        many = -(-(len(items) - begun) // (CHUNKS_A_WORKER * workers))
        parts.append(items[begun : begun + many])
        begun += many
    return parts


def executor_for(n_jobs: int | None, prefer: str) -> Executor:
    """Return who evaluates: the Dask cluster joblib is configured for, joblib's own workers, or this thread."""
    from joblib import effective_n_jobs
    from joblib.parallel import get_active_backend

    backend = get_active_backend()[0]
    if type(backend).__name__ == "DaskDistributedBackend":
        return Dask(backend.client)
    if effective_n_jobs(n_jobs) == 1:
        return Serial()
    own = prefer == "processes" and type(backend).__name__ == "LokyBackend"
    return Joblib(n_jobs, prefer, patience=STARTING if own else 0.0)
