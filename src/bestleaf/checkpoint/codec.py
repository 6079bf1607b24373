"""How states, random streams and numbers are written into a checkpoint, and how they are read back and checked.

States become JSON: a tuple becomes a list, a frozenset becomes {"set": [...]}; numbers, text, booleans and None stay
as they are. Random streams become JSON, too. A stream is restored in place, because kernels hold its address.
"""

from __future__ import annotations

import json
from collections.abc import Hashable
from math import isfinite
from typing import Any

import numpy as np

from bestleaf.checks import UNLIMITED, shown

Json = Any  # numbers, text, booleans, None, and lists and objects of them

STREAMS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
LIMITS = {"has_uint32": 1, "uinteger": 2**32 - 1, "pos": 624, "buffer_pos": 4}  # the largest value of these fields
LARGEST_WORD = 2**128 - 1  # the largest value of all other fields


def encoded(state: Hashable) -> Json:
    """Return a state as JSON; refuse one that cannot be written as JSON."""
    if type(state) in (int, str, bool) or state is None or (type(state) is float and isfinite(state)):
        return state
    if type(state) is tuple:
        return [encoded(one) for one in state]
    if type(state) is frozenset:
        return {"set": sorted((encoded(one) for one in state), key=json.dumps)}
    if isinstance(state, np.bool_ | np.integer | np.floating):
        return encoded(state.item())
    raise TypeError(
        "checkpoint needs states made of numbers, text, None, tuples and frozensets, "
        f"got {shown(state)} of type {type(state).__name__}"
    )


def decoded(given: Json) -> Any:
    """Return the state that JSON stands for."""
    if isinstance(given, list):
        return tuple(decoded(one) for one in given)
    if not isinstance(given, dict):
        return given
    if list(given) != ["set"] or not isinstance(given["set"], list):
        raise ValueError(f"a state must be a number, text, None, a list or a set, got {str(given)[:80]}")
    return frozenset(decoded(one) for one in given["set"])


def kind_of(rng: np.random.Generator) -> str:
    """Return the name of the bit generator of a stream; refuse one that cannot be saved."""
    name = type(rng.bit_generator).__name__
    if name not in STREAMS:
        raise ValueError(f"checkpoint needs a random stream of {', '.join(STREAMS)}, got {name}")
    return name


def fresh_stream(name: Json) -> np.random.Generator:
    """Return a stream with the bit generator of that name; `set_stream` then sets its state."""
    if name not in STREAMS:
        raise ValueError(f"the random stream must be one of {', '.join(STREAMS)}, got {str(name)[:80]}")
    return np.random.Generator(getattr(np.random, name)())


def stream_state(rng: np.random.Generator) -> Json:
    """Return the state of a stream as JSON."""
    kind_of(rng)
    return json.loads(json.dumps(rng.bit_generator.state, default=lambda number: number.tolist()))


def set_stream(rng: np.random.Generator, saved: Json) -> None:
    """Set the state of a stream to a saved one, in place."""
    rng.bit_generator.state = _alike(dict(rng.bit_generator.state), saved, "state")


def _alike(present: Any, saved: Json, name: str) -> Any:
    """Return a saved state in the form of the present one; refuse numbers out of their range."""
    if isinstance(present, dict):
        if not isinstance(saved, dict) or saved.keys() != present.keys():
            raise ValueError(f"the {name} of the random stream must have {', '.join(present)}")
        return {key: _alike(present[key], saved[key], key) for key in present}
    if isinstance(present, str):
        if saved != present:
            raise ValueError(f"the random stream must be {present}, got {str(saved)[:80]}")
        return saved
    most = int(np.iinfo(present.dtype).max) if isinstance(present, np.ndarray) else LIMITS.get(name, LARGEST_WORD)
    words = saved if isinstance(present, np.ndarray) else [saved]
    right = isinstance(words, list) and len(words) == np.size(present)
    if not right or not all(type(word) is int and 0 <= word <= most for word in words):
        raise ValueError(f"the {name} of the random stream must be whole numbers from 0 to {most}")
    return np.array(words, present.dtype).reshape(present.shape) if isinstance(present, np.ndarray) else saved


def checked_number(name: str, found: Json, low: float, high: float) -> float:
    """Return a saved number; refuse one that is not from `low` to `high`."""
    if type(found) not in (int, float) or not low <= found <= high:
        raise ValueError(f"{name} must be a number from {low:g} to {high:g}, got {str(found)[:80]}")
    return float(found)


class Saved:
    """A part of a checkpoint. Nothing in it is trusted: what is missing or out of its range is refused."""

    def __init__(self, content: Json, arrays: dict[str, np.ndarray], name: str = "") -> None:
        if not isinstance(content, dict):
            raise ValueError(f"{name or 'its content'} must be an object, got a {type(content).__name__}")
        self.content = content
        self.arrays = arrays
        self.name = name

    def part(self, name: str) -> Saved:
        """Return a part of this part."""
        return Saved(self.get(name), self.arrays, f"{self.name}{name}.")

    def get(self, name: str) -> Json:
        """Return an entry of any kind."""
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

    def listed(self, name: str) -> list[Json]:
        """Return a list."""
        found = self.get(name)
        if not isinstance(found, list):
            raise ValueError(f"{self.name}{name} must be a list, got a {type(found).__name__}")
        return found

    def nodes(self, name: str, size: int) -> list[int]:
        """Return a list of nodes of a graph of this size."""
        found = self.listed(name)
        if not all(type(node) is int and 0 <= node < size for node in found):
            raise ValueError(f"{self.name}{name} must list nodes from 0 to {size - 1}")
        return found

    def states(self, name: str) -> list[Any]:
        """Return a list of states."""
        return [decoded(one) for one in self.listed(name)]

    def values(self, name: str) -> dict[Hashable, float]:
        """Return states and their values in [0, 1], in order."""
        found: dict[Hashable, float] = {}
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
        kind: type[np.generic] = np.float64,
    ) -> np.ndarray:
        """Return an array of this shape (None for any length) and kind with numbers from `low` to `high`."""
        found = self.arrays.get(f"{self.name}{name}")
        if found is None or found.dtype != kind or not _fits(found.shape, shape):
            got = "none" if found is None else f"{found.dtype} of shape {found.shape}"
            raise ValueError(f"{self.name}{name} must be an array of {np.dtype(kind)} of shape {shape}, got {got}")
        if not ((found >= low) & (found <= high)).all():
            raise ValueError(f"{self.name}{name} must hold numbers from {low:g} to {high:g}")
        return found


def _fits(shape: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    return len(shape) == len(wanted) and all(one in (size, None) for size, one in zip(shape, wanted, strict=True))
