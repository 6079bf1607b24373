"""Check a certificate from what is written in it: every interval, every node, every claim.

Nothing here looks at a search or runs its kernels; the formulas are written out again. With the data at hand the exact
values are computed again too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite, log, sqrt
from pathlib import Path
from typing import Any

from bestleaf.certificate.challenges import check_challenges, check_exhaustive, check_subset
from bestleaf.certificate.compare import CLOSE, same
from bestleaf.certificate.errors import MALFORMED, RefusedError
from bestleaf.certificate.extras import check_extras, taken_as_written
from bestleaf.certificate.form import check_form
from bestleaf.certificate.proofs import PROOFS
from bestleaf.certificate.record import Certificate, checksum
from bestleaf.certificate.words import by_budget, counted, further_claims, grown_claim, not_claimed


@dataclass(frozen=True)
class Verdict:
    """Whether a certificate holds, and why; true or false as it does."""

    holds: bool
    text: str

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        return self.text


def verify(certificate: Certificate | str | Path, X: Any = None, y: Any = None, *, oracle: Any = None) -> Verdict:
    """Check a certificate (or the file of one), with the data also the exact values.

    Parameters
    ----------
    certificate : Certificate or path
        What is checked.
    X, y : default=None
        The data of a feature selection, as they were given to the selector.
    oracle : EstimatorOracle, default=None
        What computes the values of an estimator again; without it they are taken as written.

    Returns
    -------
    Verdict
        True if the certificate holds; its text says what was checked or why it is refused.
    """
    if (X is None) != (y is None):
        raise ValueError(f"X and y must be given together, got only {'y' if X is None else 'X'}")
    if not isinstance(certificate, Certificate | str | Path):
        raise TypeError(f"certificate must be a Certificate or the path of one, got a {type(certificate).__name__}")
    if not isinstance(certificate, Certificate):
        certificate = Certificate.load(certificate)
    content = certificate.content
    try:
        checked = list(_checks(content, X, y, oracle))
    except RefusedError as reason:
        return Verdict(False, f"Refused: {reason}.")
    except MALFORMED as error:
        return Verdict(False, f"Refused: the certificate is incomplete or malformed ({type(error).__name__}: {error}).")
    return Verdict(True, "\n".join(["The certificate holds.", *checked]))


def _checks(content: dict[str, Any], X: Any, y: Any, oracle: Any) -> Iterator[str]:
    check_form(content)
    search, leaves, children = content["search"], content["leaves"], content["graph"]["children"]
    _check_settings(search)
    _check_graph(children, content["graph"]["labels"], leaves)
    exact = sum(leaf["exact"] for leaf in leaves)
    for leaf in leaves:
        if leaf["exact"]:
            check_subset(content, leaf["label"])
        _check_leaf(leaf, search, len(leaves) - exact)
    _check_shares(leaves, search["delta"])
    idle = sum(not leaf["exact"] and leaf["count"] == 0 for leaf in leaves)
    rest = f"the intervals of {len(leaves) - exact - idle:,} follow from their samples"
    yield f"{counted(len(leaves), 'leaf', 'leaves')}: {exact:,} exact, {idle:,} not looked at, {rest}."
    lower, upper = node_bounds(children, set(content["graph"]["minimizes"]), leaves)
    gap = _gap(content, lower, upper)
    if not same(gap, content["gap"]):
        raise RefusedError(f"the gap follows from the leaves as {gap:.6g}, not {content['gap']:.6g} as written")
    _check_answer(content, lower, upper)
    check_challenges(content)
    if "quantile" in content["challenges"]:
        yield "That the random leaves were drawn at random cannot be seen from a certificate."
    yield from _check_claims(content, gap)
    if "checksum" in content and content["checksum"] != checksum(content):
        raise RefusedError("the checksum does not belong to the content: something was changed after it was written")
    check_extras(content)
    yield taken_as_written(content, with_data=X is not None)
    if X is not None:
        from bestleaf.certificate.data import check_data

        yield check_data(content, X, y, oracle)


def _check_settings(search: dict[str, Any]) -> None:
    if not 0 <= search["epsilon"] <= 1:
        raise RefusedError(f"epsilon must be between 0 and 1, got {search['epsilon']}")
    if not 0 < search["delta"] < 1:
        raise RefusedError(f"delta must be between 0 and 1, got {search['delta']}")


def _check_graph(children: list[list[int]], labels: list[Any], leaves: list[dict[str, Any]]) -> None:
    if len(children) != len(labels):
        raise RefusedError(f"the graph has {len(children)} nodes but {len(labels)} labels")
    childless = {node for node, below in enumerate(children) if not below}
    named = [leaf["node"] for leaf in leaves]
    if len(set(named)) < len(named) or set(named) != childless:
        raise RefusedError("the leaves must be exactly the nodes without children")
    if any(not 0 <= child < len(children) for below in children for child in below):
        raise RefusedError("the graph has an edge to a node that does not exist")


def _check_leaf(leaf: dict[str, Any], search: dict[str, Any], leaves: int) -> None:
    name, lower, upper, count = leaf["label"], leaf["lower"], leaf["upper"], leaf["count"]
    if not 0 <= lower <= upper <= 1:
        raise RefusedError(f"the interval of leaf {name} must lie in [0, 1], got [{lower}, {upper}]")
    if leaf["exact"]:
        if not (leaf["terminal"] and lower == upper == leaf["mean"] and count == 1 and leaf["share"] == 0):
            raise RefusedError(f"the exact leaf {name} must have one value, got [{lower}, {upper}] and {leaf['mean']}")
        return
    if search["bound"] == "theory" and count > 0:
        _check_theory(leaf, search["delta"], leaves)
        return
    if count == 0 or (leaf["lower_evidence"] is None and leaf["upper_evidence"] is None):
        if search["proof"] == "rigorous" and (lower, upper) != (0.0, 1.0):
            raise RefusedError(f"leaf {name} has no evidence, so its interval must be [0, 1], got [{lower}, {upper}]")
        return
    prove = PROOFS.get(search["bound"])
    if prove is None:
        if search["proof"] == "rigorous":
            raise RefusedError(f"no rigorous bound is called {search['bound']!r}")
        return
    for side, value, free in (("lower", lower, 0.0), ("upper", upper, 1.0)):
        evidence = leaf[f"{side}_evidence"]
        if evidence is None:
            if value != free:
                raise RefusedError(f"the {side} bound of leaf {name} has no evidence but is {value}, not {free:g}")
            continue
        if not (1 <= evidence[0] <= count and all(isfinite(number) for number in evidence)):
            raise RefusedError(
                f"the evidence for the {side} bound of leaf {name} has {evidence[0]:g} of {count} samples"
            )
        if not 0 <= evidence[1] <= evidence[0] + CLOSE:
            raise RefusedError(
                f"the samples of leaf {name} must lie in [0, 1], got {evidence[0]:g} with sum {evidence[1]}"
            )
        if not prove(side, value, leaf["share"], evidence):
            raise RefusedError(f"the {side} bound {value:.6g} of leaf {name} does not follow from its samples")


def _check_theory(leaf: dict[str, Any], delta: float, leaves: int) -> None:
    """Check the paper's interval, which looks at all samples of a leaf and at the number of leaves."""
    crowd, count = log(leaves / delta), leaf["count"]
    half = sqrt((crowd + 3 * log(crowd) + 1.5 * log(log(count) + 1)) / (2 * count))
    expected = max(0.0, leaf["mean"] - half), min(1.0, leaf["mean"] + half)
    if not (same(leaf["lower"], expected[0]) and same(leaf["upper"], expected[1])):
        raise RefusedError(f"the interval of leaf {leaf['label']} does not follow from its samples")


