"""Whether every part of a certificate is of the kind it must be, before anything is computed from it."""

from __future__ import annotations

import re
from numbers import Integral, Real
from typing import Any

from bestleaf.certificate.compare import CLOSE
from bestleaf.certificate.errors import need
from bestleaf.certificate.record import FORMAT, FORMAT_VERSION
from bestleaf.examples import VALUE_COST
from bestleaf.objectives import estimator_in_words, neighbours_in_words

REASONS = (
    "identified",
    "max_samples",
    "max_time",
    "max_memory",
    "interrupted",
    "callback",
    "no_workers",
    "unfinished",
)
TERMINAL = ("exact", "noisy")
TEXTS = ("rule", "bound", "stopping", "proposal", "proof")
TIES = ("half", "strict", "row_order")


def is_whole(value: Any, least: int = 0) -> bool:
    """Whether a value is a whole number from `least` on."""
    return not isinstance(value, bool) and isinstance(value, Integral) and int(value) >= least


def is_number(value: Any, low: float, high: float) -> bool:
    """Whether a value is a number between two ends, but for rounding."""
    return not isinstance(value, bool) and isinstance(value, Real) and low - CLOSE <= float(value) <= high + CLOSE


def check_form(content: dict[str, Any]) -> None:
    """Check the kinds and ranges of all parts that later checks, words and pages read."""
    need(content["format"] == FORMAT, f"the format must be {FORMAT!r}, got {content['format']!r}")
    version = content["format_version"]
    need(version == FORMAT_VERSION, f"the format version must be {FORMAT_VERSION}, got {version!r}")
    need(isinstance(content["bestleaf"], str), f"the version of bestleaf must be a text, got {content['bestleaf']!r}")
    need(content["reason"] in REASONS, f"the reason must be one of {', '.join(REASONS)}, got {content['reason']!r}")
    _check_texts(content)
    _check_search(content["search"])
    _check_cost(content["cost"])
    _check_nodes(content)
    data = content["data"]
    if data is None:
        for name in ("features", "report", "unseen"):
            need(content.get(name) is None, f"the certificate is not about data, so it must have no {name!r}")
        return
    _check_table(data)
    _check_choice(data)
    _check_objective(data)
    _check_subsets(content)


def _check_subsets(content: dict[str, Any]) -> None:
    """Check that nodes are different subsets of units, that children hold their parents, and that leaves are nodes."""
    labels, units = content["graph"]["labels"], len(content["data"]["groups"])
    for label in labels:
        known = isinstance(label, list) and all(is_whole(unit, -1) and unit < units for unit in label)
        need(known, f"the label {label!r} must list units of the data")
        subset = label[:-1] if label[-1:] == [-1] else label
        need(subset == sorted({*subset} - {-1}), f"the label {label} must list units once and in order")
    need(len(set(map(tuple, labels))) == len(labels), "two nodes of the graph have the same label")
    for node, below in enumerate(content["graph"]["children"]):
        for child in below:
            holds = labels[node][-1:] != [-1] and set(labels[node]) <= set(labels[child])
            need(holds, f"{labels[child]} cannot be reached from {labels[node]}")
    for leaf in content["leaves"]:
        stands = labels[leaf["node"]]
        need(leaf["label"] == stands, f"the leaf {leaf['label']} stands at a node called {stands}")
        need(leaf["terminal"] == (stands[-1:] == [-1]), f"the leaf {stands} must be terminal if and only if it ends")


def _check_texts(content: dict[str, Any]) -> None:
    claims = [claim["text"] for claim in content["claims"]]
    for text in (*claims, *content["not_claimed"]):
        need(isinstance(text, str), f"a claim must be a text, got {text!r}")
    need(bool(claims), "a certificate must claim something, got no claim")


def _check_search(search: dict[str, Any]) -> None:
    need(search["task"] in ("leaf", "arm"), f"the task must be leaf or arm, got {search['task']!r}")
    for name in TEXTS:
        need(isinstance(search[name], str), f"{name} must be a text, got {search[name]!r}")
    for name in ("epsilon", "delta"):
        need(is_number(search[name], 0, 1), f"{name} must be between 0 and 1, got {search[name]!r}")
    expansion, seed = search["expansion"], search["seed"]
    need(expansion is None or is_number(expansion, 0, 1), f"expansion must be between 0 and 1, got {expansion!r}")
    need(seed is None or isinstance(seed, Integral), f"the seed must be a whole number, got {seed!r}")


def _check_cost(cost: dict[str, Any]) -> None:
    for name in ("samples", "warmup_samples", "exact_evaluations", "growths"):
        need(is_whole(cost[name]), f"the cost {name!r} must be a whole number of at least 0, got {cost[name]!r}")
    need(is_whole(cost.get("rollouts", 0)), f"the cost 'rollouts' must be a whole number, got {cost.get('rollouts')!r}")
    seconds = cost["seconds"]
    need(is_number(seconds, 0, 1e12), f"the cost 'seconds' must be a number of at least 0, got {seconds!r}")
    need(cost["warmup_samples"] <= cost["samples"], "the samples to warm up must be part of all samples")


