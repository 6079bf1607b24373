"""bestleaf select: from file to files, and every way it can go wrong."""

from __future__ import annotations

import json
import os
import stat

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_wine

from bestleaf import cli
from bestleaf.datasets import prepared, read_frame
from bestleaf.selector.comparison import compare


@pytest.fixture(scope="module")
def shop():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 80, 120),
            "city": rng.choice(["Oslo", "Rome", "Bonn"], 120),
            "<script>alert(1)</script>": rng.normal(size=120),
            "noise": rng.normal(size=120),
        }
    )
    frame["bought"] = np.where((frame.age > 50) ^ (frame.city == "Rome"), "yes", "no")
    return frame


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


def test_from_a_table_to_its_columns(folder, capsys):
    files = ["--out", "less.csv", "--json", "found.json", "--certificate", "proof.json", "--report", "first.html"]
    assert bestleaf("select", "shop.csv", "--target", "bought", *files) == 0
    shown = capsys.readouterr().out
    assert "city: 3 categories" in shown
    assert "Columns of the file: age, city." in shown
    result = json.loads((folder / "found.json").read_text())
    assert result["features"] == ["age", "city"]
    for name in ("score", "samples", "exact_evaluations", "reason", "epsilon", "delta", "gap", "seed", "version"):
        assert name in result
    less = pd.read_csv("less.csv")
    assert list(less.columns) == ["age", "city", "bought"]
    assert len(less) == 120
    assert bestleaf("report", "proof.json", "--out", "page.html") == 0
    assert "Selected features" in (folder / "page.html").read_text(encoding="utf-8")
    assert bestleaf("report", "proof.json", "--out", "page.html") == 2
    assert bestleaf("report", "found.json", "--out", "other.html") == 2
    assert bestleaf("verify", "proof.json", "--data", "shop.csv", "--target", "bought") == 0
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
    assert bestleaf("select", path, "--target", "bought", "--json", "r.json", "--quiet") == 0
    assert json.loads((folder / "r.json").read_text())["features"] == ["age", "city"]


def test_data_with_labels_beside_them(folder):
    X, y = load_wine(return_X_y=True)
    np.savetxt("wine.data", X[:, :5])
    np.savetxt("wine.labels", y, fmt="%d")
    assert bestleaf("select", "wine.data", "--target", "label", "--json", "r.json", "--quiet") == 0
    assert set(json.loads((folder / "r.json").read_text())["features"]) <= {f"f{number}" for number in range(5)}


def test_numbers_to_predict(folder, capsys):
    load_diabetes(as_frame=True).frame.to_csv("sugar.csv", index=False)
    options = ["--target", "target", "--max-features", "2", "--holdout", "0.25", "--force", "bmi", "--forbid", "s5"]
    assert bestleaf("select", "sugar.csv", *options, "--json", "r.json") == 0
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
    (folder / "groups.json").write_text('{"both": ["age", "city"]}')
    options = ["--target", "bought", "--impute", "median", "--groups", "groups.json", "--quiet", "--json", "r.json"]
    assert bestleaf("select", "gaps.csv", *options) == 0
    assert json.loads((folder / "r.json").read_text())["features"] == ["age", "city"]
    table = prepared(read_frame("gaps.csv"), "bought", impute="median")
    assert not table.X.isna().any().any()
    assert "city=(missing)" in table.X.columns


def test_a_budget_ends_it_with_exit_code_3_and_the_result_is_written(folder):
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.normal(size=(80, 40)), columns=[f"c{number}" for number in range(40)])
    wide["y"] = rng.integers(0, 2, 80)
    wide.to_csv("wide.csv", index=False)
    options = ["--target", "y", "--epsilon", "0", "--max-samples", "900", "--json", "r.json", "--quiet"]
    assert bestleaf("select", "wide.csv", *options) == 3
    found = json.loads((folder / "r.json").read_text())
    assert found["reason"] == "max_samples"
    assert found["gap"] > 0


