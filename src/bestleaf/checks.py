"""One clear sentence for an argument that cannot be used: its name, what would be right, the value got.

A sentence has at most 300 characters, whatever was given: values and names are shown by `shown` and `listed`.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from numbers import Integral, Real
from reprlib import Repr
from typing import Any

import numpy as np

from bestleaf._records import UNLIMITED

LONGEST_VALUE = 80  # characters of a value in a sentence
LONGEST_LIST = 100  # of a list of names
LONGEST_SENTENCE = 300

_short = Repr()
_short.maxstring = _short.maxlong = _short.maxother = LONGEST_VALUE
_short.maxlist = _short.maxtuple = _short.maxset = _short.maxfrozenset = _short.maxdict = _short.maxarray = 10


def shown(value: Any) -> str:
    """Return a value as Python writes it, in one line, without its middle where that is long."""
    if isinstance(value, np.generic):
        value = value.item()  # 2, not np.int64(2)
    try:
        text = _short.repr(value)
    except Exception:  # a value whose own repr fails is still somebody's value
        text = f"<{type(value).__name__}>"
    return cut(" ".join(text.split()), LONGEST_VALUE)


def cut(text: str, most: int) -> str:
    """Return a text without its middle if it is longer than allowed."""
    if len(text) <= most:
        return text
    end = (most - 1) // 3
    return f"{text[: most - 1 - end]}…{text[-end:]}"


def listed(names: Iterable[Any], most: int = 10) -> str:
    """Return the first of some names, as many as a sentence has room for."""
    every, found = list(names), list[str]()
    for name in every[:most]:
        text = cut(shown(name), LONGEST_LIST // 2)
        if found and len(", ".join([*found, text])) > LONGEST_LIST:
            break
        found.append(text)
    more = f" and {len(every) - len(found):,} more" if len(every) > len(found) else ""
    return ", ".join(found) + more


def sentence(text: str) -> str:
    """Return a text as one line that is not too long."""
    return cut(" ".join(text.split()), LONGEST_SENTENCE)


def number(name: str, value: Any, rule: str, low: float, high: float, *, open_ends: bool = False) -> float:
    """Return `value` as a float between two ends, which belong to the range unless `open_ends`."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number {rule}, got {shown(value)}")
    found = float(value)
    inside = low < found < high if open_ends else low <= found <= high
    if not inside:
        raise ValueError(f"{name} must be {rule}, got {shown(value)}")
    return found


def whole(name: str, value: Any, low: int, rule: str = "") -> int:
    """Return a whole number from `low` on."""
    words = f"a whole number of at least {low}{rule}"
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name} must be {words}, got {shown(value)}")
    if value < low:
        raise ValueError(f"{name} must be {words}, got {shown(value)}")
    return min(int(value), UNLIMITED)


def one_of(name: str, value: Any, known: Iterable[str]) -> str:
    """Return a name that is known."""
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}, got {shown(value)}")
    return value


def did_you_mean(given: Any, known: Iterable[Any]) -> str:
    """Return a hint at the name that is nearest to one that is not known; nothing if none is near."""
    names = [name for name in known if isinstance(name, str)]
    alike = [name for name in names if isinstance(given, str) and name.lower() == given.lower()]
    near = alike or (get_close_matches(given, names, 1) if isinstance(given, str) else [])
    return f" (did you mean {shown(near[0])}?)" if near else ""


def function_or_none(name: str, value: Any) -> Any:
    """Return something that can be called, or None."""
    if value is not None and not callable(value):
        raise TypeError(f"{name} must be a function or None, got {shown(value)}")
    return value
