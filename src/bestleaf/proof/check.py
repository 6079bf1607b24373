"""Check a certificate of bestleaf from its file alone: `python check.py certificate.json` needs nothing but Python.

Exit code 0: what it claims follows from its numbers, apart from what is printed as not checked. 1: refused, with the
reason. 2: it cannot be read. What writes certificates shares no code with this file.

A certificate holds if every field has its form and the checksum is right; every interval of a leaf follows from its
evidence at its share of delta, and the shares sum to at most delta; the interval of the answer and both gaps follow
from the leaves by the bounds of the nodes; a settled answer has a gap of at most epsilon; and the other claims (one
step away, all subsets, new rows) follow from their numbers. Numbers computed again may differ by CLOSE: an end of an
interval may be too tight by CLOSE and a gap by twice as much. Gaps are printed rounded up to six digits, which is more.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import sys
from bisect import bisect_left, bisect_right, insort
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, chain, groupby, pairwise, repeat
from math import ceil, comb, exp, floor, isclose, isfinite, log, log1p, sqrt
from operator import itemgetter, mul
from types import SimpleNamespace as Part  # a part of a certificate: its fields are attributes
from typing import Any, NamedTuple

LARGEST = 256 * 10**6  # bytes of a file that is read
CLOSE = 1e-9
STOP = -1  # ends the label of a complete subset

# ---- the form: every field of every part with its kind; `name?` may be missing. `[K]` is a list of kind K, `{K}` named
# values, `(K,L)` a list of two, `K?` null or K, `<part>` a part, `a|b` one of two texts; the others are in KINDS.
FORM = """
certificate: format=bestleaf certificate, format_version=count, bestleaf=release, cost=<cost>, features?=[text]?,
    reason=settled|max_samples|max_time|interrupted|exhausted|unfinished, search?=<search>?, local?=<local>?,
    all_subsets?=<all subsets>?, new_rows?=<new rows>?, path?=<path>?, data?=<data>?, told?=<told>?, table?=<table>?,
    checksum?=digest?
search: task=arm|leaf, epsilon=value, delta=fraction, rule=name, bound=name, stopping=name, proposal=name,
    proof=none|conditional|rigorous, answer=count, lower=value, upper=value, gap=number, known_gap=number,
    compared=count, graph=<graph>, leaves=[<leaf>], expansion?=value?, growth?=name?, seed?=whole?,
    plan?=[(count,count)]?
graph: labels=list, children=[[count]], minimizes?=[count], two_player?=flag, created?=count, inner_orders?={positive},
    chance?=[<chance node>]?, endless?=[<endless play>]
leaf: node=count, terminal=flag, exact=flag, count=count, mean=value?, lower=value, upper=value, label?=any,
    order?=count, share?=value, lower_evidence?=numbers?, upper_evidence?=numbers?
chance node: node=count, probabilities=[value]
endless play: node=count, lower=value, upper=value
local: epsilon=value, compared=[<compared>], choice?=<choice>?
compared: label=any, value=value
choice: allowed=[count], forced?=[count], limit=positive
all subsets: evaluated=positive, least=value
new rows: score=number, all_columns=number, rows=positive, trained=positive, judges={number},
    how=nested folds|test rows|given rows, standard_error?=size?, difference_error?=size?, guessing?=number?,
    why_no_proof?=folds|groups|weights|classes|scoring|size?, delta?=fraction?, table?=<rank table>?,
    interval?=(number,number)?, difference_interval?=(number,number)?, best_other?=number?, fingerprint?=digest?
rank table: measure=auc|concordance|accuracy, judges=positive, sets=[positive], lines=[[count]]
path: rows=[<row of the path>], size=positive, order=name, judges=[text], folds=count, folds_planned=count,
    tolerance=number, asked?=flag, chosen_in_folds?={value}, seed?=whole?
row of the path: size=positive, features=[text], difference=number?, judges?=[number], score?=number?,
    standard_error?=size?
data: names=[text], rows=positive, fingerprint=digest, units=[[count]], choice=<choice>, objective=<objective>,
    row_groups?=digest?, row_weights?=digest?, encoding?=<encoding>?
neighbours: kind=neighbours, task=classification|regression, n_neighbors=positive, subsample=positive, scale=flag,
    ties=half|strict|row_order, drop_zero=flag, classes=count, queries=positive, grouped?=flag, weighted?=flag,
    reference_rows?=positive?, query_rows?=positive?
estimator: kind=estimator, name=name, estimator=text, scoring=call, cv=text, splits=positive, fresh_splits=flag,
    weighted=flag, grouped=flag
panel: kind=panel, judges=[text], scoring=call, task=classification|regression, classes=count, grouped?=flag,
    weighted?=flag
encoding: impute=median|mean|most_frequent|keep?, dates=parts|number|drop, levels={[text]}, left_out=[text]
cost: seconds=size, samples?=count, warmup_samples?=count, exact_evaluations?=count, values_outside?=count,
    growths?=count
told: history?=[<step>], by_size?=[(positive,number,[text])], feature_scores?={number?}, without?={number},
    all_features?=number?, training_score?=number?, standard_error?=size?, repeat?=text?, notes?=[text]
step: seconds=size, samples=count, gap=number, score?=number?, leaves?=count?, compared?=count?
table: target=text, task=auto|classification|regression, checksums=[count], groups?=text?, weights?=text?,
    dropped?=[text], kept?=[text], missing?=[text], text_encoding?=text?, holdout?=fraction?, estimator?=text?,
    scoring?=call?, cv?=positive?, left_out?=[text]
