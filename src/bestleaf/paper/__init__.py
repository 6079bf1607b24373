"""The paper again: its data sets, its theory, the algorithms it is compared with, and its experiments."""

from bestleaf.paper.datasets import MADELON_RELEVANT, load_linear, load_madelon, make_linear
from bestleaf.paper.fuse import FuseResult, fuse_search
from bestleaf.paper.runs import experiment, summary
from bestleaf.paper.uct import UCTResult, uct_search

__all__ = [
    "MADELON_RELEVANT",
    "FuseResult",
    "UCTResult",
    "experiment",
    "fuse_search",
    "load_linear",
    "load_madelon",
    "make_linear",
    "summary",
    "uct_search",
]
