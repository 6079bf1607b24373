"""When a choice is settled: the sound test, the published one, or a test of the user's own.

The sound test is proved, and only its answers are certified. It and the published test are part of the kernels; see
`bestleaf.engine.kernels.contest`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from bestleaf.checks import shown
from bestleaf.engine.parts import Part, compiled_part

STOPPINGS = ("sound", "paper")


class Stopping(Part):
    """A test of the user's own, from a function ``(best, rival, root, graph, known, epsilon) -> bool``.

    It says whether the choice at `root` is settled for `best`. The rule has named the two children, best and rival;
    `graph` and `known` are what a rule sees. It must be a function that numba can compile.
    """

    def __init__(self, function: Callable) -> None:
        super().__init__(function)
        self.part = compiled_part(function, "stopping")


@cache
def _own(function: Callable) -> Stopping:
    """Return the test of a function; it is compiled once."""
    return Stopping(function)


def named_stopping(given: str | Stopping | Callable) -> str | Stopping:
    """Return the name of one of our tests, or the user's own test."""
    if isinstance(given, Stopping) or (isinstance(given, str) and given in STOPPINGS):
        return given
    if callable(given):
        return _own(given)
    names = ", ".join(STOPPINGS)
    raise ValueError(f"stopping must be one of {names} or a function of two children, got {shown(given)}")
