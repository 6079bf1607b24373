"""The form of a certificate: its parts, the kind of each part, and how parts must fit each other.

The form is checked before anything is computed from a certificate. An unknown part is refused, because nothing checks
what it says. A few lines of Python read the table below: jsonschema takes twelve times as long and accepts NaN.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

Json = Any  # what a JSON file can hold
Content = dict[str, Json]  # a certificate, or a part of it with named parts

FORMAT, FORMAT_VERSION = "bestleaf certificate", 3
VALUE_COST = 10**9  # largest number of distances for one exact value; larger data are valued on some of their rows
MOST = 10**15  # samples, values, nodes: more than any search takes
CLOSE = 1e-9  # numbers that differ by less are the same
UNNAMED = "unnamed"  # a rule, bound or score without a proper name, such as a lambda

# Families of candidates for new data, in words. A family has one subset of each size, in every fold and on all rows.
FAMILIES = {
    "search": "the best subset of each size that adding and dropping single features found",
    "inclusion": "features in the order of how often they are in good random subsets",
    "surrogate": "features in the order of a linear model of the values of random subsets",
    "importance": "features in the order of their importance in a model",
    "single values": "features in the order of the value of each one alone",
    "F-test": "features in the order of the F-test",
    "L1 path": "features in the order in which they enter a linear model as its L1 penalty falls",
    "consensus": "features in the mean order of five other families",
    "elimination": "the least useful features dropped from all of them",
    "all features": "all features that may be chosen",
}

# What reading a certificate with wrong labels may raise.
MALFORMED = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)

# The parts of a certificate and of its parts; `name?` may be missing. The kind of a part is written as follows: `2..9`
# is a whole number, `2..` one without limit, `0.0..1.0` a number, `[K]` a list of kind K, `{K}` named parts of kind K,
# `K?` null or of kind K, `a|b` one of two texts, `<part>` a part of this table; the others are in `KINDS`.
TABLE = """
certificate: format=bestleaf certificate, format_version=3..3, bestleaf=release, answer=0.., lower=value, upper=value,
    gap=-1.0..1.0, known_gap?=-1.0..1.0, looked_at?=0.., features=[text]?, search=<search>, cost=<cost>, graph=<graph>,
    data=<data>?, leaves=[<leaf>],
    reason=settled|max_samples|max_time|interrupted|exhausted|unfinished,
    challenges=<challenges>, claims=[<claim>], not_claimed=[text], report?=<report>?, unseen?=<held-out rows>?,
    new_data?=<left-out rows>?, table?=<table>, all_subsets?=<all subsets>, plan?=[[0..]],
    checksum?=any
search: task=leaf|arm, epsilon=value, delta=fraction, rule=name, bound=name, stopping=name, seed=seed,
    expansion=value?, growth?=name, proposal=name, proof=none|conditional|rigorous
cost: samples=0.., warmup_samples=0.., exact_evaluations=0.., values_outside=0.., growths=0..,
    seconds=0.0..1e12
graph: labels=list, children=[[0..]], minimizes=[0..], two_player=flag, created=0.., inner_orders=[0..],
    chance?=[<chance node>], endless?=[<endless play>]
chance node: node=0.., probabilities=[value]
endless play: node=0.., lower=value, upper=value
leaf: node=0.., label=any, terminal=flag, exact=flag, count=0.., mean=value?, lower=value, upper=value, order=0..,
    share=value, lower_evidence=list?, upper_evidence=list?
claim: kind=text, text=text, epsilon?=value, delta?=value, proof?=text
challenges: local?=<challenge local>
challenge local: subsets=[list], choice?=<choice>
all subsets: evaluated=1.., least=value
data: names=[text], rows=2.., fingerprint=digest, groups=[[0..]], choice=<choice>, terminal=exact,
    objective={any}, classes=0..?, queries=0..?, standard_error?=0.0..1e12?, all_features?=value?,
    row_groups?=digest, row_weights?=digest, encoding?=<encoding>
encoding: impute=median|mean|most_frequent|keep?, dates=parts|number|drop, levels={[text]}, left_out=[text]
choice: allowed=[0..], forced=[0..], limit=1..
objective of neighbours: task=classification|regression, n_neighbors=1.., subsample=2.., ties=half|strict|row_order,
    scale=flag, drop_zero=flag, grouped?=flag, weighted?=flag, reference_rows?=1..,
    query_rows?=2..
objective of an estimator: kind=text, name=name, estimator=text, scoring=call, cv=text, splits=1..,
    fresh_splits=flag, weighted=flag, grouped=flag
