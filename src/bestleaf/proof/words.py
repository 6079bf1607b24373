"""The record in plain English: the answer, what it cost, and the claims of a search. Nothing of it is stored.

What is said of new rows and of the path is in `bestleaf.proof.words_new_rows`.
"""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter
from math import ceil

from bestleaf.proof.record import STOP, Certificate, Data, Encoding, Estimator, Graph, Label, Neighbours, SearchClaim
from bestleaf.proof.text import all_shown, counted, first_of, in_line, visible
from bestleaf.proof.words_new_rows import about_new_rows, answer_lines, not_claimed_of_new_rows, often_in_words

NOT_SETTLED = "Not settled"
CALLED = {"roc_auc": "AUC", "r2": "R²", "concordance": "concordance index"}  # scores whose name needs no explanation
FEW = 5  # columns named in a claim
D2 = ("d2_absolute_error_score", "d2_brier_score", "d2_log_loss_score")
BELOW_0 = ("r2", "explained_variance", "matthews_corrcoef", *D2)  # may be negative; as values they count as 0 then

# ---- the whole


def summary_lines(record: Certificate) -> list[str]:
    """Return everything a reader must know, as lines."""
    often = None if record.path is None else often_in_words(record.path, record.features or ())
    lines = [answer_in_words(record), often, _all_features(record), _precision(record), cost_in_words(record)]
    claims = [*claims_of(record), *(f"Not proved: {text}" for text in not_claimed(record))]
    return [line for text in (*lines, *claims) if text is not None for line in text.splitlines()]


def answer_in_words(record: Certificate) -> str:
    """Return the answer with what is known of its value; a selection takes several lines."""
    search, data = record.search, record.data
    if search is None:
        return "\n".join(answer_lines(record))
    value = f"value {search.lower:.4f}"
    if search.lower < search.upper:
        value = f"value between {-_most(-search.lower):.4f} and {_most(search.upper):.4f}"
    if data is None:
        exactly = ", exactly" if search.lower == search.upper else ""
        among = "" if search.expansion is None else f" a{_examined(record, search)[1:]}"
        if search.plan is None:
            return f"Best {search.task}{among}: {label_in_words(search.label)}, {value}{exactly}."
        first = f", the first to {label_in_words(search.label)}" if search.answer else ""
        return f"Best plan{among}: {counted(len(search.plan), 'move')}{first}, mean {value}{exactly}."
    chosen = sorted(search.label[:-1], key=lambda unit: data.units[unit])
    names = first_of([unit_names(data)[unit] for unit in chosen])
    selected = f"Selected {len(chosen)} of {counted(len(data.units), 'column')}: {names}."
    return f"{selected}\nTraining {value}: {objective_in_words(data)}."


def claims_of(record: Certificate) -> list[str]:
    """Return what is proved, in sentences; what is still open, too."""
    found, search = [], record.search
    if search is not None:
        about_all, local = _of_all(record, search), _of_local(record, search)
        first = about_all or [_of_search(record, search), *_ceiling(record, search)]
        found = [*local, *first] if first[0].startswith(NOT_SETTLED) else [*first, *local]  # what is proved comes first
    if record.new_rows is not None:
        found += about_new_rows(record)
        found += _jointly(record)
    return found


def not_claimed(record: Certificate) -> list[str]:
    """Return what a reader might think is proved, but is not."""
    search, more = record.search, "more " if record.local is not None else ""
    if record.data is None and search is not None:
        grown = [f"anything {more}about states that are not in the graph; it grew while it was searched."]
        return ([] if search.expansion is None else grown) + endless_play(search.graph)
    new = ["anything about new data: the training value is the one the search maximised on these rows."]
    if record.new_rows is not None or record.path is not None:
        new = not_claimed_of_new_rows(record)
    if search is None or _of_all(record, search) or _ceiling(record, search):
        return new
    if record.all_subsets is not None:
        return ["anything about subsets that were not evaluated exactly.", *new]
    others = "that no subset is better that was not evaluated exactly"
    return [f"{others}. The mean value of random completions of a partial subset bounds no single one of them.", *new]


def cost_in_words(record: Certificate) -> str:
    """Return what the search took, why it ended and how it was run."""
    search, cost = record.search, record.cost
    if search is None:
        return f"The choice took {cost.seconds:.2f} s{'' if record.reason == 'settled' else f' ({record.reason})'}."
    drawn = counted(cost.samples, "sample" if record.data is None else "rollout")
    drawn += f" ({cost.warmup_samples:,} of them to warm up)" if cost.warmup_samples else ""
    if cost.exact_evaluations:
        exact = counted(cost.exact_evaluations, "exact value")
        drawn = f"{drawn} and {exact}" if cost.samples else exact
    where = f" on {counted(len(search.leaves), 'leaf', 'leaves')}" if record.data is None else ""
    how = "" if search.certain else f"; rule {search.rule}, bound {search.bound}, stopping {search.stopping}"
    return f"{drawn}{where} in {cost.seconds:.2f} s ({record.reason}{how})."


