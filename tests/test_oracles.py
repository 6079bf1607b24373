"""The k-NN oracle against the paper's numbers, scikit-learn and plain Python."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestNeighbors

from bestleaf.features.kernels.records import TIES
from bestleaf.features.neighbours import KNNOracle, NeighbourVotes
from bestleaf.features.ranking import counted_pairs
from bestleaf.paper import load_linear, make_linear

# strict, half and row-order ties on the paper's linear data
PAPER = {
    (5,): (0.4902, 0.5913, 0.5907),
    (5, 1): (0.9058, 0.9364, 0.9412),
    (5, 1, 2): (0.9919, 0.9941, 0.9943),
}


@pytest.mark.parametrize("subset", PAPER)
@pytest.mark.parametrize(("place", "ties"), list(enumerate(["strict", "half", "row_order"])))
def test_values_on_the_linear_data_are_the_published_ones(subset, place, ties):
    oracle = KNNOracle(*load_linear(return_X_y=True), ties=ties, scale=False)
    assert round(oracle.value(subset), 4) == PAPER[subset][place]


def random_data(seed, rows, columns, classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    y = np.concatenate([np.arange(classes), rng.integers(0, classes, rows - classes)])
    return X, y, rng


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    rows=st.integers(8, 400),
    columns=st.integers(1, 8),
    k=st.integers(1, 7),
    size=st.integers(1, 8),
)
def test_votes_are_those_of_scikit_learn_and_so_is_the_auc(seed, rows, columns, k, size):
    X, y, rng = random_data(seed, rows, columns)
    subset = rng.choice(columns, min(size, columns), replace=False)
    oracle = KNNOracle(X, y, n_neighbors=k, subsample=5, scale=False)
    chosen = X.astype(np.float32)[:, subset]
    neighbours = NearestNeighbors(n_neighbors=k).fit(chosen).kneighbors(return_distance=False)
    votes = y[neighbours].sum(axis=1)
    assert np.array_equal(oracle.sums(subset)[:, 0], votes)
    assert oracle.value(subset) == pytest.approx(roc_auc_score(y, votes))


def naive_neighbours(X, query, k, drop_zero):
    distance = [(np.float32(((row - X[query]) ** 2).sum(dtype=np.float32)), i) for i, row in enumerate(X) if i != query]
    return [i for d, i in sorted(distance) if not (drop_zero and d == 0)][:k]


@pytest.mark.parametrize("drop_zero", [False, True])
def test_equal_distances_go_to_the_smaller_row_and_duplicates_can_be_dropped(drop_zero):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (80, 2)).astype(np.float32)
    y = rng.integers(0, 2, 80)
    oracle = KNNOracle(X, y, scale=False, drop_zero=drop_zero, ties="row_order")
    expected = [y[naive_neighbours(X, query, 5, drop_zero)].sum() for query in range(80)]
    assert np.array_equal(oracle.sums([0, 1])[:, 0], expected)


def test_samples_average_near_the_exact_value_and_are_remembered():
    X, y = load_linear(return_X_y=True)
    oracle, rng = KNNOracle(X, y, scale=False), np.random.default_rng(0)
    values = [oracle.sample([1, 2, 5], rng) for _ in range(400)]
    error = np.std(values) / 20
    assert abs(np.mean(values) - oracle.value([1, 2, 5])) < 4 * error
    forgetful, same = KNNOracle(X, y, scale=False, memory=0), np.random.default_rng(0)
    assert [forgetful.sample([1, 2, 5], same) for _ in range(50)] == values[:50]


def test_subsamples_with_one_class_are_drawn_again():
    X = np.random.default_rng(0).normal(size=(40, 2))
    oracle = KNNOracle(X, np.arange(40) < 2, subsample=3)
    assert 0 <= oracle.sample([0], np.random.default_rng(1)) <= 1


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"X": [["a", "b"]] * 10}, "X must hold numbers only"),
        ({"X": [1.0, 2.0]}, r"X must be a table of rows and columns, got shape \(2,\)"),
        ({"X": np.ones((1, 2)), "y": [1]}, "X must have at least 2 rows, got 1"),
        ({"X": np.where(np.arange(20).reshape(10, 2) == 3, np.nan, 1.0)}, r"missing or infinite .* columns \[1\]"),
        ({"X": np.full((10, 2), np.inf)}, r"found in columns \[0, 1\]"),
        ({"y": np.zeros(10)}, r"y must have at least two classes, got only \[0.0\]"),
        ({"y": np.zeros(3)}, r"y must have one value for each of the 10 rows, got shape \(3,\)"),
        ({"y": np.ones(10), "task": "regression"}, "y must have at least two different values, got only 1.0"),
        ({"y": np.full(10, np.nan), "task": "regression"}, "y must not have missing or infinite values"),
        ({"task": "ranking"}, "task must be 'classification' or 'regression', got 'ranking'"),
        ({"n_neighbors": 10}, "n_neighbors must be between 1 and the number of rows less one, got 10"),
        ({"subsample": 11}, r"subsample must be between 2 and the number of rows \(10\), got 11"),
        ({"ties": "none"}, "ties must be one of half, strict, row_order, got 'none'"),
    ],
)
def test_bad_data_get_one_clear_sentence(change, sentence):
    good = {"X": np.arange(20.0).reshape(10, 2), "y": np.arange(10) % 2, "subsample": 5}
    with pytest.raises(ValueError, match=sentence):
        KNNOracle(**{**good, **change})


def test_equal_distances_do_not_favour_the_class_that_comes_first():
    """A coin that agrees with the label 9 times in 10 is worth the same whether the rows are sorted by label or not."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 150)
    X = np.where(rng.random(300) < 0.9, y, 1 - y)[:, None].astype(float)
    order = rng.permutation(300)
    straight, shuffled = KNNOracle(X, y).value([0]), KNNOracle(X[order], y[order]).value([0])
    assert abs(straight - shuffled) < 0.1
    assert straight > 0.8


