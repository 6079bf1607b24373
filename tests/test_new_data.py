"""Selections that left-out rows decide: what is answered, under odd conditions too, and what is refused."""

from __future__ import annotations

import os
import pickle
import signal
import warnings

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, KFold, TimeSeriesSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import genuine
from bestleaf import BestLeafSelector, Certificate, EstimatorOracle, NeighbourVotes, SearchOptions, validate, verify
from bestleaf.certificate import verify_path
from bestleaf.new_data import choosing, families, left_out
from bestleaf.new_data.fitted_families import importance_of
from conftest import binomial_margin
from forging import changed, judged, reworded, rewritten, twin
from selecting import made_selector
from test_families import table

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")]
SMALL = {"random_state": 0, "cv": 3, "max_samples": 300}  # few folds, and no clock
LOGISTIC = make_pipeline(StandardScaler(), LogisticRegression())


def noisy(seed=0, rows=60):
    return genuine.table(seed, rows=rows)


def clear(rows=60, columns=6, classes=2, seed=0):
    """Return a table in which three columns tell the class."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    latent = X[:, :3].sum(axis=1) + rng.normal(size=rows)
    return X, np.searchsorted(np.quantile(latent, np.arange(1, classes) / classes), latent)


def fitted(X, y, estimator=None, metadata=None, **settings):
    return made_selector(estimator, **{**SMALL, **settings}).fit(X, y, **(metadata or {}))


def without_times(selector):
    """Return the content of the certificate of a selector without what depends on the clock."""
    content = {**selector.certificate_.content, "cost": {**selector.certificate_.content["cost"], "seconds": 0}}
    return {name: value for name, value in content.items() if name not in ("report", "summary", "words")}


@pytest.fixture(scope="module", autouse=True)
def small_models():
    """Let candidates be found with smaller forests and fewer random subsets; the tests are of what comes after."""
    with pytest.MonkeyPatch.context() as change:
        for name, value in {"TREES": 10, "FEWEST_SUBSETS": 100, "MOST_SUBSETS": 100}.items():
            change.setattr(families, name, value)
        yield


@pytest.fixture(scope="module")
def by_default():
    """Return a table, and a selector with the default folds fitted on it."""
    X, y = noisy()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    return frame, y, BestLeafSelector(random_state=0, search=SearchOptions(max_samples=300)).fit(frame, y)


# ---- what is answered


def test_the_answer_is_a_row_of_the_path(by_default):
    _, _, selector = by_default
    new_data = selector.certificate_.content["new_data"]
    assert (new_data["folds"], new_data["rows"]) == (20, 60)
    assert [row.size for row in selector.path_] == [1, 2, 3, 4, 5, 6]
    chosen = selector.path_.at(new_data["size"])
    assert set(chosen.features) == set(selector.subset_)
    assert selector.path_[-1].family == "all features"
    assert selector.path_[-1].features == tuple("abcdef")
    assert selector.score_ == chosen.training == selector.score_interval_[0]
    assert selector.optimism_ == pytest.approx(chosen.training - new_data["judged"]["left_out"])
    assert selector.support_.sum() == len(selector.subset_) == chosen.size
    for row in selector.path_:
        assert row.difference == pytest.approx(row.left_out - selector.path_[-1].left_out)
    shown = pd.DataFrame(selector.path_)
    names = ["size", "features", "family", "training", "left_out", "standard_error", "difference", "difference_error"]
    assert list(shown.columns) == names
    assert len(shown) == len(str(selector.path_).splitlines()) - 1 == 6


def test_a_selector_of_every_size_has_a_certificate_that_holds(by_default):
    frame, y, selector = by_default
    assert verify(selector.certificate_, frame, y)
    before = pickle.dumps(selector.certificate_.content)
    for row in selector.path_:
        other = selector.at_size(row.size)
        assert verify(other.certificate_, frame, y), row.size
        assert set(other.subset_) == set(row.features)
        assert other.transform(frame).shape == (60, row.size)
        assert other.score_ == pytest.approx(row.training)
        back = other.at_size(len(selector.subset_))
        assert set(back.subset_) == set(selector.subset_)
        assert verify(back.certificate_, frame, y)
    assert pickle.dumps(selector.certificate_.content) == before
    assert len(selector.at_size(1000).subset_) == 6
    with pytest.raises(ValueError, match="size must be a whole number of at least 1, got 0"):
        selector.at_size(0)


# ---- what it does not depend on


def test_candidates_of_a_fold_do_not_depend_on_the_rows_left_out(monkeypatch):
    X, y = noisy(3)
    splits = [(np.arange(40), np.arange(40, 50)), (np.arange(40), np.arange(50, 60))]
    found, real = [], left_out.candidates_on
    monkeypatch.setattr(left_out, "candidates_on", lambda part: found.append(real(part)) or found[-1])
    fitted(X, y, cv=splits)
    changed, other_y = X.copy(), y.copy()
    changed[40:] = 5 * np.random.default_rng(0).normal(size=(20, 6))
    other_y[40:] = np.arange(20) % 2
    fitted(changed, other_y, cv=splits)
    assert len(found) == 4
    assert found[:2] == found[2:]


@pytest.mark.parametrize(("estimator", "more"), [(None, {}), (LOGISTIC, {"max_samples": 60, "epsilon": 0.9})])
def test_the_same_seed_gives_the_same_and_workers_change_nothing(estimator, more):
    X, y = noisy(4)
    once = without_times(fitted(X, y, estimator, **more))
    assert without_times(fitted(X, y, estimator, **more)) == once
    with parallel_config("threading"):
        assert without_times(fitted(X, y, estimator, n_jobs=2, **more)) == once


@pytest.mark.parametrize("turned", ["rows", "columns"])
def test_the_order_of_rows_and_columns_changes_only_what_is_drawn(turned, by_default):
    frame, y, selector = by_default
    order = np.random.default_rng(0).permutation(60 if turned == "rows" else 6)
    frame, y = (frame.iloc[order], y[order]) if turned == "rows" else (frame.iloc[:, order], y)
    other = BestLeafSelector(random_state=0, search=SearchOptions(max_samples=300)).fit(frame, y)
    for one, same in zip(selector.path_[1:], other.path_[1:], strict=True):  # folds differ, or what breaks ties
        assert abs(one.left_out - same.left_out) <= 2.5 * np.hypot(one.standard_error, same.standard_error)
    assert {"a", "d"} <= set(selector.subset_) & set(other.subset_)


# ---- which rows are left out


def test_where_nothing_can_be_left_out_the_rows_given_decide():
    X, y = noisy(5)
    rare = np.arange(60) == 7
    for some, target, estimator, settings in (
        (X[:19], y[:19], None, {"cv": None}),
        (X, rare, None, {"cv": None}),
        (X, y, NeighbourVotes(55), {}),  # folds have too few rows for so many neighbours
        (X[:, :1], y, None, {}),
        (X, y, None, {"include": range(6)}),
    ):
        selector = fitted(some, target, estimator, **settings)
        assert selector.path_ is None
        assert selector.optimism_ is None
        assert "new_data" not in selector.certificate_.content
        assert verify(selector.certificate_, some, target)
        with pytest.raises(ValueError, match="at_size needs a path: fit with choose='new_data' and at least 20 rows"):
            selector.at_size(1)
    assert fitted(X[:20], np.arange(20) % 2, cv=None).path_ is not None
    assert fitted(X, y, NeighbourVotes(subsample=58)).path_ is not None


def test_groups_and_time_order_are_kept(monkeypatch):
    X, y = noisy(7)
    seen, real = [], choosing.folds_of

    def noted(*given):
        rounds = real(*given)
        seen.append([split for one in rounds for split in one])
        return rounds

    monkeypatch.setattr(choosing, "folds_of", noted)
    groups = np.arange(60) // 4
    fitted(X, y, metadata={"groups": groups}, cv=None)
    fitted(X, y, metadata={"groups": groups}, cv=GroupKFold(3))
    fitted(X, y, metadata={"groups": groups}, cv=3)
    assert [len(folds) for folds in seen] == [10, 3, 3]
    assert all(not set(groups[kept]) & set(groups[aside]) for folds in seen for kept, aside in folds)
    seen.clear()
    fitted(X, y, cv=TimeSeriesSplit(3))
    assert len(seen[0]) == 3
    assert all(kept.max() < aside.min() for kept, aside in seen[0])


# ---- budgets


def count_folds(monkeypatch, after_a_fold):
    """Call a function after each fold, with the number of folds done."""
    real, done = choosing.score_folds, []

    def scored(plan, items):
        found = real(plan, items)
        done.append(items)
        after_a_fold(len(done))
        return found

    monkeypatch.setattr(choosing, "score_folds", scored)


@pytest.mark.parametrize(("seconds", "folds"), [(10.0, 7), (2.0, None)])
def test_time_that_is_over_ends_the_choice_and_there_is_an_answer(clock, monkeypatch, seconds, folds):
    for module in (choosing, left_out):
        monkeypatch.setattr(module, "time", clock)
    count_folds(monkeypatch, lambda done: clock.advance(1.0))
    X, y = noisy(8)
    selector = fitted(X, y, cv=None, max_time=seconds)
    assert len(selector.subset_) >= 1
    assert verify(selector.certificate_, X, y)
    if folds is None:  # too few to choose by
        assert selector.path_ is None
    else:  # six of the ten seconds are for the choice
        assert selector.certificate_.content["new_data"]["folds"] == folds


def test_too_little_time_is_said_and_there_is_an_answer():
    X, y = noisy(9)
    with pytest.warns(ConvergenceWarning) as told:
        selector = fitted(X, y, max_time=1e-6)
    assert "max_time=1e-06 ended the choice by left-out rows before enough folds" in str(told[0].message)
    assert selector.path_ is None
    assert verify(selector.certificate_, X, y)


@pytest.mark.parametrize("at_fold", [1, 5])
def test_ctrl_c_in_the_choice_gives_an_answer(monkeypatch, at_fold):
    count_folds(monkeypatch, lambda done: done == at_fold and os.kill(os.getpid(), signal.SIGINT))
    X, y = noisy(10)
    selector = fitted(X, y, cv=None)
    assert selector.certificate_.reason == "interrupted"
    assert (selector.path_ is None) == (at_fold < choosing.FEWEST_FOLDS)
    assert len(selector.subset_) >= 1
    assert verify(selector.certificate_, X, y)


# ---- estimators


@pytest.mark.parametrize(
    ("estimator", "kinds", "tried"),
    [
        (LOGISTIC, 2, {"elimination"}),
        (HistGradientBoostingClassifier(max_iter=5, random_state=0), 3, {"importance", "F-test", "L1 path"}),
        (Ridge(), 0, {"elimination"}),
    ],
    ids=["logistic", "boosting", "ridge"],
)
def test_an_estimator_is_scored_on_left_out_rows(estimator, kinds, tried):
    X, y = table(11, 60, 6, kinds)
    selector = fitted(X, y, estimator, max_samples=40, epsilon=0.9)
    assert set(selector.certificate_.content["new_data"]["families"]) == tried
    assert {0, 3} <= set(selector.subset_)
    assert all(np.isfinite(row.left_out) for row in selector.path_)
    for row in selector.path_:
        assert verify(selector.at_size(row.size).certificate_, X, y)


def test_weights_and_groups_reach_the_estimator():
    X, y = noisy(12)
    groups, weights = np.arange(60) // 4, np.where(np.arange(60) < 30, 1.0, 0.0)
    y[30:] = np.arange(30) % 2  # noise of no weight
    settings = {"cv": GroupKFold(3), "max_samples": 40, "epsilon": 0.9}
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    both = fitted(X, y, tree, {"groups": groups, "sample_weight": weights}, **settings)
    alone = fitted(X, y, tree, {"groups": groups}, **settings)
    assert both.path_[-1].left_out > alone.path_[-1].left_out
    assert both.certificate_.content["new_data"]["folds"] == 3


# ---- noise


def test_shuffled_labels_are_not_called_good():
    """The mean score of 12 tables is within 3 of its standard errors of guessing.

    If 5 % of tables are more than 2 standard errors above guessing, at most 2 of 12 are so with 95 %.
    """
    tables, scores, called_good = 12, [], 0
    for seed in range(tables):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(60, 5)), rng.permutation(np.arange(60) % 2)
        selector = BestLeafSelector(random_state=seed, search=SearchOptions(max_samples=100)).fit(X, y)
        scores.append(selector.certificate_.content["new_data"]["judged"]["left_out"])
        called_good += "cannot be told from guessing" not in selector.certificate_.summary()
    assert abs(np.mean(scores) - 0.5) <= 3 * np.std(scores, ddof=1) / tables**0.5
    assert called_good <= binomial_margin(tables, 0.05, 0.05) == 2


# ---- scikit-learn


@parametrize_with_checks([BestLeafSelector(cv=2, epsilon=0.9, random_state=0)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_parameters_copies_and_pickles():
    X, y = noisy(13)
    selector = made_selector(**SMALL, parsimony=0.5)
    assert clone(selector).get_params()["parsimony"] == 0.5
    selector.fit(X, y)
    again = pickle.loads(pickle.dumps(selector))
    assert again.path_ == selector.path_
    assert again.at_size(2).subset_.tolist() == selector.at_size(2).subset_.tolist()
    with pytest.raises(ValueError, match=r"'choose' parameter .* must be a str among"):
        BestLeafSelector(choose="old_data").fit(X, y)
    with pytest.raises(ValueError, match=r"'parsimony' parameter .* must be a float in the range"):
        BestLeafSelector(parsimony=-1).fit(X, y)


def test_held_out_rows_choose_nothing():
    X, y = noisy(14, 80)
    selector = made_selector(**SMALL)
    found = validate(selector, X, y, holdout=0.25)
    alone = clone(selector).fit(X[found.rows], y[found.rows])
    assert found.selector.subset_.tolist() == alone.subset_.tolist()
    assert found.selector.path_ == alone.path_
    assert verify(found.selector.certificate_, X[found.rows], y[found.rows])


# ---- odd tables, estimators and splits


def few_rows_of_a_class():
    X, y = clear(25)
    y[:] = 0
    y[:1], y[1:3], y[3:6] = 1, 2, 3
    return X, y, {"cv": None}


def column_constant_in_a_fold():
    X, y = clear(40)
    X[:, 5] = 0
    X[3, 5] = 1
    return X, y, {}


TABLES = {
    "20 rows": lambda: (*clear(20), {"cv": None}),
    "few rows of a class": few_rows_of_a_class,
    "constant in a fold": column_constant_in_a_fold,
    "equal columns": lambda: (np.repeat(clear()[0][:, :1], 5, axis=1), clear()[1], {}),
    "two columns": lambda: (*clear(columns=2), {}),
    "ties": lambda: (np.round(clear()[0]).astype(int), clear()[1], {}),
    "text": lambda: (clear()[0], np.array(["no", "yes"])[clear()[1]], {}),
    "negative labels": lambda: (clear()[0], clear(classes=3)[1] - 5, {}),
    "few distinct targets": lambda: (clear()[0], np.round(clear()[0][:, 0]) / 2 + 0.25, {}),
    "huge targets": lambda: (clear()[0] * 1e30, clear()[0][:, 0] * 1e300, {}),
    "all but one included": lambda: (*clear(), {"include": range(5)}),
    "included and excluded": lambda: (*clear(), {"include": [2], "exclude": [0]}),
    "groups": lambda: (*clear(), {"feature_groups": [[0, 4], [1], [2, 3, 5]]}),
    "one feature": lambda: (*clear(), {"max_features": 1}),
    "as many as included": lambda: (*clear(), {"max_features": 2, "include": [3, 4]}),
    "grown": lambda: (*clear(columns=14), {"max_features": 3}),
}


@pytest.mark.parametrize("name", TABLES)
def test_the_certificate_of_every_size_holds_and_limits_are_kept(name):
    X, y, settings = TABLES[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        selector = fitted(X, y, **settings)
    assert selector.path_
    limit = selector.certificate_.content["data"]["choice"]["limit"]
    assert selector.certificate_.content["new_data"]["size"] <= limit
    for row in selector.path_:
        if row.size > limit:
            assert np.isnan(row.training)
            with pytest.raises(ValueError, match=f"size must be at most {limit}, the largest subset that may be chos"):
                selector.at_size(row.size)
            continue
        other = selector.at_size(row.size)
        verdict = verify(other.certificate_, X, y)
        assert verdict, verdict.text
        found = set(other.subset_)
        assert found == set(row.features)
        assert set(settings.get("include", ())) <= found
        assert not set(settings.get("exclude", ())) & found
        assert all(len(found & set(group)) in (0, len(group)) for group in settings.get("feature_groups", ()))


@pytest.mark.parametrize("cv", [TimeSeriesSplit(3), list(KFold(3).split(clear()[0]))])
def test_an_estimator_with_splits_of_its_own(cv):
    X, y = clear()
    selector = fitted(X, y, GaussianNB(), cv=cv)
    oracle = EstimatorOracle(X, y, estimator=GaussianNB(), cv=cv, random_state=0)
    assert selector.certificate_.content["new_data"]["folds"] == 3
    assert verify(selector.certificate_, X, y, oracle=oracle)


def test_importance_is_that_of_columns_not_of_what_a_pipeline_makes_of_them():
    X, y = clear()
    scaled = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    np.testing.assert_array_equal(importance_of(scaled, 6), np.abs(scaled[-1].coef_[0]))
    assert importance_of(make_pipeline(PCA(), LogisticRegression()).fit(X, y), 6) is None


def test_the_search_by_single_steps_looks_at_a_limited_number_of_units(monkeypatch):
    """Of very many units the best by the other families are looked at: 10,000 would take minutes."""
    monkeypatch.setattr(families, "WIDEST", 10)
    seen = []
    steps = families.single_steps
    monkeypatch.setattr(families, "single_steps", lambda part, units: seen.append(units) or steps(part, units))
    selector = fitted(*clear(columns=30))
    assert {len(units) for units in seen} == {10}
    assert verify(selector.certificate_, *clear(columns=30))


# ---- killed fits


class Killed(BaseException):
    """Stands for the end of the process."""


def killed_after(monkeypatch, folds):
    """Let the process end after so many folds; return the list of the folds that are done from now on."""
    done, work = [], choosing.score_folds

    def score(plan, items):
        if len(done) >= folds:
            raise Killed
        done.append(items[0][0])
        return work(plan, items)

    monkeypatch.setattr(choosing, "score_folds", score)
    return done


def test_a_second_ctrl_c_ends_the_fit_at_once(monkeypatch):
    def pressed(plan, items):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(choosing, "score_folds", pressed)
    with pytest.raises(KeyboardInterrupt):
        fitted(*clear())
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


# ---- forged paths

SIZE = 11  # neither what the search found nor the best on these rows


@pytest.fixture(scope="module")
def decided():
    """Return a selector whose answer hangs from the root, because the search did not find it; and its data."""
    X, y = clear(80, 16, seed=3)
    selector = fitted(X, y).at_size(SIZE)
    content = selector.certificate_.content
    assert content["answer"] in content["graph"]["children"][0]
    assert content["new_data"]["best"]["features"] != content["features"]
    return selector, X, y


def test_training_values_are_computed_again_as_far_as_the_cost_allows(decided, monkeypatch):
    selector, X, y = decided
    content = {**selector.certificate_.content, "report": None}  # so that the path alone tells its values
    content["data"] = {**content["data"], "all_features": None}
    exact = {tuple(leaf["label"]) for leaf in content["leaves"] if leaf["exact"]}
    known = sum((*row.features, -1) in exact for row in selector.path_)
    assert "Of the path, 16 of 16 training values were computed again." in str(verify(Certificate(content), X, y))
    monkeypatch.setattr(verify_path, "MOST_COST", 0)
    assert f"Of the path, {known} of 16 training values" in str(verify(Certificate(content), X, y))


def test_no_training_value_of_the_path_can_be_edited(decided):
    selector, X, y = decided
    content = selector.certificate_.content
    for row in range(len(content["new_data"]["path"])):
        other = changed(content, ("new_data", "path", row, "training"), 0.999)
        assert not judged(reworded(other), X, y)


def test_a_leaf_that_is_not_on_the_path_cannot_hang_from_the_root(decided):
    selector = decided[0]
    other = twin(selector.certificate_.content)
    row = next(one for one in other["new_data"]["path"] if one["size"] == SIZE)
    other["new_data"]["path"].remove(row)
    other["new_data"] |= {"size": 16, "family": "all features"}
    assert not judged(rewritten(other))
    other = twin(selector.certificate_.content)
    del other["new_data"]
    verdict = judged(rewritten(other))
    assert not verdict
    assert "cannot be reached from" in str(verdict)
