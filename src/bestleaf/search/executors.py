"""Executors: they share a batch out among workers. Results come back in the order of the items.

Workers get the problem and some items, and return numbers only. So it does not matter which worker did an item, or
whether an item was done twice. ``with executor:`` keeps its pool of workers open until the end of the block; the
problem is sent to them once. If workers are lost, a batch is tried again, a few times.
"""

from __future__ import annotations

import pickle
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import takewhile
from math import inf
from numbers import Integral
from time import perf_counter, sleep
from types import FrameType
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np

from bestleaf.checks import shown
from bestleaf.engine.records import UNLIMITED
from bestleaf.problems.protocols import Exact, Problem, State
from bestleaf.search.budget import SecondInterrupt

CHUNKS_A_WORKER = 2  # each chunk is this part of a worker's share of what is left, so that no worker ends late
LATE = 0.5  # seconds that an item may end late
LOOK = 0.25  # seconds of work between two looks at the clock
WORTH_SHARING = 0.1  # seconds; less work is done sooner in this thread than by processes
STARTING = 3.0  # seconds that processes take to start
TRIES = 5  # how often a batch is tried if workers are lost

Parts = list[Sequence[object]]  # the items of a batch, as workers get them
Sent = tuple[str | None, Any, Sequence[np.ndarray]]  # a problem as workers get it: its name, pickle and arrays
Found = TypeVar("Found")
Work = Callable[..., list[Found]]  # of a problem and some items


def draw_samples(problem: Problem, items: Sequence[tuple[State, Sequence[int]]]) -> list[float]:
    """Return one sample for each (state, seed); each has its own random stream."""
    return [problem.sample(state, np.random.default_rng(seed)) for state, seed in items]


def exact_values(problem: Exact, states: Sequence[State]) -> list[float | None]:
    """Return the exact values of states, at once if the problem can."""
    return problem.values(states) if hasattr(problem, "values") else [problem.exact(state) for state in states]


class Serial:
    """Do everything in this thread; before each item look whether time is over, or will be long before it is done."""

    ended: str | None = None  # why the executor can do no more work, if it cannot

    def __init__(self) -> None:
        self.over: Callable[[], bool] = bool
        self.left: Callable[[], float] = lambda: inf
        self._blocks = 0  # how many ``with`` blocks are open

    def __enter__(self) -> Serial:
        self._blocks += 1
        return self

    def __exit__(self, *error: object) -> None:
        self._blocks -= 1
        if self._blocks == 0:
            self.close()

    def close(self) -> None:
        """Let the workers go, and what they were sent; the next batch would start them again."""

    def until(self, over: Callable[[], bool], left: Callable[[], float] = lambda: inf) -> None:
        """Set the functions that say whether time is over, and how many seconds are left."""
        self.over, self.left = over, left

    def map(self, work: Work[Found], problem: object, items: Sequence[object]) -> list[Found]:
        """Return ``work(problem, items)``; fewer results if time is over."""
        found: list[Found] = []
        for item in items:
            if self.over() or self._takes_too_long(problem, item):
                break
            try:
                found += work(problem, [item])
            except SecondInterrupt:
                raise
            except (BrokenExecutor, KeyboardInterrupt):  # Ctrl-C also reaches the workers of an estimator
                if not self.over():
                    raise
                break
        return found

    def _takes_too_long(self, problem: object, item: object) -> bool:
        """End the work if time would be over long before an item is done; ``problem.seconds(item)`` may tell."""
        left = self.left()
        if left < inf and hasattr(problem, "seconds") and problem.seconds(item) > left + LATE:
            self.ended = "max_time"
        return self.ended is not None

    def _end(self, words: str) -> None:
        """Give up with a warning: no worker is left. The search ends with what it has found."""
        self.ended = "exhausted"
        warnings.warn(f"{words}: the search ends with what it has found", RuntimeWarning, stacklevel=2)

    def _tried(self, share_out: Callable[[], list[Found]], lost: Callable[[BaseException], bool]) -> list[Found]:
        """Return the results of a batch; if workers are lost, try again with new ones, a few times."""
        for _ in range(TRIES):
            if self.ended is not None:
                return []
            try:
                return share_out()
            except Exception as error:
                if not lost(error):
                    raise
                self.close()
        self._end(f"all workers were lost {TRIES} times in the same batch")
        return []


