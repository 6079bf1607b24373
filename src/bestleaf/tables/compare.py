"""Compare bestleaf with other methods of feature selection: on the same splits and the same test rows."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import ceil, nan, sqrt
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import get_scorer, r2_score
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit, StratifiedShuffleSplit

from bestleaf.checks import one_of, sentence, shown, whole
from bestleaf.features.data import task_of
from bestleaf.features.neighbours import NeighbourVotes
from bestleaf.tables.load import Table
from bestleaf.tables.models import named_estimator
from bestleaf.tables.peers import NEIGHBOURS, PEERS, Setting, installed_peers, mean_auc
from bestleaf.tables.select import select_from_table

OURS = "bestleaf"  # the method that the others are compared with
INTERRUPTED = "interrupted"  # by Ctrl-C


class Compared(NamedTuple):
    """One method of feature selection, and its result on one split; nan for the score if it failed."""

    method: str
    columns: tuple[str, ...]  # columns of the file that it selected
    score: float  # score on the test rows
    seconds: float
    split: int = 0
    rows: tuple[int, int] = (0, 0)  # how many were selected on, and how many were test rows
    note: str = ""  # why it ended early or failed


class Standing(NamedTuple):
    """One method of feature selection: means over splits, with standard errors (nan with one split)."""

    method: str
    features: float  # columns of the file that it selected
    score: float
    score_error: float
    difference: float  # score of bestleaf on the test rows minus that of the method on the same splits
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
    """Yield what each method selects on the same rows, with its score on the test rows; `standings` sums them up.

    The methods are bestleaf, all columns, and the peers that are installed. A category or a date is one column for all
    of them. Groups of rows stay together. Weights of rows are used by bestleaf and in all scores.

    Parameters
    ----------
    table : Table
        As `bestleaf.tables.load_table` makes it.
    holdout : float, default=0.25
        Fraction of the rows that no method sees: the test rows.
    splits : int, default=1
        How often the rows are split; several splits give standard errors.
    peers : list of str, default=None
        Names of peers in `bestleaf.tables.peers.PEERS`; None is all that are installed.
    estimator : estimator or str, default=None
        As in `select_from_table`. Methods that need an estimator use it, and it judges. With None, methods use 5
        nearest neighbours, and the score is the mean of three judges: 5 nearest neighbours, a linear model, boosting.
    random_state : int, default=0
        Everything random follows from it; the splits have this seed and the next ones.
    **keywords
        Further keywords of `select_from_table`. What `include` and `exclude` name is included and excluded for all
        methods; other limits are those of bestleaf only.
    """
    if not 0 < holdout < 1:
        raise ValueError(f"holdout must be strictly between 0 and 1, got {holdout}")
    kept = len(table.X) - ceil(len(table.X) * holdout)
    if kept <= NEIGHBOURS:
        raise ValueError(f"the table must have at least {NEIGHBOURS + 1} rows beside the test rows, got {kept}")
    whole("splits", splits, 1)
    chosen = methods(peers)
    task = task_of(table.y.to_numpy(), keywords.get("task", "auto"))
    for number in range(splits):
        seed = (random_state + number) % 2**32
        rows = split_rows(table.y.to_numpy(), holdout, task, seed, table.metadata.get("groups"))
        one = _OneSplit(table, number, rows, task, estimator, seed, keywords)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of choices ended by a budget, and of models that did not converge
            ours = one.ours()
            yield ours
            if ours.note == INTERRUPTED:
                raise KeyboardInterrupt
            yield one.judged("all columns", one.allowed, 0.0)
            yield from map(one.peer, chosen)


def methods(peers: Iterable[str] | None) -> list[str]:
    """Return the names of the peers asked for, or of all that are installed; refuse those that are not."""
    if peers is None:
        return list(installed_peers())
    chosen = [one_of("peers", str(name).lower(), PEERS) for name in peers]
    for name in chosen:
        if not PEERS[name].installed:
            raise ValueError(f"peers must be installed, got {shown(name)}, which needs the module {PEERS[name].module}")
    return chosen


def split_rows(
    y: np.ndarray, holdout: float, task: str, seed: int, groups: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows that methods see, and the test rows: with all classes in both where they allow it."""
    kind, (classes, rows) = ShuffleSplit, np.unique(y, return_counts=True)
    if groups is not None:
        kind = GroupShuffleSplit
    elif task == "classification" and rows.min() >= 2:
        enough = min(ceil(len(y) * holdout), int(len(y) * (1 - holdout))) >= len(classes)
        kind = StratifiedShuffleSplit if enough else kind
    kept, aside = next(kind(1, test_size=holdout, random_state=seed).split(np.zeros(len(y)), y, groups))
    return np.sort(kept), np.sort(aside)