"""


class Refused(Exception):  # noqa: N818  the program has made no error
    """The certificate does not hold; the text says why."""


class Report(NamedTuple):
    """Whether a certificate holds, what was checked, what is taken as written, and why it is refused."""

    holds: bool
    lines: tuple[str, ...] = ()
    taken_as_written: tuple[str, ...] = ()
    reason: str = ""


def need(fine: object, reason: str, *values: object) -> None:
    """Refuse the certificate for a reason, in which each {} stands for a value, unless a condition is met."""
    if not fine:
        raise Refused(reason.format(*map(shown, values)) if values else reason)


def shown(value: object, most: int = 80) -> str:
    """Return a value of unknown origin in one line of ASCII."""
    text = json.dumps(value[: 2 * most] if isinstance(value, str) else value, default=repr)
    return text if len(text) <= most else text[: most - 3] + "..."


def matching(pattern: str) -> Callable[[Any], object]:
    """Return the test whether a value is a text of some form."""
    return lambda value: isinstance(value, str) and re.fullmatch(pattern, value, re.ASCII | re.DOTALL)


_NAME, _ARGUMENT = "[A-Za-z_][A-Za-z0-9_]{0,59}", "[\\w=.'-]{1,60}"
KINDS: dict[str, Callable[[Any], object]] = {
    "any": lambda value: True,
    "list": lambda value: isinstance(value, list),
    "numbers": lambda value: type(value) is list and {*map(type, value)} <= {int, float} and all(map(isfinite, value)),
    "flag": lambda value: isinstance(value, bool),
    "whole": lambda value: type(value) is int,
    "count": lambda value: type(value) is int and 0 <= value <= 10**15,
    "positive": lambda value: type(value) is int and 1 <= value <= 10**15,
    "number": lambda value: type(value) in (int, float) and -1e300 <= value <= 1e300,
    "size": lambda value: type(value) in (int, float) and 0 <= value <= 1e300,
    "value": lambda value: type(value) in (int, float) and 0 <= value <= 1,
    "fraction": lambda value: type(value) in (int, float) and 0 < value < 1,
    "text": lambda value: isinstance(value, str),
    "name": matching(_NAME),
    "call": matching(rf"{_NAME}(\(({_ARGUMENT}(, {_ARGUMENT}){{0,9}})?\))?"),
    "release": matching(r"[\w.+-]{1,40}"),
    "digest": matching("[0-9a-f]{64}"),
}
DEFAULTS = {"[": [], "{": {}, "f": False, "c": 0, "v": 0.0}  # by the first letter of a kind that is not null
FIELDS = {
    part: re.findall(r"(\w+)(\??)=(.*?)(?:,\s+|,?$)", fields.replace("\n", " "))
    for part, fields in re.findall(r"^(\w[\w ]*): (.*(?:\n .*)*)", FORM, re.MULTILINE)
}


def read(value: Any, kind: str, what: str) -> Any:
    """Return a value of a kind, with its parts as `Part`; refuse another value."""
    inner, named = kind[1:-1], isinstance(value, dict)
    if kind in KINDS:
        if not KINDS[kind](value):
            raise Refused(f"{what} must be of kind {kind}, got {shown(value)}")
        return value
    if kind[-1] == "?":
        return None if value is None else read(value, kind[:-1], what)
    if kind[0] in "{<":
        need(named, f"{what} must have named values")
        return read_part(value, inner) if kind[0] == "<" else {name: read(value[name], inner, what) for name in value}
    if kind[0] in "[(":
        kinds = inner.split(",", 2) if kind[0] == "(" else [inner] * len(value if isinstance(value, list) else "")
        need(isinstance(value, list) and len(value) == len(kinds), f"{what} must be a list of kind {kind}")
        return [*map(read, value, kinds, repeat(what))]
    KINDS[kind] = matching(kind)
    return read(value, kind, what)


def read_part(value: dict[str, Any], part: str) -> Part:
    """Return a part with all of its fields; refuse a field that is unknown, missing or not of its kind."""
    if part == "objective":  # one of three
        part = value["kind"] if value.get("kind") in ("neighbours", "estimator", "panel") else "panel"
    kept: dict[str, Any] = {}
    for name, optional, kind in FIELDS[part]:
        need(optional or name in value, f"the field {name!r} is missing in the {part}")
        default = None if kind[-1] == "?" or kind == "any" else DEFAULTS.get(kind[0])
        kept[name] = read(value[name], kind, f"{name!r} of the {part}") if name in value else default
    strange = value.keys() - kept.keys()
    need(not strange, f"there is an unknown field {shown(min(strange, default=''))} in the {part}, which nobody checks")
    return Part(**kept)


def content_of(path: str) -> dict[str, Any]:
    """Return the JSON of a file; raise OSError or ValueError if it is no certificate with a checksum."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(found := dict(pairs)) < len(pairs):
            raise ValueError("a field is written twice")
        return found

    number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(number, "rb") as file:
        is_file = stat.S_ISREG(os.fstat(number).st_mode)
        text = file.read(LARGEST + 1) if is_file else b""  # whatever size the system says it has
    if not is_file or len(text) > LARGEST:
        raise ValueError(f"a file of at most {LARGEST // 10**6} MB is needed, no device, no pipe")
    content = json.loads(text.decode(), object_pairs_hook=once, parse_constant=int)  # which NaN is not
    known = isinstance(content, dict) and content.get("format") == "bestleaf certificate"
    if not known or content.get("format_version") != 4 or content.get("checksum") is None:
        raise ValueError("a certificate of bestleaf of format version 4 with its checksum is needed")
    return content


