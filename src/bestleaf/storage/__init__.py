"""Checkpoints: save a search, resume it, nothing executable in the file.

A file is one line (what it is, the version of the format, the SHA-256 of the rest) and an uncompressed .npz of plain
arrays, one of them JSON. The graph is not in it: the states are, and the problem builds the graph from them again, so
that no file can make a kernel read where there is nothing.
"""

from __future__ import annotations

from bestleaf.storage.checkpoint import Checkpoint
from bestleaf.storage.saved import Saved

__all__ = ["Checkpoint", "Saved"]
