"""Checks of arguments. An error is one clear sentence: the name, what would be right, the value got.

A sentence has at most 300 characters, because `shown` and `listed` shorten long values and long lists.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from numbers import Integral, Real
from reprlib import Repr
from types import ModuleType
from typing import Any

import numpy as np

UNLIMITED = 2**63 - 1  # the largest whole number of 64 bits
LONGEST_VALUE = 80  # characters of a value in a sentence
LONGEST_LIST = 100  # characters of a list of names
LONGEST_SENTENCE = 300

_short = Repr()
_short.maxstring = _short.maxlong = _short.maxother = LONGEST_VALUE
_short.maxlist = _short.maxtuple = _short.maxset = _short.maxfrozenset = _short.maxdict = _short.maxarray = 10


def shown(value: object) -> str:
    """Return the repr of a value in one line; the middle of a long one is left out."""
    if isinstance(value, np.generic):
        value = value.item()  # 2, not np.int64(2)
    try:
        text = _short.repr(value)
    except Exception:  # the repr of a user's class may fail
        text = f"<{type(value).__name__}>"
    return cut(" ".join(text.split()), LONGEST_VALUE)


def cut(text: str, most: int) -> str:
    """Return a text of at most `most` characters; the middle of a longer one is left out."""
    if len(text) <= most:
        return text
    end = (most - 1) // 3
    return f"{text[: most - 1 - end]}…{text[-end:]}"


def listed(names: Iterable[object]) -> str:
    """Return the first names of a list, as many as fit into a sentence, and how many more there are."""
    every, found = list(names), list[str]()
    for name in every[:10]:
        text = cut(shown(name), LONGEST_LIST // 2)
        if found and len(", ".join([*found, text])) > LONGEST_LIST:
            break
        found.append(text)
    more = f" and {len(every) - len(found):,} more" if len(every) > len(found) else ""
    return ", ".join(found) + more


def sentence(text: str, most: int = LONGEST_SENTENCE) -> str:
    """Return a text as one line of at most `most` characters."""
    return cut(" ".join(text.split()), most)


def number(name: str, value: object, rule: str, low: float, high: float, *, open_ends: bool = False) -> float:
    """Return `value` as a float from `low` to `high`; with `open_ends` both ends are excluded."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number {rule}, got {shown(value)}")
    found = float(value)
    inside = low < found < high if open_ends else low <= found <= high
    if not inside:
        raise ValueError(f"{name} must be {rule}, got {shown(value)}")
    return found


def whole(name: str, value: object, low: int, rule: str = "") -> int:
    """Return `value` as a whole number of at least `low`."""
    words = f"a whole number of at least {low}{rule}"
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name} must be {words}, got {shown(value)}")
    if value < low:
        raise ValueError(f"{name} must be {words}, got {shown(value)}")
    return min(int(value), UNLIMITED)


def one_of(name: str, value: object, known: Iterable[str]) -> str:
    """Return `value` if it is one of the known names."""
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}, got {shown(value)}")
    return value


def did_you_mean(given: object, known: Iterable[object]) -> str:
    """Return a hint at the known name most like the one given; an empty text if none is like it."""
    names = [name for name in known if isinstance(name, str)]
    alike = [name for name in names if isinstance(given, str) and name.lower() == given.lower()]
    near = alike or (get_close_matches(given, names, 1) if isinstance(given, str) else [])
    if not near and isinstance(given, str) and len(given) > 2:  # such as "fee" for "readmission_fee"
        near = sorted((name for name in names if given.lower() in name.lower()), key=len)
    return f" (did you mean {shown(near[0])}?)" if near else ""


def check_keywords(
    owner: str,
    given: Iterable[str],
    known: Iterable[str],
    probabilities: Iterable[str] = (),
) -> None:
    """Refuse keywords that a function does not have; `probabilities` are those that it cannot do without."""
    given, known = list(given), list(known)
    for name in given:
        if name not in known:
            raise TypeError(f"{owner} got an argument that it does not have, {shown(name)}{did_you_mean(name, known)}")
    for name in probabilities:
        if name not in given:
            raise TypeError(f"{owner} needs {name}, a number between 0 and 1, got none")


def function_or_none(name: str, value: Any) -> Any:
    """Return `value` if it can be called or is None."""
    if value is not None and not callable(value):
        raise TypeError(f"{name} must be a function or None, got {shown(value)}")
    return value


def library(module: str, extra: str, owner: str) -> ModuleType:
    """Return a module that an extra of the package installs; raise one sentence if it is missing."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise ImportError(f"{owner} needs {module} (pip install 'bestleaf[{extra}]')", name=module) from None
