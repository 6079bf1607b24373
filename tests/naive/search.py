"""The whole search in plain dictionaries, written from the paper: slow, and easy to believe.

Everything is recomputed from the samples in every round. It takes the same problem and the same random
stream as the fast engine and must do the same thing step by step.
"""

from __future__ import annotations

from math import e, inf, log, sqrt
from typing import Any

import numpy as np


def theory(count, delta, leaves):
    return log(leaves / delta) + 3 * log(log(leaves / delta)) + 1.5 * log(log(count) + 1)


def beta1(count, delta, leaves):
    return log(leaves / delta) + log(log(count) + 1)


def beta1_published(count, delta, leaves):
    return log(leaves) / delta + log(log(count) + 1)


def beta2(count, delta, leaves):
    return log(log(e * count) / delta)


RATES = {"theory": theory, "beta1": beta1, "beta1_published": beta1_published, "beta2": beta2}


def hoeffding(mean, count, alpha):
    half = 1.7 * sqrt((log(log(2 * count)) + 0.72 * log(10.4 / alpha)) / (4 * count))
    return mean - half, mean + half


class NaiveSearch:
    """Best arm or best leaf by the book."""

    def __init__(self, problem: Any, *, task, epsilon, delta, bound, stopping, expansion=None, seed=None, rule=None):
        self.problem, self.task, self.epsilon, self.delta = problem, task, epsilon, delta
        self.bound, self.stopping, self.b = bound, stopping, expansion
        self.rule = rule or ("lucb" if stopping == "paper" else "smallest_gap")
        self.rng = np.random.default_rng(seed)
        self.tie_seed = int(self.rng.integers(2**63)) if stopping == "sound" else None
        self.drawn: dict = {}  # state -> its tie-break
        self.samples: dict = {}  # state -> list of values
        self.running: dict = {}  # state -> running intersection
        self.children: dict = {}  # state -> children in D_t, in the order they were linked
        self.parents: dict = {}
        self.share: dict = {}
        self.exact: dict = {}  # state -> exact value
        self.known_noisy: set = set()  # terminal states whose exact() said None
        self.visits: dict = {}
        self.rounds: dict = {}
        self.looked_at: dict = {}  # state -> rounds of which it is known whether the graph was due to grow
        self.opened: set = set()
        self.deepened: dict = {}
        self.created = 0
        self.samples_drawn = 0
        self.stuck = False  # what is open depends on play without end
        self._start()

    # ---- the graph

    def _start(self):
        root = self.problem.root()
        self._add(root)
        if self.b is None:
            for state in list_growing(self.children):
                for child in self._all_children(state):
                    if child not in self.children:
                        self._add(child, link=False)
            self.children = {state: [] for state in self.children}
            self.parents = {state: [] for state in self.children}
            for state in self.children:
                for child in self._all_children(state):
                    self.children[state].append(child)
                    self.parents[child].append(state)
        else:
            self._start_growing(root)
        self.opened = set(self.children) if self.b is None else {root} if self.children[root] else set()
        leaves = self.leaves()
        for leaf in leaves:
            if not self._presumed_exact(leaf) and leaf != self.problem.root():
                self._give_share(leaf, len(leaves) if self.b is None and not hasattr(self.problem, "exact") else None)

    def _start_growing(self, root):
        for child in self._all_children(root):
            if child != root:
                self._add(child)

    def _all_children(self, state):
        return [] if self.problem.is_terminal(state) else list(dict.fromkeys(self.problem.children(state)))

    def _add(self, state, link=True):
        self.children[state], self.parents[state] = [], []
        if not link:
            return
        for other in list(self.children):
            if other != state and state in self._all_children(other):
                self.children[other].append(state)
                self.parents[state].append(other)
        for child in self._all_children(state):
            if child in self.children:
                self.children[state].append(child)
                self.parents[child].append(state)

    def _presumed_exact(self, state):
        terminal = self.problem.is_terminal(state)
        return terminal and hasattr(self.problem, "exact") and state not in self.known_noisy

    def _give_share(self, leaf, fixed=None):
        self.created += 1
        self.share[leaf] = self.delta / fixed if fixed else self.delta / (self.created * (self.created + 1))

    def leaves(self):
        return [state for state in self.children if not self.children[state]]

    def label(self, state):
        return self.problem.label(state) if hasattr(self.problem, "label") else state

    def minimizes(self, state):
        return hasattr(self.problem, "maximizes") and not self.problem.maximizes(state)

    def adversarial(self):
        if self.b is None:
            return any(self.minimizes(state) for state in self.children if self.children[state])
        return hasattr(self.problem, "maximizes")

    def level(self, state):
        return max((1 + self.level(parent) for parent in self.parents[state]), default=0)

    def below(self, state):
        found = {state}
        for child in self.children[state]:
            found |= self.below(child)
        return found

    def cone(self, state):
        return {self.label(s) for s in self.below(state) if not self.children[s]}

    # ---- intervals

    def leaf_interval(self, leaf):
        if leaf in self.exact:
            return self.exact[leaf], self.exact[leaf]
        values = self.samples.get(leaf, [])
        if self.bound in RATES:
            if not values:
                return -inf, inf
            stochastic = sum(not self._presumed_exact(state) for state in self.leaves())
            half = sqrt(RATES[self.bound](len(values), self.delta, stochastic) / (2 * len(values)))
            return sum(values) / len(values) - half, sum(values) / len(values) + half
        return self.running.get(leaf, (0.0, 1.0))

    def interval(self, state):
        if not self.children[state]:
            return self.leaf_interval(state)
        pairs = [self.interval(child) for child in self.children[state]]
        best = min if self.minimizes(state) else max
        return best(low for low, _ in pairs), best(high for _, high in pairs)

    def tie_break(self, state):
        """Return the tie-break of a node, which breaks ties; with the published test the later node goes first."""
        if state not in self.drawn:
            place = list(self.children).index(state)
            mixed = (
                splitmix(self.tie_seed + (place + 1) * 0x9E3779B97F4A7C15) >> 1 if self.tie_seed is not None else place
            )
            self.drawn[state] = mixed
        return self.drawn[state]

    def representative_child(self, state):
        """Return the child of largest U (least L for the opponent); ties: by its leaf, then its own."""

        def key(child):
            low, high = self.interval(child)
            return (
                -low if self.minimizes(state) else high,
                self.tie_break(self.representative_leaf(child)),
                self.tie_break(child),
            )

        return max(self.children[state], key=key)

    def representative_leaf(self, state):
        return self.representative_leaf(self.representative_child(state)) if self.children[state] else state

    # ---- the rule

    def pessimistic(self, child, root):
        low, high = self.interval(child)
        return -high if self.minimizes(root) else low

    def optimistic(self, child, root):
        low, high = self.interval(child)
        return -low if self.minimizes(root) else high

    def highest(self, arms, value):
        """Return the arm of highest value; ties go to the larger tie-break."""
        return max(arms, key=lambda arm: (value(arm), self.tie_break(arm)), default=None)

    def best_child(self, root):
        arms = self.children[root]
        if self.rule == "lucb":
            return self.highest(arms, lambda arm: self.pessimistic(arm, root))
        if self.rule == "lucb_mcts":
            sign = -1 if self.minimizes(root) else 1
            return self.highest(arms, lambda arm: sign * self.empirical(self.representative_leaf(arm)))
        assert self.rule in ("ugape", "smallest_gap")
        return self.highest(arms, lambda arm: -self.regret(arm, root))

    def regret(self, arm, root):
        others = [self.optimistic(other, root) for other in self.children[root] if other != arm]
        return max(others, default=-inf) - self.pessimistic(arm, root)

    def rival_child(self, best, root):
        rivals = [arm for arm in self.children[root] if arm != best]
        if not self.adversarial():
            same = self.label(self.representative_leaf(best))
            rivals = [arm for arm in rivals if self.label(self.representative_leaf(arm)) != same]
        return self.highest(rivals, lambda arm: self.optimistic(arm, root))

    def empirical(self, leaf):
        if leaf in self.exact:
            return self.exact[leaf]
        values = self.samples.get(leaf)
        return sum(values) / len(values) if values else 0.5

    def contest(self, root):
        """Return (best, first leaf, second leaf, gap, solved)."""
        if self.stopping == "paper":
            return self.published_contest(root)
        found = self.move_contest(root) if self.adversarial() else self.leaf_contest(root)
        if found[4] or self.rule == "smallest_gap" or self.rounds.get(root, 0) % 10 == 9:
            return found
        best = self.best_child(root)
        rival = self.rival_child(best, root)
        if rival is None or max(self.width(best), self.width(rival)) <= 0:
            return found
        return best, *self.wider_first(best, rival), found[3], False

    def width(self, state):
        low, high = self.interval(state)
        return high - low

    def wider_first(self, best, rival):
        """Return the representative leaves of two nodes, that of the wider one first."""
        pair = (rival, best) if self.width(rival) > self.width(best) else (best, rival)
        return [self.representative_leaf(state) for state in pair]

    def rival_leaf(self, arm):
        """Return the strongest leaf that an arm does not reach."""
        inside = self.cone(arm)
        outside = [leaf for leaf in self.leaves() if self.label(leaf) not in inside]
        return self.highest(outside, lambda leaf: self.leaf_interval(leaf)[1])

    def choices(self, root):
        """Return what a search for a best leaf chooses between at a node."""
        return self.children[root]

    def leaf_contest(self, root):
        rivals = {arm: self.rival_leaf(arm) for arm in self.choices(root)}

        def gap(arm):
            return -inf if rivals[arm] is None else self.leaf_interval(rivals[arm])[1] - self.interval(arm)[0]

        best = self.highest(rivals, lambda arm: -gap(arm))
        least, solved = gap(best), gap(best) <= self.epsilon
        if rivals[best] is None:
            return best, self.representative_leaf(best), None, 0.0, True
        strongest = self.representative_leaf(self.problem.root())
        leaf = self.representative_leaf(best) if rivals[best] == strongest else strongest
        leaf, rival = self.widest_copy(leaf, root), self.widest_copy(rivals[best], root)
        return best, *self.wider_first(leaf, rival), least, solved

    def widest_copy(self, leaf, root):
        """Return the copy of a leaf below a node that is known least."""
        copies = [
            other for other in self.below(root) if not self.children[other] and self.label(other) == self.label(leaf)
        ]
        return self.highest({leaf, *copies}, self.width)

    def move_contest(self, root):
        best = self.highest(self.children[root], lambda arm: -self.regret(arm, root))
        gap = self.regret(best, root)
        return best, *self.wider_first(best, self.rival_child(best, root)), gap, gap <= self.epsilon

    def published_contest(self, root):
        found = self.plain_contest(self.best_child(root), root)
        leader = self.highest(self.children[root], lambda arm: self.pessimistic(arm, root))
        stuck = not found[4] and self.width(found[1]) <= 0
        if stuck and self.pessimistic(found[0], root) < self.pessimistic(leader, root):
            found = self.plain_contest(leader, root)
        return found

    def plain_contest(self, best, root):
        rival = self.rival_child(best, root)
        if rival is None:
            return best, self.representative_leaf(best), None, 0.0, True
        gap = self.optimistic(rival, root) - self.pessimistic(best, root)
        exhausted = self.width(best) <= 0 and self.width(rival) <= 0
        solved = gap < self.epsilon or (gap == self.epsilon and exhausted)
        return best, *self.wider_first(best, rival), gap, solved

    # ---- growth

    def due(self, step):
        return int((step + 1) ** self.b) - int(step**self.b) == 1

    def grow(self, root):
        candidates = [s for s in self.children if s in self.below(root)]
        candidates = [s for s in candidates if any(c not in self.children for c in self._all_children(s))]
        if not candidates:
            return

        def index(state):
            depth = self.level(state) - (0 if self.stopping == "paper" else self.level(root))
            return self.visits.get(state, 0) / (len(self.children[state]) + 1) / (1 + depth)

        chosen = max(candidates, key=index)  # the first of equals is the oldest
        self._enter(self.pick(chosen))

    def pick(self, state):
        """Return a child that is not in the graph, and what enters with it."""
        absent = [child for child in self._all_children(state) if child not in self.children]
        return [absent[int(self.rng.integers(len(absent)))]]

    def open(self, state):
        self.opened.add(state)
        self._enter([child for child in self._all_children(state) if child not in self.children])

    def _enter(self, states):
        for state in states:
            self._add(state)
        for state in states:
            if not self.children[state] and not self._presumed_exact(state):
                self._give_share(state)

    # ---- one round

    def decide(self):
        """Open and grow what is due; return (root, best, leaf to sample or to evaluate), or None when done."""
        while True:
            root = self.problem.root()
            if root not in self.opened:
                self.open(root)
            while True:
                if self.has_one_way(root):
                    best, second, solved = self.children[root][0], None, True
                else:
                    best, first, second, _, solved = self.contest(root)
                if not solved:
                    break
                if second is None and self._deepen(root):
                    root = self.problem.root()
                    continue
                if self.task == "arm" or self.problem.is_terminal(best):
                    self.answer = best
                    if self.task == "leaf" and self._pending(best):
                        return root, best, best
                    state = self.unfinished_node()
                    if state is None:
                        return None
                    self.open(state)
                    root = self.problem.root()
                elif best not in self.opened:
                    self.open(best)
                    root = self.problem.root()
                else:
                    root = self.place(best)
            if self.b and self.owes_growth(root):
                self.grow(root)
                continue
            if self.cannot_sample(first):
                first = second
                if second is None or self.cannot_sample(second):
                    self.answer, self.stuck = best, True
                    return None
            return root, best, first

    # ---- what a settled answer rests on must be finished

    def finishes(self):
        return self.b and self.stopping == "sound" and not getattr(self.problem, "settles_unfinished", False)

    def chances(self, state):
        return None

    def component(self, state):
        return []

    def is_unfinished(self, state):
        return any(child not in self.children for child in self._all_children(state))

    def unfinished_node(self):
        """Return a state whose children have to enter before the answer is settled; None if there is none."""
        root = self.problem.root()
        while self.finishes():
            best = self.children[root][0]
            if not self.has_one_way(root):
                best, first, second, _, _ = self.contest(root)
                state = self.unfinished_at(root, best, first, second)
                if state is not None:
                    return state
            if self.task == "arm" or not self.children[best]:
                break
            root = self.place(best)
        return None

    def unfinished_at(self, root, best, first, second):
        if self.adversarial():
            lower = not self.minimizes(root)
            state = self.first_unfinished([best], lower)
            return state if state is not None else self.first_unfinished(self.rivals(root, best), not lower)
        ways = [] if second is None else [*self.way_up(first), *self.way_up(second)]
        return next((state for state in ways if self.is_unfinished(state)), None)

    def way_up(self, state):
        found = []
        while self.level(state) > 0:
            found.append(state)
            state = self.node_above(state)
        return found

    def rivals(self, root, best):
        """Return all other children; with one player the strongest of them."""
        if hasattr(self.problem, "maximizes"):
            return [child for child in self.children[root] if child != best]
        rival = self.rival_child(best, root)
        return [] if rival is None else [rival]

    def first_unfinished(self, states, lower, seen=()):
        """Return the first unfinished state that the lower (or upper) bounds of some states rest on."""
        found = [state for state in states if state not in seen]
        for state in found:  # grows in this loop
            if self.is_unfinished(state):
                return state
            below = self.children[state]
            opposed = hasattr(self.problem, "maximizes") and self.minimizes(state) == lower
            if below and self.chances(state) is None and not self.component(state) and not opposed:
                side = 0 if lower else 1
                same = [child for child in below if self.interval(child)[side] == self.interval(state)[side]]
                below = [max(same, key=lambda child: NaiveSearch.tie_break(self, child))] if same else []
            found += [child for child in below if child not in found and child not in seen]
        return None

    def cannot_sample(self, leaf):
        """Whether a leaf stands for play without end, or has an exact value; only with cycles it is ever asked for."""
        return False

    def has_one_way(self, root):
        return len(self.children[root]) == 1

    def place(self, state):
        """Return the node at which the search chooses after it went to a state."""
        return state

    def owes_growth(self, root):
        """Whether a round at a node was due to grow the graph and has not done so; a batch may pass several."""
        for t in range(self.looked_at.get(root, 0), self.rounds.get(root, 0) + 1):
            self.looked_at[root] = t + 1
            if self.due(t):
                return True
        return False

    def step(self):
        """Play until one sample or exact value has been taken; return (state, value), or None when done."""
        while True:
            decision = self.decide()
            if decision is None:
                return None
            taken = self._take(*decision)
            if taken is not None:
                return taken

    def _deepen(self, root):
        """Grow out of turn when all leaves hang below the best child, at most once for each child of the root."""
        times, many = self.deepened.get(root, 0), len(self.children[root])
        single_player = self.stopping == "sound" and not self.adversarial()
        missing = any(c not in self.children for s in self.below(root) for c in self._all_children(s))
        if not (self.b and single_player and missing and self.may_deepen(root, times, many)):
            return False
        self.deepened[root] = times + 1
        self.grow(root)
        return True

    def may_deepen(self, root, times, many):
        return many > 1 and times < many

    def _take(self, root, best, leaf):
        if self._pending(leaf):
            value = self.problem.exact(leaf)
            if value is None:
                self.known_noisy.add(leaf)
                self._give_share(leaf)
                return None
            self._count_round(root, best, leaf)
            self.exact[leaf] = value
            return leaf, value
        self._count_round(root, best, leaf)
        return self._sample(leaf)

    def _pending(self, leaf):
        return self._presumed_exact(leaf) and leaf not in self.exact

    def _sample(self, leaf):
        return self._absorb(leaf, self.problem.sample(leaf, self.rng))

    def _absorb(self, leaf, value):
        self.samples.setdefault(leaf, []).append(value)
        self.samples_drawn += 1
        if self.bound == "hoeffding":
            values = self.samples[leaf]
            low, high = hoeffding(sum(values) / len(values), len(values), self.share[leaf])
            before = self.running.get(leaf, (0.0, 1.0))
            low = min(max(low, before[0]), before[1])
            self.running[leaf] = (low, max(min(high, before[1]), low))
        return leaf, value

    def _count_round(self, root, best, leaf):
        self.rounds[root] = self.rounds.get(root, 0) + 1
        path = [root]
        arms = [arm for arm in self.choices(root) if self.representative_leaf(arm) == leaf]
        node = best if best in arms else (arms[0] if arms else None)
        path += self.between(root, node)
        if node is None:
            node = leaf
            while self.level(node) > self.level(root):
                path.append(node)
                node = self.node_above(node)
        else:
            path.append(node)
            while node != leaf:
                node = self.representative_child(node)
                path.append(node)
        for state in path:
            self.visits[state] = self.visits.get(state, 0) + 1

    def between(self, root, child):
        """Return the states that the search came through on its way from a node to one of its choices."""
        return []

    def node_above(self, state):
        return self.parents[state][0]