class Joblib(Serial):
    """Share the work out among joblib's workers, with the backend that is configured: processes, threads, Ray.

    If none is configured, it is what we `prefer`: "threads" for work that releases the interpreter lock, otherwise
    "processes". `patience` are seconds of work to do in this thread first, because processes take time to start. If it
    is not 0, batches that take less than a tenth of a second are done in this thread, too.
    """

    def __init__(self, n_jobs: int | None = None, prefer: str = "processes", patience: float = 0.0) -> None:
        super().__init__()
        self.n_jobs = n_jobs
        self.prefer = prefer
        self.patience = patience
        self._pool: Any = None  # joblib's Parallel, while it is open
        self._sent: tuple[object, Sent] | None = None  # the problem, and how workers get it
        self._done, self._seconds = 0, 0.0  # items and seconds of all workers together

    def map(self, work: Work[Found], problem: object, items: Sequence[object]) -> list[Found]:
        """Return the results of all items, in order; fewer if time is over, none if all workers are lost."""
        from joblib import effective_n_jobs

        workers, begun = effective_n_jobs(self.n_jobs), perf_counter()
        between_looks = max(1, int(LOOK * self._done / max(self._seconds, 1e-6)))  # items; at first one
        parts = chunks(items, workers, between_looks)
        expected = len(items) * self._seconds / max(self._done, 1)
        too_soon = self._seconds < self.patience or expected < WORTH_SHARING
        if len(parts) < 2 or (self.patience and too_soon):
            workers, found = 1, super().map(work, problem, items)
        else:
            with self:
                found = self._tried(lambda: self._shared_out(work, problem, parts, CHUNKS_A_WORKER * workers), _is_loss)
        self._done, self._seconds = self._done + len(found), self._seconds + workers * (perf_counter() - begun)
        return found

    def close(self) -> None:
        """Close joblib's pool."""
        pool, self._pool, self._sent = self._pool, None, None
        if pool is not None:
            pool.__exit__(None, None, None)

    def _open(self, problem: object) -> tuple[Any, Sent]:
        """Return the pool and how its workers get the problem."""
        from joblib import Parallel
        from joblib.parallel import get_active_backend

        if self._pool is None:
            backend = get_active_backend(prefer=self.prefer)[0]
            shape = "generator" if getattr(backend, "supports_return_generator", False) else "list"
            pool = Parallel(n_jobs=self.n_jobs, prefer=self.prefer, batch_size=1, return_as=shape)
            self._pool = pool.__enter__()
        if self._sent is None or self._sent[0] is not problem:
            shares_memory = getattr(self._pool._backend, "supports_sharedmem", False)
            self._sent = problem, (None, problem, ()) if shares_memory else _packed(problem)
        return self._pool, self._sent[1]

    def _shared_out(self, work: Work[Found], problem: object, parts: Parts, a_round: int) -> list[Found]:
        """Return the results of the parts that were done in time; stop the workers that are not done."""
        from joblib import delayed

        found: list[Found] = []
        with without_interrupts() as waiting:
            pool, sent = self._open(problem)
            one_by_one = pool.return_generator
            a_round = len(parts) if one_by_one else a_round  # without a generator the clock is looked at between rounds
            for start in range(0, len(parts), a_round):
                tasks = [delayed(_at_worker)(work, *sent, part) for part in parts[start : start + a_round]]
                done = None
                try:
                    with nullcontext() if one_by_one else waiting():
                        done = pool(tasks)
                    with waiting():
                        for results in done or ():
                            found += results
                            if self.over():
                                break
                except SecondInterrupt:
                    raise
                except KeyboardInterrupt:  # joblib has stopped its workers; some may have heard Ctrl-C themselves
                    if not self.over():
                        raise
                if one_by_one and done is not None:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore", UserWarning)  # about tasks that are stopped on purpose
                        done.close()
                if self.over():
                    break
        return found


def _is_loss(error: BaseException) -> bool:
    """Whether workers of joblib's pools are lost; an error of the work itself is another one."""
    from joblib.externals.loky.process_executor import ShutdownExecutorError  # others may restart loky's processes

    ray = (sys.modules["ray"].exceptions.RayError,) if "ray" in sys.modules else ()
    return isinstance(error, (BrokenExecutor, ShutdownExecutorError, *ray))


def _packed(problem: object) -> Sent:
    """Return a name for the problem, its pickle, and its arrays apart, so that joblib shares the large ones."""
    try:
        import cloudpickle
    except ImportError:  # older versions of joblib bring their own
        from joblib.externals import cloudpickle

    arrays: list[np.ndarray] = []

    def apart(buffer: pickle.PickleBuffer) -> None:
        arrays.append(np.frombuffer(buffer.raw(), np.uint8))

    return uuid4().hex, cloudpickle.dumps(problem, protocol=5, buffer_callback=apart), arrays


_HERE: dict[str, object] = {}  # in a worker: the last problem it got, by name


def _at_worker(
    work: Work[Found], name: str | None, packed: Any, arrays: Sequence[np.ndarray], items: Sequence[object]
) -> list[Found]:
    """Do the items of one part in a worker, which unpacks a problem only once."""
    if name is None:
        return work(packed, items)
    if name not in _HERE:
        _HERE.clear()
        _HERE[name] = pickle.loads(packed, buffers=arrays)
    return work(_HERE[name], items)


