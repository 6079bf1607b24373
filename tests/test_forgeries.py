"""A thousand semantic forgeries of genuine certificates, resealed: none is accepted that says more than was found.

What a file cannot show (the values of a problem, the edges of its graph, the samples themselves) may be changed without
being noticed, but then the verdict must name it as taken as written; where the data are given, values are computed
again.
"""

from __future__ import annotations

import random
import warnings
from collections import Counter
from inspect import isfunction, signature
from itertools import chain
from math import log, sqrt

import pytest

from bestleaf import Certificate, verify
from forging import judged, renumbered, reworded, rewritten, strengthened, twin, without_nodes
from genuine import of_chance, of_estimators, of_games, of_graphs, of_guarantees, of_selections

MANY, GENUINE = 1000, 500
pytestmark = pytest.mark.slow
VALUES = "exact values ("
SAMPLES = "that the samples are those of the leaves"
GRAPH = "edges, labels and players of the graph"
LEFT_OUT = "was left out"
LIMITS = "what may be chosen"
TABLE = "rows, names and objective of the data"
NOT_CHECKED = "taken as written, because bound"
ENDED = "why the search ended"
NEARBY = "which leaves are one step away"


@pytest.fixture(scope="module")
def genuine():
    kinds = of_graphs, of_games, of_chance, of_selections, of_estimators, of_guarantees
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [one for made in kinds for one in made(0)]


def test_five_hundred_genuine_certificates_are_accepted(genuine):
    many = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        others = chain.from_iterable(chain(of_graphs(seed), of_games(seed)) for seed in range(1, 100))
        for one in chain(genuine, others):
            certificate = Certificate.from_json(one.certificate.to_json())
            own = {name: value for name, value in one.keywords.items() if name == "bound"}
            verdict = verify(certificate, **own)
            assert verdict, f"{one.name}: {verdict}"
            if one.data:
                verdict = verify(certificate, *one.data, **one.keywords)
                assert verdict, f"{one.name} with its data: {verdict}"
            many += 1
            if many == GENUINE:
                break
    assert many == GENUINE


# Each function of (content, rng) is a forger: it changes a copy of a certificate and returns what the verdict must say
# is taken as written if it accepts; None if it must refuse whatever says more; False if nothing could be changed.


def smaller_epsilon(content, rng):
    content["search"]["epsilon"] *= rng.random()


def smaller_delta(content, rng):
    factor = rng.choice([0.5, 0.01, 1e-10])
    content["search"]["delta"] *= factor
    if rng.random() < 0.7:
        for leaf in content["leaves"]:
            leaf["share"] *= factor
    return NOT_CHECKED


def narrower_interval(content, rng):
    leaf = rng.choice(content["leaves"])
    if leaf["exact"] or leaf["lower"] == leaf["upper"]:
        return False
    inside = leaf["lower"] + (leaf["upper"] - leaf["lower"]) * (0.05 + 0.9 * rng.random())
    leaf[rng.choice(["lower", "upper"])] = inside
    return NOT_CHECKED


def other_share(content, rng):
    leaf = rng.choice(content["leaves"])
    if leaf["exact"]:
        return False
    how = rng.randrange(3)
    if how == 0:
        leaf |= {"share": 0.0, "order": rng.choice([0, leaf["order"]])}
    elif how == 1:
        leaf["share"] = min(1.0, leaf["share"] * (1 + rng.random()))
    else:
        for one in content["leaves"]:
            one["share"] = content["search"]["delta"] / len(content["leaves"])
    return None


def fewer_leaves(content, rng):
    """Leave out leaves (with their parents, where nothing else is below them), and count as if they had never been."""
    leaves = content["leaves"]
    if len(leaves) < 3:
        return False
    gone = {leaf["node"] for leaf in rng.sample(leaves, rng.randint(1, len(leaves) - 2))} - {content["answer"]}
    children, honest = content["graph"]["children"], rng.random() < 0.5
    while fresh := {n for n, below in enumerate(children) if below and set(below) <= gone and n not in gone}:
        gone |= fresh
    if content["answer"] in gone or 0 in gone:
        return False
    lost = [leaf for leaf in leaves if leaf["node"] in gone]
    without_nodes(content, gone)
    if honest:  # the counts stay as they were, so something is missing
        return None if any(leaf["exact"] or leaf["order"] for leaf in lost) else LEFT_OUT
    content["cost"]["exact_evaluations"] -= sum(leaf["exact"] for leaf in lost)
    renumbered(content)
    return LEFT_OUT


