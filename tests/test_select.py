"""bestleaf select: from file to files, and every way it can go wrong."""

from __future__ import annotations

import json
import os
import re
import stat

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_wine

import genuine
from bestleaf import Certificate, cli
from bestleaf.cli.options import FILES, SELECTED, TABLE
from bestleaf.tables import prepared, read_frame
from selecting import configured

SCRIPT = "<script>alert(1)</script>"
BY_THESE_ROWS = configured(choose="training")  # the search alone, without folds
QUIET = configured(choose="training", verbose=0)


@pytest.fixture(scope="module")
def shop():
    return genuine.shop(SCRIPT, "noise")


@pytest.fixture
def folder(tmp_path, monkeypatch, shop):
    monkeypatch.chdir(tmp_path)
    shop.to_csv("shop.csv", index=False)
    return tmp_path


def bestleaf(*arguments, monkeypatch=None):
    """Return the exit code of the command line."""
    import sys

    old = sys.argv
    sys.argv = ["bestleaf", *map(str, arguments)]
    try:
        cli.main()
    except SystemExit as end:
        return end.code or 0
    finally:
        sys.argv = old
    return 0


def is_one_sentence(said):
    """Return whether a complaint is one line that says who complains."""
    return said.startswith("bestleaf: ") and "\n" not in said.strip() and "Traceback" not in said


def test_a_choice_that_time_ended_is_told(folder, capsys):
    bestleaf("select", "shop.csv", "--target", "bought", "--max-time", "1e-6")
    assert "max_time=1e-06 ended the choice by left-out rows" in capsys.readouterr().out


def test_from_a_table_to_its_columns(folder, capsys):
    files = ["--out", "less.csv", "--json", "found.json", "--certificate", "proof.json", "--report", "first.html"]
    assert bestleaf("select", "shop.csv", "--target", "bought", *files) == 0
    shown = capsys.readouterr().out
    assert "city: 3 categories" in shown
    result = json.loads((folder / "found.json").read_text())
    assert f"of 4 features: {', '.join(result['features'])}." in shown
    assert {"age", "city"} <= set(result["features"])
    assert [row["size"] for row in result["path"]] == [1, 2, 3, 4]
    judged = json.loads((folder / "proof.json").read_text())["new_data"]["judged"]
    assert result["optimism"] == pytest.approx(result["score"] - judged["left_out"])
    for name in ("score", "samples", "exact_evaluations", "reason", "epsilon", "delta", "gap", "seed", "version"):
        assert name in result
    less = pd.read_csv("less.csv")
    assert list(less.columns) == [*result["features"], "bought"]
    assert len(less) == 120
    assert bestleaf("report", "proof.json", "--out", "page.html") == 0
    assert "Selected features" in (folder / "page.html").read_text(encoding="utf-8")
    assert bestleaf("report", "proof.json", "--out", "page.html") == 2
    assert bestleaf("report", "found.json", "--out", "other.html") == 2
    assert bestleaf("verify", "proof.json", "--data", "shop.csv") == 0
    assert "exact values were computed again" in capsys.readouterr().out


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet", ".feather"])
def test_every_format_gives_the_same(folder, shop, ending):
    writers = {
        ".csv": lambda path: shop.to_csv(path, index=False),
        ".tsv": lambda path: shop.to_csv(path, index=False, sep="\t"),
        ".parquet": shop.to_parquet,
        ".feather": shop.to_feather,
    }
    path = folder / f"table{ending}"
    writers[ending](path)
    assert bestleaf("select", path, "--target", "bought", "--json", "r.json", *QUIET) == 0
    assert json.loads((folder / "r.json").read_text())["features"] == ["age", "city"]


def test_data_with_labels_beside_them(folder):
    X, y = load_wine(return_X_y=True)
    np.savetxt("wine.data", X[:, :5])
    np.savetxt("wine.labels", y, fmt="%d")
    assert bestleaf("select", "wine.data", "--target", "label", "--json", "r.json", *QUIET) == 0
    assert set(json.loads((folder / "r.json").read_text())["features"]) <= {f"f{number}" for number in range(5)}


def test_numbers_to_predict(folder, capsys):
    load_diabetes(as_frame=True).frame.to_csv("sugar.csv", index=False)
    options = ["--target", "target", "--max-features", "2", "--holdout", "0.25", "--include", "bmi", "--exclude", "s5"]
    assert bestleaf("select", "sugar.csv", *options, "--json", "r.json", *BY_THESE_ROWS) == 0
    found = json.loads((folder / "r.json").read_text())
    assert "bmi" in found["features"]
    assert "s5" not in found["features"]
    assert 0.5 < found["holdout_score"] < 1
    assert "concordance" in capsys.readouterr().out


