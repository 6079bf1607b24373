"""Flat best-arm baselines: the leaves of a problem as arms, without the graph above them."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np

from bestleaf._kernels import draw  # noqa: F401  registers the compiled oracles
from bestleaf._kernels.flat import KL_LUCB, LIL_UCB, LUCB, UGAPE, UNIFORM, propose_flat, run_flat
from bestleaf._records import SAMPLE, SOLVED, UNLIMITED
from bestleaf.graph import GrowingGraph
from bestleaf.search.interrupt import deferred_interrupt
from bestleaf.search.options import checked_problem, checked_value, stream
from bestleaf.uct.settings import number, one_of, whole

ALGORITHMS = {"uniform": UNIFORM, "lucb": LUCB, "kl_lucb": KL_LUCB, "ugape": UGAPE, "lil_ucb": LIL_UCB}
ROUNDS = 10_000  # of a slice
MOST_ARMS = 1_000_000


@dataclass(frozen=True)
class FlatResult:
    """The arm that was found.

    Attributes
    ----------
    answer : state
        The leaf.
    mean : float
        Mean of its samples.
    gap : float
        How much better than the answer another leaf may be.
    samples : int
        Drawn of all leaves.
    counts : array of int
        Drawn of each.
    arms : tuple of states
        The leaves.
    reason : str
        ``"identified"``, ``"max_samples"`` or ``"interrupted"``.
    """

    answer: Any
    mean: float
    gap: float
    samples: int
    counts: np.ndarray = field(repr=False)
    arms: tuple[Any, ...] = field(repr=False)
    reason: str
    algorithm: str
    seed: int | None

    @property
    def identified(self) -> bool:
        """Whether the search ended because the answer was known."""
        return self.reason == "identified"


def leaves_of(problem: Any) -> list[Any]:
    """Return the terminal states of a problem, in the order a walk from the root meets them."""
    found = GrowingGraph.whole(problem)
    leaves = [state for state in found.states if problem.is_terminal(state)]
    if len(leaves) > MOST_ARMS:
        raise ValueError(f"problem must have at most {MOST_ARMS:,} leaves, got {len(leaves):,}")
    return leaves


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

    The baselines that searches in graphs are compared with: they sample every leaf and know nothing of moves, so they
    cost at least in proportion to the number of leaves.

    Parameters
    ----------
    problem : Problem
        One player, all leaves sampled; see `bestleaf.problems.Problem`.
    algorithm : {"lucb", "kl_lucb", "ugape", "lil_ucb", "uniform"}, default="lucb"
        LUCB, KL-LUCB, UGapE, lil'UCB (whose own stopping test knows no epsilon) or uniform sampling with the test of
        LUCB.
    epsilon, delta : float
        Another leaf is better by more than epsilon with probability delta at most.
    max_samples : int, default=None
        Budget.
    seed : int, Generator or None, default=None
        Everything random follows from it.

    Returns
    -------
    FlatResult

    Examples
    --------
    >>> from bestleaf import flat_best_leaf, problems
    >>> flat_best_leaf(problems.paper_lattice(), algorithm="kl_lucb", epsilon=0.1, delta=0.1, seed=0).answer
    (3, 4, 5)
    """
    checked_problem(problem)
    kind = ALGORITHMS[one_of("algorithm", algorithm, ALGORITHMS)]
    epsilon = number("epsilon", epsilon, 0.0, 1.0, "between 0 and 1")
    delta = number("delta", delta, 1e-300, 1.0 - 1e-12, "strictly between 0 and 1")
    limit = UNLIMITED if max_samples is None else whole("max_samples", max_samples, 1)
    arms = leaves_of(problem)
    if len(arms) < 2:
        raise ValueError(f"problem must have at least two leaves, got {len(arms)}")
    rng, repeated = stream(seed)
    counts, sums = np.zeros(len(arms), np.int64), np.zeros(len(arms))
    oracle = problem.compiled_oracle(rng) if hasattr(problem, "compiled_oracle") else None
    for place, state in enumerate(arms):
        if oracle is not None:
            oracle.add(place, state)
    best, gap, drawn, stands = 0, 1.0, 0, SAMPLE
    with deferred_interrupt() as interrupted:
        while stands == SAMPLE and not interrupted():
            if oracle is not None:
                stands, drawn, best, gap = run_flat(
                    counts, sums, drawn, kind, epsilon, delta, limit, ROUNDS, oracle.record, rng
                )
                continue
            best, _, first, second, gap = propose_flat(counts, sums, drawn, kind, epsilon, delta)
            if first < 0:
                stands = SOLVED
            elif drawn >= limit:
                break
            for arm in (first, second):
                if arm >= 0 and drawn < limit:
                    sums[arm] += checked_value(problem.sample(arms[arm], rng), "sample", arms[arm])
                    counts[arm] += 1
                    drawn += 1
    reason = "identified" if stands == SOLVED else "max_samples" if drawn >= limit else "interrupted"
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
