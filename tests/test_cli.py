"""The command line in processes of its own, as a user types it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pandas as pd
import pytest

import bestleaf
from bestleaf.cli.reproduce import app as experiments
from bestleaf.paper import load_linear
from bestleaf.tables import load_table
from bestleaf.tables.select import select_from_table


def run(*arguments, cwd, **keywords):
    command = [sys.executable, "-c", "from bestleaf.cli import main; main()", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120, **keywords)


def test_version_and_help(tmp_path):
    assert run("--version", cwd=tmp_path).stdout.strip() == bestleaf.__version__
    shown = run("reproduce", "--help", cwd=tmp_path)
    assert shown.returncode == 0
    assert "fixed" in shown.stdout
    assert "expansion" in shown.stdout
    assert "selection" in shown.stdout
    module = subprocess.run(
        [sys.executable, "-m", "bestleaf", "--version"], capture_output=True, text=True, timeout=120
    )
    assert module.stdout.strip() == bestleaf.__version__


def test_demo_says_what_is_proved(tmp_path):
    shown = run("demo", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "features: " in shown.stdout
    assert "With probability at least 1 - 0.1" in shown.stdout
    assert "Not claimed" in shown.stdout
    assert "The best subset of each size" in shown.stdout


def test_reproduce_fixed_keeps_rows_and_prints_a_table(tmp_path):
    shown = run("reproduce", "fixed", "--runs", "2", "--json", "rows.json", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "478,142" in shown.stdout
    rows = json.loads((tmp_path / "rows.json").read_text())["rows"]
    assert len(rows) == 20
    assert run("reproduce", "fixed", "--runs", "2", "--json", "rows.json", cwd=tmp_path).returncode == 0
    assert json.loads((tmp_path / "rows.json").read_text())["rows"] == rows


def test_reproduce_takes_rows_by_name(tmp_path):
    shown = run("reproduce", "fixed", "DAG beta1 paper", "DAG theory sound", "--runs", "2", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    rows = json.loads((tmp_path / "bestleaf-fixed.json").read_text())["rows"]
    assert {row["case"] for row in rows} == {"DAG beta1 paper", "DAG theory sound"}
    assert "hoeffding" not in shown.stdout


@pytest.mark.parametrize("experiment", ["fixed", "expansion", "selection"])
def test_a_wrong_name_gets_the_right_ones(experiment, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for arguments, code in (["--list"], 0), (["everything"], 2):
        with pytest.raises(SystemExit) as end:
            experiments([experiment, *arguments])
        assert end.value.code == code
    told = capsys.readouterr()
    names = "; ".join(told.out.splitlines())
    assert names.count("; ") >= 9
    assert told.err == f"bestleaf: there is no row 'everything'; the rows are: {names}\n"
    assert list(tmp_path.iterdir()) == []


TELLS_ROWS = """
from bestleaf.cli import main
from bestleaf.paper.experiments import rows

def told(finished, *given, **keywords):
    for future in finished:
        yield future
        print("row", flush=True)  # it is taken by now

rows.track = told
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_keeps_the_rows(tmp_path):
    code = TELLS_ROWS
    arguments = [sys.executable, "-c", code, "reproduce", "fixed", "--runs", "500", "--n-jobs", "2"]
    process = subprocess.Popen(arguments, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert "row\n" in iter(process.stdout.readline, "")
    assert not (tmp_path / "bestleaf-fixed.json").exists()
    os.kill(process.pid, signal.SIGINT)
    shown, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    rows = json.loads((tmp_path / "bestleaf-fixed.json").read_text())["rows"]
    assert rows
    assert errors == f"Interrupted; the {len(rows)} runs finished so far are in bestleaf-fixed.json.\n"
    assert "478,142" in shown


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["reproduce", "fixed", "--runs", "0"], "--runs"),
        (["reproduce", "fixed", "--runs", "many"], "--runs"),
        (["reproduce", "fixed", "--json", "no/such/rows.json"], "does not exist"),
        (["reproduce", "expansion", "--plot", "figure.png"], "--plot must end in .svg, got figure.png"),
        (["reproduce", "expansion", "--plot", "no/figure.svg"], "does not exist"),
        (["reproduce", "everything"], "everything"),
        (["reproduce", "selection", "--data", "madelon"], "--data must be madelon=PATH, got 'madelon'"),
        (["reproduce", "selection", "--data", "iris=here"], "got a data set called 'iris'"),
        (["reproduce", "selection", "--data", "madelon=nowhere.data"], "there is no file nowhere.data"),
        (["conquer"], "conquer"),
        (["watch", "run.blf"], "no such command 'watch'"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_two(arguments, words, tmp_path):
    shown = run(*arguments, cwd=tmp_path)
    assert shown.returncode == 2
    assert words in shown.stderr
    assert "Traceback" not in shown.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "rows.json").write_text("my thesis")
    shown = run("reproduce", "fixed", "--runs", "1", "--json", "rows.json", cwd=tmp_path)
    assert shown.returncode == 2
    assert (tmp_path / "rows.json").read_text() == "my thesis"


def test_importing_the_package_imports_nothing_heavy(tmp_path):
    code = "import sys, bestleaf; print([m for m in ('numba', 'scipy', 'rich') if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert shown.stdout.strip() == "[]"


def test_nothing_is_compiled_at_import(tmp_path):
    code = (
        "import bestleaf.search as s, bestleaf.engine.kernels.loop as l;"
        "print([k for k, v in vars(l).items() if getattr(v, 'signatures', None)])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert shown.stdout.strip() == "[]"


def test_verify_says_whether_a_certificate_holds(tmp_path):
    bunch = load_linear()
    frame = pd.DataFrame(bunch.data.astype(float), columns=bunch.feature_names).assign(label=bunch.target)
    frame.to_csv(tmp_path / "table.csv", index=False)
    found = select_from_table(load_table(frame, "label"), choose="training", epsilon=0.05, random_state=0)
    found.selector.certificate_.save(tmp_path / "found.json")
    held = run("verify", "found.json", cwd=tmp_path)
    assert held.returncode == 0, held.stderr
    assert "The certificate holds." in held.stdout
    again = run("verify", "found.json", "--data", "table.csv", cwd=tmp_path)
    assert again.returncode == 0, again.stdout
    assert "exact values were computed again" in again.stdout
    text = (tmp_path / "found.json").read_text()
    (tmp_path / "forged.json").write_text(text.replace('"epsilon": 0.05', '"epsilon": 0.01', 1))
    refused = run("verify", "forged.json", cwd=tmp_path)
    assert refused.returncode == 1
    assert "Refused: " in refused.stdout
    for arguments in (["table.csv"], ["nowhere.json"], ["found.json", "--target", "label"]):
        broken = run("verify", *arguments, cwd=tmp_path)
        assert broken.returncode == 2
        assert "Traceback" not in broken.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="pipes")
def test_a_reader_that_leaves_does_not_lose_the_result(tmp_path):
    rows = "\n".join(f"{number % 7},{number % 3},{number % 2}" for number in range(60))
    (tmp_path / "table.csv").write_text(f"a,b,label\n{rows}\n")
    command = f"{sys.executable} -m bestleaf select table.csv --target label --json found.json | true"
    subprocess.run(command, shell=True, cwd=tmp_path, check=True, timeout=120)
    assert "label" not in json.loads((tmp_path / "found.json").read_text())["features"]
