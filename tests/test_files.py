"""Files that are written together or not at all."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import textwrap

import pytest

from bestleaf.files import (
    check_writable,
    create_beside,
    remove_leftovers,
    replace_file,
    write_all_atomically,
    write_atomically,
)


def contents(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def failing(real, at):
    """Return a function that fails the `at`-th time it is called."""
    calls = []

    def fail(*arguments):
        calls.append(arguments)
        if len(calls) == at:
            raise OSError(28, "No space left on device")
        return real(*arguments)

    return fail


@pytest.mark.parametrize("name", ["write", "fsync"])
@pytest.mark.parametrize("at", [1, 3])
def test_when_one_file_cannot_be_written_all_stay_as_they_were(tmp_path, monkeypatch, name, at):
    (tmp_path / "first").write_text("old first")
    (tmp_path / "third").write_text("old third")
    before = contents(tmp_path)
    texts = {tmp_path / one: f"new {one}" for one in ("first", "second", "third")}
    with monkeypatch.context() as patch:
        patch.setattr(os, name, failing(getattr(os, name), at))
        with pytest.raises(OSError, match="No space left"):
            write_all_atomically(texts)
    assert contents(tmp_path) == before
    write_all_atomically(texts)
    assert contents(tmp_path) == {path.name: text for path, text in texts.items()}


def test_texts_that_cannot_be_written_and_names_of_one_file_change_nothing(tmp_path):
    with pytest.raises(UnicodeEncodeError):
        write_all_atomically({tmp_path / "first": "fine", tmp_path / "second": "\udcff"})
    assert contents(tmp_path) == {}
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with pytest.raises(ValueError, match="every text must have a file of its own"):
        write_all_atomically({tmp_path / "file": "one", tmp_path / "link": "two"})
    assert [path.name for path in tmp_path.iterdir()] == ["link"]


def test_names_of_temporary_files_cannot_be_foreseen_and_are_opened_exclusively(tmp_path, monkeypatch):
    names = [create_beside(tmp_path / "file") for _ in range(2)]
    for handle, _ in names:
        os.close(handle)
    assert names[0][1] != names[1][1]
    monkeypatch.setattr("bestleaf.files.token_hex", lambda size: "0" * 2 * size)
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / f".file.{'0' * 32}.partial").symlink_to(victim)
    with pytest.raises(FileExistsError):
        create_beside(tmp_path / "file")
    assert victim.read_text() == "precious"


def test_a_write_in_several_parts_is_whole(tmp_path, monkeypatch):
    real = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: real(handle, data[:3]))
    replace_file(tmp_path / "file", b"one part ", memoryview(b"and another"))
    assert (tmp_path / "file").read_bytes() == b"one part and another"


@pytest.mark.parametrize("write", [write_atomically, check_writable], ids=["write", "check"])
def test_what_a_killed_run_has_left_is_cleared_away_by_the_next(tmp_path, write):
    path = tmp_path / "file"
    path.write_text("old")
    killed = """
        import os, signal, sys
        from pathlib import Path
        from bestleaf.files import create_beside
        create_beside(Path(sys.argv[1]))
        os.kill(os.getpid(), signal.SIGKILL)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(killed), str(path)], check=False)
    assert len(contents(tmp_path)) == 2
    mine = tmp_path / ".file.notes.partial"
    mine.write_text("not of ours")
    write(path, *(["new"] if write is write_atomically else []))
    assert contents(tmp_path) == {"file": "new" if write is write_atomically else "old", mine.name: "not of ours"}


def test_what_another_run_is_writing_now_is_not_cleared_away(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    held = [create_beside(path)]
    remove_leftovers(path)
    assert {os.path.basename(name) for _, name in held} < contents(tmp_path).keys()
    for handle, _ in held:
        os.close(handle)
    remove_leftovers(path)
    assert contents(tmp_path) == {"file": "old"}


def test_a_file_keeps_its_permissions_and_a_new_one_has_the_usual(tmp_path):
    private, new, usual = tmp_path / "private", tmp_path / "new", tmp_path / "usual"
    private.write_text("old")
    private.chmod(0o600)
    usual.write_text("as anybody writes it")
    write_all_atomically({private: "secret", new: "text"})
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    assert stat.S_IMODE(new.stat().st_mode) == stat.S_IMODE(usual.stat().st_mode)
