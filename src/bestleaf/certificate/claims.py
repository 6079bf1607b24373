"""The claims of a certificate in words. They follow from its numbers, so `build` and `verify` both make them here."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from bestleaf.certificate.schema import Content

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


def words_of(content: Content) -> Content:
    """Return the claims that follow from the numbers of a certificate, and what is not claimed."""
    claims = [_about_graph(content)]
    if not by_budget(content):
        claims += _about_all_subsets(content) + _about_challenges(content)
        claims += _jointly(claims, certain=is_certain(content))
    return {"claims": claims, "not_claimed": _not_claimed(content, {claim["kind"] for claim in claims})}


def by_budget(content: Content) -> bool:
    """Whether only a budget could end the search, as with FUSE; then nothing is proved."""
    return content["search"]["stopping"] == "budget"


def is_certain(content: Content) -> bool:
    """Whether every leaf is exact, so that nothing is left to chance."""
    return all(leaf["exact"] for leaf in content["leaves"])


def is_settled(content: Content) -> bool:
    """Whether the answer is known to within epsilon; in a graph that grew, at least one other leaf must be there."""
    search, leaves = content["search"], content["leaves"]
    compared = search["task"] == "arm" or any(leaf["label"] != leaves[0]["label"] for leaf in leaves)
    return content["gap"] <= search["epsilon"] and (search["expansion"] is None or compared) and not by_budget(content)


def _about_graph(content: Content) -> Content:
    """Return what the intervals say about the answer: a claim if it is proved, otherwise how much is still open."""
    search, data, gap, certain = content["search"], content["data"], content["gap"], is_certain(content)
    space, many = "" if data is None else _choice_in_words(data), len(content["leaves"])
    size = counted(many, "leaf", "leaves") + (f"; {space}" if space else "")
    where = f"{search['task']} of the {'whole graph' if search['expansion'] is None else 'graph as grown'} ({size})"
    if by_budget(content):
        better = f"none is better by more than {gap:.4f}" if gap > 0 else "it is the best"
        text = (
            f"Nothing is proved beyond exact values: of {counted(many, 'subset')} evaluated exactly ({space}), "
            f"{better}. {search['rule']} stops when its budget is spent, not when the answer is known."
        )
        kind = "evaluated"
    elif is_settled(content):
        who = " for the opponent, who moves first," if 0 in content["graph"]["minimizes"] else ""
        kind = "unproved" if search["proof"] == "none" and not certain else "grown"
        text = _promise(f"no {where} is better{who} by more than {search['epsilon']:g}", search, certain=certain)
    elif gap > search["epsilon"]:
        kind, text = "open", f"Not settled: another {where} may be better by up to {gap:.4f}."
    else:
        kind, text = "open", f"Not settled: no other {where} was there to compare with."
    return {"kind": kind, **{name: search[name] for name in ("epsilon", "delta", "proof")}, "text": text}


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
    where = "" if search["expansion"] is None else f" in the graph as grown ({counted(leaves, 'leaf', 'leaves')})"
    if open_gap is not None:
        return f"Not settled: a move on the way to this leaf may give away up to {open_gap:.4f}{where}."
    what = f"no move on the way to this leaf gives away more than {search['epsilon']:g}{where}"
    return _promise(what, search, certain=certain)


def _about_all_subsets(content: Content) -> list[Content]:
    """Return the claim about all subsets, if all were evaluated or if no value can be higher."""
    data, epsilon, many = content["data"], content["search"]["epsilon"], len(content["leaves"])
    if data is None:
        return []
    exact = any(leaf["exact"] for leaf in content["leaves"] if leaf["node"] == content["answer"])
    if content["search"]["expansion"] is None and is_certain(content) and is_settled(content):
        space, better = _choice_in_words(data), f"no other subset is better by more than {epsilon:g}"
        kind, text = "exhaustive", f"All {many:,} subsets that may be chosen were evaluated ({space}): {better}."
        if many == 1:
            text = f"The only subset that may be chosen was evaluated: there is no other. To choose from: {space}."
    elif exact and 1.0 - content["lower"] <= epsilon:
        kind, text = "ceiling", f"No subset at all can be better by more than {epsilon:g}, because no value exceeds 1."
    else:
        return []
    return [{"kind": kind, "epsilon": epsilon, "text": text}]


def _about_challenges(content: Content) -> list[Content]:
    """Return the claims of the guarantees "local" and "quantile", unless one of their leaves beats the answer."""
    found, search = [], content["search"]
    for name, challenge in sorted(content["challenges"].items()):  # "local" comes before "quantile"
        best = max((value for _, value in challenge["subsets"]), default=0.0)
        if best - content["lower"] <= search["epsilon"]:
            claim = {"kind": name, "epsilon": search["epsilon"]}
            if name == "quantile":
                claim |= {"delta": search["delta"], "alpha": challenge["alpha"]}
            found.append({**claim, "text": (_local if name == "local" else _quantile)(content, challenge)})
    return found


def _local(content: Content, challenge: Content) -> str:
    """Return the claim about all leaves one step away, with the limits on what may be chosen."""
    data, many, better = content["data"], len(challenge["subsets"]), f"by more than {content['search']['epsilon']:g}"
    one, several = ("leaf", "leaves") if data is None else ("subset", "subsets")
    nearby = f"all {many:,} {several} one step away were evaluated"
    if many < 2:
        nearby = f"the only {one} one step away was evaluated" if many else f"there is no {one} one step away"
    if "choice" not in challenge:
        return f"No leaf one step away, as the problem lists them, is better {better}: {nearby}."
    choice, chosen = challenge["choice"], len(content["graph"]["labels"][content["answer"]]) - 1
    usable = len(choice["allowed"]) + len(choice["forced"])
    which = "" if data is None or usable == len(data["groups"]) else f" of the {usable:,} allowed"
    limits = ""
    if chosen == choice["limit"] < usable:
        limits = f" within the limit of {counted(choice['limit'], 'feature')}"
    if choice["forced"]:
        limits += f" with {_few(choice['forced'], data)} always in"
    return f"No single feature{which} added, dropped or exchanged{limits} improves the answer {better}: {nearby}."


def _quantile(content: Content, challenge: Content) -> str:
    """Return the claim about random leaves."""
    search, things = content["search"], "leaves" if content["data"] is None else "subsets"
    ways = {"rollouts": "drawn as rollouts from the root are", "uniform moves": "reached by uniform random moves"}
    return (
        f"With confidence 1 - {search['delta']:g} at most a share {challenge['alpha']:g} of random {things} "
        f"({ways[challenge['drawn']]}) is better by more than {search['epsilon']:g}: none of "
        f"{len(challenge['subsets']):,} was."
    )


def _jointly(claims: list[Content], *, certain: bool) -> list[Content]:
    """Return with what probability all claims hold together, if more than one of them may fail."""
    spending = [one for one in claims if one["kind"] == "quantile" or (one["kind"] == "grown" and not certain)]
    if len(spending) < 2:
        return []
    delta = min(1.0, sum(one["delta"] for one in spending))
    jointly = f"together they hold with probability at least 1 - {delta:g}"
    joint = jointly if delta < 1 else "nothing is promised of both together"
    text = f"Each of these {len(spending)} claims may fail with probability {spending[0]['delta']:g}: {joint}."
    return [{"kind": "joint", "delta": delta, "text": text}]


def _not_claimed(content: Content, kinds: set[str]) -> list[str]:
    """Return what a reader might think is proved, but is not."""
    data, more = content["data"], "more " if kinds & {"local", "quantile"} else ""
    if data is None:
        grown = f"anything {more}about states that are not in the graph; it grew while it was searched."
        return [] if content["search"]["expansion"] is None else [grown]
    if kinds & {"exhaustive", "ceiling"}:
        return [NOT_NEW_DATA]
    if by_budget(content):
        return ["anything about subsets that were not evaluated exactly.", NOT_NEW_DATA]
    exactly = "Subsets evaluated exactly are compared exactly"
    compared = exactly if data["terminal"] == "exact" else "Subsets in the graph are compared by their intervals"
    others = (
        f"that no other subset is better. {compared}; of the others only the mean value of random completions of a "
        "partial subset is bounded, and that bounds no single one of them."
    )
    return [others, NOT_NEW_DATA]


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def values_in_words(content: Content, many: int) -> str:
    """Return a number of values in words: exact values, or values that guided growth."""
    if content["data"] is None or content["data"]["terminal"] == "exact":
        return counted(many, "exact value")
    return counted(many, "value that guided growth", "values that guided growth")


def _choice_in_words(data: Content) -> str:
    """Return in words what may be chosen, with every limit."""
    choice, total = data["choice"], len(data["groups"])
    known = {*choice["allowed"], *choice["forced"]}
    limit = "" if choice["limit"] == len(known) else f"at most {choice['limit']:,} of "
    text = limit + ("" if len(known) == total else f"{len(known):,} allowed of ") + counted(total, "feature")
    forbidden = [unit for unit in range(total) if unit not in known]
    for what, units in (("forbidden", forbidden), ("always in", choice["forced"])):
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
