"""Best-arm identification without a graph: which leaf to sample next, and when to stop."""

from math import inf, log, sqrt

from bestleaf.engine.compile import draw, helper, kernel

UNIFORM, LUCB, KL_LUCB, UGAPE, LIL_UCB = 0, 1, 2, 3, 4
STEPS = 50  # of a bisection: enough for full precision


@helper
def divergence(mean, other):
    """Return how badly samples of this mean go together with another mean: d(mean, other) of two coins."""
    found = 0.0
    if mean > 0.0:
        found += mean * log(mean / other)
    if mean < 1.0:
        found += (1.0 - mean) * log((1.0 - mean) / (1.0 - other))
    return found


@helper
def kl_bound(mean, count, rate, side):
    """Return the farthest value on one side (1 above, -1 below) whose divergence from the mean is rate / count."""
    near, far = mean, 1.0 if side > 0 else 0.0
    for _ in range(STEPS):
        middle = 0.5 * (near + far)
        if 0.0 < middle < 1.0 and count * divergence(mean, middle) <= rate:
            near = middle
        else:
            far = middle
    return near


@helper
def bound(arm, side, counts, sums, drawn, algorithm, delta):
    """Return the upper (side 1) or lower (side -1) bound of an arm after `drawn` samples of all arms."""
    count, many, time = counts[arm], len(counts), float(drawn)
    mean = sums[arm] / count
    if algorithm == KL_LUCB:
        crowd = log(405.5 * many * time**1.1 / delta)
        return kl_bound(mean, count, crowd + log(crowd), side)
    if algorithm == UGAPE:
        return mean + side * sqrt(0.5 * log(4.0 * many * time**3 / delta) / count)
    if algorithm == LIL_UCB:  # epsilon 0.01, beta 1, samples within half of their mean
        width = log(log(1.01 * count + 2.0) / delta)
        return mean + side * 2.0 * 1.1 * sqrt(2.0 * 0.25 * 1.01 * width / count)
    return mean + side * sqrt(log(1.25 * many * time**4 / delta) / (2.0 * count))


@helper
def strongest(skipped, counts, sums, drawn, algorithm, delta):
    """Return the arm of highest upper bound other than `skipped` (ties: the first)."""
    found, highest = -1, -inf
    for arm in range(len(counts)):
        if arm != skipped:
            upper = bound(arm, 1, counts, sums, drawn, algorithm, delta)
            if upper > highest:
                found, highest = arm, upper
    return found


@helper
def favourite(counts, sums, drawn, algorithm, delta):
    """Return the arm to answer with: that of highest mean; for lil'UCB of most samples; for UGapE of smallest gap."""
    first = second = -1
    if algorithm == UGAPE:
        first = strongest(-1, counts, sums, drawn, algorithm, delta)
        second = strongest(first, counts, sums, drawn, algorithm, delta)
    found, highest = 0, -inf
    for arm in range(len(counts)):
        if counts[arm] == 0:
            continue
        if algorithm == UGAPE:
            score = bound(arm, -1, counts, sums, drawn, algorithm, delta)
            score -= bound(second if arm == first else first, 1, counts, sums, drawn, algorithm, delta)
        elif algorithm == LIL_UCB:
            score = float(counts[arm])
        else:
            score = sums[arm] / counts[arm]
        if score > highest:
            found, highest = arm, score
    return found


@kernel
def propose(counts, sums, drawn, algorithm, epsilon, delta):
    """Return (best arm, first arm to sample, second or -1, gap); the first is -1 when the best arm is known."""
    for arm in range(len(counts)):
        if counts[arm] == 0:
            return favourite(counts, sums, drawn, LUCB, delta), arm, -1, 1.0
    best = favourite(counts, sums, drawn, algorithm, delta)
    rival = strongest(best, counts, sums, drawn, algorithm, delta)
    upper = bound(rival, 1, counts, sums, drawn, algorithm, delta)
    gap = upper - bound(best, -1, counts, sums, drawn, algorithm, delta)
    if algorithm == LIL_UCB:
        solved = counts[best] >= 1 + 9 * (drawn - counts[best])
        return best, -1 if solved else strongest(-1, counts, sums, drawn, algorithm, delta), -1, gap
    if gap < epsilon:
        return best, -1, -1, gap
    if algorithm == UNIFORM:
        return best, drawn % len(counts), -1, gap
    if algorithm == UGAPE:
        return best, rival if counts[rival] <= counts[best] else best, -1, gap
    return best, best, rival, gap


@kernel
def run_flat(counts, sums, drawn, algorithm, epsilon, delta, limit, rounds, oracle, rng):
    """Play up to `rounds` rounds with a compiled oracle; return the number of samples drawn so far."""
    for _ in range(rounds):
        _, first, second, _ = propose(counts, sums, drawn, algorithm, epsilon, delta)
        if first < 0 or drawn >= limit:
            break
        for arm in (first, second):
            if arm >= 0 and drawn < limit:
                sums[arm] += draw(oracle, arm, rng)
                counts[arm] += 1
                drawn += 1
    return drawn
