"""From a certificate to what the page shows: numbers and words, no markup."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bestleaf.certificate import Certificate
from bestleaf.certificate.claims import counted, objective_in_words
from bestleaf.certificate.names import all_shown, shown
from bestleaf.certificate.verify_graph import downwards, node_bounds

LEADING = 30  # leaves whose intervals are drawn
MOST_NODES = 5000  # of the picture of the graph
LONGEST = 32  # letters of a name beside a plot


def name_of(content: dict[str, Any], label: Any, every: Sequence[str] | None = None) -> str:
    """Return a subset or state in words; `every` is how all features are shown, for whoever asks for many."""
    data = content["data"]
    if data is None or not isinstance(label, list):
        return shown(str(label))
    every = every or all_shown(tuple(data["names"]))
    units = [unit for unit in label if unit != -1]
    names = [", ".join(every[feature] for feature in data["groups"][unit]) for unit in units]
    return "{" + ", ".join(names) + "}" if names else "{}"


def in_short(text: str, longest: int = LONGEST) -> str:
    """Return a text that is not too long, with its beginning and its end: names often differ in their last letters."""
    half = (longest - 1) // 2
    return text if len(text) <= longest else f"{text[: longest - 1 - half]}…{text[-half:]}"


def short_name(content: dict[str, Any], label: Any, full: str) -> str:
    """Return a name that fits beside a plot: in full, or as the difference from the answer."""
    data, answer = content["data"], content["graph"]["labels"][content["answer"]]
    if len(full) <= LONGEST or data is None:
        return in_short(full)
    if label == answer:
        return f"the answer, {counted(len(answer) - 1, 'feature')}"
    more = [name_of(content, [unit])[1:-1] for unit in label if unit not in answer]
    less = [name_of(content, [unit])[1:-1] for unit in answer if unit not in label and unit != -1]
    room = (LONGEST - 8 - 2 * len(more + less)) // max(1, len(more + less))
    if room < 8:
        changes = ((len(more), "added"), (len(less), "dropped"))
        return ", ".join(["answer", *(f"{many} {done}" for many, done in changes if many)])
    signs = (("+", more), ("\N{MINUS SIGN}", less))
    signed = [f"{sign} {', '.join(in_short(one, room) for one in some)}" for sign, some in signs if some]
    return " ".join(["answer", *signed]) if signed else "the answer and more"


def leading_leaves(content: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the answer and the leaves of highest upper bound, the highest first."""
    answer = content["answer"]
    order = sorted(content["leaves"], key=lambda leaf: (leaf["node"] != answer, -leaf["upper"], -leaf["lower"]))
    return [_leaf(content, leaf) for leaf in order[: LEADING + 1]]


def _leaf(content: dict[str, Any], leaf: dict[str, Any]) -> dict[str, Any]:
    name = name_of(content, leaf["label"])
    if content["data"] is not None and not leaf["terminal"]:
        name = f"{name[:-1]}, …}}" if leaf["label"] else "{…}"
    return {
        "name": name,
        "short": short_name(content, leaf["label"], name),
        "lower": leaf["lower"],
        "upper": leaf["upper"],
        "mean": leaf["mean"],
        "kind": "exact" if leaf["exact"] else "rollouts" if leaf["count"] else "never sampled",
        "count": leaf["count"],
        "answer": leaf["node"] == content["answer"],
    }


def chosen_features(content: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the selected units with RAVE and what is left without each, as far as the search knows."""
    extras = content.get("report") or {}
    without, scores = extras.get("without", {}), extras.get("feature_scores", {})
    frequency = extras.get("selection_frequency", {})
    data, label = content["data"], content["graph"]["labels"][content["answer"]]
    found = []
    for unit in label[:-1]:
        names = [data["names"][feature] for feature in data["groups"][unit]]
        every = all_shown(tuple(data["names"]))
        left = without.get(str(unit))
        known = [scores[name] for name in names if scores.get(name) is not None]
        found.append(
            {
                "name": ", ".join(every[feature] for feature in data["groups"][unit]),
                "rave": max(known) if known else None,
                "frequency": max(frequency.get(name, 0.0) for name in names),
                "without": left,
                "loss": None if left is None else content["lower"] - left,
            }
        )
    return sorted(found, key=lambda one: -(one["loss"] or 0.0))


def graph(content: dict[str, Any]) -> dict[str, Any]:
    """Return the nodes by level with their intervals, and the edges; of a large graph the strongest nodes."""
    labels, children = content["graph"]["labels"], content["graph"]["children"]
    lower, upper = node_bounds(children, set(content["graph"]["minimizes"]), content["leaves"])
    level = _levels(children)
    every = None if content["data"] is None else all_shown(tuple(content["data"]["names"]))
    way = _way(children, content["answer"])
    order = sorted(range(len(labels)), key=lambda node: (node not in way, -lower[node], -upper[node]))
    kept = sorted(order[:MOST_NODES])
    place = {node: number for number, node in enumerate(kept)}
    leaves = {leaf["node"]: leaf for leaf in content["leaves"]}
    return {
        "left_out": len(labels) - len(kept),
        "answer": place[content["answer"]],
        "way": sorted(place[node] for node in way),
        "nodes": [
            [
                level[node],
                name_of(content, labels[node], every),
                round(lower[node], 5),
                round(upper[node], 5),
                _kind(leaves.get(node)),
                leaves[node]["count"] if node in leaves else 0,
            ]
            for node in kept
        ],
        "edges": [[place[node], place[child]] for node in kept for child in children[node] if child in place],
    }


def _kind(leaf: dict[str, Any] | None) -> int:
    """Return 0 for an inner node, 1 for a leaf of rollouts, 2 for an exact one."""
    return 0 if leaf is None else 2 if leaf["exact"] else 1


def _levels(children: list[list[int]]) -> list[int]:
    """Return the longest path from the root to every node."""
    level = [0] * len(children)
    for node in downwards(children):
        for child in children[node]:
            level[child] = max(level[child], level[node] + 1)
    return level


def _way(children: list[list[int]], answer: int) -> set[int]:
    """Return all nodes on ways from the root to the answer."""
    parents: dict[int, list[int]] = {}
    for node, below in enumerate(children):
        for child in below:
            parents.setdefault(child, []).append(node)
    found, waiting = {answer}, [answer]
    while waiting:
        fresh = set(parents.get(waiting.pop(), [])) - found
        found |= fresh
        waiting += fresh
    return found


def page_content(certificate: Certificate) -> dict[str, Any]:
    """Return everything the page shows."""
    content = certificate.content
    extras = content.get("report") or {}
    selection = content["data"] is not None
    return {
        "certificate": certificate,
        "content": content,
        "selection": selection,
        "objective": objective_in_words(content["data"]) if selection else None,
        "features": chosen_features(content) if selection else [],
        "leaves": leading_leaves(content),
        "many_leaves": len(content["leaves"]),
        "history": extras.get("history", []),
        "sizes": [[size, value, [shown(name) for name in names]] for size, value, names in extras.get("by_size", [])],
        "frequency": extras.get("selection_frequency", {}),
        "graph": graph(content),
        "settings": {**content["search"], "bestleaf": content["bestleaf"]},
    }
