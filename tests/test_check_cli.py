"""Ugly files on the command line: check, select and verify, as a user would type it."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from msgspec.structs import replace

import genuine
from bestleaf.proof import Certificate, verify
from bestleaf.tables.verify import verify_table
from selecting import bestleaf, refused

ROWS = 120
QUICK = ("--choose", "training")


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A table, in a folder that is empty."""
    monkeypatch.chdir(tmp_path)
    return genuine.shop("size")


def with_markers(shop):
    frame = shop.astype({"age": object, "city": object})
    frame.loc[3:9, "age"], frame.loc[5:12, "city"] = "?", "?"
    return frame


UGLY = {  # how the file is written, the options that read it, and words of `bestleaf check`
    "index": (lambda one: one.to_csv("t.csv"), [], "Unnamed: 0 has no name of its own; left out."),
    "latin": (
        lambda one: one.replace("Rome", "Köln").to_csv("t.csv", index=False, encoding="latin-1"),
        ["--encoding", "cp1252"],
        "Nothing strange",
    ),
    "semicolons": (
        lambda one: one.to_csv("t.csv", index=False, sep=";", decimal=","),
        [],
        "separated by semicolons; decimal commas in size",
    ),
    "markers": (
        lambda one: with_markers(one).to_csv("t.csv", index=False),
        ["--missing", "?", "--impute", "median"],
        "Nothing strange",
    ),
    "an id": (
        lambda one: one.assign(customer_id=np.arange(ROWS)[::-1] * 3).to_csv("t.csv", index=False),
        [],
        "customer_id is an identifier (120 different whole numbers); left out.",
    ),
    "money": (
        lambda one: one.assign(
            age=one.age.map("€ {}.000".format),
            size=one["size"].map("{:.2f}".format).str.replace(".", ","),
        ).to_csv("t.csv", index=False),
        [],
        "numbers written as text, '€ 71.000' is 71000",
    ),
    "compressed": (lambda one: one.to_csv("t.csv.gz", index=False), [], "Nothing strange"),
}


@pytest.mark.parametrize("case", UGLY)
def test_ugly_files_from_check_to_verify(shop, case):
    write, options, words = UGLY[case]
    write(shop)
    name = "t.csv.gz" if case == "compressed" else "t.csv"
    code, shown, said = bestleaf("check", name, "--target", "bought", *options)
    assert (code, said) == (0, "")
    assert words in shown
    assert "bestleaf select takes this table. Next:" in shown
    assert f"  bestleaf select {name} --target bought {shlex.join(options)}".rstrip() in shown
    files = ["--certificate", "c.json"]
    assert bestleaf("select", name, "--target", "bought", *options, *files, *QUICK).code == 0
    found = Certificate.load("c.json")
    assert found.features == ("age", "city")
    assert found.table.left_out == {"index": ("Unnamed: 0",), "an id": ("customer_id",)}.get(case, ())
    code, shown, _ = bestleaf("verify", "c.json", "--data", name)
    assert code == 0
    assert "exact values were computed again" in shown


