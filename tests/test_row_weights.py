"""Weights of rows with the votes of nearest neighbours: a pair of rows counts the product of its weights."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from bestleaf import BestLeafSelector, NeighbourVotes, SearchOptions, validate, verify
from bestleaf.certificate import Certificate
from bestleaf.features import FeatureLattice
from bestleaf.features.neighbours import KNNOracle
from bestleaf.features.ranking import concordance, pulls
from bestleaf.features.unseen import UnseenVotes
from bestleaf.tables import load_table
from bestleaf.tables.compare import compare
from naive import naive_value
from selecting import configured
from test_features import draws
from test_select import bestleaf

TASKS = ("two classes", "several classes", "real")


def table(task="two classes", rows=60, columns=5):
    """Return data and whole weights from 0 to 3."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(rows, columns))
    hidden = X[:, 0] + 0.8 * rng.normal(size=rows)
    y = {"two classes": hidden > 0, "several classes": np.digitize(hidden, [-0.7, 0.7]), "real": hidden}[task]
    return X, y.astype(float if task == "real" else int), rng.integers(0, 4, rows).astype(float)


def oracle_of(task, X, y, **keywords):
    kind = "regression" if task == "real" else "classification"
    return KNNOracle(X, y, **{"task": kind, "scale": False, "subsample": 20, **keywords})


@pytest.mark.parametrize("task", TASKS)
def test_pairs_count_the_product_of_their_weights_as_in_the_naive_twin(task):
    X, y, weights = table(task)
    groups = np.arange(60) // 3
    for subset in ([0], [1, 2], [0, 1, 2, 3, 4]):
        keywords = {"real": task == "real", "weights": weights.tolist()}
        right = naive_value(X, y.tolist(), subset, **keywords)
        assert oracle_of(task, X, y, sample_weight=weights).value(subset) == pytest.approx(right, abs=1e-9)
        right = naive_value(X, y.tolist(), subset, groups=groups.tolist(), **keywords)
        both = oracle_of(task, X, y, sample_weight=weights, groups=groups)
        assert both.value(subset) == pytest.approx(right, abs=1e-9)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("ties", ["half", "strict"])
def test_whole_weights_are_repeated_rows_in_the_ranking(task, ties):
    X, y, weights = table(task)
    oracle, plain = oracle_of(task, X, y, ties=ties, sample_weight=weights), oracle_of(task, X, y, ties=ties)
    often = np.repeat(np.arange(60), weights.astype(int))  # each row as often as its weight says
    sums, targets = plain.sums([0, 1]), np.empty_like(plain.targets)
    targets[:, plain.rows] = plain.targets
    assert oracle.value([0, 1]) == pytest.approx(plain.fraction_in_order(targets[:, often], sums[often]))
    for factor in (1.0, 0.25):  # only the ratios of weights matter
        alike = oracle_of(task, X, y, ties=ties, sample_weight=np.full(60, factor))
        assert alike.value([0, 1]) == pytest.approx(plain.value([0, 1]))
        assert alike.standard_error([0, 1]) == pytest.approx(plain.standard_error([0, 1]))


def test_the_value_is_the_weighted_auc_of_scikit_learn():
    X, y, weights = table()
    oracle = oracle_of("two classes", X, y, sample_weight=weights)
    right = roc_auc_score(y, oracle.sums([0, 3])[:, 0], sample_weight=weights)
    assert oracle.value([0, 3]) == pytest.approx(right)
    assert oracle.value_on([0, 3], oracle.with_weight(oracle.queries)) == pytest.approx(right)
    in_order = oracle_of("two classes", X, y, ties="row_order", sample_weight=weights).value([0, 3])
    strict = oracle_of("two classes", X, y, ties="strict", sample_weight=weights).value([0, 3])
    assert strict < in_order < 1


@pytest.mark.parametrize("task", TASKS)
def test_compiled_and_plain_rollouts_draw_by_weight(task):
    X, y, weights = table(task)
    lattice = FeatureLattice(oracle_of(task, X, y, sample_weight=weights))
    plain = np.random.default_rng(0)
    assert draws(lattice, (1,), 0, 40) == [lattice.sample((1,), plain) for _ in range(40)]


