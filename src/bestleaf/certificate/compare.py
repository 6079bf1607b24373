"""When two numbers of a certificate are the same."""

from __future__ import annotations

from math import isfinite

CLOSE = 1e-9  # numbers that differ by less are the same


def same(one: float, other: float) -> bool:
    """Whether two numbers agree."""
    return isfinite(one) and isfinite(other) and abs(one - other) <= CLOSE


def near(one: float, other: float) -> bool:
    """Whether two sums of many samples agree."""
    return abs(one - other) <= CLOSE * max(1.0, abs(other))
