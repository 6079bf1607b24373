"""A user's part in a search: an index out of bounds or an error in it ends the search with a sentence, not the process.

Kernels call a part by its address, and an error in it would get lost there. So a user's part is compiled with checked
indices inside a small function that catches its errors, raises a flag, and returns what no kernel takes for an answer.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from bestleaf._compile import Compiled, Part, bounded, is_ours, longs_at


def _rule(part: Callable, flag: int) -> Callable:
    def guarded(root, graph, known):
        try:
            return part(root, graph, known)
        except Exception:
            longs_at(flag, 1)[0] = 1
        return -1, -1

    return guarded


def _rate(part: Callable, flag: int) -> Callable:
    def guarded(count, delta, leaves):
        try:
            return part(count, delta, leaves)
        except Exception:
            longs_at(flag, 1)[0] = 1
        return np.nan

    return guarded


def _interval(part: Callable, flag: int) -> Callable:
    def guarded(mean, count, delta, row):
        try:
            return part(mean, count, delta, row)
        except Exception:
            longs_at(flag, 1)[0] = 1
        return np.nan, np.nan

    return guarded


def _observe(part: Callable, flag: int) -> Callable:
    def guarded(row, value, count):
        try:
            part(row, value, count)
        except Exception:
            longs_at(flag, 1)[0] = 1

    return guarded


GUARDS = {"rule": _rule, "rate": _rate, "interval": _interval, "observe": _observe}


class Guarded(Compiled):
    """A user's function, compiled with checked indices; `failed` tells whether it has raised an error."""

    def __init__(self, function: Callable, signature: str) -> None:
        super().__init__(function, signature, cached=False)
        self._flag = np.zeros(1, np.int64)

    @property
    def failed(self) -> bool:
        """Whether the function has raised an error since this was last asked."""
        raised = bool(self._flag[0])
        self._flag[0] = 0
        return raised

    @cached_property
    def _address(self) -> int:
        guarded = GUARDS[self.signature](bounded(self.function), self._flag.ctypes.data)
        guarded.__name__ = self.function.__name__
        return self.compiled(guarded)


def compiled_part(function: Callable, signature: str) -> Compiled:
    """Return a part of the package as it is, a user's part guarded."""
    return Compiled(function, signature, cached=True) if is_ours(function) else Guarded(function, signature)


def check_parts(*parts: Part) -> None:
    """Raise one sentence if a function of a user's rule or bound has raised an error."""
    for part in parts:
        for piece in (vars(part).get("part"), vars(part).get("observe")):
            if isinstance(piece, Guarded) and piece.failed:
                kind = type(part).__name__.lower()
                what = "" if piece.signature in ("rule", "rate", "interval") else f" in its {piece.signature}"
                raise ValueError(
                    f"{kind} {part.name} raised an error{what} (an index out of bounds, for example); call "
                    f"{piece.function.__name__} in Python with small numbers to see where"
                )
