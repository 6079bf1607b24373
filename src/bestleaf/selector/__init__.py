"""`BestLeafSelector`: feature selection by best leaf identification, as a scikit-learn estimator."""

from bestleaf.selector.answer import EvaluatedSubset, EvaluatedSubsets, chosen
from bestleaf.selector.estimator import BestLeafSelector

__all__ = ["BestLeafSelector", "EvaluatedSubset", "EvaluatedSubsets", "chosen"]
