"""One clear sentence for an argument that cannot be used: its name, what would be right, the value got."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any

from bestleaf._records import UNLIMITED


def number(name: str, value: Any, rule: str, low: float, high: float, *, open_ends: bool = False) -> float:
    """Return `value` as a float between two ends, which belong to the range unless `open_ends`."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number {rule}, got {value!r}")
    found = float(value)
    inside = low < found < high if open_ends else low <= found <= high
    if not inside:
        raise ValueError(f"{name} must be {rule}, got {value!r}")
    return found


def whole(name: str, value: Any, low: int, rule: str = "") -> int:
    """Return a whole number from `low` on."""
    words = f"a whole number of at least {low}{rule}"
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name} must be {words}, got {value!r}")
    if value < low:
        raise ValueError(f"{name} must be {words}, got {value!r}")
    return min(int(value), UNLIMITED)


def one_of(name: str, value: Any, known: Iterable[str]) -> str:
    """Return a name that is known."""
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")
    return value


def did_you_mean(given: Any, known: Iterable[str]) -> str:
    """Return a hint at the name that is nearest to one that is not known; nothing if none is near."""
    near = get_close_matches(given, list(known), 1) if isinstance(given, str) else []
    return f" (did you mean {near[0]!r}?)" if near else ""


def function_or_none(name: str, value: Any) -> Any:
    """Return something that can be called, or None."""
    if value is not None and not callable(value):
        raise TypeError(f"{name} must be a function or None, got {value!r}")
    return value
