"""The selector as a scikit-learn citizen, what it answers, and what it says of bad input."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from bestleaf import BestLeafSelector, NeighbourVotes, SearchOptions, validate, verify
from bestleaf.features.neighbours import KNNOracle
from bestleaf.new_data import split_of
from bestleaf.paper import load_linear
from selecting import made_selector


@parametrize_with_checks([BestLeafSelector(choose="training")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def linear():
    return load_linear()


@pytest.fixture(scope="module")
def frame(linear):
    return pd.DataFrame(linear.data, columns=linear.feature_names)


@pytest.fixture(scope="module")
def fitted(frame, linear):
    return BestLeafSelector(choose="training", random_state=0).fit(frame, linear.target)


def test_fitted_attributes_fit_together(fitted, frame, linear):
    assert list(fitted.subset_) == list(frame.columns[fitted.support_]) == list(fitted.get_feature_names_out())
    columns = np.flatnonzero(fitted.support_)
    assert fitted.score_ == KNNOracle(linear.data, linear.target).value(columns) == fitted.certificate_.score
    assert fitted.n_features_in_ == 30
    assert list(fitted.feature_names_in_) == list(frame.columns)
    scores = [subset.score for subset in fitted.evaluated_]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == fitted.certificate_.exact_evaluations
    by_size = fitted.evaluated_.by_size()
    assert list(by_size) == sorted(by_size)
    assert all(
        best.score == max(s.score for s in fitted.evaluated_ if len(s.features) == n) for n, best in by_size.items()
    )
    assert fitted.feature_scores_.shape == (30,)
    assert 0 < fitted.feature_scores_.min() < fitted.feature_scores_.max() < 1
    assert fitted.certificate_.samples > fitted.certificate_.warmup_samples >= 600
    assert pickle.loads(pickle.dumps(fitted)).certificate_ == fitted.certificate_
    history = pd.DataFrame(fitted.history_)
    assert history.seconds.is_monotonic_increasing
    assert history.samples.is_monotonic_increasing
    assert history.samples.iloc[-1] == fitted.certificate_.samples


def test_in_a_pipeline_under_a_grid_search(linear):
    pipeline = make_pipeline(BestLeafSelector(choose="training", epsilon=0.05, random_state=0), LogisticRegression())
    grid = GridSearchCV(pipeline, {"bestleafselector__max_features": [1, 3]}, cv=3)
    grid.fit(linear.data[:, :8], linear.target)
    assert grid.best_params_ == {"bestleafselector__max_features": 3}
    assert grid.best_score_ > 0.9


TARGETS = [
    ("mean one-against-rest AUC", None, lambda X: (3 * X[:, 1]).astype(int)),
    ("concordance index", None, lambda X: X[:, 1] - X[:, 2]),
    ("concordance index", None, lambda X: np.random.default_rng(0).poisson(40 * X[:, 2])),  # many whole numbers
    ("one-against-rest", NeighbourVotes(task="classification"), lambda X: (20 * X[:, 2]).astype(int)),
]


@pytest.mark.parametrize(("words", "votes", "target"), TARGETS)
def test_several_classes_and_real_targets(words, votes, target, linear):
    X = linear.data[:, :8]
    found = BestLeafSelector(votes, choose="training", epsilon=0.05, random_state=0).fit(X, target(X))
    assert words in str(found.certificate_)
    assert found.support_[[1, 2]].any()


def test_eighteen_parameters_and_those_of_votes_and_search_inside():
    selector = BestLeafSelector(choose="training", estimator=NeighbourVotes(), search=SearchOptions())
    assert len(selector.get_params(deep=False)) == 18
    assert len(SearchOptions().get_params()) == 6
    selector.set_params(search__bound="hoeffding", estimator__n_neighbors=3)
    twin = clone(selector)
    assert (twin.search.bound, twin.estimator.n_neighbors) == ("hoeffding", 3)
    assert twin.search is not selector.search


def test_included_excluded_and_grouped_features_by_name_and_number(frame, linear):
    settings = {"choose": "training", "epsilon": 0.05, "random_state": 0}
    selector = BestLeafSelector(include=["noise3", 0], exclude=["xz"], **settings).fit(frame, linear.target)
    assert {"noise3", "x"} <= set(selector.subset_)
    assert "xz" not in selector.subset_
    groups = {"first": ["x", "y", "z"], "second": range(3, 10), "noise": range(10, 30)}
    grouped = BestLeafSelector(feature_groups=groups, max_features=1, **settings).fit(frame, linear.target)
    assert list(grouped.subset_) in (["x", "y", "z"], list(frame.columns[3:10]))


@pytest.mark.parametrize("budget", [{"max_samples": 1}, {"max_samples": 700}, {"max_time": 1e-6}])
def test_a_budget_ends_the_search_with_an_honest_answer(budget, linear):
    with pytest.warns(ConvergenceWarning, match=r"max_\w+ ended the search before it was settled"):
        selector = made_selector(choose="training", epsilon=0, random_state=0, **budget).fit(linear.data, linear.target)
    assert selector.support_.any()
    assert selector.certificate_.exact_evaluations >= 1
    assert selector.score_ == KNNOracle(linear.data, linear.target).value(selector.subset_)
    assert "Not settled" in str(selector.certificate_)


def test_callbacks_of_scikit_learn_see_every_slice_and_may_stop(linear):
    pytest.importorskip("sklearn.callback")

    class Watcher:
        def __init__(self, stop_after):
            self.seen, self.stop_after = [], stop_after

        def setup(self, estimator, context):
            self.seen.append("setup")

        def on_fit_task_begin(self, estimator, context):
            self.seen.append(f"begin {context.task_name}")

        def on_fit_task_end(self, estimator, context):
            self.seen.append(f"end {context.task_name}")
            return self.seen.count("end slice") >= self.stop_after

        def teardown(self, estimator, context):
            self.seen.append("teardown")

    watcher = Watcher(stop_after=3)
    selector = BestLeafSelector(
        choose="training", epsilon=0, random_state=0, search=SearchOptions(bound="hoeffding")
    ).set_callbacks(watcher)
    with pytest.warns(ConvergenceWarning, match="a callback ended the search"):
        selector.fit(linear.data, linear.target)
    assert selector.certificate_.reason == "interrupted"
    assert watcher.seen[:3] == ["setup", "begin fit", "begin slice"]
    assert watcher.seen.count("end slice") in (3, 4)
    assert watcher.seen[-2:] == ["end fit", "teardown"]


def frame_of(**columns):
    rng = np.random.default_rng(0)
    return pd.DataFrame({"a": rng.random(20), "b": rng.random(20), **columns}, index=range(20))


TWO = np.arange(20) % 2
WIDE = np.random.default_rng(0).normal(size=(20, 30))
GAP = np.where(np.arange(20) == 3, np.nan, 1.0 * np.arange(20))


@pytest.mark.parametrize(
    ("X", "y", "keywords", "sentence"),
    [
        (frame_of(c=GAP), TWO, {}, r"missing values \(NaN\) or infinity \(inf\), found in columns \['c'\]"),
        (frame_of(c=np.where(TWO, np.inf, 0)), TWO, {}, r"found in columns \['c'\]"),
        (frame_of(), np.zeros(20), {}, "y must have at least two classes, got only"),
        (frame_of()[:1], TWO[:1], {}, "minimum of 2 is required"),
        (frame_of(a=1.0, b=2.0), TWO, {}, "X must have a column that changes, got 2 constant of 2"),
        (pd.concat([frame_of(), frame_of()], axis=1), TWO, {}, r"different name for every column, got \['a', 'b'\]"),
        (frame_of(city=["Rome", "Oslo"] * 10), TWO, {}, r"numbers only, got text or dates in columns \['city'\]"),
        (frame_of()[:5], TWO[:5], {}, "n_neighbors must be between 1 and the number of rows less one, got 5"),
        (frame_of(), TWO, {"feature_groups": [["a", "b"], ["b"]]}, "must not overlap, got 'b' in groups 0 and 1"),
        (frame_of(), TWO, {"feature_groups": [["a"]]}, "feature_groups must hold every feature, got none with 'b'"),
        (frame_of(), TWO, {"feature_groups": [["a", "z"]]}, "feature_groups must name features of X, got 'z'"),
        (frame_of(), TWO, {"include": ["a"], "exclude": [0]}, r"must not share features, got \[0\] in both"),
        (
            frame_of(),
            TWO,
            {"include": [0, 1], "max_features": 1},
            "at least 2, the number of features in include, got 1",
        ),
        (frame_of(), TWO, {"include": [2]}, "include must hold names or numbers from 0 to 1, got 2"),
        (frame_of(), TWO, {"exclude": ["a", "b"]}, "exclude must leave at least one of the features, got all 2"),
        (frame_of(), TWO[:19], {}, "inconsistent numbers of samples"),
        (frame_of(), GAP, {}, "Input y contains NaN"),
        (frame_of(), TWO, {"epsilon": 2}, "'epsilon' parameter of BestLeafSelector must be"),
        (frame_of(), TWO, {"stopping": "magic"}, "stopping must be one of sound, paper, got 'magic'"),
        (frame_of(), TWO, {"guarantee": ["local", "luck"]}, "guarantee must be one of .*, got 'luck'"),
        (frame_of(), None, {}, "requires y to be passed"),
        (np.zeros((0, 3)), [], {}, "0 sample"),
        (np.array([["a", "b"]] * 20), TWO, {}, "X must hold numbers only, got an array of text"),
        (frame_of(), TWO, {"include": ["bb"]}, r"got 'bb' \(did you mean 'b'\?\)"),
        (frame_of().to_numpy(), TWO, {"include": ["b"]}, "because X has no names, got 'b'"),
        (WIDE, TWO, {"guarantee": "exhaustive"}, "needs at most 4,194,304 subsets, got 1,073,741,823"),
    ],
)
def test_bad_input_gets_one_clear_sentence(X, y, keywords, sentence):
    with pytest.raises(ValueError, match=sentence):
        made_selector(choose="training", **keywords).fit(X, y)


def test_constant_columns_are_named_and_left_out():
    with pytest.warns(UserWarning, match=r"columns \['c'\] are constant and left out of the search"):
        selector = BestLeafSelector(choose="training", random_state=0, epsilon=0.5).fit(frame_of(c=7.0), TWO)
    assert not selector.support_[2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BestLeafSelector(choose="training", random_state=0, epsilon=0.5, include=["c"]).fit(frame_of(c=7.0), TWO)


def test_nothing_beats_a_perfect_subset():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 15))
    for seed in range(2):
        selector = made_selector(choose="training", random_state=seed, guarantee="grown")
        selector.fit(X, (X[:, 0] > 0).astype(int))
        assert list(selector.subset_) == [0]
        assert "No subset at all can be better by more than 0.01" in str(selector.certificate_)


def test_rows_kept_aside_never_touch_the_search(linear):
    X, y = linear.data[:, :10], linear.target
    selector = BestLeafSelector(choose="training", epsilon=0.02, random_state=0)
    held = validate(selector, X, y, holdout=0.25)
    found, rows = held.selector.certificate_, held.rows
    assert (found.content["data"]["rows"], found.content["unseen"]["rows"]) == (len(rows), 75) == (225, 75)
    assert 0.9 < held.score <= 1
    assert "On 75 rows kept from the search" in str(found)
    assert rows.tolist() == split_of(0.25, X, y, None, 0).kept.tolist()
    assert verify(found, X[rows], y[rows])
    assert "about 225 rows, got 300" in str(verify(found, X, y))
    assert not hasattr(selector, "support_")  # a copy was fitted
    real = validate(clone(selector).set_params(max_features=3), X, X[:, 1] - X[:, 2], holdout=0.3)
    assert real.score > 0.8


def test_what_cannot_be_validated_or_verified_is_refused(fitted, linear):
    with pytest.raises(TypeError, match="selector must be a BestLeafSelector, got Log"):
        validate(LogisticRegression(), linear.data, linear.target)
    with pytest.raises(ValueError, match=r"holdout must be strictly between 0 and 1, got 1\.5"):
        validate(BestLeafSelector(choose="training"), linear.data, linear.target, holdout=1.5)
    with pytest.raises(ValueError, match="X and y must be given together, got only X"):
        verify(fitted.certificate_, linear.data)
    with pytest.raises(TypeError, match="got a BestLeafSelector"):
        verify(fitted)


@pytest.mark.parametrize(
    ("made", "name", "instead"),
    [
        *((BestLeafSelector, name, "exclude, max_features or feature_groups") for name in ("costs", "at_most")),
        *((BestLeafSelector, name, rf"search=SearchOptions\({name}=") for name in ("guarantee", "max_samples")),
        (BestLeafSelector, "forced", "include"),
        (BestLeafSelector, "forbidden", "exclude"),
        (BestLeafSelector, "prefer_small", "parsimony=0 for the best subset"),
        (BestLeafSelector, "score_range", "a scoring that has bounds"),
        (BestLeafSelector, "max_memory", "max_features or exclude"),
        (BestLeafSelector, "n_repeats", "several fits with different values of random_state"),
        *((SearchOptions, name, "") for name in ("batch_size", "continue_probability", "alpha", "terminal")),
    ],
)
def test_a_keyword_that_is_gone_says_what_to_use(made, name, instead):
    with pytest.raises(TypeError, match=f"{made.__name__} got .* does not have, '{name}'; use {instead}"):
        made(**{name: 1})


def test_parsimony_is_how_much_value_a_smaller_answer_may_cost():
    X, y = load_wine(return_X_y=True)
    settings = {"choose": "training", "random_state": 0, "epsilon": 0.02, "guarantee": "grown"}
    answers = {cost: made_selector(**settings, parsimony=cost).fit(X, y) for cost in (None, 0.02, 0.003, 0)}
    best = answers[0].evaluated_[0].score
    assert answers[0].score_ == best
    assert answers[0.003].score_ >= best - 0.003
    assert answers[None].support_.tolist() == answers[0.02].support_.tolist()
    sizes = [len(found.subset_) for found in answers.values()]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]
    assert answers[None].certificate_.samples <= 2 * answers[0].certificate_.samples + 1  # of these, half for it
    assert all(verify(found.certificate_, X, y) for found in answers.values())
    with pytest.raises(ValueError, match=r"parsimony must be at most epsilon=0\.02 with choose='training'"):
        made_selector(**settings, parsimony=0.5).fit(X, y)
