"""When a certificate is refused, when two numbers of it are the same, and what counts as a number."""

from __future__ import annotations

from math import isfinite
from numbers import Integral, Real
from typing import Any

CLOSE = 1e-9  # numbers that differ by less are the same


class RefusedError(Exception):
    """A certificate that does not hold, with the reason."""


MALFORMED = (
    AttributeError,
    IndexError,
    KeyError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
    ZeroDivisionError,
)  # what reading a certificate may raise in which parts are missing or of another kind


def need(fine: bool, reason: str) -> None:
    """Refuse the certificate for a reason, unless a condition is met."""
    if not fine:
        raise RefusedError(reason)


def same(one: float, other: float) -> bool:
    """Whether two numbers agree."""
    return isfinite(one) and isfinite(other) and abs(one - other) <= CLOSE


def near(one: float, other: float) -> bool:
    """Whether two sums of many samples agree."""
    return abs(one - other) <= CLOSE * max(1.0, abs(other))


def proportional(one: float, other: float) -> bool:
    """Whether two positive numbers agree however small they are."""
    return abs(one - other) <= CLOSE * abs(other)


def is_whole(value: Any, least: int = 0) -> bool:
    """Whether a value is a whole number from `least` on."""
    known = type(value) is int or (not isinstance(value, bool) and isinstance(value, Integral))
    return known and int(value) >= least


def is_number(value: Any, low: float, high: float) -> bool:
    """Whether a value is a number between two ends, but for rounding."""
    known = type(value) is float or (not isinstance(value, bool) and isinstance(value, Real))
    return known and low - CLOSE <= float(value) <= high + CLOSE
