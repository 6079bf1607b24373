"""Groups and weights of rows with votes: neighbours are of other groups, a pair counts the product of its weights."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.naive_bayes import GaussianNB

from bestleaf import BestLeafSelector, Certificate, verify
from bestleaf.features import FeatureLattice
from bestleaf.features.neighbours import KNNOracle
from bestleaf.features.ranking import concordance, pulls
from naive import naive_value
from selecting import bestleaf, made_selector, refused
from test_features import draws

TASKS = ("two classes", "several classes", "real")
GROUPS = np.repeat(np.arange(15), 4)  # people with four visits each
WEIGHTS = np.random.default_rng(5).integers(0, 4, 60).astype(float)
ROLES = {"groups": {"groups": GROUPS}, "weights": {"sample_weight": WEIGHTS}}
QUICK = {"choose": "training", "random_state": 0}


def patients(task="two classes", columns=5):
    """Return rows of people with several visits each: visits of a person look alike and have the same target."""
    rng = np.random.default_rng(3)
    person = rng.normal(size=(15, columns))
    X = person[GROUPS] + 0.3 * rng.normal(size=(60, columns))
    hidden = np.round(64 * (person[:, 0] + 0.5 * rng.normal(size=15))) / 64  # sums of them are exact
    y = {"two classes": hidden > 0, "several classes": np.digitize(hidden, [-0.7, 0.7]), "real": hidden}[task][GROUPS]
    return X, y.astype(float if task == "real" else int)


def oracle_of(task, X, y, **keywords):
    kind = "regression" if task == "real" else "classification"
    return KNNOracle(X, y, **{"task": kind, "scale": False, "subsample": 20, **keywords})


@pytest.mark.parametrize("task", TASKS)
def test_values_are_those_of_the_naive_twin(task):
    X, y = patients(task)
    for subset in ([0], [1, 2], [0, 1, 2, 3, 4]):
        for groups in (None, GROUPS):
            for weights in (None, WEIGHTS):
                naive = {"groups": None if groups is None else groups.tolist(), "weights": weights}
                naive = {name: value for name, value in naive.items() if value is not None}
                right = naive_value(X, y.tolist(), subset, real=task == "real", **naive)
                oracle = oracle_of(task, X, y, groups=groups, sample_weight=weights)
                assert oracle.value(subset) == pytest.approx(right, abs=1e-6)
    grouped, plain = oracle_of(task, X, y, groups=GROUPS), oracle_of(task, X, y)
    assert grouped.value([0, 1]) < plain.value([0, 1]) - 0.05  # other visits of a person give it away


@pytest.mark.parametrize("task", TASKS)
def test_groups_of_single_rows_and_equal_weights_change_nothing(task):
    X, y = patients(task)
    plain = oracle_of(task, X, y)
    for alike in ({"groups": np.arange(60)}, {"sample_weight": np.ones(60)}, {"sample_weight": np.full(60, 0.25)}):
        oracle = oracle_of(task, X, y, **alike)
        assert oracle.value([0, 2]) == pytest.approx(plain.value([0, 2]))
        assert oracle.standard_error([0, 2]) == pytest.approx(plain.standard_error([0, 2]))


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("ties", ["half", "strict"])
def test_whole_weights_are_repeated_rows_in_the_ranking(task, ties):
    X, y = patients(task)
    oracle, plain = oracle_of(task, X, y, ties=ties, sample_weight=WEIGHTS), oracle_of(task, X, y, ties=ties)
    often = np.repeat(np.arange(60), WEIGHTS.astype(int))  # each row as often as its weight says
    sums, targets = plain.sums([0, 1]), np.empty_like(plain.targets)
    targets[:, plain.rows] = plain.targets
    assert oracle.value([0, 1]) == pytest.approx(plain.fraction_in_order(targets[:, often], sums[often]))


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("roles", ROLES)
def test_compiled_and_plain_rollouts_know_groups_and_weights(task, roles):
    X, y = patients(task)
    lattice, plain = FeatureLattice(oracle_of(task, X, y, **ROLES[roles])), np.random.default_rng(0)
    assert draws(lattice, (1,), 0, 40) == [lattice.sample((1,), plain) for _ in range(40)]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("roles", ROLES)
def test_samples_have_the_value_as_their_mean(task, roles):
    X, y = patients(task)
    given = ROLES[roles]
    if roles == "weights":  # far from equal, so that unweighted samples would be off
        given = {"sample_weight": np.where(X[:, 2] > 0, 5.0, WEIGHTS)}
    oracle, rng = oracle_of(task, X, y, **given, subsample=40), np.random.default_rng(2)
    samples = np.array([oracle.sample([0, 1], rng) for _ in range(4000)])
    # A mean is off by four standard errors with a probability of less than 1e-4. A fraction of random numbers of
    # pairs, of several classes or real targets, is biased a little, with weights as without: at most 0.005.
    error, bias = samples.std() / np.sqrt(len(samples)), 0 if task == "two classes" else 0.005
    assert abs(samples.mean() - oracle.value([0, 1])) < bias + 4 * error
    if roles == "weights" and task == "two classes":
        assert abs(samples.mean() - oracle_of(task, X, y).value([0, 1])) > 6 * error


def test_pulls_of_weighted_rows_are_derivatives_of_the_value():
    X, y = patients()
    weights, votes = WEIGHTS + 0.5, oracle_of("two classes", X, y).sums([0])[:, 0]
    for real, truth in ((False, y.astype(np.float32)), (True, patients("real")[1].astype(np.float32))):
        found = pulls(truth, votes, weights, real=real)
        more = weights.copy()
        more[7] *= 1.0 + 1e-6
        risen = concordance(truth, votes, more) - concordance(truth, votes, weights)
        assert found[7] == pytest.approx(risen / 1e-6, abs=1e-4)
        assert found.sum() == pytest.approx(0.0, abs=1e-12)


def test_the_standard_error_counts_groups_not_rows_and_names_do_not_matter():
    X, y = patients()
    oracle, rows = (oracle_of("two classes", X, y, groups=GROUPS) for _ in range(2))
    rows.groups = None  # the same votes, as if rows were independent
    assert oracle.standard_error([0, 1]) > 1.2 * rows.standard_error([0, 1])
    named = oracle_of("two classes", X, y, groups=[f"patient {97 - one}" for one in GROUPS])
    assert named.fingerprint() == oracle.fingerprint() != oracle_of("two classes", X, y).fingerprint()


WORDS = {
    "groups": "leave-one-group-out AUC of the votes of 5 nearest neighbours from other groups",
    "weights": ", rows weighted",
}


@pytest.mark.parametrize("roles", ROLES)
@pytest.mark.parametrize("choose", ["training", "new_data"])
def test_a_certificate_is_about_its_groups_and_weights(roles, choose, tmp_path):
    (X, y), given = patients(), ROLES[roles]
    ((name, values),) = given.items()
    found = BestLeafSelector(choose=choose, random_state=0).fit(X, y, **given).certificate_
    if choose == "training":
        assert WORDS[roles] in str(found)
    found.save(tmp_path / "proof.json")
    assert verify(tmp_path / "proof.json", X, y, **given)
    assert verify(tmp_path / "proof.json")
    assert f"give verify the {roles}, too" in str(verify(found, X, y))
    assert f"not the {roles} of rows" in str(verify(found, X, y, **{name: np.roll(values, 1)}))
    with pytest.raises(ValueError, match=f"{name} must be given with X and y"):
        verify(found, **given)
    without = BestLeafSelector(**QUICK).fit(X, y).certificate_
    assert f"the rows of the certificate have no {roles}" in str(verify(without, X, y, **given))


def test_estimators_know_groups():
    X, y = patients()
    by_fits = made_selector(LogisticRegression(), cv=GroupKFold(3), **QUICK, epsilon=1.0, max_samples=30)
    found = by_fits.fit(X, y, groups=GROUPS).certificate_
    assert verify(found, X, y, groups=GROUPS)
    assert not verify(found, X, y, groups=GROUPS % 2)


def test_rows_of_a_group_are_never_on_both_sides_and_too_few_groups_choose_nothing():
    X, y = patients()
    seen = []

    class Seen(GaussianNB):
        def fit(self, X, y):
            seen.append({tuple(row) for row in X.tolist()})
            return super().fit(X, y)

    BestLeafSelector(Seen(), random_state=0).fit(X, y, groups=GROUPS)
    rows = [{tuple(row) for row in X[one == GROUPS].tolist()} for one in range(15)]
    whole = [table for table in seen if len(next(iter(table))) == 5]  # fitted to all columns
    assert whole
    assert all(part <= table or not part & table for table in whole for part in rows)
    with pytest.warns(UserWarning, match="groups has 2 groups, too little to choose by cross-validation"):
        few = BestLeafSelector(random_state=0).fit(X, y, groups=GROUPS % 2)
    assert few.support_.all()


@pytest.mark.parametrize(
    ("name", "values", "sentence"),
    [
        ("groups", np.zeros(60), "at least 5 rows of other groups, which vote on it, got 0 beside the largest group"),
        ("groups", np.arange(60) >= 3, "at least 5 rows of other groups, which vote on it, got 3 beside the largest"),
        ("groups", np.arange(59), r"groups must have one value for each of the 60 rows, got shape \(59,\)"),
        ("groups", [None, *range(59)], "groups must not have missing values, got 1 of them"),
        ("sample_weight", np.full(60, -1.0), "sample_weight must be 60 finite numbers of at least 0, got -1 to -1"),
        ("sample_weight", ["heavy"] * 60, "sample_weight must be 60 numbers of at least 0, got text or lists"),
        ("sample_weight", np.ones(59), r"sample_weight must have one value for each of the 60 rows, got shape \(59,\)"),
        ("sample_weight", np.zeros(60), "must give more than 1e-06 of the weight to a second target"),
        ("sample_weight", patients()[1] * 1.0, "must give more than 1e-06 of the weight to a second target"),
    ],
)
def test_groups_and_weights_that_cannot_be_used(name, values, sentence):
    with pytest.raises(ValueError, match=sentence):
        BestLeafSelector(choose="training").fit(*patients(), **{name: values})
    if "other groups" not in sentence:
        with pytest.raises(ValueError, match=sentence):
            BestLeafSelector().fit(*patients(), **{name: values})


# ---- tables and the command line


@pytest.fixture
def frame(tmp_path, monkeypatch):
    """A table, also as a file."""
    monkeypatch.chdir(tmp_path)
    X, y = patients()
    made = pd.DataFrame(X, columns=list("abcde"))
    made = made.assign(patient=[f"p{one}" for one in GROUPS], weight=WEIGHTS, y=y)
    made.to_csv("t.csv", index=False)
    return made


def test_groups_and_weights_are_columns_that_are_no_features(frame):
    about = ["--target", "y", "--groups", "patient", "--weights", "weight"]
    options = ["--certificate", "c.json", "--choose", "training"]
    assert bestleaf("select", "t.csv", *about, *options).code == 0
    assert Certificate.load("c.json").data.names == tuple("abcde")
    assert bestleaf("verify", "c.json", "--data", "t.csv").code == 0
    assert "leave-one-group-out" in str(Certificate.load("c.json"))
    other = "must name a column of the table other than the target, got"
    for changed, sentence in (
        (["--groups", "patients"], f"--groups {other} 'patients' (did"),
        (["--weights", "y"], f"--weights {other} 'y'"),
        (["--groups", "weight"], "--groups must be another column than weights, got 'weight' for both"),
        (["--weights", "patient", "--groups", "a"], "--weights must be numbers of at least 0, got 'p0' in 'patient'"),
    ):
        assert sentence in refused("select", "t.csv", *about, *changed)


def test_an_estimator_gets_folds_by_groups(frame):
    options = ["--target", "y", "--groups", "patient", "--exclude", "weight", "--choose", "training", "--cv", "2"]
    limits = ["--estimator", "linear", "--max-features", "1", "--certificate", "c.json"]
    assert bestleaf("select", "t.csv", *options, *limits).code == 0
    assert "StratifiedGroupKFold(n_splits=2" in Certificate.load("c.json").data.objective.cv
    assert bestleaf("verify", "c.json", "--data", "t.csv").code == 0  # the certificate names the column of groups
