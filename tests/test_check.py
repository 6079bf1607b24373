"""A look at a table before a search: what is left out, what is named, and what must not be called strange."""

from __future__ import annotations

from uuid import UUID

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets

from bestleaf.tables import Finding, check_table, load_table, read_frame
from bestleaf.tables.select import select_from_table
from conftest import calls_of

ROWS = 60
Y = np.arange(ROWS) % 2
RNG = np.random.default_rng(0)


def kinds_of(column, name="a", y=Y, **keywords):
    """Return the kinds of what is found in one column, and whether it is left out."""
    found = check_table(pd.DataFrame({name: column, "y": y}), "y", **keywords)
    return {one.kind for one in found.findings if name in one.columns}, name in found.left_out


HASHES = [UUID(int=int(one)).hex for one in RNG.integers(2**62, size=ROWS)]
LEFT_OUT = {
    "from 0": ("anything", np.arange(ROWS), "row number"),
    "in another order": ("anything", RNG.permutation(ROWS), "row number"),
    "of some rows of a larger table": ("row", np.arange(500, 500 + ROWS), "row number"),
    "named id": ("id", np.arange(ROWS) + 7, "row number"),
    "whole numbers named id": ("customer_id", RNG.permutation(10_000)[:ROWS], "id"),
    "hashes": ("anything", HASHES, "id"),
    "names": ("anything", [f"{word} {place}" for place, word in enumerate(["Ann", "Bob"] * 30)], "id"),
    "almost all different": ("anything", [HASHES[1], *HASHES[1:]], "id"),
    "unnamed": ("Unnamed: 0", RNG.normal(size=ROWS), "unnamed"),
    "empty": ("anything", [np.nan] * ROWS, "empty"),
}


@pytest.mark.parametrize("case", LEFT_OUT)
def test_ids_row_numbers_and_columns_without_a_name_are_left_out(case):
    name, column, kind = LEFT_OUT[case]
    assert kinds_of(column, name) == ({kind}, True)
    assert kinds_of(column, name, keep=[name])[1] is False


REAL = {
    "a rounded measurement": ("weight", np.round(RNG.permutation(ROWS * 20)[:ROWS] / 7, 1)),
    "a measurement called id": ("acid", RNG.normal(size=ROWS)),
    "a word that ends in id": ("paid", RNG.permutation(100_000)[:ROWS]),
    "ids that are repeated": ("store_id", np.arange(ROWS) % 7),
    "years": ("harvest", np.arange(ROWS) + 1960),
    "a clock": ("time", np.arange(ROWS) + 1),
    "few consecutive numbers that begin elsewhere": ("height", np.arange(ROWS) + 58),
    "almost consecutive": ("a", [0, *range(ROWS - 1)]),
    "prices": ("price", [f"{one:.2f} EUR" for one in RNG.random(ROWS)]),
    "shares": ("share", [f"{one:.1%}" for one in RNG.random(ROWS)]),
    "dates as text": ("day", pd.date_range("2020", periods=ROWS).astype(str)),
    "months as text": ("when", pd.date_range("2020", periods=ROWS, freq="MS").strftime("%b-%Y")),
    "numbers with odd cells": ("a", ["?", *map(str, RNG.normal(size=ROWS - 1))]),
    "texts of which most are missing": ("remark", [*HASHES[:20], *[None] * (ROWS - 20)]),
    "lists": ("a", [[1]] * ROWS),
}


@pytest.mark.parametrize("case", REAL)
def test_real_columns_are_not_left_out(case):
    name, column = REAL[case]
    assert kinds_of(column, name)[1] is False


def test_few_rows_are_not_numbered_unless_the_name_says_so():
    assert kinds_of(np.arange(12), "dose", Y[:12])[1] is False
    assert kinds_of(np.arange(12), "rownames", Y[:12]) == ({"row number"}, True)


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "digits", "diabetes", "linnerud"])
def test_no_column_of_a_well_known_table_is_left_out_or_a_leak(name):
    frame = getattr(datasets, f"load_{name}")(as_frame=True).frame
    found = check_table(frame, frame.columns[-1])
    assert found.left_out == []
    assert found.leaks == []