def test_samples_have_the_weighted_value_as_their_mean():
    X, y, weights = table()
    weights = np.where(X[:, 1] > 0, 5.0, weights)  # far from equal, so that unweighted samples would be off
    oracle, rng = oracle_of("two classes", X, y, sample_weight=weights), np.random.default_rng(2)
    samples = np.array([oracle.sample([0, 1], rng) for _ in range(4000)])
    error = samples.std() / np.sqrt(len(samples))
    # A mean is off by four standard errors with a probability of less than 1e-4.
    assert abs(samples.mean() - oracle.value([0, 1])) < 4 * error
    assert abs(samples.mean() - oracle_of("two classes", X, y).value([0, 1])) > 6 * error


@pytest.mark.parametrize("task", ["several classes", "real"])
def test_samples_of_other_targets_are_close_to_the_weighted_value(task):
    X, y, weights = table(task)
    oracle, rng = oracle_of(task, X, y, sample_weight=weights, subsample=40), np.random.default_rng(2)
    samples = np.array([oracle.sample([0, 1], rng) for _ in range(2000)])
    # A fraction of random numbers of pairs is biased a little, with weights as without: at most 0.005 beside the noise.
    assert abs(samples.mean() - oracle.value([0, 1])) < 0.005 + 4 * samples.std() / np.sqrt(len(samples))


def test_rows_of_weight_0_are_never_drawn_but_vote():
    X, y, weights = table()
    oracle = oracle_of("two classes", X, y, sample_weight=weights)
    drawn = np.concatenate([np.searchsorted(oracle.cumulative, np.random.default_rng(1).random(5000), side="right")])
    assert set(drawn) == set(np.flatnonzero(oracle.row_weights))
    assert (oracle.sums([0]) == oracle_of("two classes", X, y).sums([0])).all()


def test_pulls_of_weighted_rows_are_derivatives_of_the_value():
    X, y, weights = table()
    weights += 0.5
    votes = oracle_of("two classes", X, y).sums([0])[:, 0]
    for real, truth in ((False, y.astype(np.float32)), (True, table("real")[1].astype(np.float32))):
        found = pulls(truth, votes, weights, real=real)
        more = weights.copy()
        more[7] *= 1.0 + 1e-6
        risen = concordance(truth, votes, more) - concordance(truth, votes, weights)
        assert found[7] == pytest.approx(risen / 1e-6, abs=1e-4)
        assert found.sum() == pytest.approx(0.0, abs=1e-12)


def test_left_out_rows_count_by_their_weights():
    X, y, weights = table()
    train = np.arange(60) < 40
    oracle = oracle_of("two classes", X[train], y[train], sample_weight=weights[train])
    unseen = UnseenVotes(oracle, X[train], X[~train], y[~train], weights[~train])
    sums = unseen.sums([0, 1])[:, 0]
    right = roc_auc_score(y[~train], sums, sample_weight=weights[~train])
    assert unseen.score([0, 1]) == pytest.approx(right)


@pytest.mark.parametrize(
    "selector",
    [
        BestLeafSelector(choose="training"),
        BestLeafSelector(choose="training", epsilon=0.2, search=SearchOptions(guarantee=["grown", "local"])),
        BestLeafSelector(cv=3),
    ],
)
def test_a_certificate_is_about_its_weights(selector, tmp_path):
    X, y, weights = table()
    found = selector.set_params(random_state=0).fit(X, y, sample_weight=weights).certificate_
    assert ", rows weighted." in str(found)
    found.save(tmp_path / "proof.json")
    assert verify(tmp_path / "proof.json", X, y, sample_weight=weights)
    assert verify(tmp_path / "proof.json")
    assert "give verify the weights of the rows, too" in str(verify(found, X, y))
    assert "not the weights of rows" in str(verify(found, X, y, sample_weight=weights + 1))
    content = deepcopy(found.content)
    content["data"]["objective"].pop("weighted")
    assert not verify(Certificate(content))


