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
from sklearn.base import BaseEstimator

from bestleaf.certificate.held_out import corrected_error
from bestleaf.checks import one_of, sentence, shown, whole
from bestleaf.encoding.transformer import KEEP
from bestleaf.features.data import task_of, unit_range
from bestleaf.features.estimator import EstimatorOracle
from bestleaf.features.neighbours import NeighbourVotes
from bestleaf.new_data import Split, split_of, votes_score
from bestleaf.tables.load import Table
from bestleaf.tables.peers import NEIGHBOURS, PEERS, Setting, installed_peers
from bestleaf.tables.select import check_rows, named_estimator, select_from_table

OURS = "bestleaf"  # the method that the others are compared with
INTERRUPTED = "interrupted"  # by Ctrl-C


@dataclass(frozen=True)
class Compared:
    """One method of feature selection, and its result on one split; nan for the score if it failed."""

    method: str
    columns: tuple[str, ...]  # columns of the file that it selected
    held_out: float  # score on the held-out rows
    seconds: float
    split: int = 0
    rows: tuple[int, int] = (0, 0)  # how many were selected on, and how many were held out
    note: str = ""  # why it ended early or failed


@dataclass(frozen=True)
class Standing:
    """One method of feature selection: means over splits, with standard errors (nan with one split)."""

    method: str
    features: float  # columns of the file that it selected
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
    estimator: BaseEstimator | str | None = None,
    random_state: int = 0,
    **keywords: Any,
) -> Iterator[Compared]:
    """Yield what each method selects on the same rows, with its score on the held-out rows.

    The methods are bestleaf, all features, and the peers that are installed. All see the same rows. A category or a
    date is one feature for all of them: a method that selects one of the columns that it became gets all of them.
    `standings` sums several splits up.

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
        As in `select_from_table`. Methods that need an estimator use it, too, and all methods are judged by it; None
        are nearest neighbours.
    random_state : int, default=0
        Everything random follows from it; the splits have this seed and the next ones.
    **keywords
        Further keywords of `bestleaf.tables.select.select_from_table`. What `include` and `exclude` name is included
        and excluded for all methods; other limits are those of bestleaf only.
    """
    check_rows(len(table.X), holdout, NEIGHBOURS)
    whole("splits", splits, 1)
    chosen = list(installed_peers()) if peers is None else [_checked(name) for name in peers]
    y = table.y.to_numpy()
    task = task_of(y, keywords.pop("task", "auto"))
    for number in range(splits):
        seed = (random_state + number) % 2**32
        split = split_of(holdout, table.X, y, NeighbourVotes(task=task), seed, table.metadata.get("groups"))
        one = _OneSplit(table, number, split, task, estimator, seed, keywords)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of searches ended by a budget, and of linear models that did not converge
            ours = one.ours()
            yield ours
            if ours.note == INTERRUPTED:
                raise KeyboardInterrupt
            yield one.judged("all features", one.allowed, 0.0)
            yield from map(one.peer, chosen)


def _checked(name: str) -> str:
    """Return the name of a peer; refuse one that cannot be used here."""
    if not PEERS[one_of("peers", name, PEERS)].installed:
        raise ValueError(f"peers must be installed, got {shown(name)}, which needs the module {PEERS[name].module}")
    return name


