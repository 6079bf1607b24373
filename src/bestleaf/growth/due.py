"""When the graph grows: about t^b nodes in t rounds."""

from __future__ import annotations

from bestleaf._records import UNLIMITED

FAR = 2**45  # rounds no search gets to, and still far from where t and t + 1 have the same power in floating point


def is_due(step: int, exponent: float) -> bool:
    """Whether the graph grows at `step`: floor((t + 1)^b) - floor(t^b) = 1 (`BAIExpand`)."""
    return int((step + 1) ** exponent) - int(step**exponent) == 1


def next_due(step: int, exponent: float) -> int:
    """Return the first step from `step` on at which the graph grows; never for an exponent of 0."""
    if exponent == 0:
        return UNLIMITED
    target = int(step**exponent) + 1
    low, high = step, step + 1
    while int((high + 1) ** exponent) < target:
        low, high = high, 2 * high
        if high > FAR:
            return UNLIMITED
    while low < high:  # the first t with floor((t + 1)^b) >= target
        middle = (low + high) // 2
        if int((middle + 1) ** exponent) < target:
            low = middle + 1
        else:
            high = middle
    return low
