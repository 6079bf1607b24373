"""Compare bestleaf with other methods of feature selection: on the same splits and the same held-out rows."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import nan
from time import perf_counter
from typing import Any

import numpy as np

from bestleaf.certificate.held_out import corrected_error
from bestleaf.checks import one_of, shown, whole
from bestleaf.features.data import task_of, unit_range
from bestleaf.features.neighbours import KNNOracle, NeighbourVotes
from bestleaf.features.scoring import in_short
from bestleaf.new_data import Split, splits_of, votes_score
from bestleaf.selector import BestLeafSelector
from bestleaf.tables.encode import Table
from bestleaf.tables.peers import NEIGHBOURS, PEERS, Setting, installed_peers
from bestleaf.tables.select import check_rows, select_from_table

OURS = "bestleaf"  # the method that the others are compared with


@dataclass(frozen=True)
class Compared:
    """One method of feature selection, and its result on one split; nan for the scores if it failed."""

    method: str
    columns: tuple[str, ...]  # columns of the file that it selected
    score: float  # value on the rows that features were selected on
    held_out: float  # the same measure on the held-out rows
    seconds: float
    split: int = 0
    rows: tuple[int, int] = (0, 0)  # how many were selected on, and how many were held out
    note: str = ""  # why it ended early or failed


@dataclass(frozen=True)
class Standing:
    """One method of feature selection: means over splits, with standard errors (nan with one split)."""

    method: str
    features: float  # columns of the file that it selected
    score: float
    held_out: float
    held_out_error: float
    difference: float  # held-out score minus that of bestleaf on the same splits
    difference_error: float
    seconds: float
    columns: dict[str, int]  # how often each column was selected, the most frequent first
    notes: tuple[str, ...]  # why it ended early or failed, on each split where it did


def compare(
    table: Table,
    *,
    holdout: float = 0.25,
    splits: int = 1,
    peers: Iterable[str] | None = None,
    random_state: int = 0,
    **keywords: Any,
) -> Iterator[Compared]:
    """Yield what each method selects on the same rows, with its score on the held-out rows.

    The methods are bestleaf at the size it chooses and at about half and twice that size, all features, and the peers
    that are installed. All see the same rows. `standings` sums several splits up.

    Parameters
    ----------
    table : Table
        As `bestleaf.tables.prepared` makes it.
    holdout : float, default=0.25
        Fraction of the rows that are held out from all methods.
    splits : int, default=1
        How often the rows are split; several splits give standard errors.
    peers : list of str, default=None
        Names of peers in `bestleaf.tables.peers.PEERS`; None is all that are installed.
    random_state : int, default=0
        Everything random follows from it; the splits have this seed and the next ones.
    **keywords
        Further keywords of `bestleaf.tables.select.select_from_table`.
    """
    check_rows(len(table.X), holdout, NEIGHBOURS)
    whole("splits", splits, 1)
    chosen = list(installed_peers()) if peers is None else [_checked(name) for name in peers]
    y = table.y.to_numpy()
    task = task_of(y, keywords.pop("task", "auto"))
    y = np.unique(y, return_inverse=True)[1] if task == "classification" else unit_range(y.astype(np.float64))
    votes = NeighbourVotes(NEIGHBOURS, task=task)
    for number in range(splits):
        seed = (random_state + number) % 2**32
        split = splits_of(holdout, table.X, y, votes, seed)[0]
        one = _OneSplit(number, table, y, votes, split)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of searches ended by a budget, and of linear models that did not converge
            yield from one.ours(seed, keywords)
            yield one.judged("all features", np.ones(len(one.names), bool), 0.0)
            for name in chosen:
                yield one.peer(name, Setting(task, seed=seed))


def _checked(name: str) -> str:
    """Return the name of a peer; refuse one that cannot be used here."""
    if not PEERS[one_of("peers", name, PEERS)].installed:
        raise ValueError(f"peers must be installed, got {shown(name)}, which needs the module {PEERS[name].module}")
    return name


class _OneSplit:
    """The methods on one split of a table. Missing values are filled from the rows selected on."""

    def __init__(self, number: int, table: Table, y: np.ndarray, votes: NeighbourVotes, split: Split) -> None:
        kept, aside = split
        self.number, self.votes, self.table = number, votes, table.filled_from(kept)
        self.names, X = list(self.table.X.columns), self.table.X.to_numpy(np.float64)
        self.kept = kept
        self.X, self.y, self.new_X, self.new_y = X[kept], y[kept], X[aside], y[aside]
        self.values = KNNOracle(self.X, self.y, task=votes.task, n_neighbors=NEIGHBOURS, subsample=2)  # exact ones only

    def ours(self, seed: int, keywords: dict[str, Any]) -> Iterator[Compared]:
        """Yield the result of bestleaf, and of the same search at other sizes."""
        table, kept = self.table, self.kept
        original = table.original.iloc[kept]
        part = replace(table, X=table.X.iloc[kept], y=table.y.iloc[kept], original=original, impute=None)
        keywords = {**keywords, "task": self.votes.task, "n_neighbors": NEIGHBOURS, "random_state": seed}
        started = perf_counter()
        selector = select_from_table(part, **keywords).selector
        seconds, found = perf_counter() - started, selector.certificate_
        interrupted = found.reason == "interrupted"
        note = "" if found.settled else "interrupted" if interrupted else "ended by its budget"
        yield self.judged(OURS, selector.support_, seconds, note)
        if interrupted:
            raise KeyboardInterrupt
        for words, support in _other_sizes(selector):
            yield self.judged(f"{OURS}, {words}", support, seconds)

    def peer(self, name: str, setting: Setting) -> Compared:
        """Return the result of a peer; one that fails must not end the comparison."""
        peer, started = PEERS[name], perf_counter()
        try:
            support = peer.support(self.X, self.y, setting)
        except Exception as error:
            note = f"failed: {in_short(error)}"
            return Compared(peer.title, (), nan, nan, perf_counter() - started, self.number, self._rows, note)
        return self.judged(peer.title, support, perf_counter() - started)

    def judged(self, method: str, support: np.ndarray, seconds: float, note: str = "") -> Compared:
        """Return a method's result with its scores; a method that selects nothing ranks rows by chance."""
        taken = np.flatnonzero(support)
        score = held_out = 0.5
        if len(taken):
            score = self.values.value(taken.tolist())
            held_out = votes_score(self.votes, self.X[:, taken], self.y, self.new_X[:, taken], self.new_y).score
        chosen = {self.names[number] for number in taken}
        groups = self.table.groups.items()
        columns = tuple(text for name, group in groups if (text := _in_words(name, group, chosen)))
        return Compared(method, columns, score, held_out, seconds, self.number, self._rows, note)

    @property
    def _rows(self) -> tuple[int, int]:
        return len(self.y), len(self.new_y)


