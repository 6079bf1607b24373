"""Check the graph of a certificate: one root, allowed steps; compute bounds of nodes and the gap."""

from __future__ import annotations

from bestleaf.certificate.all_subsets import has_some
from bestleaf.certificate.knots import Knot, check_endless, groups_of, is_knot
from bestleaf.certificate.plan import chances_in, check_chance, mean_of, moves_of, plan_in, value_of
from bestleaf.certificate.schema import Content, Json, RefusedError, need, same
from bestleaf.certificate.searched import STOP, label_of, looked_at_in, unit_of


class Choice:
    """The subsets that may be chosen; made once, to check many labels."""

    def __init__(self, choice: Content) -> None:
        self.forced = frozenset(choice["forced"])
        self.known = self.forced.union(choice["allowed"])
        self.limit = choice["limit"]

    def check(self, label: Json, *, complete: bool = True) -> None:
        """Refuse a label that is not a subset that may be chosen; the label of a complete subset ends with STOP."""
        listed = isinstance(label, list) and set(map(type, label)) <= {int} and (label[-1:] == [STOP]) == complete
        units = label[:-1] if listed and complete else label
        if not (listed and units == sorted(set(units)) and complete <= len(units) <= self.limit):
            raise RefusedError(f"the label {label!r:.80} must list units of the data once and in order")
        if not (self.known.issuperset(units) and self.forced.issubset(units)):
            raise RefusedError(f"{label!r:.80} is not a subset that may be chosen from the units of the data")


def check_graph(content: Content) -> None:
    """Check that the leaves are the nodes without children, and that each step in a lattice adds one unit."""
    graph, leaves, task = content["graph"], content["leaves"], content["search"]["task"]
    if content["data"] is not None:
        one_player = not graph["two_player"] and "chance" not in graph
        need(task == "leaf" and one_player, "feature selection is about the best leaf of one player")
        _check_lattice(content)
    check_chance(content)
    childless = {node for node, below in enumerate(graph["children"]) if not below}
    fine = len(childless) == len(leaves) and {leaf["node"] for leaf in leaves} == childless
    need(fine, "the leaves must be exactly the nodes without children")
    check_endless(graph, downwards(graph["children"]))


def _check_lattice(content: Content) -> None:
    """Check that nodes and leaves are subsets that may be chosen, and that every edge adds one unit or STOP."""
    labels, children = content["graph"]["labels"], content["graph"]["children"]
    choice, ends = Choice(content["data"]["choice"]), [label[-1:] == [STOP] for label in labels]
    for label, complete in zip(labels, ends, strict=True):
        choice.check(label, complete=complete)
    need(len(set(map(tuple, labels))) == len(labels), "two nodes of the graph have the same label")
    need(labels[0] == sorted(choice.forced), f"the root must be the features always in, got {labels[0]!r:.80}")
    if content.get("all_subsets") is not None:  # its graph is a root with the subsets that were evaluated
        star = not any(children[1:]) and all(ends[1:])
        need(star, "a search of all subsets must list the subsets it evaluated below the root")
        children = []
    chosen = _leaves_of_the_path(content)
    for node, (label, below) in enumerate(zip(labels, children, strict=False)):
        here = set(label)
        for other in map(labels.__getitem__, below):
            if node == 0 and repr(other) in chosen:
                continue
            if len(other) != len(label) + 1 or STOP in here or not here.issubset(other):
                raise RefusedError(f"{other} cannot be reached from {label} in one step")
    for leaf in content["leaves"]:
        name, node = f"{leaf['label']!r:.80}", leaf["node"]
        if leaf["label"] != labels[node] or leaf["terminal"] != ends[node]:
            raise RefusedError(f"the leaf {name} stands at a node called {labels[node]}, or does not end as that says")


def _leaves_of_the_path(content: Content) -> set[str]:
    """Return the labels that may hang from the root: subsets of the path, which were found without the graph."""
    new_data, data = content.get("new_data"), content["data"]
    if new_data is None:
        return set()
    units = unit_of(data)
    known = [row["features"] for row in new_data["path"] if units.keys() >= set(row["features"])]
    return {repr(label_of(features, units)) for features in known}  # `check_path` tells of unknown features


