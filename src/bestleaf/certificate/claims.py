"""The claims of a certificate in words. They follow from its numbers, so `build` and `verify` both make them here."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from math import ceil, floor

from bestleaf.certificate.schema import Content
from bestleaf.certificate.searched import searched

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

BY_THESE_ROWS = "the answer by these rows alone"  # where left-out rows decided for another subset


def words_of(content: Content) -> Content:
    """Return the claims that follow from the numbers of a certificate, and what is not claimed."""
    claims = [_about_graph(content), *_about_best(content)]
    if not by_budget(content):
        claims += _about_all_subsets(content) + _about_challenges(content)
    claims += _about_new_rows(content)
    claims += _jointly(claims, certain=is_certain(content))
    return {"claims": claims, "not_claimed": _not_claimed(content, {claim["kind"] for claim in claims})}


def by_budget(content: Content) -> bool:
    """Whether only a budget could end the search, as with FUSE; then nothing is proved."""
    return content["search"]["stopping"] == "budget"


def is_certain(content: Content) -> bool:
    """Whether every leaf is exact, so that nothing is left to chance."""
    return all(leaf["exact"] for leaf in content["leaves"])


def is_settled(content: Content) -> bool:
    """Whether the best leaf of the search is known to within epsilon.

    In a graph that grew, at least one other leaf must be there. Where left-out rows decided, the answer may be another
    subset than that leaf.
    """
    search, leaves = content["search"], content["leaves"]
    compared = search["task"] == "arm" or any(leaf["label"] != leaves[0]["label"] for leaf in leaves)
    within = min(content["gap"], searched(content).gap) <= search["epsilon"]
    return within and (search["expansion"] is None or compared) and not by_budget(content)


def _about_graph(content: Content) -> Content:
    """Return what the intervals say about the answer: a claim if it is proved, otherwise how much is still open."""
    search, gap, certain, where = content["search"], content["gap"], is_certain(content), _where(content)
    limit, beyond, kind = _limit(content), gap > search["epsilon"], "open"
    why = "" if searched(content).is_answer else f" {_why_chosen(content['new_data'])}"
    if by_budget(content):
        space, many = _choice_in_words(content["data"]), len(content["leaves"])
        better = f"none is better by more than {gap:.4f}" if gap > 0 else "it is the best"
        text = (
            f"Nothing is proved beyond exact values: of {counted(many, 'subset')} evaluated exactly ({space}), "
            f"{better}. {search['rule']} stops when its budget is spent, not when the answer is known."
        )
        kind = "evaluated"
    elif is_settled(content):
        who = " for the opponent, who moves first," if 0 in content["graph"]["minimizes"] else ""
        kind = "unproved" if search["proof"] == "none" and not certain else "chosen" if beyond else "grown"
        better = f"no {where} is better{who} by more than {limit:g}{' on these rows' if beyond else ''}"
        text = _promise(better, search, certain=certain) + (why if beyond else "")
    elif beyond:
        text = f"Not settled: another {where} may be better by up to {gap:.4f}.{why}"
    else:
        text = f"Not settled: no other {where} was there to compare with."
    limit = limit if kind == "chosen" else search["epsilon"]
    return {"kind": kind, "epsilon": limit, "delta": search["delta"], "proof": search["proof"], "text": text}


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
    size = counted(len(content["leaves"]), "leaf", "leaves") + ("" if data is None else f"; {_choice_in_words(data)}")
    return f"{search['task']} of the {'whole graph' if search['expansion'] is None else 'graph as grown'} ({size})"


def _about_best(content: Content) -> list[Content]:
    """Return the claim about the answer by these rows alone, if left-out rows decided for a subset worse here."""
    best, search, certain = searched(content), content["search"], is_certain(content)
    if best.is_answer or not is_settled(content) or content["gap"] <= search["epsilon"]:
        return []
    named = f"{_few(best.label[:-1], content['data'])} (value {best.value:.4f})"
    what = f"no leaf is better by more than {search['epsilon']:g} than {BY_THESE_ROWS}, which is {named}"
    text = _promise(what, search, certain=certain)
    kind = "unproved" if search["proof"] == "none" and not certain else "grown"
    return [{"kind": kind, **{name: search[name] for name in ("epsilon", "delta", "proof")}, "text": text}]


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
        space, better = _choice_in_words(data), f"no other subset is better by more than {_limit(content):g}"
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
    found, search, value = [], content["search"], searched(content).value
    for name, challenge in sorted(content["challenges"].items()):  # "local" comes before "quantile"
        best = max((value for _, value in challenge["subsets"]), default=0.0)
        if best - value <= search["epsilon"]:
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
    choice, chosen = challenge["choice"], len(searched(content).label) - 1
    usable = len(choice["allowed"]) + len(choice["forced"])
    which = "" if data is None or usable == len(data["groups"]) else f" of the {usable:,} allowed"
    limits = ""
    if chosen == choice["limit"] < usable:
        limits = f" within the limit of {counted(choice['limit'], 'feature')}"
    if choice["forced"]:
        limits += f" with {_few(choice['forced'], data)} always in"
    step = f"No single feature{which} added, dropped or exchanged{limits}"
    return f"{step} improves {_centre(content)} {better}: {nearby}."


def _centre(content: Content) -> str:
    """Return which leaf the guarantees "local" and "quantile" are about."""
    return "the answer" if searched(content).is_answer else BY_THESE_ROWS


def _quantile(content: Content, challenge: Content) -> str:
    """Return the claim about random leaves."""
    search, things = content["search"], "leaves" if content["data"] is None else "subsets"
    than = "" if searched(content).is_answer else f" than {_centre(content)}"
    ways = {"rollouts": "drawn as rollouts from the root are", "uniform moves": "reached by uniform random moves"}
    return (
        f"With confidence 1 - {search['delta']:g} at most a share {challenge['alpha']:g} of random {things} "
        f"({ways[challenge['drawn']]}) is better{than} by more than {search['epsilon']:g}: none of "
        f"{len(challenge['subsets']):,} was."
    )


def has_all_features(content: Content) -> bool:
    """Whether the answer has all features that may be chosen."""
    data = content["data"]
    choice, groups = data["choice"], data["groups"]
    every = {data["names"][column] for unit in (*choice["allowed"], *choice["forced"]) for column in groups[unit]}
    return every == set(content["features"])


def _about_new_rows(content: Content) -> list[Content]:
    """Return the claims about new rows, if held-out rows prove any."""
    unseen = content.get("unseen") or {}
    proof = unseen.get("proof")
    if proof is None:
        return []
    sure, held = f"With probability at least 1 - {proof['delta']:g}", counted(unseen["rows"], "held-out row")
    shares = proof["measure"] == "accuracy" or len(proof["table"][0]) > 4  # the score depends on them
    where = f"on new rows drawn like the {held}{', with the same share of every class,' if shares else ''}"
    about = {"kind": "new rows", "delta": proof["delta"], "text": f"{sure} the score of these features {where} is "}
    about["text"] += f"{_between(proof['interval'])}. Nothing was chosen by the held-out rows."
    if has_all_features(content):
        return [about]
    low, high = proof["difference_interval"]
    verdict = "These features are better" if low > 0 else "All features are better" if high < 0 else ""
    text = f"{sure} their score on such rows minus the score of all features is {_between([low, high], '+')}."
    text += f" {verdict or 'Which of the two is better stays open'}."
    return [about, {"kind": "new rows, difference", "delta": proof["delta"], "text": text}]


def _between(ends: Sequence[float], sign: str = "") -> str:
    """Return an interval in words, rounded outwards."""
    low, high = floor(ends[0] * 1e4) / 1e4, ceil(ends[1] * 1e4) / 1e4
    return f"between {low:{sign}.4f} and {high:{sign}.4f}"


def _jointly(claims: list[Content], *, certain: bool) -> list[Content]:
    """Return with what probability all claims hold together, if more than one of them may fail."""
    chancy = {"quantile", "new rows", "new rows, difference"} | (set() if certain else {"grown"})
    spending = [one for one in claims if one["kind"] in chancy]
    if len(spending) < 2:
        return []
    delta, most = min(1.0, sum(one["delta"] for one in spending)), max(one["delta"] for one in spending)
    jointly = f"together they hold with probability at least 1 - {delta:g}"
    joint = jointly if delta < 1 else f"nothing is promised of {'both' if len(spending) == 2 else 'all'} together"
    least = "" if all(one["delta"] == most for one in spending) else "at most "
    text = f"Each of these {len(spending)} claims may fail with probability {least}{most:g}: {joint}."
    return [{"kind": "joint", "delta": delta, "text": text}]


def _not_claimed(content: Content, kinds: set[str]) -> list[str]:
    """Return what a reader might think is proved, but is not."""
    data, more, new = content["data"], "more " if kinds & {"local", "quantile"} else "", _not_of_new_rows(content)
    if data is None:
        grown = f"anything {more}about states that are not in the graph; it grew while it was searched."
        return [] if content["search"]["expansion"] is None else [grown]
    if kinds & {"exhaustive", "ceiling"}:
        return [new]
    if by_budget(content):
        return ["anything about subsets that were not evaluated exactly.", new]
    exactly = "Subsets evaluated exactly are compared exactly"
    compared = exactly if data["terminal"] == "exact" else "Subsets in the graph are compared by their intervals"
    others = (
        f"that no other subset is better. {compared}; of the others only the mean value of random completions of a "
        "partial subset is bounded, and that bounds no single one of them."
    )
    return [others, new]


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