def _all_features(record: Certificate) -> str | None:
    """Return the training value of all columns, if it is known and the answer has fewer."""
    value = None if record.told is None else record.told.all_features
    if value is None or record.search is None or record.data is None:
        return None
    units = record.data.choice.units()
    if len(units) == len(record.search.label) - 1:
        return None
    every, better = f"With all {counted(len(units), 'column')} the value is {value:.4f}", record.search.lower - value
    if record.search.lower < record.search.upper:
        return f"{every}."
    how = f"{'better' if better > 0 else 'worse'} by {abs(better):.4f}" if better else "as good"
    return f"{every}: the answer is {how}."


def _precision(record: Certificate) -> str | None:
    """Return one sentence if the proof is finer than the rows allow to tell."""
    error = None if record.told is None else record.told.standard_error
    if error is None or record.search is None or error <= record.search.epsilon:
        return None
    said = "The proof is finer than the data: on other rows of the same kind the value would differ by about"
    return f"{said} {error:.4f} (standard error), more than epsilon {record.search.epsilon:g}."


# ---- the claim of the search


def _of_search(record: Certificate, search: SearchClaim) -> str:
    """Return what the intervals say about the answer: what is proved of it, or how much is still open."""
    text = _of_leaves(record, search)
    if search.expansion is None or record.all_subsets is not None:
        return text
    among = _examined(record, search)
    if text.startswith(NOT_SETTLED):
        return f"{NOT_SETTLED} a{among[1:]}{text.removeprefix(NOT_SETTLED)}"
    return f"{among}: {text[0].lower()}{text[1:]}"


def _of_leaves(record: Certificate, search: SearchClaim) -> str:
    """Return the claim about an arm, a plan, or a leaf of one player."""
    if record.settled:
        first = 0 in search.graph.minimizes and search.plan is None
        who = _on_average(search) + (" for the opponent, who moves first," if first else "")
        none = f"no {_where(record, search)} {_better(record, search.epsilon, who)}"
        return _promise(none, search, certain=search.certain)
    if search.gap <= search.epsilon:
        return f"{NOT_SETTLED}: no other {_where(record, search)} was there to compare with."
    return f"{NOT_SETTLED}. {unsettled_in_words(record)}"


def _examined(record: Certificate, search: SearchClaim) -> str:
    """Return how many candidates a claim about a graph that grew is about, and how the unfinished ones are valued."""
    unfinished = sum(not leaf.terminal for leaf in search.leaves)
    below = "random play below them" if record.data is None else "random completions"
    valued = f"; {unfinished:,} of them are unfinished and count as the mean of {below}" if unfinished else ""
    return f"Among the {counted(len(search.leaves), 'candidate')} examined (the graph grew{valued})"


def unsettled_in_words(record: Certificate) -> str:
    """Return how much better another candidate may be, if a budget ended the search before it was settled."""
    search = record.search
    assert search is not None
    gap, known, many, compared = search.gap, search.known_gap, len(search.leaves), search.compared
    rest, by_moves = many - compared, search.graph.two_player or search.graph.chance is not None
    none = f"none of these {_better(record, max(0.0, _most(known)))}"
    if record.all_subsets is not None and record.data is not None:
        some = f"Of the subsets that may be chosen ({choice_in_words(record.data)})"
        evaluated = f"{record.all_subsets.evaluated:,} were evaluated"
        return f"{some}, {evaluated}. It is certain that {none}. Another one may be better by up to {_most(gap):.4f}."
    if compared < 2 or by_moves or known >= (gap if rest else 1.0):
        one = _where(record, search).removeprefix("other ")
        return f"Another {one} may be better{_on_average(search)} by up to {_most(gap):.4f}."
    if search.task == "arm":
        none = f"none of these shows that another arm {none.removeprefix('none of these ')}"
    exact = sum(leaf.exact for leaf in search.leaves)
    whole = search.expansion is None and record.data is None
    listed = f"{many:,} {'leaves of the whole graph' if whole else 'candidates'}"
    listed += "" if record.data is None else f" ({choice_in_words(record.data)})"
    text = f"Of the {listed}, {compared:,} were compared." if rest else f"All {listed} were compared."
    text += f" {_promise(none, search, certain=exact == compared)}"
    if rest:
        was, they = ("one was", "it") if rest == 1 else (f"{rest:,} were", "they")
        text += f" The other {was} not compared, or not often enough: {they} may be better by up to {_most(gap):.4f}."
    return text


def _where(record: Certificate, search: SearchClaim) -> str:
    """Return which leaves or arms a claim is about, how many there are, and what may be chosen."""
    answer = "plan" if search.plan is not None else search.task
    if record.data is None:
        if search.expansion is not None:
            return f"other {answer}"
        return f"{answer} of the whole graph ({counted(len(search.leaves), 'leaf', 'leaves')})"
    many = "subset examined" if search.expansion is not None else f"of the {len(search.leaves):,} candidates"
    if record.all_subsets is not None:
        many = "subset that may be chosen"
    return f"other {many} ({choice_in_words(record.data)})"


