"""The selector as a scikit-learn citizen, what it answers, and what it says of bad input."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from bestleaf import BestLeafSelector, NeighbourVotes, SearchOptions, validate, verify
from bestleaf.features.neighbours import KNNOracle
from bestleaf.memory import Memory
from bestleaf.paper import load_linear
from selecting import made_selector


@parametrize_with_checks([BestLeafSelector(), BestLeafSelector(choose="training")])
@pytest.mark.filterwarnings("ignore:X has .* rows, too little to choose")
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


@pytest.fixture(scope="module")
def chosen(frame, linear):
    return BestLeafSelector(random_state=0).fit(frame.iloc[:, :10], linear.target)


# ---- columns for new rows


def test_attributes_of_a_choice_fit_together(chosen, frame):
    path, found = chosen.path_, chosen.certificate_
    assert list(chosen.subset_) == list(frame.columns[:10][chosen.support_]) == list(chosen.get_feature_names_out())
    assert chosen.n_features_ == len(chosen.subset_) == chosen.support_.sum() == len(found.features)
    assert chosen.ranking_[chosen.support_].tolist() == [1] * chosen.n_features_
    assert (chosen.ranking_[~chosen.support_] > 1).all()
    low, high = chosen.score_interval_
    assert low < chosen.score_ < high
    assert chosen.score_ == found.new_rows.score == pytest.approx(np.mean(list(found.new_rows.judges.values())))
    assert chosen.difference_interval_[0] <= chosen.difference_ <= chosen.difference_interval_[1]
    assert path.at(chosen.n_features_).features == tuple(chosen.subset_)
    assert [row.size for row in path] == sorted({row.size for row in path})
    assert path[-1].features == tuple(frame.columns[:10])
    assert path[-1].difference == 0
    table, results = pd.DataFrame(path), pd.DataFrame(chosen.cv_results_)
    assert table["size"].tolist() == results.n_features.tolist()
    assert table.difference.tolist() == results.mean_difference.tolist()
    judges = results[[name for name in results if name.startswith("difference_") and name != "difference_error"]]
    assert judges.shape[1] == 3
    assert judges.mean(axis=1).to_numpy() == pytest.approx(results.mean_difference.to_numpy())
    assert str(path).splitlines()[0].split() == ["size", "to", "all", "±", "s.e.", "score", "columns"]
    assert not hasattr(chosen, "evaluated_")
    assert not hasattr(chosen, "training_score_")
    assert not hasattr(chosen, "predict")
    assert found.search is None
    assert verify(found)


def test_another_size_is_a_selector_of_its_own(chosen, frame, linear):
    X = frame.iloc[:, :10]
    before = str(chosen.certificate_)
    small = chosen.at_size(1)
    assert (small.n_features_, small.transform(X).shape) == (1, (300, 1))
    assert np.isnan(small.score_)  # that of the path is too high
    assert np.isnan(small.difference_)
    assert small.score_interval_ is None
    assert small.certificate_.path.asked
    assert small.certificate_.new_rows is None
    assert verify(small.certificate_)
    assert chosen.at_size(10).support_.all()
    assert [row.size for row in chosen.path_] == [1, 2, 3, 4, 5, 6, 8, 10]
    with pytest.warns(UserWarning, match="no set of size 7; this is its set of size 6, the next smaller one"):
        assert chosen.at_size(7).n_features_ == 6
    with pytest.raises(ValueError, match="size must be at most 10, the number of columns, got 100"):
        chosen.at_size(100)
    with pytest.raises(AttributeError, match=r"predict needs one estimator: BestLeafSelector\(estimator=\.\.\.\)"):
        chosen.predict(X)
    assert chosen.at_size(chosen.n_features_).score_ == chosen.score_
    assert small.at_size(chosen.n_features_).subset_.tolist() == chosen.subset_.tolist()
    assert str(chosen.certificate_) == before
    assert validate(small, frame.iloc[::3, :10] + 1e-3, linear.target[::3]).score > 0.5
    for size, error in ((0, ValueError), ("two", TypeError)):
        with pytest.raises(error, match="size must be"):
            chosen.at_size(size)
    limited = BestLeafSelector(random_state=0, max_features=2, cv=3).fit(X.iloc[:, :4], linear.target)
    with pytest.raises(ValueError, match="size must be at most 2"):
        limited.at_size(4)


def test_a_size_may_be_asked_for(frame, linear):
    asked = BestLeafSelector(random_state=0, n_features_to_select=2, cv=3).fit(frame.iloc[:, :6], linear.target)
    assert asked.n_features_ == 2
    assert asked.certificate_.path.asked


def test_a_second_fit_leaves_nothing_of_the_first(linear):
    X, y, known = linear.data[:, :4], linear.target, {}
    for keywords in ({"choose": "training"}, {"choose": "new_data", "cv": 3}):
        known[keywords["choose"]] = vars(BestLeafSelector(random_state=0, **keywords).fit(X, y)).keys()
    selector = BestLeafSelector(random_state=0, choose="training").fit(X, y)
    assert vars(selector.set_params(choose="new_data", cv=3).fit(X, y)).keys() == known["new_data"]
    assert vars(selector.set_params(choose="training", cv=None).fit(X, y)).keys() == known["training"]


def test_processes_change_nothing(linear):
    X, y = linear.data[:, :5], linear.target
    one, two = (BestLeafSelector(GaussianNB(), cv=3, random_state=0, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    assert one.certificate_.path == two.certificate_.path
    assert one.score_ == two.score_


def test_a_fitted_selector_is_small_in_a_file_and_comes_back(chosen, frame, linear):
    X = frame.iloc[:, :10]
    text = pickle.dumps(chosen)
    assert len(text) < 60_000
    back = pickle.loads(text)
    assert back.certificate_ == chosen.certificate_
    assert (back.transform(X) == chosen.transform(X)).all(axis=None)
    assert back.at_size(2).n_features_ == 2
    with pytest.raises(ValueError, match="which are not kept in a file: fit it again"):
        validate(back, X, linear.target)


def test_one_estimator_is_the_judge_and_predicts(linear):
    X, y = linear.data[:, :6], np.array(["no", "yes"])[linear.target]
    found = BestLeafSelector(LogisticRegression(), scoring="roc_auc", cv=3, random_state=0).fit(X, y)
    own = LogisticRegression().fit(X[:, found.support_], y)
    assert (found.predict(X) == own.predict(X[:, found.support_])).all()
    assert found.score(X, y) > 0.9
    assert len(found.certificate_.new_rows.judges) == 1
    one = found.at_size(1)
    assert (one.predict(X) == LogisticRegression().fit(X[:, one.support_], y).predict(X[:, one.support_])).all()
    with pytest.raises(ValueError, match="predict needs the rows of the fit"):
        pickle.loads(pickle.dumps(one)).predict(X)
    assert pickle.loads(pickle.dumps(found)).predict(X).tolist() == found.predict(X).tolist()
    panel = BestLeafSelector([GaussianNB(), LogisticRegression()], cv=3, random_state=0).fit(X, y)
    assert len(panel.certificate_.new_rows.judges) == 2
    assert not hasattr(panel, "predict")


def test_the_order_of_columns_and_the_names_of_classes_change_nothing(linear):
    X, rng = linear.data[:, :9], np.random.default_rng(3)
    y = np.digitize(X[:, 1] + X[:, 2], [-0.5, 0.8])
    order, labels = rng.permutation(9), rng.permutation(3)
    frames = (
        pd.DataFrame(X, columns=list("abcdefghi")),
        pd.DataFrame(X[:, order], columns=list(np.array(list("abcdefghi"))[order])),
    )
    one = BestLeafSelector(random_state=0, cv=3).fit(frames[0], y)
    for table, target in ((frames[1], y), (frames[0], labels[y]), (frames[1], labels[y])):
        other = BestLeafSelector(random_state=0, cv=3).fit(table, target)
        assert set(other.subset_) == set(one.subset_)
        assert other.score_ == pytest.approx(one.score_, abs=1e-9)
        assert [set(row.features) for row in other.path_] == [set(row.features) for row in one.path_]


@pytest.mark.parametrize("rows", [90, 2100])
def test_folds_in_the_order_of_time_have_no_score_by_rows_that_know_the_future(rows):
    rng = np.random.default_rng(0)
    X, hidden = np.cumsum(rng.normal(size=(rows, 3)), axis=0), np.cumsum(rng.normal(size=rows))
    y = hidden > np.median(hidden)
    found = BestLeafSelector(random_state=0, cv=TimeSeriesSplit(3)).fit(X, y)
    assert found.certificate_.new_rows is None
    assert np.isnan(found.score_)
    assert "cv scores later rows only" in found.certificate_.told.notes[0]
    assert verify(found.certificate_, X, y)


def test_test_rows_are_kept_aside_and_prove_something(linear):
    X, y = linear.data[:, :6], linear.target
    found = BestLeafSelector(random_state=0, holdout=0.3, cv=3).fit(X, y)
    claim, data = found.certificate_.new_rows, found.certificate_.data
    assert (claim.how, claim.rows, claim.trained, data.rows) == ("test rows", 90, 210, 210)
    assert claim.interval == found.score_interval_
    assert verify(found.certificate_, X, y)
    assert BestLeafSelector(random_state=0, holdout=0, cv=3).fit(X, y).certificate_.new_rows.how == "nested folds"


def test_the_score_of_all_columns_does_not_come_from_the_folds_that_preferred_them():
    rng = np.random.default_rng([0, 60, 8])
    X, y = rng.normal(size=(60, 8)), rng.permutation(np.arange(60) % 2)  # noise
    found = BestLeafSelector(random_state=0).fit(X, y)
    assert found.support_.all()
    assert found.certificate_.path.rows[-1].score > 0.58
    assert found.score_ < 0.52
    assert found.difference_ == 0.0
    assert verify(found.certificate_, X, y)


TINY = [
    (12, lambda X: (X[:, 0] > 0).astype(int), "X has 12 rows"),
    (30, lambda X: np.arange(30) == 7, "only one class has 5 rows or more"),
    (8, lambda X: X[:, 0], "X has 8 rows"),
]


@pytest.mark.parametrize(("rows", "target", "words"), TINY)
def test_a_tiny_table_keeps_all_columns_and_says_so(rows, target, words):
    X = np.random.default_rng(0).normal(size=(rows, 4))
    with pytest.warns(UserWarning, match=f"{words}, too little to choose by cross-validation: the answer is all col"):
        found = BestLeafSelector(random_state=0).fit(X, target(X))
    assert found.support_.all()
    assert np.isnan(found.score_)
    assert found.score_interval_ is None
    assert words in found.certificate_.told.notes[0]
    with pytest.warns(UserWarning, match="the answer is the first 2 columns that forward selection adds"):
        assert BestLeafSelector(n_features_to_select=2).fit(X, target(X)).n_features_ == 2
    assert verify(found.certificate_)


@pytest.mark.parametrize("rows", [20, 21, 25, 40])
def test_small_tables_never_end_in_an_error_about_folds(rows):
    rng = np.random.default_rng(rows)
    X = rng.normal(size=(rows, 5))
    rare = np.where(np.arange(rows) < 6, 1, np.where(np.arange(rows) == 9, 2, 0))
    for y in (X[:, 0], rare, np.round(X[:, 1])):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", ".*too little to choose")
            found = BestLeafSelector(random_state=0).fit(X, y)
        assert verify(found.certificate_)


def test_progress_shows_folds_and_callbacks_may_end_the_choice(linear, capsys, monkeypatch):
    pytest.importorskip("sklearn.callback")
    monkeypatch.setattr("bestleaf.search.progress.EVERY", 0.0)

    class Watcher:
        folds = 0

        def setup(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            self.folds += context.task_name == "fold"
            return self.folds >= 2

        def teardown(self, estimator, context):
            pass

    selector = BestLeafSelector(random_state=0, verbose=1, cv=5).set_callbacks(Watcher())
    with pytest.warns(ConvergenceWarning, match=r"Ctrl-C or a callback ended the choice after \d+ of \d+ folds"):
        selector.fit(linear.data[:, :6], linear.target)
    said = capsys.readouterr().out
    assert "Choosing by cross-validation: 1 of " in said
    assert selector.certificate_.reason == "interrupted"


def test_keywords_of_one_way_are_refused_in_the_other(linear):
    X, y = linear.data[:, :3], linear.target
    for keywords, words in (
        ({"choose": "training", "holdout": 0.2}, "holdout needs choose='new_data', got choose='training'"),
        ({"choose": "training", "n_features_to_select": 2}, "n_features_to_select needs choose='new_data'"),
        ({"choose": "training", "estimator": [Ridge()]}, "estimator must be one estimator or None with choose='train"),
        ({"search": SearchOptions()}, "search needs choose='training', got choose='new_data'"),
        ({"estimator": [Ridge(), GaussianNB()]}, "a list of estimators of one kind, got classifiers and regressors"),
        ({"cv": [(range(40), range(40, 60))], "holdout": 0.2}, "cv must be a number or a splitter with holdout"),
    ):
        with pytest.raises(ValueError, match=words):
            BestLeafSelector(**keywords).fit(X, y)


# ---- budgets, Ctrl-C, memory


def test_without_time_a_part_of_the_rows_drawn_by_the_seed_is_scored():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(16_000, 3))
    y = X[:, 0] + rng.normal(size=16_000) > 0
    X, y = X[np.argsort(y, kind="stable")], np.sort(y)  # sorted by target
    with pytest.warns(ConvergenceWarning, match="max_time ended the choice"):
        found = BestLeafSelector(random_state=0, max_time=1e-6).fit(X, y)
    claim = found.certificate_.new_rows
    assert (claim.trained, claim.rows, found.certificate_.data.rows) == (10_000, 4_000, 12_000)
    assert claim.interval[0] > 0.7
    assert verify(found.certificate_, X, y)


def test_less_time_is_a_prefix_of_the_folds(linear, clock):
    X, y = linear.data[:, :8], linear.target
    whole = BestLeafSelector(random_state=0, cv=3).fit(X, y)
    folds = set()
    for limit in (0.5, 2.0, 5.0, 50.0):
        clock.tick = 0.02  # simulated seconds for each look at the clock
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = BestLeafSelector(random_state=0, cv=3, max_time=limit).fit(X, y)
        path = found.certificate_.path
        folds.add(path.folds)
        assert verify(found.certificate_)
        if found.certificate_.reason == "settled":
            assert found.certificate_.path == whole.certificate_.path
        if path.folds == 0:
            assert found.support_.all()
    assert len(folds) > 1


RUN = textwrap.dedent("""
    import sys, warnings
    import numpy as np
    from bestleaf import BestLeafSelector
    from bestleaf.paper import make_linear
    from sklearn.naive_bayes import GaussianNB

    warnings.simplefilter("ignore")
    X, y = make_linear(400, 30, seed=1, return_X_y=True)
    holdout = 0.3 if sys.argv[2] == "test rows" else 0
    selector = BestLeafSelector(random_state=0, holdout=holdout, memory=sys.argv[1] or None)
    print("fit", flush=True)
    selector.fit(X, y)
    found = selector.certificate_
    print(selector.score_.hex(), selector.subset_.tolist(), [one.score.hex() for one in found.path.rows])
