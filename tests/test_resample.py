"""How often features are selected when the rows change: `validate(..., resample=...)`."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from bestleaf import BestLeafSelector, Certificate, validate, verify
from bestleaf.new_data.resample import resampled_rows
from forging import judged as verdict_on

ROWS = np.arange(10, 210)
Y = np.repeat([0, 1, 1, 1], 55)  # a row for each number up to 219


def table(rows=90):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 5))
    return X, (2 * X[:, 0] + X[:, 1] + rng.normal(size=rows) > 0).astype(int)


def quick():
    return BestLeafSelector(choose="training", epsilon=0.01, random_state=0)


def test_bootstrap_keeps_each_row_once_and_about_63_percent():
    shares = []
    for seed in range(50):
        found = resampled_rows("bootstrap", ROWS, Y, None, True, seed)
        assert len(set(found.tolist())) == len(found)
        assert set(found.tolist()) <= set(ROWS.tolist())
        shares.append(len(found) / len(ROWS))
    # The share of a draw has a standard deviation of about 0.022, the mean of 50 draws one of 0.0031.
    assert abs(np.mean(shares) - (1 - np.exp(-1))) < 4 * 0.0031


def test_half_keeps_the_shares_of_classes():
    found = resampled_rows("half", ROWS, Y, None, True, 3)
    assert len(found) == 100
    assert abs(Y[found].mean() - Y[ROWS].mean()) < 0.01


def test_rows_of_a_group_stay_together():
    groups = np.arange(220) // 5
    found = resampled_rows("half", ROWS, Y, groups, True, 1)
    assert {*found.tolist()} == {row for row in ROWS.tolist() if groups[row] in groups[found]}
    assert len(found) == 100


def test_one_class_in_each_group_draws_again_or_says_so():
    groups = (Y > 0).astype(int)
    assert set(Y[resampled_rows("bootstrap", ROWS, Y, groups, True, 0)]) == {0, 1}
    with pytest.raises(ValueError, match="resample must leave two different targets, got 'half' of 2 rows or groups"):
        resampled_rows("half", ROWS, Y, groups, True, 0)


def test_how_often_features_are_selected_on_other_rows():
    X, y = table()
    found = validate(quick(), X, y, resample="bootstrap", n_repeats=6)
    again = validate(quick(), X, y, resample="bootstrap", n_repeats=6)
    seeds_only = validate(quick(), X, y, n_repeats=6)
    assert found.n_repeats == 6
    assert found.selection_frequency[0] == 1.0
    assert found.selection_frequency.tolist() == again.selection_frequency.tolist()
    assert found.selection_frequency.tolist() != seeds_only.selection_frequency.tolist()
    assert "6 searches (the first on all rows, the others on resampled rows: bootstrap)" in str(found)
    certificate = Certificate.from_json(found.selector.certificate_.to_json())
    assert verify(certificate, X, y)
    forged = copy.deepcopy(certificate.content)
    forged["report"]["resample"] = "all rows of the world"
    assert not verdict_on(forged)


def test_twenty_searches_without_a_number(monkeypatch):
    monkeypatch.setattr("bestleaf.validation.RESAMPLES", 3)
    assert validate(quick(), *table(), resample="half").n_repeats == 3


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"resample": "jackknife"}, "resample must be one of bootstrap, half, got 'jackknife'"),
        ({"resample": "half", "n_repeats": 1}, "n_repeats must be at least 2 with resample, got 1"),
    ],
)
def test_bad_values_are_refused(keywords, words):
    with pytest.raises(ValueError, match=words):
        validate(quick(), *table(), **keywords)
