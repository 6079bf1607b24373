"""What a subset of features is worth: the k-NN oracle, any scikit-learn estimator (`bestleaf.oracles.estimator`)."""

from bestleaf.oracles.neighbours import TIES, KNNOracle, concordance

__all__ = ["TIES", "KNNOracle", "concordance"]
