"""The selector as a scikit-learn citizen, what it answers, and what it says of bad input."""

from __future__ import annotations

import pickle
import warnings
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_wine
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from bestleaf import BestLeafSelector, NeighbourVotes, Search, SearchOptions, validate, verify
from bestleaf.features import FeatureLattice
from bestleaf.features.neighbours import KNNOracle
from bestleaf.new_data import split_of
from bestleaf.paper import load_linear
from bestleaf.search.answer import EvaluatedLeaf
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


def test_the_certificate_counts_every_rollout_and_speaks_in_words(fitted):
    found = fitted.certificate_
    assert found.samples > found.warmup_samples >= 600
    assert found.settled
    assert found.gap <= 0.01
    words = str(found)
    for part in ("Selected", "leave-one-out AUC", "With probability at least 1 - 0.05", "Not claimed", "rollouts"):
        assert part in words


def test_history_goes_forward(fitted):
    history = pd.DataFrame(fitted.history_)
    assert history.seconds.is_monotonic_increasing
    assert history.samples.is_monotonic_increasing
    assert history.samples.iloc[-1] == fitted.certificate_.samples


def test_the_same_seed_gives_the_same_answer(fitted, frame, linear):
    again = BestLeafSelector(choose="training", random_state=0, n_jobs=2).fit(frame.to_numpy(), linear.target)
    assert (again.support_ == fitted.support_).all()
    assert again.certificate_.samples == fitted.certificate_.samples


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_in_and_out(kind, frame, linear):
    data = frame if kind == "pandas" else pl.DataFrame({str(name): frame[name].to_numpy() for name in frame})
    selector = BestLeafSelector(choose="training", epsilon=0.05, random_state=0).set_output(transform=kind)
    reduced = selector.fit_transform(data, linear.target)
    assert list(reduced.columns) == list(selector.subset_)
    assert type(reduced).__module__.split(".")[0] == kind


def test_in_a_pipeline_under_a_grid_search(linear):
    pipeline = make_pipeline(BestLeafSelector(choose="training", epsilon=0.05, random_state=0), LogisticRegression())
    grid = GridSearchCV(pipeline, {"bestleafselector__max_features": [1, 3]}, cv=3).fit(linear.data, linear.target)
    assert grid.best_params_ == {"bestleafselector__max_features": 3}
    assert grid.best_score_ > 0.9


def test_whole_numbers_are_real_targets_when_there_are_many(linear):
    rng = np.random.default_rng(0)
    counts = rng.poisson(40 * linear.data[:, 2])
    found = BestLeafSelector(choose="training", epsilon=0.1, random_state=0).fit(linear.data, counts)
    assert "concordance index" in str(found.certificate_)
    forced = BestLeafSelector(
        choose="training",
        estimator=NeighbourVotes(task="classification"),
        epsilon=0.1,
        random_state=0,
        search=SearchOptions(max_samples=700),
    )
    with pytest.warns(ConvergenceWarning):
        assert "one-against-rest" in str(forced.fit(linear.data, counts).certificate_)


def test_not_fitted_is_said_so(frame):
    with pytest.raises(NotFittedError):
        BestLeafSelector(choose="training").get_support()
    with pytest.raises(NotFittedError):
        BestLeafSelector(choose="training").transform(frame.to_numpy())


def test_clone_and_pickle(fitted, frame):
    assert clone(fitted).get_params() == fitted.get_params()
    copy = pickle.loads(pickle.dumps(fitted))
    assert (copy.transform(frame) == fitted.transform(frame)).all(axis=None)
    assert copy.certificate_ == fitted.certificate_
    assert "BestLeafSelector" in fitted._repr_html_()


def test_eighteen_parameters_and_those_of_votes_and_search_inside():
    selector = BestLeafSelector(choose="training", estimator=NeighbourVotes(), search=SearchOptions())
    assert len(selector.get_params(deep=False)) == 18
    assert len(SearchOptions().get_params()) == 6
    selector.set_params(search__bound="hoeffding", estimator__n_neighbors=3)
    twin = clone(selector)
    assert (twin.search.bound, twin.estimator.n_neighbors) == ("hoeffding", 3)
    assert twin.search is not selector.search


