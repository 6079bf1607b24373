"""Words about new rows and about the path: the answer in a few lines, what is proved, what is only estimated."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise, takewhile
from math import ceil, floor, log
from shlex import quote
from typing import Literal

from bestleaf.proof.record import Certificate, Neighbours, NewRowsClaim, Path, PathRow
from bestleaf.proof.text import all_shown, counted, first_of

Interval = tuple[float, float]

ERRORS = 2  # standard errors on each side of an estimate
IN_LINE, SHOWN = 6, 12  # sizes of a path in a line, and in a table
ALMOST_PERFECT = 0.999  # a score from which on a column may know the target
MEASURES = {"auc": "AUC", "roc_auc": "AUC", "concordance": "concordance index", "accuracy": "accuracy", "r2": "R²"}
WHY = {
    "folds": "cross-validation folds share their rows",
    "groups": "rows of a group depend on each other",
    "weights": "rows have weights",
    "classes": "a class has no test row",
    "scoring": "there is no proof for this score",
    "size": "the test rows are too many to be listed",
}
HOW = {
    "nested folds": "nested cross-validation of {rows} rows",
    "test rows": "{rows} test rows",
    "given rows": "{rows} test rows handed in",
}


# ---- what a claim about new rows says, as numbers and single words


def intervals_of(claim: NewRowsClaim) -> tuple[Interval | None, Interval | None]:
    """Return the intervals of the score and of the difference to all columns.

    They are proved, or two standard errors on each side; None where there is neither.
    """
    if claim.interval is not None:
        return claim.interval, claim.difference_interval
    score, difference = _around(claim.score, claim.standard_error), claim.score - claim.all_columns
    if score is not None and claim.guessing is not None:  # a measure whose largest score is 1
        score = score[0], min(1.0, score[1])
    return score, _around(difference, claim.difference_error)


def _around(value: float, error: float | None) -> Interval | None:
    return None if error is None else (value - ERRORS * error, value + ERRORS * error)


def difference_word(claim: NewRowsClaim) -> Literal["better", "same", "worse", "open"]:
    """Return how the chosen columns do compared with all columns, as far as their interval says it."""
    _, difference = intervals_of(claim)
    if difference is None:
        return "open"
    low, high = difference
    if low > 0 or high < 0:
        return "better" if low > 0 else "worse"
    return "same" if max(-low, high) <= 0.01 else "open"  # differences within this count as none


def like_guessing(claim: NewRowsClaim) -> bool:
    """Whether the score may be that of guessing, by its interval."""
    interval, _ = intervals_of(claim)
    return claim.guessing is not None and (claim.score if interval is None else interval[0]) <= claim.guessing


def smallest_within_error(path: Path) -> PathRow | None:
    """Return the smallest set that the best one is above by no more than one standard error; None without scores."""
    known = [row for row in path.rows if row.difference is not None]
    if not path.folds or not known:
        return None
    best = max(row.difference or 0.0 for row in known)
    return next(row for row in known if (row.difference or 0.0) + (row.standard_error or 0.0) >= best)


def flat_around(path: Path) -> tuple[int, int] | None:
    """Return the smallest and the largest size around the chosen one whose sets score alike; None without such sizes.

    Alike is within one standard error of the chosen set: the larger one of both sets.
    """
    known = [row for row in path.rows if row.difference is not None]
    place = next((place for place, row in enumerate(known) if row.size == path.size), None)
    if not path.folds or path.asked or place is None:
        return None
    chosen = known[place]

    def alike(row: PathRow) -> bool:
        error = max(row.standard_error or 0.0, chosen.standard_error or 0.0)
        return abs((row.difference or 0.0) - (chosen.difference or 0.0)) <= error

    smaller = takewhile(alike, reversed(known[:place]))
    larger = takewhile(alike, known[place + 1 :])
    sizes = [row.size for row in (*smaller, chosen, *larger)]
    return (min(sizes), max(sizes)) if len(sizes) > 1 else None


def almost_perfect(certificate: Certificate) -> str | None:
    """Return which columns may know the target, and what to do, if a model is almost perfect on new rows."""
    claim, path = certificate.new_rows, certificate.path
    known = measure_of(certificate) in MEASURES.values()
    if claim is None or not known or max((claim.score, *claim.judges.values())) < ALMOST_PERFECT:
        return None
    rows = () if path is None else (*path.rows, path.chosen)
    fewest = next((row.features for row in rows if (row.score or 0.0) >= ALMOST_PERFECT), certificate.features or ())
    names = all_shown(fewest)
    if len(names) == 1:
        later = f"{names[0]} alone scores so. If it is known only after the target, leave it out"
        return f"Almost perfect: {later} (--drop {quote(names[0])})."
    later = f"if one of these is known only after the target, leave it out (--drop): {first_of(names, IN_LINE)}"
    return f"Almost perfect: {later}."


# ---- sentences


def answer_lines(certificate: Certificate) -> list[str]:
    """Return the answer: the columns, their score on new rows, the difference to all columns, a smaller set."""
    names, claim, path = list(all_shown(certificate.features or ())), certificate.new_rows, certificate.path
    many = 0 if certificate.data is None else len(certificate.data.names)
    asked = ", as asked" if path is not None and path.asked else ""
    gone = () if certificate.table is None else certificate.table.left_out
    without = f"; left out: {first_of(all_shown(gone), IN_LINE)}" if gone else ""
    lines = [f"Columns ({len(names)} of {many}{asked}{without}): {', '.join(names)}"]
    if claim is not None:
        lines += _score_lines(certificate, claim)
    elif path is not None and path.folds:
        lines.append(_folds_line(path))
    if path is not None and (smallest := smallest_in_words(path)) is not None:
        lines.append(smallest)
    if (doubt := almost_perfect(certificate)) is not None:
        lines.append(doubt)
    return lines


def _score_lines(certificate: Certificate, claim: NewRowsClaim) -> list[str]:
    score, difference = intervals_of(claim)
    by = HOW[claim.how].format(rows=f"{claim.rows:,}")
    errors = "" if score is None else f" ± {ERRORS} standard errors"
    sure = f"proved by {by}" if claim.table is not None else f"estimate{errors} by {by}"
    mean = "mean of " if len(claim.judges) > 1 else ""
    judges = ", ".join(f"{name} {value:.3f}" for name, value in claim.judges.items())
    found = f"{measure_of(certificate)} {claim.score:.3f}{interval_in_words(score, before=', ')}"
    if like_guessing(claim):
        found = f"no better than guessing ({claim.guessing:.3g}), so do not rely on these columns; {found}"
    text = f"Score on new rows: {found} ({sure}; {mean}{judges})"
    if claim.score == claim.all_columns and difference in (None, (0.0, 0.0)):
        return [f"{text}; these are all columns"]
    gain = f"{claim.score - claim.all_columns:+.3f}{interval_in_words(difference, '+', ', ')}"
    return [text, f"Difference to {_all_columns(certificate)}: {difference_word(claim)}, {gain}"]


def _folds_line(path: Path) -> str:
    row = path.chosen
    score = "" if row.score is None else f"Score in cross-validation: {row.score:.3f} "
    text = f"{score}(by the folds that chose, so rather high)."
    return text if row.difference is None else f"{text} Difference to all columns: {_with_error(row)}."


def smallest_in_words(path: Path) -> str | None:
    """Return the smallest set within one standard error, and which sizes are as good; None without scores."""
    smallest, answer = smallest_within_error(path), path.chosen
    if smallest is None:
        return None
    flat = flat_around(path)
    found = "No" if flat is None or flat[0] >= answer.size else "Hardly"
    if smallest.size < answer.size and answer.difference is not None:
        lost = (smallest.difference or 0.0) - answer.difference
        names = first_of(all_shown(smallest.features), IN_LINE)
        few = counted(len(smallest.features), "column")
        found = f"Perhaps: {few} ({names}) at {lost:+.3f}, within one standard error of the best set"
    alike = (
        "" if flat is None else f". {flat[0]} to {flat[1]} columns score about the same; another seed may take others"
    )
    return f"Could you do with fewer? {found}{alike}"


def often_in_words(path: Path, names: Sequence[str]) -> str | None:
    """Return how often the folds chose the columns of the answer; None if no fold chose."""
    shares = [path.chosen_in_folds.get(name, 0.0) for name in names]
    if not path.chosen_in_folds or not shares:
        return None
    least, most = f"{100 * min(shares):.0f}", f"{100 * max(shares):.0f}"
    return f"Each of these columns was chosen in {least if least == most else f'{least} to {most}'} % of the folds."


def proved_in_short(certificate: Certificate) -> str:
    """Return in one line what is proved; the claims have it in full."""
    claim = certificate.new_rows
    if claim is None or claim.table is None or claim.delta is None:
        return f"Proved: {certificate.claims[0] if certificate.claims else 'nothing; the scores are estimates.'}"
    parts = ["the interval above" if claim.table.sets[0] == max(claim.table.sets) else "the two intervals above"]
    if claim.best_other is not None and len(claim.table.sets) > 2:
        others = f"the {len(claim.table.sets) - 1:,} other sets compared (one per size)"
        best = f"none of {others} is better by more than {_most(claim.best_other)}"
        worse = f"each of {others} is worse by at least {_least(-claim.best_other)}"
        parts.append(f"that {worse if claim.best_other < 0 else best}")
    models = f"models fitted to {claim.trained:,} rows, new rows like the {claim.rows:,} test rows"
    return f"Proved with {100 * (1 - claim.delta):g} % confidence: {', and '.join(parts)} ({models})."


def about_new_rows(certificate: Certificate) -> list[str]:
    """Return what test rows prove, in sentences that hold together with probability 1 - delta."""
    claim = certificate.new_rows
    if claim is None or claim.table is None or claim.interval is None or claim.delta is None:
        return []
    measure, several, every = measure_of(certificate), len(claim.judges) > 1, _all_columns(certificate)
    judged = f"the mean {measure} of {len(claim.judges)} models" if several else f"the {measure}"
    low, high = claim.interval
    names = certificate.features or ()
    columns = "this column" if len(names) == 1 else f"these {len(names)} columns"
    between = f"between {_least(low)} and {_most(high)}"
    parts = [f"With probability {1 - claim.delta:g}, {judged} with {columns} on new rows is {between}"]
    least, most = claim.difference_interval or (0.0, 0.0)
    if claim.table.sets[0] != max(claim.table.sets):
        above = f"at least {_least(least)} above" if least > 0 else f"at most {_most(-least)} below"
        if most < 0:
            above = f"between {_least(-most)} and {_most(-least)} below"
        parts.append(f"{above} that of {every}")
    if claim.best_other is not None and len(claim.table.sets) > 2:
        many, path = len(claim.table.sets) - 1, certificate.path
        due = many if path is None else len(path.rows) - 1
        others = f"{many:,}{'' if many == due else f' of {due:,}'} sets of other sizes"
        if claim.best_other < 0:
            parts.append(f"at least {_least(-claim.best_other)} above that of each of the {others}")
        else:
            parts.append(f"none of the {others} is better by more than {_most(claim.best_other)}")
    drawn = f"{claim.rows:,} test rows{' handed in' if claim.how == 'given rows' else ''}"
    models = f"This holds for models fitted to {claim.trained:,} rows, on new rows drawn like the {drawn}."
    return [f"{', '.join(parts[:-1])}{', and ' if parts[1:] else ''}{parts[-1]}. {models}"]


def not_claimed_of_new_rows(certificate: Certificate) -> list[str]:
    """Return what is only estimated."""
    claim, found = certificate.new_rows, list[str]()
    if claim is not None and claim.why_no_proof is not None:
        found.append(f"the score on new rows, which is an estimate, because {WHY[claim.why_no_proof]}")
    if certificate.path is not None:
        found.append("the scores by size, which are estimates of cross-validation")
        found.append("that no set is better but those of the sizes compared")
    return found


def measure_of(certificate: Certificate) -> str:
    """Return what the score is called."""
    claim, data = certificate.new_rows, certificate.data
    if claim is not None and claim.table is not None:
        return MEASURES[claim.table.measure]
    objective = None if data is None else data.objective
    if objective is None or isinstance(objective, Neighbours):
        return MEASURES["concordance" if objective is not None and objective.task == "regression" else "auc"]
    return MEASURES.get(objective.scoring, objective.scoring)


def _all_columns(certificate: Certificate) -> str:
    """Return what all columns are; the restriction is named where some may not be chosen."""
    data = certificate.data
    if data is None:
        return "all columns"
    allowed = sum(len(data.units[unit]) for unit in data.choice.units())
    return f"all {allowed} columns" + ("" if allowed == len(data.names) else " that may be chosen")


def interval_in_words(interval: Interval | None, sign: str = "", before: str = "") -> str:
    """Return an interval in words, rounded outward; nothing if there is none."""
    if interval is None:
        return ""
    low, high = outward(interval)
    return f"{before}from {low:{sign}.3f} to {high:{sign}.3f}"


def outward(interval: Interval) -> Interval:
    """Return the ends of an interval with three digits, rounded outward."""
    return floor(interval[0] * 1000) / 1000, ceil(interval[1] * 1000) / 1000


def _least(number: float) -> str:
    """Return a number rounded down, as the lower end of an interval."""
    return f"{outward((number, number))[0]:.3f}"


def _most(number: float) -> str:
    """Return a number rounded up, as the upper end of an interval."""
    return f"{outward((number, number))[1]:.3f}"


# ---- the path


def path_in_words(path: Path) -> str:
    """Return the difference to all columns of some sizes in one line."""
    known = [row for row in path.rows if row.difference is not None]
    if not path.folds or not known:
        return "No size was scored in cross-validation."
    rows = [f"{_size(row, path)}: {row.difference:+.4f}" for row in thinned(known, path.size, IN_LINE)]
    return f"Difference to all columns by size, in {counted(path.folds, 'cross-validation fold')}: {', '.join(rows)}."


def path_html(path: Path) -> str:
    """Return the path as a small table for a notebook."""
    heads = ("size", "columns", "difference to all ± s.e.", "score")
    lines = []
    for row in thinned(path.rows, path.size):
        score = "" if row.score is None else f"{row.score:.4f}"
        cells = (_size(row, path), first_of(all_shown(row.features)), _with_error(row), score)
        strong = ' style="font-weight:bold"' if row.size == path.size else ""
        lines.append(f"<tr{strong}>{''.join(f'<td>{escape(text)}</td>' for text in cells)}</tr>")
    head = "".join(f"<th>{name}</th>" for name in heads)
    note = "A set for each size, by cross-validation."
    return f"<table><caption>{note}</caption><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def thinned(rows: Sequence[PathRow], size: int, most: int = SHOWN) -> list[PathRow]:
    """Return some rows of a path: the chosen size with its neighbours, both ends, and others spread by their order."""
    if len(rows) <= most:
        return list(rows)
    last = len(rows) - 1
    chosen = next((place for place, row in enumerate(rows) if row.size == size), 0)
    kept = {0, last, chosen, max(0, chosen - 1), min(last, chosen + 1)}
    while len(kept) < most:  # the widest gap, by the ratio of places, gets a row in its middle
        gaps = [(log((b + 1) / (a + 1)), a, b) for a, b in pairwise(sorted(kept)) if b - a > 1]
        _, a, b = max(gaps)
        kept.add(min(b - 1, max(a + 1, round(((a + 1) * (b + 1)) ** 0.5) - 1)))
    return [rows[place] for place in sorted(kept)]


def _size(row: PathRow, path: Path) -> str:
    marks = [word for word, here in (("chosen", row.size == path.size), ("all", row == path.rows[-1])) if here]
    return f"{row.size} ({', '.join(marks)})" if marks else str(row.size)


def _with_error(row: PathRow) -> str:
    if row.difference is None:
        return ""
    return f"{row.difference:+.4f}" + (f" ± {row.standard_error:.4f}" if row.standard_error else "")
