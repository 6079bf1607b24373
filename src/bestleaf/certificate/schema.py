"""The form of a certificate: which parts it has at every level, and of what kind each one is.

Nothing is computed from a certificate before its form was checked. A part that is unknown is refused: nobody has
looked at what it says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from numbers import Integral
from typing import Any

from bestleaf.certificate.names import is_identifier, is_score_name
from bestleaf.certificate.record import FORMAT, FORMAT_VERSION
from bestleaf.certificate.refusal import is_number, is_whole, need

CERTIFICATE = (
    *("format", "format_version", "bestleaf", "answer", "lower", "upper", "features", "gap", "reason", "search"),
    *("cost", "data", "challenges", "leaves", "graph", "claims", "not_claimed"),
)
SEARCH = ("task", "epsilon", "delta", "rule", "bound", "stopping", "expansion", "proposal", "seed", "proof")
COST = ("samples", "warmup_samples", "exact_evaluations", "values_outside", "growths", "seconds")
GRAPH = ("labels", "children", "minimizes", "two_player", "created", "inner_orders")
LEAF = (
    *("node", "label", "terminal", "exact", "count", "mean", "lower", "upper", "order", "share"),
    *("lower_evidence", "upper_evidence"),
)
DATA = ("names", "rows", "fingerprint", "groups", "choice", "terminal", "objective", "classes", "queries")
CHOICE = ("allowed", "forced", "limit")
NEIGHBOURS = ("task", "n_neighbors", "subsample", "ties", "scale", "drop_zero")
ESTIMATOR = (
    *("kind", "name", "estimator", "scoring", "score_range", "cv", "splits", "fresh_splits", "weighted", "grouped"),
)
REPORT = ("history", "by_size", "feature_scores", "without")
UNSEEN = ("score", "rows", "splits", "times")
HISTORY = ("elapsed", "samples", "gap", "score")
CHALLENGES = {"local": ("subsets",), "quantile": ("alpha", "attempt", "drawn", "subsets")}

REASONS = ("identified", "max_samples", "max_time", "max_memory", "interrupted", "callback", "no_workers", "unfinished")
TERMINAL = ("exact", "noisy")
STOPPING = ("sound", "paper", "budget")
PROOFS = ("none", "conditional", "rigorous")  # the weakest first
PROPOSALS = ("random", "rave", "lookahead")
DRAWN = ("rollouts", "uniform moves")
ALGORITHMS = ("fuse", "fuse-ucd", "alphafuse")  # that only a budget ends
TIES = ("half", "strict", "row_order")
VALUE_COST = 10**9  # distances of one exact value, at most; of larger data it is computed on a part of the rows
MOST = 10**15  # samples, values, nodes: more than any search takes
WORD = re.compile(r"[\w .,:;+*/='()\[\]<>{}~-]{1,200}")  # how an option of an algorithm may be written


def parts(place: Any, where: str, required: Iterable[str], optional: Iterable[str] = ()) -> None:
    """Check that a part of the certificate has the parts it must have, and no unknown ones."""
    if not isinstance(place, dict):
        need(False, f"{where} must have named parts, got {place!r:.60}")
    required = tuple(required)
    if len(place) == len(required) and all(name in place for name in required):
        return
    if strange := [name for name in place if name not in required and name not in tuple(optional)]:
        need(False, f"there is an unknown part {strange[0]!r} in {where}, which nobody has checked")
    if lacking := [name for name in required if name not in place]:
        need(False, f"the part {lacking[0]!r} is missing in {where}")


def check_form(content: dict[str, Any]) -> None:
    """Check the kinds and ranges of all parts that later checks, words and pages read."""
    need(content.get("format") == FORMAT, f"the format must be {FORMAT!r}, got {content.get('format')!r}")
    version = content.get("format_version")
    need(version == FORMAT_VERSION, f"the format version must be {FORMAT_VERSION}, got {version!r}")
    parts(content, "the certificate", CERTIFICATE, ("report", "unseen", "checksum"))
    written_by = content["bestleaf"]
    fine = isinstance(written_by, str) and re.fullmatch(r"[\w.+-]{1,40}", written_by) is not None
    need(fine, f"the version of bestleaf must be a text, got {written_by!r}")
    _check_result(content)
    _check_search(content["search"])
    _check_cost(content["cost"])
    _check_graph(content)
    _check_leaves(content["leaves"], len(content["graph"]["labels"]))
    _check_challenges(content["challenges"])
    if content["data"] is None:
        for name in ("features", "report", "unseen"):
            need(content.get(name) is None, f"the certificate is not about data, so it must have no {name!r}")
        return
    _check_data(content["data"])
    if content.get("unseen") is not None:
        parts(content["unseen"], "the score on unseen examples", UNSEEN)
    if content.get("report") is not None:
        parts(content["report"], "the report", REPORT, ["selection_frequency"])
        for row in content["report"]["history"]:
            parts(row, "the history", HISTORY)


def _check_result(content: dict[str, Any]) -> None:
    """Check why the search ended, the interval and gap of the answer, and that claims are texts."""
    need(content["reason"] in REASONS, f"the reason must be one of {', '.join(REASONS)}, got {content['reason']!r}")
    for name, least in (("lower", 0), ("upper", 0), ("gap", -1)):
        value = content[name]
        need(is_number(value, least, 1), f"{name!r} must be a number in [{least}, 1], got {value!r}")
    claims = [claim["text"] for claim in content["claims"]]
    for text in (*claims, *content["not_claimed"]):
        need(isinstance(text, str), f"a claim must be a text, got {text!r}")
    need(bool(claims), "a certificate must claim something, got no claim")


def _check_search(search: Any) -> None:
    parts(search, "the search", SEARCH, ["options"])
    need(search["task"] in ("leaf", "arm"), f"the task must be leaf or arm, got {search['task']!r}")
    for name, known in (("stopping", STOPPING), ("proof", PROOFS), ("proposal", PROPOSALS)):
        need(search[name] in known, f"{name} must be one of {', '.join(known)}, got {search[name]!r}")
    by_budget = search["stopping"] == "budget"
    for name in ("rule", "bound"):
        fine = is_identifier(search[name]) or (by_budget and search[name] in ALGORITHMS)
        need(fine, f"{name} must be a name of letters, digits and underscores, at most 60, got {search[name]!r:.80}")
    epsilon, delta, expansion, seed = (search[name] for name in ("epsilon", "delta", "expansion", "seed"))
    need(is_number(epsilon, 0, 1), f"epsilon must be between 0 and 1, got {epsilon!r}")
    need(is_number(delta, 0, 1) and 0 < delta < 1, f"delta must be between 0 and 1, got {delta!r}")
    need(expansion is None or is_number(expansion, 0, 1), f"expansion must be between 0 and 1, got {expansion!r}")
    need(seed is None or isinstance(seed, Integral), f"the seed must be a whole number, got {seed!r}")
    need(by_budget or "options" not in search, "options are those of an algorithm that a budget ends")
    for name, value in search.get("options", {}).items():
        fine = is_identifier(name) and isinstance(value, str) and WORD.fullmatch(value) is not None
        need(fine, f"the option {name!r} must have a short text, got {value!r:.80}")


def _check_cost(cost: Any) -> None:
    parts(cost, "the cost", COST, ["rollouts"])
    for name in (*COST[:-1], "rollouts"):
        many = cost.get(name, 0)
        fine = is_whole(many) and many <= MOST
        need(fine, f"the cost {name!r} must be a whole number of at least 0, got {many!r}")
    seconds = cost["seconds"]
    need(is_number(seconds, 0, 1e12), f"the cost 'seconds' must be a number of at least 0, got {seconds!r}")
    need(cost["warmup_samples"] <= cost["samples"], "the samples to warm up must be part of all samples")


def _check_graph(content: dict[str, Any]) -> None:
    graph = content["graph"]
    parts(graph, "the graph", GRAPH)
    labels, children = graph["labels"], graph["children"]
    listed = isinstance(labels, list) and isinstance(children, list) and all(isinstance(one, list) for one in children)
    need(listed and len(labels) > 0, "the graph must list the label and the children of every node")
    need(len(children) == len(labels), f"the graph has {len(children)} nodes but {len(labels)} labels")
    for below in children:
        known = all(is_whole(child) and child < len(labels) for child in below)
        need(known, "the graph has an edge to a node that does not exist")
        need(len(set(below)) == len(below), "the graph has the same edge twice")
    for node in graph["minimizes"]:
        fine = is_whole(node) and node < len(labels)
        need(fine, f"an opponent's node must be a node of the graph, got {node!r}")
    need(isinstance(graph["two_player"], bool), f"two_player must be true or false, got {graph['two_player']!r}")
    need(graph["two_player"] or not graph["minimizes"], "an opponent moves only in a game of two players")
    created = graph["created"]
    need(is_whole(created) and created <= MOST, f"the number of leaves created must be whole, got {created!r}")
    orders = graph["inner_orders"]
    listed = isinstance(orders, list) and len(orders) == len(labels) and all(map(is_whole, orders))
    need(listed, "the graph must list the place in the order of creation of every inner node, 0 for none")
    answer = content["answer"]
    known = is_whole(answer) and answer < len(labels)
    need(known, f"the answer must be a node of the graph, got {answer!r}")


def _check_leaves(leaves: Any, nodes: int) -> None:
    need(isinstance(leaves, list) and len(leaves) > 0, "the certificate must list the leaves of the graph")
    for leaf in leaves:
        parts(leaf, "a leaf", LEAF)
        name = f"{leaf['label']!r:.80}"
        for flag in ("exact", "terminal"):
            need(isinstance(leaf[flag], bool), f"{flag!r} of leaf {name} must be true or false, got {leaf[flag]!r}")
        for number in ("count", "order"):
            fine = is_whole(leaf[number]) and leaf[number] <= MOST
            need(fine, f"leaf {name} must have a count and an order, got {leaf[number]!r}")
        need(is_whole(leaf["node"]) and leaf["node"] < nodes, f"leaf {name} must be a node of the graph")
        evidence = (leaf["lower_evidence"], leaf["upper_evidence"])
        listed = all(one is None or isinstance(one, list) for one in evidence)
        need(listed and not (leaf["exact"] and any(evidence)), f"leaf {name} has evidence that is no list of numbers")
        mean = leaf["mean"]
        fine = leaf["count"] == 0 if mean is None else leaf["count"] > 0 and is_number(mean, 0, 1)
        need(fine, f"leaf {name} must have a mean in [0, 1] if and only if it was looked at, got {mean!r}")
        for side in ("lower", "upper", "share"):
            need(is_number(leaf[side], 0, 1), f"{side!r} of leaf {name} must be in [0, 1], got {leaf[side]!r}")


def _check_challenges(challenges: Any) -> None:
    need(isinstance(challenges, dict), "the challenges must have names")
    for name, challenge in challenges.items():
        need(name in CHALLENGES, f"no guarantee is called {name!r}")
        parts(challenge, f"the challenge {name}", CHALLENGES[name], ["choice"] if name == "local" else [])
        for label, value in challenge["subsets"]:
            need(is_number(value, 0, 1), f"the value of {label!r:.80} in the claim {name!r} must be in [0, 1]")
    if "choice" in challenges.get("local", {}):
        check_choice(challenges["local"]["choice"])
    if "quantile" in challenges:
        alpha, attempt, drawn = (challenges["quantile"][name] for name in CHALLENGES["quantile"][:3])
        need(is_number(alpha, 0, 1) and 0 < alpha < 1, f"alpha must be between 0 and 1, got {alpha!r}")
        need(is_whole(attempt, 1) and attempt <= 1000, f"the attempt must be a number from 1 on, got {attempt!r:.40}")
        need(drawn in DRAWN, f"random leaves must be drawn as {' or '.join(DRAWN)}, got {drawn!r:.40}")


def _check_data(data: Any) -> None:
    """Check the table, what there is to choose from and the objective."""
    parts(data, "the data", DATA)
    names, groups, rows, digest = data["names"], data["groups"], data["rows"], data["fingerprint"]
    texts = isinstance(names, list) and all(isinstance(name, str) for name in names)
    need(texts and len(set(names)) == len(names), "the names of the features must be different texts")
    found = sorted(feature for group in groups for feature in group)
    shared_out = all(map(is_whole, found)) and found == list(range(len(names))) and all(groups)
    need(shared_out, "every feature must be in exactly one group")
    need(is_whole(rows, 2) and rows <= MOST, f"the number of rows must be a whole number of at least 2, got {rows!r}")
    hexadecimal = isinstance(digest, str) and re.fullmatch("[0-9a-f]{64}", digest) is not None
    need(hexadecimal, f"the fingerprint must be 64 hexadecimal digits, got {digest!r}")
    check_choice(data["choice"], len(groups))
    terminal = data["terminal"]
    need(terminal in TERMINAL, f"terminal leaves must be one of {', '.join(TERMINAL)}, got {terminal!r}")
    if data["objective"].get("kind") == "estimator":
        _check_estimator(data)
    else:
        _check_neighbours(data)


def check_choice(choice: Any, units: int = MOST) -> None:
    """Check what there is to choose from: units that may be chosen, units that must be, and how many at most."""
    parts(choice, "the choice", CHOICE)
    listed = [*choice["allowed"], *choice["forced"]]
    known = all(is_whole(unit) and unit < units for unit in listed) and len(set(listed)) == len(listed)
    need(known, "the units allowed and forced must be different units of the data")
    limit, least = choice["limit"], max(1, len(choice["forced"]))
    fine = is_whole(limit, least) and limit <= len(listed)
    need(fine, f"the largest number of units must be between {least} and {len(listed)}, got {limit!r}")


def _check_estimator(data: dict[str, Any]) -> None:
    objective = data["objective"]
    parts(objective, "the objective", ESTIMATOR)
    for name, is_name in (("name", is_identifier), ("scoring", is_score_name)):  # they become part of a sentence
        need(is_name(objective[name]), f"the {name} of the objective must be a name, got {objective[name]!r:.80}")
    for name in ("estimator", "cv"):
        need(isinstance(objective[name], str), f"the {name} of the objective must be a text, got {objective[name]!r}")
    for name in ("fresh_splits", "weighted", "grouped"):
        need(isinstance(objective[name], bool), f"{name} must be true or false, got {objective[name]!r}")
    need(is_whole(objective["splits"], 1), f"splits must be a whole number of at least 1, got {objective['splits']!r}")
    low, high = objective["score_range"]
    fine = is_number(low, -1e300, 1e300) and is_number(high, -1e300, 1e300) and low < high
    need(fine, f"score_range must be two numbers, the lower one first, got {objective['score_range']!r}")
    counted = data["classes"] is None and data["queries"] is None
    need(counted, "classes and queries are those of nearest neighbours, not of an estimator")


def _check_neighbours(data: dict[str, Any]) -> None:
    objective, rows, classes, queries = data["objective"], data["rows"], data["classes"], data["queries"]
    parts(objective, "the objective", NEIGHBOURS)
    need(objective["task"] in ("classification", "regression"), f"no task is called {objective['task']!r}")
    need(objective["ties"] in TIES, f"ties must be one of {', '.join(TIES)}, got {objective['ties']!r}")
    for name in ("scale", "drop_zero"):
        need(isinstance(objective[name], bool), f"{name} must be true or false, got {objective[name]!r}")
    for name, least, most in (("n_neighbors", 1, rows - 1), ("subsample", 2, rows)):
        fine = is_whole(objective[name], least) and objective[name] <= most
        need(fine, f"{name} must be a whole number between {least} and {most}, got {objective[name]!r}")
    real = objective["task"] == "regression"
    fine = is_whole(classes) and (classes == 0 if real else 2 <= classes <= rows)
    need(fine, f"the number of classes must go with the task {objective['task']}, got {classes!r}")
    if data["terminal"] == "noisy":
        fits = queries == objective["subsample"]
    else:
        fits = is_whole(queries, 2) and (queries == rows or (queries < rows and rows**2 > VALUE_COST))
    need(fits, f"values of {rows:,} rows cannot be of {queries!r} of them")
