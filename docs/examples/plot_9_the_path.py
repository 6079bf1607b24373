"""
The path
========

Rows that were left out decide how many features are selected. The path shows what they saw: one subset of each size,
its value on the rows it was searched on, and its score on left-out rows. There are few rows here: every third one of a
table.
"""

from sklearn.datasets import load_breast_cancer

from bestleaf import BestLeafSelector
from bestleaf.report import figure

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X, y = X[::3], y[::3]
selector = BestLeafSelector(random_state=0).fit(X, y)
print(*selector.certificate_.new_data_in_words(), sep="\n")

# %%
# Where the two curves part, the value on the rows given is partly fitted noise. The band is one standard error on each
# side.

figure(selector, "path")

# %%
# The same path as rows, with the paired difference to all features:

for row in selector.path_:
    print(row.size, f"{row.left_out:.4f} ± {row.standard_error:.4f}", f"{row.difference:+.4f}", *row.features[:3])

# %%
# Any size can be had from the same fit:

print(*selector.at_size(4).subset_, sep=", ")
