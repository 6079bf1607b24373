"""Whether the leaves that challenged an answer are those the claim is about."""

from __future__ import annotations

from math import log
from typing import Any, NamedTuple

from bestleaf.certificate.refusal import CLOSE, need, same


def check_challenges(content: dict[str, Any]) -> None:
    """Check that the subsets that challenged the answer are all there, and that their values agree with the leaves'."""
    space = subset_space(content)
    values = {repr(leaf["label"]): leaf["lower"] for leaf in content["leaves"] if leaf["exact"]}
    for name, challenge in content["challenges"].items():
        need(content["search"]["task"] == "leaf", f"the claim {name!r} is about a best leaf")
        for label, value in challenge["subsets"]:
            check_subset(space, label)
            agrees = same(values.setdefault(repr(label), value), value)
            need(agrees, f"the value of {label} in the claim {name!r} is not that of its leaf")
    if content["challenges"]:
        exact = any(leaf["exact"] for leaf in content["leaves"] if leaf["node"] == content["answer"])
        need(exact, "challenges compare exact values, and the answer has none")
    if "local" in content["challenges"]:
        _check_local(content, content["challenges"]["local"])
    if "quantile" in content["challenges"]:
        _check_quantile(content, content["challenges"]["quantile"])


class Space(NamedTuple):
    """What there is to choose from, ready to be compared with many subsets."""

    known: frozenset[int]
    forced: frozenset[int]
    limit: int


def subset_space(content: dict[str, Any]) -> Space | None:
    """Return what there is to choose from; nothing is known of problems that are no feature selection."""
    if content["data"] is None:
        return None
    choice = content["data"]["choice"]
    return Space(frozenset((*choice["allowed"], *choice["forced"])), frozenset(choice["forced"]), choice["limit"])


def check_subset(space: Space | None, label: Any) -> None:
    """Check that a label stands for a subset that may be chosen."""
    if space is None:
        return
    units, stop = label[:-1], label[-1]
    fine = units == sorted(set(units)) and space.known.issuperset(units) and space.forced.issubset(units)
    need(stop == -1 and fine and 1 <= len(units) <= space.limit, f"{label} is not a subset that may be chosen")


def _check_local(content: dict[str, Any], challenge: dict[str, Any]) -> None:
    """Check that all leaves one step away are there, where the problem says what there is to choose from."""
    labels = [label for label, _ in challenge["subsets"]]
    if "choice" not in challenge:
        fine = content["data"] is None and bool(labels)
        need(fine, "the claim 'local' must say which leaves there are one step away")
        return
    choice, subset = challenge["choice"], content["graph"]["labels"][content["answer"]][:-1]
    agrees = content["data"] is None or choice == content["data"]["choice"]
    need(agrees, "the claim 'local' must be about the features that the data give to choose from")
    many = _many_one_step_away(choice, subset)
    need(len(labels) == many, f"the claim 'local' must be about all {many:,} subsets one step away")
    fine = sorted(map(repr, labels)) == sorted(map(repr, _one_step_away(choice, subset)))
    need(fine, f"the claim 'local' must be about all {many:,} subsets one step away")


def _many_one_step_away(choice: dict[str, Any], subset: list[int]) -> int:
    """Return how many subsets there are with one unit more, one less or one exchanged, without listing them."""
    mine, forced = set(subset), set(choice["forced"])
    free, loose = sum(unit not in mine for unit in choice["allowed"]), len(mine - forced)
    more = free if len(subset) < choice["limit"] else 0
    return more + loose * (free + 1) - (len(subset) == 1 and loose == 1)


def _one_step_away(choice: dict[str, Any], subset: list[int]) -> list[list[int]]:
    """Return the labels of all subsets with one unit more, one less or one exchanged."""
    mine, forced = set(subset), set(choice["forced"])
    free = [unit for unit in choice["allowed"] if unit not in mine]
    smaller = [[one for one in subset if one != unit] for unit in subset if unit not in forced]
    found = [sorted([*subset, unit]) for unit in free] if len(subset) < choice["limit"] else []
    found += smaller + [sorted([*less, unit]) for less in smaller for unit in free]
    return [[*one, -1] for one in found if one]


def _check_quantile(content: dict[str, Any], challenge: dict[str, Any]) -> None:
    drawn = len(challenge["subsets"])
    needed = (challenge["attempt"] * log(2) - log(content["search"]["delta"])) / challenge["alpha"]
    need(drawn >= needed - CLOSE, f"the claim 'quantile' needs {needed:.0f} random subsets, got {drawn:,}")
