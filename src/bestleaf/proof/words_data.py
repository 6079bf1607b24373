"""What the claims are about in plain English: columns, what may be chosen, what a value is."""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter

from bestleaf.proof.record import STOP, Data, Encoding, Estimator, Graph, Label, Neighbours
from bestleaf.proof.text import all_shown, counted, first_of, in_line, shown

CALLED = {"roc_auc": "AUC", "r2": "R²", "concordance": "concordance index"}  # scores whose name needs no explanation
FEW = 5  # columns named in a claim
BELOW_0 = (  # scores that may be negative; as values they count as 0 then
    "r2",
    "explained_variance",
    "matthews_corrcoef",
    "d2_absolute_error_score",
    "d2_brier_score",
    "d2_log_loss_score",
)


def choice_in_words(data: Data) -> str:
    """Return in words what may be chosen, with every limit."""
    choice, total, known = data.choice, len(data.units), data.choice.units()
    limit = "" if choice.limit == len(known) else f"at most {choice.limit:,} of "
    text = limit + ("" if len(known) == total else f"{len(known):,} allowed of ") + counted(total, "column")
    excluded = sorted(set(range(total)).difference(known))
    for what, units in (("excluded", excluded), ("always in", choice.forced)):
        text += f"; {what}: {few(units, data)}" if units else ""
    return text


def few(units: Sequence[int], data: Data) -> str:
    """Return the first of some units by name."""
    names, more = unit_names(data), "" if len(units) <= FEW else f" and {len(units) - FEW:,} more"
    return ", ".join(names[unit] for unit in units[:FEW]) + more


def unit_names(data: Data) -> list[str]:
    """Return the name of each unit; of a group, the names of its columns in braces."""
    names = all_shown(data.names)
    groups = [[names[column] for column in group] for group in data.units]
    return [one[0] if len(one) == 1 else f"{{{first_of(one)}}}" for one in groups]


def label_in_words(label: Label) -> str:
    """Return the label of a state as its problem would write it."""
    return in_line(label if isinstance(label, str) else repr(_as_tuple(label)), 200)


def _as_tuple(label: Label) -> Label:
    return tuple(map(_as_tuple, label)) if isinstance(label, list | tuple) else label


def subset_in_words(label: Label, data: Data | None) -> str:
    """Return a subset by the names of its columns; the label of another state as its problem would write it."""
    if data is None:
        return label_in_words(label)
    names = unit_names(data)
    return f"{{{first_of([names[unit] for unit in label if unit != STOP])}}}"


def objective_in_words(data: Data) -> str:
    """Return what the value of a subset is, or by what a set of columns is judged."""
    objective = data.objective
    if isinstance(objective, Neighbours):
        return _neighbours(objective, data.rows)
    weighted = "weighted " if objective.weighted else ""
    if isinstance(objective, Estimator):
        clipped = ", each at least 0" if objective.scoring in BELOW_0 else ""
        return f"mean {weighted}{objective.scoring} of {objective.name} on {objective.splits} fixed splits{clipped}"
    judges, scoring = ", ".join(map(shown, objective.judges)), CALLED.get(objective.scoring, objective.scoring)
    return f"{weighted}{scoring}{', mean' if len(objective.judges) > 1 else ''} of {judges}"


def _neighbours(votes: Neighbours, rows: int) -> str:
    """Return how the votes of nearest neighbours are scored, and on which of the rows."""
    kind = {0: "concordance index", 2: "AUC"}.get(votes.classes, f"mean one-against-rest AUC ({votes.classes} classes)")
    how = f"the votes of {votes.n_neighbors} nearest neighbours{' from other groups' * votes.grouped}"
    weights = ", rows weighted" * votes.weighted
    if votes.reference_rows is not None and votes.query_rows is not None:
        others = rows - votes.reference_rows
        part = "" if votes.query_rows == others else f"a fixed random part of {votes.query_rows:,} of "
        where = f"in a fixed reference of {votes.reference_rows:,} rows, on {part}the other {others:,} rows"
        return f"{kind} of {how} {where}{weights}"
    where = f"all {rows:,} rows"
    if votes.queries < rows:
        why = "computing it on all would take too long; neighbours are searched among all"
        where = f"a fixed random subsample of {votes.queries:,} of the {rows:,} rows ({why})"
    return f"leave-{'one-group' if votes.grouped else 'one'}-out {kind} of {how} on {where}{weights}"


def encoding_in_words(encoding: Encoding) -> str:
    """Return how the columns of a table became numbers."""
    dates = {"parts": "dates as their parts", "number": "dates as days since 1970", "drop": "dates left out"}
    missing = {None: "missing values refused", "keep": "missing values left to the estimator"}
    filled = missing.get(encoding.impute, f"missing values filled ({encoding.impute})")
    left_out = f"; left out: {first_of([shown(name) for name in encoding.left_out])}" if encoding.left_out else ""
    if encoding.own is not None:
        return f"columns became numbers by {shown(encoding.own)}, which verify cannot repeat{left_out}"
    categories = "a column of zeros and ones for each level of a category"
    return f"{categories}; {filled}; {dates[encoding.dates]}{left_out}"


def beyond_reference(data: Data | None) -> str:
    """Return on which rows subsets are compared, if those that vote are not among them; otherwise nothing."""
    if data is None or not isinstance(data.objective, Neighbours) or data.objective.query_rows is None:
        return ""
    voters, ranked = data.objective.reference_rows, data.objective.query_rows
    return f", measured on {ranked:,} rows outside of the reference of {voters:,}"


def endless_play(graph: Graph) -> list[str]:
    """Return what play without end is taken to be worth, in a game with cycles."""
    if graph.endless:
        lower, upper = min(one.lower for one in graph.endless), max(one.upper for one in graph.endless)
        taken = f"is taken to be {lower:.4g}" if lower == upper else f"may be anything from {lower:.4g} to {upper:.4g}"
        return [f"what play without end is worth; it {taken}, as the problem says."]
    try:
        if graph.two_player:
            TopologicalSorter(dict(enumerate(graph.children))).prepare()
    except CycleError:
        return [
            "what play without end is worth; it counts against the one who could leave, and may be worth anything "
            "where both could or nobody."
        ]
    return []
