"""Groups of rows with the votes of nearest neighbours: a row's neighbours are of other groups."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

from bestleaf import BestLeafSelector, NeighbourVotes, validate, verify
from bestleaf.certificate import Certificate
from bestleaf.features import FeatureLattice
from bestleaf.features.neighbours import KNNOracle
from bestleaf.features.unseen import UnseenVotes
from naive import naive_value
from selecting import made_selector
from test_features import draws

TASKS = ("two classes", "several classes", "real")


def patients(task="two classes", people=12, visits=4, columns=5):
    """Return rows of people with several visits each: visits of a person look alike and have the same target."""
    rng = np.random.default_rng(3)
    person, groups = rng.normal(size=(people, columns)), np.repeat(np.arange(people), visits)
    X = person[groups] + 0.3 * rng.normal(size=(people * visits, columns))
    hidden = person[:, 0] + 0.5 * rng.normal(size=people)
    y = {"two classes": hidden > 0, "several classes": np.digitize(hidden, [-0.7, 0.7]), "real": hidden}[task][groups]
    return X, y.astype(float if task == "real" else int), groups


def oracle_of(task, X, y, **keywords):
    kind = "regression" if task == "real" else "classification"
    return KNNOracle(X, y, task=kind, scale=False, subsample=20, **keywords)


@pytest.mark.parametrize("task", TASKS)
def test_neighbours_are_of_other_groups_as_in_the_naive_twin(task):
    X, y, groups = patients(task)
    oracle = oracle_of(task, X, y, groups=groups)
    for subset in ([0], [1, 2], [0, 1, 2, 3, 4]):
        right = naive_value(X, y.tolist(), subset, real=task == "real", groups=groups.tolist())
        assert oracle.value(subset) == pytest.approx(right, abs=1e-6)
    assert oracle.value([0, 1]) < oracle_of(task, X, y).value([0, 1]) - 0.05  # other visits of a person give it away


@pytest.mark.parametrize("task", TASKS)
def test_groups_of_single_rows_change_nothing(task):
    X, y, _ = patients(task)
    alone, plain = oracle_of(task, X, y, groups=np.arange(len(y))), oracle_of(task, X, y)
    assert alone.value([0, 2]) == plain.value([0, 2])
    assert alone.standard_error([0, 2]) == pytest.approx(plain.standard_error([0, 2]))


@pytest.mark.parametrize("task", TASKS)
def test_compiled_and_plain_rollouts_know_groups(task):
    X, y, groups = patients(task)
    lattice, plain = FeatureLattice(oracle_of(task, X, y, groups=groups)), np.random.default_rng(0)
    assert draws(lattice, (1,), 0, 40) == [lattice.sample((1,), plain) for _ in range(40)]


def test_samples_have_the_value_as_their_mean():
    X, y, groups = patients()
    oracle, rng = oracle_of("two classes", X, y, groups=groups), np.random.default_rng(1)
    samples = np.array([oracle.sample([0, 3], rng) for _ in range(2000)])
    # A mean is off by four standard errors with a probability of less than 1e-4.
    assert abs(samples.mean() - oracle.value([0, 3])) < 4 * samples.std() / np.sqrt(len(samples))


def test_the_standard_error_counts_groups_not_rows():
    X, y, groups = patients()
    error = oracle_of("two classes", X, y, groups=groups).standard_error([0, 1])
    sums = oracle_of("two classes", X, y, groups=groups)
    sums.groups = None  # the same votes, as if rows were independent
    assert error > 1.2 * sums.standard_error([0, 1])


def test_names_of_groups_do_not_matter():
    X, y, groups = patients()
    oracle = oracle_of("two classes", X, y, groups=groups)
    named = oracle_of("two classes", X, y, groups=[f"patient {97 - one}" for one in groups])
    assert named.fingerprint() == oracle.fingerprint() != oracle_of("two classes", X, y).fingerprint()


def test_left_out_rows_are_ranked_by_the_votes_of_all_training_rows():
    X, y, groups = patients()
    train = groups < 8
    plain = UnseenVotes(oracle_of("two classes", X[train], y[train]), X[train], X[~train], y[~train])
    oracle = oracle_of("two classes", X[train], y[train], groups=groups[train])
    grouped = UnseenVotes(oracle, X[train], X[~train], y[~train])
    assert grouped.sums([0, 1]).tolist() == plain.sums([0, 1]).tolist()


@pytest.mark.parametrize("choose", ["training", "new_data"])
def test_a_certificate_is_about_its_groups(choose, tmp_path):
    X, y, groups = patients()
    selector = BestLeafSelector(choose=choose, random_state=0, cv=GroupKFold(2) if choose == "new_data" else None)
    found = selector.fit(X, y, groups=groups).certificate_
    assert "leave-one-group-out AUC of the votes of 5 nearest neighbours from other groups" in str(found)
    found.save(tmp_path / "proof.json")
    assert verify(tmp_path / "proof.json", X, y, groups=groups)
    assert verify(tmp_path / "proof.json")
    assert "give verify the groups of the rows, too" in str(verify(found, X, y))
    assert "not the groups of rows" in str(verify(found, X, y, groups=np.roll(groups, 1)))
    without = BestLeafSelector(choose="training", random_state=0).fit(X, y).certificate_
    assert "the rows of the certificate have no groups" in str(verify(without, X, y, groups=groups))
    with pytest.raises(ValueError, match="groups must be given with X and y"):
        verify(found, groups=groups)


def test_forged_groups_are_refused():
    X, y, groups = patients()
    genuine = BestLeafSelector(choose="training", random_state=0).fit(X, y, groups=groups).certificate_.content
    for forge in (
        lambda data: data.pop("row_groups"),
        lambda data: data["objective"].pop("grouped"),
        lambda data: data.update(row_groups="0" * 64),
    ):
        content = deepcopy(genuine)
        forge(content["data"])
        assert not verify(Certificate(content), X, y, groups=groups)


def test_other_searches_and_validations_know_groups():
    X, y, groups = patients()
    judged = validate(BestLeafSelector(choose="training", random_state=0), X, y, holdout=0.5, groups=groups)
    rows = judged.rows
    assert verify(judged.selector.certificate_, X[rows], y[rows], groups=groups[rows])
    quick = {"choose": "training", "epsilon": 1.0, "max_samples": 30, "random_state": 0}
    by_fits = made_selector(LogisticRegression(), cv=GroupKFold(3), **quick)
    found = by_fits.fit(X, y, groups=groups).certificate_
    assert verify(found, X, y, groups=groups)
    assert not verify(found, X, y, groups=groups % 2)


def test_two_groups_leave_no_voters_in_a_fold():
    X, y, groups = patients()
    selector = BestLeafSelector(random_state=0).fit(X, y, groups=groups % 2)
    assert selector.path_ is None  # a training part has rows of one group only, which cannot vote on each other


@pytest.mark.parametrize(
    ("groups", "sentence"),
    [
        (np.zeros(48), "at least 5 rows of other groups, which vote on it, got 0 beside the largest group"),
        (np.arange(48) >= 3, "at least 5 rows of other groups, which vote on it, got 3 beside the largest group"),
        (np.arange(47), r"groups must have one value for each of the 48 rows, got shape \(47,\)"),
        ([None, *range(47)], "groups must not have missing values, got 1 of them"),
        ([np.nan, *range(47)], "groups must not have missing values, got 1 of them"),
    ],
)
def test_groups_that_cannot_be_used(groups, sentence):
    X, y, _ = patients()
    with pytest.raises(ValueError, match=sentence):
        BestLeafSelector(choose="training").fit(X, y, groups=groups)
    with pytest.raises(ValueError, match=sentence):
        NeighbourVotes().oracle(X, y, groups=groups)
