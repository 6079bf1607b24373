"""What is wrong with an input is one sentence of at most 300 characters, whatever was given."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB

from bestleaf import (
    BestLeafSelector,
    KNNOracle,
    NeighbourVotes,
    best_leaf,
    problems,
)
from bestleaf.checks import LONGEST_SENTENCE
from bestleaf.tables import read_frame
from bestleaf.tables.load import prepared
from selecting import bestleaf, made_selector, refused

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


def search(**settings):
    return lambda: best_leaf(problems.paper_lattice(), **{"epsilon": 0.1, "delta": 0.1, **settings})


def fit_to(X, **settings):
    return lambda: BestLeafSelector(choose="training", **settings).fit(X, Y)


WRONG = {
    "a text for a number": search(max_samples=LONG),
    "a value whose repr fails": search(max_samples=Unshowable()),
    "a proposal": search(proposal=LONG),
    "a memory": search(memory=[LONG]),
    "a memory's name": search(memory=LONG),
    "a memory's folder": search(memory=f"{LONG[:200]}/{LONG[:200]}/run.db"),
    "a scoring without an estimator": fit_to(X, scoring=LONG),
    "a scoring": fit_to(X, estimator=GaussianNB(), scoring=LONG),
    "features by name": fit_to(frame("a", LAST), include=[LONG]),
    "groups that overlap": fit_to(X, feature_groups={LONG: [0, 1], LAST: [1]}),
    "groups of no column": fit_to(frame(LONG, LAST), feature_groups=[["z"]]),
    "columns of text": fit_to(pd.DataFrame({LONG: ["a"] * 40, LAST: ["b"] * 40})),
    "columns with gaps": fit_to(frame(LONG, LAST) * np.nan),
    "a table without the target": lambda: prepared(frame(LONG, LAST), LONG + "x"),
    "gaps": lambda: prepared(frame(LONG, LAST).replace(0, 1).mask(lambda one: one < 1), "y"),
    "the ending of a file": lambda: read_frame(f"a.{LONG}"),
    "ties": lambda: KNNOracle(X, Y, ties=LONG),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_sentence_has_at_most_300_characters(name):
    with pytest.raises((ValueError, TypeError, OSError)) as told:
        WRONG[name]()
    said = str(told.value)
    assert 10 < len(said) <= LONGEST_SENTENCE
    assert "\n" not in said


def test_the_command_line_says_at_most_300_characters(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame("a").to_csv("t.csv", index=False)
    for arguments in (
        ["select", "t.csv", "--target", LONG],
        ["select", f"{LONG}.csv", "--target", "y"],
        ["select", "t.csv", "--target", "y", "--out", f"{LONG}.csv"],
        ["select", "t.csv", "--target", "y", "--epsilon", LONG],
        ["select", "t.csv", "--target", "y", "--estimator", LONG],
        ["select", "t.csv", "--target", "y", f"--{LONG}"],
        ["verify", LONG],
        [LONG],
        ["reproduce", "selection", "--data", LONG],
    ):
        assert len(refused(*arguments)) <= LONGEST_SENTENCE + 1, arguments[:2]


@pytest.mark.parametrize("name", ["max_features", "epsilon", "max_time", "n_jobs", "random_state", "max_samples"])
def test_truth_values_are_no_numbers(name):
    with pytest.raises((ValueError, TypeError), match=f"{name} must be a .*number.*, got True"):
        made_selector(choose="training", **{name: True}).fit(X, Y)


@pytest.mark.parametrize("rows", [2, 6, 49, 50])
def test_the_value_of_neighbours_needs_no_50_rows(rows):
    oracle = KNNOracle(X[[0, 1] * 25][:rows], np.arange(rows) % 2, n_neighbors=1)
    assert oracle.subsample == min(rows, 50)
    assert 0 <= oracle.sample([0], np.random.default_rng(0)) <= 1
    assert oracle.settings()["subsample"] == oracle.subsample


def test_the_largest_numbers_there_are_can_be_predicted():
    y = np.where(Y == 1, 1.7e308, -1.7e308)
    votes = NeighbourVotes(n_neighbors=3, task="regression")
    settings = {"choose": "training", "random_state": 0, "epsilon": 0.1}
    huge, usual = (BestLeafSelector(votes, **settings).fit(X, one) for one in (y, Y))
    assert huge.score_ == usual.score_
    BestLeafSelector(**settings).fit(X, y)  # as classes


@pytest.fixture
def looping(tmp_path, monkeypatch):
    """A folder with a loop of links for every kind of file."""
    monkeypatch.chdir(tmp_path)
    frame("a", "b").to_csv("t.csv", index=False)
    for name in ("loop.csv", "loop.json", "loop.html", "loop.db"):
        os.symlink(f"other-{name}", name)
        os.symlink(name, f"other-{name}")
    os.symlink("here", "here")
    return tmp_path


LOOPS = [
    ["select", "loop.csv", "--target", "y"],
    ["select", "here/t.csv", "--target", "y"],
    ["select", "t.csv", "--target", "y", "--report", "loop.html", "--force-overwrite"],
    ["select", "t.csv", "--target", "y", "--memory", "loop.db"],
    ["verify", "loop.json"],
    ["report", "t.csv", "--out", "loop.html"],
    ["reproduce", "fixed", "--json", "loop.json", "--runs", "1"],
]


@pytest.mark.parametrize("arguments", LOOPS, ids=" ".join)
def test_a_loop_of_links_is_one_sentence(looping, arguments):
    assert refused(*arguments)


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


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("name", ["typer", "numba", "sklearn.feature_selection"])
def test_ctrl_c_during_import_is_one_line(tmp_path, name):
    frame("a", "b").to_csv(tmp_path / "t.csv", index=False)
    arguments = ["select", str(tmp_path / "t.csv"), "--target", "y", "--choose", "training"]
    code = IMPORTING.format(name=name, arguments=arguments)
    end = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert end.returncode == 130
    assert end.stderr.strip() == "bestleaf: interrupted"


def test_ctrl_c_in_a_command_is_one_line(monkeypatch):
    def interrupted(*given, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr("bestleaf.tables.load.load_table", interrupted)
    assert bestleaf("select", "t.csv", "--target", "y") == (130, "", "bestleaf: interrupted\n")


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.parametrize(
    ("output", "told"), [("| true", ""), (">&-", ""), (">/dev/full", "the output cannot be written: no space left")]
)
def test_an_output_that_cannot_be_written_does_not_lose_the_result(tmp_path, output, told):
    frame("a", "b").to_csv(tmp_path / "t.csv", index=False)
    options = "--target y --choose training --max-time 5 --certificate r.json"
    command = f"{sys.executable} -m bestleaf select t.csv {options} {output}"
    end = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert end.returncode in (0, 3)
    assert (tmp_path / "r.json").exists()
    assert "Traceback" not in end.stderr
    assert end.stderr.startswith(f"bestleaf: {told}" if told else "")
    assert end.stderr.count("\n") == bool(told)
