"""What a search returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from bestleaf.certificate import Certificate
from bestleaf.certificate.build import Structure, certificate_of
from bestleaf.certificate.claims import counted, game_claim
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
        ``"identified"``, ``"max_samples"``, ``"max_time"``, ``"max_memory"``, ``"interrupted"``, ``"callback"`` or
        ``"no_workers"`` (of a cluster)
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
    leaves: tuple[Leaf, ...] = field(repr=False)
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
    proposal: str
    seed: int | None
    two_player: bool
    proof: str  # "rigorous", "conditional" on the user's own bound, or "none"
    structure: Structure = field(repr=False)
    challenges: dict[str, Any] = field(repr=False, default_factory=dict)  # what the answer stood up to, by guarantee

    @property
    def identified(self) -> bool:
        """Whether the search ended because the answer was known to within epsilon."""
        return self.reason == "identified"

    @cached_property
    def certificate(self) -> Certificate:
        """What was proved and what it follows from; see `bestleaf.verify`."""
        if self.two_player and self.task == "leaf":
            raise ValueError("a certificate of a two-player game is about the best arm, got task 'leaf'")
        return certificate_of(
            answer=self.structure.states.index(self.answer),
            reason=self.reason,
            search=self.settings(),
            cost=self.cost(),
            leaves=self.leaves,
            structure=self.structure,
            challenges=self.challenges,
        )

    def settings(self) -> dict[str, Any]:
        """Return how the search was run."""
        names = ("task", "epsilon", "delta", "rule", "bound", "stopping", "expansion", "proposal", "seed", "proof")
        return {name: getattr(self, name) for name in names}

    def cost(self) -> dict[str, Any]:
        """Return what the search took."""
        return {
            "samples": self.samples,
            "warmup_samples": self.warmup_samples,
            "exact_evaluations": self.exact_evaluations,
            "growths": self.growths,
            "seconds": self.elapsed,
        }

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """Return the result in words."""
        cost = counted(self.samples, "sample")
        if self.exact_evaluations:
            cost += f" and {counted(self.exact_evaluations, 'exact value')}"
        grown = "" if self.expansion is None else " in the graph as grown"
        value = f"between {self.lower:.4f} and {self.upper:.4f}"
        if self.lower == self.upper:
            value = f"{self.lower:.4f}, exactly"
        lines = [
            f"Best {self.task}: {self.answer!r}, value{grown} {value}.",
            f"{cost} on {counted(len(self.leaves), 'leaf', 'leaves')} in {self.elapsed:.2f} s ({self.reason}; "
            f"rule {self.rule}, bound {self.bound}, stopping {self.stopping}).",
            self._promise(),
        ]
        return "\n".join(lines)

    def _promise(self) -> str:
        if not (self.two_player and self.task == "leaf"):
            return "\n".join(self.certificate.claims)
        certain = all(leaf.exact for leaf in self.leaves)
        open_gap = None if self.identified else self.gap
        return game_claim(self.settings(), len(self.leaves), open_gap, certain=certain)


class Progress(NamedTuple):
    """A look at a running search, handed to ``callback``."""

    samples: int
    exact_evaluations: int
    growths: int
    leaves: int
    gap: float
    best: Any
    elapsed: float
