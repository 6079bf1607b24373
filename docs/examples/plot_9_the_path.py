"""
The path
========

Cross-validation decides how many columns are chosen. The path shows what it saw: a set for each of about 20 sizes, with
its difference to all columns. There are few rows here: every third one of a table.
"""

from sklearn.datasets import load_breast_cancer

from bestleaf import BestLeafSelector
from bestleaf.report import figure

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X, y = X[::3], y[::3]
selector = BestLeafSelector(random_state=0).fit(X, y)
print(selector.certificate_)

# %%
# The band is one standard error on each side of the mean over the judges; each judge is a thin line.

figure(selector, "path")

# %%
# The same path as rows:

for row in selector.path_:
    print(row.size, f"{row.difference:+.4f}", *row.features[:3])

# %%
# Any size can be had from the same fit:

print(*selector.at_size(4).subset_, sep=", ")
