"""Flat best-arm identification in plain Python, from the formulas alone."""

from math import log, sqrt

import numpy as np
from scipy.optimize import brentq


def kl(p, q):
    return sum(a * log(a / b) for a, b in ((p, q), (1 - p, 1 - q)) if a > 0)


class NaiveFlat:
    def __init__(self, means, algorithm, epsilon, delta, seed):
        self.means, self.algorithm, self.epsilon, self.delta = means, algorithm, epsilon, delta
        self.rng = np.random.default_rng(seed)
        self.samples = [[] for _ in means]

    def total(self):
        return sum(map(len, self.samples))

    def mean(self, arm):
        return sum(self.samples[arm]) / len(self.samples[arm])

    def interval(self, arm):
        n, t, k, mean = len(self.samples[arm]), self.total(), len(self.means), self.mean(arm)
        if self.algorithm == "kl_lucb":
            rate = log(405.5 * k * t**1.1 / self.delta)
            rate += log(rate)
            return self.root(mean, 1e-15, rate / n), self.root(mean, 1 - 1e-15, rate / n)
        if self.algorithm == "ugape":
            half = sqrt(log(4 * k * t**3 / self.delta) / (2 * n))
        elif self.algorithm == "lil_ucb":
            half = 2 * (1 + sqrt(0.01)) * sqrt(2 * 0.25 * 1.01 * log(log(1.01 * n + 2) / self.delta) / n)
        else:
            half = sqrt(log(5 / 4 * k * t**4 / self.delta) / (2 * n))
        return mean - half, mean + half

    def root(self, mean, end, distance):
        if kl(mean, end) <= distance or mean == end:
            return end
        return brentq(lambda q: kl(mean, q) - distance, mean, end, xtol=1e-14)

    def run(self, limit=10**6):
        for arm in range(len(self.means)):
            self.draw(arm)
        while True:
            arms = range(len(self.means))
            low, high = zip(*(self.interval(arm) for arm in arms), strict=True)
            if self.algorithm == "ugape":
                best = max(arms, key=lambda a: low[a] - max(high[o] for o in arms if o != a))
            elif self.algorithm == "lil_ucb":
                best = max(arms, key=lambda a: len(self.samples[a]))
            else:
                best = max(arms, key=self.mean)
            rival = max((a for a in arms if a != best), key=lambda a: high[a])
            if self.algorithm == "lil_ucb":
                if len(self.samples[best]) >= 1 + 9 * (self.total() - len(self.samples[best])):
                    return best
                self.draw(max(arms, key=lambda a: high[a]))
                continue
            if high[rival] - low[best] < self.epsilon or self.total() >= limit:
                return best
            if self.algorithm == "uniform":
                self.draw(self.total() % len(self.means))
            elif self.algorithm == "ugape":
                self.draw(rival if len(self.samples[rival]) <= len(self.samples[best]) else best)
            else:
                self.draw(best)
                self.draw(rival)

    def draw(self, arm):
        self.samples[arm].append(1.0 if self.rng.random() < self.means[arm] else 0.0)
