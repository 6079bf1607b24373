"""
Quick start
===========

Select features, read what is proved, and look at the best subset of each size.
"""

from sklearn.datasets import load_wine

from bestleaf import BestLeafSelector
from bestleaf.report.plotting import plot_sizes

X, y = load_wine(return_X_y=True, as_frame=True)
selector = BestLeafSelector(epsilon=0.01, random_state=0).fit(X, y)
print(selector.certificate_)

# %%
# The best subset of each size, among those whose exact value is known:

for size, best in selector.evaluated_.by_size().items():
    print(size, f"{best.score:.4f}", *best.features)

# %%
# The same as a plot:

plot_sizes(selector.certificate_)
