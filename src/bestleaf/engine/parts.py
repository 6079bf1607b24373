"""Compiled functions that a user may replace: a rule, a rate, a bound, a stopping test.

Each is a function with a fixed signature, compiled alone.

Kernels call a part by its address, and an error in it would get lost there. So a user's part is compiled with checked
indices, inside a small function that catches its errors. After an error this function sets a flag and returns an
invalid value. The search then ends with an error message, and the process goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import numpy as np

from bestleaf.checks import shown
from bestleaf.engine.compile import SIGNATURES, Compiled, bounded, helper, longs_at, plain

STOPPINGS = ("sound", "paper")  # our stopping tests


class Part:
    """A function with a fixed signature and a name; it is pickled by its name, as a global."""

    def __init__(self, function: Callable) -> None:
        if not callable(function):
            raise TypeError(f"{type(self).__name__} must be made from a function, got {function!r}")
        self.name = function.__name__
        self.__doc__ = function.__doc__
        self.__module__ = function.__module__

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"

    def __reduce__(self) -> str:
        return self.name


@helper
def attempt(part, given, flag, nothing):
    """Call a user's part; if it raises an error, set the flag and return `nothing`."""
    try:
        return part(*given)
    except Exception:
        longs_at(flag, 1)[0] = 1
    return nothing


@helper
def is_child(node, root, graph):
    """Whether `node` is a child of `root` in the current graph."""
    start = graph.nodes[root].child_start
    for edge in range(start, start + graph.nodes[root].child_count):
        if graph.edges[edge] == node:
            return True
    return False


def _rule(part: Callable, flag: int) -> Callable:
    def guarded(root, graph, known):
        best, rival = attempt(part, (root, graph, known), flag, (-1, -1))
        if is_child(best, root, graph) and (rival == -1 or is_child(rival, root, graph)):
            return best, rival
        return -1, -1

    return guarded


GUARDS: dict[str, Callable[[Callable, int], Callable]] = {
    "rule": _rule,
    "stopping": lambda part, flag: (
        lambda best, rival, root, graph, known, epsilon: attempt(
            part, (best, rival, root, graph, known, epsilon), flag, False
        )
    ),
    "rate": lambda part, flag: lambda n, delta, leaves: attempt(part, (n, delta, leaves), flag, np.nan),
    "interval": lambda part, flag: (
        lambda mean, n, delta, row: attempt(part, (mean, n, delta, row), flag, (np.nan, np.nan))
    ),
    "observe": lambda part, flag: lambda row, value, n: attempt(part, (row, value, n), flag, None),
}


class Guarded(Compiled):
    """A user's function, compiled with checked indices; not cached on disk, as it compiles in under a second."""

    def __init__(self, function: Callable, signature: Any, kind: str) -> None:
        super().__init__(function, signature, kind)
        self._flag = np.zeros(1, np.int64)

    def _compiled(self) -> Callable:
        return plain(GUARDS[self.kind](bounded(self.function), self._flag.ctypes.data))

    def failed(self) -> bool:
        """Whether the function has raised an error since this was last asked."""
        raised = bool(self._flag[0])
        self._flag[0] = 0
        return raised


def compiled_part(function: Callable, kind: str) -> Compiled:
    """Return a function to be compiled, guarded if it is a user's; `kind` is one of `SIGNATURES`."""
    ours = function.__module__.startswith(f"{__package__}.")
    return (Compiled if ours else Guarded)(function, SIGNATURES[kind], kind)


def guarded(part: Part) -> list[Guarded]:
    """Return the functions of a part that are a user's."""
    return [piece for piece in (vars(part).get("part"), vars(part).get("observe")) if isinstance(piece, Guarded)]


def check_parts(*parts: Part) -> None:
    """Raise one sentence if a function of a user's part has raised an error."""
    for part in parts:
        for piece in guarded(part):
            if piece.failed():
                kind = type(part).__name__.lower()
                what = " in its observe" if piece.kind == "observe" else ""
                raise ValueError(
                    f"{kind} {part.name} raised an error{what} (an index out of bounds, for example); call "
                    f"{piece.function.__name__} in Python with small numbers to see where"
                )


Own = TypeVar("Own", bound=Part)


@cache
def own_part(kind: Callable[[Callable], Own], function: Callable) -> Own:
    """Return the rule or the stopping test of a user's function; it is compiled once."""
    return kind(function)


class Stopping(Part):
    """A stopping test of the user's own, from ``(best, rival, root, graph, known, epsilon) -> bool``.

    Only the sound test is proved, and only its answers are certified. It and the published test are part of the
    kernels; see `bestleaf.engine.kernels.contest`.

    It says whether the choice at `root` is settled for `best`. The rule has named the two children, best and rival;
    `graph` and `known` are what a rule sees. It must be a function that numba can compile.
    """

    def __init__(self, function: Callable) -> None:
        super().__init__(function)
        self.part = compiled_part(function, "stopping")


def named_stopping(given: str | Stopping | Callable) -> str | Stopping:
    """Return the name of one of our tests, or the user's own test."""
    if isinstance(given, Stopping) or (isinstance(given, str) and given in STOPPINGS):
        return given
    if callable(given):
        return own_part(Stopping, given)
    names = ", ".join(STOPPINGS)
    raise ValueError(f"stopping must be one of {names} or a function of two children, got {shown(given)}")
