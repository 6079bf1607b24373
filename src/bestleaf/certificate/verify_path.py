"""Check the path of a feature selection: its form, its agreement with the rest, and its values on the data."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from itertools import pairwise

from bestleaf.certificate.encoded import Judge
from bestleaf.certificate.path import default_guessing
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