LEAKS = {
    "rises": lambda y, noise: y + 0.1 * noise,
    "falls": lambda y, noise: -y + 0.1 * noise,
    "missing values": lambda y, noise: np.where(y == 1, np.nan, noise),
    "text": lambda y, noise: np.array(["open", "paid", "lost", "sent", "back"])[y],
    "numbers in another order": lambda y, noise: np.array([2, 0, 3, 1, 4])[y],
    "many categories": lambda y, noise: [f"{one:.0f}{place % 4}" for place, one in enumerate(y)],
}


@pytest.mark.parametrize("case", LEAKS)
@pytest.mark.parametrize("classes", [2, 5])
def test_a_column_that_alone_ranks_classes_is_a_leak(case, classes):
    rng = np.random.default_rng(1)
    y = rng.integers(0, classes, 300)
    found = kinds_of(LEAKS[case](y, rng.normal(size=300)), y=y)[0]
    assert ("leak" in found) == (case != "missing values" or classes == 2)  # they say nothing of the other classes


def test_a_column_that_alone_ranks_numbers_is_a_leak():
    y = np.random.default_rng(0).normal(size=200)
    assert "leak" in kinds_of(np.exp(y), y=y)[0]
    assert "leak" in kinds_of(-y, y=y)[0]
    assert "leak" in kinds_of(pd.cut(y, 40).astype(str), y=y)[0]
    assert "leak" not in kinds_of(y + np.random.default_rng(1).normal(size=200), y=y)[0]


@pytest.mark.slow
def test_a_column_that_is_missing_for_whole_classes_is_a_leak():
    y = np.array(["stays", "leaves", "moves"])[np.arange(90) % 3]
    refund = np.where(y == "leaves", np.nan, RNG.normal(size=90))
    found = check_table(pd.DataFrame({"refund": refund, "a": RNG.normal(size=90), "y": y}), "y")
    assert found.notes[0].startswith("A leak? refund is missing exactly where the target is leaves.")
    assert found.leaks == ["refund"]
    refund[0] = np.nan
    assert not check_table(pd.DataFrame({"refund": refund, "y": y}), "y").leaks


def test_a_leak_in_numbers_written_as_text_is_found():
    rng = np.random.default_rng(0)
    ill = rng.integers(0, 2, 200)
    fee = pd.Series(np.where(ill, rng.uniform(1, 9, 200), 0.0)).map("{:.2f}".format)
    table = pd.DataFrame({"noise": rng.random(200), "fee": fee, "tax": fee.str.replace(".", ","), "ill": ill})
    assert set(check_table(table, "ill").leaks) == {"fee", "tax"}
    check_table(table.assign(fee=fee.where(fee != fee[0], "inf")), "ill")  # is refused later, in a sentence


