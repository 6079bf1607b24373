"""Families of candidates, the folds they are found on, and the scores of left-out rows."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import ShuffleSplit
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bestleaf.certificate.schema import FAMILIES
from bestleaf.features import FeatureLattice
from bestleaf.features.neighbours import KNNOracle, NeighbourVotes
from bestleaf.features.unseen import UnseenVotes
from bestleaf.new_data import left_out
from bestleaf.new_data.families import f_test, forest_importance, inclusion, surrogate
from bestleaf.new_data.left_out import FEWEST_ROWS, Plan, candidates_on, folds_of, rows_to_choose_by
from bestleaf.new_data.part import Choosable
from bestleaf.selection.data import Data, task_for, votes_of

BY_VOTES = {"inclusion", "surrogate", "importance", "single values", "F-test", "consensus", "elimination", "search"}
SCALED_LOGISTIC = make_pipeline(StandardScaler(), LogisticRegression())


def table(seed=0, rows=80, columns=8, kinds=2):
    """Return a table in which columns 0 and 3 tell the target: classes, or real numbers for `kinds` 0."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    target = X[:, 0] + X[:, 3] + 0.3 * rng.normal(size=rows)
    return X, np.searchsorted(np.quantile(target, np.arange(1, kinds) / kinds), target) if kinds else target


def data_of(X, y, **metadata):
    return Data(X, y, np.array([f"x{number}" for number in range(X.shape[1])], object), metadata)


def part_of(X, y, estimator=None, check=None, **choice):
    """Return all rows as the part that candidates are found on."""
    lattice = FeatureLattice(KNNOracle(X, y, task=task_for(y, estimator)), **choice)
    choosable = Choosable.of(lattice, by_fits=votes_of(estimator) is None)
    plan = Plan(data_of(X, y), estimator, None, choosable, task_for(y, estimator), 0, check)
    return plan.part(slice(None), 0, inf)


# ---- scores on new rows


@pytest.mark.parametrize(("kinds", "scale"), [(2, True), (3, False), (5, True)])
def test_votes_on_new_rows_are_those_of_scikit_learn(kinds, scale):
    rng = np.random.default_rng(kinds)
    X, y = table(kinds, 150, 6, kinds)
    X *= rng.uniform(0.1, 10, 6)
    seen, new = np.arange(150) < 90, np.arange(150) >= 90
    unseen = UnseenVotes(KNNOracle(X[seen], y[seen], scale=scale), X[seen], X[new], y[new])
    for subset in ([0], [3, 0], [1, 4, 5], range(6)):
        columns = sorted(subset)
        scaler = StandardScaler(with_mean=scale, with_std=scale).fit(X[seen][:, columns])
        old, fresh = (scaler.transform(X[rows][:, columns]).astype(np.float32) for rows in (seen, new))
        nearest = NearestNeighbors(n_neighbors=5).fit(old).kneighbors(fresh, return_distance=False)
        votes = np.stack([(y[seen][nearest] == one).mean(axis=1) for one in range(kinds)], axis=1)
        one_by_one = [roc_auc_score(y[new] == one, votes[:, one]) for one in range(kinds)]
        expected = one_by_one[1] if kinds == 2 else np.mean(one_by_one)
        assert unseen.score(subset) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("scale", [True, False])
