"""Best-arm identification on all leaves at once, without the graph above them: the flat baselines."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np

from bestleaf.checks import number, one_of, whole
from bestleaf.engine.records import UNLIMITED
from bestleaf.problems import State
from bestleaf.rivals.kernels.flat import KL_LUCB, LIL_UCB, LUCB, UGAPE, UNIFORM, propose, run_flat
from bestleaf.search.budget import deferred_interrupt
from bestleaf.search.settings import checked_problem, checked_value, stream

ALGORITHMS = {"uniform": UNIFORM, "lucb": LUCB, "kl_lucb": KL_LUCB, "ugape": UGAPE, "lil_ucb": LIL_UCB}
MOST_STATES = 1_000_000
BOUNDS_A_SLICE = 100_000  # bounds computed between two looks at Ctrl-C


@dataclass(frozen=True)
class FlatResult:
    """The leaf that was found by best-arm identification on all leaves.

    Attributes
    ----------
    answer : state
        The best leaf.
    mean : float
        Mean of its samples.
    gap : float
        How much better than the answer another leaf may be.
    samples : int
        Samples of all leaves together.
    arms : tuple of states
        All leaves.
    counts : array of int
        Samples of each leaf, in the order of `arms`.
    reason : str
        Why the search ended: ``"identified"``, ``"max_samples"`` or ``"interrupted"``.
    algorithm, seed : str, int or None
        How the search was run.
    """

    answer: State
    mean: float
    gap: float
    samples: int
    counts: np.ndarray = field(repr=False)
    arms: tuple[State, ...] = field(repr=False)
    reason: str
    algorithm: str
    seed: int | None

    def __str__(self) -> str:
        open_words = "" if self.identified else f"; another leaf may be better by up to {self.gap:.4f}"
        return (
            f"Best leaf: {self.answer!r}, mean {self.mean:.4f} after {self.samples:,} samples of {len(self.arms):,} "
            f"leaves ({self.algorithm}, {self.reason}{open_words})."
        )

    @property
    def identified(self) -> bool:
        """Whether the search ended because the answer was known."""
        return self.reason == "identified"


def children_of_all(problem: Any) -> dict[State, list[State]]:
    """Return the children of every state of a problem, in the order in which a breadth-first walk meets the states."""
    root = problem.root()
    waiting, found = [root], {root: list[State]()}
    for state in waiting:  # grows in this loop
        found[state] = [] if problem.is_terminal(state) else list(dict.fromkeys(problem.children(state)))
        fresh = [child for child in found[state] if child not in found]
        found.update((child, []) for child in fresh)
        waiting += fresh
        if len(waiting) > MOST_STATES:
            raise ValueError(f"problem must have at most {MOST_STATES:,} states, got more")
    return found


def leaves_of(problem: Any) -> list[State]:
    """Return the terminal states of a problem, in the order of a breadth-first walk."""
    return [state for state in children_of_all(problem) if problem.is_terminal(state)]


def flat_best_leaf(
    problem: Any,
    *,
    algorithm: str = "lucb",
    epsilon: float,
    delta: float,
    max_samples: int | None = None,
    seed: Any = None,
) -> FlatResult:
    """Identify the best leaf by best-arm identification on all leaves at once.

    This is a baseline for searches in graphs. It samples every leaf and does not use the graph. Its cost grows at least
    in proportion to the number of leaves.

    Parameters
    ----------
    problem : Problem
        A problem of one player whose leaves are sampled; see `bestleaf.problems.Problem`.
    algorithm : {"lucb", "kl_lucb", "ugape", "lil_ucb", "uniform"}, default="lucb"
        LUCB, KL-LUCB, UGapE, lil'UCB, or uniform sampling with the stopping test of LUCB. lil'UCB has its own stopping
        test: it does not use `epsilon` and does not stop on ties. Its proof needs a far smaller `delta`.
    epsilon, delta : float
        With probability 1 - delta no leaf is better than the answer by more than epsilon (not proved for lil'UCB).
    max_samples : int, default=None
        Largest number of samples.
    seed : int, Generator or None, default=None
        Seed of everything random.

    Examples
    --------
    >>> from bestleaf import flat_best_leaf, problems
    >>> flat_best_leaf(problems.paper_lattice(), algorithm="kl_lucb", epsilon=0.1, delta=0.1, seed=0).answer
    (3, 4, 5)
    """
    checked_problem(problem)
    for name, words in (("exact", "exact leaves"), ("maximizes", "an opponent"), ("chance", "chance")):
        if hasattr(problem, name):
            raise ValueError(f"problem must have one player and leaves that are sampled, got one with {words}")
    kind = ALGORITHMS[one_of("algorithm", algorithm, ALGORITHMS)]
    epsilon = number("epsilon", epsilon, "between 0 and 1", 0.0, 1.0)
    delta = number("delta", delta, "strictly between 0 and 1", 0.0, 1.0, open_ends=True)
    limit = UNLIMITED if max_samples is None else whole("max_samples", max_samples, 1)
    arms = leaves_of(problem)
    if len(arms) < 2:
        raise ValueError(f"problem must have at least two leaves, got {len(arms)}")
    rng, repeated = stream(seed)
    oracle = problem.compiled_oracle(rng) if hasattr(problem, "compiled_oracle") else None
    if oracle is not None:
        for place, state in enumerate(arms):
            oracle.add(place, state)
    counts, sums, drawn, rounds = np.zeros(len(arms), np.int64), np.zeros(len(arms)), 0, BOUNDS_A_SLICE // len(arms) + 1
    with deferred_interrupt() as interrupted, suppress(KeyboardInterrupt):  # a problem may raise it
        while drawn < limit and not interrupted():
            _, first, second, _ = propose(counts, sums, drawn, kind, epsilon, delta)
            if first < 0:
                break
            if oracle is not None:
                drawn = run_flat(counts, sums, drawn, kind, epsilon, delta, limit, rounds, oracle.record, rng)
                continue
            for arm in (first, second):
                if arm >= 0 and drawn < limit:
                    sums[arm] += checked_value(problem.sample(arms[arm], rng), "sample", arms[arm])
                    counts[arm] += 1
                    drawn += 1
    best, first, _, gap = propose(counts, sums, drawn, kind, epsilon, delta)
    reason = "identified" if first < 0 else "max_samples" if drawn >= limit else "interrupted"
    return FlatResult(
        answer=arms[best],
        mean=float(sums[best] / counts[best]) if counts[best] else -inf,
        gap=float(min(1.0, gap)),
        samples=int(drawn),
        counts=counts,
        arms=tuple(arms),
        reason=reason,
        algorithm=algorithm,
        seed=repeated,
    )
