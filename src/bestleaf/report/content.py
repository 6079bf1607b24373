"""What the page shows of a certificate, as numbers and words without markup."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from bestleaf.certificate.claims import BY_THESE_ROWS, all_shown, counted, in_line, shown
from bestleaf.certificate.path import path_cells
from bestleaf.certificate.schema import CLOSE, Content
from bestleaf.certificate.searched import searched

LEADING = 30  # rivals of the answer whose intervals are drawn
LONGEST, SHORTEST = 42, 12  # characters of a name beside a plot, and of each of several names in it
LONGEST_CALL = 5000  # characters
LEFT_OUT = "left out ± one standard error"
MANY_SIZES, MANY_DOTS = 30, 60  # sizes of a path from which on its scale is logarithmic, and has no dots

Points = Sequence[tuple[float, float]]
Label = list[int]  # numbers of the units of a subset; -1 at the end says that the subset is complete


def unit_names(content: Content) -> list[str] | None:
    """Return the name of every unit, which is a feature or a group of features; None if there are no features."""
    if content["data"] is None:
        return None
    names = all_shown(tuple(content["data"]["names"]))
    return [", ".join(names[feature] for feature in group) for group in content["data"]["groups"]]


def in_short(text: str, longest: int = LONGEST) -> str:
    """Return a text, without its middle if it is too long; the end stays, because names often differ there."""
    half = (longest - 1) // 2
    return text if len(text) <= longest else f"{text[: longest - 1 - half]}…{text[-half:]}"


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


def bands_of(points: Sequence[PathPoint]) -> list[list[PathPoint]]:
    """Return the runs of sizes whose left-out scores have standard errors."""
    runs = groupby(points, key=lambda point: point.band is not None)
    return [list(run) for known, run in runs if known]


def _drawn_leaves(content: Content) -> list[Content]:
    """Return the leaves without those that may have the value 1, so that nothing is known of them; the answer stays."""
    answer, leaves = content["answer"], content["leaves"]
    known = [leaf for leaf in leaves if leaf["node"] == answer or leaf["exact"] or leaf["upper"] < 1.0 - CLOSE]
    return known if len(known) > 1 else leaves


def leaves_not_drawn(content: Content) -> int:
    """Return how many leaves are not drawn, because nothing is known of them."""
    return len(content["leaves"]) - len(_drawn_leaves(content))


def leading_leaves(content: Content) -> list[Content]:
    """Return the answer, then the rivals with the highest upper bounds below 1, with names and kinds in words."""
    units, answer = unit_names(content), content["answer"]
    order = sorted(_drawn_leaves(content), key=lambda leaf: (leaf["node"] != answer, -leaf["upper"], -leaf["lower"]))
    best = content["graph"]["labels"][answer]
    return [_named(leaf, units, best) | {"answer": leaf["node"] == answer} for leaf in order[: LEADING + 1]]


def _named(leaf: Content, units: list[str] | None, answer: Label) -> Content:
    """Return a leaf with its name and kind in words, and what a complete subset adds to the answer and drops from it.

    Beside a plot, a long name gives way to these changes.
    """
    label, name, changes = leaf["label"], shown(str(leaf["label"])), list[str]()
    if units is not None:
        more = [] if leaf["terminal"] else ["…"]
        name = "{" + ", ".join([*(units[unit] for unit in label if unit != -1), *more]) + "}"
    if units is not None and leaf["terminal"]:
        changes += [f"+ {units[unit]}" for unit in label if unit not in answer]
        changes += [f"\N{MINUS SIGN} {units[unit]}" for unit in answer if unit not in label]
    each = max(SHORTEST, LONGEST // max(1, len(changes)) - 1)
    told = name if len(name) <= LONGEST or not changes else ", ".join(in_short(change, each) for change in changes)
    return {
        **leaf,
        "name": name,
        "short": in_short(told),
        "changes": changes,
        "kind": "exact" if leaf["exact"] else "rollouts" if leaf["count"] else "never sampled",
    }


def limit_of(content: Content) -> tuple[float, str]:
    """Return the value that no rival exceeds when the search is settled, and what it is called."""
    best = searched(content)
    called = "answer + epsilon" if best.is_answer else f"{BY_THESE_ROWS} + epsilon"
    return best.value + content["search"]["epsilon"], called


def value_range(leaves: Sequence[Content], limit: float) -> tuple[float, float]:
    """Return the ends of a scale that shows all upper bounds and most means; long intervals are cut on the left."""
    means = sorted(leaf["mean"] for leaf in leaves if leaf["mean"] is not None) or [0.0]
    low, high = means[len(means) // 10], max(limit, *(leaf["upper"] for leaf in leaves))
    pad = 0.15 * max(high - low, 0.01)
    return max(0.0, low - pad), min(1.0, high + pad / 5)


def gap_runs(content: Content) -> list[Points]:
    """Return the gap by time, in runs in which something was known of it; none if it was known less than twice.

    A gap holds until the next entry of the history.
    """
    epsilon = content["search"]["epsilon"]
    rows = [
        (row["seconds"], row["gap"] if row["gap"] <= epsilon or row["gap"] < 1.0 - CLOSE else None)
        for row in content["report"]["history"]
    ]
    if sum(gap is not None for _, gap in rows) < 2:
        return []
    runs: list[Points] = []
    for is_known, group in groupby(enumerate(rows), key=lambda row: row[1][1] is not None):
        numbered = list(group)
        run = [(second, gap) for _, (second, gap) in numbered if gap is not None]
        following = rows[numbered[-1][0] + 1 :]
        if is_known:
            runs.append([*run, (following[0][0], run[-1][1])] if following else run)
    return runs


def chosen_features(content: Content) -> list[dict[str, str | float | list[str] | None]]:
    """Return each selected unit with its levels, the value without it, the loss, and the mean of rollouts with it."""
    extras, data, units = content.get("report") or {}, content["data"], unit_names(content) or []
    levels = {} if data is None else data.get("encoding", {}).get("levels", {})
    means = extras.get("feature_scores", {})
    found = []
    for unit in content["graph"]["labels"][content["answer"]][:-1] if units else []:
        names = [data["names"][feature] for feature in data["groups"][unit]]
        without = extras.get("without", {}).get(str(unit))
        row = {
            "name": units[unit],
            "levels": [shown(level) for name in names for level in levels.get(name, [])],
            "without": without,
            "loss": None if without is None else content["lower"] - without,
            "mean": max((means[name] for name in names if means.get(name) is not None), default=None),
        }
        found.append(row)
    return sorted(found, key=lambda row: -(row["loss"] or 0.0))


def how_to_repeat(content: Content) -> str | None:
    """Return the command or the call in Python that repeats the search; None if the certificate does not say it."""
    repeat, new_data = (content.get("report") or {}).get("repeat"), content.get("new_data") or {}
    if repeat is None:
        return None
    asked = f".at_size({new_data['size']})" if "decided" in new_data else ""
    return in_line(repeat, LONGEST_CALL) + asked
