"""bestleaf compare: the same splits for all methods, paired differences, methods that fail, and what they select."""

from __future__ import annotations

import os
import signal
import warnings
from collections import Counter
from math import isnan, nan

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import RFECV
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import genuine
from bestleaf import SearchOptions
from bestleaf.tables.compare import Compared, compare, split_rows, standings
from bestleaf.tables.load import prepared
from bestleaf.tables.models import named_estimator
from bestleaf.tables.peers import PEERS, Peer, Setting, mean_auc
from selecting import bestleaf, refused

pytestmark = pytest.mark.slow
QUICK = ["f-test", "forward"]


@pytest.fixture(scope="module")
def shop():
    return genuine.shop("[b]noise")


@pytest.fixture
def file(tmp_path, monkeypatch, shop):
    """The table as a file."""
    monkeypatch.chdir(tmp_path)
    shop.to_csv("shop.csv", index=False)
    return "shop.csv"


def test_all_methods_are_shown_and_several_splits_have_standard_errors(file):
    code, shown, _ = bestleaf("compare", file, "--target", "bought", "--max-time", "5")
    assert code == 0
    for part in ("bestleaf", "forward selection", "RFECV", "F-test", "all columns", "score", "difference"):
        assert part in shown
    assert "[b]noise" in shown
    assert "±" not in shown  # one split says nothing of its error
    shown = bestleaf("compare", file, "--target", "bought", "--splits", "2", "--peers", "F-test").out
    assert "in each of 2 splits" in shown
    assert "±" in shown
    assert "forward selection" not in shown


def test_every_method_sees_the_same_rows(shop, monkeypatch):
    seen = []

    def spy(X, y, setting):
        seen.append((X.copy(), y.copy(), setting.seed))
        return np.ones(X.shape[1], bool)

    monkeypatch.setitem(PEERS, "f-test", Peer("first", spy))
    monkeypatch.setitem(PEERS, "rfecv", Peer("second", spy))
    table = prepared(shop, "bought")
    rows = list(compare(table, splits=2, peers=["f-test", "rfecv"], random_state=5))
    assert all(np.array_equal(seen[0][part], seen[1][part]) for part in (0, 1))
    assert not np.array_equal(seen[0][0], seen[2][0])
    assert [one[2] for one in seen] == [5, 5, 6, 6]
    assert {row.rows for row in rows} == {(90, 30)}
    assert set(Counter(row.method for row in rows).values()) == {2}
    by_method = {(row.method, row.split): row.score for row in rows}
    for split in (0, 1):  # the same columns have the same score
        assert by_method["first", split] == by_method["second", split] == by_method["all columns", split]
    alone = [row for row in compare(table, peers=[], random_state=6) if row.method == "bestleaf"]
    assert alone[0].score == by_method["bestleaf", 1]


def test_standings_are_paired():
    def row(method, split, score, columns=("a",), note=""):
        return Compared(method, columns, score, 2.0, split, (75, 25), note)

    rows = [row("bestleaf", 0, 0.8), row("peer", 0, 0.7, ("a", "b")), row("bestleaf", 1, 0.6), row("peer", 1, 0.55)]
    rows += [row("bestleaf", 2, 0.7), row("peer", 2, nan, (), "failed: no")]
    ours, peer = standings(rows)
    assert ours.score == pytest.approx(0.7)
    assert ours.difference == 0
    assert ours.score_error == pytest.approx(0.1 * np.sqrt(1 / 3 + 1 / 3))
    assert peer.score == pytest.approx(0.625)
    assert peer.difference == pytest.approx(0.075)  # not 0.7 - 0.625: only the splits that both have done
    assert peer.difference_error == pytest.approx(np.std([-0.1, -0.05], ddof=1) * np.sqrt(1 / 2 + 1 / 3))
    assert peer.features == 1.5
    assert peer.columns == {"a": 2, "b": 1}
    assert peer.notes == ("failed: no",)
    assert isnan(standings(rows[:2])[1].difference_error)


def test_the_corrected_error_of_splits_is_not_too_small():
    """The mean of five splits varies between tables about as much as its standard error says, not twice as much."""
    rng, means, errors = np.random.default_rng(0), [], []
    for _ in range(400):
        values = rng.normal(size=100)
        scores = [values[rng.permutation(100)[:25]].mean() for _ in range(5)]
        one = standings([Compared("bestleaf", (), float(score), 1.0, n, (75, 25)) for n, score in enumerate(scores)])[0]
        means.append(one.score)
        errors.append(one.score_error)
    # 400 tables know a standard deviation to 1 / sqrt(800) = 3.5%; four of these are 14%
    assert np.sqrt(np.mean(np.square(errors))) > 0.86 * np.std(means)


