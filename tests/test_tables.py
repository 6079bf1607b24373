"""Tables as users have them become numbers, or are refused by name."""

from __future__ import annotations

import os
import sys
from decimal import Decimal
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_regressor

from bestleaf import verify
from bestleaf.tables import load_table, read_frame
from bestleaf.tables.load import prepared
from bestleaf.tables.models import NAMED, default_impute, named_estimator
from bestleaf.tables.select import model_of, select_from_table
from selecting import made_selector

Y = [0, 1] * 15


def table_of(column, **keywords):
    return prepared(pd.DataFrame({"a": column, "y": Y}), "y", **keywords)


KINDS = {
    "a": [
        [Decimal(number) / 4 for number in range(30)],
        [Decimal(1), 2.5, 3] * 10,
        pd.array(range(30), "Int64"),
        pd.array([True, False, True] * 10, "boolean"),
        pd.Series([1, 2.5, 3] * 10, dtype=object),
        np.arange(30, dtype=np.uint8),
    ],
    "a=u a=v a=w": [
        pd.array(["u", "v", "w"] * 10, "string"),
        pd.Categorical(["u", "v", "w"] * 10),
        np.array(["u", "v", "w"] * 10, object),
    ],
}


@pytest.mark.parametrize(("names", "column"), [(names, column) for names in KINDS for column in KINDS[names]])
def test_all_kinds_of_numbers_are_numbers_and_texts_are_categories(names, column):
    found = table_of(column).X
    assert list(found) == names.split()
    right = [[float(value)] for value in column] if names == "a" else np.tile(np.eye(3), (10, 1)).tolist()
    assert found.to_numpy().tolist() == right


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean", "object"])
def test_gaps_of_nullable_columns_are_seen_and_filled(dtype):
    values = [True, None, False] if dtype == "boolean" else [1, None, 3]
    if dtype == "object":
        values = [Decimal(1), None, Decimal(3)]
    column = pd.Series(values * 10, dtype=dtype)
    with pytest.raises(ValueError, match="no missing values, got some in the columns 'a'; impute='median'"):
        table_of(column)
    table = table_of(column, impute="mean")
    assert table.X["a"].iloc[1] == (0.5 if dtype == "boolean" else 2)
    filled = f"a: 10 missing values filled with {table.X['a'].iloc[1]:g} (mean"
    assert table.notes == (f"{filled} of the training rows)",)


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        *((one, "not lists, dictionaries or bytes, got the columns 'a'") for one in ([{"b": 1}] * 30, [1j] * 30)),
        (pd.Series([1, "one", 2.5] * 10, dtype=object), "numbers or text, not both, got the columns 'a'"),
        ([Decimal("Infinity")] * 30, "no infinite numbers, got some in the columns 'a'"),
        (pd.Series([10**400] * 30, dtype=object), "column 'a' must hold numbers of 64 bits"),
        (pd.Series([None] * 30, dtype=object), "a column that can be used, got none; 'a' is left out: it has no value"),
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
        (pd.date_range("2020", periods=30).strftime("%d.%m.%Y"), "dates"),
        ([f"a{number}" for number in range(30)], "classes with several rows each"),
        (["a", "b"] * 30 + ["c"], "several rows each, got one row of 'c'"),
        ([1.0, float("inf")] * 15, "infinite"),
        (pd.array([1, None] * 15, "Int64"), "15 of 30 rows"),
    ],
)
def test_targets_that_cannot_be_predicted_are_refused(targets, words):
    with pytest.raises(ValueError, match=f"the target 'target' must .*{words}"):
        prepared(pd.DataFrame({"a": range(len(targets)), "target": targets}), "target")


def test_a_target_with_decimal_commas_is_numbers():
    targets = [f"{number},5" for number in range(30)]
    assert prepared(pd.DataFrame({"a": range(30), "y": targets}), "y").y.tolist() == [one + 0.5 for one in range(30)]


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


def test_the_separator_is_the_one_that_divides_all_lines_alike(tmp_path):
    (tmp_path / "a.csv").write_text('"size, in cm";colour, or so;y\n' + "1;red;0\n2;blue;1\n" * 15)
    assert read_frame(tmp_path / "a.csv").columns.tolist() == ["size, in cm", "colour, or so", "y"]
    (tmp_path / "b.txt").write_text("a b y\n" + "1 2 0\n2 3 1\n" * 15)
    assert read_frame(tmp_path / "b.txt").shape == (30, 3)


def test_a_wide_table_is_read_in_one_piece(tmp_path):
    pd.DataFrame(np.ones((3, 500))).add_prefix("g").assign(y=1).to_csv(tmp_path / "a.csv", index=False)
    assert len(read_frame(tmp_path / "a.csv")._mgr.blocks) == 2  # with one for each column all that follows is slow


