"""The paper's complexity terms and bounds as functions.

H_eps = sum over leaves of 1 / max(gap of the leaf, gap of the best arm, eps)^2; a fixed graph needs about
tau_ub = 8 H_eps ln(n / delta) samples, a growing one at most tau_max, the root of
gap^2 tau = 8 (n_0 + tau^b) ln((n_0 + tau^b) / delta).
"""

from __future__ import annotations

from math import exp, inf, log, sqrt
from typing import Any

from scipy.optimize import brentq
from scipy.special import lambertw

from bestleaf.checks import shown
from bestleaf.graph import GrowingGraph

__all__ = ["arm_gap", "complexity", "tau_max", "tau_max_elementary", "tau_max_printed", "tau_max_root", "tau_ub"]


class _Values:
    """V(s) of every node of a complete graph with known leaf means."""

    def __init__(self, problem: Any) -> None:
        if not hasattr(problem, "mean"):
            raise TypeError(f"problem must know mean(state) of its leaves, {type(problem).__name__} does not")
        self.graph = GrowingGraph.whole(problem)
        states = self.graph.states
        self.children = [self.graph.linked("child", node).tolist() for node in range(len(states))]
        self.parents = [self.graph.linked("parent", node).tolist() for node in range(len(states))]
        level = self.graph.nodes["level"][: len(states)].tolist()
        self.down = sorted(range(len(states)), key=level.__getitem__)
        self.value = [0.0] * len(states)
        for node in reversed(self.down):
            below = [self.value[child] for child in self.children[node]]
            best = min if self.graph.nodes["minimizes"][node] else max
            self.value[node] = best(below) if below else problem.mean(states[node])

    @property
    def leaves(self) -> list[int]:
        return [node for node, below in enumerate(self.children) if not below]

    def arm_gap(self) -> float:
        """Return the gap between the best arm and the best of those with another value."""
        top = self.value[0]
        others = [self.value[arm] for arm in self.children[0] if self.value[arm] != top]
        return min((abs(top - other) for other in others), default=0.0)

    def complexity(self, epsilon: float) -> float:
        """Return H_eps; infinite when all arms tie and epsilon is 0."""
        floor = max(self.arm_gap(), epsilon)
        gaps = [max(gap, floor) for gap in self.leaf_gaps()]
        return sum(1.0 / gap**2 for gap in gaps) if min(gaps) > 0 else inf

    def leaf_gaps(self) -> list[float]:
        """Return for each leaf the largest step of value on any path to it, the root's own step left out."""
        largest = [0.0] * len(self.value)
        for node in self.down[1:]:
            step = max(abs(self.value[node] - self.value[parent]) for parent in self.parents[node])
            largest[node] = max(step, *(largest[parent] for parent in self.parents[node]))
        return [largest[leaf] for leaf in self.leaves]


def arm_gap(problem: Any) -> float:
    """Return the value of the best arm minus that of the best arm of another value (0 when all are equal)."""
    return _Values(problem).arm_gap()


def complexity(problem: Any, epsilon: float = 0.0) -> float:
    """Return H_eps of a complete graph whose leaf means are known (infinite when all arms tie and epsilon is 0).

    Examples
    --------
    >>> from bestleaf.problems import paper_lattice
    >>> round(complexity(paper_lattice()))
    2277
    """
    return _Values(problem).complexity(epsilon)


def tau_ub(problem: Any, delta: float, epsilon: float = 0.0) -> float:
    """Return 8 H_eps ln(n / delta), the paper's bound on the samples of a fixed graph with n leaves.

    Examples
    --------
    >>> from bestleaf.problems import paper_lattice
    >>> int(tau_ub(paper_lattice(), delta=0.1))
    96520
    """
    values = _Values(problem)
    return 8.0 * values.complexity(epsilon) * log(len(values.leaves) / delta)


def _log_argument(b: float, delta: float, gap: float) -> float:
    """Return ln(-x) of the argument x of W_{-1} in theorem 2."""
    if not 0 < b < 1:
        raise ValueError(f"b must be between 0 and 1, got {shown(b)}")
    if not 0 < delta < 1:
        raise ValueError(f"delta must be between 0 and 1, got {shown(delta)}")
    if not gap > 0:
        raise ValueError(f"gap must be positive, got {shown(gap)}")
    logarithm = 2 * log(gap) + log((1 - b) / (8 * b)) + (1 - b) / b * log(delta)
    if logarithm >= -1:
        raise ValueError(f"tau_max has no solution for b={b}, delta={delta}, gap={gap}: the gap is too large")
    return logarithm


def tau_max(b: float, delta: float, gap: float) -> float:
    """Return the bound of theorem 2, by the lower branch of Lambert's W.

    Parameters
    ----------
    b : float
        Expansion exponent.
    delta : float
        Error probability.
    gap : float
        max(gap of the best arm, epsilon).
    """
    logarithm = _log_argument(b, delta, gap)
    if logarithm < -700:  # the argument underflows
        return tau_max_root(b, delta, gap)
    return _tau_from_w(float(lambertw(-exp(logarithm), k=-1).real), b, delta)


def tau_max_elementary(b: float, delta: float, gap: float) -> float:
    """Return an upper bound of `tau_max` without special functions, from W_{-1}(-e^{-u-1}) > -1 - sqrt(2u) - u."""
    u = -_log_argument(b, delta, gap) - 1
    return _tau_from_w(-1 - sqrt(2 * u) - u, b, delta)


def tau_max_printed(b: float, delta: float, gap: float) -> float:
    """Return the elementary expression the paper prints, from W_{-1}(-e^{-u-1}) < -1 - sqrt(2u) - 2u/3.

    It bounds W from above; since tau falls as W rises, this is a bound of `tau_max` from *below*.
    """
    u = -_log_argument(b, delta, gap) - 1
    return _tau_from_w(-1 - sqrt(2 * u) - 2 * u / 3, b, delta)


def _tau_from_w(w: float, b: float, delta: float) -> float:
    return exp(((b - 1) / b * log(delta) + w) / (b - 1))


def tau_max_root(b: float, delta: float, gap: float, leaves: int = 0) -> float:
    """Return the numeric root of gap^2 tau = 8 (n_0 + tau^b) ln((n_0 + tau^b) / delta), n_0 initial leaves.

    Parameters
    ----------
    b, delta, gap
        As for `tau_max`; b may be 0 here.
    leaves : int
        n_0; with 0 the root is that of `tau_max`.
    """

    def excess(log_tau: float) -> float:
        crowd = leaves + exp(b * log_tau)
        return gap**2 * exp(log_tau) - 8 * crowd * log(crowd / delta)

    top = 1.0
    while excess(top) < 0:
        top *= 2
        if top > 1e3:
            raise ValueError(f"tau_max has no finite root for b={b}, delta={delta}, gap={gap}")
    return exp(brentq(excess, _last_negative(excess, top), top, xtol=1e-12))


def _last_negative(function: Any, top: float) -> float:
    """Return a point below `top` where the function is negative."""
    low = top
    while function(low) >= 0:
        low -= 0.5
        if low < 0:
            raise ValueError("tau_max is below one sample")
    return low
