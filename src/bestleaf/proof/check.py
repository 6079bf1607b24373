"""Check a certificate of bestleaf from its file alone: `python check.py certificate.json` needs nothing but Python.

Exit code 0: what the file claims follows from the numbers in it, apart from what is printed as not checked. 1: refused,
with the reason. 2: no certificate that can be read. What writes certificates shares no code with this file.

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
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, chain, groupby, pairwise
from math import ceil, comb, exp, floor, isclose, isfinite, log, log1p, sqrt
from operator import itemgetter, mul
from types import SimpleNamespace as Part  # a part of a certificate: its fields are attributes
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
    difference_interval?=(number,number)?, best_other?=number?, fingerprint?=digest?
rank table: measure=auc|concordance|accuracy, judges=1.., sets=[1..], lines=[[0..]]
path: rows=[<row of the path>], size=1.., order=name, judges=[text], folds=0.., folds_planned=0.., tolerance=number,
    asked?=flag, chosen_in_folds?={value}, seed?=seed?
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
    """This is no file of a certificate; the text says why."""


class Report(NamedTuple):
    """Whether a certificate holds, what was checked, what is taken as written, and why it is refused."""

    holds: bool
    lines: tuple[str, ...] = ()
    taken_as_written: tuple[str, ...] = ()
    reason: str = ""


def need(fine: object, reason: str) -> None:
    """Refuse the certificate for a reason, unless a condition is met."""
    if not fine:
        raise Refused(reason)


def shown(value: object, most: int = 80) -> str:
    """Return a value of unknown origin in one line of ASCII."""
    text = json.dumps(value[: 2 * most] if isinstance(value, str) else value, default=repr)
    return text if len(text) <= most else text[: most - 3] + "..."


def ranged(kind: str) -> Callable[[Any], bool]:
    """Return the test of a kind that is a range, or one of some texts."""
    low, _, high = kind.partition("..")
    if low == kind:
        return lambda value: isinstance(value, str) and re.fullmatch(kind, value, re.ASCII | re.DOTALL) is not None
    if "." in low:
        return lambda value: type(value) in (int, float) and float(low) <= value <= float(high)
    numbers = range(int(low), int(high or 10**15) + 1)
    return lambda value: type(value) is int and value in numbers


_NAME, _ARGUMENT = "[A-Za-z_][A-Za-z0-9_]{0,59}", "[\\w=.'-]{1,60}"
KINDS: dict[str, Callable[[Any], bool]] = {
    "any": lambda value: True,
    "list": lambda value: isinstance(value, list),
    "numbers": lambda value: type(value) is list and {*map(type, value)} <= {int, float} and all(map(isfinite, value)),
    "flag": lambda value: isinstance(value, bool),
    "seed": lambda value: type(value) is int,
    "value": lambda value: type(value) in (int, float) and 0 <= value <= 1,
    "fraction": lambda value: type(value) in (int, float) and 0 < value < 1,
    "number": ranged("-1e300..1e300".replace("-1e300", "-1.0e300")),
    "error": ranged("0.0..1e300"),
    "text": lambda value: isinstance(value, str),
    "name": ranged(_NAME),
    "call": ranged(rf"{_NAME}(\(({_ARGUMENT}(, {_ARGUMENT}){{0,9}})?\))?"),
    "release": ranged(r"[\w.+-]{1,40}"),
    "digest": ranged("[0-9a-f]{64}"),
}
FIELDS = {
    part: re.findall(r"(\w+)(\??)=(.*?)(?:,\s+|,?$)", fields.replace("\n", " "))
    for part, fields in re.findall(r"^(\w[\w ]*): (.*(?:\n .*)*)", FORM, re.MULTILINE)
}
DEFAULTS = {"[": [], "{": {}, "f": False, "0": 0, "v": 0.0}  # by the first letter of the kind, if it is not null


def read(value: Any, kind: str, what: str) -> Any:
    """Return a value of a kind, with its parts as `Part`; refuse another value."""
    if kind in KINDS:
        need(KINDS[kind](value), f"{what} must be of kind {kind}, got {shown(value)}")
        return value
    inner = kind[1:-1]
    if kind[-1] == "?":
        return None if value is None else read(value, kind[:-1], what)
    if kind[0] == "<":
        return read_part(value, inner)
    if kind[0] == "{":
        need(isinstance(value, dict), f"{what} must have named values, got {shown(value)}")
        return {name: read(one, inner, what) for name, one in value.items()}
    if kind[0] in "[(":
        kinds = inner.split(",") if kind[0] == "(" else [inner] * len(value if isinstance(value, list) else "")
        need(isinstance(value, list) and len(value) == len(kinds), f"{what} must be a list, got {shown(value)}")
        return [read(one, kind, what) for one, kind in zip(value, kinds, strict=True)]
    KINDS[kind] = ranged(kind)
    return read(value, kind, what)


def read_part(value: Any, part: str) -> Part:
    """Return a part with all of its fields; refuse a field that is unknown, missing or not of its kind."""
    need(isinstance(value, dict), f"the {part} must have named fields, got {shown(value)}")
    if part == "objective":  # one of three
        part = value["kind"] if value.get("kind") in ("neighbours", "estimator", "panel") else "panel"
    kept = Part()
    for name, optional, kind in FIELDS[part]:
        need(optional or name in value, f"the field {name!r} is missing in the {part}")
        null = kind[-1] == "?" or kind == "any"
        given = name in value
        kept.__dict__[name] = (
            read(value[name], kind, f"{name!r} of the {part}") if given else None if null else DEFAULTS[kind[0]]
        )
    strange = value.keys() - vars(kept).keys()
    need(not strange, f"there is an unknown field {shown(min(strange, default=''))} in the {part}, which nobody checks")
    return kept


def content_of(path: str) -> dict[str, Any]:
    """Return the JSON of a file; refuse devices, pipes, very long files, names that are there twice, and no numbers."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(found := dict(pairs)) < len(pairs):
            raise ValueError("a field is written twice")
        return found

    def no_number(name: str) -> None:
        raise ValueError(f"{name} is no number of JSON")

    try:
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with open(number, "rb") as file:
            if not stat.S_ISREG(os.fstat(number).st_mode):
                raise ValueError("a file is needed, got a device, a pipe or a folder")
            text = file.read(LARGEST + 1)  # whatever size the system says it has
        if len(text) > LARGEST:
            raise ValueError(f"at most {LARGEST // 10**6} MB are read, got more")
        content = json.loads(text.decode(), object_pairs_hook=once, parse_constant=no_number)
    except (OSError, ValueError, RecursionError) as error:
        raise Unreadable(shown(str(error), 200)) from None
    if not isinstance(content, dict) or content.get("format") != "bestleaf certificate":
        raise Unreadable("this is no certificate of bestleaf")
    if content.get("format_version") != 4:
        raise Unreadable(f"format version 4 can be checked, got {shown(content.get('format_version'))}")
    if content.get("checksum") is None:
        raise Unreadable("it has no checksum, so it is not as it was saved")
    return content