def test_validation_takes_selectors_only(linear):
    with pytest.raises(TypeError, match="selector must be a BestLeafSelector, got Log"):
        validate(LogisticRegression(), linear.data, linear.target)
    with pytest.raises(ValueError, match=r"holdout must be strictly between 0 and 1, got 1\.5"):
        validate(BestLeafSelector(choose="training"), linear.data, linear.target, holdout=1.5)


def test_several_classes_and_real_targets(linear):
    X = linear.data
    several = BestLeafSelector(choose="training", epsilon=0.05, random_state=0, max_features=3).fit(
        X, (3 * X[:, 1]).astype(int)
    )
    assert several.support_[[1, 4]].any()
    assert "mean one-against-rest AUC" in str(several.certificate_)
    real = BestLeafSelector(choose="training", epsilon=0.05, random_state=0, max_features=3).fit(X, X[:, 1] - X[:, 2])
    assert real.support_[2]
    assert "concordance index" in str(real.certificate_)


def test_forced_forbidden_and_groups_by_name_and_number(frame, linear):
    settings = {"epsilon": 0.05, "random_state": 0}
    selector = made_selector(choose="training", include=["noise3", 0], exclude=["xz"], **settings).fit(
        frame, linear.target
    )
    assert {"noise3", "x"} <= set(selector.subset_)
    assert "xz" not in selector.subset_
    groups = {"first": ["x", "y", "z"], "second": range(3, 10), "noise": range(10, 30)}
    grouped = made_selector(choose="training", feature_groups=groups, max_features=1, **settings).fit(
        frame, linear.target
    )
    assert list(grouped.subset_) in (["x", "y", "z"], list(frame.columns[3:10]))


def test_small_subsets_are_preferred_only_when_they_pass(linear):
    lattice = FeatureLattice(KNNOracle(linear.data, linear.target))
    settings = {"task": "leaf", "epsilon": 0.03, "delta": 0.05, "expansion": 0.6, "seed": 1}
    found, other = (Search(lattice, **settings, answer=EvaluatedLeaf(small)).run() for small in (True, False))
    leaves = found.leaves
    small = next(leaf for leaf in leaves if leaf.state == found.answer)
    best = next(leaf for leaf in leaves if leaf.state == other.answer)
    rivals = [leaf for leaf in leaves if leaf.label != small.label]
    assert found.gap == max(leaf.upper for leaf in rivals) - small.lower <= 0.03
    assert best.lower == max(leaf.lower for leaf in leaves if leaf.exact)
    smaller = [leaf for leaf in leaves if leaf.exact and len(leaf.state) < len(small.state)]
    assert smaller
    for leaf in smaller:
        assert max(other.upper for other in leaves if other.label != leaf.label) - leaf.lower > 0.03


@pytest.mark.parametrize("budget", [{"max_samples": 1}, {"max_samples": 700}, {"max_time": 1e-6}])
def test_a_budget_ends_the_search_with_an_honest_answer(budget, linear):
    with pytest.warns(ConvergenceWarning, match=r"max_\w+ ended the search before it was settled"):
        selector = made_selector(choose="training", epsilon=0, random_state=0, **budget).fit(linear.data, linear.target)
    assert selector.support_.any()
    assert selector.certificate_.exact_evaluations >= 1
    assert selector.score_ == KNNOracle(linear.data, linear.target).value(selector.subset_)
    assert "Not settled" in str(selector.certificate_)


def test_progress_is_shown_when_asked(linear, capsys):
    BestLeafSelector(choose="training", epsilon=0.05, random_state=0, verbose=1).fit(linear.data, linear.target)
    shown = capsys.readouterr().out
    assert "Selected" in shown
    assert "Not claimed" in shown


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
    assert selector.certificate_.reason == "callback"
    assert watcher.seen[:3] == ["setup", "begin fit", "begin slice"]
    assert watcher.seen.count("end slice") in (3, 4)
    assert watcher.seen[-2:] == ["end fit", "teardown"]


