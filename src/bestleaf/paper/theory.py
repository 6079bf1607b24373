"""The paper's complexity terms and bounds as functions.

H_eps is the sum of 1 / max(gap of the leaf, gap of the best arm, eps)^2 over all leaves. A fixed graph needs about
tau_ub = 8 H_eps ln(n / delta) samples. A growing graph needs at most tau_max samples, the root of
gap^2 tau = 8 (n_0 + tau^b) ln((n_0 + tau^b) / delta).
"""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from math import exp, inf, log, sqrt
from typing import Any

from scipy.optimize import brentq
from scipy.special import lambertw

from bestleaf.checks import shown
from bestleaf.problems import State
from bestleaf.rivals.flat import children_of_all, leaves_of


def values(problem: Any) -> dict[State, float]:
    """Return the value of every state of a graph whose leaf means are known; children come before their parents."""
    if not hasattr(problem, "mean"):
        raise TypeError(f"problem must know mean(state) of its leaves, {type(problem).__name__} does not")
    maximizes, below = getattr(problem, "maximizes", lambda state: True), children_of_all(problem)
    found: dict[State, float] = {}
    try:
        for state in TopologicalSorter(below).static_order():
            if below[state]:
                best = max if maximizes(state) else min
                found[state] = best(found[child] for child in below[state])
            else:
                found[state] = problem.mean(state)
    except CycleError as error:
        raise ValueError(f"problem must have no cycle, got one through the state {shown(error.args[1][0])}") from None
    return found


def arm_gap(problem: Any) -> float:
    """Return how much better the best arm is than the best arm with a lower value (0 if all have the same value)."""
    value, root = values(problem), problem.root()
    steps = {abs(value[root] - value[arm]) for arm in problem.children(root)}
    return min(steps - {0.0}, default=0.0)


def complexity(problem: Any, epsilon: float = 0.0) -> float:
    """Return H_eps of a complete graph whose leaf means are known; infinite if all arms tie and epsilon is 0.

    The gap of a leaf is the largest difference between the values of a parent and its child on any path to the leaf.
    """
    value = values(problem)
    gap = dict.fromkeys(value, max(arm_gap(problem), epsilon))
    for state in reversed(value):  # parents before children
        for child in () if problem.is_terminal(state) else problem.children(state):
            gap[child] = max(gap[child], gap[state], abs(value[child] - value[state]))
    gaps = [gap[leaf] for leaf in leaves_of(problem)]
    return sum(1.0 / gap**2 for gap in gaps) if min(gaps) > 0 else inf


def tau_ub(problem: Any, delta: float, epsilon: float = 0.0) -> float:
    """Return 8 H_eps ln(n / delta), the paper's bound on the samples of a fixed graph with n leaves.

    Examples
    --------
    >>> from bestleaf.problems import paper_lattice
    >>> int(tau_ub(paper_lattice(), delta=0.1))
    96520
    """
    return 8.0 * complexity(problem, epsilon) * log(len(leaves_of(problem)) / delta)


def _log_argument(b: float, delta: float, gap: float) -> float:
    """Return ln(-x) of the argument x of W_{-1} in theorem 2."""
    for name, value in (("b", b), ("delta", delta)):
        if not 0 < value < 1:
            raise ValueError(f"{name} must be between 0 and 1, got {shown(value)}")
    if not gap > 0:
        raise ValueError(f"gap must be positive, got {shown(gap)}")
    logarithm = 2 * log(gap) + log((1 - b) / (8 * b)) + (1 - b) / b * log(delta)
    if logarithm >= -1:
        raise ValueError(f"tau_max has no solution for b={b}, delta={delta}, gap={gap}: the gap is too large")
    return logarithm


def _tau_from_w(w: float, b: float, delta: float) -> float:
    return exp(((b - 1) / b * log(delta) + w) / (b - 1))


def tau_max(b: float, delta: float, gap: float) -> float:
    """Return the bound of theorem 2, by the lower branch of Lambert's W.

    `b` is the expansion exponent, `delta` the error probability, `gap` the larger of the best arm's gap and epsilon.
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

    It is above W, and tau falls as W rises. So this number is *below* `tau_max`.
    """
    u = -_log_argument(b, delta, gap) - 1
    return _tau_from_w(-1 - sqrt(2 * u) - 2 * u / 3, b, delta)


def tau_max_root(b: float, delta: float, gap: float, leaves: int = 0) -> float:
    """Return the root of gap^2 tau = 8 (n_0 + tau^b) ln((n_0 + tau^b) / delta), found numerically.

    `leaves` is n_0, the number of leaves at the start; with 0 the root is `tau_max`. Here `b` may be 0.
    """

    def excess(log_tau: float) -> float:
        crowd = leaves + exp(b * log_tau)
        return gap**2 * exp(log_tau) - 8 * crowd * log(crowd / delta)

    top = 1.0
    while excess(top) < 0:
        top *= 2
        if top > 1e3:
            raise ValueError(f"tau_max has no finite root for b={b}, delta={delta}, gap={gap}")
    low = top
    while excess(low) >= 0:
        low -= 0.5
        if low < 0:
            raise ValueError("tau_max is below one sample")
    return exp(brentq(excess, low, top, xtol=1e-12))
