"""The answer by the rows of a search alone, and which leaves were looked at when a budget ended it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

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


FINE = 0.001  # smaller gaps are not told apart
HALF = 0.5  # at least so many of the leaves are looked at, if something is known of so many


def looked_at(exact: np.ndarray, upper: np.ndarray, value: float, epsilon: float, *, grown: bool) -> np.ndarray:
    """Return which leaves were looked at. The leaves must be listed in the order in which they entered the graph.

    These are the exact leaves and, of the others, those whose upper bound is below 1. In a graph that grew, the leaves
    that entered last may have been sampled too little. They are left out if that makes the gap smaller by a larger
    factor than the number of leaves.

    Parameters
    ----------
    exact : array of bool
        Whether a leaf has been evaluated.
    upper : array of float
        Upper bounds in [0, 1].
    value : float
        The best known value, from which the gap is measured.
    epsilon : float
        The gap that is tolerated: a smaller one is no better.
    grown : bool
        Whether the graph grew. If not, there are no last leaves.
    """
    bounded = exact | (upper < 1.0)
    if not grown:
        return bounded
    sampled = np.flatnonzero(bounded & ~exact)
    tops = np.maximum.accumulate(np.concatenate(([upper[exact].max(initial=0.0)], upper[sampled])))
    gaps = np.maximum(tops - value, max(epsilon, FINE))
    many = np.arange(len(tops)) + exact.sum()  # exact leaves, and the first sampled ones
    worth = np.where(many >= min(HALF * len(exact), many[-1]), many / gaps, -1.0)
    found = exact.copy()
    found[sampled[: np.flatnonzero(worth == worth.max())[-1]]] = True
    return found


def looked_at_in(content: Content) -> set[int]:
    """Return the nodes of the leaves of a certificate that were looked at."""
    search, leaves = content["search"], sorted(content["leaves"], key=lambda leaf: leaf["node"])
    exact = np.array([leaf["exact"] for leaf in leaves], bool)
    upper = np.array([leaf["upper"] for leaf in leaves])
    value = max((leaf["lower"] for leaf in leaves if leaf["terminal"]), default=0.0)
    found = looked_at(exact, upper, value, search["epsilon"], grown=search["expansion"] is not None)
    return {leaf["node"] for leaf, looked in zip(leaves, found.tolist(), strict=True) if looked}