def _check_nodes(content: dict[str, Any]) -> None:
    nodes = len(content["graph"]["labels"])
    for node in content["graph"]["minimizes"]:
        need(is_whole(node) and node < nodes, f"an opponent's node must be a node of the graph, got {node!r}")
    for leaf in content["leaves"]:
        name = leaf["label"]
        for flag in ("exact", "terminal"):
            need(isinstance(leaf[flag], bool), f"{flag!r} of leaf {name} must be true or false, got {leaf[flag]!r}")
        need(is_whole(leaf["count"]) and is_whole(leaf["order"]), f"leaf {name} must have a count and an order")
        mean = leaf["mean"]
        need(leaf["count"] == 0 if mean is None else is_number(mean, 0, 1), f"leaf {name} must have a mean in [0, 1]")
        evidence = (leaf["lower_evidence"], leaf["upper_evidence"])
        listed = all(isinstance(one, list) or one is None for one in evidence)
        need(listed and not (leaf["exact"] and any(evidence)), f"leaf {name} has evidence that is no list of numbers")
        for side in ("lower", "upper", "share"):
            need(is_number(leaf[side], 0, 1), f"{side!r} of leaf {name} must be in [0, 1], got {leaf[side]!r}")


def _check_table(data: dict[str, Any]) -> None:
    names, rows, digest = data["names"], data["rows"], data["fingerprint"]
    texts = isinstance(names, list) and all(isinstance(name, str) for name in names)
    need(texts and len(set(names)) == len(names), "the names of the features must be different texts")
    found = sorted(feature for group in data["groups"] for feature in group)
    shared_out = all(map(is_whole, found)) and found == list(range(len(names))) and all(data["groups"])
    need(shared_out, "every feature must be in exactly one group")
    need(is_whole(rows, 2), f"the number of rows must be a whole number of at least 2, got {rows!r}")
    hexadecimal = isinstance(digest, str) and re.fullmatch("[0-9a-f]{64}", digest) is not None
    need(hexadecimal, f"the fingerprint must be 64 hexadecimal digits, got {digest!r}")


def _check_choice(data: dict[str, Any]) -> None:
    choice, units = data["choice"], len(data["groups"])
    listed = [*choice["allowed"], *choice["forced"]]
    known = all(is_whole(unit) and unit < units for unit in listed) and len(set(listed)) == len(listed)
    need(known, "the units allowed and forced must be different units of the data")
    limit, least = choice["limit"], max(1, len(choice["forced"]))
    fine = is_whole(limit, least) and limit <= len(listed)
    need(fine, f"the largest number of units must be between {least} and {len(listed)}, got {limit!r}")


def _check_objective(data: dict[str, Any]) -> None:
    """Check the settings of the objective, and that its words follow from them."""
    terminal = data["terminal"]
    need(terminal in TERMINAL, f"terminal leaves must be one of {', '.join(TERMINAL)}, got {terminal!r}")
    if data["objective"].get("kind") == "estimator":
        _check_estimator(data)
    else:
        _check_neighbours(data)


def _check_estimator(data: dict[str, Any]) -> None:
    objective, written = data["objective"], data["objective_in_words"]
    for name in ("name", "estimator", "scoring", "cv"):
        need(isinstance(objective[name], str), f"the {name} of the objective must be a text, got {objective[name]!r}")
    for name in ("fresh_splits", "weighted", "grouped"):
        need(isinstance(objective[name], bool), f"{name} must be true or false, got {objective[name]!r}")
    need(is_whole(objective["splits"], 1), f"splits must be a whole number of at least 1, got {objective['splits']!r}")
    low, high = objective["score_range"]
    fine = is_number(low, -1e300, 1e300) and is_number(high, -1e300, 1e300) and low < high
    need(fine, f"score_range must be two numbers, the lower one first, got {objective['score_range']!r}")
    words = estimator_in_words(objective, sampled=data["terminal"] == "noisy")
    need(written == words, f"the objective in words does not follow from its settings: {written!r}")


def _check_neighbours(data: dict[str, Any]) -> None:
    objective, rows, written = data["objective"], data["rows"], data["objective_in_words"]
    need(objective["task"] in ("classification", "regression"), f"no task is called {objective['task']!r}")
    need(objective["ties"] in TIES, f"ties must be one of {', '.join(TIES)}, got {objective['ties']!r}")
    for name in ("scale", "drop_zero"):
        need(isinstance(objective[name], bool), f"{name} must be true or false, got {objective[name]!r}")
    for name, least, most in (("n_neighbors", 1, rows - 1), ("subsample", 2, rows)):
        fine = is_whole(objective[name], least) and objective[name] <= most
        need(fine, f"{name} must be a whole number between {least} and {most}, got {objective[name]!r}")
    several, part = re.search(r"\((\d+) classes\)", written), re.search(r"subsample of ([\d,]+) of", written)
    classes = 0 if objective["task"] == "regression" else int(several[1]) if several else 2
    sampled = data["terminal"] == "noisy"
    queries = objective["subsample"] if sampled else int(part[1].replace(",", "")) if part else rows
    words = neighbours_in_words(
        classes=classes, n_neighbors=objective["n_neighbors"], queries=queries, rows=rows, sampled=sampled
    )
    fits = 2 <= queries <= rows and (sampled or queries == rows or rows**2 > VALUE_COST)
    need(written == words and fits, f"the objective in words does not follow from its settings: {written!r}")