def splitmix(number):
    """Return a 64-bit number mixed from another (splitmix64)."""
    mask = 2**64 - 1
    number &= mask
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & mask
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & mask
    return number ^ (number >> 31)


def list_growing(mapping):
    """Iterate over the keys of a dictionary that grows meanwhile."""
    seen: list = []
    while True:
        fresh = [key for key in mapping if key not in seen]
        if not fresh:
            return
        seen.append(fresh[0])
        yield fresh[0]


class NaiveLattice:
    """Feature subsets as sorted tuples, -1 at the end of a terminal leaf; neighbours by sorting all distances."""

    def __init__(self, X, y, *, k, m, q, max_features):
        self.X, self.y, self.k, self.m, self.q, self.limit = X.astype(np.float32), y, k, m, q, max_features
        self.settles_unfinished = True  # as in the paper
        self.remembered = {}  # (subset, example) -> votes
        self.rollouts = []  # (where, subset reached, value)

    def root(self):
        return ()

    def is_terminal(self, state):
        return -1 in state

    def children(self, state):
        stop = [(*state, -1)] if state else []
        return stop + [tuple(sorted({*state, f})) for f in self.addable(state)]

    def addable(self, state):
        return [f for f in range(self.X.shape[1]) if f not in state] if len(state) < self.limit else []

    def votes(self, subset, example):
        """Return the votes for an example; they are a function of the subset, so they are remembered."""
        if (tuple(subset), example) not in self.remembered:
            self.remembered[tuple(subset), example] = self.count_votes(subset, example)
        return self.remembered[tuple(subset), example]

    def count_votes(self, subset, example):
        columns = self.X[:, list(subset)]
        distance = sum(((column - column[example]) ** 2 for column in columns.T), np.zeros(len(self.y), np.float32))
        nearest = [other for other in np.argsort(distance, kind="stable") if other != example]
        return sum(self.y[other] for other in nearest[: self.k])

    def auc(self, subset, examples):
        votes = {example: self.votes(subset, example) for example in examples}
        pairs = [(votes[i], votes[j]) for i in examples for j in examples if self.y[i] < self.y[j]]
        if not pairs:
            return None
        return sum(1.0 if low < high else 0.5 if low == high else 0.0 for low, high in pairs) / len(pairs)

    def exact(self, state):
        return self.auc(state[:-1], range(len(self.y)))

    def sample(self, state, rng):
        subset = set(state)
        while self.addable(tuple(subset)) and rng.random() < self.q ** len(subset):
            feature = int(rng.random() * self.X.shape[1])
            while feature in subset:
                feature = int(rng.random() * self.X.shape[1])
            subset.add(feature)
        value = None
        while value is None:
            deck = list(range(len(self.y)))
            for place in range(self.m):
                other = place + int(rng.random() * (len(deck) - place))
                deck[place], deck[other] = deck[other], deck[place]
            value = self.auc(sorted(subset), deck[: self.m])
        self.rollouts.append((state, subset, value))
        return value


