"""What a search may take: seconds, samples, memory, until Ctrl-C. Everything that can take long asks in between.

Compiling does not count: it happens once, and the kernels are kept.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from bestleaf._compile import clock
from bestleaf._records import UNLIMITED


class Budget:
    """Clock, samples, memory and Ctrl-C of one search.

    Parameters
    ----------
    max_samples, max_time, max_memory : default=None
        Oracle calls, seconds and bytes allowed; None for no limit.
    """

    def __init__(
        self, max_samples: int | None = None, max_time: float | None = None, max_memory: int | None = None
    ) -> None:
        self.max_samples = max_samples
        self.max_time = max_time
        self.max_memory = max_memory
        self.elapsed = 0.0  # seconds, as of when the clock was last looked at
        self.cut_short = False  # it ran out in the middle of something
        self._began = clock()
        self._interrupted: Callable[[], bool] = bool
        self._memory: Callable[[], int] = int

    def listen(self, interrupted: Callable[[], bool]) -> None:
        """Ask from now on whether Ctrl-C was pressed."""
        self._interrupted = interrupted

    def weigh(self, memory: Callable[[], int]) -> None:
        """Ask from now on how many bytes are taken."""
        self._memory = memory

    def start(self, elapsed: float | None = None) -> None:
        """Let the clock run on from what has elapsed, or from a number of seconds."""
        self.elapsed = self.elapsed if elapsed is None else elapsed
        self._began = clock() - self.elapsed

    def look(self) -> float:
        """Look at the clock; return the seconds left, infinite without a limit."""
        self.elapsed = clock() - self._began
        return self.left

    @property
    def left(self) -> float:
        """Seconds left when the clock was last looked at."""
        return inf if self.max_time is None else self.max_time - self.elapsed

    @property
    def half_over(self) -> bool:
        """Whether more than half of the time is over."""
        return self.look() < self.elapsed

    @property
    def hurried(self) -> str | None:
        """Why nothing that takes long may begin or go on now: Ctrl-C or the clock; None if it may."""
        if self._interrupted():
            return "interrupted"
        return "max_time" if self.max_time is not None and clock() - self._began >= self.max_time else None

    @property
    def full(self) -> bool:
        """Whether memory is used up."""
        return self.max_memory is not None and self._memory() > self.max_memory

    def spent(self) -> str | None:
        """Return why the search has to end; None if it may go on."""
        return self.hurried or ("max_memory" if self.full else None)

    def samples_left(self, drawn: int) -> int:
        """Return how many oracle calls are left after so many."""
        return UNLIMITED if self.max_samples is None else self.max_samples - drawn

    def cut(self) -> None:
        """Note that something was left unfinished because the budget ran out."""
        self.cut_short = True
