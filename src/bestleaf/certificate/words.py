"""Claims, and what is not claimed, as sentences."""

from __future__ import annotations

from typing import Any


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def headline(content: dict[str, Any]) -> list[str]:
    """Return the answer in a sentence or two."""
    data, task = content["data"], content["search"]["task"]
    if data is None:
        label = content["graph"]["labels"][content["answer"]]
        low, high = content["lower"], content["upper"]
        value = f"value {low:.4f}, exactly" if low == high else f"value between {low:.4f} and {high:.4f}"
        return [f"Best {task}: {label}, {value}."]
    lines = [_selected(content), f"{_value_in_words(content)}: {data['objective_in_words']}."]
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


def _value_in_words(content: dict[str, Any]) -> str:
    """Return the value of the answer: one number if it is exact, otherwise its interval."""
    low, high = content["lower"], content["upper"]
    return f"Value {low:.4f}" if low == high else f"Value between {low:.4f} and {high:.4f}"


def _selected(content: dict[str, Any]) -> str:
    """Return what was selected; columns that enter together are one feature, in braces."""
    data = content["data"]
    units = [data["groups"][unit] for unit in content["graph"]["labels"][content["answer"]][:-1]]
    names = [[data["names"][column] for column in unit] for unit in sorted(units)]
    shown = [
        one[0] if len(one) == 1 else "{" + ", ".join(one[:20]) + (", …}" if len(one) > 20 else "}") for one in names
    ]
    listed = ", ".join(shown[:20]) + (", …" if len(shown) > 20 else "")
    return f"Selected {len(units)} of {counted(len(data['groups']), 'feature')}: {listed}."


def by_budget(content: dict[str, Any]) -> bool:
    """Whether the search was one that only a budget ends, and that proves nothing."""
    return content["search"]["stopping"] == "budget"


def values_are_exact(content: dict[str, Any]) -> bool:
    """Whether values that were asked for are exact, not only guides of where to grow."""
    return content["data"] is None or content["data"]["terminal"] == "exact"


def is_certain(content: dict[str, Any]) -> bool:
    """Whether no leaf is sampled, so that nothing is left to chance."""
    return all(leaf["share"] == 0 for leaf in content["leaves"])


def grown_claim(content: dict[str, Any]) -> dict[str, Any]:
    """Return what the intervals say about the answer: a claim if it is proved, otherwise how far it is from one."""
    search, gap = content["search"], content["gap"]
    epsilon, delta, thing = search["epsilon"], search["delta"], search["task"]
    crowd = counted(len(content["leaves"]), "leaf", "leaves")
    where = f"of the graph as grown ({crowd})" if search["expansion"] is not None else f"of the whole graph ({crowd})"
    claim = {"kind": "grown", "epsilon": epsilon, "delta": delta, "proof": search["proof"]}
    if by_budget(content):
        better = f"none is better by more than {gap:.4f}" if gap > 0 else "it is the best"
        text = (
            f"Nothing is proved beyond exact values: of {counted(len(content['leaves']), 'subset')} evaluated exactly, "
            f"{better}. {search['rule']} stops when its budget is spent, not "
            "when the answer is known."
        )
        return {**claim, "kind": "evaluated", "text": text}
    if gap > epsilon:
        text = f"Not settled: another {thing} {where} may be better by up to {gap:.4f}."
        return {**claim, "kind": "open", "text": text}
    if is_certain(content):
        return {**claim, "text": f"It is certain that no {thing} {where} is better by more than {epsilon:g}."}
    if search["proof"] == "none":
        doubt = f"bound {search['bound']} with stopping {search['stopping']} has no proof"
        text = f"It seems that no {thing} {where} is better by more than {epsilon:g}; {doubt}."
        return {**claim, "kind": "unproved", "text": text}
    condition = f", provided that bound {search['bound']} holds" if search["proof"] == "conditional" else ""
    chance = f"With probability at least 1 - {delta:g}"
    return {**claim, "text": f"{chance} no {thing} {where} is better by more than {epsilon:g}{condition}."}


def further_claims(content: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the claims about all subsets, grown or not, that follow from the numbers."""
    data, search, found = content["data"], content["search"], []
    if by_budget(content):
        return []
    epsilon, settled = search["epsilon"], content["gap"] <= search["epsilon"]
    all_evaluated = search["expansion"] is None and all(leaf["exact"] for leaf in content["leaves"])
    if data is not None and all_evaluated and settled:
        many = len(content["leaves"])
        text = "The only subset that may be chosen was evaluated: there is no other."
        if many > 1:
            better = f"no other subset is better by more than {epsilon:g}"
            text = f"All {many:,} subsets that may be chosen were evaluated: {better}."
        found.append({"kind": "exhaustive", "epsilon": epsilon, "text": text})
    elif data is not None and 1.0 - content["lower"] <= epsilon and content["lower"] == content["upper"]:
        text = f"No subset at all can be better by more than {epsilon:g}, because no value exceeds 1."
        found.append({"kind": "ceiling", "epsilon": epsilon, "text": text})
    challenges = content["challenges"]
    things = ("leaf", "leaves") if data is None else ("subset", "subsets")
    if "local" in challenges and beaten_by(content, challenges["local"]) <= epsilon:
        text = f"No single feature added, dropped or exchanged improves the answer by more than {epsilon:g}"
        if "choice" not in challenges["local"]:
            text = f"No leaf one step away, as the problem lists them, is better by more than {epsilon:g}"
        found.append({"kind": "local", "epsilon": epsilon, "text": f"{text}: {_nearby(challenges, things)}."})
    if "quantile" in challenges and beaten_by(content, challenges["quantile"]) <= epsilon:
        ways = {"rollouts": "drawn as rollouts from the root are", "uniform moves": "reached by uniform random moves"}
        how = ways[challenges["quantile"]["drawn"]]
        alpha, drawn = challenges["quantile"]["alpha"], len(challenges["quantile"]["subsets"])
        text = (
            f"With confidence 1 - {search['delta']:g} at most a share {alpha:g} of random {things[1]} ({how}) is "
            f"better by more than {epsilon:g}: none of {drawn:,} was."
        )
        claim = {"kind": "quantile", "epsilon": epsilon, "delta": search["delta"], "alpha": alpha}
        found.append({**claim, "text": text})
    return found


def _nearby(challenges: dict[str, Any], things: tuple[str, str]) -> str:
    """Return how many leaves one step away were evaluated."""
    many = len(challenges["local"]["subsets"])
    if many == 0:
        return f"there is no {things[0]} one step away"
    if many == 1:
        return f"the only {things[0]} one step away was evaluated"
    return f"all {many:,} {things[1]} one step away were evaluated"


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
