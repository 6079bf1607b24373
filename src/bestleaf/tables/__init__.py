"""Feature selection on files and data frames: read, check, encode, select, compare."""

from bestleaf.columns.check import Finding, TableCheck, check_table
from bestleaf.tables.load import Table, load_table
from bestleaf.tables.read import read_frame

__all__ = ["Finding", "Table", "TableCheck", "check_table", "load_table", "read_frame"]