def sold_as_whole(content, rng):
    grown, content["search"]["expansion"] = content["search"]["expansion"], None
    content["reason"] = "settled"
    return ENDED if grown is None else None


def sold_as_exact(content, rng):
    """Call the mean of a sampled leaf its exact value."""
    leaf = rng.choice(content["leaves"])
    if leaf["exact"] or leaf["mean"] is None:
        return False
    leaf |= {"lower": leaf["mean"], "upper": leaf["mean"], "exact": True, "count": 1}
    leaf |= {"lower_evidence": None, "upper_evidence": None}
    if rng.random() < 0.7:
        leaf |= {"order": 0, "share": 0.0}
        content["cost"]["exact_evaluations"] += 1
        if rng.random() < 0.7:
            renumbered(content)
    return VALUES


def all_sold_as_certain(content, rng):
    for leaf in content["leaves"]:
        leaf |= {"order": 0, "share": 0.0, "terminal": True}
        if rng.random() < 0.5:
            middle = (leaf["lower"] + leaf["upper"]) / 2
            leaf |= {"exact": True, "lower": middle, "upper": middle, "mean": middle, "count": 1}
            leaf |= {"lower_evidence": None, "upper_evidence": None}
    return VALUES


def better_value(content, rng):
    """Raise the exact value of the answer, wherever it is written."""
    mine = next((leaf for leaf in content["leaves"] if leaf["node"] == content["answer"] and leaf["exact"]), None)
    if mine is None:
        return False
    value = mine["lower"] + (1 - mine["lower"]) * rng.random()
    mine |= {"lower": value, "upper": value, "mean": value}
    for challenge in content["challenges"].values():
        for subset in challenge["subsets"]:
            subset[1] = value if subset[0] == mine["label"] else subset[1]
    if content.get("report") is not None:
        del content["report"]
    return VALUES


def worse_rivals(content, rng):
    """Lower the exact values of everyone but the answer."""
    if not any(leaf["exact"] for leaf in content["leaves"]):
        return False
    for leaf in content["leaves"]:
        if leaf["exact"] and leaf["node"] != content["answer"]:
            leaf |= dict.fromkeys(("lower", "upper", "mean"), 0.5 * leaf["lower"])
    content["challenges"] = {}
    content.pop("report", None)
    return VALUES


def other_bound(content, rng):
    search = content["search"]
    names = ["hoeffding", "theory", "mine", "proved beyond all doubt; bound x", search["bound"]]
    search["bound"], search["proof"] = rng.choice(names), rng.choice(["rigorous", "conditional"])
    search["stopping"] = rng.choice(["sound", search["stopping"]])
    return NOT_CHECKED


def called_identified(content, rng):
    content["reason"] = "settled"
    content["search"]["epsilon"] = rng.choice([content["search"]["epsilon"], max(0.0, content["gap"])])
    return ENDED


def other_answer(content, rng):
    arms = content["graph"]["children"][0]
    leaves = [leaf["node"] for leaf in content["leaves"]]
    content["answer"] = rng.choice(arms if content["search"]["task"] == "arm" else leaves)


def other_edges(content, rng):
    """Hang a leaf below the answer, or below another node, or cut an edge."""
    children = content["graph"]["children"]
    inner = [node for node, below in enumerate(children) if below]
    leaf = rng.choice(content["leaves"])["node"]
    node = content["answer"] if children[content["answer"]] and rng.random() < 0.5 else rng.choice(inner)
    if leaf in children[node]:
        children[node].remove(leaf)
    else:
        children[node].append(leaf)
    return GRAPH