def frame_of(**columns):
    rng = np.random.default_rng(0)
    return pd.DataFrame({"a": rng.random(20), "b": rng.random(20), **columns}, index=range(20))


TWO = np.arange(20) % 2
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
        (
            frame_of(),
            TWO,
            {"estimator": NeighbourVotes(subsample=21)},
            r"subsample must be between 2 and the number of rows \(20\), got 21",
        ),
        (frame_of(), TWO, {"feature_groups": [["a", "b"], ["b"]]}, "must not overlap, got 'b' in groups 0 and 1"),
        (
            frame_of(),
            TWO,
            {"feature_groups": [["a"]]},
            "feature_groups must hold every feature, got none with 'b'",
        ),
        (frame_of(), TWO, {"feature_groups": [["a", "z"]]}, "feature_groups must name features of X, got 'z'"),
        (frame_of(), TWO, {"include": ["a"], "exclude": [0]}, r"must not share features, got \[0\] in both"),
        (frame_of(), TWO, {"include": [2]}, "include must hold names or numbers from 0 to 1, got 2"),
        (frame_of(), TWO, {"exclude": ["a", "b"]}, "exclude must leave at least one of the features, got all 2"),
        (frame_of(), TWO[:19], {}, "inconsistent numbers of samples"),
        (frame_of(), GAP, {}, "Input y contains NaN"),
        (frame_of(), TWO, {"epsilon": 2}, "'epsilon' parameter of BestLeafSelector must be"),
        (
            frame_of(),
            TWO,
            {"search": SearchOptions(stopping="magic")},
            "stopping must be one of sound, paper, got 'magic'",
        ),
        (frame_of(), TWO, {"guarantee": ["local", "luck"]}, "guarantee must be one of .*, got 'luck'"),
        (frame_of(), None, {}, "requires y to be passed"),
        (np.zeros((0, 3)), [], {}, "0 sample"),
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


def test_small_lattices_are_evaluated_whole():
    X, y = load_diabetes(return_X_y=True)
    selector = BestLeafSelector(choose="training", parsimony=0, random_state=0).fit(X[:150, :6], y[:150])
    oracle = KNNOracle(X[:150, :6], y[:150], task="regression")
    subsets = [subset for size in range(1, 7) for subset in combinations(range(6), size)]
    assert selector.certificate_.exact_evaluations == len(subsets) == 63
    assert selector.score_ == max(oracle.value(subset) for subset in subsets)
    assert "All 63 subsets that may be chosen were evaluated" in str(selector.certificate_)
    assert "no other subset" not in " ".join(selector.certificate_.not_claimed)
    assert np.isfinite(selector.feature_scores_).all()
    grown = BestLeafSelector(choose="training", random_state=0, search=SearchOptions(guarantee="grown")).fit(
        X[:150, :6], y[:150]
    )
    assert "of the graph as grown" in str(grown.certificate_)


def test_asking_for_everything_has_a_limit(linear):
    with pytest.raises(ValueError, match=r"guarantee='exhaustive' needs at most 4,194,304 subsets, got 1,073,741,823"):
        BestLeafSelector(choose="training", search=SearchOptions(guarantee="exhaustive")).fit(
            linear.data, linear.target
        )


def test_nothing_beats_a_perfect_subset():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 15))
    for seed in range(6):
        selector = BestLeafSelector(choose="training", random_state=seed, search=SearchOptions(guarantee="grown"))
        selector.fit(X, (X[:, 0] > 0).astype(int))
        assert list(selector.subset_) == [0]
        assert "No subset at all can be better by more than 0.01" in str(selector.certificate_)


def test_a_smaller_answer_is_worth_samples(linear):
    small = BestLeafSelector(choose="training", epsilon=0.01, random_state=0).fit(linear.data, linear.target)
    best = BestLeafSelector(choose="training", epsilon=0.01, random_state=0, parsimony=0).fit(
        linear.data, linear.target
    )
    assert len(small.subset_) < len(best.subset_)
    assert small.score_ >= small.evaluated_[0].score - 0.01
    assert small.certificate_.settled
    assert best.certificate_.samples <= small.certificate_.samples <= 2 * best.certificate_.samples + 1