BROKEN = {
    "latin": ("größe,y\nä,0\n".encode("latin-1"), [], "not text in UTF-8; --encoding cp1252 may be right"),
    "utf16": ("a,y\n1,0\n".encode("utf-16"), [], "not text in UTF-8; --encoding utf-16 may be right"),
    "wrong": ("größe,y\nä,0\n".encode("latin-1"), ["--encoding", "utf-8"], "it is not text in utf-8"),
    "unknown": (b"a,y\n1,0\n", ["--encoding", "klingon"], "--encoding must be a text encoding that Python knows"),
    "twice": (b"a,a,y\n1,2,0\n", [], "must have a different name for every column, got 'a' more than once"),
    "empty": (b"", [], "cannot be read: it is empty"),
    "header": (b"a,b,y\n", [], "must have rows and columns, got 0 rows of 3 columns"),
    "part": (b"the_fee,y\n1,0\n2,1\n", ["--drop", "fee"], "got 'fee' (did you mean 'the_fee'?)"),
    "keep": (b"a,y\n1,0\n2,1\n", ["--keep", "b"], "--keep must name a column of the table other than the target, got"),
    "drop": (b"a,y\n1,0\n2,1\n", ["--drop", "y"], "--drop must name a column of the table other than the target, got"),
    "both": (b"a,y\n1,0\n2,1\n", ["--drop", "a", "--keep", "a"], "--drop and --keep must not name the same column"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_files_and_options_that_cannot_be_used_are_one_sentence(tmp_path, monkeypatch, case):
    monkeypatch.chdir(tmp_path)
    text, options, words = BROKEN[case]
    (tmp_path / "t.csv").write_bytes(text)
    for command in ("check", "select", "compare"):
        assert words in refused(command, "t.csv", "--target", "y", *options)
    assert len(list(tmp_path.iterdir())) == 1


def test_a_file_without_a_header_is_checked_again_with_its_certificate(shop):
    shop.to_csv("t.csv", index=False, header=False)
    target = ("--target", f"column {shop.columns.get_loc('bought') + 1}")
    assert bestleaf("select", "t.csv", *target, "--no-header", "--certificate", "proof.json", *QUICK).code == 0
    code, shown, _ = bestleaf("verify", "proof.json", "--data", "t.csv")
    assert code == 0, shown
    assert "got 'column" in refused("select", "t.csv", *target)


def test_cells_that_a_spreadsheet_would_run_are_quoted(shop):
    shop.assign(size=shop["size"].astype(str), city=shop.city.map("={}".format)).to_csv("t.csv", index=False)
    files = ("--include", "city", "--out", "o.csv", "--force-overwrite")
    for options, begins in (([], "="), (["--safe-csv"], "'=")):
        assert bestleaf("select", "t.csv", "--target", "bought", *files, *options, *QUICK).code == 0
        assert pd.read_csv("o.csv").city.str.startswith(begins).all()


def test_two_pages_of_one_name_stay(shop):
    shop.to_csv("t.csv", index=False)
    files = ("--certificate", "proof.json", "--report", "proof.html")
    assert bestleaf("select", "t.csv", "--target", "bought", *files, *QUICK).code == 0
    first = Path("proof.html").read_text()
    assert bestleaf("report", "proof.json").out == "Page: proof.certificate.html\n"
    assert Path("proof.html").read_text() == first


def test_what_is_no_file_has_a_sentence_of_its_own(shop):
    Path("gone.csv").symlink_to("nowhere.csv")
    os.mkfifo("pipe.csv")
    assert "there is no file gone.csv" in refused("check", "gone.csv", "--target", "y")
    assert "pipe.csv is no ordinary file but a pipe" in refused("check", "pipe.csv", "--target", "y")


def test_folds_without_effect_are_an_error(shop):
    shop.to_csv("t.csv", index=False)
    said = refused("select", "t.csv", "--target", "bought", "--choose", "training", "--cv", "3")
    assert "--cv needs an --estimator to score with --choose training, got 3" in said


def test_check_says_what_select_refuses(shop):
    shop.assign(bought="yes").to_csv("same.csv", index=False)
    shop.assign(bought=shop.bought.mask(shop.index < 3)).to_csv("gaps.csv", index=False)
    code, shown, _ = bestleaf("check", "same.csv", "--target", "bought")
    assert code == 1
    assert "bestleaf select refuses this table: the target 'bought' must have two different values" in shown
    assert bestleaf("check", "same.csv", "--target", "bought", "--json", "same.json").code == 2
    code, shown, _ = bestleaf("check", "gaps.csv", "--target", "bought")
    assert code == 0
    assert "3 rows of 120 without a value of bought; left out." in shown


def test_leaks_are_loud_and_options_are_named(shop):
    with_markers(shop).assign(refund=(shop.bought == "yes") * 9.5).to_csv("t.csv")
    code, shown, _ = bestleaf("check", "t.csv", "--target", "bought")
    assert code == 0
    lines = shown.splitlines()
    assert lines[1].startswith("A leak? refund alone ranks the target almost perfectly (AUC 1.0000).")
    assert lines[-2] == "bestleaf select takes this table. Next (without --drop for what is known before the target):"
    assert lines[-1].endswith("--drop refund --report page.html")
    for words in ("--keep COLUMN takes", "--missing TEXT takes cells", "--drop COLUMN leaves"):
        assert any(line.startswith(words) for line in lines)
    shown = bestleaf("select", "t.csv", "--target", "bought", *QUICK, "--max-time", "5").out
    assert shown.startswith("A leak? refund alone")


def test_included_columns_are_kept(shop):
    shop.assign(number=np.arange(ROWS), other=np.arange(ROWS) + 1).to_csv("t.csv", index=False)
    options = ["--include", "other", "--include", "number", "--certificate", "r.json"]
    assert bestleaf("select", "t.csv", "--target", "bought", *options, *QUICK).code == 0
    found = json.loads(Path("r.json").read_text())
    assert "other" in found["features"]
    assert "left_out" not in found["table"]


@pytest.fixture
def certified(shop):
    """A folder with a table and its certificate."""
    shop.assign(id=np.arange(ROWS)).to_csv("t.csv", index=False)
    assert bestleaf("select", "t.csv", "--target", "bought", "--certificate", "c.json", *QUICK).code == 0
    return shop.assign(id=np.arange(ROWS))


def test_other_data_have_an_exit_code_of_their_own(certified):
    others = {
        "other values in 'size'": certified.assign(size=certified["size"] + 1e-9),
        "other values in 'bought'": certified.assign(bought=certified.bought.iloc[::-1].to_numpy()),
        "there is no column 'id'": certified.drop(columns="id"),
        "the feature called 'age' has another name": certified.rename(columns={"age": "years"}),
        "the column 'age' is not among them": certified.drop(columns="age"),
        "the column 'more' is new": certified.assign(more=1.5),
        "the columns are in another order": certified[["size", "age", "city", "bought", "id"]],
        "is about 120 rows, got 119": certified.iloc[:-1],
    }
    for words, frame in others.items():
        frame.to_csv("other.csv", index=False)
        code, shown, _ = bestleaf("verify", "c.json", "--data", "other.csv")
        assert code == 4, words
        assert shown.startswith("Refused: ")
        assert words in shown
    certified.assign(id=certified.id + 0).to_csv("other.csv", index=False)
    assert bestleaf("verify", "c.json", "--data", "other.csv").code == 0
    assert bestleaf("verify", "c.json", "--data", "nowhere.csv").code == 2
    assert bestleaf("verify", "c.json", "--target", "bought").code == 2


FORGED = [
    {"dropped": ("age",)},
    {"kept": ("id",)},
    {"checksums": ()},
    {"left_out": ("age", "id")},
]


@pytest.mark.parametrize("change", FORGED, ids=lambda change: next(iter(change)))
def test_a_forged_table_is_refused(certified, change):
    found = Certificate.load("c.json")
    replace(found, table=replace(found.table, **change), checksum=None).save("forged.json")
    assert bestleaf("verify", "forged.json", "--data", "t.csv").code in (1, 4)


def test_a_table_without_the_estimator_of_its_values_is_refused(shop):
    shop.to_csv("t.csv", index=False)
    options = ("--estimator", "logistic", "--max-features", "1", "--certificate", "e.json", *QUICK)
    assert bestleaf("select", "t.csv", "--target", "bought", *options).code == 0
    assert bestleaf("verify", "e.json", "--data", "t.csv").code == 0
    found = Certificate.load("e.json")
    forged = replace(found, table=replace(found.table, estimator=None), checksum=None)
    assert "must name the estimator whose scores are the values" in str(verify_table(forged, shop))


def test_a_certificate_says_how_the_table_was_made(certified):
    certificate = Certificate.load("c.json")
    assert certificate.told.notes == ("id numbers the rows; left out.", "city: 3 categories")
    assert certificate.table.left_out == ("id",)
    assert verify(certificate)
    assert verify_table(certificate, certified)


def test_compare_takes_the_options_of_a_table(shop):
    with_markers(shop).assign(id=np.arange(ROWS), bad="x").to_csv("t.csv", index=False)
    options = ["--missing", "?", "--drop", "bad", "--exclude", "size", "--include", "city"]
    more = ["--peers", "f-test", "--max-features", "2", "--estimator", "linear", "--max-time", "3"]
    code, shown, _ = bestleaf("compare", "t.csv", "--target", "bought", *options, *more)
    assert code == 0
    assert "id numbers the rows; left out." in shown
    rows = [line for line in shown.splitlines() if "F-test" in line or "all columns" in line]
    assert len(rows) == 2
    assert all("city" in line and "size" not in line for line in rows)
    assert "--max-features limits bestleaf only" in shown
