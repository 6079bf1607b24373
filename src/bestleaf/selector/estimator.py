"""The estimator: parameters, fit, fitted attributes."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.base import BaseEstimator, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from bestleaf.bounds import BOUNDS, Bound, Rate
from bestleaf.growth import PROPOSALS
from bestleaf.oracles import TIES
from bestleaf.search.budget import Budget
from bestleaf.search.guarantees import GUARANTEES
from bestleaf.search.keeper import stored_seed
from bestleaf.selector.honest import Examples, held_out
from bestleaf.selector.hooks import CallbackSupportMixin
from bestleaf.selector.inputs import check_finite, check_frame, check_truth_values
from bestleaf.selector.judging import Judging
from bestleaf.selector.keeping import Keeping
from bestleaf.selector.objective import (
    METADATA,
    checked_metadata,
)
from bestleaf.selector.searching import Searching
from bestleaf.selector.shown import ShowsCertificate
from bestleaf.selector.ways import ALGORITHMS
from bestleaf.storage import Checkpoint

ENDED_BY = {"interrupted": "Ctrl-C", "callback": "a callback", "no_workers": "The loss of all workers"}


class BestLeafSelector(
    Searching, Judging, Keeping, ShowsCertificate, CallbackSupportMixin, SelectorMixin, BaseEstimator
):
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
        Seconds allowed for all of `fit`, compiling aside. Where it takes several searches (`n_repeats`, a splitter as
        `holdout`), each gets an equal share of them.
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
        Exact value of the selected subset; if terminal leaves are sampled the mean of its samples, or a rough value if
        time ended before there was any.
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
        Searches that were run: fewer than `n_repeats` after Ctrl-C, or when time is over.
    repeats_reason_ : str
        ``"identified"`` if all of `n_repeats` were run, otherwise why not: ``"interrupted"`` or ``"max_time"``.
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
        budget = Budget(max_time=self.max_time)
        X, y = self._validated(X, y)
        examples = Examples(X, y, checked_metadata(self, metadata, len(X)))
        seed = seed_of(self)
        self._searches = 0  # beside the first one
        pairs = held_out(self.holdout, examples, self._task(y), seed)
        self._check_further_files(pairs)
        kept: Any = pairs[0][0] if isinstance(self.holdout, float) else slice(None)  # no copy of large data
        shares = self._shares(examples, budget)
        selection = self._select(examples.part(kept), seed, shares)
        self.search_indices_ = np.arange(len(X))[kept]
        self._be_honest(examples, kept, pairs, seed, shares)
        if self.verbose:
            Console().print(self.certificate_.summary(), highlight=False, markup=False, soft_wrap=True)
        if selection.reason != "identified" and self.algorithm == "bli" and not self.certificate_.settled:
            ended = ENDED_BY.get(selection.reason, selection.reason)
            warnings.warn(
                f"{ended} ended the search before it was settled: another subset or partial subset may be better by "
                f"up to {self.certificate_.gap:.4f}. Give it more time or samples, or a larger epsilon than "
                f"{self.epsilon:g}.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return self.support_

    def _validated(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the data as scikit-learn checks them, with sentences of our own where a column is to be named."""
        check_truth_values(self)
        check_frame(X)
        with np.errstate(over="ignore", invalid="ignore"):  # the largest numbers there are
            X, y = validate_data(
                self, X, y, dtype=(np.float64, np.float32), ensure_all_finite=False, ensure_min_samples=2
            )
        check_finite(X, self._names())
        if self.estimator is None and len(X) <= self.n_neighbors:
            raise ValueError(
                f"n_neighbors must be less than the number of rows (n_samples={len(X)}), got {self.n_neighbors}"
            )
        if self.subsample is not None and self.subsample > len(X):
            raise ValueError(f"subsample must be at most the number of rows ({len(X)}), got {self.subsample}")
        return X, y


def seed_of(selector: BestLeafSelector) -> int:
    """Return the seed that everything random of a selector follows from; drawn if none is given or saved."""
    given = selector.random_state
    if isinstance(given, Integral):
        return int(given)
    if given is None and (stored := stored_seed(selector.checkpoint)) is not None:
        return stored
    return int(check_random_state(given).randint(np.iinfo(np.int32).max))
