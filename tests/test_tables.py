"""Tables as users have them become numbers, or are refused by name."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from bestleaf import BestLeafSelector, SearchOptions, verify
from bestleaf.tables import prepared, read_frame
from bestleaf.tables.select import select_from_table
from conftest import calls_of

Y = [0, 1] * 15


def table_of(column, **keywords):
    return prepared(pd.DataFrame({"a": column, "y": Y}), "y", **keywords)


@pytest.mark.parametrize(
    "column",
    [
        [Decimal(number) / 4 for number in range(30)],
        [Decimal(1), 2.5, 3] * 10,
        pd.array(range(30), "Int64"),
        pd.array(np.arange(30.0), "Float64"),
        pd.array([True, False, True] * 10, "boolean"),
        pd.Series([1, 2.5, 3] * 10, dtype=object),
        np.arange(30, dtype=np.uint8),
    ],
)
def test_all_kinds_of_numbers_are_numbers(column):
    table = table_of(column)
    assert list(table.X.columns) == ["a"]
    assert table.X["a"].tolist() == [float(value) for value in column]


@pytest.mark.parametrize(
    "column",
    [
        pd.array(["u", "v", "w"] * 10, "string"),
        pd.Categorical(["u", "v", "w"] * 10),
        ["u", "v", "w"] * 10,
        np.array(["u", "v", "w"] * 10, object),
    ],
)
def test_all_kinds_of_text_are_categories(column):
    table = table_of(column)
    assert table.groups == {"a": ["a=u", "a=v", "a=w"]}
    assert (table.X.to_numpy() == np.tile(np.eye(3), (10, 1))).all()


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean", "object"])
def test_gaps_of_nullable_columns_are_seen_and_filled(dtype):
    values = [True, None, False] if dtype == "boolean" else [1, None, 3]
    if dtype == "object":
        values = [Decimal(1), None, Decimal(3)]
    column = pd.Series(values * 10, dtype=dtype)
    with pytest.raises(
        ValueError, match=r"the table must have no missing values, got some in the columns 'a'; impute='median'"
    ):
        table_of(column)
    table = table_of(column, impute="mean")
    assert table.X["a"].iloc[1] == (0.5 if dtype == "boolean" else 2)
    assert table.notes == (f"a: 10 missing values filled with {table.X['a'].iloc[1]:g} (mean)",)


@pytest.mark.parametrize("impute", ["median", "mean", "most_frequent"])
def test_gaps_are_filled_as_pandas_would(impute):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 5, (30, 4)).astype(float), columns=list("abcd")).mask(
        rng.random((30, 4)) < 0.2
    )
    found = prepared(frame.assign(y=Y), "y", impute=impute).X
    fill = frame.mode().iloc[0] if impute == "most_frequent" else getattr(frame, impute)()
    pd.testing.assert_frame_equal(found, frame.fillna(fill))


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        ([[1]] * 30, "not lists, dictionaries or bytes, got the columns 'a'"),
        ([{"b": 1}] * 30, "not lists, dictionaries or bytes, got the columns 'a'"),
        ([b"b"] * 30, "not lists, dictionaries or bytes, got the columns 'a'"),
        ([1j] * 30, "not lists, dictionaries or bytes, got the columns 'a'"),
        (pd.Series([1, "one", 2.5] * 10, dtype=object), "numbers or text, not both, got the columns 'a'"),
        ([Decimal("Infinity")] * 30, "no infinite numbers, got some in the columns 'a'"),
        (pd.Series([10**400] * 30, dtype=object), "column 'a' must hold numbers of 64 bits"),
        (pd.Series([None] * 30, dtype=object), "a column that can be used, got none; 'a' is left out: it has no value"),
        ([f"id {number}" for number in range(30)], "got none; 'a' is left out: every row has a text of its own"),
    ],
)
def test_columns_that_cannot_be_numbers_are_refused_by_name(column, sentence):
    with pytest.raises(ValueError, match=sentence):
        table_of(column, impute="median")


@pytest.mark.parametrize(
    "targets",
    [
        pd.array(Y, "Int64"),
        pd.array([bool(one) for one in Y], "boolean"),
        pd.array(["no", "yes"] * 15, "string"),
        pd.Categorical(["no", "yes"] * 15),
        pd.Categorical(Y),
        [Decimal(one) for one in Y],
    ],
)
def test_all_kinds_of_targets_can_be_predicted(targets):
    frame = pd.DataFrame({"a": np.arange(30) % 2, "b": np.arange(30), "target": targets})
    found = select_from_table(prepared(frame, "target"), task="classification", choose="training", random_state=0)
    assert found.features == ["a"]


@pytest.mark.parametrize(
    ("targets", "words"),
    [
        ([[1]] * 30, "lists, dictionaries or bytes"),
        (pd.Series([1, "one"] * 15, dtype=object), "both in one column"),
        (pd.date_range("2020", periods=30), "dates"),
        ([1.0, float("inf")] * 15, "infinite"),
        (pd.array([1, None] * 15, "Int64"), "15 of 30 rows"),
    ],
)
def test_targets_that_cannot_be_predicted_are_refused(targets, words):
    with pytest.raises(ValueError, match=f"the target 'target' must .*{words}"):
        prepared(pd.DataFrame({"a": range(30), "target": targets}), "target")


def test_text_among_the_numbers_of_a_file_is_named(tmp_path):
    cells = "".join(f"{number % 7},{number % 2}\n" for number in range(40))
    (tmp_path / "a.csv").write_text(f"a,y\n{cells}unknown,0\n")
    told = "got some in the columns 'a' \\(1 cell is no number: 'unknown' in row 41\\); impute='median' fills them"
    with pytest.raises(ValueError, match=told):
        prepared(read_frame(tmp_path / "a.csv"), "y")
    table = prepared(read_frame(tmp_path / "a.csv"), "y", impute="median")
    assert table.notes == ("a: 1 cell is no number: 'unknown' in row 41, 1 missing value filled with 3 (median)",)
    assert list(table.X) == ["a"]


@pytest.mark.parametrize(
    ("separator", "words"), [(";", "semicolons"), ("\t", "tabs"), ("|", "vertical bars"), (",", None)]
)
def test_another_separator_is_found_and_noted(tmp_path, separator, words):
    frame = pd.DataFrame({"a": np.arange(30) / 4, "b": ["u", "v, w"] * 15, "y": Y})
    frame.to_csv(tmp_path / "a.csv", sep=separator, index=False)
    read = read_frame(tmp_path / "a.csv")
    pd.testing.assert_frame_equal(read, frame)
    expected = [f"the file is separated by {words}"] if words else []
    assert list(prepared(read, "y").notes) == [*expected, "b: 2 categories"]


def test_decimal_commas_between_semicolons_are_numbers(tmp_path):
    frame = pd.DataFrame({"a": np.arange(30) / 4, "y": Y})
    frame.to_csv(tmp_path / "a.csv", sep=";", decimal=",", index=False)
    read = read_frame(tmp_path / "a.csv")
    pd.testing.assert_frame_equal(read, frame)
    assert prepared(read, "y").notes == ("the file is separated by semicolons and its numbers have decimal commas",)


def test_ten_thousand_columns_are_not_looked_at_one_by_one():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(50, 10_000)), columns=[f"c{number}" for number in range(10_000)])
    frame["city"], frame["y"] = ["Oslo", "Rome"] * 25, [0, 1] * 25
    table, calls = calls_of(lambda: prepared(frame, "y"))
    assert calls < 30 * 10_000  # only to take each column out of the frame would need 55 calls a column
    assert table.X.shape == (50, 10_002)
    assert table.X.iloc[:, :-2].equals(frame.iloc[:, :-2])


def test_constant_columns_are_left_out_beside_groups_too():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=40), "same": 1.0, "city": ["Oslo", "Rome"] * 20, "land": "Norway"})
    frame["y"] = (frame.a > 0).astype(int)
    with pytest.warns(UserWarning, match=r"columns \['same', 'land'\] are constant and left out of the search"):
        found = select_from_table(prepared(frame, "y"), choose="training", random_state=0)
    assert found.selector.certificate_.exact_evaluations == 3  # of a and the city
    with pytest.warns(UserWarning, match=r"columns \['same'\] are constant"):
        found = select_from_table(prepared(frame, "y"), choose="training", random_state=0, include=["land"])
    assert "land" in found.features


def test_a_group_is_useless_only_if_none_of_it_changes():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=40), np.ones(40), np.ones(40), np.ones(40)])
    y = (X[:, 0] > 0).astype(int)
    with pytest.warns(UserWarning, match=r"columns \['x2', 'x3'\] are constant and left out"):
        selector = BestLeafSelector(choose="training", feature_groups=[[0, 1], [2, 3]], random_state=0).fit(X, y)
    assert selector.support_.tolist() == [True, True, False, False]
    with pytest.raises(ValueError, match="X must have a column that changes, got 4 constant of 4"):
        BestLeafSelector(choose="training", feature_groups=[[0, 1], [2, 3]]).fit(np.ones((40, 4)), y)


def test_words_count_a_group_as_one_feature_and_one_as_one():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"age": rng.normal(size=60), "city": ["Oslo", "Rome", "Bonn"] * 20, "noise": rng.normal(size=60)}
    )
    frame["y"] = ((frame.age > 0) ^ (frame.city == "Rome")).astype(int)
    found = select_from_table(prepared(frame, "y"), choose="training", random_state=0).selector.certificate_
    assert found.summary().startswith("Selected 2 of 3 features: age, city.")
    assert found.content["data"]["encoding"]["levels"] == {"city": ["Bonn", "Oslo", "Rome"]}
    assert verify(found)
    one = (
        BestLeafSelector(choose="training", random_state=0, search=SearchOptions(guarantee=["exhaustive", "local"]))
        .fit(frame[["age"]], frame.y)
        .certificate_
    )
    assert "Selected 1 of 1 feature: age." in one.summary()
    assert "The only subset that may be chosen was evaluated: there is no other." in one.summary()
    assert "there is no subset one step away" in one.summary()
    assert verify(one)
    gap = prepared(frame.assign(age=frame.age.mask(frame.index == 3), city="Rome"), "y", impute="mean")
    assert gap.notes[0].startswith("age: 1 missing value filled")
    assert gap.notes[1] == "city: 1 category"
