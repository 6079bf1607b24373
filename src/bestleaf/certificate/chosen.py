"""Let a certificate answer with a subset of the path instead of the answer by the rows of the search alone."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from math import isnan

from bestleaf.certificate.all_subsets import has_all
from bestleaf.certificate.claims import words_of
from bestleaf.certificate.schema import Content
from bestleaf.certificate.searched import STOP, label_of, unit_of
from bestleaf.certificate.verify_graph import answer_of


def enter_values(content: Content, values: Mapping[tuple[int, ...], float]) -> None:
    """Note that the exact values of some subsets were computed, too; leaves of the graph get theirs, by their label."""
    for counter in () if has_all(content) else ("exact_evaluations", "values_outside"):
        content["cost"][counter] += len(values)
    for leaf in content["leaves"]:
        label = tuple(leaf["label"])
        if label in values:
            _make_exact(content, leaf, values[label])


def answer_with(content: Content, size: int) -> None:
    """Let the row of this size of the path be the answer; its leaf hangs from the root if the graph has none for it.

    The leaf of highest value among the row, the path and the former answer is what the search would answer with. If
    the size is not that of left-out rows, theirs is noted.
    """
    new_data, units = content["new_data"], unit_of(content["data"])
    rows = {one["size"]: one for one in new_data["path"]}
    if "best" not in new_data:
        best = _best_leaf(content, list(rows.values()))
    else:
        best = _leaf_of(content, label_of(new_data["best"]["features"], units), new_data["best"]["value"])
    leaf = _leaf_of(content, label_of(rows[size]["features"], units), rows[size]["training"])
    decided = new_data.pop("decided", new_data["size"])
    if decided != size:
        new_data["decided"] = decided
    new_data["size"], new_data["family"] = size, rows[size]["family"]
    known = answer_of({**content, "answer": best["node"]})
    new_data["best"] = {
        "features": _names(content, best["label"]),
        "value": best["lower"],
        "gap": known["gap"],
        "known_gap": known["known_gap"],
    }
    content["answer"], content["features"] = leaf["node"], _names(content, leaf["label"])
    content |= answer_of(content)
    content |= words_of(content)


def with_size(content: Content, size: int, feature_scores: Mapping[str, float]) -> Content:
    """Return a copy of a certificate that answers with another size of the path.

    What is known of the former answer only is left out. `feature_scores` are those of all features, for the report.
    """
    found = deepcopy(content)
    found.pop("unseen", None)
    found["data"]["standard_error"] = None
    answer_with(found, size)
    scores = {name: feature_scores[name] for name in found["features"]}
    found["report"]["without"] = {}
    found["report"]["feature_scores"] = {name: None if isnan(one) else one for name, one in scores.items()}
    return found


def _best_leaf(content: Content, rows: list[Content]) -> Content:
    """Return the former answer, or the row of the path with a higher value on the rows of the search."""
    found = next(leaf for leaf in content["leaves"] if leaf["node"] == content["answer"])
    if content["challenges"]:  # they are about the former answer
        return found
    limit = content["data"]["choice"]["limit"]  # the row of all features may be larger
    known = [row for row in rows if row["training"] is not None and row["size"] <= limit]
    top = max(known, key=lambda row: row["training"], default=None)
    if top is None or top["training"] <= found["lower"]:
        return found
    return _leaf_of(content, label_of(top["features"], unit_of(content["data"])), top["training"])


def _leaf_of(content: Content, label: list[int], value: float) -> Content:
    """Return the exact leaf of a complete subset; it enters below the root if the graph does not have it."""
    found = next((leaf for leaf in content["leaves"] if leaf["label"] == label), None)
    if found is None:
        graph = content["graph"]
        found = {"node": len(graph["labels"]), "label": label}
        graph["children"][0].append(found["node"])
        graph["labels"].append(label)
        graph["children"].append([])
        graph["inner_orders"].append(0)
        content["leaves"].append(found)
    _make_exact(content, found, value)
    return found


def _make_exact(content: Content, leaf: Content, value: float) -> None:
    """Give a leaf its exact value, which was computed outside the graph; one that has it already keeps it."""
    if not leaf.get("exact"):
        known = {"mean": value, "lower": value, "upper": value, "lower_evidence": None, "upper_evidence": None}
        leaf |= {"terminal": True, "exact": True, "count": 1, "order": 0, "share": 0.0, **known}
        content["cost"]["values_outside"] -= 1


def _names(content: Content, label: list[int]) -> list[str]:
    """Return the names of the features of a complete subset, in the order of the columns."""
    data = content["data"]
    columns = sorted(column for unit in label if unit != STOP for column in data["groups"][unit])
    return [data["names"][column] for column in columns]
