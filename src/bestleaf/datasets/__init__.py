"""The paper's data sets, generators of their kinds, and readers for users' files."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bestleaf.datasets.paper import MADELON_RELEVANT, load_linear, load_madelon, make_linear, make_madelon_like

if TYPE_CHECKING:
    from bestleaf.datasets.tables import Table, prepared, read_frame, read_table

__all__ = [
    "MADELON_RELEVANT",
    "Table",
    "load_linear",
    "load_madelon",
    "make_linear",
    "make_madelon_like",
    "prepared",
    "read_frame",
    "read_table",
]


def __getattr__(name: str) -> Any:
    if name in ("Table", "prepared", "read_frame", "read_table"):  # pandas is imported only for them
        return getattr(import_module("bestleaf.datasets.tables"), name)
    raise AttributeError(f"module 'bestleaf.datasets' has no attribute {name!r}")
