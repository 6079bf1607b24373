"""Check a certificate of bestleaf from its file alone: `python check.py certificate.json` needs nothing but Python.

Exit code 0: what it claims follows from its numbers, apart from what is printed as not checked. 1: refused, with the
reason. 2: it cannot be read. docs/certificate.md says without code when a certificate holds, and why.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain, pairwise, repeat
from math import ceil, comb, exp, isclose, isfinite, log, log1p, sqrt
from operator import mul
from types import SimpleNamespace as Part  # a part of a certificate: its fields are attributes
from typing import Any, NamedTuple

Json = Any  # what JSON can hold
CLOSE, MARGIN = 1e-9, 1e-8  # so much may an end of an interval be too tight; what is printed has more room
LARGEST, STOP = 256 * 10**6, -1  # bytes of a file that is read; what ends the label of a complete subset
text_of = partial(json.dumps, sort_keys=True, separators=(",", ":"))  # two labels are the same if this is the same

# ---- the form: every field of every part with its kind; `name?` may be missing. `[K]` is a list of kind K, `{K}` named
# values, `K?` null or K, `<part>` a part, `a|b` one of two texts; the others are in KINDS.
FORM = """
certificate: format=bestleaf certificate, format_version=count, bestleaf=text, cost={any}, features?=[text]?,
    reason=settled|max_samples|max_time|interrupted|exhausted|unfinished, search?=<search>?, local?=<local>?,
    all_subsets?=<all subsets>?, new_rows?=<new rows>?, path?=<path>?, data?=<data>?, told?={any}?, table?={any}?,
    checksum?=text?
search: task=arm|leaf, epsilon=value, delta=fraction, rule=text, bound=text, stopping=text, proposal=text,
    proof=none|conditional|rigorous, answer=count, lower=value, upper=value, gap=number, graph=<graph>, leaves=[<leaf>],
    expansion?=value?, growth?=text?, seed?=any, plan?=[[count]]?
graph: labels=[any], children=[[count]], minimizes?=[count], two_player?=flag, created?=count, inner_orders?={count},
    chance?=[<chance node>]?, endless?=[<endless play>]
leaf: node=count, terminal=flag, exact=flag, count=count, mean=value?, lower=value, upper=value, label?=any,
    order?=count, share?=value, lower_evidence?=numbers?, upper_evidence?=numbers?
chance node: node=count, probabilities=[value]
endless play: node=count, lower=value, upper=value
local: epsilon=value, compared=[<compared>], choice?=<choice>?
compared: label=any, value=value
choice: allowed=[count], forced?=[count], limit=count
all subsets: evaluated=count, least=value
new rows: score=number, all_columns=number, rows=count, trained=count, judges={number},
    how=nested folds|test rows|given rows, standard_error?=number?, difference_error?=number?, guessing?=number?,
    why_no_proof?=folds|groups|weights|classes|scoring|size?, delta?=fraction?, table?=<matched rows>?,
    interval?=[number]?, difference_interval?=[number]?, best_other?=number?, fingerprint?=text?
matched rows: measure=auc|concordance|accuracy, sets=[count], score=[[count]], gains=[[[count]]]
path: rows=[<path row>], size=count, order=text, judges=[text], folds=count, folds_planned=count, asked?=flag,
    tolerance=number, seed?=any, chosen_in_folds?={value}
path row: size=count, features=[text], difference=number?, judges?=[number], score?=number?, standard_error?=number?
data: names=[text], rows=count, fingerprint=text, units=[[count]], choice=<choice>, objective={any},
    row_groups?=text?, row_weights?=text?, encoding?={any}?
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


KINDS: dict[str, Callable[[Json], object]] = {
    "any": lambda value: True,
    "numbers": lambda value: type(value) is list and {*map(type, value)} <= {int, float} and all(map(isfinite, value)),
    "flag": lambda value: isinstance(value, bool),
    "count": lambda value: type(value) is int and 0 <= value <= 10**15,
    "number": lambda value: type(value) in (int, float) and -1e300 <= value <= 1e300,
    "value": lambda value: type(value) in (int, float) and 0 <= value <= 1,
    "fraction": lambda value: type(value) in (int, float) and 0 < value < 1,
    "text": lambda value: isinstance(value, str),
}
DEFAULTS = {"[": [], "{": {}, "f": False, "c": 0, "v": 0.0}  # by the first letter of a kind that is not null
FIELDS = {
    part: re.findall(r"(\w+)(\??)=(.*?)(?:,\s+|,?$)", fields.replace("\n", " "))
    for part, fields in re.findall(r"^(\w[\w ]*): (.*(?:\n .*)*)", FORM, re.MULTILINE)
}


