"""
Groups, features always in and never in
=======================================

Columns of one group enter together, the others one by one. Columns of `include` are in every set, those of `exclude` in
none.
"""

import numpy as np

from bestleaf import BestLeafSelector

rng = np.random.default_rng(0)
colour = rng.integers(0, 3, 200)
X = np.c_[np.eye(3)[colour], rng.normal(size=(200, 5))]  # the colour as three columns
y = (colour == 1) ^ (X[:, 4] > 0)

selector = BestLeafSelector(
    feature_groups={"colour": [0, 1, 2]},
    include=[3],
    exclude=[7],
    random_state=0,
).fit(X, y)
print(selector.certificate_)