report: history=[<history>], by_size=[list], feature_scores={value?}, without={value}, repeat?=text, notes?=[text]
history: seconds=0.0..1e12, samples=0.., gap=-1.0..1.0, score=value?, leaves?=0.., looked_at?=0..
held-out rows: score=number, rows=1.., splits=1..1, times=[1..1], given=flag, parts=[<held-out part>],
    proof?=<held-out proof>, unproved?=groups|weights|classes|scoring|size
held-out part: score=number, all_features=number, rows=1.., trained=1..
held-out proof: measure=auc|concordance|accuracy, delta=fraction, table=[[0..]], interval=[number],
    difference_interval=[number]
left-out rows: parsimony=0.0..1e6, folds=1.., rows=2.., size=1.., family=family, families={number?},
    path=[<row of the path>], best?=<best leaf>, guessing?=number, decided?=1..,
    judged?=<judged choice>, scoring?=call
row of the path: size=1.., features=[text], family=family, training=value?, left_out=number?,
    standard_error=0.0..1e300?, difference=number?, difference_error=0.0..1e300?
best leaf: features=[text], value=value, gap=-1.0..1.0, known_gap?=-1.0..1.0
judged choice: left_out=number, standard_error=0.0..1e300?, difference=number, difference_error=0.0..1e300?
table: target=text, task=auto|classification|regression, groups=text?, weights=text?, dropped=[text], kept=[text],
    missing=[text], text_encoding=text?, holdout=fraction?, estimator=name?, scoring=call?, cv=2..?, checksums=[0..],
    left_out=[text]
