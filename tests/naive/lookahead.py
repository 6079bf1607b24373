"""Growth by exact values, in plain dictionaries: what stands out, and exchanges around the best subset."""

from __future__ import annotations

from math import log, sqrt
from statistics import median

from naive.search import NaiveSelection


class NaiveLookahead(NaiveSelection):
    """Best leaf on the lattice, growing by lookahead.

    Where a choice opens, every feature is added and the subset evaluated. What it adds over the median is remembered.
    Features stand out whose mean gain is more than sqrt(2 ln d) robust standard deviations above the median of all d.
    """

    def __init__(self, problem, **keywords):
        self.evaluated: dict = {}  # terminal leaf -> value, in the graph or not
        self.added: dict = {}  # feature -> what it added, at each choice where it was tried
        self.best = (-1.0, ())  # of the subsets looked at for growth
        super().__init__(problem, **keywords)

    # ---- values

    def look(self, subset):
        """Return the exact value of a subset; the graph gets to know it."""
        leaf = (*subset, -1)
        if leaf not in self.evaluated:
            self.evaluated[leaf] = self.problem.exact(leaf)
        if leaf in self.children:
            self.exact[leaf] = self.evaluated[leaf]
        if self.evaluated[leaf] > self.best[0]:
            self.best = (self.evaluated[leaf], subset)
        return self.evaluated[leaf]

    def _take(self, root, best, leaf):
        taken = super()._take(root, best, leaf)
        if leaf in self.exact:
            self.evaluated[leaf] = self.exact[leaf]
        return taken

    def _enter(self, states):
        super()._enter(states)
        for state in states:
            if state in self.evaluated:
                self.exact[state] = self.evaluated[state]

    # ---- what stands out

    def outstanding(self, gains):
        """Return the features whose gain stands out among the gains known."""
        if not gains:
            return set()
        middle = median(gains.values())
        deviation = 1.4826 * median(abs(gain - middle) for gain in gains.values())
        luckiest = sqrt(2 * log(max(2, self.problem.X.shape[1])))
        return {feature for feature, gain in gains.items() if gain > middle + luckiest * deviation}

    def mean_gains(self):
        """Return what each feature tried has added on average, in the order of features."""
        return {feature: sum(self.added[feature]) / len(self.added[feature]) for feature in sorted(self.added)}

    def promising(self):
        """Return the features that stand out on average, at least the seven best, the best first."""
        gains = self.mean_gains()
        ordered = sorted(gains, key=lambda feature: -gains[feature])
        return ordered[: max(7, len(self.outstanding(gains)))]

    # ---- a choice opens

    def rollouts(self, state):
        """Return 20 a feature at the root, a tenth below it."""
        return 20 if state == self.problem.root() else 2

    def opening_features(self, state):
        """Return those of highest value that stand out on average or here; then others by value and by RAVE in turn."""
        by_rave = self.best_features(state, self.problem.addable(state))
        values = {feature: self.look(with_one(state, feature)) for feature in by_rave}
        if not values:
            return []
        middle = median(values.values())
        for feature in by_rave:
            self.added.setdefault(feature, []).append(values[feature] - middle)
        by_value = sorted(by_rave, key=lambda feature: -values[feature])
        stand_out = self.outstanding(self.mean_gains()) | self.outstanding(values)
        chosen = [feature for feature in by_value if feature in stand_out]
        for one, other in zip(by_value, by_rave, strict=True):
            chosen += [one, other]
        return list(dict.fromkeys(chosen))[:7]

    def opening(self, state):
        """Return what the features of the choice bring, then the way to the best subset, improved."""
        states = super().opening(state)
        self.climb()
        for subset in self.best_rollouts():
            self.look(subset)
        self.climb()
        return list(dict.fromkeys(states + self.way_to(self.best[1])))

    def climb(self):
        """Add, drop and exchange promising features as long as the best step improves the best subset."""
        features, before = self.promising(), None
        while before != self.best:
            before = self.best
            for subset in self.one_step_from(before[1], features):
                self.look(subset)

    def one_step_from(self, subset, features):
        """Return the subsets with one feature more, with one less, and with one exchanged."""
        fresh = [feature for feature in features if feature not in subset]
        more = [with_one(subset, feature) for feature in fresh] if len(subset) < self.problem.limit else []
        less = [tuple(other for other in subset if other != feature) for feature in subset]
        exchanged = [with_one(smaller, feature) for smaller in less for feature in fresh]
        return [one for one in more + less + exchanged if one]

    def best_rollouts(self):
        """Return the subsets of the 16 rollouts of highest value; of equal ones the earlier stays."""
        kept, weakest = [(0.0, None)] * 16, 0
        for _, subset, value in self.problem.rollouts:
            if value <= kept[weakest][0]:
                continue
            kept[weakest] = (value, tuple(sorted(subset)))
            lowest = min(value for value, _ in kept)
            if kept[weakest][0] > lowest:
                weakest = [value for value, _ in kept].index(lowest)
        return sorted({subset for _, subset in kept if subset is not None})

    def way_to(self, subset):
        """Return the states from below the root to the terminal leaf of a subset, feature by feature."""
        return [subset[:size] for size in range(1, len(subset) + 1)] + [(*subset, -1)]

    # ---- one node enters

    def pick(self, state):
        """Return the terminal leaf, or the best by value of seven children; with its own leaf if it beats all."""
        if state and (*state, -1) not in self.children:
            return [(*state, -1)]
        absent = [f for f in self.problem.addable(state) if with_one(state, f) not in self.children]
        stand_out = self.outstanding(self.mean_gains())
        ordered = sorted(self.best_features(state, absent), key=lambda feature: feature not in stand_out)
        values = {with_one(state, feature): self.look(with_one(state, feature)) for feature in ordered[:7]}
        best = max(values, key=values.__getitem__)
        known = [value for leaf, value in self.exact.items() if leaf in self.children]
        return [best, (*best, -1)] if values[best] > max(known, default=0.0) else [best]


def with_one(subset, feature):
    """Return a subset with one feature more."""
    return tuple(sorted({*subset, feature}))