def test_votes_on_new_rows_rank_real_targets_by_the_mean_of_the_neighbours(scale):
    X, y = table(1, 120, 5, kinds=0)
    X *= [1, 10, 0.1, 5, 1]
    seen, new = np.arange(120) < 80, np.arange(120) >= 80
    unseen = UnseenVotes(KNNOracle(X[seen], y[seen], task="regression", scale=scale), X[seen], X[new], y[new])
    for subset in ([0], [0, 3], range(5)):
        scaler = StandardScaler(with_mean=scale, with_std=scale).fit(X[seen][:, subset])
        nearest = NearestNeighbors(n_neighbors=5).fit(scaler.transform(X[seen][:, subset]))
        mean = y[seen][nearest.kneighbors(scaler.transform(X[new][:, subset]), return_distance=False)].mean(axis=1)
        places = np.triu_indices(len(mean), 1)
        by_votes = np.round(mean[places[0]] - mean[places[1]], 9)  # equal votes, added up in another order, are equal
        right = by_votes * (y[new][places[0]] - y[new][places[1]]) > 0
        assert unseen.score(subset) == pytest.approx((right + 0.5 * (by_votes == 0)).mean(), abs=1e-6)


def test_a_new_row_never_votes_and_an_unknown_class_is_wrong_for_all():
    X, y = table(2, 60, 4)
    oracle = KNNOracle(X[:40], y[:40])
    alone = UnseenVotes(oracle, X[:40], X[40:42], y[40:42]).sums([0, 3])
    together = UnseenVotes(oracle, X[:40], X[40:], y[40:]).sums([0, 3])
    np.testing.assert_array_equal(alone, together[:2])
    three = np.where(np.arange(60) < 50, y, 2)
    assert 0 <= UnseenVotes(oracle, X[:40], X[40:], three[40:]).score([0, 3]) <= 1


# ---- candidates

CHOICES = [
    {},
    {"include": [5], "exclude": [0]},
    {"max_features": 3},
    {"include": [1, 2], "max_features": 4, "exclude": [7]},
    {"groups": [[0, 1], [2], [3, 4, 5], [6], [7]]},
    {"groups": [[0, 1], [2], [3, 4, 5], [6], [7]], "include": [3, 4, 5], "max_features": 3},
]


@pytest.mark.slow
@pytest.mark.parametrize("choice", CHOICES, ids=lambda one: "-".join(one) or "free")
@pytest.mark.parametrize(
    ("estimator", "kinds", "families"),
    [
        *((None, kinds, BY_VOTES) for kinds in (2, 3, 0)),
        (SCALED_LOGISTIC, 2, {"elimination"}),  # with few units no other order is tried
        (RandomForestClassifier(5, random_state=0), 3, {"elimination"}),
        (Ridge(), 0, {"elimination"}),
    ],
)
def test_every_family_has_subsets_of_the_sizes_it_says_that_may_be_chosen(choice, estimator, kinds, families):
    part = part_of(*table(0, 60, 8, kinds), estimator, **choice)
    found, choosable = candidates_on(part), part.choosable
    assert set(found) == families <= set(FAMILIES)
    for name, subsets in found.items():
        assert set(subsets) <= set(choosable.sizes)
        assert name == "search" or set(subsets) == set(choosable.sizes)
        for size, units in subsets.items():
            assert len(units) == size <= choosable.limit
            assert list(units) == sorted(set(units))
            assert set(choosable.forced) <= set(units) <= set(choosable.everything)


@pytest.mark.parametrize("kinds", [2, 4, 0])
def test_every_family_finds_two_features_that_tell_nearly_everything(kinds):
    for name, subsets in candidates_on(part_of(*table(3, 150, 8, kinds))).items():
        assert subsets[2] == (0, 3), name
    estimator = SCALED_LOGISTIC if kinds else Ridge()
    for name, subsets in candidates_on(part_of(*table(3, 150, 8, kinds), estimator)).items():
        assert subsets[2] == (0, 3), name


def test_the_search_finds_two_features_that_tell_nothing_alone():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 6))
    found = candidates_on(part_of(X, (X[:, 1] * X[:, 4] > 0).astype(int)))
    assert found["inclusion"][2] == found["surrogate"][2] == found["elimination"][2] == (1, 4)


def test_what_units_score_by_hand():
    members = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 0, 1], [0, 1, 1]] * 10, bool)
    values = members @ np.array([0.3, 0.0, -0.3])
    assert inclusion(members, values).tolist() == [0.5, 0.0, -0.5]
    assert np.argsort(-surrogate(members, values)).tolist() == [0, 1, 2]


