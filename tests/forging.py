"""How a forger works: change a certificate, let the words follow, put a right checksum under it."""

from __future__ import annotations

import copy
import json
from contextlib import suppress

from bestleaf import Certificate, verify
from bestleaf.certificate.bound_checks import CHECKS
from bestleaf.certificate.claims import is_certain, words_of
from bestleaf.certificate.record import checksum
from bestleaf.certificate.schema import MALFORMED, RefusedError
from bestleaf.certificate.verify_graph import answer_of


def sealed(content):
    """Return a certificate as a file with the checksum of its content."""
    kept = {name: value for name, value in content.items() if name != "checksum"}
    return json.dumps({**kept, "checksum": checksum(kept)})


def judged(content, *data, **keywords):
    """Return the verdict on a forged file; what cannot even be read is refused."""
    try:
        return verify(Certificate.from_json(sealed(content)), *data, **keywords)
    except ValueError as error:
        return Refusal(str(error))


class Refusal(str):
    """A sentence that counts as no."""

    __slots__ = ()

    def __bool__(self):
        return False


def rewritten(content):
    """Return the certificate with everything that follows from its leaves made to follow."""
    with suppress(RefusedError, *MALFORMED):
        graph, data, answer = content["graph"], content["data"], content["answer"]
        content |= answer_of(content)
        if data is not None:
            columns = sorted(f for unit in graph["labels"][answer][:-1] for f in data["groups"][unit])
            content["features"] = [data["names"][column] for column in columns]
    return reworded(content)


def reworded(content):
    """Return the certificate with the claims of its numbers."""
    with suppress(RefusedError, *MALFORMED):
        content |= words_of(content)
    return content


def without_nodes(content, gone):
    """Return the certificate without some nodes of the graph, the others numbered anew."""
    graph = content["graph"]
    kept = [node for node in range(len(graph["labels"])) if node not in gone]
    number = {node: place for place, node in enumerate(kept)}
    graph["labels"] = [graph["labels"][node] for node in kept]
    graph["children"] = [[number[child] for child in graph["children"][node] if child in number] for node in kept]
    graph["inner_orders"] = [graph["inner_orders"][node] for node in kept]
    graph["minimizes"] = [number[node] for node in graph["minimizes"] if node in number]
    content["leaves"] = [{**leaf, "node": number[leaf["node"]]} for leaf in content["leaves"] if leaf["node"] in number]
    content["answer"] = number.get(content["answer"], 0)
    return content


def renumbered(content):
    """Close the gaps in the order of creation, as if some leaves had never been created, and share delta out again."""
    graph, delta = content["graph"], content["search"]["delta"]
    met = sorted({leaf["order"] for leaf in content["leaves"]} | set(graph["inner_orders"]))
    number = {0: 0, **{order: place + 1 for place, order in enumerate(one for one in met if one)}}
    graph["created"] = len(number) - 1
    graph["inner_orders"] = [number[order] for order in graph["inner_orders"]]
    whole = content["search"]["expansion"] is None and all(leaf["order"] for leaf in content["leaves"])
    for leaf in content["leaves"]:
        place = leaf["order"] = number[leaf["order"]]
        leaf["share"] = delta / len(content["leaves"]) if whole else delta / (place * (place + 1)) if place else 0.0


def only_the_worst(content):
    """Return a certificate in which one useless feature is all that was ever looked at."""
    forged = twin(content)
    worst = min((one for one in forged["leaves"] if one["exact"]), key=lambda one: (len(one["label"]), one["lower"]))
    unit = worst["label"][0]
    forged["leaves"] = [{**worst, "label": [unit, -1], "node": 2}]
    forged["graph"] |= {"labels": [[], [unit], [unit, -1]], "children": [[1], [2], []], "inner_orders": [0, 0, 0]}
    forged |= {"answer": 2, "challenges": {}}
    forged.pop("report")
    return forged, unit


def aspects(content):
    """Return what a certificate claims, as numbers: larger is stronger."""
    search, claims = content["search"], {claim["kind"]: claim for claim in content["claims"]}
    first, data = content["claims"][0], content["data"]
    proved = {"rigorous": 3, "conditional": 2, "none": 1}[search["proof"]]
    rank = {"open": 0, "looked at": 0, "evaluated": 0, "unproved": 1}.get(first["kind"], proved)
    found = {
        "kind": 4 if rank and is_certain(content) else rank,
        "whole": search["expansion"] is None,
        "delta": -search["delta"],
        "leaves": len(content["leaves"]),
        "exact": sum(leaf["exact"] for leaf in content["leaves"]),
        "lower": content["lower"],
        "epsilon": -search["epsilon"],
        "gap": -max(0.0, content["gap"]),
        "known_gap": -max(0.0, content.get("known_gap", content["gap"])),
        "settled": content["reason"] == "settled",
    }
    found |= {name: name in claims for name in ("exhaustive", "ceiling", "local")}
    if data is not None:
        choice = data["choice"]
        found |= {"allowed": len(choice["allowed"]), "limit": choice["limit"], "forced": -len(choice["forced"])}
        found["rows"] = data["rows"]
    return found


def strengthened(genuine, forged):
    """Return in which ways a forged certificate says more than the genuine one, or something else.

    What follows from the same leaves, graph and settings is no forgery: another answer that is as good, or a smaller
    epsilon that the gap allows.
    """
    before, after = aspects(genuine), aspects(forged)
    found = {name for name in after if after[name] > before.get(name, 0) + 1e-12}
    if said(forged) != said(genuine):
        found.add("answer")
    if (forged["data"] or {}).get("names") != (genuine["data"] or {}).get("names"):
        found.add("names")
    if intervals(forged) == intervals(genuine) and not any(map(is_narrowed, forged["leaves"])):
        found -= {"delta", "kind"}  # nothing rests on samples, so nothing is left to chance
    numbers = ("leaves", "graph", "data", "challenges")
    untouched = all(forged[name] == genuine[name] for name in numbers)
    same = {name: forged["search"][name] == genuine["search"][name] for name in genuine["search"]}
    if untouched and all(same[name] for name in ("task", "delta", "bound", "stopping", "expansion", "proof")):
        found -= {"answer", "lower", "epsilon", "gap", "known_gap", "kind", "exhaustive", "ceiling", "local"}
    if untouched and same["delta"] and same["expansion"] and forged["search"]["bound"] in (*CHECKS, "theory"):
        found.discard("kind")  # the same samples prove it by the formula of a bound that holds
    return found


def intervals(content):
    """Return the interval of every leaf."""
    return [(leaf["node"], leaf["exact"], leaf["lower"], leaf["upper"]) for leaf in content["leaves"]]


def is_narrowed(leaf):
    """Return whether the interval of a leaf rests on samples."""
    return not leaf["exact"] and (leaf["lower"], leaf["upper"]) != (0, 1)


def said(content):
    """Return what the answer is called."""
    return content["features"], repr(content["graph"]["labels"][content["answer"]])


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


ODD = [None, "text", "", [], {}, [1, "x"], 10**30, 1e300, -1, -0.5, float("nan"), float("inf"), True, 0, 1.5, [[]]]


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
