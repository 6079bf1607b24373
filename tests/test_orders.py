"""Orders of columns and the judges: against plain Python, against scikit-learn, and on data with a known answer."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.neighbors import KNeighborsClassifier

from bestleaf.features.kernels import forest
from bestleaf.selection.data import Data
from bestleaf.selection.folds import Fold
from bestleaf.selection.judges import NeighbourMeans, Panel, Trees
from bestleaf.selection.judges import Ridge as RidgeJudge
from bestleaf.selection.orders import elimination, forward, pooled
from bestleaf.selection.space import Space

MASK = 2**64 - 1


def made(task="classification", rows=160, columns=9, classes=2, seed=0):
    """Return data in which columns 2, 5 and 7 matter."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    score = X[:, 2] - X[:, 5] + X[:, 7] + 0.3 * rng.normal(size=rows)
    y = score if task == "regression" else np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))
    return Data(X, y, np.array([f"x{one}" for one in range(columns)], object))


def space_of(columns, **more):
    given = {"units": tuple((one,) for one in range(columns)), "allowed": tuple(range(columns)), "forced": ()}
    given = {**given, "limit": columns, **more}
    return Space(names=tuple(f"x{one}" for one in range(len(given["units"]))), **given)


def part_of(data, **more):
    train = np.arange(len(data.y)) % 4 > 0
    fold = Fold(np.flatnonzero(train), np.flatnonzero(~train))
    panel = Panel.of(None, None, data)
    return panel.part(data, space_of(data.X.shape[1], **more), fold)


@pytest.mark.parametrize("order", [elimination, forward])
@pytest.mark.parametrize(("task", "classes"), [("classification", 2), ("classification", 4), ("regression", 0)])
def test_orders_begin_with_the_columns_that_matter(order, task, classes):
    found = order(part_of(made(task, classes=classes)), bool).tolist()
    assert {*found[:3]} == {2, 5, 7}
    assert sorted(found) == list(range(9))


@pytest.mark.parametrize("order", [elimination, forward])
def test_orders_begin_with_forced_units_and_keep_groups_together(order):
    data = made()
    units = ((0, 1), (2,), (3,), (4, 5), (6,), (7, 8))
    found = order(part_of(data, units=units, allowed=(1, 2, 3, 4, 5), forced=(0,), limit=6), bool).tolist()
    assert found[0] == 0
    assert {*found[1:4]} == {1, 3, 5}


def test_noise_of_many_values_does_not_pass_for_columns_of_two_values():
    found = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = np.hstack([rng.integers(0, 2, (400, 6)), rng.normal(size=(400, 30))])
        y = (X[:, :6].sum(axis=1) + 1.5 * rng.normal(size=400) > 3).astype(int)
        data = Data(X, y, np.array([f"x{one}" for one in range(36)], object), {})
        found += int((elimination(part_of(data), bool)[:6] < 6).sum())
    assert found >= 18  # of 24; 9 if what chance explains counts, too


def test_pooled_orders_agree_on_what_most_put_first():
    assert pooled([np.array([2, 0, 1]), np.array([2, 1, 0]), np.array([0, 2, 1])]).tolist() == [2, 0, 1]


def drawn(state, many):
    """Return (random number, next state): splitmix64 in plain Python."""
    state = (state + 0x9E3779B97F4A7C15) & MASK
    mixed = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & MASK
    return (((mixed ^ (mixed >> 31)) >> 32) * many) >> 32, state


def squares(targets, classes):
    """Return the sum of squared sums of targets over their number; of indicators for classes."""
    sums = [sum(targets)] if classes == 1 else [targets.count(one) for one in range(classes)]
    return sum(one * one for one in sums) / len(targets)