def test_files_are_not_replaced_unless_asked(folder):
    (folder / "r.json").write_text("precious")
    assert bestleaf("select", "shop.csv", "--target", "bought", "--json", "r.json", "--quiet") == 2
    assert (folder / "r.json").read_text() == "precious"
    assert bestleaf("select", "shop.csv", "--target", "bought", "--json", "r.json", "--quiet", "--force-overwrite") == 0
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
    "gaps.csv": b"a,b,y\n" + b"".join(b"%d,,%d\n" % (i, i % 2) for i in range(30)),
    "infinite.csv": b"a,b,y\n" + b"".join(b"inf,%d,%d\n" % (i, i % 2) for i in range(30)),
    "target_gaps.csv": b"a,b,y\n" + b"".join(b"%d,%d,\n" % (i, i) for i in range(30)),
    "only_target.csv": b"y\n" + b"1\n0\n" * 20,
    "quotes.csv": b'a,b,y\n"1,2,0\n3,4,1\n',
    "not_parquet.parquet": b"PAR1 no parquet at all",
    "not_feather.feather": b"\x00\x01\x02",
    "words.data": b"one two three\n",
    "table.xlsx": b"PK",
    "noending": b"a,b\n1,2\n",
    "ids.csv": b"a,b,y\n" + b"".join(b"id%d,%d,%d\n" % (i, i, i % 2) for i in range(1500)),
    "dates.parquet": None,
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_a_table_that_cannot_be_used_is_one_sentence(folder, name, capsys):
    if BAD_TABLES[name] is None:
        pd.DataFrame({"a": pd.date_range("2020", periods=30), "y": [0, 1] * 15}).to_parquet(folder / name)
    else:
        (folder / name).write_bytes(BAD_TABLES[name])
    before = set(os.listdir(folder))
    assert bestleaf("select", name, "--target", "y", "--json", "r.json", "--out", "r.csv") == 2
    said = capsys.readouterr().err.strip()
    assert said.startswith("bestleaf: ")
    assert "\n" not in said
    assert "Traceback" not in said
    assert set(os.listdir(folder)) == before


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
    ["--target", "bought", "--delta", "0"],
    ["--target", "bought", "--max-time", "soon"],
    ["--target", "bought", "--max-time", "-5s"],
    ["--target", "bought", "--max-time", "inf"],
    ["--target", "bought", "--max-samples", "0"],
    ["--target", "bought", "--max-samples", "many"],
    ["--target", "bought", "--max-features", "0"],
    ["--target", "bought", "--force", "nope"],
    ["--target", "bought", "--force", "bought"],
    ["--target", "bought", "--forbid", "nope"],
    ["--target", "bought", "--force", "age", "--forbid", "age"],
    ["--target", "bought", "--groups", "missing.json"],
    ["--target", "bought", "--groups", "shop.csv"],
    ["--target", "bought", "--guarantee", "certain"],
    ["--target", "bought", "--algorithm", "magic"],
    ["--target", "bought", "--algorithm", "fuse"],
    ["--target", "bought", "--impute", "guess"],
    ["--target", "bought", "--holdout", "2"],
    ["--target", "bought", "--holdout", "0"],
    ["--target", "bought", "--repeats", "0"],
    ["--target", "bought", "--seed", "-1"],
    ["--target", "bought", "--n-jobs", "0"],
    ["--target", "bought", "--out", "nowhere/r.csv"],
    ["--target", "bought", "--out", "r.pdf"],
    ["--target", "bought", "--out", "shop.csv", "--force-overwrite"],
    ["--target", "bought", "--out", "r.csv", "--json", "r.csv"],
    ["--target", "bought", "--json", "."],
    ["--target", "bought", "--certificate", "nowhere/c.json"],
    ["--target", "bought", "--colour", "red"],
]


@pytest.mark.parametrize("options", BAD_OPTIONS, ids=" ".join)
def test_options_that_cannot_be_used(folder, options, capsys):
    before = {name: (folder / name).read_bytes() for name in os.listdir(folder)}
    assert bestleaf("select", "shop.csv", *options) == 2
    said = capsys.readouterr().err
    assert said.strip()
    assert "Traceback" not in said
    assert {name: (folder / name).read_bytes() for name in os.listdir(folder)} == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads and writes everything")
