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
    node_updates : int
        Nodes whose interval a sample bears on: the leaf and all its ancestors, summed over the samples.
    node_refreshes : int
        Nodes really recomputed: backup stops where nothing changed.
    growths : int
        Times the graph grew by one node.
    reason : str
        ``"identified"``, ``"max_samples"``, ``"max_time"`` or ``"interrupted"``
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

    @property
    def identified(self) -> bool:
        """Whether the search ended because the answer was known to within epsilon."""
        return self.reason == "identified"

    def summary(self) -> str:
        """Return the result in words."""
        thing = "arm" if self.task == "arm" else "leaf"
        cost = f"{self.samples:,} samples"
        if self.exact_evaluations:
            cost += f" and {self.exact_evaluations:,} exact values"
        lines = [
            f"Best {thing}: {self.answer!r}, value between {self.lower:.4f} and {self.upper:.4f}.",
            f"{cost} on {len(self.leaves):,} leaves in {self.elapsed:.2f} s ({self.reason}; "
            f"rule {self.rule}, bound {self.bound}, stopping {self.stopping}).",
            self._promise(thing),
        ]
        return "\n".join(lines)

    def _promise(self, thing: str) -> str:
        if not self.identified:
            return f"Not settled: another {thing} may be better by up to {self.gap:.4f}."
        scope = "of the whole graph" if self.expansion is None else "of the graph as grown"
        return (
            f"With probability at least {1 - self.delta:g} no {thing} {scope} is better by more than {self.epsilon:g}."
        )


class Progress(NamedTuple):
    """A look at a running search, handed to ``callback``."""

    samples: int
    exact_evaluations: int
    growths: int
    leaves: int
    gap: float
    best: Any
    elapsed: float
