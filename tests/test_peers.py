"""The other methods of feature selection: what they select, by which measure, from which rows."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier

from bestleaf.tables.peers import PEERS, Peer, Setting, installed_peers, mean_auc

SIGNAL = 2  # the first features carry all there is to know


@pytest.fixture(scope="module")
def classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 6))
    return X, np.digitize(X[:, 0] + X[:, 1], [-0.7, 0.7])


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 6))
    return X, X[:, 0] + X[:, 1]


@pytest.mark.parametrize("name", list(PEERS))
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_every_peer_finds_the_signal(name, task, classes, numbers, monkeypatch):
    monkeypatch.setattr("bestleaf.tables.peers.TREES", 20)
    if not PEERS[name].installed:
        pytest.skip(f"{PEERS[name].module} is not installed")
    X, y = classes if task == "classification" else numbers
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if PEERS[name].module != "sklearn":
            warnings.simplefilter("ignore")
        support = PEERS[name].support(X, y, Setting(task))
    assert support.shape == (6,)
    assert support.dtype == bool
    assert support[:SIGNAL].all()


@pytest.mark.parametrize("name", ["f-test", "forward", "rfecv"])
def test_peers_depend_on_their_seed_alone(name, classes, monkeypatch):
    monkeypatch.setattr("bestleaf.tables.peers.TREES", 5)
    X, y = classes
    found = []
    for state in (0, 1):
        np.random.seed(state)  # noqa: NPY002  what scikit-learn would draw from without a seed
        found.append(PEERS[name].support(X[:, 2:], (y > 0).astype(int), Setting("classification", seed=3)))
    assert np.array_equal(*found)


def test_one_feature_is_no_choice():
    def never(X, y, setting):
        raise AssertionError

    assert Peer("never", never).support(np.zeros((3, 1)), np.arange(3), Setting("regression")).tolist() == [True]


def test_peers_that_are_not_installed_are_left_out(monkeypatch):
    monkeypatch.setitem(PEERS, "absent", Peer("absent", PEERS["f-test"].select, "no_such_module"))
    assert "absent" not in installed_peers()
    assert {"forward", "rfecv", "f-test"} <= set(installed_peers())


def test_the_mean_auc_is_that_of_scikit_learn(classes):
    X, y = classes
    model = KNeighborsClassifier().fit(X, y)
    likely = model.predict_proba(X)
    assert mean_auc(model, X, y) == pytest.approx(roc_auc_score(y, likely, multi_class="ovr"))
    some = y > 0  # no row of the first class
    found = [roc_auc_score(y[some] == one, likely[some, one]) for one in (1, 2)]
    assert mean_auc(model, X[some], y[some]) == pytest.approx(np.mean(found))
    assert mean_auc(model, X[y == 1], y[y == 1]) == 0.5
    two = KNeighborsClassifier().fit(X, some)
    assert mean_auc(two, X, some) == pytest.approx(roc_auc_score(some, two.predict_proba(X)[:, 1]))


def test_an_order_is_found_without_the_rows_it_is_judged_on(classes, monkeypatch):
    seen = []

    def score(rows, targets):
        seen.append(len(rows))
        return -np.arange(6.0), None

    monkeypatch.setattr("sklearn.feature_selection.f_classif", score)
    support = PEERS["f-test"].support(*classes, Setting("classification"))
    assert set(seen[:-1]) == {72}
    assert seen[-1] == 90
    assert support.tolist() == [True, True, False, False, False, False]


def test_constant_features_are_last(classes):
    X, y = classes
    X = X.copy()
    X[:, 3] = 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of scikit-learn, about the constant feature
        assert not PEERS["f-test"].support(X, y, Setting("classification"))[3]


@pytest.mark.parametrize("model", [HistGradientBoostingClassifier(max_iter=5), LogisticRegression()])
def test_elimination_goes_by_the_estimator_or_by_a_forest(model, monkeypatch):
    monkeypatch.setattr("bestleaf.tables.peers.TREES", 20)
    X, y = make_classification(200, 5, n_informative=2, n_redundant=0, n_classes=2, shuffle=False, random_state=0)
    support = PEERS["rfecv"].support(X, y, Setting("classification", model))
    assert support[:2].any()


def test_rare_classes_do_not_end_a_peer():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.array([0] * 20 + [1] * 18 + [2] * 2)
    X[:, 0] += y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of scikit-learn: a class has fewer rows than there are folds
        assert PEERS["forward"].support(X, y, Setting("classification"))[0]
        assert len(Setting("classification").folds(np.array([0, 1, 0, 1, 0]))) == 3
