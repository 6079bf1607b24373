"""What was saved, read without trust: every number is asked for with the range it must be in."""

from __future__ import annotations

from typing import Any

import numpy as np

from bestleaf._records import UNLIMITED
from bestleaf.storage.states import decoded


class Saved:
    """A part of a checkpoint; whatever is missing or out of its range is a sentence."""

    def __init__(self, content: Any, arrays: dict[str, np.ndarray], name: str = "") -> None:
        if not isinstance(content, dict):
            raise ValueError(f"{name or 'its content'} must be an object, got a {type(content).__name__}")
        self.content = content
        self.arrays = arrays
        self.name = name

    def part(self, name: str) -> Saved:
        """Return a part of this part."""
        return Saved(self.get(name), self.arrays, f"{self.name}{name}.")

    def get(self, name: str) -> Any:
        """Return whatever is there."""
        if name not in self.content:
            raise ValueError(f"{self.name}{name} is missing")
        return self.content[name]

    def whole(self, name: str, low: int = 0, high: int = UNLIMITED) -> int:
        """Return a whole number."""
        found = self.get(name)
        if type(found) is not int or not low <= found <= high:
            raise ValueError(f"{self.name}{name} must be a whole number from {low} to {high}, got {str(found)[:80]}")
        return found

    def number(self, name: str, low: float, high: float) -> float:
        """Return a number."""
        return checked_number(f"{self.name}{name}", self.get(name), low, high)

    def listed(self, name: str) -> list[Any]:
        """Return a list."""
        found = self.get(name)
        if not isinstance(found, list):
            raise ValueError(f"{self.name}{name} must be a list, got a {type(found).__name__}")
        return found

    def nodes(self, name: str, size: int) -> list[int]:
        """Return a list of nodes of a graph."""
        found = self.listed(name)
        if not all(type(node) is int and 0 <= node < size for node in found):
            raise ValueError(f"{self.name}{name} must list nodes from 0 to {size - 1}")
        return found

    def states(self, name: str) -> list[Any]:
        """Return a list of states."""
        return [decoded(one) for one in self.listed(name)]

    def values(self, name: str) -> dict[Any, float]:
        """Return states with a value in [0, 1] each, in order."""
        found: dict[Any, float] = {}
        for pair in self.listed(name):
            if not isinstance(pair, list) or len(pair) != 2:
                raise ValueError(f"{self.name}{name} must list pairs of state and value")
            state = decoded(pair[0])
            if state in found:
                raise ValueError(f"{self.name}{name} must have every state once")
            found[state] = checked_number(f"{self.name}{name}", pair[1], 0.0, 1.0)
        return found

    def array(
        self,
        name: str,
        shape: tuple[int | None, ...],
        low: float = -np.inf,
        high: float = np.inf,
        kind: Any = np.float64,
    ) -> np.ndarray:
        """Return an array of this shape (None for any length) and kind whose numbers lie between two ends."""
        found = self.arrays.get(f"{self.name}{name}")
        if found is None or found.dtype != kind or not _fits(found.shape, shape):
            got = "none" if found is None else f"{found.dtype} of shape {found.shape}"
            raise ValueError(f"{self.name}{name} must be an array of {np.dtype(kind)} of shape {shape}, got {got}")
        if not ((found >= low) & (found <= high)).all():
            raise ValueError(f"{self.name}{name} must hold numbers from {low:g} to {high:g}")
        return found


def _fits(shape: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    return len(shape) == len(wanted) and all(one in (size, None) for size, one in zip(shape, wanted, strict=True))


def checked_number(name: str, found: Any, low: float, high: float) -> float:
    """Return a number between two ends as it was saved."""
    if type(found) not in (int, float) or not low <= found <= high:
        raise ValueError(f"{name} must be a number from {low:g} to {high:g}, got {str(found)[:80]}")
    return float(found)