def plain_forest(codes, targets, new, classes, tried, leaf, depth, chance, seed, trees):
    """Return (importances, predictions) of a forest in plain Python."""
    importance, out = [0.0] * len(codes), [[0.0] * classes for _ in new[0]]
    for tree in range(trees):
        state = drawn(seed, 2)[1] ^ ((tree * 0x94D049BB133111EB) & MASK)
        places = list(range(len(codes)))
        nodes = [(list(range(len(targets))), list(range(len(new[0]))), 0)]
        while nodes:
            rows, asked, level = nodes.pop()
            here = [targets[row] for row in rows]
            best, most = None, 1e-9
            looked = count = 0
            grows = len({*here}) > 1 and len(rows) >= 2 * leaf and level < depth
            while grows and looked < len(codes) and count < tried:
                other, state = drawn(state, len(codes) - looked)
                other += looked
                places[looked], places[other] = places[other], places[looked]
                column = places[looked]
                looked += 1
                values = [codes[column][row] for row in rows]
                if min(values) == max(values):
                    continue
                count += 1
                step, state = drawn(state, max(values) - min(values))
                sides = [], []
                for target, value in zip(here, values, strict=True):
                    sides[value > min(values) + step].append(target)
                if min(map(len, sides)) >= leaf:
                    gain = sum(squares(side, classes) for side in sides) - squares(here, classes)
                    if gain > most:
                        best, most = (column, min(values) + step), gain
            if best is None:
                for one in range(classes):
                    mean = (sum(here) if classes == 1 else here.count(one)) / len(here)
                    for row in asked:
                        out[row][one] += mean
                continue
            column, cut = best
            same = [here.count(one) / len(here) for one in range(classes)]
            variance = np.var(here) if classes == 1 else 1.0 - sum(one**2 for one in same)
            importance[column] += max(most - chance * variance, 0.0)
            for side in (False, True):
                nodes.append(
                    (
                        [row for row in rows if (codes[column][row] > cut) == side],
                        [row for row in asked if (new[column][row] > cut) == side],
                        level + 1,
                    )
                )
    return importance, out


@pytest.mark.parametrize("chance", [0.0, 2.5])
@pytest.mark.parametrize("classes", [1, 3, 25])
def test_the_forest_is_that_of_plain_python(classes, chance):
    rng = np.random.default_rng(3)
    codes, new = (rng.integers(0, 9, (5, rows)).astype(np.uint8) for rows in (40, 11))
    targets = rng.integers(0, classes if classes > 1 else 100, 40)
    scratch = forest.Scratch.of(40, 11, classes, 5)._replace(shuffled=np.empty(5, np.int64))
    table, shape = forest.GrowingRows(codes, np.arange(5), targets, new), forest.TreeShape(classes, 3, 2, 5, chance)
    importance, out = np.zeros(5), np.zeros((11, classes))
    for some in ((0, 3), (3, 7)):  # in two batches
        forest.grow(table, shape, scratch, 17, some, importance, out)
    expected = plain_forest(codes.tolist(), targets.tolist(), new.tolist(), classes, 3, 2, 5, chance, 17, 7)
    np.testing.assert_allclose(importance, expected[0])
    np.testing.assert_allclose(out, expected[1])


def test_votes_are_those_of_scikit_learn():
    part = part_of(made(classes=3))
    found = NeighbourMeans(5).outputs(part, [4, 2, 7], [1, 3], bool)
    for outputs, units in zip(found, ([4], [4, 2, 7]), strict=True):
        model = KNeighborsClassifier(5).fit(part.known[:, units], part.y)
        np.testing.assert_allclose(outputs, model.predict_proba(part.new[:, units]))


@pytest.mark.parametrize("rows", [16, 160])
def test_ridge_regression_of_prefixes_is_that_of_scikit_learn_with_some_penalty(rows):
    part = part_of(made("regression", rows=rows, columns=20))
    order, sizes = np.arange(20)[::-1], [1, 5, 20]
    for outputs, size in zip(RidgeJudge().outputs(part, order, sizes, bool), sizes, strict=True):
        X, new = part.known[:, order[:size]], part.new[:, order[:size]]
        fits = [Ridge(factor * max(len(X), size)).fit(X, part.y).predict(new) for factor in 10.0 ** np.arange(-3, 2)]
        assert min(np.abs(outputs[:, 0] - one).max() for one in fits) < 1e-8


def test_a_forest_judges_a_set_the_same_in_any_order():
    part = part_of(made())
    one, other = (Trees().outputs(part, order, [3], bool) for order in ([2, 5, 7], [7, 2, 5]))
    assert (one == other).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_are_those_of_scikit_learn(weighted):
    rng = np.random.default_rng(1)
    for task in ("classification", "regression"):
        data = made(task)
        weights = rng.random(len(data.y)) if weighted else None
        data = data._replace(weights=weights if weighted else None)
        part, panel = part_of(data), Panel.of(None, None, data)
        measure = roc_auc_score if task == "classification" else r2_score
        truth = data.y[part.fold.test] == panel.classes[1] if task == "classification" else data.y[part.fold.test]
        heavy = None if weights is None else weights[part.fold.test]
        for score, outputs in zip(panel.scores(part, [2, 5], [2]), panel.predictions(part, [2, 5]), strict=True):
            assert score[0] == pytest.approx(measure(truth, outputs[:, 0], sample_weight=heavy))