def other_label(content, rng):
    """Call a strong rival as the answer is called, so that it is none."""
    leaf = max(content["leaves"], key=lambda one: (one["node"] != content["answer"], one["upper"]))
    mine = next((one for one in content["leaves"] if one["node"] == content["answer"]), rng.choice(content["leaves"]))
    leaf["label"] = mine["label"]
    if rng.random() < 0.5:
        content["graph"]["labels"][leaf["node"]] = mine["label"]
    return GRAPH


def other_players(content, rng):
    graph = content["graph"]
    inner = [node for node, below in enumerate(graph["children"]) if below]
    graph["minimizes"] = sorted(set(graph["minimizes"]) ^ {rng.choice(inner)})
    graph["two_player"] = rng.choice([True, graph["two_player"]])
    return GRAPH


def other_evidence(content, rng):
    """Change what a bound follows from so that no samples can have given it, and take the bound that follows."""
    looked = [leaf for leaf in content["leaves"] if leaf["lower_evidence"] and leaf["upper_evidence"]]
    if not looked:
        return False
    leaf, how = rng.choice(looked), rng.randrange(5)
    side = rng.choice(["lower", "upper"])
    row = leaf[f"{side}_evidence"]
    if how == 0:
        row[1] = row[0] if side == "lower" else 0.0  # all samples 1, or all 0
    elif how == 1:
        row[0] *= 2
    elif how == 2:
        leaf["mean"] = 0.5 * leaf["mean"] if side == "lower" else 0.5 + 0.5 * leaf["mean"]
    elif how == 3 and len(row) > 5:
        row[rng.randrange(3, min(len(row), 8))] += 0.5 * row[0]
    else:
        row[:] = row[: len(row) - 1]
    leaf[side] = 0.5 * (leaf["lower"] + leaf["upper"])
    return NOT_CHECKED


def other_samples(content, rng):
    """Say that there were ten times as many samples with the same mean, and take the interval that follows."""
    looked = [leaf for leaf in content["leaves"] if leaf["lower_evidence"] and leaf["upper_evidence"]]
    if content["search"]["bound"] != "hoeffding" or not looked:
        return False
    for leaf in looked:
        content["cost"]["samples"] += 9 * leaf["count"]
        leaf["count"] *= 10
        for side, sign in (("lower", -1), ("upper", 1)):
            row = leaf[f"{side}_evidence"]
            row[0], row[1] = leaf["count"], leaf["mean"] * leaf["count"]
            half = 1.7 * sqrt((log(log(2 * row[0])) + 0.72 * log(10.4 / leaf["share"])) / (4 * row[0]))
            leaf[side] = min(1.0, max(0.0, leaf["mean"] + sign * half))
    if rng.random() < 0.5:
        content["cost"]["samples"] //= 10
        return None if content["cost"]["samples"] < sum(leaf["count"] for leaf in looked) else SAMPLES
    return SAMPLES


def other_features(content, rng):
    data = content["data"]
    if data is None:
        return False
    how = rng.randrange(4)
    if how == 0:
        data["names"][rng.randrange(len(data["names"]))] = "age\u200b"
        content.pop("report", None)
        return TABLE
    if how == 1:
        content["features"] = content["features"][:-1] or ["x1"]
        return None
    if how == 2:
        data["rows"] *= 10
        return TABLE
    data["groups"][0], data["groups"][-1] = data["groups"][-1], data["groups"][0]
    content.pop("report", None)
    return TABLE


def other_choice(content, rng):
    data = content["data"]
    if data is None:
        return False
    choice, units = data["choice"], range(len(data["groups"]))
    choice["allowed"] = [unit for unit in units if unit not in choice["forced"]]
    choice["limit"] = rng.choice([len(units), choice["limit"]])
    if rng.random() < 0.3:
        choice["forced"] = []
        choice["allowed"] = list(units)
    if "local" in content["challenges"]:
        content["challenges"]["local"]["choice"] = choice
    return LIMITS


