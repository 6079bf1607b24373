"""The files of a command that goes on from its checkpoint."""

from __future__ import annotations

import errno
import os
import sys

import numpy as np
import pandas as pd
import pytest

from bestleaf import cli
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


def test_the_same_command_goes_on_and_replaces_files_only_if_asked(folder, select):
    assert select(50, *FILES) == (3, "")
    first = (folder / "a.json").read_text()
    assert select(400, *RUN)[0] in (0, 3)
    assert select(400, *FILES) == (2, "bestleaf: --out a.csv exists; --force-overwrite replaces it\n")
    assert (folder / "a.json").read_text() == first
    assert select(400, *FILES, "--force-overwrite")[0] in (0, 3)
    again = (folder / "a.json").read_text()
    assert again != first
    assert sorted(os.listdir(folder)) == ["a.csv", "a.json", "run.blf", "table.csv"]
    select(400, "--json", "c.json")
    assert (folder / "c.json").read_text().split('"seconds"')[0] == again.split('"seconds"')[0]
    told = "bestleaf: run.blf is the checkpoint of another search: seed was 0, got 7\n"
    assert select(400, *RUN, seed=7) == (2, told)


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
