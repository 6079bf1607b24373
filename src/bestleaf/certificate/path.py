"""The path of a feature selection: one subset of each size, with its score on left-out rows; in words and as a table.

Left-out rows are the rows of a fold that the choice is made by. Their scores are estimates: no claim rests on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from math import log
from typing import NamedTuple

from bestleaf.certificate.claims import counted, first_of, unit_names
from bestleaf.certificate.schema import FAMILIES, Content
from bestleaf.certificate.searched import label_of, unit_of

ERRORS = 2  # standard errors on each side of an interval
SHOWN = 12  # rows of a path in a table that is not too long
IN_LINE = 6  # rows of a path in one line
ALL = "all features"
HEADS = ("size", "features", "training", "left-out ± s.e.", "difference to all ± s.e.")
CHANCE = ("roc_auc", "roc_auc_ovr", "roc_auc_ovo", "roc_auc_ovr_weighted", "roc_auc_ovo_weighted")  # guessing: 0.5


class Cells(NamedTuple):
    """A row of the path as a table shows it."""

    size: str  # with a star if it was chosen
    features: str
    training: str
    left_out: str
    difference: str
    family: str
    chosen: bool

    def texts(self) -> tuple[str, ...]:
        """Return what stands below each of HEADS."""
        return self.size, self.features, self.training, self.left_out, self.difference


def chosen_row(new_data: Content) -> Content:
    """Return the row of the path that was chosen."""
    return next(row for row in new_data["path"] if row["size"] == new_data["size"])


def judged(new_data: Content) -> Content:
    """Return left-out score and difference of the answer, with errors.

    The score of the chosen row is rather too high, because the choice was made by it. So the choice was made again
    without each fold, and judged by that fold. A size that was asked for has the score of its row.
    """
    given = new_data.get("judged")
    return chosen_row(new_data) if given is None or "decided" in new_data else given


def optimism(new_data: Content) -> float | None:
    """Return the training value of the chosen subset minus its left-out score; None if one is not known.

    It is also None if left-out rows are scored by an error, which no value can be compared with.
    """
    training, left_out = chosen_row(new_data)["training"], judged(new_data)["left_out"]
    unknown = training is None or left_out is None or "scoring" in new_data
    return None if unknown else training - left_out


def default_guessing(data: Content) -> float | None:
    """Return the score of guessing if the measure alone says it: 0.5 for AUC and concordance; None otherwise."""
    objective = data["objective"]
    return 0.5 if objective.get("kind") != "estimator" or objective["scoring"] in CHANCE else None


def like_guessing(content: Content) -> float | None:
    """Return the score of guessing if the left-out score cannot be told from it; None if it can, or is not known."""
    new_data, row = content["new_data"], judged(content["new_data"])
    guessing = new_data.get("guessing")
    guessing = default_guessing(content["data"]) if guessing is None else guessing
    if guessing is None or row["left_out"] is None or "scoring" in new_data:
        return None
    told_apart = row["left_out"] - ERRORS * (row["standard_error"] or 0.0) > guessing
    return None if told_apart else float(guessing)


def new_data_in_words(content: Content) -> list[str]:
    """Return what left-out rows say of the answer: how it was chosen, its score, and its optimism."""
    new_data, row = content["new_data"], chosen_row(content["new_data"])
    lines = [f"{_choice(new_data)} {_score(new_data, row)}"]
    guessing, lost = like_guessing(content), optimism(new_data)
    if guessing is not None:
        cannot = f"The left-out score cannot be told from guessing ({guessing:g})"
        lines.append(f"{cannot}: do not take these features for good.")
    if lost is not None:
        lines.append(
            f"Optimism {lost:.4f}: the value on these rows, {row['training']:.4f}, "
            f"minus the left-out score, {judged(new_data)['left_out']:.4f}."
        )
    return lines


def path_in_line(content: Content) -> str:
    """Return the left-out scores of some sizes in one line."""
    new_data = content["new_data"]
    known = [row for row in new_data["path"] if row["left_out"] is not None]
    rows = [_in_short(row, new_data) for row in thinned(known, new_data["size"], IN_LINE)]
    if not rows:
        return "No size was scored on left-out rows."
    # The score above is of folds that had no part in the choice; these folds decided, so the highest is partly luck.
    decided = " (of the folds that decided, so rather high at the chosen size)" if "judged" in new_data else ""
    return f"Left-out score by size{decided}: {', '.join(rows)}."


def _in_short(row: Content, new_data: Content) -> str:
    """Return size and left-out score of a row."""
    is_marked = {"chosen": row["size"] == new_data["size"], "all": row["family"] == ALL}
    marks = [word for word, here in is_marked.items() if here]
    return f"{row['size']}: {row['left_out']:.4f}" + (f" ({', '.join(marks)})" if marks else "")


def _choice(new_data: Content) -> str:
    """Return what was chosen by left-out rows, and how."""
    family, size, parsimony = new_data["family"], new_data["size"], new_data["parsimony"]
    asked = "decided" in new_data  # the selector was asked for another size than left-out rows decided for
    if family == ALL and parsimony == 0 and not asked:
        noisy = any((row["difference"] or 0.0) > 0 for row in new_data["path"])
        averaged = ", once the scores of neighbouring sizes are averaged" if noisy else ""
        return f"No subset did better on rows left out than all features{averaged}."
    what = ALL if family == ALL else f"{counted(size, 'feature')} of the family {family} ({FAMILIES[family]})"
    if asked:
        return f"Asked for: {what}. Left-out rows decided for {counted(new_data['decided'], 'feature')}."
    allowed = f" A smaller subset was allowed to cost {counted_errors(parsimony)} of the paired difference."
    return f"Chosen by left-out rows: {what}.{allowed if parsimony else ''}"


def counted_errors(number: float) -> str:
    """Return a number of standard errors in words."""
    return f"{number:g} standard error{'' if number == 1 else 's'}"


def _score(new_data: Content, row: Content) -> str:
    """Return the left-out score and the difference to all features, with their errors."""
    family, row = row["family"], judged(new_data)
    if row["left_out"] is None:
        return "It was not scored on left-out rows."
    error = "" if row["standard_error"] is None else "one standard error; "
    parts = f"{error}{counted(new_data['folds'], 'left-out part')}, {new_data['rows']:,} rows"
    by = f" by {new_data['scoring']}" if "scoring" in new_data else ""
    text = f"Left-out score{by} {with_error(row['left_out'], row['standard_error'])} ({parts})."
    difference, spread = row["difference"], row["difference_error"]
    if family != ALL and difference is not None:
        text += f" Difference to all features {difference:+.4f}"
        if spread is not None:
            low, high = difference - ERRORS * spread, difference + ERRORS * spread
            text += f", from {low:+.4f} to {high:+.4f} (± {counted_errors(ERRORS)})"
        text += "."
    return f"{text} These are estimates, not proofs."


def with_error(score: float | None, error: float | None, *, is_difference: bool = False) -> str:
    """Return a score, or a difference of scores, with its standard error, as far as they are known."""
    if score is None:
        return "–"  # noqa: RUF001
    text = f"{score:+.4f}" if is_difference else f"{score:.4f}"
    return text + ("" if error is None else f" ± {error:.4f}")


def thinned(path: Sequence[Content], size: int, most: int = SHOWN) -> list[Content]:
    """Return some rows of a path: the chosen size with its neighbours, both ends, and others spread by their order."""
    if len(path) <= most:
        return list(path)
    last = len(path) - 1
    chosen = next((place for place, row in enumerate(path) if row["size"] == size), 0)
    kept = {0, last, chosen, max(0, chosen - 1), min(last, chosen + 1)}
    while len(kept) < most:  # the widest gap, by the ratio of places, gets a row in its middle
        places = sorted(kept)
        gaps = [(log((b + 1) / (a + 1)), a, b) for a, b in pairwise(places) if b - a > 1]
        _, a, b = max(gaps)
        kept.add(min(b - 1, max(a + 1, round(((a + 1) * (b + 1)) ** 0.5) - 1)))
    return [path[place] for place in sorted(kept)]


def path_cells(content: Content, most: int | None = SHOWN) -> list[Cells]:
    """Return the rows of the path as a table shows them; of a long path some rows, or all if `most` is None."""
    new_data, data = content["new_data"], content["data"]
    units, names = unit_of(data), unit_names(data)
    rows = new_data["path"] if most is None else thinned(new_data["path"], new_data["size"], most)
    return [_cells(row, content, names, units) for row in rows]


def _cells(row: Content, content: Content, names: Sequence[str], units: dict[str, int]) -> Cells:
    chosen = row["size"] == content["new_data"]["size"]
    difference = with_error(row["difference"], row["difference_error"], is_difference=True)
    listed = first_of([names[unit] for unit in label_of(row["features"], units)[:-1]])
    return Cells(
        f"{row['size']}{' *' if chosen else ''}",
        f"all: {listed}" if row["family"] == ALL else listed,
        with_error(row["training"], None),
        with_error(row["left_out"], row["standard_error"]),
        difference if row["family"] != ALL else "",
        row["family"],
        chosen,
    )


def path_html(content: Content) -> str:
    """Return the path as a small table for a notebook."""
    rows = []
    for cells in path_cells(content):
        strong = ' style="font-weight:bold"' if cells.chosen else ""
        columns = "".join(f"<td>{escape(text)}</td>" for text in cells.texts())
        rows.append(f"<tr{strong}>{columns}</tr>")
    heads = "".join(f"<th>{escape(name)}</th>" for name in HEADS)
    note = "The path: one subset of each size. The one chosen is marked by a star."
    return f"<table><caption>{note}</caption><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
