"""Any estimator as the oracle."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris, make_classification, make_regression
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Ridge, RidgeCV
from sklearn.metrics import get_scorer, make_scorer, mean_absolute_error
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.metadata_routing import MetadataRequest, MetadataRouter

from bestleaf import BestLeafSelector, EstimatorOracle, Search, verify
from bestleaf.features import FeatureLattice
from bestleaf.features.scoring import quick_score
from selecting import made_selector

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),  # budgets are part of it
]
IRIS = load_iris(return_X_y=True)
MODEL = GaussianNB()


class Mute(ClassifierMixin, BaseEstimator):
    """Can be fitted, but does not predict."""

    def fit(self, X, y):
        return self


@pytest.fixture(scope="module")
def table():
    return make_classification(150, 12, n_informative=3, n_redundant=2, shuffle=False, random_state=0)


def test_the_value_is_the_mean_of_scikit_learns_cross_validation(table):
    X, y = table
    for scoring, cv in (("accuracy", 5), ("roc_auc", 4), ("f1", KFold(3, shuffle=True, random_state=1))):
        oracle = EstimatorOracle(X, y, estimator=MODEL, scoring=scoring, cv=cv)
        expected = cross_val_score(MODEL, X[:, [0, 2]], y, scoring=scoring, cv=cv).mean()
        assert oracle.value([2, 0]) == pytest.approx(expected, abs=1e-12)
        assert oracle.values([[2, 0], [1]]) == [oracle.value([0, 2]), oracle.value([1])]


@pytest.mark.parametrize("model", [LogisticRegression(), KNeighborsClassifier(3), DecisionTreeClassifier(max_depth=2)])
@pytest.mark.parametrize("scoring", ["accuracy", "roc_auc"])
def test_quick_scores_are_those_of_scikit_learn_or_left_to_it(table, model, scoring):
    X, y = table[0][:, :3], np.array(["no", "yes"])[table[1]]
    fitted = model.fit(X[:90], y[:90])
    assert quick_score(scoring, fitted, X[90:], y[90:]) == pytest.approx(get_scorer(scoring)(fitted, X[90:], y[90:]))
    assert quick_score("roc_auc", fitted, X[:9], np.full(9, "yes")) is None
    assert quick_score("roc_auc", KNeighborsClassifier().fit(*IRIS), *IRIS) is None
    assert quick_score("f1", fitted, X, y) is None


def test_samples_have_the_value_as_their_mean(table):
    oracle = EstimatorOracle(*table, estimator=MODEL)
    rng = np.random.default_rng(0)
    drawn = [oracle.sample([0, 1], rng) for _ in range(400)]
    spread = np.std(drawn) / np.sqrt(len(drawn))
    assert abs(np.mean(drawn) - oracle.value([0, 1])) < 4 * spread


def test_a_regressor_is_scored_by_concordance_unless_told_otherwise():
    X, y = make_regression(80, 5, n_informative=2, noise=1, shuffle=False, random_state=0)
    oracle = EstimatorOracle(X, y, estimator=Ridge())
    assert oracle.settings()["scoring"] == "concordance"
    assert oracle.value([0, 1]) > 0.9
    assert 0.3 < oracle.value([4]) < 0.7


def test_random_estimators_and_splits_are_made_to_repeat_at_a_worker_too(table):
    settings = {"estimator": DecisionTreeClassifier(), "cv": ShuffleSplit(3)}
    one, other, again = (EstimatorOracle(*table, **settings, random_state=seed) for seed in (0, 1, 0))
    assert one.value(range(12)) == again.value(range(12)) != other.value(range(12))
    twin = pickle.loads(pickle.dumps(one))
    assert twin.value([0, 1]) == one.value([0, 1])
    assert twin.fingerprint() == one.fingerprint()


@pytest.mark.parametrize(
    ("keywords", "kind", "sentence"),
    [
        ({"estimator": 3}, TypeError, "estimator must be a scikit-learn classifier or regressor, got 3"),
        ({"estimator": Mute()}, ValueError, "must have the method predict, which scoring accuracy needs, got Mute"),
        ({"estimator": MODEL, "scoring": "nope"}, ValueError, "scoring must be a scorer .*, got 'nope'"),
        ({"estimator": MODEL, "scoring": "roc_auc"}, ValueError, "scoring roc_auc cannot score GaussianNB"),
        (
            {"estimator": Ridge(), "scoring": "accuracy"},
            ValueError,
            "scoring accuracy cannot score Ridge on these data",
        ),
        ({"estimator": MODEL, "groups": np.zeros(150)}, ValueError, "groups cannot be used: StratifiedKFold"),
        ({"estimator": MODEL, "cv": GroupKFold(3)}, ValueError, "groups must be given to fit, because GroupKFold"),
        ({"estimator": KNeighborsClassifier(), "sample_weight": np.ones(150)}, ValueError, "fit does not take it"),
        ({"estimator": make_pipeline(MODEL), "sample_weight": np.ones(150)}, ValueError, "fit does not take it"),
        ({"estimator": MODEL, "sample_weight": np.ones(3)}, ValueError, "sample_weight must be 150 finite numbers"),
        ({"estimator": MODEL, "sample_weight": -np.ones(150)}, ValueError, "numbers of at least 0"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_sentence(keywords, kind, sentence):
    with pytest.raises(kind, match=sentence):
        EstimatorOracle(*IRIS, **keywords).value([0, 1])


def test_a_classifier_of_real_targets_is_one_sentence():
    with pytest.raises(ValueError, match="estimator GaussianNB cannot be fitted to these data: Unknown label type"):
        EstimatorOracle(IRIS[0], IRIS[0][:, 0], estimator=MODEL, cv=KFold(3)).value([0])


def test_weights_reach_the_fit_and_the_score(table):
    X, y = table
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    oracle = EstimatorOracle(X, y, estimator=MODEL, sample_weight=weights)
    expected = []
    for train, test in oracle.splits:
        model = GaussianNB().fit(X[train][:, [0, 1]], y[train], weights[train])
        expected.append(model.score(X[test][:, [0, 1]], y[test], weights[test]))
    assert oracle.value([0, 1]) == pytest.approx(np.mean(expected))


def test_groups_stay_together(table):
    groups = np.arange(150) // 10
    oracle = EstimatorOracle(*table, estimator=MODEL, cv=GroupKFold(3), groups=groups)
    assert all(not set(groups[train]) & set(groups[test]) for train, test in oracle.splits)


@pytest.fixture(scope="module")
def fitted(table):
    return made_selector(MODEL, choose="training", epsilon=0.05, random_state=0, max_samples=1500).fit(*table)


def test_the_selector_selects_for_the_estimator(fitted, table):
    oracle = EstimatorOracle(*table, estimator=MODEL, random_state=0)
    assert fitted.score_ == oracle.value(fitted.subset_)
    assert fitted.score_ >= max(oracle.value([feature]) for feature in range(12))
    assert set(fitted.subset_) & {0, 1, 2, 3, 4}
    assert "mean accuracy of GaussianNB on 5 fixed splits" in str(fitted.certificate_)
    assert (
        fitted.predict(table[0])
        == GaussianNB().fit(table[0][:, fitted.subset_], table[1]).predict(table[0][:, fitted.subset_])
    ).all()
    assert fitted.score(*table) == np.mean(fitted.predict(table[0]) == table[1])
    assert 0 < fitted.certificate_.told.standard_error < 0.3


def test_a_certificate_about_an_estimator_is_checked_with_an_oracle(fitted, table):
    X, y = table
    assert verify(fitted.certificate_)
    assert "not computed again" in str(verify(fitted.certificate_, X, y))
    oracle = EstimatorOracle(X, y, estimator=MODEL, random_state=0)
    assert "exact values were computed again" in str(verify(fitted.certificate_, X, y, oracle=oracle))
    other = EstimatorOracle(X, y, estimator=MODEL, scoring="f1", random_state=0)
    verdict = verify(fitted.certificate_, X, y, oracle=other)
    assert not verdict
    assert "the oracle has the scoring 'f1', the certificate 'accuracy'" in str(verdict)


def test_metadata_are_used_or_refused_never_dropped(table):
    X, y = table
    weights, groups = np.ones(150), np.arange(150) // 5
    keywords = {"epsilon": 0.2, "max_samples": 150, "random_state": 0}
    by_votes = made_selector(choose="training", **keywords).fit(X, y, sample_weight=weights)
    assert by_votes.certificate_.data.objective.weighted
    with pytest.raises(TypeError, match=r"fit takes X, y, sample_weight and groups, got 'colour'"):
        made_selector(choose="training", estimator=MODEL, **keywords).fit(X, y, colour=groups)
    with pytest.raises(ValueError, match="scoring needs an estimator to score with choose='training'"):
        made_selector(choose="training", scoring="accuracy", **keywords).fit(X, y)
    found = made_selector(choose="training", estimator=MODEL, cv=GroupKFold(3), **keywords).fit(X, y, groups=groups)
    assert found.certificate_.data.objective.grouped


def test_scikit_learns_routing_reaches_fit(table):
    X, y = table
    with sklearn.config_context(enable_metadata_routing=True):
        settings = {"choose": "training", "epsilon": 0.3, "random_state": 0, "max_samples": 100}
        weighted = clone(MODEL).set_fit_request(sample_weight=True)
        selector = made_selector(weighted, **settings).set_fit_request(sample_weight=True)
        pipe = make_pipeline(selector, GaussianNB().set_fit_request(sample_weight=False))
        pipe.fit(X, y, sample_weight=np.ones(150))
        assert pipe[0].certificate_.data.objective.weighted
        unrequested = make_pipeline(made_selector(weighted, **settings), GaussianNB())
        with pytest.raises(ValueError, match="sample_weight"):
            unrequested.fit(X, y, sample_weight=np.ones(150))
        for one in (MODEL, [clone(weighted), MODEL]):
            with pytest.raises(ValueError, match=r"sample_weight.* are passed but are not explicitly set as requested"):
                BestLeafSelector(one).fit(X, y, sample_weight=np.ones(150))


def test_the_selector_routes_metadata_to_the_estimators_that_were_given(table):
    X, y = table
    with sklearn.config_context(enable_metadata_routing=True):
        assert isinstance(BestLeafSelector().get_metadata_routing(), MetadataRequest)
        assert isinstance(BestLeafSelector(RidgeCV()).get_metadata_routing(), MetadataRequest | MetadataRouter)
        model = make_pipeline(StandardScaler(), LogisticRegression().set_fit_request(sample_weight=True))
        model[0].set_fit_request(sample_weight=False)
        routing = BestLeafSelector([model]).get_metadata_routing()
        assert routing.consumes("fit", ["sample_weight", "groups"]) == {"sample_weight"}
        weights = np.where(y, 1.0, 3.0)
        selector = BestLeafSelector(model, random_state=0, n_jobs=2).fit(X, y, sample_weight=weights)
        same = clone(model).fit(X[:, selector.support_], y, sample_weight=weights)
        np.testing.assert_array_equal(selector.predict(X), same.predict(X[:, selector.support_]))
        assert selector.certificate_.data.objective.weighted
    with pytest.raises(ValueError, match=r"sample_weight cannot be used: LogisticRegression\.fit does not take it"):
        BestLeafSelector(model, random_state=0).fit(X, y, sample_weight=weights)


def test_ties_do_not_confuse_the_search_and_few_subsets_are_all_evaluated():
    found = made_selector(DummyClassifier(), choose="training", epsilon=0.1, random_state=0).fit(*IRIS)
    assert len(found.subset_) == 1
    assert "All 15 subsets" in found.certificate_.claims[0]
    assert "mean accuracy of DummyClassifier" in str(found.certificate_)


@pytest.fixture
def search(table):
    lattice = FeatureLattice(EstimatorOracle(*table, estimator=MODEL))
    return Search(lattice, task="leaf", epsilon=0.1, delta=0.1, expansion=0.5, seed=0, batch_size=8)


def test_a_value_is_the_mean_of_its_parts_and_no_fit_is_done_twice(search, table):
    oracle, state = EstimatorOracle(*table, estimator=MODEL), (0, 1, -1)
    first = search.evaluator.batches.first_means([state], 2)[state]
    assert first == np.mean([oracle.part([0, 1], 0), oracle.part([0, 1], 1)])
    assert search.samples == 2
    search.evaluator.prefetch([state])
    assert search.state.values == {state: oracle.value([0, 1])}


def test_a_race_ends_with_the_best_of_clear_cases(search):
    proposals = search.growth.proposals
    field = [(number,) for number in range(12)]
    left = proposals.finalists(field)
    assert len(left) == proposals.FINALISTS
    assert max(proposals.values_of(left)) == max(search.state.problem.exact((*one, -1)) for one in field)
    assert search.state.warmup_samples < 12 * 5 / 2


def test_an_estimator_uses_one_thread_where_nobody_said_how_many(table):
    class Threaded(GaussianNB):  # as boosting libraries name it
        def __init__(self, thread_count=None, n_jobs=-1):
            self.thread_count, self.n_jobs = thread_count, n_jobs
            super().__init__()

    asked = make_pipeline(Threaded())
    oracle = EstimatorOracle(*table, estimator=asked)
    inside = oracle.estimator.steps[-1][1]
    assert (inside.thread_count, inside.n_jobs) == (1, 1)
    assert (asked.steps[-1][1].thread_count, asked.steps[-1][1].n_jobs) == (None, -1)
    wanted = EstimatorOracle(*table, estimator=Threaded(thread_count=3, n_jobs=2)).estimator
    assert (wanted.thread_count, wanted.n_jobs) == (3, 2)
    plain = EstimatorOracle(*table, estimator=KNeighborsClassifier()).estimator
    assert plain.n_jobs is None  # None is one in scikit-learn


# ---- a proof needs scores from 0 to 1

ROWS = np.random.default_rng(0).normal(size=(60, 14))
REAL = ROWS[:, 0] + 0.5 * ROWS[:, 1] + np.random.default_rng(1).normal(size=60)


def own_error(estimator, rows, targets):
    return -float(np.mean(np.abs(estimator.predict(rows) - targets)))


def test_a_negative_r2_counts_as_0():
    oracle = EstimatorOracle(ROWS, REAL, estimator=Ridge(), scoring="r2", cv=3)
    scores = cross_val_score(Ridge(), ROWS[:, [5]], REAL, scoring="r2", cv=3)
    assert scores.min() < 0
    assert oracle.value([5]) == pytest.approx(np.maximum(scores, 0).mean())


def test_a_score_above_1_or_an_own_one_below_0_values_no_subset():
    above = EstimatorOracle(ROWS, 10 * REAL, estimator=Ridge(), scoring=make_scorer(mean_absolute_error), cv=3)
    with pytest.raises(ValueError, match=r"must give scores from 0 to 1 to value subsets, got \S+ for the features"):
        above.value([0])
    with pytest.raises(ValueError, match=r"scoring own_error must give scores from 0 to 1 to value subsets, got -"):
        EstimatorOracle(ROWS, REAL, estimator=Ridge(), scoring=own_error, cv=3).value([0])


def test_an_error_is_refused_where_the_rows_given_decide():
    for scoring in ("neg_mean_squared_error", make_scorer(mean_absolute_error, greater_is_better=False)):
        with pytest.raises(ValueError, match=r"scoring must have scores from 0 to 1, .* with choose='training', got"):
            made_selector(Ridge(), cv=3, scoring=scoring, choose="training").fit(ROWS, REAL)
