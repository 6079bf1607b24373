"""
Reproducing the paper
=====================

The paper's own data set, searched as the paper does and as we do. The full tables are ``bestleaf reproduce --help``.
"""

from bestleaf import BestLeafSelector
from bestleaf.datasets import load_linear

X, y = load_linear(return_X_y=True)
common = {"epsilon": 0.005, "delta": 0.1, "scale": False, "random_state": 0}
ours = BestLeafSelector(**common).fit(X, y)
fuse = BestLeafSelector(**common, algorithm="fuse", max_samples=50_000, ties="row_order", drop_zero=True).fit(X, y)
for name, found in (("betting, sound", ours), ("FUSE", fuse)):
    print(f"{name}: {found.subset_}, value {found.score_:.4f}, {found.certificate_.samples:,} samples")