def read(value: Json, kind: str, what: str) -> Json:
    """Return a value of a kind, with its parts as `Part`; refuse another value."""
    inner = kind[1:-1]
    if kind in KINDS:
        if not KINDS[kind](value):
            raise Refused(f"{what} must be of kind {kind}, got {shown(value)}")
        return value
    if kind[-1] == "?":
        return None if value is None else read(value, kind[:-1], what)
    if kind[0] in "{<":
        need(isinstance(value, dict), f"{what} must have named values")
        return read_part(value, inner) if kind[0] == "<" else {name: read(value[name], inner, what) for name in value}
    if kind[0] == "[":
        need(isinstance(value, list), f"{what} must be a list")
        return [*map(read, value, repeat(inner), repeat(what))]
    need(value in kind.split("|"), f"{what} must be {kind}")
    return value


def read_part(value: dict[str, Json], part: str) -> Part:
    """Return a part with all of its fields; refuse a field that is unknown, missing or not of its kind."""
    kept: dict[str, Json] = {}
    for name, optional, kind in FIELDS[part]:
        need(optional or name in value, f"the field {name!r} is missing in the {part}")
        default = None if kind[-1] == "?" or kind == "any" else DEFAULTS.get(kind[0])
        kept[name] = read(value[name], kind, f"{name!r} of the {part}") if name in value else default
    strange = value.keys() - kept.keys()
    need(not strange, f"there is an unknown field {shown(min(strange, default=''))} in the {part}, which nobody checks")
    return Part(**kept)


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

    def check(self, label: Json, *, complete: bool = True) -> frozenset[int]:
        """Return the units of a subset; refuse one that may not be chosen. A complete subset ends with STOP."""
        fine = isinstance(label, list) and {*map(type, label)} <= {int} and (label[-1:] == [STOP]) == complete
        units = label[:-1] if fine and complete else label
        fine = fine and units == sorted({*units}) and complete <= len(units) <= self.limit
        need(fine and self.forced <= {*units} <= self.units, "{} is not a subset that may be chosen", label)
        return frozenset(units)


def check_data(c: Part) -> Choice:
    """Check names, units and the answer; return what may be chosen, add measure and units to the data."""
    data, names, choice = c.data, c.data.names, Choice(c.data.choice)
    data.unit = {names[column]: number for number, columns in enumerate(data.units) for column in columns}
    fine = len(data.unit) == len(names) and all(data.units) and max(choice.units) < len(data.units)
    need(fine and sum(map(len, data.units)) == len(names), "every column must have its own name and be in one unit")
    fine = c.features and {data.unit.get(name, -1) for name in c.features} <= choice.units
    fine = fine and c.features == sorted({*c.features}, key=names.index)
    need(fine, "the answer must be columns that may be chosen, in the order of the table")
    scored = data.objective.get("scoring", "roc_auc" if data.objective.get("classes") else "concordance")
    data.measure = MEASURES.get(scored)
    return choice


# `betting` spreads each sample over the nodes of GRID and bets the fractions BETS of its capital. The logarithm of what
# a bet gains is concave in the sample, so the capital computed from the grid is at most the true one.
_HALF_GRID = (0.0, 0.002, 0.004, 0.007, 0.011, 0.016, 0.023, 0.033, 0.047, 0.067, 0.095, 0.135, 0.19, 0.27, 0.37)
GRID = (*_HALF_GRID, 0.5, *(1.0 - node for node in reversed(_HALF_GRID)))
BETS = (0.01, 0.019, 0.036, 0.069, 0.13, 0.25, 0.47, 0.9)
WEIGHTS = slice(5, 5 + len(GRID))  # of the grid, in the evidence: count, total and three more numbers come first
Bound = Callable[[str, float, float, Sequence[float]], object]  # (side, value, share, evidence): whether it follows
HALVES: dict[str, Callable[[float, float], float]] = {  # of the width at some count and share of delta
    "hoeffding": lambda n, share: 1.7 * sqrt((log(log(2 * n)) + 0.72 * log(10.4 / share)) / (4 * n)),  # Howard 2021
    "theory": lambda n, share: sqrt((log(1 / share) + 3 * log(log(1 / share)) + 1.5 * log(log(n) + 1)) / (2 * n)),
}


def follows(bound: str, side: str, value: float, share: float, evidence: Sequence[float]) -> bool:
    """Whether an end of an interval follows from its evidence: it is far enough away from the mean."""
    if bound == "betting":
        return betting(side, value, share, evidence)
    mean, half = evidence[1] / evidence[0], HALVES[bound](evidence[0], share)
    return value <= mean - half + CLOSE if side == "lower" else value >= mean + half - CLOSE


