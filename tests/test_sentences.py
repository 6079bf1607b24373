"""What is wrong with an input is one sentence of at most 300 characters, whatever was given."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.naive_bayes import GaussianNB

from bestleaf import (
    BestLeafSelector,
    Checkpoint,
    KNNOracle,
    NeighbourVotes,
    SearchOptions,
    best_leaf,
    cli,
    problems,
    validate,
)
from bestleaf.checkpoint.file import read_file, write_file
from bestleaf.checks import LONGEST_SENTENCE, LONGEST_VALUE, listed, sentence, shown
from bestleaf.cli import at_once
from bestleaf.tables import prepared, read_frame
from bestleaf.tables.select import select_from_table
from selecting import configured, made_selector

LONG = "n" * 5000
LAST = "m" * 5000
RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 5))
Y = (X[:, 0] > 0).astype(int)


def frame(*names):
    found = pd.DataFrame(RNG.normal(size=(40, len(names))), columns=names)
    return found.assign(y=Y)


class Unshowable:
    def __repr__(self):
        raise RuntimeError("no")


def fit(**settings):
    return lambda: made_selector(choose="training", random_state=0, **settings).fit(X, Y)


def search(**settings):
    return lambda: best_leaf(problems.paper_lattice(), **{"epsilon": 0.1, "delta": 0.1, **settings})


WRONG = {
    "a text for a number": search(max_samples=LONG),
    "a list for a number": search(max_time=list(range(10_000))),
    "a seed": search(seed=LONG),
    "a proposal": search(proposal=LONG),
    "a checkpoint": search(checkpoint=[LONG]),
    "a checkpoint's name": search(checkpoint=LONG),
    "a checkpoint's folder": search(checkpoint=f"{LONG[:200]}/{LONG[:200]}/run.blf"),
    "a scoring without an estimator": fit(scoring=LONG),
    "a scoring": fit(estimator=GaussianNB(), scoring=LONG),
    "included features": fit(include=[LONG]),
    "features by name": lambda: BestLeafSelector(choose="training", include=[LONG]).fit(frame("a", LAST), Y),
    "groups that overlap": lambda: BestLeafSelector(choose="training", feature_groups={LONG: [0, 1], LAST: [1]}).fit(
        X, Y
    ),
    "groups that leave out": lambda: BestLeafSelector(choose="training", feature_groups=[["y"]]).fit(
        frame(LONG, LAST), Y
    ),
    "names that stand twice": lambda: BestLeafSelector(choose="training").fit(
        pd.DataFrame(np.zeros((40, 4)), columns=[LONG, LONG, LAST, LAST]), Y
    ),
    "columns of text": lambda: BestLeafSelector(choose="training").fit(
        pd.DataFrame({LONG: ["a"] * 40, LAST: ["b"] * 40}), Y
    ),
    "columns with gaps": lambda: BestLeafSelector(choose="training").fit(frame(LONG, LAST) * np.nan, Y),
    "a table without the target": lambda: prepared(frame(LONG, LAST), LONG + "x"),
    "a target alone": lambda: prepared(pd.DataFrame({LONG: [1, 2]}), LONG),
    "a target without values": lambda: prepared(pd.DataFrame({"a": [1, 2], LONG: [LAST, LAST]}), LONG),
    "gaps": lambda: prepared(frame(LONG, LAST).replace(0, 1).mask(lambda one: one < 1), "y"),
    "a way to fill gaps": lambda: prepared(frame("a"), "y", impute=LONG),
    "a file": lambda: read_frame(f"{LONG}.csv"),
    "the ending of a file": lambda: read_frame(f"a.{LONG}"),
    "groups of a table": lambda: select_from_table(prepared(frame("a"), "y"), feature_groups={LONG: [LAST]}),
    "columns to force": lambda: select_from_table(prepared(frame("a"), "y"), include=[LONG]),
    "ties": lambda: KNNOracle(X, Y, ties=LONG),
    "a value whose repr fails": search(max_samples=Unshowable()),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_sentence_has_at_most_300_characters(name):
    with pytest.raises((ValueError, TypeError, OSError)) as told:
        WRONG[name]()
    said = str(told.value)
    assert 10 < len(said) <= LONGEST_SENTENCE
    assert "\n" not in said


def test_values_are_shown_whole_if_they_are_short_and_cut_in_the_middle_if_not():
    assert shown("a") == "'a'"
    assert shown([1, 2.5, None]) == "[1, 2.5, None]"
    assert shown(Unshowable()).startswith("<Unshowable")
    assert len(shown(LONG + LAST)) <= LONGEST_VALUE
    assert shown(LONG + LAST).startswith("'nnn")
    assert shown(LONG + LAST).endswith("mmm'")
    assert shown(np.zeros((2, 2))).count("\n") == 0
    assert listed(["a", "b"]) == "'a', 'b'"
    assert listed(f"c{n}" for n in range(1000)).endswith("'c9' and 990 more")
    assert len(listed([LONG] * 50)) < 130
    assert listed([LONG] * 50).endswith(" and 49 more")
    assert sentence("two\n lines") == "two lines"
    assert len(sentence(LONG)) == LONGEST_SENTENCE


def test_the_command_line_says_at_most_300_characters(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    frame("a").to_csv("t.csv", index=False)
    given = [
        ["select", "t.csv", "--target", LONG],
        ["select", f"{LONG}.csv", "--target", "y"],
        ["select", "t.csv", "--target", "y", "--out", f"{LONG}.csv"],
        ["select", "t.csv", "--target", "y", "--epsilon", LONG],
        ["select", "t.csv", "--target", "y", f"--{LONG}"],
        ["verify", LONG],
        [LONG],
        ["reproduce", "selection", "--data", LONG],
    ]
    for arguments in given:
        monkeypatch.setattr(sys, "argv", ["bestleaf", *arguments])
        with pytest.raises(SystemExit) as end:
            cli.main()
        assert end.value.code == 2
        said = capsys.readouterr().err
        assert said.startswith("bestleaf: ")
        assert len(said) <= LONGEST_SENTENCE + 1, arguments[:2]
        assert said.count("\n") == 1


@pytest.mark.parametrize("name", ["max_features", "epsilon", "max_time", "n_jobs", "random_state"])
def test_truth_values_are_no_numbers(name):
    with pytest.raises(ValueError, match=f"{name} must be a number, not a truth value, got True"):
        made_selector(choose="training", **{name: True}).fit(X, Y)


def test_truth_values_are_no_numbers_in_expert_settings():
    with pytest.raises(TypeError, match="max_samples must be a whole number of at least 1 or None, got True"):
        BestLeafSelector(choose="training", search=SearchOptions(max_samples=True)).fit(X, Y)
    with pytest.raises(TypeError, match="n_neighbors must be a whole number"):
        BestLeafSelector(choose="training", estimator=NeighbourVotes(n_neighbors=True)).fit(X, Y)


@pytest.mark.parametrize("rows", [2, 6, 49, 50])
def test_the_value_of_neighbours_needs_no_50_rows(rows):
    oracle = KNNOracle(X[[0, 1] * 25][:rows], np.arange(rows) % 2, n_neighbors=1)
    assert oracle.subsample == min(rows, 50)
    assert 0 <= oracle.sample([0], np.random.default_rng(0)) <= 1
    assert oracle.settings()["subsample"] == oracle.subsample


def test_a_subsample_that_is_given_is_still_checked():
    with pytest.raises(ValueError, match=r"subsample must be between 2 and the number of rows \(40\), got 50"):
        KNNOracle(X, Y, subsample=50)


def test_the_largest_numbers_there_are_can_be_predicted():
    y = np.where(Y == 1, 1.7e308, -1.7e308)
    selector = BestLeafSelector(
        choose="training", estimator=NeighbourVotes(n_neighbors=3, task="regression"), random_state=0, epsilon=0.1
    )
    huge, usual = validate(selector, X, y, holdout=0.3), validate(selector, X, Y, holdout=0.3)
    assert huge.selector.score_ == usual.selector.score_
    assert huge.score == usual.score
    BestLeafSelector(choose="training", random_state=0, epsilon=0.1).fit(X, y)  # as classes


@pytest.fixture
def looping(tmp_path, monkeypatch):
    """A folder with a loop of links for every kind of file."""
    monkeypatch.chdir(tmp_path)
    frame("a", "b").to_csv("t.csv", index=False)
    for name in ("loop.csv", "loop.json", "loop.html", "loop.blf"):
        os.symlink(f"other-{name}", name)
        os.symlink(name, f"other-{name}")
    os.symlink("here", "here")
    return tmp_path


LOOPS = [
    ["select", "loop.csv", "--target", "y"],
    ["select", "here/t.csv", "--target", "y"],
    ["select", "t.csv", "--target", "y", "--out", "loop.csv"],
    ["select", "t.csv", "--target", "y", "--out", "here/a.csv"],
    ["select", "t.csv", "--target", "y", "--report", "loop.html", "--force-overwrite"],
    ["select", "t.csv", "--target", "y", "--checkpoint", "loop.blf"],
    ["select", "t.csv", "--target", "y", "--config", "loop.json"],
    ["compare", "loop.csv", "--target", "y"],
    ["verify", "loop.json"],
    ["report", "loop.json"],
    ["report", "t.csv", "--out", "loop.html"],
    ["reproduce", "fixed", "--json", "loop.json", "--runs", "1"],
]


@pytest.mark.parametrize("arguments", LOOPS, ids=" ".join)
def test_a_loop_of_links_is_one_sentence(looping, arguments, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["bestleaf", *arguments])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("bestleaf: ")
    assert said.count("\n") == 1


def test_a_loop_of_links_is_no_checkpoint(looping):
    with pytest.raises(ValueError, match=r"loop\.blf must be a file, got a loop of links"):
        search(checkpoint=Checkpoint("loop.blf"))()


IMPORTING = """
import os, signal, sys
import bestleaf.__main__ as entry