def test_groups_and_gaps(folder, shop):
    gaps = shop.copy()
    gaps.loc[3:9, "age"] = np.nan
    gaps.loc[5:7, "city"] = None
    gaps.to_csv("gaps.csv", index=False)
    together = configured('feature_groups = {both = ["age", "city"]}', choose="training")
    options = ["--target", "bought", "--impute", "median", "--json", "r.json"]
    assert bestleaf("select", "gaps.csv", *options, *together) == 0
    assert json.loads((folder / "r.json").read_text())["features"] == ["age", "city"]
    table = prepared(read_frame("gaps.csv"), "bought", impute="median")
    assert not table.X.isna().any().any()
    assert "city=(missing)" in table.X.columns


def test_a_budget_ends_it_with_exit_code_3_and_the_result_is_written(folder):
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.normal(size=(80, 40)), columns=[f"c{number}" for number in range(40)])
    wide["y"] = rng.integers(0, 2, 80)
    wide.to_csv("wide.csv", index=False)
    options = ["--target", "y", "--epsilon", "0", "--json", "r.json"]
    assert bestleaf("select", "wide.csv", *options, *configured(choose="training", max_samples=900)) == 3
    found = json.loads((folder / "r.json").read_text())
    assert found["reason"] == "max_samples"
    assert found["gap"] > 0


def test_files_are_not_replaced_unless_asked(folder):
    (folder / "r.json").write_text("precious")
    command = ["select", "shop.csv", "--target", "bought", "--json", "r.json", *QUIET]
    assert bestleaf(*command) == 2
    assert (folder / "r.json").read_text() == "precious"
    assert bestleaf(*command, "--force-overwrite") == 0
    assert json.loads((folder / "r.json").read_text())["features"]


BAD_TABLES = {
    "empty.csv": b"",
    "blank.csv": b"\n\n\n",
    "header.csv": b"a,b,y\n",
    "one_row.csv": b"a,b,y\n1,2,0\n",
    "ragged.csv": b"a,b,y\n1,2,0\n1,2,3,4,5\n",
    "binary.csv": bytes(range(256)) * 20,
    "latin.csv": "größe,b,y\n1,2,0\n".encode("latin-1") * 3,
    "utf16.csv": "a,b,y\n1,2,0\n3,4,1\n".encode("utf-16"),
    "twice.csv": b"a,a,y\n1,2,0\n2,3,1\n",
    "one_class.csv": b"a,b,y\n" + b"".join(b"%d,%d,1\n" % (i, i % 3) for i in range(30)),
    "constant.csv": b"a,b,y\n" + b"".join(b"1,1,%d\n" % (i % 2) for i in range(30)),
    "gaps.csv": b"a,b,y\n" + b"".join(b"%d,%s,%d\n" % (i, b"7" * (i % 3), i % 2) for i in range(30)),
    "infinite.csv": b"a,b,y\n" + b"".join(b"inf,%d,%d\n" % (i, i % 2) for i in range(30)),
    "target_gaps.csv": b"a,b,y\n" + b"".join(b"%d,%d,\n" % (i, i) for i in range(30)),
    "only_target.csv": b"y\n" + b"1\n0\n" * 20,
    "quotes.csv": b'a,b,y\n"1,2,0\n3,4,1\n',
    "not_parquet.parquet": b"PAR1 no parquet at all",
    "not_feather.feather": b"\x00\x01\x02",
    "words.data": b"one two three\n",
    "table.xlsx": b"PK",
    "noending": b"a,b\n1,2\n",
    "ids.csv": b"a,y\n" + b"".join(b"id%d,%d\n" % (i, i % 2) for i in range(1500)),
    "letters.csv": b"a,b,y\n" + b"".join(b"%d,%d,%d\n" % (i, i, i % 2) for i in range(1500)) + b"x,1,0\n",
    "few.csv": b"a,b,y\n1,2,0\n2,3,1\n3,4,0\n4,5,1\n",
    "infinite_target.csv": b"a,b,y\n" + b"".join(b"%d,%d,inf\n" % (i, i) for i in range(30)),
    "bars_and_semicolons.csv": b"a;b|y\n" + b"1;2|0\n2;3|1\n" * 15,
}
UNUSABLE = {
    "lists.parquet": [[1, 2]] * 30,
    "dictionaries.parquet": [{"a": 1}] * 30,
    "bytes.parquet": [b"a"] * 30,
}


