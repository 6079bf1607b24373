"""Executors: they share a batch out among workers. Results come back in the order of the items.

Workers get the problem and some items, and return numbers only. So it does not matter which worker did an item, or
whether an item was done twice.
"""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from itertools import takewhile
from numbers import Integral
from time import perf_counter, sleep
from types import FrameType
from typing import Any

import numpy as np

from bestleaf.checks import shown
from bestleaf.engine.records import UNLIMITED
from bestleaf.search.budget import SecondInterrupt

CHUNKS_A_WORKER = 2  # each chunk is this part of a worker's share of what is left, so that no worker ends late
LOOK = 0.25  # seconds of work between two looks at the clock
WORTH_SHARING = 0.1  # seconds; less work is done sooner in this thread than by processes
PATIENCE = 60.0  # seconds to wait for a worker of a cluster when none is left
RECOUNT = 5.0  # seconds after which workers are counted again
STARTING = 3.0  # seconds that processes take to start
TRIES = 5  # how often a batch is tried if workers are lost

Work = Callable[[Any, Sequence[Any]], list[Any]]


def draw_samples(problem: Any, items: Sequence[tuple[Any, Any]]) -> list[Any]:
    """Return one sample for each (state, seed); each has its own random stream."""
    return [problem.sample(state, np.random.default_rng(seed)) for state, seed in items]


def exact_values(problem: Any, states: Sequence[Any]) -> list[Any]:
    """Return the exact values of states, at once if the problem can."""
    return problem.values(states) if hasattr(problem, "values") else [problem.exact(state) for state in states]


def fold_scores(problem: Any, items: Sequence[tuple[Any, int]]) -> list[Any]:
    """Return the score of each (state, fold), at once if the problem can; the value of a state is their mean."""
    if hasattr(problem, "part_scores"):
        return problem.part_scores(items)
    return [problem.part(state, number) for state, number in items]


class Serial:
    """Do everything in this thread; check between two items whether time is over."""

    ended: str | None = None  # why the executor can do no more work, if it cannot

    def __init__(self) -> None:
        self.over: Callable[[], bool] = bool

    def until(self, over: Callable[[], bool]) -> None:
        """Set the function that says whether time is over."""
        self.over = over

    def map(self, work: Work, problem: Any, items: Sequence[Any]) -> list[Any]:
        """Return ``work(problem, items)``; fewer results if time is over."""
        found: list[Any] = []
        at_once = getattr(problem, "parts_at_once", 1) if work is fold_scores else 1
        for start in range(0, len(items), at_once):
            if self.over():
                break
            try:
                found += work(problem, items[start : start + at_once])
            except (BrokenExecutor, KeyboardInterrupt):  # Ctrl-C also reaches the workers of an estimator
                if not self.over():
                    raise
                break
        return found


