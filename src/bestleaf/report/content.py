"""What the page shows of a certificate, as numbers and words without markup."""

from __future__ import annotations

from typing import NamedTuple

from bestleaf.certificate.claims import all_shown, counted, shown
from bestleaf.certificate.path import path_cells
from bestleaf.certificate.schema import Content
from bestleaf.certificate.verify_graph import downwards, node_bounds

LEADING = 30  # rivals of the answer whose intervals are drawn
MOST_NODES = 5000  # drawn in the picture of the graph
LONGEST = 32  # characters of a name beside a plot

Label = list[int]  # numbers of the units of a subset; -1 at the end says that the subset is complete


def unit_names(content: Content) -> list[str] | None:
    """Return the name of every unit, which is a feature or a group of features; None if there are no features."""
    if content["data"] is None:
        return None
    names = all_shown(tuple(content["data"]["names"]))
    return [", ".join(names[feature] for feature in group) for group in content["data"]["groups"]]


def name_of(label: Label | str, units: list[str] | None) -> str:
    """Return a subset or state in words."""
    if units is None or not isinstance(label, list):
        return shown(str(label))
    return "{" + ", ".join(units[unit] for unit in label if unit != -1) + "}"


def in_short(text: str, longest: int = LONGEST) -> str:
    """Return a text, without its middle if it is too long; the end stays, because names often differ there."""
    half = (longest - 1) // 2
    return text if len(text) <= longest else f"{text[: longest - 1 - half]}…{text[-half:]}"


def _short_name(label: Label, name: str, answer: Label, units: list[str] | None) -> str:
    """Return a name that fits beside a plot: in full, or as the difference from the answer."""
    if len(name) <= LONGEST or units is None:
        return in_short(name)
    if label == answer:
        return f"the answer, {counted(len(answer) - 1, 'feature')}"
    added = [units[unit] for unit in label if unit not in answer]
    dropped = [units[unit] for unit in answer if unit not in label and unit != -1]
    changes = len(added) + len(dropped)
    room = (LONGEST - 8 - 2 * changes) // max(1, changes)
    if room < 8:
        words = [(len(added), "added"), (len(dropped), "dropped")]
        return ", ".join(["answer", *(f"{many} {done}" for many, done in words if many)])
    signs = [("+", added), ("\N{MINUS SIGN}", dropped)]
    signed = [f"{sign} {', '.join(in_short(one, room) for one in names)}" for sign, names in signs if names]
    return " ".join(["answer", *signed]) if signed else "the answer and more"


class PathPoint(NamedTuple):
    """A row of the path in a plot."""

    size: int
    training: float | None
    left_out: float | None
    error: float | None  # standard error of the left-out score
    chosen: bool
    words: str

    @property
    def band(self) -> tuple[float, float] | None:
        """The left-out score less and plus its standard error; None if one of them is not known."""
        if self.left_out is None or self.error is None:
            return None
        return self.left_out - self.error, self.left_out + self.error

    def heights(self) -> list[float]:
        """Return all that is drawn at this size."""
        return [one for one in (self.training, self.left_out, *(self.band or ())) if one is not None]


def path_points(content: Content) -> list[PathPoint]:
    """Return the rows of the path, each with what is shown beside it."""
    rows, cells = content["new_data"]["path"], path_cells(content, None)
    found = []
    for row, text in zip(rows, cells, strict=True):
        chosen = ", chosen" if text.chosen else ""
        words = f"{counted(row['size'], 'feature')} ({text.family}{chosen}): training {text.training}, "
        words += f"left out {text.left_out}" + (f", difference to all {text.difference}" if text.difference else "")
        scores = row["training"], row["left_out"], row["standard_error"]
        found.append(PathPoint(row["size"], *scores, text.chosen, f"{words}. {text.features}"))
    return found


def leading_leaves(content: Content) -> list[Content]:
    """Return the answer, then its rivals with the highest upper bounds, with names and kinds in words."""
    units, answer = unit_names(content), content["answer"]
    order = sorted(content["leaves"], key=lambda leaf: (leaf["node"] != answer, -leaf["upper"], -leaf["lower"]))
    found = []
    for leaf in order[: LEADING + 1]:
        name = name_of(leaf["label"], units)
        if units is not None and not leaf["terminal"]:
            name = f"{name[:-1]}, …}}" if leaf["label"] else "{…}"
        short = _short_name(leaf["label"], name, content["graph"]["labels"][answer], units)
        kind = "exact" if leaf["exact"] else "rollouts" if leaf["count"] else "never sampled"
        found.append({**leaf, "name": name, "short": short, "kind": kind, "answer": leaf["node"] == answer})
    return found


def chosen_features(content: Content) -> list[dict[str, str | float | None]]:
    """Return each selected unit with the value without it, the loss, and the mean value of rollouts with it."""
    extras, data, units = content.get("report") or {}, content["data"], unit_names(content) or []
    means, frequency = extras.get("feature_scores", {}), extras.get("selection_frequency", {})
    found = []
    for unit in content["graph"]["labels"][content["answer"]][:-1] if units else []:
        names = [data["names"][feature] for feature in data["groups"][unit]]
        without = extras.get("without", {}).get(str(unit))
        row = {
            "name": units[unit],
            "without": without,
            "loss": None if without is None else content["lower"] - without,
            "mean": max((means[name] for name in names if means.get(name) is not None), default=None),
            "frequency": max(frequency.get(name, 0.0) for name in names),
        }
        found.append(row)
    return sorted(found, key=lambda row: -(row["loss"] or 0.0))


def graph(content: Content) -> dict[str, int | list]:
    """Return the nodes with their levels and intervals, and the edges; of a large graph only the best nodes."""
    labels, children, answer = content["graph"]["labels"], content["graph"]["children"], content["answer"]
    lower, upper = node_bounds(content["graph"], content["leaves"])
    units, order = unit_names(content), downwards(children)
    level, path = [0] * len(children), {answer}
    for node in order:
        for child in children[node]:
            level[child] = max(level[child], level[node] + 1)
    for node in reversed(order):
        if not path.isdisjoint(children[node]):
            path.add(node)
    strongest = sorted(range(len(labels)), key=lambda n: (n != answer, n not in path, -lower[n], -upper[n]))
    kept = sorted(strongest[:MOST_NODES])
    place = {node: number for number, node in enumerate(kept)}
    kind, samples = [0] * len(labels), [0] * len(labels)  # 0: inner node, 1: leaf of rollouts, 2: exact leaf
    for leaf in content["leaves"]:
        kind[leaf["node"]], samples[leaf["node"]] = 2 if leaf["exact"] else 1, leaf["count"]
    nodes = [
        [level[n], name_of(labels[n], units), round(lower[n], 5), round(upper[n], 5), kind[n], samples[n]] for n in kept
    ]
    return {
        "left_out": len(labels) - len(kept),
        "answer": place[answer],
        "way": sorted(place[node] for node in path if node in place),
        "nodes": nodes,
        "edges": [[place[node], place[child]] for node in kept for child in children[node] if child in place],
    }