@pytest.mark.parametrize("name", [*BAD_TABLES, *UNUSABLE])
def test_a_table_that_cannot_be_used_is_one_sentence(folder, name, capsys):
    if name in UNUSABLE:
        pd.DataFrame({"a column": UNUSABLE[name], "y": [0, 1] * 15}).to_parquet(folder / name)
    else:
        (folder / name).write_bytes(BAD_TABLES[name])
    before = set(os.listdir(folder))
    assert bestleaf("select", name, "--target", "y", "--json", "r.json", "--out", "r.csv") == 2
    said = capsys.readouterr().err
    assert is_one_sentence(said)
    assert ("'a column'" in said) == (name in UNUSABLE)
    assert set(os.listdir(folder)) == before


BAD_SETTINGS = [
    *(("delta", value) for value in (0, 1, "small")),
    *(("max_samples", value) for value in (0, -3, 1.5, "many")),
    *(("guarantee", value) for value in ("certain", ["local", "sure"], 3)),
    *(("random_state", value) for value in (-1, 2**32, "one")),
    *(("n_jobs", value) for value in (0, 1.5)),
    ("max_features", "two"),
    ("max_time", "90s"),
    ("include", "age"),
    ("include", [3]),
    ("include", [["age"]]),
    ("estimator", "magic"),
    ("encode", "auto"),
    ("checkpoint", 3),
    ("verbose", "no"),
    ("colour", "red"),
    ("holdout", 0.25),
    ("bound", "wide"),
    ("search", 3),
    ("neighbours", "many"),
]
BAD_OPTIONS = [
    ["--target", "nope"],
    ["--target", ""],
    [],
    ["--target", "bought", "--task", "guess"],
    ["--target", "bought", "--task", "regression"],
    ["--target", "bought", "--epsilon", "7"],
    ["--target", "bought", "--epsilon", "-1"],
    ["--target", "bought", "--epsilon", "nan"],
    ["--target", "bought", "--epsilon", "small"],
    ["--target", "bought", "--max-time", "soon"],
    ["--target", "bought", "--max-time", "-5s"],
    ["--target", "bought", "--max-time", "inf"],
    ["--target", "bought", "--max-features", "0"],
    ["--target", "bought", "--include", "nope"],
    ["--target", "bought", "--include", "bought"],
    ["--target", "bought", "--exclude", "nope"],
    ["--target", "bought", "--include", "age", "--exclude", "age"],
    ["--target", "bought", "--impute", "guess"],
    ["--target", "bought", "--holdout", "2"],
    ["--target", "bought", "--holdout", "0"],
    ["--target", "bought", "--out", "nowhere/r.csv"],
    ["--target", "bought", "--out", "r.pdf"],
    ["--target", "bought", "--out", "shop.csv", "--force-overwrite"],
    ["--target", "bought", "--out", "r.csv", "--json", "r.csv"],
    ["--target", "bought", "--json", "."],
    ["--target", "bought", "--certificate", "nowhere/c.json"],
    ["--target", "bought", "--colour", "red"],
    ["--target", "bought", "--epsilon", "1_0"],
    ["--target", "bought", "--epsilon", ""],
    ["--target", "bought", "--max-features", "²"],
    ["--target", "bought", "--max-features", "1", "--include", "age", "--include", "city"],
    ["--target", "bought", "--exclude", "age", "--exclude", "city", "--exclude", "noise", "--exclude", SCRIPT],
    ["--target", "bought", "--include", "city", "--exclude", "city"],
    ["--target", "bought", "--holdout", "half"],
    ["--target", "bought", "--holdout", "0.999"],
    ["--target", "bought", "--report", "page.txt"],
    ["--target", "bought", "--json", "r.txt"],
    ["--target", "bought", "--certificate", "r"],
    ["--target", "bought", "--report", "r.html", "--certificate", "./r.html"],
    ["--target", "bought", "another.csv"],
    ["--target", "bought", "--force-overwrite=yes"],
    ["--target", "bought", "--config", "missing.toml"],
    ["--target", "bought", "--config", "shop.csv"],
    ["--target", "bought", "--config", "."],
    ["--target", "bought", "--costs", "costs.json"],
    *(["--target", "bought", *configured(**{name: value})] for name, value in BAD_SETTINGS),
    ["--target"],
]