def _other_sizes(selector: BestLeafSelector) -> Iterator[tuple[str, np.ndarray]]:
    """Yield what a selector selects at about half and at about twice its size, if it has a path of sizes."""
    if selector.path_ is None:
        return
    sizes = [row.size for row in selector.path_ if not np.isnan(row.training)]  # at_size needs the value
    size = selector.certificate_.content["new_data"]["size"]
    smaller = max((one for one in sizes if one <= size / 2), default=min(sizes))
    larger = min((one for one in sizes if one >= size * 2), default=max(sizes))
    for words, other in (("half the size", smaller), ("twice the size", larger)):
        yield words, selector.at_size(other).support_


def _in_words(name: str, columns: list[str], chosen: set[str]) -> str:
    """Return the name of a column of the file, and how many of its categories were selected; empty if none was."""
    taken = len(chosen.intersection(columns))
    return name if taken == len(columns) else f"{name} ({taken} of {len(columns)} categories)" if taken else ""


def standings(results: Iterable[Compared]) -> list[Standing]:
    """Return the mean results of each method over the splits, and its paired differences to bestleaf.

    A method that failed on a split has means over the other splits only.
    """
    by_method: dict[str, list[Compared]] = {}
    for one in results:
        by_method.setdefault(one.method, []).append(one)
    ours = {one.split: one.held_out for one in by_method.get(OURS, [])}
    return [_standing(method, ones, ours) for method, ones in by_method.items()]


def _standing(method: str, ones: list[Compared], ours: dict[int, float]) -> Standing:
    done = [one for one in ones if not np.isnan(one.held_out)]
    paired = [one for one in done if one.split in ours]
    held_out, differences = [one.held_out for one in done], [one.held_out - ours[one.split] for one in paired]
    often = Counter(name for one in done for name in one.columns)
    return Standing(
        method,
        _mean([len(one.columns) for one in done]),
        _mean([one.score for one in done]),
        _mean(held_out),
        _error(held_out, done),
        _mean(differences),
        _error(differences, paired),
        _mean([one.seconds for one in ones]),
        dict(often.most_common()),
        tuple(one.note for one in ones if one.note),
    )


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else nan


def _error(values: Sequence[float], ones: Sequence[Compared]) -> float:
    """Return the standard error of the mean of a value of each result; nan for fewer than two."""
    return corrected_error(values, [one.rows[1] for one in ones], [one.rows[0] for one in ones])
