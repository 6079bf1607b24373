"""A search that asks for many samples at once, in plain dictionaries."""

from __future__ import annotations

from math import inf, sqrt

import numpy as np

from naive.search import NaiveSearch


class NaiveBatches(NaiveSearch):
    """The same search in batches; `ask` names the leaves of one, `tell` takes in a value for each of them.

    The n-th sample of a search has the stream of (seed, 2, n). Exact values are asked for in batches, too: with the one
    that is wanted all that wait, in the order in which they entered, as many as a batch has.
    """

    def __init__(self, problem, *, batch_size, seed, **keywords):
        self.batch_size, self.seed, self.number = batch_size, seed, 0
        super().__init__(problem, seed=seed, **keywords)

    def ask(self, size=None):
        """Return the leaves to sample next, the first of them the most useful; none when the search is over."""
        while (decision := self.decide()) is not None:
            root, best, first = decision
            if self._pending(first):
                self._count_round(root, best, first)
                self.evaluate(first)
                continue
            self.attention = root, best
            crowd = [first] if self.adversarial() else self.competing()
            return self.useful(best, first, crowd, size or self.batch_size)
        return []

    def evaluate(self, first):
        """Ask for the exact value of a leaf and of others that wait for theirs; those that have none are sampled."""
        waiting = [leaf for leaf in self.leaves() if self._pending(leaf) and leaf != first]
        for leaf in [first, *waiting][: self.batch_size]:
            value = self.problem.exact(leaf)
            if value is None:
                self.known_noisy.add(leaf)
                self._give_share(leaf)
            else:
                self.exact[leaf] = value

    def useful(self, best, first, crowd, size):
        """Return the leaf to sample first, then whoever of a crowd would be next, one after the other.

        A sample asked for leaves the middle of an interval where it is and lets its width fall with the square root of
        the number of samples. Next is then the leaf of highest upper bound, the representative leaf of the best child
        aside; or that one, if it is wider.
        """
        mine = self.representative_leaf(best)
        found = [first]
        while len(found) < size:
            rivals = [leaf for leaf in crowd if leaf != mine] or crowd
            rival = max(rivals, key=lambda leaf: self.middle(leaf) + self.half(leaf, found.count(leaf)))
            wider = mine in crowd and self.half(mine, found.count(mine)) > self.half(rival, found.count(rival))
            found.append(mine if wider else rival)
        return found

    def competing(self):
        """Return all leaves that have a width; in a game only those are asked for that the rule would sample now."""
        return [leaf for leaf in self.leaves() if not self._presumed_exact(leaf) and self.width(leaf) > 0]

    def bounded(self, leaf):
        """Return an interval that is finite; a leaf never sampled may have none with a rate of the paper."""
        low, high = self.leaf_interval(leaf)
        return (-1.0 if low == -inf else max(low, -1.0)), (2.0 if high == inf else min(high, 2.0))

    def middle(self, leaf):
        low, high = self.bounded(leaf)
        return (high + low) / 2

    def half(self, leaf, asked):
        """Return half the width of a leaf that so many samples more are asked of."""
        low, high = self.bounded(leaf)
        count = max(1, len(self.samples.get(leaf, [])))
        return (high - low) / 2 * sqrt(count / (count + asked))

    def draw(self, leaves):
        """Return a sample of each leaf from its own stream."""
        values = []
        for leaf in leaves:
            values.append(self.problem.sample(leaf, np.random.default_rng((self.seed, 2, self.number))))
            self.number += 1
        return values

    def tell(self, leaves, values):
        """Take in the samples one after the other; each is a round at the node where they were asked for."""
        for leaf, value in zip(leaves, values, strict=True):
            self._count_round(*self.attention, leaf)
            self._absorb(leaf, value)