class Joblib(Serial):
    """Share the work out among joblib's workers, with the backend that is configured.

    Parameters
    ----------
    n_jobs : int or None
        As in joblib.
    prefer : {"threads", "processes"}
        What to use if no backend is configured: threads for work that releases the interpreter lock, otherwise
        processes.
    patience : float
        Seconds of work to do in this thread first, because processes take time to start. If it is not 0, batches that
        take less than a tenth of a second are done in this thread, too.
    """

    def __init__(self, n_jobs: int | None = None, prefer: str = "processes", patience: float = 0.0) -> None:
        super().__init__()
        self.n_jobs = n_jobs
        self.prefer = prefer
        self.patience = patience
        self._done, self._seconds = 0, 0.0  # items and seconds of all workers together

    def map(self, work: Work, problem: Any, items: Sequence[Any]) -> list[Any]:
        """Return the results of all items, in order; fewer if time is over."""
        from joblib import effective_n_jobs

        workers, begun = effective_n_jobs(self.n_jobs), perf_counter()
        between_looks = max(1, int(LOOK * self._done / max(self._seconds, 1e-6)))  # items; at first one
        parts = chunks(items, workers, between_looks)
        expected = len(items) * self._seconds / max(self._done, 1)
        too_soon = self._seconds < self.patience or expected < WORTH_SHARING
        if len(parts) < 2 or (self.patience and too_soon):
            workers, found = 1, super().map(work, problem, items)
        else:
            found = self._tried(work, problem, parts)
        self._done, self._seconds = self._done + len(found), self._seconds + workers * (perf_counter() - begun)
        return found

    def _tried(self, work: Work, problem: Any, parts: list[Sequence[Any]]) -> list[Any]:
        """Return the results of a batch; if workers are lost, try again, a few times."""
        for _ in range(TRIES - 1):
            with suppress(BrokenExecutor):
                return self._shared_out(work, problem, parts)
        return self._shared_out(work, problem, parts)

    def _shared_out(self, work: Work, problem: Any, parts: list[Sequence[Any]]) -> list[Any]:
        """Return the results of the parts that were done in time; stop the workers that are not done."""
        from joblib import Parallel, delayed
        from joblib.parallel import get_active_backend

        one_by_one = getattr(get_active_backend(prefer=self.prefer)[0], "supports_return_generator", False)
        found: list[Any] = []
        with _without_interrupts() as waiting:
            done: Any = Parallel(
                n_jobs=self.n_jobs,
                prefer=self.prefer,
                batch_size=1,
                return_as="generator" if one_by_one else "list",
            )(delayed(work)(problem, part) for part in parts)
            try:
                with waiting():
                    for results in done:
                        found += results
                        if self.over():
                            break
            except SecondInterrupt:
                raise
            except KeyboardInterrupt:  # joblib has stopped its workers; some may have heard Ctrl-C themselves
                if not self.over():
                    raise
            if one_by_one:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UserWarning)  # about tasks that are stopped on purpose
                    done.close()
        return found


@contextmanager
def _without_interrupts() -> Iterator[Callable[[], AbstractContextManager[None]]]:
    """Delay Ctrl-C; processes started meanwhile ignore it. Yield a context in which Ctrl-C ends the wait for them."""
    if not hasattr(signal, "pthread_sigmask") or threading.current_thread() is not threading.main_thread():
        yield nullcontext
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield lambda: _interrupts_raised(before)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _interrupts_raised(mask: set[signal.Signals | int]) -> Iterator[None]:
    """Let Ctrl-C through, and raise KeyboardInterrupt after what is to be done for it otherwise, such as noting it."""
    usual = signal.getsignal(signal.SIGINT)

    def note_and_raise(number: int, frame: FrameType | None) -> None:
        if callable(usual):
            usual(number, frame)
            raise KeyboardInterrupt

    if callable(usual):
        signal.signal(signal.SIGINT, note_and_raise)
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        if callable(usual):
            signal.signal(signal.SIGINT, usual)


