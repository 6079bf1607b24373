"""The executor for a Dask cluster, whose workers may come and go."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from concurrent.futures import CancelledError
from itertools import takewhile
from time import perf_counter, sleep
from typing import Any

from bestleaf.search.executors import LOOK, TRIES, Found, Parts, Serial, Work, chunks


class Dask(Serial):
    """Share the work out among the workers of a Dask cluster; the problem is sent once.

    This is not joblib's backend for Dask, which waits for ever when no worker is left or a task has lost four workers.
    The samples of a lost worker are drawn again by another one. If no worker is left, or the scheduler is gone, a
    warning says so, and the executor waits. If none comes in time, the search ends for the reason "exhausted".

    Parameters
    ----------
    client : dask.distributed.Client
        The cluster.
    patience : float, default=60
        Seconds to wait for a worker when none is left.
    """

    def __init__(self, client: Any, patience: float = 60.0) -> None:
        super().__init__()
        self.client = client
        self.patience = patience
        self._sent: tuple[object, object] | None = None  # the problem, and Dask's future of it

    def map(self, work: Work[Found], problem: object, items: Sequence[object]) -> list[Found]:
        """Return the results of all items, in order; fewer if time is over or no worker is left."""
        for _ in range(TRIES):
            if self.ended or not (workers := self._awaited()):
                return []
            try:
                return self._shared_out(work, problem, chunks(items, min(len(items), workers)))
            except self._lost() as error:
                if type(error) is RuntimeError and self.client.status == "running":
                    raise  # an error of the work itself
                self._sent = None  # the workers that had the problem are gone
        self._end(f"workers of the Dask cluster were lost {TRIES} times in the same batch")
        return []

    def close(self) -> None:
        """Let the workers forget the problem."""
        self._sent = None

    def _lost(self) -> tuple[type[BaseException], ...]:
        """Return the errors of lost workers and of a lost scheduler; RuntimeError comes from a client being closed."""
        from distributed.client import FutureCancelledError
        from distributed.scheduler import KilledWorker

        return CancelledError, FutureCancelledError, KilledWorker, OSError, TimeoutError, RuntimeError

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
        except self._lost():
            return 0