def checksum(content: dict[str, Any]) -> str:
    """Return the SHA-256 of everything but the checksum; it does not depend on the layout of the file."""
    kept = {name: value for name, value in content.items() if name != "checksum"}
    return hashlib.sha256(json.dumps(kept, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


# ---- the data and what may be chosen


class Choice:
    """The subsets of units that may be chosen."""

    def __init__(self, choice: Part) -> None:
        listed, self.limit, self.free = [*choice.allowed, *choice.forced], choice.limit, len(choice.allowed)
        self.forced, self.units = frozenset(choice.forced), frozenset(listed)
        need(len(self.units) == len(listed), "the units allowed and forced must be different")
        need(len(self.forced) <= self.limit <= len(listed), f"limit must be from forced to all, got {self.limit}")

    def count(self, beyond: int = 2**62) -> int:
        """Return how many subsets may be chosen; counting ends beyond a number."""
        many = -(not self.forced)  # nobody can choose nothing
        for size in range(self.limit - len(self.forced) + 1):
            many += comb(self.free, size) if many <= beyond else 0
        return many

    def check(self, label: Any, *, complete: bool = True) -> frozenset[int]:
        """Return the units of a subset; refuse one that may not be chosen. A complete subset ends with STOP."""
        fine = isinstance(label, list) and {*map(type, label)} <= {int} and (label[-1:] == [STOP]) == complete
        units = label[:-1] if fine and complete else label
        fine = fine and units == sorted({*units}) and complete <= len(units) <= self.limit
        need(fine and self.forced <= {*units} <= self.units, "{} is not a subset that may be chosen", label)
        return frozenset(units)


def check_data(c: Part, choice: Choice) -> dict[str, int]:
    """Check names, units, objective and answer; return the unit of each column."""
    data, objective, table = c.data, c.data.objective, c.table
    unit = {data.names[column]: number for number, columns in enumerate(data.units) for column in columns}
    fine = len(unit) == len(data.names) and all(data.units) and max(choice.units) < len(data.units)
    need(fine and sum(map(len, data.units)) == len(unit), "every column must have its own name and be in one unit")
    for flag, digest, column in (("grouped", "row_groups", "groups"), ("weighted", "row_weights", "weights")):
        known = getattr(data, digest) is not None
        fits = known == getattr(objective, flag) and (table is None or known == (getattr(table, column) is not None))
        need(fits, f"{digest} must be written if and only if the rows are {flag}")
    classes = getattr(objective, "classes", 2)
    fine = classes == 0 if getattr(objective, "task", "") == "regression" else 2 <= classes <= data.rows
    need(fine, f"the number of classes must go with the task, got {classes}")
    out = {*data.encoding.left_out} if data.encoding else set()
    fine = c.features and {unit.get(name, -1) for name in c.features} <= choice.units and out.isdisjoint(c.features)
    fine = fine and c.features == sorted({*c.features}, key=data.names.index)
    need(fine, "the answer must be columns that may be chosen, in the order of the table")
    return unit


def columns_of(data: Part, units: Iterable[int]) -> list[str]:
    """Return the names of the columns of some units, in the order of the table."""
    return [data.names[column] for column in sorted(chain.from_iterable(data.units[unit] for unit in units))]


# ---- leaves: every interval follows from samples in [0, 1], at its share of delta

# `betting` spreads each sample over the nodes of GRID and bets the fractions BETS of its capital. The logarithm of what
# a bet gains is concave in the sample, so the capital computed from the grid is at most the true one.
_HALF_GRID = (0.0, 0.002, 0.004, 0.007, 0.011, 0.016, 0.023, 0.033, 0.047, 0.067, 0.095, 0.135, 0.19, 0.27, 0.37)
GRID = (*_HALF_GRID, 0.5, *(1.0 - node for node in reversed(_HALF_GRID)))
BETS = (0.01, 0.019, 0.036, 0.069, 0.13, 0.25, 0.47, 0.9)
WEIGHTS = slice(5, 5 + len(GRID))  # of the grid, in the evidence: count, total and three more numbers come first
WIDTHS = {"hoeffding": 2, "betting": 5 + len(GRID) + len(BETS)}  # numbers of evidence
RATES = ("theory", "beta1", "beta1_published", "beta2")  # of the paper
Bound = Callable[[str, float, float, Sequence[float]], object]  # (side, value, share, evidence): whether it follows


def within(side: str, value: float, evidence: Sequence[float], half: float) -> bool:
    """Whether a bound is at least `half` away from the mean."""
    mean = evidence[1] / evidence[0]
    return value <= mean - half + CLOSE if side == "lower" else value >= mean + half - CLOSE


def hoeffding(side: str, value: float, share: float, evidence: Sequence[float]) -> bool:
    """Whether a bound follows from the stitched boundary of Howard et al. 2021."""
    n = evidence[0]
    return within(side, value, evidence, 1.7 * sqrt((log(log(2 * n)) + 0.72 * log(10.4 / share)) / (4 * n)))


def betting(side: str, value: float, share: float, evidence: Sequence[float]) -> bool:
    """Whether the mean capital of the bets against `value` has reached 2 / share; beyond the value it is larger."""
    count, total, weights = evidence[0], evidence[1], evidence[WEIGHTS]
    if not 0 < value < 1 or (value > total / count) == (side == "lower") or min(weights) < 0:
        return False
    used = [(node, weight) for node, weight in zip(GRID, weights, strict=True) if weight]
    spread = (sum(weights), count), (sum(node * weight for node, weight in used), total)
    gains = [((node / value if side == "lower" else (1 - node) / (1 - value)) - 1, weight) for node, weight in used]
    capital = log_mean([sum([weight * log1p(bet * gain) for gain, weight in gains]) for bet in BETS])
    fits = all(isclose(*both, rel_tol=CLOSE, abs_tol=CLOSE) for both in spread)
    return fits and capital >= log(2 / share) - CLOSE * max(1.0, count)


BOUNDS: dict[str, Bound] = {"hoeffding": hoeffding, "betting": betting}


def log_mean(logs: Sequence[float]) -> float:
    """Return the logarithm of the mean of numbers that are given by their logarithms."""
    highest = max(logs)
    return highest + log(sum([exp(one - highest) for one in logs]) / len(logs))


def check_leaves(search: Part, own: Bound | None, *, subsets: bool) -> Counter[str]:
    """Check every leaf; return how many are exact, free, follow from their samples, or are taken as written."""
    leaves, delta, judge = search.leaves, search.delta, BOUNDS.get(search.bound, own)
    many = sum(leaf.order > 0 for leaf in leaves)
    fixed = search.expansion is None and many == len(leaves)
    equal = fixed and all(isclose(leaf.share, delta / many, rel_tol=CLOSE) for leaf in leaves)
    if theory := search.bound == "theory" and fixed and delta <= 0.1 * many:  # otherwise it proves nothing
        level = log(many / delta) + 3 * log(log(many / delta))

        def judge(side: str, value: float, share: float, evidence: Sequence[float]) -> bool:
            n = evidence[0]
            return within(side, value, evidence, sqrt((level + 1.5 * log(log(n) + 1)) / (2 * n)))

    best = "rigorous" if theory or search.bound in BOUNDS else "none" if search.bound in RATES else "conditional"
    fine = search.proof == "none" or (search.stopping == "sound" and search.proof == best)
    need(fine, f"bound {search.bound} with stopping {search.stopping} is not {search.proof} here")
    found, exact = Counter[str](), dict[str, float]()
    for leaf in leaves:
        due = delta / (many if equal else leaf.order * (leaf.order + 1)) if leaf.order else 0.0
        bare = not leaf.order and leaf.lower_evidence is None and leaf.upper_evidence is None
        value = leaf.terminal and leaf.lower == leaf.upper == leaf.mean and leaf.count == 1 and bare
        waits = leaf.terminal and (leaf.lower, leaf.upper, leaf.count) == (0, 1, 0) and bare
        fine = (value if leaf.exact else leaf.order or waits) and not (subsets and leaf.terminal and leaf.order)
        fine = fine and (leaf.mean is None) == (leaf.count == 0) and leaf.lower <= leaf.upper
        need(fine, "leaf {} must be exact, or wait for its value, or have a place in the order", leaf.label)
        need(isclose(leaf.share, due, rel_tol=CLOSE), "leaf {} must have the share of delta of its place", leaf.label)
        if leaf.exact or leaf.order:
            mark = leaf.lower if leaf.exact else -1.0
            same = abs(exact.setdefault(json.dumps(leaf.label), mark) - mark) <= CLOSE
            need(same, "leaf {}: another one with this label is of another kind, or has another value", leaf.label)
        found["exact" if leaf.exact else origin(leaf, search.bound, judge, now_counts=theory)] += 1
    return found


def origin(leaf: Part, bound: str, judge: Bound | None, *, now_counts: bool) -> str:
    """Return where the interval of a sampled leaf comes from; refuse one that does not follow from its samples."""
    looks, now = (leaf.lower_evidence, leaf.upper_evidence), [leaf.count, (leaf.mean or 0) * leaf.count]
    known = [look for look in looks if look is not None]
    for look in known:
        fine = len(look) == WIDTHS.get(bound, max(2, len(look))) and look[0] in range(1, leaf.count + 1)
        fine = fine and 0 <= look[1] <= look[0] + CLOSE and only_added(look[:2], now)
        need(fine, "the evidence of leaf {} is not of its samples", leaf.label)
    sums = sorted([*look[:2], *(look[WEIGHTS] if bound == "betting" else ())] for look in known)
    need(len(known) < 2 or only_added(*sums), "the evidence of leaf {} contradicts itself", leaf.label)
    for side, value, free, look in zip(("lower", "upper"), (leaf.lower, leaf.upper), (0, 1), looks, strict=True):
        given = now if look is None and now_counts and leaf.count else look
        follows = given is not None and judge is not None and judge(side, value, leaf.share, given)
        own = judge is None and (look is not None or (not known and leaf.count > 0))
        need(value == free or follows or own, side + " of leaf {} does not follow from its samples", leaf.label)
    return "free" if (leaf.lower, leaf.upper) == (0, 1) else "written" if judge is None else "follow from samples"


def only_added(early: Sequence[float], late: Sequence[float]) -> bool:
    """Whether later sums can come from earlier ones by adding samples in [0, 1]; counts come first."""
    slack, fresh = CLOSE * max(1.0, late[0]), late[0] - early[0]
    return all(-slack <= new - old <= fresh + slack for old, new in zip(early[1:], late[1:], strict=True))


# ---- the graph: its form, and what follows from the leaves for the other nodes


class Graph:
    """The final graph of a search with its leaves."""

    def __init__(self, c: Part) -> None:
        self.c, self.search, self.graph, self.leaves = c, c.search, c.search.graph, c.search.leaves
        self.children, self.labels, self.answer = self.graph.children, self.graph.labels, c.search.answer
        self.nodes, self.grew = range(len(self.labels)), c.search.expansion is not None
        self.opponent, self.two_player = {*self.graph.minimizes}, self.graph.two_player
        self.chances = {one.node: one.probabilities for one in self.graph.chance or ()}
        self.endless = {one.node: (one.lower, one.upper) for one in self.graph.endless}
        need(len(self.children) == len(self.nodes) > 0, "the graph must list the children of every node")
        for below in (*self.children, self.graph.minimizes, [self.answer]):
            fine = len({*below}) == len(below) and max(below, default=0) < len(self.nodes)
            need(fine, "children, nodes of the opponent and the answer must be different nodes that exist")
        self.groups = components(self.children)
        need(sum(map(len, self.groups)) == len(self.nodes), "every node must be reached from the root, the first node")
        self.leaves.sort(key=lambda leaf: leaf.node)
        fine = [leaf.node for leaf in self.leaves] == [node for node in self.nodes if not self.children[node]]
        need(fine, "the leaves must be exactly the nodes without children")
        for leaf in self.leaves:
            need(c.data is None or leaf.label is None, f"leaf {leaf.node} has another label than its node")
            leaf.label = self.labels[leaf.node] if leaf.label is None else leaf.label

    def check(self) -> None:
        """Check edges, players, chance and cycles."""
        first = {child: node for node in reversed(self.nodes) for child in self.children[node]}
        need(all(first[node] < node for node in self.nodes[1:]), "every node must have a parent that entered before it")
        need(self.two_player or not self.opponent, "an opponent moves only in a game of two players")
        planned = self.graph.chance is not None and self.search.task == "leaf"
        need((self.search.plan is not None) == planned, "there must be a plan if and only if the best leaf is one")
        for node, weights in self.chances.items():
            fine = node in self.nodes and len(weights) == len(self.children[node]) and node not in self.opponent
            need(fine, f"chance node {node} must have a probability for each of its children, and no player")
            total, partly = sum(weights), self.grew or not weights
            fine = min(weights, default=1) > 0 and total <= 1 + CLOSE and (partly or total >= 1 - CLOSE)
            need(fine, f"the probabilities of node {node} must be positive and sum to 1, got {total:.6g}")
        need(len(self.chances) == len(self.graph.chance or ()), "the probabilities of a node must be written once")
        cycles = {node for group in self.groups for node in group if self.is_cycle(group)}
        fine = not self.endless or (
            self.two_player and sorted(cycles) == sorted(one.node for one in self.graph.endless)
        )
        fine = fine and all(low <= high for low, high in self.endless.values())
        need(fine, "play without end must have lower <= upper, and a value for each node on a cycle of a game")
        need(not cycles or self.graph.chance is None, "a graph with chance must have no cycles")
        plain = self.search.task == "leaf" and not (self.two_player or cycles) and self.graph.chance is None
        need(plain or self.c.data is None, "a choice of columns is about the best leaf of one player")

    def check_orders(self) -> int:
        """Check that places in the order of creation rise with the nodes; return how many terminal leaves were late."""
        inner = {int(node): place for node, place in self.graph.inner_orders.items() if re.fullmatch("[0-9]+", node)}
        fine = len(inner) == len(self.graph.inner_orders) and all(self.children[node] for node in inner)
        need(fine, "inner_orders must be about inner nodes")
        whole = not inner and all(leaf.terminal for leaf in self.leaves)
        need(self.grew or whole, "the graph is not whole: a leaf has more below it, or an inner node was a leaf")
        placed = sorted([*inner.items(), *((leaf.node, leaf.order) for leaf in self.leaves if leaf.order)])
        fine = sorted(place for _, place in placed) == [*range(1, self.graph.created + 1)]
        need(fine, f"the places in the order of creation must be 1 to {self.graph.created:,}")
        late, least, terminal = 0, len(placed) + 1, {leaf.node for leaf in self.leaves if leaf.terminal}
        for node, place in reversed(placed):
            need(place < least or node in terminal, f"node {node} entered early, so it must have an earlier place")
            late, least = late + (place > least), min(least, place)
        return late

    def is_cycle(self, group: list[int]) -> bool:
        """Whether nodes that reach each other are on a cycle."""
        return len(group) > 1 or group[0] in self.children[group[0]]

    def check_lattice(self, choice: Choice) -> None:
        """Check that nodes are subsets that may be chosen, and that every edge adds one unit or STOP."""
        labels, ends = self.labels, [isinstance(label, list) and label[-1:] == [STOP] for label in self.labels]
        sets = [choice.check(label, complete=complete) for label, complete in zip(labels, ends, strict=True)]
        need(len({*zip(sets, ends, strict=True)}) == len(labels), "two nodes of the graph are the same subset")
        need(sets[0] == choice.forced and not ends[0], "the root must be the units always in")
        need(all(leaf.terminal == ends[leaf.node] for leaf in self.leaves), "a leaf is terminal if it ends with -1")
        if self.c.all_subsets is not None:
            need(not any(self.children[1:]) and all(ends[1:]), "subsets that were counted must be below the root")
            return
        for node, below in enumerate(self.children):
            for other in below:
                one_step = len(labels[other]) == len(labels[node]) + 1 and sets[node] <= sets[other]
                need(one_step, "{} cannot be reached from {} in one step", labels[other], labels[node])
        many = len(self.leaves) if self.grew else choice.count(max(len(self.leaves), 10**6))
        need(many == len(self.leaves), f"the whole graph must have all {many:,} subsets, got {len(self.leaves):,}")

    def best_of(self, node: int, values: Sequence[float], rest: float) -> float:
        """Return the best of values for the player at a node, their mean where chance decides; `rest` is unknown."""
        if node not in self.chances:
            return min(values) if node in self.opponent else max(values)
        mean, total = sum(map(mul, self.chances[node], values)), sum(self.chances[node])
        return mean + rest * (1.0 - total) if total < 1.0 - CLOSE else mean

    def bounds(self) -> tuple[list[float], list[float]]:
        """Return the bounds of all nodes; on cycles that of endless play, unless somebody can force more or less."""
        found = [0.0 for _ in self.nodes], [1.0 for _ in self.nodes]
        for leaf in self.leaves:
            found[0][leaf.node], found[1][leaf.node] = leaf.lower, leaf.upper
        for group in self.groups:
            node, below = group[0], self.children[group[0]]
            # play without end is worth 0 for one player; in a game, the one who could leave is to blame
            leaving = {node for node in group if not {*self.children[node]} <= {*group}} if self.is_cycle(group) else ()
            opponent, player = not self.opponent.isdisjoint(leaving), not self.opponent.issuperset(leaving)
            ends = (0.0, 1.0) if opponent == player else (1.0, 1.0) if opponent else (0.0, 0.0)
            written = [self.endless[node] for node in group if node in self.endless] or [ends]
            ends = (min(low for low, _ in written), max(high for _, high in written)) if self.two_player else (0.0, 0.0)
            for rest, bounds in enumerate(found if below else ()):
                if self.is_cycle(group):
                    self.settle(group, bounds, ends[rest])
                else:
                    bounds[node] = self.best_of(node, [bounds[one] for one in below], rest)
        return found

    def settle(self, group: list[int], bounds: list[float], end: float) -> None:
        """Set the bounds of nodes that reach each other, from below and from above."""
        parents, gained = defaultdict(list), dict[int, float]()
        for node in group:
            for child in self.children[node]:
                parents[child].append(node)
        for beyond in (max, min):
            waiting = deque(group)
            for node in group:
                bounds[node] = end
            while waiting:
                node = waiting.popleft()
                now = beyond(end, self.best_of(node, [bounds[one] for one in self.children[node]], 0))
                waiting.extend(parents[node] if now != bounds[node] else ())
                bounds[node] = now
            gained = gained or {node: bounds[node] for node in group}
        for node in group:
            bounds[node] = gained[node] if gained[node] > end else bounds[node]

    def of_plan(self, upper: Sequence[float]) -> tuple[float, float, float]:
        """Return the interval of a plan, and its loss: how much better another may be; refuse a plan that is none."""
        move, reached, choices = dict(self.search.plan), {0}, set[int]()
        order = [group[0] for group in self.groups if self.children[group[0]]]
        fine = len(move) == len(self.search.plan) and {*move} <= {*self.nodes} and self.answer == move.get(0, 0)
        fine = fine and all(to in self.children[node] for node, to in move.items())
        need(fine, "a plan must have one move to a child at each of its nodes, and the answer is the first one")
        for node in (node for node in reversed(order) if node in reached):  # parents first
            mine = node not in self.chances and node not in self.opponent
            need(not mine or node in move, f"the plan must have a move at node {node}, to which it leads")
            choices |= {node} if mine else set()
            reached.update([move[node]] if mine else self.children[node])
        need(choices == move.keys(), "the plan must have no moves where it does not lead or somebody else decides")
        known = {leaf.node: (leaf.lower, leaf.upper, float(not leaf.terminal)) for leaf in self.leaves}
        for node in (node for node in order if node in reached):
            below = self.children[node]
            lows, highs, losses = zip(*(known[one] for one in ([move[node]] if node in move else below)), strict=True)
            loss = max([losses[0], *(upper[one] - lows[0] for one in below if one != move.get(node))])
            if node in self.opponent:
                loss = max([0.0, *(min(loss, upper[node] - low) for low, loss in zip(lows, losses, strict=True))])
            ends = [self.best_of(node, values, rest) for rest, values in enumerate((lows, highs))]
            known[node] = ends[0], ends[1], self.best_of(node, losses, 1) if node in self.chances else loss
        return known[0]

    def compared(self) -> set[int]:
        """Return the leaves compared: exact, or bounded and, where the graph grew, not too late to be sampled well."""
        exact = [leaf for leaf in self.leaves if leaf.exact]
        sampled = [leaf for leaf in self.leaves if not leaf.exact and leaf.upper < 1]
        if self.grew:
            value = max((leaf.lower for leaf in self.leaves if leaf.terminal), default=0.0)
            highest = max((leaf.upper for leaf in exact), default=0.0)
            tops, least = [*accumulate((one.upper for one in sampled), max, initial=highest)], 0.5 * len(self.leaves)
            gaps = [max(top - value, self.search.epsilon, 0.001) for top in tops]
            worth = [(many / gap, many) for many, gap in enumerate(gaps, len(exact)) if many >= least]
            sampled = sampled[: max(worth)[1] - len(exact)] if worth else sampled
        return {leaf.node for leaf in chain(exact, sampled)}

    def numbers(self) -> dict[str, float]:
        """Return the interval of the answer and how much better another may be, among all and the leaves compared."""
        answer, part, arm, (lower, upper) = self.answer, self.c.all_subsets, self.search.task == "arm", self.bounds()
        low, high, compared = lower[answer], upper[answer], self.compared()
        right = answer in self.children[0] if arm else not self.two_player and not self.children[answer]
        need(right or self.search.plan is not None, f"the answer must be a {'child of the root' if arm else 'leaf'}")
        below, fresh = {answer}, [answer]
        for node in fresh:  # grows in this loop
            fresh += {*self.children[node]} - below
            below.update(self.children[node])
        inside = {json.dumps(leaf.label): leaf.terminal for leaf in self.leaves if leaf.node in below}
        apart = [leaf for leaf in self.leaves if json.dumps(leaf.label) not in inside]
        gaps = [leaf.upper - low for leaf in apart]
        known = [leaf.upper - low for leaf in apart if leaf.node in compared] or gaps
        if self.two_player or self.graph.chance is not None:
            others = [child for child in self.children[0] if child != answer]
            gaps = known = [high - lower[one] if 0 in self.opponent else upper[one] - low for one in others]
        if part is not None:  # subsets that are not listed are at most so good
            every = part.evaluated == Choice(self.c.data.choice).count()
            known = [*known, part.least - low]
            gaps = known if every else [*known, 1.0 - low]
        if not arm and not any(inside.values()):  # more is below the answer than the graph shows
            gaps = known = [1.0]
        if self.search.plan is not None:
            low, high, loss = self.of_plan(upper)
            gaps = known = [loss]
        gap, known_gap = (min(1.0, max(some, default=0.0)) for some in (gaps, known))
        return {"lower": low, "upper": min(1.0, high), "gap": gap, "known_gap": known_gap, "compared": len(compared)}


def components(children: list[list[int]]) -> list[list[int]]:
    """Return the nodes that the root reaches, in groups that reach each other, children first (Tarjan's algorithm)."""
    number, oldest, place, found = [-1] * len(children), [0] * len(children), [-1] * len(children), list[list[int]]()
    path, waiting, number[0], place[0], met = [0], [(0, iter(children[0]))], 0, 0, 1
    while waiting:
        node, rest = waiting[-1]
        for child in rest:
            if number[child] < 0:
                number[child], oldest[child], place[child], met = met, met, len(path), met + 1
                path.append(child)
                waiting.append((child, iter(children[child])))
                break
            if place[child] >= 0:  # it is still on the path
                oldest[node] = min(oldest[node], number[child])
        else:
            waiting.pop()
            above = waiting[-1][0] if waiting else node
            oldest[above] = min(oldest[above], oldest[node])
            if oldest[node] == number[node]:
                group, path[place[node] :] = path[place[node] :], []
                for one in group:
                    place[one] = -1
                found.append(group)
    return found


def check_local(c: Part) -> None:
    """Check that all candidates one step away are listed, and that none is better by more than epsilon."""
    local, label = c.local, c.search.graph.labels[c.search.answer]
    exact = {json.dumps(leaf.label): leaf.lower for leaf in c.search.leaves if leaf.exact}
    mine, values = exact.get(json.dumps(label)), {json.dumps(one.label): one.value for one in local.compared}
    need(mine is not None and c.search.task == "leaf", "a claim one step away needs the exact value of a best leaf")
    same = all(abs(value - exact.get(name, value)) <= CLOSE for name, value in values.items())
    need(same and len(values) == len(local.compared), "a candidate one step away has two values, or is listed twice")
    need(max(values.values(), default=0) <= mine + local.epsilon, "a candidate one step away is better than that")
    need(
        len({*exact, *values}) <= c.cost.exact_evaluations or not c.data, "more exact values are written than computed"
    )
    if local.choice is None:
        need(c.data is None and values, "a claim one step away must say which candidates there are")
        return
    need(c.data is None or vars(local.choice) == vars(c.data.choice), "the claim must be about what may be chosen")
    choice = Choice(local.choice)
    own, others = choice.check(label), {choice.check(one.label) for one in local.compared}
    free, loose = len(choice.units - own), len(own - choice.forced)
    many = free * (len(own) < choice.limit) + loose * (len(own) > 1) + loose * free  # added, dropped, exchanged
    near = all(max(len(other - own), len(own - other)) == 1 for other in others)
    need(near and len(others) == many, f"the claim must be about all {many:,} subsets one step away")


def check_all_subsets(c: Part, choice: Choice) -> None:
    """Check the count of subsets, and that there are as many leaves as there must be."""
    part, leaves, total = c.all_subsets, c.search.leaves, choice.count()
    need(c.search.expansion is None and all(leaf.exact for leaf in leaves), "subsets that were counted must be exact")
    fine = len(leaves) <= part.evaluated <= min(total, 2**30, c.cost.exact_evaluations)
    need(fine, f"there are {total:,} subsets, {part.evaluated:,} of them cannot have been evaluated")
    need(part.evaluated == total or c.reason != "settled", f"a settled answer needs all {total:,} subsets")
    listed = sum(leaf.lower >= part.least for leaf in leaves)
    need(listed >= min(1000, part.evaluated), f"the best subsets must be leaves, got {listed:,} of them")


def check_path(c: Part, choice: Choice, unit: dict[str, int]) -> None:
    """Check every row of the path, and that the answer is the row of the size chosen."""
    path, sizes, last = c.path, [row.size for row in c.path.rows], c.path.rows[-1]
    fine = sizes == sorted({*sizes}) and path.folds <= path.folds_planned and path.chosen_in_folds.keys() <= unit.keys()
    need(fine and path.size in sizes, "the sizes of the path must rise, one of them chosen by the folds planned")
    for row in path.rows:
        units = {unit.get(name, -1) for name in row.features}
        fine = units <= choice.units and len(units) == row.size and columns_of(c.data, units) == row.features
        fine = fine and choice.forced <= units and (row.size <= choice.limit or row is last)
        need(fine, f"row {row.size} of the path must have all columns of so many units that may be chosen, in order")
        mean = sum(row.judges) / max(1, len(row.judges))
        fine = row.difference is None or not row.judges or abs(mean - row.difference) <= 1e-6
        fine = fine and len(row.judges) in (0, len(path.judges))
        need(fine, f"the difference of row {row.size} of the path must be the mean over the judges")
        need(row.size != path.size or row.features == c.features, f"row {row.size} must have the columns of the answer")
    need(last.size == len(choice.units) and not last.difference, "the last row must be all columns, which differ by 0")
    unscored = path.asked or path.folds == 0 or c.reason in ("interrupted", "max_time")
    need(c.new_rows is not None or unscored, "an answer that was chosen must have a score on new rows")


# ---- new rows: bets on matched test rows

# Test rows are matched at random into trials: two rows of different classes, or with different targets. A trial has a
# level, by how many judges are right, and the mean level is the score on new rows. Whoever bets a fixed part of a
# capital of 1 on every trial that the mean is above a candidate has at most 1 in expectation if it is not, also on
# average over matchings. So candidates against which it reaches 1 / level are excluded: wrongly with that probability.

MATCHINGS, LOWEST, LARGEST_BET, VARIANCES = 50, 1e-9, 0.95, (0.02, 0.15)
MOST_ROWS, MOST_NUMBERS = 200_000, 3 * 10**7  # that can be matched, and held, in a minute
CELLS = (LOWEST, *(1 / (1 + exp(-step / 4)) for step in range(-16, 36)), 1.0)  # candidates with the same bet
MEASURES = {"accuracy": "accuracy", "concordance": "concordance", "roc_auc": "auc", "roc_auc_ovr": "auc"}
Layer = tuple[int, list[tuple[int, int]]]  # an output, and pairs of rows of which the first should be higher
Tallies = list[tuple[list[list[int]], float]]  # for each part: how often each level was met, by matching; the evidence


def check_new_rows(c: Part, choice: Choice, unit: dict[str, int]) -> None:
    """Check the scores against each other and, if there is a table of test rows, against it."""
    new, data, path, every, size = c.new_rows, c.data, c.path, len(choice.units), len({unit[one] for one in c.features})
    fine = new.judges and abs(sum(new.judges.values()) / len(new.judges) - new.score) <= CLOSE
    need(fine and (path is None or path.judges in ([], [*new.judges])), "the score must be the mean over the judges")
    nested = new.how == "nested folds"
    fine = new.rows <= data.rows and new.trained < data.rows if nested else new.trained == data.rows
    need(fine, f"trained and rows must fit the {data.rows:,} rows that were chosen from, got {new.trained}, {new.rows}")
    fine = size < every or abs(new.score - new.all_columns) <= CLOSE
    need(fine, "the answer is all columns, so it must have their score")
    scored = getattr(data.objective, "scoring", "roc_auc" if getattr(data.objective, "classes", 0) else "concordance")
    measure, scores = MEASURES.get(scored), (new.score, new.all_columns, *new.judges.values())
    need(measure is None or all(0 <= one <= 1 for one in scores), f"a score by {scored} must be from 0 to 1")
    known = measure in ("auc", "concordance")
    need(not known or new.guessing == 0.5, f"guessing has the score 0.5 by {scored}, not {new.guessing}")
    proof = {one is None for one in (new.delta, new.table, new.interval, new.difference_interval)}
    fine = len(proof) == 1 and (new.table is None) != (new.why_no_proof is None)
    need(fine and (new.table or new.best_other is None), "there must be a whole proof, or the reason why there is none")
    if new.table is None:
        return
    need(not (nested or data.row_groups or data.row_weights), "there is no proof for folds, groups or weights")
    need(new.table.measure == measure, f"the test rows must be scored by {scored}")
    sets, table = new.table.sets, TestRows(new.table, data.objective, new.rows)
    sizes = {size, every} if path is None else {row.size for row in path.rows}
    fine = sets[0] == size and every in sets[:2] and {*sets} <= sizes and len({*sets}) == len(sets)
    need(fine and new.table.judges == len(new.judges), "the table must be about the answer, all columns and others")
    mine, others = ([table.score(judge) for judge in table.ranks[place]] for place in (0, sets.index(every)))
    pairs = [*zip(mine, new.judges.values(), strict=True), (sum(others) / len(others), new.all_columns)]
    need(all(abs(one - other) <= CLOSE for one, other in pairs), "the scores do not follow from the table of test rows")
    best = None if new.best_other is None else [-1.0, new.best_other]
    written = new.interval, new.difference_interval, best
    for given, right in zip(written, table.proved(new.delta, int(data.fingerprint[:16], 16)), strict=True):
        fine = given == right or (given and right and given[0] <= right[0] + CLOSE and given[1] >= right[1] - CLOSE)
        need(fine, f"an interval of new rows follows from the table as {right}, not {given}")


class TestRows:
    """The test rows of a table, and what they prove."""

    def __init__(self, table: Part, objective: Part, many: int) -> None:
        lines, self.measure, self.sizes, self.judges = table.lines, table.measure, table.sets, table.judges
        need(lines and self.sizes and all(a < b for a, b in pairwise(lines)), "the lines of the table must rise")
        fine = sum(line[-1] for line in lines) == many <= MOST_ROWS and many * len(lines[0]) <= MOST_NUMBERS
        need(fine, f"the table must have {many:,} rows, at most {MOST_ROWS:,}")
        *columns, counts = zip(*lines, strict=True)
        per_set, auc, classes = self.judges * len(self.sizes), self.measure == "auc", len({*columns[0]})
        self.outputs = [*range(classes)] if auc and classes > 2 else [1]  # the class that each one should rank high
        fine = len(columns) == 1 + per_set * len(self.outputs) and min(counts) > 0
        fine = fine and (classes == 1) == (self.measure == "accuracy")
        known = getattr(objective, "classes", 0) if auc else 0
        need(fine and known in (0, classes), "the columns of the table do not fit its sets and classes")
        votes = objective.n_neighbors if objective.kind == "neighbours" else many
        for place, ranks in enumerate(columns):
            fine = {*ranks} <= {0, 1} if self.measure == "accuracy" else {*ranks} == {*range(max(ranks) + 1)}
            need(fine and (place == 0 or max(ranks) <= votes), "ranks must rise from 0 by 1, up to the neighbours")
        rows = [[*chain.from_iterable(map(repeat, ranks, counts))] for ranks in columns]
        self.target, self.many = rows[0], many
        judged = [rows[place : place + len(self.outputs)] for place in range(1, len(rows), len(self.outputs))]
        self.ranks = [judged[place : place + self.judges] for place in range(0, len(judged), self.judges)]

    def score(self, judge: Sequence[Sequence[int]]) -> float:
        """Return the score by a judge: the share of rows that are right, or of pairs of rows in the right order."""
        if self.measure == "accuracy":
            return sum(judge[0]) / self.many
        targets = (
            [[row == one for row in self.target] for one in self.outputs] if self.measure == "auc" else [self.target]
        )
        return sum(map(in_order, targets, judge)) / len(targets)

    def parts(self, seed: int) -> list[tuple[list[list[Layer]], float]]:
        """Return for each part of the score the pairs of rows of every matching, and how many trials they count for."""
        target, count, many, parts = self.target, Counter(self.target), self.many, defaultdict(list)
        if self.measure == "accuracy":  # every row is compared with one of rank 1/2
            self.ranks = [[[[*ranks, 0.5] for ranks in judge] for judge in one] for one in self.ranks]
            return [([[(0, [(row, many) for row in range(many)])]], many)]
        fewest, classes, pairs = min(count.values()), len(self.outputs), list[tuple[int, int]]()
        for t in range(MATCHINGS):
            keys = [draw(seed, t, row + 1) for row in range(many)]
            order = sorted(range(many), key=keys.__getitem__)
            of_class = {one: [row for row in order if target[row] == one] for one in self.outputs}
            if self.measure == "concordance":
                pairs = [*zip(order[::2], order[1::2], strict=False)]
                pairs = [(a, b) if target[a] > target[b] else (b, a) for a, b in pairs if target[a] != target[b]]
                parts[0].append([(0, pairs)])
            elif classes > 1 and classes**2 * fewest >= many:  # blocks of one row of each class
                layers = []
                for one, rows in of_class.items():
                    rest = sorted(other for other in target if other != one)  # the classes to draw from
                    drawn = [draw(seed, t, many + block * classes + one + 1) % len(rest) for block in range(fewest)]
                    layers.append((one, [(rows[b], of_class[rest[place]][b]) for b, place in enumerate(drawn)]))
                parts[0].append(layers)
            else:
                for place, one in enumerate(self.outputs):
                    rest = [row for row in order if target[row] != one]
                    parts[place].append([(place, [*zip(of_class[one], rest, strict=False)])])
        trials = [many // 2 if self.measure == "concordance" else len(part[0][0][1]) for part in parts.values()]
        return [(part, few / 2) for part, few in zip(parts.values(), trials, strict=True)]

    def proved(self, delta: float, seed: int) -> tuple[list[float], list[float], list[float] | None]:
        """Return the intervals: half of delta is for the score, half for differences of the answer to other sets."""
        chosen, gains = Tallies(), [Tallies() for _ in self.sizes]
        for part, evidence in self.parts(seed):
            top = 2 * self.judges * len(part[0])
            found = [[self.levels(one, layers) for one in self.ranks] for layers in part]
            chosen.append(([tally(one[0], top) for one in found], evidence))
            for place, gain in enumerate(gains):
                differences = [[a - b + top for a, b in zip(one[0], one[place], strict=True)] for one in found]
                gain.append(([tally(one, 2 * top) for one in differences], evidence))
        is_all = self.sizes[0] == max(self.sizes)
        others = gains[1 if is_all else 2 :]
        every = [0.0, 0.0] if is_all else ends_of(gains[1], delta / (8 if others else 4), low_difference, 0.0)
        share = delta / (2 if is_all else 4) / max(1, len(others))
        lows = [ends_of(gain, share, low_difference, 0.0)[0] for gain in others] + ([] if is_all else every[:1])
        return ends_of(chosen, delta / 4, low_score, 1.0), every, [-1.0, -min(lows)] if lows else None

    def levels(self, judges: Sequence[Sequence[Sequence[float]]], layers: Sequence[Layer]) -> list[int]:
        """Return for each trial by how many judges its pairs are in the right order: 2 for each, 1 for a tie."""
        ranked = [(judge[output], pairs) for output, pairs in layers for judge in judges]
        found = [[1 + (ranks[a] > ranks[b]) - (ranks[a] < ranks[b]) for a, b in pairs] for ranks, pairs in ranked]
        return [*map(sum, zip(*found, strict=True))]


def in_order(target: Sequence[int], ranks: Sequence[int]) -> float:
    """Return the share of the pairs of rows with different targets that the ranks put in the right order; ties: 1/2."""
    twice, pairs, below = 0, 0, list[int]()
    for _, group in groupby(sorted(zip(target, ranks, strict=True)), key=itemgetter(0)):
        mine = [rank for _, rank in group]
        twice += sum(bisect_left(below, rank) + bisect_right(below, rank) for rank in mine)
        pairs += len(mine) * len(below)
        for rank in mine:
            insort(below, rank)
    return twice / (2 * pairs)


def draw(seed: int, stream: int, place: int) -> int:
    """Return a whole number below 2^64 at random, by the generator splitmix64."""
    z = (seed + (stream * 2**32 + place) * 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


def tally(levels: Iterable[int], top: int) -> list[int]:
    """Return how often each level from 0 to `top` was met."""
    found = Counter(levels)
    return [found[level] for level in range(top + 1)]


def ends_of(parts: Tallies, level: float, low: Callable[..., float], span: float) -> list[float]:
    """Return both ends of a mean: the means of the ends of its parts; `span` is the sum of the extremes of a part."""
    share, many = level / len(parts), len(parts)
    mirrored = [low([row[::-1] for row in counts], evidence, share) for counts, evidence in parts]
    return [sum(low(*part, share) for part in parts) / many, span - sum(mirrored) / many]


def low_score(counts: Sequence[Sequence[int]], evidence: float, level: float) -> float:
    """Return how far from 0 upwards all candidates for a mean in [0, 1] are excluded, with one bet in each cell."""
    end = 0.0
    for first, last in pairwise(CELLS):
        odds = (first + last) / (2 - first - last)
        end = excluded(counts, [min(LARGEST_BET, sqrt(2 * log(1 / level) * odds / evidence))], level, first, last)
        if end < last:
            break
    return 0.0 if end == LOWEST else end


def low_difference(counts: Sequence[Sequence[int]], evidence: float, level: float) -> float:
    """Return how far from -1 upwards all candidates for a mean in [-1, 1] are excluded, with two bets."""
    sizes = [sqrt(2 * log(1 / level) / (evidence * variance)) for variance in VARIANCES]
    end = excluded(counts, [size / sqrt(1 + size * size) for size in sizes], level, LOWEST / 2, 1.0)
    return -1.0 if end == LOWEST / 2 else 2 * end - 1


def excluded(counts: Sequence[Sequence[int]], bets: Sequence[float], level: float, first: float, last: float) -> float:
    """Return how far from `first` to `last` all candidates are excluded: the capital against them reaches 1 / level."""

    def reaches(candidate: float) -> bool:
        places, top = range(len(counts[0])), (len(counts[0]) - 1) * candidate
        gains = [[log(1 - bet + bet * place / top) for place in places] for bet in bets]
        return log_mean([sum(map(mul, row, gain)) for gain in gains for row in counts]) >= log(1 / level) + CLOSE

    if reaches(last) or not reaches(first):
        return last if reaches(last) else first
    for _ in range(40):
        middle = (first + last) / 2
        first, last = (middle, last) if reaches(middle) else (first, middle)
    return first


# ---- the whole certificate


def check(content: dict[str, Any], *, own_bound: tuple[str, Bound] | None = None) -> Report:
    """Return whether a certificate holds, given as its JSON; `own_bound` is a user's bound by name, and its check."""
    taken = ["times and seed, why the work ended, which version of bestleaf wrote it"]
    try:
        c = read(content, "<certificate>", "the certificate")
        need(c.checksum in (None, checksum(content)), "the checksum is not that of the content: something was changed")
        lines = [f"Every field has its form{'' if c.checksum is None else ', the checksum is right'}."]
        lines += checked(c, taken, own_bound[1] if own_bound and c.search and own_bound[0] == c.search.bound else None)
    except Refused as error:
        return Report(False, reason=str(error))
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        return Report(False, reason=f"the certificate is malformed ({shown(f'{type(error).__name__}: {error}', 200)})")
    return Report(True, tuple(lines), tuple(taken))


def checked(c: Part, taken: list[str], own: Bound | None) -> list[str]:
    """Check all that belongs together; return what holds, add what is taken as written."""
    lines, about_data = list[str](), (c.features, c.path, c.new_rows, c.all_subsets, c.table)
    need(c.format_version == 4 and (c.search or c.path or c.new_rows), "a certificate of format 4 must claim something")
    need(c.data or not any(about_data), "without data there are no columns, no path and no new rows")
    need(c.search or not (c.local or c.all_subsets), "without a search there is no other claim about it")
    choice = Choice(c.data.choice) if c.data else None
    unit = check_data(c, choice) if choice else {}
    if c.search is not None:
        lines += of_search(c, choice, taken, own)
    if c.path is not None and choice is not None:
        check_path(c, choice, unit)
        lines.append(f"The path has {len(c.path.rows)} sets of columns, the one of {c.path.size} is the answer.")
        taken.append("scores by cross-validation, the order of the columns and the choice by them, which are estimates")
    if (new := c.new_rows) is not None and choice is not None:
        check_new_rows(c, choice, unit)
        score = f"The score on new rows, {new.score:.4f}, is the mean over the judges."
        if new.table is not None:
            ends = [floor(low * 1e4) / 1e4 for low in (new.interval[0], new.difference_interval[0])]
            highs = [ceil(high * 1e4) / 1e4 for high in (new.interval[1], new.difference_interval[1])]
            score = f"The score on new rows is from {ends[0]:.4f} to {highs[0]:.4f}, minus that of all columns from "
            score += f"{ends[1]:.4f} to {highs[1]:.4f}, with probability at least 1 - {new.delta:g}."
        lines.append(score)
        kept = f"the table of {new.rows:,} test rows, that they are like new rows and had no part in the choice"
        taken.append(kept if new.table else f"the score on new rows, an estimate without proof ({new.why_no_proof})")
        taken.append("the score of guessing, apart from that by AUC and concordance")
    taken += ["rows, names and objective of the data, what may be chosen, how the table was read"] if c.data else []
    taken += ["what a report also shows: history, best subset by size, notes"] if c.told else []
    return lines


def of_search(c: Part, choice: Choice | None, taken: list[str], own: Bound | None) -> list[str]:
    """Check the search and what belongs to it; return what holds, add what is taken as written."""
    search, cost, graph = c.search, c.cost, Graph(c)
    graph.check()
    late, many = graph.check_orders(), f"{len(search.leaves):,} candidates examined"
    found = check_leaves(search, own, subsets=c.data is not None)
    if choice is not None:
        graph.check_lattice(choice)
        need(columns_of(c.data, graph.labels[search.answer][:-1]) == c.features, "the answer must be the columns named")
    for name, value in graph.numbers().items():
        written = getattr(search, name)
        need(abs(written - value) <= CLOSE, f"{name!r} follows from the leaves as {value:.6g}, not {written:.6g}")
    settled = c.reason == "settled" and search.stopping == "sound"
    need(search.gap <= search.epsilon or not settled, "a settled answer must have a gap of at most epsilon")
    drawn = sum(leaf.count for leaf in search.leaves if not leaf.exact)
    need(drawn <= cost.samples - cost.warmup_samples, f"{drawn:,} samples of leaves are more than were drawn for them")
    outside = cost.values_outside == 0 or search.expansion is not None or c.all_subsets or not found["exact"]
    fine = found["exact"] + cost.values_outside == cost.exact_evaluations and outside
    need(fine, "the exact values of the leaves and of other states must be all that were computed")
    kinds = ", ".join(f"{number:,} {kind}" for kind, number in sorted(found.items()))
    lines = [f"The intervals of {many}, by {search.bound}: {kinds}."]
    sure = f"with probability at least 1 - {search.delta:g}"
    sure += "" if search.proof == "rigorous" else f", provided that bound {search.bound} holds"
    sure = f"as it seems, without proof by {search.bound}, {search.stopping}" if search.proof == "none" else sure
    sure = "for certain" if found["exact"] == len(search.leaves) else sure
    open_ended = sum(not leaf.terminal for leaf in search.leaves)
    grew = f" (the graph grew, {open_ended:,} are unfinished and count as random play below them)" if graph.grew else ""
    gap, label = max(0.0, ceil(search.gap * 1e6) / 1e6), shown(c.features or graph.labels[search.answer])
    lines.append(f"Of the {many}{grew} none is better than {label} by more than {gap:g}, {sure}.")
    if c.all_subsets is not None and choice is not None:
        check_all_subsets(c, choice)
        lines.append(f"{c.all_subsets.evaluated:,} of {choice.count():,} subsets that may be chosen were evaluated.")
    if c.local is not None:
        check_local(c)
        lines.append(f"None of {len(c.local.compared):,} one step away is better by more than {c.local.epsilon:g}.")
    cases = {
        "edges, labels and players of the graph": c.data is None,
        "that no leaf was left out": c.data is None or graph.grew,
        "the order in which nodes entered the graph": graph.grew or late,
        f"that {late:,} leaves got their share of delta late": late,
        "that the samples are those of the leaves and were drawn at random": drawn,
        f"intervals of {found['written']:,} leaves, because bound {search.bound} was not checked": found["written"],
        "probabilities of the chance nodes": graph.chances,
        "what play without end is worth": graph.endless,
        "exact values": found["exact"],
        "values of subsets that are no leaves": c.all_subsets,
        "which candidates are one step away": c.local and c.data is None,
    }
    taken += [words for words, is_so in cases.items() if is_so]
    return lines


def main(arguments: Sequence[str]) -> int:
    """Check the file that is named; return 0 if it holds, 1 if it is refused, 2 if it cannot be read."""
    try:
        (path,) = arguments
        report = check(content_of(path))
    except (OSError, ValueError, RecursionError) as error:
        print(f"Usage: python check.py certificate.json. It cannot be read: {shown(str(error), 200)}", file=sys.stderr)
        return 2
    lines = [*report.lines, *(f"Not checked: {one}." for one in report.taken_as_written)]
    print("The certificate holds." if report.holds else f"Refused: {report.reason}.", *lines, sep="\n")
    return 0 if report.holds else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
