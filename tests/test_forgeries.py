"""A thousand semantic forgeries of genuine certificates, resealed: none is accepted that says more than was found.

What a file cannot show (the values of a problem, the edges of its graph, the samples, the table of test rows) may be
changed without being noticed, but then the checker must name it as not checked; where the data are given, values and
test rows are computed again.
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
from bestleaf.proof.check import OF_DIFFERENCE, OF_SCORE, check, ends_of
from forging import judged, renumbered, rewritten, strengthened, twin, whole, without_nodes
from genuine import (
    of_chance,
    of_choices,
    of_cycles,
    of_estimators,
    of_games,
    of_graphs,
    of_guarantees,
    of_selections,
)

MANY, GENUINE = 1500, 500
pytestmark = pytest.mark.slow
VALUES = "exact values"
SAMPLES = "that the samples are those of the leaves"
GRAPH = "edges, labels and players of the graph"
LEFT_OUT = "no leaf was left out"
ORDER = "the order in which nodes entered the graph"
LIMITS = "what may be chosen"
TABLE = "rows, names and score of the data"
NOT_CHECKED = "was not checked"
ENDED = "why the work ended"
NEARBY = "which candidates are one step away"
SUBSETS = "values of subsets that are no leaves"
ESTIMATE = "an estimate without proof"
GUESSING = "the score of guessing"
TEST_ROWS = "that these are like new rows and had no part in the choice"


@pytest.fixture(scope="module")
def genuine():
    kinds = of_graphs, of_games, of_chance, of_cycles, of_selections, of_estimators, of_guarantees, of_choices
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [one for made in kinds for one in made(0)]


def test_five_hundred_genuine_certificates_are_accepted(genuine):
    many = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kinds = of_graphs, of_games, of_chance, of_cycles
        others = chain.from_iterable(made(seed) for seed in range(1, 100) for made in kinds)
        for one in chain(genuine, others):
            certificate = Certificate.from_json(one.certificate.to_json())
            verdict = verify(certificate, **{name: one.keywords[name] for name in one.keywords if name == "bound"})
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
    search_of(content)["epsilon"] *= rng.random()


def smaller_delta(content, rng):
    factor = rng.choice([0.5, 0.01, 1e-10])
    search_of(content)["delta"] *= factor
    if rng.random() < 0.7:
        for leaf in content["search"]["leaves"]:
            leaf["share"] = leaf.get("share", 0.0) * factor
    return NOT_CHECKED


def narrower_interval(content, rng):
    leaf = rng.choice(search_of(content)["leaves"])
    need(not leaf["exact"] and leaf["lower"] < leaf["upper"])
    inside = leaf["lower"] + (leaf["upper"] - leaf["lower"]) * (0.05 + 0.9 * rng.random())
    leaf[rng.choice(["lower", "upper"])] = inside
    return NOT_CHECKED


def other_share(content, rng):
    search = search_of(content)
    leaf, how = rng.choice(search["leaves"]), rng.randrange(3)
    need(not leaf["exact"])
    if how == 0:
        leaf |= {"share": 0.0, "order": rng.choice([0, leaf.get("order", 0)])}
    elif how == 1:
        leaf["share"] = min(1.0, leaf.get("share", 0.0) * (1 + rng.random()))
    else:
        for one in search["leaves"]:
            one["share"] = search["delta"] / len(search["leaves"])
    return


def other_places(content, rng):
    """Swap the places of two leaves in the order of creation, so that the one that matters gets the larger share."""
    search = search_of(content)
    sampled = [leaf for leaf in search["leaves"] if leaf.get("order")]
    need(len(sampled) > 1 and search["expansion"] is not None)
    one, other = rng.sample(sampled, 2)
    for name in ("order", "share"):
        one[name], other[name] = other[name], one[name]
    return ORDER


def fewer_leaves(content, rng):
    """Leave out leaves (with their parents, where nothing else is below them), and count as if they had never been."""
    search = search_of(content)
    leaves, children, honest = search["leaves"], search["graph"]["children"], rng.random() < 0.5
    need(len(leaves) > 2)
    gone = {leaf["node"] for leaf in rng.sample(leaves, rng.randint(1, len(leaves) - 2))} - {search["answer"]}
    while fresh := {n for n, below in enumerate(children) if below and set(below) <= gone and n not in gone}:
        gone |= fresh
    need(search["answer"] not in gone and 0 not in gone)
    lost = [leaf for leaf in leaves if leaf["node"] in gone]
    without_nodes(content, gone)
    if honest:  # the places stay as they were, so something is missing
        return None if any(leaf.get("order") for leaf in lost) else LEFT_OUT
    content["cost"]["exact_evaluations"] = cost_of(content) - sum(leaf["exact"] for leaf in lost)
    renumbered(content)
    return LEFT_OUT


def sold_as_whole(content, rng):
    grown, content["search"]["expansion"] = search_of(content).get("expansion"), None
    content["reason"] = "settled"
    return ENDED if grown is None else None


def sold_as_exact(content, rng):
    """Call the mean of a sampled leaf its exact value."""
    leaf = rng.choice(search_of(content)["leaves"])
    need(not leaf["exact"] and leaf["mean"] is not None)
    leaf |= {"lower": leaf["mean"], "upper": leaf["mean"], "exact": True, "count": 1}
    leaf |= {"lower_evidence": None, "upper_evidence": None}
    if rng.random() < 0.7:
        leaf |= {"order": 0, "share": 0.0}
        content["cost"]["exact_evaluations"] = cost_of(content) + 1
        if rng.random() < 0.7:
            renumbered(content)
    return VALUES


def all_sold_as_certain(content, rng):
    for leaf in search_of(content)["leaves"]:
        leaf |= {"order": 0, "share": 0.0, "terminal": True}
        if rng.random() < 0.5:
            middle = (leaf["lower"] + leaf["upper"]) / 2
            leaf |= {"exact": True, "lower": middle, "upper": middle, "mean": middle, "count": 1}
            leaf |= {"lower_evidence": None, "upper_evidence": None}
    return VALUES


def better_value(content, rng):
    """Raise the exact value of the answer, wherever it is written."""
    search = search_of(content)
    mine = next((leaf for leaf in search["leaves"] if leaf["node"] == search["answer"] and leaf["exact"]), None)
    need(mine is not None)
    value = mine["lower"] + (1 - mine["lower"]) * rng.random()
    mine |= {"lower": value, "upper": value, "mean": value}
    return VALUES


def worse_rivals(content, rng):
    """Lower the exact values of everyone but the answer."""
    search = search_of(content)
    need(any(leaf["exact"] for leaf in search["leaves"]))
    for leaf in search["leaves"]:
        if leaf["exact"] and leaf["node"] != search["answer"]:
            leaf |= dict.fromkeys(("lower", "upper", "mean"), 0.5 * leaf["lower"])
    content["local"] = None
    return VALUES


def other_bound(content, rng):
    search = search_of(content)
    names = ["hoeffding", "theory", "mine", "proved beyond all doubt; bound x", search["bound"]]
    search["bound"], search["proof"] = rng.choice(names), rng.choice(["rigorous", "conditional"])
    search["stopping"] = rng.choice(["sound", search["stopping"]])
    return NOT_CHECKED


def called_settled(content, rng):
    search, content["reason"] = search_of(content), "settled"
    search["epsilon"] = rng.choice([search["epsilon"], max(0.0, search["gap"])])
    return ENDED


def other_gap(content, rng):
    """Write another gap or interval than follows."""
    search, name = search_of(content), rng.choice(["gap", "lower", "upper"])
    search[name] = (search[name] + rng.choice([0.0, 0.5, 1.0])) / 2
    return WRITTEN_BY_HAND


def other_answer(content, rng):
    search = search_of(content)
    leaves = [leaf["node"] for leaf in search["leaves"]]
    search["answer"] = rng.choice(search["graph"]["children"][0] if search["task"] == "arm" else leaves)


def other_edges(content, rng):
    """Hang a leaf below the answer, or below another node, or cut an edge."""
    search = search_of(content)
    children = search["graph"]["children"]
    inner, leaf = [node for node, below in enumerate(children) if below], rng.choice(search["leaves"])["node"]
    node = search["answer"] if children[search["answer"]] and rng.random() < 0.5 else rng.choice(inner)
    if leaf in children[node]:
        children[node].remove(leaf)
    else:
        children[node].append(leaf)
    return GRAPH


def other_label(content, rng):
    """Call a strong rival as the answer is called, so that it is none."""
    search = search_of(content)
    labels = search["graph"]["labels"]
    leaf = max(search["leaves"], key=lambda one: (one["node"] != search["answer"], one["upper"]))
    leaf["label"] = labels[search["answer"]] or rng.choice(labels)
    if rng.random() < 0.5:
        labels[leaf["node"]] = leaf["label"]
    return GRAPH


def other_players(content, rng):
    graph = search_of(content)["graph"]
    inner = [node for node, below in enumerate(graph["children"]) if below]
    graph["minimizes"] = sorted(set(graph.get("minimizes", [])) ^ {rng.choice(inner)})
    graph["two_player"] = rng.choice([True, graph.get("two_player", False)])
    return GRAPH


def other_evidence(content, rng):
    """Change what a bound follows from so that no samples can have given it, and take the bound that follows."""
    looked = [
        leaf for leaf in search_of(content)["leaves"] if leaf.get("lower_evidence") and leaf.get("upper_evidence")
    ]
    need(looked)
    leaf, how, side = rng.choice(looked), rng.randrange(5), rng.choice(["lower", "upper"])
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
    return SAMPLES


def other_samples(content, rng):
    """Say that there were ten times as many samples with the same mean, and take the interval that follows."""
    search, cost = search_of(content), content["cost"]
    looked = [leaf for leaf in search["leaves"] if leaf.get("lower_evidence") and leaf.get("upper_evidence")]
    need(search["bound"] == "hoeffding" and looked)
    for leaf in looked:
        cost["samples"] += 9 * leaf["count"]
        leaf["count"] *= 10
        for side, sign in (("lower", -1), ("upper", 1)):
            row = leaf[f"{side}_evidence"]
            row[0], row[1] = leaf["count"], leaf["mean"] * leaf["count"]
            half = 1.7 * sqrt((log(log(2 * row[0])) + 0.72 * log(10.4 / leaf["share"])) / (4 * row[0]))
            leaf[side] = min(1.0, max(0.0, leaf["mean"] + sign * half))
    return SAMPLES


def other_data(content, rng):
    data = data_of(content)
    how = rng.randrange(5)
    if how == 0:
        data["names"][rng.randrange(len(data["names"]))] = "age\u200b"
    elif how == 1:
        content["features"] = content["features"][:-1] or ["x1"]
        return WRITTEN_BY_HAND
    elif how == 2:
        data["rows"] *= 10
    elif how == 3:
        data["units"][0], data["units"][-1] = data["units"][-1], data["units"][0]
    else:  # the estimator goes, so that nobody computes anything again
        data["objective"] = {"kind": "panel", "judges": ["model"], "scoring": "roc_auc", "task": "classification"}
        data["objective"]["classes"] = 2
    return TABLE


def other_choice(content, rng):
    data = data_of(content)
    choice, units = data["choice"], range(len(data["units"]))
    choice["allowed"] = [unit for unit in units if unit not in choice.get("forced", [])]
    choice["limit"] = rng.choice([len(units), choice["limit"]])
    if rng.random() < 0.3:
        choice |= {"forced": [], "allowed": list(units)}
    if content["local"] is not None:
        content["local"]["choice"] = choice
    return LIMITS


def only_the_worst(content, rng):
    """Keep the worst exact subset alone, at the end of a way of its own."""
    choice, search = data_of(content)["choice"], search_of(content)
    exact = [leaf for leaf in search["leaves"] if leaf["exact"]]
    need(exact)
    worst = min(exact, key=lambda leaf: leaf["lower"])
    label, forced = search["graph"]["labels"][worst["node"]], sorted(choice.get("forced", []))
    steps, loose = [forced], [unit for unit in label[:-1] if unit not in forced]
    for unit in loose:
        steps.append(sorted([*steps[-1], unit]))
    steps = [*(steps[:1] if rng.random() < 0.3 else steps), label]
    search["leaves"], search["answer"] = [{**worst, "node": len(steps) - 1}], len(steps) - 1
    search["graph"] |= {"labels": steps, "children": [[n + 1] for n in range(len(steps) - 1)] + [[]]}
    content["local"] = None
    if rng.random() < 0.7:
        content["cost"] |= {"exact_evaluations": 1, "values_outside": 0}
        search["graph"] |= {"created": 0, "inner_orders": {}}
    if rng.random() < 0.5:
        search["expansion"] = None
        choice |= {"allowed": loose, "limit": len(label) - 1}
        return LIMITS  # the claim names them
    return LEFT_OUT


def one_subset_of_all(content, rng):
    """Cut a proof by all subsets to a few of them, or say that there were more."""
    part, search = content["all_subsets"], search_of(content)
    need(part is not None)
    how = rng.randrange(3)
    if how == 0:
        part["evaluated"] = rng.choice([1, part["evaluated"] * 2, part["evaluated"] + 1])
    elif how == 1:
        part["least"] = 0.0
        return SUBSETS
    else:
        best = next(leaf for leaf in search["leaves"] if leaf["node"] == search["answer"])
        search["leaves"], search["answer"] = [{**best, "node": 1}], 1
        search["graph"] |= {"labels": [[], search["graph"]["labels"][best["node"]]], "children": [[1], []]}
        part["evaluated"] = rng.choice([1, part["evaluated"]])
    return None


def fewer_compared(content, rng):
    local = content["local"]
    need(local is not None)
    how = rng.randrange(3)
    if how == 0:
        local["compared"] = local["compared"][: len(local["compared"]) // 2]
    elif how == 1:
        local["choice"], local["compared"] = None, local["compared"][:1]
    else:
        for one in local["compared"]:
            one["value"] *= 0.5
        return VALUES
    return NEARBY if content["data"] is None else None


def more_compared(content, rng):
    """Add a claim that was never proved."""
    search = search_of(content)
    mine = next((leaf for leaf in search["leaves"] if leaf["node"] == search["answer"]), None)
    need(mine is not None and mine["exact"] and content["local"] is None)
    label = search["graph"]["labels"][search["answer"]]
    content["local"] = {"epsilon": search["epsilon"], "compared": [{"label": label, "value": mine["lower"]}]}
    return NEARBY


def other_test_rows(content, rng):
    """Change the trials of test rows, by hand or so that the intervals follow."""
    new, how = new_of(content), rng.randrange(6)
    need(new["table"] is not None)
    score, gains = new["table"]["score"], new["table"]["gains"]
    if how == 0:  # every row a hundred times
        new["rows"] *= 100
        new["table"] |= {"score": [[100 * one for one in counts] for counts in score]}
        new["table"] |= {"gains": [[[100 * one for one in counts] for counts in gain] for gain in gains]}
    elif how == 1:  # all predictions are right
        for counts in score:
            counts[:] = [0] * (len(counts) - 1) + [sum(counts)]
    elif how == 2:  # the others are wrong where the answer is right
        for counts in chain.from_iterable(gains):
            counts.reverse()
    elif how == 3:
        score[0][-1] += 1
    elif how == 4:
        rng.choice([score, *gains]).pop()
    else:
        score[0].append(0)
    if rng.random() < 0.5:
        scored_again(content)
    return TEST_ROWS if how < 3 else None


def scored_again(content):
    """Let the scores and intervals of new rows follow from their trials."""
    new, table, level = content["new_rows"], content["new_rows"]["table"], content["new_rows"]["delta"] / 100
    evidence = max(1, sum(table["score"][0])) / 4
    new["interval"] = ends_of(table["score"], evidence, level, OF_SCORE) if table["score"] else [0, 1]
    score, gain = sum(new["interval"]) / 2, 0.0
    if table["gains"] and table["gains"][0]:
        new["difference_interval"] = [2 * end - 1 for end in ends_of(table["gains"][0], evidence, level, OF_DIFFERENCE)]
        new["best_other"], gain = 1.0, min(score, max(score - 1, sum(new["difference_interval"]) / 2))
    new |= {"score": score, "judges": dict.fromkeys(new["judges"], score), "all_columns": score - gain}


def other_new_rows(content, rng):
    """Change what is said about new rows by hand."""
    new, how = new_of(content), rng.randrange(9)
    told = ESTIMATE if new["table"] is None else TEST_ROWS
    if how == 0:
        new["trained"] = 10**6
    elif how == 1:
        new["rows"] *= 100
        return told
    elif how == 2:
        new["score"] = min(1.0, new["score"] + 0.1)
    elif how == 3:
        new["judges"] = dict.fromkeys(new["judges"], 0.99)
        new["score"] = 0.99
        return told
    elif how == 4 and new["interval"]:
        new["interval"][0] = (new["interval"][0] + new["score"]) / 2
    elif how == 5 and new["difference_interval"]:
        new["difference_interval"][0] += 0.1
    elif how == 6:
        new["guessing"] = None  # so that nobody reads that the score is like guessing
        return GUESSING
    elif how == 7:
        new["score"], new["judges"] = 1.2, dict.fromkeys(new["judges"], 1.2)
        return told
    else:
        new["how"] = "test rows"
        new["trained"] = content["data"]["rows"]
        return ESTIMATE
    return None


def proof_of_an_estimate(content, rng):
    """Put a proof under an estimate from folds, groups or weights."""
    new = new_of(content)
    need(new["table"] is None)
    sets = sorted({content["path"]["size"], content["path"]["rows"][-1]["size"]})
    new["table"] = {"measure": "auc", "sets": sets, "score": [[0, 0, new["rows"] // 2]] * 50}
    new["table"]["gains"] = [[[0, 0, new["rows"] // 2, 0, 0]] * 50] * (len(sets) - 1)
    new |= {"delta": 0.05, "how": rng.choice([new["how"], "test rows"]), "why_no_proof": None}
    new |= {"interval": [0.9, 1.0], "difference_interval": [0.0, 0.5], "best_other": 0.0}
    if rng.random() < 0.5:
        new["trained"] = content["data"]["rows"]
        if rng.random() < 0.5:
            scored_again(content)
    return TEST_ROWS


def rows_of_nobody(content, rng):
    """Take out what the test rows are drawn again from, or who judged them, or sell their score as another."""
    new, path, how = new_of(content), content["path"], rng.randrange(5)
    need(new["how"] == "test rows" and new["table"] is not None)
    if how == 0:
        path["seed"] = rng.choice([None, -1, 2**32, "0"])
    elif how == 1:
        content["path"] = None
    elif how == 2:
        new["score"] = min(1.0, new["score"] + 0.01)
        new["judges"] = {f"model {number}": new["score"] for number, _ in enumerate(new["judges"])}
        path["judges"] = content["data"]["objective"]["judges"] = [*new["judges"]]
    elif how == 3:
        content["data"]["objective"]["scoring"] = "accuracy"
        new["table"] |= {"measure": "accuracy", "score": [[0] * (len(new["table"]["score"][0]) - 1) + [new["rows"]]]}
    else:  # whoever hands rows in says which ones they were
        new["how"] = "given rows"
    if rng.random() < 0.5:
        scored_again(content)
    return TEST_ROWS


def fewer_rivals(content, rng):
    """Compare the answer with fewer sets, those that are no rivals."""
    new = new_of(content)
    need(new["table"] is not None and len(new["table"]["sets"]) > 2)
    gone = rng.randrange(1 + (content["path"]["size"] < content["path"]["rows"][-1]["size"]), len(new["table"]["sets"]))
    new["table"]["sets"].pop(gone)
    new["table"]["gains"].pop(gone - 1)
    if rng.random() < 0.5:
        scored_again(content)
    if rng.random() < 0.5:  # as if time had been over
        content["reason"] = "max_time"
    return ENDED


def impossible_path(content, rng):
    """Write more folds, or higher scores, than there can be, or a reason why there is no proof that is none."""
    path, new, how = content["path"], new_of(content), rng.randrange(3)
    need(path is not None)
    if how == 0:
        path["folds"] = path["folds_planned"] = 10**9
    elif how == 1:
        rng.choice(path["rows"])["score"] = 7.5
    else:
        need(new["table"] is None)
        new |= {"why_no_proof": "weights", "standard_error": 1e-4}


def no_score(content, rng):
    """Leave the honest score out, so that the higher one of the path is printed."""
    need(content["path"] is not None and new_of(content))
    content["new_rows"] = None
    how = rng.randrange(3)
    if how == 0:
        content["path"]["asked"] = True
        return "estimates"
    if how == 1:
        content["told"] = {"notes": ["no score on new rows is known"]}  # and so the checker says
        return "estimates"
    return "estimates" if content["path"].get("asked") else None


def other_path(content, rng):
    """Change the set, the size or the scores of a row of the path."""
    path = content["path"]
    need(path is not None)
    row, how = rng.choice(path["rows"]), rng.randrange(5)
    if how == 0:
        row["features"] = row["features"][1:] or ["x0", "x1"]
    elif how == 1:
        path["size"] = rng.choice([one["size"] for one in path["rows"]])
    elif how == 2:
        content["features"] = row["features"]
    elif how == 3:
        path["rows"].remove(row)
    else:
        row["difference"] = 0.2
    return


def search_of(content):
    need(content["search"] is not None)
    return content["search"]


def data_of(content):
    need(content["data"] is not None)
    return content["data"]


def new_of(content):
    need(content["new_rows"] is not None)
    return content["new_rows"]


def cost_of(content):
    return content["cost"].get("exact_evaluations", 0)


class UnfitError(Exception):
    """A forger can do nothing with this certificate."""


def need(fine):
    if not fine:
        raise UnfitError


WRITTEN_BY_HAND = "by hand"  # nothing is made to follow from the leaves
FORGERS = tuple(
    one for one in list(globals().values()) if isfunction(one) and list(signature(one).parameters) == ["content", "rng"]
)


def forgeries(genuine, many, seed):
    """Yield forged certificates with the genuine one, who forged it, and what may be taken as written."""
    rng, made, contents = random.Random(seed), 0, [whole(one.certificate) for one in genuine]
    while made < many:
        place, forger = rng.randrange(len(genuine)), FORGERS[made % len(FORGERS)]
        one, content = genuine[place], twin(contents[place])
        try:
            excuse = forger(content, rng)
        except UnfitError:
            continue
        made += 1
        if excuse is not WRITTEN_BY_HAND:
            rewritten(content)
        yield one, forger.__name__, content, excuse


def test_no_forgery_is_accepted_that_says_more(genuine):
    refused, told, with_data = Counter(), Counter(), Counter()
    for one, forger, content, excuse in forgeries(genuine, MANY, 0):
        own = one.keywords.get("bound")
        report = check(content, own_bound=own and (own.name, own.check))
        if not report.holds:
            refused[forger] += 1
        elif more := strengthened(whole(one.certificate), content):
            taken = ", ".join(report.taken_as_written) if excuse else ""
            assert str(excuse) in taken, f"{forger} of {one.name} says more ({more}), {excuse!r} is not in {taken}"
            told[forger] += 1
            if excuse in (VALUES, TEST_ROWS, SUBSETS) and one.data:
                verdict = judged(content, *one.data, **one.keywords)
                known = not verdict or (excuse == TEST_ROWS and "It was not computed again" in str(verdict))
                assert known, f"{forger} of {one.name} says more ({more}) and passes with its data: {verdict}"
                with_data[forger] += 1
    assert refused.total() > MANY // 2, refused
    assert set(refused) | set(told) == {one.__name__ for one in FORGERS}, "every forger is found out at times"
    print(f"{refused.total()} of {MANY} refused, {with_data.total()} more with their data")
