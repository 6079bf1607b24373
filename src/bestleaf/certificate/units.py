"""Values in the units of the scorer. A certificate holds values in [0, 1]; what people read is in the scorer's units.

An error that scikit-learn gives with a minus sign, such as ``neg_mean_squared_error``, is read as an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass
from math import ceil, floor, inf, log10

from bestleaf.certificate.schema import Content

NEGATED = "neg_"  # how names of such scorers begin; their highest score is 0
UNIT = (0.0, 1.0)
RANGES: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("accuracy", "balanced_accuracy", "top_k_accuracy", "average_precision", "concordance"), UNIT),
    **dict.fromkeys(("roc_auc", "roc_auc_ovr", "roc_auc_ovo", "roc_auc_ovr_weighted", "roc_auc_ovo_weighted"), UNIT),
    **{
        name + kind: UNIT
        for name in ("f1", "precision", "recall", "jaccard")
        for kind in ("", "_micro", "_macro", "_samples", "_weighted")
    },
    "matthews_corrcoef": (-1.0, 1.0),
}
AT_MOST_ONE = ("r2", "explained_variance", "d2_absolute_error_score", "d2_brier_score", "d2_log_loss_score")


def highest_score(name: str) -> float:
    """Return the highest score that a scorer of this name can give; infinite if that is not known."""
    if name in RANGES:
        return RANGES[name][1]
    return 0.0 if name.startswith(NEGATED) else 1.0 if name in AT_MOST_ONE else inf


@dataclass(frozen=True)
class Units:
    """The range that values in [0, 1] stand for, and the name of the score."""

    low: float = 0.0
    high: float = 1.0
    name: str = ""

    @classmethod
    def of(cls, data: Content | None) -> Units:
        """Return the units of the data of a certificate; values of nearest neighbours lie in [0, 1] anyway."""
        objective = {} if data is None else data["objective"]
        if objective.get("kind") != "estimator":
            return cls()
        low, high = objective["score_range"]
        return cls(float(low), float(high), objective["scoring"])

    @property
    def plain(self) -> bool:
        """Whether values are read as they are."""
        return (self.low, self.high) == (0.0, 1.0)

    @property
    def is_bounded(self) -> bool:
        """Whether no score can be above the range; of an unknown scorer a range shows only what was seen."""
        return not self.name or self.high >= highest_score(self.name)

    @property
    def is_error(self) -> bool:
        """Whether the score is an error with a minus sign."""
        return self.name.startswith(NEGATED)

    @property
    def title(self) -> str:
        """The name of what is read."""
        return self.name.removeprefix(NEGATED)

    def score(self, value: float) -> float:
        """Return the score of a value, as the scorer gives it."""
        return value if self.plain else self.low + value * (self.high - self.low)

    def difference(self, value: float) -> float:
        """Return a difference of values as a difference of scores."""
        return value if self.plain else value * (self.high - self.low)

    def scores(self, values: Iterable[float | None]) -> list[float | None]:
        """Return the scores of values, where they are known."""
        return [None if value is None else self.score(value) for value in values]

    def read(self, value: float) -> float:
        """Return what is read for a value: its score, or its error."""
        return -self.score(value) if self.is_error else self.score(value)

    def text(self, value: float) -> str:
        """Return a value in words."""
        return self._rounded(self.read(value))

    def gain(self, value: float) -> str:
        """Return how much better something is, without a sign."""
        return self._rounded(self.difference(value))

    def signed(self, value: float) -> str:
        """Return a difference with its sign; a larger error has a plus."""
        return self._rounded(-self.difference(value) if self.is_error else self.difference(value), "+")

    def margin(self, epsilon: float) -> str:
        """Return epsilon in words: as a number of the score, and as the fraction that was given."""
        if self.plain:
            return f"{epsilon:g}"
        return f"{_rounded_up(self.difference(epsilon)):.3g} ({epsilon:g} of the range of {self.title})"

    def _rounded(self, number: float, sign: str = "") -> str:
        """Return a number with four digits after the point, fewer if it is large."""
        size = floor(log10(max(abs(number), 1e-9)))
        digits = 4 if self.plain or number == 0 else min(12 if size < -3 else 4, max(0, 3 - size))
        return f"{number:{sign},.{digits}f}" if abs(number) >= 1000 else f"{number:{sign}.{digits}f}"


def _rounded_up(number: float) -> float:
    """Return a positive number with three digits that is not smaller."""
    step = 10.0 ** (floor(log10(number)) - 2) if number > 0 else 1.0
    return ceil(number / step - 1e-9) * step


def in_units(content: Content) -> Content:
    """Return a certificate for drawing, with all values and differences in the units of the scorer.

    It is no certificate any more: `verify` would refuse it. Scores stay as the scorer gives them, higher is better.
    """
    units = Units.of(content["data"])
    if units.plain:
        return content
    found = deepcopy(content)
    found["data"]["objective"]["score_range"] = [0.0, 1.0]  # so that nothing is mapped twice
    new_data, report = found.get("new_data") or {}, found.get("report") or {}
    best = [new_data["best"]] if "best" in new_data else []
    rows = [*new_data.get("path", []), *([new_data["judged"]] if "judged" in new_data else [])]
    _replace([found, *found["leaves"]], ("lower", "upper", "mean"), units.score)
    _replace([*best, *rows, *report.get("history", [])], ("value", "training", "left_out", "score"), units.score)
    differences = ("gap", "epsilon", "standard_error", "difference", "difference_error")
    _replace([found, found["search"], *best, *rows, *report.get("history", [])], differences, units.difference)
    for name in ("feature_scores", "without") if report else ():
        _replace([report[name]], tuple(report[name]), units.score)
    for row in report.get("by_size", []):
        row[1] = units.score(row[1])
    return found


def _replace(places: Iterable[Content], names: Iterable[str], change: Callable[[float], float]) -> None:
    """Change the numbers of these names, where they are known."""
    wanted = tuple(names)
    for place in places:
        place.update({name: change(place[name]) for name in wanted if place.get(name) is not None})
