"""The paper's data sets: the linear one bit for bit, Madelon from a file or by its public name; generators."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from sklearn.utils import Bunch

__all__ = ["MADELON_RELEVANT", "load_linear", "load_madelon", "make_linear", "make_madelon_like"]

LINEAR_NAMES = ("x", "y", "z", "3x", "2y", "xz", "|x-z|", "x^z", "2x^z", "x^z+3y")
# The features that depend on the label (the 5 of the concept and 15 combinations of them), counted from 0.
MADELON_RELEVANT = (28, 48, 64, 105, 128, 153, 241, 281, 318, 336, 338, 378, 433, 442, 451, 453, 455, 472, 475, 493)


def _published_generator(seed: int) -> Iterator[np.float32]:
    """Yield the uniform numbers of the published program: a linear congruential generator, 15 bits a draw."""
    state = seed
    while True:
        state = (214013 * state + 2531011) % 2**32
        yield np.float32((state >> 16) & 0x7FFF) / np.float32(32767)


def _linear_columns(x: Any, y: Any, z: Any) -> list[Any]:
    """Return the 10 features made of x, y and z, in single precision."""
    two, three = np.float32(2), np.float32(3)
    power = np.power(x, z, dtype=np.float32)
    return [x, y, z, three * x, two * y, x * z, np.abs(x - z), power, two * power, power + three * y]


def _linear_label(x: Any, y: Any, z: Any) -> Any:
    return np.float32(0.1) * x - np.float32(0.8) * y + np.float32(0.6) * z >= 0


def _linear_bunch(rows: np.ndarray, labels: np.ndarray, description: str, return_X_y: bool) -> Any:
    noise = rows.shape[1] - len(LINEAR_NAMES)
    names = [*LINEAR_NAMES, *(f"noise{number}" for number in range(noise))]
    return _bunch(rows, labels.astype(np.int64), names, description, return_X_y)


def _bunch(
    data: np.ndarray, target: np.ndarray, names: list[str], description: str, return_X_y: bool, **more: Any
) -> Bunch | tuple[np.ndarray, np.ndarray]:
    from sklearn.utils import Bunch

    if return_X_y:
        return data, target
    return Bunch(data=data, target=target, feature_names=names, DESCR=description, **more)


def load_linear(*, return_X_y: bool = False) -> Any:
    """Return the paper's linear data set: 300 examples, 30 features, 128 positives.

    Uniform x, y, z; seven features made of them; twenty of noise. The label is 0.1 x - 0.8 y + 0.6 z >= 0.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.

    Examples
    --------
    >>> X, y = load_linear(return_X_y=True)
    >>> X.shape, int(y.sum())
    ((300, 30), 128)
    """
    draws = _published_generator(10)
    rows, labels = np.empty((300, 30), np.float32), np.empty(300, np.bool_)
    for row in range(300):
        x, y, z = next(draws), next(draws), next(draws)
        rows[row, :10] = _linear_columns(x, y, z)
        rows[row, 10:] = [next(draws) for _ in range(20)]
        labels[row] = _linear_label(x, y, z)
    return _linear_bunch(rows, labels, "The linear data set of the paper, as its program makes it.", return_X_y)


def make_linear(
    n_samples: int = 300, n_features: int = 30, *, seed: int | np.random.Generator = 0, return_X_y: bool = False
) -> Any:
    """Return a data set like the paper's linear one with other numbers: 10 features of x, y, z, the rest noise."""
    if n_samples < 1:
        raise ValueError(f"n_samples must be at least 1, got {n_samples}")
    if n_features < len(LINEAR_NAMES):
        raise ValueError(f"n_features must be at least {len(LINEAR_NAMES)}, got {n_features}")
    rng = np.random.default_rng(seed)
    x, y, z = rng.random((3, n_samples), np.float32)
    noise = rng.random((n_samples, n_features - len(LINEAR_NAMES)), np.float32)
    rows = np.hstack([np.stack(_linear_columns(x, y, z), axis=1), noise])
    return _linear_bunch(rows, _linear_label(x, y, z), "A linear data set in the manner of the paper.", return_X_y)


