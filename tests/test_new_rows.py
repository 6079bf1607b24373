"""What held-out rows prove about new rows: the intervals hold as often as promised, and a forged number is found."""

from __future__ import annotations

from math import asin, pi, sqrt
from statistics import NormalDist

import numpy as np
import pytest
from scipy.stats import beta
from sklearn.metrics import roc_auc_score

from bestleaf import KNNOracle
from bestleaf.certificate import held_out
from bestleaf.certificate.bets import Tally, bet_on_score, bets_on_difference, binomial_interval, log_capital
from bestleaf.certificate.held_out import corrected_error, judged, scores_of, table_of
from bestleaf.features.ranking import concordance

DELTA = 0.1
TABLES = 500  # of each of four kinds


def ranked(rng, positive, negative, auc, other):
    """Return rows of two classes with two related scores whose AUCs are known."""
    y = np.repeat([1, 0], [positive, negative])
    shared = rng.normal(size=len(y))
    shifts = (sqrt(2) * NormalDist().inv_cdf(one) for one in (auc, other))
    return y, *(shift * y + sqrt(0.7) * shared + sqrt(0.3) * rng.normal(size=len(y)) for shift in shifts)


def of_two_classes(rng, number):
    sizes = [(4, 4), (25, 25), (10, 60)][number % 3]
    auc, other = [(0.5, 0.6), (0.8, 0.7), (0.95, 0.95), (0.99, 0.9)][number % 4]
    return "auc", table_of(*ranked(rng, *sizes, auc, other)), auc, auc - other


def of_three_classes(rng, number):
    """Every class has its own independent pair of scores, so each AUC of one class against the rest is known."""
    sizes = [(4, 4, 4), (20, 12, 8), (20, 20, 2)][number % 3]
    auc, other = [(0.6, 0.7), (0.9, 0.8)][number % 2]
    labels = np.repeat(np.arange(3), sizes)
    columns = []
    for shift in (sqrt(2) * NormalDist().inv_cdf(one) for one in (auc, other)):
        columns += list((shift * np.eye(3)[labels] + rng.normal(size=(len(labels), 3))).T)
    return "auc", table_of(labels, *columns), auc, auc - other