class NaiveSelection(NaiveSearch):
    """Best leaf on the lattice, growing by RAVE; choices open with 7 features to depth two."""

    def _start_growing(self, root):
        pass

    def rave(self, state, feature):
        below = self.below(state)
        local = [value for where, subset, value in self.problem.rollouts if where in below and feature in subset]
        everywhere = [value for _, subset, value in self.problem.rollouts if feature in subset]
        beta = 200 / (200 + len(local))
        return (1 - beta) * (sum(local) / len(local) if local else 0) + beta * sum(everywhere) / len(everywhere)

    def best_features(self, state, features):
        return sorted(features, key=lambda feature: -self.rave(state, feature))

    def pick(self, state):
        if state and (*state, -1) not in self.children:
            return [(*state, -1)]
        features = [f for f in self.problem.addable(state) if tuple(sorted({*state, f})) not in self.children]
        return [tuple(sorted({*state, self.best_features(state, features)[0]}))]

    def rollouts(self, state):
        """Return how many rollouts a feature a choice opens with."""
        return 20

    def opening_features(self, state):
        """Return the features a choice opens with."""
        return self.best_features(state, self.problem.addable(state))[:7]

    def open(self, state):
        self.opened.add(state)
        for _ in range(self.rollouts(state) * len(self.problem.addable(state))):
            self.problem.sample(state, self.rng)
        self._enter([one for one in self.opening(state) if one not in self.children])

    def opening(self, state):
        """Return the terminal leaf, the best features each with its terminal leaf, and all pairs of them."""
        features = self.opening_features(state)
        states = [(*state, -1)] if state else []
        for feature in features:
            one = tuple(sorted({*state, feature}))
            states += [one, (*one, -1)]
        if len(state) + 2 <= self.problem.limit:
            pairs = [(f, g) for place, f in enumerate(features) for g in features[place + 1 :]]
            states += [tuple(sorted({*state, f, g})) for f, g in pairs]
        return states