@pytest.mark.parametrize("options", BAD_OPTIONS, ids=lambda options: " ".join(options)[:60])
def test_options_that_cannot_be_used(folder, options, capsys):
    before = {name: (folder / name).read_bytes() for name in os.listdir(folder)}
    assert bestleaf("select", "shop.csv", *options) == 2
    said = capsys.readouterr().err
    assert is_one_sentence(said)
    assert "BestLeafSelector" not in said
    assert {name: (folder / name).read_bytes() for name in os.listdir(folder)} == before


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--epsilon", "2"], "--epsilon"),
        (["--max-features", "0"], "--max-features"),
        (["--n-repeats", "0"], "no such option: --n-repeats; use bestleaf compare --splits"),
        (["--guarantee", "foo"], "--guarantee; use guarantee = ... below [search] in the file of --config"),
        (configured(chose="training"), "has an unknown key, 'chose' (did you mean 'choose'?)"),
        (configured("[search]\nbounds = 'betting'"), "has an unknown key, [search] 'bounds' (did you mean 'bound'?)"),
        (configured("[neighbours]\nneighbors = 3"), "has an unknown key, [neighbours] 'neighbors'"),
        (configured("choose = "), "cannot be read as TOML"),
        ([*configured("[neighbours]"), "--estimator", "svm"], "needs --estimator neighbours, got svm"),
        (["--report", "z.txt"], "--report must end in .html or .htm, got z.txt"),
        (["--colour"], "no such option"),
    ],
)
def test_options_are_checked_before_the_table_is_read(folder, options, sentence, capsys):
    assert bestleaf("select", "missing.csv", "--target", "y", *options) == 2
    said = capsys.readouterr().err
    assert is_one_sentence(said)
    assert sentence in said


def test_columns_are_named_in_what_is_said_about_them(folder, shop, capsys):
    assert bestleaf("select", "shop.csv", "--target", "bought", "--include", "city", "--exclude", "city") == 2
    assert "must not name the same column, got 'city' for both" in capsys.readouterr().err
    options = [*configured('feature_groups = {g = ["age", "city"]}'), "--include", "age", "--exclude", "city"]
    assert bestleaf("select", "shop.csv", "--target", "bought", *options) == 2
    assert "--include and --exclude must not share groups" in capsys.readouterr().err
    pd.DataFrame({"a": range(5), "y": [0, 1, 0, 1, 0]}).to_csv("few.csv", index=False)
    assert bestleaf("select", "few.csv", "--target", "y") == 2
    assert "the table must have at least 6 rows for the votes of 5 nearest neighbours, got 5" in capsys.readouterr().err
    assert bestleaf("compare", "few.csv", "--target", "y") == 2
    assert "the table must have at least 6 rows" in capsys.readouterr().err
    wide = pd.DataFrame(np.eye(40), columns=[f"c{number}" for number in range(40)]).assign(y=[0, 1] * 20)
    wide.to_csv("wide.csv", index=False)
    assert bestleaf("select", "wide.csv", "--target", "y", *configured(guarantee="exhaustive")) == 2
    assert "limit them by --max-features, --exclude or feature_groups" in capsys.readouterr().err


BAD_COMMANDS = [
    ["conquer"],
    ["--colour"],
    ["select"],
    ["compare"],
    ["verify"],
    ["report", "c.json"],
    ["verify", "nope.cert"],
    ["verify", "."],
    ["verify", "shop.csv"],
    ["verify", "deep.json"],
    ["verify", "shop.csv", "--impute", "guess"],
    ["report", "nope.cert", "--out", "x.html"],
    ["report", "nope.cert", "--out", "x.txt"],
    ["report", ".", "--out", "x.html"],
    ["report", "shop.csv", "--out", "x.html"],
    ["demo", "--random-state", "4294967296"],
    ["compare", "shop.csv", "--target", "bought", "--epsilon", "2"],
    ["compare", "shop.csv", "--target", "bought", "--random-state", "4294967296"],
    ["compare", "shop.csv", "--target", "bought", "--holdout", "1"],
    ["compare", "shop.csv", "--target", "bought", "--task", "guess"],
    ["compare", "shop.csv", "--target", "bought", "--delta", "0.1"],
    ["reproduce", "fixed", "--runs", "1" * 30],
]


