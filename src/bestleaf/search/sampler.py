"""Samples by a problem's own `sample`, asked for by the compiled loop, so that the loop is not left for each sample."""

from __future__ import annotations

from ctypes import CFUNCTYPE, c_double, c_int64, c_void_p, cast
from math import inf, nan
from time import perf_counter

from bestleaf.search.settings import checked_value
from bestleaf.search.state import SearchState


class Sampler:
    """What the kernel `converse` calls for a sample of a leaf.

    No error can pass through compiled code. So an error is kept, the kernel gets NaN and returns, and `raise_error`
    raises the error.
    """

    def __init__(self, state: SearchState) -> None:
        self.until = inf  # on the clock `perf_counter`: no round begins later
        self._error: BaseException | None = None
        sample = state.problem.sample

        def draw(leaf: int) -> float:
            if perf_counter() >= self.until:
                return nan
            try:
                value = sample(asked := state.graph.states[leaf], state.rng)
                return value if type(value) is float and 0.0 <= value <= 1.0 else checked_value(value, "sample", asked)
            except BaseException as error:
                self._error = error
                return nan

        self._callback = CFUNCTYPE(c_double, c_int64)(draw)

    @property
    def address(self) -> int:
        """The address of the function for compiled code."""
        return cast(self._callback, c_void_p).value or 0

    def raise_error(self) -> None:
        """Raise the error of the last sample, if there was one."""
        error, self._error = self._error, None
        if error is not None:
            raise error
