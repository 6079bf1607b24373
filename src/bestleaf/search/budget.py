"""The budget of a search: seconds, samples, memory, and Ctrl-C; and the loop that works in slices within it.

The time for compiling does not count: kernels are compiled once and kept.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from types import FrameType
from typing import TYPE_CHECKING, Protocol

from bestleaf.engine.compile import clock
from bestleaf.engine.records import UNLIMITED

if TYPE_CHECKING:
    from bestleaf.search.result import Progress

SLICE = 0.05  # seconds between two looks at the clock, the callback and Ctrl-C


class Budget:
    """Clock, samples (and values), memory in bytes and Ctrl-C of one search; a limit of None is none."""

    slice = SLICE

    def __init__(
        self, max_samples: int | None = None, max_time: float | None = None, max_memory: int | None = None
    ) -> None:
        self.max_samples = max_samples
        self.max_time = max_time
        self.max_memory = max_memory
        self.seconds = 0.0  # from the beginning to the last look at the clock
        self._began = clock()
        self._interrupted: Callable[[], bool] = bool
        self._memory: Callable[[], int] = int

    def listen(self, interrupted: Callable[[], bool]) -> None:
        """Set the function that says whether Ctrl-C was pressed."""
        self._interrupted = interrupted

    def weigh(self, memory: Callable[[], int]) -> None:
        """Set the function that says how many bytes are in use."""
        self._memory = memory

    def start(self, seconds: float | None = None) -> None:
        """Let the clock go on from where it stood, or from a number of seconds."""
        self.seconds = self.seconds if seconds is None else seconds
        self._began = clock() - self.seconds

    def look(self) -> float:
        """Look at the clock; return the seconds left, infinite without a limit."""
        self.seconds = clock() - self._began
        return self.left

    @property
    def left(self) -> float:
        """Seconds left when the clock was last looked at."""
        return inf if self.max_time is None else self.max_time - self.seconds

    def check_whole_graph(self, nodes: int, edges: int) -> None:
        """Raise one sentence if a graph that is built at once takes too much time or memory.

        It may take half of the time: linking the nodes, their intervals and the result take as long again.
        """
        if self.look() < self.seconds:
            exceeded = f"max_time={self.max_time:g}"
        elif self.max_memory is not None and 1000 * nodes + 60 * edges > self.max_memory:  # about the bytes
            exceeded = f"max_memory={self.max_memory}"
        else:
            return
        whole = f"build and search the whole graph (at least {nodes:,} nodes)"
        raise ValueError(f"{exceeded} is not enough to {whole}; give expansion=b to grow it instead")

    @property
    def hurried(self) -> str | None:
        """Why long work must stop now: "interrupted" or "max_time"; None if it may go on."""
        if self._interrupted():
            return "interrupted"
        return "max_time" if self.max_time is not None and clock() - self._began >= self.max_time else None

    @property
    def full(self) -> bool:
        """Whether the search uses more memory than it may."""
        return self.max_memory is not None and self._memory() > self.max_memory

    def spent(self) -> str | None:
        """Return why the search has to end; None if it may go on."""
        return self.hurried or ("exhausted" if self.full else None)

    def samples_left(self, drawn: int) -> int:
        """Return how many samples and values are left after `drawn` of them."""
        return UNLIMITED if self.max_samples is None else self.max_samples - drawn


class Job(Protocol):
    """Work in slices within a budget: a search, the evaluation of all subsets, UCT."""

    reason: str | None  # why it is over; None while it goes on

    @property
    def budget(self) -> Budget:
        """Its budget."""

    def slice(self) -> None:
        """Work for about `Budget.slice` seconds, then look at the clock; set the reason if nothing is left to do."""

    def progress(self) -> Progress:
        """Return the `Progress` for the callback."""

    def close(self) -> None:
        """Do what belongs to the end of a job that was not broken off."""


def run_in_slices(job: Job, callback: Callable[[Progress], object] | None = None) -> None:
    """Let a job work until it is over, its budget is spent, Ctrl-C is pressed or the callback returns True.

    The callback is called with the progress after a slice, at most twenty times a second, and at the end.
    """
    budget, reported = job.budget, 0.0
    with deferred_interrupt() as interrupted:
        budget.listen(interrupted)
        try:
            while job.reason is None:
                job.slice()
                if budget.left <= 0 and job.reason is None:
                    job.reason = "max_time"
                if job.reason is None and budget.full:
                    job.reason = "exhausted"
                never = reported == 0.0 and job.reason is not None  # it may be over within the first slice
                if callback is not None and (never or budget.seconds - reported >= budget.slice):
                    reported = budget.seconds
                    if callback(job.progress()) is True and job.reason is None:
                        job.reason = "interrupted"
                if interrupted() and job.reason is None:
                    job.reason = "interrupted"
            job.close()
            if callback is not None:
                callback(job.progress())
        except SecondInterrupt:
            raise
        except KeyboardInterrupt:  # raised by the problem, a worker or the callback
            job.reason = "interrupted"
            budget.listen(lambda: True)


class SecondInterrupt(KeyboardInterrupt):
    """Ctrl-C was pressed again: the search may be in the middle of a change."""


class _Deferred:
    """A handler of Ctrl-C that notes the first one; a second one interrupts at once."""

    def __init__(self) -> None:
        self.pressed = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.pressed:
            raise SecondInterrupt
        self.pressed = True


@contextmanager
def deferred_interrupt() -> Iterator[Callable[[], bool]]:
    """Delay the first Ctrl-C until the work can stop cleanly; a second one interrupts at once.

    A context inside of another one has the same Ctrl-C: once it is pressed, all of the work ends. A process that
    ignores Ctrl-C, because a script started it in the background, goes on ignoring it.
    """
    previous = signal.getsignal(signal.SIGINT)
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or previous == signal.SIG_IGN:
        yield lambda: False
        return
    if isinstance(previous, _Deferred):
        yield lambda: previous.pressed
        return
    deferred = _Deferred()
    signal.signal(signal.SIGINT, deferred)
    try:
        yield lambda: deferred.pressed
    finally:
        signal.signal(signal.SIGINT, previous)
