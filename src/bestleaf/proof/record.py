"""The record: what was found, what is proved of it, and the numbers this follows from. Its JSON is the certificate.

All of it is frozen and made once, when the answer is known. It holds numbers and names only. Words are made from them
in `bestleaf.proof.words`; `bestleaf.proof.check` reads the JSON without any of this code.

There are four claims, and every one may be missing:

* `SearchClaim`: of the candidates examined, none is better than the answer by more than the gap.
* `LocalClaim`: no candidate one step away from the answer is better by more than epsilon.
* `AllSubsetsClaim`: all subsets that may be chosen were evaluated.
* `NewRowsClaim`: what test rows, which took no part in the choice, say about new rows.

`Path` stands beside them: scores by size from cross-validation. These are estimates, and no claim rests on them.
"""

from __future__ import annotations

import json
import pathlib
import stat
from collections.abc import Sequence
from html import escape
from math import comb
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, structs

from bestleaf.files import write_atomically
from bestleaf.proof.check import LARGEST, checksum
from bestleaf.proof.text import in_line

FORMAT, FORMAT_VERSION = "bestleaf certificate", 4
STOP = -1  # ends the label of a complete subset

Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
Value = Annotated[float, Meta(ge=0.0, le=1.0)]
Share = Annotated[float, Meta(gt=0.0, lt=1.0)]
Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Name = Annotated[str, Meta(pattern="^[A-Za-z_][A-Za-z0-9_]{0,59}$")]
Reason = Literal["settled", "max_samples", "max_time", "interrupted", "exhausted", "unfinished"]
Label = Any  # of a state: what JSON can hold. That of a subset lists its units in order, and STOP if it is complete.


