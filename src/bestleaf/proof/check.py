"""Check a certificate of bestleaf from its file alone; `python check.py certificate.json` needs nothing but Python.

Exit code 0: everything that the file claims follows from the numbers in it, apart from what is printed as not checked.
1: refused, with the reason. 2: this is no file that can be read. No code is shared with what writes certificates.

**What is accepted.** A certificate holds if (1) every field has its form; (2) the checksum is that of the content;
(3) every interval of a leaf follows from its evidence at its share of delta, and the shares sum to at most delta;
(4) the bounds of all nodes, the interval of the answer and both gaps follow from the leaves; (5) a settled answer has
a gap of at most epsilon; (6) the other claims (one step away, all subsets, new rows) follow from their numbers.

**Rounding.** Numbers that are computed again may differ by CLOSE. An interval may be tighter by CLOSE than its evidence
allows, so a gap may be too small by 2 CLOSE; gaps are printed rounded up to six digits, which is coarser.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import sys
from bisect import bisect_left, bisect_right, insort
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, pairwise
from math import ceil, comb, e, exp, floor, isclose, isfinite, log, log1p, sqrt
from types import SimpleNamespace
from typing import Any, NamedTuple

LARGEST = 256 * 10**6  # bytes of a file that is read
CLOSE = 1e-9
STOP = -1  # ends the label of a complete subset

# ---- the form: every field of every part. `name?` may be missing. Kinds: `2..9` a whole number, `2..` one without
# limit, `0.0..1.0` a number, `[K]` a list, `{K}` named values, `(K,L)` a list of two, `K?` null or K, `<part>` a part.
FORM = """
certificate: format=bestleaf certificate, format_version=4..4, bestleaf=release, cost=<cost>, features?=[text]?,
    reason=settled|max_samples|max_time|interrupted|exhausted|unfinished, search?=<search>?, local?=<local>?,
    all_subsets?=<all subsets>?, new_rows?=<new rows>?, path?=<path>?, data?=<data>?, told?=<told>?, table?=<table>?,
    checksum?=digest?
search: task=arm|leaf, epsilon=value, delta=fraction, rule=name, bound=name, stopping=name, proposal=name,
    proof=none|conditional|rigorous, answer=0.., lower=value, upper=value, gap=-1.0..1.0, known_gap=-1.0..1.0,
    compared=0.., graph=<graph>, leaves=[<leaf>], expansion?=value?, growth?=name?, seed?=seed?, plan?=[(0..,0..)]?
graph: labels=list, children=[[0..]], minimizes?=[0..], two_player?=flag, created?=0.., inner_orders?={1..},
    chance?=[<chance node>]?, endless?=[<endless play>]
leaf: node=0.., terminal=flag, exact=flag, count=0.., mean=value?, lower=value, upper=value, label?=any, order?=0..,
    share?=value, lower_evidence?=numbers?, upper_evidence?=numbers?
chance node: node=0.., probabilities=[value]
endless play: node=0.., lower=value, upper=value
local: epsilon=value, compared=[<compared>], choice?=<choice>?
compared: label=any, value=value
choice: allowed=[0..], forced?=[0..], limit=1..
all subsets: evaluated=1.., least=value
new rows: score=number, all_columns=number, rows=1.., trained=1.., judges={number}, how=nested folds|test rows|given rows,
    standard_error?=error?, difference_error?=error?, guessing?=number?, delta?=fraction?, table?=<rank table>?,
    why_no_proof?=folds|groups|weights|classes|scoring|size?, interval?=(number,number)?,
    difference_interval?=(number,number)?, best_other?=number?
rank table: measure=auc|concordance|accuracy, judges=1.., sets=[1..], lines=[[0..]]
path: rows=[<row of the path>], size=1.., order=name, judges=[text], folds=0.., folds_planned=0.., tolerance=number,
    asked?=flag, chosen_in_folds?={value}
row of the path: size=1.., features=[text], difference=number?, judges?=[number], score?=number?, standard_error?=error?
data: names=[text], rows=2.., fingerprint=digest, units=[[0..]], choice=<choice>, objective=<objective>,
    row_groups?=digest?, row_weights?=digest?, encoding?=<encoding>?
neighbours: kind=neighbours, task=classification|regression, n_neighbors=1.., subsample=1.., ties=half|strict|row_order,
    scale=flag, drop_zero=flag, classes=0.., queries=1.., grouped?=flag, weighted?=flag, reference_rows?=1..?,
    query_rows?=1..?
estimator: kind=estimator, name=name, estimator=text, scoring=call, cv=text, splits=1.., fresh_splits=flag,
    weighted=flag, grouped=flag
panel: kind=panel, judges=[text], scoring=call, task=classification|regression, classes=0.., grouped?=flag,
    weighted?=flag
encoding: impute=median|mean|most_frequent|keep?, dates=parts|number|drop, levels={[text]}, left_out=[text]
cost: seconds=0.0..1e12, samples?=0.., warmup_samples?=0.., exact_evaluations?=0.., values_outside?=0.., growths?=0..
told: history?=[<step>], by_size?=[(1..,number,[text])], feature_scores?={number?}, without?={number},
    all_features?=number?, training_score?=number?, standard_error?=error?, repeat?=text?, notes?=[text]
step: seconds=0.0..1e12, samples=0.., gap=-1.0..1.0, score?=number?, leaves?=0..?, compared?=0..?
table: target=text, task=auto|classification|regression, checksums=[0..], groups?=text?, weights?=text?, dropped?=[text],
    kept?=[text], missing?=[text], text_encoding?=text?, holdout?=fraction?, estimator?=text?, scoring?=call?, cv?=2..?,
    left_out?=[text]