def test_an_oracle_survives_pickling_and_threads():
    X, y = make_linear(150, 12, seed=0, return_X_y=True)
    oracle = KNNOracle(X, y, memory=0)
    copy = pickle.loads(pickle.dumps(oracle))
    subsets = [[3], range(12), *([a, b] for a in range(12) for b in range(a))]
    with pytest.raises(ValueError, match="subset must name features from 0 to 11, got"):
        oracle.value([3, 30])
    expected = [oracle.value(subset) for subset in subsets]
    assert copy.values(subsets) == expected
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(oracle.value, subsets)) == expected


def test_offsets_and_units_do_not_matter():
    X, y = make_linear(150, 12, seed=0, return_X_y=True)
    X = X.astype(float)
    expected = KNNOracle(X, y, scale=False).value([1, 2])
    assert KNNOracle(X + 1e8, y, scale=False).value([1, 2]) == pytest.approx(expected, abs=0.01)
    stretched = X * 10.0 ** np.arange(-6, 6) + np.arange(12)
    assert KNNOracle(stretched, y).value([1, 2]) == pytest.approx(KNNOracle(X, y).value([1, 2]), abs=1e-6)
    assert KNNOracle(X * 1e200, y).value([1, 2]) == pytest.approx(KNNOracle(X, y).value([1, 2]), abs=0.01)
    with pytest.raises(ValueError, match="X must hold numbers less than 1e\\+15 in size"):
        KNNOracle(X * 1e30, y, scale=False)
    real = X[:, 0] - X[:, 1]
    tiny = KNNOracle(X, real * 1e-50, task="regression").value([1, 2])
    assert tiny == KNNOracle(X, real, task="regression").value([1, 2])
    real[0] = -1e12
    with pytest.raises(ValueError, match="y must be told apart in single precision"):
        KNNOracle(X, real, task="regression")


def test_parameters_of_the_votes_make_the_oracle():
    X, y = load_linear(return_X_y=True)
    votes = NeighbourVotes(3, ties="strict", subsample=20)
    oracle = clone(votes).set_params(scale=False).oracle(X, y, n_jobs=2)
    same = KNNOracle(X, y, n_neighbors=3, ties="strict", subsample=20, scale=False)
    assert oracle.settings() == same.settings()
    assert oracle.value([1, 5]) == same.value([1, 5])
    assert NeighbourVotes().oracle(X, X[:, 0]).settings()["task"] == "regression"
    assert NeighbourVotes(task="regression").oracle(X, y).settings()["task"] == "regression"


@pytest.mark.parametrize(
    ("keywords", "kind", "sentence"),
    [
        ({"n_neighbors": True}, TypeError, "n_neighbors must be a whole number of at least 1, got True"),
        ({"n_neighbors": 0}, ValueError, "n_neighbors must be a whole number of at least 1, got 0"),
        ({"subsample": 2.5}, TypeError, "subsample must be a whole number of at least 2, got 2.5"),
        ({"scale": "yes"}, TypeError, "scale must be True or False, got 'yes'"),
        ({"task": "rank"}, ValueError, "task must be one of auto, classification, regression, got 'rank'"),
    ],
)
def test_bad_parameters_of_the_votes_get_one_clear_sentence(keywords, kind, sentence):
    with pytest.raises(kind, match=sentence):
        NeighbourVotes(**keywords).oracle(*load_linear(return_X_y=True))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ties", TIES)
def test_pairs_are_counted_as_if_they_were_looked_at_one_by_one(ties, weighted):
    rng, row = np.random.default_rng(0), np.arange(40)
    for most in (2, 5, 100):
        truth, score = rng.integers(0, most, (2, 40)).astype(np.float32)
        score[:4] = -0.0, 0.0, np.inf, np.nan
        weights = rng.random(40) * rng.integers(0, 2, 40) if weighted else None
        heavy = np.outer(weights, weights) if weighted else 1.0
        differ = truth[:, None] < truth
        tie = {"half": 0.5, "strict": 0.0, "row_order": row[:, None] < row}[ties]
        good = (score[:, None] < score) + tie * (score[:, None] == score)
        expected = (heavy * differ * good).sum(), (heavy * differ).sum()
        assert counted_pairs(truth, score, TIES[ties], weights) == (pytest.approx(expected) if weighted else expected)
