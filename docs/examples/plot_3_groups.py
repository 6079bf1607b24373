"""
Groups, features always in and never in
=======================================

Columns of one group enter together. Features of `include` are in every subset, those of `exclude` in none.
"""

import numpy as np

from bestleaf import BestLeafSelector

rng = np.random.default_rng(0)
colour = rng.integers(0, 3, 200)
X = np.c_[np.eye(3)[colour], rng.normal(size=(200, 5))]  # the colour as three columns
y = (colour == 1) ^ (X[:, 4] > 0)

selector = BestLeafSelector(
    feature_groups={"colour": [0, 1, 2], **{f"x{number}": [number] for number in range(3, 8)}},
    include=[3],
    exclude=[7],
    cv=5,
    random_state=0,
).fit(X, y)
print(selector.certificate_)