"""


class Refused(Exception):
    """The certificate does not hold; the text says why."""


class Unreadable(Exception):
    """This is no file of a certificate."""


class Misfit(Exception):
    """A value is not of its kind; the text is the kind in words."""


class Report(NamedTuple):
    """Whether a certificate holds, what was checked, what is taken as written, and why it is refused."""

    holds: bool
    lines: tuple[str, ...] = ()
    taken_as_written: tuple[str, ...] = ()
    reason: str = ""


Part = SimpleNamespace  # a part of a certificate, with all of its fields
Read = Callable[[Any], Any]  # returns a value as it is kept, raises Misfit


def need(fine: bool, reason: str) -> None:
    """Refuse the certificate for a reason, unless a condition is met."""
    if not fine:
        raise Refused(reason)


def shown(value: Any, most: int = 80) -> str:
    """Return a value of unknown origin in one line of ASCII."""
    value = vars(value) if isinstance(value, Part) else value
    text = json.dumps(value, default=repr) if not isinstance(value, str) else json.dumps(value[: 2 * most])
    return text if len(text) <= most else text[: most - 3] + "..."


def is_number(value: Any) -> bool:
    """Whether a value is a finite number."""
    return type(value) in (int, float) and -1e300 <= value <= 1e300


def _test(words: str, accepts: Callable[[Any], bool]) -> Read:
    def read(value: Any) -> Any:
        if not accepts(value):
            raise Misfit(words)
        return value

    return read


def _text(words: str, pattern: str) -> Read:
    form = re.compile(pattern, re.ASCII | re.DOTALL)
    return _test(words, lambda value: isinstance(value, str) and form.fullmatch(value) is not None)


def _numbers(value: Any) -> bool:
    return isinstance(value, list) and {*map(type, value)} <= {int, float} and all(map(isfinite, value))


_NAME, _ARGUMENT = "[A-Za-z_][A-Za-z0-9_]{0,59}", "[\\w=.'-]{1,60}"
KINDS: dict[str, Read] = {
    "any": lambda value: value,
    "list": _test("a list", lambda value: isinstance(value, list)),
    "numbers": _test("a list of numbers", _numbers),
    "flag": _test("true or false", lambda value: isinstance(value, bool)),
    "seed": _test("a whole number", lambda value: type(value) is int),
    "value": _test("a number from 0 to 1", lambda value: type(value) in (int, float) and 0 <= value <= 1),
    "fraction": _test("a number between 0 and 1", lambda value: type(value) in (int, float) and 0 < value < 1),
    "number": _test("a number", is_number),
    "error": _test("a number of at least 0", lambda value: is_number(value) and value >= 0),
    "text": _test("a text", lambda value: isinstance(value, str)),
    "name": _text("a name of letters, digits and underscores, at most 60", _NAME),
    "call": _text("a name, or a call of one", rf"{_NAME}(\(({_ARGUMENT}(, {_ARGUMENT}){{0,9}})?\))?"),
    "release": _text("a version of bestleaf", r"[\w.+-]{1,40}"),
    "digest": _text("64 hexadecimal digits", "[0-9a-f]{64}"),
    "<objective>": lambda value: _objective(value),
}


def kind_of(notation: str) -> Read:
    """Return the function that reads a kind of value, as it is written in FORM."""
    if notation not in KINDS:
        KINDS[notation] = _kind(notation)
    return KINDS[notation]


def _kind(notation: str) -> Read:
    if notation[-1] == "?":
        given = kind_of(notation[:-1])
        return lambda value: None if value is None else given(value)
    if notation[0] == "<":
        return lambda value: part_of(value, notation[1:-1])
    if notation[0] == "(":
        kinds = [kind_of(one) for one in notation[1:-1].split(",")]
        words = _test(f"a list of {len(kinds)}", lambda value: isinstance(value, list) and len(value) == len(kinds))
        return lambda value: [read(one) for read, one in zip(kinds, words(value), strict=True)]
    if notation[0] in "[{":
        inner = kind_of(notation[1:-1])
        if notation[0] == "[":
            return lambda value: [*map(inner, KINDS["list"](value))]
        named = _test("named values", lambda value: isinstance(value, dict))
        return lambda value: {name: inner(one) for name, one in named(value).items()}
    if ".." not in notation:
        return _text(f"one of {notation.replace('|', ', ')}", notation)
    low, high = notation.split("..")
    if "." in low:
        least, most = float(low), float(high)
        return _test(f"a number from {low} to {high}", lambda value: is_number(value) and least <= value <= most)
    first, last = int(low), int(high or 10**15)
    return _test(f"a whole number from {first} to {last}", lambda value: type(value) is int and first <= value <= last)


def _objective(value: Any) -> Part:
    """Return the objective of the data: votes of neighbours, an estimator or a panel of judges."""
    kind = value.get("kind") if isinstance(value, dict) else None
    return part_of(value, kind if kind in ("neighbours", "estimator", "panel") else "panel")


def _field(name: str, notation: str) -> tuple[str, Read, Any]:
    """Return name, kind and default of a field; the default of one that must be there is an ellipsis."""
    empty = {"[": [], "{": {}, "f": False, "0": 0, "v": 0.0}.get(notation[0])
    default = (None if notation[-1] == "?" or notation == "any" else empty) if name[-1] == "?" else ...
    return name.rstrip("?"), kind_of(notation), default


FIELDS = {
    part: [_field(*one) for one in re.findall(r"([\w?]+)=(.*?)(?:,\s+|,?$)", fields.replace("\n", " "))]
    for part, fields in re.findall(r"^(\w[\w ]*): (.*(?:\n .*)*)", FORM, re.MULTILINE)
}
KNOWN = {part: {name for name, _, _ in fields} for part, fields in FIELDS.items()}


def part_of(value: Any, part: str) -> Part:
    """Return a part with all of its fields; refuse a field that is unknown, missing or not of its kind."""
    need(isinstance(value, dict), f"the {part} must have named fields, got {shown(value)}")
    if not value.keys() <= KNOWN[part]:
        strange = next(name for name in value if name not in KNOWN[part])
        raise Refused(f"there is an unknown field {shown(strange)} in the {part}, which nobody checks")
    kept: dict[str, Any] = {}
    for name, read, default in FIELDS[part]:
        if name not in value:
            need(default is not ..., f"the field {name!r} is missing in the {part}")
            kept[name] = default
            continue
        try:
            kept[name] = read(value[name])
        except Misfit as kind:
            raise Refused(f"{name!r} of the {part} must be {kind}, got {shown(value[name])}") from None
    return Part(**kept)


def content_of(text: bytes) -> dict[str, Any]:
    """Return the JSON of a file; refuse names that are there twice and numbers that are none."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError("a field is written twice")
        return found

    def no_number(name: str) -> None:
        raise ValueError(f"{name} is no number of JSON")

    try:
        content = json.loads(text.decode(), object_pairs_hook=once, parse_constant=no_number)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"no JSON ({shown(str(error), 200)})") from None
    if not isinstance(content, dict) or content.get("format") != "bestleaf certificate":
        raise Unreadable("no certificate of bestleaf")
    if content.get("format_version") != 4:
        raise Unreadable(f"format version 4 can be checked, got {shown(content.get('format_version'))}")
    return content