def load_madelon(path: str | Path | None = None, *, return_X_y: bool = False) -> Any:
    """Return Madelon: 500 features, 20 of them relevant, labels 0 and 1 (2000 examples in the training set).

    Parameters
    ----------
    path : path, default=None
        A ``.data`` file with the ``.labels`` file beside it, or the folder with ``madelon_train.data``. Without
        it the public copy, training and validation set together, is fetched by its name through scikit-learn.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch, which also has ``relevant``.
    """
    data, labels = _fetch_madelon() if path is None else _read_madelon(Path(path))
    names = [f"f{number}" for number in range(data.shape[1])]
    target = (labels > 0).astype(np.int64)
    description = "Madelon, made for the NIPS 2003 feature selection challenge (Guyon 2003)."
    return _bunch(data, target, names, description, return_X_y, relevant=MADELON_RELEVANT)


def _read_madelon(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read a pair of .data and .labels files."""
    file = path / "madelon_train.data" if path.is_dir() else path
    for part in (file, file.with_suffix(".labels")):
        if not part.is_file():
            raise FileNotFoundError(f"there is no file {part}; path must be a .data file with a .labels file beside it")
    try:
        data = np.loadtxt(file, dtype=np.float32, ndmin=2)
        labels = np.loadtxt(file.with_suffix(".labels"), dtype=np.float32, ndmin=1)
    except ValueError as error:
        raise ValueError(f"{file} and its .labels must hold numbers separated by spaces: {error}") from None
    if len(data) != len(labels):
        raise ValueError(f"{file} has {len(data)} rows but its .labels file has {len(labels)}")
    return data, labels


def _fetch_madelon() -> tuple[np.ndarray, np.ndarray]:
    """Fetch the public copy, which holds the training and the validation set of the challenge."""
    from sklearn.datasets import fetch_openml

    try:
        found = fetch_openml("madelon", version=1, as_frame=False, parser="liac-arff")
    except OSError as error:
        raise OSError(f"Madelon could not be fetched ({error}); give the path of your own copy") from None
    classes = np.unique(found.target)
    return np.asarray(found.data, np.float32), np.where(found.target == classes[-1], 1.0, -1.0)


def make_madelon_like(
    n_samples: int = 2000,
    n_features: int = 500,
    *,
    n_informative: int = 5,
    n_redundant: int = 15,
    flip: float = 0.01,
    seed: int | np.random.Generator = 0,
    return_X_y: bool = False,
) -> Any:
    """Return a data set built as Madelon was: clusters on the corners of a cube, combinations of them, and noise.

    Parameters
    ----------
    n_samples, n_features
        Shape of the data.
    n_informative, n_redundant
        Features of the concept, and linear combinations of them; the rest is noise. Their places are in
        ``relevant``.
    flip
        Share of labels that are flipped.
    seed
        Everything random follows from it.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    """
    relevant = n_informative + n_redundant
    if not n_informative >= 1 or n_redundant < 0 or relevant > n_features:
        raise ValueError(f"n_informative + n_redundant must be between 1 and n_features ({n_features}), got {relevant}")
    rng = np.random.default_rng(seed)
    corners = rng.integers(0, 2, (n_samples, n_informative))
    side = rng.permutation(2**n_informative) % 2  # half of the corners belong to each class
    label = side[corners @ (1 << np.arange(n_informative))]
    concept = (2.0 * corners - 1.0) + rng.normal(0, 0.5, (n_samples, n_informative))
    mixture = rng.normal(size=(n_informative, n_redundant)) / np.sqrt(n_informative)
    noise = rng.normal(size=(n_samples, n_features - relevant))
    place = rng.permutation(n_features)
    data = np.empty((n_samples, n_features), np.float32)
    data[:, place] = np.hstack([concept, concept @ mixture, noise])
    data[:] = np.round(480 + 30 * data)
    flipped = rng.random(n_samples) < flip
    target = np.where(flipped, 1 - label, label)
    names = [f"f{number}" for number in range(n_features)]
    found = tuple(sorted(place[:relevant].tolist()))
    return _bunch(data, target, names, "A data set in the manner of Madelon.", return_X_y, relevant=found)
