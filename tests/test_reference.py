"""Very many rows: a reference of rows votes, the other rows are ranked."""

from __future__ import annotations

import pickle

import msgspec
import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from bestleaf import BestLeafSelector, KNNOracle, NeighbourVotes, SearchOptions, verify
from bestleaf.features import FeatureLattice, data
from bestleaf.features.data import row_roles

ROWS, REFERENCE = 400, 120


def table(kind: str, *, whole: bool = False, rows: int = ROWS, seed: int = 0):
    """Return X and y; whole numbers give many equal distances."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (rows, 8)).astype(float) if whole else rng.standard_normal((rows, 8))
    score = X[:, 0] + X[:, 3] + rng.standard_normal(rows)
    y = {"two classes": score > score.mean(), "real": score, "four classes": np.digitize(score, [-1, 0.5, 2])}[kind]
    return X, y if kind == "real" else y.astype(int)


def keywords_for(kind: str, which: str, rows: int = ROWS) -> dict:
    rng = np.random.default_rng(1)
    found = {"task": "regression"} if kind == "real" else {}
    if which == "groups":
        found["groups"] = rng.integers(0, 40, rows)
    if which == "weights":
        found["sample_weight"] = rng.integers(0, 4, rows)
    return found | ({"drop_zero": True} if which == "drop_zero" else {})


def plain_sums(oracle: KNNOracle, subset: list[int], places) -> np.ndarray:
    """Return the sums of the targets of the nearest reference rows, by sorting all distances."""
    columns, many = oracle.columns, oracle.roles.references
    found = []
    for place in places:
        distances = np.zeros(many, np.float32)
        for feature in subset:
            difference = columns[feature, :many] - columns[feature, place]
            distances = distances + difference * difference
        out = np.arange(many) == place
        if oracle.drop_zero:
            out |= distances == 0
        if oracle.groups is not None:
            out |= oracle.groups[:many] == oracle.groups[place]
        order = [one for one in np.lexsort((np.arange(many), distances)) if not out[one]][: oracle.n_neighbors]
        targets = oracle.targets[:, order].astype(np.float64)
        found.append(targets.mean(axis=1) if oracle.classes is None else targets.sum(axis=1))
    return np.array(found, np.float32)


@pytest.mark.parametrize("which", ["plain", "groups", "weights", "drop_zero"])
@pytest.mark.parametrize("kind", ["two classes", "real", "four classes"])
def test_only_reference_rows_vote_and_only_the_others_are_ranked(kind, which):
    X, y = table(kind, whole=which == "drop_zero")
    oracle = KNNOracle(X, y, reference_rows=REFERENCE, **keywords_for(kind, which))
    assert (oracle.roles.references, oracle.roles.queries) == (REFERENCE, ROWS - REFERENCE)
    assert oracle.queries.tolist() == list(range(REFERENCE, ROWS))
    subset = [0, 3, 5]
    votes = plain_sums(oracle, subset, oracle.queries)
    assert np.array_equal(oracle.sums(subset)[oracle.rows[oracle.queries]], votes)
    weights = None if oracle.row_weights is None else oracle.row_weights[oracle.queries]
    if kind == "two classes":
        right = roc_auc_score(y[oracle.rows[oracle.queries]], votes[:, 0], sample_weight=weights)
        assert oracle.value(subset) == pytest.approx(right, abs=1e-12)
    drawn = [oracle.sample(subset, np.random.default_rng(seed)) for seed in range(400)]
    error = np.std(drawn) / np.sqrt(len(drawn))
    assert abs(np.mean(drawn) - oracle.value(subset)) < 4 * error


@pytest.mark.parametrize("which", ["plain", "groups", "weights"])
@pytest.mark.parametrize("kind", ["two classes", "real", "four classes"])
def test_compiled_rollouts_draw_what_the_oracle_draws(kind, which):
    X, y = table(kind)
    lattice = FeatureLattice(KNNOracle(X, y, reference_rows=REFERENCE, **keywords_for(kind, which)))
    compiled, rng = lattice.compiled_oracle(np.random.default_rng(5)), np.random.default_rng(5)
    compiled.add(0, (0, 3))
    values = [lattice.sample((0, 3), rng) for _ in range(30)]
    compiled.warm_up(0, 30)
    assert compiled.global_rave_sums[[0, 3]] == pytest.approx(np.array([[sum(values), 30]] * 2), abs=1e-9)


def test_threads_share_the_work_of_a_value(monkeypatch):
    X, y = table("two classes", rows=3000)
    monkeypatch.setattr("bestleaf.features.votes.DISTANCES_A_THREAD", 1000)
    for subset in ([2], [0, 3], [1, 4, 6]):
        assert len({KNNOracle(X, y, reference_rows=800, n_jobs=jobs).value(subset) for jobs in (1, 3)}) == 1


def test_the_reference_has_the_same_share_of_every_class():
    labels = np.random.default_rng(0).choice(4, 10_000, p=[0.6, 0.3, 0.09, 0.01])
    for shuffle in (True, False):
        roles = row_roles(labels, 2_000, 3_000, shuffle=shuffle)
        assert len(set(roles.order)) == len(roles.order) == 5_000
        assert (roles.references, roles.first_query, roles.queries) == (2_000, 2_000, 3_000)
        shares = np.bincount(labels[roles.order[:2_000]]) / np.bincount(labels)
        assert np.allclose(shares, 0.2, atol=0.5 / np.bincount(labels).min())
        assert np.bincount(labels[roles.order[2_000:]]).min() >= 20
        assert roles.order.tolist() == row_roles(labels, 2_000, 3_000, shuffle=shuffle).order.tolist()
    assert (np.diff(roles.order[:2_000]) > 0).all()
    assert (np.diff(roles.order[2_000:]) > 0).all()


def test_few_rows_all_vote_and_are_kept_as_before():
    X, y = table("two classes")
    for oracle in (KNNOracle(X, y), KNNOracle(X, y, reference_rows=ROWS), KNNOracle(X, y, reference_rows=10**6)):
        assert not oracle.roles.apart
        assert oracle.rows.tolist() == np.random.default_rng(2019).permutation(ROWS).tolist()
        assert "reference_rows" not in oracle.settings()
        assert len(oracle.queries) == ROWS


def trained(X, y):
    options = SearchOptions(max_samples=3000)
    return BestLeafSelector(choose="training", epsilon=0.1, random_state=0, search=options).fit(X, y)


@pytest.fixture
def low_bound(monkeypatch):
    """Let 300 rows be very many, of which 100 vote."""
    monkeypatch.setattr(data, "VALUE_COST", 300**2)
    monkeypatch.setattr(data, "REFERENCE_ROWS", 100)
    monkeypatch.setattr(data, "QUERY_ROWS", 150)


def test_very_many_rows_get_a_reference_by_themselves(low_bound):
    X, y = table("two classes")
    oracle = KNNOracle(X, y)
    assert (oracle.roles.references, len(oracle.queries)) == (100, 150)
    assert oracle.queries.min() >= 100
    assert (oracle.settings()["reference_rows"], oracle.settings()["query_rows"]) == (100, 150)
    assert not KNNOracle(X[:300], y[:300]).roles.apart
    every = KNNOracle(X, y, reference_rows=ROWS)
    assert not every.roles.apart
    assert every.settings()["reference_rows"] == ROWS
    assert oracle.standard_error([0, 3]) > 0


@pytest.mark.parametrize("kind", ["two classes", "real", "four classes"])
def test_a_selection_among_very_many_rows_says_what_its_values_are(low_bound, kind):
    X, y = table(kind)
    found = trained(X, y)
    assert found.certificate_.data.objective.reference_rows == 100
    text = str(found.certificate_)
    assert "in a fixed reference of 100 rows, on a fixed random part of 150 of the other 300 rows" in text
    assert "leave-one-out" not in text
    verdict = verify(found.certificate_, X, y)
    assert verdict, str(verdict)
    assert "exact values were computed again" in str(verdict)


def test_values_of_another_reference_are_refused(low_bound):
    X, y = table("two classes")
    found = trained(X, y).certificate_
    for voters, ranked in ((90, 150), (100, 149), (270, 150), (400, 150), (401, 150)):
        objective = msgspec.structs.replace(found.data.objective, reference_rows=voters, query_rows=ranked)
        other = msgspec.structs.replace(found, data=msgspec.structs.replace(found.data, objective=objective))
        assert not verify(other, X, y)


@pytest.mark.parametrize(
    ("keywords", "kind", "sentence"),
    [
        ({"reference_rows": 2.5}, TypeError, "reference_rows must be a whole number of at least 1, got 2.5"),
        ({"reference_rows": 0}, ValueError, "reference_rows must be a whole number of at least 1, got 0"),
        ({"query_rows": 1}, ValueError, "query_rows must be a whole number of at least 2, got 1"),
        ({"reference_rows": 4}, ValueError, "reference_rows must be at least 5, the number of neighbours, got 4"),
        (
            {"reference_rows": 399},
            ValueError,
            "reference_rows must leave rows with two different targets to rank, got 399 of 400 rows",
        ),
        (
            {"reference_rows": 350, "subsample": 60},
            ValueError,
            r"subsample must be between 2 and the number of rows that are ranked \(50\), got 60",
        ),
    ],
)
def test_a_reference_that_cannot_be_used_gets_one_clear_sentence(keywords, kind, sentence):
    with pytest.raises(kind, match=sentence):
        NeighbourVotes(**keywords).oracle(*table("two classes"))


def test_an_oracle_with_a_reference_survives_pickling():
    X, y = table("real")
    oracle = KNNOracle(X, y, task="regression", reference_rows=REFERENCE, query_rows=90)
    copy = pickle.loads(pickle.dumps(oracle))
    assert (len(oracle.queries), copy.value([0, 3])) == (90, oracle.value([0, 3]))
    assert copy.fingerprint() == oracle.fingerprint()