def test_noise_is_no_leak():
    """An AUC of 0.995 on 30 rows has a probability of less than 1e-7 for noise, so 2,000 columns have none."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(30, 2000))).assign(y=Y[:30])
    assert check_table(frame, "y").leaks == []
    texts = pd.DataFrame(rng.choice(list("abcde"), (30, 300))).assign(y=Y[:30])
    assert check_table(texts, "y").leaks == []


def test_copies_of_rows_make_no_leak_and_hide_none():
    rng = np.random.default_rng(0)
    once = pd.DataFrame(rng.normal(size=(60, 4))).assign(knows=np.arange(60) % 2, y=np.arange(60) % 2)
    assert check_table(pd.concat([once] * 5), "y").leaks == ["knows"]


def test_a_rare_class_does_not_hide_a_leak_or_make_one():
    rng = np.random.default_rng(0)
    y = (np.arange(1000) < 15).astype(int)
    assert "leak" in kinds_of(y + 0.1 * rng.normal(size=1000), y=y)[0]
    assert "leak" not in kinds_of(rng.normal(size=1000), y=y)[0]
    assert "leak" not in kinds_of(np.zeros(1000), y=y)[0]


def test_strange_columns_are_named():
    frame = pd.DataFrame(
        {
            "same": 3,
            "twin": RNG.normal(size=ROWS),
            "gaps": np.where(np.arange(ROWS) % 2, np.nan, RNG.normal(size=ROWS)),
            "almost": [1.0, 2.0, *[np.nan] * (ROWS - 2)],
            "far": [np.inf, *range(ROWS - 1)],
            "odd": ["n/k", *map(str, RNG.normal(size=ROWS - 1))],
            "city": ["?", *["Oslo", "Rome"] * 29, "Oslo"],
            "day": pd.date_range("2020", periods=ROWS),
            "y": Y,
        }
    ).assign(other=lambda one: one.twin)
    found = check_table(frame, "y")
    told = "\n".join(found.notes)
    for words in (
        "same is always 3.",
        "other has the same values as twin.",
        "gaps has no value in 50.0% of the rows.",
        "almost has no value in 96.7% of the rows.",
        "city has 1 cell of '?'; does that mean a missing value?",
    ):
        assert words in told
    assert found.left_out == []


def test_a_lone_cell_sums_and_leaks_of_two_columns_are_named():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 4)), columns=["rent", "food", "paid", "owed"])
    frame["spent"], frame["heavy"] = frame.rent + frame.food, rng.lognormal(0, 2, 200)
    frame["lone"] = rng.integers(100, 900, 200)
    frame.loc[7, "lone"] = 1_000_000
    for y, pair in ((frame.paid > frame.owed, "paid - owed"), (frame.paid * frame.owed, "paid * owed")):
        found = check_table(frame.assign(y=y), "y")
        assert {one.kind: one.columns for one in found.findings} == {
            "lone": ("lone",),
            "leak of two": ("paid",),
            "sum": ("spent",),
        }
        told = " ".join(found.notes)
        assert "lone is 1,000,000 in row 8, and 10" in told
        assert f"paid is part of {pair}, which ranks the target perfectly" in told
        assert "spent is the sum rent + food, apart from a constant" in told


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (np.arange(ROWS) % 14, "y has 14 different whole numbers, taken as classes; task regression takes"),
        ([*["a"] * 50, *["b"] * 8, "c", "c"], "y has 2 classes of fewer than 10 rows: 'c' (2), 'b' (8)."),
        (Y[:20], "The table has only 20 rows"),
    ],
)
def test_strange_targets_are_named(y, words):
    assert words in str(check_table(pd.DataFrame({"a": RNG.normal(size=len(y)), "y": y}), "y"))


def test_several_columns_that_rank_the_rows_are_no_row_numbers():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.permutation(ROWS) + 1 for name in ("wealth", "crime")}).assign(y=Y)
    found = check_table(frame.assign(number=range(ROWS)), "y")
    assert found.left_out == ["number"]


def test_many_columns_of_a_kind_are_one_line():
    frame = pd.DataFrame(np.ones((ROWS, 30)), columns=[f"c{number}" for number in range(30)]).assign(y=Y)
    found = check_table(frame, "y")
    assert found.notes == ["30 columns are constant: c0, c1, c2, c3, c4, c5, c6, c7 and 22 more."]


def test_what_was_found_is_shown_and_kept():
    frame = pd.DataFrame({"id": np.arange(ROWS), "a": RNG.normal(size=ROWS), "y": Y})
    found = check_table(frame, "y")
    assert repr(found).splitlines() == [
        "60 rows, 2 columns beside the target y (classes).",
        "id numbers the rows; left out.",
    ]
    assert found.left_out == ["id"]
    assert found.findings == (Finding("row number", ("id",), ("",)),)
    assert found
    clean = check_table(frame.drop(columns="id"), "y")
    assert not clean
    assert "Nothing strange was found." in str(clean)


def test_wide_tables_are_not_looked_at_column_by_column():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(50, 5000)), columns=[f"c{number}" for number in range(5000)]).assign(y=Y[:50])
    table, calls = calls_of(lambda: load_table(frame, "y"))
    assert calls < 120 * 5000  # only to rank each column alone would take 200 calls a column
    assert table.X.equals(frame.drop(columns="y"))


def test_dropped_columns_are_not_looked_at_and_kept_ones_stay():
    frame = pd.DataFrame({"id": np.arange(ROWS), "broken": [[1]] * ROWS, "a": RNG.normal(size=ROWS), "y": Y})
    table = load_table(frame, "y", drop=["broken"])
    assert list(table.X) == ["a"]
    dropped = "1 column dropped before the search: broken."
    assert table.notes == (dropped, "id numbers the rows; left out.")
    assert list(load_table(frame, "y", drop=["broken"], keep=["id"]).X) == ["id", "a"]
    found = select_from_table(table, choose="training", random_state=0)
    assert found.certificate.table.left_out == ("id",)
    assert found.certificate.told.notes == table.notes
    written = found.certificate.table
    assert (written.target, written.dropped) == ("y", ("broken",))


def test_a_leak_is_a_warning_in_python():
    frame = pd.DataFrame({"paid": Y + 0.01 * RNG.normal(size=ROWS), "a": RNG.normal(size=ROWS), "y": Y})
    with pytest.warns(UserWarning, match="A leak\\? paid alone ranks the target almost perfectly"):
        table = load_table(frame, "y")
    assert table.notes[0].startswith("A leak? paid alone ranks the target almost perfectly (AUC 1.0000).")


@pytest.mark.parametrize(
    ("keywords", "sentence"),
    [
        ({"keep": ["A"]}, r"keep must name a column .*, got 'A' \(did you mean 'a'\?\)"),
        ({"drop": ["a", "id"]}, "a column beside the target 'y', got none, because all were dropped"),
        ({"drop": ["a"]}, "got none, because all were left out: 'id'; keep takes them in"),
        ({"encoding": "latin-1"}, "encoding must be None for a data frame, got 'latin-1'"),
        ({"task": "guess"}, "task must be one of auto, classification, regression, got 'guess'"),
        ({"drop": "a"}, "drop must be a list of names of columns, got the text 'a'"),
        ({"missing": [3]}, "missing must list texts that stand for a missing value, got 3"),
    ],
)
def test_options_that_cannot_be_used_are_one_sentence(keywords, sentence):
    frame = pd.DataFrame({"id": np.arange(ROWS), "a": RNG.normal(size=ROWS), "y": Y})
    with pytest.raises((ValueError, TypeError), match=sentence):
        load_table(frame, "y", **keywords)


def test_names_that_are_no_texts_and_markers_of_a_frame():
    frame = pd.DataFrame({0: [*map(str, RNG.normal(size=ROWS - 1)), "?"], 1: RNG.normal(size=ROWS), "y": Y})
    table = load_table(frame, "y", missing=["?"], impute="mean")
    assert list(table.X) == ["0", "1"]
    assert not table.X.isna().any().any()


def test_every_kind_of_file_has_markers(tmp_path):
    frame = pd.DataFrame({"a": ["1", "?", "3"], "b": ["u", " ?", "w"], "c": [1, -9, 3]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.assign(b=["u", "?", "w"]).to_feather(tmp_path / "t.feather")
    for name in ("t.csv", "t.feather"):
        read = read_frame(tmp_path / name, missing=["?", "-9"])
        assert read.isna().sum().tolist() == [1, 1, 1]
        assert [column.kind for column in read.dtypes][::2] == ["f", "f"]


def test_near_copies_are_named():
    from bestleaf.columns.leaks import near_copies

    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 6)), columns=list("abcdef"))
    X["rounded"] = X.a.round(2).mask(X.index % 7 == 0)
    X["scaled"] = 32 - 1.8 * X.b
    X["ordered"] = np.exp(X.c)
    X["close"] = X.d + rng.normal(size=300) / 10  # a correlation of .995
    X.loc[3, ["e", "f"]] = 1e9  # one outlier that two columns share
    found = near_copies(X)
    assert {name: other for name, (other, _) in found.items()} == {"rounded": "a", "scaled": "b", "ordered": "c"}
    assert near_copies(X[["a"]]) == near_copies(X[:20]) == {}
    rare = pd.DataFrame(np.zeros((9_000, 300)), columns=[f"r{number}" for number in range(300)])
    rare.iloc[0] = 1.0  # in the first row all are 1, and each in another one, too
    for place in range(300):
        rare.iat[place + 1, place] = 1.0
    assert near_copies(rare) == {}
    told = check_table(X.assign(y=np.arange(300) % 2), "y").notes
    assert "scaled is nearly a copy of b (rank correlation 1.0000); one of both is enough." in told
