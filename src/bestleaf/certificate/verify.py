"""Check a certificate from what is written in it: every interval, every node, every claim.

Nothing here looks at a search or runs its kernels; the formulas are written out again. With the data at hand the exact
values are computed again too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bestleaf.certificate.bound_checks import CHECKS, RATES
from bestleaf.certificate.challenges import check_challenges
from bestleaf.certificate.claims import by_budget, counted, further_claims, grown_claim, not_claimed, values_are_exact
from bestleaf.certificate.extras import check_extras, taken_as_written
from bestleaf.certificate.names import in_line
from bestleaf.certificate.record import Certificate, checksum
from bestleaf.certificate.refusal import MALFORMED, RefusedError, need, same
from bestleaf.certificate.schema import check_form
from bestleaf.certificate.verify_graph import check_answer, check_graph, gap_of, node_bounds
from bestleaf.certificate.verify_leaves import EXACT, FOLLOWS, IDLE, WRITTEN, check_leaves


@dataclass(frozen=True)
class Verdict:
    """Whether a certificate holds, and why; true or false as it does."""

    holds: bool
    text: str

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        return self.text


def verify(
    certificate: Certificate | str | Path, X: Any = None, y: Any = None, *, oracle: Any = None, bound: Any = None
) -> Verdict:
    """Check a certificate (or the file of one), with the data also the exact values.

    Parameters
    ----------
    certificate : Certificate or path
        What is checked. A file must have the checksum it was saved with.
    X, y : default=None
        The data of a feature selection, as they were given to the selector.
    oracle : EstimatorOracle, default=None
        What computes the values of an estimator again; without it they are taken as written.
    bound : Bound, default=None
        The user's own bound of the search, whose ``check`` says whether intervals follow from their samples; without
        it they are taken as written.

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
    try:
        checked = list(_checks(certificate, X, y, oracle, bound))
    except RefusedError as reason:
        return Verdict(False, f"Refused: {in_line(str(reason))}.")
    except MALFORMED as error:
        what = in_line(f"{type(error).__name__}: {error}", 200)
        return Verdict(False, f"Refused: the certificate is incomplete or malformed ({what}).")
    return Verdict(True, "\n".join(["The certificate holds.", *checked]))


def _checks(certificate: Certificate, X: Any, y: Any, oracle: Any, bound: Any) -> Iterator[str]:
    content = certificate.content
    _check_seal(certificate)
    check_form(content)
    check_graph(content)
    found = check_leaves(content, bound)
    _check_answer(content)
    check_challenges(content)
    _check_claims(content)
    _check_search(content)
    check_extras(content)
    fits = "checksum" not in content or content["checksum"] == checksum(content)
    need(fits, "the checksum does not belong to the content: something was changed after it was written")
    yield _leaves_in_words(content, found)
    if "quantile" in content["challenges"]:
        yield ("That the random leaves were drawn at random, and on which attempt, cannot be seen from a certificate.")
    yield from (claim["text"] for claim in content["claims"])
    yield taken_as_written(content, with_data=X is not None)
    if X is not None:
        from bestleaf.certificate.verify_data import check_data

        yield check_data(content, X, y, oracle)


def _check_answer(content: dict[str, Any]) -> None:
    """Check interval, gap and names of the answer."""
    graph = content["graph"]
    lower, upper = node_bounds(graph["children"], set(graph["minimizes"]), content["leaves"])
    gap = gap_of(content, lower, upper)
    agrees = same(gap, content["gap"])
    need(agrees, f"the gap follows from the leaves as {gap:.6g}, not {content['gap']:.6g} as written")
    check_answer(content, lower, upper)


def _check_seal(certificate: Certificate) -> None:
    """Check that there is a checksum, which a file must have; whether it is right is asked last."""
    content = certificate.content
    need(isinstance(content, dict), "the certificate must have named parts")
    sealed = "checksum" in content
    need(sealed or not certificate.from_file, "the file has no checksum, so it is not as it was saved")


def _leaves_in_words(content: dict[str, Any], found: Counter[str]) -> str:
    """Return how many leaves there are of each kind, and how far what was computed is written here."""
    text = f"{counted(len(content['leaves']), 'leaf', 'leaves')}: {found[EXACT]:,} exact, {found[IDLE]:,} not looked at"
    text += f" or not narrowed, the intervals of {found[FOLLOWS]:,} follow from their samples"
    if found[WRITTEN]:
        name = content["search"]["bound"]
        text += f", those of {found[WRITTEN]:,} are taken as written, because bound {name} was not checked"
    if outside := content["cost"]["values_outside"]:
        kind = "exact value" if values_are_exact(content) else "value that guided growth"
        many = counted(outside, kind, kind.replace("value", "values"))
        text += f"; {many} of states that are not in the graph {'was' if outside == 1 else 'were'} computed, too"
    return f"{text}."


def _check_claims(content: dict[str, Any]) -> None:
    """Check that the claims are those that follow from the numbers, in kind and in words."""
    search, gap = content["search"], content["gap"]
    follow = [grown_claim(content), *further_claims(content)]
    written = {claim["kind"]: claim for claim in content["claims"]}
    need(len(written) == len(content["claims"]), "a claim is made twice")
    if written.get("grown") and gap > search["epsilon"]:
        raise RefusedError(f"another {search['task']} may be better by {gap:.6g}, more than epsilon")
    for claim in follow:
        kind = claim["kind"]
        need(kind in written, f"the numbers say {kind!r} where the claims say {sorted(written)}")
        need(written[kind] == claim, f"the claim {kind!r} is not the one that follows from the numbers")
    strange = sorted(set(written) - {claim["kind"] for claim in follow})
    need(not strange, f"the claim {strange[:1]} does not follow from the numbers")
    need(content["claims"] == follow, "the claims must be in their usual order")
    need(content["not_claimed"] == not_claimed(content), "what is not claimed has been changed")


def _check_search(content: dict[str, Any]) -> None:
    """Check that the settings go together, and that no more is said to be proved than they can prove."""
    search = content["search"]
    bound, proof, stopping = search["bound"], search["proof"], search["stopping"]
    if by_budget(content):
        about_data = content["data"] is not None and search["expansion"] is not None
        exact = about_data and all(leaf["exact"] for leaf in content["leaves"])
        need(proof == "none" and exact, f"{search['rule']} proves nothing, so its leaves must be exact subsets")
        need(content["reason"] != "identified", f"{search['rule']} identifies nothing, it ends with its budget")
    need((bound == "none") == by_budget(content), f"bound {bound!r} does not go with stopping {stopping!r}")
    most = "none" if stopping != "sound" else _strongest_proof(bound)
    need(proof in ("none", most), f"bound {bound!r} with stopping {stopping!r} is not {proof}")
    if content["reason"] == "identified" and stopping == "sound":
        settled = content["gap"] <= search["epsilon"]
        need(settled, f"an answer that was identified must be within epsilon, got the gap {content['gap']:.6g}")


def _strongest_proof(bound: str) -> str:
    """Return what a bound can prove; `theory` only under conditions that are checked with the leaves."""
    if bound in CHECKS or bound == "theory":
        return "rigorous"
    return "none" if bound in RATES else "conditional"
