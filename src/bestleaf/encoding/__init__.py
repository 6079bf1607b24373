"""Columns of any kind become numbers: text, categories, truth values, dates, missing values; for any data frame."""

from bestleaf.encoding.frames import pandas_frame, takes_missing
from bestleaf.encoding.transformer import EncodedRows, TableEncoder, encoder_for

__all__ = ["EncodedRows", "TableEncoder", "encoder_for", "pandas_frame", "takes_missing"]