def test_examples_kept_aside_never_touch_the_search(linear):
    X, y = linear.data, linear.target
    selector = BestLeafSelector(choose="training", epsilon=0.02, random_state=0)
    held = validate(selector, X, y, holdout=0.25)
    found = held.selector.certificate_
    assert found.content["data"]["rows"] == 225
    assert found.content["unseen"]["rows"] == 75
    assert 0.9 < held.score <= 1
    assert "On 75 rows kept from the search" in str(found)
    kept, _ = split_of(0.25, X, y, None, 0)
    assert verify(found, X[kept], y[kept])
    assert not hasattr(selector, "support_")  # a copy was fitted
    real = validate(
        BestLeafSelector(choose="training", epsilon=0.1, random_state=0, max_features=3),
        X,
        X[:, 1] - X[:, 2],
        holdout=0.3,
    )
    assert real.score > 0.8


def test_all_subsets_are_evaluated_when_asked_and_the_best_is_the_answer():
    X, y = load_wine(return_X_y=True)
    settings = {"guarantee": "exhaustive", "random_state": 0, "epsilon": 0.01}
    found = made_selector(choose="training", **settings, parsimony=0).fit(X[:, :8], y)
    assert found.certificate_.exact_evaluations == 255
    assert found.score_ == found.evaluated_[0].score
    small = made_selector(choose="training", **settings).fit(X[:, :8], y)
    assert small.score_ >= found.score_ - 0.01
    assert len(small.subset_) <= len(found.subset_)


def test_a_certificate_with_a_holdout_is_about_the_rows_that_were_searched(linear):
    held = validate(BestLeafSelector(choose="training", random_state=0), linear.data, linear.target, holdout=0.25)
    found, rows = held.selector, held.rows
    assert len(rows) == 225
    assert verify(found.certificate_, linear.data[rows], linear.target[rows])
    assert "about 225 rows, got 300" in str(verify(found.certificate_, linear.data, linear.target))
    with pytest.raises(ValueError, match="X and y must be given together, got only X"):
        verify(found.certificate_, linear.data)
    with pytest.raises(TypeError, match="got a BestLeafSelector"):
        verify(found)


def test_text_and_misspelt_names_are_named():
    with pytest.raises(ValueError, match="X must hold numbers only, got an array of text"):
        BestLeafSelector(choose="training").fit(np.array([["a", "b"]] * 20), TWO)
    with pytest.raises(ValueError, match=r"got 'bb' \(did you mean 'b'\?\)"):
        BestLeafSelector(choose="training", include=["bb"]).fit(frame_of(), TWO)
    with pytest.raises(ValueError, match="because X has no names, got 'b'"):
        BestLeafSelector(choose="training", include=["b"]).fit(frame_of().to_numpy(), TWO)


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        *((name, "exclude, max_features or feature_groups") for name in ("costs", "max_cost", "at_most")),
        *((name, rf"search=SearchOptions\({name}=") for name in ("guarantee", "max_samples", "bound")),
        ("forced", "include"),
        ("forbidden", "exclude"),
        ("prefer_small", "parsimony=0 for the best subset"),
        ("score_range", "a scoring that has bounds"),
        ("max_memory", "max_features or exclude"),
        ("n_repeats", "several fits with different values of random_state"),
    ],
)
def test_a_keyword_that_is_gone_says_what_to_use(name, instead):
    with pytest.raises(TypeError, match=f"BestLeafSelector got .* does not have, '{name}'; use {instead}"):
        BestLeafSelector(**{name: 1})


@pytest.mark.parametrize("name", ["batch_size", "continue_probability", "alpha", "terminal"])
def test_an_option_that_is_gone_says_what_to_use(name):
    with pytest.raises(TypeError, match=f"SearchOptions got .* does not have, '{name}'; use "):
        SearchOptions(**{name: 1})


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
    assert all(verify(found.certificate_, X, y) for found in answers.values())
    with pytest.raises(ValueError, match=r"parsimony must be at most epsilon=0\.02 with choose='training'"):
        made_selector(**settings, parsimony=0.5).fit(X, y)
