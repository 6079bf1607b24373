"""The lattice of feature subsets as a problem: add a feature, or stop and have the subset valued."""

from bestleaf.features.compiled import NeighbourRollouts
from bestleaf.features.lattice import FeatureLattice, SampledLattice, Subset, SubsetLattice
from bestleaf.features.plain import STOP, PlainRollouts

__all__ = ["STOP", "FeatureLattice", "NeighbourRollouts", "PlainRollouts", "SampledLattice", "Subset", "SubsetLattice"]
