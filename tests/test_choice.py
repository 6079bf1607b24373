"""The choice of columns: what it promises whatever the budget, the estimator and the number of rows."""

import signal
import threading
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, LeaveOneOut, ShuffleSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from bestleaf import NeighbourVotes
from bestleaf.columns import TableEncoder
from bestleaf.columns.encoder import EncodedRows
from bestleaf.memory import Answers, Memory
from bestleaf.search.budget import Budget, deferred_interrupt
from bestleaf.search.executors import Joblib
from bestleaf.selection import tasks
from bestleaf.selection.choice import SizeRule, choose, sizes_of
from bestleaf.selection.data import Data
from bestleaf.selection.judges import Panel
from test_orders import made, space_of


def chosen(data, estimator=None, scoring=None, space=None, **keywords):
    space = space_of(data.X.shape[1]) if space is None else space
    return choose(data, space, Panel.of(estimator, scoring, data), **keywords)


class Steps(Budget):
    """A budget that ends after it was asked so many times."""

    def __init__(self, steps):
        super().__init__()
        self.steps = steps

    def spent(self):
        self.steps -= 1
        return "max_time" if self.steps < 0 else None


def curve_of(path):
    """Return the differences to all columns, [judges, sizes]."""
    return np.array([row.judges for row in path.rows]).T


@pytest.mark.parametrize(("task", "classes"), [("classification", 2), ("classification", 3), ("regression", 0)])
def test_the_columns_that_matter_are_chosen(task, classes):
    found = chosen(made(task, rows=240, columns=14, classes=classes), nested=False)
    assert {2, 5, 7} <= {*found.units}
    assert found.path.size <= 5
    assert found.reason == "settled"
    assert curve_of(found.path).shape == (3, len(found.path.rows))
    assert (curve_of(found.path)[:, -1] == 0).all()
    assert all(row.score is not None and row.standard_error is not None for row in found.path.rows)
    assert found.path.folds == found.path.folds_planned == 15


GUARD = 0.01  # no judge loses more than this plus half of the mean gain
ESTIMATORS = [None, NeighbourVotes(n_neighbors=3), LogisticRegression(), [None, LogisticRegression()]]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=["panel", "votes", "logistic", "list"])
@pytest.mark.parametrize("rows", [30, 334])
@pytest.mark.parametrize("steps", [0, 150, 400, 10**9])
def test_any_budget_gives_an_answer_that_its_own_curve_stands_for(estimator, rows, steps):
    """Not below all columns by more than the tolerance, and no smaller admissible size is at least as good."""
    found = chosen(made(rows=rows, columns=10, seed=rows), estimator, budget=Steps(steps), nested=False)
    assert found.reason == ("settled" if steps > 10**6 else "max_time")
    path = found.path
    if not path.folds:
        assert found.units == tuple(range(10))
        assert path.order == "all_columns"
        return
    curve, place = curve_of(path), [row.size for row in path.rows].index(path.size)
    mean = curve.mean(axis=0)
    allowed = curve.min(axis=0) + np.maximum(mean, 0) / 2 >= -GUARD
    assert mean[place] >= -path.tolerance
    assert not (allowed & (mean >= mean[place]))[:place].any()
    assert set(found.units) == set(found.order[: path.size])


def test_any_curve_is_decided_within_the_tolerance_and_by_no_larger_size_than_needed():
    rng = np.random.default_rng(0)
    sizes = (1, 2, 3, 4, 5, 6, 8, 10, 13, 20)
    rule = SizeRule(sizes, 20)
    for _ in range(2000):
        rising = np.cumsum(rng.exponential(10.0 ** rng.uniform(-4, -1), (3, 10)), axis=1)
        curve = rule.smoothed(rising - rising[:, -1:] + rng.normal(0, 10.0 ** rng.uniform(-4, -1), (3, 10)))
        place, mean = rule.size(curve), curve.mean(axis=0)
        allowed = curve.min(axis=0) + np.maximum(mean, 0) / 2 >= -GUARD
        assert mean[place] >= -rule.tolerance
        assert allowed[place]
        assert not (allowed & (mean >= mean[place]))[:place].any()


def test_more_time_finishes_more_folds_of_the_same_ones():
    data = made(rows=80)
    found = [chosen(data, budget=Steps(steps), nested=False) for steps in (60, 500, 1000, 10**9)]
    folds = [one.path.folds for one in found]
    assert folds == sorted(folds)
    assert folds[0] < folds[-1] == 15


def test_without_time_a_limit_still_holds():
    data = made()
    assert len(chosen(data, space=space_of(9, limit=4), budget=Steps(0)).units) == 4
    assert chosen(data, n_features=2, budget=Steps(100)).path.asked
    assert chosen(data, n_features=2, budget=Steps(100)).path.size == 2


