"""Two runs on one checkpoint: the second is refused in a sentence, and a run that was killed leaves no lock."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys

import pytest

from bestleaf import Checkpoint, Search, best_leaf, files, problems
from bestleaf.checkpoint import file as locks
from bestleaf.checkpoint.file import Lock

REFUSED = r"checkpoint run\.blf is being used by another run"
SETTINGS = {"epsilon": 0.2, "delta": 0.1, "seed": 0}
HOLDER = "import sys, pathlib; from bestleaf.checkpoint.file import Lock; lock = Lock(pathlib.Path(sys.argv[1]))"

pytestmark = pytest.mark.slow


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.blf"


@pytest.fixture
def another(path):
    """Another process that has the lock."""
    command = [sys.executable, "-c", f"{HOLDER}; print('locked', flush=True); sys.stdin.read()", str(path)]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "locked\n"
    yield holder
    holder.kill()
    holder.wait()
    holder.stdin.close()
    holder.stdout.close()


def beside(path):
    return sorted(one.name for one in path.parent.iterdir() if one != path)


def test_another_process_is_refused_in_a_sentence_until_the_first_one_ends(path, another):
    search = Search(problems.paper_lattice(), task="leaf", **SETTINGS, checkpoint=path)
    for _ in range(2):
        with pytest.raises(ValueError, match=rf"{REFUSED} \(process {another.pid}\); wait until it ends, or give"):
            search.run()
    assert not path.exists()
    another.send_signal(signal.SIGKILL)
    another.wait()
    assert beside(path) == [".run.blf.lock"]  # a process that was killed leaves the file, but no lock
    assert search.run().reason == "settled"
    assert beside(path) == []


def test_what_another_run_saved_in_the_meantime_is_read_again(path):
    late = Search(problems.paper_lattice(), task="leaf", **SETTINGS, checkpoint=path)
    first = best_leaf(problems.paper_lattice(), **SETTINGS, checkpoint=path)
    assert late.resume()
    assert late.run().samples == first.samples


def test_in_one_process_a_new_search_takes_over_from_one_that_does_not_run(path):
    always = Checkpoint(path, every=0)
    first = Search(problems.paper_lattice(), task="leaf", **SETTINGS, checkpoint=always)
    assert first.ask() is not None
    result = best_leaf(problems.paper_lattice(), **SETTINGS, checkpoint=path)
    with pytest.raises(ValueError, match=r"checkpoint run\.blf is being used by another search of this program"):
        first.tell(0.5)
    assert best_leaf(problems.paper_lattice(), **SETTINGS, checkpoint=path).samples == result.samples


def test_a_lock_does_not_follow_links(path):
    victim = path.with_name("victim")
    victim.write_text("precious")
    path.with_name(".run.blf.lock").symlink_to(victim)
    with pytest.raises(OSError, match=os.strerror(errno.ELOOP)):
        Lock(path)
    assert victim.read_text() == "precious"


def test_a_disk_without_locks_is_told_and_the_search_goes_on(path, monkeypatch):
    def fail(*given):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(files.fcntl, "flock", fail)
    with pytest.warns(RuntimeWarning, match=r"run\.blf cannot be locked here \(no locks available\): do not start"):
        result = best_leaf(problems.paper_lattice(), **SETTINGS, checkpoint=path)
    assert result.reason == "settled"
    assert beside(path) == []


def test_where_nothing_can_be_written_a_search_that_is_over_can_still_be_read(path, monkeypatch):
    first = best_leaf(problems.paper_lattice(), **SETTINGS, checkpoint=path)

    def fail(*given):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(locks.os, "open", fail)
    assert best_leaf(problems.paper_lattice(), **SETTINGS, checkpoint=path).samples == first.samples
