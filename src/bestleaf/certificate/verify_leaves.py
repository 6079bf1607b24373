"""Check the leaves of a certificate: intervals, shares of delta, order of creation, and leaves with equal labels."""

from __future__ import annotations

from collections import Counter
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from bestleaf.certificate.bound_checks import CHECKS, RATES, Check, is_evidence, of_one_leaf, rate_gives
from bestleaf.certificate.schema import CLOSE, Content, RefusedError, need, part_name

if TYPE_CHECKING:
    from bestleaf.engine.bounds import Bound

MANY = 10**6  # counting subsets goes on at least so far
EXACT, IDLE, FOLLOWS, WRITTEN = "exact", "idle", "follows", "written"  # where an interval comes from


def check_leaves(content: Content, own: Bound | None = None) -> Counter[str]:
    """Check every leaf; return how many intervals are exact, idle, follow from samples, or are taken as written."""
    search, leaves = content["search"], content["leaves"]
    sampled = sum(leaf["order"] > 0 for leaf in leaves)
    fixed = search["expansion"] is None and sampled == len(leaves)  # all there from the start, all sampled
    if search["bound"] == "theory" and search["proof"] == "rigorous":
        need(fixed, "bound theory proves nothing where the graph grew or leaves are exact")
        need(search["delta"] <= 0.1 * sampled, f"bound theory needs delta of at most 0.1 times the {sampled} leaves")
    prove = CHECKS.get(search["bound"])
    if own is not None:
        called = part_name(own.name, (*RATES, *CHECKS), ours=False)
        need(called == search["bound"], f"the bound given is {called}, that of the certificate {search['bound']}")
        prove = getattr(own, "check", None)
    _check_kinds(content, fixed=fixed)
    steady = fixed or search["bound"] == "beta2"
    found = Counter(_origin(leaf, search, sampled, prove, steady=steady) for leaf in leaves)
    _check_orders(content)
    _check_equal_labels(leaves)
    _check_whole(content)
    return found


def _check_kinds(content: Content, *, fixed: bool) -> None:
    """Check that every leaf is exact, or waits for its value, or has a place in the order of creation and a share.

    Equal shares are allowed only if all leaves were there from the start and all are sampled (`fixed`).
    """
    leaves, data, delta = content["leaves"], content["data"], content["search"]["delta"]
    names = ("lower", "upper", "count", "order", "share", "mean", "exact", "terminal")
    columns = np.array([[leaf[name] for name in names] for leaf in leaves], np.float64).T  # a mean of None is NaN
    lower, upper, count, order, share, mean, exact, terminal = columns
    evidence = np.array([leaf["lower_evidence"] is not None or leaf["upper_evidence"] is not None for leaf in leaves])
    bare = (order == 0) & ~evidence
    value = (terminal == 1) & (lower == upper) & (lower == mean) & (count == 1)
    waits = (terminal == 1) & (lower == 0) & (upper == 1) & (count == 0) & bare
    equal = fixed and np.isclose(share, delta / len(leaves), CLOSE, 0).all()
    due = delta / np.where(order == 0, np.inf, len(leaves) if equal else order * (order + 1))
    for fine, reason in (
        ((lower >= 0) & (lower <= upper) & (upper <= 1), "must have an interval in [0, 1]"),
        ((exact == 0) | value, "is exact, so it must have one value"),
        ((exact == 0) | bare, "is exact, so it must have no place in the order and no evidence"),
        ((exact == 1) | (order > 0) | waits, "has no share of delta, so nothing may be known of it but [0, 1]"),
        (np.isclose(share, due, CLOSE, 0), "must have the share of delta of its place in the order of creation"),
        ((terminal == 0) | (order == 0) | (data is None), "is a subset, so it must be exact"),
    ):
        if not fine.all():
            raise RefusedError(f"leaf {leaves[int(np.argmin(fine))]['label']!r:.80} {reason}")


