"""Stopping tests that tell leaves apart in pairs: one short compiled function for each.

The answer is the leaf of highest mean. The search is over once every other leaf is told apart from it. A test gets the
samples of both leaves and says whether they prove that the rival is not better by more than epsilon. For one player
only: in a game or with chance the value of a move does not follow from one leaf.

**Shares of delta.** Intervals may fail with probability delta / 10, all of them together. The rest is for the pairs.
If all leaves are there from the start and are sampled, let b be the best one. Only pairs with b can make an answer
wrong, so each of the K - 1 pairs with it may be wrong with probability ``share = 0.9 delta / (K - 1)``; which leaf is b
need not be known. If leaves enter while samples are looked at, all pairs count. The leaf that enters as the j-th has
j - 1 pairs with earlier leaves, and counts once more alone, against exact values. So
``share = 0.9 delta / (j^2 (j + 1))`` for the later leaf of a pair, which adds up to at most 0.9 delta.

**Why a test holds.** For a candidate m for the value of a leaf, let M(m) be the product over all its samples x of
(q / m)^x ((1 - q) / (1 - m))^(1 - x), averaged over all q in [0, 1]. Let m be the true value. A factor is convex in x,
so its mean is at most m (q / m) + (1 - m) (1 - q) / (1 - m) = 1, its mean for samples 0 and 1, whatever samples in
[0, 1] there are. So M(m) is a nonnegative supermartingale that begins with 1, and so is the product of M for two
leaves at their true values, because every sample belongs to one of them or to neither. It ever reaches 1 / share with
probability share at most (Ville's inequality).
"""

from __future__ import annotations

from collections.abc import Callable
from math import lgamma, log, sqrt

import numpy as np

from bestleaf.checks import shown
from bestleaf.engine.compile import shared
from bestleaf.engine.kernels.pairs import costs_of, divergence
from bestleaf.engine.parts import Part, compiled_part

BY_INTERVALS = ("sound", "paper")  # tests that compare intervals; they are part of the kernels
HALVINGS = 20  # an end of an interval is found to one part in a million


class Stopping(Part):
    """A stopping test usable as ``stopping=``, made from a function that tells two leaves apart.

    Parameters
    ----------
    function
        ``(mean, count, rival_mean, rival_count, epsilon, share, best_share) -> bool``: whether the samples of a leaf
        and of its rival prove that the rival is not better by more than epsilon. An exact value has ``count = inf``.
        It may be wrong with probability `share`, for all numbers of samples together. `best_share` is the share for a
        statement about the best leaf alone, whichever it is. LUCB++ uses it: its bound for the best leaf may fail with
        probability ``best_share / 2``, and that for each other leaf with ``share / 2``. A larger epsilon must not turn
        True into False. The function is compiled for the search; `verify` calls it as it is.
    """

    def __init__(self, function: Callable) -> None:
        super().__init__(function)
        self.part = compiled_part(function, "stopping")

    @property
    def function(self) -> Callable[..., bool]:
        """The test as a function of Python."""
        return self.part.function


@shared
def surplus(mean, count):
    """Return by how much the best mean explains the samples of a leaf better than the average over all means does."""
    if np.isinf(count):
        return 0.0
    hits, misses = mean * count, (1.0 - mean) * count
    average = lgamma(1.0 + hits) + lgamma(1.0 + misses) - lgamma(2.0 + count)
    best = hits * log(mean) if hits > 0.0 else 0.0
    return best + (misses * log(1.0 - mean) if misses > 0.0 else 0.0) - average


@Stopping
def pairwise(mean, count, rival_mean, rival_count, epsilon, share, best_share):
    """Product of two mixtures over all means (Kaufmann and Koolen 2021, mixture martingales; Ville 1939): rigorous.

    The product at the true values of both leaves exceeds 1 / share with probability share at most. If it is larger than
    that for all values at which the rival is better by more than epsilon, these are not the true values.
    """
    own, other = costs_of(mean, count, rival_mean, rival_count, epsilon)
    return own + other - surplus(mean, count) - surplus(rival_mean, rival_count) >= log(1.0 / share)


@shared
def most_surplus(count):
    """Return what `surplus` under the mixture of Krichevsky and Trofimov is at most: log(2 sqrt(count))."""
    return 0.0 if np.isinf(count) else log(2.0 * sqrt(count))


@Stopping
def kl(mean, count, rival_mean, rival_count, epsilon, share, best_share):
    """Likelihood ratio against 4 sqrt(n m) / share, n and m samples (Garivier and Kaufmann 2016): rigorous.

    The most likely values explain the samples of a leaf better than the mixture of Krichevsky and Trofimov by a factor
    of at most 2 sqrt(n). So wherever this test holds, the product of the two mixtures exceeds 1 / share.
    """
    own, other = costs_of(mean, count, rival_mean, rival_count, epsilon)
    return own + other >= log(1.0 / share) + most_surplus(count) + most_surplus(rival_count)


@shared
def end_of_interval(mean, count, share, upper):
    """Return the lower or upper end of the interval of a leaf's value: the mixture rules out all values beyond it."""
    if np.isinf(count):
        return mean
    beyond, kept = 1.0 if upper else 0.0, mean
    level = log(1.0 / share) + surplus(mean, count)
    for _ in range(HALVINGS):
        middle = 0.5 * (beyond + kept)
        if count * divergence(mean, middle) >= level:
            beyond = middle
        else:
            kept = middle
    return beyond


@Stopping
def lucb_plus_plus(mean, count, rival_mean, rival_count, epsilon, share, best_share):
    """Lower bound of the leader, upper bounds with the share of the best leaf (Simchowitz et al. 2017): rigorous.

    If the answer is wrong, its own lower bound has failed or the upper bound of the best leaf has. The second may
    happen with probability best_share / 2, which is much more than a share for each leaf.
    """
    lower = end_of_interval(mean, count, share / 2.0, False)
    return end_of_interval(rival_mean, rival_count, best_share / 2.0, True) - lower <= epsilon


STOPPINGS = {test.name: test for test in (pairwise, kl, lucb_plus_plus)}


def named_stopping(given: str | Stopping) -> str | Stopping:
    """Return the stopping test of that name, or the user's own; tests that compare intervals stay names."""
    if isinstance(given, Stopping):
        return given
    key = str(given).lower().replace("++", "_plus_plus")
    if key in BY_INTERVALS:
        return key
    found = STOPPINGS.get(key)
    if found is None:
        names = ", ".join((*BY_INTERVALS, *STOPPINGS))
        raise ValueError(f"stopping must be one of {names} or a bestleaf.Stopping, got {shown(given)}")
    return found
