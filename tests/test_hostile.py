"""What a hostile or clumsy user gives: wrong parts, wrong splits, wrong numbers; one sentence each, no crash."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

from bestleaf import BestLeafSelector, Search, best_leaf, testing, validate
from bestleaf.problems import paper_lattice
from bestleaf.search.answer import most_likely

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