""")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["nested folds", "test rows"])
def test_kills_change_nothing(tmp_path, how):
    def run(memory):
        command = [sys.executable, "-c", RUN, str(memory), how]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    expected = run("").communicate()[0]
    assert "[" in expected
    file, rng = tmp_path / "run.db", np.random.default_rng(0)
    for _ in range(3):
        process = run(file)
        assert process.stdout.readline() == "fit\n"
        time.sleep(float(rng.uniform(0.05, 1.0)))
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert run(file).communicate()[0] == expected
    begun = time.perf_counter()
    assert run(Memory(file).path).communicate()[0] == expected
    assert time.perf_counter() - begun < 60


def test_a_memory_may_be_given_itself_and_ends_what_a_budget_cut(tmp_path, linear, clock):
    X, y, memory = linear.data[:, :5], linear.target, Memory(tmp_path / "run.db")
    unbroken = BestLeafSelector(random_state=0, cv=3).fit(X, y)
    clock.tick = 0.02
    with pytest.warns(ConvergenceWarning, match="max_time ended the choice"):
        BestLeafSelector(random_state=0, cv=3, memory=memory, max_time=2).fit(X, y)
    for selector in (clone(BestLeafSelector(random_state=0, cv=3, memory=memory)),) * 2:
        found = selector.fit(X, y)
        assert found.certificate_.path == unbroken.certificate_.path
        assert found.certificate_.new_rows == unbroken.certificate_.new_rows
    seeds = {BestLeafSelector(cv=3, memory=memory).fit(X, y).certificate_.path.seed for _ in range(2)}
    assert len(seeds) == 1  # a call without a seed has that of the first time


def test_ctrl_c_in_the_choice_ends_it_soon_and_the_second_one_at_once(linear):
    presses = []

    class Pressing(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            presses.append(X.shape[1])
            for _ in range(self.times if len(presses) == self.at else 0):
                os.kill(os.getpid(), signal.SIGINT)
            return super().fit(X, y)

    for at in (1, 5, 30):
        presses.clear()
        Pressing.at, Pressing.times = at, 1
        with pytest.warns(ConvergenceWarning, match="Ctrl-C or a callback ended the choice after"):
            found = BestLeafSelector(Pressing(), cv=3, random_state=0).fit(linear.data[:, :8], linear.target)
        assert found.certificate_.reason == "interrupted"
        assert len(presses) <= at + 2
        assert verify(found.certificate_)
    presses.clear()
    Pressing.at, Pressing.times = 5, 2
    with pytest.raises(KeyboardInterrupt):
        BestLeafSelector(Pressing(), cv=3, random_state=0).fit(linear.data[:, :8], linear.target)


# ---- the paper's search


def test_fitted_attributes_fit_together(fitted, frame, linear):
    assert list(fitted.subset_) == list(frame.columns[fitted.support_]) == list(fitted.get_feature_names_out())
    columns = np.flatnonzero(fitted.support_)
    assert fitted.score_ == KNNOracle(linear.data, linear.target).value(columns) == fitted.training_score_
    assert fitted.score_interval_ == (fitted.score_, fitted.score_)
    assert fitted.difference_ == fitted.score_ - fitted.certificate_.told.all_features
    assert sorted(fitted.ranking_[~fitted.support_]) == list(range(2, 32 - fitted.n_features_))
    assert fitted.path_ is None
    assert fitted.n_features_in_ == 30
    assert list(fitted.feature_names_in_) == list(frame.columns)
    scores = [subset.score for subset in fitted.evaluated_]
    assert scores == sorted(scores, reverse=True)
    cost = fitted.certificate_.cost
    assert len(scores) == cost.exact_evaluations
    by_size = fitted.evaluated_.by_size()
    assert list(by_size) == sorted(by_size)
    assert all(
        best.score == max(s.score for s in fitted.evaluated_ if len(s.features) == n) for n, best in by_size.items()
    )
    assert fitted.feature_scores_.shape == (30,)
    assert 0 < fitted.feature_scores_.min() < fitted.feature_scores_.max() < 1
    assert cost.samples > cost.warmup_samples >= 600
    assert pickle.loads(pickle.dumps(fitted)).certificate_ == fitted.certificate_
    history = pd.DataFrame(fitted.history_)
    assert history.seconds.is_monotonic_increasing
    assert history.samples.is_monotonic_increasing
    assert history.samples.iloc[-1] == cost.samples
    with pytest.raises(ValueError, match="at_size needs a path: fit with choose='new_data'"):
        fitted.at_size(2)


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


def test_twenty_parameters_and_those_of_votes_and_search_inside():
    selector = BestLeafSelector(choose="training", estimator=NeighbourVotes(), search=SearchOptions())
    assert len(selector.get_params(deep=False)) == 20
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
    assert selector.certificate_.cost.exact_evaluations >= 1
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
        (frame_of(), TWO, {"feature_groups": [["a", "z"]]}, "feature_groups must name features of X, got 'z'"),
        (frame_of(), TWO, {"include": ["a"], "exclude": [0]}, "must not share features, got"),
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
    if not {"stopping", "guarantee"} & keywords.keys() and len(X) == 20 and "n_neighbors" not in sentence:
        with pytest.raises(ValueError, match=sentence):
            BestLeafSelector(**keywords).fit(X, y)


def test_constant_columns_are_named_and_left_out():
    with pytest.warns(UserWarning, match=r"columns \['c'\] are constant and left out"):
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
    assert (
        answers[None].certificate_.cost.samples <= 2 * answers[0].certificate_.cost.samples + 1
    )  # of these, half for it
    assert all(verify(found.certificate_, X, y) for found in answers.values())
    with pytest.raises(ValueError, match=r"parsimony must be at most epsilon=0\.02 with choose='training'"):
        made_selector(**settings, parsimony=0.5).fit(X, y)
