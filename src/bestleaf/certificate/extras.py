"""The parts of a certificate that no claim rests on: what can be told from what is written, and what cannot."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from bestleaf.certificate.challenges import check_subset, subset_space
from bestleaf.certificate.refusal import CLOSE, is_number, is_whole, need, same

Units = frozenset[int]  # of a subset


def check_extras(content: dict[str, Any]) -> None:
    """Check cost, page and held-out score against what else is written."""
    _check_cost(content)
    if content["data"] is None:
        return
    _check_unseen(content.get("unseen"), content["data"]["objective"])
    report = content.get("report")
    if report is None:
        return
    _check_history(report["history"], content["cost"])
    _check_sizes(content)
    _check_without(content)
    names = set(content["data"]["names"])
    for name, score in report["feature_scores"].items():
        known = name in names and (score is None or is_number(score, 0, 1))
        need(known, f"the mean of the rollouts with {name!r} must be one of a feature and in [0, 1], got {score!r}")
    _check_frequency(report.get("selection_frequency"), content)


def exact_values(content: dict[str, Any]) -> dict[Units, float]:
    """Return the exact values of a feature selection by subset, wherever they are written; they must agree."""
    found: dict[Units, float] = {}
    for units, value in _written_values(content):
        agrees = same(found.setdefault(units, value), value)
        need(agrees, f"the subset {sorted(units)} has two values, {found[units]!r} and {value!r}")
    return found


def _written_values(content: dict[str, Any]) -> Iterator[tuple[Units, float]]:
    for leaf in content["leaves"]:
        if leaf["exact"]:
            yield frozenset(leaf["label"][:-1]), leaf["lower"]
    for challenge in content["challenges"].values():
        for label, value in challenge["subsets"]:
            yield frozenset(label[:-1]), value
    report = content.get("report")
    if report is not None and content["data"]["terminal"] == "exact":
        unit_of = _unit_of(content["data"])
        for _, value, names in report["by_size"]:
            yield frozenset(unit_of[name] for name in names), value
        answer = frozenset(content["graph"]["labels"][content["answer"]][:-1])
        for unit, value in report["without"].items():
            yield answer - {int(unit)}, value


def _unit_of(data: dict[str, Any]) -> dict[str, int]:
    return {data["names"][feature]: unit for unit, group in enumerate(data["groups"]) for feature in group}


def _check_cost(content: dict[str, Any]) -> None:
    """Check that the samples and exact values of the leaves were paid for: each by one of the search."""
    cost, leaves = content["cost"], content["leaves"]
    drawn = sum(leaf["count"] for leaf in leaves if not leaf["exact"])
    left = cost["samples"] - cost["warmup_samples"]
    need(drawn <= left, f"the leaves have {drawn:,} samples, more than the {left:,} that the search drew for them")
    evaluated = {repr(leaf["label"]) for leaf in leaves if leaf["exact"]}
    if content["data"] is not None:
        evaluated.update(repr(label) for one in content["challenges"].values() for label, _ in one["subsets"])
    asked = cost["exact_evaluations"]
    need(len(evaluated) <= asked, f"{len(evaluated):,} exact values are written, but {asked:,} were computed")


def _check_unseen(unseen: dict[str, Any] | None, objective: dict[str, Any]) -> None:
    """Check the held-out score; that of an estimator may leave the range its scores had in the search."""
    if unseen is None:
        return
    low, high = (-1e300, 1e300) if objective.get("kind") == "estimator" else (0, 1)
    need(
        is_number(unseen["score"], low, high), f"the score on unseen examples must be a number, got {unseen['score']!r}"
    )
    for name in ("rows", "splits"):
        need(is_whole(unseen[name], 1), f"the {name} kept from the search must be a number, got {unseen[name]!r}")
    least, most = unseen["times"]
    fine = is_whole(least, 1) and is_whole(most, least) and most <= unseen["splits"]
    need(fine, f"a row is kept aside at most once in each of {unseen['splits']} parts, got {unseen['times']!r}")


def _check_history(history: list[dict[str, Any]], cost: dict[str, Any]) -> None:
    """Check that time, samples and the best value only went up, and that the cost was not exceeded."""
    for row in history:
        fine = is_number(row["elapsed"], 0, cost["seconds"]) and is_whole(row["samples"])
        if not (fine and row["samples"] <= cost["samples"]):
            need(False, f"the history must lie within the cost, got {row}")
        score = row["score"]
        fine = is_number(row["gap"], -1, 1) and (score is None or is_number(score, 0, 1))
        need(fine, f"gap and score of the history must be values, got {row['gap']!r} and {score!r}")
    for one, other in pairwise(history):
        forwards = one["elapsed"] <= other["elapsed"] and one["samples"] <= other["samples"]
        rises = one["score"] is None or (other["score"] is not None and one["score"] <= other["score"] + CLOSE)
        if not (forwards and rises):
            need(False, f"time, samples and best value of the history must not go back, got {one}, {other}")


def _check_sizes(content: dict[str, Any]) -> None:
    """Check that the best subset of each size is one that may be chosen, and that none written is better."""
    data, sizes = content["data"], content["report"]["by_size"]
    unit_of, best, space = _unit_of(data), {}, subset_space(content)
    for size, value, names in sizes:
        known = isinstance(names, list) and all(name in unit_of for name in names) and len(set(names)) == len(names)
        need(known and is_whole(size, 1), f"{names!r} must be different features")
        need(is_number(value, 0, 1), f"the value of the best subset of size {size} must be in [0, 1], got {value!r}")
        units = sorted({unit_of[name] for name in names})
        check_subset(space, [*units, -1])
        whole = sum(len(data["groups"][unit]) for unit in units) == len(names)
        need(whole and len(units) == size, f"{names} must be {size!r} features, groups whole and counted as one")
        best[size] = value
    need(list(best) == sorted(best) and len(best) == len(sizes), "every size must have one best subset, in order")
    for leaf in content["leaves"]:
        if leaf["exact"]:
            size = len(leaf["label"]) - 1
            beaten = size in best and leaf["lower"] <= best[size] + CLOSE
            need(beaten, f"the leaf {leaf['label']} is better than what is called the best subset of size {size}")


def _check_without(content: dict[str, Any]) -> None:
    """Check that what is left without a unit is about units of the answer, and that all exact values agree."""
    forced = content["data"]["choice"]["forced"]
    may_go = {str(unit) for unit in content["graph"]["labels"][content["answer"]][:-1] if unit not in forced}
    for unit, value in content["report"]["without"].items():
        need(unit in may_go, f"{unit!r} is no unit that can be dropped from the answer")
        need(is_number(value, 0, 1), f"the value without unit {unit} must be in [0, 1], got {value!r}")
    exact_values(content)


def _check_frequency(frequency: dict[str, float] | None, content: dict[str, Any]) -> None:
    if frequency is None:
        return
    names = set(content["data"]["names"])
    for name, share in frequency.items():
        need(name in names and is_number(share, 0, 1), f"{name!r} must be selected in a share of runs, got {share!r}")
    for name in content["features"]:
        need(frequency.get(name, 0) > 0, f"{name!r} is selected, so it must have been in a share of the runs")


def _of_problem(content: dict[str, Any]) -> list[str]:
    """Return what only the problem could tell of its graph."""
    found = ["edges, labels and players of the graph", "that no leaf of it was left out"]
    if any(leaf["exact"] for leaf in content["leaves"]):
        found.append("exact values (only the problem can give them again)")
    if "local" in content["challenges"]:
        found.append("which leaves are one step away")
    return found


def _of_selection(content: dict[str, Any], *, with_data: bool) -> list[str]:
    """Return what cannot be told of a feature selection, with or without its data."""
    found = []
    if not with_data:
        found += ["rows, names and objective of the data", "exact values (give the data to compute them again)"]
    elif content["data"]["terminal"] == "noisy":
        found.append("objective of the data")
    found.append("what was forced, forbidden and limited")
    if content["search"]["expansion"] is not None:
        found.append("that no leaf of the graph was left out")
    return found


def taken_as_written(content: dict[str, Any], *, with_data: bool) -> str:
    """Return in one line what cannot be told from a certificate."""
    found = ["times", "seed", "why the search ended", "number of samples beyond those of the leaves"]
    if any(leaf["count"] for leaf in content["leaves"] if not leaf["exact"]):
        found.append("that the samples are those of the leaves and were drawn at random")
    found += _of_problem(content) if content["data"] is None else _of_selection(content, with_data=with_data)
    if content.get("report") is not None:
        found += ["course of the gap", "means of the rollouts with a feature"]
        if "selection_frequency" in content["report"]:
            found.append("how often features were selected again")
    if content.get("unseen") is not None:
        found.append("score on unseen examples")
    return f"Taken as written, because a certificate cannot show it: {', '.join(found)}."
