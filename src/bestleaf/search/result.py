"""What a search returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from bestleaf.intervals import Leaf


@dataclass(frozen=True)
class Result:
    """The answer of a search, what is known about it, and what it cost.

    Attributes
    ----------
    answer : state
        The recommended child of the root (best arm) or leaf (best leaf).
    lower, upper : float
        Confidence interval of the answer's value.
    gap : float
        How much better than the answer another one may be: at most `epsilon` when identified.
    samples, exact_evaluations : int
        Noisy samples drawn and exact values asked for.
    warmup_samples : int
        How many of the samples only served to propose nodes; they bear on no interval.
    node_updates : int
        Nodes whose interval a sample bears on: the leaf and all its ancestors, summed over the samples.
    node_refreshes : int
        Nodes really recomputed: backup stops where nothing changed.
    growths : int
        Times the graph grew by one node.
    reason : str
        ``"identified"``, ``"max_samples"``, ``"max_time"``, ``"interrupted"`` or ``"callback"``
        (``"unfinished"`` when `Search.result` is asked before the end).
    leaves : tuple of Leaf
        Every leaf of the final graph with its statistics.
    elapsed : float
        Seconds.
    """

    answer: Any
    lower: float
    upper: float
    gap: float
    samples: int
    node_updates: int
    growths: int
    reason: str
    leaves: tuple[Leaf, ...]
    elapsed: float
    exact_evaluations: int
    warmup_samples: int
    node_refreshes: int
    nodes: int
    task: str
    epsilon: float
    delta: float
    rule: str
    bound: str
    stopping: str
    expansion: float | None
    seed: int | None
    two_player: bool
    proof: str  # "rigorous", "conditional" on the user's own bound, or "none"

    @property
    def identified(self) -> bool:
        """Whether the search ended because the answer was known to within epsilon."""
        return self.reason == "identified"

    def summary(self) -> str:
        """Return the result in words."""
        cost = _counted(self.samples, "sample")
        if self.exact_evaluations:
            cost += f" and {_counted(self.exact_evaluations, 'exact value')}"
        grown = "" if self.expansion is None else " in the graph as grown"
        lines = [
            f"Best {self.task}: {self.answer!r}, value{grown} between {self.lower:.4f} and {self.upper:.4f}.",
            f"{cost} on {_counted(len(self.leaves), 'leaf', 'leaves')} in {self.elapsed:.2f} s ({self.reason}; "
            f"rule {self.rule}, bound {self.bound}, stopping {self.stopping}).",
            self._promise(),
        ]
        return "\n".join(lines)

    def _promise(self) -> str:
        if not self.identified:
            return f"Not settled: another {self.task} may be better by up to {self.gap:.4f}."
        where = "of the whole graph" if self.expansion is None else "of the graph as grown"
        claim = f"no {self.task} {where} is better by more than {self.epsilon:g}"
        if self.two_player and self.task == "leaf":
            claim = f"no move on the way to this leaf gives away more than {self.epsilon:g}"
        if self.proof == "none":
            return f"It seems that {claim}; bound {self.bound} with stopping {self.stopping} has no proof."
        condition = f", provided that bound {self.bound} holds" if self.proof == "conditional" else ""
        return f"With probability at least 1 - {self.delta:g} {claim}{condition}."


def _counted(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


class Progress(NamedTuple):
    """A look at a running search, handed to ``callback``."""

    samples: int
    exact_evaluations: int
    growths: int
    leaves: int
    gap: float
    best: Any
    elapsed: float