def betting(side: str, value: float, share: float, evidence: Sequence[float]) -> bool:
    """Whether the mean capital of the bets against what is CLOSE beyond `value` has reached 2 / share."""
    count, total, weights = evidence[0], evidence[1], evidence[WEIGHTS]
    if (value > total / count) == (side == "lower") or min(weights) < 0:
        return False
    if not 0 < (value := value + (CLOSE if side == "upper" else -CLOSE)) < 1:
        return True
    used = [(node, weight) for node, weight in zip(GRID, weights, strict=True) if weight]
    spread = (sum(weights), count), (sum(node * weight for node, weight in used), total)
    gains = [((node / value if side == "lower" else (1 - node) / (1 - value)) - 1, weight) for node, weight in used]
    capital = log_mean([sum([weight * log1p(bet * gain) for gain, weight in gains]) for bet in BETS])
    fits = all(isclose(*both, rel_tol=CLOSE, abs_tol=CLOSE) for both in spread)
    return fits and capital >= log(2 / share)


def log_mean(logs: Sequence[float]) -> float:
    """Return the logarithm of the mean of numbers that are given by their logarithms."""
    highest = max(logs)
    return highest + log(sum([exp(one - highest) for one in logs]) / len(logs))


def check_leaves(search: Part, own: Bound | None, *, subsets: bool) -> Counter[str]:
    """Check every leaf; return how many are exact, free, follow from their samples, or are taken as written."""
    leaves, delta, bound = search.leaves, search.delta, search.bound
    part = delta / len(leaves)  # of a graph that is known in advance
    equal = search.expansion is None and all(one.order and isclose(one.share, part, rel_tol=CLOSE) for one in leaves)
    ours = bound in ("hoeffding", "betting") or (bound == "theory" and equal and part <= 0.1)
    judge = (lambda *given: follows(bound, *given)) if ours else own
    best = "rigorous" if ours else "none" if bound in ("theory", "beta1", "beta1_published", "beta2") else "conditional"
    fine = search.proof == "none" or (search.stopping == "sound" and search.proof == best)
    need(fine, "bound {} with stopping {} is not {} here", bound, search.stopping, search.proof)
    found = Counter[str]()
    for leaf in leaves:
        due = part if equal else delta / (leaf.order * (leaf.order + 1)) if leaf.order else 0.0
        value = leaf.terminal and leaf.lower == leaf.upper == leaf.mean and leaf.count == 1 and not leaf.order
        waits = leaf.terminal and (leaf.lower, leaf.upper, leaf.count) == (0, 1, 0)
        fine = (value if leaf.exact else leaf.order or waits) and not (subsets and leaf.terminal and leaf.order)
        need(fine, "leaf {} must be exact, or wait for its value, or have a place in the order", leaf.label)
        need(isclose(leaf.share, due, rel_tol=CLOSE), "leaf {} must have the share of delta of its place", leaf.label)
        found["exact" if leaf.exact else "follows" if judge or leaf.upper - leaf.lower == 1 else "written"] += 1
        now: Json = [leaf.count, (leaf.mean or 0) * leaf.count] if bound == "theory" else None
        for side, end in (("lower", 0), ("upper", 1)):
            look, value = getattr(leaf, f"{side}_evidence") or now, getattr(leaf, side)
            if judge and not leaf.exact and value != end:
                fine = look and 1 <= look[0] <= leaf.count and 0 <= look[1] <= look[0] + CLOSE
                fine = fine and judge(side, value, leaf.share, look)
                need(fine, side + " of leaf {} does not follow from its samples", leaf.label)
    return found


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
        self.cycles = {one for group in self.groups for one in group if group[1:] or one in self.children[one]}
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
        chance, task = self.graph.chance is not None, self.search.task
        fine = (self.search.plan is not None) == (chance and task == "leaf")
        need(fine, "there must be a plan if and only if a best leaf may be decided by chance")
        for node, weights in self.chances.items():
            fine = node in self.nodes and len(weights) == len(self.children[node]) and node not in self.opponent
            partly = 1 if weights and not self.grew else 0  # so much of the probability must be there
            fine = fine and min(weights, default=1) > 0 and partly - CLOSE <= sum(weights) <= 1 + CLOSE
            need(fine, f"chance node {node} must have no player, and probabilities of its children that sum to 1")
        fine = not self.endless or (self.two_player and self.endless.keys() == self.cycles)
        fine = fine and all(low <= high for low, high in self.endless.values()) and not (self.cycles and chance)
        need(fine, "play without end must have lower <= upper, and a value for each node on a cycle of a game")
        plain = task == "leaf" and not (self.two_player or self.cycles or chance)
        need(plain or self.c.data is None, "a choice of columns is about the best leaf of one player")

    def check_orders(self) -> int:
        """Check that places in the order of creation rise with the nodes; return how many terminal leaves were late."""
        inner = {int(node): place for node, place in self.graph.inner_orders.items()}
        fine = self.grew or (not inner and all(leaf.terminal for leaf in self.leaves))
        fine = fine and all(map(self.children.__getitem__, inner)) and [*map(str, inner)] == [*self.graph.inner_orders]
        need(fine, "the graph is not whole: a leaf has more below it, or inner_orders are not of inner nodes")
        placed = sorted([*inner.items(), *((leaf.node, leaf.order) for leaf in self.leaves if leaf.order)])
        fine = sorted(place for _, place in placed) == [*range(1, self.graph.created + 1)]
        need(fine, f"the places in the order of creation must be 1 to {self.graph.created:,}")
        late, least, terminal = 0, len(placed) + 1, {leaf.node for leaf in self.leaves if leaf.terminal}
        for node, place in reversed(placed):
            need(place < least or node in terminal, f"node {node} entered early, so it must have an earlier place")
            late, least = late + (place > least), min(least, place)
        return late

    def check_lattice(self, choice: Choice) -> None:
        """Check that nodes are subsets that may be chosen, and that every edge adds one unit or STOP."""
        labels, ends = self.labels, [isinstance(label, list) and label[-1:] == [STOP] for label in self.labels]
        sets = [choice.check(label, complete=complete) for label, complete in zip(labels, ends, strict=True)]
        need(len({*zip(sets, ends, strict=True)}) == len(labels), "two nodes of the graph are the same subset")
        need(sets[0] == choice.forced and not ends[0], "the root must be the units always in")
        fine = [leaf.node for leaf in self.leaves if leaf.terminal] == [node for node in self.nodes if ends[node]]
        need(fine, "the labels of terminal leaves, and of no other node, must end with -1")
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

    def bounds(self, move: dict[int, int] | None = None) -> tuple[list[float], list[float]]:
        """Return the bounds of all nodes, or those of a plan: its moves are the only ones."""
        below = [[move[node]] if move and node in move else self.children[node] for node in self.nodes]
        found = [0.0 for _ in self.nodes], [1.0 for _ in self.nodes]
        for leaf in self.leaves:
            found[0][leaf.node], found[1][leaf.node] = leaf.lower, leaf.upper
        for group in self.groups:
            for rest, bounds in enumerate(found if below[group[0]] else ()):
                if group[0] in self.cycles:
                    self.settle(group, bounds, rest)
                else:
                    bounds[group[0]] = self.best_of(group[0], [bounds[one] for one in below[group[0]]], rest)
        return found

    def settle(self, group: list[int], bounds: list[float], rest: int) -> None:
        """Set the bounds of nodes on a cycle: that of endless play, unless somebody can force more or less."""
        written = [self.endless[node][rest] for node in group if node in self.endless]
        end = (max if rest else min)(written, default=0.0)  # one player only loses by it
        if self.two_player and not written:  # who could leave is to blame
            leaving = {node for node in group if not {*self.children[node]} <= {*group}}
            opponent, player = not self.opponent.isdisjoint(leaving), not self.opponent.issuperset(leaving)
            end = float(rest) if opponent == player else float(opponent)
        gained = dict[int, float]()
        for beyond in (max, min):
            before: list[float] = []
            for node in group:
                bounds[node] = end
            while before != (now := [bounds[node] for node in group]):
                before = now
                for node in group:
                    bounds[node] = beyond(end, self.best_of(node, [bounds[one] for one in self.children[node]], 0))
            gained = gained or dict(zip(group, before, strict=True))
        for node in group:
            bounds[node] = gained[node] if gained[node] > end else bounds[node]

    def of_plan(self, upper: Sequence[float]) -> tuple[float, float, float]:
        """Return the interval of a plan, and its loss: how much better another may be; refuse a plan that is none."""
        move, reached, others = dict(self.search.plan), {0}, self.opponent.union(self.chances)
        order = [node for (node,) in self.groups if self.children[node]]
        fine = len(move) == len(self.search.plan) and {*move} <= {*order} - others and self.answer == move.get(0, 0)
        fine = fine and all(to in self.children[node] for node, to in move.items())
        need(fine, "a plan must have one move to a child at each of its nodes, and the answer is the first one")
        for node in (node for node in reversed(order) if node in reached):  # parents first
            need(node in move or node in others, f"the plan must have a move at node {node}, to which it leads")
            reached.update([move[node]] if node in move else self.children[node])
        lows, highs = self.bounds(move)
        losses = {leaf.node: float(not leaf.terminal) for leaf in self.leaves}
        for node in (node for node in order if node in reached):
            if node in move:
                rivals = [upper[one] - lows[node] for one in self.children[node] if one != move[node]]
                losses[node] = max([losses[move[node]], *rivals])
            elif node in self.chances:
                losses[node] = self.best_of(node, [losses[one] for one in self.children[node]], 1)
            else:
                losses[node] = max(0.0, *(min(losses[one], upper[node] - lows[one]) for one in self.children[node]))
        return lows[0], highs[0], losses[0]

    def numbers(self) -> dict[str, float]:
        """Return the interval of the answer and the gap: how much better another candidate may be."""
        answer, part, arm, (lower, upper) = self.answer, self.c.all_subsets, self.search.task == "arm", self.bounds()
        low, high = lower[answer], upper[answer]
        right = answer in self.children[0] if arm else not self.two_player and not self.children[answer]
        need(right or self.search.plan is not None, f"the answer must be a {'child of the root' if arm else 'leaf'}")
        below = {*searched([answer], self.children)[0]}
        inside = {text_of(leaf.label): leaf.terminal for leaf in self.leaves if leaf.node in below}
        gaps = [leaf.upper - low for leaf in self.leaves if text_of(leaf.label) not in inside]
        if self.two_player or self.graph.chance is not None:
            others = [child for child in self.children[0] if child != answer]
            gaps = [high - lower[one] if 0 in self.opponent else upper[one] - low for one in others]
        if part is not None:  # subsets that are not listed are at most so good
            gaps.append((part.least if part.evaluated == Choice(self.c.data.choice).count() else 1.0) - low)
        if not arm and not any(inside.values()):  # more is below the answer than the graph shows
            gaps = [1.0]
        if self.search.plan is not None:
            low, high, loss = self.of_plan(upper)
            gaps = [loss]
        return {"lower": low, "upper": min(1.0, high), "gap": min(1.0, max(gaps, default=0.0))}


