"""The estimator: parameters, fit, fitted attributes."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.base import BaseEstimator, _fit_context, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from bestleaf.bounds import BOUNDS, Bound, Rate
from bestleaf.certificate.build import certificate_of
from bestleaf.certificate.data import fingerprint
from bestleaf.features import FeatureLattice, SubsetLattice
from bestleaf.growth import PROPOSALS
from bestleaf.oracles import TIES
from bestleaf.oracles.estimator import EstimatorOracle
from bestleaf.progress import ProgressLine
from bestleaf.search import Progress, Search
from bestleaf.search.guarantees import GUARANTEES, checked_guarantees
from bestleaf.search.keeper import stored_seed
from bestleaf.search.stages import EveryLeaf, SmallerAnswer, Stage, SubsetsOfAnswers
from bestleaf.selector.answer import EvaluatedSubset, EvaluatedSubsets, chosen, mean_scores
from bestleaf.selector.honest import Examples, searched_again, splits, unseen_score
from bestleaf.selector.hooks import CallbackSupportMixin, Hooks
from bestleaf.selector.inputs import check_finite, check_frame, check_groups, columns_named, task_of, useless_columns
from bestleaf.selector.memory import A_SUBSET, given_as, room_for_search
from bestleaf.selector.objective import (
    METADATA,
    Oracle,
    batch_size_of,
    checked_metadata,
    executor_of,
    lattice_of,
    oracle_of,
)
from bestleaf.selector.shown import ShowsCertificate
from bestleaf.selector.ways import ALGORITHMS, BestLeafWay, FuseWay, Selection, values_without
from bestleaf.storage import Checkpoint

FEW_SUBSETS = 4096  # evaluated without being asked, if
CHEAP = 4e9  # that takes no more distances than this, some seconds
MOST_SUBSETS = 1_000_000  # evaluated when asked
HISTORY_RATIO = 1.01  # time between two entries of `history_`, so that long searches keep few hundred


class BestLeafSelector(ShowsCertificate, CallbackSupportMixin, SelectorMixin, BaseEstimator):
    """Select features by Monte-Carlo search with a confidence interval on every subset considered.

    The search walks the lattice of feature subsets. Complete subsets are valued exactly, by how well the votes of
    nearest neighbours rank the examples (leave-one-out): the AUC for two classes, the mean one-against-rest AUC for
    several, the concordance index for real targets. It stops when no leaf of the graph it has grown is better than the
    answer by more than `epsilon` with probability 1 - `delta`.

    Parameters
    ----------
    epsilon : float, default=0.01
        How much better than the answer another leaf may be.
    delta : float, default=0.05
        Probability with which that may be wrong.
    algorithm : {"bli", "fuse", "fuse-ucd", "alphafuse"}, default="bli"
        Best leaf identification (BLI-MCDS), or one of its rivals, which need `max_samples` or `max_time` and prove
        nothing: FUSE, FUSE on UCD, FUSE with samples credited to all ancestors.
    algorithm_options : dict, default=None
        Keywords of `bestleaf.fuse_search` for the rivals.
    bound : str, Rate or Bound, default="betting"
        Confidence interval of a leaf; see `bestleaf.best_leaf`.
    stopping : {"sound", "paper"}, default="sound"
        When to stop; "paper" is the published test, which has no proof.
    expansion : float, default=0.6
        Exponent b: the graph grows by about t^b nodes in t samples.
    proposal : {"random", "rave", "lookahead"} or None, default=None
        Which child enters when the graph grows: a random one, the one whose rollouts were best, or one of highest exact
        value among the features that stand out wherever they were added. None is "lookahead", which also improves the
        best subset by single exchanges and in the end evaluates the subsets of the best answers.
    n_neighbors : int, default=5
        Neighbours that vote.
    subsample : int, default=None
        Examples on which a rollout is valued: 50, or all if there are fewer.
    continue_probability : float, default=0.9
        q: a rollout at size s goes on with probability q^s.
    ties : {"half", "strict", "row_order"}, default="half"
        How a pair with equal votes counts: one half (as in `roc_auc_score`), nothing, or by the order of rows.
    scale : bool, default=True
        Standardise the features for the distances.
    drop_zero : bool, default=False
        Leave out all examples at distance 0 as the published program does, not only the example itself.
    task : {"auto", "classification", "regression"}, default="auto"
        What `y` is; "auto" takes text and up to 20 different whole numbers for classes, other numbers for real targets.
    max_features : int, default=None
        Largest number of features; a group counts as one, and more than there are means all.
    forced, forbidden : sequence of int or str, default=()
        Features, by number or name, that every subset has, and that none has.
    feature_groups : sequence of sequences, or dict of them, default=None
        Features that enter together, by number or name; every feature is in exactly one group.
    prefer_small : bool, default=True
        Answer with the smallest evaluated subset that passes the final test; otherwise with the best one evaluated.
    guarantee : {"auto", "grown", "local", "quantile", "exhaustive"} or several, default="auto"
        What the promise is about: the leaves of the graph as grown; all subsets one step away from the answer, which
        are then evaluated ("local"); all but a share `alpha` of random subsets ("quantile"); or all subsets, which are
        then all evaluated. "auto" evaluates all of at most 4,096 subsets if that takes seconds, and otherwise grows a
        graph. The promise about the graph as grown always comes with it.
    alpha : float, default=0.01
        Share of random subsets that the guarantee "quantile" leaves open.
    estimator : scikit-learn classifier or regressor, default=None
        What a subset is worth: the cross-validated score of this estimator on its columns. None is the votes of nearest
        neighbours, which need no fitting and are valued by kernels.
    scoring : str or callable, default=None
        How the estimator is scored; None is accuracy for a classifier, the concordance index for a regressor.
    cv : int, splitter or iterable, default=None
        The splits on which it is scored, as scikit-learn understands them; None is 5 folds.
    score_range : (float, float), default=None
        Lowest and highest score, mapped to 0 and 1. Scorers that have bounds need none; with others (R², errors) it
        must be given, and a score outside ends the search with an error.
    terminal : {"auto", "exact", "noisy"}, default="auto"
        How complete subsets are valued: exactly (on all examples, or on the fixed splits of `cv`), or by samples
        (random subsamples, random splits) with an interval like any other leaf. "auto" is exact unless an exact value
        takes more than 10^9 distances (more than about 31,000 rows). "exact" then values all subsets on one fixed
        subsample.
    batch_size : int, default=None
        Samples asked for at once. None is 32 with an estimator, 16 where a sample takes a walk through very many rows,
        and otherwise leaves drawing to compiled kernels. The answer depends on it, not on `n_jobs`.
    holdout : float or cross-validation splitter, default=None
        A share of the examples to keep from the search and score the answer on; or a splitter (anything scikit-learn
        takes as `cv`): the search is repeated on every training part and its answer scored on the rest, to judge the
        answer found on all examples.
    n_repeats : int, default=1
        Searches with other seeds, the first one included, to see how often each feature is selected.
    max_samples : int, default=None
        Rollouts and exact values allowed; with a rival, descents.
    max_time : float, default=None
        Seconds allowed.
    max_memory : int or str, default=None
        Bytes, or a text such as "2 GB", that data, remembered votes and graph may take; a search whose graph would take
        more ends. Estimators take what they take.
    n_jobs : int, default=None
        Threads for the votes of large data, processes for estimators and repeats, or whatever
        ``joblib.parallel_config`` says; the answer does not depend on it.
    random_state : int, RandomState or None, default=None
        Everything random follows from it.
    checkpoint : path or Checkpoint, default=None
        A file that the search is saved to every few seconds and at its end (only with ``algorithm="bli"``). If it is
        there already, `fit` goes on from it and ends as if it had never been broken off; data and parameters must then
        be the same, but for `epsilon`, the budgets, `n_jobs` and `verbose`. The searches of `holdout` and `n_repeats`
        are saved to PATH.1, PATH.2 and so on.
    verbose : int, default=0
        1 shows the progress and the result in words.

    Attributes
    ----------
    support_ : array of bool
        Which features are selected.
    subset_ : array
        The selected features: their names, or numbers if the data have no names.
    score_ : float
        Exact value of the selected subset; the mean of its samples if terminal leaves are sampled.
    score_interval_ : (float, float)
        Its confidence interval; of no width if the value is exact.
    certificate_ : Certificate
        What was found, what is proved and what is not; ``print(selector.certificate_)``.
    history_ : list of dict
        How samples, exact values, gap and best value went with time; ``pandas.DataFrame(selector.history_)``.
    feature_scores_ : array of float
        Mean value of the rollouts with each feature (RAVE); nan for features that were in none.
    evaluated_ : EvaluatedSubsets
        Every subset evaluated exactly, best first; ``evaluated_.by_size()`` is the best of each size.
    search_indices_ : array of int
        The rows that the search has seen; the certificate is about them.
    holdout_score_, holdout_scores_ : float, array
        Mean and single scores on examples kept from the search, by the measure of the search (with `holdout`).
    selection_frequency_ : array of float
        Share of the searches that selected each feature (with `n_repeats`).
    n_repeats_ : int
        Searches that were run: fewer than `n_repeats` after Ctrl-C.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from bestleaf import BestLeafSelector
    >>> from bestleaf.datasets import load_linear
    >>> X, y = load_linear(return_X_y=True)
    >>> selector = BestLeafSelector(random_state=0).fit(X, y)
    >>> selector.transform(X).shape[1] == len(selector.subset_)
    True
    """

    __metadata_request__fit = dict.fromkeys(METADATA)
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012  as in scikit-learn
        "epsilon": [Interval(Real, 0, 1, closed="both")],
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "algorithm": [StrOptions(set(ALGORITHMS))],
        "algorithm_options": [dict, None],
        "bound": [StrOptions(set(BOUNDS)), Rate, Bound],
        "stopping": [StrOptions({"sound", "paper"})],
        "expansion": [Interval(Real, 0, 1, closed="both")],
        "proposal": [StrOptions(set(PROPOSALS)), None],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "subsample": [Interval(Integral, 2, None, closed="left"), None],
        "continue_probability": [Interval(Real, 0, 1, closed="both")],
        "ties": [StrOptions(set(TIES))],
        "scale": ["boolean"],
        "drop_zero": ["boolean"],
        "task": [StrOptions({"auto", "classification", "regression"})],
        "max_features": [Interval(Integral, 1, None, closed="left"), None],
        "forced": ["array-like"],
        "forbidden": ["array-like"],
        "feature_groups": [list, tuple, dict, None],
        "prefer_small": ["boolean"],
        "guarantee": [StrOptions({"auto", *GUARANTEES}), list, tuple],
        "alpha": [Interval(Real, 0, 1, closed="neither")],
        "estimator": [HasMethods("fit"), None],
        "scoring": [str, callable, None],
        "cv": ["cv_object"],
        "score_range": ["array-like", None],
        "terminal": [StrOptions({"auto", "exact", "noisy"})],
        "batch_size": [Interval(Integral, 1, None, closed="left"), None],
        "holdout": [Interval(RealNotInt, 0, 1, closed="neither"), "cv_object", None],
        "n_repeats": [Interval(Integral, 1, None, closed="left")],
        "max_samples": [Interval(Integral, 1, None, closed="left"), None],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "max_memory": [Real, str, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "checkpoint": [str, os.PathLike, Checkpoint, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        epsilon: float = 0.01,
        delta: float = 0.05,
        algorithm: str = "bli",
        algorithm_options: dict[str, Any] | None = None,
        bound: str | Rate | Bound = "betting",
        stopping: str = "sound",
        expansion: float = 0.6,
        proposal: str | None = None,
        n_neighbors: int = 5,
        subsample: int | None = None,
        continue_probability: float = 0.9,
        ties: str = "half",
        scale: bool = True,
        drop_zero: bool = False,
        task: str = "auto",
        max_features: int | None = None,
        forced: Iterable[Any] = (),
        forbidden: Iterable[Any] = (),
        feature_groups: Any = None,
        prefer_small: bool = True,
        guarantee: str | Iterable[str] = "auto",
        alpha: float = 0.01,
        estimator: Any = None,
        scoring: Any = None,
        cv: Any = None,
        score_range: Any = None,
        terminal: str = "auto",
        batch_size: int | None = None,
        holdout: Any = None,
        n_repeats: int = 1,
        max_samples: int | None = None,
        max_time: float | None = None,
        max_memory: int | str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
        verbose: int = 0,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.algorithm = algorithm
        self.algorithm_options = algorithm_options
        self.bound = bound
        self.stopping = stopping
        self.expansion = expansion
        self.proposal = proposal
        self.n_neighbors = n_neighbors
        self.subsample = subsample
        self.continue_probability = continue_probability
        self.ties = ties
        self.scale = scale
        self.drop_zero = drop_zero
        self.task = task
        self.max_features = max_features
        self.forced = forced
        self.forbidden = forbidden
        self.feature_groups = feature_groups
        self.prefer_small = prefer_small
        self.guarantee = guarantee
        self.alpha = alpha
        self.estimator = estimator
        self.scoring = scoring
        self.cv = cv
        self.score_range = score_range
        self.terminal = terminal
        self.batch_size = batch_size
        self.holdout = holdout
        self.n_repeats = n_repeats
        self.max_samples = max_samples
        self.max_time = max_time
        self.max_memory = max_memory
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.checkpoint = checkpoint
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = False
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, **metadata: Any) -> BestLeafSelector:
        """Search for the best subset.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Numbers without gaps.
        y : array-like of shape (n_samples,)
            Labels or real targets.
        **metadata
            ``sample_weight`` and ``groups`` for an estimator and splits that use them; refused otherwise.

        Returns
        -------
        self : BestLeafSelector
        """
        X, y = self._validated(X, y)
        examples = Examples(X, y, checked_metadata(self, metadata, len(X)))
        seed, aside = self._seed(), np.arange(0)
        self._searches = 0  # beside the first one
        kept: Any = slice(None)  # no copy of large data
        if isinstance(self.holdout, float):
            kept, aside = next(splits(self.holdout, examples, self._task(y), seed))
        selection = self._select(examples.part(kept), seed)
        self.search_indices_ = np.arange(len(X))[kept]
        self._be_honest(examples, kept, aside, seed)
        if self.verbose:
            Console().print(self.certificate_.summary(), highlight=False, markup=False, soft_wrap=True)
        if selection.reason != "identified" and self.algorithm == "bli" and not self.certificate_.settled:
            ended = {"interrupted": "Ctrl-C", "callback": "a callback"}.get(selection.reason, selection.reason)
            warnings.warn(
                f"{ended} ended the search before it was settled: another subset or partial subset may be better by "
                f"up to {self.certificate_.gap:.4f}. Give it more time or samples, or a larger epsilon than "
                f"{self.epsilon:g}.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def _select(self, examples: Examples, seed: int) -> Selection:
        """Search, and keep what was found."""
        X, y, metadata = examples
        room = room_for_search(self.max_memory, X, y)
        lattice = self._lattice(oracle_of(self, X, y, metadata, seed), X)
        way = self._best_leaf_way(lattice, seed, room) if self.algorithm == "bli" else self._fuse_way(lattice, seed)
        self._watch(way, lattice, X, y)
        selection = way.selection()
        self._keep(selection, lattice, X, y)
        return selection

    def _task(self, y: np.ndarray) -> str:
        """Return whether the targets are classes or real numbers; an estimator says it by what it is."""
        if self.estimator is not None and self.task == "auto":
            return "regression" if is_regressor(self.estimator) else "classification"
        return task_of(y, self.task)

    def _best_leaf_way(self, lattice: SubsetLattice, seed: int, room: int | None) -> BestLeafWay:
        if self.algorithm_options:
            raise ValueError(f"algorithm_options are for the rivals of 'bli', got {self.algorithm_options!r}")
        whole, batch = self._exhaustive(lattice, room), batch_size_of(self, lattice)
        search = Search(
            lattice,
            task="leaf",
            epsilon=self.epsilon,
            delta=self.delta,
            bound=self.bound,
            stopping=self.stopping,
            expansion=None if whole else self.expansion,
            proposal=None if whole else self.proposal,
            max_samples=self.max_samples,
            max_time=self.max_time,
            max_memory=room,
            guarantee=self._guarantees() - {"auto", "exhaustive"},
            alpha=self.alpha,
            seed=seed,
            batch_size=batch,
            executor=None if batch is None else executor_of(self),
            checkpoint=self.checkpoint,
        )
        search.answer = self._answer
        search.about = {"prefer_small": self.prefer_small}
        first: list[Stage] = [EveryLeaf()] if whole else []
        if self.proposal in (None, "lookahead") and not whole:
            first.append(SubsetsOfAnswers(lattice))
        if self.prefer_small and self.stopping == "sound" and not whole:
            first.append(SmallerAnswer(len))
        search.stages[:0] = first
        return BestLeafWay(search, prefer_small=self.prefer_small)

    def _fuse_way(self, lattice: SubsetLattice, seed: int) -> FuseWay:
        if self.estimator is not None or not isinstance(lattice, FeatureLattice):
            raise ValueError(
                f"algorithm {self.algorithm!r} values subsets by nearest neighbours, so estimator must be None, got "
                f"{self.estimator!r}"
            )
        if wanted := sorted(self._guarantees() - {"auto", "grown"}):
            raise ValueError(
                f"guarantee must be 'auto' with algorithm {self.algorithm!r}, which gives none, got {wanted[0]!r}"
            )
        if self.checkpoint is not None:
            raise ValueError(f"checkpoint must be None with algorithm {self.algorithm!r}, got {self.checkpoint!r}")
        return FuseWay(
            lattice,
            self.algorithm,
            self.algorithm_options,
            epsilon=self.epsilon,
            delta=self.delta,
            max_samples=self.max_samples,
            max_time=self.max_time,
            seed=seed,
        )

    def _be_honest(self, examples: Examples, kept: Any, aside: np.ndarray, seed: int) -> None:
        """Score on examples that were no part of the search, and count how often features are selected again."""
        if self.holdout is not None:
            task = self._task(examples.y)
            pairs = [(kept, aside)] if len(aside) else list(splits(self.holdout, examples, task, seed))
            chosen_there = [self.support_]
            if not len(aside):
                chosen_there = self._again([(examples.part(one), seed) for one, _ in pairs])
                if len(chosen_there) < len(pairs):
                    raise KeyboardInterrupt
            scores = [
                self._unseen_score(examples.part(one), examples.part(other), support, seed)
                for (one, other), support in zip(pairs, chosen_there, strict=True)
            ]
            self.holdout_scores_ = np.array(scores)
            self.holdout_score_ = float(self.holdout_scores_.mean())
            many = sum(len(other) for _, other in pairs)
            self.certificate_.content["unseen"] = {"score": self.holdout_score_, "examples": many, "splits": len(pairs)}
        if self.n_repeats > 1:
            seeds = np.random.SeedSequence(seed).generate_state(self.n_repeats - 1)
            supports = [self.support_]
            if self.certificate_.reason != "interrupted":
                supports += self._again([(examples.part(kept), int(one)) for one in seeds])
            self.n_repeats_ = len(supports)
            self.selection_frequency_ = np.mean(supports, axis=0)
            shares = zip(self._names(), self.selection_frequency_, strict=True)
            self.certificate_.content["report"]["selection_frequency"] = {
                str(name): float(share) for name, share in shares if share > 0
            }

    def _again(self, runs: list[tuple[Examples, int]]) -> list[np.ndarray]:
        """Return the features selected from other examples or with other seeds; fewer after Ctrl-C."""
        settings = {**self.get_params(deep=False), "holdout": None, "n_repeats": 1, "verbose": 0}
        for name in ("forced", "forbidden"):
            settings[name] = self._columns(name, settings[name])
        if self.feature_groups is not None:
            settings["feature_groups"] = self._groups()
        checkpoint, every = Checkpoint.of(self.checkpoint), []
        for examples, seed in runs:
            if self.estimator is None:  # groups were for the splits alone
                examples = Examples(examples.X, examples.y, {})
            self._searches += 1
            file = None if checkpoint is None else checkpoint.numbered(self._searches)
            every.append((examples, {**settings, "random_state": seed, "checkpoint": file}))
        return searched_again(type(self), every, self.n_jobs)

    def _unseen_score(self, seen: Examples, unseen: Examples, support: np.ndarray, seed: int) -> float:
        """Return what features are worth on examples that were no part of the search."""
        columns, oracle = np.flatnonzero(support), oracle_of(self, *seen, seed)
        if isinstance(oracle, EstimatorOracle):
            return oracle.unseen_score(columns, unseen.X, unseen.y, unseen.metadata.get("sample_weight"))
        return unseen_score(
            seen.X[:, columns],
            seen.y,
            unseen.X[:, columns],
            unseen.y,
            task=self._task(seen.y),
            n_neighbors=self.n_neighbors,
            scale=self.scale,
        )

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return self.support_

    def _validated(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the data as scikit-learn checks them, with sentences of our own where a column is to be named."""
        check_frame(X)
        X, y = validate_data(self, X, y, dtype=(np.float64, np.float32), ensure_all_finite=False, ensure_min_samples=2)
        check_finite(X, self._names())
        if self.estimator is None and len(X) <= self.n_neighbors:
            raise ValueError(
                f"n_neighbors must be less than the number of rows (n_samples={len(X)}), got {self.n_neighbors}"
            )
        if self.subsample is not None and self.subsample > len(X):
            raise ValueError(f"subsample must be at most the number of rows ({len(X)}), got {self.subsample}")
        return X, y

    def _names(self) -> np.ndarray:
        """Return the names of the features, x0, x1, … if they have none."""
        given = getattr(self, "feature_names_in_", None)
        return np.array([f"x{number}" for number in range(self.n_features_in_)], object) if given is None else given

    def _lattice(self, oracle: Oracle, X: np.ndarray) -> SubsetLattice:
        forced, forbidden = self._columns("forced", self.forced), self._columns("forbidden", self.forbidden)
        groups = self._groups()
        forbidden += useless_columns(X, self._names(), forced, forbidden, groups)
        return lattice_of(self, oracle)(
            oracle,
            continue_probability=self.continue_probability,
            max_features=self.max_features,
            forced=forced,
            forbidden=forbidden,
            groups=groups,
        )

    def _exhaustive(self, lattice: SubsetLattice, room: int | None) -> bool:
        """Whether all subsets are evaluated: when asked for, or when that takes no longer than a search might."""
        many, wanted = lattice.count_subsets(), self._guarantees()
        if lattice.noisy:
            if beyond := sorted(wanted - {"auto", "grown"}):
                raise ValueError(
                    f"guarantee {beyond[0]!r} compares exact values, so terminal must be 'exact', got {self.terminal!r}"
                )
            return False
        if "exhaustive" in wanted and many > MOST_SUBSETS:
            raise ValueError(
                f"guarantee='exhaustive' needs at most {MOST_SUBSETS:,} subsets, got {many:,}; limit them by "
                "max_features, forbidden or feature_groups"
            )
        fits = room is None or many * A_SUBSET <= room
        if "exhaustive" in wanted and not fits:
            raise ValueError(
                f"max_memory must be more for all {many:,} subsets, which take about {given_as(many * A_SUBSET)}, got "
                f"{self.max_memory!r}"
            )
        cheap = fits and many <= FEW_SUBSETS and many * lattice.oracle.value_cost <= CHEAP
        return "exhaustive" in wanted or ("auto" in wanted and cheap)

    def _guarantees(self) -> frozenset[str]:
        return checked_guarantees(self.guarantee, ("auto", *GUARANTEES))

    def _answer(self, search: Search) -> tuple[Any, float]:
        """Return the state and the value of the answer as of now."""
        answer, _ = chosen(search.known.list_leaves(), self.epsilon, prefer_small=self.prefer_small)
        return answer.state, answer.lower

    def _groups(self) -> list[list[int]] | None:
        """Return the groups by numbers of features."""
        groups = self.feature_groups
        if groups is None:
            return None
        listed = groups.values() if isinstance(groups, dict) else groups
        found = [self._columns("feature_groups", group) for group in listed]
        check_groups(found, list(groups) if isinstance(groups, dict) else range(len(found)), self._names())
        return found

    def _columns(self, argument: str, given: Iterable[Any]) -> list[int]:
        return columns_named(argument, given, getattr(self, "feature_names_in_", ()), self.n_features_in_)

    def _seed(self) -> int:
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        if self.random_state is None and (stored := stored_seed(self.checkpoint)) is not None:
            return stored
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _watch(self, way: BestLeafWay | FuseWay, lattice: SubsetLattice, X: np.ndarray, y: np.ndarray) -> None:
        """Run the search, keeping its history, showing its progress and calling scikit-learn's callbacks."""
        self.history_: list[dict[str, Any]] = way.notes
        hooks, names = Hooks(self, X, y), self._names()

        def words(state: tuple[int, ...]) -> str:
            return "{" + ", ".join(names[lattice.features_of(state)]) + "}"

        line = ProgressLine(
            Console(quiet=not self.verbose), words, max_time=self.max_time, max_samples=self.max_samples
        )

        def callback(now: Progress) -> bool:
            best = max(way.values, key=way.values.__getitem__, default=now.best)
            value = way.values.get(best)
            if way.reason or not self.history_ or now.elapsed > HISTORY_RATIO * self.history_[-1]["elapsed"]:
                self.history_.append({**now._asdict(), "best": words(best), "score": value})
            line.show(now._replace(best=best), value)
            return hooks.end_of_slice()

        with line:
            hooks.begin()
            if way.resume() and self.verbose:
                name = os.fspath(Checkpoint.of(self.checkpoint).path)  # type: ignore[union-attr]
                Console().print(f"Going on from {name}: {way.samples:,} samples so far.", highlight=False, markup=False)
            way.run(callback)
            hooks.end()

    def _keep(self, selection: Selection, lattice: SubsetLattice, X: np.ndarray, y: np.ndarray) -> None:
        """Turn what was found into fitted attributes."""
        names, answer = self._names(), selection.answer
        columns = lattice.features_of(answer.state)
        self.support_ = np.zeros(self.n_features_in_, bool)
        self.support_[columns] = True
        self.subset_ = names[columns] if hasattr(self, "feature_names_in_") else np.array(columns)
        self.score_ = float(answer.lower if answer.exact or answer.mean is None else answer.mean)
        self.score_interval_ = (float(answer.lower), float(answer.upper))
        self.feature_scores_ = mean_scores(selection.rave, selection.values, lattice)
        subsets = [(value, lattice.features_of(state)) for state, value in selection.values.items()]
        self.evaluated_ = EvaluatedSubsets(
            EvaluatedSubset(tuple(names[features]), float(value))
            for value, features in sorted(subsets, key=lambda one: (-one[0], len(one[1]), one[1]))
        )
        self.certificate_ = certificate_of(
            answer=selection.structure.states.index(answer.state),
            lower=answer.lower,
            upper=answer.upper,
            gap=selection.gap,
            reason=selection.reason,
            search=selection.settings,
            cost=selection.cost,
            leaves=selection.leaves,
            structure=selection.structure,
            challenges=selection.challenges,
            features=[str(name) for name in names[columns]],
            data={
                "names": [str(name) for name in names],
                "rows": len(X),
                "fingerprint": fingerprint(X, y),
                "groups": lattice.groups,
                "choice": lattice.choice(),
                "terminal": "noisy" if lattice.noisy else "exact",
                "objective": lattice.oracle.settings(),
                "objective_in_words": lattice.oracle.in_words(sampled=lattice.noisy),
            },
        )
        self.certificate_.content["report"] = self._for_the_report(selection, lattice)

    def _for_the_report(self, selection: Selection, lattice: SubsetLattice) -> dict[str, Any]:
        """Return what a page shows beside the certificate; no claim rests on it."""
        scores = self.feature_scores_[self.support_]
        names = (str(name) for name in self._names()[self.support_])
        history = [{name: row[name] for name in ("elapsed", "samples", "gap", "score")} for row in self.history_]
        return {
            "history": history,
            "by_size": [[size, one.score, list(one.features)] for size, one in self.evaluated_.by_size().items()],
            "feature_scores": {
                name: None if np.isnan(score) else float(score) for name, score in zip(names, scores, strict=True)
            },
            "without": values_without(selection, lattice),
        }
