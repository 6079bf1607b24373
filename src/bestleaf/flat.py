"""Flat best-arm baselines: the leaves of a problem as arms, without the graph above them."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from time import perf_counter
from typing import Any

import numpy as np

from bestleaf._kernels import draw  # noqa: F401  registers the compiled oracles
from bestleaf._kernels.flat import KL_LUCB, LIL_UCB, LUCB, UGAPE, UNIFORM, propose_flat, run_flat
from bestleaf._records import SAMPLE, SOLVED, UNLIMITED
from bestleaf.checks import number, one_of, whole
from bestleaf.search.interrupt import deferred_interrupt
from bestleaf.search.options import checked_problem, checked_value, stream
from bestleaf.search.stages import SLICE

ALGORITHMS = {"uniform": UNIFORM, "lucb": LUCB, "kl_lucb": KL_LUCB, "ugape": UGAPE, "lil_ucb": LIL_UCB}
MOST_STATES = 1_000_000


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


def leaves_of(problem: Any) -> list[Any]:
    """Return the terminal states of a problem, in the order a walk from the root meets them."""
    waiting, met, leaves = [problem.root()], {problem.root()}, []
    for state in waiting:  # grows while it is walked
        if problem.is_terminal(state):
            leaves.append(state)
            continue
        fresh = [child for child in dict.fromkeys(problem.children(state)) if child not in met]
        met.update(fresh)
        waiting += fresh
        if len(waiting) > MOST_STATES:
            raise ValueError(f"problem must have at most {MOST_STATES:,} states, got more")
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
        LUCB, KL-LUCB, UGapE, lil'UCB or uniform sampling with the test of LUCB. lil'UCB has a stopping test of its own:
        it knows no epsilon, does not stop on ties, and its proof is for a far smaller delta than the one it is given.
    epsilon, delta : float
        Another leaf is better by more than epsilon with probability delta at most (not proved of lil'UCB).
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
    for name, words in (("exact", "exact leaves"), ("maximizes", "an opponent")):
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
    counts, sums = np.zeros(len(arms), np.int64), np.zeros(len(arms))
    oracle = problem.compiled_oracle(rng) if hasattr(problem, "compiled_oracle") else None
    for place, state in enumerate(arms):
        if oracle is not None:
            oracle.add(place, state)
    best, gap, drawn, stands, rounds = 0, 1.0, 0, SAMPLE, 1
    with deferred_interrupt() as interrupted:
        while stands == SAMPLE and drawn < limit and not interrupted():
            if oracle is not None:
                begun, before = perf_counter(), drawn
                stands, drawn, best, gap = run_flat(
                    counts, sums, drawn, kind, epsilon, delta, limit, rounds, oracle.record, rng
                )
                pace = (drawn - before) * SLICE / max(1e-6, perf_counter() - begun)
                rounds = int(max(1.0, min(pace, 4.0 * rounds)))
                continue
            best, _, first, second, gap = propose_flat(counts, sums, drawn, kind, epsilon, delta)
            if first < 0:
                stands = SOLVED
            try:
                for arm in (first, second):
                    if arm >= 0 and drawn < limit:
                        sums[arm] += checked_value(problem.sample(arms[arm], rng), "sample", arms[arm])
                        counts[arm] += 1
                        drawn += 1
            except KeyboardInterrupt:  # raised by the problem
                break
        best, _, _, _, gap = propose_flat(counts, sums, drawn, kind, epsilon, delta)
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
