"""Problems as a user writes them and tables made from a seed; nothing here knows the package."""

from __future__ import annotations

from typing import Any

import numpy as np


class Climb:
    """Steps to the left or right, the value of a leaf sampled as heads or tails; written by a user in plain Python."""

    steps = 5

    def root(self):
        return (0, 0)

    def children(self, state):
        return [(state[0] + 1, state[1]), (state[0] + 1, state[1] + 1)]

    def is_terminal(self, state):
        return state[0] == self.steps

    def sample(self, state, rng):
        reached = state[1] + int(rng.integers(0, self.steps - state[0] + 1))
        return float(rng.random() < 0.1 + 0.15 * reached)


class ExactClimb(Climb):
    """The same with exact values of the leaves, but for one that has none."""

    def exact(self, state):
        return None if state == (self.steps, 2) else 0.1 + 0.15 * state[1]


class Spread(Climb):
    """The same with values that are spread over the unit interval, three ways down and labels shared by two states."""

    steps = 3

    def children(self, state):
        return [(state[0] + 1, state[1] + step) for step in range(3)]

    def label(self, state):
        return (state[0], min(state[1], 5))

    def sample(self, state, rng):
        return float(rng.beta(2 + min(state[1], 5), 6))


class Nim:
    """Take one or two of five stones, the last one wins; a state not played out is valued by random moves."""

    def root(self):
        return (5, 0)

    def children(self, state):
        return [(state[0] - taken, 1 - state[1]) for taken in (1, 2) if taken <= state[0]]

    def is_terminal(self, state):
        return state[0] == 0

    def maximizes(self, state):
        return state[1] == 0

    def sample(self, state, rng):
        while not self.is_terminal(state):
            moves = self.children(state)
            state = moves[int(rng.integers(len(moves)))]
        return float(rng.random() < (0.85 if state[1] == 1 else 0.15))


class ExactNim(Nim):
    """The same with the outcome known."""

    def exact(self, state):
        return float(state[1] == 1)


class Trap:
    """Two moves of ten; the first move that is worst on average leads to the best leaf of all."""

    def root(self):
        return ()

    def children(self, state):
        return [(*state, move) for move in range(10)]

    def is_terminal(self, state):
        return len(state) == 2

    def exact(self, state):
        return (1.0 if state[1] == 9 else 0.2) if state[0] == 0 else (10 * state[0] % 30 + state[1]) / 100

    def sample(self, state, rng):
        return self.exact(state) if self.is_terminal(state) else self.exact((*state, int(rng.integers(10))))

    def neighbours(self, state):
        return [(move, state[1]) for move in range(10)] + [(state[0], move) for move in range(10)]

    def path_to(self, state):
        return [state[:1], state]


def data(seed: int, rows: int, columns: int, kinds: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Return a table with two features that matter, half of it noise; `kinds` classes, or a real target for 0."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    target = X[:, 0] + X[:, columns // 2] + rng.normal(size=rows)
    if kinds:
        target = np.searchsorted(np.quantile(target, np.arange(1, kinds) / kinds), target)
    return X, target


def framed(seed: int, rows: int, columns: int) -> tuple[Any, Any]:
    """Return a data frame with names, a constant column and text as classes."""
    import pandas as pd

    X, y = data(seed, rows, columns)
    X[:, 1] = 3.0
    return pd.DataFrame(X, columns=[f"column {number}" for number in range(columns)]), np.array(["no", "yes"])[y]


def shop(seed: int, rows: int) -> tuple[Any, Any]:
    """Return a data frame with a category that matters, missing numbers, and text as classes."""
    import pandas as pd

    X, y = data(seed, rows, 5)
    frame = pd.DataFrame(X, columns=[f"column {number}" for number in range(5)])
    city = np.array(["Bonn", "Oslo", "Rome"])[np.random.default_rng(seed).integers(0, 3, rows)]
    y = np.where(city == "Rome", 1 - y, y)
    frame["city"] = city
    frame.loc[::9, "column 2"] = np.nan
    return frame, np.array(["no", "yes"])[y]
