"""Feature selection on files and data frames: read, encode, select, compare."""

from bestleaf.tables.encode import Table, prepared
from bestleaf.tables.read import read_frame, read_table

__all__ = ["Table", "prepared", "read_frame", "read_table"]
