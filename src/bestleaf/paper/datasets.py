"""The paper's data sets: the linear one, bit for bit, and others like it; Madelon, from a file or fetched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

LINEAR_NAMES = ("x", "y", "z", "3x", "2y", "xz", "|x-z|", "x^z", "2x^z", "x^z+3y")
# The features that depend on the label, counted from 0: 5 that decide it, and 15 combinations of these.
MADELON_RELEVANT = (28, 48, 64, 105, 128, 153, 241, 281, 318, 336, 338, 378, 433, 442, 451, 453, 455, 472, 475, 493)

Data = Any  # a Bunch, or (data, target) with return_X_y


def _bunch(
    X: np.ndarray, y: np.ndarray, names: list[str], words: str, return_X_y: bool, **more: tuple[int, ...]
) -> Data:
    from sklearn.utils import Bunch

    return (X, y) if return_X_y else Bunch(data=X, target=y, feature_names=names, DESCR=words, **more)


def _linear(x: np.ndarray, y: np.ndarray, z: np.ndarray, noise: np.ndarray, words: str, return_X_y: bool) -> Data:
    """Return the 10 features made of x, y and z, then the noise, and the label; all in single precision."""
    two, three = np.float32(2), np.float32(3)
    power = np.power(x, z, dtype=np.float32)
    columns = [x, y, z, three * x, two * y, x * z, np.abs(x - z), power, two * power, power + three * y]
    label = np.float32(0.1) * x - np.float32(0.8) * y + np.float32(0.6) * z >= 0
    names = [*LINEAR_NAMES, *(f"noise{number}" for number in range(noise.shape[1]))]
    return _bunch(np.column_stack([*columns, noise]), label.astype(np.int64), names, words, return_X_y)


def _published_generator(seed: int) -> Iterator[np.float32]:
    """Yield the uniform numbers of the published program, of 15 bits, by its linear congruential generator."""
    while True:
        seed = (214013 * seed + 2531011) % 2**32
        yield np.float32((seed >> 16) & 0x7FFF) / np.float32(32767)


def load_linear(*, return_X_y: bool = False) -> Data:
    """Return the paper's linear data set: 300 rows, 30 features, 128 positives.

    The features are uniform x, y and z, seven functions of them, and twenty of noise. The label is
    0.1 x - 0.8 y + 0.6 z >= 0. With `return_X_y` the result is ``(data, target)`` instead of a Bunch.

    Examples
    --------
    >>> X, y = load_linear(return_X_y=True)
    >>> X.shape, int(y.sum())
    ((300, 30), 128)
    """
    draws = np.fromiter(_published_generator(10), np.float32, 300 * 23).reshape(300, 23)
    x, y, z = draws[:, :3].T
    return _linear(x, y, z, draws[:, 3:], "The linear data set of the paper, as its program makes it.", return_X_y)


def make_linear(
    n_samples: int = 300, n_features: int = 30, *, seed: int | np.random.Generator = 0, return_X_y: bool = False
) -> Data:
    """Return a new data set like the paper's linear one: 10 features made of x, y and z, the rest noise."""
    if n_samples < 1:
        raise ValueError(f"n_samples must be at least 1, got {n_samples}")
    if n_features < len(LINEAR_NAMES):
        raise ValueError(f"n_features must be at least {len(LINEAR_NAMES)}, got {n_features}")
    rng = np.random.default_rng(seed)
    x, y, z = rng.random((3, n_samples), np.float32)
    noise = rng.random((n_samples, n_features - len(LINEAR_NAMES)), np.float32)
    return _linear(x, y, z, noise, "A linear data set in the manner of the paper.", return_X_y)


def load_madelon(path: str | Path | None = None, *, return_X_y: bool = False) -> Data:
    """Return Madelon: 500 features, 20 of them relevant, labels 0 and 1 (2000 rows in the training set).

    `path` is a ``.data`` file with a ``.labels`` file beside it, or the folder of ``madelon_train.data``. Without a
    path, scikit-learn fetches the public copy, which has the training and the validation set. The Bunch also has
    ``relevant``; with `return_X_y` the result is ``(data, target)``.
    """
    data, labels = _fetch_madelon() if path is None else _read_madelon(Path(path))
    names = [f"f{number}" for number in range(data.shape[1])]
    words = "Madelon, made for the NIPS 2003 feature selection challenge (Guyon 2003)."
    return _bunch(data, (labels > 0).astype(np.int64), names, words, return_X_y, relevant=MADELON_RELEVANT)


def _read_madelon(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read a pair of .data and .labels files."""
    from bestleaf.tables.read import read_pair

    file = path / "madelon_train.data" if path.is_dir() else path
    try:
        table = read_pair(file)
    except ValueError as error:
        raise ValueError(f"{file} cannot be read: {error}") from None
    return table.drop(columns="label").to_numpy(np.float32), table["label"].to_numpy(np.float32)


def _fetch_madelon() -> tuple[np.ndarray, np.ndarray]:
    """Fetch the public copy, which holds the training and the validation set of the challenge."""
    from sklearn.datasets import fetch_openml

    try:
        found = fetch_openml("madelon", version=1, as_frame=False, parser="liac-arff")
    except OSError as error:
        raise OSError(f"Madelon could not be fetched ({error}); give the path of your own copy") from None
    return np.asarray(found.data, np.float32), np.where(found.target == max(found.target), 1.0, -1.0)
