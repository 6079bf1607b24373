"""Check what a certificate says about all subsets: the count and, with the data, subsets drawn at random."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from bestleaf.certificate.all_subsets import LISTED, MOST_NUMBERS, Numbering, count_subsets
from bestleaf.certificate.claims import counted, subset_in_words
from bestleaf.certificate.schema import Content, RefusedError, need
from bestleaf.certificate.searched import STOP
from bestleaf.checks import number

if TYPE_CHECKING:
    from bestleaf.features.estimator import EstimatorOracle
    from bestleaf.features.neighbours import KNNOracle

AUDIT = 0.01  # share of the subsets that are computed again, if nobody says otherwise
AT_ONCE = 2**16  # subsets that are computed together


def check_all_subsets(content: Content) -> None:
    """Check how many subsets were evaluated, and that there are as many leaves as there must be."""
    part, data = content.get("all_subsets"), content["data"]
    if part is None:
        return
    fine = data is not None and content["search"]["expansion"] is None
    need(fine, "all subsets can be counted only where subsets have exact values and nothing was sampled")
    need(all(leaf["exact"] for leaf in content["leaves"]), "subsets that were counted must be exact leaves")
    choice, evaluated = data["choice"], part["evaluated"]
    total = count_subsets(choice["allowed"], choice["forced"], choice["limit"])
    need(total <= MOST_NUMBERS, f"all subsets can be counted only if there are at most {MOST_NUMBERS:,}")
    need(evaluated <= total, f"there are {total:,} subsets, got {evaluated:,} that were evaluated")
    ended = content["reason"] == "settled"
    need(evaluated == total or not ended, f"a settled answer needs all {total:,} subsets, got {evaluated:,}")
    asked = content["cost"]["exact_evaluations"]
    need(evaluated <= asked, f"{evaluated:,} subsets were evaluated, but {asked:,} values were computed")
    right, got = min(LISTED, evaluated), sum(leaf["lower"] >= part["least"] for leaf in content["leaves"])
    need(got >= right, f"the best {right:,} subsets must be leaves, got {got:,} of at least {part['least']:.6g}")


def audit_subsets(
    content: Content, judge: KNNOracle | EstimatorOracle, columns: list[list[int]] | None, share: float
) -> str:
    """Compute subsets drawn at random again, at least one of them; return what was checked, in words."""
    part, data = content.get("all_subsets"), content["data"]
    if part is None or share == 0:
        return ""
    numbering, many = Numbering.of(data["choice"]), part["evaluated"]
    groups = data["groups"]
    if columns is not None:  # the table was encoded: a feature may be several columns
        groups = [[column for feature in group for column in columns[feature]] for group in groups]
    rng = np.random.default_rng()  # nobody knows beforehand which subsets are drawn
    drawn = np.sort(rng.choice(many, ceil(share * many), replace=False))
    for some in np.array_split(drawn, ceil(len(drawn) / AT_ONCE)):
        members = numbering.members(some)
        table = numbering.columns(members, groups)
        _check_again(content, numbering, some, members.sum(axis=1) + len(numbering.forced), judge.table_values(table))
    of, chance = ("All", "") if len(drawn) == many else (f"{len(drawn):,} of", ", drawn at random,")
    were = "was" if len(drawn) == 1 < many else "were"
    return f" {of} {counted(many, 'subset')} that were evaluated{chance} {were} computed again."


def _check_again(
    content: Content, numbering: Numbering, numbers: np.ndarray, sizes: np.ndarray, values: np.ndarray
) -> None:
    """Check that subsets are leaves if their values are high, and not better than the best of their size."""
    least, leaves = content["all_subsets"]["least"], {tuple(leaf["label"][:-1]) for leaf in content["leaves"]}
    above = values > least
    for mine, value in zip(numbers[above].tolist(), values[above].tolist(), strict=True):
        if numbering.units(mine) not in leaves:
            name = subset_in_words([*numbering.units(mine), STOP], content["data"])
            raise RefusedError(f"{name} has the value {value:.6g}, so it must be a leaf of the certificate")
    for size, best, _ in (content.get("report") or {"by_size": []})["by_size"]:
        better = (values[sizes == size] > best).any()
        need(not better, f"a subset of size {size} is better than the best one written")


def checked_share(share: float | None) -> float:
    """Return the share of subsets to compute again; refuse what is no share."""
    return AUDIT if share is None else number("audit", share, "between 0 and 1", 0, 1)
