"""`BestLeafSelector`: feature selection by best leaf identification, as a scikit-learn estimator."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from copy import copy
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, cast

import numpy as np
from rich.console import Console
from sklearn.base import BaseEstimator, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted, validate_data

from bestleaf.certificate import Certificate
from bestleaf.certificate.chosen import with_size
from bestleaf.certificate.claims import unsettled_in_words
from bestleaf.certificate.same_data import fingerprint
from bestleaf.certificate.schema import CALL, UNNAMED
from bestleaf.checks import moved, one_of, shown, whole
from bestleaf.encoding import TableEncoder, pandas_frame, takes_missing
from bestleaf.encoding.frames import selected_columns
from bestleaf.engine.bounds import Bound, Rate, named_bound
from bestleaf.engine.parts import STOPPINGS
from bestleaf.features import FeatureLattice
from bestleaf.features.all_subsets import Exhaustion
from bestleaf.features.estimator import EstimatorOracle
from bestleaf.features.neighbours import KNNOracle, NeighbourVotes
from bestleaf.features.scoring import chosen_score
from bestleaf.features.stages import EveryLeaf, SmallerAnswer, SubsetsOfAnswers
from bestleaf.memory import Answers, Memory, opened
from bestleaf.new_data.choosing import Chosen, choose
from bestleaf.new_data.path import Path
from bestleaf.search import Progress, Search
from bestleaf.search.answer import EvaluatedLeaf
from bestleaf.search.ask_tell import Inside
from bestleaf.search.budget import Budget, deferred_interrupt, run_in_slices
from bestleaf.search.executors import executor_for, workers_there
from bestleaf.search.settings import GUARANTEES, Settings, checked_guarantees
from bestleaf.search.stages import Stage
from bestleaf.selection.data import (
    METADATA,
    Data,
    FeatureGroups,
    checked_fit_data,
    choice_of,
    constant_columns,
    votes_of,
)
from bestleaf.selection.searched import CallbackSupportMixin, Selection, Watch, call_of, telling_folds

BATCH_OF_FITS = 32  # samples asked for at once if each one fits an estimator
FEW_SUBSETS = 4096  # guarantee "auto" evaluates all subsets if there are at most this many
CHEAP = 4e9  # and if that takes at most this many distances: some seconds
CHEAP_A_SECOND = 1e9  # the same for each second of `max_time`: about half of it
IN_GRAPH, AT_ONCE = "graph", "at once"  # how all subsets are evaluated
WORK = 2e10  # distances that the search after a choice may take, if nobody gives a limit: about ten seconds
A_ROLLOUT = 200  # distances that a rollout takes for each row
FEWEST_ROLLOUTS, FEWEST_VALUES = 1000, 50  # that it may take in any case
ROOM = 256 * 2**20  # bytes that the graph of a search may take
MOST_IN_GRAPH = ROOM // 8_000  # subsets in a graph of all of them, which workers share; more are evaluated one by one
ENDED_BY = {
    "interrupted": "Ctrl-C or a callback",
    "exhausted": f"The memory for the graph, {ROOM // 2**20} MB, or the loss of all workers",
}
OPTIONS = ("guarantee", "max_samples", "bound", "stopping", "expansion", "proposal")  # of `SearchOptions`
GONE = {  # keywords of earlier versions, and what to use instead
    **{name: f"bestleaf.validate(selector, X, y, {name}=...)" for name in ("holdout", "test_set")},
    **dict.fromkeys(("costs", "max_cost", "at_most"), "exclude, max_features or feature_groups to limit the choice"),
    **{name: f"search=SearchOptions({name}=...)" for name in OPTIONS},
    "forced": "include",
    "forbidden": "exclude",
    "prefer_small": "parsimony=0 for the best subset, with choose='training'; None is the smallest good one",
    "score_range": "a scoring that has bounds, such as 'accuracy', 'roc_auc' or 'r2' (0 where it is negative)",
    "checkpoint": "memory='run.db', a file of answers that the same fit goes on from",
    "max_memory": "max_features or exclude; the memory beside the data is limited anyway",
    "n_repeats": "several fits with different values of random_state",
}
GONE_OPTIONS = {
    "batch_size": "best_leaf(FeatureLattice(oracle), batch_size=...)",
    "continue_probability": "best_leaf(FeatureLattice(oracle, continue_probability=...))",
    "alpha": "guarantee='local' or guarantee='exhaustive'",
    "terminal": "no option instead: the values of complete subsets are exact",
}


class SearchOptions(BaseEstimator):
    """Expert settings of the search of a `BestLeafSelector`.

    Parameters
    ----------
    guarantee : {"auto", "grown", "local", "exhaustive"} or several, default="auto"
        What the answer is compared with. "grown": the leaves of the graph as grown; this is always included. "local":
        all subsets one step away from the answer. "exhaustive": all subsets, which are then all evaluated: up to
        4,194,304 by the votes of nearest neighbours, on a GPU up to 2^30, with an estimator up to a million. "auto" is
        "exhaustive" if that takes only seconds; otherwise, and if other settings of the search are given for more than
        4,096 subsets, it is "grown".
    max_samples : int, default=None
        Rollouts and exact values allowed in the search on all rows.
    bound : str, Rate or Bound, default="betting"
        Confidence interval of a leaf; see `bestleaf.best_leaf`.
    stopping : {"sound", "paper"}, default="sound"
        The test that ends the search; "paper" is the published one, which has no proof.
    expansion : float, default=0.6
        Exponent b: the graph grows by about t^b nodes in t samples.
    proposal : {"random", "rave", "lookahead"} or None, default=None
        Which child enters when the graph grows: a random one, the one whose rollouts were best, or one of highest exact
        value. None is "lookahead", which also improves the best subset by single exchanges. In the end it evaluates the
        subsets of the best answers.
    """

    @moved(**GONE_OPTIONS)
    def __init__(
        self,
        *,
        guarantee: str | Iterable[str] = "auto",
        max_samples: int | None = None,
        bound: str | Rate | Bound = "betting",
        stopping: str = "sound",
        expansion: float = 0.6,
        proposal: str | None = None,
    ) -> None:
        self.guarantee = guarantee
        self.max_samples = max_samples
        self.bound = bound
        self.stopping = stopping
        self.expansion = expansion
        self.proposal = proposal


class BestLeafSelector(CallbackSupportMixin, SelectorMixin, BaseEstimator):
    """Select features by Monte-Carlo search with a confidence interval on every subset considered.

    By default the value of a subset says how well the votes of nearest neighbours rank the rows (leave-one-out): the
    AUC for two classes, the mean one-against-rest AUC for more classes, the concordance index for real targets. The
    search stops when, with probability 1 - `delta`, no leaf of the graph as grown is better than the answer by more
    than `epsilon`.

    Parameters
    ----------
    estimator : NeighbourVotes, or scikit-learn classifier or regressor, default=None
        What gives a subset its value: the votes of nearest neighbours (None is ``NeighbourVotes()``), or the
        cross-validated score of an estimator on the columns of the subset.
    scoring : str or callable, default=None
        How the estimator is scored; None is accuracy for a classifier, the concordance index for a regressor. Rows left
        out take any scorer. A proof needs scores from 0 to 1: a negative R² counts as 0, and after a choice by an error
        or by a function of one's own the search values subsets by the default score.
    cv : int, splitter or iterable, default=None
        The splits for the cross-validated score and for the rows left out, as scikit-learn understands them. None is 5
        folds for the score. For the rows left out it is 5 or 10 folds; those of a small table are drawn twice.
    encode : {None, "auto"} or TableEncoder, default=None
        How a data frame with text, categories, truth values, dates or missing values becomes numbers. None refuses
        them. With "auto" a category is one feature, dates become their parts, and missing values are filled with
        medians, unless the estimator takes them; see `TableEncoder` for other ways. What is filled, and which levels
        are known, follows from the rows searched, and in a fold from its training part.
    choose : {"new_data", "training"}, default="new_data"
        Which rows decide. "new_data": rows left out. Candidates are found on the training part of each fold and scored
        on the rows left out; these scores decide how features are found and how many. The answer is found in that way
        on all rows. "training": the answer is the best subset on the rows given, as in the paper. With fewer than 20
        rows it is always "training"; with more than about 31,000 rows, too, because the rows that are ranked then do
        not vote.
    parsimony : float, default=None
        How much a smaller subset may cost. If rows left out decide, it is counted in standard errors of the paired
        difference of left-out scores; None is 0 for the votes of nearest neighbours, and 0.5 with an estimator. With
        ``choose="training"`` it is a difference of values, at most `epsilon`; None is `epsilon`, so that the answer is
        the smallest evaluated subset that passes the final test, and 0 is the best one.
    max_features : int, default=None
        Largest number of features in a subset; a group counts as one.
    include, exclude : sequence of int or str, default=()
        Features that every subset has, and features that no subset has; by number or name.
    feature_groups : sequence of sequences, or dict of them, default=None
        Features that enter together, by number or name; every feature is in exactly one group.
    epsilon : float, default=0.01
        How much better than the answer another subset may be, as a fraction of the range of the scores.
    delta : float, default=0.05
        Probability with which the guarantee may fail.
    max_time : float, default=None
        Seconds allowed for all of `fit`; the time of compiling does not count. If neither this nor `max_samples` of
        `search` is given and left-out rows decide, the search on all rows may take a fixed amount of work: about ten
        seconds.
    n_jobs : int, default=None
        Threads for the votes of large data and of all subsets, processes for estimators; the answer does not depend
        on it.
    random_state : int, RandomState or None, default=None
        Everything random follows from it.
    memory : path, default=None
        A file in which values of subsets and scores of folds are kept. The same fit after a kill, Ctrl-C or `max_time`
        finds them there and ends as if it had never been stopped. Another fit on the same data starts with every value
        that is known. Rollouts in kernels are cheap and are drawn again, and so are the folds that choose.
    verbose : int, default=0
        1 shows the progress, and the result in words.
    search : SearchOptions, default=None
        Expert settings of the search: what is proved, and how many samples it may take.

    Attributes
    ----------
    support_ : array of bool
        Which features are selected.
    subset_ : array
        The selected features: their names, or numbers if the data have no names.
    score_ : float
        Exact value of the selected subset, or the mean of its samples.
    score_interval_ : (float, float)
        Its confidence interval; both ends are the same if the value is exact.
    path_ : Path
        The subset of each size with its value, its score on left-out rows and the difference to all features; None if
        no rows were left out.
    optimism_ : float
        Value of the selected subset minus its score on left-out rows; None if no rows were left out.
    levels_ : dict
        The levels of each category, and the parts of each date; empty without `encode`.
    notes_ : tuple of str
        What was done to the columns, in words; empty without `encode`.
    encoder_ : TableEncoder or None
        The fitted encoder; None if all columns are numbers already.
    certificate_ : Certificate
        What was found, what is proved and what is not; see ``print(selector.certificate_)``.
    history_ : list of dict
        Samples, exact values, gap and best value in the course of time; see ``pandas.DataFrame(selector.history_)``.
    feature_scores_ : array of float
        Mean value of the rollouts with each feature (RAVE); nan for a feature that was in no rollout.
    evaluated_ : EvaluatedSubsets
        Every subset evaluated exactly, best first; ``evaluated_.by_size()`` is the best of each size. If more than
        4,096 subsets were all evaluated, these are the best thousand and the best of each size.

    See Also
    --------
    validate : Scores on held-out rows.

    Examples
    --------
    >>> from bestleaf import BestLeafSelector
    >>> from bestleaf.paper import load_linear
    >>> X, y = load_linear(return_X_y=True)
    >>> selector = BestLeafSelector(random_state=0, cv=3).fit(X, y)
    >>> selector.transform(X).shape[1] == len(selector.subset_)
    True
    """

    __metadata_request__fit = dict.fromkeys(METADATA)
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012  as in scikit-learn
        "estimator": [HasMethods("fit"), NeighbourVotes, None],
        "scoring": [str, callable, None],
        "cv": ["cv_object"],
        "encode": [StrOptions({"auto"}), TableEncoder, None],
        "choose": [StrOptions({"new_data", "training"})],
        "parsimony": [Interval(Real, 0, None, closed="left"), None],
        "max_features": [Interval(Integral, 1, None, closed="left"), None],
        "include": ["array-like"],
        "exclude": ["array-like"],
        "feature_groups": [list, tuple, dict, None],
        "epsilon": [Interval(Real, 0, 1, closed="both")],
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "memory": [str, os.PathLike, None],
        "verbose": ["verbose"],
        "search": [SearchOptions, None],
    }

    @moved(**GONE)
    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        scoring: str | Callable[..., float] | None = None,
        cv: Any = None,
        encode: str | TableEncoder | None = None,
        choose: str = "new_data",
        parsimony: float | None = None,
        max_features: int | None = None,
        include: Iterable[int | str] = (),
        exclude: Iterable[int | str] = (),
        feature_groups: FeatureGroups | None = None,
        epsilon: float = 0.01,
        delta: float = 0.05,
        max_time: float | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        memory: str | os.PathLike[str] | None = None,
        verbose: int = 0,
        search: SearchOptions | None = None,
    ) -> None:
        self.estimator = estimator
        self.scoring = scoring
        self.cv = cv
        self.encode = encode
        self.choose = choose
        self.parsimony = parsimony
        self.max_features = max_features
        self.include = include
        self.exclude = exclude
        self.feature_groups = feature_groups
        self.epsilon = epsilon
        self.delta = delta
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.memory = memory
        self.verbose = verbose
        self.search = search

    def set_params(self, **params: Any) -> BestLeafSelector:
        """Set parameters, also ``estimator__n_neighbors`` and ``search__bound`` where these are None."""
        defaults: dict[str, Any] = {"estimator": NeighbourVotes, "search": SearchOptions}
        for name in defaults:
            if params.get(name, getattr(self, name)) is None and any(one.startswith(f"{name}__") for one in params):
                params[name] = defaults[name]()
        return super().set_params(**params)

    def fit(self, X: Any, y: Any, **metadata: Any) -> BestLeafSelector:
        """Search for the best subset.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Numbers without missing values, unless the estimator takes them. With `encode`, columns of any kind, in a
            data frame of pandas, polars or another library that narwhals knows. A sparse matrix becomes an array. An
            array of a GPU (CuPy, torch) is copied to memory once.
        y : array-like of shape (n_samples,)
            Labels or real targets.
        **metadata
            ``groups``: rows that belong together, such as all visits of a patient. They are left out together, and
            with the votes of nearest neighbours the neighbours of a row are searched among the rows of other groups.
            An estimator needs a `cv` that splits by groups. ``sample_weight``: a row of weight w counts as w rows in
            the value of a subset and in scores on left-out rows; a pair of rows counts the product of its weights. The
            votes themselves are not weighted: every row has one vote, also a row of weight 0. An estimator must use
            weights both to fit and to score.
        """
        self._fit_within(Budget(max_time=self.max_time), X, y, metadata)
        self._tell_result(stacklevel=3)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    @deferred_interrupt()  # from the first line to the last, Ctrl-C gives the answer known so far
    def _fit_within(self, budget: Budget, X: Any, y: Any, metadata: dict[str, Any], seed: int | None = None) -> None:
        """Fit without telling the result; the clock of the budget runs already."""
        memory = opened(self.memory)
        data = checked_fit_data(self, X, y, metadata)
        with ThreadPoolExecutor(1) as background, nullcontext() if memory is None else memory:
            digest = background.submit(fingerprint, data.X, data.y)  # takes seconds with millions of rows
            if seed is None:
                seed = seed_of(self) if memory is None else self._remembered_seed(memory, digest.result())
            lattice = self._lattice(data, seed)
            chosen = self._choose(lattice, data, seed, budget)
            found = self._search(lattice, data, seed, budget, memory, chosen)
        self.encoder_ = None if data.encoded is None else data.encoded.encoder
        self.levels_ = {} if self.encoder_ is None else self.encoder_.levels_
        self.notes_ = () if self.encoder_ is None else self.encoder_.notes_
        labels: np.ndarray = data.names if hasattr(self, "feature_names_in_") else np.arange(len(data.names))
        self.feature_scores_ = found.feature_scores
        self.history_ = found.history
        given = "".join(f", {name}={name}" for name in data.metadata)
        repeat = f"{call_of(self, seed)}.fit(X, y{given})"
        self.certificate_ = found.certificate(digest.result(), chosen, repeat)
        self.evaluated_ = found.evaluated(labels.tolist())
        self._set_answer(labels)
        by_rows = self.path_ is None  # a row of the path is exact
        self.score_ = found.score if by_rows else self.score_interval_[0]

    def _remembered_seed(self, memory: Memory, digest: str) -> int:
        """Return the seed; of a fit without one, that of the first such fit on these data."""
        if self.random_state is not None:
            return seed_of(self)
        call = call_of(copy(self).set_params(max_time=None, n_jobs=None), 0)
        return Answers(memory, digest).seed(seed_of(self), call)

    def _set_answer(self, labels: np.ndarray) -> None:
        """Set the attributes that follow from the answer of the certificate."""
        content = self.certificate_.content
        numbers = {name: number for number, name in enumerate(content["data"]["names"])}
        columns = [numbers[name] for name in content["features"]]
        self.support_ = np.isin(np.arange(len(labels)), columns)
        self.subset_ = labels[columns]
        self.score_interval_ = (float(content["lower"]), float(content["upper"]))
        path, named = self.certificate_.path, {name: labels[one] for name, one in numbers.items()}
        self.path_ = None if path is None else Path.of(path, named)
        self.optimism_ = self.certificate_.optimism

    def at_size(self, size: int) -> BestLeafSelector:
        """Return a fitted selector that selects the subset of another size of the path, without a new search.

        If the path has no subset of this size, it is that of the next smaller one.
        """
        check_is_fitted(self)
        if self.path_ is None:
            raise ValueError("at_size needs a path: fit with choose='new_data' and at least 20 rows")
        row, other, content = self.path_.at(whole("size", size, 1)), copy(self), self.certificate_.content
        if row.size == content["new_data"]["size"]:
            return other
        limit = content["data"]["choice"]["limit"]
        if row.size > limit:
            raise ValueError(f"size must be at most {limit}, the largest subset that may be chosen, got {size}")
        if np.isnan(row.training):
            raise ValueError(
                f"size must be one whose value on all rows is known, got {size}; fit again with max_features"
            )
        scores = dict(zip(content["data"]["names"], self.feature_scores_.tolist(), strict=True))
        other.certificate_ = Certificate(with_size(content, row.size, scores))
        other.score_ = row.training
        other._set_answer(getattr(self, "feature_names_in_", np.arange(self.n_features_in_)))
        return other

    def _choose(self, lattice: FeatureLattice, data: Data, seed: int, budget: Budget) -> Chosen | None:
        """Return what left-out rows decide; None if they are not asked."""
        ranks_others = isinstance(lattice.oracle, KNNOracle) and lattice.oracle.roles.apart  # rows that did not vote
        if self.choose == "training" or ranks_others:
            return None
        self._check_search(lattice, budget)
        kind = "threads" if votes_of(self.estimator) is not None else "processes"
        with executor_for(self.n_jobs, kind) as executor, telling_folds(self.verbose) as tell:
            chosen = choose(self, data, lattice, seed, budget, executor, tell)
        if chosen.cut_short:
            warnings.warn(
                f"{'Ctrl-C' if chosen.interrupted else f'max_time={self.max_time:g}'} ended the choice by left-out "
                "rows before enough folds were scored: the answer is the best subset on the rows given.",
                ConvergenceWarning,
                stacklevel=5,
            )
        score = None if kind == "threads" else chosen_score(self.estimator, self.scoring)
        if score is None or score.is_bounded:
            return chosen
        if chosen.choice is None:
            raise ValueError(
                "scoring must have scores from 0 to 1, because no choice could be made by left-out rows, got "
                f"{score.name}"
            )
        return chosen._replace(scoring=score.name if CALL.accepts(score.name) else UNNAMED)

    def _tell_result(self, stacklevel: int) -> None:
        """Print the result if `verbose`, and warn if the search ended before it was settled."""
        found = self.certificate_
        if self.verbose:
            Console().print(found.summary(), highlight=False, markup=False, soft_wrap=True)
        asked_for = found.reason != "max_time" or self.max_time is not None
        proved_local = "local" in found.content["challenges"]
        if found.reason != "settled" and not found.settled and asked_for and not proved_local:
            warnings.warn(
                f"{ENDED_BY.get(found.reason, found.reason)} ended the search before it was settled. "
                f"{unsettled_in_words(found.content)} Give it more time or samples, or a larger epsilon than "
                f"{self.epsilon:g}.",
                ConvergenceWarning,
                stacklevel=stacklevel,
            )

    def _lattice(self, data: Data, seed: int) -> FeatureLattice:
        """Return the lattice of the subsets that may be chosen."""
        oracle, choice = self._oracle(data, seed, self._search_scoring()), choice_of(self, data)
        return FeatureLattice(
            oracle,
            max_features=self.max_features,
            include=choice.include,
            exclude=choice.exclude + constant_columns(data, choice),
            groups=choice.feature_groups,
        )

    def _options(self) -> SearchOptions:
        """Return the expert settings; all but `stopping` are checked by the search."""
        options = SearchOptions() if self.search is None else self.search
        one_of("stopping", options.stopping, STOPPINGS)
        return options

    def _tolerance(self) -> float | None:
        """Return how much value a smaller answer may cost on the rows given; None is epsilon."""
        if self.choose != "training" or self.parsimony is None:
            return None
        if self.parsimony > self.epsilon:
            limit = f"at most epsilon={self.epsilon:g} with choose='training', a difference of values"
            raise ValueError(f"parsimony must be {limit}, got {self.parsimony:g}")
        return float(self.parsimony)

    def _search_scoring(self) -> str | Callable[..., float] | None:
        """Return the scoring that subsets are valued by; the default one if left-out rows are scored without bounds."""
        if votes_of(self.estimator) is not None:
            return self.scoring
        score = chosen_score(self.estimator, self.scoring)
        if self.choose == "training" and score.is_error:
            raise ValueError(
                f"scoring must have scores from 0 to 1, or at most 1 as r2 has, with choose='training', got the error "
                f"{score.name}"
            )
        return self.scoring if self.choose == "training" or score.is_bounded else None

    def _oracle(self, data: Data, seed: int, scoring: str | Callable[..., float] | None) -> KNNOracle | EstimatorOracle:
        """Return the oracle, which gives subsets their values."""
        votes, metadata = votes_of(self.estimator), cast("dict[str, Any]", data.metadata)
        if votes is None:
            return EstimatorOracle(
                data.X,
                data.y,
                estimator=self.estimator,
                scoring=scoring,
                cv=self.cv,
                random_state=seed,
                **metadata,
            )
        for name in ("scoring",) if self.choose == "new_data" else ("scoring", "cv"):
            if getattr(self, name) is not None:
                got = f"{shown(getattr(self, name))} and estimator={shown(self.estimator)}"
                raise ValueError(f"{name} needs an estimator to score, got {got}")
        return votes.oracle(data.X, data.y, **metadata, n_jobs=workers_there(self.n_jobs))

    def _search(
        self,
        lattice: FeatureLattice,
        data: Data,
        seed: int,
        budget: Budget,
        memory: Memory | None = None,
        chosen: Chosen | None = None,
    ) -> Selection:
        """Search the lattice; return what was found."""
        options, tolerance = self._options(), self._tolerance()
        guarantees = checked_guarantees(options.guarantee, ("auto", *GUARANTEES))
        plan = self._evaluates_all(lattice, guarantees, budget)
        if plan == AT_ONCE:
            return self._evaluate_all(
                lattice, data, seed, budget, memory, interrupted=chosen is not None and chosen.interrupted
            )
        whole = plan == IN_GRAPH
        voting = votes_of(self.estimator) is not None
        choice, by_default = None if chosen is None else chosen.choice, "auto" in guarantees
        local = not (whole or voting) and bool(guarantees & {"auto", "local"})
        if local:
            guarantees |= {"local"}
        stages: list[Stage] = [EveryLeaf()] if whole else []
        if options.proposal in (None, "lookahead") and not whole:
            stages.append(SubsetsOfAnswers(lattice))
        if tolerance != 0 and options.stopping == "sound" and not whole:
            stages.append(SmallerAnswer(len, tolerance))

        def look(now: Progress) -> bool:
            return watch.look(now, search.state.values, over=search.state.reason is not None)

        budget.look()
        limit, interrupted = budget.max_time, chosen is not None and chosen.interrupted
        most, enough = options.max_samples, False
        if interrupted:
            limit = None  # Ctrl-C ends the search at its first look
        elif limit is None and most is None:
            most = None if choice is None else self._work_allowed(lattice)
            enough = by_default and lattice.count_subsets() > FEW_SUBSETS  # of few subsets more can be proved soon
        executor = None if voting else executor_for(self.n_jobs, "processes")
        search = Search(
            lattice,
            task="leaf",
            epsilon=self.epsilon,
            delta=self.delta,
            bound=options.bound,
            stopping=options.stopping,
            expansion=None if whole else options.expansion,
            proposal=None if whole else options.proposal,
            max_samples=most,
            max_time=limit,
            max_memory=None if whole else ROOM,
            guarantee=guarantees - {"auto", "exhaustive"},
            seed=seed,
            batch_size=None if voting else BATCH_OF_FITS,
            memory=memory,
            callback=look,
            answer=EvaluatedLeaf(tolerance),
            inside=Inside(executor, stages, budget.seconds, enough),
        )
        watch = Watch(self, data, lattice, limit, [])
        with watch:
            search.finish()
        found = Selection.of(search, data, lattice, watch.history)
        if found.reason == "max_samples" and options.max_samples is None:  # nobody gave this limit
            found = replace(found, reason="exhausted")
        return replace(found, reason="interrupted") if interrupted else found

    def _work_allowed(self, lattice: FeatureLattice) -> int:
        """Return how many samples and values the search after a choice may take, if nobody gives a limit."""
        if votes_of(self.estimator) is None:
            return max(FEWEST_VALUES, int(WORK / lattice.value_cost))
        return max(FEWEST_ROLLOUTS, int(WORK / (A_ROLLOUT * lattice.oracle.n_samples)))

    def _evaluate_all(
        self,
        lattice: FeatureLattice,
        data: Data,
        seed: int,
        budget: Budget,
        memory: Memory | None,
        *,
        interrupted: bool,
    ) -> Selection:
        """Evaluate all subsets at once; return what was found. After Ctrl-C there is time for a few of them only."""
        options = self._options()
        settings = Settings(
            task="leaf",
            epsilon=self.epsilon,
            delta=self.delta,
            bound=named_bound(options.bound),
            stopping=options.stopping,
            max_samples=options.max_samples,
            max_time=self.max_time,
        )
        budget.look()
        own = Budget(options.max_samples, budget.seconds if interrupted else budget.max_time)
        own.start(budget.seconds)
        found, history = Exhaustion(lattice, own, memory), list[dict[str, Any]]()
        watch = Watch(self, data, lattice, budget.max_time, history, subsets=lattice.count_subsets())

        def look(now: Progress) -> bool:
            return watch.look(now, {now.best: float(found.best_values[0])}, over=found.reason is not None)

        with watch:
            run_in_slices(found, look)
        selection = Selection.of_all(found, data, settings, seed, history, self._tolerance())
        return replace(selection, reason="interrupted") if interrupted else selection

    def _check_search(self, lattice: FeatureLattice, budget: Budget) -> None:
        """Refuse settings of the search before the choice, which takes longer."""
        options = self._options()
        guarantees = checked_guarantees(options.guarantee, ("auto", *GUARANTEES))
        self._evaluates_all(lattice, guarantees, budget)
        guarantees -= {"auto", "exhaustive"}  # for the latter all subsets are evaluated, whatever `expansion` is
        given = {**options.get_params(deep=False), "guarantee": guarantees}
        Settings(task="leaf", epsilon=self.epsilon, delta=self.delta, **given)

    def _evaluates_all(self, lattice: FeatureLattice, guarantees: frozenset[str], budget: Budget) -> str | None:
        """Return how all subsets are evaluated: with guarantee "exhaustive", or with "auto" if that is cheap.

        A few subsets make a graph; more are evaluated at once, if the oracle can. None: not all are evaluated.
        """
        many, most = lattice.count_subsets(), lattice.oracle.most_subsets
        few = FEW_SUBSETS if votes_of(self.estimator) is not None else MOST_IN_GRAPH
        how = AT_ONCE if few < many <= most else IN_GRAPH
        if "exhaustive" in guarantees:
            if many > most:
                raise ValueError(
                    f"guarantee='exhaustive' needs at most {most:,} subsets, got {many:,}; limit them by "
                    "max_features, exclude or feature_groups"
                )
            return how
        distances = many * lattice.value_cost
        if "auto" not in guarantees or distances > CHEAP:
            return None
        if how == IN_GRAPH:
            return IN_GRAPH if many <= FEW_SUBSETS else None
        soon = budget.max_time is None or distances <= CHEAP_A_SECOND * budget.max_time
        return AT_ONCE if soon and not self._wants_a_search() else None

    def _wants_a_search(self) -> bool:
        """Whether expert settings other than the guarantee are given."""
        given = {**self._options().get_params(deep=False), "guarantee": "auto"}
        return given != SearchOptions().get_params(deep=False)

    def transform(self, X: Any) -> Any:
        """Return the selected columns of X; with `encode`, as they are, in a data frame of the same library.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The columns that `fit` has seen.
        """
        if self.encode is None:
            return super().transform(X)
        support = self.get_support()
        validate_data(self, X, skip_check_array=True, reset=False)
        asked_for = _get_output_config("transform", estimator=self)["dense"]
        return selected_columns(pandas_frame(X) if asked_for == "pandas" else X, support)

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        encodes, inputs = self.encode is not None, tags.input_tags
        inputs.sparse, inputs.string, inputs.categorical = True, encodes, encodes
        inputs.allow_nan = encodes or takes_missing(self.estimator)
        return tags

    def _repr_html_inner(self) -> str:
        return super()._repr_html_inner() + self._certificate_html()

    def _repr_mimebundle_(self, **keywords: Any) -> dict[str, str]:
        shown = super()._repr_mimebundle_(**keywords)
        if "text/html" in shown:  # not when scikit-learn is told to display text
            shown["text/html"] += self._certificate_html()
        return shown

    def _certificate_html(self) -> str:
        """Return what a notebook shows below the diagram of scikit-learn."""
        found = getattr(self, "certificate_", None)
        return "" if found is None else f'<div class="bestleaf-certificate">{found._repr_html_()}</div>'


def seed_of(selector: BestLeafSelector) -> int:
    """Return the seed of a selector: the one given, or a random one."""
    given = selector.random_state
    if isinstance(given, Integral):
        return int(given)
    return int(check_random_state(given).randint(np.iinfo(np.int32).max))