def test_a_table_without_a_header(tmp_path):
    (tmp_path / "a.csv").write_text("1,u,0\n2,v,1\n")
    found = read_frame(tmp_path / "a.csv", header=False)
    assert found.to_dict("list") == {"column 1": [1, 2], "column 2": ["u", "v"], "column 3": [0, 1]}
    (tmp_path / "b.csv").write_text("1,5;u;0\n2,5;v;1\n")
    assert read_frame(tmp_path / "b.csv", header=False)["column 1"].tolist() == [1.5, 2.5]
    (tmp_path / "a.parquet").touch()
    with pytest.raises(ValueError, match="header must be True for a file that is no CSV"):
        read_frame(tmp_path / "a.parquet", header=False)


ARFF = """% a comment
@RELATION weather
@attribute 'the size' numeric
@attribute colour {red,'light blue'}
@attribute play {0,1}
@data
1.5, red, 0
?, 'light blue', 1
% another
"""


def test_arff(tmp_path):
    (tmp_path / "a.arff").write_text(ARFF)
    found = read_frame(tmp_path / "a.arff")
    assert found.columns.tolist() == ["the size", "colour", "play"]
    assert found["the size"].tolist()[0] == 1.5
    assert found["the size"].isna().tolist() == [False, True]
    assert found[["colour", "play"]].to_numpy().tolist() == [["red", "0"], ["light blue", "1"]]
    for broken in (ARFF.replace("numeric", "{big"), ARFF.replace("red, 0", "red"), "no table"):
        (tmp_path / "a.arff").write_text(broken)
        with pytest.raises(ValueError, match=r"a\.arff cannot be read: "):
            read_frame(tmp_path / "a.arff")


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".csv.gz"])
def test_codes_with_zeros_in_front_stay_as_they_are_written(tmp_path, ending):
    codes = [f"{number:05}" for number in range(9_990, 10_020)]
    frame = pd.DataFrame({"zip": codes, "n": range(30), "time": ["05:00"] * 30, "few": ["01", None, "12"] * 10})
    path = tmp_path / f"t{ending}"
    frame.assign(odd=["007", *range(29)]).to_csv(path, index=False, sep="\t" if ending == ".tsv" else ",")
    found = read_frame(path)
    pd.testing.assert_frame_equal(found.drop(columns="odd"), frame, check_dtype=False)
    (tmp_path / "gaps.csv").write_text("a,b\n\n,1\n\n" + ",1\n" * 20 + "012,2\n340,1\n")
    assert read_frame(tmp_path / "gaps.csv")["a"].dropna().tolist() == ["012", "340"]
    assert found.odd.tolist()[:2] == [7, 0]  # one odd cell makes no codes of numbers
    assert table_of(found.zip.tolist()[:15] * 2).notes == ("a: 15 categories",)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs POSIX")
def test_what_is_no_file_is_refused_in_a_sentence_of_its_own(tmp_path):
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    (tmp_path / "lost.csv").symlink_to(tmp_path / "nowhere.csv")
    (tmp_path / "device.csv").symlink_to("/dev/null")
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "folder.csv").mkdir()
    words = {
        tmp_path / "loop.csv": "there is no file",
        tmp_path / "lost.csv": "there is no file",
        tmp_path / "device.csv": "is no ordinary file but a pipe or a device; write its content into a file first",
        tmp_path / "pipe.csv": "is no ordinary file but a pipe or a device",
        "/dev/zero": "is no ordinary file but a pipe or a device",
        tmp_path / "folder.csv": "is a folder, not a file",
        tmp_path / "none.csv": "there is no file",
    }
    for path, told in words.items():
        with pytest.raises(FileNotFoundError, match=told):
            read_frame(path)


def test_excel(tmp_path, monkeypatch):
    path = tmp_path / "a.xlsx"
    path.write_bytes(b"PK")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ValueError, match=r"reading a.xlsx needs openpyxl \(pip install openpyxl\)"):
        read_frame(path)
    monkeypatch.undo()
    pytest.importorskip("openpyxl")
    frame = pd.DataFrame({"a": np.arange(30) / 4, "b": ["u", "v"] * 15})
    frame.to_excel(path, index=False)
    pd.testing.assert_frame_equal(read_frame(path), frame)


WRITTEN = {
    ".csv": lambda frame, path: frame.to_csv(path, index=False, encoding="utf-8-sig"),
    ".tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    ".parquet": lambda frame, path: frame.set_index("a").to_parquet(path),
    ".feather": lambda frame, path: frame.to_feather(path),
    **dict.fromkeys([".csv.gz", ".csv.bz2", ".csv.xz"], lambda frame, path: frame.to_csv(path, index=False)),
}


