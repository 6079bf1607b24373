"""A command that goes on from its checkpoint replaces what it has written before, and nothing else."""

from __future__ import annotations

import errno
import os
import sys

import numpy as np
import pandas as pd
import pytest

from bestleaf import cli
from bestleaf.checkpoint.file import Lock, read_file, write_file
from bestleaf.cli import outputs
from selecting import configured

SELECT = ["select", "table.csv", "--target", "label"]
RUN = ["--checkpoint", "run.blf"]
FILES = [*RUN, "--out", "a.csv", "--json", "a.json"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.normal(size=(60, 10)), columns=[f"x{n}" for n in range(10)])
    frame["label"] = (frame.x0 + frame.x1 > 0).astype(int)
    frame.to_csv("table.csv", index=False)
    return tmp_path


@pytest.fixture
def select(folder, monkeypatch, capsys):
    def run(samples, *more, seed=0):
        further = configured(choose="training", guarantee="grown", max_samples=samples, random_state=seed, verbose=0)
        monkeypatch.setattr(sys, "argv", ["bestleaf", *SELECT, *further, *more])
        with pytest.raises(SystemExit) as end:
            cli.main()
        return end.value.code, capsys.readouterr().err

    return run


def test_the_same_command_goes_on_and_writes_its_own_files_again(folder, select):
    assert select(50, *FILES) == (3, "")
    first, marks = (folder / "a.json").read_text(), read_file(folder / "run.blf")["outputs"]
    assert marks.keys() == {str(folder / "a.csv"), str(folder / "a.json")}
    assert select(400, *RUN)[0] in (0, 3)
    assert read_file(folder / "run.blf")["outputs"] == marks  # they stay when the search goes on
    assert select(400, *FILES)[0] in (0, 3)
    again = (folder / "a.json").read_text()
    assert again != first
    assert sorted(os.listdir(folder)) == ["a.csv", "a.json", "run.blf", "table.csv"]
    select(400, "--json", "c.json")
    assert (folder / "c.json").read_text().split('"seconds"')[0] == again.split('"seconds"')[0]
    told = "bestleaf: run.blf is the checkpoint of another search: seed was 0, got 7\n"
    assert select(400, *RUN, seed=7) == (2, told)


def test_a_file_that_somebody_else_has_written_or_changed_is_kept(folder, select):
    (folder / "b.json").write_text("precious")
    assert select(50, *FILES)[0] == 3
    assert select(400, *RUN, "--json", "b.json") == (
        2,
        "bestleaf: --json b.json exists and is not as the run of run.blf left it; --force-overwrite replaces it\n",
    )
    assert (folder / "b.json").read_text() == "precious"
    assert select(400, *RUN, "--json", "b.json", "--force-overwrite")[0] in (0, 3)
    assert (folder / "b.json").read_text() != "precious"
    (folder / "a.csv").write_text("my notes")
    code, told = select(400, *FILES)
    assert code == 2
    assert "--out a.csv exists and is not as the run of run.blf left it" in told
    assert (folder / "a.csv").read_text() == "my notes"


def test_what_a_run_that_was_killed_before_it_wrote_would_have_written_is_not_its_own(folder, select, monkeypatch):
    """Its name alone gives no right to a file that somebody has put there in the meantime."""

    def killed(texts):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(outputs, "write_all_atomically", killed)
        assert select(50, *FILES)[0] == 130
    (folder / "a.json").write_text("precious")
    assert select(400, *FILES)[0] == 2
    assert (folder / "a.json").read_text() == "precious"


@pytest.mark.parametrize("wrong", [3, {"a": [1]}])
def test_marks_that_cannot_be_are_refused(folder, select, wrong):
    assert select(50, *FILES)[0] == 3
    found = read_file(folder / "run.blf")
    write_file(folder / "run.blf", {**found, **found.arrays, "outputs": wrong})
    told = "bestleaf: run.blf is not a checkpoint of bestleaf: outputs must list the marks of each file\n"
    assert select(400, *FILES) == (2, told)


def test_a_result_is_written_even_if_the_checkpoint_cannot_be(folder, select, monkeypatch):
    class TakenLock(Lock):
        def __init__(self, checkpoint):
            raise ValueError("checkpoint run.blf is being used by another run")

    monkeypatch.setattr("bestleaf.checkpoint.file.Lock", TakenLock)
    assert select(50, *FILES) == (
        3,
        "bestleaf: the checkpoint does not know of the files that are written now: checkpoint run.blf is being used by "
        "another run\n",
    )
    assert (folder / "a.json").exists()


def test_a_disk_that_is_full_is_told_on_the_command_line_and_nothing_is_left(folder, select, monkeypatch):
    real, calls = os.fsync, []

    def full(handle):
        calls.append(handle)
        if len(calls) > 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(handle)

    (folder / f".run.blf.{'0' * 32}.partial").write_bytes(b"half of a snapshot that a killed run left")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        code, told = select(400, *RUN)
    assert code in (0, 3)
    assert told == (
        f"bestleaf: checkpoint could not be written: {folder / 'run.blf'} cannot be read or written: no space left on "
        "device; the search goes on\n"
    )
    assert sorted(os.listdir(folder)) == ["run.blf", "table.csv"]
