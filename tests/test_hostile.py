"""What a hostile or clumsy user gives: wrong parts, wrong splits, wrong numbers; one sentence each, no crash."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold

from bestleaf import BestLeafSelector, Search, best_leaf, experiment, testing, validate
from bestleaf.paper import summary
from bestleaf.problems import paper_lattice
from bestleaf.search.answer import most_likely
from bestleaf.selection.data import Data
from bestleaf.selection.new_rows import Split, as_time_allows

X = np.random.default_rng(0).normal(size=(60, 4))
Y = (X[:, 1] - X[:, 3] > 0).astype(int)


def grown(proposal, **keywords):
    settings = {"epsilon": 0.3, "delta": 0.1, "expansion": 0.6, "seed": 0, "max_samples": 2_000}
    return best_leaf(paper_lattice(), proposal=proposal, **settings | keywords)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (int, "proposal must be a function, not a class, got <class 'int'>"),
        ("soon", "proposal must be one of random, prior, rave, lookahead, a function or None, got 'soon'"),
        (lambda children, node, state: None, "must return one of the children that it gets, got None"),
        (lambda children, node, state: (), r"must return one of the children that it gets, got \(\)"),
    ],
)
def test_proposals_that_return_nonsense_are_told(given, told):
    with pytest.raises((TypeError, ValueError), match=told):
        grown(given)


def searched(**keywords):
    return Search(paper_lattice(), **{"task": "leaf", "epsilon": 0.3, "delta": 0.1, "seed": 0, **keywords}).run()


def test_an_answer_must_be_a_leaf_and_a_function():
    for found in (None, (1,), (-1, 0.0), (10**6, 0.0), ("a", 0.0), (41, float("nan")), (41, 2.0), (0, 0.0)):
        with pytest.raises(ValueError, match=r"answer must return \(node, gap\)"):
            searched(answer=lambda state, decision, found=found: found)
    with pytest.raises(ValueError, match="answer must return a leaf, got node 1 with children"):
        searched(answer=lambda state, decision: (1, 0.0))
    with pytest.raises(TypeError, match="answer must be a function of the state and the decision or None, got 'best'"):
        searched(answer="best")
    assert searched(answer=lambda state, decision: most_likely(state, decision)).settled


def test_a_search_hints_at_misspelt_keywords():
    with pytest.raises(TypeError, match=r"'epsilom' \(did you mean 'epsilon'\?\)"):
        Search(paper_lattice(), epsilom=0.1, delta=0.1)
    with pytest.raises(TypeError, match="Search needs delta"):
        Search(paper_lattice(), epsilon=0.1)


def random(children, node, state):
    return children[0]


@pytest.mark.parametrize("n_jobs", [0, 1.5, "2", True])
def test_workers_are_a_whole_number(n_jobs):
    with pytest.raises(ValueError, match="n_jobs must be a whole number of workers"):
        grown("random", n_jobs=n_jobs, batch_size=4)


@pytest.mark.parametrize(
    ("holdout", "groups", "told"),
    [
        *(
            (one, None, r"must be a float in the range \[0.0, 1.0\) or None. Got")
            for one in ([], 1.0, 3, True, "0.25", KFold(3))
        ),
        (0.001, None, "holdout must leave at least two targets, and every class, on both sides"),
        (0.25, np.zeros(60), "holdout must leave"),
    ],
)
def test_a_holdout_that_holds_nothing_out_is_refused(holdout, groups, told):
    metadata = {} if groups is None else {"groups": groups}
    with pytest.raises(ValueError, match=told):
        BestLeafSelector(holdout=holdout, random_state=0).fit(X, Y, **metadata)


@pytest.mark.parametrize(
    ("keywords", "told"),
    [
        ({"deltas": 0.1}, "unexpected keyword argument 'deltas'"),
        ({"delta": 1}, "delta must be strictly between 0 and 1, got 1"),
    ],
)
def test_validation_of_clumsy_users(keywords, told):
    made = BestLeafSelector(LogisticRegression(), random_state=0).fit(X, Y)
    with pytest.raises((TypeError, ValueError), match=told):
        validate(made, X[:30] + 0.1, Y[:30], **keywords)


@pytest.mark.parametrize(
    ("cv", "told"),
    [
        ([(1, 2)], "cv must give pairs of row numbers from 0 to 59"),
        ([([0, 1], [99])], "cv must give pairs of row numbers from 0 to 59"),
        ([], r"cv must give at least one split, got none from \[\]"),
        (61, "cv cannot split these 60 rows"),
    ],
)
def test_splits_of_an_estimator_are_rows_of_the_data(cv, told):
    with pytest.raises(ValueError, match=told):
        BestLeafSelector(choose="training", estimator=LogisticRegression(), cv=cv).fit(X, Y)


def test_checks_of_parts_refuse_nonsense():
    with pytest.raises(ValueError, match="walks must be a whole number of at least 1, got -1"):
        testing.check_problem(paper_lattice(), walks=-1)
    with pytest.raises(ValueError, match="runs must be a whole number of at least 1, got 0"):
        testing.check_bound("betting", runs=0)


def test_labels_are_of_one_kind():
    with pytest.raises(ValueError, match="y must hold labels of one kind, got text and numbers"):
        BestLeafSelector(choose="training").fit(X, np.array(["a", 1] * 30, object))


@pytest.mark.parametrize("path", ["", "a\0b"])
def test_a_memory_has_a_path(path):
    with pytest.raises(ValueError, match="memory must be the path of a file, got"):
        BestLeafSelector(choose="training", memory=path).fit(X, Y)


@pytest.mark.parametrize(
    ("settings", "table", "target", "weights", "words"),
    [
        ({}, X, np.array([None, "a", "b", "a"] * 15, object), None, "y must have no missing values, got 15 of 60"),
        ({}, X, Y, np.full(60, 1e308), r"sample_weight must be at most 1e\+100, got 1e\+308"),
        ({"cv": []}, X, Y, None, r"cv must give at least one split, got none from \[\]"),
        ({"estimator": Ridge()}, X, np.where(Y, "b", "a"), None, "y must hold numbers for a regressor, got '[ab]'"),
        ({}, np.where(X.max() == X, np.inf, X), Y, None, "; replace infinite numbers"),
    ],
)
def test_a_fit_tells_what_is_wrong_with_its_arguments(settings, table, target, weights, words):
    given = {} if weights is None else {"sample_weight": weights}
    with pytest.raises(ValueError, match=words):
        BestLeafSelector(**settings).fit(table, target, **given)


class Own(TransformerMixin, BaseEstimator):
    """Names its columns after those of the table and returns what `way` makes of them."""

    def __init__(self, way=None, names="abcd"):
        self.way, self.names = way, names

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return np.asarray(X) if self.way is None else self.way(np.asarray(X))

    def get_feature_names_out(self, input_features=None):
        return np.array(list(self.names), object)


def test_a_transformer_may_return_the_table_itself():
    found = BestLeafSelector(encode=Own(), random_state=0).fit(pd.DataFrame(X, columns=list("abcd")), Y)
    assert {*found.subset_} == {"b", "d"}


@pytest.mark.parametrize(
    ("encoder", "words"),
    [
        (Own(lambda X: X[1:]), r"encode must make 60 rows and 4 columns, as many as it names, got the shape \(59, 4\)"),
        (Own(lambda X: X[:, 0]), r"got the shape \(60,\) from Own"),
        (Own(lambda X: None), r"got the shape \(\) from Own"),
        (Own(names="abc"), r"encode must make 60 rows and 3 columns, .* got the shape \(60, 4\)"),
        (Own(names="abca"), "encode must give each column a name of its own, got 'a', 'b', 'c', 'a'"),
        (Own(lambda X: np.full(X.shape, "a")), "encode must make numbers, got from Own"),
        (Own(lambda X: X / 0), r"its encoder must fill them"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_a_transformer_that_makes_no_table_of_numbers_is_told(encoder, words):
    with pytest.raises(ValueError, match=words):
        BestLeafSelector(encode=encoder, random_state=0).fit(pd.DataFrame(X, columns=list("abcd")), Y)


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"settings": {"a": "fast"}}, "settings must be dictionaries of keywords without a seed, got 'fast' for 'a'"),
        ({"settings": {"a": {"seed": 1}}}, "settings must be dictionaries of keywords without a seed"),
        ({"seeds": None}, "seeds must be a whole number of at least 1, got None"),
        ({"run": lambda problem, seed, **_: [1]}, r"run must return a dictionary, got \[1\]"),
    ],
)
def test_an_experiment_tells_what_is_wrong(keywords, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = {"settings": {"a": {"epsilon": 0.3, "delta": 0.1}}, "seeds": 1} | keywords
    with pytest.raises((TypeError, ValueError), match=words):
        experiment({"lattice": paper_lattice()}, **given)


def test_a_seed_that_is_listed_twice_is_run_once_and_no_runs_have_no_summary():
    runs = experiment({"lattice": paper_lattice()}, {"a": {"epsilon": 0.3, "delta": 0.1}}, [1, 1])
    assert len(runs) == 1
    with pytest.raises(ValueError, match="table must have a row of an experiment at least, got none"):
        summary(runs[:0])


def test_the_proof_of_a_large_table_fits_into_the_time_that_is_left():
    """One million rows took a minute for the test rows alone after the last fold had ended in time."""
    rows, y = np.zeros((300_000, 10), np.float32), np.arange(300_000) % 2
    data, split = Data(rows, y, np.arange(10)), Split(np.arange(295_000), np.arange(295_000, 300_000))
    assert as_time_allows(split, data, "classification", 0, np.inf) is split
    for left in (0.0, 0.5, 5.0):
        kept, aside = as_time_allows(split, data, "classification", 0, left)
        assert 2 * len(kept) * len(aside) * 10 <= max(0.4, left) * 10**9
        assert not {*kept} & {*aside}
        assert len(aside) >= 50
