"""How a forger works: change the JSON of a certificate, let the numbers follow, put a right checksum under it."""

from __future__ import annotations

import copy
import json
from contextlib import suppress

from msgspec import Struct

from bestleaf import Certificate, verify
from bestleaf.proof import check

MALFORMED = (check.Refused, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
ODD = [None, "text", "", [], {}, [1, "x"], 10**30, 1e300, -1, -0.5, float("nan"), float("inf"), True, 0, 1.5, [[]]]


def whole(value):
    """Return a record as JSON with every field, without its checksum."""
    if isinstance(value, Struct):
        kind = value.__struct_config__
        found = {name: whole(getattr(value, name)) for name in value.__struct_fields__ if name != "checksum"}
        return found if kind.tag is None else {kind.tag_field: kind.tag, **found}
    if isinstance(value, dict):
        return {str(name): whole(one) for name, one in value.items()}
    return [*map(whole, value)] if isinstance(value, tuple | list) else value


class Refusal(str):
    """A sentence that counts as no."""

    __slots__ = ()

    def __bool__(self):
        return False


def sealed(content):
    """Return a certificate as a file with the checksum of its content."""
    kept = {name: value for name, value in content.items() if name != "checksum"}
    return json.dumps({**kept, "checksum": check.checksum(kept)})


def judged(content, *data, **keywords):
    """Return the verdict of `verify` on a forged file; what cannot even be read is refused."""
    try:
        return verify(Certificate.from_json(sealed(content)), *data, **keywords)
    except ValueError as error:
        return Refusal(str(error))


def rewritten(content):
    """Return the certificate with the interval and the gaps of its answer made to follow from its leaves."""
    with suppress(*MALFORMED):
        content["search"] |= check.Graph(check.read(content, "<certificate>", "")).numbers()
        graph, data = content["search"]["graph"], content["data"]
        if data is not None:
            units = graph["labels"][content["search"]["answer"]][:-1]
            columns = sorted(column for unit in units for column in data["units"][unit])
            content["features"] = [data["names"][column] for column in columns]
    return content


def without_nodes(content, gone):
    """Return the certificate without some nodes of the graph, the others numbered anew."""
    search = content["search"]
    graph, leaves = search["graph"], search["leaves"]
    kept = [node for node in range(len(graph["labels"])) if node not in gone]
    number = {node: place for place, node in enumerate(kept)}
    orders = graph.get("inner_orders", {}).items()
    graph["labels"] = [graph["labels"][node] for node in kept]
    graph["children"] = [[number[child] for child in graph["children"][node] if child in number] for node in kept]
    graph["inner_orders"] = {str(number[int(node)]): order for node, order in orders if int(node) in number}
    graph["minimizes"] = [number[node] for node in graph.get("minimizes", []) if node in number]
    search["leaves"] = [{**leaf, "node": number[leaf["node"]]} for leaf in leaves if leaf["node"] in number]
    search["answer"] = number.get(search["answer"], 0)
    return content


def renumbered(content):
    """Close the gaps in the order of creation, as if some leaves had never been created, and share delta out again."""
    search, leaves = content["search"], content["search"]["leaves"]
    graph, delta, inner = search["graph"], search["delta"], search["graph"].get("inner_orders", {})
    met = sorted({leaf.get("order", 0) for leaf in leaves} | {*inner.values()} | {0})
    number = {order: place for place, order in enumerate(met)}
    graph["created"] = len(number) - 1
    graph["inner_orders"] = {node: number[order] for node, order in inner.items()}
    whole = search["expansion"] is None and all(leaf.get("order") for leaf in leaves)
    for leaf in leaves:
        place = leaf["order"] = number[leaf.get("order", 0)]
        leaf["share"] = delta / len(leaves) if whole else delta / (place * (place + 1)) if place else 0.0


def aspects(content):
    """Return what a certificate claims, as numbers: larger is stronger."""
    search, data, new = content["search"], content["data"], content["new_rows"]
    found = {"claims": sum(content[name] is not None for name in ("search", "local", "all_subsets", "new_rows"))}
    if search is not None:
        exact = [leaf["exact"] for leaf in search["leaves"]]
        proved = {"rigorous": 3, "conditional": 2, "none": 1}[search["proof"]]
        found |= {
            "proof": 4 if all(exact) else proved,
            "whole": search["expansion"] is None,
            "delta": -search["delta"],
            "leaves": len(exact),
            "exact": sum(exact),
            "lower": search["lower"],
            "epsilon": -search["epsilon"],
            "gap": -max(0.0, search["gap"]),
            "settled": content["reason"] == "settled",
        }
    if content["all_subsets"] is not None:
        found |= {"evaluated": content["all_subsets"]["evaluated"]}
    if data is not None:
        choice = data["choice"]
        found |= {"allowed": len(choice["allowed"]), "limit": choice["limit"], "forced": -len(choice.get("forced", []))}
        found |= {"rows": data["rows"]}
    if new is not None:
        interval, gain = new["interval"] or [0, 1], new["difference_interval"] or [-1, 1]
        found |= {
            "proved": new["table"] is not None,
            "test rows": new["rows"],
            "trained": new["trained"],
            "score": new["score"],
        }
        found |= {"low": interval[0], "high": -interval[1], "gain": gain[0], "loss": -gain[1]}
        compared = new["table"] and new["table"]["sets"]
        found |= {f"best other of {compared}": -(1 if new["best_other"] is None else new["best_other"])}
        found |= {"like guessing unsaid": new["guessing"] is None}
        found |= {f"judge {name}": score for name, score in new["judges"].items()}
    elif content["path"] is not None:
        found |= {"score kept back": True}  # without it, a reader takes the score of the path
    return found


def strengthened(genuine, forged):
    """Return in which ways a forged certificate says more than the genuine one, or something else.

    What follows from the same leaves, graph and settings is no forgery: another answer that is as good, or a smaller
    epsilon that the gap allows.
    """
    before, after = aspects(genuine), aspects(forged)
    found = {name for name in after if after[name] > before.get(name, -2) + 1e-12}
    if said(forged) != said(genuine):
        found.add("answer")
    if (forged["data"] or {}).get("names") != (genuine["data"] or {}).get("names"):
        found.add("names")
    if genuine["search"] is None or forged["search"] is None:
        return found
    mine, other = genuine["search"], forged["search"]
    if intervals(forged) == intervals(genuine) and not any(map(is_narrowed, other["leaves"])):
        found -= {"delta", "proof"}  # nothing rests on samples, so nothing is left to chance
    same = {name: other.get(name) == mine.get(name) for name in mine}
    untouched = same["leaves"] and same["graph"] and all(forged[name] == genuine[name] for name in ("data", "local"))
    if untouched and all(same[name] for name in ("task", "delta", "bound", "stopping", "expansion", "proof")):
        found -= {"answer", "lower", "epsilon", "gap", "proof"}
    if untouched and same["delta"] and same["expansion"] and other["bound"] in ("hoeffding", "betting", "theory"):
        found.discard("proof")  # the same samples prove it by the formula of a bound that holds
    return found


def intervals(content):
    """Return the interval of every leaf."""
    return [(leaf["node"], leaf["exact"], leaf["lower"], leaf["upper"]) for leaf in content["search"]["leaves"]]


def is_narrowed(leaf):
    """Return whether the interval of a leaf rests on samples."""
    return not leaf["exact"] and (leaf["lower"], leaf["upper"]) != (0, 1)


def said(content):
    """Return what the answer is called."""
    search = content["search"]
    return content["features"], None if search is None else repr(search["graph"]["labels"][search["answer"]])


def twin(content):
    """Return a copy that may be changed."""
    return copy.deepcopy(content)


def changed(content, path, value):
    """Return a copy in which one part is another, or a function of what it was."""
    other = twin(content)
    place = other
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value(place[path[-1]]) if callable(value) else value
    return other


def mutated(content, rng, within=None, odd=ODD):
    """Return the certificate with one entry, within one of its parts or anywhere, deleted or replaced."""
    other = twin(content)
    place = other if within is None else other[within]
    while True:
        key = rng.choice(list(place) if isinstance(place, dict) else range(len(place)))
        if not (isinstance(place[key], dict | list) and place[key]) or rng.random() < 0.15:
            break
        place = place[key]
    if rng.random() < 0.3:
        del place[key]
    else:
        place[key] = rng.choice(odd)
    return other
