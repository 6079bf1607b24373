"""
Reproducing the paper
=====================

The paper's own data set, searched by ``BestLeafSelector`` in the paper's way (the rows given decide) and by FUSE with
the settings of the published program. The command ``bestleaf reproduce`` runs the full tables again; see ``bestleaf
reproduce --help``.
"""

from bestleaf import BestLeafSelector, KNNOracle, NeighbourVotes, fuse_search
from bestleaf.features import FeatureLattice
from bestleaf.paper import load_linear

X, y = load_linear(return_X_y=True)
votes = NeighbourVotes(scale=False)
ours = BestLeafSelector(votes, choose="training", epsilon=0.005, delta=0.1, random_state=0).fit(X, y)
print(f"betting, sound: {ours.subset_}, value {ours.score_:.4f}, {ours.certificate_.cost.samples:,} samples")
lattice = FeatureLattice(KNNOracle(X, y, scale=False, ties="row_order", drop_zero=True))
fuse = fuse_search(lattice, max_samples=50_000, seed=0)
print(f"FUSE: {fuse.answer}, value {fuse.value:.4f}, {fuse.samples:,} samples")