def test_order_of_columns_and_of_classes_changes_nothing():
    data = made(rows=90, columns=10, classes=3)
    moved = np.random.default_rng(5).permutation(10)
    other = data._replace(X=data.X[:, moved], y=np.array(["c", "a", "b"])[data.y])
    names = tuple(f"x{one}" for one in moved)
    one, two = chosen(data), chosen(other, space=replace(space_of(10), names=names))
    assert {f"x{unit}" for unit in one.units} == {names[unit] for unit in two.units}
    assert [f"x{unit}" for unit in one.order] == [names[unit] for unit in two.order]
    np.testing.assert_array_equal(curve_of(one.path), curve_of(two.path))
    assert one.nested == two.nested


def test_several_workers_give_the_same_answer():
    data = made(rows=60, columns=8)
    assert chosen(data) == chosen(data, workers=Joblib(2, "threads"))


def test_a_memory_replays_what_was_done_before(tmp_path, monkeypatch):
    data = made(rows=60, columns=8)
    with Memory(tmp_path / "run.db") as memory:
        answers = Answers(memory, "data and panel")
        cut = chosen(data, budget=Steps(300), memory=answers)
        whole = chosen(data, memory=answers)
        assert cut.path.folds < whole.path.folds
        assert whole == chosen(data)
        assert whole != chosen(data, memory=answers, seed=1)
        assert chosen(data, NeighbourVotes()) == chosen(data, NeighbourVotes(), memory=answers)
        monkeypatch.setattr(tasks, "do", None)
        assert whole == chosen(data, memory=answers)


def test_limits_forced_units_and_sizes_asked_for():
    data = made(rows=120)
    found = chosen(data, space=space_of(9, allowed=(0, 1, 2, 3, 5, 6, 7), forced=(8,), limit=3), nested=False)
    assert 8 in found.units
    assert len(found.units) <= 3
    assert 4 not in found.order
    assert found.order[0] == 8
    assert found.path.rows[-1].size == 8
    assert chosen(data, n_features=7, nested=False).path.size == 7
    with pytest.raises(ValueError, match="n_features_to_select must be from 1 to 9, got 10"):
        chosen(data, n_features=10)


def test_groups_of_columns_are_units():
    units = ((0, 1), (2, 5, 7), (3, 4), (6, 8))
    found = chosen(made(rows=120), space=space_of(9, units=units, allowed=(0, 1, 2, 3), limit=4), nested=False)
    assert found.units == (1,)


def test_a_category_is_one_unit_and_gaps_are_filled():
    rng = np.random.default_rng(0)
    level, noise = rng.integers(0, 6, 200), rng.integers(0, 30, 200)
    table = pd.DataFrame({"good": np.array(list("abcdef"))[level], "bad": [f"n{one}" for one in noise]})
    table["gaps"] = np.where(rng.random(200) < 0.2, np.nan, rng.normal(size=200))
    encoded = EncodedRows.of(TableEncoder(impute="median"), table)
    data = Data(encoded.numbers(), (level % 2 + (rng.random(200) < 0.1)) % 2, np.array(list(table)), encoded=encoded)
    space = space_of(
        0,
        units=tuple(map(tuple, encoded.encoder.columns_)),
        allowed=(0, 1, 2),
        limit=3,
        categories=tuple(map(tuple, encoded.encoder.columns_[:2])),
    )
    found = chosen(data, space=space)
    assert found.units == (0,)
    assert found.nested.score > 0.8


def test_rows_of_a_group_are_in_one_fold():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), 4)
    y = (np.arange(30) % 2)[groups]
    X = np.column_stack([rng.normal(size=30)[groups], rng.normal(size=(120, 3))])  # the first one tells the group
    found = chosen(Data(X, y, np.arange(4), groups))
    assert chosen(Data(X, y, np.arange(4))).nested.score > 0.75
    assert found.nested.score < 0.7


def test_the_users_folds_are_used():
    data = made(rows=60)
    assert chosen(data, folds=KFold(4)).path.folds_planned == 4
    assert chosen(data, folds=ShuffleSplit(3, random_state=0)).nested is not None
    with pytest.raises(ValueError, match="cv"):
        chosen(data, folds=[(np.arange(3), np.arange(1000))])
    with pytest.raises(ValueError, match="cv must leave two different targets"):  # one row has no two classes
        chosen(data, folds=LeaveOneOut())