"""


class RefusedError(Exception):
    """A certificate does not hold; the text says why."""


class OtherDataError(RefusedError):
    """The data are not those that a certificate is about; the text says why."""


def need(fine: bool, reason: str) -> None:
    """Refuse the certificate for a reason, unless a condition is met."""
    if not fine:
        raise RefusedError(reason)


def same(one: float, other: float) -> bool:
    """Whether two finite numbers agree."""
    return abs(one - other) <= CLOSE


class Kind(NamedTuple):
    """A kind of value: in words, and as a test."""

    words: str
    accepts: Callable[[Json], bool]


def _text(words: str, pattern: str) -> Kind:
    form = re.compile(pattern, re.ASCII | re.DOTALL)
    return Kind(words, lambda value: isinstance(value, str) and form.fullmatch(value) is not None)


def _number(words: str, low: float, high: float) -> Kind:
    def accepts(value: Json) -> bool:
        return isinstance(value, float | int) and not isinstance(value, bool) and low <= value <= high

    return Kind(words, accepts)


_LETTERS, _ARGUMENT = "[A-Za-z_][A-Za-z0-9_]{0,59}", "[\\w=.'-]{1,60}"
NAME = _text("a name of letters, digits and underscores, at most 60", _LETTERS)
CALL = _text("a name, or a call of one", rf"{_LETTERS}(\(({_ARGUMENT}(, {_ARGUMENT}){{0,9}})?\))?")
VALUE = _number("a number from 0 to 1", -CLOSE, 1 + CLOSE)
KINDS = {
    "any": Kind("anything", lambda value: True),
    "list": Kind("a list", lambda value: isinstance(value, list)),
    "flag": Kind("true or false", lambda value: isinstance(value, bool)),
    "seed": Kind("a whole number, or null", lambda value: value is None or type(value) is int),
    "value": VALUE,
    "fraction": _number("a number between 0 and 1", 5e-324, 1 - 2**-53),
    "number": _number("a number", -1e300, 1e300),
    "text": _text("a text", ".*"),
    "name": NAME,
    "call": CALL,
    "release": _text("a version of bestleaf", r"[\w.+-]{1,40}"),
    "family": _text(f"one of {', '.join(FAMILIES)}", "|".join(FAMILIES)),
    "digest": _text("64 hexadecimal digits", "[0-9a-f]{64}"),
}


def _kind(notation: str) -> Kind:
    """Return the kind that is written in the table as `notation`."""
    if notation in KINDS:
        return KINDS[notation]
    if notation[-1] == "?":
        kind = _kind(notation[:-1])
        return Kind(f"{kind.words}, or null", lambda value: value is None or kind.accepts(value))
    if notation[0] == "<":
        return Kind("named parts", lambda value: check_parts(value, notation[1:-1]))
    if notation[0] in "[{":
        kind, listed = _kind(notation[1:-1]), notation[0] == "["
        words = f"{'a list' if listed else 'named parts'} in which everything is {kind.words}"
        if listed:
            return Kind(words, lambda value: isinstance(value, list) and all(map(kind.accepts, value)))
        return Kind(words, lambda value: isinstance(value, dict) and all(map(kind.accepts, value.values())))
    if ".." not in notation:
        return _text(f"one of {', '.join(notation.split('|'))}" if "|" in notation else repr(notation), notation)
    low, high = notation.split("..")
    if "." in low:
        return _number(f"a number from {float(low):g} to {float(high):g}", float(low) - CLOSE, float(high) + CLOSE)
    least, most = int(low), int(high or MOST)
    words = low if low == high else f"a whole number {f'from {low} to {high}' if high else f'of at least {low}'}"
    return Kind(words, lambda value: type(value) is int and least <= value <= most)


PARTS = {
    part: {name: _kind(notation) for name, notation in re.findall(r"([\w?]+)=(.*?)(?:,\s|,?$)", table, re.MULTILINE)}
    for part, table in re.findall(r"^(\w[\w -]*): (.*(?:\n .*)*)", TABLE, re.MULTILINE)
}


def check_parts(place: Json, part: str) -> bool:
    """Return True if a part has what the table lists, each of its kind, and nothing else; refuse it otherwise."""
    form = PARTS[part]
    if not isinstance(place, dict):
        raise RefusedError(f"the {part} must have named parts, got {place!r:.60}")
    for name, value in place.items():
        kind = form.get(name) or form.get(f"{name}?")
        if kind is None:
            raise RefusedError(f"there is an unknown part {name!r:.60} in the {part}, which nobody has checked")
        if not kind.accepts(value):
            which = f"{part} {place['label']!r:.60}" if "label" in place else part
            raise RefusedError(f"{name!r} of the {which} must be {kind.words}, got {value!r:.80}")
    if len(place) < len(form):
        for name in form:
            need(name in place or name[-1] == "?", f"the part {name!r} is missing in the {part}")
    return True


def check_form(content: Json) -> None:
    """Check the kind of every part, and that the parts fit each other."""
    search = content.get("search") if isinstance(content, dict) else None
    of_fuse = isinstance(search, dict) and search.get("stopping") == "budget"
    need(not of_fuse, "FUSE, whose search a budget ends, proves nothing and has no certificate any more")
    check_parts(content, "certificate")
    graph, cost = content["graph"], content["cost"]
    nodes = len(graph["labels"])
    listed = len(graph["children"]) == len(graph["inner_orders"]) == nodes > 0
    need(listed, "the graph must list children and order of creation of every node")
    for below in (*graph["children"], graph["minimizes"]):
        if len(set(below)) < len(below) or max(below, default=0) >= nodes:
            raise RefusedError("children and opponent's nodes must be different nodes that exist")
    need(graph["two_player"] or not graph["minimizes"], "an opponent moves only in a game of two players")
    pairs = all(len(move) == 2 for move in content.get("plan", ()))
    need(pairs, "every move of a plan must be a node and the child it moves to")
    need(content["answer"] < nodes, f"the answer must be a node of the graph, got {content['answer']!r}")
    need(bool(content["leaves"]), "the certificate must list the leaves of the graph")
    for leaf in content["leaves"]:
        if leaf["node"] >= nodes or (leaf["mean"] is None) != (leaf["count"] == 0):
            raise RefusedError(
                f"leaf {leaf['label']!r:.80} must be a node, and have a mean if and only if it has samples"
            )
    need(cost["warmup_samples"] <= cost["samples"], "the samples to warm up must be part of all samples")
    need(bool(content["claims"]), "a certificate must claim something, got no claim")
    for challenge in content["challenges"].values():
        for label, value in challenge["subsets"]:
            need(VALUE.accepts(value), f"the value of {label!r:.80} must be {VALUE.words}, got {value!r:.40}")
        if "choice" in challenge:
            _check_choice(challenge["choice"])
    if content["data"] is not None:
        _check_data(content)
        return
    for name in ("features", "report", "unseen", "new_data", "table", "all_subsets"):
        need(content.get(name) is None, f"the certificate is not about data, so it must have no {name!r}")


def _check_data(content: Content) -> None:
    """Check the names, the groups, the choice, the objective and the score of held-out rows."""
    data = content["data"]
    names, groups, objective = data["names"], data["groups"], data["objective"]
    need(len(set(names)) == len(names), "the names of the features must be different texts")
    shared_out = sorted(feature for group in groups for feature in group) == list(range(len(names))) and all(groups)
    need(shared_out, "every feature must be in exactly one group")
    need(content["features"] is not None, "a certificate about data must name the features of its answer")
    if "encoding" in data:
        _check_encoding(data)
    useless = set(data.get("encoding", {}).get("left_out", ()))
    searched = sum(not useless.issuperset(names[feature] for feature in group) for group in groups)
    _check_choice(data["choice"], searched)
    by_estimator = objective.get("kind") == "estimator"
    check_parts(objective, "objective of an estimator" if by_estimator else "objective of neighbours")
    if by_estimator:
        counted = data["classes"] is None and data["queries"] is None
        need(counted, "classes and queries are those of nearest neighbours, not of an estimator")
    else:
        _check_neighbours(data)
    for what, name, part in (("groups", "grouped", "row_groups"), ("weights", "weighted", "row_weights")):
        flag = objective.get(name, False)
        fits = flag if part in data else by_estimator or not flag  # there are older certificates of estimators
        need(fits, f"the fingerprint of the {what} must be written if and only if rows have {what}")
    if (unseen := content.get("unseen")) is not None:
        fine = by_estimator or VALUE.accepts(unseen["score"])  # scores of an estimator have no common range
        need(fine, f"the score of held-out rows must be {VALUE.words}, got {unseen['score']!r}")


def _check_encoding(data: Content) -> None:
    """Check that levels are those of features, and that features that were left out may not be chosen."""
    names, encoding = data["names"], data["encoding"]
    strange = sorted({*encoding["levels"], *encoding["left_out"]} - set(names))
    need(not strange, f"levels and columns left out must be those of features, got {strange[:1]}")
    may_be = {
        names[one] for unit in (*data["choice"]["allowed"], *data["choice"]["forced"]) for one in data["groups"][unit]
    }
    taken = sorted(may_be.intersection(encoding["left_out"]))
    need(not taken, f"features that were left out may not be chosen, got {taken[:1]}")


def _check_choice(choice: Content, units: int = MOST) -> None:
    """Check the choice: the units that may be chosen, those that must be, and the largest number of them."""
    listed, limit = [*choice["allowed"], *choice["forced"]], choice["limit"]
    known = len(set(listed)) == len(listed) and max(listed, default=0) < units
    need(known, "the units allowed and forced must be different units of the data")
    fine = len(choice["forced"]) <= limit <= len(listed)
    need(fine, f"the largest number of units must be between those forced and {len(listed)}, got {limit!r}")


def _check_neighbours(data: Content) -> None:
    """Check that the numbers of neighbours, classes and rows fit each other."""
    objective, rows, classes, queries = data["objective"], data["rows"], data["classes"], data["queries"]
    voters = objective.get("reference_rows", rows)
    need(voters <= rows, f"reference_rows must be a whole number of at most {rows:,}, got {voters:,}")
    apart = voters < rows  # then other rows are ranked than those that vote
    need(apart == ("query_rows" in objective), "query_rows must be written if and only if not all rows vote")
    ranked, others = objective.get("query_rows", rows), rows - voters if apart else rows
    need(ranked <= others, f"query_rows must be a whole number of at most {others:,}, got {ranked:,}")
    for name, most in (("n_neighbors", voters - (not apart)), ("subsample", ranked)):
        need(objective[name] <= most, f"{name} must be a whole number of at most {most:,}, got {objective[name]:,}")
    right = classes == 0 if objective["task"] == "regression" else 2 <= classes <= rows
    need(right, f"the number of classes must go with the task {objective['task']}, got {classes!r}")
    fits = queries == ranked or (2 <= queries < rows and not apart and rows**2 > VALUE_COST)
    need(fits, f"values of {rows:,} rows cannot be of {queries!r} of them")


def part_name(name: str, known: Collection[str], *, ours: bool) -> str:
    """Return the name of a rule, a bound or proposals in a certificate; a user's own never gets the name of ours."""
    if not NAME.accepts(name):
        return UNNAMED
    return f"own_{name}"[:60] if name in known and not ours else name


def named_objective(settings: Content) -> Content:
    """Return the settings of an objective; names that do not fit into a sentence become "unnamed"."""
    found = dict(settings)
    for name, kind in (("name", NAME), ("scoring", CALL)) if settings.get("kind") == "estimator" else ():
        found[name] = settings[name] if kind.accepts(settings[name]) else UNNAMED
    return found
