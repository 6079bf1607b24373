"""Who evaluates a batch: this thread, joblib's workers, a Dask cluster. Results come back in the order of the tasks.

A task is (problem, items); nothing but numbers comes back, so it does not matter who did it, or how often.
"""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError
from contextlib import contextmanager, suppress
from time import perf_counter, sleep
from typing import Any, Protocol

import numpy as np

from bestleaf._records import UNLIMITED

CHUNKS_A_WORKER = 2  # of what is left of a batch, so that a slow one does not hold up the others
LOOK = 0.25  # seconds of work between two looks at the clock
QUICK = 0.01  # seconds of an item that is not worth sending to a process
PATIENCE = 60.0  # seconds to wait for a worker of a cluster when none is left
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
        """Return ``work(problem, items)``, whoever does it.

        An executor with a method ``until(over)`` is told whom to ask whether time is over. It may then return fewer
        results, those from the front of the list.
        """


class Stoppable:
    """What our executors share: whom to ask between two items whether time is over."""

    ended: str | None = None  # why no more can be done, a reason of its own

    def __init__(self) -> None:
        self.over: Callable[[], bool] = bool

    def until(self, over: Callable[[], bool]) -> None:
        """Ask from now on whether to stop; what is done by then is returned."""
        self.over = over


class Serial(Stoppable):
    """Do everything here."""

    def map(self, work: Work, problem: Any, items: Sequence[Any]) -> list[Any]:
        """Return ``work(problem, items)``, as far as time goes."""
        found: list[Any] = []
        for item in items:
            if self.over():
                break
            try:
                found += work(problem, [item])
            except (BrokenExecutor, KeyboardInterrupt):  # Ctrl-C reaches the workers of an estimator, too
                if not self.over():
                    raise
                break
        return found


class Joblib(Serial):
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
        super().__init__()
        self.n_jobs = n_jobs
        self.prefer = prefer
        self.patience = patience
        self._done, self._seconds = 0, 0.0  # by all workers together

    def _worth_it(self) -> bool:
        """Whether enough has been done here to know that processes pay."""
        return self._seconds >= self.patience and self._seconds >= QUICK * self._done

    def map(self, work: Work, problem: Any, items: Sequence[Any]) -> list[Any]:
        """Return the results of all parts, in order, as far as time goes."""
        from joblib import effective_n_jobs

        workers, begun = effective_n_jobs(self.n_jobs), perf_counter()
        parts = chunks(items, workers, self._at_once)
        if len(parts) < 2 or (self.patience and not self._worth_it()):
            workers, found = 1, super().map(work, problem, items)
        else:  # others take the place of a worker that was killed
            found = tried(lambda: self._shared_out(work, problem, parts), lost=BrokenExecutor)
        self._done, self._seconds = self._done + len(found), self._seconds + workers * (perf_counter() - begun)
        return found

    @property
    def _at_once(self) -> int:
        """How many items a worker does between two looks at the clock; one as long as nothing is known of them."""
        return max(1, int(LOOK * self._done / max(self._seconds, 1e-6)))

    def _shared_out(self, work: Work, problem: Any, parts: list[Sequence[Any]]) -> list[Any]:
        """Return the results of the parts that were done in time; whoever is still at work then is stopped."""
        from joblib import Parallel, delayed
        from joblib.parallel import get_active_backend

        one_by_one = getattr(get_active_backend(prefer=self.prefer)[0], "supports_return_generator", False)
        found: list[Any] = []
        with _without_interrupts() as pending:
            done: Any = Parallel(
                n_jobs=self.n_jobs,
                prefer=self.prefer,
                batch_size=1,
                return_as="generator" if one_by_one else "list",
            )(delayed(work)(problem, part) for part in parts)
            try:
                for results in done:
                    found += results
                    if self.over() or pending():
                        break
            except KeyboardInterrupt:  # of a worker: it was pressed for all of us
                if not pending():
                    raise
            if one_by_one:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UserWarning)  # tasks that are stopped on purpose
                    done.close()
        return found