class Dask(Serial):
    """Share the work out among the workers of a Dask cluster; the problem is sent once.

    The samples of a lost worker are drawn again by another one. A sample follows from its state and its seed, so it is
    the same on every worker. If no worker is left, or the scheduler is gone, a warning says so, and the executor waits.
    If no worker comes in time, the search ends with what it has found, for the reason "exhausted".

    Parameters
    ----------
    client : dask.distributed.Client
        The cluster.
    patience : float, default=60
        Seconds to wait for a worker when none is left.
    """

    def __init__(self, client: Any, patience: float | None = None) -> None:
        super().__init__()
        self.client = client
        self.patience = PATIENCE if patience is None else patience
        self._sent: tuple[Any, Any] | None = None
        self._counted = (-2 * RECOUNT, 1)  # when, and how many workers
        self._alone_since: float | None = None

    def map(self, work: Work, problem: Any, items: Sequence[Any]) -> list[Any]:
        """Return the results of all items, in order; fewer if time is over or no worker is left."""
        failure: BaseException | None = None
        for _ in range(TRIES):
            if not self._has_workers():
                return []
            try:
                return self._shared_out(work, problem, items)
            except self._lost() as error:
                if type(error) is RuntimeError and self.client.status == "running":
                    raise  # an error of the work itself
                failure = error
                self._sent, self._counted = None, (-2 * RECOUNT, 1)  # the workers that had the problem are gone
        if failure is not None and self._workers():
            raise failure
        return []

    def _lost(self) -> tuple[type[BaseException], ...]:
        """Return the errors of lost workers and of a lost scheduler; RuntimeError comes from a client being closed."""
        from distributed.client import FutureCancelledError
        from distributed.scheduler import KilledWorker

        return CancelledError, FutureCancelledError, KilledWorker, OSError, TimeoutError, RuntimeError

    def _shared_out(self, work: Work, problem: Any, items: Sequence[Any]) -> list[Any]:
        """Return the results of all items; those of the first ones if time is over or no worker is left."""
        from distributed import wait

        parts = chunks(items, min(len(items), self._counted[1]))  # a worker that is done early gets one more
        waiting = [self.client.submit(work, self._at_workers(problem), part, pure=False) for part in parts]
        while True:
            try:
                wait(waiting, timeout=LOOK)
                break
            except TimeoutError:
                if self.over() or not self._has_workers():
                    return self._first_results(waiting)
        return [value for part in self.client.gather(waiting) for value in part]

    def _first_results(self, waiting: list[Any]) -> list[Any]:
        """Return the results of the first parts that are done, and stop the others."""
        if self.client.status != "running":
            return []
        done = list(takewhile(lambda part: part.status == "finished", waiting))
        found = self.client.gather(done, errors="skip") if done else []
        self.client.cancel(waiting[len(done) :])
        return [value for part in found for value in part] if len(found) == len(done) else []

    def _has_workers(self) -> bool:
        """Wait for a worker if there is none; False if time is over or none has come."""
        while not self._workers():
            now = perf_counter()
            if self._alone_since is None:
                self._alone_since = now
                words = f"no worker is left on the Dask cluster; waiting up to {self.patience:g} s for one"
                warnings.warn(words, RuntimeWarning, stacklevel=2)
            if now - self._alone_since >= self.patience:
                self.ended = "exhausted"
                return False
            if self.over():
                return False
            sleep(LOOK)
        self._alone_since = None
        return True

    def _workers(self) -> int:
        """Return how many workers there are, counted at most some seconds ago: counting takes as long as a sample."""
        if self._counted[1] == 0 or perf_counter() - self._counted[0] > RECOUNT or self.client.status != "running":
            self._counted = (perf_counter(), self.count())
        return self._counted[1]

    def count(self) -> int:
        """Return how many workers there are now."""
        if self.client.status != "running":  # the scheduler is gone
            return 0
        try:
            return sum(self.client.ncores().values())
        except self._lost():
            return 0

    def _at_workers(self, problem: Any) -> Any:
        """Return the Dask future of the problem; send the problem to the workers if they do not have it."""
        if self._sent is None or self._sent[0] is not problem:
            self._sent = (problem, self.client.scatter([problem], broadcast=True, hash=False)[0])
        return self._sent[1]


def chunks(items: Sequence[Any], workers: int, largest: int = UNLIMITED) -> list[Sequence[Any]]:
    """Return the list in parts of at most `largest` items; parts get smaller, so that all workers end together."""
    if workers < 2:
        return [items]
    parts, begun = [], 0
    while begun < len(items):
        many = min(largest, -(-(len(items) - begun) // (CHUNKS_A_WORKER * workers)))
        parts.append(items[begun : begun + many])
        begun += many
    return parts


def cluster() -> Any:
    """Return the client of the Dask cluster if joblib is configured for one, otherwise None."""
    from joblib.parallel import get_active_backend

    backend = get_active_backend()[0]
    return backend.client if type(backend).__name__ == "DaskDistributedBackend" else None


def workers_there(n_jobs: int | None) -> int:
    """Return the number of workers, at least one; joblib itself would wait for a cluster without workers."""
    from joblib import effective_n_jobs

    if n_jobs is not None and (not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0):
        raise ValueError(f"n_jobs must be a whole number of workers, negative ones as in joblib, got {shown(n_jobs)}")
    client = cluster()
    return effective_n_jobs(n_jobs) if client is None else max(1, Dask(client).count())


def executor_for(n_jobs: int | None, prefer: str) -> Serial:
    """Return the executor: the Dask cluster that joblib is configured for, joblib's own workers, or this thread."""
    from joblib.parallel import get_active_backend

    client = cluster()
    if client is not None:
        return Dask(client)
    if workers_there(n_jobs) == 1:
        return Serial()
    backend = get_active_backend()[0]
    own = prefer == "processes" and type(backend).__name__ == "LokyBackend"
    return Joblib(n_jobs, prefer, patience=STARTING if own else 0.0)
