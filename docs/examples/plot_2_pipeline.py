"""
In a pipeline
=============

The selector is a scikit-learn transformer. So it can be cross-validated together with the model that follows it. Here
it is fitted several times. With ``choose="training"`` that is fast: the rows given decide, without folds.
"""

import warnings

from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bestleaf import BestLeafSelector, SearchOptions

X, y = load_breast_cancer(return_X_y=True)
selector = BestLeafSelector(choose="training", epsilon=0.02, random_state=0, search=SearchOptions(max_samples=2_000))
model = make_pipeline(selector, StandardScaler(), LogisticRegression(max_iter=1000))
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)  # max_samples may end a search before the answer is proved
    scores = cross_val_score(model, X, y, cv=3, scoring="roc_auc")
print(f"AUC {scores.mean():.4f}, with a few of {X.shape[1]} features selected in each fold")
