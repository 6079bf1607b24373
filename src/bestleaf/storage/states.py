"""States as JSON and back: tuples as lists, frozensets tagged, numbers, text, truth values and None as they are."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any

import numpy as np

from bestleaf.checks import shown


def encoded(state: Any) -> Any:
    """Return a state in terms of JSON, or say in one sentence that it has no such form."""
    kind = type(state)
    if kind in (int, str, bool) or state is None or (kind is float and isfinite(state)):
        return state
    if kind is tuple:
        return [encoded(one) for one in state]
    if kind is frozenset:
        return {"set": sorted((encoded(one) for one in state), key=json.dumps)}
    if isinstance(state, np.bool_ | np.integer | np.floating):
        return encoded(state.item())
    raise TypeError(
        "checkpoint needs states made of numbers, text, None, tuples and frozensets, "
        f"got {shown(state)} of type {kind.__name__}"
    )


def decoded(given: Any) -> Any:
    """Return the state that JSON stands for."""
    if isinstance(given, list):
        return tuple(decoded(one) for one in given)
    if not isinstance(given, dict):
        return given
    if list(given) != ["set"] or not isinstance(given["set"], list):
        raise ValueError(f"a state must be a number, text, None, a list or a set, got {str(given)[:80]}")
    return frozenset(decoded(one) for one in given["set"])
