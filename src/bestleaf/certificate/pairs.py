"""Leaves told apart in pairs: shares of delta, the tests written out again, and the gap that follows from them.

Why the tests hold is told in `bestleaf.engine.stopping`. Nothing of the engine is imported. The tests need only the
number of samples of two leaves and their means, which are in every certificate. An exact value counts as infinitely
many samples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, isinf, lgamma, log, sqrt

from bestleaf.certificate.schema import CLOSE, Content, RefusedError, part_name

BY_INTERVALS = ("sound", "paper")  # stopping without pairs
FOR_INTERVALS = 0.1  # the part of delta for intervals, if leaves are told apart in pairs
HALVINGS = 60

# (mean, count, rival's mean, rival's count, epsilon, share, share of the best leaf) -> whether they are told apart
PairTest = Callable[[float, float, float, float, float, float, float], bool]


def in_pairs(search: Content) -> bool:
    """Whether a search told leaves apart in pairs."""
    return search["stopping"] not in BY_INTERVALS


def delta_of_intervals(search: Content) -> float:
    """Return the probability with which any interval of a leaf may fail."""
    return float(search["delta"] * (FOR_INTERVALS if in_pairs(search) else 1.0))


def _divergence(mean: float, other: float) -> float:
    """Return how badly samples of this mean go together with another mean; infinite if they cannot."""
    if (mean > 0 and other <= 0) or (mean < 1 and other >= 1):
        return inf
    hits = mean * log(mean / other) if mean > 0 else 0.0
    return hits + ((1 - mean) * log((1 - mean) / (1 - other)) if mean < 1 else 0.0)


def _cost(mean: float, count: float, rival_mean: float, rival_count: float, epsilon: float) -> float:
    """Return the least cost of two values, the rival's larger by epsilon, that samples like these go together with."""
    if rival_mean > mean + epsilon:
        return 0.0
    if (isinf(count) and (isinf(rival_count) or mean + epsilon >= 1)) or (isinf(rival_count) and rival_mean <= epsilon):
        return inf
    point = mean if isinf(count) else rival_mean - epsilon
    if not (isinf(count) or isinf(rival_count)):
        point = _meeting_point(mean, count, rival_mean, rival_count, epsilon)
    own = 0.0 if isinf(count) else count * _divergence(mean, point)
    return own + (0.0 if isinf(rival_count) else rival_count * _divergence(rival_mean, point + epsilon))


def _meeting_point(mean: float, count: float, rival_mean: float, rival_count: float, epsilon: float) -> float:
    """Return the value of the leaf at which the slope of the cost is 0; the cost is convex."""
    low, high = max(rival_mean - epsilon, 0.0), min(mean, 1 - epsilon)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        beyond = middle + epsilon
        if not low < middle < high or beyond >= 1:
            break
        slope = count * (middle - mean) / (middle * (1 - middle))
        slope += rival_count * (beyond - rival_mean) / (beyond * (1 - beyond))
        low, high = (middle, high) if slope < 0 else (low, middle)
    return (low + high) / 2


def _surplus(mean: float, count: float) -> float:
    """Return by how much the best mean explains the samples better than the average over all means, as a logarithm."""
    if isinf(count):
        return 0.0
    hits, misses = mean * count, (1 - mean) * count
    best = (hits * log(mean) if hits > 0 else 0.0) + (misses * log(1 - mean) if misses > 0 else 0.0)
    return best - lgamma(1 + hits) - lgamma(1 + misses) + lgamma(2 + count)


def _pairwise(
    mean: float, count: float, rival_mean: float, rival_count: float, epsilon: float, share: float, best_share: float
) -> bool:
    evidence = _cost(mean, count, rival_mean, rival_count, epsilon)
    return evidence - _surplus(mean, count) - _surplus(rival_mean, rival_count) >= log(1 / share) - CLOSE


def _kl(
    mean: float, count: float, rival_mean: float, rival_count: float, epsilon: float, share: float, best_share: float
) -> bool:
    most = sum(log(2 * sqrt(many)) for many in (count, rival_count) if not isinf(many))
    return _cost(mean, count, rival_mean, rival_count, epsilon) >= log(1 / share) + most - CLOSE


def _end(mean: float, count: float, share: float, beyond: float) -> float:
    """Return the end of the interval of a value towards `beyond`, 0 or 1."""
    if isinf(count):
        return mean
    kept, level = mean, log(1 / share) + _surplus(mean, count) - CLOSE
    for _ in range(HALVINGS):
        middle = (beyond + kept) / 2
        ruled_out = not 0 < middle < 1 or count * _divergence(mean, middle) >= level
        beyond, kept = (middle, kept) if ruled_out else (beyond, middle)
    return beyond