class _OneSplit:
    """The methods on one split of a table. Missing values are filled, and levels known, from the rows selected on.

    Which features are selected is an array of truth values for the columns of the file.
    """

    def __init__(
        self,
        table: Table,
        number: int,
        split: Split,
        task: str,
        estimator: BaseEstimator | str | None,
        seed: int,
        keywords: dict[str, Any],
    ) -> None:
        self.number, self.split, self.task, self.seed = number, split, task, seed
        found = named_estimator(estimator, task) if isinstance(estimator, str) else estimator
        self.estimator = None if isinstance(found, NeighbourVotes) else found
        votes = estimator if isinstance(estimator, NeighbourVotes) else NeighbourVotes(NEIGHBOURS, task=task)
        self.keywords = {**keywords, "estimator": votes if self.estimator is None else estimator}
        self.known, self.new = ({key: row[some] for key, row in table.metadata.items()} for some in split)
        self.seen = table.filled_from(split.kept)
        filled = self.seen  # nearest neighbours and most peers take no missing values
        if table.encode is not None and table.encoder.impute == KEEP:
            filled = table.filled_from(split.kept, impute="median")
        y = table.y.to_numpy()
        self.y = np.unique(y, return_inverse=True)[1] if task == "classification" else unit_range(y.astype(np.float64))
        self.names, self.numbers = list(table.groups), filled.X.to_numpy(np.float64)
        self.owners = np.array(filled.encoder.owners_)
        self.forced = np.isin(self.names, list(keywords.get("include", ())))
        self.allowed = ~np.isin(self.names, list(keywords.get("exclude", ())))
        self.allowed &= np.isin(np.arange(len(self.names)), self.owners)  # not those that the encoder left out

    def ours(self) -> Compared:
        """Return the result of bestleaf."""
        seen, kept = self.seen, self.split.kept
        rows = {"X": seen.X.iloc[kept], "y": seen.y.iloc[kept], "original": seen.original.iloc[kept]}
        started = perf_counter()
        part = replace(seen, **rows, metadata=self.known)
        selector = select_from_table(part, **self.keywords, random_state=self.seed).selector
        seconds, found = perf_counter() - started, selector.certificate_
        early = INTERRUPTED if found.reason == "interrupted" else "ended by its budget"
        return self.judged(OURS, selector.support_, seconds, "" if found.settled else early)

    def peer(self, name: str) -> Compared:
        """Return the result of a peer; one that fails must not end the comparison."""
        peer, started, kept = PEERS[name], perf_counter(), self.split.kept
        setting = Setting(self.task, self.estimator, self.seed, self.known.get("groups"))
        columns, support = np.flatnonzero(self.allowed[self.owners]), self.forced.copy()
        try:
            taken = peer.support(self.numbers[np.ix_(kept, columns)], self.y[kept], setting)
        except Exception as error:
            note = f"failed: {sentence(str(error), 200)}"
            return Compared(peer.title, (), nan, perf_counter() - started, self.number, note=note)
        support[self.owners[columns[taken]]] = True  # a category is selected as a whole
        return self.judged(peer.title, support, perf_counter() - started)

    def judged(self, method: str, support: np.ndarray, seconds: float, note: str = "") -> Compared:
        """Return a method's result with its score."""
        columns = tuple(name for name, selected in zip(self.names, support, strict=True) if selected)
        rows = len(self.split.kept), len(self.split.aside)
        score = self._score(np.flatnonzero(support[self.owners]))
        return Compared(method, columns, score, seconds, self.number, rows, note)

    def _score(self, taken: np.ndarray) -> float:
        """Return the score of the estimator or of the votes on the held-out rows; nan if it cannot be fitted.

        Without features votes rank by chance, and an estimator gets a column that says nothing.
        """
        kept, aside = self.split
        if self.estimator is None:
            if not len(taken):
                return 0.5
            (X, y), votes = (self.numbers[:, taken], self.y), NeighbourVotes(NEIGHBOURS, task=self.task)
            weight = self.new.get("sample_weight")
            return votes_score(votes, X[kept], y[kept], X[aside], y[aside], new_weight=weight)
        X, y = self.seen.X.to_numpy(np.float64)[:, taken], self.seen.y.to_numpy()
        X = X if len(taken) else np.zeros((len(y), 1))
        every = np.arange(len(kept))
        judge = EstimatorOracle(
            X[kept],
            y[kept],
            estimator=self.estimator,
            scoring=self.keywords.get("scoring"),
            cv=[(every, every)],  # nothing is cross-validated here
            random_state=self.seed,
            sample_weight=self.known.get("sample_weight"),
        )
        weights = {name: row for name, row in self.new.items() if name == "sample_weight"}
        try:
            return float(judge.score.of(judge.fitted(range(X.shape[1]), every), X[aside], y[aside], **weights))
        except ValueError:
            return nan


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
    often = Counter(name for one in done for name in one.columns)
    return Standing(
        method,
        _mean([len(one.columns) for one in done]),
        *_with_error([one.held_out for one in done], done),
        *_with_error([one.held_out - ours[one.split] for one in paired], paired),
        _mean([one.seconds for one in ones]),
        dict(often.most_common()),
        tuple(one.note for one in ones if one.note),
    )


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else nan


def _with_error(values: Sequence[float], ones: Sequence[Compared]) -> tuple[float, float]:
    """Return the mean of a value of each result, and its standard error; nan for fewer than two."""
    return _mean(values), corrected_error(values, [one.rows[1] for one in ones], [one.rows[0] for one in ones])