def components(children: list[list[int]]) -> list[list[int]]:
    """Return the nodes that the root reaches, in groups that reach each other, children first."""
    (found,) = searched([0], children)
    parents = [list[int]() for _ in children]
    for node in found:
        for child in children[node]:
            parents[child].append(node)
    return [group for group in reversed(searched(reversed(found), parents)) if group]


def searched(starts: Iterable[int], edges: Sequence[Iterable[int]]) -> list[list[int]]:
    """Return for each start the nodes that it is the first to reach, by a search in depth: what is finished first."""
    seen, groups = set[int](), list[list[int]]()
    for start in starts:
        waiting, found = [(start, False)], list[int]()
        while waiting:
            node, finished = waiting.pop()
            if finished:
                found.append(node)
            elif node not in seen:
                seen.add(node)
                waiting += [(node, True), *((one, False) for one in edges[node])]
        groups.append(found)
    return groups


def check_local(c: Part) -> None:
    """Check that all candidates one step away are listed, and that none is better by more than epsilon."""
    local, label = c.local, c.search.graph.labels[c.search.answer]
    exact = {text_of(leaf.label): leaf.lower for leaf in c.search.leaves if leaf.exact}
    mine, values = exact.get(text_of(label)), {text_of(one.label): one.value for one in local.compared}
    need(mine is not None and c.search.task == "leaf", "a claim one step away needs the exact value of a best leaf")
    same = all(abs(value - exact.get(name, value)) <= CLOSE for name, value in values.items())
    need(same and len(values) == len(local.compared), "a candidate one step away has two values, or is listed twice")
    need(max(values.values(), default=0) <= mine + local.epsilon, "a candidate one step away is better than that")
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
    need(len(leaves) <= part.evaluated <= min(total, 2**30), f"there are {total:,} subsets, not {part.evaluated:,}")
    need(part.evaluated == total or c.reason != "settled", f"a settled answer needs all {total:,} subsets")
    listed = sum(leaf.lower >= part.least for leaf in leaves)
    need(listed >= min(1000, part.evaluated), f"the best subsets must be leaves, got {listed:,} of them")