def _lucb_plus_plus(
    mean: float, count: float, rival_mean: float, rival_count: float, epsilon: float, share: float, best_share: float
) -> bool:
    lower, upper = _end(mean, count, share / 2, 0.0), _end(rival_mean, rival_count, best_share / 2, 1.0)
    return upper - lower <= epsilon + CLOSE


TESTS: dict[str, PairTest] = {"pairwise": _pairwise, "kl": _kl, "lucb_plus_plus": _lucb_plus_plus}


class Samples:
    """The samples of the leaves of a graph: all that a test by pairs needs.

    Parameters
    ----------
    leaves : int
        Number of leaves, if all were there from the start and are sampled; otherwise 0.
    delta : float
        Delta of the whole search.
    test : function
        The test.
    """

    def __init__(self, leaves: int, delta: float, test: PairTest) -> None:
        self.leaves, self.delta, self.test = leaves, (1 - FOR_INTERVALS) * delta, test

    def told_apart(self, leaf: Sample, rival: Sample, epsilon: float) -> bool:
        """Whether the rival is proved not to be better by more than epsilon."""
        (mean, count, order), (rival_mean, rival_count, rival_order) = leaf, rival
        if not (count and rival_count):
            return False
        later = max(order, rival_order)
        share = best = self.delta / max(1, later * later * (later + 1))
        if self.leaves:
            share, best = self.delta / max(1, self.leaves - 1), self.delta
        return bool(self.test(mean, count, rival_mean, rival_count, epsilon, share, best))

    def gap(self, answers: Sequence[Sample], rivals: Sequence[tuple[Sample, float]], epsilon: float) -> float:
        """Return the gap of an answer: the largest over its rivals, each the smallest that is proved.

        `answers` are the leaves of the answer that have the highest mean. Each of the `rivals` comes with the gap that
        its interval proves. The gap by pairs is at least 0.
        """
        largest = -1.0
        for rival, gap in sorted(rivals, key=lambda one: -one[1]):
            if gap <= max(largest, 0.0):
                return max(largest, gap)
            proved = [self._smallest(leaf, rival, max(largest, 0.0), gap, epsilon) for leaf in answers]
            largest = max(largest, min(proved, default=gap))
        return largest

    def _smallest(self, leaf: Sample, rival: Sample, low: float, high: float, epsilon: float) -> float:
        """Return the smallest epsilon from `low` on for which two leaves are told apart; `high` if none is smaller."""
        if self.told_apart(leaf, rival, low):
            return low
        if low < epsilon < high:
            low, high = (low, epsilon) if self.told_apart(leaf, rival, epsilon) else (epsilon, high)
        for _ in range(HALVINGS // 2):
            middle = (low + high) / 2
            low, high = (low, middle) if self.told_apart(leaf, rival, middle) else (middle, high)
        return high


Sample = tuple[float, float, int]  # mean, samples (infinitely many for an exact value), place in order of creation


def test_of(search: Content, own: PairTest | None) -> PairTest | None:
    """Return the test of a search; None for a test of the user's own that was not given."""
    return TESTS.get(search["stopping"], own)


def check_name(search: Content, name: str) -> None:
    """Refuse a test of the user's own that is not the one of the search."""
    called = part_name(name, (*BY_INTERVALS, *TESTS), ours=False)
    if called != search["stopping"]:
        raise RefusedError(f"the stopping test given is {called}, that of the certificate {search['stopping']}")


def gap_by_pairs(
    content: Content, inside: list[Content], rivals: list[tuple[Content, float]], own: PairTest | None
) -> float:
    """Return the gap that follows from the samples of pairs of leaves and from intervals.

    `inside` are the leaves of the answer; each rival comes with the gap that its interval proves. The gap of a test of
    the user's own is taken as written if the test was not given.
    """
    search, leaves = content["search"], content["leaves"]
    by_intervals, test = max((gap for _, gap in rivals), default=0.0), test_of(search, own)
    if test is None:
        return by_intervals if content["gap"] is None else min(by_intervals, content["gap"])
    equal = all(abs(leaf["share"] * len(leaves) - delta_of_intervals(search)) <= CLOSE for leaf in leaves)
    many = len(leaves) if equal and search["expansion"] is None else 0
    highest = max((leaf["mean"] for leaf in inside if leaf["count"]), default=0.0)
    answers = [_sample(leaf) for leaf in inside if leaf["count"] and leaf["mean"] == highest]
    found = Samples(many, search["delta"], test)
    return found.gap(answers, [(_sample(leaf), gap) for leaf, gap in rivals], search["epsilon"]) if rivals else 0.0


def _sample(leaf: Content) -> Sample:
    return (leaf["mean"] or 0.0, inf if leaf["exact"] else leaf["count"], leaf["order"])
