"""bestleaf select: from file to files, and every way it can go wrong."""

from __future__ import annotations

import json
import os
import re
import stat
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_wine

import genuine
from bestleaf import Certificate, verify
from bestleaf.cli.options import FILES, SELECTED, TABLE
from selecting import bestleaf, refused

SCRIPT = "<script>alert(1)</script>"
QUIET = ("--choose", "training")  # the search alone, without folds


@pytest.fixture(scope="module")
def shop():
    return genuine.shop(SCRIPT, "noise")


@pytest.fixture
def folder(tmp_path, monkeypatch, shop):
    monkeypatch.chdir(tmp_path)
    shop.to_csv("shop.csv", index=False)
    return tmp_path


def test_a_choice_that_time_ended_is_told(folder):
    told = bestleaf("select", "shop.csv", "--target", "bought", "--max-time", "1e-6")
    assert told.code == 3
    assert "Columns (4 of 4): " in told.out
    assert "--max-time ended the choice after 0 of " in told.out


def test_from_a_table_to_its_columns(folder):
    files = ["--out", "less.csv", "--certificate", "proof.json", "--report", "first.html"]
    code, shown, _ = bestleaf("select", "shop.csv", "--target", "bought", *files)
    assert code == 0
    found = Certificate.load("proof.json")
    lines = shown.splitlines()
    first = lines.index(f"Columns ({len(found.features)} of 4): {', '.join(found.features)}")
    for words in (
        "Score on new rows: AUC ",
        "Could you do with fewer? ",
        "Proved: nothing",
        "--explain",
    ):
        assert any(words in line for line in lines[first:])
    assert {"age", "city"} <= set(found.features)
    assert [row.size for row in found.path.rows] == [1, 2, 3, 4]
    less = pd.read_csv("less.csv")
    assert list(less.columns) == [*found.features, "bought"]
    assert len(less) == 120
    assert bestleaf("report", "proof.json", "--out", "page.html").code == 0
    assert "What is proved" in (folder / "page.html").read_text(encoding="utf-8")
    refused("report", "proof.json", "--out", "page.html")
    (folder / "found.json").write_text("{}")
    refused("report", "found.json", "--out", "other.html")
    assert bestleaf("verify", "proof.json", "--data", "shop.csv").code == 0


def test_a_near_copy_of_a_chosen_column_is_told_once(folder):
    frame = pd.read_csv("shop.csv")
    frame.assign(**{"age in months": 12 * frame.age + frame.index % 2}).to_csv("twice.csv", index=False)
    code, shown, _ = bestleaf("select", "twice.csv", "--target", "bought", "--certificate", "twice.json")
    assert code == 0
    assert shown.count("age in months is nearly a copy of age (rank correlation ") == 1
    lines = bestleaf("verify", "twice.json").out.splitlines()
    assert lines[1] == "Not checked without the data (--data, or X and y): that the score on new rows is real."


def test_every_command_has_an_example_and_flags_have_no_type():
    for command in ("check", "select", "compare", "reproduce", "verify", "report", "demo"):
        shown = bestleaf(command, "--help").out
        assert f"Example: bestleaf {command}" in shown
        assert "<bool>" not in shown


def test_explain_tells_the_rest(folder):
    code, shown, _ = bestleaf("select", "shop.csv", "--target", "bought", "--explain")
    assert code == 0
    assert shown.startswith("city: 3 categories")
    assert "Difference to all columns by size, in " in shown
    assert "Not proved: " in shown
    assert "--explain" not in shown


def test_a_size_that_is_asked_for(folder):
    asked = ["--n-features", "1", "--holdout", "0.25", "--parsimony", "0.01", "--cv", "3"]
    assert bestleaf("select", "shop.csv", "--target", "bought", *asked, "--certificate", "c.json").code == 0
    found = Certificate.load("c.json")
    assert len(found.features) == 1
    assert (found.new_rows.how, found.data.rows, found.path.asked) == ("test rows", 90, True)
    assert "from the score of" not in str(verify(found))


def test_data_with_labels_beside_them(folder):
    X, y = load_wine(return_X_y=True)
    np.savetxt("wine.data", X[:, :5])
    np.savetxt("wine.labels", y, fmt="%d")
    assert bestleaf("select", "wine.data", "--target", "label", "--certificate", "r.json", *QUIET).code == 0
    assert set(json.loads((folder / "r.json").read_text())["features"]) <= {f"f{number}" for number in range(5)}