def bytes_of(path: str) -> bytes:
    """Return the bytes of a file; refuse a device, a pipe, and more than LARGEST bytes, whatever size is said."""
    try:
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with open(number, "rb") as file:
            if not stat.S_ISREG(os.fstat(number).st_mode):
                raise Unreadable("a file is needed, got a device, a pipe or a folder")
            text = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        raise Unreadable(shown(str(error), 200)) from None
    if len(text) > LARGEST:
        raise Unreadable(f"at most {LARGEST // 10**6} MB are read, got more")
    return text


def checksum(content: dict[str, Any]) -> str:
    """Return the SHA-256 of everything but the checksum; it does not depend on the layout of the file."""
    kept = {name: value for name, value in content.items() if name != "checksum"}
    return hashlib.sha256(json.dumps(kept, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


# ---- the data and what may be chosen


def check_data(c: Part) -> None:
    """Check names, units, the choice, the objective, and how the table was read."""
    data, names, objective = c.data, c.data.names, c.data.objective
    need(len({*names}) == len(names), "the names of the columns must differ")
    shared_out = sorted(chain(*data.units)) == [*range(len(names))] and all(data.units)
    need(shared_out, "every column must be in exactly one unit")
    check_choice(data.choice, len(data.units))
    for what, flag, digest in (("groups", "grouped", "row_groups"), ("weights", "weighted", "row_weights")):
        fits = getattr(objective, flag) == (getattr(data, digest) is not None)
        need(fits, f"the fingerprint of the {what} must be written if and only if rows have {what}")
    if data.encoding is not None:
        strange = {*data.encoding.levels, *data.encoding.left_out} - {*names}
        need(not strange, f"levels and columns left out must be of the table, got {shown(sorted(strange)[:1])}")
        may_be = {names[column] for unit in units_of(data.choice) for column in data.units[unit]}
        need(may_be.isdisjoint(data.encoding.left_out), "a column that was left out must not be chosen from")
    if objective.kind == "neighbours":
        check_neighbours(data.rows, objective)
    if objective.kind != "estimator":
        right = objective.classes == 0 if objective.task == "regression" else 2 <= objective.classes <= data.rows
        need(right, f"the number of classes must go with the task {objective.task}, got {objective.classes}")
    if c.table is not None:
        table, out = c.table, {*c.table.dropped, *c.table.left_out, c.table.groups, c.table.weights} - {None}
        wrong = out & ({*names} | {*table.kept})
        need(not wrong, f"a column that was left out of the table must not be in it, got {shown(sorted(wrong)[:1])}")
        need(len(table.checksums) == len(names) + 1, "the table must have a checksum of each column and of the target")
        fits = (table.groups is None) == (data.row_groups is None) and (table.weights is None) == (
            data.row_weights is None
        )
        need(fits, "columns of groups and weights must be named if and only if rows have them")


def check_neighbours(rows: int, objective: Part) -> None:
    """Check that numbers of neighbours and rows fit each other."""
    voters = rows if objective.reference_rows is None else objective.reference_rows
    apart = voters < rows  # then other rows are ranked than those that vote
    need(voters <= rows and apart == (objective.query_rows is not None), "reference_rows must fit rows and query_rows")
    ranked = objective.query_rows if apart else rows
    need(ranked <= (rows - voters if apart else rows), f"query_rows must be at most {rows - voters}, got {ranked}")
    need(objective.n_neighbors <= voters - (not apart), f"n_neighbors must be at most {voters - (not apart)}")
    need(objective.subsample <= ranked, f"subsample must be at most {ranked}, got {objective.subsample}")
    fits = objective.queries == ranked or (2 <= objective.queries < rows and not apart and rows**2 > 10**9)
    need(fits, f"values of {rows:,} rows cannot be of {objective.queries:,} of them")


def units_of(choice: Part) -> list[int]:
    """Return the units that may be chosen."""
    return sorted({*choice.allowed, *choice.forced})


def check_choice(choice: Part, units: int | None) -> None:
    """Check that units are listed once and exist, and that the limit is between those forced and all."""
    listed = [*choice.allowed, *choice.forced]
    known = len({*listed}) == len(listed) and (units is None or max(listed, default=0) < units)
    need(known, "the units allowed and forced must be different units of the data")
    need(len(choice.forced) <= choice.limit <= len(listed), f"limit must be between forced and all, got {choice.limit}")


def subsets_of(choice: Part, beyond: int = 2**62) -> int:
    """Return how many subsets may be chosen; counting ends beyond a number."""
    many = -(not choice.forced)  # nobody can choose nothing
    for size in range(choice.limit - len(choice.forced) + 1):
        many += comb(len(choice.allowed), size)
        if many > beyond:
            break
    return many


def check_label(choice: Part, label: Any, *, complete: bool = True) -> list[int]:
    """Return the units of a subset; refuse one that may not be chosen. A complete subset ends with STOP."""
    listed = isinstance(label, list) and {*map(type, label)} <= {int} and (label[-1:] == [STOP]) == complete
    units = label[:-1] if listed and complete else label
    if not listed or units != sorted({*units}) or not complete <= len(units) <= choice.limit:
        raise Refused(f"the label {shown(label)} must list units once and in order, at most {choice.limit}")
    fine = choice.known.issuperset(units) and choice.must.issubset(units)
    need(fine, f"{shown(label)} is not a subset that may be chosen")
    return units


def with_sets(choice: Part) -> Part:
    """Return the choice with its units as sets, to check many labels."""
    choice.known, choice.must = frozenset(units_of(choice)), frozenset(choice.forced)
    return choice


def columns_named(data: Part, units: Iterable[int]) -> list[str]:
    """Return the names of the columns of some units, in the order of the table."""
    return [data.names[column] for column in sorted(chain.from_iterable(data.units[unit] for unit in units))]


# ---- the graph


def check_graph(c: Part) -> None:
    """Check nodes, edges, players, chance, the order of creation, and that the leaves are the nodes without children."""
    search, graph, nodes = c.search, c.search.graph, len(c.search.graph.labels)
    need(len(graph.children) == nodes > 0, "the graph must list the children of every node")
    for below in (*graph.children, graph.minimizes):
        if len({*below}) < len(below) or max(below, default=0) >= nodes:
            raise Refused("children and nodes of the opponent must be different nodes that exist")
    need(graph.two_player or not graph.minimizes, "an opponent moves only in a game of two players")
    need(search.answer < nodes, f"the answer must be a node of the graph, got {search.answer}")
    graph.opponent = {*graph.minimizes}
    graph.groups = components(graph.children)
    need(sum(map(len, graph.groups)) == nodes, "every node must be reached from the root, the first node")
    first = {child: node for node in reversed(range(nodes)) for child in graph.children[node]}
    fine = all(first[node] < node for node in range(1, nodes))
    need(fine, "every node but the root must have a parent that entered the graph before it")
    childless = [node for node, below in enumerate(graph.children) if not below]
    need(sorted(leaf.node for leaf in search.leaves) == childless, "the leaves must be the nodes without children")
    for leaf in search.leaves:
        need((leaf.mean is None) == (leaf.count == 0), f"leaf {leaf.node} must have a mean if and only if it has samples")
        need(c.data is None or leaf.label is None, f"leaf {leaf.node} has another label than its node")
        leaf.label = graph.labels[leaf.node] if leaf.label is None else leaf.label
    search.leaves.sort(key=lambda leaf: leaf.node)
    check_chance(search, graph)
    check_orders(search, graph)
    endless = {one.node: one for one in graph.endless}
    on_cycles = {node for group in graph.groups if is_cycle(group, graph) for node in group}
    fine = not endless or (graph.two_player and endless.keys() == on_cycles and len(endless) == len(graph.endless))
    need(fine, "play without end must have a value for each node on a cycle of a game, and for no other")
    need(all(one.lower <= one.upper for one in graph.endless), "play without end must have lower <= upper")
    if c.data is not None:
        one_player = search.task == "leaf" and not graph.two_player and graph.chance is None and not on_cycles
        need(one_player, "a choice of columns is about the best leaf of one player")
        check_lattice(c)


def check_chance(search: Part, graph: Part) -> None:
    """Check the probabilities of chance nodes, and that there is a plan if and only if the best leaf is one."""
    planned = graph.chance is not None and search.task == "leaf"
    need((search.plan is not None) == planned, "there must be a plan if and only if the best leaf is one")
    graph.chances = {one.node: one.probabilities for one in graph.chance or ()}
    need(len(graph.chances) == len(graph.chance or ()), "the probabilities of a chance node must be written once")
    for node, weights in graph.chances.items():
        fine = node < len(graph.children) and len(weights) == len(graph.children[node]) and node not in graph.opponent
        need(fine, f"chance node {node} must have a probability for each of its children, and no player")
        total = sum(weights)
        complete = not weights or total >= 1 - CLOSE
        if min(weights, default=1) <= 0 or total > 1 + CLOSE or (search.expansion is None and not complete):
            raise Refused(f"the probabilities of node {node} must be positive and sum to 1, got {total:.6g}")


def check_orders(search: Part, graph: Part) -> None:
    """Check the order of creation: no place is missing or taken twice, and places rise with the number of a node.

    A terminal leaf that turned out to have no exact value gets its place later, after all that were there.
    """
    inner = {int(node): place for node, place in graph.inner_orders.items() if node.isdecimal() and node.isascii()}
    fine = len(inner) == len(graph.inner_orders) and all(
        node < len(graph.children) and graph.children[node] for node in inner
    )
    need(fine, "inner_orders must be about inner nodes of the graph")
    need(search.expansion is not None or not inner, "a graph that is whole has no inner nodes that once were leaves")
    placed = sorted([*inner.items(), *((leaf.node, leaf.order) for leaf in search.leaves if leaf.order)])
    places = [place for _, place in placed]
    fine = sorted(places) == [*range(1, graph.created + 1)]
    need(fine, f"{graph.created:,} leaves were created, so the places in the order must be 1 to {graph.created:,}")
    may_wait = any(not leaf.order for leaf in search.leaves)  # the problem has exact values
    terminal = {leaf.node for leaf in search.leaves if leaf.terminal} if may_wait else set()
    graph.late, least = 0, len(places) + 1
    for node, place in reversed(placed):
        if place > least:
            need(node in terminal, f"node {node} entered the graph before others, so it must have an earlier place")
            graph.late += 1
        least = min(least, place)


def check_lattice(c: Part) -> None:
    """Check that nodes are subsets that may be chosen, and that every edge adds one unit or STOP."""
    graph, choice = c.search.graph, with_sets(c.data.choice)
    labels, ends = graph.labels, [isinstance(label, list) and label[-1:] == [STOP] for label in graph.labels]
    for label, complete in zip(labels, ends, strict=True):
        check_label(choice, label, complete=complete)
    need(len({*map(tuple, labels)}) == len(labels), "two nodes of the graph are the same subset")
    need(labels[0] == sorted(choice.forced), f"the root must be the units always in, got {shown(labels[0])}")
    for leaf in c.search.leaves:
        need(leaf.terminal == ends[leaf.node], f"the leaf {shown(leaf.label)} must be terminal if it ends with {STOP}")
    if c.all_subsets is not None:
        star = not any(graph.children[1:]) and all(ends[1:])
        need(star, "a search of all subsets must list the subsets below the root")
        return
    for label, below in zip(labels, graph.children, strict=True):
        here = {*label}
        for other in map(labels.__getitem__, below):
            if len(other) != len(label) + 1 or STOP in here or not here.issubset(other):
                raise Refused(f"{shown(other)} cannot be reached from {shown(label)} in one step")


def components(children: list[list[int]]) -> list[list[int]]:
    """Return the nodes that the root reaches, in groups that reach each other, each after those that it leads to.

    This is Tarjan's algorithm without recursion. Without a cycle, every group is one node.
    """
    number, oldest, done = [-1] * len(children), [0] * len(children), [False] * len(children)
    found: list[list[int]] = []
    path, waiting, number[0], met = [0], [(0, iter(children[0]))], 0, 1
    while waiting:
        node, rest = waiting[-1]
        for child in rest:
            if number[child] < 0:
                number[child] = oldest[child] = met
                met += 1
                path.append(child)
                waiting.append((child, iter(children[child])))
                break
            if not done[child]:
                oldest[node] = min(oldest[node], number[child])
        else:
            waiting.pop()
            if waiting:
                above = waiting[-1][0]
                oldest[above] = min(oldest[above], oldest[node])
            if oldest[node] == number[node]:
                group = [path.pop()]
                while group[-1] != node:
                    group.append(path.pop())
                for one in group:
                    done[one] = True
                found.append(group)
    return found


def is_cycle(group: list[int], graph: Part) -> bool:
    """Whether nodes that reach each other are on a cycle."""
    return len(group) > 1 or group[0] in graph.children[group[0]]


# ---- the leaves: every interval follows from samples in [0, 1], at its share of delta

# `betting` spreads each sample over the nodes of GRID and bets the fractions BETS of its capital. The logarithm of what
# a bet gains is concave in the sample, so the capital computed from the grid is at most the true one.
_HALF_GRID = (0.0, 0.002, 0.004, 0.007, 0.011, 0.016, 0.023, 0.033, 0.047, 0.067, 0.095, 0.135, 0.19, 0.27, 0.37)
GRID = (*_HALF_GRID, 0.5, *(1.0 - node for node in reversed(_HALF_GRID)))
BETS = (0.01, 0.019, 0.036, 0.069, 0.13, 0.25, 0.47, 0.9)
WEIGHTS = slice(5, 5 + len(GRID))  # of the grid, in the evidence: count, total and three more numbers come first
WIDTHS = {"hoeffding": 2, "betting": 5 + len(GRID) + len(BETS)}  # numbers of evidence

Bound = Callable[[str, float, float, Sequence[float]], bool]  # (side, value, share, evidence) -> whether it follows


def hoeffding(side: str, value: float, share: float, evidence: Sequence[float]) -> bool:
    """Whether a bound follows from the stitched boundary of Howard et al. 2021."""
    count, total = evidence[:2]
    half = 1.7 * sqrt((log(log(2 * count)) + 0.72 * log(10.4 / share)) / (4 * count))
    return within(side, value, total / count, half)


def betting(side: str, value: float, share: float, evidence: Sequence[float]) -> bool:
    """Whether the mean capital of the bets against `value` has reached 2 / share; it grows beyond the value."""
    count, total, weights = evidence[0], evidence[1], evidence[WEIGHTS]
    if not 0 < value < 1 or (value > total / count) == (side == "lower"):
        return False
    used = [(node, weight) for node, weight in zip(GRID, weights, strict=True) if weight]
    spread = sum(weights), sum(node * weight for node, weight in used)
    if min(weights) < 0 or not all(isclose(*both, rel_tol=CLOSE, abs_tol=CLOSE) for both in zip(spread, (count, total))):
        return False
    gains = [((node / value if side == "lower" else (1 - node) / (1 - value)) - 1, weight) for node, weight in used]
    capital = log_mean([sum([weight * log1p(bet * gain) for gain, weight in gains]) for bet in BETS])
    return capital >= log(2 / share) - CLOSE * max(1.0, count)


def log_mean(logs: Sequence[float]) -> float:
    """Return the logarithm of the mean of numbers that are given by their logarithms."""
    highest = max(logs)
    return highest + log(sum([exp(one - highest) for one in logs]) / len(logs))


def within(side: str, value: float, mean: float, half: float) -> bool:
    """Whether a bound is at least `half` away from the mean."""
    return value <= mean - half + CLOSE if side == "lower" else value >= mean + half - CLOSE


BOUNDS: dict[str, Bound] = {"hoeffding": hoeffding, "betting": betting}
RATES: dict[str, Callable[[float, float, int], float]] = {  # of the paper: (count, delta, sampled leaves) -> level
    "theory": lambda n, delta, leaves: log(leaves / delta) + 3 * log(log(leaves / delta)) + 1.5 * log(log(n) + 1),
    "beta1": lambda n, delta, leaves: log(leaves / delta) + log(log(n) + 1),
    "beta1_published": lambda n, delta, leaves: log(leaves) / delta + log(log(n) + 1),
    "beta2": lambda n, delta, leaves: log(log(e * n) / delta),
}


def check_leaves(c: Part, own: Bound | None) -> Counter[str]:
    """Check every leaf; return how many are exact, free, follow from their samples, or are taken as written."""
    search, leaves = c.search, c.search.leaves
    sampled = sum(leaf.order > 0 for leaf in leaves)
    fixed = search.expansion is None and sampled == len(leaves)  # all there from the start, all sampled
    if search.bound == "theory" and search.proof == "rigorous":
        need(fixed, "bound theory proves nothing where the graph grew or leaves are exact")
        need(search.delta <= 0.1 * sampled, f"bound theory needs delta of at most 0.1 times the {sampled} leaves")
    equal = fixed and all(isclose(leaf.share, search.delta / sampled, rel_tol=CLOSE) for leaf in leaves)
    judge = BOUNDS.get(search.bound, own)
    found: Counter[str] = Counter()
    kinds: dict[str, list[bool]] = {}
    for leaf in leaves:
        check_kind(leaf, search.delta / sampled if equal else search.delta / max(1, leaf.order * (leaf.order + 1)))
        need(c.data is None or not leaf.terminal or not leaf.order, f"subset {shown(leaf.label)} must be exact")
        found[origin(leaf, search, sampled, judge, steady=fixed or search.bound == "beta2")] += 1
        alike = kinds.setdefault(json.dumps(leaf.label), [leaf.terminal, leaf.exact])
        decided = leaf.exact or leaf.order > 0  # a leaf that waits for its value is of neither kind
        fine = alike[0] == leaf.terminal and (not decided or alike[1] == leaf.exact or len(alike) == 3)
        need(fine, f"two leaves called {shown(leaf.label)} are of different kinds")
        kinds[json.dumps(leaf.label)] = [leaf.terminal, leaf.exact] if decided else alike
    return found


def check_kind(leaf: Part, due: float) -> None:
    """Check that a leaf is exact, or waits for its value, or has a place in the order of creation and a share."""
    bare = not leaf.order and leaf.lower_evidence is None and leaf.upper_evidence is None
    value = leaf.terminal and leaf.lower == leaf.upper == leaf.mean and leaf.count == 1
    waits = leaf.terminal and (leaf.lower, leaf.upper, leaf.count) == (0, 1, 0) and bare
    for fine, reason in (
        (leaf.lower <= leaf.upper, "must have lower <= upper"),
        (not leaf.exact or (value and bare), "is exact, so it must have one value, no place in the order, no evidence"),
        (leaf.exact or leaf.order or waits, "has no share of delta, so nothing may be known of it but [0, 1]"),
        (isclose(leaf.share, due if leaf.order else 0.0, rel_tol=CLOSE), "must have the share of delta of its place"),
    ):
        need(bool(fine), f"leaf {shown(leaf.label)} {reason}")


def origin(leaf: Part, search: Part, sampled: int, judge: Bound | None, *, steady: bool) -> str:
    """Return where the interval of a leaf comes from; refuse one that does not follow from its samples.

    The paper's rates depend on the number of sampled leaves. `steady` says that this number has never changed, or that
    the rate does not use it. Otherwise an interval from earlier samples cannot be checked.
    """
    if leaf.exact:
        return "exact"
    bound, count = search.bound, leaf.count
    looks = {"lower": leaf.lower_evidence, "upper": leaf.upper_evidence}
    known, now = [look for look in looks.values() if look is not None], [count, (leaf.mean or 0.0) * count]
    for look in known:
        fine = len(look) == WIDTHS.get(bound, max(2, len(look))) and 1 <= look[0] <= count and look[0] % 1 == 0
        need(fine and 0 <= look[1] <= look[0] + CLOSE, f"the evidence of leaf {shown(leaf.label)} is not of its samples")
    rising = [[look[1], *(look[WEIGHTS] if bound == "betting" else ())] for look in known]
    fine = all(only_added(look, sums, now, now[1:]) for look, sums in zip(known, rising, strict=True))
    if len(known) == 2:
        early = known[0][0] > known[1][0]
        fine = fine and only_added(known[early], rising[early], known[not early], rising[not early])
    need(fine, f"the evidence of leaf {shown(leaf.label)} contradicts itself or the mean of the leaf")
    if (leaf.lower, leaf.upper) == (0, 1):
        return "free"
    written = False
    for side, look in looks.items():
        value = getattr(leaf, side)
        if bound not in RATES:
            given = look is not None and (judge is None or judge(side, value, leaf.share, look))
            fine = given or value == (side == "upper") or (look is None and judge is None and not known and count > 0)
            written = written or judge is None
        elif look is not None and not steady:
            written = True
        else:
            n, total = (look or now)[:2]
            level = RATES[bound](n, search.delta, sampled) if n else 0.0
            fine = value == (side == "upper") or (n > 0 and within(side, value, total / n, sqrt(level / (2 * n))))
        need(fine, f"the {side} bound {value:.6g} of leaf {shown(leaf.label)} does not follow from its samples")
    return "written" if written else "follows"


def only_added(early: Sequence[float], before: Sequence[float], late: Sequence[float], after: Sequence[float]) -> bool:
    """Whether later sums can come from earlier ones by adding samples in [0, 1]; counts come first in the evidence."""
    slack, fresh = CLOSE * max(1.0, late[0]), late[0] - early[0]
    return all(-slack <= new - old <= fresh + slack for old, new in zip(before, after, strict=False))


# ---- what follows for nodes: bounds, value of a plan, gap


def node_bounds(search: Part) -> tuple[list[float], list[float]]:
    """Return the bounds of all nodes: the best of the children, the mean of them where chance decides."""
    graph, children = search.graph, search.graph.children
    lower, upper = [0.0] * len(children), [1.0] * len(children)
    for leaf in search.leaves:
        lower[leaf.node], upper[leaf.node] = leaf.lower, leaf.upper
    for group in graph.groups:
        node = group[0]
        if is_cycle(group, graph):
            need(graph.chance is None, "a graph with chance must have no cycles")
            for bounds, end in zip((lower, upper), endless_play(group, graph), strict=True):
                for one, bound in component_bounds(group, graph, bounds, end).items():
                    bounds[one] = bound
        elif node in graph.chances:
            lower[node] = mean_of(graph.chances[node], [lower[child] for child in children[node]], 0.0)
            upper[node] = mean_of(graph.chances[node], [upper[child] for child in children[node]], 1.0)
        elif children[node]:
            best = min if node in graph.opponent else max
            lower[node] = best([lower[child] for child in children[node]])
            upper[node] = best([upper[child] for child in children[node]])
    return lower, upper


def mean_of(weights: Sequence[float], values: Sequence[float], rest: float) -> float:
    """Return a mean; `rest` is the value of children that are not in the graph, if probabilities sum to less than 1."""
    total = mean = 0.0
    for weight, value in zip(weights, values, strict=True):
        mean += weight * value
        total += weight
    return mean + rest * (1.0 - total) if total < 1.0 - CLOSE else mean


def endless_play(group: list[int], graph: Part) -> tuple[float, float]:
    """Return what play that never leaves a component is worth.

    One player gets 0. In a game, if nothing is written, the one who could leave is to blame. If both could or none,
    nothing is known.
    """
    if not graph.two_player:
        return 0.0, 0.0
    inside = {*group}
    if graph.endless:
        written = [one for one in graph.endless if one.node in inside]
        return min(one.lower for one in written), max(one.upper for one in written)
    leaving = {node for node in group if not inside.issuperset(graph.children[node])}
    opponent, player = bool(leaving & graph.opponent), bool(leaving - graph.opponent)
    return (0.0, 1.0) if opponent == player else (1.0, 1.0) if opponent else (0.0, 0.0)


def component_bounds(group: list[int], graph: Part, outside: list[float], end: float) -> dict[int, float]:
    """Return the bounds of nodes that reach each other: the value `end` wherever nobody can force more or less."""
    parents: dict[int, list[int]] = {node: [] for node in group}
    for node in group:
        for child in graph.children[node]:
            if child in parents:
                parents[child].append(node)

    def approached(beyond: Callable[[float, float], float]) -> dict[int, float]:
        value, waiting = dict.fromkeys(group, end), deque(group)
        while waiting:
            node = waiting.popleft()
            best = min if node in graph.opponent else max
            now = beyond(end, best(value[one] if one in value else outside[one] for one in graph.children[node]))
            if now != value[node]:
                value[node] = now
                waiting.extend(parents[node])
        return value

    gained, lost = approached(max), approached(min)
    return {node: gained[node] if gained[node] > end else lost[node] for node in group}


def plan_value(search: Part, lower: list[float], upper: list[float]) -> tuple[float, float, float]:
    """Return the interval of a plan, and how much better another plan may be; refuse a plan that is none.

    A plan is a move for each choice that it leads to. The loss of a leaf is 0, of an unfinished one 1; at a chance node
    it is the mean loss. Where the player moves, it is the loss after the move or, if that is more, the largest upper
    bound of another child minus the lower bound of the plan. Where the opponent moves to a child, it is at most the
    loss from there, and at most the upper bound of the node minus the lower bound of the plan from the child on.
    """
    graph, children, move = search.graph, search.graph.children, dict(search.plan)
    fine = len(move) == len(search.plan) and all(one < len(children) and to in children[one] for one, to in move.items())
    need(fine, "the plan must have one move to a child at each of its nodes")
    need(search.answer == move.get(0, 0), f"the answer of a plan is its first move, got node {search.answer}")
    unfinished = {leaf.node for leaf in search.leaves if not leaf.terminal}
    known: dict[int, tuple[float, float, float]] = {}
    reached, choices = {0}, {0} & move.keys()
    for node in (group[0] for group in reversed(graph.groups)):  # parents first
        if node not in reached or not children[node]:
            continue
        mine = node not in graph.chances and node not in graph.opponent
        need(not mine or node in move, f"the plan must have a move at node {node}, to which it leads")
        choices |= {node} if mine else set()
        reached.update([move[node]] if mine else children[node])
    need(choices == move.keys(), "the plan must have no moves where it does not lead or somebody else decides")
    for node in (group[0] for group in graph.groups if group[0] in reached):  # children first
        if not children[node]:
            known[node] = lower[node], upper[node], float(node in unfinished)
        elif node in move:
            low, high, loss = known[move[node]]
            known[node] = low, high, max([loss, *(upper[one] - low for one in children[node] if one != move[node])])
        elif node in graph.opponent:
            below = [known[child] for child in children[node]]
            loss = max(0.0, *(min(loss, upper[node] - low) for low, _, loss in below))
            known[node] = min(low for low, _, _ in below), min(high for _, high, _ in below), loss
        else:
            lows, highs, losses = zip(*(known[child] for child in children[node]), strict=True)
            weights = graph.chances[node]
            known[node] = mean_of(weights, lows, 0.0), mean_of(weights, highs, 1.0), mean_of(weights, losses, 1.0)
    return known[0]


def compared_leaves(search: Part) -> set[int]:
    """Return the nodes of the leaves that were compared: exact ones, and those whose upper bound is below 1.

    In a graph that grew, leaves that entered last may have been sampled too little. They are left out if that makes the
    gap smaller by a larger factor than the number of leaves.
    """
    exact = [leaf for leaf in search.leaves if leaf.exact]
    sampled = [leaf for leaf in search.leaves if not leaf.exact and leaf.upper < 1]
    if search.expansion is not None:
        value = max((leaf.lower for leaf in search.leaves if leaf.terminal), default=0.0)
        top, floor_of_gap = max((leaf.upper for leaf in exact), default=0.0), max(search.epsilon, 0.001)
        most, kept, enough = -1.0, 0, min(0.5 * len(search.leaves), len(sampled) + len(exact))
        for many in range(len(sampled) + 1):
            top = max(top, sampled[many - 1].upper) if many else top
            worth = (many + len(exact)) / max(top - value, floor_of_gap) if many + len(exact) >= enough else -1.0
            most, kept = max(most, worth), many if worth >= most else kept
        sampled = sampled[:kept]
    return {leaf.node for leaf in chain(exact, sampled)}


class Numbers(NamedTuple):
    """What follows from the leaves for the answer."""

    lower: float
    upper: float
    gap: float
    known_gap: float
    compared: int


def numbers_of(c: Part) -> Numbers:
    """Return the interval and the gaps of the answer.

    The gap says how much better than the answer another one may be, for the player who moves at the root. The known gap
    is the same among the leaves compared. It is the gap if they hold no rival, and in a game or with chance, where one
    leaf may change what all others are worth. Leaves with the same label are one candidate.
    """
    search, graph, answer = c.search, c.search.graph, c.search.answer
    lower, upper = node_bounds(search)
    compared = compared_leaves(search)
    if search.plan is not None:
        low, high, loss = plan_value(search, lower, upper)
        return Numbers(low, min(1.0, high), min(1.0, loss), min(1.0, loss), len(compared))
    if search.task == "leaf":
        need(not graph.two_player and not graph.children[answer], "the answer must be a leaf of a graph of one player")
    else:
        need(answer in graph.children[0], "the answer must be a child of the root")
    below, fresh = {answer}, [answer]
    for node in fresh:  # grows in this loop
        fresh += {*graph.children[node]} - below
        below.update(graph.children[node])
    inside = {json.dumps(leaf.label): leaf.terminal for leaf in search.leaves if leaf.node in below}
    if graph.two_player or graph.chance is not None:
        others = [child for child in graph.children[0] if child != answer]
        gaps = [(upper[answer] - lower[one] if 0 in graph.opponent else upper[one] - lower[answer]) for one in others]
        known = gaps
    else:
        apart = [leaf for leaf in search.leaves if json.dumps(leaf.label) not in inside]
        gaps = [leaf.upper - lower[answer] for leaf in apart]
        known = [leaf.upper - lower[answer] for leaf in apart if leaf.node in compared] or gaps
    if c.all_subsets is not None:  # subsets that are not listed are at most so good
        known = [*known, c.all_subsets.least - lower[answer]]
        gaps = known if c.all_subsets.evaluated == subsets_of(c.data.choice) else [*known, 1.0 - lower[answer]]
    if search.task == "leaf" and not any(inside.values()):  # more is below the answer than the graph shows
        return Numbers(lower[answer], upper[answer], 1.0, 1.0, len(compared))
    ends = (min(1.0, max(some, default=0.0)) for some in (gaps, known))
    return Numbers(lower[answer], upper[answer], *ends, len(compared))