class Dask(Serial):
    """Share the work out among the workers of a Dask cluster; the problem is sent once.

    This is not joblib's backend for Dask, which waits for ever when no worker is left or a task has lost four workers.
    The samples of a lost worker are drawn again by another one. If no worker is left, or the scheduler is gone, a
    warning says so, and the executor waits. If none comes in `patience` seconds, the search ends for the reason
    "exhausted".
    """

    def __init__(self, client: Any, patience: float = 60.0) -> None:
        super().__init__()
        self.client = client
        self.patience = patience
        self._sent: tuple[object, object] | None = None  # the problem, and Dask's future of it

    def map(self, work: Work[Found], problem: object, items: Sequence[object]) -> list[Found]:
        """Return the results of all items, in order; fewer if time is over or no worker is left."""

        def share_out() -> list[Found]:
            workers = self._awaited()
            return self._shared_out(work, problem, chunks(items, min(len(items), workers))) if workers else []

        return self._tried(share_out, self._is_loss)

    def close(self) -> None:
        """Let the workers forget the problem."""
        self._sent = None

    def _is_loss(self, error: BaseException) -> bool:
        """Whether a worker or the scheduler is lost; a RuntimeError may also come from a client being closed."""
        from distributed.client import FutureCancelledError
        from distributed.scheduler import KilledWorker

        lost = (CancelledError, FutureCancelledError, KilledWorker, OSError, TimeoutError)
        return isinstance(error, lost) or (isinstance(error, RuntimeError) and self.client.status != "running")

    def _shared_out(self, work: Work[Found], problem: object, parts: Parts) -> list[Found]:
        """Return the results of all parts; those of the first ones if time is over or no worker is left."""
        from distributed import wait

        if self._sent is None or self._sent[0] is not problem:
            self._sent = (problem, self.client.scatter([problem], broadcast=True, hash=False)[0])
        tasks = [self.client.submit(work, self._sent[1], part, pure=False) for part in parts]
        done = tasks
        while True:
            try:
                wait(tasks, timeout=LOOK)
                break
            except TimeoutError:
                if self.over() or not self._awaited():
                    done = list(takewhile(lambda task: task.status == "finished", tasks))
                    break
        if self.client.status != "running":
            return []
        self.client.cancel(tasks[len(done) :])
        return [value for part in self.client.gather(done) for value in part]

    def _awaited(self) -> int:
        """Return how many workers there are; if there are none, wait. 0 if time is over or none has come."""
        until = None
        while not (workers := self.count()):
            if until is None:
                until = perf_counter() + self.patience
                words = f"no worker is left on the Dask cluster; waiting up to {self.patience:g} s for one"
                warnings.warn(words, RuntimeWarning, stacklevel=2)
            if self.over():
                break
            if perf_counter() >= until:
                self._end("no worker of the Dask cluster came back")
                break
            sleep(LOOK)
        return workers

    def count(self) -> int:
        """Return how many workers there are now."""
        if self.client.status != "running":  # the scheduler is gone
            return 0
        try:
            return sum(self.client.ncores().values())
        except Exception as error:
            if not self._is_loss(error):
                raise
            return 0


@contextmanager
def without_interrupts() -> Iterator[Callable[[], AbstractContextManager[None]]]:
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


def chunks(items: Sequence[object], workers: int, largest: int = UNLIMITED) -> Parts:
    """Return the list in parts of at most `largest` items; parts get smaller, so that all workers end together."""
    if workers < 2:
        return [items]
    parts, begun = [], 0
    while begun < len(items):
        many = min(largest, -(-(len(items) - begun) // (CHUNKS_A_WORKER * workers)))
        parts.append(items[begun : begun + many])
        begun += many
    return parts


def dask_cluster() -> Dask | None:
    """Return the executor for a Dask cluster if joblib is configured for one, otherwise None."""
    from joblib.parallel import get_active_backend

    backend = get_active_backend()[0]
    return Dask(backend.client) if type(backend).__name__ == "DaskDistributedBackend" else None


def workers_there(n_jobs: int | None) -> int:
    """Return the number of workers, at least one; joblib itself would wait for a cluster without workers."""
    from joblib import effective_n_jobs

    if n_jobs is not None and (not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0):
        raise ValueError(f"n_jobs must be a whole number of workers, negative ones as in joblib, got {shown(n_jobs)}")
    cluster = dask_cluster()
    return effective_n_jobs(n_jobs) if cluster is None else max(1, cluster.count())


def executor_for(n_jobs: int | None, prefer: str) -> Serial:
    """Return the executor: the Dask cluster that joblib is configured for, joblib's own workers, or this thread."""
    from joblib.parallel import get_active_backend

    cluster = dask_cluster()
    if cluster is not None:
        return cluster
    if workers_there(n_jobs) == 1:
        return Serial()
    backend = get_active_backend()[0]
    own = prefer == "processes" and type(backend).__name__ == "LokyBackend"
    return Joblib(n_jobs, prefer, patience=STARTING if own else 0.0)