def test_numbers_to_predict(folder):
    load_diabetes(as_frame=True).frame.to_csv("sugar.csv", index=False)
    options = ["--target", "target", "--max-features", "2", "--include", "bmi", "--exclude", "s5", *QUIET]
    assert bestleaf("select", "sugar.csv", *options, "--certificate", "r.json").code == 0
    found = json.loads((folder / "r.json").read_text())
    assert "bmi" in found["features"]
    assert "s5" not in found["features"]
    assert found["data"]["objective"]["task"] == "regression"


def test_a_table_with_gaps(folder, shop):
    gaps = shop.copy()
    gaps.loc[3:9, "age"] = np.nan
    gaps.loc[5:7, "city"] = None
    gaps.to_csv("gaps.csv", index=False)
    options = ["--target", "bought", "--certificate", "r.json", "--include", "age", "--include", "city"]
    assert bestleaf("select", "gaps.csv", *options, "--max-features", "2").code == 0
    assert json.loads((folder / "r.json").read_text())["features"] == ["age", "city"]


def test_a_budget_ends_it_with_exit_code_3_and_the_result_is_written(folder):
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.normal(size=(80, 40)), columns=[f"c{number}" for number in range(40)])
    wide["y"] = rng.integers(0, 2, 80)
    wide.to_csv("wide.csv", index=False)
    options = ["--target", "y", "--epsilon", "0", "--certificate", "r.json"]
    assert bestleaf("select", "wide.csv", *options, *QUIET, "--max-time", "1e-6").code == 3
    assert json.loads((folder / "r.json").read_text())["reason"] == "max_time"


BAD_TABLES = {
    "one_row.csv": b"a,b,y\n1,2,0\n",
    "ragged.csv": b"a,b,y\n1,2,0\n1,2,3,4,5\n",
    "binary.csv": bytes(range(256)) * 20,
    "one_class.csv": b"a,b,y\n" + b"".join(b"%d,%d,1\n" % (i, i % 3) for i in range(30)),
    "constant.csv": b"a,b,y\n" + b"".join(b"1,1,%d\n" % (i % 2) for i in range(30)),
    "infinite.csv": b"a,b,y\n" + b"".join(b"inf,%d,%d\n" % (i, i % 2) for i in range(30)),
    "target_gaps.csv": b"a,b,y\n" + b"".join(b"%d,%d,\n" % (i, i) for i in range(30)),
    "only_target.csv": b"y\n" + b"1\n0\n" * 20,
    "quotes.csv": b'a,b,y\n"1,2,0\n3,4,1\n',
    "words.data": b"one two three\n",
    "table.xlsx": b"PK",
    "table.arff": b"@relation a",
    "noending": b"a,b\n1,2\n",
    "ids.csv": b"a,y\n" + b"".join(b"id%d,%d\n" % (i, i % 2) for i in range(1500)),
    "infinite_target.csv": b"a,b,y\n" + b"".join(b"%d,%d,inf\n" % (i, i) for i in range(30)),
    "bars_and_semicolons.csv": b"a;b|y\n" + b"1;2|0\n2;3|1\n" * 15,
}
UNUSABLE = {
    "lists.parquet": [[1, 2]] * 30,
    "dictionaries.parquet": [{"a": 1}] * 30,
    "bytes.parquet": [b"a"] * 30,
}


@pytest.mark.parametrize("name", [*BAD_TABLES, *UNUSABLE])
def test_a_table_that_cannot_be_used_is_one_sentence(folder, name):
    if name in UNUSABLE:
        pd.DataFrame({"a column": UNUSABLE[name], "y": [0, 1] * 15}).to_parquet(folder / name)
    else:
        (folder / name).write_bytes(BAD_TABLES[name])
    before = set(os.listdir(folder))
    said = refused("select", name, "--target", "y", "--certificate", "r.json", "--out", "r.csv")
    assert ("'a column'" in said) == (name in UNUSABLE)
    assert set(os.listdir(folder)) == before