def check_path(c: Part, choice: Choice) -> None:
    """Check that the answer is the row of its size, and that the last one is all columns: the rest are estimates."""
    path, rows, units = c.path, c.path.rows, {c.data.unit[name] for name in c.features}
    chosen = [row.features for row in rows if row.size == path.size]
    need(chosen == [c.features] and path.size == len(units), "the answer must be the row of the path of its size")
    need(rows[-1].size == len(choice.units) and not rows[-1].difference, "the last row must be all columns")
    need(path.folds <= path.folds_planned <= c.data.rows**2, "there cannot be so many folds")
    numbers = chain.from_iterable([row.score, row.difference, *row.judges] for row in rows)
    need(not c.data.measure or all(-1 <= (one or 0) <= 1 for one in numbers), "scores of the path must be at most 1")
    unscored = path.asked or path.folds == 0 or c.reason in ("interrupted", "max_time") or c.new_rows
    fine = unscored or "no score on new rows is known" in text_of(c.told)
    need(fine, "an answer that was chosen must have a score on new rows")


MATCHINGS, LOWEST = 50, 1e-9
EDGES = (LOWEST, *(1 / (1 + exp(-step / 4)) for step in range(-16, 36)), 1.0)
OF_SCORE = [(first, last, [2 / (first + last) - 1]) for first, last in pairwise(EDGES)]  # candidates and variances
OF_DIFFERENCE = [(LOWEST / 2, 1.0, [0.02, 0.15])]
MEASURES = {"accuracy": "accuracy", "concordance": "concordance", "roc_auc": "auc", "roc_auc_ovr": "auc"}


