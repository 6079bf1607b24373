"""Pipelines of scikit-learn as a problem."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from bestleaf import best_leaf, verify
from bestleaf.problems.pipelines import PipelineChoices
from bestleaf.testing import check_problem

X, Y = make_classification(60, 6, n_informative=2, random_state=0)
X[:, 0] *= 100.0
HOLES = np.where(np.random.default_rng(0).random(X.shape) < 0.05, np.nan, X)
STEPS = {
    "impute": {"mean": SimpleImputer(), "median": SimpleImputer(strategy="median")},
    "scale": [None, StandardScaler()],
    "select": ["passthrough", SelectKBest(k=2)],
    "model": [GaussianNB(), DummyClassifier()],
}
SMALL = {name: STEPS[name] for name in ("scale", "model")}
QUICK = {"epsilon": 0, "delta": 0.1, "seed": 0}


def leaves(problem, state=None):
    state = problem.root() if state is None else state
    if problem.is_terminal(state):
        return {state}
    return set().union(*(leaves(problem, child) for child in problem.children(state)))


def test_the_best_pipeline_is_that_of_all_cross_validations():
    choices = PipelineChoices(STEPS, HOLES, Y, cv=2)
    result = best_leaf(choices, **QUICK)
    assert verify(result.certificate)
    every = leaves(choices)
    assert len(every) == 16
    scores = {state: cross_val_score(choices.pipeline(state), HOLES, Y, cv=2).mean() for state in every}
    assert result.lower == pytest.approx(max(scores.values()))
    assert scores[result.answer] == pytest.approx(result.lower)
    assert choices.exact(("mean", "passthrough", "passthrough", "GaussianNB()")) == pytest.approx(
        scores["mean", "passthrough", "passthrough", "GaussianNB()"]
    )


def test_the_answer_is_a_pipeline_that_can_be_fitted():
    choices = PipelineChoices(SMALL, X, Y, cv=3)
    result = best_leaf(choices, **QUICK)
    found = choices.best_pipeline(result)
    assert isinstance(found, Pipeline)
    assert found.steps[0] == ("scale", "passthrough") or isinstance(found["scale"], StandardScaler)
    assert found["model"] is not STEPS["model"][0]  # a clone
    assert not hasattr(found["model"], "classes_")
    assert choices.best_pipeline(result, refit=True).predict(X).shape == (60,)
    assert choices.score(result.lower) == result.lower
    with pytest.raises(ValueError, match="a pipeline needs an option for every step, got "):
        choices.pipeline(choices.root())


def test_a_problem_obeys_the_rules_in_both_orders():
    for any_order in (False, True):
        check_problem(PipelineChoices(SMALL, X, Y, cv=2, any_order=any_order), walks=10, samples=50)


def test_states_are_shared_if_steps_are_chosen_in_any_order():
    fixed, free = PipelineChoices(SMALL, X, Y), PipelineChoices(SMALL, X, Y, any_order=True)
    assert fixed.children(fixed.root()) == [("passthrough", None), ("StandardScaler()", None)]
    assert len(free.children(free.root())) == 4
    whole = ("StandardScaler()", "GaussianNB()")
    assert whole in free.children(("StandardScaler()", None))
    assert whole in free.children((None, "GaussianNB()"))
    assert leaves(fixed) == leaves(free)
    results = [best_leaf(one, **QUICK) for one in (fixed, free)]
    assert results[0].lower == results[1].lower


def test_each_fold_is_fitted_once(monkeypatch):
    fits, fit = [], DecisionTreeClassifier.fit
    monkeypatch.setattr(DecisionTreeClassifier, "fit", lambda self, X, y: fits.append(len(y)) or fit(self, X, y))
    choices = PipelineChoices({"scale": [None, StandardScaler()], "model": [DecisionTreeClassifier()]}, X, Y, cv=3)
    rng = np.random.default_rng(0)
    for _ in range(50):
        choices.sample(choices.root(), rng)
    assert len(fits) == 6


def test_options_that_are_excluded_are_not_offered():
    def exclude(chosen):
        return chosen["model"].startswith("Dummy") or (chosen["scale"] == "passthrough" and "select" in chosen)

    choices = PipelineChoices(STEPS, HOLES, Y, exclude=exclude)
    assert {state[3] for state in leaves(choices)} == {"GaussianNB()"}
    assert choices.children(("mean", None, None, None)) == [("mean", "StandardScaler()", None, None)]
    rng = np.random.default_rng(0)
    assert not any(exclude(dict(zip(STEPS, choices.complete(choices.root(), rng), strict=True))) for _ in range(20))
    with pytest.raises(ValueError, match="exclude must leave at least one pipeline, got a rule that leaves none"):
        PipelineChoices(STEPS, X, Y, exclude=lambda chosen: True)


def test_equal_options_are_one():
    choices = PipelineChoices({"first": [None, "passthrough", StandardScaler(), StandardScaler()], **SMALL}, X, Y)
    assert list(choices.options["first"]) == ["passthrough", "StandardScaler()"]


def test_random_splits_are_samples_without_exact_values():
    choices = PipelineChoices(SMALL, X, Y, resample=0.3)
    assert not hasattr(choices, "exact")
    assert not hasattr(choices, "parts")
    state = ("passthrough", "GaussianNB()")
    drawn = {choices.sample(state, np.random.default_rng(seed)) for seed in range(8)}
    assert len(drawn) > 1
    assert choices.sample(state, np.random.default_rng(0)) == choices.sample(state, np.random.default_rng(0))
    result = best_leaf(choices, epsilon=0.4, delta=0.1, seed=0, max_samples=60)
    assert result.samples > 0


def test_batches_give_the_same_answer_whatever_the_workers():
    settings = {"epsilon": 0.05, "delta": 0.1, "seed": 0, "expansion": 0.5, "batch_size": 4, "max_samples": 60}
    alone = best_leaf(PipelineChoices(SMALL, X, Y, cv=2, any_order=True), **settings)
    shared = best_leaf(PipelineChoices(SMALL, X, Y, cv=2, any_order=True), **settings, n_jobs=1)
    assert (alone.answer, alone.samples, alone.lower) == (shared.answer, shared.samples, shared.lower)


def test_scores_are_moved_from_their_range():
    y = X[:, 1] + 0.1 * X[:, 2]
    steps = {"scale": [None, StandardScaler()], "model": [Ridge(), Ridge(1e6)]}
    choices = PipelineChoices(steps, X, y, cv=KFold(3), scoring="r2", score_range=(-1, 1))
    result = best_leaf(choices, **QUICK)
    found = choices.best_pipeline(result)
    expected = cross_val_score(found, X, y, cv=KFold(3), scoring="r2").mean()
    assert choices.score(result.lower) == pytest.approx(expected)
    narrow = PipelineChoices(steps, X, y, cv=3, scoring="r2", score_range=(0.999999, 1))
    with pytest.raises(ValueError, match=r"score_range must hold every score, got \S+ for \('"):
        best_leaf(narrow, **QUICK)


def test_a_pipeline_that_cannot_be_fitted_is_named_or_gets_the_score_of_an_error():
    steps = {"impute": [None, SimpleImputer()], "model": [GaussianNB()]}
    words = (
        r"^every pipeline must be fitted \(or give exclude or error_score\), got \('passthrough', 'GaussianNB\(\)'\)"
    )
    with pytest.raises(ValueError, match=words):
        best_leaf(PipelineChoices(steps, HOLES, Y, cv=2), **QUICK)
    result = best_leaf(PipelineChoices(steps, HOLES, Y, cv=2, error_score=0.0), **QUICK)
    assert result.answer == ("SimpleImputer()", "GaussianNB()")


BAD = [
    ({"steps": {}}, TypeError, "steps must be a dict of options for every step"),
    ({"steps": {"model": GaussianNB()}}, TypeError, "a list or a dict of options for 'model', got GaussianNB"),
    ({"steps": {"model": []}}, TypeError, r"a list or a dict of options for 'model', got \[\]"),
    ({"steps": {"model": [3]}}, TypeError, "an option must be an estimator, 'passthrough' or None, got 3"),
    ({"steps": {"model": [None, GaussianNB()]}}, ValueError, "the last step must be an estimator in every pipeline"),
    ({"score_range": (1, 0)}, ValueError, r"score_range must be the lowest and the highest .*, got \(1, 0\)"),
    ({"score_range": "all"}, ValueError, "score_range must be the lowest and the highest"),
    ({"resample": 1.5}, ValueError, "resample must be strictly between 0 and 1, or None, got 1.5"),
    ({"error_score": 7}, ValueError, "error_score must be 'raise' or between 0 and 1, got 7"),
    ({"exclude": 3}, TypeError, "exclude must be a function or None, got 3"),
]


@pytest.mark.parametrize(("given", "kind", "words"), BAD)
def test_bad_arguments(given, kind, words):
    with pytest.raises(kind, match=words):
        PipelineChoices(**{"steps": SMALL, "X": X, "y": Y, **given})


def test_a_search_continues_from_a_checkpoint(tmp_path):
    settings = {"epsilon": 0.02, "delta": 0.1, "seed": 0, "expansion": 0.5}
    whole = best_leaf(PipelineChoices(STEPS, HOLES, Y, cv=2), **settings)
    best_leaf(PipelineChoices(STEPS, HOLES, Y, cv=2), **settings, max_samples=10, checkpoint=tmp_path / "run.blf")
    again = best_leaf(PipelineChoices(STEPS, HOLES, Y, cv=2), **settings, checkpoint=tmp_path / "run.blf")
    assert (again.answer, again.samples) == (whole.answer, whole.samples)
    with pytest.raises(ValueError, match="its data are different"):
        best_leaf(PipelineChoices(STEPS, HOLES, 1 - Y, cv=2), **settings, checkpoint=tmp_path / "run.blf")