@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss", "roc_auc", lambda model, X, y: model.score(X, y)])
def test_any_scorer_judges_classes(scoring):
    data = made(rows=100, columns=8)
    for estimator in (None, LogisticRegression()):
        found = chosen(data, estimator, scoring, nested=False)
        assert {2, 5, 7} <= {*found.units}


@pytest.mark.parametrize("scoring", ["neg_mean_absolute_error", "r2", "concordance"])
def test_any_scorer_judges_real_targets(scoring):
    data = made("regression", rows=100, columns=8)
    data = data._replace(y=1e6 * data.y)
    for estimator in (None, Ridge()):
        found = chosen(data, estimator, scoring, nested=False)
        assert {2, 5, 7} <= {*found.units}
        assert found.path.size <= 5


def test_weights_count_in_the_scores():
    data = made(rows=200, columns=8)
    X, wrong = data.X.copy(), np.arange(200) % 2 == 1
    X[wrong, 2:] = np.random.default_rng(9).normal(size=(100, 6))
    X[wrong, 0] = data.y[wrong]
    weighted = data._replace(X=X, weights=np.where(wrong, 0.0, 1.0))
    assert 5 in chosen(weighted, nested=False).units
    one, two = (chosen(some, nested=False).path.rows[-1].score for some in (weighted, data._replace(X=X)))
    assert one != two
    with pytest.raises(ValueError, match="sample_weight cannot be used"):
        chosen(weighted, KNeighborsClassifier())


def test_judges_have_names_of_their_own():
    panel = Panel.of([None, LogisticRegression(), RandomForestClassifier(3), LogisticRegression(C=2)], None, made())
    assert panel.names[3:] == ("LogisticRegression 1", "RandomForestClassifier", "LogisticRegression 2")
    with pytest.raises(ValueError, match="of one kind, got classifiers and regressors"):
        Panel.of([Ridge(), LogisticRegression()], None, made())
    with pytest.raises(TypeError, match="must be a scikit-learn classifier or regressor"):
        Panel.of(StandardScaler(), None, made())


def test_ctrl_c_ends_with_what_is_known():
    with deferred_interrupt() as interrupted:
        budget = Budget()
        budget.listen(interrupted)

        def press(done, of, text):
            if done == 6:
                signal.raise_signal(signal.SIGINT)

        if threading.current_thread() is threading.main_thread():
            found = chosen(made(rows=60), budget=budget, tell=press)
            assert found.reason == "interrupted"
            assert 0 < found.path.folds < found.path.folds_planned


def test_progress_is_told():
    told = []
    chosen(made(rows=60), tell=lambda *given: told.append(given))
    assert [done for done, _, _ in told] == list(range(1, told[0][1] + 1))
    assert "of 9 columns" in told[-1][2]


def test_all_columns_where_nothing_can_be_scored():
    found = chosen(made(), space=space_of(9, limit=5), folds=[])
    assert (found.path.size, found.path.folds, found.nested) == (5, 0, None)


def test_sizes_are_dense_where_they_are_small():
    assert sizes_of(1, 9, 9) == (1, 2, 3, 4, 5, 6, 8, 9)
    assert sizes_of(2, 20, 200, 7)[:8] == (2, 3, 4, 5, 6, 7, 8, 10)
    assert sizes_of(1, 1, 1) == (1,)


def test_the_rule_takes_the_smallest_size_that_no_judge_minds():
    sizes = (1, 2, 3, 4)
    assert SizeRule(sizes, 4).size(np.array([[0.02, 0.0, 0.0, 0], [-0.03, -0.002, 0.0, 0]])) == 1
    assert SizeRule(sizes, 2).size(np.array([[-0.2, -0.1, 0.0, 0]])) == 1  # the limit
    assert SizeRule(sizes, 4, parsimony=0.2).size(np.array([[-0.2, -0.1, 0.0, 0]])) == 0


def test_far_worse_sizes_say_nothing_about_their_neighbours():
    found = SizeRule((1, 2, 3, 4, 5), 5).smoothed(np.array([[-0.4, -0.3, 0.011, 0.009, 0.0]]))
    np.testing.assert_allclose(found[0, 2:], [0.01, 0.01, 0.0], atol=0.004)


def test_the_honest_score_of_noise_is_that_of_guessing():
    scores, errors = [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        data = Data(rng.normal(size=(60, 6)), rng.permutation(60) % 2, np.arange(6))
        found = chosen(data, seed=seed).nested
        scores.append(found.score)
        errors.append(found.standard_error)
    assert abs(np.mean(scores) - 0.5) < 3 * np.std(scores) / len(scores) ** 0.5
    assert np.mean(np.abs(np.array(scores) - 0.5) < 2 * np.array(errors)) > 0.7
