"""BAI-exMCDS and BLI-MCDS as the paper states them: plain dictionaries, everything computed anew in every round.

s, t, b, c, U, L and the names of the ingredients are the paper's; see `docs/notation.md`. One player, leaves that are
sampled, the LUCB rule. The same problem and the same random stream give the same samples as the package does with
``stopping="paper"``.
"""

from __future__ import annotations

from math import e, inf, log, sqrt

import numpy as np


def beta1(count, delta, leaves):
    """Return the exploration rate of LUCB-exMCDS."""
    return log(leaves / delta) + log(log(count) + 1)


def beta2(count, delta, leaves):
    """Return the exploration rate without the number of leaves."""
    return log(log(e * count) / delta)


class BAIexMCDS:
    """Best arm identification on a graph that grows. With ``exponent=None`` the whole graph is there (BAI-MCDS)."""

    def __init__(self, problem, *, epsilon, delta, beta, exponent=None, seed=None):
        self.problem, self.epsilon, self.delta, self.beta, self.exponent = problem, epsilon, delta, beta, exponent
        self.rng = np.random.default_rng(seed)
        self.children, self.parents = {}, {}  # D_t
        self.samples = {}  # of each leaf
        self.T = {}  # how often the search went down through s
        self.t = {}  # samples spent on the choice at s
        self.opened = set()  # choices that the search has come to
        self.asked = {}  # rounds of the choice at s for which BAIExpand was asked
        self.s0 = problem.root()
        self.enter(self.s0)
        self.open(self.s0)
        if exponent is None:
            for s in iter_growing(self.children):
                self.open(s)
            self.children = {s: self.C(s) for s in self.children}  # in the order of the problem
            self.parents = {s: [p for p in self.children if s in self.children[p]] for s in self.children}

    def run(self):
        """Return the best arm."""
        while not self.solved(self.s0):
            self.round(self.s0)
        return self.recommend(self.s0)

    def round(self, s):
        """Grow if it is time; otherwise sample the representative leaf of R_{t+1}."""
        if self.exponent and self.expand(s):
            self.add(s)
            return
        best, rival = self.select(s)
        R = rival if self.width(rival) > self.width(best) else best
        leaf = self.leaf(R)
        self.go_down(s, R, best, leaf)
        self.samples.setdefault(leaf, []).append(self.problem.sample(leaf, self.rng))

    # ---- the ingredients

    def select(self, s):
        """BAISelect: return b_t, the arm of highest lower bound, and c_t, the strongest with another leaf."""
        b = self.highest(self.children[s], self.L)
        others = [a for a in self.children[s] if a != b and self.name(self.leaf(a)) != self.name(self.leaf(b))]
        return b, self.highest(others, self.U)

    def solved(self, s):
        """BAIStop: return whether no other arm can be better than b_t by epsilon."""
        if len(self.children[s]) == 1:
            return True
        b, c = self.select(s)
        return c is None or self.U(c) - self.L(b) < self.epsilon

    def recommend(self, s):
        """BAIReco: return b_t."""
        return self.children[s][0] if len(self.children[s]) == 1 else self.select(s)[0]

    def expand(self, s):
        """BAIExpand: return whether a node is due, once for each t where floor((t + 1)^b) > floor(t^b)."""
        for t in range(self.asked.get(s, 0), self.t.get(s, 0) + 1):
            self.asked[s] = t + 1
            if int((t + 1) ** self.exponent) - int(t**self.exponent) == 1:
                return True
        return False

    def add(self, s):
        """BAIAdd: a random missing child of the node of largest index I_s below s enters."""
        below = self.below(s)
        waiting = [one for one in self.children if one in below and self.missing(one)]
        if waiting:
            chosen = max(waiting, key=self.index)  # the oldest of equals
            absent = self.missing(chosen)
            self.enter(absent[int(self.rng.integers(len(absent)))])

    def index(self, s):
        """I_s, with d(s) + 1 as in the published program."""
        return self.T.get(s, 0) / (len(self.children[s]) + 1) / (1 + self.depth(s))

    # ---- intervals

    def interval(self, s):
        """Return [L_s, U_s]: of a leaf by its samples, of another node the highest bounds of its children."""
        if self.children[s]:
            lows, highs = zip(*map(self.interval, self.children[s]), strict=True)
            return max(lows), max(highs)
        if not (values := self.samples.get(s)):
            return -inf, inf
        leaves = sum(not below for below in self.children.values())
        half = sqrt(self.beta(len(values), self.delta, leaves) / (2 * len(values)))
        return sum(values) / len(values) - half, sum(values) / len(values) + half

    def L(self, s):  # noqa: N802
        return self.interval(s)[0]

    def U(self, s):  # noqa: N802
        return self.interval(s)[1]

    def width(self, s):
        return self.U(s) - self.L(s)

    def child(self, s):
        """c_s: the representative child, of largest upper bound; of equals that whose leaf entered last."""
        return max(self.children[s], key=lambda c: (self.U(c), self.age(self.leaf(c)), self.age(c)))

    def leaf(self, s):
        """l_s: the representative leaf, where representative children lead."""
        return self.leaf(self.child(s)) if self.children[s] else s

    def highest(self, arms, value):
        """Return the arm of highest value; of equals the one that entered last."""
        return max(arms, key=lambda a: (value(a), self.age(a)), default=None)

    # ---- the graph

    def C(self, s):  # noqa: N802
        """Return all children of s."""
        return [] if self.problem.is_terminal(s) else list(dict.fromkeys(self.problem.children(s)))

    def missing(self, s):
        return [c for c in self.C(s) if c not in self.children]

    def enter(self, s):
        """Let a node enter, with all edges between it and nodes that are there."""
        self.children[s], self.parents[s] = [], []
        for p in [p for p in self.children if s in self.C(p)]:
            self.children[p].append(s)
            self.parents[s].append(p)
        for c in [c for c in self.C(s) if c in self.children]:
            self.children[s].append(c)
            self.parents[c].append(s)

    def open(self, s):
        """Let all children of s enter: the search has to choose there."""
        self.opened.add(s)
        for c in self.missing(s):
            self.enter(c)

    def below(self, s):
        return {s}.union(*map(self.below, self.children[s]))

    def depth(self, s):
        return max((1 + self.depth(p) for p in self.parents[s]), default=0)

    def age(self, s):
        return list(self.children).index(s)

    def name(self, s):
        """Return what a leaf is: in a tree, leaves that are one state share it."""
        return self.problem.label(s) if hasattr(self.problem, "label") else s

    def go_down(self, s, R, best, leaf):
        """Count the way from s to the leaf."""
        self.t[s] = self.t.get(s, 0) + 1
        arms = [a for a in self.children[s] if self.leaf(a) == leaf]
        way = [s, best if best in arms else arms[0]]
        while way[-1] != leaf:
            way.append(self.child(way[-1]))
        for one in way:
            self.T[one] = self.T.get(one, 0) + 1


class BLIMCDS(BAIexMCDS):
    """Best leaf identification: BAI again and again, always from the root, at the first choice that is not solved."""

    def run(self):
        """Return the best leaf."""
        while True:
            s = self.bli_select()
            if self.problem.is_terminal(s):
                return s
            self.round(s)

    def bli_select(self):
        """BLISelect: go down from s0 through choices that are solved to s_n, or to a terminal leaf (BLIStop)."""
        s = self.s0
        while not self.problem.is_terminal(s):
            if s not in self.opened and self.exponent is not None:
                self.open(s)
                s = self.s0
            elif not self.solved(s):
                return s
            else:
                s = self.recommend(s)
        return s


def iter_growing(mapping):
    """Iterate over the keys of a dictionary that grows meanwhile."""
    done = 0
    while done < len(mapping):
        yield list(mapping)[done]
        done += 1
