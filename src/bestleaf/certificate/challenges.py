"""Whether the leaves that challenged an answer are those the claim is about."""

from __future__ import annotations

from math import comb, log
from typing import Any

from bestleaf.certificate.compare import CLOSE, same
from bestleaf.certificate.errors import RefusedError


def check_challenges(content: dict[str, Any]) -> None:
    """Check that the subsets that challenged the answer are all there, and that their values agree with the leaves'."""
    values = {repr(leaf["label"]): leaf["lower"] for leaf in content["leaves"] if leaf["exact"]}
    for name, challenge in content["challenges"].items():
        labels = [label for label, _ in challenge["subsets"]]
        for label, value in challenge["subsets"]:
            check_subset(content, label)
            if not 0 <= value <= 1 or not same(values.setdefault(repr(label), value), value):
                raise RefusedError(f"the value of {label} in the claim {name!r} is not that of its leaf")
        if name not in ("local", "quantile"):
            raise RefusedError(f"no guarantee is called {name!r}")
        if name == "local" and "choice" not in challenge:
            if content["data"] is not None or not labels:
                raise RefusedError("the claim 'local' must say which leaves there are one step away")
        elif name == "local":
            expected = _one_step_away(content, challenge["choice"])
            if sorted(map(repr, labels)) != sorted(map(repr, expected)):
                raise RefusedError(f"the claim 'local' must be about all {len(expected):,} subsets one step away")
        elif name == "quantile":
            needed = (challenge["attempt"] * log(2) - log(content["search"]["delta"])) / challenge["alpha"]
            if not (challenge["attempt"] >= 1 and 0 < challenge["alpha"] < 1 and len(labels) >= needed - CLOSE):
                raise RefusedError(f"the claim 'quantile' needs {needed:.0f} random subsets, got {len(labels):,}")


def check_subset(content: dict[str, Any], label: Any) -> None:
    """Check that a label stands for a subset that may be chosen; nothing is known of other problems."""
    if content["data"] is None:
        return
    choice = content["data"]["choice"]
    units, stop = label[:-1], label[-1]
    known = {*choice["allowed"], *choice["forced"]}
    fine = units == sorted(set(units)) and known.issuperset(units) and set(units).issuperset(choice["forced"])
    if not (stop == -1 and fine and 1 <= len(units) <= choice["limit"]):
        raise RefusedError(f"{label} is not a subset that may be chosen")


def check_exhaustive(content: dict[str, Any]) -> None:
    """Check that the leaves are all subsets that may be chosen."""
    choice, labels = content["data"]["choice"], [leaf["label"] for leaf in content["leaves"]]
    sizes = range(choice["limit"] - len(choice["forced"]) + 1)
    many = sum(comb(len(choice["allowed"]), size) for size in sizes) - (not choice["forced"])
    if len(set(map(repr, labels))) != many:
        raise RefusedError(f"the claim 'exhaustive' must be about all {many:,} subsets, got {len(labels):,}")


def _one_step_away(content: dict[str, Any], choice: dict[str, Any]) -> list[list[int]]:
    """Return the labels of all subsets with one unit more, one less or one exchanged."""
    if content["data"] is not None and choice != content["data"]["choice"]:
        raise RefusedError("the claim 'local' must be about the features that the data give to choose from")
    subset = content["graph"]["labels"][content["answer"]][:-1]
    free = [unit for unit in choice["allowed"] if unit not in subset]
    smaller = [[one for one in subset if one != unit] for unit in subset if unit not in choice["forced"]]
    found = [sorted([*subset, unit]) for unit in free] if len(subset) < choice["limit"] else []
    found += smaller + [sorted([*less, unit]) for less in smaller for unit in free]
    return [[*one, -1] for one in found if one]