def test_columns_that_are_constant_or_huge_do_no_harm():
    X, y = table(4)
    X[:, 1], X[:, 2] = 7.0, 0.0
    X[5, 2] = 1.0
    X[:, 4] *= 1e200
    X[:, 5] *= 1e-200
    part = part_of(X, y)
    assert np.argmin(f_test(part)) == 1
    assert forest_importance(part)[1] == 0
    plain = part_of(np.column_stack([X[:, :4], X[:, 4] / 1e200, X[:, 5] * 1e200, X[:, 6:]]), y)
    np.testing.assert_allclose(f_test(part), f_test(plain), rtol=1e-6)
    assert candidates_on(part)["search"] == candidates_on(plain)["search"]


# ---- folds


def folds(X, y, cv=None, votes=NeighbourVotes(), **metadata):  # noqa: B008  nothing changes it
    rounds = folds_of(data_of(X, y, **metadata), cv, task_for(y, votes), 0, votes)
    return [split for one in rounds for split in one]


def test_folds_of_a_small_table_are_stratified_and_drawn_twice():
    X, y = table(5, 90, 4, kinds=3)
    found = folds(X, y)
    assert len(found) == 20
    for kept, aside in found:
        assert sorted([*kept, *aside]) == list(range(90))
        assert np.bincount(y[aside]).tolist() == [3, 3, 3]
    left = np.concatenate([split.aside for split in found])
    assert np.bincount(left).tolist() == [2] * 90
    assert [split.aside.tolist() for split in folds(X, y)] == [split.aside.tolist() for split in found]


def test_a_splitter_gives_the_folds():
    X, y = table(7, 80, 4)
    assert len(folds(X, y, groups=np.arange(80) % 4)) == 4
    given = [(np.arange(40), np.arange(40, 80)), (np.arange(40, 80), np.arange(40))]
    assert [split.aside.tolist() for split in folds(X, y, given)] == [aside.tolist() for _, aside in given]
    at_random = ShuffleSplit(3, test_size=0.2)  # its random state follows from the seed
    assert [one.aside.tolist() for one in folds(X, y, at_random)] == [
        one.aside.tolist() for one in folds(X, y, at_random)
    ]
    with pytest.raises(ValueError, match="cv must be a number, a splitter or a list, got the iterator"):
        folds(X, y, iter(given))


def test_folds_in_which_nothing_can_be_scored_are_left_out():
    X, y = table(8, 60, 4)
    assert folds(X, (np.arange(60) == 7).astype(int)) == []
    two = folds(X, (np.arange(60) < 2).astype(int))
    assert two
    assert all(len(set((split.aside < 2).tolist())) == 2 for split in two)
    assert folds(X, y, votes=NeighbourVotes(57)) == []
    assert len(folds(X, y, votes=NeighbourVotes(50))) == 20


def test_of_very_many_rows_a_random_part_chooses(monkeypatch):
    X, y = table(9, 200, 4)
    monkeypatch.setattr(left_out, "MOST_ROWS", 50)
    rows = rows_to_choose_by(data_of(X, y), None, "classification", 0)
    assert np.bincount(y[np.unique(rows)]).tolist() == [25, 25]
    once = np.where(np.arange(200) == 3, 5, y)
    assert len(set(rows_to_choose_by(data_of(X, once), None, "classification", 0))) == 50
    assert len(set(rows_to_choose_by(data_of(X, X[:, 0]), None, "regression", 0))) == 50
    assert len(rows_to_choose_by(data_of(X, y), 3, "classification", 0)) == 200  # a splitter may name rows by number
    few = data_of(X[: FEWEST_ROWS - 1], y[: FEWEST_ROWS - 1])
    assert rows_to_choose_by(few, None, "classification", 0) is None
