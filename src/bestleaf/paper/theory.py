"""The paper's complexity terms and bounds as functions, formula by formula.

Theorem 1 (a fixed graph with n leaves, delta <= min(1, 0.1 n)) bounds the samples until LUCB-MCDS stops by

    8 H_eps ln(n / delta) + sum over leaves of 16 / gap^2 ln ln(1 / gap^2) + o(ln(n / delta)),

where the gap of a leaf is max(Delta_l, Delta_*, eps) and H_eps the sum of 1 / gap^2. `tau_ub` is the first term, which
the paper prints beside its table; `theorem_1` is both.

Theorem 2 (a graph that starts with n_0 leaves and grows by tau^b of them) bounds them by tau_max, the root of
gap^2 tau = 8 tau^b ln(tau^b / delta), where the gap is max(Delta_*, eps). `tau_max_root` also counts the n_0 leaves:
gap^2 tau = 8 (n_0 + tau^b) ln((n_0 + tau^b) / delta).

`lower_bound` is not in the paper: what no algorithm can do better, on graphs whose leaves are known.
"""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from math import exp, inf, log, sqrt
from typing import Any

import numpy as np
from scipy.optimize import brentq, linprog
from scipy.special import lambertw, rel_entr

from bestleaf.checks import shown
from bestleaf.problems import Problem, State

LARGEST_LOGARITHM = 700.0  # of a floating-point number, about
MOST_STATES = 1_000_000


def children_of_all(problem: Problem, most: int = MOST_STATES) -> dict[State, list[State]]:
    """Return the children of every state of a problem, in the order in which a breadth-first walk meets the states."""
    root = problem.root()
    waiting, found = [root], {root: list[State]()}
    for state in waiting:  # grows in this loop
        found[state] = [] if problem.is_terminal(state) else list(dict.fromkeys(problem.children(state)))
        fresh = [child for child in found[state] if child not in found]
        found.update((child, []) for child in fresh)
        waiting += fresh
        if len(waiting) > most:
            raise ValueError(f"problem must have at most {most:,} states, got more")
    return found


def values(problem: Problem, most: int = MOST_STATES) -> dict[State, float]:
    """Return V(s) of every state of a graph whose leaf means are known; children come before their parents."""
    if not hasattr(problem, "mean"):
        raise TypeError(f"problem must know mean(state) of its leaves, {type(problem).__name__} does not")
    below, found = children_of_all(problem, most), dict[State, float]()
    maximizes = getattr(problem, "maximizes", lambda state: True)
    try:
        for state in TopologicalSorter(below).static_order():
            best = max if maximizes(state) else min
            found[state] = best(found[child] for child in below[state]) if below[state] else problem.mean(state)
    except CycleError as error:
        raise ValueError(f"problem must have no cycle, got one through the state {shown(error.args[1][0])}") from None
    return found


def arm_gap(problem: Problem, value: dict[State, float] | None = None) -> float:
    """Return Delta_*: how much better the best arm is than the best arm with a lower value (0 if all are equal).

    `value` are the values of all states, if they are known.
    """
    root, value = problem.root(), values(problem) if value is None else value
    return min({abs(value[root] - value[arm]) for arm in problem.children(root)} - {0.0}, default=0.0)


def leaf_gaps(problem: Problem, epsilon: float = 0.0) -> dict[State, float]:
    """Return the gap of every leaf: max(Delta_l, Delta_*, epsilon).

    Delta_l is the largest difference between the values of a parent and its child on any path to the leaf. So it is the
    largest Delta V(s), the largest ``|V(s) - V(p)|`` over parents p, where s is the leaf or an ancestor, not the root.
    The paper's definition names only the ancestors; its proof has the leaf too, and so has its figure of 96,520.
    """
    value, below = values(problem), children_of_all(problem)
    gap = dict.fromkeys(value, max(arm_gap(problem, value), epsilon))
    for state in reversed(value):  # parents before children
        for child in below[state]:
            gap[child] = max(gap[child], gap[state], abs(value[child] - value[state]))
    return {state: gap[state] for state in below if not below[state]}


def complexity(problem: Problem, epsilon: float = 0.0) -> float:
    """Return H_eps, the sum of 1 / gap^2 over all leaves; infinite if all arms tie and epsilon is 0."""
    return _inverse_squares(leaf_gaps(problem, epsilon))


def _inverse_squares(gaps: dict[State, float]) -> float:
    return sum(1.0 / gap**2 for gap in gaps.values()) if min(gaps.values()) > 0 else inf


def tau_ub(problem: Problem, delta: float, epsilon: float = 0.0) -> float:
    """Return 8 H_eps ln(n / delta), the first term of theorem 1, for a fixed graph with n leaves.

    Examples
    --------
    >>> from bestleaf.problems import paper_lattice
    >>> int(tau_ub(paper_lattice(), delta=0.1))
    96520
    """
    gaps = leaf_gaps(problem, epsilon)
    _check_delta(delta, len(gaps))
    return 8.0 * _inverse_squares(gaps) * log(len(gaps) / delta)


