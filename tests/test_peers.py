"""The other methods of feature selection: what they select, by which measure, from which rows."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier

from bestleaf.tables.peers import PEERS, Peer, Setting, mean_auc

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
    def never(X, y, setting):
        raise AssertionError

    assert Peer("never", never).support(np.zeros((3, 1)), np.arange(3), Setting("regression")).tolist() == [True]


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
    assert seen == [72, 72, 72, 72, 72, 90]
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
