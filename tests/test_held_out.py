"""Rows that the search has not seen: counted once, and no part of what gaps are filled with."""

from __future__ import annotations

import json
import sys

import numpy as np
import pandas as pd
import pytest

from bestleaf import BestLeafSelector, cli, validate, verify
from bestleaf.certificate import Certificate
from bestleaf.tables import prepared
from bestleaf.tables.compare import compare
from bestleaf.tables.select import select_from_table
from selecting import configured

RNG = np.random.default_rng(5)
X = RNG.normal(size=(60, 4))
Y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)


def summary(holdout):
    """Return a validation and the line of its certificate about rows kept aside."""
    found = validate(BestLeafSelector(choose="training", random_state=0, epsilon=0.1), X, Y, holdout=holdout)
    certificate = found.selector.certificate_
    assert verify(certificate)
    return found, next(line for line in str(certificate).splitlines() if line.startswith("On "))


def test_rows_kept_aside_are_told():
    found, line = summary(0.25)
    assert line.startswith(f"On 15 rows kept from the search: {found.score:.4f}")
    assert f"all features {found.all_features_score:.4f}, difference {found.difference:+.4f}" in line
    assert "estimate without proof" not in line


@pytest.mark.parametrize("times", [[0, 1], [2, 1], [1, 4], [1.5, 2], "12", [True, 1]])
def test_a_certificate_cannot_have_kept_rows_aside_more_often_than_once(times):
    found, _ = summary(0.25)
    content = json.loads(found.selector.certificate_.to_json())
    content["unseen"]["times"] = times
    assert not verify(Certificate(content))


def table_with_gaps():
    """Return a table whose gaps would be filled with other numbers if all rows were looked at."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 3)), columns=["a", "b", "c"])
    frame["y"] = (frame.a > 0).astype(int)
    frame["b"] = np.arange(80.0) ** 2
    frame.loc[rng.choice(80, 15, replace=False), "b"] = np.nan
    return frame


@pytest.mark.parametrize(("impute", "typical"), [("median", np.median), ("mean", np.mean)])
@pytest.mark.parametrize("random_state", [0, None])
def test_gaps_are_filled_from_the_rows_that_the_search_sees(impute, typical, random_state):
    frame, seen = table_with_gaps(), []
    found = select_from_table(
        prepared(frame, "y", impute=impute),
        holdout=0.3,
        choose="training",
        random_state=random_state,
        epsilon=0.1,
        ready=seen.append,
    )
    kept = found.validation.rows
    assert found.table.filled_by.tolist() == kept.tolist()
    number = typical(frame.b.to_numpy()[kept][frame.b.notna().to_numpy()[kept]])
    if random_state is not None:  # by chance two medians may be the same
        assert number != typical(frame.b.dropna())
    assert set(found.table.X.b[frame.b.isna()]) == {number}
    many = frame.b.isna()[kept].sum()
    assert list(found.table.notes) == [
        f"b: {many} missing values filled with {number:g} ({impute} of the rows searched)"
    ]
    assert seen == [found.table]


def test_what_is_kept_aside_changes_nothing_in_the_search():
    frame = table_with_gaps()
    settings = {"holdout": 0.3, "random_state": 0, "epsilon": 0.1, "choose": "training"}
    first = select_from_table(prepared(frame, "y", impute="mean"), **settings)
    aside = np.setdiff1d(np.arange(80), first.validation.rows)
    changed = frame.copy()
    changed.loc[aside, "b"] = changed.loc[aside, "b"] * 1000
    again = select_from_table(prepared(changed, "y", impute="mean"), **settings)
    content, other = first.selector.certificate_.content, again.selector.certificate_.content
    assert content["data"]["fingerprint"] == other["data"]["fingerprint"]


def test_without_rows_kept_aside_all_rows_fill_gaps():
    frame = table_with_gaps()
    found = select_from_table(prepared(frame, "y", impute="mean"), choose="training", random_state=0, epsilon=0.1)
    assert set(found.table.X.b[frame.b.isna()]) == {frame.b.mean()}
    assert found.table.notes == (f"b: 15 missing values filled with {frame.b.mean():g} (mean)",)


def test_a_column_that_is_known_only_in_rows_kept_aside_is_left_out():
    frame = table_with_gaps()
    settings = {"holdout": 0.3, "random_state": 0, "choose": "training"}
    kept = select_from_table(prepared(frame.drop(columns="b"), "y"), **settings, epsilon=0.1)
    frame.loc[kept.validation.rows, "b"] = np.nan
    found = select_from_table(prepared(frame, "y", impute="mean"), **settings, epsilon=0.1)
    assert found.table.notes == ("b: left out, because it has no value at all",)
    assert found.selector.encoder_.left_out_ == {"b": "it has no value at all"}


def test_compare_fills_gaps_from_the_rows_selected_on(monkeypatch):
    filled = []
    real = type(prepared(table_with_gaps(), "y", impute="mean")).filled_from
    monkeypatch.setattr(
        "bestleaf.tables.encode.Table.filled_from", lambda self, rows: filled.append(rows) or real(self, rows)
    )
    first = next(compare(prepared(table_with_gaps(), "y", impute="mean"), holdout=0.3, epsilon=0.1, choose="training"))
    assert len(filled[0]) == 56
    assert 0 <= first.held_out <= 1


def test_the_command_line_tells_what_gaps_were_filled_with(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table_with_gaps().to_csv("t.csv", index=False)
    options = ["--impute", "median", "--holdout", "0.3", "--json", "r.json"]
    options += configured(choose="training", max_samples=300)
    monkeypatch.setattr(sys, "argv", ["bestleaf", "select", "t.csv", "--target", "y", *options])
    with pytest.raises(SystemExit):
        cli.main()
    notes = json.loads((tmp_path / "r.json").read_text())["notes"]
    assert "(median of the rows searched)" in notes[-1]
    assert notes[-1] in capsys.readouterr().out


def test_evaluated_subsets_name_features_as_the_answer_does():
    numbers = BestLeafSelector(choose="training", random_state=0, epsilon=0.1).fit(X, Y)
    assert all(type(one) is int for subset in numbers.evaluated_ for one in subset.features)
    best = numbers.evaluated_.by_size()[len(numbers.subset_)]
    assert set(best.features) == set(numbers.subset_.tolist())
    assert str(numbers.evaluated_).splitlines()[0].endswith(", ".join(map(str, numbers.evaluated_[0].features)))
    names = BestLeafSelector(choose="training", random_state=0, epsilon=0.1).fit(
        pd.DataFrame(X, columns=list("abcd")), Y
    )
    assert {one for subset in names.evaluated_ for one in subset.features} == set("abcd")
    by_size = names.certificate_.content["report"]["by_size"]
    assert [one[2] for one in by_size] == [list(one.features) for one in names.evaluated_.by_size().values()]
    written = numbers.certificate_.content["report"]["by_size"]
    assert [one[2] for one in written] == [
        [f"x{number}" for number in one.features] for one in numbers.evaluated_.by_size().values()
    ]
    assert verify(numbers.certificate_)