def iterated_logarithms(problem: Problem, epsilon: float = 0.0) -> float:
    """Return the second term of theorem 1, the sum of 16 / gap^2 ln ln(1 / gap^2) over all leaves.

    A leaf with a gap of at least e^(-1/2), about 0.61, counts 0. There the iterated logarithm is negative or does not
    exist, and a bound must not be lowered by it.
    """
    gaps = leaf_gaps(problem, epsilon).values()
    if min(gaps) <= 0:
        return inf
    return sum(16.0 / gap**2 * log(-2.0 * log(gap)) for gap in gaps if gap < exp(-0.5))


def theorem_1(problem: Problem, delta: float, epsilon: float = 0.0) -> float:
    """Return both terms of theorem 1: `tau_ub` plus `iterated_logarithms`; what the paper writes as o(...) is left out.

    Examples
    --------
    >>> from bestleaf.problems import paper_lattice
    >>> int(theorem_1(paper_lattice(), delta=0.1))
    155571
    """
    return tau_ub(problem, delta, epsilon) + iterated_logarithms(problem, epsilon)


def _check_delta(delta: float, leaves: int) -> None:
    most = min(1.0, 0.1 * leaves)  # as the theorems of the paper ask
    if not 0 < delta <= most:
        raise ValueError(f"delta must be above 0 and at most {most:g} with {leaves:,} leaves, got {shown(delta)}")


def _log_argument(b: float, delta: float, gap: float) -> float:
    """Return ln(-x) of the argument x = gap^2 (b - 1) / (8 b delta^((b - 1) / b)) of W_{-1} in theorem 2."""
    logarithm = 2 * log(gap) + log((1 - b) / (8 * b)) + (1 - b) / b * log(delta)
    if logarithm >= -1:
        raise ValueError(f"tau_max has no solution for b={b}, delta={delta}, gap={gap}: the gap is too large")
    return logarithm


def _check_growth(b: float, delta: float, gap: float) -> None:
    """Refuse what theorem 2 is not about: it has b in (0, 1]."""
    if not 0 < b <= 1:
        raise ValueError(f"b must be above 0 and at most 1, got {shown(b)}")
    if not 0 < delta < 1:
        raise ValueError(f"delta must be between 0 and 1, got {shown(delta)}")
    if not gap > 0:
        raise ValueError(f"gap must be positive, got {shown(gap)}")


def _tau_from_w(w: float, b: float, delta: float) -> float:
    """Return [delta^((b - 1) / b) e^w]^(1 / (b - 1)); infinite if it is too large for a number."""
    logarithm = ((b - 1) / b * log(delta) + w) / (b - 1)
    return exp(logarithm) if logarithm < LARGEST_LOGARITHM else inf


def tau_max(b: float, delta: float, gap: float) -> float:
    """Return the bound of theorem 2, by the lower branch of Lambert's W.

    `b` is the expansion exponent, `delta` the error probability, `gap` the larger of the best arm's gap and epsilon.

    The theorem includes b = 1, where a leaf enters with every sample. As b rises to 1, W_{-1} falls to minus infinity
    and tau_max rises beyond every number, so the bound is infinite: by the theorem such a search need not stop before
    the whole graph has entered.
    """
    _check_growth(b, delta, gap)
    if b == 1:
        return inf
    logarithm = _log_argument(b, delta, gap)
    if logarithm < -LARGEST_LOGARITHM:  # the argument of W is too small for a number
        return tau_max_root(b, delta, gap)
    return _tau_from_w(float(lambertw(-exp(logarithm), k=-1).real), b, delta)


def tau_max_elementary(b: float, delta: float, gap: float) -> float:
    """Return an upper bound of `tau_max` without special functions, from W_{-1}(-e^{-u-1}) > -1 - sqrt(2u) - u."""
    return _elementary(b, delta, gap, 1.0)


def tau_max_printed(b: float, delta: float, gap: float) -> float:
    """Return the elementary expression the paper prints, from W_{-1}(-e^{-u-1}) < -1 - sqrt(2u) - 2u/3.

    It is above W, and tau falls as W rises. So this number is *below* `tau_max`.
    """
    return _elementary(b, delta, gap, 2 / 3)


def _elementary(b: float, delta: float, gap: float, slope: float) -> float:
    _check_growth(b, delta, gap)
    if b == 1:
        return inf
    u = -_log_argument(b, delta, gap) - 1
    return _tau_from_w(-1 - sqrt(2 * u) - slope * u, b, delta)


