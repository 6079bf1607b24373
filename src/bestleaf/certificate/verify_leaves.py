"""The leaves of a certificate: what each interval follows from, the shares of delta, and what labels have in common."""

from __future__ import annotations

from collections import Counter
from math import comb
from typing import Any

from bestleaf.certificate.bound_checks import CHECKS, RATES, Check, is_evidence, of_one_leaf, rate_gives
from bestleaf.certificate.claims import by_budget
from bestleaf.certificate.names import part_name
from bestleaf.certificate.refusal import need, proportional, same

NAMES = (*RATES, *CHECKS)  # of our own bounds
MANY = 10**6  # subsets that are counted in any case
EXACT, IDLE, FOLLOWS, WRITTEN = "exact", "idle", "follows", "written"  # where an interval comes from


def check_leaves(content: dict[str, Any], own: Any = None) -> Counter[str]:
    """Check every leaf; return how many are exact, idle, follow from their samples or are taken as written."""
    found: Counter[str] = Counter()
    search = content["search"]
    check = own_check(search["bound"], own)
    sampled = sum(leaf["order"] > 0 for leaf in content["leaves"])
    if search["bound"] == "theory" and search["proof"] == "rigorous":
        _check_theory(content, sampled)
    steady = search["bound"] == "beta2" or (search["expansion"] is None and sampled == len(content["leaves"]))
    for leaf in content["leaves"]:
        _check_kind(leaf, content)
        found[_origin(leaf, search, sampled, check, steady=steady)] += 1
    _check_shares(content, sampled)
    _check_equal_labels(content["leaves"])
    _check_whole(content)
    return found


def own_check(name: str, own: Any) -> Check | None:
    """Return the check that a user's own bound brings, if it is the bound of the certificate."""
    if own is None:
        return None
    called = part_name(own.name, NAMES, ours=False)
    need(called == name, f"the bound given is {called}, that of the certificate {name}")
    return getattr(own, "check", None)


def _check_kind(leaf: dict[str, Any], content: dict[str, Any]) -> None:
    """Check that a leaf is exact, waits for its value, or has a place in the order of creation."""
    name, lower, upper, data = leaf["label"], leaf["lower"], leaf["upper"], content["data"]
    need(0 <= lower <= upper <= 1, f"the interval of leaf {name} must lie in [0, 1], got [{lower}, {upper}]")
    bare = leaf["lower_evidence"] is None and leaf["upper_evidence"] is None
    if leaf["exact"]:
        value = leaf["terminal"] and lower == upper == leaf["mean"] and leaf["count"] == 1
        need(value, f"the exact leaf {name} must have one value, got [{lower}, {upper}] and {leaf['mean']}")
        need(leaf["order"] == 0 and bare, f"the exact leaf {name} must have no place in the order and no evidence")
    elif leaf["order"] == 0:
        waits = leaf["terminal"] and leaf["count"] == 0 and (lower, upper) == (0, 1) and bare
        need(waits, f"leaf {name} has no share of delta, so nothing may be known of it but [0, 1]")
    if data is not None and leaf["terminal"]:
        sampled = leaf["order"] > 0
        fits = sampled == (data["terminal"] == "noisy")
        need(fits, f"the subset {name} must be {'sampled' if not sampled else 'exact'} as the data say")


def _origin(leaf: dict[str, Any], search: dict[str, Any], sampled: int, check: Check | None, *, steady: bool) -> str:
    """Return where the interval of a leaf comes from, refusing one that does not follow from its samples.

    It is `steady` if the number of sampled leaves, which the paper's rates look at, has always been the same.
    """
    if leaf["exact"]:
        return EXACT
    looks = _looks(leaf, search["bound"])
    if (leaf["lower"], leaf["upper"]) == (0, 1):
        return IDLE
    need(leaf["count"] > 0, f"leaf {leaf['label']} has no samples, so its interval must be [0, 1]")
    if search["bound"] in RATES:
        return _by_rate(leaf, search, sampled, steady=steady)
    prove = CHECKS.get(search["bound"], check)
    for side, free in (("lower", 0), ("upper", 1)):
        value, evidence = leaf[side], leaf[f"{side}_evidence"]
        if evidence is None:
            fine = value == free or (prove is None and not looks)  # a user's own rate leaves no evidence
            need(fine, f"the {side} bound of leaf {leaf['label']} has no evidence but is {value}, not {free}")
        elif prove is not None:
            follows = bool(prove(side, value, leaf["share"], list(evidence)))
            need(follows, f"the {side} bound {value:.6g} of leaf {leaf['label']} does not follow from its samples")
    return WRITTEN if prove is None else FOLLOWS


def _looks(leaf: dict[str, Any], bound: str) -> list[list[float]]:
    """Return the evidence of a leaf, refused unless all of it can be of the same samples."""
    looks = []
    for side in ("lower", "upper"):
        evidence = leaf[f"{side}_evidence"]
        if evidence is not None:
            fine = is_evidence(bound, evidence, leaf["count"])
            need(fine, f"the evidence for the {side} bound of leaf {leaf['label']} is not of its samples in [0, 1]")
            looks.append(evidence)
    if looks:
        now = [leaf["count"], leaf["mean"] * leaf["count"]]
        fine = of_one_leaf(bound, looks) and all(of_one_leaf("", [look, now]) for look in looks)
        need(fine, f"the evidence of leaf {leaf['label']} contradicts itself or the mean of the leaf")
    return looks


