"""The files of a command that goes on from its checkpoint."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from bestleaf import cli
from selecting import configured

FEW = ["select", "table.csv", "--target", "label"]


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
    def run(samples, *more):
        further = configured(choose="training", guarantee="grown", max_samples=samples, verbose=0)
        monkeypatch.setattr(sys, "argv", ["bestleaf", *FEW, *further, *more])
        with pytest.raises(SystemExit) as end:
            cli.main()
        return end.value.code, capsys.readouterr().err

    return run


FILES = ["--checkpoint", "run.blf", "--out", "a.csv", "--json", "a.json"]


def test_a_file_that_exists_is_replaced_only_if_asked(folder, select):
    assert select(50, *FILES) == (3, "")
    before = (folder / "a.json").read_text()
    assert select(400, *FILES) == (2, "bestleaf: --out a.csv exists; --force-overwrite replaces it\n")
    assert (folder / "a.json").read_text() == before
    assert select(400, *FILES, "--force-overwrite")[0] in (0, 3)
    assert (folder / "a.json").read_text() != before
    assert sorted(os.listdir(folder)) == ["a.csv", "a.json", "run.blf", "table.csv"]


def test_a_disk_that_is_full_is_told_on_the_command_line_and_nothing_is_left(folder, select, monkeypatch):
    real, calls = os.fsync, []

    def full(handle):
        calls.append(handle)
        if len(calls) > 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        code, told = select(400, "--checkpoint", "run.blf")
    assert code in (0, 3)
    assert told == (
        f"bestleaf: checkpoint could not be written: {folder / 'run.blf'} cannot be read or written: no space left on "
        "device; the search goes on\n"
    )
    assert sorted(os.listdir(folder)) == ["run.blf", "table.csv"]
    assert select(400, "--checkpoint", "run.blf")[0] == code


def test_snapshots_left_by_a_killed_run_are_cleared_away_by_the_next(folder, select):
    (folder / f".run.blf.{'0' * 32}.partial").write_bytes(b"half of a snapshot")
    (folder / f".a.csv.{'1' * 32}.partial").write_bytes(b"half of a table")
    assert select(50, *FILES)[0] == 3
    assert sorted(os.listdir(folder)) == ["a.csv", "a.json", "run.blf", "table.csv"]


def test_two_runs_on_one_checkpoint_the_second_is_refused(folder, select):
    hold = "import sys, pathlib; from bestleaf.checkpoint.file import Lock; held = Lock(pathlib.Path(sys.argv[1]))"
    holder = subprocess.Popen(
        [sys.executable, "-c", f"{hold}; print('held', flush=True); sys.stdin.read()", str(folder / "run.blf")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with holder:
        assert holder.stdout.readline() == "held\n"
        code, told = select(50, *FILES)
        holder.stdin.close()
    assert code == 2
    assert told == (
        f"bestleaf: checkpoint run.blf is being used by another run (process {holder.pid}); wait until it ends, or "
        "give another file\n"
    )
    assert select(50, *FILES)[0] == 3
