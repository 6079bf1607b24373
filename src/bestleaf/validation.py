"""`validate`: scores of a selector on held-out rows, and how often each feature is selected again."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import takewhile
from math import inf
from time import time
from typing import Any, NamedTuple

import numpy as np
from joblib import parallel_config
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing

from bestleaf.certificate.claims import counted, words_of
from bestleaf.certificate.held_out import corrected_error
from bestleaf.certificate.units import Units
from bestleaf.checkpoint import Checkpoint
from bestleaf.checks import check_keywords, number, one_of, shown, whole
from bestleaf.data_checks import METADATA, Data, checked_fit_data, choice_by_number, task_for
from bestleaf.features.estimator import described
from bestleaf.new_data import Split, splits_of
from bestleaf.new_data.held_out import HeldOut, HeldOutRows, checked_test_set
from bestleaf.new_data.resample import RESAMPLE, resampled_rows
from bestleaf.search.budget import Budget, deferred_interrupt
from bestleaf.search.executors import Joblib, executor_for, workers_there
from bestleaf.search.saving import Saver
from bestleaf.selection import call_of
from bestleaf.selector import BestLeafSelector, seed_of

RESAMPLES = 20  # searches if `resample` is given and `n_repeats` is not
NAMED = {"test_set": "(X_new, y_new)"}  # data in the call that repeats a validation
STARTING = 10.0  # seconds of a search from which on it pays to start processes


@dataclass(frozen=True)
class Validation:
    """What `validate` found out about a selector.

    Attributes
    ----------
    selector : BestLeafSelector
        Fitted on `rows`; its certificate also has the scores on held-out rows and the selection frequencies.
    rows : array of int
        The rows that this selector was fitted on: all rows, or those left if `holdout` is a fraction.
    scores : array of float
        Score on the held-out rows of each split, by the measure of the search; empty without held-out rows.
    all_features_scores : array of float
        The same for all features (without those that are forbidden or constant).
    interval : (float, float) or None
        Confidence interval, with a proof, for the score on new rows that are drawn like the held-out ones. None with
        several splits, groups, weights, or a score that has no proof; then the certificate says why.
    difference_interval : (float, float) or None
        The same for `difference`: score minus score of all features, on the same rows.
    selection_frequency : array of float or None
        Fraction of the searches that selected each feature; None without repeats.
    n_repeats : int
        Searches that were run, with different seeds or rows: fewer than asked for after Ctrl-C or when time was over.
    reason : str
        ``"identified"`` if all searches were run, otherwise what ended them: ``"interrupted"`` or ``"max_time"``.
    """

    selector: BestLeafSelector
    rows: np.ndarray = field(repr=False)
    scores: np.ndarray
    all_features_scores: np.ndarray
    interval: tuple[float, float] | None
    difference_interval: tuple[float, float] | None
    selection_frequency: np.ndarray | None = field(repr=False)
    n_repeats: int
    reason: str

    @property
    def mean(self) -> float:
        """Mean of the scores; nan if there are none."""
        return float(self.scores.mean()) if len(self.scores) else np.nan

    @property
    def standard_error(self) -> float:
        """Standard error of the mean, corrected for splits that share training rows; nan for fewer than two scores."""
        return self._error(self.scores)

    @property
    def difference(self) -> float:
        """Mean of the scores minus those of all features, on the same rows; nan if there are none."""
        return float(np.mean(self.scores - self.all_features_scores)) if len(self.scores) else np.nan

    @property
    def difference_error(self) -> float:
        """Standard error of the difference, corrected like `standard_error`."""
        return self._error(self.scores - self.all_features_scores)

    def _error(self, values: np.ndarray) -> float:
        if len(values) < 2:
            return np.nan
        parts = self.selector.certificate_.content["unseen"]["parts"]
        return corrected_error(values.tolist(), *([part[name] for part in parts] for name in ("rows", "trained")))

    def __str__(self) -> str:
        content = self.selector.certificate_.content
        lines = [f"Selected: {', '.join(content['features'])}, score {self.selector.score_:.4f}."]
        if many := len(self.scores):
            error, gain = "", ""
            if many > 1:
                error = f" ± {self.standard_error:.4f} (corrected standard error), {many} splits"
                gain = f" ± {self.difference_error:.4f}"
            lines.append(f"Score on held-out rows: {self.mean:.4f}{error}.")
            every = f"all features {self.all_features_scores.mean():.4f}"
            lines.append(f"Difference to {every} on the same rows: {self.difference:+.4f}{gain}.")
        lines += [claim["text"] for claim in content["claims"] if claim["kind"].startswith("new rows")]
        if self.selection_frequency is not None:
            frequency = content["report"]["selection_frequency"]
            searches = searches_in_words(self.n_repeats, content["report"].get("resample"))
            often = [f"{name} {one:.0%}" for name, one in sorted(frequency.items(), key=lambda item: -item[1])]
            lines.append(f"Selected in {searches}: {', '.join(often)}.")
        return "\n".join(lines)


def validate(
    selector: BestLeafSelector,
    X: Any,
    y: Any,
    *,
    holdout: object = None,
    test_set: tuple[ArrayLike, ArrayLike] | None = None,
    delta: float | None = None,
    n_repeats: int | None = None,
    resample: str | None = None,
    n_jobs: int | None = None,
    **metadata: Any,
) -> Validation:
    """Fit a selector and judge its answer: on rows it has not seen, and by searching again with other seeds or rows.

    With a fraction as `holdout`, or with a `test_set`, the certificate gets a claim about new rows: an interval for the
    score of the selected features, and one for its difference to the score of all features. Both have a proof, if new
    rows are drawn like the held-out ones.

    Each search gets an equal part of the `max_time` of the selector. If the selector has a `checkpoint` at PATH, the
    further searches are saved to PATH.1, PATH.2 and so on.

    Parameters
    ----------
    selector : BestLeafSelector or FuseSelector
        A copy of it is fitted.
    X, y
        As in `BestLeafSelector.fit`.
    holdout : float, int, splitter or iterable, default=None
        A fraction of the rows, as a float: the answer is found on the other rows and scored on these. Or splits, as
        scikit-learn understands them: the answer is found on all rows; to judge it, the search is repeated on the
        training part of each split and scored on its held-out rows.
    test_set : (X_new, y_new), default=None
        Held-out rows that you hand in: the answer is found on all rows of `X` and scored on these.
    delta : float, default=None
        Probability with which each interval about new rows may fail; None is the `delta` of the selector.
    n_repeats : int, default=None
        Number of searches, the first one included; they show how often each feature is selected. None is 1, or 20 with
        `resample`.
    resample : {"bootstrap", "half"}, default=None
        The rows of the searches after the first one. None: the same rows, with other seeds. "bootstrap": as many rows
        drawn with replacement; one drawn twice is kept once. "half": a random half of the rows.
    n_jobs : int, default=None
        Searches at a time; None is the `n_jobs` of the selector.
    **metadata
        ``sample_weight`` and ``groups``, as in `BestLeafSelector.fit`; the splits use groups, too.

    Returns
    -------
    Validation

    Examples
    --------
    >>> from bestleaf import BestLeafSelector, validate
    >>> from bestleaf.paper import load_linear
    >>> X, y = load_linear(return_X_y=True)
    >>> found = validate(BestLeafSelector(choose="training", epsilon=0.05, random_state=0), X, y, holdout=0.25)
    >>> found.mean > 0.9
    True
    >>> low, high = found.interval
    >>> low <= found.mean <= high
    True
    """
    if not isinstance(selector, BestLeafSelector):
        raise TypeError(f"selector must be a BestLeafSelector or a FuseSelector, got {shown(selector)}")
    budget = Budget(max_time=selector.max_time)
    if resample is not None:
        one_of("resample", resample, RESAMPLE)
    n_repeats = (1 if resample is None else RESAMPLES) if n_repeats is None else whole("n_repeats", n_repeats, 1)
    if resample is not None and n_repeats == 1:
        raise ValueError("n_repeats must be at least 2 with resample, got 1")
    workers_there(n_jobs)
    check_keywords("validate", metadata, (*METADATA, "holdout", "test_set", "delta", "n_repeats", "resample", "n_jobs"))
    if delta is not None:
        number("delta", delta, "strictly between 0 and 1", 0.0, 1.0, open_ends=True)
    if isinstance(selector.cv, Iterator):
        what = f"the iterator {described(selector.cv)}, which ends"
        raise ValueError(f"cv must be a number, a splitter or a list, got {what}")
    holdout = float(holdout) if isinstance(holdout, np.floating) else holdout
    fitted = clone(selector)
    fitted._validate_params()
    data = checked_fit_data(fitted, X, y, metadata)
    seed, splits = seed_of(fitted), list[Split]()
    new = None if test_set is None else checked_test_set(fitted, data, test_set, holdout)
    if holdout is not None:
        if isinstance(fitted.cv, list | tuple):
            raise ValueError("cv must be a number or a splitter with holdout, got a list of rows of all the data")
        splits = splits_of(holdout, data.X, data.y, fitted.estimator, seed, data.metadata.get("groups"))
    held = HeldOutRows(data, splits, new, once=isinstance(holdout, float) or new is not None)
    further = n_repeats - 1 + (0 if held.once else len(splits))
    searches = Searches(fitted, data, budget, further, fitted.n_jobs if n_jobs is None else n_jobs)
    rows = splits[0].kept if isinstance(holdout, float) else slice(None)  # no copy of large data
    searches.first(X, rows, seed)
    content = fitted.certificate_.content
    reason = "interrupted" if fitted.certificate_.reason == "interrupted" else "identified"
    scores: list[HeldOut] = []
    if held.there and (held.once or reason == "identified"):
        supports = [fitted.support_] if held.once else searches.again([(split.kept, seed) for split in splits])
        scores = held.scores(fitted, supports, seed, over=lambda: budget.look() <= 0)
        if len(scores) < held.many:
            done = f"after {len(scores)} of {counted(held.many, 'split')} of holdout"
            reason = _ended(budget, "before the held-out rows were scored" if held.once else done)
    if scores:
        content["unseen"] = held.entry(fitted, scores, content["search"]["delta"] if delta is None else float(delta))
        content |= words_of(content)
    supports, frequency = [fitted.support_], None
    if n_repeats > 1:
        if reason == "identified":
            seeds = np.random.SeedSequence(seed).generate_state(n_repeats - 1)
            wanted = [(_rows_again(resample, rows, data, fitted, int(one)), int(one)) for one in seeds]
            supports += searches.again(wanted)
            if len(supports) < n_repeats:
                reason = "max_time" if budget.look() <= 0 else "interrupted"
        frequency = np.mean(supports, axis=0)
        often = zip(data.names, frequency, strict=True)
        content["report"]["selection_frequency"] = {str(name): float(one) for name, one in often if one > 0}
        if resample is not None:
            content["report"]["resample"] = resample
    given = {"holdout": holdout, "resample": resample, "delta": delta}
    given |= {"n_repeats": n_repeats} if n_repeats > 1 else {}
    named = {**metadata, "test_set": test_set}
    fitted.certificate_.add_to_report(repeat=f"validate({call_of(fitted, seed)}, X, y{_keywords(given, named)})")
    fitted._tell_result(stacklevel=3)
    proof, units = content.get("unseen", {}).get("proof", {}), Units.of(content["data"])
    return Validation(
        selector=fitted,
        rows=np.arange(len(data.X))[rows],
        scores=np.array([units.score(one.score) for one in scores]),
        all_features_scores=np.array([units.score(one.all_features) for one in scores]),
        interval=tuple(proof["interval"]) if proof else None,
        difference_interval=tuple(proof["difference_interval"]) if proof else None,
        selection_frequency=frequency,
        n_repeats=len(supports),
        reason=reason,
    )


def searches_in_words(many: int, resample: str | None) -> str:
    """Return how many searches were run, and on which rows."""
    rows = "" if resample is None else f" (the first on all rows, the others on resampled rows: {resample})"
    return counted(many, "search", "searches") + rows


def _rows_again(
    resample: str | None, rows: np.ndarray | slice, data: Data, selector: BestLeafSelector, seed: int
) -> np.ndarray | slice:
    """Return the rows of a further search: those of the first one, or others drawn from them."""
    if resample is None:
        return rows
    classes = task_for(data.y, selector.estimator) == "classification"
    rows = np.arange(len(data.X))[rows]
    return resampled_rows(resample, rows, data.y, data.metadata.get("groups"), classes, seed)


def _keywords(given: dict[str, object], named: dict[str, object]) -> str:
    """Return the keywords of the call that repeats a validation; data that were given are called by their names."""
    words = {name: described(one) for name, one in given.items() if one is not None}
    words |= {name: NAMED.get(name, name) for name, one in named.items() if one is not None}
    return "".join(f", {name}={one}" for name, one in words.items())


def _ended(budget: Budget, when: str) -> str:
    """Return what ended the searches before all were run, and warn about it."""
    reason, by = ("max_time", "max_time") if budget.look() <= 0 else ("interrupted", "Ctrl-C")
    warnings.warn(f"{by} ended the validation {when}", ConvergenceWarning, stacklevel=3)
    return reason


class Run(NamedTuple):
    """A further search: a selector, and the rows to fit it on."""

    rows: np.ndarray | slice
    selector: BestLeafSelector


class Searches:
    """All searches of a validation: the first one fits the selector, `further` ones run `n_jobs` at a time.

    Each search gets an equal part of the time, or less if searches before it took longer.
    """

    def __init__(
        self, selector: BestLeafSelector, data: Data, budget: Budget, further: int, n_jobs: int | None
    ) -> None:
        self.selector, self.data, self.budget, self.n_jobs = selector, data, budget, n_jobs
        checkpoint = Checkpoint.of(selector.checkpoint)
        self.files = [None if checkpoint is None else checkpoint.numbered(place + 1) for place in range(further)]
        for file in self.files:
            if file is not None:
                Saver(file)  # refuses a file that is no checkpoint before the first search
        limit = inf if budget.max_time is None else budget.max_time
        workers = workers_there(n_jobs)
        self.workers = workers if limit / (1 + further) >= STARTING else 1
        self.equal = limit / (1 + self._rounds(further))

    def _rounds(self, searches: int) -> int:
        """Return how many searches run one after the other if `workers` run at a time."""
        return -(-searches // self.workers)

    def _seconds(self, searches: int) -> float | None:
        """Return the seconds for each of so many searches; None without a limit."""
        return None if self.equal == inf else min(self.equal, self.budget.look() / self._rounds(searches))

    def first(self, X: Any, rows: np.ndarray | slice, seed: int) -> None:
        """Fit the selector on some rows."""
        part = self.data.part(rows)
        given: Any = part.given
        if hasattr(self.selector, "feature_names_in_"):  # the selector learns the names from a data frame
            given = X if isinstance(rows, slice) else _safe_indexing(X, rows)
        budget = Budget(max_time=None if self.equal == inf else self.equal)
        self.budget.look()
        budget.start(self.budget.seconds)
        self.selector._fit_within(budget, given, part.y, part.metadata, seed)

    def again(self, wanted: Sequence[tuple[np.ndarray | slice, int]]) -> list[np.ndarray]:
        """Return the features selected in each further search, given by its rows and its seed.

        There are fewer results after Ctrl-C or when time is over. Searches that run at a time use one worker each.
        """
        runs = [Run(rows, self._selector(seed)) for rows, seed in wanted]
        if self.workers > 1 and len(runs) > 1:
            return self._side_by_side(runs)
        supports: list[np.ndarray] = []
        with suppress(KeyboardInterrupt):  # what was found so far is kept
            for place, run in enumerate(runs):
                over = self.budget.look() <= 0
                support = None if over else _support(self.data, run, self._seconds(len(runs) - place))
                if support is None:
                    break
                supports.append(support)
        return supports

    def _side_by_side(self, runs: list[Run]) -> list[np.ndarray]:
        """Return the features selected in each run, computed by the workers of joblib or of a Dask cluster."""
        executor = executor_for(self.n_jobs, "processes")
        if isinstance(executor, Joblib):
            executor = Joblib(self.n_jobs, "processes")  # starts processes at once: a search is long enough
        until = None if self.budget.max_time is None else time() + self.budget.look()
        items = [(run, self._seconds(len(runs)), until) for run in runs]
        with deferred_interrupt() as interrupted:
            executor.until(interrupted)
            found = executor.map(_supports, self.data, items)
        return list(takewhile(lambda support: support is not None, found))

    def _selector(self, seed: int) -> BestLeafSelector:
        """Return a selector for the next further search; it names features by number and has its own checkpoint."""
        choice = choice_by_number(self.selector, self.data.names)
        settings = {**self.selector.get_params(deep=False), **choice._asdict(), "random_state": seed, "verbose": 0}
        if (file := self.files.pop(0)) is not None:
            settings["checkpoint"] = file
        return type(self.selector)(**settings)


def _supports(data: Data, items: Sequence[tuple[Run, float | None, float | None]]) -> list[np.ndarray | None]:
    """Return which features are selected in each run, None if time is over; a worker calls this."""
    found: list[np.ndarray | None] = []
    for run, seconds, until in items:
        left = None if seconds is None or until is None else min(seconds, until - time())
        run.selector.set_params(n_jobs=1)
        with parallel_config("sequential"):
            found.append(None if left is not None and left <= 0 else _support(data, run, left))
    return found


def _support(data: Data, run: Run, seconds: float | None) -> np.ndarray | None:
    """Return which features are selected; None if the search was interrupted."""
    part = data.part(run.rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the first search has warned already
        found = run.selector.set_params(max_time=seconds).fit(part.given, part.y, **part.metadata)
    return None if found.certificate_.reason == "interrupted" else found.support_
