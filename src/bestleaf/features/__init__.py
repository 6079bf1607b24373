"""Feature subsets as a problem: the lattice of subsets, the oracles that give them values, and rollouts."""

from bestleaf.features.lattice import STOP, FeatureLattice, Oracle
from bestleaf.features.rollouts import NeighbourRollouts, PlainRollouts, Subset

__all__ = [
    "STOP",
    "FeatureLattice",
    "NeighbourRollouts",
    "Oracle",
    "PlainRollouts",
    "Subset",
]
