"""Scores of scikit-learn mapped to [0, 1]: which scorers have bounds, and what happens to scores outside of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import ceil, floor, inf, isfinite, log10
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.metrics import check_scoring, make_scorer

from bestleaf.certificate.ranks import auc
from bestleaf.certificate.units import RANGES, highest_score
from bestleaf.checks import shown
from bestleaf.features.ranking import concordance

LONGEST = 200  # letters of an error message of scikit-learn
ROUNDING = 1e-9  # of the range: a perfect average precision may be 1.0000000000000002
MARGIN = 0.25  # of the width: how far a range that is found goes beyond the scores seen


class ScoreOutsideError(ValueError):
    """A score lies outside the range that was found by a first look at the data."""

    def __init__(self, message: str, score: float) -> None:
        super().__init__(message, score)
        self.score = score

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True)
class Score:
    """A scorer and its range; the lowest score is mapped to 0, the highest to 1."""

    name: str
    scorer: Callable[..., float]
    low: float
    high: float
    by_name: bool = False  # whether the scorer is the one that scikit-learn has under this name
    is_found: bool = False  # whether the range was found by a first look at the data, so that it may be too narrow

    def mapped(self, score: object, subset: list[int]) -> float:
        """Return a score mapped to [0, 1]; refuse one outside of the range."""
        if not isinstance(score, Real) or not isfinite(float(score)):
            raise ValueError(
                f"scoring {self.name} must give a finite number, got {shown(score)} for the features {shown(subset)}"
            )
        slack = ROUNDING * (self.high - self.low)
        if not self.low - slack <= float(score) <= self.high + slack:
            text = (
                f"score_range must hold every score of {self.name}, got {float(score):g} for the features "
                f"{shown(subset)}, outside [{self.low:g}, {self.high:g}]; give a wider one"
            )
            raise ScoreOutsideError(text, float(score)) if self.is_found else ValueError(text)
        return min(1.0, max(0.0, self.placed(float(score))))

    def widened(self, score: float) -> tuple[float, float]:
        """Return a range that also holds a score outside; the side where it lies becomes twice as far as the score."""
        low = self.low if score >= self.low else self.high - 2.0 * (self.high - score)
        high = self.high if score <= self.high else self.low + 2.0 * (score - self.low)
        return float(f"{low:.6g}"), float(f"{high:.6g}")

    @property
    def is_bounded(self) -> bool:
        """Whether no score can be above the range, so that folds that are missing can be bounded."""
        return self.high >= highest_score(self.name)

    def placed(self, score: float) -> float:
        """Return a score mapped to [0, 1]; outside of the range it is below 0 or above 1."""
        return (score - self.low) / (self.high - self.low)

    def of(self, fitted: Any, X: Any, y: Any, **weights: Any) -> Any:
        """Return the score of a fitted estimator."""
        try:
            quick = quick_score(self.name, fitted, X, y) if self.by_name and not weights else None
            return self.scorer(fitted, X, y, **weights) if quick is None else quick
        except ValueError as error:
            what = f"{self.name} cannot score {type(fitted).__name__} on these data"
            raise ValueError(f"scoring {what}: {in_short(error)}") from None
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


def chosen_score(estimator: Any, scoring: Any, score_range: Any) -> Score:
    """Return the score asked for; if its range is not known, it is all numbers.

    The default is the accuracy of a classifier and the concordance index of a regressor (R² has no lower bound).
    """
    if scoring is None:
        scoring = "concordance" if is_regressor(estimator) else "accuracy"
    by_name = isinstance(scoring, str)
    if scoring == "concordance":
        name, scorer = "concordance", make_scorer(concordance_score)
    else:
        name = scoring if isinstance(scoring, str) else getattr(scoring, "__name__", None) or repr(scoring)
        try:
            scorer = check_scoring(estimator, scoring=scoring)
        except (TypeError, ValueError):
            rule = "must be a scorer or the name of one that scikit-learn knows, such as accuracy, roc_auc or r2"
            raise ValueError(f"scoring {rule}, got {shown(scoring)}") from None
    if score_range is None and name not in RANGES:
        return Score(name, scorer, -inf, highest_score(name), by_name, is_found=True)
    low, high = _checked_range(score_range) if score_range is not None else RANGES[name]
    return Score(name, scorer, low, high, by_name)


def quick_score(name: str, fitted: Any, X: np.ndarray, y: np.ndarray) -> float | None:
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


def range_around(scores: Iterable[float], low: float, high: float) -> tuple[float, float]:
    """Return a range that holds some scores with a margin on every side without a bound, in round numbers.

    `low` and `high` are bounds of the scorer, or infinite.
    """
    seen = list(scores)
    least, most = min(seen), max(seen) if high == inf else high
    margin = MARGIN * (most - least) or MARGIN * abs(least) or 1.0
    step = 10.0 ** floor(log10(margin))
    low = floor((least - margin) / step) * step if low == -inf else low
    high = ceil((most + margin) / step) * step if high == inf else high
    return float(f"{low:.6g}"), float(f"{high:.6g}")


def in_short(error: Exception) -> str:
    """Return an error message in one line, cut if it is long."""
    text = " ".join(str(error).split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def concordance_score(truth: Any, predicted: Any) -> float:
    """Return the concordance index, with the arguments in the order of scikit-learn."""
    return concordance(predicted, truth)


def _checked_range(given: Any) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in given)
    except (TypeError, ValueError):
        raise ValueError(f"score_range must be two numbers (lowest, highest), got {shown(given)}") from None
    if not (isfinite(low) and isfinite(high) and low < high):
        raise ValueError(f"score_range must be two finite numbers, the lower one first, got {shown(given)}")
    return low, high