def of_real_targets(rng, number):
    rows = [8, 30, 80][number % 3]
    strong, weak = [(0.5, 0.3), (0.98, 0.9), (0.0, 0.0)][number // 3 % 3]
    target = rng.normal(size=rows)
    chosen, every = (one * target + sqrt(1 - one**2) * rng.normal(size=rows) for one in (strong, weak))
    score, other = (0.5 + asin(one) / pi for one in (strong, weak))
    return "concordance", table_of(target, chosen, every), score, score - other


def of_predictions(rng, number):
    """Every class has its own accuracy, and the number of rows of each class is fixed."""
    rows = [8, 40, 150][number % 3]
    right, other = [((0.5, 0.5), (0.5, 0.4)), ((0.99, 0.8), (0.9, 0.8)), ((0.97, 1.0), (0.99, 0.9))][number // 3 % 3]
    label, luck = np.arange(rows) % 2, rng.random(rows)
    again = np.where(rng.random(rows) < 0.6, luck, rng.random(rows))
    table = table_of(luck < np.array(right)[label], again < np.array(other)[label])
    return "accuracy", table, np.mean(right), np.mean(right) - np.mean(other)


@pytest.mark.slow
@pytest.mark.parametrize("drawn", [of_two_classes, of_three_classes, of_real_targets, of_predictions])
def test_an_interval_misses_no_more_often_than_promised(drawn):
    rng, missed = np.random.default_rng(0), np.zeros(2)
    for number in range(TABLES):
        measure, table, score, difference = drawn(rng, number)
        found = judged(measure, table, DELTA)
        assert found.interval.low <= found.score <= found.interval.high
        assert found.difference_interval.low <= found.difference <= found.difference_interval.high
        missed += [
            not end.low - 1e-9 <= true <= end.high + 1e-9
            for end, true in ((found.interval, score), (found.difference_interval, difference))
        ]
    assert (missed <= TABLES * DELTA + 3 * sqrt(TABLES * DELTA * (1 - DELTA))).all()


@pytest.mark.parametrize(("rows", "widest"), [(50, 0.42), (200, 0.22), (1000, 0.1)])
def test_intervals_are_narrow_enough_to_be_of_use(rows, widest):
    """Five times the standard error of DeLong, which needs no proof, would be 0.37, 0.18 and 0.08."""
    rng = np.random.default_rng(1)
    found = [judged("auc", table_of(*ranked(rng, rows // 2, rows // 2, 0.7, 0.7)), 0.05) for _ in range(5)]
    assert np.mean([one.interval.high - one.interval.low for one in found]) < widest
    assert np.mean([one.difference_interval.high - one.difference_interval.low for one in found]) < widest


def test_bets_are_fair():
    """The expected capital against the true mean is at most 1: this is what the proof rests on."""
    rng, scores, gains = np.random.default_rng(3), [], []
    for _ in range(1000):
        y, chosen, every = ranked(rng, 6, 9, 0.7, 0.7)
        score, gain = held_out._tallies_of_class(y == 1, *(np.argsort(np.argsort(one)) for one in (chosen, every)))
        scores.append(np.exp(log_capital(score, [bet_on_score(score, 0.5, 0.7)], 0.7, 0.0)))
        gains.append(np.exp(log_capital(gain, bets_on_difference(gain, 0.5), 0.0, -1.0)))
    for capital in (np.array(scores), np.array(gains)):
        assert 0.5 < capital.mean() < 1 + 3 * capital.std() / sqrt(len(capital))


def test_bets_are_fair_for_rows_of_different_kinds():
    rng, found = np.random.default_rng(4), []
    chances = np.array([[0.3, 0.6, 0.1], [0.0, 0.5, 0.5]])  # of -1, 0 and 1; the mean of all rows is 0.15
    for _ in range(3000):
        counts = sum(rng.multinomial(10, one) for one in chances)
        tally = Tally(np.array([-1.0, 0.0, 1.0]), counts[None, :].astype(float), 20, 1.0)
        found.append(np.exp(log_capital(tally, [0.3], 0.15, -1.0)))
    assert np.mean(found) < 1 + 3 * np.std(found) / sqrt(len(found))


def test_scores_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    y, chosen, every = rng.integers(0, 2, 80), rng.integers(0, 6, 80), rng.integers(0, 6, 80)
    assert scores_of("auc", table_of(y, chosen, every)) == pytest.approx(
        (roc_auc_score(y, chosen), roc_auc_score(y, every))
    )
    labels, chances = rng.integers(0, 4, 90), rng.dirichlet(np.ones(4), size=90)
    found = scores_of("auc", table_of(labels, *chances.T, *chances.T))
    assert found[0] == pytest.approx(roc_auc_score(labels, chances, multi_class="ovr"))
    target, score = rng.normal(size=120).round(1), rng.normal(size=120).round(1)
    assert scores_of("concordance", table_of(target, score, target))[0] == pytest.approx(concordance(target, score))
    assert scores_of("concordance", table_of(target, score, target))[1] == 1
    assert scores_of("accuracy", table_of(np.ones(5, bool), np.arange(5) < 2)) == (1.0, 0.4)


@pytest.mark.parametrize(("right", "many"), [(0, 8), (8, 8), (45, 50), (1, 3), (700, 1000)])
def test_the_interval_of_a_probability_is_the_exact_one(right, many):
    low = beta.ppf(0.025, right, many - right + 1) if right else 0
    high = beta.ppf(0.975, right + 1, many - right) if right < many else 1
    assert binomial_interval(right, many, 0.05) == pytest.approx((low, high), abs=1e-9)


def test_only_the_order_of_ranks_matters_and_no_order_of_lines():
    rng = np.random.default_rng(5)
    y, chosen, every = ranked(rng, 15, 15, 0.8, 0.7)
    table = table_of(y, chosen, every)
    found = judged("auc", table, 0.05)
    stretched = np.column_stack([table[:, 0], 7 * table[:, 1] + 3, table[:, 2] ** 2, table[:, 3]])
    assert judged("auc", rng.permutation(stretched), 0.05) == found
    assert judged("auc", table_of(y, np.exp(chosen), every**3), 0.05) == found


def test_one_row_of_a_class_proves_next_to_nothing():
    found = judged("auc", [[0, 0, 0, 30], [1, 1, 0, 1]], 0.05)
    assert found.interval.low < 0.1
    assert found.interval.high == 1
    assert judged("auc", [[0, 0, 0, 3], [1, 1, 0, 3]], 0.05, same=True).difference_interval == (0, 0)


def test_the_corrected_standard_error():
    scores = [0.8, 0.9, 0.85, 0.7]
    assert corrected_error(scores, [25] * 4, [75] * 4) == pytest.approx(np.std(scores, ddof=1) * sqrt(1 / 4 + 1 / 3))
    assert np.isnan(corrected_error([0.5], [5], [15]))


def delong(score, positive):
    """Return the standard error of an AUC as DeLong wrote it."""
    ours, others = score[positive], score[~positive]
    right = (ours[:, None] > others) + 0.5 * (ours[:, None] == others)
    return sqrt(right.mean(axis=1).var(ddof=1) / len(ours) + right.mean(axis=0).var(ddof=1) / len(others))


def test_the_standard_error_of_the_value_is_that_of_delong():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(150, 3))
    y = X[:, 0] + rng.normal(size=150) > 0
    oracle = KNNOracle(X, y)
    error = delong(oracle.sums([0, 1])[:, 0], y)
    assert oracle.standard_error([0, 1]) == pytest.approx(error, rel=0.01)
    assert error > 0.02


@pytest.mark.parametrize("task", ["two classes", "three classes", "real"])
def test_the_standard_error_is_the_spread_of_values_of_other_rows(task):
    rng, values, errors = np.random.default_rng(8), [], []
    for _ in range(150):
        X = rng.normal(size=(80, 2))
        y = X[:, 0] + rng.normal(size=80)
        y = y if task == "real" else np.digitize(y, [0] if task == "two classes" else [-0.7, 0.7])
        oracle = KNNOracle(X, y, task="regression" if task == "real" else "classification")
        values.append(oracle.value([0]))
        errors.append(oracle.standard_error([0]))
    # 150 values: their spread is known to within 6 percent; that neighbours change, too, is left out
    assert 0.75 < np.mean(errors) / np.std(values, ddof=1) < 1.2
