"""Check a certificate from what is written in it: every interval, every node, every claim.

No code of the search is used: the formulas are written out again. If the data are given, exact values are computed
again, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from bestleaf.certificate.bound_checks import CHECKS, RATES
from bestleaf.certificate.claims import counted, in_line, words_of
from bestleaf.certificate.record import Certificate, checksum
from bestleaf.certificate.schema import MALFORMED, Content, OtherDataError, RefusedError, check_form, need
from bestleaf.certificate.searched import searched
from bestleaf.certificate.verify_all_subsets import check_all_subsets, checked_share
from bestleaf.certificate.verify_data import check_data, check_how_made, check_values
from bestleaf.certificate.verify_graph import check_answer, check_graph
from bestleaf.certificate.verify_leaves import EXACT, FOLLOWS, IDLE, WRITTEN, check_leaves
from bestleaf.certificate.verify_path import check_held_out

if TYPE_CHECKING:
    from bestleaf.engine.bounds import Bound
    from bestleaf.features.estimator import EstimatorOracle


@dataclass(frozen=True)
class Verdict:
    """Whether a certificate holds, and why; true in a condition if it holds.

    Attributes
    ----------
    holds : bool
        Whether it holds.
    text : str
        What was checked, or why it is refused.
    other_data : bool
        Whether it is refused because the data given are not those it is about; it may hold for other data.
    """

    holds: bool
    text: str
    other_data: bool = False

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        return self.text


def verify(
    certificate: Certificate | str | Path,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    *,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    oracle: EstimatorOracle | None = None,
    bound: Bound | None = None,
    audit: float | None = None,
) -> Verdict:
    """Check a certificate or its file; with the data, also compute the exact values again.

    Parameters
    ----------
    certificate : Certificate or path
        What is checked. A file must have the checksum it was saved with.
    X, y : default=None
        The data of a feature selection, as they were given to the selector.
    groups, sample_weight : default=None
        The groups and the weights of the rows, if they were given to the selector.
    oracle : EstimatorOracle, default=None
        Computes the values of an estimator again; without it they are taken as written.
    bound : Bound, default=None
        Your own bound, if the search used one. Its ``check`` says whether an interval follows from the samples; without
        it the intervals are taken as written.
    audit : float, default=0.01
        Share of the subsets, drawn at random, that are computed again with the data, where all subsets were evaluated;
        at least one subset, unless it is 0.

    Returns
    -------
    Verdict
        True if the certificate holds; its text says what was checked or why it is refused.
    """
    if (X is None) != (y is None):
        raise ValueError(f"X and y must be given together, got only {'y' if X is None else 'X'}")
    for name, given in (("groups", groups), ("sample_weight", sample_weight), ("audit", audit)):
        if given is not None and X is None:
            raise ValueError(f"{name} must be given with X and y, got only {name}")
    share = checked_share(audit)
    if not isinstance(certificate, Certificate | str | Path):
        raise TypeError(f"certificate must be a Certificate or the path of one, got a {type(certificate).__name__}")
    if not isinstance(certificate, Certificate):
        certificate = Certificate.load(certificate)
    try:
        with_oracle = X is not None and oracle is not None
        checked = list(_checks(certificate, bound, with_data=X is not None, with_oracle=with_oracle))
        if X is not None and y is not None:
            checked.append(check_data(certificate.content, X, y, oracle, groups, sample_weight, share))
    except RefusedError as reason:
        return Verdict(False, f"Refused: {in_line(str(reason))}.", isinstance(reason, OtherDataError))
    except MALFORMED as error:
        what = in_line(f"{type(error).__name__}: {error}", 200)
        return Verdict(False, f"Refused: the certificate is incomplete or malformed ({what}).")
    return Verdict(True, "\n".join(["The certificate holds.", *checked]))


def _checks(certificate: Certificate, bound: Bound | None, *, with_data: bool, with_oracle: bool) -> Iterator[str]:
    """Check everything that needs no data; yield what was found."""
    content = certificate.content
    sealed = "checksum" in content
    need(sealed or not certificate.from_file, "the file has no checksum, so it is not as it was saved")
    check_form(content)
    check_graph(content)
    found = check_leaves(content, bound)
    check_answer(content)
    check_values(content)
    check_all_subsets(content)
    check_held_out(content)
    check_how_made(content)
    _check_claims(content)
    _check_search(content)
    fits = not sealed or content["checksum"] == checksum(content)
    need(fits, "the checksum does not belong to the content: something was changed after it was written")
    text = f"{counted(len(content['leaves']), 'leaf', 'leaves')}: {found[EXACT]:,} exact, {found[IDLE]:,} not looked at"
    text += f" or not narrowed, the intervals of {found[FOLLOWS]:,} follow from their samples"
    if found[WRITTEN]:
        name = content["search"]["bound"]
        text += f", those of {found[WRITTEN]:,} are taken as written, because bound {name} was not checked"
    if outside := content["cost"]["values_outside"]:
        many = f"{counted(outside, 'exact value')} of states that are not in the graph"
        text += f"; {many} {'was' if outside == 1 else 'were'} computed, too"
    yield f"{text}."
    yield from (claim["text"] for claim in content["claims"])
    not_shown = _not_shown(content, with_data=with_data, with_oracle=with_oracle)
    yield f"Taken as written, because a certificate cannot show it: {not_shown}."


def _check_claims(content: Content) -> None:
    """Check that the claims are those that follow from the numbers, in kind and in words."""
    right = words_of(content)
    for number, (claim, follows) in enumerate(zip_longest(content["claims"], right["claims"]), 1):
        if claim != follows:
            text = "nothing" if follows is None else repr(follows["text"])
            raise RefusedError(f"claim {number} is not the one that follows from the numbers, which is {text}")
    need(content["not_claimed"] == right["not_claimed"], "what is not claimed has been changed")


def _check_search(content: Content) -> None:
    """Check that the settings fit each other, and that they can prove what is said to be proved."""
    search, reason = content["search"], content["reason"]
    bound, proof, stopping = (search[name] for name in ("bound", "proof", "stopping"))
    rigorous = bound in CHECKS or bound == "theory"  # the conditions of theory are checked with the leaves
    most = "rigorous" if rigorous else "none" if bound in RATES else "conditional"
    fine = proof == "none" or (stopping == "sound" and proof == most)
    need(fine, f"bound {bound!r} with stopping {stopping!r} is not {proof}")
    gap = min(content["gap"], searched(content).gap)
    settled = gap <= search["epsilon"] or reason != "settled" or stopping != "sound"
    need(settled, f"an answer that was settled must be within epsilon, got the gap {gap:.6g}")


def _not_shown(content: Content, *, with_data: bool, with_oracle: bool) -> str:
    """Return what a certificate cannot show, with or without the data and the oracle of an estimator."""
    data, report, leaves = content["data"], content.get("report"), content["leaves"]
    problem, selection = data is None, data is not None
    by_estimator = selection and data["objective"].get("kind") == "estimator"
    no_values = not with_data or (by_estimator and not with_oracle)  # none is computed again
    sampled = any(leaf["count"] for leaf in leaves if not leaf["exact"])
    cases = {
        "times, seed, why the search ended, number of samples beyond those of the leaves": True,
        "that the samples are those of the leaves and were drawn at random": sampled,
        "edges, labels and players of the graph, that no leaf of it was left out": problem,
        "probabilities of the chance nodes": "chance" in content["graph"],
        "what play without end is worth": "endless" in content["graph"],
        "exact values (only the problem can give them again)": problem and any(leaf["exact"] for leaf in leaves),
        "which leaves are one step away": problem and "local" in content["challenges"],
        "rows, names and objective of the data": selection and not with_data,
        "values of subsets that are no leaves, apart from those computed again": content.get("all_subsets") is not None,
        "exact values (give the data to compute them again)": selection and not with_data,
        "how the table was read": content.get("table") is not None and not with_data,
        "objective of the data": selection and with_data and no_values,
        "exact values (give the oracle of the estimator to compute them again)": by_estimator
        and with_data
        and not with_oracle,
        "what may be chosen": selection,
        "that no leaf of the graph was left out": selection and content["search"]["expansion"] is not None,
        "course of the gap, means of the rollouts with a feature": report is not None,
        "how to repeat the search": report is not None and "repeat" in report,
        "notes about the table": bool(report is not None and report.get("notes")),
        "score on held-out rows": content.get("unseen") is not None and "proof" not in content["unseen"],
        "that the held-out rows were looked at only after the search": "proof" in (content.get("unseen") or {}),
        "standard error of the value": selection and no_values and data.get("standard_error") is not None,
        "scores on left-out rows and the choice by them, which are estimates": content.get("new_data") is not None,
    }
    return ", ".join(words for words, taken in cases.items() if taken)
