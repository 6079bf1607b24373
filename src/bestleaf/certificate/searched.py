"""The answer by the rows of a search alone. Where left-out rows decided, the answer may be another subset."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from bestleaf.certificate.schema import Content, Json

STOP = -1  # ends the label of a complete subset


class Searched(NamedTuple):
    """The answer by the rows of the search alone: what epsilon, settled and the guarantees are about."""

    label: Json
    value: float  # the exact value; the lower bound of a sampled leaf
    gap: float  # how much better than it another leaf may be
    is_answer: bool


def searched(content: Content) -> Searched:
    """Return the answer by the rows of the search alone. Unless left-out rows decided otherwise, it is the answer."""
    best = (content.get("new_data") or {}).get("best")
    if best is None or best["features"] == content["features"]:
        label = content["graph"]["labels"][content["answer"]]
        return Searched(label, content["lower"], content["gap"], True)
    label = label_of(best["features"], unit_of(content["data"]))
    return Searched(label, best["value"], best["gap"], False)


def unit_of(data: Content) -> dict[str, int]:
    """Return the unit of each feature by name; a unit is a feature or a group."""
    return {data["names"][feature]: unit for unit, group in enumerate(data["groups"]) for feature in group}


def label_of(features: Iterable[str], units: Mapping[str, int]) -> list[int]:
    """Return the label of a complete subset whose features are given by name; `units` has the unit of each."""
    return [*sorted({units[name] for name in features}), STOP]
