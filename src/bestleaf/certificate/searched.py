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
    known_gap: float  # the same among the leaves looked at
    is_answer: bool


def searched(content: Content) -> Searched:
    """Return the answer by the rows of the search alone. Unless left-out rows decided otherwise, it is the answer."""
    best = (content.get("new_data") or {}).get("best")
    if best is None or best["features"] == content["features"]:
        label = content["graph"]["labels"][content["answer"]]
        return Searched(label, content["lower"], content["gap"], known_gap(content), True)
    label = label_of(best["features"], unit_of(content["data"]))
    return Searched(label, best["value"], best["gap"], known_gap(best), False)


def known_gap(part: Content) -> float:
    """Return the gap among the leaves looked at; certificates of earlier versions have only that among all leaves."""
    return float(part["known_gap"] if "known_gap" in part else part["gap"])


def unit_of(data: Content) -> dict[str, int]:
    """Return the unit of each feature by name; a unit is a feature or a group."""
    return {data["names"][feature]: unit for unit, group in enumerate(data["groups"]) for feature in group}


def label_of_all(data: Content) -> list[int]:
    """Return the label of all features that may be chosen together, whatever the largest number of them is."""
    return [*sorted({*data["choice"]["allowed"], *data["choice"]["forced"]}), STOP]


def label_of(features: Iterable[str], units: Mapping[str, int]) -> list[int]:
    """Return the label of a complete subset whose features are given by name; `units` has the unit of each."""
    return [*sorted({units[name] for name in features}), STOP]