def _origin(leaf: Content, search: Content, sampled: int, prove: Check | None, *, steady: bool) -> str:
    """Return where the interval of a leaf comes from; refuse one that does not follow from its samples.

    The paper's rates depend on the number of sampled leaves. `steady` says that this number has never changed, or that
    the rate does not use it. Otherwise an interval from earlier samples cannot be checked.
    """
    if leaf["exact"]:
        return EXACT
    bound, delta = search["bound"], search["delta"]
    looks = [leaf[f"{side}_evidence"] for side in ("lower", "upper")]
    known, now = [look for look in looks if look is not None], [leaf["count"], (leaf["mean"] or 0.0) * leaf["count"]]
    if not all(is_evidence(bound, look, leaf["count"]) for look in known):
        raise RefusedError(f"the evidence of leaf {leaf['label']!r:.80} is not of its samples in [0, 1]")
    if not (of_one_leaf(bound, known) and all(of_one_leaf("", [look, now]) for look in known)):
        raise RefusedError(f"the evidence of leaf {leaf['label']!r:.80} contradicts itself or the mean of the leaf")
    if (leaf["lower"], leaf["upper"]) == (0, 1):
        return IDLE
    for side, free, look in zip(("lower", "upper"), (0, 1), looks, strict=True):
        value = leaf[side]
        if look is not None and bound not in RATES:
            fine = prove is None or bool(prove(side, value, leaf["share"], list(look)))
        elif bound not in RATES:
            fine = value == free or (prove is None and not known and leaf["count"] > 0)  # a rate of the user
        elif look is not None and not steady:
            return WRITTEN
        else:
            count, total = (look or now)[:2]
            by_rate = count > 0 and rate_gives(bound, side, value, delta, sampled, count, total)
            fine = value == free or by_rate
        if not fine:
            name = f"{leaf['label']!r:.80}"
            raise RefusedError(f"the {side} bound {value:.6g} of leaf {name} does not follow from its samples")
    return FOLLOWS if bound in RATES or prove is not None else WRITTEN


def _check_orders(content: Content) -> None:
    """Check that no place in the order of creation is missing; a leaf that gets children keeps its place."""
    orders, created = content["graph"]["inner_orders"], content["graph"]["created"]
    whole = content["search"]["expansion"] is None
    need(not (whole and any(orders)), "the graph is not whole: it has inner nodes that once were leaves")
    misplaced = any(orders[leaf["node"]] for leaf in content["leaves"])
    need(not misplaced, "a leaf must not have the place of an inner node in the order of creation")
    places = sorted(place for place in (*orders, *(leaf["order"] for leaf in content["leaves"])) if place)
    fine = len(places) == created and places == list(range(1, created + 1))
    need(fine, f"{created:,} leaves were created, so the places in the order of creation must be 1 to {created:,}")


def _check_equal_labels(leaves: list[Content]) -> None:
    """Check that leaves with the same label are of the same kind; a leaf that waits for its value has none yet."""
    ends, exact = dict[str, bool](), dict[str, bool]()
    for leaf in leaves:
        name, decided = repr(leaf["label"]), leaf["exact"] or leaf["order"] > 0
        alike = ends.setdefault(name, leaf["terminal"]) == leaf["terminal"]
        if not alike or (decided and exact.setdefault(name, leaf["exact"]) != leaf["exact"]):
            raise RefusedError(f"two leaves called {name:.80} are of different kinds")


def _check_whole(content: Content) -> None:
    """Check that all exact values are accounted for, and that a graph said to be whole has all subsets."""
    leaves, data, asked = content["leaves"], content["data"], content["cost"]["exact_evaluations"]
    exact, outside = sum(leaf["exact"] for leaf in leaves), content["cost"]["values_outside"]
    whole = content["search"]["expansion"] is None
    found = f"{exact:,} exact values of leaves and {outside:,} of other states are written"
    need(exact + outside == asked, f"{found}, but {asked:,} were computed")
    counted_only = content.get("all_subsets") is not None
    need(counted_only or not outside or not (whole and exact), f"{found}, but all must be of leaves")
    if whole:
        temporary = sum(not leaf["terminal"] for leaf in leaves)
        need(temporary == 0, f"the graph is not whole: {temporary:,} of its leaves have more below them")
    if whole and data is not None and not counted_only:
        many = _count_subsets(data["choice"], max(len(leaves), MANY))
        fine = many == len(leaves)
        need(fine, f"the whole graph must have all {many:,} subsets that may be chosen, got {len(leaves):,}")


def _count_subsets(choice: Content, beyond: int) -> int:
    """Return how many subsets may be chosen; counting ends beyond a number, because all may take very long."""
    many = -(not choice["forced"])
    for size in range(choice["limit"] - len(choice["forced"]) + 1):
        many += comb(len(choice["allowed"]), size)
        if many > beyond:
            break
    return many