@pytest.mark.parametrize("command", BAD_COMMANDS, ids=" ".join)
def test_commands_that_cannot_be_run(folder, command, capsys):
    (folder / "deep.json").write_text("[" * 100_000)
    before = set(os.listdir(folder))
    assert bestleaf(*command) == 2
    said = capsys.readouterr().err
    assert is_one_sentence(said)
    assert "Errno" not in said
    assert set(os.listdir(folder)) == before


@pytest.mark.parametrize("command", [[], ["--help"], ["reproduce"], ["select", "--help"], ["--version"]])
def test_help_is_no_error(command, capsys):
    assert bestleaf(*command) == 0
    shown = capsys.readouterr()
    assert shown.out
    assert not shown.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads and writes everything")
def test_a_file_that_may_not_be_read(folder):
    (folder / "shop.csv").chmod(0)
    assert bestleaf("select", "shop.csv", "--target", "bought") == 2
    (folder / "shop.csv").chmod(stat.S_IRUSR)


def test_a_folder_is_not_a_table(folder):
    (folder / "folder.csv").mkdir()
    assert bestleaf("select", "folder.csv", "--target", "y") == 2
    assert bestleaf("select", "missing.csv", "--target", "y") == 2


def damaged(text, rng):
    """Return a table with something wrong, or at least strange, in it."""
    data = bytearray(text)
    kind = rng.integers(8)
    if kind == 0:  # cut short
        return bytes(data[: rng.integers(len(data))])
    if kind == 1:  # bytes changed
        for place in rng.integers(len(data), size=rng.integers(1, 30)):
            data[place] = rng.integers(256)
        return bytes(data)
    lines = text.split(b"\n")
    if kind == 2:  # another separator
        return text.replace(b",", rng.choice([b";", b"|", b"\t", b" ", b",,"]))
    if kind == 3:  # lines lost, doubled or mixed with the header
        return b"\n".join(rng.permutation(np.array(lines, object))[: rng.integers(1, len(lines))])
    if kind == 4:  # another encoding
        return text.decode().replace("age", "Größe").encode(str(rng.choice(["utf-16", "latin-1", "utf-32", "cp1252"])))
    if kind == 5:  # a cell of nonsense
        row = rng.integers(1, len(lines))
        cells = [b"nan", b"inf", b"-inf", b"1e999", b"x" * 100_000, b'"', b"\x00", b"1,2,3", b"=1+1", "\u202e".encode()]
        lines[row] = lines[row].replace(b",", b"," + cells[rng.integers(len(cells))], 1)
        return b"\n".join(lines)
    if kind == 6:  # names
        names = [b"a,a,a,a,bought", b",,,,bought", b"bought,bought,b,c,d", b"age,city,x,noise,", b'"bought']
        return b"\n".join([names[rng.integers(len(names))], *lines[1:]])
    return b"\n".join(line.rsplit(b",", rng.integers(1, 4))[0] for line in lines)  # columns lost


@pytest.mark.parametrize("part", range(10))
def test_damaged_tables_never_raise(folder, part, capsys):
    text = (folder / "shop.csv").read_bytes()
    for number in range(20):
        rng = np.random.default_rng([part, number])
        (folder / "damaged.csv").write_bytes(damaged(text, rng))
        options = ["--json", "r.json", "--out", "r.csv", "--max-time", "2"]
        more = configured(choose="new_data" if number % 10 == 0 else "training", max_samples=60, verbose=0)
        code = bestleaf("select", "damaged.csv", "--target", "bought", *options, *more)
        said = capsys.readouterr().err
        assert code in (0, 2, 3), (part, number, said)
        assert "Traceback" not in said
        written = {"r.json", "r.csv"} & set(os.listdir(folder))
        if code == 2:
            assert said.startswith("bestleaf: "), (part, number, said)
            assert "\n" not in said.strip(), (part, number, said)
            assert not written
        for name in written:
            (folder / name).unlink()
        assert set(os.listdir(folder)) == {"shop.csv", "damaged.csv"}


