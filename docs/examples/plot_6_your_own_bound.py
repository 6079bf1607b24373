"""
Your own bound
==============

A bound computes the interval of a leaf from its samples. The interval must hold for all numbers of samples together,
with probability 1 - delta, where delta is the share of the leaf. A bound that needs more than the mean and the number
of samples keeps it in a row of numbers.
"""

from functools import partial
from math import log, sqrt

from bestleaf import Bound, best_arm, problems, verify


def follows(side, value, delta, evidence):
    """Return whether a bound follows from its evidence."""
    count, total = evidence[:2]
    half = sqrt(log(2 * count * (count + 1) / delta) / (2 * count))
    return value <= total / count - half + 1e-9 if side == "lower" else value >= total / count + half - 1e-9


@partial(Bound, check=follows)
def union_over_time(mean, count, delta, row):
    """Hoeffding's interval after every sample, each with its part of the leaf's share of delta."""
    half = sqrt(log(2 * count * (count + 1) / delta) / (2 * count))
    return mean - half, mean + half


# %%
# The next bound keeps the sum of squares in its row. That gives the variance, so leaves whose samples vary little get
# narrow intervals (the empirical Bernstein inequality of Maurer and Pontil, again with a part of delta for every number
# of samples). The samples below are 0 or 1 and vary a lot, so here it does not pay.


def add_square(row, value, count):
    """Keep the sum of squares."""
    row[0] += value * value


def empirical_bernstein(mean, count, delta, row):
    """Both sides of Maurer and Pontil's interval."""
    if count < 2:
        return 0.0, 1.0
    level = log(4 * count * (count + 1) / delta)
    variance = max(0.0, (row[0] - count * mean * mean) / (count - 1))
    half = sqrt(2 * variance * level / count) + 7 * level / (3 * (count - 1))
    return mean - half, mean + half


remembering = Bound(empirical_bernstein, width=1, observe=add_square)
for bound in (union_over_time, remembering, "hoeffding", "betting"):
    found = best_arm(problems.paper_lattice(), epsilon=0.1, delta=0.1, bound=bound, seed=0)
    print(f"{found.certificate.search.bound}: {found.answer} after {found.samples:,} samples")

# %%
# The certificate says that the claim depends on the bound. `verify` takes the intervals as written, unless it gets the
# bound with its check. The check is a function in plain Python. It says whether a bound follows from its evidence: the
# number of samples, their sum, and the row at the time when the bound was set.

certificate = best_arm(problems.paper_lattice(), epsilon=0.1, delta=0.1, bound=union_over_time, seed=0).certificate
print(verify(certificate))
print(verify(certificate, bound=union_over_time))
