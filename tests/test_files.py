"""Files that are written together or not at all."""

from __future__ import annotations

import os

import pytest

from bestleaf.files import in_words, write_all_atomically


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


@pytest.mark.parametrize("name", ["fsync", "replace"])
@pytest.mark.parametrize("at", [1, 2, 3])
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


def test_files_are_taken_back_where_the_disk_knows_no_links(tmp_path, monkeypatch):
    (tmp_path / "first").write_text("old first")
    monkeypatch.setattr(os, "link", failing(os.link, 1))
    monkeypatch.setattr(os, "replace", failing(os.replace, 2))
    with pytest.raises(OSError, match="No space left"):
        write_all_atomically({tmp_path / "first": "new", tmp_path / "second": "new"})
    assert contents(tmp_path) == {"first": "old first"}


def test_a_text_that_cannot_be_encoded_changes_nothing(tmp_path):
    with pytest.raises(UnicodeEncodeError):
        write_all_atomically({tmp_path / "first": "fine", tmp_path / "second": "\udcff"})
    assert contents(tmp_path) == {}


def test_two_names_of_one_file_are_refused(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with pytest.raises(ValueError, match="every text must have a file of its own"):
        write_all_atomically({tmp_path / "file": "one", tmp_path / "link": "two"})
    assert not (tmp_path / "file").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["link"]


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (FileNotFoundError(2, "No such file or directory", "a.json"), "there is no file a.json"),
        (IsADirectoryError(21, "Is a directory", "a"), "a is a folder, not a file"),
        (PermissionError(13, "Permission denied", "a"), "a cannot be read or written: permission denied"),
        (OSError(28, "No space left on device"), "no space left on device"),
        (FileNotFoundError("there is no file a"), "there is no file a"),
    ],
)
def test_what_went_wrong_with_a_file_is_a_sentence(error, sentence):
    assert in_words(error) == sentence