def test_only_files_are_replaced(folder):
    (folder / "real.json").write_text("old")
    (folder / "link.json").symlink_to(folder / "real.json")
    os.mkfifo(folder / "pipe.json")
    common = ["select", "shop.csv", "--target", "bought", "--force-overwrite", *QUIET]
    assert bestleaf(*common, "--json", "link.json") == 0
    assert (folder / "link.json").is_symlink()
    assert json.loads((folder / "real.json").read_text())["features"]
    assert bestleaf(*common, "--json", "pipe.json") == 2
    assert stat.S_ISFIFO((folder / "pipe.json").stat().st_mode)
    assert bestleaf(*common, "--certificate", "c.json") == 0
    assert bestleaf("report", "c.json", "--out", "c.json", "--force-overwrite") == 2
    assert bestleaf("verify", "c.json") == 0


@pytest.mark.parametrize(
    ("groups", "code"),
    [
        ('{age = ["city", "noise"]}', 0),
        ('{g = ["age", "age"]}', 2),
        ("{g = [0, 1]}", 2),
        ("{g = []}", 2),
        ('{g = "age"}', 2),
        ('["age"]', 2),
        ('{g = ["age"], h = ["age", "city"]}', 2),
        ('{g = ["age"], g = ["city"]}', 2),
        ('{g = [["age"]]}', 2),
        ('{g = ["bought"]}', 2),
        ("3", 2),
    ],
)
def test_groups_of_a_file(folder, groups, code, capsys):
    options = ["--target", "bought", "--json", "r.json", *configured(f"feature_groups = {groups}", choose="training")]
    assert bestleaf("select", "shop.csv", *options) == code
    if code == 0:  # a group may be called like a column
        assert json.loads((folder / "r.json").read_text())["exact_evaluations"] == 7
    else:
        assert "\n" not in capsys.readouterr().err.strip()


def test_what_is_typed_goes_before_the_file(folder):
    given = configured("[neighbours]\nn_neighbors = 3", choose="training", max_features=3, estimator="neighbours")
    assert bestleaf("select", "shop.csv", "--target", "bought", *given, "--certificate", "a.json") == 0
    assert bestleaf("select", "shop.csv", "--target", "bought", *given, "--max-features", "1", "--out", "a.csv") == 0
    found = Certificate.load("a.json").content["data"]
    assert (found["choice"]["limit"], found["objective"]["n_neighbors"]) == (3, 3)
    assert pd.read_csv("a.csv").shape[1] == 2


def test_a_command_has_few_options_in_titled_groups(capsys):
    assert bestleaf("select", "--help") == 0
    said = capsys.readouterr().out
    assert len(set(re.findall(r"--[a-z-]+", said)) - {"--help"}) <= 24
    assert all(title in said for title in (TABLE, SELECTED, FILES))


def test_clashing_names_an_index_and_rare_classes(folder, shop, capsys):
    pd.DataFrame({"a": ["b", "c"] * 20, "a=b": np.arange(40) % 7, "y": [0, 1] * 20}).to_csv("clash.csv", index=False)
    assert bestleaf("select", "clash.csv", "--target", "y") == 2
    assert "'a=b'" in capsys.readouterr().err
    shop.set_index("age").to_parquet("indexed.parquet")
    assert "age" in read_frame("indexed.parquet").columns
    rare = pd.DataFrame({"a": np.arange(60) % 7, "y": [1] + [0] * 58 + [1]})
    rare.to_csv("rare.csv", index=False)
    assert bestleaf("select", "rare.csv", "--target", "y", "--holdout", "0.1", "--json", "r.json") == 2
    assert not (folder / "r.json").exists()
    assert bestleaf("verify", "clash.csv", "--impute", "guess") == 2


def test_all_files_are_written_or_none(folder, monkeypatch, capsys):
    names = {"--out": "r.csv", "--json": "r.json", "--certificate": "c.json", "--report": "r.html"}
    files = [text for pair in names.items() for text in pair]
    (folder / "r.json").write_text("precious")
    before = {name: (folder / name).read_bytes() for name in os.listdir(folder)}
    written = []
    real = os.fsync

    def full(handle):
        written.append(handle)
        if len(written) == 4:
            raise OSError(28, "No space left on device")
        real(handle)

    monkeypatch.setattr("os.fsync", full)
    common = ["select", "shop.csv", "--target", "bought", "--force-overwrite", *QUIET]
    assert bestleaf(*common, *files) == 2
    assert len(written) == 4
    said = capsys.readouterr().err
    assert is_one_sentence(said)
    assert "no space left on device" in said
    assert {name: (folder / name).read_bytes() for name in os.listdir(folder)} == before
    assert bestleaf(*common, *files) == 0
    assert set(os.listdir(folder)) == {"shop.csv", *names.values()}
