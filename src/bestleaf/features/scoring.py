"""Scores of scikit-learn as values in [0, 1], which a proof needs: which scorers have bounds, and what lies below 0."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, is_regressor
from sklearn.metrics import check_scoring, get_scorer_names, make_scorer

from bestleaf.checks import sentence, shown
from bestleaf.features.ranking import auc, concordance
from bestleaf.proof.text import call_name

Scoring = str | Callable[..., float] | None  # as users give it


@dataclass(frozen=True)
class Score:
    """A scorer. As a value, a score below 0, such as a negative R², counts as 0; none may be above 1."""

    name: str
    scorer: Callable[..., float]
    by_name: bool = False  # whether the scorer is the one that scikit-learn has under this name

    @property
    def is_error(self) -> bool:
        """Whether this is an error with a minus sign, which has no bounds."""
        return getattr(self.scorer, "_sign", 1) < 0

    @property
    def is_bounded(self) -> bool:
        """Whether this is a score of scikit-learn, or ours, and no error; of another function nobody knows."""
        function = getattr(self.scorer, "_score_func", None)
        known = function is concordance or getattr(function, "__module__", "").startswith("sklearn.")
        return known and not self.is_error

    def value(self, score: object, subset: list[int]) -> float:
        """Return a score as a value in [0, 1]; refuse one that cannot be such a value."""
        if not isinstance(score, Real) or not isfinite(float(score)):
            raise ValueError(
                f"scoring {self.name} must give a finite number, got {shown(score)} for the features {shown(subset)}"
            )
        # A perfect average precision may be 1.0000000000000002.
        if float(score) > 1.0 + 1e-9 or (float(score) < 0.0 and not self.is_bounded):
            raise ValueError(
                f"scoring {self.name} must give scores from 0 to 1 to value subsets, got {float(score):g} for the "
                f"features {shown(subset)}"
            )
        return min(1.0, max(0.0, float(score)))

    def of(self, fitted: BaseEstimator, X: np.ndarray, y: np.ndarray, **weights: ArrayLike | None) -> Any:
        """Return the score of a fitted estimator."""
        try:
            quick = quick_score(self.name, fitted, X, y) if self.by_name and not weights else None
            return self.scorer(fitted, X, y, **weights) if quick is None else quick
        except ValueError as error:
            what = f"{self.name} cannot score {type(fitted).__name__} on these data"
            raise ValueError(f"scoring {what}: {sentence(str(error), 200)}") from None
        except AttributeError:
            methods = getattr(self.scorer, "_response_method", "predict")
            methods = [methods] if isinstance(methods, str) else list(methods)
            if any(hasattr(fitted, name) for name in methods):
                raise  # an error of the estimator, or of a user's scorer
            needed = f"the method {' or '.join(methods)}, which scoring {self.name} needs"
            raise ValueError(f"estimator must have {needed}, got {type(fitted).__name__}") from None

    @property
    def takes_weights(self) -> bool:
        """Whether the scorer takes weights of rows."""
        function = getattr(self.scorer, "_score_func", None)
        return function is not None and "sample_weight" in inspect.signature(function).parameters


def chosen_score(estimator: BaseEstimator, scoring: Scoring) -> Score:
    """Return the score asked for; the default is the accuracy of a classifier, the concordance index of a regressor."""
    if scoring is None:
        scoring = "concordance" if is_regressor(estimator) else "accuracy"
    by_name = isinstance(scoring, str)
    if scoring == "concordance":
        return Score("concordance", make_scorer(concordance), by_name)
    name = scoring if isinstance(scoring, str) else getattr(scoring, "__name__", None) or repr(scoring)
    try:
        return Score(name, check_scoring(estimator, scoring=scoring), by_name)
    except (TypeError, ValueError):
        rule = "must be a scorer or the name of one that scikit-learn knows, such as accuracy, roc_auc or r2"
        raise ValueError(f"scoring {rule}, got {shown(scoring)}") from None


def quick_score(name: str, fitted: BaseEstimator, X: np.ndarray, y: np.ndarray) -> float | None:
    """Return the score that scikit-learn has under this name, computed in less time; None for other scores or data.

    On few rows the checks inside the scorer of the AUC take as long as the fit of a linear model.
    """
    classes = list(getattr(fitted, "classes_", ()))
    if name == "accuracy" and classes:
        predicted = np.asarray(fitted.predict(X))
        return float(np.mean(predicted == y)) if predicted.shape == y.shape else None
    if name != "roc_auc" or len(classes) != 2 or set(np.unique(y)) != set(classes):
        return None  # the scorer itself says what is wrong
    ranked = fitted.decision_function(X) if hasattr(fitted, "decision_function") else fitted.predict_proba(X)[:, 1]
    return auc(y == classes[1], ranked) if np.isfinite(ranked).all() else None


def scorer_name(name: str, scorer: Score | None) -> str:
    """Return the name of a scorer in a record; a user's own never gets that of a known one."""
    known = scorer is None or scorer.by_name or name not in {*get_scorer_names(), "concordance"}
    return call_name(name if known else f"own_{name}")


def widening(tested: Sequence[int], trained: Sequence[int]) -> float:
    """Return by what the variance of a score is multiplied to get that of the mean over splits of the same rows.

    The splits share training rows, so their scores depend on each other: the variance of the mean is larger than that
    of as many independent scores (Nadeau and Bengio 2003). Rows tested and trained on are given for each split.
    """
    return float(1 / len(tested) + np.mean(np.divide(tested, trained)))


def corrected_error(scores: Sequence[float], tested: Sequence[int], trained: Sequence[int]) -> float:
    """Return the standard error of the mean score of several splits of the same rows; nan for fewer than two."""
    return float(np.sqrt(np.var(scores, ddof=1) * widening(tested, trained))) if len(scores) > 1 else np.nan