def test_a_file_that_may_not_be_read(folder):
    (folder / "shop.csv").chmod(0)
    assert bestleaf("select", "shop.csv", "--target", "bought") == 2
    (folder / "shop.csv").chmod(stat.S_IRUSR)


def test_a_folder_is_not_a_table(folder):
    (folder / "folder.csv").mkdir()
    assert bestleaf("select", "folder.csv", "--target", "y") == 2
    assert bestleaf("select", "missing.csv", "--target", "y") == 2


def test_compare_judges_all_methods_on_the_same_split(folder, capsys):
    assert bestleaf("compare", "shop.csv", "--target", "bought") == 0
    shown = capsys.readouterr().out
    for part in ("bestleaf", "sequential forward", "RFECV", "mutual information", "all features", "held-out"):
        assert part in shown
    rows = {row.method.split()[0]: row for row in compare(prepared(read_frame("shop.csv"), "bought"), seed=1)}
    assert rows["bestleaf"].columns == ("age", "city")
    assert rows["bestleaf"].value >= max(row.value for row in rows.values()) - 0.01
    assert all(0 <= row.held_out <= 1 for row in rows.values())
    assert bestleaf("compare", "shop.csv", "--target", "bought", "--holdout", "1") == 2
    assert bestleaf("compare", "missing.csv", "--target", "bought") == 2


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
    for number in range(30):
        rng = np.random.default_rng([part, number])
        (folder / "damaged.csv").write_bytes(damaged(text, rng))
        options = ["--json", "r.json", "--out", "r.csv", "--max-samples", "60", "--max-time", "2", "--quiet"]
        code = bestleaf("select", "damaged.csv", "--target", "bought", *options)
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
    common = ["select", "shop.csv", "--target", "bought", "--quiet", "--force-overwrite"]
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
        ('{"age": ["city", "noise"]}', 0),
        ('{"g": ["age", "age"]}', 2),
        ('{"g": [0, 1]}', 2),
        ('{"g": []}', 2),
        ('{"g": "age"}', 2),
        ("[" * 100_000, 2),
        ('["age"]', 2),
        ('{"g": ["age"], "h": ["age", "city"]}', 2),
    ],
)
def test_groups_of_a_file(folder, groups, code, capsys):
    (folder / "groups.json").write_text(groups)
    options = ["--target", "bought", "--groups", "groups.json", "--json", "r.json", "--quiet"]
    assert bestleaf("select", "shop.csv", *options) == code
    if code == 0:  # a group may be called like a column
        assert json.loads((folder / "r.json").read_text())["exact_evaluations"] == 7
    else:
        assert "\n" not in capsys.readouterr().err.strip()


def test_clashing_names_an_index_and_rare_classes(folder, shop, capsys):
    pd.DataFrame({"a": ["b", "c"] * 20, "a=b": range(40), "y": [0, 1] * 20}).to_csv("clash.csv", index=False)
    assert bestleaf("select", "clash.csv", "--target", "y") == 2
    assert "'a=b'" in capsys.readouterr().err
    shop.set_index("age").to_parquet("indexed.parquet")
    assert "age" in read_frame("indexed.parquet").columns
    rare = pd.DataFrame({"a": range(60), "y": [1] + [0] * 58 + [1]})
    rare.to_csv("rare.csv", index=False)
    assert bestleaf("select", "rare.csv", "--target", "y", "--holdout", "0.1", "--json", "r.json") == 2
    assert not (folder / "r.json").exists()
    assert bestleaf("verify", "clash.csv", "--impute", "guess") == 2


def test_compare_takes_one_feature_and_numbers_as_classes(folder):
    rng = np.random.default_rng(0)
    one = pd.DataFrame({"a": rng.normal(size=60)})
    one["y"] = np.where(one.a > 0, 0.5, 1.5)
    one.to_csv("one.csv", index=False)
    assert bestleaf("compare", "one.csv", "--target", "y", "--task", "classification") == 0