def _by_rate(leaf: dict[str, Any], search: dict[str, Any], sampled: int, *, steady: bool) -> str:
    """Check an interval of one of the paper's rates; of a past with fewer sampled leaves nothing can be told."""
    for side, free in (("lower", 0), ("upper", 1)):
        evidence, value = leaf[f"{side}_evidence"], leaf[side]
        if evidence is not None and not steady:
            return WRITTEN
        count, total = (leaf["count"], leaf["mean"] * leaf["count"]) if evidence is None else evidence[:2]
        follows = value == free or rate_gives(search["bound"], side, value, search["delta"], sampled, count, total)
        need(follows, f"the {side} bound {value:.6g} of leaf {leaf['label']} does not follow from its samples")
    return FOLLOWS


def _check_theory(content: dict[str, Any], sampled: int) -> None:
    """Check the conditions of the paper's theorem: leaves known in advance, all sampled, and enough of them."""
    search = content["search"]
    need(search["expansion"] is None, "bound theory proves nothing where the graph grew")
    need(sampled == len(content["leaves"]), "bound theory proves nothing where leaves are exact")
    need(search["delta"] <= 0.1 * sampled, f"bound theory needs delta of at most 0.1 times the {sampled} leaves")


def _check_shares(content: dict[str, Any], sampled: int) -> None:
    """Check that every sampled leaf has the share of its place in the order of creation.

    Only where all leaves were there from the start and all are sampled may they have equal shares.
    """
    leaves, delta = content["leaves"], content["search"]["delta"]
    fixed = content["search"]["expansion"] is None and sampled == len(leaves)
    equal = fixed and proportional(leaves[-1]["share"], delta / len(leaves))
    _check_orders(content)
    for leaf in leaves:
        place = leaf["order"]
        due = 0.0 if place == 0 else delta / len(leaves) if equal else delta / (place * (place + 1))
        fine = proportional(leaf["share"], due)
        need(fine, f"leaf {leaf['label']} must have the share of delta of its place in the order of creation")


def _check_orders(content: dict[str, Any]) -> None:
    """Check that no place in the order of creation is missing: a leaf that got children keeps its place."""
    graph, created = content["graph"], content["graph"]["created"]
    inner = [order for order in graph["inner_orders"] if order > 0]
    leaves = [leaf["order"] for leaf in content["leaves"] if leaf["order"] > 0]
    whole = content["search"]["expansion"] is None
    need(not (whole and inner), "the graph is not whole: it has inner nodes that once were leaves")
    misplaced = any(graph["inner_orders"][leaf["node"]] for leaf in content["leaves"])
    need(not misplaced, "a leaf must not have the place of an inner node in the order of creation")
    met = {*inner, *leaves}
    need(len(met) == len(inner) + len(leaves), "two nodes have the same place in the order of creation")
    fine = len(met) == created and max(met, default=0) == created
    need(fine, f"{created:,} leaves were created, but {len(met):,} places in the order of creation are here")


def _check_equal_labels(leaves: list[dict[str, Any]]) -> None:
    """Check that leaves with the same label are the same: one value, one kind."""
    met: dict[str, dict[str, Any]] = {}
    for leaf in leaves:
        other = met.setdefault(repr(leaf["label"]), leaf)
        alike = leaf["terminal"] == other["terminal"]
        need(alike, f"two leaves called {leaf['label']} are of different kinds")
        if leaf["exact"] and other["exact"]:
            need(same(leaf["lower"], other["lower"]), f"two leaves called {leaf['label']} have different values")
        mixed = (leaf["exact"] and other["order"] > 0) or (other["exact"] and leaf["order"] > 0)
        need(not mixed, f"two leaves called {leaf['label']} are of different kinds")
        if leaf["exact"]:
            met[repr(leaf["label"])] = leaf


def _check_whole(content: dict[str, Any]) -> None:
    """Check that a graph said to be whole is, as far as that can be told."""
    leaves, data, asked = content["leaves"], content["data"], content["cost"]["exact_evaluations"]
    exact = sum(leaf["exact"] for leaf in leaves)
    outside = content["cost"]["values_outside"]
    found = f"{exact:,} exact values of leaves and {outside:,} of other states"
    need(exact + outside == asked, f"{found} are written, but {asked:,} were computed")
    if by_budget(content):
        need(exact == asked == len(leaves), f"{exact:,} exact values are written, but {asked:,} were computed")
    if content["search"]["expansion"] is not None:
        return
    temporary = sum(not leaf["terminal"] for leaf in leaves)
    need(temporary == 0, f"the graph is not whole: {temporary:,} of its leaves have more below them")
    if exact:
        need(exact == asked, f"the whole graph has {exact:,} exact values, but {asked:,} were computed")
    if data is not None:
        many = count_subsets(data["choice"], len(leaves))
        fine = many == len(leaves)
        need(fine, f"the whole graph must have all {many:,} subsets that may be chosen, got {len(leaves):,}")


def count_subsets(choice: dict[str, Any], most: int) -> int:
    """Return how many subsets may be chosen, or a number beyond `most`: counting all of them may take for ever."""
    free, total = len(choice["allowed"]), -(not choice["forced"])
    for size in range(choice["limit"] - len(choice["forced"]) + 1):
        total += comb(free, size)
        if total > max(most, MANY):
            break
    return total
