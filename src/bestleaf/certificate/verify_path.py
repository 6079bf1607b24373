"""Check the path of sizes, and what a certificate says about new rows."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from itertools import pairwise

from bestleaf.certificate.claims import has_all_features
from bestleaf.certificate.held_out import MEASURES, MOST_ROWS, columns_fit, judged
from bestleaf.certificate.path import default_guessing
from bestleaf.certificate.same_data import Judge
from bestleaf.certificate.schema import FAMILIES, VALUE, Content, RefusedError, need, same
from bestleaf.certificate.searched import label_of, unit_of
from bestleaf.certificate.verify_graph import Choice, answer_of

ALL = "all features"
ROUNDING = 1e-6  # differences of means are taken fold by fold
MOST_COST = 2e10  # distances on one feature that are computed again for the path: some seconds


def check_path(content: Content) -> None:
    """Check the choice by left-out rows: every row of the path, the row chosen, and the best leaf of the search."""
    new_data, data = content["new_data"], content["data"]
    path, families = new_data["path"], new_data["families"]
    need(bool(path), "the path must have a row, got none")
    units, choice = unit_of(data), Choice(data["choice"])
    for row in path:
        _check_row(row, data, units, choice)
    for one, other in pairwise(path):
        need(one["size"] < other["size"], f"the sizes of the path must rise, got {one['size']}, {other['size']}")
    strange = sorted({*families} - {*FAMILIES})
    need(not strange, f"families must be among {', '.join(FAMILIES)}, got {strange[:1]}")
    need(new_data["rows"] <= data["rows"], f"at most {data['rows']:,} rows can be left out, got {new_data['rows']:,}")
    missing = choice.known.difference(label_of(path[-1]["features"], units))
    need(not missing, f"the last row of the path must have all features that may be chosen, {len(missing)} are missing")
    _check_differences(path)
    _check_chosen(content)
    usual, given = default_guessing(data), new_data.get("guessing")
    fine = given is None or usual is None or same(given, usual)
    need(fine, f"guessing has the score {usual!r} by this measure, not {given!r}")
    if "best" in new_data:
        _check_best(content)


def _check_row(row: Content, data: Content, units: Mapping[str, int], choice: Choice) -> None:
    """Check that a row has all columns of as many features as it says, that may be chosen, and scores in range."""
    names, size = row["features"], row["size"]
    where = f"row {size} of the path"
    unknown = [name for name in names if name not in units]
    need(not unknown, f"{where} must have features of the data, got {unknown[:1]}")
    label = label_of(names, units)
    columns = sum(len(data["groups"][unit]) for unit in label[:-1])
    fine = len(label) - 1 == size and columns == len(names) == len(set(names))
    need(fine, f"{where} must have all columns of {size} different features, got {len(names)} columns")
    if row["family"] != ALL:
        choice.check(label)
    by_estimator = data["objective"].get("kind") == "estimator"  # whose scores have no common range
    fine = by_estimator or row["left_out"] is None or VALUE.accepts(row["left_out"])
    need(fine, f"the left-out score of {where} must be {VALUE.words}, got {row['left_out']!r}")
    for score, error in (("left_out", "standard_error"), ("difference", "difference_error")):
        need(row[score] is not None or row[error] is None, f"{where} has {error!r} but no {score!r}")


def _check_differences(path: list[Content]) -> None:
    """Check that the last row, and no other, is called all features, and that the differences are those to it."""
    last = path[-1]
    alone = [row["family"] == ALL for row in path] == [False] * (len(path) - 1) + [True]
    need(alone, f"the last row of the path, and no other, must be of family {ALL!r}")
    for row in path:
        scores = row["left_out"], last["left_out"], row["difference"]
        if None not in scores:
            right = scores[0] - scores[1]
            fine = abs(right - scores[2]) <= ROUNDING
            need(fine, f"row {row['size']} of the path must differ from all features by {right:.6g}, not {scores[2]!r}")


def _check_chosen(content: Content) -> None:
    """Check that the answer is the chosen row of the path, of the chosen family."""
    new_data = content["new_data"]
    chosen = next((row for row in new_data["path"] if row["size"] == new_data["size"]), None)
    if chosen is None:
        raise RefusedError(f"the size chosen must be one of the path, got {new_data['size']}")
    fine = sorted(chosen["features"]) == sorted(content["features"])
    need(fine, f"row {chosen['size']} of the path was chosen, so it must have the features of the answer")
    decided = new_data.get("decided")
    others = [row["size"] for row in new_data["path"] if row is not chosen]
    need(decided is None or decided in others, f"left-out rows must have decided for another size, got {decided}")
    family = new_data["family"]
    need(family == chosen["family"], f"row {chosen['size']} is of family {chosen['family']!r}, not {family!r}")
    need(family in (ALL, *new_data["families"]), f"the family chosen must be one of those tried, got {family!r}")


def _check_best(content: Content) -> None:
    """Check that the best leaf of the search is a leaf of the graph, and that its value and gap follow from it."""
    best, data = content["new_data"]["best"], content["data"]
    unknown = sorted(set(best["features"]).difference(data["names"]))
    need(not unknown, f"the best leaf must have features of the data, got {unknown[:1]}")
    label = label_of(best["features"], unit_of(data))
    leaf = next((leaf for leaf in content["leaves"] if leaf["label"] == label), None)
    columns = sorted(column for unit in label[:-1] for column in data["groups"][unit])
    if leaf is None or [data["names"][column] for column in columns] != best["features"]:
        raise RefusedError(f"the best leaf {best['features']!r:.80} is not a leaf of the graph")
    fine = same(best["value"], leaf["lower"]) if leaf["exact"] else leaf["lower"] <= best["value"] <= leaf["upper"]
    need(fine, f"the value {best['value']!r} of the best leaf does not follow from the graph")
    follows = answer_of({**content, "answer": leaf["node"]})
    for name in ("gap", "known_gap"):
        gap, written = follows[name], best.get(name, follows[name])  # earlier versions wrote no known gap
        told = f"the {name.replace('_', ' ')} of the best leaf follows from the leaves as {gap:.6g}, not {written:.6g}"
        need(same(gap, written), told)


def training_values(content: Content) -> Iterator[tuple[list[int], float]]:
    """Yield the labels of the path with their training values, where these are exact."""
    new_data, data = content.get("new_data"), content["data"]
    if new_data is not None:
        units = unit_of(data)
        for row in new_data["path"]:
            if row["training"] is not None:
                yield label_of(row["features"], units), row["training"]


def check_training(content: Content, judge: Judge, known: Container[str]) -> str:
    """Compute the training values of the path again, except those `known`; return what was checked, in words.

    Votes of nearest neighbours over many columns take long. So all features come first, then the smallest subsets, as
    far as MOST_COST goes.
    """
    data, values = content["data"], list(training_values(content))
    fresh = [(label, written) for label, written in values if repr(label) not in known]
    by_estimator, cost, checked = data["objective"].get("kind") == "estimator", 0, len(values) - len(fresh)
    for label, written in fresh[-1:] + fresh[:-1]:  # the last one is all features
        columns = [feature for unit in label[:-1] for feature in data["groups"][unit]]
        price = judge.value_cost * (1 if by_estimator else len(columns))
        if cost + price > MOST_COST:
            continue
        cost += price
        value = judge.value(columns)
        where = f"row {len(label) - 1} of the path"
        need(same(value, written), f"the training value of {where} is {value:.6g} on these data, not {written:.6g}")
        checked += 1
    return f" Of the path, {checked:,} of {len(values):,} training values were computed again." if values else ""


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