def only_the_worst(content, rng):
    """Keep the worst exact subset alone, at the end of a way of its own."""
    exact = [leaf for leaf in content["leaves"] if leaf["exact"]]
    if content["data"] is None or not exact:
        return False
    worst = min(exact, key=lambda leaf: leaf["lower"])
    forced = sorted(content["data"]["choice"]["forced"])
    steps, loose = [forced], [unit for unit in worst["label"][:-1] if unit not in forced]
    for unit in loose:
        steps.append(sorted([*steps[-1], unit]))
    if rng.random() < 0.3:
        steps = steps[:1]
    steps.append(worst["label"])
    content["leaves"] = [{**worst, "node": len(steps) - 1}]
    content["graph"]["inner_orders"] = content["graph"]["inner_orders"][: len(steps)]
    content["graph"] |= {"labels": steps, "children": [[n + 1] for n in range(len(steps) - 1)] + [[]]}
    content["answer"], content["challenges"] = len(steps) - 1, {}
    content.pop("report", None)
    if rng.random() < 0.5:
        content["cost"]["exact_evaluations"] = 1
        content["cost"]["values_outside"] = 0
        content["graph"] |= {"created": 0, "inner_orders": [0] * len(steps)}
    if rng.random() < 0.5:
        content["search"]["expansion"] = None
        content["data"]["choice"] |= {"allowed": loose, "limit": len(worst["label"]) - 1}
        return LIMITS  # the claim names them
    return LEFT_OUT


def fewer_challengers(content, rng):
    if not content["challenges"]:
        return False
    name = rng.choice(sorted(content["challenges"]))
    challenge = content["challenges"][name]
    how = rng.randrange(3)
    if how == 0:
        challenge["subsets"] = challenge["subsets"][: len(challenge["subsets"]) // 2]
    elif how == 1:
        challenge.pop("choice", None)
        challenge["subsets"] = challenge["subsets"][:1]
    else:
        for subset in challenge["subsets"]:
            subset[1] *= 0.5
        return VALUES
    return NEARBY if content["data"] is None and name == "local" else None


def more_challengers(content, rng):
    """Add a guarantee that was never asked for."""
    mine = next((leaf for leaf in content["leaves"] if leaf["node"] == content["answer"]), None)
    if mine is None or not mine["exact"]:
        return False
    content["challenges"]["local"] = {"subsets": [[mine["label"], mine["lower"]]]}
    return NEARBY


def other_words(content, rng):
    """Write a claim by hand."""
    claim = rng.choice(content["claims"])
    text = rng.choice(["It is certain that no leaf is better.", claim["text"].replace("1 - 0.", "1 - 0.0")])
    content["claims"] = rng.choice([[{**claim, "text": text}], [*content["claims"], {**claim, "text": text}]])
    content["not_claimed"] = []
    return False if text == claim["text"] else None


FORGERS = tuple(
    one for one in list(globals().values()) if isfunction(one) and list(signature(one).parameters) == ["content", "rng"]
)


def forgeries(genuine, many, seed):
    """Yield forged certificates with the genuine one, who forged it, and what may be taken as written."""
    rng, made = random.Random(seed), 0
    while made < many:
        one, forger = rng.choice(genuine), FORGERS[made % len(FORGERS)]
        content = twin(one.certificate.content)
        excuse = forger(content, rng)
        if excuse is False:
            continue
        made += 1
        if forger is not other_words:
            rewritten(content) if forger not in (other_features,) or excuse else reworded(content)
        yield one, forger.__name__, content, excuse


def test_no_forgery_is_accepted_that_says_more(genuine):
    refused, with_data = Counter(), Counter()
    for one, forger, content, excuse in forgeries(genuine, MANY, 0):
        own = {name: value for name, value in one.keywords.items() if name == "bound"}
        verdict = judged(content, **own)
        if not verdict:
            refused[forger] += 1
        elif more := strengthened(one.certificate.content, content):
            assert excuse, f"{forger} of {one.name} says more ({more}): {verdict}"
            assert excuse in str(verdict), f"{forger} of {one.name}: {excuse!r} is not named: {verdict}"
            if excuse == VALUES and one.data:
                assert not judged(content, *one.data, **one.keywords), f"{forger} of {one.name} passes with its data"
                with_data[forger] += 1
    assert refused.total() > MANY // 2, refused
    assert set(refused) | set(with_data) == {one.__name__ for one in FORGERS}, "every forger is found out at times"
