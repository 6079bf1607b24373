"""Check the guarantee "local": all leaves one step away are there, and those ruled out cannot be better."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from bestleaf.certificate.local import SINGLE, Centre, centre_of
from bestleaf.certificate.schema import CLOSE, Content, Json, RefusedError, need, same
from bestleaf.certificate.verify_graph import Choice


def check_local(content: Content, values: Mapping[str, tuple[Json, float]]) -> None:
    """Check that all leaves one step away are listed, and that those ruled out cannot exceed the limit.

    `values` are all exact values of the certificate, by label.
    """
    challenge, data = content["challenges"]["local"], content["data"]
    ruled_out = challenge.get("pruned", [])
    labels = [row[0] for row in (*challenge["subsets"], *ruled_out)]
    if "choice" not in challenge:
        need(data is None and bool(labels), "the claim 'local' must say which leaves there are one step away")
        raced = ruled_out or "folds" in challenge or "centre" in challenge
        need(not raced, "leaves can be ruled out only by a race, which must say which features may be chosen")
        return
    fine = data is None or challenge["choice"] == data["choice"]
    need(fine, "the claim 'local' must be about the features that the data give to choose from")
    centre, choice = centre_of(content), Choice(challenge["choice"])
    fine = challenge.get("centre", centre.label) == centre.label
    need(fine, f"the claim 'local' must be about the answer, got {challenge.get('centre')!r:.80}")
    mine = set(centre.label[:-1])
    for label in labels:
        choice.check(label)
    free, loose = choice.known - mine, mine - choice.forced
    added = len(free) if len(mine) < choice.limit else 0
    dropped = len(loose) if len(mine) > 1 else 0  # never an empty subset
    exchanged = 0 if challenge.get("steps") == SINGLE else len(loose) * len(free)
    many, others = added + dropped + exchanged, {frozenset(label[:-1]) for label in labels}
    near = all(max(len(other - mine), len(mine - other)) == 1 for other in others)
    if not exchanged:
        near = near and all(len(other) != len(mine) for other in others)
    fine = near and len(others) == len(labels) == many
    need(fine, f"the claim 'local' must be about all {many:,} subsets one step away")
    _check_ruled_out(content, centre, values)


def _check_ruled_out(content: Content, centre: Centre, values: Mapping[str, tuple[Json, float]]) -> None:
    """Check the bounds of the leaves that were ruled out."""
    challenge, data = content["challenges"]["local"], content["data"]
    ruled_out, folds = challenge.get("pruned", []), challenge.get("folds", [])
    need(sorted(folds) == list(range(len(folds))), f"the folds of a race must be numbered from 0, got {folds!r:.80}")
    if data is not None and ruled_out:
        splits = data["objective"].get("splits")
        need(splits == len(folds), f"a race must be over the {splits!r} splits of the objective, got {len(folds)}")
    for label, highest, scored in ruled_out:
        least = 1.0 - scored / len(folds) if 0 <= scored < len(folds) else 2.0
        fine = least - CLOSE <= highest <= centre.limit + CLOSE
        fine = fine and highest >= values.get(repr(label), (label, 0.0))[1] - CLOSE
        need(fine, f"{label!r:.80} was ruled out, so it cannot reach {highest!r:.20} after {scored!r:.20} folds")


class Judge(Protocol):
    """What computes the score of a subset of columns on one fold again: an oracle."""

    def part(self, subset: Iterable[int], number: int) -> float:
        """Return one of the scores whose mean is the value."""


def check_race(content: Content, judge: Judge, columns_of: list[list[int]] | None = None) -> str:
    """Compute the scores of the leaves that were ruled out again; return what was checked, in words.

    `columns_of` has the columns that each feature became; None if every feature is one column.
    """
    challenge, groups = content["challenges"].get("local", {}), content["data"]["groups"]
    ruled_out, folds = challenge.get("pruned", []), challenge.get("folds", [])
    for label, highest, scored in ruled_out:
        features = [feature for unit in label[:-1] for feature in groups[unit]]
        columns = features if columns_of is None else [column for one in features for column in columns_of[one]]
        scores = [judge.part(columns, fold) for fold in folds[:scored]]
        right = (sum(scores) + len(folds) - scored) / len(folds)
        if not same(right, highest):
            raise RefusedError(f"{label!r:.80} can reach {right:.6g} on these data, not {highest:.6g}")
    return f" So were the bounds of {len(ruled_out):,} subsets that were ruled out." if ruled_out else ""
