"""The data sets: the paper's bit for bit, readers and generators."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from bestleaf.paper import MADELON_RELEVANT, load_linear, load_madelon, make_linear


def test_the_linear_data_are_the_papers():
    bunch = load_linear()
    assert bunch.data.shape == (300, 30)
    assert bunch.data.dtype == np.float32
    assert bunch.target.sum() == 128
    assert bunch.feature_names[5] == "xz"
    x, _, z = bunch.data[:, :3].T
    assert np.array_equal(bunch.data[:, 5], x * z)
    data, target = load_linear(return_X_y=True)
    assert np.array_equal(data, bunch.data)
    assert np.array_equal(target, bunch.target)
    exact = np.delete(data, [7, 8, 9], axis=1)  # powers may differ in the last bit between mathematical libraries
    assert hashlib.sha256(exact.tobytes()).hexdigest()[:16] == LINEAR_HASH


LINEAR_HASH = "b45014ceff973bfc"


def test_linear_data_of_other_sizes_follow_the_seed():
    first, again = make_linear(50, 12, seed=3), make_linear(50, 12, seed=3)
    assert first.data.shape == (50, 12)
    assert np.array_equal(first.data, again.data)
    assert not np.array_equal(first.data, make_linear(50, 12, seed=4).data)
    with pytest.raises(ValueError, match="n_features must be at least 10, got 5"):
        make_linear(50, 5)
    with pytest.raises(ValueError, match="n_samples must be at least 1, got 0"):
        make_linear(0)


def write_pair(folder: Path, rows: str, labels: str) -> Path:
    (folder / "madelon_train.data").write_text(rows)
    (folder / "madelon_train.labels").write_text(labels)
    return folder / "madelon_train.data"


def test_madelon_is_read_from_a_file_or_its_folder(tmp_path):
    path = write_pair(tmp_path, "1 2 3\n4 5 6\n", "-1\n1\n")
    for given in (path, str(tmp_path)):
        bunch = load_madelon(given)
        assert bunch.data.tolist() == [[1, 2, 3], [4, 5, 6]]
        assert bunch.target.tolist() == [0, 1]
        assert bunch.relevant == MADELON_RELEVANT


def test_broken_files_get_one_clear_sentence(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file .*madelon_train.data"):
        load_madelon(tmp_path)
    write_pair(tmp_path, "1 2\n3 4\n", "1\n")
    with pytest.raises(ValueError, match=r"has 2 rows but its .labels file has 1"):
        load_madelon(tmp_path)
    write_pair(tmp_path, "1 two\n", "1\n")
    with pytest.raises(ValueError, match="must hold numbers separated by spaces"):
        load_madelon(tmp_path)