def _check_shares(leaves: list[dict[str, Any]], delta: float) -> None:
    noisy = [leaf for leaf in leaves if leaf["share"] > 0]
    equal = all(same(leaf["share"], delta / len(leaves)) for leaf in leaves)
    orders = [leaf["order"] for leaf in noisy]
    if len(set(orders)) < len(orders):
        raise RefusedError("two leaves have the same place in the order of creation")
    for leaf in noisy:
        if not equal and not same(leaf["share"], delta / (leaf["order"] * (leaf["order"] + 1))):
            raise RefusedError(
                f"leaf {leaf['label']} must have the share of delta of its place in the order of creation"
            )
        if leaf["order"] < 1:
            raise RefusedError(f"leaf {leaf['label']} must have a place in the order of creation from 1 on")


def node_bounds(
    children: list[list[int]], minimizes: set[int], leaves: list[dict[str, Any]]
) -> tuple[list[float], list[float]]:
    """Return lower and upper bound of every node: best of the children's, from the leaves up."""
    lower = [0.0] * len(children)
    upper = [1.0] * len(children)
    for leaf in leaves:
        lower[leaf["node"]], upper[leaf["node"]] = leaf["lower"], leaf["upper"]
    for node in reversed(downwards(children)):
        if children[node]:
            best = min if node in minimizes else max
            lower[node] = best(lower[child] for child in children[node])
            upper[node] = best(upper[child] for child in children[node])
    return lower, upper