def _better(record: Certificate, limit: float, who: str = "") -> str:
    """Return that candidates are better by more than a limit; of subsets, in what respect."""
    more = f" by more than {limit:.4f}".rstrip("0").rstrip(".") if limit else ""
    return f"is better{who}{more}" if record.data is None else f"has a training value that is higher{more}"


def _most(number: float) -> float:
    """Return a number rounded up to four digits, as the end of an interval."""
    return ceil(1e4 * number - 1e-6) / 1e4


def _on_average(search: SearchClaim) -> str:
    """Return that values are means, if chance decides somewhere; otherwise nothing."""
    if search.graph.chance is None:
        return ""
    against = search.plan is not None and search.graph.two_player
    return f" on average{', whatever the opponent does,' if against else ''}"


def _promise(what: str, search: SearchClaim, *, certain: bool) -> str:
    """Return a claim with how sure it is: certain, with a probability, on a condition, or without proof."""
    if certain:
        return f"It is certain that {what}."
    if search.proof == "none":
        return f"It seems that {what}; bound {search.bound} with stopping {search.stopping} has no proof."
    condition = f", provided that bound {search.bound} holds" if search.proof == "conditional" else ""
    return f"With probability at least 1 - {search.delta:g} {what}{condition}."


def _jointly(record: Certificate) -> list[str]:
    """Return with what probability the claims of the search and about new rows hold together, if both may fail."""
    search, new = record.search, record.new_rows
    if search is None or new is None or new.delta is None or search.certain or search.proof == "none":
        return []
    delta = min(1.0, search.delta + new.delta)
    least = f"together they hold with probability at least 1 - {delta:g}" if delta < 1 else "nothing of both together"
    return [f"The claims about the search and about new rows may fail independently of each other: {least}."]


# ---- all subsets, one step away


def _of_all(record: Certificate, search: SearchClaim) -> list[str]:
    """Return the claim about all subsets, if all were evaluated."""
    data, every = record.data, record.all_subsets
    if data is None or not record.settled:
        return []
    many, space = len(search.leaves) if every is None else every.evaluated, choice_in_words(data)
    if not (search.expansion is None and search.certain if every is None else many == data.choice.subsets()):
        return []
    if many == 1:
        return [f"The only subset that may be chosen was evaluated: there is no other. To choose from: {space}."]
    better = "has a higher training value" if search.gap <= 0 else _better(record, search.epsilon)
    best = f"the highest training value is {max(leaf.lower for leaf in search.leaves):.4f}, no other {better}"
    return [f"All {many:,} subsets that may be chosen were evaluated ({space}): {best}."]


def _ceiling(record: Certificate, search: SearchClaim) -> list[str]:
    """Return the claim that no value can be higher."""
    if record.data is None or search.lower < search.upper or 1.0 - search.lower > search.epsilon:
        return []
    return [f"No subset at all can be better by more than {search.epsilon:g}, because no value exceeds 1."]


def _of_local(record: Certificate, search: SearchClaim) -> list[str]:
    """Return the claim about candidates one step away, with the limits on what may be chosen."""
    claim, data = record.local, record.data
    if claim is None:
        return []
    many, one = len(claim.compared), "leaf" if data is None else "subset"
    nearby = f"all {counted(many, one, 'leaves' if data is None else None)} one step away were evaluated"
    if many < 2:
        nearby = f"the only {one} one step away was evaluated" if many else f"there is no {one} one step away"
    more = f"by more than {claim.epsilon:g}: {nearby}."
    if claim.choice is None or data is None:
        return [f"No leaf one step away, as the problem lists them, is better {more}"]
    choice, usable = claim.choice, len(claim.choice.units())
    which = "" if usable == len(data.units) else f" of the {usable:,} allowed"
    limits = f" with {few(choice.forced, data)} always in" if choice.forced else ""
    if len(search.label) - 1 == choice.limit < usable:
        limits = f" within the limit of {counted(choice.limit, 'column')}{limits}"
    return [f"No single column{which} added, dropped or exchanged{limits} raises the training value {more}"]


# ---- what the claims are about: columns, what may be chosen, what a value is


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
    judges, scoring = ", ".join(map(visible, objective.judges)), CALLED.get(objective.scoring, objective.scoring)
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
    left_out = f"; left out: {first_of([visible(name) for name in encoding.left_out])}" if encoding.left_out else ""
    if encoding.own is not None:
        return f"columns became numbers by {visible(encoding.own)}, which verify cannot repeat{left_out}"
    categories = "a column of zeros and ones for each level of a category"
    return f"{categories}; {filled}; {dates[encoding.dates]}{left_out}"


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
        blamed = "it counts against the one who could leave, and may be anything where both could or nobody"
        return [f"what play without end is worth; {blamed}."]
    return []
