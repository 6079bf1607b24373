"""Data built as Madelon was, for benchmarks where its files are not at hand."""

from __future__ import annotations

import numpy as np
from sklearn.utils import Bunch


def make_madelon_like(
    n_samples: int = 2000,
    n_features: int = 500,
    *,
    n_informative: int = 5,
    n_redundant: int = 15,
    flip: float = 0.01,
    seed: int | np.random.Generator = 0,
    return_X_y: bool = False,
) -> Bunch | tuple[np.ndarray, np.ndarray]:
    """Return a data set built as Madelon was: clusters on the corners of a cube, combinations of them, and noise.

    `n_informative` features decide the label, `n_redundant` are linear combinations of these, the rest is noise.
    ``relevant`` of the Bunch lists the features that are not noise. A fraction `flip` of the labels is flipped.
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
    target = np.where(rng.random(n_samples) < flip, 1 - label, label)
    names, words = [f"f{number}" for number in range(n_features)], "A data set in the manner of Madelon."
    if return_X_y:
        return data, target
    relevant = tuple(sorted(place[:relevant].tolist()))
    return Bunch(data=data, target=target, feature_names=names, DESCR=words, relevant=relevant)
