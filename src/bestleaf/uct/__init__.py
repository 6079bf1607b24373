"""The UCT family on the same graph: UCT, transpositions, UCD, FUSE."""

from bestleaf.uct.family import Arm, UCTResult, uct_search
from bestleaf.uct.fuse import Fuse, FuseResult, fuse_search
from bestleaf.uct.settings import VARIANTS

__all__ = ["VARIANTS", "Arm", "Fuse", "FuseResult", "UCTResult", "fuse_search", "uct_search"]
