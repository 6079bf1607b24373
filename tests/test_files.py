"""Files that are written together or not at all."""

from __future__ import annotations

import os
import stat

import pytest

from bestleaf.files import (
    create_beside,
    write_all_atomically,
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


@pytest.mark.parametrize("at", [1, 3])
def test_when_one_file_cannot_be_written_all_stay_as_they_were(tmp_path, monkeypatch, at):
    (tmp_path / "first").write_text("old first")
    (tmp_path / "third").write_text("old third")
    before = contents(tmp_path)
    texts = {tmp_path / one: f"new {one}" for one in ("first", "second", "third")}
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", failing(os.fsync, at))
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
    (tmp_path / f".{'0' * 32}.partial").symlink_to(victim)
    with pytest.raises(FileExistsError):
        create_beside(tmp_path / "file")
    assert victim.read_text() == "precious"


def test_a_file_keeps_its_permissions_and_a_new_one_has_the_usual(tmp_path):
    private, new, usual = tmp_path / "private", tmp_path / "new", tmp_path / "usual"
    private.write_text("old")
    private.chmod(0o600)
    usual.write_text("as anybody writes it")
    write_all_atomically({private: "secret", new: "text"})
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    assert stat.S_IMODE(new.stat().st_mode) == stat.S_IMODE(usual.stat().st_mode)
