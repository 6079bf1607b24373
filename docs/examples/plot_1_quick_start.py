"""
Quick start
===========

Select columns, read their score on new rows and what is proved, and look at the path: a set for each size.
"""

from sklearn.datasets import load_wine

from bestleaf import BestLeafSelector
from bestleaf.report import figure

X, y = load_wine(return_X_y=True, as_frame=True)
selector = BestLeafSelector(random_state=0).fit(X, y)
print(selector.certificate_)

# %%
# The set of each size. Another one is a call away, without a new fit:

print(selector.path_)
print(*selector.at_size(3).subset_)

# %%
# The same as a figure:

figure(selector, "path")
