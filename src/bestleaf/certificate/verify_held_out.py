"""Check what a certificate says about new rows: scores and intervals follow from the table of the held-out rows."""

from __future__ import annotations

from bestleaf.certificate.claims import has_all_features
from bestleaf.certificate.held_out import MEASURES, MOST_ROWS, columns_fit, judged
from bestleaf.certificate.schema import VALUE, Content, need, same


def check_held_out(content: Content) -> None:
    """Check the scores on held-out rows against each other and, if there is a proof, against the table of the rows."""
    unseen = content.get("unseen")
    if unseen is None:
        return
    parts = unseen["parts"]
    need(len(parts) == 1, f"there must be one part of held-out rows, got {len(parts)}")
    (part,) = parts
    for name in ("score", "rows"):
        need(same(part[name], unseen[name]), f"{name!r} of held-out rows is {part[name]:.6g}, not {unseen[name]:.6g}")
    if content["data"]["objective"].get("kind") != "estimator":
        for score in (part["score"], part["all_features"]):
            need(VALUE.accepts(score), f"the score of held-out rows must be {VALUE.words}, got {score!r}")
    fine = ("proof" in unseen) != ("unproved" in unseen)
    need(fine, "the scores of held-out rows must come with a proof, or with the reason why there is none")
    if "proof" in unseen:
        _check_proof(content, unseen["proof"], part)


def _check_proof(content: Content, proof: Content, part: Content) -> None:
    """Check the proof about new rows: what it is about, and every number of it."""
    measure, table = proof["measure"], proof["table"]
    need(measure == _measure(content), f"the held-out rows must be scored as the search was, got {measure}")
    need(columns_fit(measure, table), f"the table of the held-out rows is not one of {measure}")
    classes, outputs = content["data"]["classes"], (len(table[0]) - 2) // 2
    fine = measure != "auc" or classes is None or (outputs == 1 if classes == 2 else 1 < outputs <= classes)
    need(fine, f"the table of the held-out rows must be about {classes} classes")
    rows = sum(line[-1] for line in table)
    need(rows == part["rows"] <= MOST_ROWS, f"the table has {rows:,} held-out rows, not {part['rows']:,}")
    found = judged(measure, table, proof["delta"], same=has_all_features(content))
    for name, value in (("score", found.score), ("all_features", found.all_features)):
        need(
            same(value, part[name]), f"{name!r} of the held-out rows is {value:.6g} by their table, not {part[name]!r}"
        )
    for name, ends in (("interval", found.interval), ("difference_interval", found.difference_interval)):
        fine = len(proof[name]) == 2 and all(same(*both) for both in zip(ends, proof[name], strict=True))
        need(fine, f"{name!r} of new rows follows from the table as {list(ends)}, not {proof[name]!r:.60}")


def _measure(content: Content) -> str | None:
    """Return the measure that held-out rows are scored by; None if it has no proof."""
    data = content["data"]
    objective = data["objective"]
    if objective.get("kind") != "estimator":
        return "concordance" if data["classes"] == 0 else "auc"
    other = "scoring" in (content.get("new_data") or {})  # rows that were not searched are scored by an error
    return None if objective["weighted"] or other else MEASURES.get(objective["scoring"])