def downwards(children: list[list[int]]) -> list[int]:
    """Return the nodes in an order in which parents come before children."""
    waiting = [0] * len(children)
    for below in children:
        for child in below:
            waiting[child] += 1
    if waiting[0] or waiting.count(0) > 1:
        raise RefusedError("the graph must have one root, the first node")
    order = [0]
    for node in order:  # grows while it is walked
        for child in children[node]:
            waiting[child] -= 1
            if waiting[child] == 0:
                order.append(child)
    if len(order) < len(children):
        raise RefusedError("the graph must have no cycles")
    return order


def _gap(content: dict[str, Any], lower: list[float], upper: list[float]) -> float:
    """Return how much better than the answer another one may be."""
    children, answer, leaves = content["graph"]["children"], content["answer"], content["leaves"]
    if not 0 <= answer < len(children):
        raise RefusedError(f"the answer must be a node of the graph, got {answer}")
    if content["search"]["task"] == "leaf":
        mine = next((leaf for leaf in leaves if leaf["node"] == answer), None)
        if mine is None:
            raise RefusedError("the answer must be a leaf")
        rivals = [leaf["upper"] for leaf in leaves if leaf["label"] != mine["label"]]
        if not mine["terminal"]:
            return 1.0
    else:
        if answer not in children[0]:
            raise RefusedError("the answer must be a child of the root")
        if content["graph"]["minimizes"]:
            rivals = [upper[child] for child in children[0] if child != answer]
        else:
            inside = _labels_below(children, answer, leaves)
            rivals = [leaf["upper"] for leaf in leaves if repr(leaf["label"]) not in inside]
    return min(1.0, max(rivals) - lower[answer]) if rivals else 0.0


def _check_answer(content: dict[str, Any], lower: list[float], upper: list[float]) -> None:
    answer, data = content["answer"], content["data"]
    if (content["lower"], content["upper"]) != (lower[answer], upper[answer]):
        raise RefusedError(
            f"the interval of the answer is [{lower[answer]:.6g}, {upper[answer]:.6g}] by its leaves, not "
            f"[{content['lower']:.6g}, {content['upper']:.6g}]"
        )
    if data is not None:
        units = content["graph"]["labels"][answer][:-1]
        names = [data["names"][feature] for feature in sorted(f for unit in units for f in data["groups"][unit])]
        if names != content["features"]:
            raise RefusedError(f"the answer stands for the features {names}, not {content['features']}")


def _labels_below(children: list[list[int]], node: int, leaves: list[dict[str, Any]]) -> set[str]:
    seen, stack = {node}, [node]
    while stack:
        fresh = set(children[stack.pop()]) - seen
        seen |= fresh
        stack += fresh
    return {repr(leaf["label"]) for leaf in leaves if leaf["node"] in seen}


def _check_claims(content: dict[str, Any], gap: float) -> Iterator[str]:
    """Check that the claims are those that follow from the numbers, in kind and in words."""
    search = content["search"]
    follow = [grown_claim(content), *further_claims(content)]
    written = {claim["kind"]: claim for claim in content["claims"]}
    if len(written) < len(content["claims"]):
        raise RefusedError("a claim is made twice")
    if any(claim["kind"] == "exhaustive" for claim in follow):
        check_exhaustive(content)
    if written.get("grown") and gap > search["epsilon"]:
        raise RefusedError(f"another {search['task']} may be better by {gap:.6g}, more than epsilon")
    for claim in follow:
        if claim["kind"] not in written:
            raise RefusedError(f"the numbers say {claim['kind']!r} where the claims say {sorted(written)}")
        if written[claim["kind"]] != claim:
            raise RefusedError(f"the claim {claim['kind']!r} is not the one that follows from the numbers")
    if strange := sorted(set(written) - {claim["kind"] for claim in follow}):
        raise RefusedError(f"the claim {strange[0]!r} does not follow from the numbers")
    if content["not_claimed"] != not_claimed(content):
        raise RefusedError("what is not claimed has been changed")
    if by_budget(content) and (search["proof"] != "none" or not all(leaf["exact"] for leaf in content["leaves"])):
        raise RefusedError(f"{search['rule']} proves nothing, so all its leaves must be exact and its proof 'none'")
    if (search["bound"] == "none") != by_budget(content):
        raise RefusedError(f"bound {search['bound']!r} does not go with stopping {search['stopping']!r}")
    sound = search["stopping"] == "sound" and search["bound"] in (*PROOFS, "theory")
    if search["proof"] == "rigorous" and not sound:
        raise RefusedError(f"bound {search['bound']!r} with stopping {search['stopping']!r} is not rigorous")
    return iter([claim["text"] for claim in follow])
