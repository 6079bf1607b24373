"""Other rows of the same kind, for the question how often a feature is selected when the rows change."""

from __future__ import annotations

import numpy as np
from sklearn.utils import resample

from bestleaf.checks import one_of

RESAMPLE = ("bootstrap", "half")
MOST_DRAWS = 100


def resampled_rows(
    kind: str, rows: np.ndarray, y: np.ndarray, groups: np.ndarray | None, classes: bool, seed: int
) -> np.ndarray:
    """Return the rows of one resample, each of them once, in ascending order.

    "bootstrap" draws as many rows as there are, with replacement. A row drawn twice is kept once, because it would be
    its own nearest neighbour and would stand on both sides of a fold; so about 63 % of the rows are left. "half" draws
    half of the rows without replacement. Classes keep their shares. Rows of a group are drawn together.

    Parameters
    ----------
    kind : {"bootstrap", "half"}
        How rows are drawn.
    rows : array of int
        The rows to draw from.
    y, groups : arrays, or None for `groups`
        Target and group of each row of the table.
    classes : bool
        Whether `y` holds classes.
    seed : int
        Everything random follows from it.
    """
    one_of("resample", kind, RESAMPLE)
    units = rows if groups is None else np.unique(groups[rows])
    rng = np.random.RandomState(seed % 2**32)
    for _ in range(MOST_DRAWS):
        drawn = resample(
            units,
            replace=kind == "bootstrap",
            n_samples=len(units) if kind == "bootstrap" else (len(units) + 1) // 2,
            random_state=rng,
            stratify=y[rows] if classes and groups is None else None,
        )
        found = np.unique(drawn) if groups is None else rows[np.isin(groups[rows], drawn)]
        if len(np.unique(y[found])) > 1:  # a draw of groups can leave one class only
            return found
    raise ValueError(f"resample must leave two different targets, got {kind!r} of {len(units):,} rows or groups")