def node_bounds(graph: Content, leaves: list[Content]) -> tuple[list[float], list[float]]:
    """Return the lower and the upper bounds of all nodes; those of a parent are the best of its children.

    Those of a chance node are the means of those of its children.
    """
    children, minimizes, chances = graph["children"], set(graph["minimizes"]), chances_in(graph)
    lower, upper = [0.0] * len(children), [1.0] * len(children)
    for leaf in leaves:
        lower[leaf["node"]], upper[leaf["node"]] = leaf["lower"], leaf["upper"]
    for group in reversed(downwards(children)):
        node = group[0]
        if is_knot(group, children):
            need("chance" not in graph, "a graph with chance nodes must have no cycles")
            knot = Knot(group, graph)
            for bounds, end in zip((lower, upper), knot.ends, strict=True):
                for one, bound in knot.bounds(bounds, end).items():
                    bounds[one] = bound
        elif node in chances:
            lower[node] = mean_of(chances[node], [lower[child] for child in children[node]], rest=0.0)
            upper[node] = mean_of(chances[node], [upper[child] for child in children[node]], rest=1.0)
        elif children[node]:
            best = min if node in minimizes else max
            lower[node] = best(lower[child] for child in children[node])
            upper[node] = best(upper[child] for child in children[node])
    return lower, upper


def downwards(children: list[list[int]]) -> list[list[int]]:
    """Return the nodes in groups that reach each other, parents before children; without a cycle each one alone."""
    met, fresh = {0}, [0]
    for node in fresh:  # grows in this loop
        fresh += set(children[node]) - met
        met.update(children[node])
    need(len(met) == len(children), "the graph must have one root, the first node")
    return groups_of(children)


def answer_of(content: Content) -> dict[str, float]:
    """Return the interval and the gap of the answer that follow from the leaves.

    The gap says how much better than the answer another one may be, for the player who moves at the root. The known gap
    is the same among the leaves looked at. It is the gap if they hold no rival, and in a game or with chance, where one
    leaf may change what all others are worth. Of a plan, the interval and the gap are those of the plan.
    """
    graph, answer, leaves, task = content["graph"], content["answer"], content["leaves"], content["search"]["task"]
    children, (lower, upper) = graph["children"], node_bounds(graph, leaves)
    if task == "leaf" and "chance" in graph:
        moves = moves_of(content, lower, upper)
        value = value_of(plan_in(content, moves), moves)
        gap = min(1.0, value.loss)
        return {"lower": value.lower, "upper": min(1.0, value.upper), "gap": gap, "known_gap": gap} | {
            "looked_at": len(looked_at_in(content))
        }
    if task == "leaf":
        need(not graph["two_player"], "a certificate of a two-player game is about the best arm")
        need(not children[answer], "the answer must be a leaf")
    else:
        need(answer in children[0], "the answer must be a child of the root")
    below, fresh = {answer}, [answer]
    for node in fresh:  # grows in this loop
        fresh += set(children[node]) - below
        below.update(children[node])
    inside = {repr(leaf["label"]): leaf["terminal"] for leaf in leaves if leaf["node"] in below}
    looked = looked_at_in(content)
    if graph["two_player"] or "chance" in graph:
        rivals = [child for child in children[0] if child != answer]
        for_opponent = 0 in graph["minimizes"]
        gaps = [upper[answer] - lower[one] if for_opponent else upper[one] - lower[answer] for one in rivals]
        known = gaps
    else:
        apart = [leaf for leaf in leaves if repr(leaf["label"]) not in inside]
        gaps = [leaf["upper"] - lower[answer] for leaf in apart]
        known = [leaf["upper"] - lower[answer] for leaf in apart if leaf["node"] in looked] or gaps
        if content.get("all_subsets") is not None:  # other subsets than the leaves are at most so good
            rest = content["all_subsets"]["least"] - lower[answer]
            known = [*known, rest]
            gaps = [*known, 1.0 - lower[answer]] if has_some(content) else known
    unfinished = task == "leaf" and not any(inside.values())  # the answer has children that are not in the graph
    return {
        "lower": lower[answer],
        "upper": upper[answer],
        "gap": 1.0 if unfinished else min(1.0, max(gaps, default=0.0)),
        "known_gap": 1.0 if unfinished else min(1.0, max(known, default=0.0)),
        "looked_at": len(looked),
    }


def check_answer(content: Content) -> None:
    """Check the interval and the gaps of the answer, which follow from the leaves, and the names of its features."""
    for name, value in answer_of(content).items():
        if name not in content:  # certificates of earlier versions have no known gap; `check_form` asks for the others
            continue
        agrees = same(value, content[name]) if name.endswith("gap") else value == content[name]
        need(agrees, f"{name!r} of the answer follows from the leaves as {value:.6g}, not {content[name]:.6g}")
    data = content["data"]
    if data is not None:
        units = content["graph"]["labels"][content["answer"]][:-1]
        names = [data["names"][feature] for feature in sorted(f for unit in units for f in data["groups"][unit])]
        need(names == content["features"], f"the answer stands for the features {names}, not {content['features']}")
