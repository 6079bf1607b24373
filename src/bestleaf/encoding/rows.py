"""Encoded rows: a table with what its encoder made of it, which folds can learn again from their training part."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone

from bestleaf.checks import shown
from bestleaf.encoding.frames import pandas_frame
from bestleaf.encoding.missing import takes_missing
from bestleaf.encoding.transformer import KEEP, TableEncoder

AUTO = "auto"


class EncodedRows(NamedTuple):
    """Rows of a table, as they were given and as numbers."""

    encoder: TableEncoder  # fitted
    frame: pd.DataFrame  # the rows as they were given
    plain: np.ndarray  # their cells as numbers, before missing values are filled and levels become columns

    @classmethod
    def of(cls, encoder: TableEncoder, X: object) -> EncodedRows:
        """Fit an encoder and encode the rows that it was fitted on."""
        plain = encoder.fit_plain(X)
        return cls(encoder, pandas_frame(X), plain)

    def part(self, rows: np.ndarray | slice) -> EncodedRows:
        """Return some of the rows."""
        return self._replace(frame=self.frame.iloc[rows], plain=self.plain[rows])

    def numbers(self) -> np.ndarray:
        """Return the rows as numbers, by what the encoder has learned."""
        return self.encoder.last_step_.transform(self.plain)

    def learned_from(self, rows: np.ndarray) -> np.ndarray:
        """Return all rows as numbers, by what some of them teach: what missing values are filled with, and levels."""
        return self.encoder.learned_from(self.plain, rows)


def encoder_for(encode: object, estimator: object) -> TableEncoder | None:
    """Return the encoder that the parameter `encode` stands for; None if tables are not encoded.

    With "auto", an estimator that takes missing values gets them; for others they are filled with medians. An encoder
    that refuses missing values lets them through to an estimator that takes them.
    """
    if encode is None:
        return None
    found = TableEncoder(impute=None) if encode == AUTO else encode
    if not isinstance(found, TableEncoder):
        raise ValueError(f"encode must be None, 'auto' or a TableEncoder, got {shown(encode)}")
    impute = found.impute
    if impute is None and takes_missing(estimator):
        impute = KEEP
    elif impute is None and encode == AUTO:
        impute = "median"
    return clone(found).set_params(impute=impute)
