"""The commands beside `select`, and what only processes of their own show; the package as it is installed."""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from bestleaf import __version__
from selecting import bestleaf, refused

ROOT = Path(__file__).parent.parent
LOWEST = ROOT / "tools" / "lowest_versions.py"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def python(*arguments, **keywords):
    """Return what a Python of its own printed."""
    end = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=120, **keywords)
    assert end.returncode == 0, end.stderr
    return end.stdout.strip()


@pytest.mark.slow
def test_the_command_line_starts_by_name_and_by_module(tmp_path):
    assert python("-c", "from bestleaf.cli import main; main()", "--version", cwd=tmp_path) == __version__
    assert python("-m", "bestleaf", "--version", cwd=tmp_path) == __version__


@pytest.mark.slow
def test_nothing_heavy_is_imported_and_nothing_is_compiled_at_import(tmp_path):
    code = "import sys, bestleaf; print([m for m in ('numba', 'scipy', 'rich') if m in sys.modules])"
    assert python("-c", code, cwd=tmp_path) == "[]"
    code = (
        "import bestleaf.search as s, bestleaf.engine.kernels.loop as l;"
        "print([k for k, v in vars(l).items() if getattr(v, 'signatures', None)])"
    )
    assert python("-c", code, cwd=tmp_path) == "[]"


def test_the_conda_recipe_has_the_version_and_the_dependencies_of_the_package():
    recipe = (ROOT / "tools" / "conda" / "recipe.yaml").read_text()
    assert f'version: "{__version__}"' in recipe
    run = recipe.split("  run:\n")[1].split("\n\n")[0]
    listed = {line.strip().removeprefix("- ").replace(" ", "") for line in run.splitlines()}
    assert listed == {f"python{PROJECT['requires-python']}", *PROJECT["dependencies"]}
    (name, start), *others = PROJECT["scripts"].items()
    assert f"- {name} = {start}\n" in recipe
    assert not others


def test_every_dependency_is_pinned_to_its_lower_bound():
    listed = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["test"]]
    assert sorted(python(LOWEST, "test").split()) == sorted(requirement.replace(">=", "==") for requirement in listed)


def test_of_two_bounds_of_one_name_the_higher_one_holds():
    pins = runpy.run_path(str(LOWEST))["pins"]
    project = {"dependencies": ["a>=1.9", "b[x]>=2,<3"], "optional-dependencies": {"more": ["A>=1.10", "c >= 0.1; x"]}}
    assert pins(project, []) == ["a==1.9", "b==2"]
    assert pins(project, ["more"]) == ["a==1.10", "b==2", "c==0.1"]


@pytest.mark.parametrize("requirement", ["a", "a==1", "a<2", "a~=1.0"])
def test_a_dependency_without_a_lower_bound_is_refused(requirement):
    with pytest.raises(ValueError, match="a dependency must have a lowest version"):
        runpy.run_path(str(LOWEST))["pins"]({"dependencies": [requirement], "optional-dependencies": {}}, [])


@pytest.mark.slow
def test_demo_says_what_is_proved():
    code, shown, said = bestleaf("demo")
    assert code == 0, said
    for words in (
        "Columns (",
        "Score on new rows: AUC",
        "Proved with 95 % confidence: the two intervals above",
        "The page: ",
        "y, z, xz",
    ):
        assert words in shown
    assert "with probability at least 1 - 0.1" in shown.splitlines()[-1]


@pytest.mark.slow
def test_reproduce_keeps_rows_and_prints_a_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    some = ["DAG beta1 paper", "DAG theory sound"]
    shown = bestleaf("reproduce", "fixed", *some, "--runs", "2", "--csv", "some.csv").out
    assert "hoeffding" not in shown
    assert "All runs will take about" in shown
    rows = (tmp_path / "some.csv").read_text().splitlines()[1:]
    assert len(rows) == 4
    for _ in range(2):  # the second time, all runs are there
        code, shown, said = bestleaf("reproduce", "fixed", "--runs", "2", "--csv", "all.csv")
        assert code == 0, said
        assert "478,142" in shown
    found = (tmp_path / "all.csv").read_text().splitlines()[1:]
    assert len(found) == 20
    assert all(row in found for row in rows)


@pytest.mark.parametrize("experiment", ["fixed", "expansion", "selection"])
def test_a_wrong_name_gets_the_right_ones(experiment, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = "; ".join(bestleaf("reproduce", experiment, "--list").out.splitlines())
    assert names.count("; ") >= 9
    told = refused("reproduce", experiment, "everything")
    assert told == f"bestleaf: there is no row 'everything'; the rows are: {names}\n"
    assert list(tmp_path.iterdir()) == []


TELLS_ROWS = """
from bestleaf.cli import main
from bestleaf.paper import runs

def told(finished, *given, **keywords):
    for row in finished:
        yield row
        print("row", flush=True)  # it is taken by now

runs.track = told
main()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_keeps_the_rows(tmp_path):
    arguments = [sys.executable, "-c", TELLS_ROWS, "reproduce", "fixed", "--runs", "500", "--n-jobs", "2"]
    process = subprocess.Popen(arguments, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in iter(process.stdout.readline, ""):
        if "All runs will take about" in line:
            break
    assert "row\n" in iter(process.stdout.readline, "")
    os.kill(process.pid, signal.SIGINT)
    shown, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert errors.startswith("Interrupted; the "), errors
    finished = int(errors.split()[2])
    assert errors == f"Interrupted; the {finished} runs finished so far are in bestleaf-fixed.db.\n"
    assert finished > 1
    assert "478,142" in shown


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fixed", "--runs", "0"], "--runs"),
        (["fixed", "--memory", "no/such/rows.db"], "memory must be in a folder that exists"),
        (["fixed", "--memory", "thesis.json"], "thesis.json"),
        (["fixed", "--csv", "rows.json"], "--csv must end in .csv, got rows.json"),
        (["selection", "--data", "madelon"], "--data must be madelon=PATH, got 'madelon'"),
        (["selection", "--data", "iris=here"], "got a data set called 'iris'"),
        (["selection", "--data", "madelon=nowhere.data"], "there is no file nowhere.data"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_two(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "thesis.json").write_text("my thesis")
    assert words in refused("reproduce", *arguments)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["my thesis"]