def tau_max_root(b: float, delta: float, gap: float, leaves: int = 0) -> float:
    """Return the root of gap^2 tau = 8 (n_0 + tau^b) ln((n_0 + tau^b) / delta), found numerically.

    `leaves` is n_0, the number of leaves at the start; with 0 the root is `tau_max`. Here `b` may be 0. With b = 1, and
    where the root is too large for a number, the result is infinite.
    """

    def excess(log_tau: float) -> float:
        crowd = leaves + exp(b * log_tau)
        return gap**2 * exp(log_tau) - 8 * crowd * log(crowd / delta)

    top = 1.0
    while excess(top) < 0:
        top *= 2
        if top > LARGEST_LOGARITHM:
            return inf
    low = top
    while excess(low) >= 0:
        low -= 0.5
        if low < 0:
            raise ValueError("tau_max is below one sample")
    return exp(brentq(excess, low, top, xtol=1e-12))


def lower_bound(problem: Problem, delta: float, epsilon: float = 0.0, *, task: str = "arm", most: int = 1000) -> float:
    """Return how many samples any algorithm takes on average that errs with a probability of at most delta.

    The leaves of a fixed graph with one player give 0 or 1, with known means. Let T be the smallest cost, over all
    shares w of the leaves in the samples, of telling the problem from every one where the answer is wrong: 1 / T is the
    largest over w of the smallest sum of w kl(mean, mean there). Then the number is T kl(delta, 1 - delta) (Garivier
    and Kaufmann 2016). It is found by linear programs, one more cut each time, and never too high. If two answers tie
    it is infinite unless epsilon is above 0.

    Examples
    --------
    >>> from bestleaf.problems import paper_lattice
    >>> int(lower_bound(paper_lattice(), delta=0.1))
    578
    """
    if not 0 < delta < 0.5:
        raise ValueError(f"delta must be above 0 and below 0.5, got {shown(delta)}")
    if hasattr(problem, "maximizes") or hasattr(problem, "chance"):
        raise ValueError("lower_bound needs a graph with one player and without chance")
    value, below, label = values(problem), children_of_all(problem), getattr(problem, "label", lambda state: state)
    under: dict[State, set[State]] = {}
    for state in value:  # children before parents
        under[state] = set().union(*(under[child] for child in below[state])) if below[state] else {label(state)}
    mean = {label(state): value[state] for state in value if not below[state]}
    if len(mean) > most:
        raise ValueError(f"lower_bound takes at most {most:,} leaves, got {len(mean):,}")
    place = {leaf: number for number, leaf in enumerate(mean)}
    answers = [under[arm] for arm in below[problem.root()]] if task == "arm" else [{leaf} for leaf in mean]
    means = np.array(list(mean.values()))
    right = [{place[leaf] for leaf in answer} for answer in answers]
    right = [answer for answer in right if means[list(answer)].max() >= means.max() - epsilon]
    hardness = max(_separated(means, sorted(answer), epsilon) for answer in right)
    return _divergence(delta, 1 - delta) / hardness if hardness > 1e-12 else inf


def _divergence(p: np.ndarray | float, q: np.ndarray | float) -> Any:
    """Return kl(p, q): how much a sample tells between the means p and q."""
    return rel_entr(p, q) + rel_entr(1 - np.asarray(p), 1 - np.asarray(q))


def _separated(means: np.ndarray, answer: list[int], epsilon: float) -> float:
    """Return 1 / T if some leaves are the answer: it is wrong where one other leaf is better than all of them."""
    others = np.setdiff1d(np.arange(len(means)), answer)
    if not len(others):
        return inf
    # The answer falls to a level, and another one rises above it.
    levels = np.linspace(max(0.0, means.min() - epsilon), means.max(), 401)
    fall = np.where(means[answer, None] > levels, _divergence(means[answer, None], levels), 0.0)
    above = np.minimum(levels + epsilon, 1.0)
    rise = np.where(means[others, None] < above, _divergence(means[others, None], above), 0.0)
    told = np.isfinite(fall).all(axis=0) & np.isfinite(rise)  # a mean of 0 or 1 is told from others by one sample
    others, rise, told = others[told.any(axis=1)], rise[told.any(axis=1)], told[told.any(axis=1)]
    if not len(others):
        return inf
    fall, rise = np.where(np.isfinite(fall), fall, 0.0), np.where(told, rise, 0.0)
    shares, cuts, best = np.full(len(means), 1.0 / len(means)), list[np.ndarray](), 0.0
    for _ in range(1000):
        costs = np.where(told, shares[answer] @ fall + shares[others, None] * rise, inf)
        best = max(best, float(costs.min()))
        for other, level in enumerate(costs.argmin(axis=1)):
            cut = np.zeros(len(means))
            cut[answer], cut[others[other]] = fall[:, level], rise[other, level]
            cuts.append(cut)
        table = np.hstack([-np.array(cuts), np.ones((len(cuts), 1))])
        goal = np.append(np.zeros(len(means)), -1.0)
        whole = np.append(np.ones(len(means)), 0.0)[None]
        found = linprog(goal, table, np.zeros(len(cuts)), whole, [1.0])
        assert found.x is not None
        shares, most = found.x[:-1], float(found.x[-1])
        if most - best <= 1e-3 * most:
            break
    return most
