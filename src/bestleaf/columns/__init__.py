"""What is known of a table's columns: what each is, what is strange about it, and how it becomes numbers."""

from bestleaf.columns.encoder import EncodedRows, TableEncoder, encoder_for
from bestleaf.columns.frames import pandas_frame

__all__ = ["EncodedRows", "TableEncoder", "encoder_for", "pandas_frame"]
