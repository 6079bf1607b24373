"""How many pairs of rows scores put in the order of their targets: AUC and concordance index are such fractions."""

from bestleaf.engine.compile import kernel, separate
from bestleaf.features.kernels.records import HALF, PAIRS, ROW_ORDER


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
def pairs_of_sorted(truth, ranks, weight, tie, seen):
    """Return the result of `pairs_in_order` for rows sorted by their truth, with ranks of the scores.

    A pair counts the product of its weights, `tie` of it if the ranks are equal, and nothing if one of them is -1.
    `seen` is zeros, one more than there are rows: sums of the weights of each rank, as a Fenwick tree.
    """
    good, pairs, before, first = 0.0, 0.0, 0.0, 0
    for place in range(len(truth)):
        while truth[first] < truth[place]:
            before += weight[first]
            at = ranks[first] + 1
            while 0 < at < len(seen):
                seen[at] += weight[first]
                at += at & -at
            first += 1
        pairs += weight[place] * before
        below, upto = ranks[place], ranks[place] + 1
        while below > 0:
            good += weight[place] * (1.0 - tie) * seen[below]
            below -= below & -below
        while upto > 0:
            good += weight[place] * tie * seen[upto]
            upto -= upto & -upto
    return good, pairs


@kernel
def votes_in_order(truth, score, weight, ties, below, level):
    """Return the result of `pairs_in_order` for two classes, if scores are numbers of votes, in one pass.

    A pair counts the product of its weights. `below` and `level` are scratch memory: they get the weights of the
    negatives and of the positives with each number of votes.
    """
    for vote in range(len(below)):
        below[vote] = 0.0
        level[vote] = 0.0
    in_order = 0.0
    for place in range(len(score)):
        vote = int(score[place])
        if truth[place] > 0:
            level[vote] += weight[place]
            in_order += weight[place] * below[vote]
        else:
            below[vote] += weight[place]
    good, positives, negatives, tie = 0.0, 0.0, 0.0, 0.5 if ties == HALF else 0.0
    for vote in range(len(below)):
        good += level[vote] * negatives
        good += tie * level[vote] * below[vote]
        negatives += below[vote]
        positives += level[vote]
    return good + (in_order if ties == ROW_ORDER else 0.0), positives * negatives