BAD_VALUES = {
    "--target": ("nope", ""),
    "--task": ("guess", "regression"),
    "--epsilon": ("7", "-1", "nan", "small", "1_0", ""),
    "--max-time": ("soon", "-5s", "inf"),
    "--max-features": ("0", "²"),
    "--include": ("nope", "bought"),
    "--exclude": ("nope",),
    "--impute": ("guess",),
    "--holdout": ("2", "half", "0.999"),
    "--n-features": ("0", "5"),
    "--parsimony": ("-1",),
    "--cv": ("1",),
    "--estimator": ("magic",),
    "--out": ("nowhere/r.csv", "r.pdf"),
    "--json": ("r.json",),
    "--certificate": ("nowhere/c.json", "r"),
    "--report": ("page.txt",),
    "--costs": ("costs.json",),
}
BAD_OPTIONS = [
    *([name, value] for name, values in BAD_VALUES.items() for value in values),
    ["--include", "age", "--exclude", "age"],
    ["--max-features", "1", "--include", "age", "--include", "city"],
    ["--exclude", "age", "--exclude", "city", "--exclude", "noise", "--exclude", SCRIPT],
    ["--out", "shop.csv", "--force-overwrite"],
    ["--report", "r.html", "--certificate", "r.html"],
    ["--report", "r.html", "--certificate", "./r.html"],
    ["another.csv"],
    ["--force-overwrite=yes"],
    ["--target"],
]


@pytest.mark.parametrize("options", BAD_OPTIONS, ids=lambda options: " ".join(Path(one).name for one in options)[:60])
def test_options_that_cannot_be_used(folder, options):
    before = {name: (folder / name).read_bytes() for name in os.listdir(folder)}
    refused("select", "shop.csv", "--target", "bought", *options)
    assert {name: (folder / name).read_bytes() for name in os.listdir(folder)} == before


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--epsilon", "2"], "--epsilon"),
        (["--max-features", "0"], "--max-features"),
        (["--epsilon", "0.1"], "--epsilon needs --choose training, got 0.1 without it"),
        (["--report", "z.txt"], "--report must end in .html or .htm, got z.txt"),
        (["--colour"], "no such option"),
    ],
)
def test_options_are_checked_before_the_table_is_read(folder, options, sentence):
    assert sentence in refused("select", "missing.csv", "--target", "y", *options)


def test_columns_are_named_in_what_is_said_about_them(folder):
    wide = pd.DataFrame(np.eye(40), columns=[f"c{number}" for number in range(40)]).assign(y=[0, 1] * 20)
    wide.to_csv("wide.csv", index=False)
    clash = pd.DataFrame({"a": ["b", "c"] * 20, "a=b": np.arange(40) % 7, "y": [0, 1] * 20})
    clash.to_csv("clash.csv", index=False)
    for (name, target, *options), words in {
        ("shop", "Bought"): "--target must be a column of the table, got 'Bought' (did you mean 'bought'?)",
        ("shop", "bought", "--include", "x"): "--include must name a column of the table other than the target, got",
        ("shop", "bought", "--include", "city", "--exclude", "city"): "not name the same column, got 'city' for both",
        ("shop", "bought", "--task", "regression"): "--task regression needs numbers in the target",
        ("shop", "bought", "--estimator", "magic"): "--estimator must be one of neighbours, linear",
        ("clash", "y"): "'a=b'",
        ("wide", "c1", "--task", "classification", "--groups", "c1"): "--groups must name a column",
    }.items():
        assert words in refused("select", f"{name}.csv", "--target", target, *options)


BAD_COMMANDS = [
    ["conquer"],
    ["watch", "run.blf"],
    ["select", "folder.csv", "--target", "y"],
    ["select", "missing.csv", "--target", "y"],
    ["compare", "missing.csv", "--target", "bought"],
    ["compare", "shop.csv", "--target", "bought", "--random-state", "4294967296"],
    ["compare", "shop.csv", "--target", "bought", "--delta", "0.1"],
    ["verify"],
    ["verify", "nope.cert"],
    ["verify", "shop.csv"],
    ["verify", "deep.json"],
    ["report", "nope.cert", "--out", "x.html"],
    ["report", "shop.csv", "--out", "x.html"],
    ["demo", "--random-state", "4294967296"],
    ["reproduce", "fixed", "--runs", "1" * 30],
]


@pytest.mark.parametrize("command", BAD_COMMANDS, ids=" ".join)
def test_commands_that_cannot_be_run(folder, command):
    (folder / "deep.json").write_text("[" * 100_000)
    (folder / "folder.csv").mkdir()
    before = set(os.listdir(folder))
    refused(*command)
    assert set(os.listdir(folder)) == before


@pytest.mark.parametrize("command", [[], ["--help"], ["reproduce", "--help"], ["select", "--help"], ["--version"]])
def test_help_is_no_error(command):
    code, shown, said = bestleaf(*command)
    assert (code, said) == (0, "")
    assert shown