class Record(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Base class: frozen, and refuses fields that it does not know."""


# ---- the graph and what is known of it


class Leaf(Record, frozen=True, kw_only=True):
    """A leaf of the final graph, and the samples that its interval follows from."""

    node: Count
    terminal: bool  # whether it has nothing below it in the whole graph; otherwise it is unfinished
    exact: bool  # whether its exact value was computed
    count: Count
    mean: Value | None
    lower: Value
    upper: Value
    label: Label = None  # if it is not that of the node; leaves of the same label are one candidate
    order: Count = 0  # place in the order of creation, from 1; 0 if it has no share of delta
    share: Value = 0.0  # its part of delta: delta / (order (order + 1)), or an equal part of a graph fixed in advance
    lower_evidence: tuple[float, ...] | None = None  # count, total and the bound's own numbers when that end was set
    upper_evidence: tuple[float, ...] | None = None


class ChanceNode(Record, frozen=True, kw_only=True):
    """A node where chance decides; if the probabilities sum to less than 1, children are missing in the graph."""

    node: Count
    probabilities: tuple[Value, ...]


class EndlessPlay(Record, frozen=True, kw_only=True):
    """What play that never ends is worth for a node on a cycle."""

    node: Count
    lower: Value
    upper: Value


class Graph(Record, frozen=True, kw_only=True):
    """The final graph. Nodes are numbered in the order in which they entered; the first is the root."""

    labels: tuple[Label, ...]
    children: tuple[tuple[Count, ...], ...]
    minimizes: tuple[Count, ...] = ()  # nodes where the opponent moves
    two_player: bool = False
    created: Count = 0  # leaves that ever had a share of delta; some are inner nodes now
    inner_orders: dict[int, Positive] = {}  # node -> the place in the order of creation that it had as a leaf
    chance: tuple[ChanceNode, ...] | None = None
    endless: tuple[EndlessPlay, ...] = ()


# ---- the claims


class SearchClaim(Record, frozen=True, kw_only=True):
    """Of the candidates examined, none is better than the answer by more than `gap`, with probability 1 - delta.

    The interval and the gap follow from the leaves.
    """

    task: Literal["arm", "leaf"]
    epsilon: Value
    delta: Share
    rule: Name
    bound: Name
    stopping: Name
    proposal: Name
    proof: Literal["none", "conditional", "rigorous"]
    answer: Count  # a child of the root or a leaf; of a plan its first move, 0 if the player does not move first
    lower: Value
    upper: Value
    gap: Annotated[float, Meta(ge=-1.0, le=1.0)]
    graph: Graph
    leaves: tuple[Leaf, ...]
    expansion: Value | None = None  # None: the graph was whole from the start
    growth: Name | None = None  # the user's own growth
    seed: int | None = None
    plan: tuple[tuple[Count, Count], ...] | None = None  # node and the child to move to

    @property
    def certain(self) -> bool:
        """Whether every leaf is exact, so that nothing is left to chance."""
        return all(leaf.exact for leaf in self.leaves)

    @property
    def known_gap(self) -> float:
        """The gap among the leaves that were sampled often enough to say anything."""
        return self._among_compared()[0]

    @property
    def compared(self) -> int:
        """How many leaves were sampled often enough to say anything."""
        return self._among_compared()[1]

    def _among_compared(self) -> tuple[float, int]:
        from bestleaf.proof.build import gap_among_compared

        return gap_among_compared(self)

    @property
    def label(self) -> Label:
        """The label of the answer."""
        return self.graph.labels[self.answer]

    def label_of(self, leaf: Leaf) -> Label:
        """Return what a leaf is called."""
        return self.graph.labels[leaf.node] if leaf.label is None else leaf.label


class Choice(Record, frozen=True, kw_only=True):
    """Which units may be chosen: a unit is a feature, or features that enter together."""

    allowed: tuple[Count, ...]
    forced: tuple[Count, ...] = ()
    limit: Positive  # the largest number of units

    def units(self) -> list[int]:
        """Return all units that may be chosen."""
        return sorted({*self.allowed, *self.forced})

    def subsets(self, beyond: int = 2**62) -> int:
        """Return how many subsets may be chosen; counting ends beyond a number."""
        return count_subsets(self.allowed, self.forced, self.limit, beyond)


def count_subsets(allowed: Sequence[int], forced: Sequence[int], limit: int, beyond: int) -> int:
    """Return how many subsets of units may be chosen; counting ends beyond a number."""
    total = -(not forced)  # nobody can choose no unit at all
    for size in range(min(limit - len(forced), len(allowed)) + 1):
        total += comb(len(allowed), size)
        if total > beyond:
            break
    return total


class Compared(Record, frozen=True, kw_only=True):
    """A candidate one step away from the answer, with its exact value."""

    label: Label
    value: Value


class LocalClaim(Record, frozen=True, kw_only=True):
    """No candidate one step away from the answer of the search is better by more than epsilon."""

    epsilon: Value
    compared: tuple[Compared, ...]
    choice: Choice | None = None  # what may be chosen, where candidates are subsets


class AllSubsetsClaim(Record, frozen=True, kw_only=True):
    """All subsets that may be chosen were evaluated, or the first ones in their order."""

    evaluated: Positive
    least: Value  # every subset with a higher value is a leaf of the search


class MatchedRows(Record, frozen=True, kw_only=True):
    """What matched test rows say: in each matching, how many trials had each level.

    A trial is one row of each class (auc), two rows with different targets (concordance) or one row (accuracy). Its
    level is by how many judges it is right: 2 for each, 1 for a tie, summed over the classes if there are more than
    two. `sets` are the sizes of the sets of the path that were judged: first the answer, then all columns, if they are
    not the answer, then others.
    """

    measure: Literal["auc", "concordance", "accuracy"]
    sets: tuple[Positive, ...]
    score: tuple[tuple[Count, ...], ...]  # of the answer: for each matching the trials of each level, from 0
    gains: tuple[tuple[tuple[Count, ...], ...], ...]  # level of the answer minus that of each other set, from the least


class NewRowsClaim(Record, frozen=True, kw_only=True):
    """What is known about the score on new rows: proved by test rows, or estimated.

    With `table` the intervals follow from it, each at its share of delta: half of it for the interval of the
    score, half for the differences. Without, they are estimates with a standard error, and nothing is proved.
    """

    score: float  # mean over the judges
    all_columns: float
    rows: Positive
    trained: Positive  # rows that the models judged were fitted to
    judges: dict[str, float]  # the score by each judge
    how: Literal["nested folds", "test rows", "given rows"]
    standard_error: float | None = None
    difference_error: float | None = None  # of score - all_columns
    guessing: float | None = None  # the score of a constant prediction, where that is known
    why_no_proof: Literal["folds", "groups", "weights", "classes", "scoring", "size"] | None = None
    delta: Share | None = None
    table: MatchedRows | None = None
    fingerprint: Digest | None = None  # of test rows that were given
    interval: tuple[float, float] | None = None  # of the score
    difference_interval: tuple[float, float] | None = None  # of score - all_columns
    best_other: float | None = None  # no other set of the path is better than the answer by more than this


# ---- what the claims are about


class Neighbours(Record, frozen=True, kw_only=True, tag="neighbours", tag_field="kind"):
    """The value of a subset: how well the votes of nearest neighbours rank the rows."""

    task: Literal["classification", "regression"]
    n_neighbors: Positive
    subsample: Positive
    ties: Literal["half", "strict", "row_order"]
    scale: bool
    drop_zero: bool
    classes: Count  # 0: real targets
    queries: Positive  # rows that values are computed on
    grouped: bool = False
    weighted: bool = False
    reference_rows: Positive | None = None
    query_rows: Positive | None = None


class Estimator(Record, frozen=True, kw_only=True, tag="estimator", tag_field="kind"):
    """The value of a subset: the cross-validated score of an estimator."""

    name: Name
    estimator: str
    scoring: str
    cv: str
    splits: Positive
    fresh_splits: bool
    weighted: bool
    grouped: bool


class Panel(Record, frozen=True, kw_only=True, tag="panel", tag_field="kind"):
    """The score of a set of columns: the mean score of several judges on rows that they were not fitted to."""

    judges: tuple[str, ...]
    scoring: str
    task: Literal["classification", "regression"]
    classes: Count  # 0: real targets
    grouped: bool = False
    weighted: bool = False


class Encoding(Record, frozen=True, kw_only=True):
    """How a table became numbers."""

    impute: Literal["median", "mean", "most_frequent", "keep"] | None
    dates: Literal["parts", "number", "drop"]
    levels: dict[str, tuple[str, ...]]
    left_out: tuple[str, ...]
    own: str | None = None  # the class of a transformer of the user's own, which nobody else can repeat


class Data(Record, frozen=True, kw_only=True):
    """The table that was searched."""

    names: tuple[str, ...]
    rows: Annotated[int, Meta(ge=2)]  # searched, or chosen from: without the test rows
    fingerprint: Digest  # of all rows given, with the test rows
    units: tuple[tuple[Count, ...], ...]  # the features of each unit
    choice: Choice
    objective: Neighbours | Estimator | Panel
    row_groups: Digest | None = None
    row_weights: Digest | None = None
    encoding: Encoding | None = None


class PathRow(Record, frozen=True, kw_only=True):
    """The set of one size and what cross-validation says of it, as a difference to all columns."""

    size: Positive  # units
    features: tuple[str, ...]
    difference: float | None  # mean over judges and folds, smoothed over neighbouring sizes
    judges: tuple[float, ...] = ()  # the same by each judge, in the order of `Path.judges`
    score: float | None = None  # mean score over judges and folds, not smoothed
    standard_error: float | None = None  # of the difference


class Path(Record, frozen=True, kw_only=True):
    """A set for each of some sizes, the last one all columns that may be chosen, and the size that was chosen."""

    rows: tuple[PathRow, ...]
    size: Positive  # of the answer
    order: Name  # how the columns were put in order: "elimination", "forward", ...
    judges: tuple[str, ...]
    folds: Count  # folds that were finished
    folds_planned: Count
    tolerance: float  # how much score a smaller set may cost
    asked: bool = False  # the size was asked for, not chosen
    seed: int | None = None  # everything random follows from it: folds, judges, test rows
    chosen_in_folds: dict[str, Value] = {}  # feature -> share of the folds that would choose it

    @property
    def chosen(self) -> PathRow:
        """The row of the answer."""
        return next(row for row in self.rows if row.size == self.size)


class Cost(Record, frozen=True, kw_only=True):
    """What the search took."""

    seconds: float
    samples: Count = 0
    warmup_samples: Count = 0
    exact_evaluations: Count = 0
    values_outside: Count = 0  # exact values that are not those of leaves
    growths: Count = 0


class Step(Record, frozen=True, kw_only=True):
    """How far the search was at some time."""

    seconds: float
    samples: Count
    gap: float
    score: float | None = None
    leaves: Count | None = None
    compared: Count | None = None


class Told(Record, frozen=True, kw_only=True):
    """What a report also shows. Nobody checks it, and no claim rests on it."""

    history: tuple[Step, ...] = ()
    # size, value, features: the best subset evaluated
    by_size: tuple[tuple[Positive, float, tuple[str, ...]], ...] = ()
    feature_scores: dict[str, float | None] = {}  # mean value of the rollouts with a feature
    without: dict[str, float] = {}  # unit -> score or value of the answer without it
    all_features: float | None = None  # training value of all features
    training_score: float | None = None  # value of the answer on the rows given
    standard_error: float | None = None  # of the training value
    repeat: str | None = None  # the command or the call that repeats the search
    notes: tuple[str, ...] = ()  # what was done to the table


class Table(Record, frozen=True, kw_only=True):
    """How a file was read."""

    target: str
    task: Literal["auto", "classification", "regression"]
    checksums: tuple[Count, ...]  # of each column, and last of the target
    groups: str | None = None
    weights: str | None = None
    dropped: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    text_encoding: str | None = None
    holdout: Share | None = None
    estimator: str | None = None
    scoring: str | None = None
    cv: int | None = None
    left_out: tuple[str, ...] = ()


class Certificate(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What was found, what is proved of it, and the numbers that this follows from.

    It is frozen: ``msgspec.structs.replace`` returns a changed copy. `verify` checks it.

    Attributes
    ----------
    reason : str
        Why the search or the choice ended: ``"settled"``, or the budget that was spent.
    features : tuple of str or None
        Names of the selected columns; None if no columns were selected.
    search, local, all_subsets, new_rows : SearchClaim, LocalClaim, AllSubsetsClaim, NewRowsClaim or None
        The claims, in numbers.
    path : Path or None
        The set of each size with its scores from cross-validation. No claim rests on it.
    data, told, table : Data, Told, Table or None
        The table that was searched, what a report also shows, and how a file was read.
    cost : Cost
        What the search took.

    Examples
    --------
    >>> from bestleaf import best_leaf, problems, verify
    >>> found = best_leaf(problems.paper_lattice(), epsilon=0.2, delta=0.1, seed=0).certificate
    >>> bool(verify(found))
    True
    """

    bestleaf: str  # the version that wrote it
    reason: Reason
    cost: Cost
    format: Literal["bestleaf certificate"] = "bestleaf certificate"
    format_version: Literal[4] = 4
    features: tuple[str, ...] | None = None  # in the order of the columns
    search: SearchClaim | None = None
    local: LocalClaim | None = None
    all_subsets: AllSubsetsClaim | None = None
    new_rows: NewRowsClaim | None = None
    path: Path | None = None
    data: Data | None = None
    told: Told | None = None
    table: Table | None = None
    checksum: Digest | None = None  # SHA-256 of all of it but this; only in a file

    @property
    def claims(self) -> tuple[str, ...]:
        """What is proved, in sentences."""
        from bestleaf.proof import words

        return tuple(words.claims_of(self))

    @property
    def not_claimed(self) -> tuple[str, ...]:
        """What a reader might think is proved, but is not."""
        from bestleaf.proof import words

        return tuple(words.not_claimed(self))

    @property
    def settled(self) -> bool:
        """Whether the answer of the search is within epsilon, or the choice finished; a budget may have ended it.

        In a graph that grew, at least one other candidate must be there.
        """
        search = self.search
        if search is None:
            return self.reason == "settled"
        if search.gap > search.epsilon:
            return False
        if search.expansion is None or search.task == "arm" or search.plan is not None:
            return True
        labels = [search.label_of(leaf) for leaf in search.leaves]
        return any(label != labels[0] for label in labels)

    def answer_in_words(self) -> str:
        """Return the answer with what is known of its value."""
        from bestleaf.proof import words

        return words.answer_in_words(self)

    def summary(self) -> str:
        """Return everything a reader must know, in words."""
        from bestleaf.proof import words

        return "\n".join(words.summary_lines(self))

    __str__ = summary

    def _repr_html_(self) -> str:
        first, *rest = self.summary().splitlines()
        path = ""
        if self.path is not None:
            from bestleaf.proof.words_new_rows import path_html

            path = path_html(self.path)
        return f"<p><b>{escape(first)}</b></p>{path}" + "".join(f"<p>{escape(text)}</p>" for text in rest)

    def __repr__(self) -> str:
        first = self.answer_in_words().splitlines()[0]
        leaves = "" if self.search is None else f", leaves={len(self.search.leaves)}"
        return f"Certificate({first!r}, reason={self.reason!r}{leaves})"

    def to_json(self) -> str:
        """Return the record as JSON, with a checksum of all of it; one that was loaded keeps the checksum it had."""
        text = msgspec.json.encode(self, enc_hook=_plain)
        if self.checksum is None:
            sealed = f'"checksum":"{checksum(json.loads(text))}"}}'
            text = text.removesuffix(b'"checksum":null}') + sealed.encode()
        decoded(text)  # what is written can be read
        return msgspec.json.format(text, indent=1).decode()

    def save(self, path: str | pathlib.Path) -> None:
        """Write the certificate to a file, whole or not at all."""
        write_atomically(pathlib.Path(path), self.to_json() + "\n")

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Return the certificate that a text holds. Its form is checked, its claims are not: use `verify`."""
        content, found = content_of(text), decoded(text.encode())
        if content["checksum"] != checksum(content):
            return found
        plain = msgspec.json.encode(found, enc_hook=_plain)  # the same may be written in several ways
        return structs.replace(found, checksum=checksum(json.loads(plain)))

    @classmethod
    def load(cls, path: str | pathlib.Path) -> Certificate:
        """Return the certificate in a file. Its form is checked, its claims are not: use `verify`."""
        text = read_text(path)
        try:
            return cls.from_json(text)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None


# ---- JSON


class InvalidRecordError(ValueError):
    """A certificate has an unknown field, or one of another form; the text says which."""


def schema() -> dict[str, object]:
    """Return the JSON schema of a certificate."""
    return msgspec.json.schema(Certificate)


def read_text(path: str | pathlib.Path) -> str:
    """Return the text of a file that is not too large; refuse a device or a pipe, which may have no end."""
    kind = pathlib.Path(path).stat().st_mode
    if not stat.S_ISREG(kind) and not stat.S_ISDIR(kind):
        raise ValueError(f"{path} must be a file to be read, got a device or a pipe")
    with open(path, "rb") as file:
        text = file.read(LARGEST + 1)  # whatever size the system says it has
    if len(text) > LARGEST:
        raise ValueError(f"{path} must have at most {LARGEST // 10**6} MB to be read, got more")
    try:
        return text.decode()
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not a certificate: no text") from None


def content_of(text: str) -> dict[str, object]:
    """Return the JSON of a certificate of this format; refuse a name that is written twice and what is no number."""
    try:
        content = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"this is not a certificate: no JSON ({in_line(str(error), 200)})") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError("this is not a certificate of bestleaf")
    version = content.get("format_version")
    if version != FORMAT_VERSION or type(version) is not int:
        old = ", of an older bestleaf: search again" if version in (1, 2, 3) else ""
        needed = f"the certificate must have format version {FORMAT_VERSION}"
        raise ValueError(f"{needed}, got format version {version!r:.40}{old}")
    if content.get("checksum") is None:
        raise ValueError("the certificate must have a checksum, got none, so it is not as it was saved")
    return content


def decoded(text: bytes) -> Certificate:
    """Return the record that a JSON text holds."""
    try:
        return msgspec.json.decode(text, type=Certificate)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InvalidRecordError(f"a field is not as it must be ({in_line(str(error), 200)})") from None


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return a JSON object; refuse a name that is there twice, because programs read that differently."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a part is written twice")
    return found


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _plain(value: object) -> object:
    """Return a number of numpy as a number of Python."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"a certificate holds numbers, texts and lists, got a {type(value).__name__}")
