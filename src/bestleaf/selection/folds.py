"""Cross-validation folds, and what is prepared from the training rows of one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bestleaf.selection.data import Data
from bestleaf.selection.space import Space


class Fold(NamedTuple):
    """Numbers of rows to train on, and of rows to score on."""

    train: np.ndarray
    test: np.ndarray


class Part:
    """Rows to train on and rows to score, in the forms that orders and judges need; all learned from training rows."""

    @classmethod
    def of(cls, data: Data, space: Space, fold: Fold, task: str, seed: int) -> Part:
        """Return a part of the data; `task` is "classification" or "regression"."""
        raise NotImplementedError
