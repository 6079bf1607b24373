"""What has been found and what has been proved about it, in numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bestleaf.intervals import Leaf


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


@dataclass(frozen=True)
class Certificate:
    """The record of one feature selection.

    Attributes
    ----------
    features : tuple of str
        Names of the selected features.
    score : float
        Exact value of the answer.
    gap : float
        How much better than the answer a leaf of the final graph may be.
    samples, warmup_samples, exact_evaluations : int
        Rollouts drawn, how many of them only served to propose subsets, and exact values computed.
    reason : str
        ``"identified"``, ``"max_samples"``, ``"max_time"``, ``"interrupted"`` or ``"callback"``.
    leaves : tuple of Leaf
        Every leaf of the final graph with its statistics.
    objective : str
        What the score is, in words.
    claims, not_claimed : tuple of str
        What holds, and what does not follow from it.
    """

    features: tuple[str, ...]
    n_features: int
    score: float
    gap: float
    epsilon: float
    delta: float
    samples: int
    warmup_samples: int
    exact_evaluations: int
    growths: int
    elapsed: float
    reason: str
    rule: str
    bound: str
    stopping: str
    expansion: float | None
    seed: int | None
    objective: str
    claims: tuple[str, ...]
    not_claimed: tuple[str, ...]
    leaves: tuple[Leaf, ...]
    settings: dict[str, Any]
    version: str

    @property
    def settled(self) -> bool:
        """Whether the answer is known to within epsilon; a budget may end a search that is settled already."""
        return self.gap <= self.epsilon

    def summary(self) -> str:
        """Return everything a reader must know, in words."""
        shown = ", ".join(self.features[:20]) + (", …" if len(self.features) > 20 else "")
        cost = counted(self.samples, "rollout")
        if self.warmup_samples:
            cost += f" ({self.warmup_samples:,} of them to warm up)"
        cost += f" and {counted(self.exact_evaluations, 'exact value')} in {self.elapsed:.2f} s"
        lines = [
            f"Selected {len(self.features)} of {counted(self.n_features, 'feature')}: {shown}.",
            f"Value {self.score:.4f}: {self.objective}.",
            f"{cost} ({self.reason}; bound {self.bound}, stopping {self.stopping}).",
            *self.claims,
            *(f"Not claimed: {text}" for text in self.not_claimed),
        ]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return (
            f"Certificate(features={list(self.features)!r}, score={self.score:.4f}, reason={self.reason!r}, "
            f"samples={self.samples}, exact_evaluations={self.exact_evaluations}, leaves={len(self.leaves)})"
        )


def claims_of(
    *, proof: str, bound: str, stopping: str, epsilon: float, delta: float, gap: float, leaves: int
) -> tuple[str, ...]:
    """Return what the intervals prove about the answer, in sentences."""
    among = f"no leaf of the graph as grown ({leaves:,} leaves)"
    if gap > epsilon:
        return (f"Not settled: a leaf of the graph as grown ({leaves:,} leaves) may be better by up to {gap:.4f}.",)
    if proof == "none":
        doubt = f"bound {bound} with stopping {stopping} has no proof"
        return (f"It seems that {among} is better by more than {epsilon:g}; {doubt}.",)
    condition = f", provided that bound {bound} holds" if proof == "conditional" else ""
    return (f"With probability at least 1 - {delta:g} {among} is better by more than {epsilon:g}{condition}.",)


NOT_CLAIMED = (
    "that no other subset is better. Subsets evaluated exactly are compared exactly; of the others only the mean value "
    "of random completions of a partial subset is bounded, and that bounds no single one of them.",
    "anything about new data. The value is the one the search maximised on these examples; keep some aside to measure "
    "more.",
)
