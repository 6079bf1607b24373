"""Test rows: which they are, and the intervals that they prove, which hold as often as promised."""

from __future__ import annotations

from math import asin, pi, sqrt
from statistics import NormalDist

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from bestleaf.features.ranking import concordance
from bestleaf.selection import matched
from bestleaf.selection.matched import Rows, Tally, draws, log_capital, proved, table_of

DELTA, TABLES, JUDGES = 0.2, 300, 2


def judges_of(rng, signal, noise=0.6):
    """Return the predictions of some judges that share most of their error."""
    shared = rng.normal(size=signal.shape)
    return [signal + sqrt(noise) * shared + sqrt(1 - noise) * rng.normal(size=signal.shape) for _ in range(JUDGES)]


def shift(auc):
    return sqrt(2) * NormalDist().inv_cdf(auc)


def of_two_classes(rng, number):
    sizes = [(4, 4), (25, 25), (10, 60)][number % 3]
    aucs = [(0.5, 0.6, 0.5), (0.8, 0.7, 0.8), (0.95, 0.95, 0.9), (0.99, 0.9, 0.99)][number % 4]
    y = np.repeat([1, 0], sizes)
    return "auc", y, [judges_of(rng, shift(one) * y[:, None]) for one in aucs], aucs


def of_three_classes(rng, number):
    """Every class has scores of its own, so each AUC of one class against the rest is known."""
    sizes = [(4, 4, 4), (20, 12, 8), (40, 40, 2)][number % 3]
    aucs = [(0.6, 0.7, 0.6), (0.9, 0.8, 0.85)][number % 2]
    y = np.repeat(np.arange(3), sizes)
    return "auc", y, [judges_of(rng, shift(one) * np.eye(3)[y]) for one in aucs], aucs


def of_real_targets(rng, number):
    rows = [8, 30, 80][number % 3]
    parts = [(0.5, 0.3, 0.5), (0.98, 0.9, 0.95), (0.0, 0.0, 0.0)][number // 3 % 3]
    y = rng.normal(size=rows)
    found = [judges_of(rng, one / sqrt(1 - one**2) * y[:, None]) for one in parts]
    return "concordance", y, found, [0.5 + asin(one) / pi for one in parts]


def of_predictions(rng, number):
    """Every class has its own accuracy, and the number of rows of each class is fixed."""
    rows = [8, 40, 150][number % 3]
    right = [((0.5, 0.5), (0.5, 0.4), (0.5, 0.5)), ((0.99, 0.8), (0.9, 0.8), (0.95, 0.8))][number // 3 % 2]
    label = np.arange(rows) % 2
    found = [[rng.random((rows, 1)) < np.array(one)[label][:, None] for _ in range(JUDGES)] for one in right]
    return "accuracy", label, found, [np.mean(one) for one in right]


@pytest.mark.parametrize("kind", [of_two_classes, of_three_classes, of_real_targets, of_predictions])
def test_all_three_claims_together_fail_no_more_often_than_promised(kind):
    """The answer, all columns and another set: one delta for the score, the difference and the best other set."""
    rng, wrong = np.random.default_rng(0), 0
    for number in range(TABLES):
        measure, y, predicted, true = kind(rng, number)
        table = table_of(measure, y, predicted, (2, 9, 4))
        found, scores = proved(table, DELTA, number), Rows.of(table).scores().mean(axis=1)
        low, high = found.interval
        least, most = found.difference_interval
        assert low <= scores[0] <= high
        assert least <= scores[0] - scores[1] <= most
        assert max(scores[1:]) - scores[0] <= found.best_other
        wrong += not (
            low <= true[0] <= high
            and least <= true[0] - true[1] <= most
            and max(true[1:]) - true[0] <= found.best_other
        )
    assert wrong <= TABLES * DELTA + 3 * sqrt(TABLES * DELTA * (1 - DELTA))
