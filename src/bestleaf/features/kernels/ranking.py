"""How many pairs of rows scores put in the order of their targets: AUC and concordance index are such fractions."""

from bestleaf.engine.compile import inlined, kernel, separate
from bestleaf.features.kernels.records import HALF, PAIRS, ROW_ORDER, pairs_at


@separate(PAIRS)
def pairs_in_order(truth, score, ties):
    """Return (pairs with truth_i < truth_j that the scores put in the same order, all such pairs).

    A pair with equal scores counts one half, nothing, or one if i stands before j, depending on `ties`.
    """
    good, pairs = 0.0, 0
    for i in range(len(score)):
        for j in range(len(score)):
            if truth[i] < truth[j]:
                pairs += 1
                if score[i] < score[j]:
                    good += 1.0
                elif score[i] == score[j]:
                    if ties == HALF:
                        good += 0.5
                    elif ties == ROW_ORDER and i < j:
                        good += 1.0
    return good, pairs


@kernel
def counted_pairs(truth, score, ties, address):
    """Return the result of `pairs_in_order`, for Python."""
    return pairs_at(address)(truth, score, ties)


@inlined
def counted_by_votes(below, level, tie):
    """Return (pairs in the right order, all pairs) from the negatives `below` and the positives `level` by their votes.

    A pair with equal votes counts `tie`.
    """
    good, positives, negatives = 0.0, 0, 0
    for vote in range(len(below)):
        good += level[vote] * negatives
        good += tie * level[vote] * below[vote]
        negatives += below[vote]
        positives += level[vote]
    return good, positives * negatives


@kernel
def votes_in_order(truth, score, ties, below, level):
    """Return the result of `pairs_in_order` for two classes, if scores are numbers of votes, in one pass.

    `below` and `level` are scratch memory: the negatives and the positives with each number of votes.
    """
    in_order = 0
    for vote in range(len(below)):
        below[vote] = 0
        level[vote] = 0
    for place in range(len(score)):
        vote = int(score[place])
        if truth[place] > 0:
            level[vote] += 1
            in_order += below[vote]
        else:
            below[vote] += 1
    good, pairs = counted_by_votes(below, level, 0.5 if ties == HALF else 0.0)
    return good + (in_order if ties == ROW_ORDER else 0), pairs


@kernel
def weighted_pairs(truth, score, weight, ties):
    """Return the result of `pairs_in_order` if each pair counts the product of its weights."""
    good, pairs = 0.0, 0.0
    for i in range(len(score)):
        for j in range(len(score)):
            if truth[i] < truth[j]:
                pair = weight[i] * weight[j]
                pairs += pair
                if score[i] < score[j]:
                    good += pair
                elif score[i] == score[j]:
                    if ties == HALF:
                        good += 0.5 * pair
                    elif ties == ROW_ORDER and i < j:
                        good += pair
    return good, pairs


@kernel
def weighted_votes(truth, score, weight, ties, below, level):
    """Return the result of `votes_in_order` if each pair counts the product of its weights.

    `below` and `level` are zeros: they get the weights of the negatives and of the positives with each number of votes.
    """
    in_order = 0.0
    for place in range(len(score)):
        vote = int(score[place])
        if truth[place] > 0:
            level[vote] += weight[place]
            in_order += weight[place] * below[vote]
        else:
            below[vote] += weight[place]
    good, pairs = counted_by_votes(below, level, 0.5 if ties == HALF else 0.0)
    return good + (in_order if ties == ROW_ORDER else 0.0), pairs
