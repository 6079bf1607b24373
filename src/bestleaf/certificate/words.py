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
        return [f"Best {task}: {label}, value between {content['lower']:.4f} and {content['upper']:.4f}."]
    names = content["features"]
    shown = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
    return [
        f"Selected {len(names)} of {counted(len(data['names']), 'feature')}: {shown}.",
        f"Value {content['lower']:.4f}: {data['objective_in_words']}.",
    ]


def grown_claim(content: dict[str, Any]) -> dict[str, Any]:
    """Return what the intervals say about the answer: a claim if it is proved, otherwise how far it is from one."""
    search, gap = content["search"], content["gap"]
    epsilon, delta, thing = search["epsilon"], search["delta"], search["task"]
    where = "of the graph as grown" if search["expansion"] is not None else "of the whole graph"
    among = f"no {thing} {where} ({counted(len(content['leaves']), 'leaf', 'leaves')})"
    claim = {"kind": "grown", "epsilon": epsilon, "delta": delta, "proof": search["proof"]}
    if gap > epsilon:
        crowd = counted(len(content["leaves"]), "leaf", "leaves")
        text = f"Not settled: another {thing} {where} ({crowd}) may be better by up to {gap:.4f}."
        return {**claim, "kind": "open", "text": text}
    if search["proof"] == "none":
        doubt = f"bound {search['bound']} with stopping {search['stopping']} has no proof"
        text = f"It seems that {among} is better by more than {epsilon:g}; {doubt}."
        return {**claim, "kind": "unproved", "text": text}
    condition = f", provided that bound {search['bound']} holds" if search["proof"] == "conditional" else ""
    text = f"With probability at least 1 - {delta:g} {among} is better by more than {epsilon:g}{condition}."
    return {**claim, "text": text}


NOT_GROWN = "anything about states that are not in the graph; it grew while it was searched."
NOT_OTHER_SUBSETS = (
    "that no other subset is better. Subsets evaluated exactly are compared exactly; of the others only the mean value "
    "of random completions of a partial subset is bounded, and that bounds no single one of them."
)
NOT_NEW_DATA = (
    "anything about new data. The value is the one the search maximised on these examples; keep some aside to measure "
    "more."
)
