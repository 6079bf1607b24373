"""Compare bestleaf with other methods of feature selection: on the same splits and the same held-out rows."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import nan
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from bestleaf.certificate.held_out import corrected_error
from bestleaf.checks import one_of, shown, whole
from bestleaf.encoding.transformer import KEEP
from bestleaf.features.data import task_of, unit_range
from bestleaf.features.estimator import EstimatorOracle
from bestleaf.features.neighbours import KNNOracle, NeighbourVotes
from bestleaf.features.scoring import in_short
from bestleaf.new_data import Split, splits_of, votes_score
from bestleaf.selector import BestLeafSelector
from bestleaf.tables.encode import Table
from bestleaf.tables.peers import NEIGHBOURS, PEERS, Setting, installed_peers
from bestleaf.tables.rows import some_rows
from bestleaf.tables.select import check_rows, columns_of, folds_for, named_estimator, searched_of, select_from_table

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
    by_estimator: float = nan  # score of the estimator on the held-out rows; nan if there is none


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
    by_estimator: float = nan
    by_estimator_error: float = nan


def compare(
    table: Table,
    *,
    holdout: float = 0.25,
    splits: int = 1,
    peers: Iterable[str] | None = None,
    estimator: BaseEstimator | str | None = None,
    random_state: int = 0,
    **keywords: Any,
) -> Iterator[Compared]:
    """Yield what each method selects on the same rows, with its score on the held-out rows.

    The methods are bestleaf at the size it chooses and at about half and twice that size, all features, and the peers
    that are installed. All see the same rows. A category or a date is one feature for all of them: a method that
    selects one of the columns that it became gets all of them. `standings` sums several splits up.

    Groups of rows are held out together, and all methods use folds by groups. Weights of rows are used by bestleaf, and
    all methods are judged by them.

    Parameters
    ----------
    table : Table
        As `bestleaf.tables.load_table` or `bestleaf.tables.prepared` makes it.
    holdout : float, default=0.25
        Fraction of the rows that are held out from all methods.
    splits : int, default=1
        How often the rows are split; several splits give standard errors.
    peers : list of str, default=None
        Names of peers in `bestleaf.tables.peers.PEERS`; None is all that are installed.
    estimator : estimator or str, default=None
        As in `select_from_table`. Methods that need an estimator use it, too, and all methods are judged by it as well
        as by nearest neighbours.
    random_state : int, default=0
        Everything random follows from it; the splits have this seed and the next ones.
    **keywords
        Further keywords of `bestleaf.tables.select.select_from_table`. Columns that are forced or forbidden are so for
        all methods; other limits are those of bestleaf only.
    """
    check_rows(len(table.X), holdout, NEIGHBOURS)
    whole("splits", splits, 1)
    chosen = list(installed_peers()) if peers is None else [_checked(name) for name in peers]
    y = table.y.to_numpy()
    task = task_of(y, keywords.pop("task", "auto"))
    found = named_estimator(estimator, task) if isinstance(estimator, str) else estimator
    judge = None if isinstance(found, NeighbourVotes) else found
    for number in range(splits):
        seed = (random_state + number) % 2**32
        split = splits_of(holdout, table.X, y, NeighbourVotes(task=task), seed, table.metadata.get("groups"))[0]
        one = _OneSplit(table, split, task, judge, _Place(number, seed), keywords)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of searches ended by a budget, and of linear models that did not converge
            yield from one.ours(estimator)
            yield one.judged("all features", one.allowed, 0.0)
            for name in chosen:
                yield one.peer(name)


def _checked(name: str) -> str:
    """Return the name of a peer; refuse one that cannot be used here."""
    if not PEERS[one_of("peers", name, PEERS)].installed:
        raise ValueError(f"peers must be installed, got {shown(name)}, which needs the module {PEERS[name].module}")
    return name


class _Place(NamedTuple):
    """The number of a split, and its seed."""

    number: int
    seed: int


class _OneSplit:
    """The methods on one split of a table. Missing values are filled, and levels known, from the rows selected on.

    Which features are selected is an array of truth values for the columns of the file.
    """

    def __init__(
        self,
        table: Table,
        split: Split,
        task: str,
        estimator: BaseEstimator | None,
        place: _Place,
        keywords: dict[str, Any],
    ) -> None:
        self.table, self.split, self.task, self.place, self.keywords = table, split, task, place, keywords
        self.estimator, self.votes = estimator, NeighbourVotes(NEIGHBOURS, task=task)
        self.metadata = some_rows(table.metadata, split.kept)
        self.new_weight = some_rows(table.metadata, split.aside).get("sample_weight")
        self.seen = table.filled_from(split.kept)
        filled = self.seen  # nearest neighbours and most peers take no missing values
        if table.encode is not None and table.encoder.impute == KEEP:
            filled = table.filled_from(split.kept, impute="median")
        y = table.y.to_numpy()
        self.y = np.unique(y, return_inverse=True)[1] if task == "classification" else unit_range(y.astype(np.float64))
        self.names, self.numbers = list(table.groups), filled.X.to_numpy(np.float64)
        owners = {column: place for place, columns in enumerate(filled.groups.values()) for column in columns}
        self.owners = np.array([owners[column] for column in filled.X.columns])
        self.forced = np.isin(self.names, columns_of("forced", keywords.get("forced") or [], table))
        self.allowed = ~np.isin(self.names, searched_of("forbidden", keywords.get("forbidden") or [], table))
        self.allowed &= np.isin(np.arange(len(self.names)), self.owners)  # not those that the encoder left out
        self.values = KNNOracle(  # for exact values only
            self.numbers[split.kept],
            self.y[split.kept],
            task=task,
            n_neighbors=NEIGHBOURS,
            subsample=2,
            **self.metadata,
        )

    def ours(self, estimator: BaseEstimator | str | None) -> Iterator[Compared]:
        """Yield the result of bestleaf, and of the same search at other sizes."""
        seen, kept = self.seen, self.split.kept
        part = replace(
            seen,
            X=seen.X.iloc[kept],
            y=seen.y.iloc[kept],
            original=seen.original.iloc[kept],
            metadata=self.metadata,
        )
        settings = {**self.keywords, "random_state": self.place.seed}
        if self.estimator is None:
            settings |= {"task": self.task, "n_neighbors": NEIGHBOURS}
        started = perf_counter()
        selector = select_from_table(part, estimator=estimator, **settings).selector
        seconds, found = perf_counter() - started, selector.certificate_
        interrupted = found.reason == "interrupted"
        note = "" if found.settled else "interrupted" if interrupted else "ended by its budget"
        yield self.judged(OURS, selector.support_, seconds, note)
        if interrupted:
            raise KeyboardInterrupt
        for words, support in _other_sizes(selector):
            yield self.judged(f"{OURS}, {words}", support, seconds)

    def peer(self, name: str) -> Compared:
        """Return the result of a peer; one that fails must not end the comparison."""
        peer, started, kept = PEERS[name], perf_counter(), self.split.kept
        setting = Setting(self.task, self.estimator, self.place.seed, self.metadata.get("groups"))
        columns = np.flatnonzero(self.allowed[self.owners])
        support = self.forced.copy()
        try:
            taken = peer.support(self.numbers[np.ix_(kept, columns)], self.y[kept], setting)
        except Exception as error:
            note = f"failed: {in_short(error)}"
            return Compared(peer.title, (), nan, nan, perf_counter() - started, self.place.number, self._rows, note)
        support[self.owners[columns[taken]]] = True  # a category is selected as a whole
        return self.judged(peer.title, support, perf_counter() - started)

    def judged(self, method: str, support: np.ndarray, seconds: float, note: str = "") -> Compared:
        """Return a method's result with its scores; a method that selects nothing ranks rows by chance."""
        taken, (kept, aside) = np.flatnonzero(support[self.owners]), self.split
        score, held_out, by_estimator = 0.5, 0.5, nan
        if len(taken):
            score, numbers = self.values.value(taken.tolist()), self.numbers[:, taken]
            rows = numbers[kept], self.y[kept], numbers[aside], self.y[aside]
            held_out = votes_score(self.votes, *rows, new_weight=self.new_weight).score
            by_estimator = self._by_estimator(taken)
        columns = tuple(name for name, selected in zip(self.names, support, strict=True) if selected)
        number = self.place.number
        return Compared(method, columns, score, held_out, seconds, number, self._rows, note, by_estimator)

    def _by_estimator(self, taken: np.ndarray) -> float:
        """Return the score of the estimator on the held-out rows; nan if there is none, or if it cannot be fitted."""
        if self.estimator is None:
            return nan
        (kept, aside), X, y = self.split, self.seen.X.to_numpy(np.float64), self.table.y.to_numpy()
        oracle = EstimatorOracle(
            X[kept],
            y[kept],
            estimator=self.estimator,
            scoring=self.keywords.get("scoring"),
            cv=folds_for(self.estimator, self.keywords.get("cv"), self.metadata),
            random_state=self.place.seed,
            **self.metadata,
        )
        weights = {} if self.new_weight is None else {"sample_weight": self.new_weight}
        try:
            fitted = oracle.fitted(taken.tolist(), np.arange(len(kept)))
            return float(oracle.score.of(fitted, X[np.ix_(aside, taken)], y[aside], **weights))
        except ValueError:
            return nan

    @property
    def _rows(self) -> tuple[int, int]:
        return len(self.split.kept), len(self.split.aside)


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
    fitted = [one for one in done if not np.isnan(one.by_estimator)]
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
        _mean([one.by_estimator for one in fitted]),
        _error([one.by_estimator for one in fitted], fitted),
    )


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else nan


def _error(values: Sequence[float], ones: Sequence[Compared]) -> float:
    """Return the standard error of the mean of a value of each result; nan for fewer than two."""
    return corrected_error(values, [one.rows[1] for one in ones], [one.rows[0] for one in ones])
