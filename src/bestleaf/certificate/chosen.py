"""Let a certificate answer with a subset of the path instead of the answer by the rows of the search alone."""

from __future__ import annotations

from bestleaf.certificate.claims import words_of
from bestleaf.certificate.schema import Content
from bestleaf.certificate.searched import STOP, label_of, unit_of
from bestleaf.certificate.verify_graph import answer_of


def enter_values(content: Content, rows: list[Content]) -> None:
    """Note that the training values of some rows of the path were computed, too; leaves of the graph get them."""
    units, there = unit_of(content["data"]), {tuple(leaf["label"]) for leaf in content["leaves"]}
    for row in rows:
        for counter in ("exact_evaluations", "values_outside"):
            content["cost"][counter] += 1
        label = label_of(row["features"], units)
        if tuple(label) in there:
            _leaf_of(content, label, row["training"])


def answer_with(content: Content, size: int) -> None:
    """Let the row of this size of the path be the answer; its leaf hangs from the root if the graph has none for it.

    The leaf of highest value among the row, the path and the former answer is what the search would answer with.
    """
    new_data, units = content["new_data"], unit_of(content["data"])
    rows = {one["size"]: one for one in new_data["path"]}
    if "best" not in new_data:
        best = _best_leaf(content, list(rows.values()))
    else:
        best = _leaf_of(content, label_of(new_data["best"]["features"], units), new_data["best"]["value"])
    leaf = _leaf_of(content, label_of(rows[size]["features"], units), rows[size]["training"])
    new_data["size"], new_data["family"] = size, rows[size]["family"]
    new_data["best"] = {
        "features": _names(content, best["label"]),
        "value": best["lower"],
        "gap": answer_of({**content, "answer": best["node"]})["gap"],
    }
    content["answer"], content["features"] = leaf["node"], _names(content, leaf["label"])
    content |= answer_of(content)
    content |= words_of(content)


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
    if not found.get("exact"):
        known = {"mean": value, "lower": value, "upper": value, "lower_evidence": None, "upper_evidence": None}
        found |= {"terminal": True, "exact": True, "count": 1, "order": 0, "share": 0.0, **known}
        content["cost"]["values_outside"] -= 1
    return found


def _names(content: Content, label: list[int]) -> list[str]:
    """Return the names of the features of a complete subset, in the order of the columns."""
    data = content["data"]
    columns = sorted(column for unit in label if unit != STOP for column in data["groups"][unit])
    return [data["names"][column] for column in columns]