def test_splits_have_all_classes_and_keep_groups_together():
    y, groups = np.array([0] * 40 + [1] * 8), np.repeat(np.arange(12), 4)
    kept, aside = split_rows(y, 0.25, "classification", 0, None)
    assert sorted([*kept, *aside]) == list(range(48))
    assert set(y[aside]) == set(y[kept]) == {0, 1}
    kept, aside = split_rows(y, 0.25, "classification", 0, groups)
    assert not set(groups[kept]) & set(groups[aside])
    assert len(split_rows(np.arange(5.0), 0.25, "regression", 0, None)[1]) == 2


def test_a_peer_that_fails_does_not_end_the_comparison(file, monkeypatch):
    def broken(X, y, setting):
        raise RuntimeError("out of\nluck")

    monkeypatch.setitem(PEERS, "f-test", Peer("broken", broken))
    peers = ["--peers", "f-test", "--peers", "forward"]
    code, shown, _ = bestleaf("compare", file, "--target", "bought", *peers)
    assert code == 0
    assert "broken (failed: out of luck)" in shown
    assert "forward selection" in shown
    assert "nan" not in shown


def test_a_peer_that_selects_nothing_ranks_by_chance(shop, monkeypatch):
    monkeypatch.setitem(PEERS, "f-test", Peer("empty", lambda X, y, setting: np.zeros(X.shape[1], bool)))
    row = list(compare(prepared(shop, "bought"), peers=["f-test"]))[-1]
    assert row.columns == ()
    assert row.score == pytest.approx(0.5, abs=0.02)
    keywords = {"peers": ["f-test"], "choose": "training", "epsilon": 0.1, "search": SearchOptions(max_samples=20)}
    row = list(compare(prepared(shop, "bought"), estimator="linear", **keywords))[-1]
    assert (row.columns, row.score) == ((), 0.5)


def test_numbers_are_compared_by_r2():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    table = prepared(pd.DataFrame(X, columns=list("abc")).assign(y=X[:, 0] + X[:, 1]), "y")
    rows = {row.method: row for row in compare(table, peers=QUICK, n_features_to_select=2)}
    assert not any(row.note for row in rows.values())
    assert rows["bestleaf"].columns == rows["forward selection"].columns == ("a", "b")
    assert rows["bestleaf"].score > 0.8


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--holdout", "1"], "--holdout must be strictly between 0 and 1"),
        (["--splits", "0"], "--splits"),
        (["--peers", "luck"], "--peers must be one of f-test, forward, rfecv, boruta, got 'luck'"),
        (["--peers", "absent"], "--peers must be installed, got 'absent', which needs the module no_such_module"),
    ],
)
def test_options_that_cannot_be_used(file, monkeypatch, options, words):
    if "absent" in options:
        monkeypatch.setitem(PEERS, "absent", Peer("absent", PEERS["f-test"].select, "no_such_module"))
    assert words in refused("compare", file, "--target", "bought", *options)


def test_ctrl_c_keeps_the_rows_so_far(file, monkeypatch):
    real, calls = RFECV.fit, []

    def interrupted(*arguments, **keywords):
        calls.append(arguments)
        if len(calls) == 1:
            os.kill(os.getpid(), signal.SIGINT)
        return real(*arguments, **keywords)

    monkeypatch.setattr(RFECV, "fit", interrupted)
    code, shown, _ = bestleaf("compare", file, "--target", "bought")
    assert code == 130
    table = shown[: shown.index("score: mean AUC")]
    assert all(row in table for row in ("bestleaf", "all columns", "F-test", "forward selection"))
    assert "RFECV " not in table


def test_a_category_is_selected_as_a_whole(shop, monkeypatch):
    monkeypatch.setitem(PEERS, "f-test", Peer("one level", lambda X, y, setting: np.arange(X.shape[1]) == 2))
    table = prepared(shop, "bought")
    assert len(table.groups["city"]) > 1
    row = list(compare(table, peers=["f-test"], choose="training", epsilon=0.1))[-1]
    assert row.columns == ("city",)


