"""`BestLeafSelector`: columns chosen for new rows, or by the paper's search, as a scikit-learn estimator."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from rich.console import Console
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.metadata_routing import MetadataRequest, MetadataRouter, MethodMapping
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from bestleaf.checks import whole
from bestleaf.columns import pandas_frame
from bestleaf.columns.frames import selected_columns
from bestleaf.features.estimator import fits_with_weights, fitted_to, routing_of
from bestleaf.features.neighbours import NeighbourVotes
from bestleaf.features.rows import fingerprint
from bestleaf.features.scoring import chosen_score
from bestleaf.memory import Memory
from bestleaf.proof import record
from bestleaf.proof.record import Certificate
from bestleaf.scikit import HasMethods, Interval, StrOptions, fit_context, output_of, takes_missing
from bestleaf.search.budget import Budget, deferred_interrupt
from bestleaf.selection.chosen import chosen
from bestleaf.selection.data import METADATA, Data, FeatureGroups, checked_fit_data, warn
from bestleaf.selection.fit import Fit, SelectorBase, asked_of, begun
from bestleaf.selection.searched import Searched, SearchOptions, searched
from bestleaf.selection.space import Space
from bestleaf.selection.views import Path, Scores, at_size, cv_results_of, early_end, ranking_of_path, ranking_of_scores


def _has_one_estimator(selector: BestLeafSelector) -> bool:
    """Whether there is one estimator that can be fitted to the selected columns."""
    return hasattr(selector.estimator, "predict")


class BestLeafSelector(SelectorBase):
    """Select the columns that models need for new rows, with a score that holds on new rows.

    By default cross-validation decides. In each fold, orders of the columns are found on the training rows, and sets of
    about 20 sizes are judged on the other rows by several models: 5 nearest neighbours, ridge regression and a small
    forest. The answer is the smallest set that none of them minds. Its score is estimated by repeating all of this
    without the rows that are scored or, with 2,000 rows or more, proved on test rows that were kept aside before.

    With ``choose="training"`` the answer is that of the paper: best leaf identification in the graph of all subsets, by
    their value on the rows given. The search stops when, with probability 1 - `delta`, no candidate examined is better
    than the answer by more than `epsilon`.

    Parameters
    ----------
    estimator : estimator, NeighbourVotes, or list of estimators, default=None
        The models that judge: a scikit-learn classifier or regressor, or several. None stands for the three models
        above; with ``choose="training"``, for the votes of nearest neighbours, ``NeighbourVotes()``.
    scoring : str or callable, default=None
        How predictions are scored. None is the AUC for classes (the mean of one against the rest if there are more than
        two) and R² for real targets; with ``choose="training"`` it is accuracy or the concordance index, and scores
        must be from 0 to 1: a negative R² counts as 0.
    cv : int, splitter or iterable, default=None
        The folds, as scikit-learn understands them. None is 5 folds; those of a small table are drawn several times.
    encode : {None, "auto"} or transformer, default=None
        How a data frame with text, categories, truth values, dates or missing values becomes numbers. None refuses
        them. With "auto" a category is one feature, dates become their parts, and missing values are filled with
        medians, unless the estimator takes them; see `TableEncoder` for other ways. Any transformer of scikit-learn is
        taken that names each column that it makes after one column of X, such as a `ColumnTransformer`: a column of X
        stays one column of the choice. What an encoder learns follows in each fold from its training rows.
    choose : {"new_data", "training"}, default="new_data"
        Whether the score on new rows decides, or the value on the rows given, as in the paper.
    parsimony : float, default=None
        How much score a smaller set may cost; None is 0.003. With ``choose="training"`` it is at most `epsilon`; None
        is `epsilon`, so that the answer is the smallest evaluated subset that passes the final test, and 0 is the best.
    max_features : int, default=None
        Largest number of columns; a group counts as one.
    n_features_to_select : int, default=None
        The number of columns, if it is not to be chosen; a group counts as one.
    include, exclude : sequence of int or str, default=()
        Columns that every set has, and columns that no set has; by number or name.
    feature_groups : sequence of sequences, or dict of them, default=None
        Columns that enter together, by number or name; those in no group enter one by one.
    holdout : float, default=None
        Share of the rows that is kept aside, before anything is looked at, for a score with a proof. None is a quarter
        of 2,000 rows or more, but at most 5,000 of them; 0 is none.
    epsilon : float, default=0.01
        For ``choose="training"``: how much better than the answer another subset may be, as a fraction of the range of
        the scores.
    delta : float, default=0.05
        Probability with which what is proved may be wrong.
    max_time : float, default=None
        Seconds allowed for all of `fit`; the time of compiling does not count.
    n_jobs : int, default=None
        Threads, or processes for estimators of your own; the answer does not depend on it.
    random_state : int, RandomState or None, default=None
        Everything random follows from it.
    memory : path-like or Memory, default=None
        A file in which scores of folds and values of subsets are kept. The same fit after a kill, Ctrl-C or `max_time`
        finds them there and ends as if it had never been stopped.
    verbose : int, default=0
        1 shows the progress, 2 also the result in words.
    search : SearchOptions, default=None
        Expert settings of the search with ``choose="training"``.

    Attributes
    ----------
    support_ : array of bool
        Which columns are selected.
    subset_ : array
        The selected columns: their names, or numbers if the data have no names.
    n_features_ : int
        How many they are.
    ranking_ : array of int
        1 for the selected columns; the others in the order in which they would come next.
    score_ : float
        Score on new rows: the mean over the judges. With ``choose="training"``, the value on the rows given. nan if a
        budget ended the fit before it was known, and after `at_size`.
    score_interval_ : (float, float) or None
        Its confidence interval, proved on test rows; otherwise the score plus and minus two standard errors.
    difference_, difference_interval_ : float, (float, float) or None
        The same for the score minus that of all columns.
    training_score_ : float
        Value on the rows given; only with ``choose="training"``.
    path_ : Path
        The set of each of about 20 sizes with its score in cross-validation; None with ``choose="training"``.
    cv_results_ : dict of arrays
        The same as arrays, with the difference to all columns by each judge. Not with ``choose="training"``.
    certificate_ : Certificate
        What was found, what is proved and what is not; see ``print(selector.certificate_)``.
    estimator_ : estimator
        One estimator that was given, fitted to the selected columns of all rows.
    levels_ : dict
        The levels of each category, and the parts of each date; empty without `encode`.
    notes_ : tuple of str
        What was done to the columns, in words; empty without `encode`.
    encoder_ : TableEncoder or other encoder, or None
        The fitted encoder; None if all columns are numbers already.
    history_ : list of dict
        With ``choose="training"``: samples, exact values, gap and best value in the course of time.
    feature_scores_ : array of float
        With ``choose="training"``: mean value of the rollouts with each column (RAVE); nan if there were none.
    evaluated_ : EvaluatedSubsets
        With ``choose="training"``: every subset evaluated exactly, best first; ``evaluated_.by_size()`` is the best of
        each size. If more than 4,096 subsets were all evaluated, the best thousand and the best of each size.

    See Also
    --------
    validate : The score on test rows of your own.

    Examples
    --------
    >>> from bestleaf import BestLeafSelector
    >>> from bestleaf.paper import load_linear
    >>> X, y = load_linear(return_X_y=True)
    >>> selector = BestLeafSelector(random_state=0).fit(X, y)
    >>> selector.transform(X).shape[1] == selector.n_features_
    True
    """

    support_: np.ndarray
    score_: float
    score_interval_: tuple[float, float] | None
    difference_: float
    difference_interval_: tuple[float, float] | None
    path_: Path | None
    certificate_: Certificate
    _data: Data | None
    __metadata_request__fit = dict.fromkeys(METADATA)
    _parameter_constraints: dict[str, list[object]] = {  # noqa: RUF012  as in scikit-learn
        "estimator": [HasMethods("fit"), NeighbourVotes, list, tuple, None],
        "scoring": [str, callable, None],
        "cv": ["cv_object"],
        "encode": [StrOptions({"auto"}), HasMethods(["fit", "transform"]), None],
        "choose": [StrOptions({"new_data", "training"})],
        "parsimony": [Interval(Real, 0, None, closed="left"), None],
        "max_features": [Interval(Integral, 1, None, closed="left"), None],
        "n_features_to_select": [Interval(Integral, 1, None, closed="left"), None],
        "include": ["array-like"],
        "exclude": ["array-like"],
        "feature_groups": [list, tuple, dict, None],
        "holdout": [Interval(Real, 0, 1, closed="left"), None],
        "epsilon": [Interval(Real, 0, 1, closed="both")],
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "memory": [str, os.PathLike, Memory, None],
        "verbose": ["verbose"],
        "search": [SearchOptions, None],
    }

    def __init__(
        self,
        estimator: BaseEstimator | Sequence[BaseEstimator] | None = None,
        *,
        scoring: str | Callable[..., float] | None = None,
        cv: object = None,
        encode: str | BaseEstimator | None = None,
        choose: str = "new_data",
        parsimony: float | None = None,
        max_features: int | None = None,
        n_features_to_select: int | None = None,
        include: Iterable[int | str] = (),
        exclude: Iterable[int | str] = (),
        feature_groups: FeatureGroups | None = None,
        holdout: float | None = None,
        epsilon: float = 0.01,
        delta: float = 0.05,
        max_time: float | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        memory: str | os.PathLike[str] | Memory | None = None,
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
        self.n_features_to_select = n_features_to_select
        self.include = include
        self.exclude = exclude
        self.feature_groups = feature_groups
        self.holdout = holdout
        self.epsilon = epsilon
        self.delta = delta
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.memory = memory
        self.verbose = verbose
        self.search = search

    def set_params(self, **params: object) -> BestLeafSelector:
        """Set parameters, also ``estimator__n_neighbors`` and ``search__bound`` where these are None."""
        defaults = {"estimator": NeighbourVotes, "search": SearchOptions}
        for name in defaults:
            if params.get(name, getattr(self, name)) is None and any(one.startswith(f"{name}__") for one in params):
                params[name] = defaults[name]()
        return super().set_params(**params)

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, **metadata: ArrayLike | None) -> BestLeafSelector:
        """Select columns. Ctrl-C gives the answer known so far, at any time; pressed again, it ends at once.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Numbers without missing values, unless the estimator takes them. With `encode`, columns of any kind, in a
            data frame of pandas, polars or another library that narwhals knows. A sparse matrix becomes an array. An
            array of a GPU (CuPy, torch) is copied to memory once.
        y : array-like of shape (n_samples,)
            Labels or real targets.
        **metadata
            ``groups``: rows that belong together, such as all visits of a patient; a fold has all of them or none.
            ``sample_weight``: a row of weight w counts as w rows in scores, and in the fit of models that take weights.
        """
        budget = Budget(max_time=self.max_time)
        with deferred_interrupt() as interrupted:
            data = checked_fit_data(self, X, y, metadata)
            space = Space.of(self, data)
            with begun(self, data, space, budget, interrupted) as fit:
                self._set(fit, searched(fit) if self.choose == "training" else chosen(fit))
            self._tell()
        return self

    def _set(self, fit: Fit, found: Searched | Certificate) -> None:
        """Set the attributes; `_data` are the rows given, which are not pickled."""
        for name in ("evaluated_", "history_", "feature_scores_", "training_score_", "cv_results_", "estimator_"):
            self.__dict__.pop(name, None)  # an earlier fit may have set it
        self._data, self._seed, self._asked = fit.data, fit.seed, asked_of(self)
        self.encoder_ = None if fit.data.encoded is None else fit.data.encoded.encoder
        self.levels_, self.notes_ = ({}, ()) if self.encoder_ is None else (self.encoder_.levels_, self.encoder_.notes_)
        if isinstance(found, Searched):
            self.evaluated_, self.history_ = found.evaluated(fit.labels), fit.watch.history
            self.feature_scores_ = found.feature_scores
            found = found.certificate()
        self._answer(found)
        if _has_one_estimator(self) and fit.budget.spent() is None:
            self.estimator_ = self._refitted()

    def _answer(self, found: Certificate) -> None:
        """Set the attributes that follow from the record."""
        assert found.data is not None
        assert found.features is not None
        self.certificate_ = found
        labels = np.asarray(getattr(self, "feature_names_in_", np.arange(self.n_features_in_)))
        label_of, chosen_ones = dict(zip(found.data.names, labels, strict=True)), {*found.features}
        self.support_ = np.array([name in chosen_ones for name in found.data.names])
        self.subset_, self.n_features_ = labels[self.support_], int(self.support_.sum())
        scores = Scores.of(found, self.n_features_to_select)
        self.score_, self.score_interval_, self.difference_, self.difference_interval_ = scores
        if found.path is None:
            self.path_, self.training_score_ = None, self.score_
            self.ranking_ = ranking_of_scores(self.support_, self.feature_scores_)
        else:
            self.path_, self.cv_results_ = Path.of(found.path, label_of), cv_results_of(found.path)
            self.ranking_ = ranking_of_path(found)

    def at_size(self, size: int) -> BestLeafSelector:
        """Return a fitted selector that selects the set of another size of the path, without a new choice.

        If the path has no set of this size, it is that of the next smaller one, with a warning. Its `score_` is nan:
        its score in cross-validation, in `path_` and `cv_results_`, is rather high. `validate` gives an honest one.

        Parameters
        ----------
        size : int
            The number of columns; a group counts as one.
        """
        check_is_fitted(self)
        found = self.certificate_
        if found.path is None:
            raise ValueError("at_size needs a path: fit with choose='new_data'")
        found = at_size(found, whole("size", size, 1))
        if (got := found.path.size) != size:  # type: ignore[union-attr]
            warn(f"the path has no set of size {size}; this is its set of size {got}, the next smaller one")
        return with_record(self, found)

    if not TYPE_CHECKING:  # for mypy an attribute that is not there would be one

        def __getattr__(self, name: str) -> object:
            """Say what an attribute needs that is not there."""
            if name in ("predict", "score") and "estimator" in self.__dict__ and not _has_one_estimator(self):
                raise AttributeError(f"{name} needs one estimator: BestLeafSelector(estimator=...)")
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _tell(self) -> None:
        """Print the result if it is asked for, and warn if a budget ended the fit."""
        found = self.certificate_
        if self.verbose > 1:
            Console().print(found.summary(), highlight=False, markup=False, soft_wrap=True)
        if ended := early_end(found, self.epsilon):
            warn(ended, ConvergenceWarning)

    def _refitted(self) -> BaseEstimator:
        """Return the one estimator, fitted to the selected columns of all rows given."""
        data = getattr(self, "_data", None)
        if data is None:
            raise ValueError("predict needs the rows of the fit, which are not kept in a file: fit again")
        weighted = data.weights is not None and fits_with_weights(self.estimator)
        given = {"sample_weight": data.weights} if weighted else {}
        return fitted_to(data.X[:, data.columns_of(np.flatnonzero(self.support_))], data.y, self.estimator, **given)

    def _model_and_columns(self, X: ArrayLike) -> tuple[BaseEstimator, np.ndarray]:
        """Return the estimator on the selected columns, and these columns of X as numbers."""
        check_is_fitted(self)
        model = self.estimator_ if hasattr(self, "estimator_") else self._refitted()
        chosen_ones = np.flatnonzero(self.support_)
        if self.encoder_ is not None:
            numbers = self.encoder_.transform(X)
            return model, numbers[:, [column for one in chosen_ones for column in self.encoder_.columns_[one]]]
        X = X if self.encode is None else pandas_frame(X)
        missing = "allow-nan" if takes_missing(self.estimator) else True
        return model, validate_data(self, X, reset=False, ensure_all_finite=missing)[:, chosen_ones]

    @available_if(_has_one_estimator)
    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return what the estimator predicts from the selected columns.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The columns that `fit` has seen.
        """
        model, columns = self._model_and_columns(X)
        return model.predict(columns)

    @available_if(_has_one_estimator)
    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the score, by the measure of the fit, of the estimator on the selected columns.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The columns that `fit` has seen.
        y : array-like of shape (n_samples,)
            Labels or real targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of rows, if the scorer takes them.
        """
        model, columns = self._model_and_columns(X)
        objective, scoring = self.certificate_.data.objective, self.scoring  # type: ignore[union-attr]
        if scoring is None and isinstance(objective, record.Panel):
            scoring = "roc_auc_ovr" if objective.classes > 2 and objective.scoring == "roc_auc" else objective.scoring
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(chosen_score(self.estimator, scoring).of(model, columns, np.asarray(y), **weights))

    def transform(self, X: ArrayLike) -> Any:
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
        asked_for = output_of(self)
        return selected_columns(pandas_frame(X) if asked_for == "pandas" else X, support)

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return self.support_

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in super().__getstate__().items() if name != "_data"}  # the rows stay here

    def get_metadata_routing(self) -> MetadataRequest | MetadataRouter:
        """Return what metadata `fit` takes: rows' groups and weights, and weights for the estimators that ask for them.

        Where scikit-learn routes metadata, `sample_weight` is asked for of the selector, for scores, and of every
        estimator given: ``BestLeafSelector(model.set_fit_request(sample_weight=True)).set_fit_request(...)``.
        """
        own, router = super().get_metadata_routing(), MetadataRouter(owner=self)
        router.add_self_request(own)
        given = self.estimator if isinstance(self.estimator, list | tuple) else [self.estimator]
        asked = {f"estimator{place}": routing_of(one) for place, one in enumerate(given) if hasattr(one, "fit")}
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        for name, one in asked.items():
            if one is not None:
                router.add(method_mapping=to_fit, **{name: one})
        return router if any(asked.values()) else own

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        encodes, inputs = self.encode is not None, tags.input_tags
        inputs.sparse, inputs.string, inputs.categorical = True, encodes, encodes
        inputs.allow_nan = encodes or takes_missing(self.estimator)
        return tags

    def _repr_html_inner(self) -> str:
        return super()._repr_html_inner() + self._certificate_html()

    def _repr_mimebundle_(self, **keywords: object) -> dict[str, str]:
        shown = super()._repr_mimebundle_(**keywords)
        if "text/html" in shown:  # not when scikit-learn is told to display text
            shown["text/html"] += self._certificate_html()
        return shown

    def _certificate_html(self) -> str:
        """Return what a notebook shows below the diagram of scikit-learn."""
        found = getattr(self, "certificate_", None)
        return "" if found is None else f'<div class="bestleaf-certificate">{found._repr_html_()}</div>'


def with_record(selector: BestLeafSelector, found: Certificate) -> BestLeafSelector:
    """Return a fitted selector that answers with another record about the same data."""
    other = copy(selector)
    other._data = getattr(selector, "_data", None)
    other._answer(found)
    if found.features != selector.certificate_.features:
        other.__dict__.pop("estimator_", None)  # it is fitted when it is asked for
    return other


def rows_and_seed_of(selector: BestLeafSelector) -> tuple[Data, int]:
    """Return the rows and the seed of the fit; refuse a selector that is not what it was in fit."""
    check_is_fitted(selector)
    data: Data | None = getattr(selector, "_data", None)
    if data is None:
        raise ValueError("selector must have the rows of its fit, which are not kept in a file: fit it again")
    if fingerprint(data.X, data.y) != selector.certificate_.data.fingerprint:  # type: ignore[union-attr]
        raise ValueError("X and y must stay as they were in fit, which did not copy them: they have changed since")
    if asked_of(selector) != selector._asked:
        raise ValueError("selector must have the parameters of its fit, got others: fit it again")
    return data, selector._seed
