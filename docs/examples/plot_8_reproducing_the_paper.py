"""
Reproducing the paper
=====================

The paper's own data set, searched by ``BestLeafSelector`` in the paper's way (the rows given decide) and by FUSE with
the settings of the published program. The command ``bestleaf reproduce`` runs the full tables again; see ``bestleaf
reproduce --help``.
"""

from bestleaf import BestLeafSelector, FuseSelector, NeighbourVotes
from bestleaf.paper import load_linear

X, y = load_linear(return_X_y=True)
votes = NeighbourVotes(scale=False)
ours = BestLeafSelector(votes, choose="training", epsilon=0.005, delta=0.1, random_state=0).fit(X, y)
published = NeighbourVotes(scale=False, ties="row_order", drop_zero=True)
fuse = FuseSelector(estimator=published, max_samples=50_000, random_state=0).fit(X, y)
for name, found in (("betting, sound", ours), ("FUSE", fuse)):
    print(f"{name}: {found.subset_}, value {found.score_:.4f}, {found.certificate_.samples:,} samples")
