"""The claims of a certificate in words. They follow from its numbers, so `build` and `verify` both make them here."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, floor
from typing import ClassVar

from bestleaf.certificate.all_subsets import has_all, has_some
from bestleaf.certificate.knots import groups_of, is_knot
from bestleaf.certificate.schema import Content, Json
from bestleaf.certificate.searched import STOP, known_gap, label_of_all, searched

FEW, MANY, LONGEST = 5, 20, 120  # features named in a claim and in the answer, and letters of a name that is shown
# Letters of other alphabets, each above the Latin letter that it looks like.
_ALIKE = "аеорсухіјѕԁһкмтвАВЕКМНОРСТУХІЈЅοανικυρΑΒΕΖΗΙΚΜΝΟΡΤΥΧ"
_LATIN = "aeopcyxijsdhkmtbABEKMHOPCTYXIJSoavikupABEZHIKMNOPTYX"
_LOOKALIKES = str.maketrans(_ALIKE, _LATIN)
# Printable characters of which nothing is seen: joiners, fillers, variation selectors, empty braille.
_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
NOT_NEW_DATA = (
    "anything about new data. The value is the one the search maximised on these examples; keep some aside to measure "
    "more."
)
NEW_DATA_ESTIMATED = (
    "anything about new data. The score on left-out rows is an estimate. For a proof, keep some rows aside "
    "(holdout=0.25)."
)
ESTIMATED = (
    "anything about new data. The value is the one the search maximised on these examples; the score of held-out rows "
    "is an estimate without proof."
)

NOT_SETTLED = "Not settled"
BY_THESE_ROWS = "the answer by these rows alone"  # where left-out rows decided for another subset


@dataclass(frozen=True)
class Claim:
    """One claim: its class says what it is about, its words are for people."""

    kind: ClassVar[str]  # what a certificate calls the class
    text: str
    epsilon: float | None = None
    delta: float | None = None
    proof: str | None = None

    def content(self) -> Content:
        """Return what a certificate keeps of it."""
        numbers = {"epsilon": self.epsilon, "delta": self.delta, "proof": self.proof}
        return {"kind": self.kind, **{name: one for name, one in numbers.items() if one is not None}, "text": self.text}


class Open(Claim):
    """How much better another answer may still be."""

    kind = "open"


class LookedAt(Claim):
    """About the leaves that were looked at before a budget ended the search."""

    kind = "looked at"


class Grown(Claim):
    """About all leaves of the graph."""

    kind = "grown"


class Chosen(Claim):
    """The same for an answer that left-out rows chose, with the gap that it has on these rows."""

    kind = "chosen"


class Unproved(Claim):
    """The same where bound or stopping test have no proof."""

    kind = "unproved"


class Exhaustive(Claim):
    """About all subsets, because all were evaluated."""

    kind = "exhaustive"


class Ceiling(Claim):
    """About all subsets, because no value can be higher."""

    kind = "ceiling"


class Local(Claim):
    """About all leaves one step away."""

    kind = "local"


class NewRows(Claim):
    """About the score on new rows."""

    kind = "new rows"


class NewRowsDifference(NewRows):
    """About the difference to all features on new rows."""

    kind = "new rows, difference"


class Joint(Claim):
    """With what probability several claims hold together."""

    kind = "joint"


def words_of(content: Content) -> Content:
    """Return the claims that follow from the numbers of a certificate, and what is not claimed."""
    claims = [_about_graph(content), *_about_best(content)]
    claims += _about_all_subsets(content) + _about_challenges(content)
    if isinstance(claims[0], Open | LookedAt):  # what is proved comes first
        claims.sort(key=lambda claim: not isinstance(claim, Local))
    claims += _about_new_rows(content)
    claims += _jointly(content, claims)
    return {"claims": [claim.content() for claim in claims], "not_claimed": _not_claimed(content, claims)}


def is_certain(content: Content) -> bool:
    """Whether every leaf is exact, so that nothing is left to chance."""
    return all(leaf["exact"] for leaf in content["leaves"])


def is_settled(content: Content) -> bool:
    """Whether the best leaf of the search is known to within epsilon.

    In a graph that grew, at least one other leaf must be there. Where left-out rows decided, the answer may be another
    subset than that leaf.
    """
    search, leaves = content["search"], content["leaves"]
    compared = (
        search["task"] == "arm" or "plan" in content or any(leaf["label"] != leaves[0]["label"] for leaf in leaves)
    )
    within = min(content["gap"], searched(content).gap) <= search["epsilon"]
    return within and (search["expansion"] is None or compared)


def _about_graph(content: Content) -> Claim:
    """Return what the intervals say about the answer: a claim if it is proved, otherwise how much is still open."""
    search, gap, certain, where = content["search"], content["gap"], is_certain(content), _where(content)
    limit, beyond = _limit(content), gap > search["epsilon"]
    kind: type[Claim] = Open
    why = "" if searched(content).is_answer else f" {_why_chosen(content['new_data'])}"
    if is_settled(content):
        first = 0 in content["graph"]["minimizes"] and "plan" not in content
        who = _on_average(content) + (" for the opponent, who moves first," if first else "")
        kind = Unproved if search["proof"] == "none" and not certain else Chosen if beyond else Grown
        better = f"no {where} is better{who} by more than {limit:g}{' on these rows' if beyond else ''}"
        better += _beyond_reference(content["data"])
        text = _promise(better, search, certain=certain) + (why if beyond else "")
    elif beyond:
        kind, limit, text = _unsettled(content, gap, known_gap(content), rows=bool(why))
        text = f"Not settled. {text}{why or _larger_one(content)}"
    else:
        text = f"Not settled: no other {where} was there to compare with."
    limit = limit if kind in (Chosen, LookedAt) else search["epsilon"]
    if search["expansion"] is not None and content.get("all_subsets") is None:
        among = examined(content)
        if text.startswith(NOT_SETTLED):
            text = f"{NOT_SETTLED} a{among[1:]}{text.removeprefix(NOT_SETTLED)}"
        else:
            text = f"{among}: {text[0].lower()}{text[1:]}"
    return kind(text, limit, search["delta"], search["proof"])


def examined(content: Content) -> str:
    """Return how many candidates a claim about a graph that grew is about, and how the unfinished ones are valued."""
    leaves, data = content["leaves"], content["data"]
    unfinished = sum(not leaf["terminal"] for leaf in leaves)
    many = counted(len(leaves), "candidate")
    return f"Among the {many} examined ({in_growth(unfinished, subsets=data is not None)})"


def in_growth(unfinished: int, *, subsets: bool = False) -> str:
    """Return that a graph grew, and how its unfinished leaves are valued."""
    below = "the mean of random completions" if subsets else "the mean of random play below them"
    return "the graph grew" + (f"; {unfinished:,} of them are unfinished and count as {below}" if unfinished else "")


def unsettled_in_words(content: Content) -> str:
    """Return what is known of the answer by these rows alone, if a budget ended the search before it was settled."""
    best = searched(content)
    return _unsettled(content, best.gap, best.known_gap, than="" if best.is_answer else f" than {BY_THESE_ROWS}")[2]


def _unsettled(
    content: Content, gap: float, known: float, *, rows: bool = False, than: str = ""
) -> tuple[type[Claim], float, str]:
    """Return the claim about an answer that is not settled, by the leaves looked at: its class, limit and words.

    `rows`: the answer was not chosen by its value on these rows. `than`: the answer in words, if it is another one.
    """
    search, many, looked = content["search"], len(content["leaves"]), content.get("looked_at", 0)
    if has_some(content):
        return LookedAt, *_of_some_subsets(content, gap, known, than, rows=rows)
    rest = many - looked
    by_moves = content["graph"]["two_player"] or "chance" in content["graph"]
    if looked < 2 or by_moves or known >= (gap if rest else 1.0):
        than += _on_average(content)
        return Open, search["epsilon"], f"Another {_where(content)} may be better{than} by up to {gap:.4f}."
    limit = max(0.0, ceil(1e4 * known - 1e-6) / 1e4)
    better = f"better{than}{' on these rows' if rows else ''}{f' by more than {limit:.4f}' if limit else ''}"
    none = f"none of these is {better}{_beyond_reference(content['data'])}"
    if search["task"] == "arm":
        none = f"none of these shows that another arm is {better}"
    exact = sum(leaf["exact"] for leaf in content["leaves"])
    space = "" if content["data"] is None else f" ({_choice_in_words(content['data'])})"
    listed = f"{many:,} leaves of the whole graph" if search["expansion"] is None else f"{many:,} candidates"
    text = f"All {listed}{space} were compared."
    if rest:
        text = f"Of the {listed}{space}, {looked:,} were compared."
    text += f" {_promise(none, search, certain=exact == looked)}"
    if rest:
        was, they = ("one was", "it") if rest == 1 else (f"{rest:,} were", "they")
        text += f" The other {was} not compared, or not often enough: {they} may be better by up to {gap:.4f}."
    return LookedAt, limit, text


def _of_some_subsets(content: Content, gap: float, known: float, than: str, *, rows: bool) -> tuple[float, str]:
    """Return limit and words of the claim about the subsets evaluated, if a budget ended before all of them were."""
    limit = max(0.0, ceil(1e4 * known - 1e-6) / 1e4)
    better = f"better{than}{' on these rows' if rows else ''}{f' by more than {limit:.4f}' if limit else ''}"
    some, many = f"Of the subsets that may be chosen ({_choice_in_words(content['data'])})", content["all_subsets"]
    text = f"{some}, {many['evaluated']:,} were evaluated. It is certain that none of these is {better}."
    return limit, f"{text} Another one may be better by up to {gap:.4f}."


def _larger_one(content: Content) -> str:
    """Return by how much the best subset evaluated is better, if the answer was preferred because it is smaller."""
    exact = [leaf for leaf in content["leaves"] if leaf["exact"]]
    own = next((leaf for leaf in exact if leaf["node"] == content["answer"]), None)
    if content["data"] is None or own is None:
        return ""
    best = max(exact, key=lambda leaf: leaf["lower"])
    if best["lower"] <= own["lower"] or len(best["label"]) <= len(own["label"]):
        return ""
    size = counted(len(best["label"]) - 1, "feature")
    more = f"{best['lower'] - own['lower']:.4f}"
    return f" The best subset evaluated has {size} and is better by {more}; the answer is smaller."


def _why_chosen(new_data: Content) -> str:
    """Return why a subset is the answer that is not the best on these rows."""
    if "decided" in new_data:
        return "The answer has the size that was asked for."
    return "The answer was chosen all the same, by its score on left-out rows."


def _limit(content: Content) -> float:
    """Return by how much no leaf is better than the answer: epsilon, or the gap, rounded up, where that is more."""
    epsilon, gap = content["search"]["epsilon"], content["gap"]
    return float(epsilon if gap <= epsilon else min(1.0, ceil(1e4 * gap - 1e-6) / 1e4))


def _where(content: Content) -> str:
    """Return which leaves or arms a claim about the graph is about, how many there are, and what may be chosen."""
    search, data = content["search"], content["data"]
    if content.get("all_subsets") is not None:
        other = f"other of the {content['all_subsets']['evaluated']:,} subsets" if has_all(content) else "other subset"
        return f"{other} that may be chosen ({_choice_in_words(data)})"
    answer, space = "plan" if "plan" in content else search["task"], "" if data is None else _choice_in_words(data)
    if search["expansion"] is not None:
        return f"other {answer if data is None else f'subset ({space})'}"
    size = counted(len(content["leaves"]), "leaf", "leaves") + (f"; {space}" if space else "")
    return f"{answer} of the whole graph ({size})"


def _on_average(content: Content) -> str:
    """Return that values are means, if chance decides somewhere; otherwise nothing."""
    if "chance" not in content["graph"]:
        return ""
    against = ", whatever the opponent does," if "plan" in content and content["graph"]["two_player"] else ""
    return f" on average{against}"


def plan_in_words(moves: int, first: str | None) -> str:
    """Return how many moves a plan has, and the first one; None if the player does not move first."""
    return f"Best plan: {counted(moves, 'move')}{'' if first is None else f', the first to {first}'}"


def _beyond_reference(data: Content | None) -> str:
    """Return on which rows subsets are compared, if those that vote are not among them; otherwise nothing."""
    if data is None or "query_rows" not in data["objective"]:
        return ""
    voters, ranked = data["objective"]["reference_rows"], data["objective"]["query_rows"]
    return f", measured on {ranked:,} examples outside of the reference of {voters:,}"


def _about_best(content: Content) -> list[Claim]:
    """Return the claim about the answer by these rows alone, if left-out rows decided for a subset worse here."""
    best, search, certain = searched(content), content["search"], is_certain(content)
    if best.is_answer or content["gap"] <= search["epsilon"]:
        return []
    named = f"{_few(best.label[:-1], content['data'])} (value {best.value:.4f})"
    than = f"than {BY_THESE_ROWS}, which is {named}"
    if is_settled(content):
        limit = search["epsilon"]
        none = "no subset" if has_all(content) else "no leaf"
        text = _promise(f"{none} is better by more than {limit:g} {than}", search, certain=certain)
        kind: type[Claim] = Unproved if search["proof"] == "none" and not certain else Grown
    else:
        kind, limit, text = _unsettled(content, best.gap, best.known_gap, than=f" {than}")
        if kind is not LookedAt:
            return []
    return [kind(text, limit, search["delta"], search["proof"])]


def _promise(what: str, search: Content, *, certain: bool) -> str:
    """Return a claim with how sure it is: certain, with a probability, on a condition, or without proof."""
    if certain:
        return f"It is certain that {what}."
    if search["proof"] == "none":
        return f"It seems that {what}; bound {search['bound']} with stopping {search['stopping']} has no proof."
    condition = f", provided that bound {search['bound']} holds" if search["proof"] == "conditional" else ""
    return f"With probability at least 1 - {search['delta']:g} {what}{condition}."


def game_claim(search: Content, leaves: int, open_gap: float | None, *, certain: bool) -> str:
    """Return the claim about the leaf that ends a game of two players; `open_gap` is the gap if it is not settled."""
    grew = f" (among the {counted(leaves, 'candidate')} examined; the graph grew)"
    where = "" if search["expansion"] is None else grew
    if open_gap is not None:
        return f"Not settled: a move on the way to this leaf may give away up to {open_gap:.4f}{where}."
    what = f"no move on the way to this leaf gives away more than {search['epsilon']:g}{where}"
    return _promise(what, search, certain=certain)


def _about_all_subsets(content: Content) -> list[Claim]:
    """Return the claim about all subsets, if all were evaluated or if no value can be higher."""
    data, epsilon, many = content["data"], content["search"]["epsilon"], len(content["leaves"])
    counted_only = content.get("all_subsets") is not None
    if data is None:
        return []
    exact = any(leaf["exact"] for leaf in content["leaves"] if leaf["node"] == content["answer"])
    if has_all(content) and is_settled(content):
        return [Exhaustive(_of_all_subsets(content), epsilon)]
    if content["search"]["expansion"] is None and is_settled(content) and is_certain(content) and not counted_only:
        better = f"no other subset is better by more than {_limit(content):g}{_beyond_reference(data)}"
        space = _choice_in_words(data)
        text = f"All {many:,} subsets that may be chosen were evaluated ({space}): {better}."
        if many == 1:
            text = f"The only subset that may be chosen was evaluated: there is no other. To choose from: {space}."
        return [Exhaustive(text, epsilon)]
    if exact and 1.0 - content["lower"] <= epsilon:
        text = f"No subset at all can be better by more than {epsilon:g}, because no value exceeds 1."
        return [Ceiling(text, epsilon)]
    return []


def _of_all_subsets(content: Content) -> str:
    """Return the claim about all subsets, if they were evaluated and counted."""
    many = content["all_subsets"]["evaluated"]
    best = max(leaf["lower"] for leaf in content["leaves"])
    text = f"All {many:,} subsets that may be chosen were evaluated ({_choice_in_words(content['data'])}): "
    if content["gap"] <= 0:
        return f"{text}no other has a higher value."
    return f"{text}the highest value is {best:.4f}, no other subset is better by more than {_limit(content):g}."


def _about_challenges(content: Content) -> list[Claim]:
    """Return the claim of the guarantee "local", with the limits on what may be chosen; none if a leaf is better."""
    challenge, data, about = content["challenges"].get("local"), content["data"], searched(content)
    epsilon = content["search"]["epsilon"]
    if challenge is None or max((value for _, value in challenge["subsets"]), default=0.0) > about.value + epsilon:
        return []
    better = f"by more than {epsilon:g}"
    nearby = _compared(len(challenge["subsets"]), "leaf" if data is None else "subset")
    if "choice" not in challenge:
        text = f"No leaf one step away, as the problem lists them, is better {better}: {nearby}."
        return [Local(text, epsilon)]
    choice, chosen = challenge["choice"], len(about.label) - 1
    usable = len(choice["allowed"]) + len(choice["forced"])
    which = "" if data is None or usable == len(data["groups"]) else f" of the {usable:,} allowed"
    limits = ""
    if chosen == choice["limit"] < usable:
        limits = f" within the limit of {counted(choice['limit'], 'feature')}"
    if choice["forced"]:
        limits += f" with {_few(choice['forced'], data)} always in"
    who = "the answer" if about.is_answer else BY_THESE_ROWS
    text = f"No single feature{which} added, dropped or exchanged{limits} improves {who} {better}: {nearby}."
    return [Local(text, epsilon)]


def _compared(many: int, one: str) -> str:
    """Return how many leaves one step away were evaluated."""
    if many < 2:
        return f"the only {one} one step away was evaluated" if many else f"there is no {one} one step away"
    return f"all {many:,} {'leaves' if one == 'leaf' else f'{one}s'} one step away were evaluated"


def has_all_features(content: Content) -> bool:
    """Whether the answer has all features that may be chosen."""
    data = content["data"]
    every = {data["names"][column] for unit in label_of_all(data)[:-1] for column in data["groups"][unit]}
    return every == set(content["features"])


def _about_new_rows(content: Content) -> list[Claim]:
    """Return the claims about new rows, if held-out rows prove any."""
    unseen = content.get("unseen") or {}
    proof = unseen.get("proof")
    if proof is None:
        return []
    sure, held = f"With probability at least 1 - {proof['delta']:g}", counted(unseen["rows"], "held-out row")
    shares = proof["measure"] == "accuracy" or len(proof["table"][0]) > 4  # the score depends on them
    where = f"on new rows drawn like the {held}{', with the same share of every class,' if shares else ''}"
    text = f"{sure} the score of these features {where} is {_between(proof['interval'])}."
    about = NewRows(f"{text} Nothing was chosen by the held-out rows.", delta=proof["delta"])
    if has_all_features(content):
        return [about]
    low, high = proof["difference_interval"]
    verdict = "These features are better" if low > 0 else "All features are better" if high < 0 else ""
    text = f"{sure} their score on such rows minus the score of all features is {_between([low, high], '+')}."
    text += f" {verdict or 'Which of the two is better stays open'}."
    return [about, NewRowsDifference(text, delta=proof["delta"])]


def _between(ends: Sequence[float], sign: str = "") -> str:
    """Return an interval in words, rounded outwards."""
    low, high = floor(ends[0] * 1e4) / 1e4, ceil(ends[1] * 1e4) / 1e4
    return f"between {low:{sign}.4f} and {high:{sign}.4f}"


def _jointly(content: Content, claims: list[Claim]) -> list[Claim]:
    """Return with what probability all claims hold together, if more than one of them may fail.

    Claims that follow from the intervals of the leaves hold or fail together, so they count once.
    """
    spending: list[Claim] = [one for one in claims if isinstance(one, NewRows)]
    by_intervals = [one for one in claims if isinstance(one, Grown | LookedAt)]
    exact = sum(leaf["exact"] for leaf in content["leaves"])
    only_looked_at = all(isinstance(one, LookedAt) for one in by_intervals)
    if not is_certain(content) and not (only_looked_at and exact == content.get("looked_at")):
        spending = by_intervals[:1] + spending
    if len(spending) < 2:
        return []
    shares = [one.delta or 0.0 for one in spending]
    delta, most = min(1.0, sum(shares)), max(shares)
    jointly = f"together they hold with probability at least 1 - {delta:g}"
    joint = jointly if delta < 1 else f"nothing is promised of {'both' if len(spending) == 2 else 'all'} together"
    least = "" if all(share == most for share in shares) else "at most "
    text = f"Each of these {len(spending)} claims may fail with probability {least}{most:g}: {joint}."
    return [Joint(text, delta=delta)]


def _not_claimed(content: Content, claims: list[Claim]) -> list[str]:
    """Return what a reader might think is proved, but is not."""
    more = "more " if any(isinstance(claim, Local) for claim in claims) else ""
    data, new = content["data"], _not_of_new_rows(content)
    if data is None:
        grown = f"anything {more}about states that are not in the graph; it grew while it was searched."
        return ([] if content["search"]["expansion"] is None else [grown]) + _about_endless_play(content["graph"])
    if any(isinstance(claim, Exhaustive | Ceiling) for claim in claims):
        return [new]
    if has_some(content):
        return ["anything about subsets that were not evaluated exactly.", new]
    others = (
        "that no other subset is better. Subsets evaluated exactly are compared exactly; of the others only the mean "
        "value of random completions of a partial subset is bounded, and that bounds no single one of them."
    )
    return [others, new]


def _about_endless_play(graph: Content) -> list[str]:
    """Return what play without end is taken to be worth, in a game with cycles."""
    written, children = graph.get("endless"), graph["children"]
    if written:
        lower, upper = min(one["lower"] for one in written), max(one["upper"] for one in written)
        taken = f"is taken to be {lower:.4g}" if lower == upper else f"may be anything from {lower:.4g} to {upper:.4g}"
        return [f"what play without end is worth; it {taken}, as the problem says."]
    if graph["two_player"] and any(is_knot(group, children) for group in groups_of(children)):
        return [
            "what play without end is worth; it counts against the one who could leave, and may be worth anything "
            "where both could or nobody."
        ]
    return []


def _not_of_new_rows(content: Content) -> str:
    """Return what is not claimed about new rows."""
    unseen = content.get("unseen") or {}
    if "proof" in unseen:
        return "anything more about new data. The value is that on the examples of the search."
    if "unproved" in unseen:
        return ESTIMATED
    return NOT_NEW_DATA if content.get("new_data") is None else NEW_DATA_ESTIMATED


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _choice_in_words(data: Content) -> str:
    """Return in words what may be chosen, with every limit."""
    choice, total = data["choice"], len(data["groups"])
    known = {*choice["allowed"], *choice["forced"]}
    limit = "" if choice["limit"] == len(known) else f"at most {choice['limit']:,} of "
    text = limit + ("" if len(known) == total else f"{len(known):,} allowed of ") + counted(total, "feature")
    excluded = [unit for unit in range(total) if unit not in known]
    for what, units in (("excluded", excluded), ("always in", choice["forced"])):
        text += f"; {what}: {_few(units, data)}" if units else ""
    return text


def _few(units: Sequence[int], data: Content | None) -> str:
    """Return the first of some units by name, or how many there are if they have none."""
    if data is None:
        return f"{len(units):,}"
    names, more = unit_names(data), "" if len(units) <= FEW else f" and {len(units) - FEW:,} more"
    return ", ".join(names[unit] for unit in units[:FEW]) + more


def unit_names(data: Content) -> list[str]:
    """Return the name of each unit; of a group, the names of its features in braces."""
    names = all_shown(tuple(data["names"]))
    groups = [[names[column] for column in group] for group in data["groups"]]
    return [one[0] if len(one) == 1 else f"{{{first_of(one)}}}" for one in groups]


def subset_in_words(label: Json, data: Content | None) -> str:
    """Return a subset by the names of its features; the label of another state, or a wrong one, as it is written."""
    units = range(0 if data is None else len(data["groups"]))
    if data is None or not isinstance(label, list) or not all(unit in units for unit in label if unit != STOP):
        return f"{label!r:.80}"
    names = unit_names(data)
    return f"{{{first_of([names[unit] for unit in label if unit != STOP])}}}"


def first_of(names: Sequence[str]) -> str:
    """Return the first of some names, separated by commas."""
    return ", ".join(names[:MANY]) + (", …" if len(names) > MANY else "")


@lru_cache(maxsize=2)  # the words of one certificate ask for its names several times
def all_shown(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of columns as `shown`, in a form in which no two look the same; long ones lose their middle.

    Names that look alike are written in ASCII. If they still look alike, the number of the column is added.
    """
    cut = [name if len(name) <= LONGEST else f"{name[: LONGEST - 31]}…{name[-30:]}" for name in names]
    looks = Counter(map(_look, cut))
    found = [_spaces_seen(ascii(name)[1:-1]) if looks[_look(name)] > 1 else shown(name) for name in cut]
    twice = Counter(found)
    return tuple(f"{one} [column {place}]" if twice[one] > 1 else one for place, one in enumerate(found))


def _look(name: str) -> str:
    """Return the same text for names that look the same: invisible characters go, similar letters become Latin."""
    seen = _INVISIBLE.sub("", unicodedata.normalize("NFKC", name))
    if not seen.isprintable():
        seen = "".join(letter if letter.isprintable() else " " * letter.isspace() for letter in seen)
    return " ".join(seen.split()).translate(_LOOKALIKES)


def shown(name: str) -> str:
    """Return a name in one line; a character that cannot be seen is written as its number."""
    text = re.sub(r"\\(?=[uUxnrt])", r"\\\\", name)
    if not text.isprintable() or _INVISIBLE.search(text):
        seen = (letter.isprintable() and not _INVISIBLE.match(letter) for letter in text)
        text = "".join(letter if fine else ascii(letter)[1:-1] for letter, fine in zip(text, seen, strict=True))
    return _spaces_seen(text)


def _spaces_seen(text: str) -> str:
    """Return a text with spaces at its ends, and repeated ones, written as numbers."""
    return re.sub(r"^ +| +$|(?<= ) +", lambda found: r"\x20" * len(found[0]), text)


def in_line(text: str, longest: int = 300) -> str:
    """Return a text of unknown origin in one line that is not too long."""
    line = shown(text[: 4 * longest])
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
