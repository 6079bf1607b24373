"""All words of all promises, made from the numbers of a certificate: by whoever builds it and whoever verifies it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bestleaf.certificate.names import all_shown, in_line
from bestleaf.objectives import estimator_in_words, neighbours_in_words

FEW = 5  # features that a claim names


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def headline(content: dict[str, Any]) -> list[str]:
    """Return the answer in a sentence or two."""
    data, task = content["data"], content["search"]["task"]
    if data is None:
        label = in_line(str(content["graph"]["labels"][content["answer"]]), 200)
        low, high = content["lower"], content["upper"]
        value = f"value {low:.4f}, exactly" if low == high else f"value between {low:.4f} and {high:.4f}"
        return [f"Best {task}: {label}, {value}."]
    lines = [_selected(content), f"{_value_in_words(content)}: {objective_in_words(data)}."]
    if unseen := content.get("unseen"):
        lines.append(f"On {counted(unseen['rows'], 'row')}{_kept_aside(unseen)}: {unseen['score']:.4f}.")
    return lines


def _kept_aside(unseen: dict[str, Any]) -> str:
    """Return how often the rows of a held-out score were kept from a search."""
    least, most = unseen["times"]
    if unseen["splits"] == 1:
        return " kept from the search"
    if most == 1:
        return f" in {unseen['splits']} parts, each kept from its search"
    often = f"{most} times" if least == most else f"{least} to {most} times"
    return f" in {unseen['splits']} parts, each row kept from its search {often}"


def objective_in_words(data: dict[str, Any]) -> str:
    """Return what the value of a subset is."""
    objective, sampled = data["objective"], data["terminal"] == "noisy"
    if objective.get("kind") == "estimator":
        return estimator_in_words(objective, sampled=sampled)
    return neighbours_in_words(
        classes=data["classes"],
        n_neighbors=objective["n_neighbors"],
        queries=data["queries"],
        rows=data["rows"],
        sampled=sampled,
    )


def _value_in_words(content: dict[str, Any]) -> str:
    """Return the value of the answer: one number if it is exact, otherwise its interval."""
    low, high = content["lower"], content["upper"]
    return f"Value {low:.4f}" if low == high else f"Value between {low:.4f} and {high:.4f}"


def _selected(content: dict[str, Any]) -> str:
    """Return what was selected; columns that enter together are one feature, in braces."""
    data = content["data"]
    names, units = unit_names(data), content["graph"]["labels"][content["answer"]][:-1]
    ordered = [names[unit] for unit in sorted(units, key=lambda unit: data["groups"][unit])]
    listed = ", ".join(ordered[:20]) + (", …" if len(ordered) > 20 else "")
    return f"Selected {len(units)} of {counted(len(data['groups']), 'feature')}: {listed}."


def unit_names(data: dict[str, Any]) -> list[str]:
    """Return how each unit is called: a feature by its name, columns that enter together in braces."""
    names = all_shown(tuple(data["names"]))
    groups = [[names[column] for column in group] for group in data["groups"]]
    return [
        one[0] if len(one) == 1 else "{" + ", ".join(one[:20]) + (", …}" if len(one) > 20 else "}") for one in groups
    ]


def choice_in_words(choice: dict[str, Any], total: int, names: Sequence[str] | None) -> str:
    """Return what there is to choose from, with every limit."""
    known = {*choice["allowed"], *choice["forced"]}
    limit = "" if choice["limit"] == len(known) else f"at most {choice['limit']:,} of "
    text = limit + ("" if len(known) == total else f"{len(known):,} allowed of ") + counted(total, "feature")
    forbidden = [] if len(known) == total else [unit for unit in range(total) if unit not in known]
    for what, units in (("forbidden", forbidden), ("always in", choice["forced"])):
        if units:
            text += f"; {what}: {_few(units, names)}"
    return text


def _few(units: Sequence[int], names: Sequence[str] | None) -> str:
    """Return the first of some units by name, or how many there are if they have none."""
    if names is None:
        return f"{len(units):,}"
    more = "" if len(units) <= FEW else f" and {len(units) - FEW:,} more"
    return ", ".join(names[unit] for unit in units[:FEW]) + more


def _of_data(data: dict[str, Any]) -> str:
    return choice_in_words(data["choice"], len(data["groups"]), unit_names(data))


def by_budget(content: dict[str, Any]) -> bool:
    """Whether the search was one that only a budget ends, and that proves nothing."""
    return content["search"]["stopping"] == "budget"


def values_are_exact(content: dict[str, Any]) -> bool:
    """Whether values that were asked for are exact, not only guides of where to grow."""
    return content["data"] is None or content["data"]["terminal"] == "exact"


def is_certain(content: dict[str, Any]) -> bool:
    """Whether every leaf is exact, so that nothing is left to chance."""
    return all(leaf["exact"] for leaf in content["leaves"])


def has_rivals(content: dict[str, Any]) -> bool:
    """Whether there is another leaf to compare a best leaf with; of arms there may be only one."""
    if content["search"]["task"] == "arm":
        return True
    first = repr(content["leaves"][0]["label"])
    return any(repr(leaf["label"]) != first for leaf in content["leaves"])


def is_settled(content: dict[str, Any]) -> bool:
    """Whether the answer is known to within epsilon, compared with at least one other where the graph grew."""
    compared = content["search"]["expansion"] is None or has_rivals(content)
    return content["gap"] <= content["search"]["epsilon"] and compared and not by_budget(content)


def where_in_words(content: dict[str, Any]) -> str:
    """Return the graph that a claim is about: its size, and of feature selection what there is to choose from."""
    data, crowd = content["data"], counted(len(content["leaves"]), "leaf", "leaves")
    space = "" if data is None else f"; {_of_data(data)}"
    grown = content["search"]["expansion"] is not None
    return f"of the {'graph as grown' if grown else 'whole graph'} ({crowd}{space})"


def grown_claim(content: dict[str, Any]) -> dict[str, Any]:
    """Return what the intervals say about the answer: a claim if it is proved, otherwise how far it is from one."""
    search = content["search"]
    claim = {name: search[name] for name in ("epsilon", "delta", "proof")}
    if by_budget(content):
        return {"kind": "evaluated", **claim, "text": _evaluated(content)}
    thing, where, epsilon = search["task"], where_in_words(content), search["epsilon"]
    if not is_settled(content):
        text = f"Not settled: another {thing} {where} may be better by up to {content['gap']:.4f}."
        if content["gap"] <= epsilon:
            text = f"Not settled: no other {thing} {where} was there to compare with."
        return {"kind": "open", **claim, "text": text}
    who = " for the opponent, who moves first," if 0 in content["graph"]["minimizes"] else ""
    what = f"no {thing} {where} is better{who} by more than {epsilon:g}"
    kind = "unproved" if search["proof"] == "none" and not is_certain(content) else "grown"
    return {"kind": kind, **claim, "text": promised(what, search, certain=is_certain(content))}


def promised(what: str, search: dict[str, Any], *, certain: bool) -> str:
    """Return a promise with how sure it is: certain, with a probability, on a condition, or without proof."""
    if certain:
        return f"It is certain that {what}."
    if search["proof"] == "none":
        return f"It seems that {what}; bound {search['bound']} with stopping {search['stopping']} has no proof."
    condition = f", provided that bound {search['bound']} holds" if search["proof"] == "conditional" else ""
    return f"With probability at least 1 - {search['delta']:g} {what}{condition}."


def _evaluated(content: dict[str, Any]) -> str:
    """Return what a search that only a budget ends can say."""
    gap = content["gap"]
    better = f"none is better by more than {gap:.4f}" if gap > 0 else "it is the best"
    many = counted(len(content["leaves"]), "subset")
    return (
        f"Nothing is proved beyond exact values: of {many} evaluated exactly ({_of_data(content['data'])}), {better}. "
        f"{content['search']['rule']} stops when its budget is spent, not when the answer is known."
    )


def further_claims(content: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the claims about all subsets, grown or not, that follow from the numbers."""
    if by_budget(content):
        return []
    epsilon, challenges = content["search"]["epsilon"], content["challenges"]
    found = _about_all(content)
    if "local" in challenges and beaten_by(content, challenges["local"]) <= epsilon:
        found.append({"kind": "local", "epsilon": epsilon, "text": _local(content)})
    if "quantile" in challenges and beaten_by(content, challenges["quantile"]) <= epsilon:
        found.append(_quantile(content))
    return found + _jointly([grown_claim(content), *found], certain=is_certain(content))