def test_all_methods_are_judged_by_the_estimator_or_by_three_kinds_of_models(file, shop):
    table = prepared(shop, "bought")
    settings = {"choose": "training", "epsilon": 0.1, "peers": ["f-test"]}
    kept, aside = split_rows(table.y.to_numpy(), 0.25, "classification", 0, None)
    X, y = table.X.to_numpy(), (table.y == "yes").to_numpy().astype(int)
    rows = compare(table, estimator="linear", **settings, search=SearchOptions(max_samples=20))
    model = named_estimator("linear", "classification").fit(X[kept], y[kept])
    every = next(row for row in rows if row.method == "all columns")
    assert every.score == pytest.approx(mean_auc(model, X[aside], y[aside]))
    usual = next(row for row in compare(table, **settings) if row.method == "all columns")
    neighbours = make_pipeline(StandardScaler(), KNeighborsClassifier())
    models = [neighbours, *(named_estimator(name, "classification") for name in ("linear", "boosting"))]
    scores = [mean_auc(one.fit(X[kept], y[kept]), X[aside], y[aside]) for one in models]
    assert usual.score == pytest.approx(np.mean(scores))
    options = ["--estimator", "linear", "--peers", "f-test"]
    code, shown, _ = bestleaf("compare", file, "--target", "bought", *options)
    assert code == 0
    assert "score: AUC of linear" in shown


# ---- the other methods: what they select, by which measure, from which rows

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 6))
TARGETS = {"classification": np.digitize(X[:, 0] + X[:, 1], [-0.7, 0.7]), "regression": X[:, 0] + X[:, 1]}
Y = TARGETS["classification"]


@pytest.fixture(autouse=True)
def few_trees(monkeypatch):
    monkeypatch.setattr("bestleaf.tables.peers.TREES", 20)


@pytest.mark.parametrize("name", list(PEERS))
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_every_peer_finds_the_signal(name, task):
    if not PEERS[name].installed:
        pytest.skip(f"{PEERS[name].module} is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if PEERS[name].module != "sklearn":
            warnings.simplefilter("ignore")
        support = PEERS[name].support(X, TARGETS[task], Setting(task))
    assert (support.shape, support.dtype) == ((6,), bool)
    assert support[:2].all()  # the first features carry all there is to know


@pytest.mark.parametrize("name", ["f-test", "forward", "rfecv"])
def test_peers_depend_on_their_seed_alone(name):
    found = []
    for state in (0, 1):
        np.random.seed(state)  # noqa: NPY002  what scikit-learn would draw from without a seed
        found.append(PEERS[name].support(X[:, 2:], (Y > 0).astype(int), Setting("classification", seed=3)))
    assert np.array_equal(*found)


def test_one_feature_is_no_choice():
    assert Peer("never called", None).support(np.zeros((3, 1)), np.arange(3), Setting("regression")).tolist() == [True]


def test_the_mean_auc_is_that_of_scikit_learn():
    model = KNeighborsClassifier().fit(X, Y)
    likely = model.predict_proba(X)
    assert mean_auc(model, X, Y) == pytest.approx(roc_auc_score(Y, likely, multi_class="ovr"))
    some = Y > 0  # no row of the first class
    found = [roc_auc_score(Y[some] == one, likely[some, one]) for one in (1, 2)]
    assert mean_auc(model, X[some], Y[some]) == pytest.approx(np.mean(found))
    assert mean_auc(model, X[Y == 1], Y[Y == 1]) == 0.5
    two = KNeighborsClassifier().fit(X, some)
    assert mean_auc(two, X, some) == pytest.approx(roc_auc_score(some, two.predict_proba(X)[:, 1]))


def test_an_order_is_found_without_the_rows_it_is_judged_on(monkeypatch):
    seen = []

    def score(rows, targets):
        seen.append(len(rows))
        return -np.arange(6.0), None

    monkeypatch.setattr("sklearn.feature_selection.f_classif", score)
    support = PEERS["f-test"].support(X, Y, Setting("classification"))
    assert set(seen[:-1]) == {72}
    assert seen[-1] == 90
    assert support.tolist() == [True, True, False, False, False, False]


def test_constant_features_are_last():
    constant = np.where(np.arange(6) == 3, 1.0, X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of scikit-learn, about the constant feature
        assert not PEERS["f-test"].support(constant, Y, Setting("classification"))[3]


@pytest.mark.parametrize("model", [HistGradientBoostingClassifier(max_iter=5), LogisticRegression()])
def test_elimination_goes_by_the_estimator_or_by_a_forest(model):
    assert PEERS["rfecv"].support(X, Y, Setting("classification", model))[:2].any()


def test_rare_classes_do_not_end_a_peer():
    y = np.array([0] * 20 + [1] * 18 + [2] * 2)
    rows = RNG.normal(size=(40, 3)) + np.outer(y, [1, 0, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of scikit-learn: a class has fewer rows than there are folds
        assert PEERS["forward"].support(rows, y, Setting("classification"))[0]
        assert len(Setting("classification").folds(np.array([0, 1, 0, 1, 0]))) == 3
