"""Judges: models that say how good a set of columns is, by predicting rows that they were not fitted to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from bestleaf.selection.data import Data
from bestleaf.selection.folds import Part


class Panel:
    """Several judges, or one.

    Attributes
    ----------
    names : tuple of str
        Of the judges, in order: "5 nearest neighbours", "ridge regression", "extra trees" by default.
    task : {"classification", "regression"}
        What the targets are.
    scoring : str
        What is scored: "roc_auc" (the mean over classes, one against the rest), "r2", or the scorer asked for.
    """

    names: tuple[str, ...]
    task: str
    scoring: str

    @classmethod
    def of(cls, estimator: Any, scoring: Any, data: Data, seed: int = 0) -> Panel:
        """Return the judges: the panel for None, an estimator, NeighbourVotes, or a list of estimators."""
        raise NotImplementedError

    def scores(self, part: Part, sets: Sequence[Iterable[int]]) -> np.ndarray:
        """Return the scores [judges, sets] on the rows to score, of judges fitted to the training rows of a part.

        Sets are given by units. Where each set begins with the units of the one before, they are judged faster.
        """
        raise NotImplementedError

    def predictions(self, part: Part, units: Iterable[int]) -> list[np.ndarray | None]:
        """Return what each judge says of the rows to score, [rows, outputs]; the score follows from it.

        Two classes (the second of `classes`) and real targets have one output, more classes have one each, in the order
        of `classes`; with accuracy the output is 1 for a right answer and 0 for a wrong one. None if the scorer is none
        of those known: "roc_auc", "r2", "concordance", "accuracy".
        """
        raise NotImplementedError

    @property
    def classes(self) -> np.ndarray | None:
        """The classes in the order of the outputs; None for real targets."""
        raise NotImplementedError