def test_validation_scores_by_weights():
    X, y, weights = table()
    selector = BestLeafSelector(choose="training", random_state=0)
    judged = validate(selector, X, y, holdout=0.4, sample_weight=weights)
    rows, aside = judged.rows, np.setdiff1d(np.arange(60), judged.rows)
    columns = judged.selector.support_
    unseen = UnseenVotes(NeighbourVotes().oracle(X[rows], y[rows]), X[rows], X[aside], y[aside], weights[aside])
    assert judged.score == pytest.approx(unseen.score(np.flatnonzero(columns)), abs=0.01)  # ties of distances aside
    assert judged.interval is None
    assert "because the rows are weighted" in str(judged.selector.certificate_)
    assert verify(judged.selector.certificate_, X[rows], y[rows], sample_weight=weights[rows])


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        (np.full(60, -1.0), "sample_weight must be 60 finite numbers of at least 0, got -1 to -1"),
        (np.full(60, np.nan), "sample_weight must be 60 finite numbers of at least 0"),
        (["heavy"] * 60, "sample_weight must be 60 numbers of at least 0, got text or lists"),
        (np.ones(59), r"sample_weight must have one value for each of the 60 rows, got shape \(59,\)"),
        (np.zeros(60), "sample_weight must give more than 1e-06 of the weight to a second target"),
        ("one class", "sample_weight must give more than 1e-06 of the weight to a second target"),
    ],
)
def test_weights_that_cannot_be_used(weights, sentence):
    X, y, _ = table()
    weights = y.astype(float) if isinstance(weights, str) else weights
    with pytest.raises(ValueError, match=sentence):
        BestLeafSelector(choose="training").fit(X, y, sample_weight=weights)


def test_folds_without_weight_on_two_classes_are_left_out():
    X, y, _ = table()
    folds = np.arange(60) % 3
    weights = np.where((folds == 0) & (y == 1), 0.0, 1.0)
    cv = [(np.flatnonzero(folds != one), np.flatnonzero(folds == one)) for one in range(3)]
    selector = BestLeafSelector(random_state=0, cv=cv).fit(X, y, sample_weight=weights)
    assert selector.certificate_.content["new_data"]["folds"] == 2


# ---- tables and the command line


def patients():
    X, y, weights = table()
    frame = pd.DataFrame(X, columns=list("abcde"))
    return frame.assign(patient=[f"p{one}" for one in np.arange(60) // 3], weight=weights, y=y)


def test_groups_and_weights_are_columns_that_are_no_features(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    patients().to_csv("t.csv", index=False)
    about = ["--target", "y", "--groups", "patient", "--weights", "weight"]
    options = ["--certificate", "c.json", *configured(choose="training", verbose=0)]
    assert bestleaf("select", "t.csv", *about, *options) == 0
    assert Certificate.load("c.json").content["data"]["names"] == list("abcde")
    assert bestleaf("verify", "c.json", "--data", "t.csv") == 0
    assert "leave-one-group-out" in str(Certificate.load("c.json"))
    capsys.readouterr()
    for changed, sentence in (
        (
            ["--groups", "patients"],
            "--groups must name a column of the table other than the target, got 'patients' (did",
        ),
        (["--weights", "y"], "--weights must name a column of the table other than the target, got 'y'"),
        (["--groups", "weight"], "--groups must be another column than weights, got 'weight' for both"),
        (["--weights", "patient", "--groups", "a"], "--weights must be numbers of at least 0, got 'p0' in 'patient'"),
    ):
        assert bestleaf("select", "t.csv", *about, *changed) == 2
        assert sentence in capsys.readouterr().err
    assert bestleaf("verify", "c.json", "--groups", "patient") == 2
    assert "--data must be given with options that say how to read the table" in capsys.readouterr().err


def test_an_estimator_gets_folds_by_groups(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    patients().to_csv("t.csv", index=False)
    options = ["--target", "y", "--groups", "patient", "--exclude", "weight", *configured(choose="training", cv=2)]
    limits = ["--estimator", "linear", "--max-features", "1", "--certificate", "c.json"]
    assert bestleaf("select", "t.csv", *options, *limits) == 0
    assert "StratifiedGroupKFold(n_splits=2" in Certificate.load("c.json").content["data"]["objective"]["cv"]
    assert bestleaf("verify", "c.json", "--data", "t.csv") == 0  # the certificate names the column of groups


def test_all_methods_are_compared_by_groups_and_weights():
    table = load_table(patients(), "y", groups="patient", weights="weight")
    rows = list(compare(table, holdout=0.4, peers=["f-test"], choose="training", epsilon=0.1))
    assert [one.method for one in rows] == ["bestleaf", "all features", "F-test"]
    assert all(0 < one.held_out < 1 for one in rows)
    assert sum(rows[0].rows) == 60
    assert rows[0].rows[0] % 3 == 0  # patients stay together
