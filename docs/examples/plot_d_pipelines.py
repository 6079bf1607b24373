"""
The best pipeline
=================

Impute, scale, select, fit: for each step of a pipeline there are several options. ``PipelineChoices`` is the graph of
these choices. A sample is the score of a random fold, and the value of a pipeline is its cross-validated score.
"""

import numpy as np
from sklearn.datasets import load_wine
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from bestleaf import best_leaf
from bestleaf.problems.pipelines import PipelineChoices

X, y = load_wine(return_X_y=True)
X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
steps = {
    "impute": {"mean": SimpleImputer(), "median": SimpleImputer(strategy="median")},
    "scale": {"none": None, "standard": StandardScaler(), "0 to 1": MinMaxScaler()},
    "select": {"all": None, "3 best": SelectKBest(k=3), "6 best": SelectKBest(k=6)},
    "model": {"bayes": GaussianNB(), "1-NN": KNeighborsClassifier(1), "9-NN": KNeighborsClassifier(9)},
}
choices = PipelineChoices(
    steps, X, y, cv=3, exclude=lambda chosen: chosen["model"] == "bayes" and chosen["scale"] != "none"
)
result = best_leaf(choices, epsilon=0, delta=0.05, seed=0)
print(result.summary())

# %%
# Scaling does nothing for naive Bayes, so the rule leaves those pipelines out. The answer can be fitted as it is.

print(choices.best_pipeline(result, refit=True))

# %%
# With ``expansion`` the graph grows with the search: only some of the pipelines are fitted to all folds.

grown = PipelineChoices(steps, X, y, cv=3)
result = best_leaf(grown, epsilon=0.05, delta=0.05, expansion=0.5, max_samples=300, seed=0)
print(result.summary())
