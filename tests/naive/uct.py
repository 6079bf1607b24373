"""The UCT family in plain dictionaries, from the formulas alone: slow, and what the fast one must agree with."""

from itertools import pairwise
from math import inf, log, sqrt

import numpy as np


class NaiveUCT:
    """Statistics of an edge are sums over a list of its samples; depth is plain recursion."""

    def __init__(self, problem, *, depths=(0, 0, 0), tuned=False, c=2.0, b=1.0, alpha=0.0, initial=1, seed=0):
        self.problem, self.depths, self.tuned, self.c, self.b = problem, depths, tuned, c, b
        self.alpha, self.initial = alpha, initial
        self.rng = np.random.default_rng(seed)
        root = problem.root()
        self.heads = {root: []}  # node -> heads of its edges, in the order they were made
        self.visits, self.weight = {root: 0}, {root: 0.0}
        self.samples = {}  # edge -> [(weight, value, whether its head was without edges)]
        self.left = {}

    def n(self, edge, depth):
        early, below = self.early(edge), self.heads[edge[1]]
        if depth == 0 or not below:
            return sum(weight for weight, _, _ in self.samples[edge])
        return sum(weight for weight, _ in early) + sum(self.n((edge[1], head), depth - 1) for head in below)

    def early(self, edge):
        return [(weight, value) for weight, value, was_leaf in self.samples[edge] if was_leaf]

    def mean(self, edge, depth, power=1):
        below = [(edge[1], head) for head in self.heads[edge[1]]]
        own = [(weight, value) for weight, value, _ in self.samples[edge]]
        if depth > 0 and below:
            own = self.early(edge)
        else:
            below = []
        count = sum(self.n(down, 0) for down in below) + sum(weight for weight, _ in own)
        total = sum(self.n(down, 0) * self.mean(down, depth - 1, power) for down in below)
        total += sum(weight * value**power for weight, value in own)
        return total / count if count > 0 else 0.0

    def score(self, edge, crowd):
        count = self.n(edge, self.depths[2])
        if count == 0:
            return inf
        mean, pace = self.mean(edge, self.depths[0]), log(max(crowd, 1.0)) / count
        bonus = self.c * pace
        if self.tuned:
            variance = max(0.0, self.mean(edge, self.depths[0], 2) - mean * mean)
            bonus *= min(0.25, variance + sqrt(2 * pace))
        return self.judged(edge, mean, count) + sqrt(bonus)

    def judged(self, edge, mean, count):
        maximizes = not hasattr(self.problem, "maximizes") or self.problem.maximizes(edge[0])
        return mean if maximizes else -mean

    def crowd(self, node):
        if self.depths[1] == 0:
            return self.weight[node]
        return sum(self.n((node, head), self.depths[1]) for head in self.heads[node])

    def next_child(self, node):
        left = self.left.setdefault(node, list(dict.fromkeys(self.problem.children(node))))
        place = int(self.rng.integers(len(left)))
        left[place], left[-1] = left[-1], left[place]
        return left.pop()

    def count_children(self, node):
        return len(dict.fromkeys(self.problem.children(node)))

    def connect(self, node, child):
        self.heads[node].append(child)
        self.heads.setdefault(child, [])
        self.visits.setdefault(child, 0)
        self.weight.setdefault(child, 0.0)
        self.samples[node, child] = []

    def descend(self):
        path = [self.problem.root()]
        while True:
            node = path[-1]
            if self.problem.is_terminal(node) or self.visits[node] < self.initial:
                return path
            allowed = int((self.visits[node] - self.initial + 1) ** self.b)
            while len(self.heads[node]) < min(allowed, self.count_children(node)):
                self.connect(node, self.next_child(node))
            if not self.heads[node]:
                return path
            crowd = self.crowd(node)
            path.append(max(self.heads[node], key=lambda head: self.score((node, head), crowd)))

    def value(self, node):
        if self.problem.is_terminal(node) and hasattr(self.problem, "exact"):
            known = self.problem.exact(node)
            if known is not None:
                return known
        return self.problem.sample(node, self.rng)

    def above(self, node):
        found = {node}
        while True:
            more = {tail for tail, head in self.samples if head in found} - found
            if not more:
                return found
            found |= more

    def iterate(self):
        path = self.descend()
        value = self.value(path[-1])
        trail = list(pairwise(path))
        for edge in trail:
            self.samples[edge].append((1.0, value, not self.heads[edge[1]]))
        for node in path:
            self.visits[node] += 1
            self.weight[node] += 1.0
        if self.alpha > 0:
            above = self.above(path[-1])
            for edge in self.samples:
                if edge[1] in above and edge not in trail:
                    self.samples[edge].append((self.alpha, value, not self.heads[edge[1]]))
            for node in above - set(path):
                self.weight[node] += self.alpha


class NaiveFuse(NaiveUCT):
    """FUSE on a `NaiveLattice`: the stopping feature first, then by RAVE."""

    def __init__(self, problem, **settings):
        super().__init__(problem, **{"tuned": True, **settings})
        self.exact = {}

    def value(self, node):
        if self.problem.is_terminal(node):
            if node not in self.exact:
                self.exact[node] = self.problem.exact(node)
            return self.exact[node]
        return self.problem.sample(node, self.rng)

    def below(self, node):
        return {node}.union(*(self.below(head) for head in self.heads[node]))

    def rave(self, node, feature):
        below = self.below(node)
        local = [value for where, subset, value in self.problem.rollouts if where in below and feature in subset]
        everywhere = [value for _, subset, value in self.problem.rollouts if feature in subset]
        if not everywhere:  # a feature never met is like the mean one
            everywhere = [value for _, subset, value in self.problem.rollouts for _ in subset]
        beta = 200 / (200 + len(local))
        return (1 - beta) * (sum(local) / len(local) if local else 0) + beta * sum(everywhere) / len(everywhere)

    def next_child(self, node):
        if node and (*node, -1) not in self.heads[node]:
            return (*node, -1)
        children = [child for child in self.problem.children(node) if child[-1] != -1]
        left = [child for child in children if child not in self.heads[node]]
        return max(left, key=lambda child: self.rave(node, *(set(child) - set(node))))