def checksum(content: dict[str, Any]) -> str:
    """Return the SHA-256 of everything but the checksum; it does not depend on the layout of the file."""
    kept = {name: value for name, value in content.items() if name != "checksum"}
    return hashlib.sha256(json.dumps(kept, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


# ---- the data and what may be chosen


class Choice:
    """The subsets of units that may be chosen."""

    def __init__(self, choice: Part, units: int = 2**62) -> None:
        listed, self.limit, self.free = [*choice.allowed, *choice.forced], choice.limit, len(choice.allowed)
        self.forced, self.units = frozenset(choice.forced), frozenset(listed)
        fine = len(self.units) == len(listed) and max(listed, default=0) < units
        need(fine, "the units allowed and forced must be different units of the data")
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
        need(fine and self.forced <= {*units} <= self.units, f"{shown(label)} is not a subset that may be chosen")
        return frozenset(units)


def check_data(c: Part) -> None:
    """Check names, units, the choice, the objective, and how the table was read."""
    data, names, objective, table = c.data, {*c.data.names}, c.data.objective, c.table
    fine = len(names) == len(data.names) and all(data.units)
    need(fine and sorted(chain(*data.units)) == [*range(len(names))], "names must differ, each in exactly one unit")
    choice = Choice(data.choice, len(data.units))
    for flag, digest, column in (("grouped", "row_groups", "groups"), ("weighted", "row_weights", "weights")):
        known = getattr(data, digest) is not None
        fits = known == getattr(objective, flag) and (table is None or known == (getattr(table, column) is not None))
        need(fits, f"{digest} must be written if and only if the rows are {flag}")
    if data.encoding is not None:
        out = {*data.encoding.left_out}
        fine = {*data.encoding.levels} | out <= names and out.isdisjoint(columns_of(data, choice.units))
        need(fine, "levels and columns left out must be those of the table, and none left out may be chosen")
    if table is not None:
        need(len(table.checksums) == len(names) + 1, "the table must have a checksum of each column and of the target")
        wrong = {*table.dropped, *table.left_out, table.groups, table.weights} & {*names, *table.kept}
        need(not wrong, f"a column that was left out of the table must not be in it, got {shown(sorted(wrong)[:1])}")
    if objective.kind != "estimator":
        right = objective.classes == 0 if objective.task == "regression" else 2 <= objective.classes <= data.rows
        need(right, f"the number of classes must go with the task {objective.task}, got {objective.classes}")
    if objective.kind == "neighbours":
        voters = objective.reference_rows or data.rows
        apart = voters < data.rows  # then other rows are ranked than those that vote
        ranked = (objective.query_rows or 0) if apart else data.rows
        fine = apart == (objective.query_rows is not None) and ranked <= data.rows - voters * apart
        part = 2 <= objective.queries < data.rows and not apart and data.rows**2 > 10**9  # else all would take too long
        fine = fine and voters <= data.rows and (objective.queries == ranked or part)
        fine = fine and objective.n_neighbors <= voters - (not apart) and objective.subsample <= ranked
        need(fine, "the numbers of neighbours and of rows that vote and are ranked must fit the rows of the data")


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
Bound = Callable[[str, float, float, Sequence[float]], bool]  # (side, value, share, evidence) -> whether it follows


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


def log_mean(logs: Sequence[float]) -> float:
    """Return the logarithm of the mean of numbers that are given by their logarithms."""
    highest = max(logs)
    return highest + log(sum([exp(one - highest) for one in logs]) / len(logs))


class Leaves:
    """The leaves of a search, and what their intervals follow from.

    Only these bounds prove something: `hoeffding`, `betting`, and the paper's rate `theory` if all leaves were there
    from the start and all are sampled. Intervals of other bounds are taken as written.
    """

    def __init__(self, search: Part, own: Bound | None) -> None:
        self.search, self.leaves = search, search.leaves
        self.sampled = sum(leaf.order > 0 for leaf in self.leaves)
        self.fixed = search.expansion is None and self.sampled == len(self.leaves)
        part = search.delta / max(1, self.sampled)
        self.equal = self.fixed and all(isclose(leaf.share, part, rel_tol=CLOSE) for leaf in self.leaves)
        self.judge = {"hoeffding": hoeffding, "betting": betting}.get(search.bound, own)
        if search.bound == "theory" and self.fixed and search.delta <= 0.1 * self.sampled:
            self.judge = self.theory
        best = "rigorous" if search.bound in WIDTHS or self.judge == self.theory else "conditional"
        best = "none" if search.bound.startswith(("theory", "beta")) and best == "conditional" else best
        fine = search.proof == "none" or (search.stopping == "sound" and search.proof == best)
        need(fine, f"bound {search.bound} with stopping {search.stopping} is not {search.proof} here")

    def theory(self, side: str, value: float, share: float, evidence: Sequence[float]) -> bool:
        """Whether a bound follows from the rate of the paper's theorems."""
        n, union = evidence[0], log(self.sampled / self.search.delta)
        return within(side, value, evidence, sqrt((union + 3 * log(union) + 1.5 * log(log(n) + 1)) / (2 * n)))

    def check(self, *, subsets: bool) -> Counter[str]:
        """Check every leaf; return how many are exact, free, follow from their samples, or are taken as written."""
        found, exact = Counter[str](), dict[str, bool]()
        for leaf in self.leaves:
            self.check_kind(leaf)
            need(not (subsets and leaf.terminal and leaf.order), f"subset {shown(leaf.label)} must be exact")
            decided = leaf.exact or leaf.order
            fine = not decided or exact.setdefault(json.dumps(leaf.label), leaf.exact) == leaf.exact
            need(fine, f"two leaves called {shown(leaf.label)} are of different kinds")
            found[self.origin(leaf)] += 1
        return found

    def check_kind(self, leaf: Part) -> None:
        """Check that a leaf is exact, or waits for its value, or has a place in the order of creation and a share."""
        places = self.sampled if self.equal else leaf.order * (leaf.order + 1)
        bare = not leaf.order and leaf.lower_evidence is None and leaf.upper_evidence is None
        value = leaf.terminal and leaf.lower == leaf.upper == leaf.mean and leaf.count == 1
        waits = leaf.terminal and (leaf.lower, leaf.upper, leaf.count) == (0, 1, 0) and bare
        due = self.search.delta / places if leaf.order else 0.0
        for fine, reason in (
            ((leaf.mean is None) == (leaf.count == 0), "must have a mean if and only if it has samples"),
            (leaf.lower <= leaf.upper, "must have lower <= upper"),
            (not leaf.exact or (value and bare), "is exact, so it must have one value, no place and no evidence"),
            (leaf.exact or leaf.order or waits, "has no share of delta, so nothing may be known of it but [0, 1]"),
            (isclose(leaf.share, due, rel_tol=CLOSE), "must have the share of delta of its place"),
        ):
            need(fine, f"leaf {shown(leaf.label)} {reason}")

    def origin(self, leaf: Part) -> str:
        """Return where the interval of a leaf comes from; refuse one that does not follow from its samples."""
        if leaf.exact:
            return "exact"
        looks, now = (leaf.lower_evidence, leaf.upper_evidence), [leaf.count, (leaf.mean or 0) * leaf.count]
        known = [look for look in looks if look is not None]
        for look in known:
            fine = len(look) == WIDTHS.get(self.search.bound, max(2, len(look))) and look[0] in range(1, leaf.count + 1)
            fine = fine and 0 <= look[1] <= look[0] + CLOSE and only_added(look[:2], now)
            need(fine, f"the evidence of leaf {shown(leaf.label)} is not of its samples")
        sums = sorted([*look[:2], *(look[WEIGHTS] if self.search.bound == "betting" else ())] for look in known)
        need(len(known) < 2 or only_added(*sums), f"the evidence of leaf {shown(leaf.label)} contradicts itself")
        for side, value, free, look in zip(("lower", "upper"), (leaf.lower, leaf.upper), (0, 1), looks, strict=True):
            given = now if look is None and self.judge == self.theory and leaf.count else look
            fine = value == free or (given is not None and self.judge and self.judge(side, value, leaf.share, given))
            own = self.judge is None and (look is not None or (not known and leaf.count > 0))
            need(fine or own, f"the {side} bound of leaf {shown(leaf.label)} does not follow from its samples")
        return "free" if (leaf.lower, leaf.upper) == (0, 1) else "written" if self.judge is None else "follow"


def only_added(early: Sequence[float], late: Sequence[float]) -> bool:
    """Whether later sums can come from earlier ones by adding samples in [0, 1]; counts come first."""
    slack, fresh = CLOSE * max(1.0, late[0]), late[0] - early[0]
    return all(-slack <= new - old <= fresh + slack for old, new in zip(early[1:], late[1:], strict=True))


# ---- the graph: its form, and what follows from the leaves for the other nodes


class Graph:
    """The final graph of a search with its leaves."""

    def __init__(self, c: Part) -> None:
        self.c, self.search, self.graph, self.leaves = c, c.search, c.search.graph, c.search.leaves
        self.children, self.labels = self.graph.children, self.graph.labels
        self.nodes, self.grew = range(len(self.labels)), c.search.expansion is not None
        self.opponent, self.two_player = {*self.graph.minimizes}, self.graph.two_player
        self.chances = {one.node: one.probabilities for one in self.graph.chance or ()}
        self.endless = {one.node: one for one in self.graph.endless}
        need(len(self.children) == len(self.nodes) > 0, "the graph must list the children of every node")
        for below in (*self.children, self.graph.minimizes):
            fine = len({*below}) == len(below) and max(below, default=0) < len(self.nodes)
            need(fine, "children and nodes of the opponent must be different nodes that exist")
        self.groups = components(self.children)  # children first
        need(sum(map(len, self.groups)) == len(self.nodes), "every node must be reached from the root, the first node")
        self.leaves.sort(key=lambda leaf: leaf.node)
        childless = [node for node in self.nodes if not self.children[node]]
        need([leaf.node for leaf in self.leaves] == childless, "the leaves must be exactly the nodes without children")
        for leaf in self.leaves:
            need(c.data is None or leaf.label is None, f"leaf {leaf.node} has another label than its node")
            leaf.label = self.labels[leaf.node] if leaf.label is None else leaf.label
        self.cycles = [group for group in self.groups if len(group) > 1 or group[0] in self.children[group[0]]]

    def check(self) -> None:
        """Check edges, players, chance, cycles and, for subsets, that edges add one unit."""
        first = {child: node for node in reversed(self.nodes) for child in self.children[node]}
        need(all(first[node] < node for node in self.nodes[1:]), "every node must have a parent that entered before it")
        need(self.two_player or not self.opponent, "an opponent moves only in a game of two players")
        need(self.search.answer in self.nodes, f"the answer must be a node, got {self.search.answer}")
        planned = self.graph.chance is not None and self.search.task == "leaf"
        need((self.search.plan is not None) == planned, "there must be a plan if and only if the best leaf is one")
        need(len(self.chances) == len(self.graph.chance or ()), "chances of a node must be written once")
        for node, weights in self.chances.items():
            fine = node in self.nodes and len(weights) == len(self.children[node]) and node not in self.opponent
            need(fine, f"chance node {node} must have a probability for each of its children, and no player")
            total = sum(weights)
            fine = (
                min(weights, default=1) > 0 and total <= 1 + CLOSE and (total >= 1 - CLOSE or self.grew or not weights)
            )
            need(fine, f"the probabilities of node {node} must be positive and sum to 1, got {total:.6g}")
        fine = self.two_player and {*chain(*self.cycles)} == self.endless.keys()
        fine = fine and len(self.endless) == len(self.graph.endless)
        need(fine or not self.graph.endless, "play without end must have a value for each node on a cycle of a game")
        need(all(one.lower <= one.upper for one in self.graph.endless), "play without end must have lower <= upper")
        need(not self.cycles or self.graph.chance is None, "a graph with chance must have no cycles")
        if self.c.data is not None:
            plain = self.search.task == "leaf" and not (self.two_player or self.cycles) and self.graph.chance is None
            need(plain, "a choice of columns is about the best leaf of one player")
            self.check_lattice(Choice(self.c.data.choice))

    def check_orders(self) -> int:
        """Check the order of creation: no place is missing or taken twice, and places rise with the number of a node.

        A terminal leaf that turned out to have no exact value gets its place later; return how many did.
        """
        inner = {int(node): place for node, place in self.graph.inner_orders.items() if re.fullmatch("[0-9]+", node)}
        fine = len(inner) == len(self.graph.inner_orders) and all(
            one in self.nodes and self.children[one] for one in inner
        )
        need(fine, "inner_orders must be about inner nodes")
        need(self.grew or not inner, "the graph is not whole: it has inner nodes that once were leaves")
        need(
            self.grew or all(leaf.terminal for leaf in self.leaves), "the graph is not whole: a leaf has more below it"
        )
        placed = sorted([*inner.items(), *((leaf.node, leaf.order) for leaf in self.leaves if leaf.order)])
        fine = sorted(place for _, place in placed) == [*range(1, self.graph.created + 1)]
        need(fine, f"the places in the order of creation must be 1 to {self.graph.created:,}")
        may_wait = any(not leaf.order for leaf in self.leaves)  # there are exact values
        may_be_late = {leaf.node for leaf in self.leaves if leaf.terminal and may_wait}
        late, least = 0, len(placed) + 1
        for node, place in reversed(placed):
            need(place < least or node in may_be_late, f"node {node} entered early, so it must have an earlier place")
            late, least = late + (place > least), min(least, place)
        return late

    def check_lattice(self, choice: Choice) -> None:
        """Check that nodes are subsets that may be chosen, and that every edge adds one unit or STOP."""
        labels, ends = self.labels, [isinstance(label, list) and label[-1:] == [STOP] for label in self.labels]
        sets = [choice.check(label, complete=complete) for label, complete in zip(labels, ends, strict=True)]
        need(len({*zip(sets, ends, strict=True)}) == len(labels), "two nodes of the graph are the same subset")
        need(sets[0] == choice.forced and not ends[0], "the root must be the units always in")
        need(all(leaf.terminal == ends[leaf.node] for leaf in self.leaves), "a leaf is terminal if it ends with -1")
        if self.c.all_subsets is not None:
            star = not any(self.children[1:]) and all(ends[1:])
            need(star, "a search of all subsets must list the subsets below the root")
            return
        for node, below in enumerate(self.children):
            for other in below:
                one_step = len(labels[other]) == len(labels[node]) + 1 and sets[node] <= sets[other]
                need(one_step, f"{shown(labels[other])} cannot be reached from {shown(labels[node])} in one step")
        many = len(self.leaves) if self.grew else choice.count(max(len(self.leaves), 10**6))
        need(many == len(self.leaves), f"the whole graph must have all {many:,} subsets, got {len(self.leaves):,}")

    def bounds(self) -> tuple[list[float], list[float]]:
        """Return the bounds of all nodes: the best of the children, the mean of them where chance decides."""
        lower, upper = [0.0 for _ in self.nodes], [1.0 for _ in self.nodes]
        for leaf in self.leaves:
            lower[leaf.node], upper[leaf.node] = leaf.lower, leaf.upper
        for group in self.groups:
            node, below = group[0], self.children[group[0]]
            for bounds, rest in ((lower, 0), (upper, 1)):
                if group in self.cycles:
                    for one, bound in self.on_cycle(group, bounds, self.endless_play(group)[rest]).items():
                        bounds[one] = bound
                elif node in self.chances:
                    bounds[node] = mean_of(self.chances[node], [bounds[child] for child in below], rest)
                elif below:
                    best = min if node in self.opponent else max
                    bounds[node] = best([bounds[child] for child in below])
        return lower, upper

    def endless_play(self, group: list[int]) -> tuple[float, float]:
        """Return the interval of play that never leaves nodes that reach each other.

        One player gets 0. In a game, if nothing is written, the one who could leave is to blame. If both could or none,
        nothing is known.
        """
        if self.endless or not self.two_player:
            written = [self.endless[node] for node in group if self.endless]
            return min((one.lower for one in written), default=0.0), max((one.upper for one in written), default=0.0)
        leaving = {node for node in group if not {*self.children[node]} <= {*group}}
        opponent, player = bool(leaving & self.opponent), bool(leaving - self.opponent)
        return (0.0, 1.0) if opponent == player else (1.0, 1.0) if opponent else (0.0, 0.0)

    def on_cycle(self, group: list[int], outside: list[float], end: float) -> dict[int, float]:
        """Return the bounds of nodes that reach each other: the value `end` wherever nobody can force more or less."""
        parents, found = defaultdict(list), []
        for node in group:
            for child in self.children[node]:
                parents[child].append(node)
        for beyond in (max, min):
            value, waiting = dict.fromkeys(group, end), deque(group)
            while waiting:
                node = waiting.popleft()
                best = min if node in self.opponent else max
                now = beyond(end, best(value[one] if one in value else outside[one] for one in self.children[node]))
                waiting.extend(parents[node] if now != value[node] else ())
                value[node] = now
            found.append(value)
        gained, lost = found
        return {node: gained[node] if gained[node] > end else lost[node] for node in group}

    def of_plan(self, lower: list[float], upper: list[float]) -> tuple[float, float, float]:
        """Return the interval of a plan, and how much better another plan may be; refuse a plan that is none.

        A plan is a move for each choice that it leads to. The loss of a leaf is 0, of an unfinished one 1; at a chance
        node it is the mean loss. Where the player moves, it is the loss after the move or, if that is more, the largest
        upper bound of another child minus the lower bound of the plan. Where the opponent moves to a child, it is at
        most the loss from there, and at most the upper bound of the node minus the lower bound of the plan from there.
        """
        children, move = self.children, dict(self.search.plan)
        fine = len(move) == len(self.search.plan) and {*move} <= {*self.nodes}
        need(fine and all(to in children[node] for node, to in move.items()), "a move of a plan must lead to a child")
        need(self.search.answer == move.get(0, 0), "the answer of a plan must be its first move")
        reached, choices, order = {0}, set[int](), [group[0] for group in self.groups if children[group[0]]]
        for node in (node for node in reversed(order) if node in reached):  # parents first
            if node not in self.chances and node not in self.opponent:
                choices.add(node)
                need(node in move, f"the plan must have a move at node {node}, to which it leads")
            reached.update([move[node]] if node in choices else children[node])
        need(choices == move.keys(), "the plan must have no moves where it does not lead or somebody else decides")
        known = {leaf.node: (leaf.lower, leaf.upper, float(not leaf.terminal)) for leaf in self.leaves}
        for node in (node for node in order if node in reached):
            if node in move:
                low, high, loss = known[move[node]]
                known[node] = low, high, max([loss, *(upper[one] - low for one in children[node] if one != move[node])])
                continue
            lows, highs, losses = zip(*map(known.__getitem__, children[node]), strict=True)
            if node in self.opponent:
                loss = max(min(loss, upper[node] - low) for low, loss in zip(lows, losses, strict=True))
                known[node] = min(lows), min(highs), max(0.0, loss)
            else:
                weights = self.chances[node]
                known[node] = mean_of(weights, lows, 0), mean_of(weights, highs, 1), mean_of(weights, losses, 1)
        return known[0]

    def compared(self) -> set[int]:
        """Return the nodes of the leaves that were compared: exact ones, and those whose upper bound is below 1.

        In a graph that grew, leaves that entered last may have been sampled too little. They are left out if that makes
        the gap smaller by a larger factor than the number of leaves.
        """
        exact = [leaf for leaf in self.leaves if leaf.exact]
        sampled = [leaf for leaf in self.leaves if not leaf.exact and leaf.upper < 1]
        if self.grew:
            value = max((leaf.lower for leaf in self.leaves if leaf.terminal), default=0.0)
            tops = accumulate(
                (leaf.upper for leaf in sampled), max, initial=max((one.upper for one in exact), default=0)
            )
            least = min(0.5 * len(self.leaves), len(sampled) + len(exact))
            worth = [
                (many / max(top - value, self.search.epsilon, 0.001) if many >= least else -1.0, many)
                for many, top in enumerate(tops, len(exact))
            ]
            sampled = sampled[: max(worth)[1] - len(exact)]
        return {leaf.node for leaf in chain(exact, sampled)}

    def numbers(self) -> dict[str, float]:
        """Return the interval and the gaps of the answer.

        The gap says how much better than the answer another one may be, for the player who moves at the root. The known
        gap is the same among the leaves compared. It is the gap if they hold no rival, and in a game or with chance,
        where one leaf may change what all others are worth. Leaves with the same label are one candidate.
        """
        answer, children, part = self.search.answer, self.children, self.c.all_subsets
        (lower, upper), compared, arm = self.bounds(), self.compared(), self.search.task == "arm"
        low, high = lower[answer], upper[answer]
        if self.search.plan is not None:
            low, high, loss = self.of_plan(lower, upper)
            gaps = known = [loss]
        else:
            need(answer in children[0] if arm else not self.two_player and not children[answer], "this is no answer")
            below, fresh = {answer}, [answer]
            for node in fresh:  # grows in this loop
                fresh += {*children[node]} - below
                below.update(children[node])
            inside = {json.dumps(leaf.label): leaf.terminal for leaf in self.leaves if leaf.node in below}
            apart = [leaf for leaf in self.leaves if json.dumps(leaf.label) not in inside]
            gaps = [leaf.upper - low for leaf in apart]
            known = [leaf.upper - low for leaf in apart if leaf.node in compared] or gaps
            if self.two_player or self.graph.chance is not None:
                others = [child for child in children[0] if child != answer]
                gaps = known = [high - lower[one] if 0 in self.opponent else upper[one] - low for one in others]
            if part is not None:  # subsets that are not listed are at most so good
                every = part.evaluated == Choice(self.c.data.choice).count()
                known = [*known, part.least - low]
                gaps = known if every else [*known, 1.0 - low]
            if not arm and not any(inside.values()):  # more is below the answer than the graph shows
                gaps = known = [1.0]
        gap, known_gap = (min(1.0, max(some, default=0.0)) for some in (gaps, known))
        return {"lower": low, "upper": min(1.0, high), "gap": gap, "known_gap": known_gap, "compared": len(compared)}


def mean_of(weights: Sequence[float], values: Sequence[float], rest: float) -> float:
    """Return a mean; `rest` is the value of children that are not in the graph, if probabilities sum to less than 1."""
    mean, total = sum(map(mul, weights, values)), sum(weights)
    return mean + rest * (1.0 - total) if total < 1.0 - CLOSE else mean


def components(children: list[list[int]]) -> list[list[int]]:
    """Return the nodes that the root reaches, in groups that reach each other, each after those that it leads to.

    This is Tarjan's algorithm without recursion. Without a cycle, every group is one node.
    """
    number, oldest, place, found = [-1] * len(children), [0] * len(children), [-1] * len(children), []
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
            if waiting:
                oldest[waiting[-1][0]] = min(oldest[waiting[-1][0]], oldest[node])
            if oldest[node] == number[node]:
                group, path[place[node] :] = path[place[node] :], []
                for one in group:
                    place[one] = -1
                found.append(group)
    return found


# ---- the other claims


def check_local(c: Part) -> None:
    """Check that all candidates one step away are listed, and that none is better by more than epsilon."""
    local, answer = c.local, c.search.graph.labels[c.search.answer]
    mine = next((leaf for leaf in c.search.leaves if leaf.node == c.search.answer and leaf.exact), None)
    need(mine is not None and c.search.task == "leaf", "a claim one step away needs the exact value of a best leaf")
    values = {json.dumps(one.label): one.value for one in local.compared}
    for leaf in c.search.leaves:
        value = values.get(json.dumps(leaf.label), leaf.lower)
        need(not leaf.exact or abs(value - leaf.lower) <= CLOSE, f"{shown(leaf.label)} has two values")
    best = max(values.values(), default=0.0)
    need(best <= mine.lower + local.epsilon, f"a candidate one step away is better by {best - mine.lower:.6g}")
    need(len(values) == len(local.compared), "a candidate one step away is listed twice")
    if local.choice is None:
        need(c.data is None and values, "a claim one step away must say which candidates there are")
        return
    need(c.data is None or vars(local.choice) == vars(c.data.choice), "the claim must be about what may be chosen")
    choice = Choice(local.choice)
    own, others = choice.check(answer), {choice.check(one.label) for one in local.compared}
    free, loose = len(choice.units - own), len(own - choice.forced)
    many = free * (len(own) < choice.limit) + loose * (len(own) > 1) + loose * free  # added, dropped, exchanged
    near = all(max(len(other - own), len(own - other)) == 1 for other in others)
    need(near and len(others) == many, f"the claim must be about all {many:,} subsets one step away")


def check_all_subsets(c: Part) -> int:
    """Check the count of subsets, and that there are as many leaves as there must be; return how many subsets exist."""
    part, leaves = c.all_subsets, c.search.leaves
    total, listed = Choice(c.data.choice).count(), sum(leaf.lower >= part.least for leaf in leaves)
    fine = c.search.expansion is None and all(leaf.exact for leaf in leaves)
    need(fine, "subsets that were counted must be exact leaves of a graph that did not grow")
    need(
        part.evaluated <= min(total, 2**30), f"there are {total:,} subsets, got {part.evaluated:,} that were evaluated"
    )
    need(part.evaluated == total or c.reason != "settled", f"a settled answer needs all {total:,} subsets")
    need(len(leaves) <= part.evaluated <= c.cost.exact_evaluations, "more subsets are written than were evaluated")
    need(
        listed >= min(1000, part.evaluated), f"the best subsets must be leaves, got {listed:,} of at least {part.least}"
    )
    return total


def check_path(c: Part) -> None:
    """Check every row of the path, and that the answer is the row of the size chosen."""
    path, data, choice, sizes = c.path, c.data, Choice(c.data.choice), [row.size for row in c.path.rows]
    unit = {data.names[column]: number for number, columns in enumerate(data.units) for column in columns}
    need(sizes and sizes == sorted({*sizes}), "the sizes of the path must rise")
    need(path.folds <= path.folds_planned and path.chosen_in_folds.keys() <= unit.keys(), "the folds do not fit")
    for row in path.rows:
        units = {unit.get(name, -1) for name in row.features}
        fine = units <= choice.units and len(units) == row.size and columns_of(data, units) == row.features
        fine = fine and choice.forced <= units and (row.size <= choice.limit or row is path.rows[-1])
        need(fine, f"row {row.size} of the path must have all columns of so many units that may be chosen, in order")
        fine = len(row.judges) in (0, len(path.judges)) and (row.difference is None) == (row.score is None)
        if row.judges and row.difference is not None:
            fine = fine and abs(sum(row.judges) / len(row.judges) - row.difference) <= 1e-6
        need(fine, f"the difference of row {row.size} of the path must be the mean over the judges")
        need(row.size != path.size or row.features == c.features, f"row {row.size} must have the columns of the answer")
    last = path.rows[-1]
    need(last.size == len(choice.units), "the last row of the path must have all columns that may be chosen")
    need(not last.difference and not any(last.judges), "all columns differ from themselves by 0")
    need(
        path.size in sizes and (path.size <= choice.limit), f"the size chosen must be one of the path, got {path.size}"
    )
    unscored = path.asked or path.folds == 0 or c.reason in ("interrupted", "max_time")
    need(c.new_rows is not None or unscored, "an answer that was chosen must have a score on new rows")


# ---- new rows: bets on matched test rows

MATCHINGS, LOWEST, LARGEST_BET, VARIANCES, MOST_ROWS = 50, 1e-9, 0.95, (0.005, 0.05), 10**6
CELLS = (LOWEST, *(1 / (1 + exp(-step / 4)) for step in range(-16, 36)), 1.0)  # candidates with the same bet
MEASURES = {"accuracy": "accuracy", "concordance": "concordance", "roc_auc": "auc", "roc_auc_ovr": "auc"}
Layer = tuple[int, list[tuple[int, int]]]  # an output, and pairs of rows of which the first should be higher
Counts = list[list[int]]  # for each matching: how often each level was met


def check_new_rows(c: Part) -> None:
    """Check the scores against each other and, if there is a table of test rows, against it."""
    new, data, path, sizes = c.new_rows, c.data, c.path, [len(Choice(c.data.choice).units)]
    unit = {data.names[column]: number for number, columns in enumerate(data.units) for column in columns}
    size, nested = len({unit.get(name) for name in c.features}), new.how == "nested folds"
    fine = new.judges and abs(sum(new.judges.values()) / len(new.judges) - new.score) <= CLOSE
    need(fine and (path is None or path.judges in ([], [*new.judges])), "the score must be the mean over the judges")
    fine = new.rows <= data.rows and new.trained < data.rows if nested else new.trained == data.rows
    need(fine, f"trained and rows must fit the {data.rows:,} rows that were chosen from, got {new.trained}, {new.rows}")
    need(
        size < sizes[0] or abs(new.score - new.all_columns) <= CLOSE, "the answer is all columns: the scores must agree"
    )
    proof = {one is None for one in (new.delta, new.table, new.interval, new.difference_interval)}
    fine = len(proof) == 1 and (new.table is None) != (new.why_no_proof is None)
    need(fine and (new.table or new.best_other is None), "there must be a whole proof, or the reason why there is none")
    if new.table is None:
        return
    need(not (nested or data.row_groups or data.row_weights), "there is no proof for folds, groups or weights")
    scored = getattr(data.objective, "scoring", "roc_auc" if getattr(data.objective, "classes", 0) else "concordance")
    need(
        new.table.measure == MEASURES.get(scored), f"the test rows must be scored by {scored}, got {new.table.measure}"
    )
    sets, table = new.table.sets, TestRows(new.table, data.objective, new.rows)
    sizes += [] if path is None else [row.size for row in path.rows]
    fine = (
        sets[0] == size
        and max(sets) == sizes[0] in sets[:2]
        and {*sets} <= {size, *sizes}
        and len({*sets}) == len(sets)
    )
    need(
        fine and new.table.judges == len(new.judges), "the sets of the table must be the answer, all columns and others"
    )
    mine, every = ([table.score(judge) for judge in table.ranks[place]] for place in (0, sets.index(sizes[0])))
    pairs = [*zip(mine, new.judges.values(), strict=True), (sum(every) / len(every), new.all_columns)]
    need(all(abs(one - other) <= CLOSE for one, other in pairs), "the scores do not follow from the table of test rows")
    best = None if new.best_other is None else (-1.0, new.best_other)
    written = {"interval": new.interval, "difference_interval": new.difference_interval, "best_other": best}
    for name, right in table.proved(new.delta, int(data.fingerprint[:16], 16)).items():
        given = written[name]
        fine = given is right or (given and right and given[0] <= right[0] + CLOSE and given[1] >= right[1] - CLOSE)
        need(fine, f"{name} follows from the table as {right}, not {given}")


class TestRows:
    """The test rows of a table, and what they prove (docs/certificate.md tells why)."""

    def __init__(self, table: Part, objective: Part, many: int) -> None:
        lines, sets, self.measure, self.sizes = table.lines, len(table.sets), table.measure, table.sets
        need(lines and sets and all(one < other for one, other in pairwise(lines)), "the lines of the table must rise")
        need(
            sum(line[-1:] == [0] or line[-1] for line in lines) == many <= MOST_ROWS,
            f"the table must have {many:,} rows",
        )
        columns = [*zip(*lines, strict=True)]
        outputs, self.classes, known = (len(columns) - 2) // (sets * table.judges), len({*columns[0]}), 0
        fine = len(columns) == 2 + sets * table.judges * outputs and min(columns[-1]) > 0
        if self.measure == "auc":
            known = getattr(objective, "classes", 0)
            fine = fine and outputs == (1 if self.classes == 2 else self.classes)
        fine = fine and (self.classes == 1) == (self.measure == "accuracy") and known in (0, self.classes)
        need(fine and (outputs == 1 or self.measure == "auc"), "the columns of the table do not fit sets and classes")
        votes = getattr(objective, "n_neighbors", many) if objective.kind == "neighbours" else many
        for place, ranks in enumerate(columns[:-1]):
            fine = {*ranks} <= {0, 1} if self.measure == "accuracy" else {*ranks} == {*range(max(ranks) + 1)}
            need(
                fine and (place == 0 or max(ranks) <= votes),
                "ranks must go from 0 without a gap, votes up to neighbours",
            )
        rows = [
            [*chain.from_iterable([one] * count for one, count in zip(ranks, columns[-1]))] for ranks in columns[:-1]
        ]
        self.target, self.many, self.judges = rows[0], many, table.judges
        judged = [rows[place : place + outputs] for place in range(1, len(rows), outputs)]
        self.ranks = [judged[place : place + table.judges] for place in range(0, len(judged), table.judges)]
        self.outputs = [1] if outputs == 1 else [*range(outputs)]  # the class that each output should rank high

    def score(self, judge: Sequence[Sequence[int]]) -> float:
        """Return the score by a judge: the share of pairs of rows in the right order, or of rows that are right."""
        if self.measure == "accuracy":
            return sum(judge[0]) / self.many
        targets = (
            [[row == one for row in self.target] for one in self.outputs] if self.measure == "auc" else [self.target]
        )
        return sum(map(in_order, targets, judge)) / len(targets)

    def parts(self, seed: int) -> list[tuple[list[list[Layer]], float]]:
        """Return, for each part of the score, the pairs of rows of every matching, and how many trials they count for."""
        target, count, parts = self.target, Counter(self.target), defaultdict(list)
        if self.measure == "accuracy":  # every row is compared with one of rank 1/2
            self.ranks = [[[[*ranks, 0.5] for ranks in judge] for judge in one] for one in self.ranks]
            return [([[(0, [(row, self.many) for row in range(self.many)])]], self.many)]
        fewest, many, classes = min(count.values()), self.many, len(self.outputs)
        for t in range(MATCHINGS):
            keys = [draw(seed, t, row + 1) for row in range(many)]
            order = sorted(range(many), key=keys.__getitem__)
            if self.measure == "concordance":
                pairs = [sorted(pair, key=target.__getitem__, reverse=True) for pair in zip(order[::2], order[1::2])]
                parts[0].append([(0, [(one, other) for one, other in pairs if target[one] != target[other]])])
            elif classes > 1 and classes**2 * fewest >= many:  # blocks of one row of each class
                rows = [[row for row in order if target[row] == one][:fewest] for one in range(classes)]
                blocks = [*enumerate(zip(*rows, strict=True))]
                drawn = [[draw(seed, t, many + b * classes + one + 1) for b, _ in blocks] for one in range(classes)]
                layers = [
                    (one, [(block[one], block[rival(drawn[one][b], one, count)]) for b, block in blocks])
                    for one in range(classes)
                ]
                parts[0].append(layers)
            else:
                for place, one in enumerate(self.outputs):
                    ours, rest = ([row for row in order if (target[row] == one) is side] for side in (True, False))
                    parts[place].append([(place, [*zip(ours, rest)])])
        trials = [many // 2 if self.measure == "concordance" else len(part[0][0][1]) for part in parts.values()]
        return [(part, few / 2) for part, few in zip(parts.values(), trials, strict=True)]

    def proved(self, delta: float, seed: int) -> dict[str, tuple[float, float] | None]:
        """Return the intervals: half of delta is for the score, half for differences of the answer to other sets."""
        chosen, gains = [], [[] for _ in self.sizes]
        for part, evidence in self.parts(seed):
            top, found = (
                2 * self.judges * len(part[0]),
                [[self.levels(one, layers) for one in self.ranks] for layers in part],
            )
            chosen.append(([tally(one[0], top) for one in found], evidence))
            for place, gain in enumerate(gains):
                differences = [[a - b + top for a, b in zip(one[0], one[place], strict=True)] for one in found]
                gain.append(([tally(one, 2 * top) for one in differences], evidence))
        is_all = self.sizes[0] == max(self.sizes)
        others = gains[1 if is_all else 2 :]
        every = (0.0, 0.0) if is_all else ends_of(gains[1], delta / (8 if others else 4), low_difference)
        share = delta / (2 if is_all else 4) / max(1, len(others))
        lows = [low_of(gain, share, low_difference) for gain in others] + ([] if is_all else [every[0]])
        best = (-1.0, -min(lows)) if lows else None
        return {"interval": ends_of(chosen, delta / 4, low_score), "difference_interval": every, "best_other": best}

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


def rival(number: int, one: int, count: Counter[int]) -> int:
    """Return another class than `one`, drawn by how many rows it has."""
    number %= sum(count.values()) - count[one]
    for other in sorted(count.keys() - {one}):
        if number < count[other]:
            return other
        number -= count[other]
    raise AssertionError


def tally(levels: Iterable[int], top: int) -> list[int]:
    """Return how often each level from 0 to `top` was met."""
    found = Counter(levels)
    return [found[level] for level in range(top + 1)]


def ends_of(parts: list[tuple[Counts, float]], level: float, low: Callable) -> tuple[float, float]:
    """Return both ends of an interval of a mean; `low` finds the lower one of a part."""
    mirrored = [([row[::-1] for row in counts], evidence) for counts, evidence in parts]
    high = low_of(mirrored, level, low)
    return low_of(parts, level, low), 1 - high if low is low_score else -high


def low_of(parts: list[tuple[Counts, float]], level: float, low: Callable) -> float:
    """Return the lower end of a mean: the mean of the ends of its parts, each at its share."""
    return sum(low(counts, evidence, level / len(parts)) for counts, evidence in parts) / len(parts)


def low_score(counts: Counts, evidence: float, level: float) -> float:
    """Return how far from 0 upwards all candidates for a mean in [0, 1] are excluded; in a cell all have the same bet."""
    end = 0.0
    for first, last in pairwise(CELLS):
        middle = (first + last) / 2
        bet = min(LARGEST_BET, sqrt(2 * log(1 / level) * middle / (evidence * (1 - middle))))
        end = excluded(counts, [bet], level, first, last)
        if end < last:
            break
    return 0.0 if end == LOWEST else end


def low_difference(counts: Counts, evidence: float, level: float) -> float:
    """Return how far from -1 upwards all candidates for a mean in [-1, 1] are excluded, with two bets."""
    sizes = [sqrt(2 * log(1 / level) / (evidence * variance)) for variance in VARIANCES]
    end = excluded(counts, [size / sqrt(1 + size * size) for size in sizes], level, LOWEST / 2, 1.0)
    return -1.0 if end == LOWEST / 2 else 2 * end - 1


def excluded(counts: Counts, bets: Sequence[float], level: float, first: float, last: float) -> float:
    """Return how far from `first` to `last` all candidates are excluded: the capital against them reaches 1 / level."""

    def reaches(candidate: float) -> bool:
        top, logs = (len(counts[0]) - 1) * candidate, []
        for bet in bets:
            gains = [log(1 - bet + bet * place / top) for place in range(len(counts[0]))]
            logs += [sum(map(mul, row, gains)) for row in counts]
        return log_mean(logs) >= log(1 / level) + CLOSE

    if reaches(last) or not reaches(first):
        return last if reaches(last) else first
    for _ in range(40):
        middle = (first + last) / 2
        first, last = (middle, last) if reaches(middle) else (first, middle)
    return first


# ---- the whole certificate


def check(content: dict[str, Any], *, own_bound: Bound | None = None) -> Report:
    """Return whether a certificate holds, given as its JSON; `own_bound` says whether a bound of the user follows."""
    try:
        lines, taken = checked(content, own_bound)
        return Report(True, tuple(lines), tuple(taken))
    except Refused as error:
        return Report(False, reason=str(error))
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        return Report(False, reason=f"the certificate is malformed ({shown(f'{type(error).__name__}: {error}', 200)})")


def checked(content: dict[str, Any], own_bound: Bound | None) -> tuple[list[str], list[str]]:
    """Check everything; return what holds and what is taken as written."""
    c = read(content, "<certificate>", "")
    need(c.checksum in (None, checksum(content)), "the checksum is not that of the content: something was changed")
    need(c.cost.warmup_samples <= c.cost.samples, "the samples to warm up must be part of all samples")
    need(c.search or c.path or c.new_rows, "a certificate must claim something")
    about_data = (c.features, c.path, c.new_rows, c.all_subsets, c.table)
    need(c.data or not any(about_data), "without data there are no columns, no path and no new rows")
    need(c.data is None or c.features, "a certificate about data must name the columns of its answer")
    need(c.search or not (c.local or c.all_subsets), "without a search there is no other claim about it")
    lines = [f"The form of every field{'' if c.checksum is None else ' and the checksum'}."]
    if c.data is not None:
        check_data(c)
        names = columns_of(c.data, range(len(c.data.units)))
        need([name for name in names if name in {*c.features}] == c.features, "the answer must be columns of the data")
    taken = ["times and seed, why the work ended, which version of bestleaf wrote it"]
    lines += [*of_search(c, own_bound, taken)] if c.search is not None else []
    if c.path is not None:
        check_path(c)
        lines.append(f"The path: {len(c.path.rows)} sets, the one of {c.path.size} is the answer.")
        taken.append("scores by cross-validation, the order of the columns and the choice by them, which are estimates")
    if c.new_rows is not None:
        check_new_rows(c)
        lines += of_new_rows(c.new_rows, taken)
    if c.data is not None:
        taken.append("rows, names and objective of the data, what may be chosen, how the table was read")
    taken += [] if c.told is None else ["what a report also shows: history, best subset by size, notes"]
    return lines, taken


def of_search(c: Part, own: Bound | None, taken: list[str]) -> Iterator[str]:
    """Check the search and what belongs to it; yield what holds, add what is taken as written."""
    search, cost = c.search, c.cost
    graph, leaves = Graph(c), Leaves(search, own)
    graph.check()
    found, late, follows = leaves.check(subsets=c.data is not None), graph.check_orders(), graph.numbers()
    for name, value in follows.items():
        written = getattr(search, name)
        need(
            abs(written - value) <= CLOSE,
            f"{name!r} of the answer follows from the leaves as {value:.6g}, not {written:.6g}",
        )
    need(
        search.gap <= search.epsilon or c.reason != "settled" or search.stopping != "sound",
        "a settled gap is <= epsilon",
    )
    drawn, left = sum(leaf.count for leaf in search.leaves if not leaf.exact), cost.samples - cost.warmup_samples
    need(drawn <= left, f"the leaves have {drawn:,} samples, more than the {left:,} that were drawn for them")
    need(
        found["exact"] + cost.values_outside == cost.exact_evaluations,
        "the exact values of leaves and others do not add up",
    )
    label = shown(c.features or graph.labels[search.answer])
    if c.data is not None:
        need(columns_of(c.data, graph.labels[search.answer][:-1]) == c.features, f"the answer is not {label}")
    whole = search.expansion is None and c.all_subsets is None
    need(
        not (whole and found["exact"] and cost.values_outside),
        "all exact values of a whole graph must be those of leaves",
    )
    yield (
        f"{len(search.leaves):,} leaves: {found['exact']:,} exact, {found['free']:,} not narrowed, the intervals of "
        f"{found['follow']:,} follow from their samples by {search.bound}, those of {found['written']:,} are not checked."
    )
    if not search.leaves or found["exact"] == len(search.leaves):
        sure = "for certain"
    elif search.proof == "none":
        sure = f"as it seems: {search.bound} with stopping {search.stopping} has no proof"
    else:
        given = "" if search.proof == "rigorous" else f", provided that bound {search.bound} holds"
        sure = f"with probability at least 1 - {search.delta:g}{given}"
    unfinished = sum(not leaf.terminal for leaf in search.leaves)
    grew = f" (the graph grew; {unfinished:,} are unfinished and count as random play below them)"
    among = f"the {len(search.leaves):,} candidates examined{grew if graph.grew else ''}"
    gap, known = (max(0, ceil(one * 1e6) / 1e6) for one in (search.gap, search.known_gap))
    yield f"Among {among} none is better than {label} by more than {gap:g}, {sure}."
    if known < gap:
        yield f"Among the {search.compared:,} compared none is better by more than {known:g}."
    if c.all_subsets is not None:
        yield f"{c.all_subsets.evaluated:,} of all {check_all_subsets(c):,} subsets that may be chosen were evaluated."
        taken.append("values of subsets that are no leaves")
    if c.local is not None:
        check_local(c)
        yield f"None of {len(c.local.compared):,} candidates one step away is better by more than {c.local.epsilon:g}."
    problem = c.data is None
    cases = {
        "edges, labels and players of the graph, that no leaf was left out": problem,
        "that no leaf of the graph was left out, the order in which nodes entered": not problem and graph.grew,
        "the order in which nodes entered the graph": problem and graph.grew,
        f"that {late:,} leaves got their share of delta late": late,
        "that the samples are those of the leaves and were drawn at random": found["free"]
        + found["follow"]
        + found["written"],
        f"intervals of {found['written']:,} leaves, because bound {search.bound} was not checked": found["written"],
        "probabilities of the chance nodes": graph.chances,
        "what play without end is worth": graph.endless,
        "exact values": found["exact"],
        "which candidates are one step away": c.local is not None and problem,
    }
    taken += [words for words, is_so in cases.items() if is_so]


def of_new_rows(new: Part, taken: list[str]) -> list[str]:
    """Return what holds about new rows; add what is taken as written."""
    taken.append("the table of test rows, that they were drawn like new rows and had no part in the choice")
    if new.table is None:
        taken[-1] = f"the score on new rows, which is an estimate without proof ({new.why_no_proof})"
        return [f"The score on new rows, {new.score:.4f}, is the mean over the judges."]
    (low, high), (less, more) = (
        (floor(a * 1e4) / 1e4, ceil(b * 1e4) / 1e4) for a, b in (new.interval, new.difference_interval)
    )
    sure = f"with probability at least 1 - {new.delta:g}, if the {new.rows:,} test rows are drawn like new rows"
    return [
        f"The score on new rows is from {low:.4f} to {high:.4f}, minus all columns from {less:.4f} to {more:.4f}: {sure}."
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the file that is named; return 0 if it holds, 1 if it is refused, 2 if it cannot be read."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        if len(given) != 1:
            raise Unreadable("usage: python check.py certificate.json")
        report = check(content_of(given[0]))
    except Unreadable as error:
        print(f"Cannot be read: {error}", file=sys.stderr)
        return 2
    print("The certificate holds." if report.holds else f"Refused: {report.reason}.")
    print(
        *(f"Holds: {line}" for line in report.lines),
        *(f"Not checked: {one}." for one in report.taken_as_written),
        sep="\n",
    )
    return 0 if report.holds else 1


if __name__ == "__main__":
    sys.exit(main())
