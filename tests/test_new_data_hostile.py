"""The choice by left-out rows under hostile conditions: odd data, odd estimators, budgets, killed fits, forgeries."""

from __future__ import annotations

import signal
import warnings

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, TimeSeriesSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bestleaf import EstimatorOracle, verify
from bestleaf.certificate import verify_path
from bestleaf.checkpoint.file import read_file, write_file
from bestleaf.new_data import choosing, families
from bestleaf.new_data.fitted_families import importance_of
from forging import changed, judged, reworded, rewritten, twin
from selecting import made_selector

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def table(rows=60, columns=6, classes=2, seed=0):
    """Return a table in which three columns tell the class."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    latent = X[:, :3].sum(axis=1) + rng.normal(size=rows)
    return X, np.searchsorted(np.quantile(latent, np.arange(1, classes) / classes), latent)


def fitted(X, y, estimator=None, **settings):
    return made_selector(estimator, **{"random_state": 0, "cv": 3, "max_samples": 300, **settings}).fit(X, y)


def few_rows_of_a_class():
    X, y = table(25)
    y[:] = 0
    y[:1], y[1:3], y[3:6] = 1, 2, 3
    return X, y, {"cv": None}


def column_constant_in_a_fold():
    X, y = table(40)
    X[:, 5] = 0
    X[3, 5] = 1
    return X, y, {}


TABLES = {
    "20 rows": lambda: (*table(20), {"cv": None}),
    "few rows of a class": few_rows_of_a_class,
    "constant in a fold": column_constant_in_a_fold,
    "equal columns": lambda: (np.repeat(table()[0][:, :1], 5, axis=1), table()[1], {}),
    "two columns": lambda: (*table(columns=2), {}),
    "ties": lambda: (np.round(table()[0]).astype(int), table()[1], {}),
    "text": lambda: (table()[0], np.array(["no", "yes"])[table()[1]], {}),
    "negative labels": lambda: (table()[0], table(classes=3)[1] - 5, {}),
    "few distinct targets": lambda: (table()[0], np.round(table()[0][:, 0]) / 2 + 0.25, {}),
    "huge targets": lambda: (table()[0] * 1e30, table()[0][:, 0] * 1e300, {}),
    "all but one included": lambda: (*table(), {"include": range(5)}),
    "included and excluded": lambda: (*table(), {"include": [2], "exclude": [0]}),
    "groups": lambda: (*table(), {"feature_groups": [[0, 4], [1], [2, 3, 5]]}),
    "one feature": lambda: (*table(), {"max_features": 1}),
    "as many as included": lambda: (*table(), {"max_features": 2, "include": [3, 4]}),
    "grown": lambda: (*table(columns=14), {"max_features": 3}),
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


@pytest.mark.parametrize("cv", [TimeSeriesSplit(3), list(KFold(3).split(table()[0]))])
def test_an_estimator_with_splits_of_its_own(cv):
    X, y = table()
    selector = fitted(X, y, GaussianNB(), cv=cv)
    oracle = EstimatorOracle(X, y, estimator=GaussianNB(), cv=cv, random_state=0)
    assert selector.certificate_.content["new_data"]["folds"] == 3
    assert verify(selector.certificate_, X, y, oracle=oracle)


def test_importance_is_that_of_columns_not_of_what_a_pipeline_makes_of_them():
    X, y = table()
    scaled = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    np.testing.assert_array_equal(importance_of(scaled, 6), np.abs(scaled[-1].coef_[0]))
    assert importance_of(make_pipeline(PCA(), LogisticRegression()).fit(X, y), 6) is None


def test_the_search_by_single_steps_looks_at_a_limited_number_of_units(monkeypatch):
    """Of very many units the best by the other families are looked at: 10,000 would take minutes."""
    monkeypatch.setattr(families, "WIDEST", 10)
    seen = []
    steps = families.single_steps
    monkeypatch.setattr(families, "single_steps", lambda part, units: seen.append(units) or steps(part, units))
    selector = fitted(*table(columns=30))
    assert {len(units) for units in seen} == {10}
    assert verify(selector.certificate_, *table(columns=30))


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


@pytest.mark.parametrize("seed", [0, None])
def test_a_killed_fit_goes_on_in_the_middle_of_the_folds(monkeypatch, tmp_path, seed):
    X, y = table()
    settings = {"cv": 4, "random_state": seed, "checkpoint": tmp_path / "run.blf"}
    with monkeypatch.context() as patch:
        killed_after(patch, 2)
        with pytest.raises(Killed):
            fitted(X, y, **settings)
    with monkeypatch.context() as patch:
        done = killed_after(patch, 99)
        selector = fitted(X, y, **settings)
        assert done == [3, 4]
    seed = selector.certificate_.content["search"]["seed"]
    alone = fitted(X, y, cv=4, random_state=seed)
    assert selector.path_ == alone.path_
    assert selector.certificate_.content["leaves"] == alone.certificate_.content["leaves"]
    with monkeypatch.context() as patch:  # all is done: nothing is computed again
        killed_after(patch, 0)
        assert fitted(X, y, **settings).path_ == alone.path_


def test_a_choice_that_time_cut_short_is_the_same_when_the_command_is_run_again(monkeypatch, tmp_path):
    X, y = table()
    settings = {"cv": 5, "checkpoint": tmp_path / "run.blf", "max_time": 1000.0}
    score = choosing.score_folds

    def slow(plan, items):
        if items[0][0] == 3:
            monkeypatch.setattr(choosing, "_left", lambda budget: budget.look() * 0 - 1.0)
        return score(plan, items)

    monkeypatch.setattr(choosing, "score_folds", slow)
    first = fitted(X, y, **settings)
    assert first.path_ is None  # the third fold was not done in time
    saved = read_file(tmp_path / "run.blf.folds")
    assert len(saved["scores"]) == 2
    assert fitted(X, y, **settings).path_ is None
    monkeypatch.undo()
    longer = fitted(X, y, **settings)
    assert longer.path_ == fitted(X, y, cv=5).path_


@pytest.fixture(scope="module")
def folds_file(tmp_path_factory):
    """Return the saved folds of a selection that is done."""
    folder = tmp_path_factory.mktemp("folds")
    fitted(*table(), checkpoint=folder / "run.blf")
    return folder / "run.blf.folds"


def test_folds_of_another_selection_are_refused(tmp_path):
    X, y = table()
    file = tmp_path / "run.blf"
    fitted(X, y, checkpoint=file)
    with pytest.raises(ValueError, match=r"run.blf.folds has the folds of another selection: seed was 0, got 1"):
        fitted(X, y, checkpoint=file, random_state=1)
    with pytest.raises(ValueError, match=r"has the folds of another selection: its data are different"):
        fitted(X**3, y, checkpoint=file)
    assert fitted(X, y, checkpoint=file, parsimony=1.0).path_ == fitted(X, y, checkpoint=file).path_
    with pytest.raises(ValueError, match=r"checkpoint must be in a folder that exists, got '.*run.blf'"):
        fitted(X, y, checkpoint=tmp_path / "nowhere" / "run.blf")


@pytest.mark.parametrize(
    ("place", "value", "told"),
    [
        (("seconds",), -1.0, "seconds must be a number from 0"),
        (("candidates", "F-test"), "none", "candidates.F-test must be a list of lists"),
        (("candidates", "F-test"), [[5, 1]], "candidates.F-test must list subsets that may be chosen"),
        (("candidates", "F-test"), [[99]], "candidates.F-test must list subsets that may be chosen"),
        (("scores",), [[]], "scores. must be an object"),
        (("scores", 0, "everything"), [True], "scores must be 1 numbers"),
        (("scores", 0, "sides"), [1], "scores.sides must be two numbers of rows"),
        (("scores", 0, "families", "F-test"), [0.5], "scores must be 5 numbers"),
        (("candidates",), {}, "at most 3 scores and candidates for them"),
    ],
)
def test_damaged_folds_are_refused(folds_file, tmp_path, place, value, told):
    write_file(tmp_path / "run.blf.folds", changed(dict(read_file(folds_file)), place, value))
    with pytest.raises(ValueError, match=f"run.blf.folds is not a checkpoint of bestleaf: .*{told}"):
        fitted(*table(), checkpoint=tmp_path / "run.blf")


def test_a_second_ctrl_c_ends_the_fit_at_once(monkeypatch):
    def pressed(plan, items):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(choosing, "score_folds", pressed)
    with pytest.raises(KeyboardInterrupt):
        fitted(*table())
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


SIZE = 11  # neither what the search found nor the best on these rows


@pytest.fixture(scope="module")
def decided():
    """Return a selector whose answer hangs from the root, because the search did not find it; and its data."""
    X, y = table(80, 16, seed=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        selector = fitted(X, y).at_size(SIZE)
    content = selector.certificate_.content
    assert content["answer"] in content["graph"]["children"][0]
    assert content["new_data"]["best"]["features"] != content["features"]
    return selector, X, y


def test_training_values_are_computed_again_as_far_as_the_cost_allows(decided, monkeypatch):
    selector, X, y = decided
    many = len(selector.path_)
    told = "Of the path, {} of {} training values were computed again."
    assert told.format(many, many) in str(verify(selector.certificate_, X, y))
    monkeypatch.setattr(verify_path, "MOST_COST", 16 * len(X) ** 2 - 1)
    assert told.format(many - 1, many) in str(verify(selector.certificate_, X, y))
    local = next(one["text"] for one in selector.certificate_.content["claims"] if one["kind"] == "local")
    assert "improves the answer by these rows alone by more than 0.01" in local


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
