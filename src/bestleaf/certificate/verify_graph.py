"""The graph of a certificate: one root, no cycles, steps that are allowed, the bounds of every node and the gap."""

from __future__ import annotations

from typing import Any

from bestleaf.certificate.claims import by_budget
from bestleaf.certificate.refusal import RefusedError, is_whole, need

STOP = -1  # ends the label of a complete subset


def check_graph(content: dict[str, Any]) -> None:
    """Check that leaves and nodes go together, and that a lattice of subsets has only steps of one unit."""
    graph, leaves = content["graph"], content["leaves"]
    if content["data"] is not None:
        _check_lattice(content)
    childless = {node for node, below in enumerate(graph["children"]) if not below}
    named = [leaf["node"] for leaf in leaves]
    fine = len(set(named)) == len(named) and set(named) == childless
    need(fine, "the leaves must be exactly the nodes without children")


def _check_lattice(content: dict[str, Any]) -> None:
    """Check that the graph is one of subsets of features, and that its leaves are the nodes they stand at."""
    graph, leaves = content["graph"], content["leaves"]
    one_player = content["search"]["task"] == "leaf" and not graph["two_player"]
    need(one_player, "feature selection is about the best leaf of one player")
    _check_labels(content)
    _check_steps(content)
    for leaf in leaves:
        stands = graph["labels"][leaf["node"]]
        need(leaf["label"] == stands, f"the leaf {leaf['label']} stands at a node called {stands}")
        need(leaf["terminal"] == is_complete(stands), f"the leaf {stands} must be terminal if and only if it ends")


def is_complete(label: list[int]) -> bool:
    """Whether the label of a subset says that nothing is added to it."""
    return label[-1:] == [STOP]


def _check_labels(content: dict[str, Any]) -> None:
    """Check that nodes are different subsets of units that may be chosen, and that the root is the forced ones."""
    labels, choice = content["graph"]["labels"], content["data"]["choice"]
    known, forced = {*choice["allowed"], *choice["forced"]}, set(choice["forced"])
    units = len(content["data"]["groups"])
    for label in labels:
        listed = isinstance(label, list) and all(is_whole(unit, STOP) and unit < units for unit in label)
        need(listed, f"the label {label!r:.80} must list units of the data")
        subset = label[:-1] if is_complete(label) else label
        need(subset == sorted({*subset} - {STOP}), f"the label {label} must list units once and in order")
        may = known.issuperset(subset) and forced.issubset(subset) and len(subset) <= choice["limit"]
        need(may and (bool(subset) or label == []), f"{label} is not a subset that may be chosen")
    need(len(set(map(tuple, labels))) == len(labels), "two nodes of the graph have the same label")
    need(labels[0] == sorted(forced), f"the root must be the features that are always in, got {labels[0]!r:.80}")


def _check_steps(content: dict[str, Any]) -> None:
    """Check that every edge adds one unit or stops; what only a budget ends has no graph but its subsets."""
    labels, children = content["graph"]["labels"], content["graph"]["children"]
    if by_budget(content):
        star = not any(children[1:]) and all(is_complete(label) for label in labels[1:])
        need(star, f"{content['search']['rule']} must list the subsets it evaluated below the root")
        return
    for node, below in enumerate(children):
        for child in below:
            one, other = labels[node], labels[child]
            fine = len(other) == len(one) + 1 and not is_complete(one) and set(one) < set(other)
            need(fine, f"{other} cannot be reached from {one} in one step")


def node_bounds(
    children: list[list[int]], minimizes: set[int], leaves: list[dict[str, Any]]
) -> tuple[list[float], list[float]]:
    """Return lower and upper bound of every node: best of the children's, from the leaves up."""
    lower = [0.0] * len(children)
    upper = [1.0] * len(children)
    for leaf in leaves:
        lower[leaf["node"]], upper[leaf["node"]] = leaf["lower"], leaf["upper"]
    for node in reversed(downwards(children)):
        if children[node]:
            best = min if node in minimizes else max
            lower[node] = best(lower[child] for child in children[node])
            upper[node] = best(upper[child] for child in children[node])
    return lower, upper


def downwards(children: list[list[int]]) -> list[int]:
    """Return the nodes in an order in which parents come before children."""
    waiting = [0] * len(children)
    for below in children:
        for child in below:
            waiting[child] += 1
    if waiting[0] or waiting.count(0) > 1:
        raise RefusedError("the graph must have one root, the first node")
    order = [0]
    for node in order:  # grows while it is walked
        for child in children[node]:
            waiting[child] -= 1
            if waiting[child] == 0:
                order.append(child)
    if len(order) < len(children):
        raise RefusedError("the graph must have no cycles")
    return order


def gap_of(content: dict[str, Any], lower: list[float], upper: list[float]) -> float:
    """Return how much better than the answer another one may be, for whoever moves at the root."""
    children, answer = content["graph"]["children"], content["answer"]
    if content["search"]["task"] == "leaf":
        return _gap_of_leaf(content, lower)
    need(answer in children[0], "the answer must be a child of the root")
    others = [child for child in children[0] if child != answer]
    if 0 in content["graph"]["minimizes"]:
        return min(1.0, upper[answer] - min(lower[child] for child in others)) if others else 0.0
    if content["graph"]["two_player"]:
        rivals = [upper[child] for child in others]
    else:
        inside = _labels_below(children, answer, content["leaves"])
        rivals = [leaf["upper"] for leaf in content["leaves"] if repr(leaf["label"]) not in inside]
    return min(1.0, max(rivals) - lower[answer]) if rivals else 0.0


def _gap_of_leaf(content: dict[str, Any], lower: list[float]) -> float:
    answer, leaves = content["answer"], content["leaves"]
    need(not content["graph"]["two_player"], "a certificate of a two-player game is about the best arm")
    mine = next((leaf for leaf in leaves if leaf["node"] == answer), None)
    if mine is None:
        raise RefusedError("the answer must be a leaf")
    if not mine["terminal"]:
        return 1.0
    name = repr(mine["label"])
    rivals = [leaf["upper"] for leaf in leaves if repr(leaf["label"]) != name]
    return min(1.0, max(rivals) - lower[answer]) if rivals else 0.0


def _labels_below(children: list[list[int]], node: int, leaves: list[dict[str, Any]]) -> set[str]:
    seen, stack = {node}, [node]
    while stack:
        fresh = set(children[stack.pop()]) - seen
        seen |= fresh
        stack += fresh
    return {repr(leaf["label"]) for leaf in leaves if leaf["node"] in seen}


def check_answer(content: dict[str, Any], lower: list[float], upper: list[float]) -> None:
    """Check that the answer has the interval of its leaves and the names of its features."""
    answer, data = content["answer"], content["data"]
    if (content["lower"], content["upper"]) != (lower[answer], upper[answer]):
        raise RefusedError(
            f"the interval of the answer is [{lower[answer]:.6g}, {upper[answer]:.6g}] by its leaves, not "
            f"[{content['lower']:.6g}, {content['upper']:.6g}]"
        )
    if data is not None:
        units = content["graph"]["labels"][answer][:-1]
        names = [data["names"][feature] for feature in sorted(f for unit in units for f in data["groups"][unit])]
        need(names == content["features"], f"the answer stands for the features {names}, not {content['features']}")