@contextmanager
def _without_interrupts() -> Iterator[Callable[[], bool]]:
    """Hold Ctrl-C back, and tell whether it was pressed; processes that are started meanwhile never get it."""
    if not hasattr(signal, "pthread_sigmask") or threading.current_thread() is not threading.main_thread():
        yield bool
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield lambda: signal.SIGINT in signal.sigpending()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Dask(Stoppable):
    """Share the work out among the workers of a Dask cluster; the problem is sent once.

    The samples of a worker that is lost are drawn again by another: a task is its state and its seed, so it gives the
    same numbers wherever it runs, and its results are counted when the batch is complete. When no worker is left, or
    the scheduler is gone, a warning says so and one is waited for. The search ends with what it has found, for the
    reason "no_workers", when none has come in time.

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
        """Return the results of all parts, in order; nothing when time is over or nobody is left to do it."""
        failure: BaseException | None = None
        for _ in range(TRIES):
            if not self._somebody_there():
                return []
            try:
                return self._shared_out(work, problem, items)
            except self._lost() as error:
                if type(error) is RuntimeError and self.client.status == "running":
                    raise  # the work's own
                failure = error
                self._sent, self._counted = None, (-2 * RECOUNT, 1)  # the workers that had the problem are gone
        if failure is not None and self._workers():
            raise failure
        return []

    def _lost(self) -> tuple[type[BaseException], ...]:
        """Return what is raised when workers or the scheduler are lost; RuntimeError by a client just being closed."""
        from distributed.client import FutureCancelledError
        from distributed.scheduler import KilledWorker

        return CancelledError, FutureCancelledError, KilledWorker, OSError, TimeoutError, RuntimeError

    def _shared_out(self, work: Work, problem: Any, items: Sequence[Any]) -> list[Any]:
        """Return the results of all items, [] when time is over or nobody is left."""
        from distributed import wait

        many = min(len(items), self._counted[1])
        parts = [items[place::many] for place in range(many)]  # one for each: tasks of Dask keep their worker
        waiting = [self.client.submit(work, self._at_workers(problem), part, pure=False) for part in parts]
        while True:
            try:
                wait(waiting, timeout=LOOK)
                break
            except TimeoutError:
                if self.over() or not self._somebody_there():
                    self._forget(waiting)
                    return []
        done = self.client.gather(waiting)
        return [done[place % many][place // many] for place in range(len(items))]

    def _forget(self, waiting: list[Any]) -> None:
        """Let go of tasks that nobody waits for any more."""
        if self.client.status == "running":
            self.client.cancel(waiting)

    def _somebody_there(self) -> bool:
        """Wait for a worker if there is none; False when time is over or none has come."""
        while not self._workers():
            now = perf_counter()
            if self._alone_since is None:
                self._alone_since = now
                words = f"no worker is left on the Dask cluster; waiting up to {self.patience:g} s for one"
                warnings.warn(words, RuntimeWarning, stacklevel=2)
            if now - self._alone_since >= self.patience:
                self.ended = "no_workers"
                return False
            if self.over():
                return False
            sleep(LOOK)
        self._alone_since = None
        return True

    def _workers(self) -> int:
        """Return how many workers there are, as of some seconds ago: asking takes as long as a sample."""
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
        """Return the problem as it lies at the workers, sending it if need be."""
        if self._sent is None or self._sent[0] is not problem:
            self._sent = (problem, self.client.scatter(problem, broadcast=True, hash=False))
        return self._sent[1]


def tried(shared_out: Callable[[], list[Any]], *, lost: type[BaseException]) -> list[Any]:
    """Return the results of a batch, which is shared out anew while workers are lost, some times."""
    for _ in range(TRIES - 1):
        with suppress(lost):
            return shared_out()
    return shared_out()


def chunks(items: Sequence[Any], workers: int, largest: int = UNLIMITED) -> list[Sequence[Any]]:
    """Return the list in parts of at most so many, ever smaller ones, so that all workers end at the same time."""
    if workers < 2:
        return [items]
    parts, begun = [], 0
    while begun < len(items):
        many = min(largest, -(-(len(items) - begun) // (CHUNKS_A_WORKER * workers)))
        parts.append(items[begun : begun + many])
        begun += many
    return parts


def cluster() -> Any:
    """Return the client of the Dask cluster that joblib is configured for, if it is."""
    from joblib.parallel import get_active_backend

    backend = get_active_backend()[0]
    return backend.client if type(backend).__name__ == "DaskDistributedBackend" else None


def workers_there(n_jobs: int | None) -> int:
    """Return how many may work at a time, at least one; joblib would wait for a cluster that has none."""
    from joblib import effective_n_jobs

    client = cluster()
    return effective_n_jobs(n_jobs) if client is None else max(1, Dask(client).count())


def executor_for(n_jobs: int | None, prefer: str) -> Executor:
    """Return who evaluates: the Dask cluster joblib is configured for, joblib's own workers, or this thread."""
    from joblib.parallel import get_active_backend

    client = cluster()
    if client is not None:
        return Dask(client)
    if workers_there(n_jobs) == 1:
        return Serial()
    backend = get_active_backend()[0]
    own = prefer == "processes" and type(backend).__name__ == "LokyBackend"
    return Joblib(n_jobs, prefer, patience=STARTING if own else 0.0)