def check_new_rows(c: Part, choice: Choice) -> None:
    """Check the scores against each other and, if there is a table of test rows, against it."""
    new, data, every, size = c.new_rows, c.data, len(choice.units), len({c.data.unit[one] for one in c.features})
    nested, given, judges, measure = new.how[0] == "n", new.how[0] == "g", [*new.judges.values()], data.measure
    proof = {one is None for one in (new.delta, new.table, new.interval, new.difference_interval)}
    cut = c.reason != "settled" and new.trained < data.rows  # once time is over, few rows are fitted to
    estimate = (nested, data.row_groups, data.row_weights, *map(data.objective.get, ("grouped", "weighted")))
    right = {
        "score": abs(sum(judges) / len(judges) - new.score) <= CLOSE,
        "seed of the path": nested or given or (KINDS["count"](c.path.seed) and c.path.seed < 2**32),
        "fingerprint": given == (new.fingerprint is not None),
        "judges": c.path is None or c.path.judges in ([], [*new.judges]),
        "trained": new.trained < data.rows >= new.rows if nested else new.trained == data.rows or (cut and new.trained),
        "all_columns": size < every or abs(new.score - new.all_columns) <= CLOSE,
        "range of the scores": measure is None or all(0 <= one <= 1 for one in (new.score, new.all_columns, *judges)),
        "guessing": measure in (None, "accuracy") or new.guessing == 0.5,
        "why_no_proof": len(proof) == 1 and (new.table is None) != (new.why_no_proof is None),
        "groups": given or data.row_groups or new.why_no_proof != "groups" or "copies of other rows" in text_of(c.told),
        "weights": given or data.row_weights or new.why_no_proof != "weights",
        "table": new.table.measure == measure and not any(estimate) if new.table else new.best_other is None,
    }
    for field, fine in right.items():
        need(fine, f"new_rows: {field} does not follow from the other fields")
    if new.table is not None:
        check_trials(c, size, every)


