"""How much memory a search may take, and what it is spent on."""

from __future__ import annotations

from typing import Any

import numpy as np

from bestleaf.checks import shown

UNITS = {"": 1, "B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}
A_SUBSET = 8_000  # bytes of a subset, its terminal leaf and their place in a graph built whole
DEFAULT_VOTES = 256 * 2**20


def checked_memory(given: Any) -> int | None:
    """Return a limit given as a number of bytes or as text such as "2 GB" in bytes."""
    if given is None:
        return None
    text = str(given).strip().upper().replace("IB", "B")
    number = text.rstrip("KMGTB ")
    unit = text[len(number) :].strip()
    try:
        found = int(float(number) * UNITS[unit])
    except (KeyError, ValueError, OverflowError):
        found = 0
    if isinstance(given, bool) or found < 1:
        raise ValueError(f"max_memory must be a number of bytes or a text such as '2 GB', got {shown(given)}")
    return found


def needed(X: np.ndarray, y: np.ndarray) -> int:
    """Return the bytes that the data take in any case: as given, and by column in single precision."""
    outputs = max(1, len(np.unique(y))) if np.asarray(y).dtype.kind not in "f" else 1
    return int(X.nbytes + 4 * X.size + 8 * len(X) * min(outputs, 1000))


def room_for_search(max_memory: Any, X: np.ndarray, y: np.ndarray) -> int | None:
    """Return the bytes that the graph of a search may take: half of what the data leave."""
    limit = checked_memory(max_memory)
    if limit is None:
        return None
    left = limit - needed(X, y)
    if left <= 0:
        raise ValueError(
            f"max_memory must be more than the {given_as(needed(X, y))} that the data take, got {given_as(limit)}"
        )
    return left // 2


def room_for_votes(max_memory: Any, X: np.ndarray, y: np.ndarray) -> dict[str, int]:
    """Return the keyword of the oracle for the votes it may remember, a quarter of what the data leave, twice."""
    room = room_for_search(max_memory, X, y)
    return {} if room is None else {"memory": min(DEFAULT_VOTES, room // 2)}


def given_as(size: int) -> str:
    """Return bytes in words."""
    unit = next(unit for unit in ("TB", "GB", "MB", "KB", "B") if size >= UNITS[unit] or unit == "B")
    return f"{size / UNITS[unit]:,.4g} {unit}"
