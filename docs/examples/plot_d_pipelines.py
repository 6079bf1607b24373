"""
The best pipeline
=================

Impute, scale, select, fit: for each step of a pipeline there are several options. A problem of a few lines makes a
graph of these choices. A sample is the score of a random fold, the value of a pipeline its cross-validated score.
"""

from functools import cache

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from bestleaf import best_leaf

X, y = load_wine(return_X_y=True)
X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
steps = [
    {"mean": SimpleImputer(), "median": SimpleImputer(strategy="median")},
    {"unscaled": "passthrough", "standard": StandardScaler(), "0 to 1": MinMaxScaler()},
    {"all": "passthrough", "3 best": SelectKBest(k=3), "6 best": SelectKBest(k=6)},
    {"bayes": GaussianNB(), "1-NN": KNeighborsClassifier(1), "9-NN": KNeighborsClassifier(9)},
]
folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))


class Pipelines:
    """A state names the options of the first steps; a leaf is a whole pipeline."""

    def root(self):
        return ()

    def children(self, state):
        return [(*state, name) for name in steps[len(state)]]

    def is_terminal(self, state):
        return len(state) == len(steps)

    def pipeline(self, state):
        parts = [options[name] for options, name in zip(steps, state, strict=True)]
        return make_pipeline(*(part if part == "passthrough" else clone(part) for part in parts))

    @cache  # noqa: B019  each fold of each pipeline is fitted once
    def score(self, state, fold):
        train, test = folds[fold]
        return self.pipeline(state).fit(X[train], y[train]).score(X[test], y[test])

    def exact(self, state):
        return float(np.mean([self.score(state, fold) for fold in range(len(folds))]))

    def sample(self, state, rng):
        while not self.is_terminal(state):  # a state with open steps is completed at random
            state = self.children(state)[rng.integers(len(steps[len(state)]))]
        return self.score(state, int(rng.integers(len(folds))))


problem = Pipelines()
result = best_leaf(problem, epsilon=0, delta=0.05, seed=0)
print(result.summary())

# %%
# The answer can be fitted as it is.

print(problem.pipeline(result.answer).fit(X, y))

# %%
# With ``expansion`` the graph grows with the search: only some of the pipelines are fitted to all folds.

result = best_leaf(Pipelines(), epsilon=0.05, delta=0.05, expansion=0.5, max_samples=300, seed=0)
print(result.summary())