def test_a_command_has_few_options_in_titled_groups():
    said = bestleaf("select", "--help").out
    assert len(set(re.findall(r"--[a-z-]+", said)) - {"--help"}) <= 35
    assert all(title in said for title in (TABLE, SELECTED, FILES))


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads and writes everything")
def test_a_file_that_may_not_be_read(folder):
    (folder / "shop.csv").chmod(0)
    refused("select", "shop.csv", "--target", "bought")
    (folder / "shop.csv").chmod(stat.S_IRUSR)


def damaged(text, rng):
    """Return a table with something wrong, or at least strange, in it."""
    data = bytearray(text)
    kind = rng.integers(6)
    if kind == 0:  # cut short
        return bytes(data[: rng.integers(len(data))])
    if kind == 1:  # bytes changed
        for place in rng.integers(len(data), size=rng.integers(1, 30)):
            data[place] = rng.integers(256)
        return bytes(data)
    lines = text.split(b"\n")
    if kind == 2:  # another encoding
        return text.decode().replace("age", "Größe").encode(str(rng.choice(["utf-16", "latin-1", "utf-32", "cp1252"])))
    if kind == 3:  # a cell of nonsense
        row = rng.integers(1, len(lines))
        cells = [b"nan", b"inf", b"-inf", b"1e999", b"x" * 100_000, b'"', b"\x00", b"1,2,3", b"=1+1", "\u202e".encode()]
        lines[row] = lines[row].replace(b",", b"," + cells[rng.integers(len(cells))], 1)
        return b"\n".join(lines)
    if kind == 4:  # names
        names = [b"a,a,a,a,bought", b",,,,bought", b"bought,bought,b,c,d", b"age,city,x,noise,", b'"bought']
        return b"\n".join([names[rng.integers(len(names))], *lines[1:]])
    return b"\n".join(line.rsplit(b",", rng.integers(1, 4))[0] for line in lines)  # columns lost


@pytest.mark.slow
@pytest.mark.parametrize("part", range(3))
def test_damaged_tables_never_raise(folder, part):
    text = (folder / "shop.csv").read_bytes()
    for number in range(20):
        rng = np.random.default_rng([part, number])
        (folder / "damaged.csv").write_bytes(damaged(text, rng))
        options = ["--certificate", "r.json", "--out", "r.csv", "--max-time", "2"]
        more = ["--choose", "new_data" if number % 10 == 0 else "training"]
        code, _, said = bestleaf("select", "damaged.csv", "--target", "bought", *options, *more)
        assert code in (0, 2, 3), (part, number, said)
        assert "Traceback" not in said
        written = {"r.json", "r.csv"} & set(os.listdir(folder))
        if code == 2:
            assert said.startswith("bestleaf: "), (part, number, said)
            assert said.count("\n") == 1, (part, number, said)
            assert not written
        for name in written:
            (folder / name).unlink()
        assert set(os.listdir(folder)) == {"shop.csv", "damaged.csv"}


def test_only_files_are_replaced(folder):
    (folder / "real.json").write_text("old")
    (folder / "link.json").symlink_to(folder / "real.json")
    os.mkfifo(folder / "pipe.json")
    common = ["select", "shop.csv", "--target", "bought", "--force-overwrite", *QUIET]
    assert bestleaf(*common, "--certificate", "link.json").code == 0
    assert (folder / "link.json").is_symlink()
    assert json.loads((folder / "real.json").read_text())["features"]
    refused(*common, "--certificate", "pipe.json")
    assert stat.S_ISFIFO((folder / "pipe.json").stat().st_mode)
    refused("report", "link.json", "--out", "link.json", "--force-overwrite")
    assert bestleaf("verify", "link.json").code == 0


def test_all_files_are_written_or_none(folder, monkeypatch):
    names = {"--out": "r.csv", "--certificate": "r.json", "--report": "r.html"}
    files = [text for pair in names.items() for text in pair]
    (folder / "r.json").write_text("precious")
    before = {name: (folder / name).read_bytes() for name in os.listdir(folder)}
    written, real = [], os.fsync

    def full(handle):
        written.append(handle)
        if len(written) == 3:
            raise OSError(28, "No space left on device")
        real(handle)

    monkeypatch.setattr("os.fsync", full)
    common = ["select", "shop.csv", "--target", "bought", "--force-overwrite", *QUIET]
    refused("select", "shop.csv", "--target", "bought", *QUIET, *files)  # files are not replaced unless asked
    assert "no space left on device" in refused(*common, *files)
    assert len(written) == 3
    assert {name: (folder / name).read_bytes() for name in os.listdir(folder)} == before
    assert bestleaf(*common, *files).code == 0
    assert set(os.listdir(folder)) == {"shop.csv", *names.values()}