def check_trials(c: Part, size: int, every: int) -> None:
    """Check the trials of test rows, and the intervals that follow by bets (see docs/certificate.md)."""
    new, table, single = c.new_rows, c.new_rows.table, c.new_rows.table.measure == "accuracy"
    rows = sorted(c.path.rows if c.path else (), key=lambda row: -(row.difference or 0.0))
    first, width = [size] if size == every else [size, every], len(table.score[0])
    room = min(600_000 // (4 * MATCHINGS * (width - 1)), 10**9 // new.trained // new.rows) - len(first)
    due = first + [row.size for row in rows if row.size not in first][: max(0, room)]  # the best by the path
    fine = table.sets == (due if c.reason == "settled" else due[: max(len(first), len(table.sets))])
    fine = fine and len(table.gains) == len(table.sets) - 1
    outputs = c.data.objective["classes"] if c.path and table.measure == "auc" else 1
    fine = fine and (c.path is None or width == 1 + 2 * len(new.judges) * (outputs if outputs > 2 else 1))
    need(fine, f"the trials must be by all judges, about the sets of the path of sizes {due}")
    trials = [*map(sum, table.score)]
    most = new.rows // 2 if table.measure == "concordance" else trials[0]
    fine = max(trials) <= most <= new.rows // (1 if single else 2) and len(trials) == (1 if single else MATCHINGS)
    need(fine and (not single or most == new.rows), f"{new.rows:,} test rows do not make these trials")
    for counts, wide in ((table.score, width), *((gain, 2 * width - 1) for gain in table.gains)):
        fine = [*map(sum, counts)] == trials and {*map(len, counts)} == {wide}
        need(fine, "every trial must have one of its levels in every set")
    evidence, delta = most * (1 if single else 0.5), new.delta
    written = [(new.interval, new.score, ends_of(table.score, evidence, delta / 4, OF_SCORE))]
    gains, found, lows, others = table.gains, [0.0, 0.0], list[float](), len(due) - len(first)  # judged or not
    if size < every:
        level, delta = delta / (8 if others else 4), delta / 2
        found = [2 * end - 1 for end in ends_of(gains[0], evidence, level, OF_DIFFERENCE)]
        lows, gains = found[:1], gains[1:]
    written.append((new.difference_interval, new.score - new.all_columns, found))
    lows += [2 * ends_of(gain, evidence, delta / 2 / others, OF_DIFFERENCE)[0] - 1 for gain in gains]
    need((new.best_other is None) == (not lows), "best_other must be written if there are other sets")
    written += [([-1.0, new.best_other], new.best_other, [-1.0, -min(lows)])] if lows else []
    for (low, high), score, (least, most) in written:
        fine = low <= min(least, score) and high >= max(most, score)
        need(fine, f"an interval of new rows must have in it {score:.6g} and, by the trials, {least:.6g} to {most:.6g}")


def ends_of(counts: list[list[int]], evidence: float, level: float, cells: list[Json]) -> list[float]:
    """Return both ends of a mean in [0, 1]: how far from 0 upwards and from 1 downwards candidates are excluded."""
    found = []
    for rows in (counts, [row[::-1] for row in counts]):
        end = 0.0
        for first, last, variances in cells:
            sizes = [sqrt(2 * log(1 / level) / (evidence * variance)) for variance in variances]
            end = excluded(rows, [size / sqrt(1 + size * size) for size in sizes], level, first, last)
            if end < last:
                break
        found.append(0.0 if end == cells[0][0] else end)
    return [found[0], 1 - found[1]]


def excluded(counts: list[list[int]], bets: Sequence[float], level: float, first: float, last: float) -> float:
    """Return how far from `first` to `last` all candidates are excluded: the capital against them reaches 1 / level."""

    def reaches(candidate: float) -> bool:
        places, top = range(len(counts[0])), (len(counts[0]) - 1) * candidate
        gains = [[log(1 - bet + bet * place / top) for place in places] for bet in bets]
        return log_mean([sum(map(mul, row, gain)) for gain in gains for row in counts]) >= log(1 / level) + CLOSE

    if (whole := reaches(last)) or not reaches(first):
        return last if whole else first
    for _ in range(40):
        middle = (first + last) / 2
        first, last = (middle, last) if reaches(middle) else (first, middle)
    return first


def content_of(path: str) -> dict[str, Json]:
    """Return the JSON of a file; raise OSError or ValueError if it is no certificate with a checksum."""

    def once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        if len(found := dict(pairs)) < len(pairs):
            raise ValueError("a field is written twice")
        return found

    number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(number, "rb") as file:  # no device, no pipe; whatever size the system says it has
        text = file.read(LARGEST) if stat.S_ISREG(os.fstat(number).st_mode) else b""
    content = json.loads(text.decode(), object_pairs_hook=once, parse_constant=int)  # which NaN is not
    if not isinstance(content, dict) or content.get("format_version") != 4 or not content.get("checksum"):
        raise ValueError("a certificate of bestleaf of format version 4 with its checksum is needed")
    return content


def checksum(content: dict[str, Json]) -> str:
    """Return the SHA-256 of everything but the checksum; it does not depend on the layout of the file."""
    kept = {name: value for name, value in content.items() if name != "checksum"}
    return hashlib.sha256(text_of(kept).encode()).hexdigest()


def check(content: dict[str, Json], *, own_bound: tuple[str, Bound] | None = None) -> Report:
    """Return whether a certificate holds, given as its JSON; `own_bound` is a user's bound by name, and its check."""
    try:
        lines, taken = checked(read(content, "<certificate>", "the certificate"), checksum(content), own_bound)
        return Report(True, tuple(lines), tuple(taken))
    except Refused as error:
        return Report(False, reason=str(error))
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        return Report(False, reason=f"the certificate is malformed ({shown(f'{type(error).__name__}: {error}', 200)})")


def checked(c: Part, digest: str, own: tuple[str, Bound] | None) -> tuple[list[str], list[str]]:
    """Check all that belongs together; return what holds, and what is taken as written."""
    need(c.checksum in (None, digest), "the checksum is not that of the content: something was changed")
    lines = [f"The file is well formed{'' if c.checksum is None else ', and its checksum is right'}."]
    taken = ["times, counts of samples and values, seed, why the work ended, version, and what a report also shows"]
    need(c.format_version == 4 and (c.search or c.path or c.new_rows), "a certificate of format 4 must claim something")
    fine = c.data or not (c.features or c.path or c.new_rows or c.all_subsets or c.table)
    need(fine, "without data there are no columns, no path and no new rows")
    need(c.search or not (c.local or c.all_subsets), "without a search there is no other claim about it")
    choice = check_data(c) if c.data else None
    if c.search is not None:
        lines += of_search(c, choice, taken, own[1] if own and own[0] == c.search.bound else None)
    if c.path is not None and choice is not None:
        check_path(c, choice)
        taken.append("the sets compared and the choice by their scores in cross-validation, which are estimates")
        lines += [] if c.new_rows else ["No score on new rows is known."]
    if (new := c.new_rows) is not None and choice is not None:
        check_new_rows(c, choice)
        if new.table is not None:
            sure = f"With probability at least 1 - {new.delta:g} the score on new rows is in {new.interval}"
            others = f"none of {len(new.table.sets) - 1} other sets (of {len(c.path.rows) - 1 if c.path else 1})"
            others = "" if new.best_other is None else f"; {others} is better by more than {new.best_other}"
            lines.append(f"{sure}, the difference to all columns in {new.difference_interval}{others}.")
        kept = f"the results on {new.rows:,} {new.how}, that these are like new rows and had no part in the choice"
        kept += ", the seed and the end of the choice" if new.how[0] == "t" else ""
        taken.append(kept if new.table else f"the score on new rows, an estimate without proof ({new.why_no_proof})")
        taken.append("the score of guessing, unless it is that of AUC or concordance")
    taken += ["rows, names and score of the data, what may be chosen, how the table was read"] if c.data else []
    return lines, taken


def of_search(c: Part, choice: Choice | None, taken: list[str], own: Bound | None) -> list[str]:
    """Check the search and what belongs to it; return what holds, add what is taken as written."""
    search, graph, many = c.search, Graph(c), len(c.search.leaves)
    graph.check()
    late, found = graph.check_orders(), check_leaves(search, own, subsets=c.data is not None)
    if choice is not None:
        graph.check_lattice(choice)
        columns = sorted(chain.from_iterable(map(c.data.units.__getitem__, choice.check(graph.labels[search.answer]))))
        need([c.data.names[one] for one in columns] == c.features, "the answer must be the columns named")
    for name, value in graph.numbers().items():
        written = getattr(search, name)
        need(abs(written - value) <= CLOSE, f"{name!r} follows from the leaves as {value:.6g}, not {written:.6g}")
    fine = search.gap <= search.epsilon or (c.reason, search.stopping) != ("settled", "sound")
    need(fine, "a settled answer must have a gap of at most epsilon")
    sure, bound = f"with probability at least 1 - {search.delta:g}", shown(search.bound).strip('"')
    sure += "" if search.proof == "rigorous" else f", provided that bound {bound} holds"
    sure = f"as it seems, without proof by {bound}, {shown(search.stopping)}" if search.proof == "none" else sure
    sure = "for certain" if found["exact"] == many else sure
    open_ended = sum(not leaf.terminal for leaf in search.leaves)
    grew = f" (the graph grew, {open_ended:,} are unfinished and count as random play below them)" if graph.grew else ""
    gap = search.gap + (MARGIN if found["exact"] < many else 0.0)
    gap, label = max(0.0, ceil(gap * 1e6) / 1e6), shown(c.features or graph.labels[search.answer])
    lines = [f"Of {many:,} candidates examined{grew} none is better than {label} by more than {gap:g}, {sure}."]
    if c.all_subsets is not None and choice is not None:
        check_all_subsets(c, choice)
        lines.append(f"{c.all_subsets.evaluated:,} of {choice.count():,} subsets that may be chosen were evaluated.")
    if c.local is not None:
        check_local(c)
        lines.append(f"None of {len(c.local.compared):,} one step away is better by more than {c.local.epsilon:g}.")
    cases = {
        "edges, labels and players of the graph": c.data is None,
        "that no leaf was left out": c.data is None or graph.grew,
        "the order in which nodes entered the graph, or got their share of delta": graph.grew or late,
        "that the samples are those of the leaves and were drawn at random": found["exact"] < many,
        f"intervals of {found['written']:,} leaves, because bound {bound} was not checked": found["written"],
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
        report = check(content_of(*arguments))
    except (OSError, ValueError, TypeError, RecursionError) as error:
        print(f"Usage: python check.py certificate.json. It cannot be read: {shown(str(error), 200)}", file=sys.stderr)
        return 2
    lines = [*report.lines, *(f"Not checked: {one}." for one in report.taken_as_written)]
    print("The certificate holds." if report.holds else f"Refused: {report.reason}.", *lines, sep="\n")
    return 0 if report.holds else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
