"""Whether there is a GPU that can be used, and what happens if it cannot."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Generic, TypeVar

from bestleaf.checks import sentence

DEVICES = ("auto", "cpu", "cuda")

_told: set[str] = set()  # warnings of this process: every fold has an oracle of its own

Votes = TypeVar("Votes")
Found = TypeVar("Found")


class GpuError(RuntimeError):
    """The GPU cannot be used, or has failed; the message says why."""


def cuda() -> ModuleType:
    """Return CuPy, if it is installed and sees a GPU; otherwise raise `GpuError`."""
    found = _looked_for()
    if isinstance(found, str):
        raise GpuError(found)
    return found


@cache
def _looked_for() -> ModuleType | str:
    """Return CuPy, or why it cannot be used."""
    if find_spec("cupy") is None:
        return "CuPy is not installed (pip install 'bestleaf[gpu]')"
    try:
        cupy = import_module("cupy")
        with failures_told(cupy):
            return cupy if cupy.cuda.runtime.getDeviceCount() else "no GPU was found"
    except ImportError as error:
        return f"CuPy cannot be imported ({sentence(str(error), 100)})"
    except GpuError as error:
        return str(error)


@contextmanager
def failures_told(cupy: ModuleType) -> Iterator[None]:
    """Turn the errors of CUDA and of its compiler into `GpuError`."""
    try:
        yield
    except Exception as error:
        failures = ("CUDARuntimeError", "CUDADriverError", "OutOfMemoryError", "NVRTCError", "CompileException")
        if type(error).__name__ not in failures:
            raise
        cupy.get_default_memory_pool().free_all_blocks()
        raise GpuError(sentence(str(error), 150)) from None


class Gpu(Generic[Votes]):
    """The GPU of one oracle. If it is missing or fails, a warning says so once, and the processor does the work.

    Device "auto" uses a GPU if there is one, and is silent if there is none; "cuda" warns then. `made` copies the data
    to the GPU, when there is first work for it.
    """

    def __init__(self, device: str, made: Callable[[], Votes]) -> None:
        self.device, self._made = device, made
        self._votes: Votes | None = None

    @property
    def is_there(self) -> bool:
        """Whether the GPU can be used, as far as is known; the first time it cannot, the processor takes over."""
        if self.device == "cpu":
            return False
        try:
            return cuda() is not None
        except GpuError as error:
            self._give_up(error)
            return False

    def tried(self, work: Callable[[Votes], Found]) -> Found | None:
        """Return the result of some work on the GPU; None if the processor has to do it."""
        if self.device == "cpu":
            return None
        try:
            if self._votes is None:
                self._votes = self._made()
            return work(self._votes)
        except GpuError as error:
            self._give_up(error)
            return None

    def _give_up(self, error: GpuError) -> None:
        """Leave all further work to the processor; say so once, if somebody asked for the GPU or it has worked."""
        words = f"the GPU cannot be used: {error}; the processor computes the same values, in more time"
        if (self.device == "cuda" or self._votes is not None) and words not in _told:
            _told.add(words)
            warnings.warn(words, RuntimeWarning, stacklevel=3)
        self.device, self._votes = "cpu", None