class AtImport:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, AtImport())
sys.argv = ["bestleaf", *{arguments!r}]
entry.main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("name", ["typer", "bestleaf.cli.select", "numba", "pandas", "sklearn.feature_selection"])
def test_ctrl_c_during_import_is_one_line(tmp_path, name):
    frame("a", "b").to_csv(tmp_path / "t.csv", index=False)
    arguments = ["select", str(tmp_path / "t.csv"), "--target", "y", *configured(max_samples=100)]
    code = IMPORTING.format(name=name, arguments=arguments)
    end = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert end.returncode == 130
    assert end.stderr.strip() == "bestleaf: interrupted"


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_stays_what_it_was_around_imports():
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with at_once():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with at_once():
            assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, previous)


def test_ctrl_c_in_a_command_is_one_line(tmp_path, monkeypatch, capsys):
    def interrupted(*given, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr("bestleaf.tables.load.first_look", interrupted)
    monkeypatch.setattr(sys, "argv", ["bestleaf", "select", "t.csv", "--target", "y"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 130
    assert capsys.readouterr().err == "bestleaf: interrupted\n"


HISTORY = [
    ("samples", -1),
    ("samples", 1.5),
    ("samples", 10**9),
    ("growths", "3"),
    ("leaves", -3),
    ("exact_evaluations", None),
    ("gap", 7),
    ("seconds", -1.0),
    ("seconds", 1e9),
    ("score", 1.5),
    ("score", -0.1),
    ("best", 3),
]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A checkpoint with a history."""
    path = tmp_path_factory.mktemp("saved") / "run.blf"
    settings = {"epsilon": 0.05, "random_state": 0, "guarantee": "grown", "max_samples": 4000}
    rng = np.random.default_rng(1)
    many = rng.normal(size=(80, 20))
    y = (many[:, 0] + many[:, 1] + rng.normal(size=80) > 0).astype(int)

    def again():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return made_selector(choose="training", **settings, checkpoint=Checkpoint(path, every=0)).fit(many, y)

    again()
    found = read_file(path)
    assert found["snapshots"]["0"]["notes"]
    again()  # a genuine history is accepted
    return path, again


@pytest.mark.parametrize(("name", "value"), HISTORY)
def test_numbers_of_the_history_in_a_checkpoint_are_checked(saved, name, value):
    path, again = saved
    genuine = path.read_bytes()
    found = read_file(path)
    for snapshot in found["snapshots"].values():
        snapshot["notes"][-1][name] = value
    try:
        write_file(path, {**found, **found.arrays})
        with pytest.raises(ValueError, match=f"history.{name} must be"):
            again()
    finally:
        path.write_bytes(genuine)


@pytest.mark.parametrize("name", ["samples", "seconds", "score"])
def test_a_history_that_goes_back_is_refused(saved, name):
    path, again = saved
    genuine = path.read_bytes()
    found = read_file(path)
    for snapshot in found["snapshots"].values():
        note = snapshot["notes"][-1]
        snapshot["notes"].append({**note, name: 0})
    try:
        write_file(path, {**found, **found.arrays})
        with pytest.raises(ValueError, match="history must not go back in time, samples or best value"):
            again()
    finally:
        path.write_bytes(genuine)


def test_python_callers_hear_of_arguments_not_of_options(tmp_path):
    path = tmp_path / "t.csv"
    frame("age", "noise").to_csv(path, index=False)
    table = read_frame(path)
    with pytest.raises(ValueError, match=r"^target must be a column of the table, got 'ag' \(did you mean 'age'\?\)"):
        prepared(table, "ag")
    with pytest.raises(ValueError, match=r"^task 'regression' needs numbers in the target, got text in 'y'$"):
        prepared(table.assign(y="a").assign(y=lambda one: one.y.where(one.age > 0, "b")), "y", task="regression")
    with pytest.raises(ValueError, match=r"^impute must be one of median, mean, most_frequent, keep, got 'guess'$"):
        prepared(table, "y", impute="guess")
    with pytest.raises(ValueError, match=r"columns 'age'; impute='median' fills them$"):
        prepared(table.assign(age=table.age.where(table.age > 0)), "y")
    ready = prepared(table, "y")
    with pytest.raises(ValueError, match=r"^include must name a column of the table other than the target, got 'y'"):
        select_from_table(ready, include=["y"])
    with pytest.raises(ValueError, match=r"^exclude must leave at least one of the features, got all 2$"):
        select_from_table(ready, exclude=["age", "noise"])
    with pytest.raises(ValueError, match=r"^feature_groups must list columns for every group, got 3 for 'a'$"):
        select_from_table(ready, feature_groups={"a": 3})
    with pytest.raises(
        ValueError, match=r"^max_features must be at least 2, the number of features in include, got 1$"
    ):
        select_from_table(ready, include=["age", "noise"], max_features=1)
    with pytest.raises(ValueError, match=r"beside the 38 rows that holdout keeps, got 2$"):
        select_from_table(ready, holdout=0.95)


def test_the_command_line_speaks_of_options(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table = frame("age", "noise").assign(name="a")
    table.assign(age=table.age.where(table.age > 0)).to_csv("t.csv", index=False)
    table.assign(y=np.where(Y == 1, "a", "b")).to_csv("text.csv", index=False)
    table.to_csv("full.csv", index=False)
    told = {
        ("select", "t.csv", "--target", "Y"): "--target must be a column of the table, got 'Y' (did you mean 'y'?)",
        ("compare", "t.csv", "--target", "Y"): "--target must be a column of the table",
        ("select", "t.csv", "--target", "y"): "in the columns 'age'; --impute median fills them",
        (
            "select",
            "text.csv",
            "--target",
            "y",
            "--task",
            "regression",
        ): "--task regression needs numbers in the target",
        (
            "select",
            "full.csv",
            "--target",
            "y",
            "--include",
            "x",
        ): "--include must name a column of the table other than",
        ("select", "full.csv", "--target", "y", "--holdout", "0.95"): "38 rows that --holdout keeps",
    }
    for arguments, words in told.items():
        monkeypatch.setattr(sys, "argv", ["bestleaf", *arguments])
        with pytest.raises(SystemExit):
            cli.main()
        assert words in capsys.readouterr().err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.parametrize(
    ("output", "told"), [(">&-", ""), (">/dev/full", "the output cannot be written: no space left")]
)
def test_an_output_that_cannot_be_written_does_not_lose_the_result(tmp_path, output, told):
    frame("a", "b").to_csv(tmp_path / "t.csv", index=False)
    further = " ".join(configured(max_samples=100))
    command = f"{sys.executable} -m bestleaf select t.csv --target y {further} --json r.json {output}"
    end = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert end.returncode in (0, 3)
    assert (tmp_path / "r.json").exists()
    assert "Traceback" not in end.stderr
    assert end.stderr.startswith(f"bestleaf: {told}" if told else "")
    assert end.stderr.count("\n") == bool(told)