class _OneSplit:
    """The methods on one split of a table. Missing values are filled, and levels known, from the rows selected on.

    Which columns are selected is an array of truth values for the columns of the file.
    """

    def __init__(
        self,
        table: Table,
        number: int,
        rows: tuple[np.ndarray, np.ndarray],
        task: str,
        estimator: BaseEstimator | str | None,
        seed: int,
        keywords: dict[str, Any],
    ) -> None:
        self.number, (self.kept, self.aside), self.task = number, rows, task
        self.known, self.new = ({key: row[some] for key, row in table.metadata.items()} for some in rows)
        self.keywords = {**keywords, "estimator": estimator, "random_state": seed}
        found = named_estimator(estimator, task) if isinstance(estimator, str) else estimator
        self.setting = Setting(
            task, None if isinstance(found, NeighbourVotes) else found, seed, self.known.get("groups")
        )
        models = [named_estimator(name, task) for name in ("linear", "boosting") if estimator is None]
        self.judges = [self.setting.model, *models]
        filled = table.filled_from(self.kept)
        self.table, y = table, table.y.to_numpy()
        self.y = np.unique(y, return_inverse=True)[1] if task == "classification" else y.astype(np.float64)
        self.names, self.numbers = list(table.groups), filled.X.to_numpy(np.float64)
        self.owners = np.array(filled.encoder.owners_)
        self.forced = np.isin(self.names, list(keywords.get("include", ())))
        self.allowed = ~np.isin(self.names, list(keywords.get("exclude", ())))
        self.allowed &= np.isin(np.arange(len(self.names)), self.owners)  # not those that the encoder left out

    def ours(self) -> Compared:
        """Return the result of bestleaf."""
        table, kept = self.table, self.kept
        rows = {"X": table.X.iloc[kept], "y": table.y.iloc[kept], "original": table.original.iloc[kept]}
        started = perf_counter()
        aside = {} if self.keywords.get("choose") == "training" else {"holdout": 0}
        part = replace(table, **rows, metadata=self.known)
        selector = select_from_table(part, **{**aside, **self.keywords}).selector
        seconds, found = perf_counter() - started, selector.certificate_
        early = INTERRUPTED if found.reason == "interrupted" else "ended by its budget"
        return self.judged(OURS, selector.support_, seconds, "" if found.settled else early)

    def peer(self, name: str) -> Compared:
        """Return the result of a peer; one that fails must not end the comparison."""
        peer, started = PEERS[name], perf_counter()
        columns, support = np.flatnonzero(self.allowed[self.owners]), self.forced.copy()
        try:
            taken = peer.support(self.numbers[np.ix_(self.kept, columns)], self.y[self.kept], self.setting)
        except Exception as error:
            note = f"failed: {sentence(str(error), 200)}"
            return Compared(peer.title, (), nan, perf_counter() - started, self.number, note=note)
        support[self.owners[columns[taken]]] = True  # a category is selected as a whole
        return self.judged(peer.title, support, perf_counter() - started)

    def judged(self, method: str, support: np.ndarray, seconds: float, note: str = "") -> Compared:
        """Return a method's result with the mean score of the judges on the test rows; without columns all are 0."""
        columns = tuple(name for name, selected in zip(self.names, support, strict=True) if selected)
        X = self.numbers[:, support[self.owners]] if columns else np.zeros((len(self.y), 1))
        try:
            score = float(np.mean([self._score_by(judge, X) for judge in self.judges]))
        except ValueError:
            score = nan
        return Compared(method, columns, score, seconds, self.number, (len(self.kept), len(self.aside)), note)

    def _score_by(self, judge: BaseEstimator, X: np.ndarray) -> float:
        fitted = clone(judge).fit(X[self.kept], self.y[self.kept])
        new, y, weights = X[self.aside], self.y[self.aside], self.new.get("sample_weight")
        if (scoring := self.keywords.get("scoring")) is not None:
            weighted = {} if weights is None else {"sample_weight": weights}
            return float((get_scorer(scoring) if isinstance(scoring, str) else scoring)(fitted, new, y, **weighted))
        if self.task == "classification":
            return mean_auc(fitted, new, y, weights)
        return float(r2_score(y, fitted.predict(new), sample_weight=weights))


def standings(results: Iterable[Compared]) -> list[Standing]:
    """Return the mean results of each method over the splits, and the paired differences of bestleaf to it.

    A method that failed on a split has means over the other splits only.
    """
    by_method: dict[str, list[Compared]] = {}
    for one in results:
        by_method.setdefault(one.method, []).append(one)
    ours = {one.split: one.score for one in by_method.get(OURS, [])}
    return [_standing(method, ones, ours) for method, ones in by_method.items()]


def _standing(method: str, ones: list[Compared], ours: dict[int, float]) -> Standing:
    done = [one for one in ones if not np.isnan(one.score)]
    paired = [one for one in done if one.split in ours]
    often = Counter(name for one in done for name in one.columns)
    return Standing(
        method,
        _mean([len(one.columns) for one in done]),
        *_with_error([one.score for one in done], done),
        *_with_error([ours[one.split] - one.score for one in paired], paired),
        _mean([one.seconds for one in ones]),
        dict(often.most_common()),
        tuple(one.note for one in ones if one.note),
    )


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else nan


def _with_error(values: Sequence[float], ones: Sequence[Compared]) -> tuple[float, float]:
    """Return the mean of a value of each result, and its standard error; nan for fewer than two.

    Splits share rows, so the error of independent ones would be too small (Nadeau and Bengio, 2003).
    """
    if len(values) < 2:
        return _mean(values), nan
    ratio = float(np.mean([one.rows[1] / one.rows[0] for one in ones]))
    return _mean(values), float(np.std(values, ddof=1)) * sqrt(1 / len(values) + ratio)
