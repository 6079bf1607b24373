"""Columns of any kind become numbers: text, categories, truth values, dates, missing values; for any data frame."""

from bestleaf.encoding.frames import pandas_frame
from bestleaf.encoding.missing import takes_missing
from bestleaf.encoding.rows import EncodedRows, encoder_for
from bestleaf.encoding.transformer import TableEncoder

__all__ = ["EncodedRows", "TableEncoder", "encoder_for", "pandas_frame", "takes_missing"]