@pytest.mark.parametrize("ending", WRITTEN)
def test_every_format_gives_the_same_and_half_of_it_is_refused(tmp_path, ending):
    frame, path = pd.DataFrame({"a": np.arange(30) / 4, "b": ["u", "v"] * 15}), tmp_path / f"t{ending}"
    WRITTEN[ending](frame, path)
    pd.testing.assert_frame_equal(read_frame(path), frame, check_like=True)
    if ending not in (".csv", ".tsv"):
        path.write_bytes(path.read_bytes()[:50])
        with pytest.raises(ValueError, match="cannot be read: "):
            read_frame(path)


def test_a_package_that_is_missing_is_named(tmp_path, monkeypatch):
    (tmp_path / "t.parquet").write_bytes(b"")
    for engine in ("pyarrow", "fastparquet"):
        monkeypatch.setitem(sys.modules, engine, None)
    with pytest.raises(ValueError, match=r"reading t\.parquet needs pyarrow \(pip install pyarrow\)"):
        read_frame(tmp_path / "t.parquet")


def test_spaces_after_separators_belong_to_no_cell_and_columns_without_a_name_get_one(tmp_path):
    (tmp_path / "t.csv").write_text('a, b, c\n1, ?, "x, y"\n2, 3, z\n')
    read = read_frame(tmp_path / "t.csv", missing=["?"])
    assert read.columns.tolist() == ["a", "b", "c"]
    assert read["b"].isna().tolist() == [True, False]
    assert read["c"].tolist() == ["x, y", "z"]
    (tmp_path / "t.csv").write_text("a;;b;\n1;2;3;\n4;5;6;\n")
    assert read_frame(tmp_path / "t.csv").columns.tolist() == ["a", "Unnamed: 1", "b", "Unnamed: 3"]


def test_words_about_one_column_are_singular():
    frame = pd.DataFrame({"age": np.arange(60) % 7, "y": np.arange(60) % 7 > 3})
    settings = {"choose": "training", "random_state": 0, "guarantee": ["exhaustive", "local"]}
    found = made_selector(**settings).fit(frame[["age"]], frame.y).certificate_
    assert "Selected 1 of 1 column: age." in found.summary()
    assert verify(found)
    gap = prepared(frame.assign(age=frame.age.mask(frame.index == 3), city="Rome"), "y", impute="mean")
    assert gap.notes[0].startswith("age: 1 missing value filled")
    assert gap.notes[1] == "city: 1 category"


def test_rows_without_a_target_are_left_out_with_a_note():
    frame = pd.DataFrame({"a": np.arange(30) % 7, "b": np.arange(30) % 3, "y": pd.array(Y, "Int64")})
    frame.loc[[3, 4], "y"] = None
    table = load_table(frame, "y")
    assert "2 rows of 30 without a value of y; left out." in table.notes
    assert len(table.X) == len(table.y) == 28
    with pytest.raises(ValueError, match="must have no missing values, got 30 of 30"):
        load_table(frame.assign(y=None), "y")


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_every_name_is_an_estimator_of_the_task(name, task):
    if name == "logistic" and task == "regression":
        with pytest.raises(ValueError, match="estimator must predict numbers, got 'logistic'"):
            named_estimator(name, task)
        return
    if name in ("lightgbm", "xgboost", "catboost") and find_spec(name) is None:
        with pytest.raises(ImportError, match=rf"estimator '{name}' needs {name} \(pip install {name}\)"):
            named_estimator(name, task)
        return
    model = named_estimator(name, task)
    assert name == "neighbours" or is_regressor(model) == (task == "regression")
    assert name not in ("boosting", "logistic") or default_impute(name) == {"boosting": "keep"}.get(name, "median")


def test_a_task_that_the_targets_do_not_show_has_a_panel_of_its_own():
    y = pd.Series([0, 1, 2, 3] * 10)
    assert model_of(None, y, "auto") is None
    assert all(is_regressor(one) for one in model_of(None, y, "regression"))


def test_one_column_with_decimal_commas_leaves_the_others_numbers(tmp_path):
    (tmp_path / "t.csv").write_text("a;b;c\n1.5;2,25;x\n2.5;;y\n3.125;4;x\n")
    frame = read_frame(tmp_path / "t.csv")
    assert frame.a.tolist() == [1.5, 2.5, 3.125]
    assert frame.b.tolist()[::2] == [2.25, 4.0]
    assert frame.b.isna().tolist() == [False, True, False]
    assert frame.attrs["notes"] == ("the file is separated by semicolons; decimal commas in b",)


def test_what_a_file_says_of_dates_and_missing_values_is_told(tmp_path):
    rows = "".join(f"{15 + number % 9}.0{1 + number % 9}.2024,{number % 7},{number % 2}\n" for number in range(40))
    path = tmp_path / "t.csv"
    path.write_text(f"day,temp,y\n01.02.2024,n/a,1\n03.02.2024,,0\n{rows}")
    notes = load_table(path, "y").notes
    assert "Read as missing: 'n/a' in temp." in notes
    assert "day: a date, '23.09.2024' is 2024-09-23, as month, day of week, day of year (dates: parts)" in notes
