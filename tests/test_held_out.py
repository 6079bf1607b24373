"""Rows that the search has not seen: counted once, and no part of what gaps are filled with."""

from __future__ import annotations

import json
import sys

import numpy as np
import pandas as pd
import pytest

from bestleaf import BestLeafSelector, cli, verify
from bestleaf.tables import prepared
from bestleaf.tables.compare import compare
from bestleaf.tables.select import select_from_table
from selecting import configured

RNG = np.random.default_rng(5)
X = RNG.normal(size=(60, 4))
Y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)


def table_with_gaps():
    """Return a table whose gaps would be filled with other numbers if all rows were looked at."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 3)), columns=["a", "b", "c"])
    frame["y"] = (frame.a > 0).astype(int)
    frame["b"] = np.arange(80.0) ** 2
    frame.loc[rng.choice(80, 15, replace=False), "b"] = np.nan
    return frame


SETTINGS = {"random_state": 0, "epsilon": 0.1, "choose": "training"}


@pytest.mark.parametrize(("impute", "typical"), [("median", np.median), ("mean", np.mean)])
def test_gaps_are_filled_from_the_rows_that_the_search_sees(impute, typical):
    frame, seen = table_with_gaps(), []
    found = select_from_table(prepared(frame, "y", impute=impute), holdout=0.3, ready=seen.append, **SETTINGS)
    kept = found.validation.rows
    number = typical(frame.b.to_numpy()[kept][frame.b.notna().to_numpy()[kept]])
    assert number != typical(frame.b.dropna())
    assert set(found.table.X.b[frame.b.isna()]) == {number}
    many = frame.b.isna()[kept].sum()
    told = f"b: {many} missing values filled with {number:g} ({impute} of the rows searched)"
    assert list(found.table.notes) == [told]
    assert seen == [found.table]


def test_what_is_kept_aside_changes_nothing_in_the_search():
    frame = table_with_gaps()
    first = select_from_table(prepared(frame, "y", impute="mean"), holdout=0.3, **SETTINGS)
    aside = np.setdiff1d(np.arange(80), first.validation.rows)
    changed = frame.copy()
    changed.loc[aside, "b"] = changed.loc[aside, "b"] * 1000
    again = select_from_table(prepared(changed, "y", impute="mean"), holdout=0.3, **SETTINGS)
    content, other = first.selector.certificate_.content, again.selector.certificate_.content
    assert content["data"]["fingerprint"] == other["data"]["fingerprint"]


def test_a_column_that_is_known_only_in_rows_kept_aside_is_left_out():
    frame = table_with_gaps()
    kept = select_from_table(prepared(frame.drop(columns="b"), "y"), holdout=0.3, **SETTINGS)
    frame.loc[kept.validation.rows, "b"] = np.nan
    found = select_from_table(prepared(frame, "y", impute="mean"), holdout=0.3, **SETTINGS)
    assert found.table.notes == ("b: left out, because it has no value at all",)
    assert found.selector.encoder_.left_out_ == {"b": "it has no value at all"}


def test_compare_fills_gaps_from_the_rows_selected_on(monkeypatch):
    filled = []
    real = type(prepared(table_with_gaps(), "y", impute="mean")).filled_from
    monkeypatch.setattr(
        "bestleaf.tables.load.Table.filled_from", lambda self, rows: filled.append(rows) or real(self, rows)
    )
    first = next(compare(prepared(table_with_gaps(), "y", impute="mean"), holdout=0.3, epsilon=0.1, choose="training"))
    assert len(filled[0]) == 56
    assert 0 <= first.held_out <= 1


def test_the_command_line_tells_what_gaps_were_filled_with(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table_with_gaps().to_csv("t.csv", index=False)
    options = ["--impute", "median", "--holdout", "0.3", "--json", "r.json", *configured(choose="training")]
    monkeypatch.setattr(sys, "argv", ["bestleaf", "select", "t.csv", "--target", "y", *options])
    with pytest.raises(SystemExit):
        cli.main()
    notes = json.loads((tmp_path / "r.json").read_text())["notes"]
    assert "(median of the rows searched)" in notes[-1]
    assert notes[-1] in capsys.readouterr().out


def test_evaluated_subsets_name_features_as_the_answer_does():
    numbers = BestLeafSelector(**SETTINGS).fit(X, Y)
    names = BestLeafSelector(**SETTINGS).fit(pd.DataFrame(X, columns=list("abcd")), Y)
    assert all(type(one) is int for subset in numbers.evaluated_ for one in subset.features)
    assert {one for subset in names.evaluated_ for one in subset.features} == set("abcd")
    best = numbers.evaluated_.by_size()[len(numbers.subset_)]
    assert set(best.features) == set(numbers.subset_.tolist())
    for found, prefix in ((numbers, "x"), (names, "")):
        written = found.certificate_.content["report"]["by_size"]
        subsets = found.evaluated_.by_size().values()
        assert [one[2] for one in written] == [[f"{prefix}{label}" for label in one.features] for one in subsets]
    assert verify(numbers.certificate_)