def _about_all(content: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the claim about all subsets there are: because all were evaluated, or because none can be better."""
    data, search, epsilon = content["data"], content["search"], content["search"]["epsilon"]
    if data is None:
        return []
    if search["expansion"] is None and is_certain(content) and is_settled(content):
        many, space = len(content["leaves"]), _of_data(data)
        text = f"The only subset that may be chosen was evaluated: there is no other. To choose from: {space}."
        if many > 1:
            better = f"no other subset is better by more than {epsilon:g}"
            text = f"All {many:,} subsets that may be chosen were evaluated ({space}): {better}."
        return [{"kind": "exhaustive", "epsilon": epsilon, "text": text}]
    exact = any(leaf["exact"] for leaf in content["leaves"] if leaf["node"] == content["answer"])
    if exact and 1.0 - content["lower"] <= epsilon:
        text = f"No subset at all can be better by more than {epsilon:g}, because no value exceeds 1."
        return [{"kind": "ceiling", "epsilon": epsilon, "text": text}]
    return []


def _local(content: dict[str, Any]) -> str:
    """Return what holds of all leaves one step away, with the limits that make them fewer."""
    data, challenge, epsilon = content["data"], content["challenges"]["local"], content["search"]["epsilon"]
    nearby = _nearby(len(challenge["subsets"]), *things(content))
    if "choice" not in challenge:
        return f"No leaf one step away, as the problem lists them, is better by more than {epsilon:g}: {nearby}."
    choice, chosen = challenge["choice"], content["graph"]["labels"][content["answer"]][:-1]
    usable = len(choice["allowed"]) + len(choice["forced"])
    total = usable if data is None else len(data["groups"])
    full = len(chosen) == choice["limit"] < usable
    which = "No single feature" + (f" of the {usable:,} allowed" if usable < total else "")
    limits = f" within the limit of {counted(choice['limit'], 'feature')}" if full else ""
    if choice["forced"]:
        limits += f" with {_few(choice['forced'], None if data is None else unit_names(data))} always in"
    what = f"{which} added, dropped or exchanged{limits}"
    return f"{what} improves the answer by more than {epsilon:g}: {nearby}."


def _quantile(content: dict[str, Any]) -> dict[str, Any]:
    search, challenge = content["search"], content["challenges"]["quantile"]
    ways = {"rollouts": "drawn as rollouts from the root are", "uniform moves": "reached by uniform random moves"}
    text = (
        f"With confidence 1 - {search['delta']:g} at most a share {challenge['alpha']:g} of random "
        f"{things(content)[1]} ({ways[challenge['drawn']]}) is better by more than {search['epsilon']:g}: none of "
        f"{len(challenge['subsets']):,} was."
    )
    claim = {"kind": "quantile", "epsilon": search["epsilon"], "delta": search["delta"], "alpha": challenge["alpha"]}
    return {**claim, "text": text}


def _jointly(claims: list[dict[str, Any]], *, certain: bool) -> list[dict[str, Any]]:
    """Return what holds of all claims together, if more than one of them may fail with probability delta."""
    spending = [one for one in claims if one["kind"] == "quantile" or (one["kind"] == "grown" and not certain)]
    if len(spending) < 2:
        return []
    delta = min(1.0, sum(one["delta"] for one in spending))
    each = f"Each of these {len(spending)} claims may fail with probability {spending[0]['delta']:g}"
    text = f"{each}: together they hold with probability at least 1 - {delta:g}."
    if delta == 1.0:
        text = f"{each}: nothing is promised of both together."
    return [{"kind": "joint", "delta": delta, "text": text}]


def things(content: dict[str, Any]) -> tuple[str, str]:
    """Return what leaves are called, one and several."""
    return ("leaf", "leaves") if content["data"] is None else ("subset", "subsets")


def _nearby(many: int, thing: str, several: str) -> str:
    """Return how many leaves one step away were evaluated."""
    if many == 0:
        return f"there is no {thing} one step away"
    if many == 1:
        return f"the only {thing} one step away was evaluated"
    return f"all {many:,} {several} one step away were evaluated"


def beaten_by(content: dict[str, Any], challenge: dict[str, Any]) -> float:
    """Return by how much the best subset of a challenge beats the answer."""
    return max((value for _, value in challenge["subsets"]), default=0.0) - content["lower"]


def not_claimed(content: dict[str, Any]) -> list[str]:
    """Return what a reader might think follows, and does not."""
    if content["data"] is None:
        beyond = any(claim["kind"] in ("local", "quantile") for claim in further_claims(content))
        grown = content["search"]["expansion"] is not None
        return [NOT_GROWN if not beyond else NOT_BEYOND] if grown else []
    if by_budget(content):
        return [NOT_EVALUATED, NOT_NEW_DATA]
    kinds = {claim["kind"] for claim in further_claims(content)}
    others = NOT_OTHER_SUBSETS if values_are_exact(content) else NOT_SAMPLED_SUBSETS
    return [NOT_NEW_DATA] if kinds & {"exhaustive", "ceiling"} else [others, NOT_NEW_DATA]


def game_claim(search: dict[str, Any], leaves: int, open_gap: float | None, *, certain: bool) -> str:
    """Return what holds of the leaf at which a game of two players ends; `open_gap` if that is not settled."""
    where = "" if search["expansion"] is None else f" in the graph as grown ({counted(leaves, 'leaf', 'leaves')})"
    if open_gap is not None:
        return f"Not settled: a move on the way to this leaf may give away up to {open_gap:.4f}{where}."
    what = f"no move on the way to this leaf gives away more than {search['epsilon']:g}{where}"
    return promised(what, search, certain=certain)


NOT_GROWN = "anything about states that are not in the graph; it grew while it was searched."
NOT_BEYOND = "anything more about states that are not in the graph; it grew while it was searched."
NOT_EVALUATED = "anything about subsets that were not evaluated exactly."
NOT_OTHER_SUBSETS = (
    "that no other subset is better. Subsets evaluated exactly are compared exactly; of the others only the mean value "
    "of random completions of a partial subset is bounded, and that bounds no single one of them."
)
NOT_SAMPLED_SUBSETS = (
    "that no other subset is better. Subsets in the graph are compared by their intervals; of the others only the mean "
    "value of random completions of a partial subset is bounded, and that bounds no single one of them."
)
NOT_NEW_DATA = (
    "anything about new data. The value is the one the search maximised on these examples; keep some aside to measure "
    "more."
)
